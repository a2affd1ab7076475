"""Run a script for `python -m minigrad warmup script.py`, while other processes compile the kernels that it needs.

The process has NUMBA_DISABLE_JIT=1, so a kernel first runs as Python, and the script reaches its next kernels without
waiting for a compiler.  Each kernel is reported at once.  Large calls, and the third call of a kernel, wait until its
object code is in the kernel cache, and run it.  So all values are right, and the script takes the same branches as
without this command.
"""

from __future__ import annotations

import os
import runpy
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from minigrad.kernels import objects
from minigrad.kernels.calling import Call, function, interpreters, plain
from minigrad.kernels.store import Kernel, source

CALLS = 2  # number of calls of a kernel that run as Python
SMALL = 2048  # maximum number of elements of the arrays of such a call
PARENT = os.getppid()  # the process that compiles
PATIENCE = 120.0  # seconds after which a kernel whose object code is missing runs as Python again


class Rehearsed:
    """The function of a kernel: first plain Python, then machine code."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel, self.calls, self.run, self.waits = kernel, 0, plain(kernel.python), True

    def __call__(self, *arrays: Any) -> bool:
        if self.waits and (self.calls >= CALLS or sum([x.size for x in arrays[:-1]]) > SMALL):
            self.waits, self.run = False, compiled(self.kernel) or self.run
        self.calls += 1
        with np.errstate(all="ignore"):  # integers of Python code wrap around
            return self.run(*arrays)


def compiled(kernel: Kernel) -> Call | None:
    """Wait for the object code of a kernel, and return its function; None if there is none for a long time."""
    text, path, end = source(kernel.path), objects.path_for(Path(kernel.path)), time.monotonic() + PATIENCE
    while time.monotonic() < end and os.getppid() == PARENT:
        code = objects.read(path, text)
        if code is not None:
            (address,) = objects.link(code).values()
            return function(Kernel(kernel.path, address, "cache"), "alone")
        time.sleep(0.01)
    return None


def rehearse(script: str, arguments: list[str], reports: Any) -> None:
    """Run a script as the main program; the connection `reports` receives the name and the file of each kernel."""

    def interpreter(kernel: Kernel) -> Call:
        reports.send((kernel.name, Path(kernel.path).name))
        return Rehearsed(kernel)

    interpreters.append(interpreter)
    sys.argv, sys.path[0] = [script, *arguments], str(Path(script).resolve().parent)
    runpy.run_path(script, run_name="__main__")
