"""Generated Python: the functions of calls that minigrad writes as text, compiled and executed in one place."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any


@lru_cache(maxsize=1024)
def code_object(text: str, title: str, readable: bool = False) -> CodeType:
    """Compile a source; many generated functions share their text.

    readable: whether tracebacks and debuggers show its lines.  Then its file name is unique, and the text is kept.
    """
    path, count = f"<minigrad {title}>", 1
    while readable and path in linecache.cache:
        count += 1
        path = f"<minigrad {title} #{count}>"
    if readable:
        linecache.cache[path] = (len(text), None, text.splitlines(True), path)
    return compile(text, path, "exec")


def defined(name: str, text: str, names: dict[str, Any], title: str = "", readable: bool = False) -> Callable[..., Any]:
    """Return the function `name` that a text defines; `names` become its globals."""
    exec(code_object(text, title or name, readable), names)
    return names[name]


# ---- functions whose text is written at their first call -------------------------------------------------------------

HIDDEN = "_mg_"  # the prefix of internal names in generated functions, which thus differ from a user's names
WRITE = f"{HIDDEN}write"  # the name of the variable with the function that generates the text


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
