"""Masks: how many elements hold, and where they stand.

A unit is a stretch of row-major positions.  Units are counted first, so each knows where its positions belong, and
units may run at once.  Positions go through a small buffer without a branch: whether an element holds moves the next
one on.  Free names, filled in by `specialize`: `RANGE`.
"""

# ruff: noqa: F821
import numpy as np


def count(in_0, out, numbers):  # type: ignore[no-untyped-def]
    """The count of each unit; numbers = n, length of a unit, units, cols, rank, shape[rank] of the rows, offset, step,
    strides[rank]."""
    rank = numbers[4]
    step = numbers[6 + rank]
    for u in RANGE(numbers[2]):
        first = u * numbers[1]
        stop = min(numbers[0], first + numbers[1])
        total = 0
        while first < stop:
            rest = first // numbers[3]
            col = first - rest * numbers[3]
            size = min(numbers[3] - col, stop - first)
            at = numbers[5 + rank] + col * step
            for d in range(rank - 1, -1, -1):
                at += rest % numbers[5 + d] * numbers[7 + rank + d]
                rest //= numbers[5 + d]
            if step == 1:
                x = in_0[at : at + size]
                for j in range(size):
                    total += x[j]
            else:
                for j in range(size):
                    total += in_0[at + j * step]
            first += size
        out[u] = total


def places(in_0, in_1, out, numbers):  # type: ignore[no-untyped-def]
    """The positions of the elements that hold; numbers as in `count`, in_1 says where each unit's begin."""
    rank = numbers[4]
    step = numbers[6 + rank]
    for u in RANGE(numbers[2]):
        found = np.empty(numbers[1] + 1, np.int64)
        first = u * numbers[1]
        stop = min(numbers[0], first + numbers[1])
        held = 0
        while first < stop:
            rest = first // numbers[3]
            col = first - rest * numbers[3]
            size = min(numbers[3] - col, stop - first)
            at = numbers[5 + rank] + col * step
            for d in range(rank - 1, -1, -1):
                at += rest % numbers[5 + d] * numbers[7 + rank + d]
                rest //= numbers[5 + d]
            for j in range(size):
                found[held] = first + j
                held += np.int64(in_0[at + j * step])
            first += size
        z = out[in_1[u] : in_1[u] + held]
        # The slice ends where out does: another thread may have made more of the mask hold since it was counted.
        for j in range(len(z)):
            z[j] = found[j]
