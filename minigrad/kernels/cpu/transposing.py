"""Copies pasted into other kernels: one that exchanges rows and columns, for packing, patches and channels last."""

# ruff: noqa: F821
import numpy as np


def clear(x, at, n):  # type: ignore[no-untyped-def]
    """Set n elements to zero, from x[at] on."""
    for k in range(at, at + n):
        x[np.uint64(k)] = T(0)


def transpose_copy(x, at, step, deep, z, to, pitch, one, wide, long):  # type: ignore[no-untyped-def]
    """z[to + i * pitch + j * one] = x[at + j * step + i * deep] for j < wide, i < long.

    If both sides have dense rows, squares are transposed in registers; the last square overlaps the previous one.
    """
    if deep == 1 and one == 1 and wide >= SIDE and long >= SIDE:
        for p in range(0, long, SIDE):
            i = min(p, long - SIDE)
            for q in range(0, wide, SIDE):
                j = min(q, wide - SIDE)
                transpose(x, at + j * step + i, step, z, to + i * pitch + j, pitch)
    else:
        # The indices are unsigned, because a signed index is tested for wrapping around at each element.
        for j in range(wide):
            for i in range(long):
                z[np.uint64(to + i * pitch + j * one)] = x[np.uint64(at + j * step + i * deep)]
