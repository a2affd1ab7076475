"""What sharing a kernel between threads costs, and from which size it pays: threads that spin, that sleep, that wait.

    python -m tests.benchmarks --only regions

A parallel region needs every thread.  Right after another one they still spin and are there at once; some time later
they sleep and have to be woken; where another program has their core they wait for it to be taken away.  Each size is
timed on one thread and on all, in each of the three.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import minigrad as mg

SIZES = (1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20)
CALLS = 60
ASLEEP = 0.02  # seconds between calls after which threads have gone to sleep
BUSY = "while True: pass"


def report() -> None:
    """Print a table: microseconds on one thread, and on all in each of three states; medians, and the slowest tenth."""
    rows = [(size, *measured(size)) for size in SIZES]
    names = ("one thread", "spinning", "asleep", "core busy")
    print(f"{'float32 elements':>16}  " + "".join(f"{name:>20}" for name in names))
    for size, *times in rows:
        print(f"{size:>16}  " + "".join(f"{middle * 1e6:>12.1f} {slow * 1e6:>7.0f}" for middle, slow in times))
    print("microseconds of x * y + out=: the median, and what one call in ten exceeds")


def measured(size: int) -> Iterator[tuple[float, float]]:
    """(median, ninth decile) of a product on one thread; then on all, threads spinning, asleep, their core busy."""
    x, y, out = mg.ones(size), mg.ones(size), mg.empty(size)

    def call() -> Any:
        return mg.mul(x, y, out=out)

    with mg.override(parallel_threshold=1 << 60):
        yield timed(call, 0.0)
    with mg.override(parallel_threshold=1):
        yield timed(call, 0.0)
        yield timed(call, ASLEEP)
        with company():
            yield timed(call, 0.0)


def timed(call: Callable[[], Any], pause: float) -> tuple[float, float]:
    """(median, ninth decile) of the seconds of a call."""
    times = []
    for _ in range(CALLS):
        if pause:
            time.sleep(pause)
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    times.sort()
    return statistics.median(times), times[9 * len(times) // 10]


@contextmanager
def company() -> Iterator[None]:
    """A program beside this one that wants a core of its own."""
    other = subprocess.Popen([sys.executable, "-c", BUSY])
    try:
        time.sleep(0.3)
        yield
    finally:
        other.kill()
        other.wait()
