"""PyTorch's memory formats: row-major, or with the channels (dim 1) innermost in memory.

The results of elementwise ops, casts and copies have the format of their first operand of the same shape, and so have
those of the functions of images, which declare `channels_last`; `cat` requires that of all tensors.  All other results
are row-major.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from minigrad.core.layout import Layout
from minigrad.errors import ArgumentError, ShapeError


class MemoryFormat:
    """The order of the elements in memory.

    name: the name of the format in PyTorch.
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"mg.{self.name}"


contiguous_format, preserve_format = MemoryFormat("contiguous_format"), MemoryFormat("preserve_format")
channels_last, channels_last_3d = MemoryFormat("channels_last"), MemoryFormat("channels_last_3d")
strided = MemoryFormat("strided")  # PyTorch's layout of all tensors that are not sparse
CHANNELS_LAST = {channels_last: 4, channels_last_3d: 5}  # the number of dims that each format requires
ROW_MAJOR = (None, contiguous_format, preserve_format)


def layout_in(op: str, shape: tuple[int, ...], value: object) -> Layout:
    """Return the layout of a new tensor in a memory format; raise ShapeError if the format requires other dims."""
    rank = CHANNELS_LAST.get(value)  # type: ignore[call-overload]
    if rank is None:
        if value not in ROW_MAJOR:
            raise ArgumentError(
                f"{op}: expected memory_format=mg.contiguous_format, mg.preserve_format or mg.channels_last, got "
                f"{value!r}; pass one of them"
            )
        return Layout.contiguous(shape)
    if len(shape) != rank:
        raise ShapeError(
            f"{op}: memory_format={value} expects a tensor of {rank} dims, got shape {shape}; pass "
            "mg.contiguous_format, or insert dims with unsqueeze"
        )
    return Layout.contiguous((shape[0], *shape[2:], shape[1])).permute((0, rank - 1, *range(1, rank - 1)))


def format_of(layout: Layout, strict: bool = False) -> MemoryFormat | None:
    """Return the channels-last format if the strides of a layout have its order, also with gaps; otherwise None.

    strict: whether the strides of dims of length 1 count.  They count for the functions of images, as in PyTorch:
    `pixels.permute(2, 0, 1)[None]` is not channels last, so the results are row-major, and `view` works on them.
    """
    rank = layout.ndim
    if layout.is_contiguous or rank not in CHANNELS_LAST.values():
        return None
    steps = [(layout.strides[d], layout.shape[d]) for d in (0, *range(2, rank), 1) if strict or layout.shape[d] != 1]
    ordered = all(outer >= inner * size > 0 for (outer, _), (inner, size) in pairwise(steps))
    return (channels_last if rank == 4 else channels_last_3d) if ordered else None


def layout_like(layout: Layout) -> Layout:
    """Return the layout of a new tensor in the format of another; if channels last, dims of length 1 keep strides."""
    made = layout_in("", layout.shape, format_of(layout))
    if made.is_contiguous:
        return made
    sizes = zip(layout.shape, layout.strides, made.strides, strict=True)
    return Layout.make(layout.shape, tuple([old if n == 1 else new for n, old, new in sizes]), 0)


def layout_of_result(shape: tuple[int, ...], operands: Iterable[Any]) -> Layout:
    """Return the layout of a new result: in the format of the first operand that has its shape, as in PyTorch."""
    for x in operands if len(shape) in CHANNELS_LAST.values() else ():
        if x.layout.shape == shape:
            return layout_like(x.layout)
    return Layout.contiguous(shape)
