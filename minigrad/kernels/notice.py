"""Print a notice, once per process, for a user who waits for the compiler.

A kernel that is not in the cache takes some tenths of a second to compile, a large one a few seconds.  In a terminal or
a notebook, the first long compilation prints which kernel it compiles, and that this happens only once.  An unusable
cache is always reported, because it costs every process this time.  In a process that exists to fill the cache, this is
an error.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from minigrad.config import settings
from minigrad.errors import KernelError

PATIENCE = 0.3  # seconds before the notice is printed
_said = False
_forgone = False
_required = False


class CacheError(KernelError):
    """Raised if a kernel cannot be stored, in a process that exists to fill the cache."""


def watched() -> bool:
    """Return whether a user sees the notice: stderr is a terminal, or a notebook shows the output."""
    if in_notebook():
        return True
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # stderr does not exist, as under pythonw, or is closed
        return False


def in_notebook() -> bool:
    """Return whether this process is the kernel of a Jupyter notebook."""
    return "ipykernel" in sys.modules


@contextmanager
def patience(name: str) -> Iterator[None]:
    """Print the notice once per process if a `with` block takes longer than PATIENCE."""
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
    """Print no notices in this process, because the process that started it reports the compilation."""
    global _said
    _said = True


def require_cache() -> None:
    """Make `forgo` raise CacheError in this process, whose kernels would be lost with its memory."""
    global _required
    _required = True


def say(name: str) -> None:
    """Print the notice on stderr; in a notebook on stdout, because a notebook shows stderr as an error."""
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
    """Print why kernels are not stored on disk, once per process, whether or not stderr is a terminal.

    Raises CacheError after `require_cache`.
    """
    global _forgone
    if _required:
        raise CacheError(reason)
    if _forgone or sys.stderr is None:
        return
    _forgone = True
    message = f"minigrad: {reason}.  Kernels are kept in memory, so each process compiles its own"
    print(message, file=sys.stderr, flush=True)
