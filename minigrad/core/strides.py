"""Arithmetic on sizes and strides: the meaning of these numbers in memory.

These are pure functions without a `Layout` around the numbers. They answer four questions: do the elements form one
run, can they be viewed in another shape, which dims can be merged, and do two indices share an element. `layout` is
built from them, and the plans of kernels use `merge`. Strides are in elements and may be zero or negative.
"""

from __future__ import annotations

from collections.abc import Sequence

Ints = tuple[int, ...]


def is_run(shape: Ints, strides: Ints) -> bool:
    """Return whether the elements, in row-major order, follow each other without gaps. Dims of size 1 do not matter."""
    expected = 1
    for size, stride in zip(reversed(shape), reversed(strides)):
        if size != 1:
            if stride != expected and 0 not in shape:
                return False
            expected *= size
    return True


def extent(shape: Ints, strides: Ints, offset: int) -> tuple[int, int]:
    """Return the lowest element offset in use, and one past the highest.

    Both are `offset` if there are no elements.
    """
    if 0 in shape:
        return offset, offset
    steps = [(size - 1) * stride for size, stride in zip(shape, strides)]
    return offset + sum(step for step in steps if step < 0), offset + sum(step for step in steps if step > 0) + 1


def may_overlap(shape: Ints, strides: Ints) -> bool:
    """Return whether two different indices may refer to the same element. False is always right; True may be wrong.

    Sizes (2, 2) with strides (2, 2) and sizes (3, 2) with strides (2, 3) both return True, but only the first overlaps.
    """
    if 0 in shape:
        return False
    reach = 0
    for stride, size in sorted((abs(stride), size) for size, stride in zip(shape, strides) if size > 1):
        # If the stride of a dim is longer than the range of all finer dims, the dim never reaches their elements again.
        if stride <= reach:
            return True
        reach += (size - 1) * stride
    return False


def merge_dims(shape: Ints, strides: Sequence[Ints]) -> tuple[Ints, tuple[Ints, ...]]:
    """Remove dims of size 1, and merge neighbouring dims that every operand traverses as one dim."""
    if 0 in shape:
        return (0,), tuple((0,) for _ in strides)
    dims: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    for dim, size in enumerate(shape):
        if size == 1:
            continue
        if dims and all(step[-1] == stride[dim] * size for step, stride in zip(steps, strides)):
            dims[-1] *= size
            for step, stride in zip(steps, strides):
                step[-1] = stride[dim]
        else:
            dims.append(size)
            for step, stride in zip(steps, strides):
                step.append(stride[dim])
    return tuple(dims), tuple(map(tuple, steps))


def reshaped_strides(shape: Ints, strides: Ints, target: Ints) -> Ints | None:
    """Return strides that show the same elements in `target`, or None if no strides do.

    Both shapes have the same number of elements, which is not 0.
    """
    dims, (steps,) = merge_dims(shape, [strides])
    # Each merged dim is one evenly spaced run; the target may cut a run into pieces but not join two runs.
    result = [0] * len(target)
    position = len(target) - 1
    for size, step in zip(reversed(dims), reversed(steps)):
        left = size
        while left > 1:
            piece = target[position]
            if left % piece:
                return None
            result[position] = step
            step *= piece
            left //= piece
            position -= 1
    # The remaining dims have size 1. They get the strides of a row-major layout.
    for dim in range(len(target) - 1, -1, -1):
        if target[dim] == 1:
            result[dim] = result[dim + 1] * target[dim + 1] if dim + 1 < len(target) else 1
    return tuple(result)


def stretched_strides(shape: Ints, strides: Ints, target: Ints) -> Ints | None:
    """Return strides that repeat `shape` up to `target` with stride 0, or None if a size other than 1 must change."""
    new = len(target) - len(shape)
    if new < 0 or any(size != wanted and size != 1 for size, wanted in zip(shape, target[new:])):
        return None
    kept = [stride if size == wanted else 0 for size, wanted, stride in zip(shape, target[new:], strides)]
    for d in reversed(range(new)):  # a new dim of size 1 has the stride that `unsqueeze` would give it
        kept.insert(0, target[d + 1] * kept[0] if kept and target[d] == 1 else 0)
    return tuple(kept)
