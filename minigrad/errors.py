"""Types of errors.

Most errors of minigrad are a `MinigradError`, a RuntimeError as most errors of PyTorch are, and also the built-in
exception that a Python programmer would expect.
Python's protocols (`len`, `iter`, attributes, calls) raise the built-in exception alone. The message is usually one
sentence; the facts in it (op, shapes, dim, ...) are also attributes, so that a program can read them.
`check` raises an error unless a condition holds.
"""

from __future__ import annotations

import re
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

SHOWN = 40  # characters of a repr in a message
OP = re.compile(r"(the \w+ of )?[\w.]+")  # the label of an op


class MinigradError(RuntimeError):
    """Define the base class of minigrad's errors; keyword arguments become attributes of the error.

    The attribute `op` is the name with which the message begins, such as "linalg.qr" or "the gradient of index", unless
    it is passed.

    >>> error = ShapeError("add: shapes (2,) and (3,) do not broadcast", lhs=(2,), rhs=(3,))
    >>> error.op, error.lhs
    ('add', (2,))
    """

    def __init__(self, message: str = "", **facts: Any) -> None:
        super().__init__(message)
        name, colon, _ = message.partition(": ")
        if colon and OP.fullmatch(name):
            facts.setdefault("op", name)
        # The instance dictionary is pickled with the exception, so the facts cross process borders.
        self.__dict__.update(facts)

    def __getattr__(self, name: str) -> Any:
        """Raise AttributeError; the method exists so that type checkers accept the facts."""
        raise AttributeError(
            f"{type(self).__name__} has no attribute {name!r}; its attributes are {sorted(self.__dict__)}"
        )


class ShapeError(MinigradError, ValueError):
    """Raised for shapes that do not match, and for an invalid shape."""


class DTypeError(MinigradError, TypeError):
    """Raised for a dtype that is unknown, not supported by the op, or unable to represent a number."""


class UnsupportedDTypeError(DTypeError, NotImplementedError):
    """Raised for an operand whose dtype the op does not support."""


class DeviceError(MinigradError):
    """Raised for a device that is unknown or missing, and for operands on different devices."""


class IndexOutOfRange(MinigradError, IndexError):
    """Raised for a dim or an index out of range."""


class IndexShapeError(ShapeError, IndexError):
    """Raised for a mask or index tensor whose shape does not fit, and for a row without the element to be selected."""


class IndexDTypeError(DTypeError, IndexError):
    """Raised for an index that is neither an int, a slice, None nor ..., nor a tensor of integers or bools."""


class GradientError(MinigradError):
    """Raised for a gradient that does not exist, or that would be wrong."""


class DeclarationError(MinigradError, TypeError):
    """Raised for an invalid declaration of an op or a module."""


class KernelError(MinigradError):
    """Raised if a kernel cannot be generated, loaded or launched."""


class ArgumentError(MinigradError, ValueError):
    """Raised for an argument with an invalid value."""


class ArgumentTypeError(ArgumentError, TypeError):
    """Raised for an argument of a wrong type, such as a float instead of an int."""


class FileError(MinigradError, ValueError):
    """Raised for a file that is damaged, incomplete, or of another format."""


class RecordingError(MinigradError):
    """Raised if a program cannot repeat what a function under `mg.jit` did."""


class StateError(MinigradError):
    """Raised if a saved state does not match the object that loads it."""


class GroupError(MinigradError):
    """Raised if a group of processes cannot start, or if its processes make different calls."""


class WorkerError(MinigradError):
    """Raised if a worker process of a loader has ended or does not respond."""


class StorageError(MinigradError):
    """Raised for a use of memory that would produce wrong results: overlap, a stale version, a foreign buffer."""


def check(condition: object, error_type: type[MinigradError], *parts: object, **facts: Any) -> None:
    """Raise `error_type` unless `condition` holds; the message is the text of the parts, joined without spaces.

    The parts are converted to text only if the check fails, so a check that succeeds formats nothing.

    >>> check(2 > 1, ShapeError, "never shown")
    """
    if not condition:
        raise error_type("".join(str(part) for part in parts), **facts)


def absent_method(owner: object, kind: str, call: str) -> NotImplementedError:
    """Return the error of a method that a subclass should define; call: the method with its parameters, as text."""
    name = call.partition("(")[0]
    return NotImplementedError(f"{type(owner).__name__}.{name}: {kind} must define {name}; add a method {call}")


class _Unsteady(threading.local):
    """error: the class of an error to raise for effects, while `runtime/compositions.py` collects calls; or None."""

    error: type[Exception] | None = None

    def check(self) -> None:
        """Raise the error if calls are collected: an effect would be missing when the calls are repeated."""
        if self.error is not None:
            raise self.error


unsteady = _Unsteady()


def warn(message: str) -> None:
    """Warn with the line of the nearest caller outside this package."""
    unsteady.check()
    depth, frame = 2, sys._getframe(1)
    while frame.f_back is not None:
        name = frame.f_globals.get("__name__", "")
        # "contextlib": a warning at the end of a block of minigrad; "importlib": `import_module` in its imports
        if name == "importlib" or name.partition(".")[0] in ("minigrad", "contextlib"):
            depth += 1
        elif not name.startswith("importlib._bootstrap"):  # `stacklevel` does not count the frames of an import
            break
        frame = frame.f_back
    warnings.warn(message, stacklevel=depth)


@contextmanager
def reading(prefix: str) -> Iterator[None]:
    """Open a block that reads a file, in which every error becomes a FileError whose message begins with a prefix."""
    try:
        yield
    except MinigradError as error:
        raise FileError(f"{prefix}: {error}") from None
    except Exception as error:  # damaged bytes make readers of archives, JSON and pickles raise errors of any type
        raise FileError(
            f"{prefix}: the file is damaged ({type(error).__name__}: {error}); save or download the file again"
        ) from None


def shortened(x: object) -> str:
    """Return the type of a value with its name, or with its repr in one line; a cut repr ends with three dots.

    >>> shortened(print), shortened(int), shortened("a" * 50)
    ('builtin_function_or_method print', 'class int', "str 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...")
    """
    if isinstance(x, type):
        return f"class {x.__name__}"
    kind, name = type(x).__name__, getattr(x, "__name__", None)
    if callable(x) and isinstance(name, str):
        return f"{kind} {name}"
    text = " ".join(repr(x).split())
    text = text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
    return text if text.startswith(f"{kind}(") else f"{kind} {text}"


def quantity(count: int, noun: str) -> str:
    """Return a count with its noun, which is plural unless the count is 1.

    >>> quantity(1, "operand"), quantity(2, "launch"), quantity(0, "temporary")
    ('1 operand', '2 launches', '0 temporaries')
    """
    if count == 1:
        return f"1 {noun}"
    if noun.endswith("y"):
        return f"{count} {noun[:-1]}ies"
    return f"{count} {noun}{'es' if noun.endswith('ch') else 's'}"
