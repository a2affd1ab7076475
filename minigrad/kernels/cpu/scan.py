"""Scans: every partial result of a fold along one dim, and the positions of running extremes.

Free names, filled in by `specialize`: `F` the op's scalar function of the accumulator and the operands' elements,
`COMBINE` that of two accumulators, `IDENTITY`, `LOAD_K` and `STORE`, `RANGE`; `VIEW_K` and `PLACE_K`, `IN_A_K` and
`FROM_A_K`, `OUT_A` and `TO_A` how elements are indexed: a stretch of step 1 from a slice, others by their place.  An
addition waits for the one before it, so `along` runs four chains at once; a long row is cut into blocks, whose totals
`carry` finds first, if the scan says how totals combine.  Blocks come from the shape alone, so the number of threads
changes no bit.
"""

# ruff: noqa: B018, F821, F841
import numpy as np


def carry(in_K, out, numbers):  # type: ignore[no-untyped-def]
    """The total of each block of each row; numbers as in `along`, out is dense and of the accumulator's dtype."""
    n = numbers[1]
    rank = numbers[6]
    step = numbers[9 + 2 * rank + 1]
    for u in RANGE(numbers[0] * numbers[3]):
        acc = np.empty(LANES, T)
        rest = u // numbers[3]
        start = (u - rest * numbers[3]) * numbers[2]
        length = min(numbers[2], n - start)
        at = numbers[9 + 2 * rank] + start * step
        for d in range(rank - 1, -1, -1):
            at += rest % numbers[7 + d] * numbers[9 + 2 * rank + 2 + d]
            rest //= numbers[7 + d]
        for j in range(LANES):
            acc[j] = IDENTITY
        for i in range(0, length, LANES):
            x = VIEW
            for j in range(min(LANES, length - i)):
                acc[j] = T(F(acc[j], LOAD_0(x[PLACE])))
        joined = acc[0]
        for j in range(1, LANES):
            joined = T(COMBINE(joined, acc[j]))
        out[u] = joined


def begin(u, numbers, work, places):  # type: ignore[no-untyped-def]
    """Where unit u starts in `out` and each operand, and its length, into `places`; its first accumulator."""
    rank = numbers[6]
    if u >= numbers[0] * numbers[3]:
        places[0] = 0
        return IDENTITY
    row = u // numbers[3]
    start = (u - row * numbers[3]) * numbers[2]
    places[0] = min(numbers[2], numbers[1] - start)
    for k in range(OPERANDS + 1):
        base = 7 + rank + k * (rank + 2)
        rest = row
        at = numbers[base] + start * numbers[base + 1]
        for d in range(rank - 1, -1, -1):
            at += rest % numbers[7 + d] * numbers[base + 2 + d]
            rest //= numbers[7 + d]
        places[k + 1] = at
    acc = IDENTITY
    if numbers[3] > 1:
        for k in range(u - start // numbers[2], u):
            acc = T(COMBINE(acc, work[k]))
    return acc


def finish(in_K, out, numbers, places, first, acc):  # type: ignore[no-untyped-def]
    """The elements of one unit from `first` on, one after the other."""
    rank = numbers[6]
    z = numbers[8 + rank]
    s_K = numbers[8 + rank + (K + 1) * (rank + 2)]
    q = places[1] + first * z
    p_K = places[K + 2] + first * s_K
    for _ in range(first, places[0]):
        acc = T(F(acc, LOAD_K(in_K[p_K])))
        out[q] = STORE(acc)
        q += z
        p_K += s_K


def along(in_K, work, out, numbers):  # type: ignore[no-untyped-def]
    """numbers = rows, n, block, blocks of a row, chunk, chunks, rank, shape[rank], then for out and each operand:
    offset, step along the dim, strides[rank].  A unit is a block of a row, a chunk some units; work holds the totals
    of all units, if a row has several."""
    rank = numbers[6]
    z = numbers[8 + rank]
    s_K = numbers[8 + rank + (K + 1) * (rank + 2)]
    units = numbers[0] * numbers[3]
    for t in RANGE(numbers[5]):
        one = np.empty(OPERANDS + 2, np.int64)
        two = np.empty(OPERANDS + 2, np.int64)
        three = np.empty(OPERANDS + 2, np.int64)
        four = np.empty(OPERANDS + 2, np.int64)
        stop = min(units, (t + 1) * numbers[4])
        for u in range(t * numbers[4], stop, 4):
            a = begin(u, numbers, work, one)
            b = begin(u + 1 if u + 1 < stop else units, numbers, work, two)
            c = begin(u + 2 if u + 2 < stop else units, numbers, work, three)
            d = begin(u + 3 if u + 3 < stop else units, numbers, work, four)
            common = min(min(one[0], two[0]), min(three[0], four[0]))
            qa, qb, qc, qd = one[1], two[1], three[1], four[1]
            pa_K = one[K + 2]
            pb_K = two[K + 2]
            pc_K = three[K + 2]
            pd_K = four[K + 2]
            wa, wb, wc, wd = OUT_A, OUT_B, OUT_C, OUT_D
            xa_K = IN_A_K
            xb_K = IN_B_K
            xc_K = IN_C_K
            xd_K = IN_D_K
            for i in range(common):
                a = T(F(a, LOAD_K(xa_K[FROM_A_K])))
                b = T(F(b, LOAD_K(xb_K[FROM_B_K])))
                c = T(F(c, LOAD_K(xc_K[FROM_C_K])))
                d = T(F(d, LOAD_K(xd_K[FROM_D_K])))
                wa[TO_A] = STORE(a)
                wb[TO_B] = STORE(b)
                wc[TO_C] = STORE(c)
                wd[TO_D] = STORE(d)
            FINISH_A
            FINISH_B
            FINISH_C
            FINISH_D


def columns(in_K, out, numbers):  # type: ignore[no-untyped-def]
    """The rows lie across memory, and neighbours side by side: a block of them is scanned at once.

    numbers = units, blocks, block, cols, n, rank, shape[rank], then for out and each operand: offset, step along the
    dim, step to the next column, strides[rank].
    """
    rank = numbers[5]
    for unit in RANGE(numbers[0]):
        rest = unit // numbers[1]
        col = (unit - rest * numbers[1]) * numbers[2]
        count = min(numbers[2], numbers[3] - col)
        q = numbers[6 + rank] + col
        p_K = numbers[6 + rank + (K + 1) * (rank + 3)] + col * numbers[8 + rank + (K + 1) * (rank + 3)]
        for d in range(rank - 1, -1, -1):
            place = rest % numbers[6 + d]
            rest //= numbers[6 + d]
            q += place * numbers[9 + rank + d]
            p_K += place * numbers[9 + rank + (K + 1) * (rank + 3) + d]
        acc = np.empty(count, T)
        for j in range(count):
            acc[j] = IDENTITY
        for _ in range(numbers[4]):
            y = out[q : q + count]
            x_K = VIEW_K
            for j in range(count):
                held = T(F(acc[j], LOAD_K(x_K[PLACE_K])))
                acc[j] = held
                y[j] = STORE(held)
            q += numbers[7 + rank]
            p_K += numbers[7 + rank + (K + 1) * (rank + 3)]


def arg_along(in_K, out, numbers):  # type: ignore[no-untyped-def]
    """numbers as in `along`, blocks are whole rows: the position of the best element so far.

    Most elements do not beat it, so a stretch is first asked whether any does, which vectorises; only then its elements
    are visited one by one.
    """
    n = numbers[1]
    rank = numbers[6]
    z = numbers[8 + rank]
    s_K = numbers[8 + rank + (K + 1) * (rank + 2)]
    for t in RANGE(numbers[5]):
        for u in range(t * numbers[4], min(numbers[0], (t + 1) * numbers[4])):
            rest = u
            q = numbers[7 + rank]
            p_K = numbers[7 + rank + (K + 1) * (rank + 2)]
            for d in range(rank - 1, -1, -1):
                place = rest % numbers[7 + d]
                rest //= numbers[7 + d]
                q += place * numbers[9 + rank + d]
                p_K += place * numbers[9 + rank + (K + 1) * (rank + 2) + d]
            best = LOAD_0(in_0[p_0])
            winner = 0
            for i in range(0, n, 64):
                count = min(64, n - i)
                x = VIEW
                y = GOAL
                hits = 0
                for j in range(count):
                    hits += 1 if F(best, LOAD_0(x[PLACE])) else 0
                if hits > 0:
                    for j in range(count):
                        value = LOAD_0(x[PLACE])
                        if F(best, value):
                            best = value
                            winner = i + j
                        y[SPOT] = winner
                else:
                    for j in range(count):
                        y[SPOT] = winner
                p_0 += 64 * s_0
                q += 64 * z


def arg_columns(in_K, out, numbers):  # type: ignore[no-untyped-def]
    """numbers as in `columns`: positions of the best so far, for neighbours side by side."""
    rank = numbers[5]
    for unit in RANGE(numbers[0]):
        rest = unit // numbers[1]
        col = (unit - rest * numbers[1]) * numbers[2]
        count = min(numbers[2], numbers[3] - col)
        q = numbers[6 + rank] + col
        p_K = numbers[6 + rank + (K + 1) * (rank + 3)] + col * numbers[8 + rank + (K + 1) * (rank + 3)]
        for d in range(rank - 1, -1, -1):
            place = rest % numbers[6 + d]
            rest //= numbers[6 + d]
            q += place * numbers[9 + rank + d]
            p_K += place * numbers[9 + rank + (K + 1) * (rank + 3) + d]
        best = np.empty(count, T)
        winner = np.zeros(count, np.int64)
        x_0 = VIEW_0
        for j in range(count):
            best[j] = LOAD_0(x_0[PLACE_0])
        for i in range(numbers[4]):
            y = out[q : q + count]
            x_0 = VIEW_0
            for j in range(count):
                held = best[j]
                value = LOAD_0(x_0[PLACE_0])
                wins = F(held, value)
                best[j] = value if wins else held
                chosen = i if wins else winner[j]
                winner[j] = chosen
                y[j] = chosen
            q += numbers[7 + rank]
            p_0 += numbers[7 + rank + (rank + 3)]
