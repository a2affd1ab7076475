"""The matrix product of a batch: a plain loop nest, and a packed one around a register tile.

`plain` serves small products and every integer dtype: rows of the right operand, scaled and summed.  `packed` copies
the right operand into panels as wide as the register tile; then each task copies its rows of the left operand the same
way and runs tiles.  Copying reads any strides and widens halves, so a transpose costs nothing extra.

Free names, filled in by `specialize`: `LOAD_0`, `LOAD_1`, `STORE`, `MULADD` (acc + x * y, any(and) for bools), `ZERO`,
`COPY` (the right operand has gaps or is narrower than `T`), `DIRECT` and `WIDENED` (tiles may be written into `out`
itself, or not), `RANGE`.  The module's header defines the tile and its size `MR x NR`, the depth `KC` of a panel that
stays in the nearest caches, `MC` rows and `NC` columns of a task.

numbers = M, N, K, offset of out, offset of a, its steps along m and k, offset of b, its steps along k and n, batches,
matrices of b that differ, rows a task of `plain`, rank of the batch, then five lists of that length: sizes, strides
of a, strides of b, strides among b's packed matrices, sizes of b (1 where its stride is 0).
"""

# ruff: noqa: F821
import numpy as np


def plain(a, b, out, numbers):  # type: ignore[no-untyped-def]
    """Each task makes some rows of one matrix."""
    M = numbers[0]
    N = numbers[1]
    K = numbers[2]
    block = numbers[12]
    rank = numbers[13]
    blocks = (M + block - 1) // block
    for task in RANGE(numbers[10] * blocks):
        batch = task // blocks
        first = (task - batch * blocks) * block
        pa = numbers[4] + first * numbers[5]
        pb = numbers[7]
        rest = batch
        for d in range(rank - 1, -1, -1):
            place = rest % numbers[14 + d]
            rest //= numbers[14 + d]
            pa += place * numbers[14 + rank + d]
            pb += place * numbers[14 + 2 * rank + d]
        if COPY:
            # Once a task, so that the sums below run over dense rows.
            right = np.empty(K * N, T)
            for k in range(K):
                for j in range(N):
                    right[k * N + j] = LOAD_1(b[pb + k * numbers[8] + j * numbers[9]])
            pb = 0
            bk = N
        else:
            right = b
            bk = numbers[8]
        acc = np.empty(N, T)
        for i in range(first, min(M, first + block)):
            for j in range(N):
                acc[j] = ZERO
            for k in range(K):
                x = LOAD_0(a[pa + k * numbers[6]])
                row = right[pb + k * bk : pb + k * bk + N]
                for j in range(N):
                    acc[j] = MULADD(acc[j], x, row[j])
            z = out[numbers[3] + (batch * M + i) * N :]
            for j in range(N):
                z[j] = STORE(acc[j])
            pa += numbers[5]


def pack(source, at, step, deep, panel, to, full, width, depth):  # type: ignore[no-untyped-def]
    """`width` columns (or rows of a) of `depth` elements as a panel of `full`, k by k, with zeros beyond the width.

    step, deep: strides of the source from column to column and from k to k.
    """
    if step == 1 and width == full:
        for k in range(depth):
            x = source[at + k * deep : at + k * deep + full]
            z = panel[to + k * full : to + k * full + full]
            for j in range(full):
                z[j] = LOAD_0(x[j])
    else:
        for j in range(full):
            # Unsigned, because a signed index is tested for wrapping around at each element.
            p = np.uint64(to + j)
            if j < width:
                q = at + j * step
                for _ in range(depth):
                    panel[p] = LOAD_0(source[np.uint64(q)])
                    p += np.uint64(full)
                    q += deep
            else:
                for _ in range(depth):
                    panel[p] = T(0)
                    p += np.uint64(full)


def packed(a, b, out, numbers):  # type: ignore[no-untyped-def]
    """Phase 0 packs b, phase 1 makes tiles; one parallel loop serves both, because each costs a second to compile."""
    M = numbers[0]
    N = numbers[1]
    K = numbers[2]
    rank = numbers[13]
    across = (N + NR - 1) // NR
    down = (M + MR - 1) // MR
    wide = (across * NR + NC - 1) // NC
    # Less than MC rows a task where that would leave few tasks: cut by the shape, not by the number of threads.
    rows = MR * max(1, min(MC // MR, numbers[10] * wide * down // 16))
    blocks = (M + rows - 1) // rows
    panels = np.empty(numbers[11] * across * NR * K, T)
    for phase in range(2):
        parts = across if phase == 0 else blocks * wide
        sizes = 14 + 4 * rank if phase == 0 else 14
        tasks = parts * (numbers[11] if phase == 0 else numbers[10])
        for task in RANGE(tasks):
            batch = task // parts
            part = task - batch * parts
            pa = numbers[4]
            pb = numbers[7]
            at_panel = 0
            rest = batch
            for d in range(rank - 1, -1, -1):
                place = rest % numbers[sizes + d]
                rest //= numbers[sizes + d]
                pa += place * numbers[14 + rank + d]
                pb += place * numbers[14 + 2 * rank + d]
                at_panel += place * numbers[14 + 3 * rank + d]
            if phase == 0:
                j0 = part * NR
                pb += j0 * numbers[9]
                pack(b, pb, numbers[9], numbers[8], panels, task * NR * K, NR, min(NR, N - j0), K)
            else:
                i0 = part % blocks * rows
                first = part // blocks * NC
                height = min(rows, M - i0)
                width = min(NC, N - first)
                left = np.empty(rows * min(K, KC), T)
                edge = np.empty(MR * NR, T)
                if DIRECT:
                    c = out
                    c0 = numbers[3] + (batch * M + i0) * N + first
                    ldc = N
                else:
                    c = np.empty(height * width, T)
                    c0 = 0
                    ldc = width
                for k0 in range(0, K, KC):
                    depth = min(KC, K - k0)
                    for ip in range(0, height, MR):
                        at = pa + (i0 + ip) * numbers[5] + k0 * numbers[6]
                        pack(a, at, numbers[5], numbers[6], left, ip * depth, MR, min(MR, height - ip), depth)
                    for jp in range(0, width, NR):
                        w = min(NR, width - jp)
                        right = ((at_panel * across * NR + first + jp) * K) + k0 * NR
                        for ip in range(0, height, MR):
                            h = min(MR, height - ip)
                            at = c0 + ip * ldc + jp
                            # A tile that hangs over the edge is made beside the matrix.
                            whole = h == MR and w == NR
                            target = c if whole else edge
                            to = at if whole else 0
                            tile(
                                left,
                                ip * depth,
                                panels,
                                right,
                                target,
                                to,
                                depth,
                                ldc if whole else NR,
                                k0 == 0 or not whole,
                            )
                            if not whole:
                                for i in range(h):
                                    for j in range(w):
                                        x = edge[np.uint64(i * NR + j)]
                                        q = np.uint64(at + i * ldc + j)
                                        c[q] = x if k0 == 0 else x + c[q]
                if WIDENED:
                    for i in range(height):
                        z = out[numbers[3] + (batch * M + i0 + i) * N + first :]
                        for j in range(width):
                            z[j] = STORE(c[i * width + j])
