"""Who looks at what is recorded: savers of values, and the user's line.

A record calls `noted` when `settings.noting` says that somebody wants to see it, which is one look at a flag otherwise.
Savers stand on a stack, one for each thread; the innermost owns what is saved.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from minigrad.config import settings
from minigrad.runtime import saves
from minigrad.runtime.graph import BackpropOp
from minigrad.runtime.recording import user_line


class Saver(Protocol):
    """What decides how the values that a node saved are kept."""

    def keep(self, node: BackpropOp) -> None:
        """Look at a node that has just been recorded; it may be given other values for `saved`."""


class _Savers(threading.local):
    def __init__(self) -> None:
        self.stack: list[Saver] = []


class Anomaly:
    """Whether each gradient is looked at in this process, and for what."""

    on = False
    check_nan = True


savers = _Savers()
anomaly = Anomaly()
_counting = threading.Lock()


def watch(change: int) -> None:
    """One more, or one less, that wants to see records."""
    with _counting:
        settings.watchers += change


def noted(node: BackpropOp) -> str | None:
    """Show a node that is complete to who wants to see it; gives the user's line, if that is wanted."""
    line = saves.noted(node) if settings.debug else user_line() if anomaly.on else None
    if savers.stack:
        savers.stack[-1].keep(node)
    return line


@contextmanager
def saving(saver: Saver | None) -> Iterator[None]:
    """A block in which this thread's savers are `saver` on top of those that are there; None: none at all."""
    before = savers.stack
    savers.stack = [] if saver is None else [*before, saver]
    watch(1)
    try:
        yield
    finally:
        savers.stack = before
        watch(-1)
