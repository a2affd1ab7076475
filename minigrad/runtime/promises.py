"""Checks of the results of an op's own functions, once per plan: dtypes, shapes, a layout, a launch.

Any user may write a declaration.  A result that breaks its contract raises an error here, which names the op and the
function.  Without these checks there would be an AttributeError in the engine, or memory that was never written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minigrad.backends.base import Backend
from minigrad.backends.launch import Launch, as_launch
from minigrad.core.dtype import DType, as_dtype
from minigrad.core.layout import Layout
from minigrad.core.op import Op, ScalarFn, Spec
from minigrad.core.reducer import Reducer
from minigrad.core.requests import Elementwise
from minigrad.errors import DeclarationError, DTypeError, MinigradError, UnsupportedDTypeError
from minigrad.kernels.rendering import complex_results


def dtypes_of(op: Op, specs: tuple[Spec, ...], params: Any) -> Any:
    """Return the result of the op's dtype rule.

    Raises DTypeError, with the op and the operands, for incompatible dtypes.
    """
    if not op.complex and any(spec.dtype.is_complex for spec in specs):
        raise UnsupportedDTypeError(
            f"{op.label}: got {', '.join(map(repr, specs))}; expected real operands, because this op is not defined "
            "for complex numbers; pass x.abs(), x.real or x.imag"
        )
    try:
        return op.dtype_rule(op, specs, **params)  # type: ignore[misc]
    except DTypeError as error:
        if str(error).startswith(op.label):
            raise
        raise type(error)(f"{op.label}: got {', '.join(map(repr, specs))}; {error}") from None


def result_specs(op: Op, dtypes: Any, shapes: Any) -> list[Spec]:
    """Return a Spec for each dtype and shape that the op's rules return, or raise DeclarationError.

    Results are contiguous, but a shape rule may also return a Layout without gaps.
    """
    if op.result is None:
        dtypes, shapes = (dtypes,), (shapes,)
    for what, promised in (("dtype", dtypes), ("shape", shapes)):
        if not isinstance(promised, tuple | list) or len(promised) != max(len(op.outputs), 1):
            raise broken(op, f"its {what} rule", promised, f"a tuple of {len(op.outputs)}, one for each result")
    for dtype in dtypes:
        if not isinstance(dtype, DType):
            raise broken(op, "its dtype rule", dtype, "a dtype such as mg.float32")
    layouts = [each if isinstance(each, Layout) else Layout.contiguous(sizes(op, each)) for each in shapes]
    return list(map(Spec, layouts, dtypes))


def loop_dtypes(op: Op, promised: Any) -> tuple[np.dtype[Any], tuple[DType, ...]]:
    """Return the dtype in which an elementwise op computes, and its result dtypes.

    Raises DeclarationError if the dtype rule has returned anything else.
    """
    count = len(op.outputs)
    if isinstance(promised, tuple) and len(promised) == 2 and isinstance(promised[0], np.dtype):
        dtypes = promised[1] if op.result is not None and isinstance(promised[1], tuple) else (promised[1],) * count
        if len(dtypes) == count and all(isinstance(dtype, DType) for dtype in dtypes):
            return promised[0], dtypes
    stored = f", or a tuple of {count} such dtypes" if op.result is not None else ""
    raise broken(op, "its dtype rule", promised, f"a NumPy dtype to compute in, and a dtype such as mg.float32{stored}")


def sizes(op: Op, shape: Any) -> tuple[int, ...]:
    """Return the shape that an op's rule returned.  Raise DeclarationError if it is not a shape."""
    if not isinstance(shape, tuple) or not all(type(n) is int and n >= 0 for n in shape):
        raise broken(op, "its shape rule", shape, "a tuple of ints, 0 or more")
    return shape


def expect_complex(
    op: Op, scalar: ScalarFn, compute: np.dtype[Any], dtypes: Sequence[DType], operands: Sequence[Spec]
) -> None:
    """Raise DTypeError if a scalar function has no meaning for complex numbers, or if a result would lose a part.

    Without an error, the body is valid for complex numbers, and each result in a real dtype is real.
    """
    try:
        complexes = complex_results(scalar, compute)
    except DTypeError as error:
        raise DTypeError(f"{op.label}: got {', '.join(map(repr, operands))}; {error}") from None
    if any(lost and not (dtype.is_complex or dtype.kind == "bool") for lost, dtype in zip(complexes, dtypes)):
        raise broken(op, "its dtype rule", ", ".join(map(str, dtypes)), "a complex dtype for a complex result")


def expect_complex_reduction(
    op: Op, reducer: Reducer, compute: np.dtype[Any], dtypes: Sequence[DType], operands: Sequence[Spec]
) -> None:
    """Raise DTypeError if a reduction has no meaning for complex numbers: see `expect_complex`."""
    if {"lowest", "highest"}.intersection(reducer.identities):
        raise DTypeError(
            f"{op.label}: got {', '.join(map(repr, operands))}; expected real operands, because complex numbers have "
            "no order; pass x.abs(), x.real or x.imag"
        )
    expect_complex(op, reducer.scalar, compute, (as_dtype(compute),) * reducer.accumulators, operands)
    if reducer.finish is not None:
        expect_complex(op, reducer.finish, compute, dtypes, operands)
    elif not all(dtype.is_complex or dtype.kind == "bool" for dtype in dtypes):
        raise broken(op, "its dtype rule", ", ".join(map(str, dtypes)), "a complex dtype for a complex result")


def launchable(op: Op, launch: Any, arguments: int) -> Launch:
    """Return the launch that an op's body returned, for a number of buffers.

    Raises DeclarationError if the launch is not callable.
    """
    if not callable(launch):
        raise broken(op, "its body", launch, "a launch, such as `return backend.prepare(request, out, x)`")
    return as_launch(launch, arguments, op.name)


def elementwise_launch(
    op: Op, backend: Backend, compute: np.dtype[Any], outs: tuple[Spec, ...], operands: Sequence[Spec]
) -> Launch:
    """Return the launch of an elementwise op over operands that have been expanded."""
    assert op.scalar is not None
    if compute.kind == "c":
        expect_complex(op, op.scalar, compute, [out.dtype for out in outs], operands)
    made = backend.prepare(Elementwise(op.scalar, compute), outs, *operands)
    return launchable(op, made, len(outs) + len(operands))


def within(op: Op, body: Callable[..., Any]) -> Callable[..., Layout]:
    """Return the body of a view declaration, extended by a check of the layout that it returns.

    The check raises DeclarationError if the layout contains elements outside the operand.  Such elements may be outside
    the storage, because one plan is used for storages of different sizes.
    """

    def layout(x: Layout, **params: Any) -> Layout:
        seen = body(x, **params)
        if not isinstance(seen, Layout):
            raise broken(op, "its body", seen, "a Layout over the memory of x")
        (low, high), (first, end) = seen.span(), x.span()
        if seen.numel and not first <= low < high <= end:
            raise broken(op, "its body", seen, f"elements of x, which are {first} to {end - 1} of its storage")
        return seen

    return layout


def broken(op: Op, what: str, promised: Any, expected: str) -> DeclarationError:
    """Return the error for a function that breaks its contract."""
    text = f"{op.label}: {what} must return {expected}, got {promised!r} (declared at {op.where})"
    return DeclarationError(text, op=op.label)


def with_dtypes(error: MinigradError, specs: Sequence[Spec]) -> MinigradError:
    """Return an error of `core`, which contains only shapes, with the operands in full: `float32(2, 3)`."""
    text = str(error)
    if len(specs) > 1:
        listed = [s for s in specs if s.shape]
        text = text.replace("shapes " + " and ".join(str(s.shape) for s in listed), " and ".join(map(repr, listed)))
    else:
        shape = re.escape(str(specs[0].shape))
        text, replaced = re.subn(rf"\bshape {shape}", repr(specs[0]), text)
        text = text if replaced else re.sub(shape, repr(specs[0]), text, count=1)
    error.args = (text,)
    return error
