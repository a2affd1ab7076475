"""What do these numbers mean in memory?

Pure functions on sizes and strides, without a `Layout` around them: is it one run, can it be viewed in another shape,
which dims are really one, do two indices share an element. `layout` is made of them, and kernels' plans use `merge`.
Strides are in elements and may be zero or negative.
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
    """Return the lowest element offset in use, and one past the highest."""
    if 0 in shape:
        return offset, offset
    steps = [(size - 1) * stride for size, stride in zip(shape, strides)]
    return offset + sum(step for step in steps if step < 0), offset + sum(step for step in steps if step > 0) + 1


def may_overlap(shape: Ints, strides: Ints) -> bool:
    """Return whether two indices may share an element. False is certain, True is not: (2, 2) with strides (2, 2) and
    (3, 2) with strides (2, 3) both return True, and only the first overlaps.
    """
    if 0 in shape:
        return False
    reach = 0
    for stride, size in sorted((abs(stride), size) for size, stride in zip(shape, strides) if size > 1):
        # If the step of a dim is longer than the range of all finer dims, it never reaches their elements again.
        if stride <= reach:
            return True
        reach += (size - 1) * stride
    return False


def merge_dims(shape: Ints, strides: Sequence[Ints]) -> tuple[Ints, tuple[Ints, ...]]:
    """Drop dims of size 1 from sizes and strides, and join neighbours that every operand traverses as one dim."""
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
    """Strides that show the same elements in `target`, or None where no strides do. Both have the same count, not 0."""
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
    # The remaining dims have size 1 and take the stride that a row-major neighbour would give them.
    for dim in range(len(target) - 1, -1, -1):
        if target[dim] == 1:
            result[dim] = result[dim + 1] * target[dim + 1] if dim + 1 < len(target) else 1
    return tuple(result)


def stretched_strides(shape: Ints, strides: Ints, target: Ints) -> Ints | None:
    """Return strides that repeat `shape` up to `target` with stride 0, or None if a size other than 1 must change."""
    new = len(target) - len(shape)
    if new < 0 or any(size != wanted and size != 1 for size, wanted in zip(shape, target[new:])):
        return None
    kept = (stride if size == wanted else 0 for size, wanted, stride in zip(shape, target[new:], strides))
    return (0,) * new + tuple(kept)
