"""How long does a call take, beside another library that has the same machine at the same minute?

Calls are timed in batches of a few milliseconds.  The libraries take turns, batch by batch, so a clock that slows down
and another process weigh on all alike.  A batch waits until the threads of the library before it have stopped to spin,
and begins with calls that are not timed.  What is told is the median batch and the distance between the quartiles.
On a GPU a batch lies between two events of the library that runs it.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Protocol

import numpy as np

BATCH = 4e-3  # seconds a batch takes at the least
ROUNDS = (7, 31)  # at least, at most
WARM = 5e-4  # seconds of calls that are not timed before a batch
REST = 3e-3  # seconds of rest between batches, in which the threads of the library before go to sleep
Batch = Callable[[int], float]  # seconds a call, of so many calls


class Clock(Protocol):
    """A device's."""

    def mark(self) -> Any:
        """An event that is recorded where the work so far ends."""

    def between(self, start: Any, end: Any) -> float:
        """Seconds between two events; waits for the second."""

    def synchronize(self) -> None:
        """Wait until all work has ended."""


@dataclass(frozen=True)
class Times:
    """Seconds a call: the median batch, and the quartiles' distance as a share of it."""

    median: float
    spread: float


def measure(runs: Sequence[Callable[[], Any]], seconds: float) -> list[Times]:
    """Times of each function by the clock of the host: see `in_turns`."""
    return in_turns([partial(one_batch, run) for run in runs], seconds)


def in_turns(batches: Sequence[Batch], seconds: float, rounds: tuple[int, int] = ROUNDS) -> list[Times]:
    """Times of each, taken in turns until `seconds` have gone, with rests that do not count."""
    counts = [calls_a_batch(batch) for batch in batches]
    samples: list[list[float]] = [[] for _ in batches]
    spent = 0.0
    gc.collect()
    running = gc.isenabled()
    gc.disable()
    try:
        for turn in range(rounds[1]):
            for k in sorted(range(len(batches)), key=lambda k: (k + turn) % len(batches)):
                time.sleep(REST)
                start = time.perf_counter()
                samples[k].append(batches[k](counts[k]))
                spent += time.perf_counter() - start
            if turn + 1 >= rounds[0] and spent > seconds:
                break
    finally:
        if running:
            gc.enable()
    return [summary(values) for values in samples]


def summary(values: list[float]) -> Times:
    """The median, and the distance of the quartiles relative to it."""
    low, median, high = statistics.quantiles(values, n=4)
    return Times(median, (high - low) / median)


def one_batch(run: Callable[[], Any], count: int, warm: float = WARM) -> float:
    """Seconds a call, over `count` calls after `warm` seconds of calls that are not timed."""
    end = time.perf_counter() + warm
    run()
    while time.perf_counter() < end:
        run()
    start = time.perf_counter()
    for _ in range(count):
        run()
    return (time.perf_counter() - start) / count


def device_batch(run: Callable[[], Any], clock: Clock, count: int) -> float:
    """Seconds a call on the device, between two of its events; a call that is not timed lets the host go ahead."""
    run()
    start = clock.mark()
    for _ in range(count):
        run()
    return clock.between(start, clock.mark()) / count


def host_batch(run: Callable[[], Any], clock: Clock, count: int) -> float:
    """Seconds until a call returns, which only gives the device work."""
    run()
    clock.synchronize()
    start = time.perf_counter()
    for _ in range(count):
        run()
    taken = time.perf_counter() - start
    clock.synchronize()
    return taken / count


def calls_a_batch(batch: Batch) -> int:
    """How many calls fill a batch.  Also compiles and warms up."""
    batch(1)
    count = 1
    while True:
        each = batch(count)
        if each * count >= BATCH / 2:
            return max(1, round(BATCH / each))
        count *= 4


@cache
def copy_rate(nbytes: int) -> float:
    """Bytes a second, read and written, of a plain copy on two threads that moves `nbytes` in all."""
    half = max(nbytes // 2, 1 << 12)
    source, target = np.ones(half, np.uint8), np.ones(half, np.uint8)
    cuts = [slice(k * half // 2, (k + 1) * half // 2) for k in range(2)]
    if half < 1 << 20:
        return nbytes / min(one_batch(lambda: np.copyto(target, source), 50) for _ in range(9))
    with ThreadPoolExecutor(2) as pool:

        def run() -> None:
            list(pool.map(lambda cut: np.copyto(target[cut], source[cut]), cuts))

        return nbytes / min(one_batch(run, 10) for _ in range(9))
