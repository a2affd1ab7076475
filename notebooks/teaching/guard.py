"""Limits for a notebook that is being marked: time, memory, no network, no writes to other files, no changed graders.

This stops accidents and simple tricks.  It is not a security boundary: to mark notebooks that you do not trust at all,
run the command in a container or under a separate account.
"""

from __future__ import annotations

import builtins
import math
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from minigrad.core.code import write_now

NETWORK = {"socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto",
           "socket.sendmsg"}  # fmt: skip
PROGRAMS = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "os.kill",
            "os.killpg"}  # fmt: skip
CHANGES = {"os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.truncate", "os.chmod", "os.chown", "os.utime",
           "os.symlink", "os.link", "shutil.rmtree", "shutil.move", "sqlite3.connect"}  # fmt: skip
DEVICES = ("/dev/null", "/dev/urandom")  # files that may be opened for writing, because they store nothing


class TooLong(BaseException):
    """Raised in a cell that exceeds its time; not an Exception, which a loop in the cell may catch."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise TooLong after some seconds, and once per second after that, since code may catch it."""

    def ring(number: int, frame: Any) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def end_with(parent: int) -> None:
    """End this process when the marking process ends for any reason; on Linux, which sends a signal."""
    import ctypes

    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:  # it has ended already
        os._exit(1)


def limit_memory(size: int) -> None:
    """Limit the address space to some bytes, where the system can; beyond them Python raises MemoryError."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    with suppress(ValueError, OSError):  # macOS refuses this limit
        resource.setrlimit(resource.RLIMIT_AS, (size if hard < 0 else min(size, hard), hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def close(*folders: Path) -> None:
    """Forbid this process the network, other programs, and writes outside these folders.

    A hook for Python's audit events cannot be removed.
    """
    allowed = tuple(os.path.realpath(folder) + os.sep for folder in folders)
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

    def inside(path: Any) -> bool:
        if isinstance(path, int) or path is None:
            return True
        place = os.path.realpath(os.fsdecode(path))
        return (place + os.sep).startswith(allowed) or place in DEVICES

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event in NETWORK:
            raise PermissionError("notebooks are marked without a network")
        if event in PROGRAMS:
            raise PermissionError("notebooks are marked without other programs")
        if event == "open" and isinstance(args[2], int) and args[2] & writing and not inside(args[0]):
            raise PermissionError(f"a notebook that is marked writes into its own folder only, not to {args[0]}")
        if event in CHANGES:
            for path in args[:2]:
                if isinstance(path, (str, bytes, os.PathLike)) and not inside(path):
                    raise PermissionError(f"a notebook that is marked changes its own folder only, not {path!r}")

    sys.addaudithook(hook)


class Seal:
    """The values of the names that the graders use; `broken` returns a name whose value has changed."""

    def __init__(self, *modules: ModuleType) -> None:
        import numpy

        self.parts: list[tuple[str, Any]] = []
        for module in (*modules, numpy, numpy.random, math, builtins, sys.modules["minigrad"]):
            self.parts.append((module.__name__, vars(module)))
            for name, value in list(vars(module).items()):
                if isinstance(value, type) and value.__module__ == module.__name__:
                    self.parts.append((f"{module.__name__}.{name}", vars(value)))
        for module in modules:
            exercises = getattr(module, "EXERCISES", {})
            self.parts.append((f"{module.__name__}.EXERCISES", exercises))
            self.parts += [(f"the exercise {name}", vars(each)) for name, each in exercises.items()]
        self.before = [{name: self.kept(value) for name, value in names.items()} for _, names in self.parts]

    @staticmethod
    def kept(value: Any) -> Any:
        """Return objects that identify a value; they stay referenced, so that their ids are not reused."""
        write_now(value)  # the first call of a minigrad function replaces its code
        return (value, value.__code__, value.__defaults__) if isinstance(value, FunctionType) else (value,)

    def broken(self) -> str | None:
        """Return the first name whose value has changed, or None."""
        for (where, names), before in zip(self.parts, self.before):
            for name, kept in before.items():
                now = self.kept(names[name]) if name in names else ()
                if len(now) != len(kept) or any(a is not b for a, b in zip(now, kept)):
                    return f"{where}.{name}" if where.isidentifier() or "." in where else f"{name} of {where}"
        return None
