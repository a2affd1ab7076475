"""Why is nothing happening?  A user who waits for a compiler is told so, once.

A kernel that is not in the cache takes some tenths of a second, a large one a few seconds.  Where somebody is
watching, a terminal or a notebook, the first that takes long says what is being done and that it is done only once.
A cache that cannot be used is told of wherever it is: it costs every process its time.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from minigrad.config import settings

PATIENCE = 0.3  # seconds before anything is said
_said = False
_forgone = False


def watched() -> bool:
    """Return whether a user sees the line: stderr is a terminal, or a notebook shows it."""
    if in_notebook():
        return True
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # no stderr, as under pythonw; or a closed one
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
    """Say nothing in this process: whoever started it tells what is being compiled."""
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
    """Say why kernels are not kept on disk, the first time in a process, whoever is watching."""
    global _forgone
    if _forgone or sys.stderr is None:
        return
    _forgone = True
    message = f"minigrad: {reason}.  Kernels are kept in memory, so each process compiles its own"
    print(message, file=sys.stderr, flush=True)
