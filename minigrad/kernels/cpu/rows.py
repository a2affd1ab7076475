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


def rows(in_K, out, numbers):  # type: ignore[no-untyped-def]
    """numbers = rows, chunk, chunks, n, parameter's bits, rank, shape[rank], then for out and each operand: offset,
    step along the row, strides[rank]; then the offset of each line.  Each chunk of rows has its own sums down the
    columns, in work if there are several; they are folded at the end into lines of their own."""
    n = numbers[3]
    value = np.int64(numbers[4]).view(np.float64)
    rank = numbers[5]
    if SCRATCH:
        wide = (n + 63) // 64 * 64
        scratch = room(SCRATCH * wide, T)
    s_K = SCRATCH_K
    f_K = NOWHERE_K
    spare = SPARE
    if TERMS:
        size = n * TERMS
        own = room(size if numbers[2] == 1 else 0, T)
        held = own if numbers[2] == 1 else work
    for t in range(first, last):
        if TERMS:
            sums = held[t * size : (t + 1) * size]
            for j in range(size):
                sums[j] = T(0)
        for r in range(t * numbers[1], min(numbers[0], (t + 1) * numbers[1])):
            rest = r
            to = numbers[6 + rank]
            at_K = numbers[6 + rank + (K + 1) * (rank + 2)]
            for d in range(rank - 1, -1, -1):
                place = rest % numbers[6 + d]
                rest //= numbers[6 + d]
                to += place * numbers[8 + rank + d]
                at_K += place * numbers[8 + rank + (K + 1) * (rank + 2) + d]
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
        if first == last or numbers[2] == 1:
            for k in range(1, numbers[2]):
                more = held[k * size : (k + 1) * size]
                for j in range(size):
                    held[j] = T(held[j] + more[j])
            start_0 = numbers[TAIL]
            start_1 = START_1
            for j in range(n):
                line_0[start_0 + j] = STORE(held[j])
                if BOTH:
                    line_1[start_1 + j] = STORE(held[n + j])
        leave(own)
    if SCRATCH:
        leave(scratch)


def total_down(in_K, numbers, at, count, value, a, b, c, e):  # type: ignore[no-untyped-def]
    """One total of each of `count` columns side by side, into TARGET."""
    n = numbers[4]
    rank = numbers[6]
    step_K = STEP_K
    for j in range(count):
        TARGET[j] = START
    p_K = AT_K
    for _ in range(n):
        x_K = VIEW_K
        for j in range(count):
            TARGET[j] = T(JOIN(TARGET[j], F(LOAD_K(x_K[PLACE_K]), a[j], b[j], c[j])))
        p_K += numbers[8 + rank + (K + 1) * (rank + 3)]
    for j in range(count):
        TARGET[j] = T(FINISH(TARGET[j], T(n), T(value)))
    return T(0)


def columns(in_K, out, numbers):  # type: ignore[no-untyped-def]
    """The rows lie across memory, and neighbours side by side: a block of them is worked on at once.

    numbers = units, blocks, block, cols, n, parameter's bits, rank, shape[rank], then for out and each operand: offset,
    step along the row, step to the next column, strides[rank].
    """
    n = numbers[4]
    value = np.int64(numbers[5]).view(np.float64)
    rank = numbers[6]
    step_K = numbers[9 + rank + (K + 1) * (rank + 3)]
    at = room(OPERANDS, np.int64)
    scratch = room(TOTALS * BLOCK, T)
    a = COLUMN_0
    b = COLUMN_1
    c = COLUMN_2
    e = COLUMN_3
    for unit in range(first, last):
        rest = unit // numbers[1]
        col = (unit - rest * numbers[1]) * numbers[2]
        count = min(numbers[2], numbers[3] - col)
        to = numbers[7 + rank] + col * numbers[9 + rank]
        p_K = numbers[7 + rank + (K + 1) * (rank + 3)] + col * step_K
        for d in range(rank - 1, -1, -1):
            place = rest % numbers[7 + d]
            rest //= numbers[7 + d]
            to += place * numbers[10 + rank + d]
            p_K += place * numbers[10 + rank + (K + 1) * (rank + 3) + d]
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
            to += numbers[8 + rank]
            p_K += numbers[8 + rank + (K + 1) * (rank + 3)]
    leave(at)
    leave(scratch)


def pick(in_K, out, numbers):  # type: ignore[no-untyped-def]
    """Minus the result at the element of each row that in_1 names; 0 where it names `numbers[4]`.

    numbers as in `rows`.  A kernel stores each of them, or their sum, or their mean over the rows that count.  Where
    there are several tasks, they leave in work what the end joins: the losses of all rows, then how many rows of each
    task count.
    """
    n = numbers[3]
    value = 0.0
    rank = numbers[5]
    if SCRATCH:
        wide = (n + 63) // 64 * 64
        scratch = room(SCRATCH * wide, T)
    s_0 = SCRATCH_0
    only = numbers[2] == 1
    joined = np.float64(0)
    count = 0
    for t in range(first, last):
        counted = 0
        for r in range(t * numbers[1], min(numbers[0], (t + 1) * numbers[1])):
            rest = r
            to = numbers[6 + rank]
            at_K = numbers[6 + rank + (K + 1) * (rank + 2)]
            for d in range(rank - 1, -1, -1):
                place = rest % numbers[6 + d]
                rest //= numbers[6 + d]
                to += place * numbers[8 + rank + d]
                at_K += place * numbers[8 + rank + (K + 1) * (rank + 2) + d]
            chosen = np.int64(in_1[at_1])
            if chosen < 0 or chosen >= n:  # ignored, or changed by another thread since the classes were checked
                chosen = numbers[4]
            loss = T(0)
            if chosen != numbers[4]:
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
                work[numbers[0] + t] = counted
    if SCRATCH:
        leave(scratch)
    if JOINED:
        if first == last:
            for r in range(numbers[0]):
                joined += work[r]
            for t in range(numbers[2]):
                count += np.int64(work[numbers[0] + t])
        if only or first == last:
            if MEAN:
                joined /= count
            out[numbers[6 + rank]] = STORE(T(joined))


def pick_backward(in_K, out, numbers):  # type: ignore[no-untyped-def]
    """The gradient of `pick`: (result - 1 at the named element) times in_2, over the count for a mean; F the result."""
    n = numbers[3]
    value = 0.0
    rank = numbers[5]
    if SCRATCH:
        wide = (n + 63) // 64 * 64
        scratch = room(SCRATCH * wide, T)
    s_0 = SCRATCH_0
    spare = SPARE
    share = 1.0
    if MEAN:
        count = 0
        cols = numbers[5 + rank] if rank > 0 else 1
        step = numbers[7 + rank + 2 * (rank + 2) + rank]
        for rest in range(numbers[0] // cols):
            at = numbers[6 + rank + 2 * (rank + 2)]
            for d in range(rank - 2, -1, -1):
                at += rest % numbers[6 + d] * numbers[8 + rank + 2 * (rank + 2) + d]
                rest //= numbers[6 + d]
            for j in range(cols):
                count += 1 if np.int64(in_1[at + j * step]) != numbers[4] else 0
        share = np.float64(1) / count
    for t in range(first, last):
        for r in range(t * numbers[1], min(numbers[0], (t + 1) * numbers[1])):
            rest = r
            to = numbers[6 + rank]
            at_K = numbers[6 + rank + (K + 1) * (rank + 2)]
            for d in range(rank - 1, -1, -1):
                place = rest % numbers[6 + d]
                rest //= numbers[6 + d]
                to += place * numbers[8 + rank + d]
                at_K += place * numbers[8 + rank + (K + 1) * (rank + 2) + d]
            z = out[to : to + n]
            chosen = np.int64(in_1[at_1])
            if chosen < 0 or chosen >= n:  # ignored, or changed by another thread since the classes were checked
                chosen = numbers[4]
            if chosen == numbers[4]:
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
