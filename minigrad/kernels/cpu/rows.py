"""Rows: a few totals of each row, then each element from its row's totals; memory is read once, then the cache.

The nests are `rows` and `columns`, and those of `picks.py`.  `specialize` fills in their free names.  Rows at equal
distances are computed in bands, pass by pass, because the vectors of one short row depend on each other, and those of
several rows do not.  `WORKSPACES` allocates the scratch rows.  `BAND` begins a band, fills its scratch rows and
computes its totals, and `TAKE` makes the operands' rows in the register dtype: x_0 and so on.  Totals are in the order
of `RowFn.passes`: those of `sums` and `largest` along memory, those of `down` (`TOTALS`) across it.  `ROW` is the
position of the result, `KEPT` that of the last total's terms, `F` the result, `G_0` a term of a sum down the
columns.  In the functions, `GIVEN` stands for the length, the earlier totals and `kept`, `FOUND` for the positions of
the totals, `F_0` for a term and `FINISH_0` for the last step.  `H_0` computes an element of an operand that a program
computes just before the row, from `AT_K`: an element of each operand, in the slice `RUN_K` or in memory.  A line that
assigns `...` is removed.

The compiler may re-order the additions of `sums`; a maximum is found among integers of the same order.  Tasks are
chunks of rows, or blocks of neighbours, and depend only on the shape, so the number of threads changes no bit.
"""

# ruff: noqa: B018, F821, F841
import numpy as np

from minigrad.kernels.fields import Fields, loop

BLOCK = 128  # neighbouring rows per block: their totals stay in the first-level cache

# A chunk is some rows of n elements, computed in bands of at most `band` rows.  value: the bits of the parameter.  The
# groups are those of out and each operand.  line_0, line_1: where the sums down the columns are stored.
ROWS = Fields("rows chunk chunks n band value line_0 line_1 rank", "shape[rank]", "offset step strides[rank]")
# A unit is a block of neighbouring rows; col is the step between them.
COLUMNS = Fields("blocks block cols n value rank", "shape[rank]", "offset step col strides[rank]")


def sums(in_K, GIVEN):  # type: ignore[no-untyped-def]
    """Return several independent sums over a row, computed in one loop."""
    for t in each(FOUND):
        total_t = IDENTITY()
    for j in range(n):
        for t in each(FOUND):
            term = T(F_t(in_K[j]))
            total_t = T(total_t + term)
        if KEEPS:
            kept[j] = term
    return TOTALS


def largest(in_K, GIVEN):  # type: ignore[no-untyped-def]
    """Return a maximum over a row, found among integers of the same order, because these vectorise and floats do not.

    As integers, some nan are above infinity and others below all numbers; in both cases the sum of the row is nan.
    """
    bits = IDENTITY().view(SIGNED)
    top = SIGNED(bits ^ SIGNED(SIGNED(bits >> SIGNED(BITS - 1)) & SIGNED(HIGHEST)))
    for j in range(n):
        term = T(F(in_K[j]))
        if KEEPS:
            kept[j] = term
        bits = term.view(SIGNED)
        key = SIGNED(bits ^ SIGNED(SIGNED(bits >> SIGNED(BITS - 1)) & SIGNED(HIGHEST)))
        top = key if key > top else top
    return SIGNED(top ^ SIGNED(SIGNED(top >> SIGNED(BITS - 1)) & SIGNED(HIGHEST))).view(T)


def workspaces():  # type: ignore[no-untyped-def]
    """Allocate the totals of a band, and scratch rows for the operands that are not slices and for the terms."""
    band = N.band
    filled = 0
    if SCRATCH:
        wide = (n + 63) // 64 * 64
        filled = SCRATCH * wide * band
    scratch = workspace(filled + COUNT * band, T)
    for t in each(COUNT):
        totals_t = scratch[filled + t * band : filled + (t + 1) * band]
    for k in each(FETCHED):
        base_k = ROOM_k * wide * band
        taken_k = np.int64(-1)
    for k in each(COMPUTED):
        base_k = ROOM_k * wide * band


def spare():  # type: ignore[no-untyped-def]
    """Find the last scratch row of the first row of a band."""
    base = LAST * wide * band


def next_band():  # type: ignore[no-untyped-def]
    """Find the positions of the next rows at equal distances, from row r on, and their number."""
    rest = r
    start = N.offset[0]
    from_K = N.offset[K + 1]
    walk(rest, N.shape, start=N.strides[0], from_K=N.strides[K + 1])
    count = min(N.band, line - r % line, stop - r)
    r += count


def fetch():  # type: ignore[no-untyped-def]
    """Fill the scratch rows of a band.  All rows of an operand that is the same for each row share one scratch row."""
    for k in each(FETCHED):
        wide_k = wide if move_k != 0 else 0
        if move_k != 0 or from_k != taken_k:
            taken_k = from_k
            step = N.step[k + 1]
            for i in range(count if move_k != 0 else 1):
                at_k = from_k + i * move_k
                x_k = scratch[base_k + i * wide_k : base_k + i * wide_k + n]
                if step == 1:
                    v_k = in_k[at_k : at_k + n]
                    for j in range(n):
                        x_k[j] = LOAD_k(v_k[j])
                else:
                    for j in range(n):
                        x_k[j] = LOAD_k(in_k[np.uint64(at_k + j * step)])
    for k in each(COMPUTED):
        wide_k = wide
        step_K = N.step[K + 1]
        for i in range(count):
            x_k = scratch[base_k + i * wide : base_k + i * wide + n]
            at_K = from_K + i * move_K
            u_K = RUN_K
            for j in range(n):
                x_k[j] = H_k(LOAD_K(AT_K))


def take():  # type: ignore[no-untyped-def]
    """Make row i of the operands that a loop reads: slices, or scratch rows."""
    for k in each(SLICED):
        x_k = in_k[from_k + i * move_k : from_k + i * move_k + n]
    for k in each(FILLED):
        x_k = scratch[base_k + i * wide_k : base_k + i * wide_k + n]


def passed():  # type: ignore[no-untyped-def]
    """Compute the totals of one pass for each row of a band."""
    for i in range(count):
        TAKE()
        kept = KEPT
        RESULTS = FIND


def finished():  # type: ignore[no-untyped-def]
    """Finish the totals of one pass."""
    for i in range(count):
        for t in each(FOUND):
            totals_t[i] = T(FINISH_t(totals_t[i], T(n), T(value)))


@loop(ROWS)
def rows(in_K, out, N):  # type: ignore[no-untyped-def]
    """Compute the rows of a chunk per task.  Chunks have their own sums down the columns, which the end adds up."""
    n, rank = N.n, N.rank
    value = np.int64(N.value).view(np.float64)
    WORKSPACES()
    line = N.shape[rank - 1] if rank > 0 else 1
    move = N.strides[0][rank - 1]
    move_K = N.strides[K + 1][rank - 1]
    if TERMS:
        size = n * TERMS
        own = workspace(size if N.chunks == 1 else 0, T)
        held = own if N.chunks == 1 else work
    for chunk in range(first, last):
        if TERMS:
            sums = held[chunk * size : (chunk + 1) * size]
            for j in range(size):
                sums[j] = T(0)
            for t in each(TERMS):
                sum_t = sums[n * t : n * t + n]
        r = chunk * N.chunk
        stop = min(N.rows, r + N.chunk)
        while r < stop:
            BAND()
            for i in range(count):
                ALL()
                for t in each(COUNT):
                    total_t = totals_t[i]
                z = ROW
                kept = KEPT
                if MADE:
                    for j in range(n):
                        z[j] = STORE(F(x_K[j], kept[j]))
                if STREAMED:
                    stream(out, start + i * move, z, n)
                if TERMS:
                    for j in range(n):
                        for t in each(TERMS):
                            sum_t[j] = T(sum_t[j] + G_t(x_K[j]))
    if STREAMED:
        settle()
    if TERMS:
        if first == last or N.chunks == 1:
            for k in range(1, N.chunks):
                more = held[k * size : (k + 1) * size]
                for j in range(size):
                    held[j] = T(held[j] + more[j])
            for t in each(TERMS):
                start_t = N.line_t
            for j in range(n):
                for t in each(TERMS):
                    line_t[start_t + j] = STORE(held[j + n * t])
        leave(own)
    leave(scratch)


def down():  # type: ignore[no-untyped-def]
    """Compute one total of each of `count` columns side by side."""
    for j in range(count):
        TOTAL[j] = IDENTITY()
    at_K = start_K
    for _ in range(n):
        x_K = RUN_K
        for j in range(count):
            TOTAL[j] = T(COMBINE(TOTAL[j], F(LOAD_K(AT_K))))
        at_K += N.step[K + 1]
    for j in range(count):
        TOTAL[j] = T(FINISH(TOTAL[j], T(n), T(value)))


@loop(COLUMNS)
def columns(in_K, out, N):  # type: ignore[no-untyped-def]
    """Compute rows that lie across memory: a block of rows, which are neighbours, is computed together."""
    n = N.n
    value = np.int64(N.value).view(np.float64)
    step_K = N.col[K + 1]
    scratch = workspace(COUNT * BLOCK, T)
    for t in each(COUNT):
        total_t = scratch[t * BLOCK : (t + 1) * BLOCK]
    for unit in range(first, last):
        rest = unit // N.blocks
        col = (unit - rest * N.blocks) * N.block
        count = min(N.block, N.cols - col)
        to = N.offset[0] + col * N.col[0]
        start_K = N.offset[K + 1] + col * step_K
        walk(rest, N.shape, to=N.strides[0], start_K=N.strides[K + 1])
        TOTALS()
        at_K = start_K
        for _ in range(n):
            z = out[to : to + count]
            x_K = RUN_K
            for j in range(count):
                z[j] = STORE(F(LOAD_K(AT_K)))
            to += N.step[0]
            at_K += N.step[K + 1]
    leave(scratch)
