"""Dtype rules and shape rules: the values of `dtype=` and `shape=` in a declaration.

A dtype rule of an elementwise op or a reduction returns a pair: the compute dtype, which the loop uses in registers,
and the dtype of the result in memory.  Each rule raises before anything is allocated, with a message that names the op
and its operands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from minigrad.core.conditions import Condition, expect_elements
from minigrad.core.dtype import DType, bool_, default_float, float64, int64, promote_all, uint8
from minigrad.core.formats import layout_like
from minigrad.core.forward import each as each
from minigrad.core.forward import joint as joint
from minigrad.core.layout import Layout
from minigrad.core.op import Op, Spec
from minigrad.declare.names import listed
from minigrad.errors import ShapeError, UnsupportedDTypeError

Pair = tuple[np.dtype[Any], DType]


def common(specs: Sequence[Spec]) -> DType:
    """Return the promoted dtype of all operands; an operand without dims has lower priority: see `promote_all`."""
    return promote_all([(spec.dtype, spec.layout.ndim) for spec in specs])


def refuse(op: Op, specs: Sequence[Spec], right: str) -> UnsupportedDTypeError:
    """Return the error of a dtype rule; `right` is the end of its message, which states the requirement."""
    return UnsupportedDTypeError(f"{op.label}: got {', '.join(map(repr, specs))}; {right}")


def checked_dtype(conditions: Sequence[tuple[str, Condition]], dtype: Callable[..., Any]) -> Callable[..., Any]:
    """Return a dtype rule that first checks the conditions on the operands of an op."""
    if not conditions:
        return dtype

    @wraps(dtype)
    def checked(op: Op, specs: Sequence[Spec], **params: Any) -> Any:
        named = dict(zip(op.operands, specs))  # a variant lacks the operands that are None
        for name, condition in conditions:
            condition.expect(op.label, *specs, **{name: named.get(name)})
        return dtype(op, specs, **params)

    return checked


# ---- elementwise ----------------------------------------------------------------------------------------------------


def promote(op: Op, specs: Sequence[Spec]) -> Pair:
    """Compute in the promoted dtype of all operands, and return it; bool is allowed."""
    dtype = common(specs)
    return dtype.compute, dtype


def promote_to_int(op: Op, specs: Sequence[Spec]) -> Pair:
    """Promote as `promote`, but return int64 for bool."""
    dtype = common(specs)
    dtype = int64 if dtype is bool_ else dtype
    return dtype.compute, dtype


def number(op: Op, specs: Sequence[Spec]) -> Pair:
    """Promote as `promote`, but raise DTypeError for bool: differences of booleans have no meaning."""
    dtype = common(specs)
    if dtype is bool_:
        raise refuse(op, specs, "expected numbers, because this op is not defined for bool; convert with .to(mg.int64)")
    return dtype.compute, dtype


def to_float(op: Op, specs: Sequence[Spec]) -> Pair:
    """Return the promoted dtype if it is a float or complex, otherwise the default float."""
    dtype = common(specs)
    dtype = dtype if dtype.is_inexact else default_float()
    return dtype.compute, dtype


def real_to_float(op: Op, specs: Sequence[Spec]) -> Pair:
    """Return the dtypes of `to_float`.  Raises DTypeError for complex operands."""
    if common(specs).is_complex:
        raise refuse(op, specs, "expected real operands; pass x.abs(), x.real or x.imag")
    return to_float(op, specs)


def number_to_real(op: Op, specs: Sequence[Spec]) -> Pair:
    """Compute as `number`, and return the dtype of the real part: float32 for complex64."""
    compute, dtype = number(op, specs)
    return compute, dtype.to_real()


def float_to_real(op: Op, specs: Sequence[Spec]) -> Pair:
    """Compute as `to_float`, and return the dtype of the real part."""
    compute, dtype = to_float(op, specs)
    return compute, dtype.to_real()


def compare(op: Op, specs: Sequence[Spec]) -> Pair:
    """Compare in the promoted dtype, and return bool."""
    return common(specs).compute, bool_


def integer(op: Op, specs: Sequence[Spec]) -> Pair:
    """Promote as `promote`, but raise DTypeError for floats and complex dtypes."""
    dtype = common(specs)
    if dtype.is_inexact:
        raise refuse(op, specs, "expected bool or integers, because this op works on bits; convert with .long()")
    return dtype.compute, dtype


def select(op: Op, specs: Sequence[Spec]) -> Pair:
    """Promote the last two operands of where(condition, input, other); the condition must be bool."""
    if specs[0].dtype is not bool_:
        raise refuse(op, specs, "condition must be bool; compare first, as in x > 0")
    dtype = common(specs[1:])
    return dtype.compute, dtype


# ---- reductions -----------------------------------------------------------------------------------------------------


def widen(op: Op, specs: Sequence[Spec]) -> Pair:
    """Return the dtypes of a reduction that accumulates in a wider dtype than the dtype of the operand.

    Integers and bool are accumulated in int64, which is also the dtype of the result.  float16 and bfloat16 are
    accumulated in float32, float32 in float64, and complex64 in complex128; the result then has the dtype of the
    operand.
    """
    dtype = specs[0].dtype
    return np.dtype(dtype.accumulator), dtype.sum_dtype


def accumulate(op: Op, specs: Sequence[Spec]) -> Pair:
    """Return the promoted dtype, which must be a float, with an accumulator in which squares do not overflow or vanish.

    The accumulator is float32 for float16 and bfloat16, and float64 for the other floats.
    """
    dtype = floating(op, specs)
    if dtype.is_complex:
        raise refuse(op, specs, "expected a floating dtype; pass the magnitudes, x.abs()")
    return np.dtype(dtype.accumulator), dtype


def counted(op: Op, specs: Sequence[Spec]) -> Pair:
    """Return int64.  Floats are compared with 0 in float64, because as integers the values below 1 would be 0."""
    return (float64 if specs[0].dtype.is_float else int64).compute, int64


def mean_dtype(op: Op, specs: Sequence[Spec]) -> Pair:
    """Widen as `widen`, but raise DTypeError unless the operand is a float or complex.

    For the mean of integers, the caller should decide which dtype the result has.
    """
    dtype = specs[0].dtype
    if not dtype.is_inexact:
        raise refuse(op, specs, "input must have a floating dtype; convert with .to(mg.float32)")
    return np.dtype(dtype.accumulator), dtype


def logical(op: Op, specs: Sequence[Spec]) -> Pair:
    """Compute in the dtype of the operand, whose elements count as booleans, and return bool."""
    return specs[0].dtype.compute, bool_


def logical_or_bytes(op: Op, specs: Sequence[Spec]) -> Pair:
    """Return `logical`, but uint8 for uint8, which was PyTorch's dtype of booleans."""
    return specs[0].dtype.compute, uint8 if specs[0].dtype is uint8 else bool_


def reduced_shape(op: Op, a: Spec, *others: Spec, dims: tuple[int, ...], keepdim: bool) -> Any:
    """Return the shape after reducing `dims`; for several results, a tuple with this shape for each of them.

    Raises ShapeError if operands differ in shape, or if a reduced dim has length 0 and the reduction has no value for
    an empty input, such as a maximum or minimum.
    """
    same_shape(op, a, *others)
    if {"lowest", "highest"}.intersection(op.reducer.identities):
        expect_elements(op.label, a, dims)
    shape = shape_of_reduction(op, a, dims=dims, keepdim=keepdim)
    return shape if op.result is None else (shape,) * len(op.outputs)


def shape_of_reduction(op: Op, a: Spec, *, dims: tuple[int, ...], keepdim: bool, **params: Any) -> tuple[int, ...]:
    """Return the shape after reducing `dims`, for a reduction that has a value for an empty input."""
    if keepdim:
        return tuple(1 if d in dims else n for d, n in enumerate(a.shape))
    return tuple(n for d, n in enumerate(a.shape) if d not in dims)


def with_kept_dims(out: Spec, shape: tuple[int, ...], dims: tuple[int, ...]) -> Spec:
    """Return the output as the kernels receive it, in which every reduced dim has length 1."""
    kept = tuple(1 if d in dims else n for d, n in enumerate(shape))
    return Spec(Layout.contiguous(kept, out.layout.offset), out.dtype)


def index_dtype(op: Op, specs: Sequence[Spec], /, **params: Any) -> DType:
    """Return int64, the dtype of positions."""
    return int64


def values_and_positions(op: Op, specs: tuple[Spec, ...], /, **params: Any) -> tuple[DType, DType]:
    """Return the dtype of the first operand for the values, and int64 for their positions."""
    return specs[0].dtype, int64


def twice(rule: Callable[..., Any]) -> Callable[..., tuple[Any, Any]]:
    """Return a rule for two results, which both have the shape or dtype that `rule` returns."""

    def both(op: Op, /, *specs: Any, **params: Any) -> tuple[Any, Any]:
        return (rule(op, *specs, **params),) * 2

    return both


def logical_values(op: Op, specs: Sequence[Spec]) -> Pair:
    """Compute in the promoted dtype of all operands, whose elements count as booleans, and return bool."""
    return common(specs).compute, bool_


# ---- kernels --------------------------------------------------------------------------------------------------------


def floating(op: Op, specs: Sequence[Spec], /, **params: Any) -> DType:
    """Return the promoted dtype of all operands.  Raises DTypeError unless it is a float or complex."""
    dtype = common(specs)
    if not dtype.is_inexact:
        raise refuse(op, specs, "expected a floating dtype; convert with .to(mg.float32)")
    return dtype


def same_shape(op: Op, x: Spec, /, *others: Spec, **params: Any) -> tuple[int, ...]:
    """Return the shape of the operands.  Raises ShapeError if they differ in shape."""
    for other in others:
        if other.shape != x.shape:
            raise ShapeError(f"{op.label}: {x!r} and {other!r} must have the same shape; reshape or expand one of them")
    return x.shape


def same_format(op: Op, x: Spec, /, **params: Any) -> Layout:
    """Return the layout of a copy of the operand, which has its memory format."""
    return layout_like(x.layout)


OWN = (__name__, each.__module__)
__dir__ = listed(sorted(name for name, value in globals().items() if getattr(value, "__module__", None) in OWN))
