"""Split a tensor into views of its parts: at given indices, or into parts of equal length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from minigrad.core.conditions import Ndim
from minigrad.core.roles import AS_IT_COMES, Along, Dim, Number, Role
from minigrad.core.shape import as_int, normalize_dim
from minigrad.declare.decorators import composed
from minigrad.errors import ShapeError
from minigrad.ops.shape.joining import chunk, split
from minigrad.ops.shape.views import select
from minigrad.runtime.tensor import Tensor, describe

Sections = Annotated[
    Any, Role("Sections", "how many parts, or where they end", "int | Sequence[int] | Tensor", AS_IT_COMES)
]


@composed(out=False)
def unbind(input: Tensor, dim: Along = 0) -> tuple[Tensor, ...]:
    """Return views of the slices at all positions along `dim`, without this dim."""
    d = normalize_dim(dim, input.ndim, "unbind", input)
    return tuple([select(input, dim=d, index=k) for k in range(input.shape[d])])


@composed(out=False)
def tensor_split(input: Annotated[Tensor, Ndim(least=1)], sections: Sections, dim: Dim = 0) -> tuple[Tensor, ...]:
    """Return views of parts along `dim`.

    sections: an int is the number of parts; the first parts are longer by 1 if the length of the dim is not a multiple
    of this number. A sequence contains the indices at which the parts end; negative indices count from the end. A
    tensor is converted to an int or a list.
    Gradient: each part of g at the position of the part.
    """
    wanted: Any = sections.tolist() if isinstance(sections, Tensor) else sections
    if isinstance(wanted, (tuple, list)):
        ends = [as_int(end, "an index", "tensor_split") for end in wanted]
    else:
        count = as_int(wanted, "the number of parts", "tensor_split")
        Number(1, whole=True, example=2).expect("tensor_split", input, sections=count)
        size, longer = divmod(input.shape[dim], count)
        ends = [k * size + min(k, longer) for k in range(1, count)]
    front = (slice(None),) * dim
    return tuple([input[(*front, slice(a, b))] for a, b in zip((0, *ends), (*ends, None))])


def split_along(name: str, x: Tensor, dim: int, ndim: int, sections: Any) -> tuple[Tensor, ...]:
    """Return `tensor_split` along a dim.

    Raises ShapeError for a tensor with fewer than `ndim` dims, and if a number of parts does not divide the length.
    """
    Ndim(least=ndim).expect(name, input=x)
    if not isinstance(sections, (tuple, list)) and (as_int(sections, "sections", name) <= 0 or x.shape[dim] % sections):
        raise ShapeError(
            f"{name}: the length of dim {dim} of {describe(x)} must be a multiple of the number of parts {sections}; "
            "use tensor_split for parts of different lengths",
            op=name,
        )
    parts: tuple[Tensor, ...] = tensor_split(x, sections, dim)
    return parts


@composed(out=False)
def hsplit(input: Tensor, sections: Sections) -> tuple[Tensor, ...]:
    """Return views of parts along the second dim, or along the only dim of a vector.

    sections: the number of parts, which have equal lengths, or a sequence of indices at each of which a part ends.
    """
    return split_along("hsplit", input, min(input.ndim - 1, 1), 1, sections)


@composed(out=False)
def vsplit(input: Tensor, sections: Sections) -> tuple[Tensor, ...]:
    """Return views of parts along the first dim of a tensor with at least two dims.

    sections: the number of parts, which have equal lengths, or a sequence of indices at each of which a part ends.
    """
    return split_along("vsplit", input, 0, 2, sections)


@composed(out=False)
def dsplit(input: Tensor, sections: Sections) -> tuple[Tensor, ...]:
    """Return views of parts along the third dim.

    sections: the number of parts, which have equal lengths, or a sequence of indices at each of which a part ends.
    """
    return split_along("dsplit", input, 2, 3, sections)


@composed(out=False)
def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: Along = 0) -> tuple[Tensor, ...]:
    """Return views of parts along `dim` with the given lengths, as `split`."""
    return split(input, list(split_sizes), dim)


@composed(out=False)
def unsafe_split(input: Tensor, split_size: int, dim: Along = 0) -> tuple[Tensor, ...]:
    """Return `split(input, split_size, dim)`.

    In PyTorch, autograd does not check in-place writes into the results of `unsafe_split`.  minigrad records these
    writes, so both functions are equally safe.
    """
    return split(input, split_size, dim)


@composed(out=False)
def unsafe_split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: Along = 0) -> tuple[Tensor, ...]:
    """Return `split_with_sizes(input, split_sizes, dim)`.

    minigrad records in-place writes into the parts, so this function is as safe as `split_with_sizes`.
    """
    return split(input, list(split_sizes), dim)


@composed(out=False)
def unsafe_chunk(input: Tensor, chunks: Along, dim: Along = 0) -> tuple[Tensor, ...]:
    """Return `chunk(input, chunks, dim)`.

    minigrad records in-place writes into the parts, so this function is as safe as `chunk`.
    """
    return chunk(input, chunks, dim)
