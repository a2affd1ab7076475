"""Whether calls are recorded: a switch per thread or task, and the user's line for `mg.debug()`."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import partial
from types import TracebackType
from typing import Any, TypeVar

from minigrad.core.roles import read_flag
from minigrad.errors import GradientError

F = TypeVar("F", bound=Callable[..., Any])
_enabled: ContextVar[Any] = ContextVar("recording")
NAMED = 0.0  # the setting of `enable_grad` in `inference_mode`: false, but `is_grad_enabled` is true, as in PyTorch


class _Mode:
    """enabled: whether calls are recorded in this thread or task; true by default.

    The getter is `ContextVar.get` itself, so reading costs less than a thread-local attribute.  Its default value is
    the object `self`, which is true.
    """

    enabled: Any = property(_enabled.get, lambda self, value: _enabled.set(value))  # type: ignore[arg-type]


mode = _Mode()


class Switched:
    """Store one open block that switches recording on or off.

    before: the setting that the end of the block restores.
    below: the enclosing block.
    on: of a block of `inference_mode`, whether it is on; otherwise None.

    Blocks in generators and tasks can end in any order.  If a block ends before its inner block, the inner block later
    restores the setting `before` of the ended block.
    """

    __slots__ = ("before", "below")
    on: bool | None = None

    def __init__(self, enabled: Any) -> None:
        self.before, self.below = _enabled.get(mode), innermost.get()
        innermost.set(self)
        _enabled.set(enabled)

    def end(self, name: str) -> None:
        """Switch back.  Raise GradientError if the block began in another thread or task."""
        block = innermost.get()
        if block is self:
            innermost.set(self.below)
            _enabled.set(self.before)
            return
        while block is not None and block.below is not self:
            block = block.below
        if block is None:
            raise GradientError(
                f"{name}: the block must end in the thread or task in which it began; open and close it in one thread "
                "or task"
            )
        block.below, block.before = self.below, self.before


def end_one(begun: list[Switched], name: str) -> None:
    """End the newest block in the list that began in this thread or task; several threads may share the list."""
    block = innermost.get()
    newest = begun[-1]
    if newest is not block:
        inside = set()
        while block is not None:
            inside.add(block)
            block = block.below
        newest = next((each for each in reversed(begun) if each in inside), newest)
    newest.end(name)
    begun.remove(newest)


innermost: ContextVar[Switched | None] = ContextVar("innermost", default=None)


class _GradMode:
    """A switch of recording for a `with` block, or for each call of a decorated function."""

    enabled: bool

    def __new__(cls, function: Any = None) -> Any:
        return object.__new__(cls) if function is None else cls()(function)

    def __init__(self, function: Any = None) -> None:
        self.begun: list[Switched] = []

    def __enter__(self) -> None:
        self.begun.append(Switched(self.setting()))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        end_one(self.begun, type(self).__name__)

    def setting(self) -> Any:
        """Return what the block sets: in `inference_mode` no user's block switches recording on."""
        return NAMED if self.enabled and not mode.enabled and is_inference_mode_enabled() else self.enabled

    def __call__(self, function: F) -> F:
        return decorated(function, type(self))


class no_grad(_GradMode):
    """Record nothing in this block, or in the decorated function.

    function: Function to decorate: `@no_grad` is the same as `@no_grad()`.
    """

    enabled = False


class enable_grad(_GradMode):
    """Record ops again inside a `no_grad` block, or in the decorated function; in `inference_mode` it has no effect.

    function: Function to decorate: `@enable_grad` is the same as `@enable_grad()`.
    """

    enabled = True


class recording_on(enable_grad):
    """A block of this package that records in `inference_mode` too, for derivatives that are computed inside it."""

    def setting(self) -> Any:
        """Return True."""
        return True


class set_grad_enabled(_GradMode):
    """Record ops or not, from this call on; as a `with` block, until its end.

    As a decorator it changes only the calls of the function.  An enclosing block ends with the setting that it began
    with.

    Parameters
    ----------
    mode : bool
        Whether ops are recorded.

    Example:
        >>> before = mg.set_grad_enabled(False)
        >>> (mg.Var([1.0]) * 2.0).requires_grad
        False
        >>> with mg.set_grad_enabled(True):
        ...     y = mg.Var([1.0]) * 2.0
        >>> y.requires_grad, mg.is_grad_enabled()
        (True, False)
        >>> after = mg.set_grad_enabled(True)
    """

    def __new__(cls, mode: bool) -> set_grad_enabled:
        return object.__new__(cls)

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self.enabled, self.before = read_flag(mode, "set_grad_enabled", "mode"), _enabled.get(True)
        _enabled.set(self.setting())

    def __enter__(self) -> None:
        super().__enter__()
        self.begun[-1].before = self.before

    def __call__(self, function: F) -> F:
        _enabled.set(self.before)
        return decorated(function, lambda: set_grad_enabled(self.enabled))


def decorated(function: F, block: Callable[[], Any]) -> F:
    """Return the function, with each call of it in a separate block.

    Of a generator each step is in a block, and the code that receives its values is not.
    """
    wrapper: Any
    if inspect.isgeneratorfunction(function):

        def wrapper(*args: Any, **kwargs: Any) -> Iterator[Any]:
            return stepped(function(*args, **kwargs), block)

    elif inspect.iscoroutinefunction(function):

        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            with block():  # a task has its own mode, and its code awaits this call
                return await function(*args, **kwargs)

    elif inspect.isasyncgenfunction(function):
        raise GradientError(
            f"{function.__name__}: an asynchronous generator cannot be decorated; open the block inside it, around the "
            "lines between two yields"
        )
    else:

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with block():
                return function(*args, **kwargs)

    return functools.wraps(function)(wrapper)  # type: ignore[return-value]


def stepped(steps: Any, block: Callable[[], Any]) -> Iterator[Any]:
    """Yield what a generator yields, with each of its steps in a separate block; it receives what is sent or thrown."""
    step, value = steps.send, None
    while True:
        try:
            with block():
                result = step(value)
        except StopIteration as end:
            return end.value
        try:
            step, value = steps.send, (yield result)
        except BaseException as error:  # GeneratorExit too: `throw` then runs the generator's `finally` in a block
            step, value = steps.throw, error


def is_grad_enabled() -> bool:
    """Return whether ops are currently recorded in this thread or task."""
    return bool(mode.enabled) or mode.enabled is NAMED


def is_inference_mode_enabled() -> bool:
    """Return whether this thread or task is inside an `inference_mode` block."""
    block = innermost.get()
    while block is not None and block.on is None:
        block = block.below
    return block is not None and bool(block.on)


def user_line(skip: int = 0) -> str | None:
    """Return "file:line" of the nearest frame outside this package, which is the user's call.

    In a notebook it is "In[4]:line".  The result is None if there is no such frame.
    skip: the number of frames of callers that are known to be inside this package.
    """
    frame = sys._getframe(1 + skip)
    while frame is not None:
        if frame.f_globals.get("__name__", "")[:9] != "minigrad.":  # half the time of `startswith`
            file = frame.f_code.co_filename
            return f"{cell_of(file) if 'IPython' in sys.modules else file}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return None


def cell_of(file: str) -> str:
    """Return the number of a notebook's cell as in IPython's own tracebacks; return other file names unchanged."""
    ipython = sys.modules.get("IPython")
    if ipython is None:
        return file
    shell = ipython.get_ipython() if hasattr(ipython, "get_ipython") else None
    name_of = getattr(getattr(shell, "compile", None), "format_code_name", None)
    cell = name_of(file) if name_of is not None else None
    return cell[1] if cell else file


def definition_of(function: Any) -> str:
    """Return "file:line" of a function's definition, "In[4]:line" in a notebook; "" if it has no Python code."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return "" if code is None else f"{cell_of(code.co_filename)}:{code.co_firstlineno}"


# ---- casts -----------------------------------------------------------------------------------------------------------

_casts: ContextVar[Any] = ContextVar("casts", default=None)
current_casts, begin_casts, resume_casts = _casts.get, _casts.set, _casts.reset
# Turns casts off until `resume_casts`; a `partial` is fast, and each backward pass calls it.
pause_casts = partial(begin_casts, None)


@contextmanager
def among_casts(casts: Any) -> Iterator[None]:
    """Return a block with the casts of an earlier `current_casts()` and no other casts; None means no casts."""
    token = pause_casts()
    try:
        with nullcontext() if casts is None else casts.block():
            yield
    finally:
        resume_casts(token)
