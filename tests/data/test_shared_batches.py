"""Batches in memory that a worker shares: they never change, whoever keeps, writes or forks, and no pipe fills up."""

from __future__ import annotations

import errno
import multiprocessing
import os
import threading
from typing import Any

import numpy as np
import pytest
from worker_sets import Copied, Numbered, batches, doubled, recalled, remembered

import minigrad as mg
from minigrad.data import DataLoader, memory, pool, worker

SIZE = 4


def is_batch(k: int, batch: Any, first: float | None = None) -> bool:
    """Whether a batch of `Numbered` is batch k, with `first` as its first element if it is given."""
    rows = np.arange(SIZE) + SIZE * k
    wanted = np.broadcast_to(rows[:, None, None], (SIZE, 128, 64)).astype(np.float32)
    if first is not None:
        wanted[0, 0, 0] = first
    index, parts = batch
    half = parts["half"].numpy().astype(np.float32)
    return (
        index.tolist() == rows.tolist()
        and bool((parts["x"].numpy() == wanted).all())
        and bool((half == (rows % 2)[:, None, None]).all())
    )


def test_a_batch_never_changes_while_it_is_kept() -> None:
    for every in (1, 3, 100):
        kept: list[Any] = []
        loader = DataLoader(Numbered(), SIZE, num_workers=2, persistent_workers=True)
        for _ in range(2):
            for k, batch in enumerate(loader):
                assert is_batch(k, batch)
                if k % every:
                    batch[1]["x"].numpy()[...] = 0.0  # no later batch contains these zeros
                else:
                    batch[1]["x"].numpy()[0, 0, 0] = -7.0
                    kept.append((k, batch))
            assert k == 79 and memory.loans
        del loader, batch
        assert all(is_batch(k, batch, -7.0) for k, batch in kept)
        kept.clear()
        assert not memory.loans


def test_the_program_keeps_few_segments_and_copies_further_batches() -> None:
    loader = DataLoader(Numbered(), SIZE, num_workers=2, persistent_workers=True)
    kept = list(loader)
    assert loader._pool is not None
    assert len(memory.loans) == pool.LOANS and len(loader._pool.segments) <= 2 * 2 + pool.LOANS
    labels = [index for index, _ in loader]
    assert len(labels) == len(kept) and len(memory.loans) == pool.LOANS
    del kept, labels
    for index, parts in loader:
        assert len(index) == len(parts["x"]) and len(memory.loans) <= 3
    del loader, index, parts


def test_a_collate_function_may_keep_and_change_its_batches() -> None:
    def numbers(workers: int) -> list[Any]:
        batches.clear()
        loader = DataLoader(Numbered(120), SIZE, num_workers=workers, collate_fn=remembered)
        return [[x.numpy().tobytes() for x in pair] for pair in loader]

    assert numbers(1) == numbers(0)


def test_a_stored_batch_that_did_not_fit_stays_the_same_without_more_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, reserve = 0, os.posix_fallocate

    def refuse(number: int, offset: int, size: int) -> None:
        nonlocal calls
        calls += 1
        if calls > 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        reserve(number, offset, size)

    def numbers(workers: int) -> list[Any]:
        batches.clear()
        loader = DataLoader(Copied(5000), 4, num_workers=workers, collate_fn=recalled, sampler=range(80))
        return [[x.numpy().tobytes() for x in parts] for parts in loader]

    monkeypatch.setattr(memory.os, "posix_fallocate", refuse)
    monkeypatch.setattr(pool, "warn", lambda text: None)
    assert numbers(1) == numbers(0)
    assert calls > 3


def test_tensors_with_the_same_memory_in_a_worker_are_separate_in_the_program() -> None:
    seen = 0
    for k, (x, y, z) in enumerate(DataLoader(Numbered(80), SIZE, num_workers=1, collate_fn=doubled)):
        x.numpy()[...] = -1.0
        y.numpy()[...] = -2.0
        seen += z.numpy()[:, 0, 0].tolist() == [SIZE * k + 1.0, SIZE * k + 2.0] and bool((x.numpy() == -1.0).all())
    assert seen == 20


def test_a_fork_has_its_own_batch() -> None:
    iterator = iter(DataLoader(Numbered(), SIZE, num_workers=1))
    for _ in range(8):
        batch = next(iterator)
    assert memory.loans
    answer, send = os.pipe()
    wait, go = os.pipe()
    pid = os.fork()
    if not pid:  # the child checks its batch after the parent has gone on, and then writes
        try:
            os.close(go)  # the child ends with its parent
            os.read(wait, 1)
            fine = is_batch(7, batch)
            batch[1]["x"].numpy()[...] = 0.0
            os.write(send, b"1" if fine else b"0")
            os.read(wait, 1)
        finally:
            os._exit(0)
    kept = batch
    kept[1]["x"].numpy()[0, 0, 0] = -7.0
    del batch
    assert all(is_batch(k, next(iterator)) for k in range(8, 40))
    os.write(go, b"1")
    assert os.read(answer, 1) == b"1"
    assert is_batch(7, kept, -7.0)
    del kept
    assert all(is_batch(k, next(iterator)) for k in range(40, 80))
    os.write(go, b"1")
    os.waitpid(pid, 0)
    for each in (answer, send, wait, go):
        os.close(each)


def test_loaders_in_threads_do_not_disturb_each_other() -> None:
    seen: list[bool] = []

    def run() -> None:
        for k, batch in enumerate(DataLoader(Numbered(80), SIZE, num_workers=1)):
            seen.append(is_batch(k, batch))

    threads = [threading.Thread(target=run) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert seen == [True] * 60


@pytest.mark.parametrize("full", [False, True], ids=["shared", "piped"])
def test_long_messages_in_both_directions_do_not_block(full: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(number: int, offset: int, size: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    if full:
        monkeypatch.setattr(memory.os, "posix_fallocate", refuse)
        monkeypatch.setattr(pool, "warn", lambda text: None)
    # Indices of 300 kB a batch, batches of 800 kB, and 300 batches in advance: more than the buffer of a pipe.
    for count, size, width, ahead in ((5, 100_000, 1, 4), (320, 10, 1000, 300)):
        indices = [list(range(k * size, (k + 1) * size)) for k in range(count)]
        loader = DataLoader(Copied(width), batch_sampler=indices, num_workers=1, prefetch_factor=ahead, timeout=60)
        for k, batch in enumerate(loader):
            assert batch.shape == (size, width) and batch.numpy()[:, 0].tolist() == indices[k]
        assert k == count - 1


def test_the_message_to_stop_needs_no_thread() -> None:
    ours, theirs = multiprocessing.Pipe()
    stopped = worker.Channel(ours)
    stopped.unread = stopped.capacity
    stopped.stop(("stop",))
    assert stopped.thread is None and theirs.recv() == ("stop",)
    stopped.close(1.0)
    theirs.close()


def test_rows_of_arrays_in_workers_are_those_of_the_indices() -> None:
    x = np.arange(600, dtype=np.int16).reshape(20, 30)
    for array in (x, x.T, x[::-1], x[:, ::2], np.arange(20.0), np.zeros((20, 0))):
        chosen = [[0, -1, 5], [5, 5, -len(array)], [len(array) - 1] * 3]
        loader = DataLoader(array, batch_sampler=chosen, num_workers=1)
        for batch, rows in zip(loader, chosen):
            assert batch.dtype.numpy == array.dtype and batch.numpy().tolist() == array[rows].tolist()
    with pytest.raises(IndexError, match="out of bounds"):
        list(DataLoader(mg.from_numpy(x), batch_sampler=[[0]] * 6 + [[20]], num_workers=1))
