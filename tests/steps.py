"""The work of a function, as its number of calls, which is the same on every machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def steps(function: Callable[[], Any]) -> int:
    """Return the number of calls and returns of Python and builtin functions while `function` runs in this thread."""
    count = 0

    def seen(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        count += 1

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count
