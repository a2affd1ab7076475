"""Loops that write evenly spaced numbers and random numbers.

Free names, filled in by `specialize`: `STORE`, the compute dtype `T`, and for `random` the function `VALUES`, which
converts a block of words to `PER` numbers (see `kernels/philox.py`, whose text is pasted above the loop).  Filling with
a constant needs no loop here: it is an elementwise copy of one number.
"""

# ruff: noqa: F821
import numpy as np

from minigrad.kernels.fields import Fields, loop


@loop(Fields("n chunk out start step"))
def arange(start, step, out, N):  # type: ignore[no-untyped-def]
    """out[i] = start + i * step.  A task is a chunk of the elements.

    Each element is computed from i, not from the previous element, so that rounding errors do not add up.
    """
    begin = start[N.start]
    by = step[N.step]
    for c in range(first, last):
        lo = c * N.chunk
        count = min(N.chunk, N.n - lo)
        z = out[N.out + lo : N.out + lo + count]
        for i in range(count):
            z[i] = STORE(begin + T(lo + i) * by)


@loop(Fields("n blocks chunk out state limits"), inlined=True)
def random(state, limits, out, N):  # type: ignore[no-untyped-def]
    """Write random numbers.  A task is a chunk of the blocks of words.

    out, state, limits: the positions at which out, the key and the limits begin.
    """
    key = np.uint64(state[N.state])
    counter = np.uint64(state[N.state + 1])
    low = LIMIT(limits[N.limits])
    span = LIMIT(limits[N.limits + 1])
    highest = LIMIT(limits[N.limits + 2])
    zero = np.uint64(0)
    part = workspace(PER, ELEMENT)
    for c in range(first, last):
        lo = c * N.chunk
        hi = min(lo + N.chunk, N.blocks)
        whole = min(hi, N.n // PER)
        # The blocks that are stored as a whole come first.  Their loop has no branches, so it vectorises over blocks.
        # The last block may have more numbers than are needed; it is written to `part`.
        z = out[N.out + lo * PER : N.out + whole * PER]
        count = whole - lo
        for ends in range(2):
            position = counter + np.uint64(lo)
            for block in range(count):
                index = position + np.uint64(block)
                w0, w1, w2, w3 = philox(key, index & np.uint64(0xFFFFFFFF), index >> np.uint64(32), zero, zero)
                values = VALUES(w0, w1, w2, w3, low, span, highest)
                for j in range(PER):
                    z[block * PER + j] = STORE(values[j])
            lo = whole
            count = hi - whole
            z = part
        if count > 0:
            for j in range(N.n - whole * PER):
                out[N.out + whole * PER + j] = part[j]
    leave(part)
