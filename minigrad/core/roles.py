"""Roles of the parameters of an op: a dim, a shape, a count, a number.

A declaration states the role in an annotation, `def cumsum(backend, out, x, *, dim: Dim)`.  The role makes a value
canonical before the rules of the op receive it, and describes it in signatures and docs.  It also specifies how a
leading batch dim changes the value: a `Dim` increases by one, a `Scalar` does not change.  Parameters without a role
are passed on unchanged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from types import UnionType
from typing import Annotated, Any, Union

import numpy as np

from minigrad.core.shape import INTS, as_int, as_shape, normalize_dim, normalize_dims
from minigrad.errors import ArgumentError, ArgumentTypeError, MinigradError

Read = Callable[[Any, str, str, Sequence[Any]], Any]
Shift = Callable[[Any, tuple[int, ...], int], Any]


class Role:
    """Describe one kind of op parameter, such as a dim: how a value is checked and converted.

    name: the name of the role in the documentation.
    doc: the description of the accepted values.
    type: the annotation that an editor shows.
    several: whether a call may pass the value as several arguments instead of one sequence; only for the last
        parameter.
    read(value, op, parameter, operands): the function that returns the canonical value, or raises an error that names
        the op and the parameter.
    shift(value, shape, size): the function that returns the value with the same meaning for a batch of `size` operands
        of `shape`, with the batch as an additional first dim.  None: a batch does not change the value.
    """

    __slots__ = ("doc", "name", "read", "several", "shift", "type")

    def __init__(
        self, name: str, doc: str, type: str, read: Read, shift: Shift | None = None, several: bool = False
    ) -> None:
        self.name, self.doc, self.type, self.read, self.shift, self.several = name, doc, type, read, shift, several

    def __repr__(self) -> str:
        return f"Role({self.name})"


def beside(operands: Sequence[Any]) -> str:
    """Describe the operand that a parameter belongs to, for messages."""
    x: Any = operands[0] if operands else None
    return f" for {x.dtype}{x.shape}" if hasattr(x, "shape") and hasattr(x, "dtype") else ""


def shown(value: Any) -> str:
    """Return the repr of a value for messages, or the dtype and shape of a tensor or an array."""
    return f"{value.dtype}{value.shape}" if getattr(value, "shape", ()) and hasattr(value, "dtype") else repr(value)


def _dim(value: Any, op: str, name: str, operands: Sequence[Any]) -> int:
    # A scalar counts as a row of one element, as in PyTorch: it has dims 0 and -1.
    return normalize_dim(value, operands[0].ndim or 1, op, operands[0])


def _new_dim(value: Any, op: str, name: str, operands: Sequence[Any]) -> int:
    return normalize_dim(value, operands[0].ndim + 1, op, operands[0])


def or_none(function: Callable[..., Any], result: Any = None) -> Callable[..., Any]:
    """Return a `read` or `shift` function that returns `result` for None."""
    return lambda value, *others: result if value is None else function(value, *others)


def _dims(value: Any, op: str, name: str, operands: Sequence[Any]) -> tuple[int, ...]:
    x = operands[0]
    result = normalize_dims(value, x.ndim or (value is not None and 1), op, x)
    return result if x.ndim else ()


def _shape(value: Any, op: str, name: str, operands: Sequence[Any]) -> tuple[int, ...]:
    return as_shape((value,), op)


def read_int(value: Any, op: str, name: str, operands: Sequence[Any]) -> int:
    """Return a value as an int; raise ArgumentTypeError for True, False and values that are not ints."""
    if isinstance(value, bool):
        raise ArgumentTypeError(
            f"{op}: {name}{beside(operands)} must be an int, got {value!r}; convert it with int()", value=value
        )
    return as_int(value, name, op)


def _ints(value: Any, op: str, name: str, operands: Sequence[Any]) -> tuple[int, ...]:
    values = value if isinstance(value, (tuple, list)) else (value,)
    if {*map(type, values)} == INTS:  # in most calls, all values are ints already
        return tuple(values)
    return tuple(read_int(each, op, name, operands) for each in values)


def plain_number(value: Any) -> Any:
    """Return a NumPy number, or a tensor without dims and without a gradient, as a Python number."""
    if isinstance(value, (bool, int, float)) or getattr(value, "ndim", True) or getattr(value, "requires_grad", False):
        return value
    return value.item()


def read_scalar(value: Any, op: str, name: str, operands: Sequence[Any]) -> int | float:
    """Return a number, or a tensor that is one, as a Python number; raise ArgumentTypeError for other values."""
    plain = plain_number(value)
    if isinstance(plain, (bool, int, float)):
        return plain
    raise ArgumentTypeError(
        f"{op}: {name}{beside(operands)} must be a number, got {type(value).__name__} {shown(value)}; convert it with "
        "float() or .item()",
        value=value,
    )


def read_factor(value: Any, op: str, name: str, operands: Sequence[Any]) -> complex:
    """Return a number as `read_scalar`; it may be complex if an operand is complex."""
    plain = plain_number(value)
    if not isinstance(plain, complex):
        return read_scalar(plain, op, name, operands)
    if plain.imag and not any(x.dtype.is_complex for x in operands if hasattr(x, "dtype")):
        raise ArgumentError(
            f"{op}: {name}{beside(operands)} must be a real number, got {value!r}; convert an operand with "
            ".to(mg.complex64)", value=value,
        )  # fmt: skip
    return plain if plain.imag else plain.real


def expect_kind(op: str, *operands: Any, **factors: Any) -> None:
    """Raise ArgumentTypeError for a boolean factor of numbers, and for a float as the factor of integers."""
    kinds = {x.dtype.kind for x in operands}
    inexact = any(x.dtype.is_inexact for x in operands)
    for name, factor in factors.items():
        if (isinstance(factor, bool) and kinds != {"bool"}) or (isinstance(factor, float) and not inexact):
            raise ArgumentTypeError(
                f"{op}: {name} must be a number of the kind of the operands, got {factor!r}{beside(operands)}; pass "
                f"{name}={int(factor)}, for example",
                value=factor,
            )


def _flag(value: Any, op: str, name: str, operands: Sequence[Any]) -> bool:
    if isinstance(value, (bool, int, np.bool_, np.integer)) and value in (0, 1):
        return bool(value)
    raise ArgumentTypeError(
        f"{op}: {name}{beside(operands)} must be True or False, got {shown(value)}; pass {name}=True, for example",
        value=value,
    )


def read_flag(value: Any, op: str, name: str) -> bool:
    """Return a flag that a function reads itself, instead of its role; raise as the role `Flag` does."""
    return value if value.__class__ is bool else _flag(value, op, name, ())


def _flag_or_none(value: Any, op: str, name: str, operands: Sequence[Any]) -> bool | None:
    return None if value is None else _flag(value, op, name, operands)


def sentence(texts: Iterable[str], word: str = "and") -> str:
    """Return texts as a list in a sentence: `a`, `a and b`, `a, b and c`."""
    *first, last = texts
    return f"{', '.join(first)} {word} {last}" if first else last


class Limited(Role):
    """Describe a parameter with few allowed values: the role checks a value and returns it."""

    __slots__ = ()

    def expect(self, op: str, *operands: Any, **named: Any) -> None:
        """Check values by their names in messages; operands: the operands of the op."""
        for name, value in named.items():
            self.read(value, op, name, operands)


@lru_cache(128, typed=True)
def Choice(*words: Any, advice: str = "") -> Limited:
    """Return the role of a parameter that is one of the given words, or None if None is among them."""
    valid, example, types = words, next(word for word in words if word is not None), tuple(map(type, words))

    def read(value: Any, op: str, name: str, operands: Sequence[Any]) -> Any:
        for word in valid if value.__class__ is not bool else ():
            if value is word or value == word:
                return word
        raise (ArgumentError if isinstance(value, types) else ArgumentTypeError)(
            f"{op}: {name} must be {sentence(map(repr, valid), 'or')}, got {shown(value)}{beside(operands)}; "
            f"{advice or f'pass {name}={example!r}, for example'}", value=value,
        )  # fmt: skip

    return Limited("Choice", "one of a few words", type(example).__name__, read)


@lru_cache(128, typed=True)
def Number(
    least: float = -math.inf, most: float = math.inf, above: float = -math.inf, *,
    whole: bool = False, noun: str = "number", example: Any = None, advice: str = "", optional: bool = False,
    error: type[MinigradError] = ArgumentError,
) -> Limited:  # fmt: skip
    """Return the role of a number of at least `least`, at most `most` and more than `above`.

    whole: whether the number must be an int.  noun: a name for the numbers in these limits, such as "probability".
    optional: whether None is allowed.
    """
    if most < math.inf:
        must = f"be a {noun} from {least} to {most}" + f", above {above}" * (above >= least)
    else:
        must = "be positive" if above == 0 or (whole and least == 1) else "not be negative" if least == 0 else ""
        bound = f"of at least {least}" if above < least else f"above {above}"
        must = must or f"be {'an int' if whole else f'a {noun}'} {bound}"
    right = f"pass {{name}}={example}, for example" if example is not None else "pass 0 or more"

    def read(value: Any, op: str, name: str, operands: Sequence[Any]) -> Any:
        if value is None and optional:
            return None
        result = read_int(value, op, name, operands) if whole else read_scalar(value, op, name, operands)
        if least <= result <= most and result > above:
            return result
        raise error(
            f"{op}: {name} must {must}, got {value!r}{beside(operands)}; {advice or right.format(name=name)}",
            value=value,
        )  # fmt: skip

    return Limited("Int" if whole else "Scalar", "a number within limits", "int" if whole else "float", read)


def _listed(value: Any, op: str, name: str, operands: Sequence[Any]) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _any(value: Any, op: str, name: str, operands: Sequence[Any]) -> Any:
    return value


# A negative dim counts from the end, so a leading batch dim does not change it; every other dim increases by one.
# A dim that is out of range must not become the batch dim, so it moves further away from the range.


def _shift_dim(value: int, shape: tuple[int, ...], size: int) -> int:
    return value + 1 if value >= 0 else value if value >= -len(shape) else value - 1


def _shift_new_dim(value: int, shape: tuple[int, ...], size: int) -> int:
    return _shift_dim(value, (*shape, 1), size)


def _shift_dims(value: Any, shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    if value is None:
        return tuple(range(1, len(shape) + 1))
    return tuple(_shift_dim(d, shape, size) for d in (value if isinstance(value, (tuple, list)) else (value,)))


def _shift_folded(value: Any, shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    # A scalar counts as a row of one element, so a reduction does not change it.
    return tuple([d for d in _shift_dims(value, shape, size) if shape or d not in (1, -2)])


def _shift_swapped(value: int, shape: tuple[int, ...], size: int) -> int:
    # A scalar counts as having one dim, and so does each sample of a batch of scalars.
    return _shift_dim(value, shape, size) if shape or value not in (0, -1) else 0


def _shift_order(value: Any, shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    return (0, *_shift_dims(tuple(value), shape, size))


def _shift_shape(value: Any, shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    return (size, *as_shape((value,)))


WHOLE = (None, None, None)  # the part of an index that selects all entries of a dim


class Entries(tuple[Any, ...]):
    """A basic index in full: plain ints, (start, stop, step) of plain ints and None, and None for a new dim.

    No entry equals a value with another meaning, so an index can be used as a key.
    """

    __slots__ = ()


def _shift_index(value: tuple[Any, ...], shape: tuple[int, ...], size: int) -> Entries:
    return Entries((WHOLE, *value))


Dim = Annotated[
    int, Role("Dim", "a dim of the first operand; negative ones count from the end", "int", _dim, _shift_dim)
]
# This role is for functions that accept several dims, while their op receives a single dim.
DimOrDims = Annotated[
    Any, Role("Dim", "a dim, several that count as one, or None", "int | Sequence[int] | None", _dim, _shift_dim)
]
DimOrOther = Annotated[
    Any, Role("Dim", "a dim, None for all, or another operand", "int | Tensor | None", _dim, _shift_dim)
]
DimOrAll = Annotated[Any, Role("Dim", "a dim, or None for all", "int | None", _dim, _shift_dim)]
OneDim = Annotated[
    Any, Role("OneDim", "a dim of the first operand, or None", "int | None", or_none(_dim), or_none(_shift_dim))
]
NewDim = Annotated[
    int, Role("NewDim", "where a new dim goes; negative values count from the end", "int", _new_dim, _shift_new_dim)
]
Dims = Annotated[
    Any, Role("Dims", "a dim, several, or None for all", "int | Sequence[int] | None", _dims, _shift_folded)
]
Shape = Annotated[Any, Role("Shape", "sizes of dims, none negative", "int | Sequence[int]", _shape, _shift_shape)]
Int = Annotated[int, Role("Int", "an int", "int", read_int)]
Ints = Annotated[Any, Role("Ints", "ints, one for each dim", "int | Sequence[int]", _ints)]
Size = Annotated[int, Role("Size", "a count, not negative", "int", Number(0, whole=True).read)]
IntsOrNone = Annotated[Any, Role("Ints", "ints, or None for none", "int | Sequence[int] | None", or_none(_ints, ()))]
Scalar = Annotated[Any, Role("Scalar", "a number", "float", read_scalar)]
Factor = Annotated[Any, Role("Scalar", "a number, complex next to complex operands", "complex", read_factor)]
Correction = Annotated[Any, Role("Scalar", "a number, or None for 1", "float | None", or_none(read_scalar, 1))]
Probability = Annotated[Any, Number(0, 1, noun="probability", example=0.5)]
Flag = Annotated[bool, Role("Flag", "True or False", "bool", _flag)]
# Also flags that PyTorch's Python code reads: they may be None, which is false.  Its compiled code refuses None.
FlagOrNone = Annotated[Any, Role("Flag", "True, False or None", "bool | None", _flag_or_none)]
Target = Annotated[Any, Role("Target", "the device of the result", "Any", _any)]

# The public function reads this parameter; the op does not receive it.
Cast = Annotated[Any, Role("Cast", "a dtype to which the operand is converted first", "Any", _any)]
Format = Annotated[Any, Role("Format", "the order in which elements lie", "Any", _any)]
Front = Annotated[Any, Role("Front", "an argument that the function reads, and not the op", "Any", _any)]
FrontFlag = Annotated[Any, Role("Front", "a flag that the function reads, and not the op", "bool", _flag_or_none)]

OPTIONAL_BOOL = bool | None
UNIONS = (UnionType, type(Union[bool, None]))  # noqa: UP007  the class of `Optional[bool]`
AS_IT_COMES = _any  # the `read` function of a role that does not change a value

# Parameters of views: `Layout` checks them, and its messages name the view.
ViewDim = Annotated[int, Role("Dim", "a dim of the operand; negative ones count from the end", "int", _any, _shift_dim)]
ViewNewDim = Annotated[
    int, Role("Dim", "where a new dim goes; negative values count from the end", "int", _any, _shift_new_dim)
]
ViewDims = Annotated[
    Any, Role("Dims", "a dim, several, or None for all", "int | Sequence[int] | None", _listed, _shift_dims)
]
SwappedDim = Annotated[
    int, Role("Dim", "a dim of the operand; negative ones count from the end", "int", _any, _shift_swapped)
]
SqueezedDims = Annotated[
    Any, Role("Dims", "a dim, several, or None for all", "int | Sequence[int] | None", _listed, _shift_folded)
]
ManyDims = Annotated[Any, Role("Dims", "dims of the operand", "int | Sequence[int]", _listed, _shift_folded, True)]
Order = Annotated[
    Any, Role("Order", "every dim once, in a new order", "int | Sequence[int]", _listed, _shift_order, True)
]
ViewShape = Annotated[Any, Role("Shape", "sizes of dims", "int | Sequence[int]", _listed, _shift_shape, True)]
StretchedShape = Annotated[Any, Role("Shape", "sizes of dims", "int | Sequence[int]", _listed, _shift_shape)]
Index = Annotated[
    Any, Role("Index", "ints, (start, stop, step) and None, one after another", "Any", _any, _shift_index)
]
Along = Annotated[Any, Role("Int", "an int: an index or a count of elements along the dim", "int", _any)]


def role_of(annotation: Any) -> Role | None:
    """Return the role in an annotation, or None; that of `bool` is `Flag`, because the string "False" is true."""
    if annotation is bool:
        annotation = Flag
    elif annotation.__class__ in UNIONS:
        annotation = FlagOrNone if annotation == OPTIONAL_BOOL else None
    for part in getattr(annotation, "__metadata__", ()):
        if isinstance(part, Role):
            return part
    return None
