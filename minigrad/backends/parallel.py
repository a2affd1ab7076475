"""Launching kernels on all threads, also where threads and forks would kill the process.

Numba's wheels have two limits: the layer `workqueue` aborts when two Python threads are in a parallel loop at the same
time, and the layer `omp` kills a child that was forked after the parent was in such a loop.  All kernels share one such
loop, the team of `kernels/calling.py`.  So every shared launch holds one lock, and a child forked after an omp launch
runs each kernel on one thread.  The machine code is the same, and the tasks follow from layouts, so the results
have the same bits.

A third problem depends on the machine: a shared loop ends when its last thread has ended.  A thread whose core is used
by another program delays the loop by some milliseconds, even for a task of ten microseconds.  A thread that has slept
may be as late, until its core is awake.  If such delays cost more than the other shared launches save, kernels run on
one thread for a while: docs/decisions/034 and 089.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from time import perf_counter
from typing import Any

from minigrad.config import in_forked_children, settings
from minigrad.errors import ArgumentError
from minigrad.kernels.store import uninterrupted

_lock = threading.RLock()
_serial_only = False
# Seconds beyond the time of one thread that count as a stall; sleeping threads wake up in a tenth of this time.
STALL = 1e-3
LONG = 16e-3  # seconds of a launch above which a stall is the smaller part
WORTH = 8e-3  # seconds on one thread from which half of the time is more than a stall: such launches are always shared
TRIES = 3  # runs of a program on one thread before threads share it; the first ones wait for memory
LIMIT = 1024  # maximum number of launches of a kernel whose times are stored
ALLOWANCE = 0.04  # seconds that stalls may cost at once
PART = 1 / 16  # part of the time that stalls may cost even if sharing saves nothing


class _Core:
    """Records the time that shared loops lose by stalls, and the pauses in which nothing is shared.

    until: the time at which sharing is tried again.
    left: the seconds that stalls may still cost.  They grow by PART of the time, and by the time that shared launches
        save: a launch on two threads saves about the time that it takes.  `waited` limits them to ALLOWANCE.
    at: the time of the last stall.
    """

    until = 0.0
    left = ALLOWANCE
    at = 0.0

    def waited(self, now: float, lost: float) -> None:
        """Record that a shared loop has waited for a thread, and has lost some seconds compared with one thread."""
        self.left = min(self.left + (now - self.at) * PART, ALLOWANCE) - min(lost, LONG)
        self.at = now
        if self.left < 0.0:
            self.until = now - self.left / PART


core = _Core()


@in_forked_children
def _after_fork_in_child() -> None:
    global _lock, _serial_only
    _lock = threading.RLock()  # in a forked child, the old lock may be held by a thread that does not exist
    if threading_layer() == "omp":  # this process or another library may have started it
        _serial_only = True


def guarded(parallel: Callable[..., Any], serial: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
    """Return a launch that threads share; `serial` returns the one-thread launch, for a forked child or a busy core.

    The last argument of a kernel is an array of its scalar arguments, which identifies the launch.  If
    `settings.parallel_threshold` is 0, only a forked child runs a launch on one thread.
    """
    times: dict[bytes, float] = {}  # shortest time on one thread in seconds, by scalar arguments
    asked: set[bytes] = set()  # scalar arguments whose time on one thread is to be measured next

    def launch(*args: Any) -> Any:
        if _serial_only:
            return serial()(*args)
        start = perf_counter()
        if (asked or start < core.until) and settings.parallel_threshold:
            key = args[-1].tobytes()
            if (key in asked or start < core.until) and times.get(key, 0.0) <= WORTH:
                return run_serially(key, start, args)
        with _lock:
            result = parallel(*args)
        now = perf_counter()
        if now - start > STALL:
            weigh(args[-1].tobytes(), now, now - start)
        else:
            core.left += now - start
        return result

    def run_serially(key: bytes, start: float, args: tuple[Any, ...]) -> Any:
        result = serial()(*args)
        took = perf_counter() - start
        if len(times) >= LIMIT:
            times.clear()
        times[key] = min(times.get(key, took), took)
        asked.discard(key)
        return result

    def weigh(key: bytes, now: float, took: float) -> None:
        """Decide whether a long launch was caused by a stall."""
        if key in times:
            lost = took - times[key]
            if lost > STALL:
                core.waited(now, lost)
            elif lost < 0.0:
                core.left -= lost
        elif took < LONG and len(asked) < LIMIT:
            asked.add(key)

    return launch


def guarded_program(parallel: Callable[..., int], serial: Callable[..., int]) -> Callable[..., int]:
    """Return a function that runs a program of many launches on all threads or on one thread, whichever is faster.

    If one core is busy, a program on all threads waits in each launch that the threads share.  So the program first
    runs on one thread.  It then runs on all threads, as long as such a run takes less time than the fastest run on one
    thread plus STALL.
    """
    tries: int = 0
    least = float("inf")  # the duration in seconds of the fastest run on one thread

    def timed(*args: Any) -> int:
        nonlocal tries, least
        start = perf_counter()
        result = serial(*args)
        least = min(least, perf_counter() - start)
        tries += 1
        return result

    def run(*args: Any) -> int:
        if _serial_only:
            return serial(*args)
        start = perf_counter()
        if settings.parallel_threshold and (tries < TRIES or start < core.until):
            return timed(*args)
        with _lock:
            result = parallel(*args)
        now = perf_counter()
        lost = now - start - least
        if lost > STALL:
            core.waited(now, lost)
        elif lost < 0.0:
            core.left += min(-lost, now - start)
        return result

    return run


def threading_layer() -> str:
    """Return the layer that runs the team, or "none yet": Numba chooses it at the first launch."""
    numba = sys.modules.get("numba")
    if numba is None:
        return "none yet"
    try:
        return str(numba.threading_layer())
    except ValueError:
        return "none yet"


def get_num_threads() -> int:
    """Return the number of threads that share a kernel."""
    return int(whole_numba().get_num_threads())


def set_num_threads(num: int) -> None:
    """Share kernels between `num` threads in this Python thread from now on.

    A larger number than NUMBA_NUM_THREADS, by default the number of cores, counts as that number.
    Raises ArgumentError unless `num` is an int of at least 1.
    """
    numba = whole_numba()
    limit = int(numba.config.NUMBA_NUM_THREADS)
    if not isinstance(num, int) or num < 1:
        raise ArgumentError(
            f"set_num_threads: expected an int of at least 1, got {num!r}; pass {limit}, for example", n=num
        )
    numba.set_num_threads(min(num, limit))


def whole_numba() -> Any:
    """Return the module Numba; a started import is completed first."""
    with uninterrupted():
        import numba
    return numba
