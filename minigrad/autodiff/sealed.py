"""What a derivative rule reads from outside, and whether calling it once tells what it always does.

A rule is `sealed` before it is traced: copied, with only those outside names that cannot surprise: numbers, `math`,
other functions that can be sealed themselves.  Anything else is a missing name in the copy, and the trace gives up.
The values that were read are kept, so that the kernel can ask whether they still hold.  Only code without branches is
traced: what takes another way for another tensor, asks `is`, writes, or catches errors does not do one thing.
"""

from __future__ import annotations

import dis
import math
from collections.abc import Callable
from types import CellType, FunctionType
from typing import Any

# A white list, for Python 3.11 to 3.14: what it does not name runs as it is.
STRAIGHT = frozenset(
    "RESUME NOP CACHE EXTENDED_ARG PRECALL PUSH_NULL KW_NAMES CALL CALL_KW POP_TOP COPY SWAP COPY_FREE_VARS "
    "LOAD_CONST LOAD_SMALL_INT LOAD_FAST LOAD_FAST_CHECK LOAD_FAST_BORROW LOAD_FAST_LOAD_FAST "
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW LOAD_GLOBAL LOAD_DEREF LOAD_ATTR LOAD_METHOD STORE_FAST STORE_FAST_STORE_FAST "
    "STORE_FAST_LOAD_FAST BINARY_OP UNARY_NEGATIVE UNARY_POSITIVE UNARY_INVERT COMPARE_OP RETURN_VALUE "
    "RETURN_CONST".split()
)
BUILTINS = {"abs": abs, "pow": pow}
ABSENT = object()


class Unfusable(Exception):
    """The rule does something that is no elementwise op."""


class Outside:
    """The values that a rule has read from outside: (scope, name, value) of globals, (cell, value) of closures."""

    __slots__ = ("cells", "names")

    def __init__(self) -> None:
        self.names: list[tuple[dict[str, Any], str, Any]] = []
        self.cells: list[tuple[CellType, Any]] = []

    def __bool__(self) -> bool:
        return bool(self.names or self.cells)

    def unchanged(self) -> bool:
        """Whether each name still stands for the very object that was read."""
        for scope, name, value in self.names:
            if scope.get(name, ABSENT) is not value:
                return False
        try:
            return all(cell.cell_contents is value for cell, value in self.cells)
        except ValueError:  # a cell that has been emptied
            return False


def seal(fn: Callable[..., Any], outside: Outside, known: dict[Any, Any] | None = None) -> FunctionType:
    """A copy of `fn` that sees only what cannot surprise; what it may read is noted in `outside`.

    known: the copies made so far.  Raises Unfusable for what is no straight line of plain Python.
    """
    known = {} if known is None else known
    if fn in known:
        copy: FunctionType = known[fn]
        return copy
    # A method, a partial or another callable may hold anything; so may an op, which is a function with a record.
    if type(fn) is not FunctionType or fn.__dict__ or fn.__defaults__ or fn.__kwdefaults__:
        raise Unfusable(f"{fn!r}")
    scope: dict[str, Any] = {"__builtins__": BUILTINS}
    cells = tuple(CellType() for _ in fn.__closure__ or ())
    copy = known[fn] = FunctionType(fn.__code__, scope, fn.__name__, None, cells)
    for name in outside_names(fn):
        value = fn.__globals__.get(name, ABSENT)
        outside.names.append((fn.__globals__, name, value))
        if value is not ABSENT:
            scope[name] = sealed_value(value, outside, known)
    for mine, theirs in zip(cells, fn.__closure__ or ()):
        value = contents(theirs)
        outside.cells.append((theirs, value))
        mine.cell_contents = sealed_value(value, outside, known)
    return copy


def outside_names(fn: FunctionType) -> list[str]:
    """The globals and builtins that it names.  Raises Unfusable for code that is not one straight line."""
    names = []
    for step in dis.get_instructions(fn.__code__):
        if step.opname not in STRAIGHT or (step.opname == "BINARY_OP" and step.argrepr.endswith("=")):
            raise Unfusable(f"{fn.__name__} has {step.opname} {step.argrepr}")
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD") and step.argval.startswith("_"):
            raise Unfusable(f"{fn.__name__} asks for {step.argval}")
        if step.opname == "LOAD_GLOBAL" and step.argval not in names:
            names.append(step.argval)
    return names


def sealed_value(value: Any, outside: Outside, known: dict[Any, Any]) -> Any:
    """A value from outside as the copy may see it: a number, `math`, or a function, sealed in its turn."""
    return value if type(value) in (int, float) or value is math else seal(value, outside, known)


def contents(cell: CellType) -> Any:
    """What a cell holds; raises Unfusable if it is empty."""
    try:
        return cell.cell_contents
    except ValueError:
        raise Unfusable("an empty cell") from None
