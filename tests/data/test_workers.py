"""DataLoader with worker processes: the same batches as without, and a sentence for each way in which they end."""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from worker_sets import Broken, Drawn, Faulty, Growing, Initialized, Mapped, Stream, Unportable, started

import minigrad as mg
from minigrad.data import DataLoader, memory, pool
from minigrad.errors import ArgumentError, WorkerError

ROOT = Path(__file__).parents[2]


def facts(batch: Any) -> Any:
    """A batch as numbers that can be compared."""
    if isinstance(batch, mg.Tensor):
        return [batch.dtype.name, batch.tolist()]
    if isinstance(batch, dict):
        return {name: facts(each) for name, each in batch.items()}
    return [facts(each) for each in batch] if isinstance(batch, (list, tuple)) else batch


def alive() -> list[Any]:
    """The workers that have not ended."""
    return multiprocessing.active_children()


@pytest.fixture(scope="module")
def servers() -> None:
    """The processes that multiprocessing starts once, whose pipes stay open."""
    for method in ("forkserver", "spawn"):
        list(DataLoader(range(2), num_workers=1, multiprocessing_context=method))


@pytest.fixture(autouse=True)
def nothing_is_left(servers: None) -> Any:
    """Behind each test there is no process and no open file more than before."""
    files = len(os.listdir("/proc/self/fd"))
    yield
    assert not alive() and len(os.listdir("/proc/self/fd")) <= files


def test_batches_are_the_same_for_any_number_of_workers() -> None:
    def epochs(workers: int, **options: Any) -> list[Any]:
        loader = DataLoader(Drawn(), 4, True, num_workers=workers, generator=mg.Generator(1), **options)
        return [facts(batch) for _ in range(2) for batch in loader]

    here = epochs(0)
    assert len(here) == 26
    assert epochs(1, prefetch_factor=1) == here
    assert epochs(3, persistent_workers=True, prefetch_factor=3) == here
    loader = DataLoader(Drawn(), 4, True, num_workers=2, generator=mg.Generator(1), in_order=False)
    first = [facts(batch) for batch in loader]
    assert sorted(map(str, first)) == sorted(map(str, here[:13]))


def test_batches_that_grow_and_arrays_of_a_whole_dataset_come_through_shared_memory() -> None:
    loader = DataLoader(Growing(), None, num_workers=1, persistent_workers=True)
    for _ in range(2):
        for i, (x, pid) in enumerate(loader):
            assert pid != os.getpid() and x.shape == (1 + 4000 * i,) and x.numpy().min() == x.numpy().max() == i
            x.numpy()[...] = -1.0  # each batch has memory of its own
    assert loader._pool is not None and loader._pool.segments
    x = np.arange(6000, dtype=np.float32).reshape(60, 100)
    for batch, own in zip(DataLoader(x, 16, num_workers=1), np.split(x, [16, 32, 48])):
        assert batch.numpy().tobytes() == own.tobytes()


def test_streams_are_divided_by_the_workers() -> None:
    for options in ({}, {"in_order": False}):
        loader = DataLoader(Stream(), 4, num_workers=2, **options)
        assert sorted(i for batch, _ in loader for i in batch.tolist()) == list(range(23))


@pytest.mark.parametrize("dataset", [Drawn(20), Stream(20)], ids=["indices", "stream"])
def test_an_epoch_is_resumed_with_workers(dataset: Any) -> None:
    def made(workers: int) -> DataLoader[Any]:
        return DataLoader(dataset, 3, num_workers=workers, generator=mg.Generator(2))

    loader = made(2)
    iterator = iter(loader)
    for _ in range(3):
        next(iterator)
    state = loader.state_dict()
    rest = [facts(batch) for batch in iterator] + [facts(next(iter(loader)))]
    for workers in (2,) if isinstance(dataset, Stream) else (0, 2):
        other = made(workers)
        other.load_state_dict(state)
        assert [facts(batch) for batch in other] + [facts(next(iter(other)))] == rest


def test_a_worker_is_initialized_once() -> None:
    loader = DataLoader(Initialized("none"), 10, num_workers=2, worker_init_fn=started, multiprocessing_context="spawn")
    for numbers, ids, counts in loader:
        assert numbers.tolist() == ids.tolist() and set(counts.tolist()) == {2}
    assert mg.data.get_worker_info() is None


def test_an_early_break_leaves_no_process_and_persistent_workers_end_with_the_loader() -> None:
    for _ in DataLoader(Drawn(), 4, num_workers=2):
        assert len(alive()) == 2
        break
    assert not alive()
    loader = DataLoader(Drawn(), 4, num_workers=2, persistent_workers=True)
    first = iter(loader)
    one = facts(next(first))
    pids = {each.pid for each in alive()}
    assert facts(next(iter(loader)))["index"] == one["index"] and {each.pid for each in alive()} == pids
    with pytest.raises(ArgumentError, match="a newer iterator uses the persistent workers"):
        next(first)
    del loader, first
    assert not alive()


# ---- how workers end ------------------------------------------------------------------------------------------------


def test_an_exception_comes_with_the_traceback_of_the_worker() -> None:
    with pytest.raises(KeyError, match="sample 20 is broken") as caught:
        list(DataLoader(Faulty("raises"), 8, num_workers=2))
    (note,) = caught.value.__notes__
    assert note.startswith("in DataLoader worker 0 (pid ") and "batch 2:" in note and "__getitem__" in note
    with pytest.raises(WorkerError, match=r"worker_sets\.Broken: 1 and 2"):
        list(DataLoader(Unportable(""), 8, num_workers=1))
    assert Broken(1, 2).args == ("1 and 2",)


ENDS = {
    "killed": (r"worker 0 \(pid \d+\) was killed by SIGKILL; the system does that when memory runs out", {}),
    "exits": (r"worker 0 \(pid \d+\) ended with exit code 3", {}),
    "sleeps": (r"worker 0 \(pid \d+\) has sent no batch for 0.5 s, .*pass a longer timeout", {"timeout": 0.5}),
}


@pytest.mark.parametrize("fault", ENDS)
def test_a_worker_that_dies_is_named(fault: str) -> None:
    message, options = ENDS[fault]
    start = time.monotonic()
    with pytest.raises(WorkerError, match=message):
        list(DataLoader(Faulty(fault), 8, num_workers=2, **options))
    assert time.monotonic() - start < 10


def test_a_worker_that_is_killed_from_outside_is_named_within_a_second() -> None:
    iterator: Any = iter(DataLoader(Faulty("sleeps"), 4, num_workers=2, prefetch_factor=1))
    next(iterator)
    pid = iterator.pool.processes[0].pid
    os.kill(pid, signal.SIGKILL)
    start = time.monotonic()
    with pytest.raises(WorkerError, match=rf"worker 0 \(pid {pid}\) was killed by SIGKILL"):
        list(iterator)
    assert time.monotonic() - start < 1 + pool.PATIENCE


def test_a_dataset_that_cannot_be_sent_is_refused() -> None:
    class Local(Drawn):
        pass

    with pytest.raises(ArgumentError, match=r"cannot send the dataset or a function.*set num_workers=0"):
        iter(DataLoader(Local(), num_workers=1))
    with pytest.raises(ArgumentError, match=r"must be 'forkserver' or 'spawn', .*got 'fork'"):
        iter(DataLoader(Drawn(), num_workers=1, multiprocessing_context="fork"))
    with pytest.raises(ArgumentError, match="got 'thread'"):
        iter(DataLoader(Drawn(), num_workers=1, multiprocessing_context="thread"))


def test_without_shared_memory_batches_go_through_pipes(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(number: int, offset: int, size: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(memory.os, "posix_fallocate", full)
    with pytest.warns(
        UserWarning, match=r"no shared memory for a batch of 0\.0 MB \(No space left on device\)"
    ) as caught:
        batches = [facts(batch) for batch in DataLoader(Drawn(), 4, num_workers=2, generator=mg.Generator(1))]
    assert len(caught) == 1
    assert batches == [facts(batch) for batch in DataLoader(Drawn(), 4, generator=mg.Generator(1))]


def test_many_batches_leave_memory_and_files_as_they_were() -> None:
    def used(pid: Any) -> tuple[int, float]:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        return len(os.listdir(f"/proc/{pid}/fd")), pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    x = np.zeros((2048, 64), np.float32)
    loader = DataLoader(x, 4, num_workers=1, persistent_workers=True)
    for _ in loader:
        pass
    pids = [os.getpid(), *[each.pid for each in alive()]]
    before = [used(pid) for pid in pids]
    for _ in range(2):
        for _ in loader:
            pass
    for (files, size), (new_files, new_size) in zip(before, map(used, pids)):
        assert new_files <= files and new_size < size + 8


SCRIPT = """
import os, sys, time
import minigrad as mg
from worker_sets import Drawn, Faulty
if __name__ == "__main__":
    # The workers of Drawn wait for the loader; those of Faulty sleep while they make the batches with sample 20.
    data, size = (Drawn(), 4) if sys.argv[1] == "waits" else (Faulty("sleeps"), 10)
    iterator = iter(mg.data.DataLoader(data, size, num_workers=2))
    next(iterator)
    print(*[each.pid for each in iterator.pool.processes], flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("activity", ["waits", "works"])
def test_workers_end_with_the_process_of_the_loader(activity: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    path = os.pathsep.join((str(ROOT), str(ROOT / "tests")))
    started = subprocess.Popen([sys.executable, str(script), activity], stdout=subprocess.PIPE, text=True,
                               env={**os.environ, "PYTHONPATH": path})  # fmt: skip
    assert started.stdout is not None
    pids = started.stdout.readline().split()
    started.stdout.close()  # the workers also write to it, so its end would come after theirs
    started.kill()
    started.wait()
    end = time.monotonic() + 10
    while any(running(pid) for pid in pids) and time.monotonic() < end:
        time.sleep(0.02)
    assert len(pids) == 2 and not any(running(pid) for pid in pids)


def running(pid: str) -> bool:
    """Whether a process has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_a_script_without_a_guard_is_told_to_have_one(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import minigrad as mg\nlist(mg.data.DataLoader(range(4), num_workers=1))\n")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "PYTHONPATH": str(ROOT)})  # fmt: skip
    assert (
        done.returncode == 1
        and "a script has to start under `if __name__ == '__main__':`; or pass num_workers=0" in done.stderr
    )


def test_arrays_of_a_dataset_are_in_memory_once() -> None:
    dataset, total = Mapped(), (1 << 20) * ((1 << 20) - 1) // 2
    rows = [facts(row) for row in DataLoader(dataset, None, num_workers=2)]
    assert rows == [[k // 2, total, 3, float(1 << 12), 1] for k in range(4)]  # a worker writes its own copy
    assert dataset.large[0] == 0
