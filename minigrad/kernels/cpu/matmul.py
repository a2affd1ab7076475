"""The matrix product of a batch: a plain loop nest, and a packed one around a register tile.

`plain` serves small products and every integer dtype: rows of the right operand, scaled and summed.  `packed` copies
the right operand into panels as wide as the register tile, then each task copies its rows of the left operand the
same way and runs tiles.  Copying reads any strides and widens halves, so a transpose costs nothing extra.

Free names, filled in by `specialize`: `LOAD_0`, `LOAD_1`, `STORE`, `MULADD` (acc + x * y, any(and) for bools), `ZERO`,
`RANGE`; for `packed` the module's header defines the tile and its sizes `MR x NR`, the depth `KC` of a panel that stays
in the nearest caches, `MC` rows and `NC` columns of a task; `DIRECT` says that tiles may be written into `out` itself.

numbers = M, N, K, offset of out, offset of a, its steps along m and k, offset of b, its steps along k and n, batches,
matrices of b that differ, rows a task of `plain`, rank of the batch, then five lists of that length: sizes, strides
of a, strides of b, sizes of b (1 where its stride is 0), strides among b's packed matrices.
"""

# ruff: noqa: F821
import numpy as np


def batch_offset(batch, numbers, sizes, strides):  # type: ignore[no-untyped-def]
    """Where matrix `batch` begins; sizes and strides: which of the five lists hold them."""
    rank = numbers[13]
    at = 0
    for d in range(rank - 1, -1, -1):
        size = numbers[14 + rank * sizes + d]
        at += batch % size * numbers[14 + rank * strides + d]
        batch //= size
    return at


def plain(a, b, out, numbers):  # type: ignore[no-untyped-def]
    """Each task makes some rows of one matrix."""
    M = numbers[0]
    N = numbers[1]
    K = numbers[2]
    am = numbers[5]
    ak = numbers[6]
    bn = numbers[9]
    block = numbers[12]
    blocks = (M + block - 1) // block
    for task in RANGE(numbers[10] * blocks):
        batch = task // blocks
        first = (task - batch * blocks) * block
        pa = numbers[4] + batch_offset(batch, numbers, 0, 1) + first * am
        pb = numbers[7] + batch_offset(batch, numbers, 0, 2)
        if COPY:
            # Columns with gaps, and halves, are turned into dense rows once a task.
            right = np.empty(K * N, T)
            for k in range(K):
                for j in range(N):
                    right[k * N + j] = LOAD_1(b[pb + k * numbers[8] + j * bn])
            pb = 0
            bk = N
        else:
            right = b
            bk = numbers[8]
        acc = np.empty(N, T)
        for i in range(first, min(M, first + block)):
            for j in range(N):
                acc[j] = ZERO
            # Four rows at a time: the sum is read and written once for four products.
            for k in range(0, K - 3, 4):
                at = pb + k * bk
                x0 = LOAD_0(a[pa + k * ak])
                x1 = LOAD_0(a[pa + (k + 1) * ak])
                x2 = LOAD_0(a[pa + (k + 2) * ak])
                x3 = LOAD_0(a[pa + (k + 3) * ak])
                r0 = right[at : at + N]
                r1 = right[at + bk : at + bk + N]
                r2 = right[at + 2 * bk : at + 2 * bk + N]
                r3 = right[at + 3 * bk : at + 3 * bk + N]
                for j in range(N):
                    acc[j] = MULADD(MULADD(MULADD(MULADD(acc[j], x0, r0[j]), x1, r1[j]), x2, r2[j]), x3, r3[j])
            for k in range(K - K % 4, K):
                x = LOAD_0(a[pa + k * ak])
                row = right[pb + k * bk : pb + k * bk + N]
                for j in range(N):
                    acc[j] = MULADD(acc[j], x, row[j])
            z = out[numbers[3] + (batch * M + i) * N : numbers[3] + (batch * M + i) * N + N]
            for j in range(N):
                z[j] = STORE(acc[j])
            pa += am


def pack_right(b, panels, p, numbers):  # type: ignore[no-untyped-def]
    """Panel p: NR columns of one matrix of b, k by k, with zeros beyond the last column."""
    N = numbers[1]
    K = numbers[2]
    bk = numbers[8]
    bn = numbers[9]
    across = (N + NR - 1) // NR
    matrix = p // across
    j0 = (p - matrix * across) * NR
    at = numbers[7] + batch_offset(matrix, numbers, 3, 2) + j0 * bn
    width = min(NR, N - j0)
    panel = panels[p * NR * K : (p + 1) * NR * K]
    if bn == 1 and width == NR:
        for k in range(K):
            source = b[at + k * bk : at + k * bk + NR]
            target = panel[k * NR : k * NR + NR]
            for j in range(NR):
                target[j] = LOAD_1(source[j])
    else:
        for j in range(width):
            for k in range(K):
                panel[k * NR + j] = LOAD_1(b[at + k * bk + j * bn])
        for j in range(width, NR):
            for k in range(K):
                panel[k * NR + j] = 0


def pack_left(a, panel, at, height, depth, numbers):  # type: ignore[no-untyped-def]
    """MR rows of a from offset `at`, `depth` of k, with zeros below the last row."""
    am = numbers[5]
    ak = numbers[6]
    if am == 1 and height == MR:
        for k in range(depth):
            source = a[at + k * ak : at + k * ak + MR]
            target = panel[k * MR : k * MR + MR]
            for i in range(MR):
                target[i] = LOAD_0(source[i])
    else:
        for i in range(height):
            for k in range(depth):
                panel[k * MR + i] = LOAD_0(a[at + i * am + k * ak])
        for i in range(height, MR):
            for k in range(depth):
                panel[k * MR + i] = 0


def rows_of_a_task(numbers):  # type: ignore[no-untyped-def]
    """At most MC, fewer where that leaves less than 16 tasks: cut by the shape, never by the number of threads."""
    down = (numbers[0] + MR - 1) // MR
    tasks = numbers[10] * down * ((numbers[1] + NC - 1) // NC)
    return MR * max(1, min(MC // MR, tasks // 16))


def multiply(a, panels, out, task, numbers):  # type: ignore[no-untyped-def]
    """One task: up to MC rows and NC columns of one product, through all of K."""
    M = numbers[0]
    N = numbers[1]
    K = numbers[2]
    rows = rows_of_a_task(numbers)
    blocks = (M + rows - 1) // rows
    wide = task // blocks
    i0 = (task - wide * blocks) * rows
    batch = wide // ((N + NC - 1) // NC)
    first = wide % ((N + NC - 1) // NC) * NC
    height = min(rows, M - i0)
    down = (height + MR - 1) // MR
    width = min(NC, N - first)
    across = (width + NR - 1) // NR
    left = np.empty(down * MR * min(K, KC), T)
    edge = np.empty(MR * NR, T)
    pa = numbers[4] + batch_offset(batch, numbers, 0, 1) + i0 * numbers[5]
    pb = (batch_offset(batch, numbers, 0, 4) * ((N + NR - 1) // NR) + first // NR) * NR * K
    z0 = numbers[3] + (batch * M + i0) * N + first
    if DIRECT:
        c = out
        c0 = z0
        ldc = N
    else:
        c = np.empty(height * width, T)
        c0 = 0
        ldc = width
    for k0 in range(0, K, KC):
        depth = min(KC, K - k0)
        for ip in range(down):
            panel = left[ip * MR * depth : (ip + 1) * MR * depth]
            pack_left(a, panel, pa + ip * MR * numbers[5] + k0 * numbers[6], min(MR, height - ip * MR), depth, numbers)
        for jp in range(across):
            w = min(NR, width - jp * NR)
            right = pb + (jp * K + k0) * NR
            for ip in range(down):
                h = min(MR, height - ip * MR)
                at = c0 + ip * MR * ldc + jp * NR
                if h == MR and w == NR:
                    tile(left, ip * MR * depth, panels, right, c, at, depth, ldc, k0 == 0)
                else:
                    tile(left, ip * MR * depth, panels, right, edge, 0, depth, NR, True)
                    for i in range(h):
                        z = c[at + i * ldc : at + i * ldc + w]
                        for j in range(w):
                            z[j] = edge[i * NR + j] if k0 == 0 else z[j] + edge[i * NR + j]
    if WIDENED:
        for i in range(height):
            z = out[z0 + i * N : z0 + i * N + width]
            for j in range(width):
                z[j] = STORE(c[i * width + j])


def packed(a, b, out, numbers):  # type: ignore[no-untyped-def]
    """Panels of b first, then the tasks; the work of both is in helpers, so that two parallel loops compile fast."""
    across = (numbers[1] + NR - 1) // NR
    panels = np.empty(numbers[11] * across * NR * numbers[2], T)
    for p in RANGE(numbers[11] * across):
        pack_right(b, panels, p, numbers)
    rows = rows_of_a_task(numbers)
    tasks = numbers[10] * ((numbers[0] + rows - 1) // rows) * ((numbers[1] + NC - 1) // NC)
    for task in RANGE(tasks):
        multiply(a, panels, out, task, numbers)
