"""The casts before each op in this thread or task: the blocks of `mg.amp.autocast`.

Only an observer reads them, and only while such a block is open somewhere.  The casts are paused while the observer
makes its own casts, and during a backward pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import partial
from typing import Any

_casts: ContextVar[Any] = ContextVar("casts", default=None)
current, begin, resume = _casts.get, _casts.set, _casts.reset
pause = partial(begin, None)  # turns casts off until `resume`; a `partial` is fast, and each backward pass calls it


@contextmanager
def among_casts(casts: Any) -> Iterator[None]:
    """Return a block with the casts of an earlier `current()` and no other casts; None means no casts."""
    token = pause()
    try:
        with nullcontext() if casts is None else casts.block():
            yield
    finally:
        resume(token)
