"""The arrays of a program as text: their names, their shapes, and the subscripts that launches read and write.

A slot of a program is a piece of memory.  In the text it is an array with the shape of the tensor that owns it, and the
view of a launch is a subscript of this array: `w[j, i]` for a transposed view, `b[j]` for a broadcast view.  Other
views, such as a reshaped one, are separate arrays on the same memory.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Sequence
from math import prod
from typing import NamedTuple

from minigrad.core.layout import Layout
from minigrad.jitting.program import Memory

LETTERS = [*"ijklmnpq", *[f"i{k}" for k in range(64)]]  # names for the indices of loops
RESERVED = {*keyword.kwlist, "np", "math", "launch", "host", "view", "run", "total", "count", "range", "bool", "abs"}


class Array(NamedTuple):
    """An array of the text: its name, its shape, and the strides of the memory that it represents."""

    name: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def is_contiguous(self) -> bool:
        return Layout.make(self.shape, self.strides).is_contiguous


def identifier(way: str) -> str:
    """Return the path to a tensor, for example "model.layers[0].weight", as a name."""
    name = re.sub(r"\W+", "_", re.sub(r"\._(modules|parameters|buffers)\b", "", way)).strip("_")
    return f"_{name}" if not name or name[0].isdecimal() else name


def covering(layouts: Iterable[Layout], memory: Memory) -> Layout | None:
    """Return the first layout that shows each element of a memory once, in order."""
    return next((x for x in layouts if x.is_contiguous and not x.offset and x.numel == memory.numel), None)


def without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape without its dims of size 1; a single element becomes a vector of one element."""
    return tuple([n for n in shape if n != 1]) or (1,)


class Arrays:
    """Name the arrays of the text that `Jitted.source` returns.

    arrays: the array of each slot.
    views: for each view that cannot be written as a subscript of an array, its name and the line that makes it.
    flat: the slots that are shown as vectors, since no array of the shape of a tensor contains all of their memory.
    """

    def __init__(self) -> None:
        self.arrays: dict[int, Array] = {}
        self.views: dict[tuple[int, Layout], tuple[str, str]] = {}
        self.flat: set[int] = set()
        self.taken: set[str] = {*RESERVED, *LETTERS}

    def name(self, wish: str) -> str:
        """Return a name that is not used yet."""
        name, k = wish, 1
        while name in self.taken or re.fullmatch(r"v\d+", name):
            k += 1
            name = f"{wish}_{k}"
        self.taken.add(name)
        return name

    def add(self, slot: int, wish: str, layout: Layout | None, memory: Memory) -> Array:
        """Name the array of a slot. layout: None for memory that is shown as one row."""
        if layout is None:
            self.flat.add(slot)
        shape, strides = (layout.shape, layout.strides) if layout is not None else ((memory.numel,), (1,))
        self.arrays[slot] = array = Array(self.name(wish), shape, strides)
        return array

    def at(self, slot: int, layout: Layout, index: Sequence[str]) -> str:
        """Return the element of a view at some indices, one index per dim."""
        array = self.arrays[slot]
        factors = fitted(array, layout)
        if factors is None:
            inner = [k for k, (n, s) in enumerate(zip(layout.shape, layout.strides)) if n != 1 and s]
            name = self.view(slot, layout, inner)
            return f"{name}[{', '.join([index[k] for k in inner]) or '()'}]"
        parts = []
        for length, (offset, factor, dim) in zip(array.shape, factors, strict=True):
            whole = dim is not None and factor == 1 and not offset and layout.shape[dim] == length
            parts.append(indexed(offset, factor, None if dim is None else index[dim], whole))
        return f"{array.name}[{', '.join(parts) or '()'}]"

    def view(self, slot: int, layout: Layout, inner: Sequence[int]) -> str:
        """Return the name of a view that no subscript of its array describes."""
        shape, strides = tuple([layout.shape[k] for k in inner]), tuple([layout.strides[k] for k in inner])
        key = slot, Layout.make(shape, strides, layout.offset)
        if key not in self.views:
            array = self.arrays[slot]
            name = self.name(f"{identifier(array.name)}_view")
            offset = f", {layout.offset}" if layout.offset else ""
            self.views[key] = name, f"{name} = view({array.name}, {shape}, {strides}{offset})"
        return self.views[key][0]


def indexed(offset: int, factor: int, index: str | None, whole: bool) -> str:
    """Return the index of one dim.

    whole: the index covers the dim completely, so a negative index counts from its end.
    """
    if index is None:
        return str(offset)
    if not index.isidentifier() and not whole:
        index = f"({index})"
    if factor == -1:
        return f"{offset} - {index}"
    text = index if factor == 1 else f"{factor} * {index}"
    return f"{text} + {offset}" if offset else text


def fitted(array: Array, layout: Layout) -> list[tuple[int, int, int | None]] | None:
    """Return the subscript of an array that describes a view; None if no subscript describes it.

    The result has, for each dim of the array, the first index, the step, and the dim of the view that moves the index.
    """
    if not prod(layout.shape):
        return [(0, 1, None)] * len(array.shape)
    dims = sorted([d for d, n in enumerate(array.shape) if n > 1], key=lambda d: -array.strides[d])
    first, steps = dict.fromkeys(range(len(array.shape)), 0), dict[int, tuple[int, int]]()
    rest = layout.offset
    for d in dims:
        first[d] = min(rest // array.strides[d], array.shape[d] - 1)
        rest -= first[d] * array.strides[d]
    if rest:
        return None
    for k, (n, s) in enumerate(zip(layout.shape, layout.strides)):
        if n == 1 or not s:
            continue
        for d in dims:
            factor, left = divmod(s, array.strides[d])
            if not left and d not in steps and 0 <= first[d] + factor * max(0, n - 1) < array.shape[d]:
                steps[d] = factor, k
                break
        else:
            return None
    return [(first[d], *steps.get(d, (1, None))) for d in range(len(array.shape))]
