"""Iterators over the batches of an epoch, which are made in the calling process or by a pool of workers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from minigrad.data.collate import Exhausted, Fetcher
from minigrad.data.pool import Pool
from minigrad.data.streams import Key, planted, seed_of
from minigrad.data.worker import ENDED
from minigrad.errors import ArgumentError, WorkerError


@dataclass
class Progress:
    """The progress of an epoch: the number of returned batches, and whether the epoch is complete.

    `start` is the state of the generator before the epoch, and `sampler` is the state of the sampler.
    """

    start: tuple[int, int]
    sampler: Any
    batches: int = 0
    done: bool = False


class Epoch(Iterator[Any]):
    """An iterator over batches; `indices` is None for a stream, and `finish` is applied to each batch."""

    def __init__(self, indices: Iterator[Any] | None, key: Key, progress: Progress, finish: Any, length: Any) -> None:
        self.indices, self.key, self.progress = indices, key, progress
        self.finish: Callable[[Any], Any] | None = finish
        self.length = length
        self.number = 0  # the index of the next batch to request

    def skip(self, count: int) -> None:
        """Skip the batches that a program had already received before it was stopped."""
        if self.indices is None:
            for _ in range(count):
                self.following()
        else:
            for _ in range(count):
                next(self.indices, None)
            self.number = count

    def begin(self) -> None:
        """Start the workers, if there are any."""

    def following(self) -> Any:
        """Return the next batch; raise StopIteration after the last batch."""
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
        return self.length()


class LocalEpoch(Epoch):
    """Batches that the calling process makes on request."""

    def __init__(self, fetcher: Fetcher, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.fetcher = fetcher

    def following(self) -> Any:
        """Return the next batch, which is made with a separate stream of random numbers."""
        indices = None if self.indices is None else next(self.indices)
        number, self.number = self.number, self.number + 1
        with planted(seed_of(self.key, number)) if self.fetcher.draws else nullcontext():
            try:
                return self.fetcher.fetch(indices)
            except Exhausted:
                raise StopIteration from None


class WorkerEpoch(Epoch):
    """Iterate over the batches of one epoch, which a pool of worker processes makes.

    Each worker has at most `ahead` requested batches; requests are sent to the workers in turn.  `ordered` is True if
    batches are returned in the order of the sampler, and False if they are returned as they arrive.  With `last`, the
    pool is closed after this epoch.  `timeout` is the time limit in seconds for a batch; 0 means that there is no
    limit.
    """

    def __init__(
        self, pool: Pool, ahead: int, ordered: bool, last: bool, timeout: float, *arguments: Any
    ) -> None:  # fmt: skip
        super().__init__(*arguments)
        self.pool, self.ahead, self.ordered, self.last, self.timeout = pool, ahead, ordered, last, timeout
        self.pending: deque[int] = deque()  # workers in the order of the batches
        self.running = False
        self.turn = pool.start_epoch(self.key)

    def begin(self) -> None:
        """Request the first batches."""
        if self.running:
            return
        self.running = True
        for _ in range(self.ahead):
            for worker in range(self.pool.count):
                self.ask(worker)

    def ask(self, worker: int) -> None:
        """Request the next batch, if there is one, from a worker."""
        try:
            indices = None if self.indices is None else next(self.indices)
        except StopIteration:
            return
        self.pending.append(worker)
        self.pool.ask(worker, self.number, indices)
        self.number += 1

    def following(self) -> Any:
        """Return the next batch; close the pool on an error or after the last epoch."""
        if self.pool.turn != self.turn:
            raise ArgumentError("DataLoader: a newer iterator uses the persistent workers; use one iterator at a time")
        if not self.pool.close.alive:
            raise WorkerError("DataLoader: the workers of this iterator have ended after an error; make a new iterator")
        try:
            return self.received()
        except BaseException as error:
            if self.last or not isinstance(error, StopIteration):
                self.pool.close()
            raise

    def received(self) -> Any:
        """Return the next message of a worker as a batch; a worker whose stream has ended receives no more requests."""
        self.begin()
        while self.pending:
            if self.ordered:
                worker = self.pending.popleft()
            else:
                worker = self.pool.await_any(sorted(set(self.pending)), self.timeout)
                self.pending.remove(worker)
            message, slot = self.pool.receive(worker, self.timeout)
            if message[0] == ENDED:
                continue
            batch = self.pool.taken(worker, slot, message)
            self.ask(worker)
            return batch
        raise StopIteration
