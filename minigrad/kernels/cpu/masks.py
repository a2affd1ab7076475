"""Masks: the count of True elements, and their positions.

A unit is a range of row-major positions.  The elements of all units are counted first, so that each unit has its place
in the output, and units can run in parallel.  Positions are written to a small buffer without a branch: a True element
advances the write position by 1, a False element does not.
"""

# ruff: noqa: F821
import numpy as np

from minigrad.kernels.fields import Fields, loop

MASK = Fields("n length units cols rank in_0 step limit", "sizes[rank] strides[rank]")


@loop(MASK)
def mask_count(in_0, out, N):  # type: ignore[no-untyped-def]
    """Write how many elements are True before each unit, and then the total.  A task is a unit.

    A unit is `length` of the n positions, in rows of `cols`.
    """
    step = N.step
    for u in range(first, last):
        start = u * N.length
        stop = min(N.n, start + N.length)
        total = 0
        while start < stop:
            rest = start // N.cols
            col = start - rest * N.cols
            size = min(N.cols - col, stop - start)
            at = N.in_0 + col * step
            walk(rest, N.sizes, at=N.strides)
            if step == 1:
                x = in_0[at : at + size]
                for j in range(size):
                    total += x[j]
            else:
                for j in range(size):
                    total += in_0[np.uint64(at + j * step)]
            start += size
        out[u + 1] = total
    if first == last:
        total = 0
        for u in range(N.units + 1):
            total += out[u] if u > 0 else 0
            out[u] = total


@loop(MASK)
def mask_positions(in_0, in_1, out, N):  # type: ignore[no-untyped-def]
    """Write the positions of the True elements.  A task is a unit.

    in_1: where the positions of each unit begin in out.  limit: the length of out.
    """
    step = N.step
    indices = workspace(N.length + 1, np.int64)
    for u in range(first, last):
        start = u * N.length
        stop = min(N.n, start + N.length)
        held = 0
        while start < stop:
            rest = start // N.cols
            col = start - rest * N.cols
            size = min(N.cols - col, stop - start)
            at = N.in_0 + col * step
            walk(rest, N.sizes, at=N.strides)
            for j in range(size):
                indices[np.uint64(held)] = start + j
                held += np.int64(in_0[np.uint64(at + j * step)])
            start += size
        # Write as many positions as were counted, because another thread may have changed the mask since then.
        size = min(in_1[u + 1], N.limit) - in_1[u]
        z = out[in_1[u] : in_1[u] + size]
        for j in range(size):
            z[j] = indices[j] if j < held else 0
    leave(indices)
