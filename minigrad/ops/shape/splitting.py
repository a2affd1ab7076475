"""Parts of a tensor at positions that are given, in equal numbers, or along a dim that has a name; all are views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from minigrad.core.roles import AS_IT_COMES, Along, Dim, Role
from minigrad.core.shape import as_int, normalize_dim
from minigrad.declare.decorators import composed
from minigrad.errors import ArgumentError, ShapeError
from minigrad.ops.shape.joining import chunk, split
from minigrad.ops.shape.rearranging import expect_dims
from minigrad.ops.shape.views import select
from minigrad.runtime.tensor import Tensor, describe

Sections = Annotated[
    Any, Role("Sections", "how many parts, or where they end", "int | Sequence[int] | Tensor", AS_IT_COMES)
]


@composed(out=False)
def unbind(input: Tensor, dim: Along = 0) -> tuple[Tensor, ...]:
    """Return views of all positions along `dim`, which is removed."""
    d = normalize_dim(dim, input.ndim, "unbind", input)
    return tuple([select(input, dim=d, index=k) for k in range(input.shape[d])])


@composed(out=False)
def tensor_split(input: Tensor, sections: Sections, dim: Dim = 0) -> tuple[Tensor, ...]:
    """Return views of equal parts along `dim`, the first ones longer by 1 if needed; or parts that end at each index.

    sections: the number of parts, or a sequence of indices, which may be negative; either as a tensor too.
    """
    expect_dims("tensor_split", input, 1)
    wanted: Any = sections.tolist() if isinstance(sections, Tensor) else sections
    if isinstance(wanted, (tuple, list)):
        ends = [as_int(end, "an index", "tensor_split") for end in wanted]
    else:
        count = as_int(wanted, "the number of parts", "tensor_split")
        if count <= 0:
            raise ArgumentError(
                f"tensor_split: the number of parts of {describe(input)} is {count}, and must be positive"
            )
        size, longer = divmod(input.shape[dim], count)
        ends = [k * size + min(k, longer) for k in range(1, count)]
    front = (slice(None),) * dim
    return tuple([input[(*front, slice(a, b))] for a, b in zip((0, *ends), (*ends, None))])


def split_along(name: str, x: Tensor, dim: int, ndim: int, sections: Any) -> tuple[Tensor, ...]:
    """Parts along a dim of a tensor with enough dims; a number of parts must divide it."""
    expect_dims(name, x, ndim)
    if not isinstance(sections, (tuple, list)) and (as_int(sections, "sections", name) <= 0 or x.shape[dim] % sections):
        raise ShapeError(f"{name}: dim {dim} of {describe(x)} has no {sections} parts of the same size", op=name)
    parts: tuple[Tensor, ...] = tensor_split(x, sections, dim)
    return parts


@composed(out=False)
def hsplit(input: Tensor, sections: Sections) -> tuple[Tensor, ...]:
    """Return views of parts of one size, or up to indices, along the second dim; of a row along its own."""
    return split_along("hsplit", input, min(input.ndim - 1, 1), 1, sections)


@composed(out=False)
def vsplit(input: Tensor, sections: Sections) -> tuple[Tensor, ...]:
    """Return views of parts of one size, or up to indices, along the first dim."""
    return split_along("vsplit", input, 0, 2, sections)


@composed(out=False)
def dsplit(input: Tensor, sections: Sections) -> tuple[Tensor, ...]:
    """Return views of parts of one size, or up to indices, along the third dim."""
    return split_along("dsplit", input, 2, 3, sections)


@composed(out=False)
def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: Along = 0) -> tuple[Tensor, ...]:
    """Return `split` by a sequence of sizes."""
    return split(input, list(split_sizes), dim)


@composed(out=False)
def unsafe_split(input: Tensor, split_size: int, dim: Along = 0) -> tuple[Tensor, ...]:
    """Return `split`; writes into its parts are recorded here too."""
    return split(input, split_size, dim)


@composed(out=False)
def unsafe_split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: Along = 0) -> tuple[Tensor, ...]:
    """Return `split_with_sizes`; writes into its parts are recorded here too."""
    return split(input, list(split_sizes), dim)


@composed(out=False)
def unsafe_chunk(input: Tensor, chunks: Along, dim: Along = 0) -> tuple[Tensor, ...]:
    """Return `chunk`; writes into its parts are recorded here too."""
    return chunk(input, chunks, dim)
