"""Products by tiles: a block computes HIGH x BROAD elements of a result, with DEPTH inner indices at a time.

All threads copy a slice of both operands to shared memory.  Then each thread multiplies its part: a small tile in
registers, or with MMA its share of a warp's product on the tensor cores.  Shared memory has STAGES slices: while one is
multiplied, the next ones are being copied, and one barrier per slice is enough.

Side 0 is the left operand and its rows, side 1 the right operand and its columns.  With `if STORED_s:`, elements are
loaded one by one, converted, and stored after the multiplications; otherwise an operand is copied by 16 bytes at a
time, without registers.  PLACE_s is the position of an element of a slice; neither the stores nor the loads of a warp
have bank conflicts.

With WINDOWS, the right operand is an image that is read through windows.  A column is an output, and an inner index is
a channel and a tap, or the other way round; each has four dims.  Elements outside the image are 0.

Numbers: tasks: their count; each task is a tile, of `down` x `across` tiles.  pieces: how many pieces the inner dim
has, of `deep` inner indices each; the sums of each piece are a separate result.  a, b, c, to: where the operands and
the result begin.  side_s, inner_s: the steps of the operands along their sides and along the inner dim; both are 0
where the lists of windows replace them.  cm, cn, om, on: the steps of in_2 and of the result along rows and columns.
"""

# ruff: noqa: F821, F841
import numpy as np

from minigrad.kernels.fields import Fields, loop

SIDES = 2  # operands, whose statements are written once
BAND = 8  # rows of tiles computed together, so that they share their operands in the second-level cache
NUMBERS = (
    "tasks down across pieces deep rows cols length alpha beta a side_0 inner_0 b inner_1 side_1 c cm cn to om on piece"
)
BATCH = "sizes a_steps b_steps c_steps to_steps"
FOUR = "col_sizes col_magic col_shift k_sizes k_magic k_shift a_k b_k b_col to_col"
THREE = "low image col_move k_move"


def mixed(row, within):
    """Return the position of an element in rows of 32 elements for the tensor cores.

    Groups of eight elements are exchanged within a row, differently from row to row.  So neither the groups of one row
    nor the same group of eight rows are in one bank of shared memory.
    """
    return row * 32 + (((within >> 3) ^ ((row >> 1) & 3)) << 3) + (within & 7)


def mixed_wide(row, within, length):
    """Return the position of an element, as `mixed` does, in rows of 64 elements or more."""
    return row * length + (((within >> 3) ^ (row & 7)) << 3) + (within & 7)


def left_of(k, at, N):
    """Return the position of an inner index in a row of the left operand."""
    rest = QUOTIENT(k, N.k_sizes[3], N.k_magic[3], N.k_shift[3])
    at += (k - rest * N.k_sizes[3]) * N.a_k[3]
    more = QUOTIENT(rest, N.k_sizes[2], N.k_magic[2], N.k_shift[2])
    at += (rest - more * N.k_sizes[2]) * N.a_k[2]
    last = QUOTIENT(more, N.k_sizes[1], N.k_magic[1], N.k_shift[1])
    return at + (more - last * N.k_sizes[1]) * N.a_k[1] + last * N.a_k[0]


def seen(k, at, p0, p1, p2, N):
    """Return the position in the image of the element of an inner index, or -1 outside the image."""
    rest = QUOTIENT(k, N.k_sizes[3], N.k_magic[3], N.k_shift[3])
    i = k - rest * N.k_sizes[3]
    at += i * N.b_k[3]
    p2 += i * N.k_move[2]
    more = QUOTIENT(rest, N.k_sizes[2], N.k_magic[2], N.k_shift[2])
    i = rest - more * N.k_sizes[2]
    at += i * N.b_k[2]
    p1 += i * N.k_move[1]
    last = QUOTIENT(more, N.k_sizes[1], N.k_magic[1], N.k_shift[1])
    i = more - last * N.k_sizes[1]
    at += i * N.b_k[1] + last * N.b_k[0]
    p0 += i * N.k_move[0]
    inside = p0 >= 0 and p0 < N.image[0] and p1 >= 0 and p1 < N.image[1] and p2 >= 0 and p2 < N.image[2]
    return at if inside else np.int64(-1)


def apart(col, N):
    """Return the indices of a column in its four dims."""
    rest = QUOTIENT(col, N.col_sizes[3], N.col_magic[3], N.col_shift[3])
    more = QUOTIENT(rest, N.col_sizes[2], N.col_magic[2], N.col_shift[2])
    last = QUOTIENT(more, N.col_sizes[1], N.col_magic[1], N.col_shift[1])
    return last, more - last * N.col_sizes[1], rest - more * N.col_sizes[2], col - rest * N.col_sizes[3]


# The lists for windows are empty in a product without windows.
LENGTHS = {"rank": BATCH, "four": FOUR, "three": THREE}
TILES = Fields(NUMBERS, " ".join([f"{name}[{length}]" for length, names in LENGTHS.items() for name in names.split()]))


@loop(TILES)
def tiles(in_K, out, N):
    """out = alpha * in_0 @ in_1 + beta * in_2, without the sum if there is no in_2."""
    for s in each(SIDES):
        shared_s = cuda.shared.array(STAGES * SLICE_s, KEPT, alignment=16)
    for s in each(SIDES):
        if STORED_s:
            ahead_s = cuda.local.array(COPIES_s, KEPT)
    for s in each(SIDES):
        x_s = cuda.local.array(HELD_s, HELD)
    acc = cuda.local.array(TALL * LONG, T)
    t = np.int64(cuda.threadIdx.x)
    lane = t % 32
    for s in each(SIDES):
        line_s = LINE_s
        k_s = K_s
    for s in each(SIDES):
        own_s = OWN_s
    for s in each(SIDES):
        step_s = LINES_s * N.side_s + DEEP_s * N.inner_s
    task = np.int64(cuda.blockIdx.y) * cuda.gridDim.x + cuda.blockIdx.x
    if task < N.tasks:
        # The task determines the tile, the part of the inner dim, and the matrix of the batch.
        tile = task % (N.down * N.across)
        part = task // (N.down * N.across) % N.pieces
        batch = task // (N.down * N.across * N.pieces)
        band = tile // (BAND * N.across)
        tile -= band * BAND * N.across
        height = min(N.down - band * BAND, np.int64(BAND))
        row0 = (band * BAND + tile % height) * HIGH
        col0 = tile // height * BROAD
        a = N.a + (row0 + line_0) * N.side_0
        b = N.b
        walk(batch, N.sizes, a=N.a_steps, b=N.b_steps)
        start = part * N.deep
        length = min(N.length - start, N.deep)
        steps = np.int32((length + DEPTH - 1) // DEPTH)
        size_0 = np.int32(min(N.rows - row0, np.int64(HIGH)))
        size_1 = np.int32(min(N.cols - col0, np.int64(BROAD)))
        for e in range(TALL * LONG):
            acc[e] = T(0)
        if WINDOWS:
            m0, m1, m2, m3 = apart(col0 + line_1, N)
            b += m0 * N.b_col[0] + m1 * N.b_col[1] + m2 * N.b_col[2] + m3 * N.b_col[3]
            p0 = N.low[0] + m1 * N.col_move[0]
            p1 = N.low[1] + m2 * N.col_move[1]
            p2 = N.low[2] + m3 * N.col_move[2]
        else:
            a += (start + k_0) * N.inner_0
            b += (col0 + line_1) * N.side_1 + (start + k_1) * N.inner_1
        step = np.int32(0)
        while step < steps + STAGES - 1:
            slot = np.uint32(step) % np.uint32(STAGES)
            if step < steps:
                # Load the next slice: into shared memory, or into registers first.
                deep = np.int32(min(length - step * DEPTH, np.int64(DEPTH)))
                at_1 = b
                if WINDOWS:
                    k = start + step * DEPTH
                    at_0 = left_of(k + k_0, a, N)
                else:
                    at_0 = a
                    a += DEPTH * N.inner_0
                    b += DEPTH * N.inner_1
                for s in each(SIDES):
                    for e in range(COPIES_s):
                        inside = line_s + e * LINES_s < size_s and k_s + e * DEEP_s < deep
                        if IMAGE_s:
                            where = seen(k + k_s + e * DEEP_s, at_s, p0, p1, p2, N)
                            inside = inside and where >= 0
                        else:
                            where = at_s + e * step_s
                        if STORED_s:
                            ahead_s[e] = TAKE_s(in_s[where]) if inside else KEPT(0)
                        else:
                            # Outside, no byte is copied; the position only has to exist.
                            position = slot * SLICE_s + PLACE_s(line_s + e * LINES_s, k_s + e * DEEP_s)
                            copy_async(shared_s, position, in_s, where if inside else 0, 8 if inside else 0)
            if ASYNC:
                copies_sent()
            if step >= STAGES - 1 and own_0 < size_0 and own_1 < size_1:
                # Multiply the slice that was copied first.
                for s in each(SIDES):
                    from_s = (step + 1) % STAGES * SLICE_s
                for kk in range(0, DEPTH, EACH):
                    if MMA:
                        for s in each(SIDES):
                            for i in range(PARTS_s):
                                v = MATRICES_s(shared_s, from_s + FRAGMENT_s(own_s, i, kk))
                                for q in range(4):
                                    x_s[i * 4 + q] = v[q]
                        for i in range(0, TALL, 2):
                            for j in range(0, LONG, 2):
                                sums = i * LONG + j * 2
                                w = MULTIPLY(x_0, i * 2, x_1, j, acc, sums)
                                for q in range(4):
                                    acc[sums + q] = w[q]
                    else:
                        for s in each(SIDES):
                            for i in range(PARTS_s):
                                v = LANES_s(shared_s, from_s + PLACE_s(own_s + i * GAP_s, kk))
                                for q in range(WIDTH_s):
                                    x_s[i * WIDTH_s + q] = v[q]
                        for i in range(TALL):
                            for j in range(LONG):
                                acc[i * LONG + j] = T(acc[i * LONG + j] + T(x_0[i] * x_1[j]))
            for s in each(SIDES):
                if STORED_s:
                    if step < steps:
                        for e in range(COPIES_s):
                            position = slot * SLICE_s + PLACE_s(line_s + e * LINES_s, k_s + e * DEEP_s)
                            store_1(shared_s, position, (ahead_s[e],))
            if ASYNC:
                LANDED()
            cuda.syncthreads()
            step = np.int32(step + 1)
        alpha = FACTOR(N.alpha)
        if ADDED:
            beta = FACTOR(N.beta)
        c = N.c
        to = N.to + task // (N.down * N.across) % N.pieces * N.piece
        batch = task // (N.down * N.across * N.pieces)
        walk(batch, N.sizes, c=N.c_steps, to=N.to_steps)
        for j in range(LONG):
            col = col0 + own_1 + COLUMN(j)
            if col < N.cols:
                if WINDOWS:
                    m0, m1, m2, m3 = apart(col, N)
                    at = to + m0 * N.to_col[0] + m1 * N.to_col[1] + m2 * N.to_col[2] + m3 * N.to_col[3]
                else:
                    at = to + col * N.on
                for i in range(TALL):
                    row = row0 + own_0 + ROW(i)
                    if row < N.rows:
                        value = T(alpha * acc[ENTRY(i, j)])
                        if ADDED:
                            value = T(value + T(beta * LOAD_2(in_2[c + row * N.cm + col * N.cn])))
                        out[at + row * N.om] = STORE(value)
