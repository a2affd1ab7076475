"""Rows: a few totals of each, then each element from its row's totals; one read from memory, the rest from the cache.

Free names, filled in by `specialize`: in the nests `ROW_K` an operand's row in registers' dtype (a slice, or a
scratch row that `fetch` fills, once for rows that are the same memory: `f_K` is where it comes from), `TOTAL_0` to
`TOTAL_3` calls of the functions above the nest or parts of the two totals that `PAIR_0` and `PAIR_1` find in one
loop, `F` the result, `KEPT` where the last total leaves its terms for it, `ROW` where the result is made, `G` and `H`
what is summed down the columns, `SCRATCH_K` and `SPARE` parts of the scratch memory.  A line that assigns `...`, and
what stands under `if 0:`, is left out.  In the totals `F` is one term, `START` the neutral element, `FINISH` what is
done at the end.  A sum's additions may be re-ordered by the compiler; a maximum is found among integers of the same
order.  Tasks are chunks of rows, or blocks of neighbours, cut by the shape alone, so the number of threads changes no
bit.
"""

# ruff: noqa: B018, F821, F841
import numpy as np

from minigrad.kernels.fields import Fields

# A chunk is some rows of n.  value: the parameter's bits.  The groups are those of out and each operand.  line0, line1:
# where the sums down the columns go.
ROWS = Fields("rows chunk chunks n value line0 line1 rank", "shape[rank]", "offset step strides[rank]")
PICK = Fields("rows chunk chunks n ignore rank", "shape[rank]", "offset step strides[rank]")
# A unit is a block of neighbouring rows; col is the step from one to the next.
COLUMNS = Fields("blocks block cols n value rank", "shape[rank]", "offset step col strides[rank]")


def fetch(x, at, step, row):  # type: ignore[no-untyped-def]
    """A strided or narrow row as a dense one of registers' dtype."""
    if step == 1:
        v = x[at : at + len(row)]
        for j in range(len(row)):
            row[j] = LOAD(v[j])
    else:
        for j in range(len(row)):
            row[j] = LOAD(x[at + j * step])
    return row


def total(in_K, n, value, a, b, c):  # type: ignore[no-untyped-def]
    """One sum over a row from the row's elements and the totals before it."""
    joined = START
    for j in range(n):
        joined = T(joined + F(in_K[j], a, b, c))
    return T(FINISH(joined, T(n), T(value)))


def total_kept(in_K, n, value, a, b, c, kept):  # type: ignore[no-untyped-def]
    """`total`, with the terms left in `kept`."""
    joined = START
    for j in range(n):
        one = T(F(in_K[j], a, b, c))
        kept[j] = one
        joined = T(joined + one)
    return T(FINISH(joined, T(n), T(value)))


def total_two(in_K, n, value, a, b, c):  # type: ignore[no-untyped-def]
    """Two sums of which neither needs the other, in one loop."""
    joined = START
    other = START
    for j in range(n):
        joined = T(joined + F(in_K[j], a, b, c))
        other = T(other + G(in_K[j], a, b, c))
    return T(FINISH(joined, T(n), T(value))), T(FINISH_G(other, T(n), T(value)))


def largest(in_K, n, value, a, b, c):  # type: ignore[no-untyped-def]
    """One maximum over a row, as an integer of the same order: of floats it could not be found in vector registers.
    Some nan are beyond infinity and some are below all; with either, the row's sum is nan."""
    top = SIGNED(START)
    for j in range(n):
        bits = T(F(in_K[j], a, b, c)).view(SIGNED)
        key = SIGNED(bits ^ SIGNED(SIGNED(bits >> SIGNED(SHIFT)) & SIGNED(HIGHEST)))
        top = key if key > top else top
    joined = SIGNED(top ^ SIGNED(SIGNED(top >> SIGNED(SHIFT)) & SIGNED(HIGHEST))).view(T)
    return T(FINISH(joined, T(n), T(value)))


def rows(in_K, out, N):  # type: ignore[no-untyped-def]
    """Each chunk of rows has its own sums down the columns, in work if there are several; they are folded at the end
    into lines of their own."""
    n = N.n
    value = np.int64(N.value).view(np.float64)
    if SCRATCH:
        wide = (n + 63) // 64 * 64
        scratch = room(SCRATCH * wide, T)
    s_K = SCRATCH_K
    f_K = NOWHERE_K
    spare = SPARE
    if TERMS:
        size = n * TERMS
        own = room(size if N.chunks == 1 else 0, T)
        held = own if N.chunks == 1 else work
    for t in range(first, last):
        if TERMS:
            sums = held[t * size : (t + 1) * size]
            for j in range(size):
                sums[j] = T(0)
        for r in range(t * N.chunk, min(N.rows, (t + 1) * N.chunk)):
            rest = r
            to = N.offset[0]
            at_K = N.offset[K + 1]
            walk(rest, N.shape, to=N.strides[0], at_K=N.strides[K + 1])
            x_K = ROW_K
            f_K = FETCHED_K
            z = ROW
            w = KEPT
            ab = PAIR_0
            a = TOTAL_0
            b = TOTAL_1
            ce = PAIR_1
            c = TOTAL_2
            e = TOTAL_3
            if MADE:
                for j in range(n):
                    z[j] = STORE(F(x_K[j], a, b, c, e, w[j]))
            if STREAMED:
                stream(out, to, spare, n)
            if TERMS:
                others = OTHERS
                for j in range(n):
                    sums[j] = T(sums[j] + G(x_K[j], a, b, c, e))
                    if BOTH:
                        others[j] = T(others[j] + H(x_K[j], a, b, c, e))
    if STREAMED:
        settle()
    if TERMS:
        if first == last or N.chunks == 1:
            for k in range(1, N.chunks):
                more = held[k * size : (k + 1) * size]
                for j in range(size):
                    held[j] = T(held[j] + more[j])
            start_0 = N.line0
            start_1 = START_1
            for j in range(n):
                line_0[start_0 + j] = STORE(held[j])
                if BOTH:
                    line_1[start_1 + j] = STORE(held[n + j])
        leave(own)
    if SCRATCH:
        leave(scratch)


def total_down(in_K, N, at, count, value, a, b, c, e):  # type: ignore[no-untyped-def]
    """One total of each of `count` columns side by side, into TARGET."""
    n = N.n
    step_K = STEP_K
    for j in range(count):
        TARGET[j] = START
    p_K = AT_K
    for _ in range(n):
        x_K = VIEW_K
        for j in range(count):
            TARGET[j] = T(JOIN(TARGET[j], F(LOAD_K(x_K[PLACE_K]), a[j], b[j], c[j])))
        p_K += N.step[K + 1]
    for j in range(count):
        TARGET[j] = T(FINISH(TARGET[j], T(n), T(value)))
    return T(0)


def columns(in_K, out, N):  # type: ignore[no-untyped-def]
    """The rows lie across memory, and neighbours side by side: a block of them is worked on at once."""
    n = N.n
    value = np.int64(N.value).view(np.float64)
    step_K = N.col[K + 1]
    at = room(OPERANDS, np.int64)
    scratch = room(TOTALS * BLOCK, T)
    a = COLUMN_0
    b = COLUMN_1
    c = COLUMN_2
    e = COLUMN_3
    for unit in range(first, last):
        rest = unit // N.blocks
        col = (unit - rest * N.blocks) * N.block
        count = min(N.block, N.cols - col)
        to = N.offset[0] + col * N.col[0]
        p_K = N.offset[K + 1] + col * step_K
        walk(rest, N.shape, to=N.strides[0], p_K=N.strides[K + 1])
        AT_K = p_K
        TOTAL_0
        TOTAL_1
        TOTAL_2
        TOTAL_3
        for _ in range(n):
            z = out[to : to + count]
            x_K = VIEW_K
            for j in range(count):
                z[j] = STORE(F(LOAD_K(x_K[PLACE_K]), a[j], b[j], c[j], e[j]))
            to += N.step[0]
            p_K += N.step[K + 1]
    leave(at)
    leave(scratch)


def pick(in_K, out, N):  # type: ignore[no-untyped-def]
    """Minus the result at the element of each row that in_1 names; 0 where it names `ignore`.

    A kernel stores each of them, or their sum, or their mean over the rows that count.  Where there are several tasks,
    they leave in work what the end joins: the losses of all rows, then how many rows of each task count.
    """
    n = N.n
    value = 0.0
    if SCRATCH:
        wide = (n + 63) // 64 * 64
        scratch = room(SCRATCH * wide, T)
    s_0 = SCRATCH_0
    only = N.chunks == 1
    joined = np.float64(0)
    count = 0
    for t in range(first, last):
        counted = 0
        for r in range(t * N.chunk, min(N.rows, (t + 1) * N.chunk)):
            rest = r
            to = N.offset[0]
            at_K = N.offset[K + 1]
            walk(rest, N.shape, to=N.strides[0], at_K=N.strides[K + 1])
            chosen = np.int64(in_1[at_1])
            if chosen < 0 or chosen >= n:  # ignored, or changed by another thread since the classes were checked
                chosen = N.ignore
            loss = T(0)
            if chosen != N.ignore:
                x_0 = ROW_0
                a = TOTAL_0
                b = TOTAL_1
                loss = T(-F(x_0[chosen], a, b, a, a, x_0[chosen]))
                counted += 1
            if EACH:
                out[to] = STORE(loss)
            if JOINED:
                if only:
                    joined += loss
                else:
                    work[r] = loss
        if JOINED:
            count += counted
            if not only:
                work[N.rows + t] = counted
    if SCRATCH:
        leave(scratch)
    if JOINED:
        if first == last:
            for r in range(N.rows):
                joined += work[r]
            for t in range(N.chunks):
                count += np.int64(work[N.rows + t])
        if only or first == last:
            if MEAN:
                joined /= count
            out[N.offset[0]] = STORE(T(joined))


def pick_backward(in_K, out, N):  # type: ignore[no-untyped-def]
    """The gradient of `pick`: (result - 1 at the named element) times in_2, over the count for a mean; F the result."""
    n = N.n
    value = 0.0
    rank = N.rank
    if SCRATCH:
        wide = (n + 63) // 64 * 64
        scratch = room(SCRATCH * wide, T)
    s_0 = SCRATCH_0
    spare = SPARE
    share = 1.0
    if MEAN:
        count = 0
        cols = N.shape[rank - 1] if rank > 0 else 1
        step = N.strides[2][rank - 1]
        for rest in range(N.rows // cols):
            at = N.offset[2]
            for d in range(rank - 2, -1, -1):
                at += rest % N.shape[d] * N.strides[2][d]
                rest //= N.shape[d]
            for j in range(cols):
                count += 1 if np.int64(in_1[at + j * step]) != N.ignore else 0
        share = np.float64(1) / count
    for t in range(first, last):
        for r in range(t * N.chunk, min(N.rows, (t + 1) * N.chunk)):
            rest = r
            to = N.offset[0]
            at_K = N.offset[K + 1]
            walk(rest, N.shape, to=N.strides[0], at_K=N.strides[K + 1])
            z = out[to : to + n]
            chosen = np.int64(in_1[at_1])
            if chosen < 0 or chosen >= n:  # ignored, or changed by another thread since the classes were checked
                chosen = N.ignore
            if chosen == N.ignore:
                for j in range(n):
                    z[j] = STORE(T(0))
            else:
                scale = T(LOAD_2(in_2[at_2]) * T(share))
                x_0 = ROW_0
                w = KEPT
                a = TOTAL_0
                b = TOTAL_1
                there = T((F(x_0[chosen], a, b, a, a, w[chosen]) - T(1)) * scale)
                for j in range(n):
                    z[j] = STORE(T(F(x_0[j], a, b, a, a, w[j]) * scale))
                z[chosen] = STORE(there)
    if SCRATCH:
        leave(scratch)
