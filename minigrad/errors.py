"""Errors, as types.

Every error of minigrad is a `MinigradError` and also the built-in exception that a Python programmer would expect.
The message is one sentence; the facts in it (op, shapes, dim, ...) are attributes too, so a program can read them.
`check` is the short form of "raise unless".
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class MinigradError(Exception):
    """The base of all errors raised by minigrad; keyword facts become attributes.

    Example:
        >>> error = ShapeError("add: shapes (2,) and (3,) do not broadcast", op="add", lhs=(2,), rhs=(3,))
        >>> error.op, error.lhs
        ('add', (2,))
    """

    def __init__(self, message: str = "", **facts: Any) -> None:
        super().__init__(message)
        # The instance dictionary is pickled with the exception, so the facts cross process borders.
        self.__dict__.update(facts)

    def __getattr__(self, name: str) -> Any:
        """Fail as usual; declared so that type checkers accept the facts."""
        raise AttributeError(f"{type(self).__name__} carries no fact {name!r}; it has {sorted(self.__dict__)}")


class ShapeError(MinigradError, ValueError):
    """Shapes do not go together, or a shape is impossible."""


class DTypeError(MinigradError, TypeError):
    """A dtype is unknown, not supported here, or cannot hold a number."""


class DeviceError(MinigradError, RuntimeError):
    """A device is unknown, missing, or mixed with another."""


class IndexOutOfRange(MinigradError, IndexError):
    """A dim or an index lies outside its range."""


class GradientError(MinigradError, RuntimeError):
    """A gradient was asked for where there is none, or where it would be wrong."""


class DeclarationError(MinigradError, TypeError):
    """An op or a module is declared in a way that cannot work."""


class KernelError(MinigradError, RuntimeError):
    """A kernel could not be made, loaded or launched."""


class ArgumentError(MinigradError, ValueError):
    """An argument has a value that makes no sense for the op."""


class FileError(MinigradError, ValueError):
    """A file is damaged, cut off, or of another kind."""


class RecordingError(MinigradError, RuntimeError):
    """A function that `mg.jit` records did something that a program cannot repeat."""


class StateError(MinigradError, RuntimeError):
    """A saved state does not fit the object that it is loaded into."""


class GroupError(MinigradError, RuntimeError):
    """A group of processes cannot be started, or its processes do not agree."""


class WorkerError(MinigradError, RuntimeError):
    """A worker process of a loader has ended, or does not answer."""


class StorageError(MinigradError, RuntimeError):
    """Memory is used in a way that would produce wrong numbers: overlap, a stale version, a foreign buffer."""


def check(condition: object, error_type: type[MinigradError], *parts: object, **facts: Any) -> None:
    """Raise `error_type` unless `condition` holds; the message is the parts, joined without spaces.

    The parts are turned into text only when the check fails, so a passing check costs no formatting.

    Example:
        >>> check(2 > 1, ShapeError, "never shown")
    """
    if not condition:
        raise error_type("".join(str(part) for part in parts), **facts)


def warn(message: str) -> None:
    """Warn at the line of the caller that is not in this package, however many of our functions lie between."""
    depth, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "minigrad":
        frame, depth = frame.f_back, depth + 1
    warnings.warn(message, stacklevel=depth)


@contextmanager
def reading(prefix: str) -> Iterator[None]:
    """Return a block that reads a file, and in which every error becomes a FileError that begins with a prefix."""
    try:
        yield
    except MinigradError as error:
        raise FileError(f"{prefix}: {error}") from None
    except Exception as error:  # damaged bytes make readers of archives, JSON and pickles raise errors of any type
        raise FileError(f"{prefix}: it is damaged ({type(error).__name__}: {error})") from None


def quantity(count: int, noun: str) -> str:
    """Return a count with its noun, in the plural unless it is 1.

    Example:
        >>> quantity(1, "operand"), quantity(2, "operand")
        ('1 operand', '2 operands')
    """
    return f"{count} {noun}{'s' * (count != 1)}"
