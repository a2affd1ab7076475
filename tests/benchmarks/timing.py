"""How long does a call take, beside another library that has the same machine at the same minute?

Calls are timed in batches of a few milliseconds.  The libraries take turns, batch by batch, so a clock that slows down
and another process weigh on all alike.  A batch waits until the threads of the library before it have stopped to spin,
and begins with calls that are not timed.  What is told is the median batch and the distance between the quartiles.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

BATCH = 4e-3  # seconds a batch takes at the least
ROUNDS = (7, 31)  # at least, at most
WARM = 5e-4  # seconds of calls that are not timed before a batch
REST = 3e-3  # seconds of rest between batches, in which the threads of the library before go to sleep


@dataclass(frozen=True)
class Times:
    """Seconds a call: the median batch, and the quartiles' distance as a share of it."""

    median: float
    spread: float


def measure(runs: Sequence[Callable[[], Any]], seconds: float) -> list[Times]:
    """Times of each function, taken in turns until `seconds` have gone, with rests that do not count."""
    counts = [calls_a_batch(run) for run in runs]
    samples: list[list[float]] = [[] for _ in runs]
    spent = 0.0
    gc.collect()
    running = gc.isenabled()
    gc.disable()
    try:
        for turn in range(ROUNDS[1]):
            for k in sorted(range(len(runs)), key=lambda k: (k + turn) % len(runs)):
                time.sleep(REST)
                start = time.perf_counter()
                samples[k].append(one_batch(runs[k], counts[k]))
                spent += time.perf_counter() - start
            if turn + 1 >= ROUNDS[0] and spent > seconds:
                break
    finally:
        if running:
            gc.enable()
    return [summary(values) for values in samples]


def summary(values: list[float]) -> Times:
    """The median, and the distance of the quartiles relative to it."""
    low, median, high = statistics.quantiles(values, n=4)
    return Times(median, (high - low) / median)


def one_batch(run: Callable[[], Any], count: int) -> float:
    """Seconds a call, over `count` calls after some that are not timed."""
    warm = time.perf_counter() + WARM
    run()
    while time.perf_counter() < warm:
        run()
    start = time.perf_counter()
    for _ in range(count):
        run()
    return (time.perf_counter() - start) / count


def calls_a_batch(run: Callable[[], Any]) -> int:
    """How many calls fill a batch.  Also compiles and warms up."""
    run()
    count = 1
    while True:
        each = one_batch(run, count)
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
