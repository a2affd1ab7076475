"""Ahead-of-time compilation: a helper process on another core compiles the kernels that are needed next.

The first compilation of a process starts the helper.  From then on this process sends each new plan to it: the op, its
parameters, the layouts and dtypes of its operands, and whether they are tracked.  The first call of a composed op is
sent before the plans of its ops, so that both processes compile its kernels, from the two ends.  The helper
(`cli/ahead.py`) makes the same call and its backward pass without running a kernel.  In this way it stores the kernels
that this process needs next in the kernel cache, the backward kernels first.  If one of the two processes is compiling
a kernel, the other waits for this kernel or skips it.

No result depends on the helper: this process compiles each kernel that the helper missed or got wrong.  The helper ends
with this process, or when it has been idle for a while.
"""

from __future__ import annotations

import atexit
import os
import struct
import sys
import threading
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from minigrad.config import in_forked_children, settings
from minigrad.core.op import Op
from minigrad.errors import KernelError
from minigrad.kernels import store
from minigrad.kernels.store import Text
from minigrad.runtime.recording import mode
from minigrad.runtime.tensor import Tensor
from minigrad.runtime.tracers import Carrier

ROOT = Path(__file__).parent.parent.parent
LONGEST = 4096  # largest message in bytes that a pipe writes atomically: 512 in POSIX, 4096 in Linux
LENGTH = struct.Struct("=I")
_helper: Any = None
_announced: list[str] = []
# The latest kinds of calls of composed ops, and the latest plan: the first compilation may be a part of one of them.
_composed: deque[tuple[Any, ...]] = deque(maxlen=8)
_planned: deque[tuple[Any, ...]] = deque(maxlen=1)
_starting = threading.Lock()


def described(op: Op, operands: Sequence[Any], params: dict[str, Any]) -> tuple[Any, ...]:
    """Return the message for a call, which keeps no operand alive.

    An optional operand of a composed op is also among `params`; without it, `by_operands` takes it from the operands.
    """
    # A placeholder of `compositions.py` does not allow the question whether it is a variable.
    tracked = tuple(
        [mode.enabled and not isinstance(x, Carrier) and (x.op is not None or x.is_variable) for x in operands]
    )
    specs = [(x.layout, x.dtype, x.device) for x in operands]
    return op.name, op.where, specs, tracked, {k: v for k, v in params.items() if not isinstance(v, Tensor)}


def begin(op: Op, operands: Sequence[Any], params: dict[str, Any]) -> None:
    """Send the helper a call whose plan, or whose plans, are about to be made.

    If there is no helper, the call is kept for the helper that the first compilation starts, perhaps for this call.
    """
    message, helper = described(op, operands, params), _helper
    if helper is not None:
        send_call(helper, message)
    else:
        (_composed if op.kind == "composed" else _planned).append(message)


def send_call(helper: Any, message: tuple[Any, ...]) -> None:
    """Send a message, unless it cannot be pickled because of a parameter."""
    import pickle  # imported here, because a process with a warm cache sends nothing

    name, where, specs, tracked, params = message
    shown = [(x.shape, x.strides, x.offset, dtype.name, str(device)) for x, dtype, device in specs]
    try:
        content = pickle.dumps((name, where, shown, tracked, params))
    except Exception:
        return
    send(helper, content)


def send(helper: Any, message: bytes) -> None:
    """Send a message, unless it is too long or the pipe to the helper is full."""
    if helper is None or len(message) + LENGTH.size > LONGEST:
        return
    try:
        os.write(helper.stdin.fileno(), LENGTH.pack(len(message)) + message)
    except BlockingIOError:
        pass
    except (OSError, ValueError):
        dismiss()


def compile_texts(texts: Sequence[Text]) -> bool:
    """Let the helper compile kernels whose texts are in the kernel cache.

    Return False if there is no helper.
    """
    import pickle

    # A helper that has ended since its last use is noticed only when a message is sent.
    for _ in range(2):
        start()
        if _helper is None:
            return False
        for name, file, _ in texts:
            send(_helper, pickle.dumps((name, "", [], (), {"file": file})))
        if _helper is not None:
            return True
    return False


def announce(program: str) -> None:
    """Announce the next work of this process, as "module:function" of this package.

    A helper does the same work in advance, if one is started.
    """
    _announced.append(program)


def start() -> None:
    """Start the helper, unless it runs already or could not help."""
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
            # The helper gets a separate session, so that Ctrl-C reaches only this process.
            helper = subprocess.Popen(
                [sys.executable, "-P", "-m", "minigrad.cli.ahead", str(settings.parallel_threshold)],
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, bufsize=0,
                start_new_session=True,
            )  # fmt: skip
            assert helper.stdin is not None
            os.set_blocking(helper.stdin.fileno(), False)
            _helper = helper
            for program in _announced:
                send(helper, pickle.dumps((program, "", [], (), {})))
            for begun in (_composed, _planned):
                while begun:
                    send_call(helper, begun.popleft())


def useful() -> bool:
    """Return whether another process could compile for this one: a core is free, and they share a kernel cache."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if cores < 2 or not sys.executable or store.fcntl is None or store.without_compiler():
        return False
    try:
        return os.access(store.cache_folder(), os.W_OK)
    except KernelError:
        return False


def dismiss() -> None:
    """Release the helper; it ends when no process can send it a message."""
    global _helper
    helper, _helper = _helper, None
    if helper is None:
        return
    with suppress(OSError):
        helper.stdin.close()
    with suppress(Exception):
        helper.wait(timeout=1)


@in_forked_children
def _after_fork_in_child() -> None:
    # The pipe belongs to the parent process.  The helper runs until every process has closed the pipe.
    global _helper, _starting
    helper, _helper, _starting = _helper, None, threading.Lock()
    if helper is not None:
        with suppress(OSError):
            helper.stdin.close()
        helper.returncode = 0  # after a fork the helper is not a child of this process


store.compiling.append(start)
atexit.register(dismiss)
