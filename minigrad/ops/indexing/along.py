"""Elements that broadcast indices select along a dim, and repetition of each element."""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.core.conditions import Integral, Ndim, expect_same
from minigrad.core.roles import OneDim
from minigrad.core.shape import as_int, broadcast_shapes
from minigrad.declare.decorators import composed
from minigrad.errors import ArgumentError
from minigrad.ops.creation import tensor
from minigrad.ops.indexing.gathering import gather, index_select
from minigrad.ops.shape.moves import rearrange
from minigrad.ops.shape.views import expand, reshape
from minigrad.runtime.tensor import Tensor, describe


@composed()
def take_along_dim(input: Tensor, indices: Tensor, dim: OneDim = None) -> Tensor:
    """Return the elements of input at indices along `dim`; both broadcast along the other dims, and then `gather` runs.

    Without a dim, both are flattened first.
    """
    if dim is None:
        return gather(reshape(input, -1), 0, reshape(indices, -1))
    expect_same("dims", "take_along_dim", input=input, indices=indices)
    if not input.ndim:
        return gather(input, dim, indices)
    front, behind = (
        broadcast_shapes("take_along_dim", *[x.shape[part] for x in (input, indices)])
        for part in (slice(dim), slice(dim + 1, None))
    )
    stretched = [expand(x, shape=(*front, x.shape[dim], *behind)) for x in (input, indices)]
    return gather(stretched[0], dim, stretched[1])


@composed(out=False)
def repeat_interleave(
    input: Tensor, repeats: Tensor | int, dim: OneDim = None, *, output_size: int | None = None
) -> Tensor:
    """Repeat each element along `dim`; the copies of an element are next to each other.

    Without a dim, the input is flattened first.
    repeats: the number of copies, as an int for all elements, or as an integer tensor with one count per element.
    output_size: the length of the result along `dim`, which is checked; by default it is the sum of the counts.
    Gradient: for each element, the sum of g over its copies.
    """
    x, d = (reshape(input, input.numel()), 0) if dim is None else (input, dim)
    Ndim(least=1).expect("repeat_interleave", input=x)
    n = x.shape[d]
    # An int is the most common case, and needs no index tensor.
    if repeats.__class__ is int and repeats >= 0 and output_size in (None, n * repeats):
        return repeated(x, d, repeats)
    counts = counts_of(x, repeats)
    if counts.size not in (1, n) or counts.ndim > 1 or (counts < 0).any():
        raise ArgumentError(
            f"repeat_interleave: repeats for dim {d} of {describe(x)} must be 1 or {n} counts of 0 or more, got "
            f"{counts.tolist()}; pass one count, or one count per element of this dim",
            op="repeat_interleave",
        )
    total = int(np.broadcast_to(counts, (n,)).sum())
    if output_size is not None and output_size != total:
        raise ArgumentError(
            f"repeat_interleave: output_size must be {total}, the sum of repeats, got {output_size}; pass "
            f"output_size={total}"
        )
    if counts.size == 1:
        return repeated(x, d, int(counts.reshape(())))
    return index_select(x, d, tensor(np.repeat(np.arange(n), counts), device=x.device))


def repeated(x: Tensor, d: int, count: int) -> Tensor:
    """Return a tensor with each element repeated `count` times along a dim."""
    front, n, rest = x.shape[:d], x.shape[d], x.shape[d + 1 :]
    return rearrange(x, (*front, n, count, *rest), tuple(range(x.ndim + 1)), (*front, n * count, *rest), (d + 1,))


def counts_of(x: Tensor, repeats: Any) -> Any:
    """Return the argument `repeats` as an array of counts.  Raises DTypeError for a tensor that is not integer."""
    if not isinstance(repeats, Tensor):
        return np.array(as_int(repeats, "repeats", "repeat_interleave"))
    Integral.expect("repeat_interleave", repeats=repeats)
    return np.array(repeats.tolist(), np.int64)
