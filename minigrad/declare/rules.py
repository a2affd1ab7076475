"""Rules for dtypes and shapes, by name: the values of `dtype=` and `shape=` in a declaration.

A dtype rule for a loop returns (compute dtype, result dtype): registers and memory.  Each raises before anything is
allocated, with a message that names the op and its operands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minigrad.core.dtype import DType, bool_, default_float, float64, int64, promote_all
from minigrad.core.forward import each as each
from minigrad.core.forward import joint as joint
from minigrad.core.layout import Layout
from minigrad.core.op import Op, Spec
from minigrad.declare.names import listed
from minigrad.errors import DTypeError, ShapeError

Pair = tuple[np.dtype[Any], DType]


def common(specs: Sequence[Spec]) -> DType:
    """Return the dtype that all operands promote to, where one without dims counts less: see `promote_all`."""
    return promote_all([(spec.dtype, spec.layout.ndim) for spec in specs])


def refuse(op: Op, specs: Sequence[Spec], right: str) -> DTypeError:
    """Return the error of a dtype rule."""
    return DTypeError(f"{op.label}: got {', '.join(map(repr, specs))}; {right}", op=op.label)


# ---- elementwise ----------------------------------------------------------------------------------------------------


def promote(op: Op, specs: Sequence[Spec]) -> Pair:
    """Return the promoted dtype of all operands, bool included."""
    dtype = common(specs)
    return dtype.compute, dtype


def number(op: Op, specs: Sequence[Spec]) -> Pair:
    """Promote as `promote`, but refuse bool: differences and signs of booleans have no meaning."""
    dtype = common(specs)
    if dtype is bool_:
        raise refuse(op, specs, "bool has no arithmetic here; convert with .to(mg.int64)")
    return dtype.compute, dtype


def to_float(op: Op, specs: Sequence[Spec]) -> Pair:
    """Return the promoted dtype if it is a float, otherwise the default float."""
    dtype = common(specs)
    dtype = dtype if dtype.is_float else default_float()
    return dtype.compute, dtype


def compare(op: Op, specs: Sequence[Spec]) -> Pair:
    """Compare in the promoted dtype, return bool."""
    return common(specs).compute, bool_


def integer(op: Op, specs: Sequence[Spec]) -> Pair:
    """Accept integers and bool only."""
    dtype = common(specs)
    if dtype.is_float:
        raise refuse(op, specs, "bits are defined for bool and integers only")
    return dtype.compute, dtype


def select(op: Op, specs: Sequence[Spec]) -> Pair:
    """For where(condition, input, other), promote the last two; the condition must be bool."""
    if specs[0].dtype is not bool_:
        raise refuse(op, specs, "the condition must be bool; compare first, as in x > 0")
    dtype = common(specs[1:])
    return dtype.compute, dtype


# ---- reductions -----------------------------------------------------------------------------------------------------


def widen(op: Op, specs: Sequence[Spec]) -> Pair:
    """Accumulate wider than stored: ints and bool in int64 (also the result), float16 and bfloat16 in float32,
    float32 in float64."""
    dtype = specs[0].dtype
    return np.dtype(dtype.accumulator), dtype.sum_dtype


def accumulate(op: Op, specs: Sequence[Spec]) -> Pair:
    """Return the promoted dtype, floats only, with an accumulator in which squares neither overflow nor vanish: float32
    for float16 and bfloat16, float64 for the others."""
    dtype = floating(op, specs)
    return np.dtype(dtype.accumulator), dtype


def counted(op: Op, specs: Sequence[Spec]) -> Pair:
    """Return int64; floats are counted in float64, since an integer would lose values below 1."""
    return (float64 if specs[0].dtype.is_float else int64).compute, int64


def mean_dtype(op: Op, specs: Sequence[Spec]) -> Pair:
    """Widen as `widen`, floats only: the mean of integers needs a decision that the caller should make."""
    dtype = specs[0].dtype
    if not dtype.is_float:
        raise refuse(op, specs, "the mean needs a floating dtype; convert with .to(mg.float32)")
    return np.dtype(dtype.accumulator), dtype


def logical(op: Op, specs: Sequence[Spec]) -> Pair:
    """Read booleans, return bool."""
    return specs[0].dtype.compute, bool_


def reduced_shape(op: Op, a: Spec, *others: Spec, dims: tuple[int, ...], keepdim: bool) -> Any:
    """Return the shape after reducing `dims`, of several results one for each.

    Raises ShapeError if the reduction has no element and no identity, or if operands differ in shape.
    """
    same_shape(op, a, *others)
    if {"lowest", "highest"}.intersection(op.reducer.identities) and any(a.shape[d] == 0 for d in dims):
        raise ShapeError(f"{op.label}: {a!r} has no element along dims {dims}, and {op.label} of nothing is undefined")
    shape = shape_of_reduction(op, a, dims=dims, keepdim=keepdim)
    return shape if op.result is None else (shape,) * len(op.outputs)


def shape_of_reduction(op: Op, a: Spec, *, dims: tuple[int, ...], keepdim: bool, **params: Any) -> tuple[int, ...]:
    """Return the shape after reducing `dims`, for a reduction that is defined for no element."""
    if keepdim:
        return tuple(1 if d in dims else n for d, n in enumerate(a.shape))
    return tuple(n for d, n in enumerate(a.shape) if d not in dims)


def with_kept_dims(out: Spec, shape: tuple[int, ...], dims: tuple[int, ...]) -> Spec:
    """Return the output as the kernels receive it: length 1 at every reduced dim."""
    kept = tuple(1 if d in dims else n for d, n in enumerate(shape))
    return Spec(Layout.contiguous(kept, out.layout.offset), out.dtype)


def index_dtype(op: Op, specs: Sequence[Spec], /, **params: Any) -> DType:
    """Return int64 for positions."""
    return int64


def values_and_positions(op: Op, specs: tuple[Spec, ...], /, **params: Any) -> tuple[DType, DType]:
    """Return the dtypes of elements of the first operand, and of their positions."""
    return specs[0].dtype, int64


def twice(rule: Callable[..., Any]) -> Callable[..., tuple[Any, Any]]:
    """Return the rule of two results that both have the shape, or the dtype, of another rule."""

    def both(op: Op, /, *specs: Any, **params: Any) -> tuple[Any, Any]:
        return (rule(op, *specs, **params),) * 2

    return both


def logical_values(op: Op, specs: Sequence[Spec]) -> Pair:
    """Read elements of any dtypes as booleans, return bool."""
    return common(specs).compute, bool_


# ---- kernels --------------------------------------------------------------------------------------------------------


def floating(op: Op, specs: Sequence[Spec], /, **params: Any) -> DType:
    """Return the promoted dtype of all operands, floats only."""
    dtype = common(specs)
    if not dtype.is_float:
        raise refuse(op, specs, "a floating dtype is needed; convert with .to(mg.float32)")
    return dtype


def same_shape(op: Op, x: Spec, /, *others: Spec, **params: Any) -> tuple[int, ...]:
    """Return the one shape that all operands have."""
    for other in others:
        if other.shape != x.shape:
            raise ShapeError(f"{op.label}: {x!r} and {other!r} must have the same shape", op=op.label)
    return x.shape


OWN = (__name__, each.__module__)
__dir__ = listed(sorted(name for name, value in globals().items() if getattr(value, "__module__", None) in OWN))
