"""Rows: a few totals of each row, then each element from its row's totals; memory is read once, then the cache.

The nests are `rows`, `columns`, `pick`, `pick_backward` and `unpick`.  `specialize` fills in their free names.  `ROOMS`
allocates the scratch rows, and `TAKE` makes the operands' rows in the register dtype: x_0 and so on.  `TOTALS` computes
the totals in the order of `RowFn.passes`: with `sums` and `largest` along memory, with `down` across it.  `ROW` is the
position of the result, `KEPT` that of the last total's terms, `F` the result, `G_0` a term of a sum down the columns.
In the functions, `GIVEN` stands for the parameter, the earlier totals and `kept`, `FOUND` for the positions of the
totals, `F_0` for a term and `FINISH_0` for the last step.  `H_0` computes an element of an operand that a program
computes just before the row, from `AT_K`: an element of each operand, in the slice `RUN_K` or in memory.  A line that
assigns `...` is removed.

The compiler may re-order the additions of `sums`; a maximum is found among integers of the same order.  Tasks are
chunks of rows, or blocks of neighbours, and depend only on the shape, so the number of threads changes no bit.
"""

# ruff: noqa: B018, F821, F841
import numpy as np

from minigrad.kernels.fields import Fields

# A chunk is some rows of n elements.  value: the bits of the parameter.  The groups are those of out and each operand.
# line_0, line_1: where the sums down the columns are stored.
ROWS = Fields("rows chunk chunks n value line_0 line_1 rank", "shape[rank]", "offset step strides[rank]")
PICK = Fields("rows chunk chunks n ignore rank", "shape[rank]", "offset step strides[rank]")
# A unit is a block of neighbouring rows; col is the step between them.
COLUMNS = Fields("blocks block cols n value rank", "shape[rank]", "offset step col strides[rank]")


def sums(in_K, n, GIVEN):  # type: ignore[no-untyped-def]
    """Return several independent sums over a row, computed in one loop."""
    for t in each(FOUND):
        total_t = START()
    for j in range(n):
        for t in each(FOUND):
            term = T(F_t(in_K[j]))
            total_t = T(total_t + term)
        if KEEPS:
            kept[j] = term
    for t in each(FOUND):
        total_t = T(FINISH_t(total_t, T(n), T(value)))
    return TOTALS


def largest(in_K, n, GIVEN):  # type: ignore[no-untyped-def]
    """Return a maximum over a row, found among integers of the same order, because these vectorise and floats do not.

    As integers, some nan are above infinity and others below all numbers; in both cases the sum of the row is nan.
    """
    top = SIGNED(LEAST)
    for j in range(n):
        term = T(F(in_K[j]))
        if KEEPS:
            kept[j] = term
        bits = term.view(SIGNED)
        key = SIGNED(bits ^ SIGNED(SIGNED(bits >> SIGNED(SHIFT)) & SIGNED(HIGHEST)))
        top = key if key > top else top
    joined = SIGNED(top ^ SIGNED(SIGNED(top >> SIGNED(SHIFT)) & SIGNED(HIGHEST))).view(T)
    return T(FINISH(joined, T(n), T(value)))


def workspaces():  # type: ignore[no-untyped-def]
    """Allocate scratch rows for the operands that are not slices, and a spare one."""
    if SCRATCH:
        wide = (n + 63) // 64 * 64
        scratch = workspace(SCRATCH * wide, T)
    for k in each(FETCHED):
        x_k = scratch[ROOM_k * wide : ROOM_k * wide + n]
        taken_k = np.int64(-1)
    for k in each(COMPUTED):
        x_k = scratch[ROOM_k * wide : ROOM_k * wide + n]
    if SPARE:
        spare = scratch[LAST * wide : LAST * wide + n]


def take():  # type: ignore[no-untyped-def]
    """Make the operands' rows: slices, or scratch rows, which stay filled if the next row is the same memory."""
    for k in each(SLICED):
        x_k = in_k[at_k : at_k + n]
    for k in each(FETCHED):
        if at_k != taken_k:
            taken_k = at_k
            step = N.step[k + 1]
            if step == 1:
                v_k = in_k[at_k : at_k + n]
                for j in range(n):
                    x_k[j] = LOAD_k(v_k[j])
            else:
                for j in range(n):
                    x_k[j] = LOAD_k(in_k[np.uint64(at_k + j * step)])
    for k in each(COMPUTED):
        u_K = RUN_K
        step_K = N.step[K + 1]
        for j in range(n):
            x_k[j] = H_k(LOAD_K(AT_K))


def rows(in_K, out, N):  # type: ignore[no-untyped-def]
    """Compute the rows of a chunk per task.  Chunks have their own sums down the columns, which the end adds up."""
    n = N.n
    value = np.int64(N.value).view(np.float64)
    ROOMS()
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
        for r in range(chunk * N.chunk, min(N.rows, (chunk + 1) * N.chunk)):
            rest = r
            to = N.offset[0]
            at_K = N.offset[K + 1]
            walk(rest, N.shape, to=N.strides[0], at_K=N.strides[K + 1])
            TAKE()
            z = ROW
            kept = KEPT
            TOTALS()
            if MADE:
                for j in range(n):
                    z[j] = STORE(F(x_K[j], kept[j]))
            if STREAMED:
                stream(out, to, spare, n)
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
    if SCRATCH:
        leave(scratch)


def down():  # type: ignore[no-untyped-def]
    """Compute one total of each of `count` columns side by side."""
    for j in range(count):
        TOTAL[j] = START()
    p_K = at_K
    for _ in range(n):
        x_K = VIEW_K
        for j in range(count):
            TOTAL[j] = T(JOIN(TOTAL[j], F(LOAD_K(x_K[PLACE_K]))))
        p_K += N.step[K + 1]
    for j in range(count):
        TOTAL[j] = T(FINISH(TOTAL[j], T(n), T(value)))


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
        at_K = N.offset[K + 1] + col * step_K
        walk(rest, N.shape, to=N.strides[0], at_K=N.strides[K + 1])
        TOTALS()
        p_K = at_K
        for _ in range(n):
            z = out[to : to + count]
            x_K = VIEW_K
            for j in range(count):
                z[j] = STORE(F(LOAD_K(x_K[PLACE_K])))
            to += N.step[0]
            p_K += N.step[K + 1]
    leave(scratch)


def pick(in_K, out, N):  # type: ignore[no-untyped-def]
    """Compute minus the result at the element of each row with the index in in_1; 0 if this index is `ignore`.

    If there are weights, each value is multiplied by the element of in_2 with this index.  A kernel stores the values,
    their sum, or their mean over the rows that are not ignored.  Several tasks store sums and counts, or sums of
    weights, in `work`, and the end joins them.  Without totals, only these elements are read.
    """
    n = N.n
    rank = N.rank
    value = 0.0
    ROOMS()
    only = N.chunks == 1
    joined = np.float64(0)
    count = np.float64(0)
    line = N.shape[rank - 1] if rank > 0 else 1
    move = N.strides[0][rank - 1]
    move_K = N.strides[K + 1][rank - 1]
    for t in range(first, last):
        if not only:
            joined = np.float64(0)
            count = np.float64(0)
        r = t * N.chunk
        stop = min(N.rows, r + N.chunk)
        while r < stop:  # a run of rows at equal distances needs no division per row
            rest = r
            to = N.offset[0]
            at_K = N.offset[K + 1]
            walk(rest, N.shape, to=N.strides[0], at_K=N.strides[K + 1])
            run = min(line - r % line, stop - r)
            r += run
            for _ in range(run):
                chosen = np.int64(in_1[np.uint64(at_1)])
                if chosen != N.ignore and (chosen < 0 or chosen >= n):
                    flag[0] = 1
                    chosen = N.ignore
                loss = T(0)
                if chosen != N.ignore:
                    if TOTALLED:
                        TAKE()
                        TOTALS()
                        loss = T(-F(x_0[chosen]))
                    else:
                        loss = T(-F(LOAD_0(in_0[np.uint64(at_0 + chosen * N.step[1])])))
                    if WEIGHTED:
                        share = T(LOAD_2(in_2[np.uint64(at_2 + chosen * N.step[3])]))
                        loss = T(loss * share)
                        count += share
                    else:
                        count += 1
                if EACH:
                    out[np.uint64(to)] = STORE(loss)
                if JOINED:
                    joined += loss
                to += move
                at_K += move_K
        if JOINED:
            if not only:
                work[t] = joined
                work[N.chunks + t] = count
    if SCRATCH:
        leave(scratch)
    if JOINED:
        if first == last:
            for t in range(N.chunks):
                joined += work[t]
                count += work[N.chunks + t]
        if only or first == last:
            if MEAN:
                joined /= count
            out[N.offset[0]] = STORE(T(joined))


def pick_backward(in_K, out, N):  # type: ignore[no-untyped-def]
    """Compute the gradient of `pick`: in_2 times (F - 1 at the element with the index, F elsewhere).

    For a mean, it is divided by the count.
    """
    n = N.n
    value = 0.0
    rank = N.rank
    ROOMS()
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
            if chosen != N.ignore and (chosen < 0 or chosen >= n):
                flag[0] = 1
                chosen = N.ignore
            if chosen == N.ignore:
                for j in range(n):
                    z[j] = STORE(T(0))
            else:
                scale = T(LOAD_2(in_2[at_2]) * T(share))
                TAKE()
                kept = KEPT
                TOTALS()
                there = T((F(x_0[chosen], kept[chosen]) - T(1)) * scale)
                for j in range(n):
                    z[j] = STORE(T(F(x_0[j], kept[j]) * scale))
                z[chosen] = STORE(there)
    if SCRATCH:
        leave(scratch)


def unpick(in_K, out, N):  # type: ignore[no-untyped-def]
    """Store minus in_0 at the element of each row with the index in in_1, and 0 at all other elements.

    The value is multiplied by the element of in_2 with this index, if there are weights.  For a mean, it is divided by
    the sum of the weights of all rows, or by the number of rows, that are not ignored.
    """
    n = N.n
    rank = N.rank
    step = N.step[0]
    line = N.shape[rank - 1] if rank > 0 else 1
    move = N.strides[0][rank - 1]
    move_K = N.strides[K + 1][rank - 1]
    scale = 1.0
    if MEAN:
        count = np.float64(0)
        for rest in range(N.rows // line):
            at = N.offset[2]
            for d in range(rank - 2, -1, -1):
                at += rest % N.shape[d] * N.strides[2][d]
                rest //= N.shape[d]
            for _ in range(line):
                chosen = np.int64(in_1[np.uint64(at)])
                if WEIGHTED:
                    if chosen != N.ignore and chosen >= 0 and chosen < n:
                        count += T(LOAD_2(in_2[np.uint64(N.offset[3] + chosen * N.step[3])]))
                else:
                    count += 1.0 if chosen != N.ignore else 0.0
                at += move_1
        scale = np.float64(1) / count
    # The zeros of neighbouring rows are written along memory, whether the rows lie along it or across it.
    for t in range(first, last):
        r = t * N.chunk
        stop = min(N.rows, r + N.chunk)
        while r < stop:
            rest = r
            to = N.offset[0]
            at_K = N.offset[K + 1]
            walk(rest, N.shape, to=N.strides[0], at_K=N.strides[K + 1])
            run = min(line - r % line, stop - r)
            r += run
            lines, length, far, near = (n, run, step, move) if move == 1 else (run, n, move, step)
            if step == 1 and move == n:
                lines, length, near = 1, run * n, 1
            for i in range(lines):
                if near == 1:
                    z = out[to + i * far : to + i * far + length]
                    for j in range(length):
                        z[j] = STORE(T(0))
                else:
                    for j in range(length):
                        out[np.uint64(to + i * far + j * near)] = STORE(T(0))
            for _ in range(run):
                chosen = np.int64(in_1[np.uint64(at_1)])
                if chosen != N.ignore:
                    if chosen < 0 or chosen >= n:
                        flag[0] = 1
                    else:
                        value = T(LOAD_0(in_0[np.uint64(at_0)]) * T(scale))
                        if WEIGHTED:
                            value = T(value * T(LOAD_2(in_2[np.uint64(at_2 + chosen * N.step[3])])))
                        out[np.uint64(to + chosen * step)] = STORE(T(-value))
                to += move
                at_K += move_K
