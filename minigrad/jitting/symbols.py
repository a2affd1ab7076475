"""Floats among the arguments of a recorded function: symbols, whose values each call reads.

A symbol takes part in Python arithmetic, which each call repeats with its own numbers.  Next to tensors it behaves like
a weak number.  Any operation that would need its value raises an error, and then the function is recorded for this
value only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.core.dtype import DType, cast_array, float16, float32, promote_number
from minigrad.core.op import Op
from minigrad.core.storage import Storage
from minigrad.jitting.program import NO_ALLOCATOR, Program, real_of, refusal
from minigrad.runtime.operands import SCALAR, WeakNumber, is_precise
from minigrad.runtime.tensor import Tensor

ARITHMETIC = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**"}
# A number next to float16 is rounded to float16, unless this would lose it, as in `half_number`.
IN_HALF = "{0} if {0} and not 2.0**-14 <= abs({0}) <= 65504.0 else float(np.float16({0}))"
VALUE = ("float", "int", "bool", "index", "complex", "round", "trunc", "floor", "ceil", "str", "format", "hash",
         "eq", "ne", "lt", "le", "gt", "ge", "divmod", "rdivmod")  # fmt: skip


class Symbol(WeakNumber):
    """Represent a float argument, or the result of Python arithmetic on float arguments, during a recording.

    text: the name of the number in the generated code.
    The `__class__` of a symbol is float, so that a branch on the class of an argument has the same outcome as in eager
    mode.
    """

    __slots__ = ("program", "text")

    def __init__(self, program: Program, text: str) -> None:
        self.program, self.text = program, text

    def beside(self, dtype: DType, like: Tensor, op: Op) -> Tensor:
        """Return the number next to tensors of a dtype, as a 0-d tensor in memory that each call writes."""
        dtype, text = promote_number(dtype, 0.0), self.text
        if dtype.itemsize == 2 and like.layout.ndim and op.kind == "elementwise":  # see `half_number`
            if is_precise(op):
                dtype = float32
            elif dtype is float16:
                dtype, text = float32, self.computed(IN_HALF.format(text)).text
        slot = self.program.new(1, dtype, "symbol", real_of(like.device))
        self.program.symbols.append((text, slot.number))
        return Tensor(Storage(slot, dtype, like.device, NO_ALLOCATOR, 1), SCALAR)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return float

    def computed(self, expression: str) -> Symbol:
        """Return the number of an expression, which each call evaluates once."""
        self.program.arithmetic.append(f"m{len(self.program.arithmetic)} = {expression}")
        return Symbol(self.program, f"m{len(self.program.arithmetic) - 1}")

    def __neg__(self) -> Symbol:
        return self.computed(f"-{self.text}")

    def __pos__(self) -> Symbol:
        return self

    def __abs__(self) -> Symbol:
        return self.computed(f"abs({self.text})")

    def __repr__(self) -> str:
        return f"<a float that each call reads: {self.text}>"


def operator(pattern: str) -> Callable[[Symbol, Any], Any]:
    """Return the method of an operator; its text is `pattern`, with {0} for the symbol."""

    def apply(self: Symbol, other: Any) -> Any:
        if isinstance(other, Symbol):
            return self.computed(pattern.format(self.text, other.text))
        if type(other) in (int, float, bool):
            return self.computed(pattern.format(self.text, repr_of(other)))
        return NotImplemented

    return apply


def repr_of(number: float) -> str:
    """Return a number as text that Python reads as the same number."""
    if isinstance(number, float):
        return f"float({str(number)!r})"
    return repr(number) if number >= 0 else f"({number!r})"


def refuse(self: Symbol, *others: Any) -> Any:
    """Raise RecordingError for an operation that needs the value."""
    raise refusal(
        "the function requests the value of a float argument, which can differ in each call, while the function is "
        "recorded; use mg.where instead of a branch"
    )


for _name, _sign in ARITHMETIC.items():
    setattr(Symbol, f"__{_name}__", operator(f"{{0}} {_sign} {{1}}"))
    setattr(Symbol, f"__r{_name}__", operator(f"{{1}} {_sign} {{0}}"))
for _name in VALUE:
    setattr(Symbol, f"__{_name}__", refuse)


def stored(dtype: DType) -> Callable[[float], NDArray[Any] | float]:
    """Return the function from a float to its value in the memory of a dtype."""
    largest = float(np.finfo(dtype.numpy).max) if dtype.storage == dtype.numpy else -1.0
    return lambda value: value if abs(value) <= largest else cast_array(np.asarray(float(value)), dtype)
