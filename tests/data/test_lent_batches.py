"""Batches in shared memory from the program's view: equal to those without workers, and safe however an epoch ends."""

from __future__ import annotations

import copy
import gc
import itertools
import multiprocessing
import os
import pickle
import resource
import signal
import socket
import subprocess
import sys
import threading
import warnings
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from worker_sets import Copied, Large, Numbered, Pair, Varied, Wide, hurried, lengths, refused

import minigrad as mg
from minigrad.data import DataLoader, memory, pool
from minigrad.errors import WorkerError

ROOT = Path(__file__).parents[2]
SIZE = 4


def facts(batch: Any) -> Any:
    """A batch as values that can be compared, with the classes of its parts."""
    if isinstance(batch, (mg.Tensor, np.ndarray)):
        return type(batch), str(batch.dtype), batch.shape, np.asarray(batch).tobytes()
    if isinstance(batch, dict):
        return type(batch), {name: facts(each) for name, each in batch.items()}
    return (type(batch), [facts(each) for each in batch]) if isinstance(batch, (list, tuple)) else batch


def used() -> tuple[int, int, list[str]]:
    """The number of open files, the number of mapped segments, and the files in /dev/shm."""
    with open("/proc/self/maps") as file:
        mapped = sum("memfd:minigrad" in line for line in file)
    return len(os.listdir("/proc/self/fd")), mapped, sorted(os.listdir("/dev/shm"))


@pytest.fixture(scope="module")
def server() -> None:
    """The process that multiprocessing starts once, whose pipes stay open."""
    list(DataLoader(range(2), num_workers=1))


@pytest.fixture(autouse=True)
def nothing_is_left(server: None) -> Iterator[None]:
    """After each test there are as many processes, open files, mapped segments and files in /dev/shm as before."""
    gc.collect()
    before = used()
    yield
    gc.collect()
    assert not multiprocessing.active_children() and used() == before and not memory.loans


OPTIONS: dict[str, dict[str, Any]] = {
    "shuffled": {"shuffle": True},
    "drop_last": {"drop_last": True, "prefetch_factor": 1},
    "persistent": {"shuffle": True, "persistent_workers": True, "prefetch_factor": 3},
    "sampler": {"sampler": [3, 1, 4, 1, 5, 9, 2, 6] * 4},
    "samples": {"batch_size": None, "collate_fn": mg.data.default_convert},
}


@pytest.mark.parametrize("keep", [False, True], ids=["used", "kept"])
@pytest.mark.parametrize("name", OPTIONS)
def test_batches_are_those_without_workers(name: str, keep: bool) -> None:
    def epochs(workers: int, **more: Any) -> Any:
        options = {"batch_size": SIZE, "collate_fn": lengths, **OPTIONS[name], **more}
        loader = DataLoader(Varied(), num_workers=workers, generator=mg.Generator(1), **options)
        batches = (batch for _ in range(2) for batch in loader)
        return [facts(batch) for batch in (list(batches) if keep else batches)]

    here = epochs(0, persistent_workers=False, prefetch_factor=None)
    assert (name == "samples" or Pair in [each[0] for each in here[0][1][0][1].values()]) and len(here) > 12
    assert epochs(2) == here


def test_streams_in_shared_memory_are_divided_by_the_workers() -> None:
    loader = DataLoader(Wide(46), SIZE, num_workers=2, persistent_workers=True, prefetch_factor=1)
    kept, reached = [], 0
    for _ in range(3):
        for x, _ in loader:
            reached = max(reached, len(memory.loans))
            kept.append((x, x.numpy().copy()))
    assert reached == pool.LOANS and all(bool((x.numpy() == own).all()) for x, own in kept)
    assert sorted(int(row[0, 0]) for _, own in kept for row in own) == sorted(3 * list(range(46)))


def test_an_epoch_is_resumed_while_batches_are_lent() -> None:
    loader = DataLoader(Varied(), SIZE, True, num_workers=2, collate_fn=lengths, generator=mg.Generator(2))
    iterator = iter(loader)
    kept = list(itertools.islice(iterator, 8))
    assert memory.loans
    state = loader.state_dict()
    rest = [facts(batch) for batch in iterator]
    for workers in (0, 2):
        other = DataLoader(Varied(), SIZE, True, num_workers=workers, collate_fn=lengths, generator=mg.Generator(2))
        other.load_state_dict(state)
        assert [facts(batch) for batch in other] == rest
    del kept


# ---- the life of a batch --------------------------------------------------------------------------------------------


def lent(iterator: Any) -> Any:
    """Return the next batch of an iterator that is in shared memory."""
    before = len(memory.loans)
    return next(batch for batch in iterator if len(memory.loans) > before)


@pytest.mark.parametrize("persistent", [False, True])
def test_two_iterators_at_a_time_and_views_after_their_end(persistent: bool) -> None:
    options: Any = {"batch_size": SIZE, "num_workers": 1, "persistent_workers": persistent}
    views = []
    for (i, parts), (j, others) in zip(DataLoader(Numbered(64), **options), DataLoader(Numbered(64), **options)):
        assert i.tolist() == j.tolist() and parts["x"].numpy()[:, 5, 5].tolist() == i.tolist()
        others["x"].numpy()[...] = -1.0
        assert parts["x"].numpy()[:, 5, 5].tolist() == i.tolist()
        views.append((i.numpy().copy(), memoryview(parts["x"].numpy()[:, 1:3, ::-2])))
    assert memory.loans
    del i, parts, j, others
    for rows, view in views:
        assert bool((np.asarray(view) == rows[:, None, None]).all())
    view = None
    views.clear()


def test_copies_of_a_lent_batch_are_independent() -> None:
    iterator = iter(DataLoader(Numbered(), SIZE, num_workers=1))
    batch = lent(iterator)
    wanted, first = facts(batch), int(batch[0][0].item())
    others = [pickle.loads(pickle.dumps(batch)), copy.deepcopy(batch)]
    rows = [x.numpy() for x in DataLoader(batch[1]["x"], None, num_workers=1)]  # another loader sends it to its worker
    batch[1]["x"].numpy()[...] = -1.0
    del batch
    for _ in itertools.islice(iterator, 20):
        pass
    assert [facts(each) for each in others] == [wanted, wanted]
    assert [float(row.mean()) for row in rows] == [first, first + 1, first + 2, first + 3]


@pytest.mark.parametrize("persistent", [False, True])
def test_many_epochs_leave_no_files_and_kept_batches_take_few(persistent: bool) -> None:
    loader = DataLoader(Numbered(40), SIZE, num_workers=1, persistent_workers=persistent)
    before, kept = used(), []
    for _ in range(15):
        kept.extend(deque(loader, maxlen=1))
    del loader
    files, mapped, shm = used()
    assert pool.LOANS > mapped == len(memory.loans) > 2 and files == before[0] + mapped and shm == before[2]
    assert len({str(facts(batch)) for batch in kept}) == 1
    kept.clear()
    assert used() == before


@pytest.mark.parametrize("fault", ["raises", "killed", "exits"])
def test_batches_outlive_workers_that_fail(fault: str) -> None:
    iterator = iter(DataLoader(Large(fault), 2, num_workers=2))
    kept = []
    with pytest.raises(KeyError if fault == "raises" else WorkerError) as caught:
        for x in iterator:
            kept.append(x)
    assert fault != "raises" or "worker_sets.py" in caught.value.__notes__[0]
    assert memory.loans and len(kept) >= 6 and not multiprocessing.active_children()
    assert [x.numpy()[:, 0, 0].tolist() for x in kept] == [[2.0 * k, 2.0 * k + 1] for k in range(len(kept))]
    with pytest.raises(WorkerError, match="workers of this iterator have ended after an error; make a new iterator"):
        next(iterator)


def test_workers_whose_start_fails_are_ended() -> None:
    loader = DataLoader(Numbered(), SIZE, num_workers=2, worker_init_fn=refused, persistent_workers=True)
    for _ in range(2):
        with pytest.raises(LookupError, match="no file for worker 0"):
            iter(loader)
        assert not multiprocessing.active_children()


@pytest.mark.parametrize("persistent", [False, True])
def test_ctrl_c_ends_the_workers_and_the_next_epoch_starts_others(persistent: bool) -> None:
    loader = DataLoader(Large("sleeps"), 2, num_workers=2, persistent_workers=persistent)
    kept = []
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for jobs in the background
    try:
        with pytest.raises(KeyboardInterrupt):
            for x in loader:
                kept.append(x)
                if len(kept) == 8:  # two batches before a worker sleeps
                    timer.start()
        timer.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert memory.loans and not multiprocessing.active_children()
    again = list(itertools.islice(loader, len(kept)))
    assert [facts(x) for x in again] == [facts(x) for x in kept] and len(kept) >= 6
    del loader


SCRIPT = """
import sys
import minigrad as mg
from worker_sets import Numbered
if __name__ == "__main__":
    loader = mg.data.DataLoader(Numbered(), 4, num_workers=2, persistent_workers=True)
    iterator = iter(loader)
    kept = [next(iterator) for _ in range(12)]
    kept.append((kept, iterator))
    sys.kept = kept  # Python frees these batches after it has cleared the modules of the loader
    print(len(mg.data.memory.loans))
    if sys.argv[1] == "error":
        raise SystemExit(3)
"""


@pytest.mark.parametrize("end", ["normal", "error"])
def test_a_program_ends_silently_with_batches_alive(end: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    path = os.pathsep.join((str(ROOT), str(ROOT / "tests")))
    done = subprocess.run([sys.executable, str(script), end], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "PYTHONPATH": path})  # fmt: skip
    assert int(done.stdout) > 0 and done.stderr == "" and done.returncode == (3 if end == "error" else 0)


# ---- systems with limits --------------------------------------------------------------------------------------------


def test_a_limit_of_memory_files_is_reported_and_batches_are_piped() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 17, hard))
    try:
        with pytest.warns(UserWarning, match=r"no shared memory for a batch of 0\.2 MB \(File too large\)") as caught:
            batches = [facts(batch) for batch in DataLoader(Numbered(64), SIZE, num_workers=2)]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert len(caught) == 1
    assert batches == [facts(batch) for batch in DataLoader(Numbered(64), SIZE)]


@pytest.mark.parametrize("spare", [0, 1])
def test_a_program_without_free_descriptors_receives_batches_through_pipes(spare: int) -> None:
    iterator = iter(DataLoader(Numbered(64), SIZE, num_workers=1))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            while True:
                taken.append(os.dup(0))
        for _ in range(spare):
            os.close(taken.pop())
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            labels = [index.tolist() for index, _ in iterator]
    finally:
        for each in taken:
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert labels == [list(range(k, k + SIZE)) for k in range(0, 64, SIZE)]
    assert ["(Too many open files)" in str(each.message) for each in caught] == [True]


def test_a_default_timeout_of_sockets_does_not_apply_to_workers() -> None:
    socket.setdefaulttimeout(20.0)
    try:
        for x in DataLoader(Copied(400_000), SIZE, num_workers=1, sampler=range(40), prefetch_factor=1):
            assert x.shape == (SIZE, 400_000)
        for x in DataLoader(Numbered(40), SIZE, num_workers=1, worker_init_fn=hurried):
            assert len(x) == 2
        indices = [list(range(30_000))] * 12
        for x in DataLoader(Copied(20), batch_sampler=indices, num_workers=1, prefetch_factor=4):
            assert x.shape == (30_000, 20)
    finally:
        socket.setdefaulttimeout(None)
