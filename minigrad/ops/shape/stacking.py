"""Join matrices horizontally, vertically, in depth, or along a diagonal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from minigrad.backends.steps import Steps
from minigrad.core.conditions import Ndim
from minigrad.core.op import Op, Spec
from minigrad.declare.decorators import composed, kernel
from minigrad.declare.names import MG, namespaces
from minigrad.declare.rules import common
from minigrad.ops.shape.joining import cat, stack
from minigrad.ops.shape.rearranging import at_least
from minigrad.ops.shape.views import narrow, reshape
from minigrad.runtime.tensor import Tensor


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


def blocks_shape(op: Op, *specs: Spec) -> tuple[int, ...]:
    """Return the shape of the joined blocks: the last two lengths are sums, and the leading dims are equal for all."""
    return (*specs[0].shape[:-2], sum(s.shape[-2] for s in specs), sum(s.shape[-1] for s in specs))


def block_of(g: Tensor, shapes: Sequence[tuple[int, ...]], position: int) -> Tensor:
    """Return the block of g that belongs to the operand at `position`."""
    for dim in (-2, -1):
        g = narrow(g, dim, sum(shape[dim] for shape in shapes[:position]), shapes[position][dim])
    return g


@kernel(
    dtype=lambda op, specs: common(specs), shape=blocks_shape, namespace=(), label="block_diag", linear=True,
    vjp=(lambda g, *, in_shapes, position: block_of(g, in_shapes, position),),
    batch=lambda *tensors: blocks_joined(tensors),
)  # fmt: skip
def blocks_joined(backend, out, tensors: Sequence[Tensor]):
    """Return the matrices as blocks along the diagonal of zeros.  Gradient: each matrix gets its block of g."""
    steps = Steps(backend, (out,), tensors)
    (result,) = steps.outs
    steps.fill(result, 0)
    rows = columns = 0
    for x in steps.operands:
        height, width = x.shape[-2:]
        steps.copy(result.at(-2, rows, height).at(-1, columns, width), x)
        rows, columns = rows + height, columns + width
    return steps.launch


def with_dims(ndim: int, tensors: Sequence[Tensor]) -> list[Any]:
    """Return views of the tensors with at least `ndim` dims, as a list."""
    return [at_least(ndim, (x,)) for x in tensors]


def are_vectors(tensors: Sequence[Tensor]) -> bool:
    """Return whether the tensors are vectors of one length, which `stack` joins without views."""
    return tensors[0].ndim == 1 and all(x.shape == tensors[0].shape for x in tensors)
