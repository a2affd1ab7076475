"""Loops that write numbers out of nothing: evenly spaced ones, and random ones.

Free names, filled in by `specialize`: `STORE`, the compute dtype `T`, and for `random` the function `VALUES`
that turns a block of words into `PER` numbers (see `kernels/philox.py`, whose text is pasted above the loop).
Constant fills need no loop of their own: they are elementwise copies of one number.
"""

# ruff: noqa: F821
import numpy as np


def arange(start, step, out, numbers):  # type: ignore[no-untyped-def]
    """out[i] = start + i * step, computed afresh for each i so that errors do not add up.

    numbers = n, offset, stride, chunk, offsets of start and step.
    """
    offset = numbers[1]
    stride = numbers[2]
    begin = start[numbers[4]]
    by = step[numbers[5]]
    for c in range(first, last):
        lo = c * numbers[3]
        for i in range(lo, min(lo + numbers[3], numbers[0])):
            out[offset + i * stride] = STORE(begin + T(i) * by)


def random(state, limits, out, numbers):  # type: ignore[no-untyped-def]
    """numbers = n, offset, blocks, chunk, offsets of state and limits; chunks are cut between blocks of words."""
    n = numbers[0]
    key = np.uint64(state[numbers[4]])
    counter = np.uint64(state[numbers[4] + 1])
    low = LIMIT(limits[numbers[5]])
    span = LIMIT(limits[numbers[5] + 1])
    highest = LIMIT(limits[numbers[5] + 2])
    zero = np.uint64(0)
    for c in range(first, last):
        lo = c * numbers[3]
        for block in range(lo, min(lo + numbers[3], numbers[2])):
            place = counter + np.uint64(block)
            w0, w1, w2, w3 = philox(key, place & np.uint64(0xFFFFFFFF), place >> np.uint64(32), zero, zero)
            values = VALUES(w0, w1, w2, w3, low, span, highest)
            start = block * PER
            count = min(PER, n - start)
            z = out[numbers[1] + start : numbers[1] + start + count]
            for j in range(count):
                z[j] = STORE(values[j])
