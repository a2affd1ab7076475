"""Generated Python: the functions of calls that minigrad writes as text, compiled and executed in one place."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from functools import lru_cache
from types import CodeType
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
    function: Callable[..., Any] = names[name]
    return function
