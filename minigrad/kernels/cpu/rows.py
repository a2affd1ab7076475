"""Rows: a few totals of each, then each element from its row's totals; one read from memory, the rest from the cache.

Free names, filled in by `specialize`: in the nests `ROW_K` an operand's row in registers' dtype (a slice, or a scratch
row that `fetch` fills), `TOTAL_0` to `TOTAL_3` calls of the functions above the nest or parts of the two totals that
`PAIR_0` and `PAIR_1` find in one loop, `F` the result and `MADE` how many of it are made, `KEPT` where the last total
leaves its terms for it, `ROW` where the result is made and `SEND` how it leaves from there, `TERMS` the number of sums
down the columns, `ADD` and `FOLD_0`, `FOLD_1` the calls that make them; in the totals `F` is one term, `JOIN` its sum
or maximum, `START` the neutral element, `FINISH` what is done at the end.  A sum's additions may be re-ordered by the
compiler; a maximum's accumulators stand in a row that is combined at the end.  Rows are the unit of work, and each
function's text is the same for one thread and for all, so the number of threads changes no bit.
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


def total(in_K, n, value, a, b, c, acc):  # type: ignore[no-untyped-def]
    """One sum over a row from the row's elements and the totals before it."""
    joined = START
    for j in range(n):
        joined = T(joined + F(in_K[j], a, b, c))
    return T(FINISH(joined, T(n), T(value)))


def total_kept(in_K, n, value, a, b, c, acc, kept):  # type: ignore[no-untyped-def]
    """`total`, with the terms left in `kept`."""
    joined = START
    for j in range(n):
        one = T(F(in_K[j], a, b, c))
        kept[j] = one
        joined = T(joined + one)
    return T(FINISH(joined, T(n), T(value)))


def total_two(in_K, n, value, a, b, c, acc):  # type: ignore[no-untyped-def]
    """Two sums of which neither needs the other, in one loop."""
    joined = START
    other = START
    for j in range(n):
        joined = T(joined + F(in_K[j], a, b, c))
        other = T(other + G(in_K[j], a, b, c))
    return T(FINISH(joined, T(n), T(value))), T(FINISH_G(other, T(n), T(value)))


def largest(in_K, n, value, a, b, c, acc):  # type: ignore[no-untyped-def]
    """One maximum over a row."""
    whole = n - n % (4 * LANES)
    joined = START
    if whole > 0:
        for j in range(LANES):
            acc[j] = START
        for i in range(0, whole, 4 * LANES):
            x_K = in_K[i : i + 4 * LANES]
            for j in range(LANES):
                one = T(JOIN(F(x_K[j], a, b, c), F(x_K[j + LANES], a, b, c)))
                two = T(JOIN(F(x_K[j + 2 * LANES], a, b, c), F(x_K[j + 3 * LANES], a, b, c)))
                acc[j] = T(JOIN(acc[j], T(JOIN(one, two))))
        for k in range(8, LANES, 8):
            for j in range(8):
                acc[j] = T(JOIN(acc[j], acc[k + j]))
        for j in range(8):
            joined = T(JOIN(joined, acc[j]))
    if n - whole >= 16:
        x_K = in_K[whole:]
        for j in range(8):
            acc[j] = START
        for i in range(0, n - whole - 7, 8):
            y_K = x_K[i : i + 8]
            for j in range(8):
                acc[j] = T(JOIN(acc[j], F(y_K[j], a, b, c)))
        for j in range(8):
            joined = T(JOIN(joined, acc[j]))
        whole = n - n % 8
    for j in range(whole, n):
        joined = T(JOIN(joined, F(in_K[j], a, b, c)))
    return T(FINISH(joined, T(n), T(value)))


def add_one(in_K, n, a, b, c, e, first):  # type: ignore[no-untyped-def]
    """One term of each element of a row, onto the sums of the columns."""
    for j in range(n):
        first[j] = T(first[j] + F(in_K[j], a, b, c, e))


def add_two(in_K, n, a, b, c, e, first, second):  # type: ignore[no-untyped-def]
    """Two terms of each element of a row, each onto its own sums of the columns."""
    for j in range(n):
        first[j] = T(first[j] + F(in_K[j], a, b, c, e))
        second[j] = T(second[j] + G(in_K[j], a, b, c, e))


def fold_columns(work, chunks, size, at, n, line, start):  # type: ignore[no-untyped-def]
    """One term's sums of all chunks of rows, in order, into its line; `size` is what a chunk has of all terms."""
    for k in range(1, chunks):
        for j in range(at, at + n):
            work[j] = T(work[j] + work[k * size + j])
    for j in range(n):
        line[start + j] = STORE(work[at + j])


def rows(in_K, out, numbers):  # type: ignore[no-untyped-def]
    """numbers = rows, chunk, chunks, n, parameter's bits, rank, shape[rank], then for out and each operand: offset,
    step along the row, strides[rank]; then the offset of each line.  Each chunk of rows has its own sums down the
    columns; they are folded at the end into lines of their own."""
    n = numbers[3]
    value = np.int64(numbers[4]).view(np.float64)
    rank = numbers[5]
    work = np.empty(numbers[2] * n * TERMS, T)
    for t in RANGE(numbers[2]):
        acc = np.empty(LANES, T)
        s_K = np.empty(n * SCRATCH_K, T)
        spare = np.empty(n * SPARE, T)
        sums = work[t * n * TERMS : (t + 1) * n * TERMS]
        for j in range(n * TERMS):
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
            z = ROW
            w = KEPT
            ab = PAIR_0
            a = TOTAL_0
            b = TOTAL_1
            ce = PAIR_1
            c = TOTAL_2
            e = TOTAL_3
            for j in range(MADE):
                z[j] = STORE(F(x_K[j], a, b, c, e, w[j]))
            SEND
            ADD
        SETTLE
    FOLD_0
    FOLD_1


def total_down(in_K, numbers, at, count, value, a, b, c, e):  # type: ignore[no-untyped-def]
    """One total of each of `count` columns side by side, into TARGET."""
    n = numbers[4]
    rank = numbers[6]
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
    for unit in RANGE(numbers[0]):
        rest = unit // numbers[1]
        col = (unit - rest * numbers[1]) * numbers[2]
        count = min(numbers[2], numbers[3] - col)
        at = np.empty(OPERANDS, np.int64)
        to = numbers[7 + rank] + col * numbers[9 + rank]
        p_K = numbers[7 + rank + (K + 1) * (rank + 3)] + col * numbers[9 + rank + (K + 1) * (rank + 3)]
        for d in range(rank - 1, -1, -1):
            place = rest % numbers[7 + d]
            rest //= numbers[7 + d]
            to += place * numbers[10 + rank + d]
            p_K += place * numbers[10 + rank + (K + 1) * (rank + 3) + d]
        AT_K = p_K
        a = np.empty(count, T)
        b = np.empty(count, T)
        c = np.empty(count, T)
        e = np.empty(count, T)
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


def pick(in_K, out, numbers):  # type: ignore[no-untyped-def]
    """Minus the result at the element of each row that in_1 names; 0 where it names `numbers[4]`.

    numbers as in `rows`.  A fold of 0 stores them, of 1 their sum, of 2 their mean over the rows that count.
    """
    n = numbers[3]
    value = 0.0
    rank = numbers[5]
    losses = np.empty(numbers[0], T)
    counts = np.empty(numbers[0], np.bool_)
    for t in RANGE(numbers[2]):
        acc = np.empty(LANES, T)
        s_0 = np.empty(n * SCRATCH_0, T)
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
            losses[r] = loss
            counts[r] = chosen != numbers[4]
            if FOLD == 0:
                out[to] = STORE(loss)
    if FOLD > 0:
        joined = 0.0
        count = 0
        for r in range(numbers[0]):
            joined += losses[r]
            count += counts[r]
        out[numbers[6 + rank]] = STORE(T(joined / count if FOLD == 2 else joined))


def pick_backward(in_K, out, numbers):  # type: ignore[no-untyped-def]
    """The gradient of `pick`: (result - 1 at the named element) times in_2, over the count for a mean; F the result."""
    n = numbers[3]
    value = 0.0
    rank = numbers[5]
    share = 1.0
    if FOLD == 2:
        count = 0
        for r in range(numbers[0]):
            rest = r
            at = numbers[6 + rank + 2 * (rank + 2)]
            for d in range(rank - 1, -1, -1):
                at += rest % numbers[6 + d] * numbers[8 + rank + 2 * (rank + 2) + d]
                rest //= numbers[6 + d]
            count += 1 if np.int64(in_1[at]) != numbers[4] else 0
        share = 1.0 / count
    for t in RANGE(numbers[2]):
        acc = np.empty(LANES, T)
        s_0 = np.empty(n * SCRATCH_0, T)
        spare = np.empty(n * SPARE, T)
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
