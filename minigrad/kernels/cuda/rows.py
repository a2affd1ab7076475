"""Rows: a few totals of each row, then each element from its row's totals; a group of threads computes a row.

`LANE` of `LANES` is the index of a thread in its group, `GROUP` of `GROUPS` that of the group in the block.  Along
memory, a group is some lanes of a warp, a warp or a whole block.  Across it, the lanes of a warp compute rows that lie
side by side.

`rows` is the kernel.  Its words `TOTALS` and `ELEMENTS` are the loops of `RowFn.passes`.  If a row stays in registers,
r_K, `fetch` comes first; otherwise each loop reads the row again.  A loop is `held` or `read`.  In a loop, `BRING`
assigns elements j to j + WIDTH - 1 of operand K to x_K_0 and so on, and `BODY` uses them.  Each group sums down the
columns of its own rows, and `leave` stores the sums in a line of `work`; a second launch adds the lines.  `F` is a term
or the result, VALUE the parameter.
"""

# ruff: noqa: F821, F841
import numpy as np

from minigrad.kernels.fields import Fields


def rows_fields(rank):
    """Return the numbers of these kernels; value: the bits of a float parameter."""
    return Fields("rows n value ignore", f"shape[{rank}]", f"offset step strides[{rank}]")


def rows(in_K, out, N):
    """Compute rows of n elements; a group of threads computes one row.

    If it PICKS, compute minus the result at the element of each row with the index in in_1, or 0 if this index is
    `ignore`.  The values are stored in out, or, for a reduction, by row in memory, with 1 if the row is not ignored.
    """
    n = N.n
    value = VALUE
    lane = np.int64(LANE)
    for k in each(HELD):
        r_k = cuda.local.array(SPAN, T)
    if KEEPS:
        kept = cuda.local.array(SPAN, T)
    if TERMS:
        for t in each(TERMS):
            sum_t = cuda.local.array(SPAN, T)
        for k in range(SPAN):
            for t in each(TERMS):
                sum_t[k] = T(0)
    first = np.int64(cuda.blockIdx.x) * GROUPS
    while first < N.rows:
        inside = first + GROUP < N.rows
        row = first + GROUP if inside else np.int64(0)
        m = n if inside else np.int64(0)
        rest = row
        to = N.offset[0]
        at_K = N.offset[K + 1]
        walk(rest, N.shape, to=N.strides[0], at_K=N.strides[K + 1])
        if BACK:
            chosen = np.int64(in_1[at_1])
            counts = chosen != N.ignore and 0 <= chosen and chosen < n
            scale = T(LOAD_2(in_2[at_2]) * in_3[at_3])
        TOTALS()
        if PICKS:
            if lane == 0 and inside:
                chosen = np.int64(in_1[at_1])
                counts = chosen != N.ignore and 0 <= chosen and chosen < n
                loss = T(0)
                if counts:
                    element = LOAD_0(in_0[at_0 + chosen * N.step[1]])
                    loss = T(-F(element))
                if EACH:
                    out[to] = STORE(loss)
                else:
                    losses[row] = loss
                    counted[row] = np.int32(1) if counts else np.int32(0)
        else:
            ELEMENTS()
        first += np.int64(cuda.gridDim.x) * GROUPS
    if TERMS:
        line = (np.int64(cuda.blockIdx.x) * cuda.blockDim.y + cuda.threadIdx.y) * n
        m = n
        LEAVE_SUMS()


def held():
    """Loop over a lane's part of a row of m elements that are in registers."""
    for w in range(LOADS):
        j = (w * LANES + lane) * WIDTH
        if j < m:
            BRING()
            BODY()


def read():
    """Loop over a lane's part of a row of m elements that are in memory."""
    j = lane * WIDTH
    while j < m:
        BRING()
        BODY()
        j += np.int64(LANES) * WIDTH


def bring():
    """Assign the elements of the operands that a loop reads: from registers, by one load, or one by one."""
    for k in each(HELD):
        for i in each(WIDTH):
            x_k_i = r_k[w * WIDTH + i]
    for k in each(WIDE):
        x_k = TAKE(in_k, at_k + j)
        for i in each(WIDTH):
            x_k_i = LOAD_k(x_k[i])
    for k in each(SINGLE):
        for i in each(WIDTH):
            x_k_i = LOAD_k(in_k[at_k + (j + i) * N.step[k + 1]])


def fetch():
    """Copy a lane's part of a row into registers."""
    for k in each(READ):
        for i in each(WIDTH):
            r_k[w * WIDTH + i] = x_k_i


def total():
    """Compute one total: each lane joins the terms of its elements, and a tree joins the lanes."""
    TOTAL = START()
    OVER()
    TOTAL = T(FINISH(OF_GROUP(TOTAL)[0], T(n), value))


def join():
    """Join terms with a total."""
    for i in each(WIDTH):
        term = T(F(x_K_i))
        TOTAL = T(JOIN(TOTAL, term))
        if KEEPS:
            kept[w * WIDTH + i] = term


def result():
    """Compute elements of the result, or of the gradient if it goes BACK."""
    for i in each(WIDTH):
        y = T(F(x_K_i, kept[w * WIDTH + i]))
        if BACK:
            y = T(T(0) if not counts else (y - T(1) if j + i == chosen else y) * scale)
        z_i = STORE(y)
    if WIDELY:
        PUT(out, to + j, RESULTS)
    else:
        for i in each(WIDTH):
            out[to + (j + i) * N.step[0]] = z_i


def add():
    """Add terms to the sums down the columns."""
    for i in each(WIDTH):
        for t in each(TERMS):
            sum_t[w * WIDTH + i] = T(sum_t[w * WIDTH + i] + F_t(x_K_i))


def leave():
    """Store the sums of a group in its line."""
    for t in each(TERMS):
        for i in each(WIDTH):
            work[line * TERMS + n * t + j + i] = sum_t[w * WIDTH + i]
