"""Layouts: the position of element (i, j, k) in a storage.

A `Layout` is a shape, strides in elements and an offset; strides may be zero or negative. Every view of a tensor is
arithmetic on the layout and touches no memory. Equal layouts are one object, so that plans and kernels are found by
identity. `strides` has the same arithmetic for plain tuples.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any, TypeAlias

from minigrad.core.shape import (
    Size,
    as_int,
    as_shape,
    contiguous_strides,
    infer_hole,
    normalize_dim,
    normalize_dims,
)
from minigrad.core.strides import Ints, extent, is_run, may_overlap, merge_dims, reshaped_strides, stretched_strides
from minigrad.errors import ArgumentError, IndexOutOfRange, ShapeError

__all__ = ["Layout", "MultipleBlocks", "SingleBlock", "StridedBlocks", "UniformBlocks", "along", "merge"]


@dataclass(frozen=True)
class SingleBlock:
    """All elements form one contiguous run of memory."""

    start: int
    len: int


@dataclass(frozen=True)
class UniformBlocks:
    """`count` runs of `block_len` elements, whose starts are `src_stride` apart."""

    start: int
    block_len: int
    count: int
    src_stride: int


@dataclass(frozen=True)
class MultipleBlocks:
    """Runs of `block_len` elements; iteration yields the start of each run."""

    start: int
    block_len: int
    dims: Ints
    strides: Ints

    def __iter__(self) -> Iterator[int]:
        return _walk(self.start, self.dims, self.strides)


StridedBlocks: TypeAlias = SingleBlock | UniformBlocks | MultipleBlocks


class _Entry(weakref.ref["Layout"]):
    """A weak reference that stores its key in the table."""

    __slots__ = ("key",)
    key: tuple[Ints, Ints, int]


COUNT_LIMIT = 2**63 - 1  # the maximum number of elements of a shape, because kernels use int64 indices
_interned: dict[tuple[Ints, Ints, int], _Entry] = {}


def _forget(entry: weakref.ref[Layout]) -> None:
    key = entry.key  # type: ignore[attr-defined]
    try:
        # Another thread may have stored a new layout under this key. There is no call between the test and the
        # deletion, so no other thread runs between them.
        if _interned[key] is entry:
            del _interned[key]
    except (KeyError, TypeError):
        return


class Layout:
    """Store the shape, strides and offset of a view, in elements; a layout is immutable.

    Equal layouts are the same object.

    Attributes:
        shape, strides: the length of each dim, and the distance between neighbours along it.
        offset: the position of the first element in the storage.
        numel, ndim: number of elements and number of dims.
        is_contiguous: whether the elements are in row-major order without gaps, starting at any offset. The strides of
            dims of size 1 do not matter.

    >>> Layout.contiguous((2, 3, 4)).transpose(0, 1)
    Layout(shape=(3, 2, 4), strides=(4, 12, 1), offset=0)
    """

    __slots__ = ("__weakref__", "is_contiguous", "ndim", "numel", "offset", "shape", "strides")
    shape: Ints
    strides: Ints
    offset: int
    numel: int
    ndim: int
    is_contiguous: bool

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Layout cannot be changed, so {name} cannot be set; its methods return new layouts")

    @staticmethod
    def make(shape: Ints, strides: Ints, offset: int = 0) -> Layout:
        """Return the layout with these parts. `shape` and `strides` must be tuples of ints of one length."""
        key = (shape, strides, offset)
        entry = _interned.get(key)
        result = entry() if entry is not None else None
        return result if result is not None else _intern(key)

    def moved(self, offset: int) -> Layout:
        """Return the layout with another offset."""
        key = (self.shape, self.strides, offset)
        entry = _interned.get(key)
        result = entry() if entry is not None else None
        return result if result is not None else _file(key, self.numel, self.is_contiguous)

    @staticmethod
    def contiguous(shape: Ints, offset: int = 0) -> Layout:
        """Return the row-major layout of a shape."""
        return _contiguous(shape, offset)

    def __repr__(self) -> str:
        return f"Layout(shape={self.shape}, strides={self.strides}, offset={self.offset})"

    def __reduce__(self) -> tuple[object, tuple[Ints, Ints, int]]:
        return Layout.make, (self.shape, self.strides, self.offset)

    # ---- properties

    @property
    def is_broadcast(self) -> bool:
        """Return whether some dim repeats its elements with stride 0; False for an empty layout."""
        return self.numel > 0 and any(size > 1 and stride == 0 for size, stride in zip(self.shape, self.strides))

    def is_fortran_contiguous(self) -> bool:
        """Return whether the elements form one column-major run."""
        return is_run(self.shape[::-1], self.strides[::-1])

    def memory_order(self) -> Ints:
        """Return the dims from that with the largest stride to that with the smallest."""
        return tuple(sorted(range(self.ndim), key=lambda d: -self.strides[d]))

    def is_contiguous_range(self, first: int, last: int) -> bool:
        """Return whether the dims from `first` to `last`, both included, can be merged into one dim without a copy."""
        first = normalize_dim(first, self.ndim, "is_contiguous_range", self.shape)
        last = normalize_dim(last, self.ndim, "is_contiguous_range", self.shape)
        dims, _ = merge_dims(self.shape[first : last + 1], [self.strides[first : last + 1]])
        return len(dims) <= 1

    def may_overlap_itself(self) -> bool:
        """Return whether two indices may refer to one element. True can be wrong; False is always right."""
        return may_overlap(self.shape, self.strides)

    def span(self) -> tuple[int, int]:
        """Return the lowest element offset in use and one past the highest; both are `offset` for an empty layout."""
        return extent(self.shape, self.strides, self.offset)

    def fits(self, storage_numel: int) -> bool:
        """Return whether every element is inside a storage of that many elements."""
        lowest, end = self.span()
        return self.numel == 0 or (lowest >= 0 and end <= storage_numel)

    def offsets(self) -> Iterator[int]:
        """Iterate over the element offsets in row-major order of the index."""
        return _walk(self.offset, self.shape, self.strides)

    def strided_blocks(self) -> StridedBlocks:
        """Return the longest runs of memory that, in sequence, contain the elements in row-major order."""
        if self.numel == 0:
            return SingleBlock(self.offset, 0)
        dims, (steps,) = merge_dims(self.shape, [self.strides])
        block_len = 1
        if dims and steps[-1] == 1:
            block_len, dims, steps = dims[-1], dims[:-1], steps[:-1]
        if not dims:
            return SingleBlock(self.offset, block_len)
        if len(dims) == 1:
            return UniformBlocks(self.offset, block_len, dims[0], steps[0])
        return MultipleBlocks(self.offset, block_len, dims, steps)

    # ---- parts

    def narrow(self, dim: int, start: int, length: int) -> Layout:
        """Return `length` entries of `dim` from `start` on. For the full range the result is the layout itself."""
        dim = normalize_dim(dim, self.ndim, "narrow", self.shape)
        start, length = as_int(start, "start", "narrow"), as_int(length, "length", "narrow")
        size = self.shape[dim]
        first = start + size * (start < 0)
        if first < 0 or length < 0 or first + length > size:
            raise IndexOutOfRange(
                f"narrow: start >= -{size}, length >= 0 and start + length <= {size} must hold for dim {dim} of size "
                f"{size} in shape {self.shape}, got start={start} and length={length}; reduce start or length",
                dim=dim, start=start, length=length, shape=self.shape,
            )  # fmt: skip
        if length == size:
            return self
        return self._with(dim, length, self.strides[dim], self.offset + self.strides[dim] * first)

    def select(self, dim: int, index: int) -> Layout:
        """Return one entry of `dim`, and remove this dim; negative indices count from the end."""
        dim = normalize_dim(dim, self.ndim, "select", self.shape)
        index = as_int(index, "index", "select")
        size = self.shape[dim]
        if not -size <= index < size:
            valid = f"valid are {-size} to {size - 1}" if size else "it has no entries"
            raise IndexOutOfRange(
                f"select: index {index} is out of range for dim {dim} of size {size} in shape {self.shape}; {valid}",
                dim=dim, index=index, size=size, shape=self.shape,
            )  # fmt: skip
        offset = self.offset + self.strides[dim] * (index + size if index < 0 else index)
        return Layout.make(_without(self.shape, dim), _without(self.strides, dim), offset)

    def slice(self, dim: int, start: int | None = None, stop: int | None = None, step: int | None = None) -> Layout:
        """Return the entries of `dim` that Python's `[start:stop:step]` selects.

        Bounds outside the dim are clipped, and the step may be negative.
        """
        dim = normalize_dim(dim, self.ndim, "slice", self.shape)
        start, stop, step = (None if part is None else as_int(part, "a bound", "slice") for part in (start, stop, step))
        if step == 0:
            raise ArgumentError(
                f"slice: step must not be 0, got 0 for dim {dim} of {self.shape}; pass step=1, for example",
                dim=dim,
            )
        picked = range(*slice(start, stop, step).indices(self.shape[dim]))
        if len(picked) == self.shape[dim] and picked.step == 1:
            return self
        offset = self.offset + self.strides[dim] * picked.start if picked else self.offset
        return self._with(dim, len(picked), self.strides[dim] * picked.step, offset)

    def diagonal(self, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Layout:
        """Return the entries with equal indices in two dims (the second `offset` ahead), as a new last dim."""
        first = normalize_dim(dim1, self.ndim, "diagonal", self.shape)
        second = normalize_dim(dim2, self.ndim, "diagonal", self.shape)
        if first == second:
            raise ShapeError(
                f"diagonal: dim1 and dim2 must be different dims of shape {self.shape}, got {dim1} and {dim2}; pass "
                "dim1=0, dim2=1, for example", dim=first, shape=self.shape,
            )  # fmt: skip
        offset = as_int(offset, "offset", "diagonal")
        down, right = max(-offset, 0), max(offset, 0)
        length = max(min(self.shape[first] - down, self.shape[second] - right), 0)
        start = self.offset + (down * self.strides[first] + right * self.strides[second] if length else 0)
        low, high = sorted((first, second))
        shape = (*_without(_without(self.shape, high), low), length)
        step = self.strides[first] + self.strides[second]
        return Layout.make(shape, (*_without(_without(self.strides, high), low), step), start)

    def unfold(self, dim: int, size: int, step: int) -> Layout:
        """Return windows of `size` entries every `step` along `dim`; the index in the window is a new last dim.

        A scalar counts as one entry, so it has one window.
        """
        dim = normalize_dim(dim, self.ndim or 1, "unfold", self.shape)
        size, step = as_int(size, "size", "unfold"), as_int(step, "step", "unfold")
        entries = self.shape[dim] if self.ndim else 1
        if not 0 <= size <= entries or step < 1:
            raise ShapeError(
                f"unfold: size must be from 0 to {entries}, the size of dim {dim} in shape {self.shape}, and step at "
                f"least 1, got size={size} and step={step}; pass a smaller size or step=1",
                dim=dim, size=size, step=step, shape=self.shape,
            )  # fmt: skip
        if not self.ndim:
            return Layout.make((size,), (1,), self.offset)
        count = (entries - size) // step + 1
        windows = self._with(dim, count, self.strides[dim] * step, self.offset)
        return Layout.make((*windows.shape, size), (*windows.strides, self.strides[dim]), self.offset)

    def as_strided(self, shape: Sequence[int], strides: Sequence[int], offset: int | None = None) -> Layout:
        """Return a layout of any shape and strides, by default with this layout's offset.

        The bounds are not checked here; `fits` checks them.
        """
        sizes = as_shape(shape, "as_strided")
        steps = tuple(as_int(stride, "a stride", "as_strided") for stride in strides)
        if len(sizes) != len(steps):
            raise ShapeError(
                f"as_strided: size and stride must have the same length, got size {sizes} with {len(sizes)} dims and "
                f"stride {steps} with {len(steps)}; pass one stride per dim", shape=sizes, strides=steps,
            )  # fmt: skip
        start = self.offset if offset is None else as_int(offset, "offset", "as_strided")
        return Layout.make(sizes, steps, start)

    # ---- order

    def permute(self, dims: Sequence[int]) -> Layout:
        """Return the dims in a new order; each dim must occur once."""
        order = tuple(normalize_dim(dim, self.ndim, "permute", self.shape) for dim in dims)
        if sorted(order) != list(range(self.ndim)):
            raise ShapeError(
                f"permute: dims {tuple(dims)} must name each of the {self.ndim} dims of shape {self.shape} once; pass "
                f"an order such as {tuple(reversed(range(self.ndim)))}", dims=tuple(dims), shape=self.shape,
            )  # fmt: skip
        return Layout.make(tuple(self.shape[d] for d in order), tuple(self.strides[d] for d in order), self.offset)

    def transpose(self, d0: int, d1: int) -> Layout:
        """Swap two dims; a scalar counts as one dim."""
        first = normalize_dim(d0, self.ndim or 1, "transpose", self.shape)
        second = normalize_dim(d1, self.ndim or 1, "transpose", self.shape)
        if not self.ndim:
            return self
        order = list(range(self.ndim))
        order[first], order[second] = second, first
        return self.permute(order)

    def flip(self, dims: int | Iterable[int] | None = None) -> Layout:
        """Reverse the given dims, or all dims if `dims` is None."""
        flipped = _some_dims(dims, self, "flip")
        if self.numel == 0 or self.ndim == 0:
            return self
        strides = tuple(-stride if dim in flipped else stride for dim, stride in enumerate(self.strides))
        offset = self.offset + sum((self.shape[dim] - 1) * self.strides[dim] for dim in flipped)
        return Layout.make(self.shape, strides, offset)

    # ---- shape

    def squeeze(self, dim: int | Iterable[int] | None = None) -> Layout:
        """Remove all dims of size 1, or those among the given dims; a given dim of another size stays."""
        named = _some_dims(dim, self, "squeeze")
        kept = [d for d in range(self.ndim) if d not in named or self.shape[d] != 1]
        return Layout.make(tuple(self.shape[d] for d in kept), tuple(self.strides[d] for d in kept), self.offset)

    def unsqueeze(self, dim: int) -> Layout:
        """Insert a new dim of size 1 at index `dim` of the result."""
        dim = normalize_dim(dim, self.ndim + 1, "unsqueeze", self.shape)
        stride = self.shape[dim] * self.strides[dim] if dim < self.ndim else 1
        shape = (*self.shape[:dim], 1, *self.shape[dim:])
        return Layout.make(shape, (*self.strides[:dim], stride, *self.strides[dim:]), self.offset)

    def reshape(self, shape: Any) -> Layout | None:
        """Return the same elements in another shape, as a view; None if only a copy can have this shape.

        Raises ShapeError if the number of elements differs.
        """
        target = infer_hole(as_shape(shape, "reshape", hole=True), self.numel, "reshape", self.shape)
        return self._viewed(target)

    def view(self, shape: Any) -> Layout:
        """Return the layout of `reshape`; raise ShapeError if a copy would be needed."""
        target = infer_hole(as_shape(shape, "view", hole=True), self.numel, "view", self.shape)
        result = self._viewed(target)
        if result is None:
            raise ShapeError(
                f"view: shape {self.shape} with strides {self.strides} cannot be seen as {target} without a copy; use "
                "reshape(), which copies if necessary", shape=self.shape, strides=self.strides, target=target,
            )  # fmt: skip
        return result

    def flatten(self, start: int = 0, end: int = -1) -> Layout | None:
        """Merge the dims from `start` to `end`, both included; None if this needs a copy. A scalar gets one dim."""
        if self.ndim == 0:
            return self._viewed((1,))
        first = normalize_dim(start, self.ndim, "flatten", self.shape)
        last = normalize_dim(end, self.ndim, "flatten", self.shape)
        if first > last:
            raise ShapeError(
                f"flatten: start_dim must not come after end_dim, got {start} and {end} for shape {self.shape}; swap "
                "the two", start=start, end=end, shape=self.shape,
            )  # fmt: skip
        middle = prod(self.shape[first : last + 1])
        return self._viewed((*self.shape[:first], middle, *self.shape[last + 1 :]))

    def expand(self, shape: Any) -> Layout:
        """Repeat dims of size 1 and new leading dims; -1 leaves a size unchanged.

        A repeated dim has stride 0.
        """
        target = as_shape(shape, "expand", hole=True)
        new = len(target) - self.ndim
        if new >= 0 and -1 not in target[:new]:
            target = (*target[:new], *(s if t == -1 else t for s, t in zip(self.shape, target[new:])))
            strides = stretched_strides(self.shape, self.strides, target)
            if strides is not None:
                return Layout.make(target, strides, self.offset)
        raise ShapeError(
            f"expand: shape {self.shape} cannot be expanded to {target}: aligned from the right, each size must be "
            "equal or 1, and -1 keeps an existing size; pass sizes that match", shape=self.shape, target=target,
        )  # fmt: skip

    def _viewed(self, target: Ints) -> Layout | None:
        if target == self.shape:
            return self
        if self.is_contiguous:
            return _contiguous(target, self.offset)
        strides = reshaped_strides(self.shape, self.strides, target)
        return None if strides is None else Layout.make(target, strides, self.offset)

    def _with(self, dim: int, size: int, stride: int, offset: int) -> Layout:
        shape = (*self.shape[:dim], size, *self.shape[dim + 1 :])
        return Layout.make(shape, (*self.strides[:dim], stride, *self.strides[dim + 1 :]), offset)


def _intern(key: tuple[Ints, Ints, int]) -> Layout:
    shape, strides, offset = key
    count = prod(shape)
    if count > COUNT_LIMIT:
        raise ShapeError(
            f"the shape must have at most 2**63 - 1 elements, got {count} for {shape}; reduce a size", shape=shape
        )
    return _file((tuple.__new__(Size, shape), strides, offset), count, is_run(shape, strides))


def _file(key: tuple[Ints, Ints, int], count: int, is_contiguous: bool) -> Layout:
    """Return the only layout with these parts."""
    layout = object.__new__(Layout)
    for write, value in zip(_SLOTS, (*key, count, len(key[0]), is_contiguous)):
        write(layout, value)
    entry = _Entry(layout, _forget)
    entry.key = key
    while True:
        # Two threads may reach this line at the same time. setdefault is atomic, so both use the layout that was stored
        # first.
        filed = _interned.setdefault(key, entry)
        result = filed()
        if result is not None:
            return result
        _forget(filed)


# `Layout.__setattr__` refuses; these functions of the slots take half of the time of `object.__setattr__`.
_SLOTS = [Layout.__dict__[name].__set__ for name in ("shape", "strides", "offset", "numel", "ndim", "is_contiguous")]


@lru_cache(maxsize=4096)
def _contiguous(shape: Ints, offset: int) -> Layout:
    # The layout of every new result. The last few thousand stay alive, so that short-lived tensors do not create and
    # discard their layouts each time.
    return Layout.make(shape, contiguous_strides(shape), offset)


def _some_dims(dims: int | Iterable[int] | None, owner: Layout, op: str) -> Ints:
    """Return the given dims of a layout, or all dims for None; dim 0 of a scalar is accepted."""
    return normalize_dims(dims, owner.ndim or int(dims is not None), op, owner.shape)


def _without(values: Ints, dim: int) -> Ints:
    return values[:dim] + values[dim + 1 :]


def _walk(offset: int, dims: Ints, strides: Ints) -> Iterator[int]:
    if 0 in dims:  # without this test, the product of the other dims may exceed the limit
        return iter(())
    # product() changes the last index fastest, as row-major order does, and yields one empty tuple for a scalar.
    steps = [[i * stride for i in range(size)] for size, stride in zip(dims, strides)]
    return (offset + sum(step) for step in product(*steps))


def merge(layouts: Sequence[Layout]) -> tuple[Ints, tuple[Ints, ...]]:
    """Return the smallest number of dims that traverse all layouts in the same order, and their strides in each layout.

    All layouts must have the same shape. Dims of size 1 are removed. Two neighbouring dims are merged if in all layouts
    the outer stride is the inner stride times the inner size. A scalar has no dims; an empty shape becomes one dim of
    size 0.

    >>> a = Layout.contiguous((32, 630, 12, 32))
    >>> merge([a, Layout.contiguous((32, 1, 1, 32)).expand(a.shape)])
    ((32, 7560, 32), ((241920, 32, 1), (32, 0, 1)))
    """
    shape = layouts[0].shape
    for layout in layouts:
        if layout.shape is not shape and layout.shape != shape:
            other = layout.shape
            raise ShapeError(
                f"merge: all shapes must be equal, got {shape} and {other}; expand the layouts to one shape first",
                lhs=shape,
                rhs=other,
            )
    return merge_dims(shape, [layout.strides for layout in layouts])


def along(index: Layout, shape: Ints, dim: int) -> Layout:
    """View a 0-d or 1-d layout in a shape in which only dim `dim` advances.

    >>> along(Layout.contiguous((3,)), (2, 3, 4), 1)
    Layout(shape=(2, 3, 4), strides=(0, 1, 0), offset=0)
    """
    step = index.strides[0] if index.strides else 0
    return Layout.make(shape, tuple(step if d == dim else 0 for d in range(len(shape))), index.offset)
