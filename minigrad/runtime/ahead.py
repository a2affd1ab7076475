"""While one core compiles, another compiles what comes next: the helper process and what it is told.

The first compile of a process starts the helper.  From then on each new plan is told to it: the op, its parameters, the
layouts and dtypes of its operands, whether they track.  The helper (`cli/ahead.py`) does the same call and the way back
through it without running a kernel, and so puts into the kernel cache what this process asks for a moment later, the
backward kernels first of all.  A kernel that one of the two is compiling the other waits for, or leaves alone.

Nothing depends on the helper: what it is not told, or gets wrong, is compiled when it is wanted.  It ends with this
process, and when it has been idle for a while.
"""

from __future__ import annotations

import atexit
import os
import struct
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from minigrad.config import settings
from minigrad.core.op import Op
from minigrad.errors import KernelError
from minigrad.kernels import store
from minigrad.runtime.observers import Observer, attach, detach
from minigrad.runtime.recording import mode

ROOT = Path(__file__).parent.parent.parent
LONGEST = 4096  # bytes of a message that a pipe takes whole or not at all: POSIX says 512, Linux 4096
LENGTH = struct.Struct("=I")
_helper: Any = None
_announced: list[str] = []
_starting = threading.Lock()


def tell(op: Op, operands: tuple[Any, ...], params: dict[str, Any]) -> bool:
    """Let the helper know of a call whose plan is about to be made; False where there is none."""
    helper = _helper
    if helper is None:
        return False
    import pickle  # a warm start tells nobody anything

    tracked = tuple(mode.enabled and (x.op is not None or x.is_variable) for x in operands)
    specs = [(x.shape, x.strides, x.offset, x.dtype.name, str(x.device)) for x in operands]
    try:
        message = pickle.dumps((op.name, specs, tracked, params))
    except Exception:  # a parameter that cannot be sent
        return True
    send(helper, message)
    return True


class Planned(Observer):
    """Tells the helper of each plan that is about to be made."""

    def planning(self, op: Op, operands: tuple[Any, ...], params: dict[str, Any]) -> None:
        tell(op, operands, params)


_planned = Planned()


def send(helper: Any, message: bytes) -> None:
    """Hand over a message, unless it is too long or the helper has enough to do."""
    if len(message) + LENGTH.size > LONGEST:
        return
    try:
        os.write(helper.stdin.fileno(), LENGTH.pack(len(message)) + message)
    except BlockingIOError:
        pass
    except (OSError, ValueError):
        dismiss()


def announce(program: str) -> None:
    """Say what this process is about to do, "module:function" of this package: if there comes to be a helper, it does
    the same beforehand."""
    _announced.append(program)


def start() -> None:
    """Start the helper, unless there is one or it could not help."""
    global _helper
    if _helper is not None or not settings.compile_ahead or not useful():
        return
    with _starting:
        if _helper is not None:
            return
        import pickle
        import subprocess

        paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "MINIGRAD_COMPILE_AHEAD": "0",
                       "MINIGRAD_CACHE_DIR": str(settings.cache_dir)}  # fmt: skip
        with suppress(OSError):
            # A session of its own: Ctrl-C is meant for this process.
            helper = subprocess.Popen(
                [sys.executable, "-P", "-m", "minigrad.cli.ahead", str(settings.parallel_threshold)],
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, bufsize=0,
                start_new_session=True,
            )  # fmt: skip
            assert helper.stdin is not None
            os.set_blocking(helper.stdin.fileno(), False)
            _helper = helper
            attach(_planned)
            for program in _announced:
                send(helper, pickle.dumps((program, [], (), {})))


def useful() -> bool:
    """Whether another process could compile for this one: a core is free, and they share a cache."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if cores < 2 or not sys.executable or store.fcntl is None or store.without_compiler():
        return False
    try:
        store.cache_folder()
    except KernelError:
        return False
    return True


def dismiss() -> None:
    """Let the helper go, which ends at once when nobody can tell it anything."""
    global _helper
    helper, _helper = _helper, None
    if helper is None:
        return
    detach(_planned)
    with suppress(OSError):
        helper.stdin.close()
    with suppress(Exception):
        helper.wait(timeout=1)


def _after_fork_in_child() -> None:
    # The pipe is the parent's; the helper lives as long as somebody has it open.
    global _helper, _starting
    helper, _helper, _starting = _helper, None, threading.Lock()
    if helper is not None:
        detach(_planned)
        with suppress(OSError):
            helper.stdin.close()
        helper.returncode = 0  # it is no child of this process


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
store.compiling.append(start)
atexit.register(dismiss)
