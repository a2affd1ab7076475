"""Launching kernels on all threads where threads and forks would kill the process.

Two facts of Numba's wheels: the layer `workqueue` aborts when two Python threads are in a parallel loop at once, and
the layer `omp` kills a child that was forked after the parent was in one.  All kernels share one such loop, the team of
`kernels/calling.py`.  So every launch that is shared holds one lock, and a child forked after an omp launch runs each
kernel on one thread.  It is the same machine code, and tasks come from shapes, so the results are the same bits.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import Any

from minigrad.errors import ArgumentError
from minigrad.kernels.store import uninterrupted

_lock = threading.RLock()
_serial_only = False


def _after_fork_in_child() -> None:
    global _lock, _serial_only
    _lock = threading.RLock()  # the old one may be held by a thread that does not exist here
    if threading_layer() == "omp":  # whoever started it
        _serial_only = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def guarded(parallel: Callable[..., Any], serial: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
    """A launch that threads share; `serial` gives it on one thread, when a forked child needs that."""

    def launch(*args: Any) -> Any:
        if _serial_only:
            return serial()(*args)
        with _lock:
            return parallel(*args)

    return launch


def threading_layer() -> str:
    """The layer that runs the team, or "none yet": Numba chooses it at the first launch."""
    numba = sys.modules.get("numba")
    if numba is None:
        return "none yet"
    try:
        return str(numba.threading_layer())
    except ValueError:
        return "none yet"


def get_num_threads() -> int:
    """Threads that share a kernel."""
    return int(whole_numba().get_num_threads())


def set_num_threads(n: int) -> None:
    """Share kernels between n threads from this Python thread on.  Raises ArgumentError out of range."""
    numba = whole_numba()
    limit = int(numba.config.NUMBA_NUM_THREADS)
    if not isinstance(n, int) or not 1 <= n <= limit:
        raise ArgumentError(f"set_num_threads: {n!r} is not between 1 and {limit}, the threads of this process", n=n)
    numba.set_num_threads(n)


def whole_numba() -> Any:
    """Numba, imported to its end."""
    with uninterrupted():
        import numba
    return numba
