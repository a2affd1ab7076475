"""Traversal of operands by loops: dims that are merged, flipped and sorted, with strides and offsets.

A plan is a pure function of layouts.  The backend of a processor converts it into loops and chunks, and chooses the
arguments of the kernel.  `Layout` does the arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence

from minigrad.core.layout import Layout, merge

Strides = tuple[int, ...]


def pieces(n: int, length: int) -> tuple[int, int]:
    """Cut n items into equal chunks of about `length` items.

    Return the chunk length and the number of chunks.
    """
    count = max(1, -(-n // max(1, length)))
    chunk = max(1, -(-n // count))
    return chunk, max(1, -(-n // chunk))


def sort_dims(dims: Strides, strides: Sequence[Strides]) -> tuple[Strides, list[Strides]]:
    """Sort the dims so that the first layout has its smallest stride innermost."""
    order = sorted(range(len(dims)), key=lambda d: -abs(strides[0][d]))
    return tuple(dims[d] for d in order), [tuple(s[d] for d in order) for s in strides]


def walk(layouts: Sequence[Layout]) -> tuple[Strides, list[Strides], list[int]]:
    """Return merged dims, strides and offsets for layouts of one shape, in the memory order of the first layout.

    The first layout is the output: it determines the order of the dims.  A dim in which the output has a negative
    stride is flipped in all layouts.
    """
    dims, strides = merge(layouts)
    offsets = [layout.offset for layout in layouts]
    flipped = [list(s) for s in strides]
    for d, size in enumerate(dims):
        if strides[0][d] < 0:
            for k, s in enumerate(strides):
                offsets[k] += s[d] * (size - 1)
                flipped[k][d] = -s[d]
    dims, sorted_strides = sort_dims(dims, [tuple(s) for s in flipped])
    if any(strides[0][d] < 0 for d in range(len(strides[0]))) or list(strides) != sorted_strides:
        shapes = [Layout.make(dims, s, o) for s, o in zip(sorted_strides, offsets, strict=True)]
        dims, merged = merge(shapes)
        sorted_strides = list(merged)
    return dims, sorted_strides, offsets


def without(layout: Layout, shape: tuple[int, ...], dim: int) -> Layout:
    """Return a layout with the sizes of another shape, without one dim."""
    strides = layout.strides
    return Layout.make((*shape[:dim], *shape[dim + 1 :]), (*strides[:dim], *strides[dim + 1 :]), layout.offset)


def still(layout: Layout, shape: tuple[int, ...], dim: int) -> Layout:
    """Return a layout with the sizes of another shape, and stride 0 along one dim."""
    return Layout.make(shape, tuple(0 if d == dim else s for d, s in enumerate(layout.strides)), layout.offset)
