"""What every kernel family of the CPU backend shares: the store of compiled kernels, and binding numbers to them.

A family is a class with preparers; `CpuBackend` inherits them all.  Each asks `kernel` how to call what a writer
writes, on one thread or on all; the latter is guarded against threads and forks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.backends.base import Launch
from minigrad.backends.host import HostMemory
from minigrad.backends.parallel import guarded
from minigrad.config import settings
from minigrad.kernels.calling import Call, function
from minigrad.kernels.store import forks_wait, watchers

BRIEF = 1 << 15  # additions


class Family(HostMemory):
    """Base of the kernel families.

    compiled: kernels by (writer, arguments).  kernels: how they are called, by those and a kind.
    """

    def __init__(self) -> None:
        self.kernels: dict[Any, Any] = {}
        self.compiled: dict[Any, Any] = {}

    def kernel(self, writer: Callable[..., Any], *args: Any, kind: str) -> Call:
        """How to call the kernel that `writer(*args)` writes; compiled once a process, loaded from disk if it can.

        kind: "brief", "alone" or "shared", as `kernels.calling.function` has them.
        """
        key = (writer, args, kind)
        call: Any = self.kernels.get(key)
        if call is None:
            kernel = self.compiled.get((writer, args))
            if kernel is None:
                with forks_wait():
                    kernel = self.compiled[writer, args] = writer(*args)
            call = function(kernel, kind)
            if kind == "shared":
                call = guarded(call, lambda: self.kernel(writer, *args, kind="alone"))
            self.kernels[key] = call
        for seen in watchers:
            seen.append(self.compiled[writer, args].path)
        return call


def nothing(*buffers: Any) -> None:
    """The launch of a loop without elements."""


def bind(kernel: Callable[..., Any], numbers: NDArray[np.int64], operands: int) -> Launch:
    """A launch with its numbers bound; written out by arity, because *args costs more than the call.

    It tells what it binds, so that a lane can call the kernel without it.
    """
    launch: Any
    if operands == 1:
        launch = lambda a, out: kernel(a, out, numbers)  # noqa: E731
    elif operands == 2:
        launch = lambda a, b, out: kernel(a, b, out, numbers)  # noqa: E731
    elif operands == 3:
        launch = lambda a, b, c, out: kernel(a, b, c, out, numbers)  # noqa: E731
    else:
        launch = lambda *buffers: kernel(*buffers, numbers)  # noqa: E731
    launch.kernel, launch.numbers = kernel, numbers
    return launch


def kind_of(elements: int, tasks: int, cost: int = 1) -> str:
    """How to call a kernel: on all threads, or with the GIL where it costs more to give it away than the work.

    tasks: what threads can share; one is only shared where everything is to be, at a threshold of 0.
    cost: additions that an element is worth.
    """
    if elements * cost >= settings.parallel_threshold and (tasks > 1 or not settings.parallel_threshold):
        return "shared"
    return "brief" if elements * cost < BRIEF else "alone"


def headed(tasks: int, numbers: Any, end: bool = False) -> NDArray[np.int64]:
    """Numbers with their head: how many tasks there are, and whether the kernel is called once more at their end."""
    return np.array([tasks, end, *numbers], np.int64)
