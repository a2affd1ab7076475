"""One element of each row with its position: kthvalue, median and nanmedian by selection, and mode by sorting.

Equal elements are ordered by position, so a result has the position that a stable sort gives it.
"""

# The bodies of scalar functions are data, which the specialiser reads; they carry no types.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

from minigrad.backends.steps import Steps
from minigrad.core.dtype import float64, int64
from minigrad.core.op import Op, Spec
from minigrad.core.requests import Gather, Nth, Sort, reducing
from minigrad.core.roles import Dim, DimOrAll, Flag, Int
from minigrad.declare.decorators import kernel
from minigrad.declare.partials import declared
from minigrad.declare.rules import twice
from minigrad.errors import ArgumentError
from minigrad.ops.reduction.extremes import EXTREME, extreme_shape, kept
from minigrad.ops.reduction.sums import share_ties, tied_tangent
from minigrad.ops.shape.views import reshape
from minigrad.runtime.into import copy_result
from minigrad.runtime.tensor import Tensor


def _ranked_shape(op: Op, input: Spec, *, k: int, dim: int, keepdim: bool) -> tuple[int, ...]:
    """Return the shape of one element per row.  Raises ArgumentError unless there is a k-th element."""
    shape, n = extreme_shape(op, input, dim=dim, keepdim=keepdim), input.shape[dim]
    if not 1 <= k <= n:
        raise ArgumentError(
            f"{op.label}: k must be 1 to {n} for dim {dim} of {input!r}, got {k}; pass at most {n}", op=op.label
        )
    return shape


@kernel(**EXTREME | {"shape": twice(_ranked_shape)})
def kthvalue(backend, values, indices, input: Tensor, k: Int, dim: Dim = -1, keepdim: Flag = False):
    """Return the k-th smallest element along `dim` and its position, as (values, indices).

    nan counts as the largest element.
    k: the rank, which is 1 for the smallest element.
    Gradient: g at the position of the value.
    """
    return backend.prepare(Nth(dim, k - 1, "last"), (kept(values, input, dim), kept(indices, input, dim)), input)


def _last_shape(op: Op, input: Spec, *, skip: bool) -> tuple[int, ...]:
    return extreme_shape(op, input, dim=len(input.shape) - 1, keepdim=False)


@kernel(
    dtype=lambda op, specs, **params: specs[0].dtype, shape=_last_shape,
    vjp=(lambda g, input, y: share_ties(g, input, y, (input.ndim - 1,)),),
    jvp=lambda dinput, input, y: tied_tangent(dinput, input, y, (input.ndim - 1,), False),
    batch=lambda input, *, skip: middle(input, skip=skip), namespace=(), label="median",
)  # fmt: skip
def middle(backend, out, input: Tensor, *, skip: Flag):
    """Return the median along the last dim, with or without nan.  Gradient: g, divided evenly among tied elements."""
    steps, dim = Steps(backend, (out,), (input,)), len(input.shape) - 1
    (result,), (x,) = steps.outs, steps.operands
    # Both results of the request have one layout, in which dense loops write them.
    shape = (*out.shape, 1)
    values, positions = (steps.work(shape, dtype) for dtype in (out.dtype, int64))
    if out.layout.is_contiguous:
        values = result.seen(positions.layout)
    steps.ask(Nth(dim, (x.shape[dim] - 1) // 2, "skip" if skip else "first"), (values, positions), x)
    if values.slot != result.slot:
        steps.copy(result, values.seen(values.layout.squeeze(dim)))
    return steps.launch


def _of_all(input: Tensor, dim: int | None, out: Any, skip: bool) -> Any:
    """Return the median of all elements if `dim` is None, otherwise None."""
    if dim is not None or not isinstance(input, Tensor):
        return None
    result = middle(input if input.layout.ndim == 1 else reshape(input, (-1,)), skip=skip)
    return result if out is None else copy_result("nanmedian" if skip else "median", result, out)


@kernel(
    **EXTREME, otherwise=lambda input, dim, keepdim, out: _of_all(input, dim, out, False),
    sole=lambda input: middle(input if input.layout.ndim == 1 else reshape(input, (-1,)), skip=False),
)  # fmt: skip
def median(backend, values, indices, input: Tensor, dim: DimOrAll = None, keepdim: Flag = False):
    """Return the median of all elements, or with `dim` the named tuple (values, indices) of the medians along `dim`.

    For an even number of elements, the median is the lower of the two middle elements.  If an element is nan, the
    result is nan.
    Gradient: with `dim`, g at the position of the value; without it, g is divided evenly among tied elements.
    Raises ShapeError if there are no elements.
    """
    return _nth(backend, values, indices, input, dim, "first")


@kernel(
    **EXTREME, otherwise=lambda input, dim, keepdim, out: _of_all(input, dim, out, True),
    sole=lambda input: middle(input if input.layout.ndim == 1 else reshape(input, (-1,)), skip=True),
)  # fmt: skip
def nanmedian(backend, values, indices, input: Tensor, dim: DimOrAll = None, keepdim: Flag = False):
    """Return `median` of the elements that are not nan; nan if all elements are nan.

    Gradient: the same as for `median`.
    """
    return _nth(backend, values, indices, input, dim, "skip")


def _nth(backend: Any, values: Spec, indices: Spec, input: Spec, dim: int, missing: str) -> Any:
    request = Nth(dim, (input.shape[dim] - 1) // 2, missing)
    return backend.prepare(request, (kept(values, input, dim), kept(indices, input, dim)), input)


# ---- the most frequent element --------------------------------------------------------------------------------------


def longer(end, most, current, count, index, x):
    """Return the index of the end of the longest run so far and its length, the current run, and the next index.

    The elements are sorted, so equal elements are a run, and the first of runs of one length has the smallest elements.
    """
    length = count + 1 if x == current else 1
    longest = length > most
    return index if longest else end, length if longest else most, x, length, index + 1


def end_of_longest(end, most, current, count, index):
    """Return the index of the end of the longest run."""
    return end


LONGEST_RUN = declared(longer, ("zero",) * 5, order="sequential", finish=end_of_longest)


@kernel(**EXTREME | {"shape": twice(extreme_shape)})
def mode(backend, values, indices, input: Tensor, dim: Dim = -1, keepdim: Flag = False):
    """Return the most frequent element along `dim`, and the position of its last occurrence.

    If several elements are equally frequent, the result is the smallest of them.  nan is not equal to any element.
    Gradient: g at the position of the value.
    """
    steps = Steps(backend, (kept(values, input, dim), kept(indices, input, dim)), (input,))
    (result, positions), (x,) = steps.outs, steps.operands
    elements, order = steps.work(x.shape, x.dtype), steps.work(x.shape, int64)
    steps.ask(Sort(dim, False), (elements, order), x)
    # Both dtypes contain the elements and the indices exactly.
    compute = float64.compute if x.dtype.is_float else int64.compute
    ends = steps.work(positions.shape, int64)
    steps.ask(reducing(LONGEST_RUN, compute, (dim,)), ends, elements)
    steps.ask(Gather(dim), positions, order, ends)
    steps.ask(Gather(dim), result, x, positions)
    return steps.launch
