"""Loops that write evenly spaced numbers and random numbers, equal to the numbers of the CPU's loops.

Free names: `STORE` is the conversion, and `T` the compute dtype.  For `random`, the function `VALUES` converts a block
of words to `PER` numbers (`kernels/philox.py`, whose text is pasted above the loop), and `FOUR` states whether there
are four.
"""

# ruff: noqa: F821
import numpy as np

from minigrad.kernels.fields import Fields

ARANGE = Fields("n offset stride start step")


def arange(start, step, out, N):
    """out[i] = start + i * step.

    Each element is computed from i, not from the previous element, so that rounding errors do not add up.
    """
    begin = start[N.start]
    by = step[N.step]
    i = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while i < N.n:
        out[N.offset + i * N.stride] = STORE(begin + T(i) * by)
        i += np.int64(cuda.gridDim.x) * cuda.blockDim.x


RANDOM = Fields("n blocks offset state limits")


def random(state, limits, out, N):
    """Write random numbers: a thread computes a block of words, and the two or four numbers from it.

    state: a key and a counter.
    """
    n = N.n
    key = np.uint64(state[N.state])
    counter = np.uint64(state[N.state + 1])
    low = LIMIT(limits[N.limits])
    span = LIMIT(limits[N.limits + 1])
    highest = LIMIT(limits[N.limits + 2])
    zero = np.uint64(0)
    block = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while block < N.blocks:
        position = counter + np.uint64(block)
        w0, w1, w2, w3 = philox(key, position & np.uint64(0xFFFFFFFF), position >> np.uint64(32), zero, zero)
        values = VALUES(w0, w1, w2, w3, low, span, highest)
        start = block * PER
        at = N.offset + start
        out[at] = STORE(values[0])
        if start + 1 < n:
            out[at + 1] = STORE(values[1])
        if FOUR:
            if start + 2 < n:
                out[at + 2] = STORE(values[2])
            if start + 3 < n:
                out[at + 3] = STORE(values[3])
        block += np.int64(cuda.gridDim.x) * cuda.blockDim.x
