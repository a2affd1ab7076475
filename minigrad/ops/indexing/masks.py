"""Selection by masks: nonzero, masked_select, masked_fill, masked_scatter, and the ops of `x[mask]`.

The number of selected elements depends on the values of a mask, so a call plan cannot store it.  A first pass counts
the True elements of the mask, and a second pass writes their positions.  These positions are an ordinary index;
`gathering.py` implements the reads with an index and their gradients.
"""

from __future__ import annotations

from math import prod
from typing import Annotated, Any

from minigrad.backends.launch import Launch
from minigrad.backends.lowering.functions import NONZERO
from minigrad.backends.registry import backend_of
from minigrad.backends.steps import Steps
from minigrad.core.conditions import Boolean, Like, expect_shape
from minigrad.core.dtype import bool_, int64
from minigrad.core.plan import pieces
from minigrad.core.requests import Locate, Tally
from minigrad.core.roles import Flag, Int, Size
from minigrad.core.shape import broadcast_shapes
from minigrad.declare.decorators import composed, kernel, public
from minigrad.declare.rules import index_dtype, joint
from minigrad.errors import GradientError, MinigradError, ShapeError
from minigrad.kernels.scalar import scalar_of
from minigrad.ops.batch_rules import stretched
from minigrad.ops.casting import cast, clone
from minigrad.ops.creation import full
from minigrad.ops.indexing.gathering import index_add, index_select, select_batch, zeros_of
from minigrad.ops.indexing.sorting import argsort
from minigrad.ops.pointwise.blends import clamp_between
from minigrad.ops.pointwise.compare import ne, where
from minigrad.ops.reduction.scan import cumsum
from minigrad.ops.reduction.sums import any as any_of
from minigrad.ops.reduction.sums import sum
from minigrad.ops.shape.joining import cat
from minigrad.ops.shape.views import expand, narrow, reshape, select
from minigrad.runtime.dispatch import number
from minigrad.runtime.tensor import Tensor, describe, expect_tensors
from minigrad.runtime.tracers import Tracer

PART = 8192  # number of elements of a mask that are counted as one part


def parts_of(mask: Tensor) -> int:
    """Return the number of parts in which threads count a mask; it depends only on the shape of the mask."""
    n = mask.layout.numel
    return 1 if n <= PART else pieces(n, PART)[1]


@kernel(dtype=index_dtype, shape=lambda op, mask, *, parts: (parts + 1,), namespace=())
def tally(backend, out, mask, *, parts: Size):
    """Return the number of True elements of a mask before each of its equal parts, and the total at the end."""
    return backend.prepare(Tally(parts), out, mask)


@kernel(dtype=index_dtype, shape=lambda op, mask, starts, *, count: (count,), namespace=())
def locate(backend, out, mask, starts, *, count: Size):
    """Return the row-major positions of the `count` True elements of a mask; `starts` is its tally."""
    return backend.prepare(Locate(), out, mask, starts)


@kernel(
    dtype=lambda op, specs, *, parts: (bool_, int64), shape=lambda op, x, *, parts: (x.shape, (parts + 1,)),
    outputs=("mask", "starts"), namespace=(), label="nonzero", complex=True,
)  # fmt: skip
def tally_nonzero(steps, mask, starts, x, *, parts: Size):
    """Return the mask of the nonzero elements, and its tally."""
    steps.each(NONZERO, mask, x, compute=x.dtype.compute)
    steps.ask(Tally(parts), starts, mask)


@kernel(
    dtype=index_dtype, shape=lambda op, mask, starts, *, count: (count, len(mask.shape)), namespace=(), label="nonzero"
)  # fmt: skip
def coordinates(steps, out, mask, starts, *, count: Size):
    """Return the position of each True element along each dim, as a matrix; `starts` is the tally of the mask."""
    if not out.layout.numel:
        return
    shape, last = mask.shape, len(mask.shape) - 1
    rest = steps.work((count,), int64) if last else out.select(1, 0)
    steps.ask(Locate(), rest, mask, starts)
    for d in range(last):
        later = out.select(1, last) if d == last - 1 else steps.work((count,), int64)
        size = steps.constant(prod(shape[d + 1 :]), int64)
        steps.each(COORDINATE, (out.select(1, d), later), rest, size)
        rest = later


def coordinate(position, size):
    """Return the position along a dim and the rest of a row-major position; size: the number of elements per entry.

    A division takes longer than everything else in this loop, so the next dim continues with the rest.
    """
    entry = position // size
    return entry, position - entry * size


COORDINATE = scalar_of(coordinate, results=2)


def _chosen_batch(x, mask, starts, *, dim, count, batch, flags):
    """Return `chosen` for a batch of x.  Masks that differ between samples have equal numbers of True elements."""
    x = stretched(x, flags[0], batch)
    if not flags[1]:
        return chosen(x, mask, select(starts, 0, 0) if flags[2] else starts, dim=dim + 1, count=count)
    positions = narrow(argsort(reshape(mask, (mask.shape[0], -1)), 1, True), 1, 0, count)
    return select_batch(x, positions, dim, (True, True))


@kernel(
    dtype=lambda op, specs, **params: specs[0].dtype,
    shape=lambda op, x, mask, starts, *, dim, count: (*x.shape[:dim], count, *x.shape[dim + 1 :]),
    vjp=(
        lambda g, mask, starts, *, in_shape, dim, count: index_add(
            zeros_of(in_shape, g), dim, locate(mask, starts, count=count), g
        ),
        None,
        None,
    ),
    linear=joint("x"), namespace=(), label="index",
    batch=_chosen_batch, complex=True,
)  # fmt: skip
def chosen(steps, out, x, mask, starts, *, dim: Size, count: Size):
    """Return the slices along `dim` where a mask of the dim's length, in row-major order, is True.

    starts: the tally of the mask.  Gradient: g in these slices, and 0 elsewhere.
    """
    return select_where(steps, dim)


def select_where(steps: Steps, dim: int) -> Launch:
    """Return the launch that writes the slices of an operand along a dim where a mask is True.

    The operands are x, the mask and its tally.
    """
    (out,), (x, mask, starts) = steps.outs, steps.operands
    if out.layout.numel:
        positions = steps.work((out.shape[dim],), int64)
        steps.ask(Locate(), positions, mask, starts)
        steps.index_select(out, x, positions, dim)
    return steps.launch


def tallied(mask: Tensor) -> tuple[Tensor, int]:
    """Return the tally of a mask, and the number of True elements.  Raises GradientError inside a transform."""
    if isinstance(mask, Tracer):
        raise GradientError(
            f"the mask {describe(mask)} belongs to a transform, so the number of its True elements cannot determine a "
            "shape; use mg.where"
        )
    starts = tally(mask, parts=parts_of(mask))
    return starts, total_of(starts)


def total_of(starts: Tensor) -> int:
    """Return the number of True elements, from a tally, which the host reads."""
    # A tally is contiguous from the start of its buffer, so its last element is read without its layout.
    return backend_of(starts.device).to_host(starts.storage).item(starts.layout.numel - 1)


def positions_of(mask: Tensor) -> Tensor:
    """Return the row-major positions of the True elements of a mask, as a vector of int64."""
    starts, count = tallied(mask)
    return locate(mask, starts, count=count)


def choose(x: Tensor, dim: int, mask: Tensor) -> Tensor:
    """Return x[..., mask, ...], in which one dim of selected elements replaces the dims of the mask, from `dim` on."""
    rest = x.shape[dim + mask.ndim :]
    flat = x if mask.ndim == 1 else x.reshape(*x.shape[:dim], mask.numel(), *rest)
    starts, count = tallied(mask)
    return chosen(flat, mask, starts, dim=dim, count=count)


def _ranks(mask: Tensor) -> Tensor:
    """Return, for each element of a mask, flattened, the number of True elements before it.

    For elements that are False, whose value is not used, the number is clamped to the valid positions.
    """
    running = cumsum(mask.reshape(-1), 0)
    return clamp_between(running - 1, 0, int(running[-1].item()) - 1)


def mask_over(y: Tensor, dim: int, mask: Tensor) -> Tensor:
    """Return a mask that covers some dims of y, from `dim` on, expanded to the shape of y."""
    whole = mask.reshape(*(1,) * dim, *mask.shape, *(1,) * (y.ndim - dim - mask.ndim))
    return expand(whole, shape=y.shape)


def fill_masked(y: Tensor, dim: int, mask: Tensor, source: Tensor) -> None:
    """Write source, a tensor of one element, into y where a mask is True: y[..., mask, ...] = source."""
    y, whole = unrepeated(y, mask_over(y, dim, mask))
    where(whole, clone(cast(source, dtype=y.dtype).reshape(())), y, out=y)


def unrepeated(x: Tensor, mask: Any) -> tuple[Tensor, Any]:
    """Return x and a mask, or None, with one element along each dim of x that repeats its memory, as of `expand`.

    An element of the new mask is True if the mask is True at one of the repetitions.
    """
    if x.layout.is_contiguous:
        return x, mask
    dims = [k for k, (size, step) in enumerate(zip(x.shape, x.strides)) if size > 1 and step == 0]
    for k in dims:
        x = narrow(x, dim=k, start=0, length=1)
    return x, any_of(mask, tuple(dims), True) if dims and mask is not None else mask


def _expect_mask(name: str, x: Tensor, mask: Tensor) -> tuple[int, ...]:
    """Return the shape to which x and a mask broadcast.  Raises DTypeError unless the mask is bool."""
    expect_tensors(name, x, mask)
    Boolean.expect(name, x, mask=mask)
    try:
        return broadcast_shapes(name, x.shape, mask.shape)
    except MinigradError:
        raise ShapeError(
            f"{name}: mask must broadcast with {describe(x)}, got {describe(mask)}; from the right, each size must be "
            "equal or 1, so reshape mask"
        ) from None


# ---- the public forms -----------------------------------------------------------------------------------------------


@composed()
def nonzero(input: Tensor, *, as_tuple: Flag = False) -> Any:
    """Return the indices of all nonzero elements as an int64 matrix, with one row per element.

    as_tuple: whether to return a tuple with one vector of indices per dim instead.
    """
    x = input if input.layout.shape else reshape(input, (1,))
    if x.dtype is bool_ or isinstance(x, Tracer):
        mask = ne(x, 0) if isinstance(x, Tracer) else x
        starts, count = tallied(mask)
    else:
        mask, starts = tally_nonzero(x, parts=parts_of(x))
        count = total_of(starts)
    matrix = coordinates(mask, starts, count=count)
    if not input.layout.shape and not as_tuple:
        return matrix[:, :0]
    return tuple([select(matrix, 1, d) for d in range(x.ndim)]) if as_tuple else matrix


@composed()
def nonzero_static(input: Tensor, *, size: Size, fill_value: Int = -1) -> Tensor:
    """Return the indices of the first `size` nonzero elements as an int64 matrix, with one row per element.

    fill_value: the value of the rows that remain if there are fewer nonzero elements.
    """
    rows = nonzero(input)[:size]
    rest = size - rows.shape[0]
    return cat([rows, full((rest, input.ndim), fill_value, dtype=int64, device=input.device)]) if rest else rows


@composed()
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """Return a vector of the elements where `mask` is True, in row-major order; input and mask broadcast.

    Gradient: g at the selected elements, and 0 elsewhere.
    """
    shape = _expect_mask("masked_select", input, mask)
    whole = mask if mask.shape == shape else expand(mask, shape=shape)
    wide = input if input.shape == shape else expand(input, shape=shape)
    return choose(wide, 0, whole) if shape else choose(wide.reshape(1), 0, whole.reshape(1))


@composed(out=False)
def masked_fill(input: Tensor, mask: Tensor, value: Tensor | float) -> Tensor:
    """Return a copy of the input with `value` where `mask` is True; input and mask broadcast.

    value: a number or a tensor without dims, which is cast to the dtype of the input.
    Gradient: for input, g where the mask is False, and 0 elsewhere; for value, the sum of g where the mask is True.
    """
    _expect_mask("masked_fill", input, mask)
    return where(mask, _filling("masked_fill", input, value), input)


@public()
def fill(input: Tensor, value: Tensor | float) -> Tensor:
    """Return a tensor filled with `value`, with the shape and dtype of the input.

    value: a number or a tensor without dims.
    Gradient: 0 for input, and the sum of g for value.
    """
    expect_tensors("fill", input)
    return masked_fill(input, number(True, bool_, input.device), value)


@public(namespace=(), method=True)
def masked_fill_(x: Tensor, mask: Tensor, value: float | Tensor) -> Tensor:
    """Apply `masked_fill` in place; the mask must broadcast to the shape of x."""
    if _expect_mask("masked_fill_", x, mask) != x.shape:
        raise ShapeError(
            f"masked_fill_: mask must broadcast to the shape of {describe(x)}, got {describe(mask)}; call masked_fill "
            "for a larger result"
        )
    if isinstance(x, Tracer):
        writer: Any = x.transform
        writer.begin_write("masked_fill_", x)
        writer.end_write("masked_fill_", x, where(mask, _filling("masked_fill_", x, value), x))
        return x
    once, mask = unrepeated(x, expand(mask, shape=x.shape))
    where(mask, _filling("masked_fill_", x, value), once, out=once)
    return x


def _filling(name: str, x: Tensor, value: Any) -> Tensor:
    """Return the value of `masked_fill` as a tensor without dims in the dtype of x."""
    if not isinstance(value, Tensor):
        return number(value, x.dtype, x.device)
    expect_shape(name, (), "the shape of a number for", x, "pass a number", value=value)
    return cast(value, dtype=x.dtype)


@composed(in_place=True)
def masked_scatter(input: Tensor, mask: Tensor, source: Annotated[Tensor, Like("dtype")]) -> Tensor:
    """Return a copy of the input with the elements of `source`, in their order, where `mask` is True.

    Input and mask broadcast.
    Gradient: for input, g where the mask is False, and 0 elsewhere; for source, g for each element that was used.
    Raises ShapeError if source has fewer elements than the mask selects.
    """
    shape = _expect_mask("masked_scatter", input, mask)
    whole = expand(mask, shape=shape)
    wanted = tallied(whole)[1]
    if source.numel() < wanted:
        raise ShapeError(
            f"masked_scatter: source must have at least {wanted} elements, as many as the mask {describe(mask)} "
            f"selects, got {describe(source)} with {source.numel()}; pass a longer source"
        )
    wide = expand(input, shape=shape)
    if wanted == 0:  # no element of source is used, so its gradient is 0
        return where(whole, cast(sum(source.reshape(-1).narrow(0, 0, 0)), dtype=input.dtype), wide)
    return where(whole, index_select(source.reshape(-1), 0, _ranks(whole)).reshape(shape), wide)
