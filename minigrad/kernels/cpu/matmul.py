"""The matrix product of a batch, out = alpha * a @ b + beta * c: tiles, packing, and products with a vector.

`multiply` moves register tiles over blocks of the result.  It reads both operands directly or from panels.  The rows of
b must be dense; otherwise `pack` has copied b into panels of the width of a tile.  Panels of a have the height of a
tile.  `vector` computes results of one row or one column, which are limited by memory bandwidth: sums along rows, or
rows that are scaled and added, whichever follows the order in memory.  The dtype is that of the registers; copy kernels
cast float16, bfloat16, bool and mixed operands before.

Free names, filled in by `specialize`: `T`, and `FACTOR`, which converts a number of the kernel to a factor.  The header
of the module defines the tile, its size `MR x NR`, the LANES of a vector and the WIDTH of panels.
All numbers are in elements; `sizes` and the steps after it are those of the batch.

`pack_pairs` is `pack` for bfloat16, for processors whose multiply-add takes two products of bfloat16 at once: where a
panel of `pack` has an element of row k, this panel has a 32-bit word with the elements of rows 2k and 2k + 1, the first
one in the lower half.  `multiply` then reads panels of both operands with a tile that multiplies pairs.  The numbers
are those of `pack`, without `tall`.
"""

# ruff: noqa: F821, F841
from __future__ import annotations

import numpy as np

from minigrad.core.dtype import float32
from minigrad.kernels.cpu.elementwise import transpose_copy
from minigrad.kernels.cpu.target import tile_header
from minigrad.kernels.fields import Fields, loop
from minigrad.kernels.pasting import Part

NUMBERS = (
    "rows cols length high wide deep part to a lift am ak ahead b panel bk across inward whole thread_panels "
    "transposed rowwise c cm cn mode batches rank alpha beta"
)
LISTS = "sizes[rank] a_steps[rank] b_steps[rank] c_steps[rank]"
MULTIPLY = Fields(NUMBERS, LISTS)
FOLLOWED = Fields(NUMBERS, LISTS, "offset down", results=False)  # the groups are those of the function's other operands


def tiles_of(words, dtype, functions):  # type: ignore[no-untyped-def]
    """Return the lines that define the tile of `multiply`."""
    return tile_header(
        dtype, multiply, *functions, width="NR", paired=words.get("PAIRED", False), wide=words.get("FAR", False)
    )


def pack_panel(source, at, step, deep, panels, to, w, length):  # type: ignore[no-untyped-def]
    """Copy w columns of a matrix into a panel, with zeros beyond them.  deep: the step from k to k."""
    if step == 1 and w == WIDTH:
        for k in range(length):
            copy_row(source, at + k * deep, panels, to + k * WIDTH)
    else:
        transpose_copy(source, at, step, deep, panels, to, WIDTH, 1, w, length)
        if w < WIDTH:
            for k in range(length):
                z = panels[to + k * WIDTH + w : to + (k + 1) * WIDTH]
                for j in range(len(z)):
                    z[j] = T(0)


@loop(MULTIPLY, imports=tiles_of, helpers=(transpose_copy, pack_panel), words={"FOLLOW": []})
def multiply(a, b, c, out, N):  # type: ignore[no-untyped-def]
    """Multiply matrices.  A task is one block of one result, or one piece of its inner dim.

    The matrices are rows x length and length x cols.  high, wide, deep: the size of a task.  part: the depth of a tile.
    to: offset of out.  a, lift, am, ak: offset of a, its steps from tile to tile, along rows and along the depth.
    ahead: lift, or 0 if the tile should not request the next tile of a.  b, panel, bk: offset of b, its steps from
    panel to panel and along the depth.  whole: whether a whole panel may be read, because b is packed.  thread_panels:
    the number of elements of a block of b, if the threads pack b; across, inward: its steps along columns and along the
    depth then.  The blocks of a column are consecutive tasks, so a thread packs a block once.  rowwise: whether the
    blocks of a row are consecutive tasks.  c, cm, cn: offset of c, its steps along rows and columns.

    transposed: the number of elements of a block if the transpose of the product is written; then mode is 0 or 2, and
    the inner dim is whole.
    mode: 0 for out = alpha * product, 1 to add the product to out, 2 to add beta * c.  If the inner dim is divided, out
    has a matrix for each piece, and `add_pieces` combines them.
    """
    rows, cols, length, high, wide, deep, part = N.rows, N.cols, N.length, N.high, N.wide, N.deep, N.part
    lift, am, ak, bk, mode = N.lift, N.am, N.ak, N.bk, N.mode
    alpha = FACTOR(N.alpha)
    beta = FACTOR(N.beta)
    ahead = N.ahead
    down = (rows + high - 1) // high
    across = (cols + wide - 1) // wide
    pieces = (length + deep - 1) // deep
    whole = N.batches * rows * cols
    panels = workspace(N.thread_panels, b.dtype)
    transposed = workspace(N.transposed, T)
    packed = packed_from = -1
    for task in range(first, last):
        piece = task % pieces
        block = task // pieces
        i0 = (block // across if N.rowwise else block) % down * high
        j0 = (block if N.rowwise else block // down) % across * wide
        batch = block // (down * across)
        i1 = min(rows, i0 + high)
        j1 = min(cols, j0 + wide)
        pace = max(1, NR * MR // (i1 - i0))  # the tiles of a panel together request the next panel
        pa, pb, pc = N.a, N.b, N.c
        rest = batch
        walk(rest, N.sizes, pa=N.a_steps, pb=N.b_steps, pc=N.c_steps)
        z = N.to + batch * rows * cols + piece * whole
        y = b
        if N.thread_panels:
            y = panels
            if packed != pb or packed_from != j0:
                packed, packed_from = pb, j0
                for j in range(j0, j1, NR):
                    w = min(NR, cols - j)
                    pack_panel(b, pb + j * N.across, N.across, N.inward, panels, (j - j0) * length, w, length)
            pb = -j0 * length
        target = out
        start = z
        pitch = cols
        if N.transposed:
            target = transposed
            start = -i0 * wide - j0
            pitch = wide
        if mode == 2 and not N.transposed:
            for i in range(i0, i1):
                row = out[z + i * cols + j0 : z + i * cols + j1]
                q = pc + i * N.cm + j0 * N.cn
                if N.cn == 1:
                    x = c[q : q + j1 - j0]
                    for j in range(j1 - j0):
                        row[j] = T(beta * x[j])
                else:
                    for j in range(j1 - j0):
                        row[j] = T(beta * c[q + j * N.cn])
        for k0 in range(piece * deep, min(length, (piece + 1) * deep), part):
            depth = min(part, min(length, (piece + 1) * deep) - k0)
            more = k0 > piece * deep or (mode > 0 and not N.transposed)
            for j in range(j0, j1, NR):
                w = min(NR, cols - j)
                right = pb + j // NR * N.panel + k0 * bk
                later = right + N.panel if j + NR < j1 else pb + j0 // NR * N.panel + (k0 + part) * bk
                read = (w + LANES - 1) // LANES * LANES if N.whole else w
                for i in range(i0, i1, MR):
                    left = pa + i // MR * lift + k0 * ak
                    h = min(MR, rows - i)
                    q = later + (i - i0) // MR * depth * pace
                    to = start + i * pitch + j
                    tile(
                        a, left, am, ak, y, right, bk, read, target, to, pitch, depth, h, w, alpha, more, ahead, q, pace
                    )
        if N.transposed:
            at = N.to + (batch * cols + j0) * rows + i0
            transpose_copy(transposed, 0, wide, 1, out, at, rows, 1, i1 - i0, j1 - j0)
            for j in range(j0, j1 if mode == 2 else j0):
                row = out[at + (j - j0) * rows : at + (j - j0) * rows + i1 - i0]
                for i in range(i1 - i0):
                    row[i] = T(row[i] + beta * c[pc + (i0 + i) * N.cm + j * N.cn])
        FOLLOW()
    leave(panels, transposed)


def follow():  # type: ignore[no-untyped-def]
    """Apply `F` to each element of a block of the product, and of other operands, while the block is in the cache.

    offset: where an operand begins.  down: its step from row to row, counted over all rows of the batch.  An operand
    has one element per column, or one for all columns; `RUN_K` and `AT_K` are as in `rows.py`.
    """
    n = j1 - j0
    for i in range(i0, i1):
        row = out[z + i * cols + j0 : z + i * cols + j1]
        at_K = N.offset[K] + (batch * rows + i) * N.down[K] + j0 * STEP_K
        u_K = RUN_K
        for j in range(n):
            row[j] = F(row[j], LOAD_K(AT_K))


@loop(
    FOLLOWED, imports=tiles_of, helpers=(transpose_copy, pack_panel),
    words={"PRODUCT": [Part(multiply)], "FOLLOW": [Part(follow)]},
)  # fmt: skip
def multiply_followed(a, b, c, in_K, out, N):  # type: ignore[no-untyped-def]
    """Multiply as `multiply` does, and apply a function to each block."""
    PRODUCT()


PACK = Fields("cols length tall b bn bk rank", "sizes[rank] steps[rank]")


@loop(
    PACK, results=1, helpers=(transpose_copy, pack_panel),
    imports=lambda words, dtype, functions: tile_header(
        dtype, *functions, width=words["PANEL"], wide=words.get("FAR", False)
    ),
)  # fmt: skip
def pack(source, panels, N):  # type: ignore[no-untyped-def]
    """Copy a matrix into panels of WIDTH columns, k by k, with zeros beyond the last column.

    The width is that of a tile (PANEL is NR), or its height (MR).

    A task is one panel, or `tall` rows of all panels if the source's rows are dense.  A panel contains a piece of each
    row, and each row may be on another page of memory, so copying row by row is faster then.  b, bn, bk: offset of the
    source, its steps from column to column and from k to k.
    """
    cols, length, step, deep, tall = N.cols, N.length, N.bn, N.bk, N.tall
    across = (cols + WIDTH - 1) // WIDTH
    parts = (length + tall - 1) // tall if tall else across
    for task in range(first, last):
        at = N.b
        batch = task // parts
        part = task % parts
        rest = batch
        walk(rest, N.sizes, at=N.steps)
        to = batch * across * WIDTH * length
        if tall:
            for left in range(0, cols, WIDTH):
                w = min(WIDTH, cols - left)
                for k in range(part * tall, min(length, (part + 1) * tall)):
                    if w == WIDTH:
                        copy_row(source, at + left + k * deep, panels, to + left * length + k * WIDTH)
                    else:
                        x = source[at + left + k * deep : at + left + k * deep + w]
                        z = panels[to + left * length + k * WIDTH : to + left * length + (k + 1) * WIDTH]
                        for j in range(w):
                            z[j] = x[j]
                        for j in range(w, WIDTH):
                            z[j] = T(0)
        else:
            w = min(WIDTH, cols - part * WIDTH)
            to += part * WIDTH * length
            pack_panel(source, at + part * WIDTH * step, step, deep, panels, to, w, length)


VECTOR = Fields("rows length high deep to matrix sm sk x step batches rank", "sizes[rank] steps[rank] x_steps[rank]")


def inner(x, y):  # type: ignore[no-untyped-def]
    """Return the inner product of two dense vectors; the compiler may re-order its additions, so it vectorises."""
    total = T(0)
    for k in range(len(x)):
        total += x[k] * y[k]
    return total


@loop(VECTOR, helpers=(inner,), fastmath=("reassoc", "contract"))
def vector(matrix, x, out, N):  # type: ignore[no-untyped-def]
    """Multiply a matrix by a vector.

    A task is `high` of the `rows` elements of out, from `deep` of the `length` elements of x.  to: offset of out.
    matrix, sm, sk: offset of the matrix, its steps along out and along x.  x, step: offset and step of x.  If x is
    divided, out has a result for each piece, as in `multiply`.
    """
    rows, length, high, deep, sm, sk, step = N.rows, N.length, N.high, N.deep, N.sm, N.sk, N.step
    down = (rows + high - 1) // high
    pieces = (length + deep - 1) // deep
    spare = workspace(deep if step != 1 else 0, T)
    for task in range(first, last):
        piece = task % pieces
        k0 = piece * deep
        k1 = min(length, k0 + deep)
        i0 = task // pieces % down * high
        i1 = min(rows, i0 + high)
        batch = task // (pieces * down)
        at = N.matrix
        q = N.x + k0 * step
        rest = batch
        walk(rest, N.sizes, at=N.steps, q=N.x_steps)
        z = (piece * N.batches + batch) * rows + N.to
        at += i0 * sm + k0 * sk
        y = x[q : q + k1 - k0]
        if step != 1:
            y = spare[0 : k1 - k0]
            for k in range(k1 - k0):
                y[k] = x[q + k * step]
        if sk == 1:
            for i in range(i0, i1):
                row = matrix[at + (i - i0) * sm : at + (i - i0) * sm + k1 - k0]
                out[z + i] = inner(row, y)
        else:
            line = out[z + i0 : z + i1]
            n = i1 - i0
            for i in range(n):
                line[i] = 0
            even = (k1 - k0) // 4 * 4 if sm == 1 else 0
            for k in range(0, even, 4):
                # Four rows per iteration: the sums are read and written a quarter as often.
                r0 = matrix[at : at + n]
                r1 = matrix[at + sk : at + sk + n]
                r2 = matrix[at + 2 * sk : at + 2 * sk + n]
                r3 = matrix[at + 3 * sk : at + 3 * sk + n]
                at += 4 * sk
                for i in range(n):
                    line[i] = T(
                        line[i] + T(T(r0[i] * y[k] + r1[i] * y[k + 1]) + T(r2[i] * y[k + 2] + r3[i] * y[k + 3]))
                    )
            for k in range(even, k1 - k0):
                for i in range(n):
                    line[i] = T(line[i] + matrix[at + i * sm] * y[k])
                at += sk
    leave(spare)


ADD_PIECES = Fields("pieces rows cols to c cm cn mode batches rank alpha beta", "sizes[rank] c_steps[rank]")


@loop(ADD_PIECES)
def add_pieces(pieces, c, out, N):  # type: ignore[no-untyped-def]
    """out = alpha * the sum of the pieces in order, combined with beta * c or with out according to `mode`.  One task.

    to: offset of out.  c, cm, cn: offset of c, its steps along rows and columns.
    """
    rows, cols, mode = N.rows, N.cols, N.mode
    alpha = FACTOR(N.alpha)
    beta = FACTOR(N.beta)
    whole = N.batches * rows * cols
    total = pieces[0:whole]
    for piece in range(1, N.pieces):
        more = pieces[piece * whole : (piece + 1) * whole]
        for q in range(whole):
            total[q] = T(total[q] + more[q])
    for row in range(N.batches * rows):
        at = N.c + row % rows * N.cm
        rest = row // rows
        walk(rest, N.sizes, at=N.c_steps)
        line = out[N.to + row * cols : N.to + (row + 1) * cols]
        for j in range(cols):
            value = T(alpha * total[row * cols + j])
            if mode == 1:
                value = T(value + line[j])
            elif mode == 2:
                value = T(value + beta * c[at + j * N.cn])
            line[j] = value


def less(z, rows, start, n, f):  # type: ignore[no-untyped-def]
    """Subtract the products of eight factors f and eight rows from z.

    `rows` has eight rows of n elements; the elements from `start` on are used.
    """
    wide = len(z)
    a = rows[start : start + wide]
    b = rows[n + start : n + start + wide]
    c = rows[2 * n + start : 2 * n + start + wide]
    d = rows[3 * n + start : 3 * n + start + wide]
    e = rows[4 * n + start : 4 * n + start + wide]
    g = rows[5 * n + start : 5 * n + start + wide]
    h = rows[6 * n + start : 6 * n + start + wide]
    p = rows[7 * n + start : 7 * n + start + wide]
    s, t, u, v, w, x, y, q = f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7]
    for k in range(wide):
        z[k] -= s * a[k] + t * b[k] + u * c[k] + v * d[k] + w * e[k] + x * g[k] + y * h[k] + q * p[k]


@loop(
    PACK,
    loads=1,
    results=1,
    imports=lambda words, dtype, functions: tile_header(float32, *functions, width=words["PANEL"]),
)
def pack_pairs(source, panels, N):  # type: ignore[no-untyped-def]
    """Copy a matrix into panels of WIDTH columns, with zeros beyond the last column and row.  A task is one panel."""
    cols, step, deep = N.cols, N.bn, N.bk
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
