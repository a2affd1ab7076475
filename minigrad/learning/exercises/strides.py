"""Exercises of notebook 05: tensors are strides."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from minigrad.learning.grading import Exercises, Wrong, expect_returned, as_results, as_bool, as_integer

EXERCISES = Exercises()

Ints = tuple[int, ...]


def ints(got: Any, what: str) -> Ints:
    """Return a tuple of integers; raise Wrong unless it is a tuple or a list."""
    expect_returned(got, what)
    if not isinstance(got, (tuple, list)):
        raise Wrong(f"{what} returns {got!r}, but a tuple was expected")
    return tuple(as_integer(item, f"an entry of {what}") for item in got)


def same(got: Any, want: Any, what: str, why: str = "") -> None:
    """Raise Wrong unless both objects are equal."""
    if got != want:
        raise Wrong(f"{what} is {got!r}, but {want!r} was expected" + (f": {why}" if why else ""))


def position(strides: Ints, offset: int, index: Ints) -> int:
    """Return offset + the sum of index * stride."""
    return offset + sum(i * s for i, s in zip(index, strides, strict=True))


@EXERCISES(
    "05.1", position, "The offset plus a sum of products: this is how an index finds its element.",
    "The offset is the position of element [0, 0, ...] in memory. How far from it is the element at index?",
    "One step along dim d moves by strides[d] elements, so index[d] steps are index[d] * strides[d].",
    "Return offset + sum(i * s for i, s in zip(index, strides)).",
)  # fmt: skip
def grade_position(answer: Any) -> None:
    """Test dense, transposed, negative and zero strides, and a layout without dims."""
    for strides, offset, index in (
        ((4, 1), 0, (2, 3)), ((1, 4), 5, (3, 1)), ((12, 4, 1), 2, (1, 2, 3)), ((4, -1), 3, (1, 2)), ((0, 1), 0, (7, 2)),
        ((), 6, ()),
    ):  # fmt: skip
        what = f"position({strides}, {offset}, {index})"
        same(as_integer(answer(strides, offset, index), what), position(strides, offset, index), what)


def flipped(shape: Ints, strides: Ints, offset: int, dim: int) -> tuple[Ints, int]:
    """Return the strides and the offset of a view that is reversed along a dim."""
    turned = tuple(-s if d == dim else s for d, s in enumerate(strides))
    return turned, offset + (shape[dim] - 1) * strides[dim]


@EXERCISES(
    "05.2", flipped, "A flip changes the sign of one stride, and the offset.",
    "Draw a row of four. At which element does a reversed row start, and how large is a step?",
    "Only the stride of `dim` changes: its sign flips. The offset moves by shape[dim] - 1 of the old steps.",
    "Return strides with -strides[dim] at dim, and offset + (shape[dim] - 1) * strides[dim].",
)  # fmt: skip
def grade_flipped(answer: Any) -> None:
    """Test dense, strided, shifted and flipped layouts."""
    for shape, strides, offset, dim in (
        ((3, 4), (4, 1), 0, 1), ((3, 4), (4, 1), 0, 0), ((4, 3), (1, 4), 0, 0), ((2, 3, 4), (12, 4, 1), 5, 1),
        ((3, 4), (4, -1), 3, 1), ((1, 5), (10, 2), 4, 0),
    ):  # fmt: skip
        what = f"flipped({shape}, {strides}, {offset}, {dim})"
        got = as_results(answer(shape, strides, offset, dim), 2, what, "a pair")
        want = flipped(shape, strides, offset, dim)
        same(ints(got[0], f"the strides of {what}"), want[0], f"the strides of {what}")
        same(as_integer(got[1], f"the offset of {what}"), want[1], f"the offset of {what}")


def broadcast_strides(shape: Ints, strides: Ints, target: Ints) -> Ints:
    """Return the strides of a broadcast view: 0 for a dim that is new or expanded."""
    new = len(target) - len(shape)
    kept = [0 if n == 1 and m != 1 else s for n, s, m in zip(shape, strides, target[new:], strict=True)]
    return (0,) * new + tuple(kept)


@EXERCISES(
    "05.3", broadcast_strides, "Broadcasting costs no memory: a stride of 0 for each dim that is new or expanded.",
    "How far should a step go along a dim whose entries are all the same element of memory?",
    "The first len(target) - len(shape) dims are new, with stride 0.",
    "After them, for each dim: 0 where the shape has 1 and the target does not, otherwise its stride.",
)  # fmt: skip
def grade_broadcast(answer: Any) -> None:
    """Test rows, columns, numbers, views and equal shapes."""
    for shape, strides, target in (
        ((4,), (1,), (3, 4)), ((3, 1), (1, 1), (3, 4)), ((), (), (2, 3)), ((3, 4), (1, 3), (5, 3, 4)),
        ((1, 4), (4, 1), (3, 4)), ((4,), (-2,), (2, 3, 4)), ((3, 4), (4, 1), (3, 4)), ((2, 1, 3), (3, 3, 1), (2, 5, 3)),
        ((3, 1, 1), (4, 2, 1), (3, 2, 6)),
    ):  # fmt: skip
        what = f"broadcast_strides({shape}, {strides}, {target})"
        got, want = ints(answer(shape, strides, target), what), broadcast_strides(shape, strides, target)
        if len(got) != len(want):
            raise Wrong(f"{what} is {got}, but {len(target)} strides were expected, one for each dim of the target")
        same(got, want, what, "a step along a dim that is new or expanded must not move in memory")


def flattens(shape: Ints, strides: Ints) -> bool:
    """Return whether all dims can be merged into one without a copy."""
    dims = [(n, s) for n, s in zip(shape, strides, strict=True) if n != 1]
    return all(left == n * right for (_, left), (n, right) in pairwise(dims))


@EXERCISES(
    "05.4", flattens, "This is how reshape finds out whether it must copy.",
    "First drop the dims of size 1. Then compare neighbours: when can two dims be merged?",
    "After the last entry of the right dim, the next step along the left dim must move by one step of the right dim.",
    "For all pairs of neighbours, strides[left] == shape[right] * strides[right]; with fewer than two dims, return "
    "True.",
)  # fmt: skip
def grade_flattens(answer: Any) -> None:
    """Test dense and transposed layouts, even and uneven gaps, sizes of 1, and negative and zero strides."""
    for shape, strides in (
        ((3, 4), (4, 1)), ((4, 3), (1, 4)), ((3, 2), (4, 2)), ((3, 2), (5, 2)), ((2, 3, 4), (12, 4, 1)),
        ((2, 4, 3), (12, 1, 4)), ((2, 3, 4), (24, 4, 1)), ((3, 1, 4), (4, 77, 1)), ((1, 5), (9, 3)), ((3, 4), (-4, -1)),
        ((3, 4), (4, -1)), ((3, 4), (0, 0)), ((3, 4), (0, 1)), ((7,), (3,)), ((), ()), ((2, 2, 3), (4, 3, 1)),
    ):  # fmt: skip
        what = f"flattens({shape}, {strides})"
        same(as_bool(answer(shape, strides), what), flattens(shape, strides), what)


def sliding(n: int, size: int, step: int) -> tuple[Ints, Ints]:
    """Return the shape and strides of windows: a row starts `step` elements later."""
    return ((n - size) // step + 1, size), (step, 1)


@EXERCISES(
    "05.5", sliding,
    "Windows overlap in memory, so that a convolution can read them without a copy. Writing is refused.",
    "The view has two dims: the index of the window, and the index in the window. How far is one step along each dim?",
    "A step to the next window moves by `step` elements, and a step within a window by 1. The last window starts at n "
    "- size at most.",
    "The shape is ((n - size) // step + 1, size), the strides are (step, 1).",
)  # fmt: skip
def grade_sliding(answer: Any) -> None:
    """Test windows with and without overlap, and lengths with a remainder."""
    for n, size, step in ((6, 3, 1), (10, 4, 2), (11, 4, 2), (12, 4, 4), (7, 7, 3), (20, 3, 5)):
        what = f"sliding({n}, {size}, {step})"
        got, want = as_results(answer(n, size, step), 2, what, "a pair"), sliding(n, size, step)
        same(ints(got[0], f"the shape of {what}"), want[0], f"the shape of {what}")
        same(ints(got[1], f"the strides of {what}"), want[1], f"the strides of {what}")
