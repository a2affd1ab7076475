"""The casts before each op, in this thread or task: the blocks of `mg.amp.autocast`.

Only an observer reads this, while such a block is open somewhere.  It makes its own casts in a pause, and a backward
pass is a pause, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import partial
from typing import Any

_casts: ContextVar[Any] = ContextVar("casts", default=None)
current, begin, resume = _casts.get, _casts.set, _casts.reset
pause = partial(begin, None)  # turns casts off until `resume`; a `partial`, because each backward pass calls it


@contextmanager
def among_casts(casts: Any) -> Iterator[None]:
    """Return a block with the casts of an earlier `current()`, and no others; None for a block that casts nothing."""
    token = pause()
    try:
        with nullcontext() if casts is None else casts.block():
            yield
    finally:
        resume(token)
