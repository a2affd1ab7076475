"""Iterators over the batches of an epoch: made in this process, or by a pool of workers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from minigrad.data.fetching import Exhausted, Fetcher
from minigrad.data.pool import Pool
from minigrad.data.streams import Key, planted, seed_of
from minigrad.data.worker import ENDED
from minigrad.errors import ArgumentError


@dataclass
class Progress:
    """Progress of an epoch: the number of returned batches, and whether these were all.

    start: the state of the generator before the epoch.  sampler: the state of the sampler.
    """

    start: tuple[int, int]
    sampler: Any
    batches: int = 0
    done: bool = False


class Epoch(Iterator[Any]):
    """An iterator over batches.  indices: None for a stream.  finish: what is done with a batch at last."""

    def __init__(self, indices: Iterator[Any] | None, key: Key, progress: Progress, finish: Any, length: Any) -> None:
        self.indices, self.key, self.progress = indices, key, progress
        self.finish: Callable[[Any], Any] | None = finish
        self.length = length
        self.number = 0  # the number of the next requested batch

    def skip(self, count: int) -> None:
        """Leave batches out that were returned before a program was stopped."""
        if self.indices is None:
            for _ in range(count):
                self.following()
        else:
            for _ in range(count):
                next(self.indices, None)
            self.number = count

    def begin(self) -> None:
        """Let workers begin, if there are any."""

    def following(self) -> Any:
        """Return the next batch.  Raises StopIteration behind the last one."""
        raise NotImplementedError

    def __next__(self) -> Any:
        if self.progress.done:
            raise StopIteration
        try:
            batch = self.following()
        except StopIteration:
            self.progress.done = True
            raise
        self.progress.batches += 1
        return batch if self.finish is None else self.finish(batch)

    def __len__(self) -> int:
        n: int = self.length()
        return n


class LocalEpoch(Epoch):
    """Batches that are made on request, in this process."""

    def __init__(self, fetcher: Fetcher, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.fetcher = fetcher

    def following(self) -> Any:
        """Return the next batch, made with random numbers of its own."""
        indices = None if self.indices is None else next(self.indices)
        number, self.number = self.number, self.number + 1
        with planted(seed_of(self.key, number)) if self.fetcher.draws else nullcontext():
            try:
                return self.fetcher.fetch(indices)
            except Exhausted:
                raise StopIteration from None


class WorkerEpoch(Epoch):
    """Batches of a pool of workers: `ahead` batches are requested from each in advance, in turn.

    ordered: whether batches are returned in the order of the sampler, or as they come.
    last: whether the pool is closed behind this epoch.  timeout: seconds to wait for a batch, or 0.
    """

    def __init__(
        self, pool: Pool, ahead: int, ordered: bool, last: bool, timeout: float, *arguments: Any
    ) -> None:  # fmt: skip
        super().__init__(*arguments)
        self.pool, self.ahead, self.ordered, self.last, self.timeout = pool, ahead, ordered, last, timeout
        self.pending: deque[tuple[int, int]] = deque()  # worker and slot, in the order of the batches
        self.asked = [0] * pool.count
        self.running = False
        self.turn = pool.start_epoch(self.key)

    def begin(self) -> None:
        """Ask for the first batches."""
        if self.running:
            return
        self.running = True
        for _ in range(self.ahead):
            for worker in range(self.pool.count):
                self.ask(worker)

    def ask(self, worker: int) -> None:
        """Ask a worker for the next batch, if there is one."""
        try:
            indices = None if self.indices is None else next(self.indices)
        except StopIteration:
            return
        slot = self.asked[worker] % self.ahead
        self.asked[worker] += 1
        self.pending.append((worker, slot))
        self.pool.ask(worker, self.number, slot, indices)
        self.number += 1

    def following(self) -> Any:
        """Return the batch that comes next."""
        if self.pool.turn != self.turn:
            raise ArgumentError("DataLoader: a newer iterator uses the persistent workers; use one iterator at a time")
        try:
            return self.received()
        except BaseException as error:
            if self.last or not isinstance(error, StopIteration):
                self.pool.close()
            raise

    def received(self) -> Any:
        """Return the next message of a worker as a batch; an ended stream receives no more requests."""
        self.begin()
        while self.pending:
            if not self.ordered:
                worker = self.pool.await_any(sorted({worker for worker, _ in self.pending}), self.timeout)
                position = next(k for k, (each, _) in enumerate(self.pending) if each == worker)
                self.pending.rotate(-position)
                turned = self.pending.popleft()
                self.pending.rotate(position)
                worker, slot = turned
            else:
                worker, slot = self.pending.popleft()
            message = self.pool.receive(worker, self.timeout)
            if message[0] == ENDED:
                continue
            batch = self.pool.taken(worker, slot, message)
            self.ask(worker)
            return batch
        raise StopIteration
