"""Notices for a user who waits for the compiler, printed once.

A kernel that is not in the cache takes some tenths of a second, a large one a few seconds.  In a terminal or a notebook
the first long compilation prints what it does, and that this happens only once.  A cache that cannot be used is always
reported: it costs every process its time.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from minigrad.config import settings

PATIENCE = 0.3  # seconds before the notice is printed
_said = False
_forgone = False


def watched() -> bool:
    """Return whether a user sees the line: stderr is a terminal, or a notebook shows it."""
    if in_notebook():
        return True
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # stderr is missing, as under pythonw, or closed
        return False


def in_notebook() -> bool:
    """Return whether Jupyter runs this process."""
    return "ipykernel" in sys.modules


@contextmanager
def patience(name: str) -> Iterator[None]:
    """Around a compile: after PATIENCE, one line, the first time in a process."""
    if _said or not watched():
        yield
        return
    timer = threading.Timer(PATIENCE, say, (name,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def silence() -> None:
    """Print no notices in this process: the process that started it reports the compilation."""
    global _said
    _said = True


def say(name: str) -> None:
    """Print the line: on stderr, except in a notebook, which shows stderr as an error."""
    global _said
    if _said:
        return
    _said = True
    print(
        f"minigrad: compiling {name}; kernels are kept in {settings.cache_dir}, so this happens once "
        f"(`python -m minigrad warmup` compiles the common ones beforehand)",
        file=sys.stdout if in_notebook() else sys.stderr,
        flush=True,
    )


def forgo(reason: str) -> None:
    """Print why kernels are not stored on disk, once per process, whether stderr is a terminal or not."""
    global _forgone
    if _forgone or sys.stderr is None:
        return
    _forgone = True
    message = f"minigrad: {reason}.  Kernels are kept in memory, so each process compiles its own"
    print(message, file=sys.stderr, flush=True)
