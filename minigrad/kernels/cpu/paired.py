"""Panels of bfloat16 in pairs, for processors whose multiply-add takes two products of bfloat16 at once.

`pack_pairs` is `pack` of `matmul.py` for bfloat16: where a panel of `pack` has an element of row k, this panel has a
32-bit word with the elements of rows 2k and 2k + 1, the first one in the lower half.  `multiply` then reads panels of
both operands with a tile that multiplies pairs.  The numbers are those of `pack`, without `tall`.
"""

# ruff: noqa: F821
import numpy as np


def pack_pairs(source, panels, N):  # type: ignore[no-untyped-def]
    """Copy a matrix into panels of WIDTH columns, with zeros beyond the last column and row.  A task is one panel."""
    cols = N.cols
    step = N.bn
    deep = N.bk
    whole = N.length // 2
    words = (N.length + 1) // 2
    across = (cols + WIDTH - 1) // WIDTH
    for task in range(first, last):
        at = N.b
        batch = task // across
        left = task % across * WIDTH
        rest = batch
        walk(rest, N.sizes, at=N.steps)
        w = min(WIDTH, cols - left)
        to = task * WIDTH * words
        q = at + left * step
        if w < WIDTH:
            for k in range(words):
                for j in range(w, WIDTH):
                    panels[np.uint64(to + k * WIDTH + j)] = np.int32(0)
        if step == 1:
            for k in range(whole):
                x = source[q + 2 * k * deep : q + 2 * k * deep + w]
                y = source[q + (2 * k + 1) * deep : q + (2 * k + 1) * deep + w]
                z = panels[to + k * WIDTH : to + k * WIDTH + w]
                for j in range(w):
                    z[j] = np.int32(x[j]) | np.int32(y[j]) << np.int32(16)
        elif deep == 1 and w >= SIDE and whole >= SIDE:
            # The last square overlaps the previous one.
            for p in range(0, whole, SIDE):
                k = min(p, whole - SIDE)
                for r in range(0, w, SIDE):
                    j = min(r, w - SIDE)
                    transpose_pairs(source, q + j * step + 2 * k, step, panels, to + k * WIDTH + j, WIDTH)
        else:
            for j in range(w):
                p = q + j * step
                for k in range(whole):
                    low = np.int32(source[np.uint64(p + 2 * k * deep)])
                    high = np.int32(source[np.uint64(p + (2 * k + 1) * deep)])
                    panels[np.uint64(to + k * WIDTH + j)] = low | high << np.int32(16)
        if words > whole:
            for j in range(w):
                last_row = q + j * step + 2 * whole * deep
                panels[np.uint64(to + whole * WIDTH + j)] = np.int32(source[np.uint64(last_row)])
