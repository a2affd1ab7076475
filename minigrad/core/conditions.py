"""Conditions on the operands of an op, with the messages of their errors.

A declaration states a condition in an annotation, `def diag(input: Annotated[Tensor, Ndim(1, 2)])`.  It is checked
before the op runs, whenever a plan is made.  A helper that several functions share checks the same condition with
`Ndim(1, 2).expect(name, input=x)`.  Conditions that relate several operands are functions: `expect_shapes`.
Operands are tensors or Specs, which have a shape and a dtype.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from minigrad.core.roles import Role, sentence
from minigrad.errors import (
    DTypeError,
    IndexDTypeError,
    IndexShapeError,
    MinigradError,
    ShapeError,
    UnsupportedDTypeError,
    shortened,
)

Holds = Callable[[Any, Sequence[Any]], bool]


class Condition(Role):
    """Describe a condition on one operand: a role that does not change the operand.

    holds(x, operands): whether the operand x satisfies the condition.
    wanted: the end of "x must ...", or "expected ...".  `{first}` in it is replaced by the first operand.
    advice: the remedy.
    """

    __slots__ = ("advice", "error", "holds", "wanted")

    def __init__(self, error: type[MinigradError], wanted: str, advice: str, holds: Holds) -> None:
        super().__init__("Operand", "a tensor", "Tensor", self._read)
        self.error, self.wanted, self.advice, self.holds = error, wanted, advice, holds

    def _read(self, x: Any, op: str, name: str, operands: Sequence[Any]) -> Any:
        if x is None or not hasattr(x, "shape") or self.holds(x, operands):
            return x
        wanted = self.wanted.replace("{first}", described(operands[0])) if operands else self.wanted
        claim = wanted if wanted.startswith("expected ") else f"{name} must {wanted}"
        others = [described(each) for each in operands if each is not x and hasattr(each, "shape")]
        beside = f" with {sentence(others)}" if others and wanted == self.wanted else ""
        raise self.error(f"{op}: {claim}, got {described(x)}{beside}; {self.advice}")

    def but(self, **changes: Any) -> Condition:
        """Return this condition with another `error`, `wanted` or `advice`."""
        values = {name: getattr(self, name) for name in ("error", "wanted", "advice", "holds")}
        return Condition(**(values | changes))

    def expect(self, op: str, *operands: Any, **named: Any) -> None:
        """Check tensors by their names in messages; operands: the operands of the op, if the condition reads them."""
        for name, x in named.items():
            self._read(x, op, name, operands)


def described(x: Any) -> str:
    """Describe an operand for messages, such as `float32(2, 3)`, or a value."""
    return f"{x.dtype}{x.shape}" if hasattr(x, "shape") and hasattr(x, "dtype") else shortened(x)


@lru_cache(256)
def Ndim(*counts: int, least: int = 0, most: int = 64, advice: str = "", layout: str = "") -> Condition:
    """Return the condition that an operand has one of the given numbers of dims, or `least` to `most` dims.

    layout: the meaning of the dims, such as "(batch, channels, ...)".
    """
    if counts:
        wanted, last, few = sentence(map(repr, counts), "or"), counts[-1], counts[-1] == 1
    else:
        wanted, last, few = (f"at least {least}", least, False) if least else (f"at most {most}", most, False)
    allowed = frozenset(counts or range(least, most + 1))
    wanted = f"have {wanted} dim{'s' if last != 1 or len(counts) > 1 else ''}{f', {layout}' if layout else ''}"
    remedy = "reshape it with .reshape(1)" if least == 1 else "add dims with unsqueeze" if least or counts else ""
    advice = advice or ("flatten it with .reshape(-1)" if few else remedy)
    return Condition(ShapeError, wanted, advice, lambda x, _: len(x.shape) in allowed)


FLOAT = "have a floating dtype"
Floating = Condition(UnsupportedDTypeError, FLOAT, "convert it with .to(mg.float32)", lambda x, _: x.dtype.is_float)
Inexact = Condition(
    UnsupportedDTypeError, "have a floating or complex dtype", "convert it with .to(mg.float32)",
    lambda x, _: x.dtype.is_inexact,
)  # fmt: skip
Integral = Condition(
    UnsupportedDTypeError, "have an integer dtype", "convert it with .long()", lambda x, _: x.dtype.is_int
)
IndexDType = Integral.but(error=IndexDTypeError)
Numeric = Condition(
    UnsupportedDTypeError,
    "contain numbers, not bool",
    "convert it with .to(mg.int64)",
    lambda x, _: x.dtype.kind != "bool",
)
Wide = Condition(
    UnsupportedDTypeError, "expected float32 or float64", "convert with .to(mg.float32)",
    lambda x, _: x.dtype.is_float and x.dtype.itemsize >= 4,
)  # fmt: skip
Complex = Condition(
    UnsupportedDTypeError, "have a complex dtype", "convert it with .to(mg.complex64)", lambda x, _: x.dtype.is_complex
)
Real = Condition(UnsupportedDTypeError, "be real", "pass input.real", lambda x, _: not x.dtype.is_complex)
NotHalf = Condition(
    UnsupportedDTypeError, "expected float32, float64, complex or integers", "convert with .to(mg.float32)",
    lambda x, _: not x.dtype.is_float or x.dtype.itemsize >= 4,
)  # fmt: skip
Boolean = Condition(UnsupportedDTypeError, "be bool", "compare first, as in x > 0", lambda x, _: x.dtype.kind == "bool")


@lru_cache(64)
def Like(what: str, first: str = "input", advice: str = "") -> Condition:
    """Return the condition that an operand has the dtype or the shape of the first operand, which has the name `first`.

    what: "dtype" or "shape".
    """
    advice = advice or (f"convert it with .to({first}.dtype)" if what == "dtype" else "reshape it")

    def holds(x: Any, operands: Sequence[Any]) -> bool:
        return bool(getattr(x, what) == getattr(operands[0], what))

    error = DTypeError if what == "dtype" else ShapeError
    return Condition(error, f"have the {what} of {first} {{first}}", advice, holds)


@lru_cache(64)
def Filled(dims: int = 64, dim: str = "dim") -> Condition:
    """Return the condition that the last `dims` dims of an operand have a size of at least 1; dim: their name."""
    advice = f"pass a tensor without empty {dim}s"
    return Condition(ShapeError, f"have no empty {dim}", advice, lambda x, _: 0 not in x.shape[-dims:])


@lru_cache(64)
def Shaped(pattern: str, meaning: str = "", advice: str = "slice or reshape the input") -> Condition:
    """Return the condition that an operand has a shape such as "..., n, n"; see `expect_shapes` for the pattern.

    meaning: the name of such operands, such as "square matrices".
    """
    wanted = f"expected {meaning} of shape ({pattern})" if meaning else f"have the shape ({pattern})"
    return Condition(ShapeError, wanted, advice, lambda x, _: has_form(pattern, tuple(x.shape), {}))


Square = Shaped("..., n, n", "square matrices")


# ---- several operands -----------------------------------------------------------------------------------------------


def expect_same(what: str, op: str, advice: str = "", **operands: Any) -> None:
    """Raise ShapeError or DTypeError unless all operands have the same "shape", "dtype" or number of "dims"."""
    first, *others = [getattr(x, what) if what != "dims" else len(x.shape) for x in operands.values()]
    if any(each != first for each in others):
        noun = "number of dims" if what == "dims" else what
        remedy = {"shape": "reshape one of them", "dtype": "convert one of them with .to(dtype)"}
        raise (DTypeError if what == "dtype" else ShapeError)(
            f"{op}: {sentence(operands)} must have the same {noun}, got {sentence(map(described, operands.values()))}; "
            f"{advice or remedy.get(what, 'insert dims with unsqueeze')}"
        )


def expect_shape(
    op: str, shape: tuple[int, ...], meaning: str, owner: Any, advice: str = "",
    error: type[MinigradError] = ShapeError, **operands: Any,
) -> None:  # fmt: skip
    """Raise an error unless each operand is None or has the shape; meaning: how the shape follows from `owner`."""
    for name, x in operands.items():
        if x is not None and tuple(x.shape) != shape:
            raise error(
                f"{op}: {name} must have shape {shape}, {meaning} {described(owner)}, got {described(x)}; "
                f"{advice or 'pass a tensor of this shape'}"
            )


def expect_elements(op: str, x: Any, dims: int | Sequence[int], least: int = 1, advice: str = "") -> None:
    """Raise IndexShapeError unless a tensor has at least `least` elements along each of the dims."""
    if any(x.shape[d] < least for d in (dims if isinstance(dims, Sequence) else (dims,))):
        count = "an element" if least == 1 else f"at least {least} elements"
        noun = "dims" if isinstance(dims, Sequence) else "dim"
        raise IndexShapeError(
            f"{op}: input must have {count} along {noun} {dims}, got {described(x)}; "
            f"{advice or 'check that no dim is empty'}"
        )


def expect_multiple(
    op: str, what: str, count: int, x: Any, advice: str, error: type[MinigradError] = ShapeError, **factors: int
) -> None:
    """Raise an error unless a size of x is a multiple of a factor; what: the name of the size."""
    for name, factor in factors.items():
        if not factor or count % factor:
            raise error(f"{op}: {what} of {described(x)} must be a multiple of {name}={factor}, got {count}; {advice}")


def expect_shapes(op: str, advice: str, patterns: str, **operands: Any) -> None:
    """Raise ShapeError unless the operands that are not None have the shapes of the patterns, separated by "; ".

    A pattern such as "..., n, 2*m" has a letter for a size, a number, or a multiple of a size.  Equal letters are equal
    sizes, in all patterns.  The dots are any number of dims, which are not compared.
    """
    there = [(name, x, each) for (name, x), each in zip(operands.items(), patterns.split("; ")) if x is not None]
    sizes: dict[str, Any] = {}
    for _, x, pattern in there:
        if not has_form(pattern, tuple(x.shape), sizes):
            wanted = sentence([f"({each})" for _, _, each in there])
            raise ShapeError(
                f"{op}: {sentence([name for name, _, _ in there])} must have the shapes {wanted}, got "
                f"{sentence([described(x) for _, x, _ in there])}; {advice}"
            )


def has_form(pattern: str, shape: tuple[int, ...], sizes: dict[str, Any]) -> bool:
    """Return whether a shape has the form of a pattern; `sizes` receives the sizes of its letters."""
    names = [each for each in pattern.rstrip(",").split(", ") if each]
    if dots := {"...", "*"}.intersection(names):
        k, after = names.index(min(dots)), len(shape) - len(names) + 1
        if after < 0:
            return False
        middle, shape = shape[k : k + after], shape[:k] + shape[k + after :]
        if names.pop(k) == "*" and sizes.setdefault("*", middle) != middle:
            return False
    if len(names) != len(shape):
        return False
    for name, n in zip(names, shape):
        factor, _, letter = name.rpartition("*")
        count = int(factor or 1)
        if n != count * (int(letter) if letter.isdigit() else sizes.setdefault(letter, n // count)):
            return False
    return True
