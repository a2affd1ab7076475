"""Folds: few elements, a whole stretch of memory, along the operand's memory, across it, one element after the other;
and the positions of extremes.

Free names, filled in by `specialize`: `F` the op's scalar function, `IDENTITY` its neutral element, `FINISH` what is
done to a result before `STORE`, `LOAD_0` and `STORE` the conversions between memory and registers, `STEP` a pasted 1
or the step at run time; `COMBINE` joins two accumulators of type `ACC`, each of which has
elements of its own and began at `IDENTITY`: `F` is given an element, never an accumulator in its place.  Accumulators
stand in a row that is combined at the end, so the loops vectorise without a licence to re-associate.  The forms named
`_whole` fold neighbours in registers instead: sums and products with that licence, extremes as integers, which need
none.  The order is that of `core/fold.py` for any number of threads.
"""

import numpy as np

# Where `numbers` holds the count that a mean divides by.
COUNT = {"run": 8, "tiny": 2, "along": 20, "rows": 20, "across": 20, "ordered": 10}


def stretch(x, acc, one):  # type: ignore[no-untyped-def]
    """A fold of neighbours into one accumulator.  It is compiled with leave to re-associate, and so vectorises in
    registers; the order depends on the number of elements alone.

    A sum of converted elements multiplies them by `one`, which the compiler does not know: conversions and lone
    additions wait for the same units of a processor, and an addition that is part of a product has others.
    """
    for j in range(len(x)):
        acc = ACC(F(acc, LOAD_0(x[j])))
    return acc


def order_key(x):  # type: ignore[no-untyped-def]
    """A float as an unsigned integer of the same order: the largest integer can be found in any order, in vector
    registers, and the largest float cannot, for a comparison with nan is false.  As signed integers nan lie beyond both
    infinities; a shift turns the circle so that all of them come to the end that wins."""
    bits = T(x).view(SIGNED)
    ordered = SIGNED(bits ^ SIGNED(SIGNED(bits >> SIGNED(KEY_BITS - 1)) & HIGHEST))
    return ACC(ACC(ordered) + SHIFT)


def from_order_key(key):  # type: ignore[no-untyped-def]
    """The float of an order key."""
    ordered = SIGNED(ACC(key - SHIFT))
    return SIGNED(ordered ^ SIGNED(SIGNED(ordered >> SIGNED(KEY_BITS - 1)) & HIGHEST)).view(T)


def tiny(in_K, out, numbers):  # type: ignore[no-untyped-def]
    """numbers = outputs, elements of each, count, where each output lies, where its first element lies, how far each
    element is from the first.  The shortest text, so it compiles soonest."""
    outputs = numbers[0]
    for o in range(outputs):
        at = numbers[3 + outputs + o]
        acc = IDENTITY
        for i in range(numbers[1]):
            acc = T(F(acc, LOAD_0(in_0[at + numbers[3 + 2 * outputs + i]])))
        out[numbers[3 + o]] = STORE(FINISH(acc, numbers[2]))


def run(in_K, work, out, numbers):  # type: ignore[no-untyped-def]
    """numbers = n, cols, width, piece, pieces, offset, offset and step of out, count, 1.  Element i belongs to output
    i modulo cols.  A task is a piece; where there are more, `work` keeps the lanes of each until the end."""
    n = numbers[0]
    cols = numbers[1]
    width = numbers[2]
    alone = numbers[4] == 1
    lanes = room(width, T) if alone else work
    for p in range(first, last):
        acc = lanes[p * width : (p + 1) * width]
        for j in range(width):
            acc[j] = IDENTITY
        stop = numbers[5] + min(n, (p + 1) * numbers[3])
        for i in range(numbers[5] + p * numbers[3], stop, width):
            x = in_0[i : min(i + width, stop)]
            for j in range(len(x)):
                acc[j] = T(F(acc[j], LOAD_0(x[j])))
    if alone or first == last:
        for k in range(cols, numbers[4] * width, cols):
            for j in range(cols):
                lanes[j] = T(COMBINE(lanes[j], lanes[k + j]))
        for j in range(cols):
            out[numbers[6] + j * numbers[7]] = STORE(FINISH(lanes[j], numbers[8]))
    if alone:
        leave(lanes)


def run_whole(in_K, work, out, numbers):  # type: ignore[no-untyped-def]
    """`run` with one output, for scalars that `stretch` may fold; `work` keeps an accumulator of each piece."""
    n = numbers[0]
    total = IDENTITY
    for p in range(first, last):
        start = numbers[5] + p * numbers[3]
        total = stretch(in_0[start : numbers[5] + min(n, (p + 1) * numbers[3])], IDENTITY, ONE)
        if numbers[4] > 1:
            work[p] = total
    if first == last:
        total = work[0]
        for p in range(1, numbers[4]):
            total = ACC(COMBINE(total, work[p]))
    if first == last or numbers[4] == 1:
        out[numbers[6]] = STORE(FINISH(total, numbers[8]))


def rows_whole(in_K, out, numbers):  # type: ignore[no-untyped-def]
    """`along_whole` where each output is a fold of one stretch."""
    kept = numbers[0]
    rows = numbers[8]
    for t in range(first, last):
        for g in range(t * numbers[3], min(numbers[2], (t + 1) * numbers[3])):
            place = g
            base = numbers[17]
            to = numbers[18]
            # No division for the outermost dim, which is the only one of a dense operand.
            for d in range(kept - 1, 0, -1):
                index = place % numbers[21 + d]
                place //= numbers[21 + d]
                base += index * numbers[21 + kept + d]
                to += index * numbers[21 + 2 * kept + d]
            if kept > 0:
                base += place * numbers[21 + kept]
                to += place * numbers[21 + 2 * kept]
            out[to] = STORE(FINISH(stretch(in_0[base : base + rows], IDENTITY, ONE), numbers[20]))


def along_whole(in_K, out, numbers):  # type: ignore[no-untyped-def]
    """`along` with steps of 1, for scalars that `stretch` may fold."""
    kept = numbers[0]
    folded = numbers[1]
    rows = numbers[8]
    block = numbers[9]
    folds = 21 + 3 * kept
    for t in range(first, last):
        c = t // numbers[7]
        p = t - c * numbers[7]
        for g in range(c * numbers[3], min(numbers[2], (c + 1) * numbers[3])):
            place = g
            base = numbers[17]
            to = numbers[18] + p * numbers[19]
            for d in range(kept - 1, -1, -1):
                index = place % numbers[21 + d]
                place //= numbers[21 + d]
                base += index * numbers[21 + kept + d]
                to += index * numbers[21 + 2 * kept + d]
            total = IDENTITY
            for u in range(p * numbers[6], min(numbers[5], (p + 1) * numbers[6])):
                place = u // numbers[10]
                start = (u - place * numbers[10]) * block
                at = base + start
                for d in range(folded - 1, -1, -1):
                    index = place % numbers[folds + d]
                    place //= numbers[folds + d]
                    at += index * numbers[folds + folded + d]
                total = stretch(in_0[at : at + min(block, rows - start)], total, ONE)
            out[to] = STORE(FINISH(total, numbers[20]))


def along(in_K, out, numbers):  # type: ignore[no-untyped-def]
    """numbers as in `core.fold.plan_walk`.  A group is one output, a unit one block of one stretch that it folds; a
    task folds one piece, some units, for some groups."""
    kept = numbers[0]
    folded = numbers[1]
    rows = numbers[8]
    block = numbers[9]
    step = numbers[11]
    folds = 21 + 3 * kept
    width = min(LANES, (block + 7) // 8 * 8)
    acc = room(LANES, T)
    for t in range(first, last):
        c = t // numbers[7]
        p = t - c * numbers[7]
        for g in range(c * numbers[3], min(numbers[2], (c + 1) * numbers[3])):
            place = g
            base = numbers[17]
            to = numbers[18] + p * numbers[19]
            for d in range(kept - 1, -1, -1):
                index = place % numbers[21 + d]
                place //= numbers[21 + d]
                base += index * numbers[21 + kept + d]
                to += index * numbers[21 + 2 * kept + d]
            for j in range(width):
                acc[j] = IDENTITY
            for u in range(p * numbers[6], min(numbers[5], (p + 1) * numbers[6])):
                place = u // numbers[10]
                start = (u - place * numbers[10]) * block
                length = min(block, rows - start)
                at = base + start * step
                for d in range(folded - 1, -1, -1):
                    index = place % numbers[folds + d]
                    place //= numbers[folds + d]
                    at += index * numbers[folds + folded + d]
                for i in range(0, length, width):
                    x = in_0[at + i * STEP :]
                    for j in range(min(width, length - i)):
                        acc[j] = T(F(acc[j], LOAD_0(x[j * STEP])))
            for k in range(8, width, 8):
                for j in range(8):
                    acc[j] = T(COMBINE(acc[j], acc[k + j]))
            total = IDENTITY
            for j in range(min(8, width)):
                total = T(COMBINE(total, acc[j]))
            out[to] = STORE(FINISH(total, numbers[20]))
    leave(acc)


def across(in_K, out, numbers):  # type: ignore[no-untyped-def]
    """numbers as in `core.fold.plan_walk`.  A group is a row of up to `cols` outputs, a unit some rows of the operand
    that are added onto it; a task folds one piece, some units, for some groups."""
    kept = numbers[0]
    folded = numbers[1]
    cols = numbers[13]
    step = numbers[15]
    folds = 21 + 3 * kept
    acc = room(cols, ACC)
    for t in range(first, last):
        c = t // numbers[7]
        p = t - c * numbers[7]
        for g in range(c * numbers[3], min(numbers[2], (c + 1) * numbers[3])):
            place = g // numbers[14]
            col = (g - place * numbers[14]) * cols
            count = min(cols, numbers[12] - col)
            base = numbers[17] + col * step
            to = numbers[18] + p * numbers[19] + col * numbers[16]
            for d in range(kept - 1, -1, -1):
                index = place % numbers[21 + d]
                place //= numbers[21 + d]
                base += index * numbers[21 + kept + d]
                to += index * numbers[21 + 2 * kept + d]
            for j in range(count):
                acc[j] = IDENTITY
            for u in range(p * numbers[6], min(numbers[5], (p + 1) * numbers[6])):
                place = u // numbers[10]
                start = (u - place * numbers[10]) * numbers[9]
                at = base + start * numbers[11]
                for d in range(folded - 1, -1, -1):
                    index = place % numbers[folds + d]
                    place //= numbers[folds + d]
                    at += index * numbers[folds + folded + d]
                rows = min(numbers[9], numbers[8] - start)
                # Four rows at a time: a row of accumulators is loaded and stored once for four of the operand.
                for _ in range(rows // 4):
                    x = in_0[at:]
                    x1 = in_0[at + numbers[11] :]
                    x2 = in_0[at + 2 * numbers[11] :]
                    x3 = in_0[at + 3 * numbers[11] :]
                    for j in range(count):
                        total = ACC(F(acc[j], LOAD_0(x[j * STEP])))
                        total = ACC(F(total, LOAD_0(x1[j * STEP])))
                        total = ACC(F(total, LOAD_0(x2[j * STEP])))
                        acc[j] = ACC(F(total, LOAD_0(x3[j * STEP])))
                    at += 4 * numbers[11]
                for _ in range(rows % 4):
                    x = in_0[at:]
                    for j in range(count):
                        acc[j] = ACC(F(acc[j], LOAD_0(x[j * STEP])))
                    at += numbers[11]
            for j in range(count):
                out[to + j * numbers[16]] = STORE(FINISH(acc[j], numbers[20]))
    leave(acc)


def ordered(in_K, out, numbers):  # type: ignore[no-untyped-def]
    """numbers = kept dims, folded dims but the last, outputs, chunk, chunks, rows of an output, their length and step,
    offsets of in_0 and out, count, then sizes and strides of the kept dims and of the folded.  An output has one
    accumulator, which takes each element in turn."""
    kept = numbers[0]
    folded = numbers[1]
    step = numbers[7]
    folds = 11 + 3 * kept
    for t in range(first, last):
        for g in range(t * numbers[3], min(numbers[2], (t + 1) * numbers[3])):
            place = g
            base = numbers[8]
            to = numbers[9]
            for d in range(kept - 1, -1, -1):
                index = place % numbers[11 + d]
                place //= numbers[11 + d]
                base += index * numbers[11 + kept + d]
                to += index * numbers[11 + 2 * kept + d]
            acc = IDENTITY
            for u in range(numbers[5]):
                place = u
                at = base
                for d in range(folded - 1, -1, -1):
                    index = place % numbers[folds + d]
                    place //= numbers[folds + d]
                    at += index * numbers[folds + folded + d]
                for i in range(numbers[6]):
                    acc = T(F(acc, LOAD_0(in_0[at + i * step])))
            out[to] = STORE(FINISH(acc, numbers[10]))


def arg_along(in_K, out, numbers):  # type: ignore[no-untyped-def]
    """numbers as in `core.fold.plan_walk`.  Most elements do not beat the best so far, so a block is first asked
    whether any does, which vectorises; only then its elements are visited one by one."""
    kept = numbers[0]
    step = numbers[11]
    size = numbers[6] * numbers[9]
    for t in range(first, last):
        c = t // numbers[7]
        p = t - c * numbers[7]
        for g in range(c * numbers[3], min(numbers[2], (c + 1) * numbers[3])):
            rest = g
            base = numbers[17]
            to = numbers[18] + p * numbers[19]
            for d in range(kept - 1, -1, -1):
                index = rest % numbers[21 + d]
                rest //= numbers[21 + d]
                base += index * numbers[21 + kept + d]
                to += index * numbers[21 + 2 * kept + d]
            start = p * size
            stop = min(numbers[8], start + size)
            best = LOAD_0(in_0[base + start * step])
            winner = start
            for i in range(start, stop, 64):
                at = base + i * step  # noqa: F841
                x = VIEW
                count = min(64, stop - i)
                hits = 0
                for j in range(count):
                    hits += 1 if F(best, LOAD_0(x[PLACE])) else 0
                if hits > 0:
                    for j in range(count):
                        value = LOAD_0(x[PLACE])
                        if F(best, value):
                            best = value
                            winner = i + j
            out[to] = winner


def arg_across(in_K, out, numbers):  # type: ignore[no-untyped-def]
    """numbers as in `core.fold.plan_walk`.  A row of outputs keeps its best values and their places side by side."""
    kept = numbers[0]
    cols = numbers[13]
    step = numbers[15]
    size = numbers[6] * numbers[9]
    best = room(cols, T)
    winner = room(cols, np.int64)
    for t in range(first, last):
        c = t // numbers[7]
        p = t - c * numbers[7]
        for g in range(c * numbers[3], min(numbers[2], (c + 1) * numbers[3])):
            rest = g // numbers[14]
            col = (g - rest * numbers[14]) * cols
            count = min(cols, numbers[12] - col)
            at = numbers[17] + col * step + p * size * numbers[11]
            to = numbers[18] + p * numbers[19] + col * numbers[16]
            for d in range(kept - 1, -1, -1):
                index = rest % numbers[21 + d]
                rest //= numbers[21 + d]
                at += index * numbers[21 + kept + d]
                to += index * numbers[21 + 2 * kept + d]
            x = VIEW
            for j in range(count):
                best[j] = LOAD_0(x[PLACE])
                winner[j] = p * size
            for i in range(p * size + 1, min(numbers[8], (p + 1) * size)):
                at += numbers[11]
                x = VIEW
                for j in range(count):
                    held = best[j]
                    value = LOAD_0(x[PLACE])
                    wins = F(held, value)
                    best[j] = value if wins else held
                    winner[j] = i if wins else winner[j]
            for j in range(count):
                out[to + j * numbers[16]] = winner[j]
    leave(best)
    leave(winner)


def arg_choose(in_K, out, numbers):  # type: ignore[no-untyped-def]
    """numbers = rank, outputs, pieces, step of the folded dim, offsets of in_0, in_1 and out, kept dims, the strides
    of each.  in_1 holds the winner of every piece; the first of the best is the winner of all."""
    rank = numbers[0]
    for o in range(numbers[1]):
        rest = o
        at = numbers[4]
        piece = numbers[5]
        to = numbers[6]
        for d in range(rank - 1, -1, -1):
            index = rest % numbers[7 + d]
            rest //= numbers[7 + d]
            at += index * numbers[7 + rank + d]
            piece += index * numbers[7 + 2 * rank + d]
            to += index * numbers[7 + 3 * rank + d]
        winner = in_1[piece]
        for p in range(1, numbers[2]):
            other = in_1[piece + p * numbers[1]]
            held = LOAD_0(in_0[at + winner * numbers[3]])
            value = LOAD_0(in_0[at + other * numbers[3]])
            if F(held, value):
                winner = other
        out[to] = winner
