"""Masks: how many elements hold, and where they stand.

A unit is a stretch of row-major positions.  Units are counted first, so each knows where its positions belong, and
units may run at once.  Positions go through a small buffer without a branch: whether an element holds moves the next
one on.
"""

# ruff: noqa: F821
import numpy as np


def count(in_0, out, numbers):  # type: ignore[no-untyped-def]
    """How many hold before each unit, and at the end how many there are; numbers = n, length of a unit, units, cols,
    rank, shape[rank] of the rows, offset, step, strides[rank]."""
    rank = numbers[4]
    step = numbers[6 + rank]
    for u in range(first, last):
        start = u * numbers[1]
        stop = min(numbers[0], start + numbers[1])
        total = 0
        while start < stop:
            rest = start // numbers[3]
            col = start - rest * numbers[3]
            size = min(numbers[3] - col, stop - start)
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
            start += size
        out[u + 1] = total
    if first == last:
        total = 0
        for u in range(numbers[2] + 1):
            total += out[u] if u > 0 else 0
            out[u] = total


def places(in_0, in_1, out, numbers):  # type: ignore[no-untyped-def]
    """The positions of the elements that hold; numbers as in `count`, and at the end the length of
    out; in_1 says where each unit's begin."""
    rank = numbers[4]
    step = numbers[6 + rank]
    found = room(numbers[1] + 1, np.int64)
    for u in range(first, last):
        start = u * numbers[1]
        stop = min(numbers[0], start + numbers[1])
        held = 0
        while start < stop:
            rest = start // numbers[3]
            col = start - rest * numbers[3]
            size = min(numbers[3] - col, stop - start)
            at = numbers[5 + rank] + col * step
            for d in range(rank - 1, -1, -1):
                at += rest % numbers[5 + d] * numbers[7 + rank + d]
                rest //= numbers[5 + d]
            for j in range(size):
                found[held] = start + j
                held += np.int64(in_0[at + j * step])
            start += size
        # No further than out goes: another thread may have made more of the mask hold since it was counted.
        held = min(held, numbers[7 + 2 * rank] - in_1[u])
        z = out[in_1[u] : in_1[u] + held]
        for j in range(held):
            z[j] = found[j]
    leave(found)
