"""What somebody else's notebook may not do while it is marked: run for ever, take all memory, reach the network, write
over files, or change the graders.

This keeps accidents and simple tricks away.  It is no prison: who does not trust a notebook at all runs the marking in
a container, or under an account of its own.
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

from minigrad.runtime.first_call import write_now

NETWORK = {"socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto",
           "socket.sendmsg"}  # fmt: skip
PROGRAMS = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "os.kill",
            "os.killpg"}  # fmt: skip
CHANGES = {"os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.truncate", "os.chmod", "os.chown", "os.utime",
           "os.symlink", "os.link", "shutil.rmtree", "shutil.move", "sqlite3.connect"}  # fmt: skip
DEVICES = ("/dev/null", "/dev/urandom")  # files that are opened to write, and nothing stays in them


class TooLong(BaseException):
    """A cell that took longer than it may.  No Exception, so that `except Exception` in a loop does not hide it."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise TooLong in what still runs after some seconds, and again and again for what would not hear."""

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
    """End when the process that marks does, however that ends; on Linux, where a signal tells of it."""
    import ctypes

    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:  # it has ended already
        os._exit(1)


def limit_memory(size: int) -> None:
    """So many bytes of addresses at most, where the system keeps count; beyond them Python raises MemoryError."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    with suppress(ValueError, OSError):  # macOS does not take it
        resource.setrlimit(resource.RLIMIT_AS, (size if hard < 0 else min(size, hard), hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def close(*folders: Path) -> None:
    """From here on this process reaches no network, starts no programs and writes below these folders only.

    A hook of Python's audit events cannot be taken away again.
    """
    rooms = tuple(os.path.realpath(folder) + os.sep for folder in folders)
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

    def inside(path: Any) -> bool:
        if isinstance(path, int) or path is None:
            return True
        place = os.path.realpath(os.fsdecode(path))
        return (place + os.sep).startswith(rooms) or place in DEVICES

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
    """What the graders are made of, as it was: `broken` names what has become something else since."""

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
        """What to know a value by; it is held, so that its place in memory is not given to another."""
        write_now(value)  # a function of minigrad has another code from its first call on
        return (value, value.__code__, value.__defaults__) if isinstance(value, FunctionType) else (value,)

    def broken(self) -> str | None:
        """The first name that means something else now, or None."""
        for (where, names), before in zip(self.parts, self.before):
            for name, kept in before.items():
                now = self.kept(names[name]) if name in names else ()
                if len(now) != len(kept) or any(a is not b for a, b in zip(now, kept)):
                    return f"{where}.{name}" if where.isidentifier() or "." in where else f"{name} of {where}"
        return None
