"""Loops that write numbers out of nothing: evenly spaced ones, and random ones.

Free names, filled in by `specialize`: `STORE`, `RANGE`, the compute dtype `T`, and for `random` the function `VALUES`
that turns a block of words into `PER` numbers (see `kernels/philox.py`, whose text is pasted above the loop).
Constant fills need no loop of their own: they are elementwise copies of one number.
"""

# ruff: noqa: F821
import numpy as np


def arange(out, start, step, numbers):  # type: ignore[no-untyped-def]
    """out[i] = start + i * step, computed afresh for each i so that errors do not add up.

    numbers = n, offset, stride, chunk, chunks.
    """
    offset = numbers[1]
    stride = numbers[2]
    for c in RANGE(numbers[4]):
        lo = c * numbers[3]
        for i in range(lo, min(lo + numbers[3], numbers[0])):
            out[offset + i * stride] = STORE(start + T(i) * step)


def random(out, key, counter, limits, numbers):  # type: ignore[no-untyped-def]
    """numbers = n, offset, blocks, chunk, chunks; chunks are cut between blocks of words."""
    n = numbers[0]
    zero = np.uint64(0)
    for c in RANGE(numbers[4]):
        lo = c * numbers[3]
        for block in range(lo, min(lo + numbers[3], numbers[2])):
            place = counter + np.uint64(block)
            w0, w1, w2, w3 = philox(key, place & np.uint64(0xFFFFFFFF), place >> np.uint64(32), zero, zero)
            values = VALUES(w0, w1, w2, w3, limits[0], limits[1], limits[2])
            first = block * PER
            count = min(PER, n - first)
            z = out[numbers[1] + first : numbers[1] + first + count]
            for j in range(count):
                z[j] = STORE(values[j])
