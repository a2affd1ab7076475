"""How much work a function does, on any machine: the calls that it makes, counted."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def steps(function: Callable[[], Any]) -> int:
    """Calls and returns of Python and built-in functions while `function` runs in this thread."""
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
