"""Whether calls are recorded: a switch for each thread, and the user's line for `mg.debug()`."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class _Mode(threading.local):
    enabled = True


mode = _Mode()


class _GradMode:
    """Switches recording for a `with` block, or for each call of a decorated function."""

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled
        self.before: list[bool] = []

    def __enter__(self) -> None:
        self.before.append(mode.enabled)
        mode.enabled = self.enabled

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        mode.enabled = self.before.pop()

    def __call__(self, function: F) -> F:
        return decorated(function, lambda: _GradMode(self.enabled))


def decorated(function: F, block: Callable[[], Any]) -> F:
    """The function, each call of it in a block of its own."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with block():
            return function(*args, **kwargs)

    return wrapped  # type: ignore[return-value]


def no_grad() -> _GradMode:
    """Record nothing in this block (or in the decorated function)."""
    return _GradMode(False)


def enable_grad() -> _GradMode:
    """Record again inside a `no_grad` block."""
    return _GradMode(True)


def set_grad_enabled(enabled: bool) -> _GradMode:
    """`enable_grad()` or `no_grad()`, by a flag."""
    return _GradMode(bool(enabled))


def is_grad_enabled() -> bool:
    """Whether ops are recorded now, in this thread."""
    return mode.enabled


def user_line() -> str | None:
    """ "file:line" of the nearest frame outside this package: where the user called; "In[4]:line" in a notebook."""
    frame = sys._getframe(1)
    while frame is not None:
        if not frame.f_globals.get("__name__", "").startswith("minigrad."):
            return f"{cell_of(frame.f_code.co_filename)}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return None


def cell_of(file: str) -> str:
    """A notebook's cell by its number, as IPython's own tracebacks name it; any other file as it is."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    name_of = getattr(getattr(shell, "compile", None), "format_code_name", None)
    found = name_of(file) if name_of is not None else None
    return found[1] if found else file
