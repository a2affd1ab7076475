"""Functions whose text is written and compiled at their first call: a program uses few of a module's functions."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

WRITE = "_mg_write"  # the name of the variable with the function that generates the text


def at_first_call(name: str, names: dict[str, Any], write: Callable[[], Any]) -> Any:
    """Return a function whose code `write` generates at the first call.

    names: the globals of the function.
    The first call replaces the code and the defaults of the function, so later calls have no additional frame.  If two
    threads make the first call at the same time, both generate the same code.
    """
    function = FunctionType(_first_call.__code__, names, name)

    def written() -> Any:
        made = write()
        function.__defaults__, function.__kwdefaults__ = made.__defaults__, made.__kwdefaults__
        function.__code__ = made.__code__
        return function

    names[WRITE] = written
    return function


def _first_call(*arguments: Any, **named: Any) -> Any:
    return _mg_write()(*arguments, **named)  # type: ignore[name-defined]  # noqa: F821


def write_now(function: Any) -> None:
    """Write a function that waits for its first call; do nothing for any other."""
    if getattr(function, "__code__", None) is _first_call.__code__:
        function.__globals__[WRITE]()
