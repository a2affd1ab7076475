"""Folds: a thread walks the elements of its own output, one after the other.

Free names: `F` a step of the fold from (acc, x), `LOAD_0` and `STORE` the conversions, `IDENTITY` the first
accumulator, `FINISH` the last step, from the accumulator and the count.
"""

# ruff: noqa: F821
import numpy as np

from minigrad.kernels.fields import Fields


def fold_fields(kept, folded):
    """The numbers of `fold` for so many dims that are kept and folded."""
    lists = f"sizes[{kept}] steps[{kept}] to_steps[{kept}] fold_sizes[{folded}] fold_steps[{folded}]"
    return Fields("outputs count offset to", lists)


def fold(in_0, out, N):
    """One output at a time, its elements in row-major order."""
    i = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while i < N.outputs:
        place = i
        at = N.offset
        to = N.to
        walk(place, N.sizes, at=N.steps, to=N.to_steps)
        acc = IDENTITY
        j = np.int64(0)
        while j < N.count:
            element = j
            p = at
            walk(element, N.fold_sizes, p=N.fold_steps)
            acc = F(acc, LOAD_0(in_0[p]))
            j += 1
        out[to] = STORE(FINISH(acc, N.count))
        i += np.int64(cuda.gridDim.x) * cuda.blockDim.x
