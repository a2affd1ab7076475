"""Whether a copy between devices must be complete when it returns: a setting of the current thread, for one call."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


class Pace(threading.local):
    """waits: whether copies of this thread wait for their end where the host could see a difference."""

    waits = True


pace = Pace()


def without_waiting(run: Callable[..., Any], *args: Any, **more: Any) -> Any:
    """Call a function whose copies do not wait."""
    before, pace.waits = pace.waits, False
    try:
        return run(*args, **more)
    finally:
        pace.waits = before
