"""Rearrange the elements or the dims of a tensor, and stack tensors.

All functions that take one tensor, except `roll` and `tile`, return views; flipped views have negative strides.  They
are composed of the ops in `views.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Annotated, Any

from minigrad.core.conditions import Ndim
from minigrad.core.roles import Dim, Int, Ints, IntsOrNone, StretchedShape, ViewShape
from minigrad.core.shape import as_shape, infer_hole, normalize_dim, normalize_dims
from minigrad.declare.decorators import composed, kernel, public
from minigrad.declare.names import MG, namespaces
from minigrad.declare.rules import common, joint, same_shape
from minigrad.errors import ArgumentError, ShapeError
from minigrad.ops.casting import clone, same_dtype
from minigrad.ops.shape.joining import cat, repeat, stack
from minigrad.ops.shape.parts import conj
from minigrad.ops.shape.views import as_view, expand, flatten, flip, narrow, permute, reshape, transpose
from minigrad.runtime.tensor import Tensor, describe

# ---- dims -----------------------------------------------------------------------------------------------------------


@composed(out=False)
def unflatten(input: Tensor, dim: Dim, sizes: StretchedShape) -> Tensor:
    """Return a view with one dim split into several dims of the given sizes; one size may be -1."""
    if not as_shape((sizes,), "unflatten", hole=True):
        raise ShapeError(
            f"unflatten: sizes must have at least one size for dim {dim} of {describe(input)}, got none; pass (-1,), "
            "for example"
        )
    parts = infer_hole(as_shape((sizes,), "unflatten", hole=True), input.shape[dim], "unflatten", (input.shape[dim],))
    return as_view(input, shape=(*input.shape[:dim], *parts, *input.shape[dim + 1 :]))


@composed(out=False)
def movedim(input: Tensor, source: Ints, destination: Ints) -> Tensor:
    """Return a view with some dims moved to other positions; the other dims keep their order."""
    if len(source) != len(destination):
        raise ArgumentError(
            f"movedim: source and destination must have equal lengths for {describe(input)}, got {source} and "
            f"{destination}; pass one position per dim"
        )
    ndim = input.ndim or 1  # a tensor without dims counts as having one dim here
    goes, to = ([normalize_dim(d, ndim, "movedim", input) for d in dims] for dims in (source, destination))
    normalize_dims(to, ndim, "movedim", input)  # this call only raises an error for a repeated dim
    order = [d for d in range(ndim) if d not in normalize_dims(goes, ndim, "movedim", input)]
    for position, d in sorted(zip(to, goes)):
        order.insert(position, d)
    return permute(input, dims=tuple(order[: input.ndim]))


@public()
def moveaxis(input: Tensor, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """Return `movedim(input, source, destination)`; `moveaxis` is NumPy's name of `movedim`."""
    return movedim(input, source, destination)


@public()
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Return `transpose(input, axis0, axis1)`; `swapaxes` is NumPy's name of this function."""
    return transpose(input, axis0, axis1)


@public()
def swapdims(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Return `transpose(input, dim0, dim1)`; PyTorch has both names."""
    return transpose(input, dim0, dim1)


@composed(out=False)
def adjoint(input: Annotated[Tensor, Ndim(least=2, advice="add a dim with unsqueeze(0)")]) -> Tensor:
    """Return a tensor with the last two dims swapped, and conjugated if it is complex; for a real one, this is a view.

    Gradient: the adjoint of g.
    """
    return conj(transpose(input, -2, -1))


@public(method=True)
def ravel(input: Tensor) -> Tensor:
    """Return the elements in one dim, contiguous: a copy if the memory is not, such as that of `x[::2]`."""
    return flatten(input).contiguous()


@public()
def broadcast_to(input: Tensor, size: int | Sequence[int]) -> Tensor:
    """Return `expand` of the tensor to a shape that is a single argument."""
    return expand(input, as_shape((size,), "broadcast_to", hole=True))


# The index that adds dims to a tensor with too few dims.
NEW_DIMS: dict[int, dict[int, Any]] = {
    1: {0: None},
    2: {0: (None, None), 1: (None, ...)},
    3: {0: (None, None, None), 1: (None, ..., None), 2: (..., None)},
}


def at_least(ndim: int, tensors: tuple[Tensor, ...]) -> Tensor | tuple[Tensor, ...]:
    """Return views with at least `ndim` dims, as a tuple; for a single tensor, return the view itself."""
    missing = NEW_DIMS[ndim]
    views = tuple([x[missing[x.ndim]] if x.ndim < ndim else x for x in tensors])
    return views[0] if len(views) == 1 else views


@composed(out=False, method=False)
def atleast_1d(*tensors: Tensor) -> Tensor | tuple[Tensor, ...]:
    """Return views with at least one dim: shape () becomes (1,); a tuple for several tensors."""
    return at_least(1, tensors)


@composed(out=False, method=False)
def atleast_2d(*tensors: Tensor) -> Tensor | tuple[Tensor, ...]:
    """Return views with at least two dims: shape (n,) becomes (1, n); a tuple for several tensors."""
    return at_least(2, tensors)


@composed(out=False, method=False)
def atleast_3d(*tensors: Tensor) -> Tensor | tuple[Tensor, ...]:
    """Return views with at least three dims: (n,) becomes (1, n, 1), and (n, m) becomes (n, m, 1).

    For several tensors, the result is a tuple.
    """
    return at_least(3, tensors)


# ---- flipped, rotated and repeated ----------------------------------------------------------------------------------


@composed(out=False)
def fliplr(input: Annotated[Tensor, Ndim(least=2)]) -> Tensor:
    """Return a view with the second dim, the columns, in reverse order."""
    return flip(input, dims=(1,))


@composed(out=False)
def flipud(input: Annotated[Tensor, Ndim(least=1)]) -> Tensor:
    """Return a view with the first dim, the rows, in reverse order."""
    return flip(input, dims=(0,))


@composed(out=False)
def rot90(input: Tensor, k: Int = 1, dims: Ints = (0, 1)) -> Tensor:
    """Return a view rotated k times by 90 degrees in the plane of two dims, from the first towards the second."""
    if len(dims) != 2 or len(normalize_dims(dims, input.ndim, "rot90", input)) != 2:
        raise ArgumentError(
            f"rot90: dims must be two dims of {describe(input)}, got {dims}; pass dims=(0, 1), for example"
        )
    turned = flip(input, dims=((), (dims[1],), dims, (dims[0],))[k % 4])
    return transpose(turned, *dims) if k % 2 else turned


@composed(out=False)
def roll(input: Tensor, shifts: Ints, dims: IntsOrNone = ()) -> Tensor:
    """Shift the elements by `shifts` along `dims`; elements that leave one end enter at the other end.

    Without dims, the elements are shifted in row-major order, as if they were one dim.
    """
    if len(shifts) != (len(dims) or 1):
        raise ArgumentError(
            f"roll: shifts and dims must have equal lengths, got {len(shifts)} shifts and {len(dims) or 'no'} dims for "
            f"{describe(input)}; pass one dim per shift"
        )
    if not dims:
        return reshape(roll(reshape(input, -1), shifts, 0), input.shape) if input.ndim else clone(input)
    moves = dict.fromkeys([normalize_dim(dim, input.ndim, "roll", input) for dim in dims], 0)
    for shift, dim in zip(shifts, dims):
        d = dim % input.ndim
        moves[d] = (moves[d] + shift) % max(1, input.shape[d])
    moves = {d: shift for d, shift in moves.items() if shift}
    return rolled(input, shifts=tuple(moves.values()), dims=tuple(moves)) if moves else clone(input)


@kernel(
    dtype=same_dtype, shape=same_shape, linear=joint("input"), namespace=(), label="roll",
    vjp=(lambda g, *, shifts, dims: rolled(
        g, shifts=tuple([g.shape[d] - shift for d, shift in zip(dims, shifts)]), dims=dims
    ),),
    batch=lambda input, *, batch, shifts, dims: rolled(input, shifts=shifts, dims=tuple([d + 1 for d in dims])),
    complex=True,
)  # fmt: skip
def rolled(steps, out, input: Tensor, *, shifts, dims):
    """Return the elements shifted along `dims`; each shift is from 1 to the length of its dim minus 1.

    Gradient: g, shifted back.
    """
    sizes = [input.shape[d] for d in dims]
    # Each dim has two parts: (start in the source, start in the result, length).
    for parts in product(*[((0, k, n - k), (n - k, 0, k)) for k, n in zip(shifts, sizes)]):
        result, (source,) = out, steps.operands
        for d, (start, to, length) in zip(dims, parts):
            result, source = result.at(d, to, length), source.at(d, start, length)
        steps.copy(result, source)


@composed(out=False)
def tile(input: Tensor, dims: ViewShape) -> Tensor:
    """Return the tensor repeated dims[d] times along each dim d; missing leading counts or dims are 1."""
    counts = as_shape((dims,), "tile")
    return repeat(input, (1,) * (input.ndim - len(counts)) + counts)


# ---- stack tensors horizontally, vertically, in depth, or along a diagonal -------------------------------------------


@composed(method=False)
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Join tensors along the second dim; vectors are joined end to end."""
    parts = with_dims(1, tensors)
    return cat(parts, 0 if parts[0].ndim == 1 else 1)


@composed(method=False)
def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Join tensors along the first dim; a vector of n counts as (1, n)."""
    return stack(tensors, 0) if are_vectors(tensors) else cat(with_dims(2, tensors), 0)


namespaces[MG]["row_stack"] = vstack


@composed(method=False)
def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Join tensors along the third dim; a vector of n counts as (1, n, 1), a matrix as (n, m, 1)."""
    return cat(with_dims(3, tensors), 2)


@composed(method=False)
def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Join tensors along the second dim; a number or a vector counts as a column."""
    if are_vectors(tensors):
        return stack(tensors, 1)
    return cat([x if x.ndim > 1 else reshape(x, -1, 1) for x in tensors], 1)


@composed(out=False, method=False)
def block_diag(*tensors: Annotated[Tensor, Ndim(most=2, advice="pass the matrices one by one")]) -> Tensor:
    """Return a matrix with the matrices as blocks along its diagonal, and zeros elsewhere; (n,) counts as (1, n)."""
    return blocks_joined(with_dims(2, tensors))


def block_of(g: Tensor, shapes: Sequence[tuple[int, ...]], position: int) -> Tensor:
    """Return the block of g that belongs to the operand at `position`."""
    for dim in (-2, -1):
        g = narrow(g, dim, sum(shape[dim] for shape in shapes[:position]), shapes[position][dim])
    return g


@kernel(
    dtype=lambda op, specs: common(specs),
    shape=lambda op, *specs: (*specs[0].shape[:-2], sum(s.shape[-2] for s in specs), sum(s.shape[-1] for s in specs)),
    namespace=(), label="block_diag", linear=True,
    vjp=(lambda g, *, in_shapes, position: block_of(g, in_shapes, position),),
    batch="front", complex=True,
)  # fmt: skip
def blocks_joined(steps, out, tensors: Sequence[Tensor]):
    """Return the matrices as blocks along the diagonal of zeros.  Gradient: each matrix gets its block of g."""
    steps.fill(out, 0)
    rows = columns = 0
    for x in steps.operands:
        height, width = x.shape[-2:]
        steps.copy(out.at(-2, rows, height).at(-1, columns, width), x)
        rows, columns = rows + height, columns + width


def with_dims(ndim: int, tensors: Sequence[Tensor]) -> list[Any]:
    """Return views of the tensors with at least `ndim` dims, as a list."""
    return [at_least(ndim, (x,)) for x in tensors]


def are_vectors(tensors: Sequence[Tensor]) -> bool:
    """Return whether the tensors are vectors of one length, which `stack` joins without views."""
    return tensors[0].ndim == 1 and all(x.shape == tensors[0].shape for x in tensors)
