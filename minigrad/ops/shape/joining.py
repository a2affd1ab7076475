"""Join and split tensors: cat, stack, repeat, split, chunk, and views of parts at given indices."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Annotated, Any

from minigrad.core.conditions import Ndim
from minigrad.core.dtype import DType, promote
from minigrad.core.formats import format_of, layout_in
from minigrad.core.layout import Layout
from minigrad.core.op import Op, Spec
from minigrad.core.requests import Join
from minigrad.core.roles import AS_IT_COMES, Along, Dim, NewDim, Number, Role, ViewShape
from minigrad.core.shape import as_int, as_shape, normalize_dim
from minigrad.declare.decorators import composed, kernel
from minigrad.declare.rules import common
from minigrad.errors import ShapeError
from minigrad.ops.casting import cast, rearrange
from minigrad.ops.shape.views import narrow, select
from minigrad.runtime.tensor import Tensor, describe


def _cat_dtype(op: Op, specs: tuple[Spec, ...], **params: Any) -> DType:
    return common(specs)


def _cat_shape(op: Op, *specs: Spec, dim: int) -> tuple[int, ...] | Layout:
    first = specs[0].shape
    Ndim(least=1, advice="use stack, which adds a dim").expect("cat", **{"each tensor": specs[0]})
    for k, spec in enumerate(specs[1:], 1):
        if len(spec.shape) != len(first) or any(
            n != m for d, (n, m) in enumerate(zip(spec.shape, first, strict=True)) if d != dim
        ):
            raise ShapeError(
                f"cat: operand 0 is {specs[0]!r} and operand {k} is {spec!r}; "
                f"the shapes must agree except along dim {dim}; pass another dim, or slice or reshape operand {k}",
                lhs=first,
                rhs=spec.shape,
            )
    shape = (*first[:dim], sum(s.shape[dim] for s in specs), *first[dim + 1 :])
    formats = {format_of(spec.layout, strict=True) for spec in specs}
    return layout_in("cat", shape, formats.pop()) if len(formats) == 1 else shape


def _piece(g: Tensor, shapes: tuple[tuple[int, ...], ...], position: int, dim: int) -> Tensor:
    """Return the part of the gradient of `cat` that belongs to the operand at `position`."""
    start = sum(shape[dim] for shape in shapes[:position])
    return narrow(g, dim=dim, start=start, length=shapes[position][dim])


def _without_empty(tensors: Any, dim: int, out: Tensor | None) -> Tensor | None:
    """Return the result of `cat` without the empty vectors among tensors of more dims; None if there are none."""
    shapes = [getattr(x, "shape", None) for x in tensors] if isinstance(tensors, (list, tuple)) else []
    if (0,) not in shapes or None in shapes:
        return None
    if all(len(shape) < 2 for shape in shapes):
        return cat(tensors, 0, out=out) if dim not in (0, -1) and {*shapes} == {(0,)} else None
    dtype = reduce(promote, [x.dtype for x in tensors])
    return cat([cast(x, dtype=dtype) for x, shape in zip(tensors, shapes) if shape != (0,)], dim, out=out)


@kernel(
    dtype=_cat_dtype, shape=_cat_shape,
    vjp=(lambda g, *, in_shapes, position, dim: _piece(g, in_shapes, position, dim),), linear=True, batch="along",
    otherwise=lambda *call: _without_empty(*call), complex=True,
)  # fmt: skip
def cat(backend, out, tensors: Sequence[Tensor], dim: Dim = 0):
    """Join tensors along an existing dim, in the promoted dtype; channels last, if all tensors are.

    As in PyTorch, an empty vector among tensors of more dims is skipped, so that a loop may begin with `mg.tensor([])`.
    Gradient: each tensor gets its part of g.
    Raises ArgumentError for an empty sequence, ShapeError if shapes differ in another dim than `dim`.
    """
    return backend.prepare(Join(dim), out, *tensors)


def _stack_shape(op: Op, *specs: Spec, dim: int) -> tuple[int, ...]:
    first = specs[0].shape
    for spec in specs[1:]:
        if spec.shape != first:
            raise ShapeError(
                f"stack: all tensors must have the same shape, got {specs[0]!r} and {spec!r}; reshape or expand one "
                "of them", lhs=first, rhs=spec.shape,
            )  # fmt: skip
    return (*first[:dim], len(specs), *first[dim:])


@kernel(
    dtype=_cat_dtype, shape=_stack_shape, vjp=(lambda g, *, position, dim: select(g, dim=dim, index=position),),
    linear=True, batch=lambda *tensors, dim: stack(tensors, dim + 1), complex=True,
)  # fmt: skip
def stack(backend, out, tensors: Sequence[Tensor], dim: NewDim = 0):
    """Join tensors of the same shape along a new dim.  Gradient: each tensor gets its part of g."""
    return backend.prepare(Join(dim), out, *[Spec(x.layout.unsqueeze(dim), x.dtype) for x in tensors])


@composed(method=False, out=False)
def split(tensor: Tensor, split_size_or_sections: int | Sequence[int], dim: Along = 0) -> tuple[Tensor, ...]:
    """Return views of parts along `dim`.

    split_size_or_sections: the length of each part, where the last part may be shorter, or a sequence of the lengths of
    all parts.
    Raises ShapeError if the lengths of a sequence do not add up to the length of the dim.
    """
    x, d = tensor, normalize_dim(dim, tensor.ndim, "split", tensor)
    n = x.shape[d]
    if not isinstance(split_size_or_sections, (list, tuple)):
        size = as_int(split_size_or_sections, "the size", "split")
        if n or size:  # a dim of length 0 can also be split into parts of length 0
            Number(1, whole=True, example=1).expect("split", x, split_size_or_sections=size)
        sizes = [min(size, n - k) for k in range(0, n, max(size, 1))] or [0]
    else:
        sizes = [as_int(size, "a size", "split") for size in split_size_or_sections]
        if sum(sizes) != n or any(s < 0 for s in sizes):
            raise ShapeError(
                f"split: the sizes must add up to {n}, the length of dim {d} of {describe(x)}, got {sizes}; change the "
                "last size"
            )
    starts = [sum(sizes[:k]) for k in range(len(sizes))]
    return tuple(narrow(x, dim=d, start=s, length=length) for s, length in zip(starts, sizes, strict=True))


@composed(out=False)
def chunk(
    input: Tensor, chunks: Annotated[int, Number(1, whole=True, example=2)], dim: Along = 0
) -> tuple[Tensor, ...]:
    """Return views of at most `chunks` parts of equal length along `dim`; the last part may be shorter.

    For a dim of length 0, the result is `chunks` empty views.
    """
    x = input
    d = normalize_dim(dim, x.ndim, "chunk", x)
    return split(x, -(-x.shape[d] // chunks) or [0] * chunks, d)


@composed(out=False)
def repeat(input: Tensor, repeats: ViewShape) -> Tensor:
    """Repeat the tensor repeats[d] times along each dim d; additional counts in front add leading dims."""
    x, counts = input, as_shape((repeats,), "repeat")
    if len(counts) < x.ndim:
        raise ShapeError(
            f"repeat: expected at least one count per dim of {describe(x)}, got {len(counts)} counts; pass {x.ndim} "
            "counts, for example"
        )
    pairs = tuple(zip(counts, (1,) * (len(counts) - x.ndim) + x.shape, strict=True))
    sizes = tuple([n for pair in pairs for n in pair])
    dims = tuple(range(len(sizes)))
    return rearrange(x, sizes, dims, tuple([count * n for count, n in pairs]), dims[::2])


# ---- views of the parts of a tensor ----------------------------------------------------------------------------------


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
    tensor or an array is converted to an int or a list.
    Gradient: each part of g at the position of the part.
    """
    wanted: Any = sections.tolist() if hasattr(sections, "tolist") else sections
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
            "use tensor_split for parts of different lengths"
        )
    return tensor_split(x, sections, dim)


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
