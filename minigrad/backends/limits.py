"""Index checks: the lowest and highest position in an index tensor, and the error for a position that does not exist.

A kernel checks each position as it uses it; the message is made afterwards, from a second read of the index.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import NDArray

from minigrad.core.device import CPU
from minigrad.core.dtype import int64
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.core.requests import Bounds
from minigrad.core.storage import Storage
from minigrad.errors import IndexOutOfRange


class IndexLimits:
    """The index that the errors of a launch refer to: its slot and Spec, and the tensor x and dim that it indexes.

    label: the name of the op.
    backend: the backend of the index's memory.
    """

    __slots__ = ("backend", "dim", "index", "label", "slot", "slots", "x")

    def __init__(self, backend: Any, label: str, slot: int, index: Spec, x: Spec, dim: int) -> None:
        self.backend, self.label, self.slot, self.slots = backend, label, slot, (slot,)
        self.index, self.x, self.dim = index, x, dim

    def error(self, buffers: tuple[Any, ...]) -> IndexOutOfRange:
        """Return the error for a check that failed in a call on these buffers."""
        return out_of_range(self.label, self.farthest(buffers), self.x, self.dim)

    def farthest(self, buffers: tuple[Any, ...]) -> int:
        """Return the lowest position if it is too low, otherwise the highest."""
        low, high = bounds_of(self.backend, self.index)(buffers[self.slot])
        return low if low < -self.x.shape[self.dim] else high

    def is_wrong(self, buffers: tuple[Any, ...]) -> bool:
        """Return whether a position is outside the dim."""
        size = self.x.shape[self.dim]
        return not -size <= self.farthest(buffers) < size


class FirstLimits:
    """Several indices of one launch; an error refers to the first of them that has a position outside its dim."""

    __slots__ = ("each", "slots")

    def __init__(self, each: Sequence[IndexLimits]) -> None:
        self.each = tuple(each)
        self.slots = tuple([limits.slot for limits in each])

    def error(self, buffers: tuple[Any, ...]) -> IndexOutOfRange:
        """Return the error for a check that failed in a call on these buffers."""
        wrong = [each for each in self.each if each.is_wrong(buffers)]
        return (wrong or self.each)[0].error(buffers)


class ClassLimits:
    """The class indices that the errors of a launch refer to.

    slot, target: their slot and Spec.
    classes: the number of classes.
    ignore: the index that stands for no class, or None.
    """

    __slots__ = ("backend", "classes", "ignore", "label", "slot", "slots", "target")

    def __init__(self, backend: Any, label: str, slot: int, target: Spec, classes: int, ignore: int | None) -> None:
        self.backend, self.label, self.slot, self.slots = backend, label, slot, (slot,)
        self.target, self.classes, self.ignore = target, classes, ignore

    def error(self, buffers: tuple[Any, ...]) -> IndexOutOfRange:
        """Return the error for a check that failed in a call on these buffers."""
        storage = Storage(buffers[self.slot], self.target.dtype, CPU)
        wrong = wrong_classes(self.backend.array(storage, self.target.layout), self.classes, self.ignore)
        return no_class(self.label, wrong, self.target, self.classes, self.ignore)


def wrong_classes(values: NDArray[Any], classes: int, ignore: int | None) -> list[int]:
    """Return the class indices that are outside 0 to `classes` - 1, without the index that is ignored."""
    wrong = values[(values < 0) | (values >= classes)]
    return (wrong if ignore is None else wrong[wrong != ignore]).tolist()


def no_class(label: str, wrong: list[int], target: Spec, classes: int, ignore: int | None) -> IndexOutOfRange:
    """Return the error for class indices without a class.

    If `wrong` is empty, another thread has corrected the indices in the meantime.
    """
    what = f"class {wrong[0]} of {target!r} is" if wrong else f"a class of {target!r}, changed by another thread, was"
    ignored = "" if ignore is None else f", and {ignore} is ignored"
    return IndexOutOfRange(f"{label}: {what} out of range; classes are 0 to {classes - 1}{ignored}", op=label)


def bounds_of(backend: Any, index: Spec) -> Callable[[Any], tuple[int, int]]:
    """Return a function that finds the lowest and highest element in an index tensor's buffer."""
    look = backend.prepare(Bounds(), Spec(Layout.contiguous((2,)), int64), index)

    def bounds(buffer: Any) -> tuple[int, int]:
        extrema = backend.allocate(2, int64, CPU)
        look(buffer, extrema.buffer)
        low, high = backend.to_host(extrema)[:2].tolist()
        return low, high

    return bounds


def out_of_range(label: str, wrong: int, x: Spec, dim: int) -> IndexOutOfRange:
    """Return the error for a position that does not exist, or that another thread has corrected in the meantime."""
    size = x.shape[dim]
    what = f"index {wrong} is" if not -size <= wrong < size else "an index, changed by another thread meanwhile, was"
    there = f"positions are {-size} to {size - 1}" if size else "it has no position"
    return IndexOutOfRange(
        f"{label}: {what} out of range for dim {dim} of size {size} of {x!r}; {there}",
        op=label, index=wrong, dim=dim, size=size,
    )  # fmt: skip
