"""Parts of images for the tasks of a convolution: the block of outputs of a task, and copies of its pixels.

`gather` copies the part of the image that a block of outputs reads, with zeros in the padding.  `unfold` copies the run
of each tap without the columns between rows of outputs.  For example, with 3x3 taps and outputs of 2 rows of 3:

    image and padding    run of the tap (1, 0)    unfolded
        . . . . .           . a b c . . d e       . a b . d e
        . a b c .
        . d e f .
        . . . . .

The numbers and free names are those of `conv.py`; `copy_vector` copies LANES elements.
"""

# ruff: noqa: F821
import numpy as np


def count_blocks(N):  # type: ignore[no-untyped-def]
    """Return the number of blocks of the outputs of one image and group."""
    n0 = (N.size0 + N.block0 - 1) // N.block0
    n1 = (N.size1 + N.block1 - 1) // N.block1
    n2 = (N.size2 + N.block2 - 1) // N.block2
    return n0 * n1 * n2


def block_of(task, N):  # type: ignore[no-untyped-def]
    """Return where the block of a task begins, and its size along each dim.

    The last result is the index of the task divided by the count of blocks.
    """
    n2 = (N.size2 + N.block2 - 1) // N.block2
    n1 = (N.size1 + N.block1 - 1) // N.block1
    n0 = (N.size0 + N.block0 - 1) // N.block0
    b2 = task % n2 * N.block2
    rest = task // n2
    b1 = rest % n1 * N.block1
    rest //= n1
    b0 = rest % n0 * N.block0
    c0 = min(N.block0, N.size0 - b0)
    c1 = min(N.block1, N.size1 - b1)
    c2 = min(N.block2, N.size2 - b2)
    return b0, b1, b2, c0, c1, c2, rest // n0


def gather(x, image, N, n, g, b0, b1, b2):  # type: ignore[no-untyped-def]
    """Copy the part of image n and group g that is read by the block beginning at output (b0, b1, b2)."""
    at = N.x + n * N.x_image + g * N.x_group
    l0 = b0 * N.stride0 + N.low0
    l1 = b1 * N.stride1 + N.low1
    l2 = b2 * N.stride2 + N.low2
    P0, P1, P2, step, deep = N.slots0, N.slots1, N.slots2, N.stride2, N.x2
    to = 0
    for c in range(N.ins):
        pc = at + c * N.x_channel
        for f0 in range(N.phases0):
            for f1 in range(N.phases1):
                for f2 in range(N.phases2):
                    r0 = l0 + N.phase[f0]
                    r1 = l1 + N.phase[N.phases0 + f1]
                    r2 = l2 + N.phase[N.phases0 + N.phases1 + f2]
                    # The slots from left to right - 1 are inside the image.
                    left = min(P2, max(0, (step - 1 - r2) // step))
                    right = max(left, min(P2, (N.image2 - r2 + step - 1) // step))
                    q2 = pc + (r2 + left * step) * deep
                    for u0 in range(P0):
                        i0 = r0 + u0 * N.stride0
                        for u1 in range(P1):
                            i1 = r1 + u1 * N.stride1
                            # Unsigned indices need no test for wrapping around; the rows are too short for slices.
                            if i0 < 0 or i0 >= N.image0 or i1 < 0 or i1 >= N.image1:
                                for u in range(P2):
                                    image[np.uint64(to + u)] = T(0)
                            else:
                                for u in range(left):
                                    image[np.uint64(to + u)] = T(0)
                                q = q2 + i0 * N.x0 + i1 * N.x1
                                inside = to + left
                                if step * deep == 1:
                                    for u in range(right - left):
                                        image[np.uint64(inside + u)] = x[np.uint64(q + u)]
                                else:
                                    for u in range(right - left):
                                        image[np.uint64(inside + u)] = x[np.uint64(q + u * step * deep)]
                                for u in range(right, P2):
                                    image[np.uint64(to + u)] = T(0)
                            to += P2


def unfold(image, patches, N, c0, c1, c2):  # type: ignore[no-untyped-def]
    """Copy each run without the columns between rows of outputs; ones for the bias come first.

    It copies whole vectors: the next row of outputs overwrites what was copied beyond the end of a row.
    """
    K = N.ins * N.taps
    rows, pitch = N.slots1, N.slots2
    size = c0 * c1 * c2
    for j in range(size * N.biased):
        patches[np.uint64(j)] = T(1)
    for k in range(K):
        at = N.runs[k]
        to = N.runs[K + N.biased + k]
        for o0 in range(c0):
            q = at + o0 * rows * pitch
            for _ in range(c1):
                for j in range(0, c2, LANES):
                    copy_vector(image, q + j, patches, to + j)
                q += pitch
                to += c2
