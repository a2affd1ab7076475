"""Picks: one element per row, such as a cross entropy, and the gradients of such results.

The nests are `pick`, `pick_backward` and `unpick`; their totals and scratch rows are those of `rows.py`.
"""

# ruff: noqa: B018, F821, F841
import numpy as np

from minigrad.kernels.fields import Fields, loop

PICK = Fields("rows chunk chunks n band ignore rank", "shape[rank]", "offset step strides[rank]")


@loop(PICK)
def pick(in_K, work, out, N):  # type: ignore[no-untyped-def]
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
    weight = np.float64(0)
    line = N.shape[rank - 1] if rank > 0 else 1
    move = N.strides[0][rank - 1]
    move_K = N.strides[K + 1][rank - 1]
    for t in range(first, last):
        if not only:
            joined = np.float64(0)
            weight = np.float64(0)
        r = t * N.chunk
        stop = min(N.rows, r + N.chunk)
        while r < stop:  # a run of rows at equal distances needs no division per row
            NEXT()
            if TOTALLED:
                FETCH()
                TOTALS()
            for i in range(count):
                chosen = np.int64(in_1[np.uint64(from_1 + i * move_1)])
                if chosen != N.ignore and (chosen < 0 or chosen >= n):
                    flag[0] = 1
                    chosen = N.ignore
                loss = T(0)
                if chosen != N.ignore:
                    if TOTALLED:
                        ALL()
                        for t in each(COUNT):
                            total_t = totals_t[i]
                        loss = T(-F(x_0[chosen]))
                    else:
                        loss = T(-F(LOAD_0(in_0[np.uint64(from_0 + i * move_0 + chosen * N.step[1])])))
                    if WEIGHTED:
                        share = T(LOAD_2(in_2[np.uint64(from_2 + i * move_2 + chosen * N.step[3])]))
                        loss = T(loss * share)
                        weight += share
                    else:
                        weight += 1
                if EACH:
                    out[np.uint64(start + i * move)] = STORE(loss)
                if JOINED:
                    joined += loss
        if JOINED:
            if not only:
                work[t] = joined
                work[N.chunks + t] = weight
    if TOTALLED:
        leave(scratch)
    if JOINED:
        if first == last:
            for t in range(N.chunks):
                joined += work[t]
                weight += work[N.chunks + t]
        if only or first == last:
            if MEAN:
                joined /= weight
            out[N.offset[0]] = STORE(T(joined))


@loop(PICK)
def pick_backward(in_K, out, N):  # type: ignore[no-untyped-def]
    """Compute the gradient of `pick`: in_2 times (F - 1 at the element with the index, F elsewhere).

    For a mean, it is divided by the count.
    """
    n = N.n
    value = 0.0
    rank = N.rank
    ROOMS()
    share = 1.0
    line = N.shape[rank - 1] if rank > 0 else 1
    move = N.strides[0][rank - 1]
    move_K = N.strides[K + 1][rank - 1]
    if MEAN:
        number = 0
        for rest in range(N.rows // line):
            at = N.offset[2]
            for d in range(rank - 2, -1, -1):
                at += rest % N.shape[d] * N.strides[2][d]
                rest //= N.shape[d]
            for j in range(line):
                number += 1 if np.int64(in_1[at + j * move_1]) != N.ignore else 0
        share = np.float64(1) / number
    for t in range(first, last):
        r = t * N.chunk
        stop = min(N.rows, r + N.chunk)
        while r < stop:
            NEXT()
            FETCH()
            TOTALS()
            for i in range(count):
                z = ROW
                chosen = np.int64(in_1[from_1 + i * move_1])
                if chosen != N.ignore and (chosen < 0 or chosen >= n):
                    flag[0] = 1
                    chosen = N.ignore
                if chosen == N.ignore:
                    for j in range(n):
                        z[j] = STORE(T(0))
                else:
                    scale = T(LOAD_2(in_2[from_2 + i * move_2]) * T(share))
                    ALL()
                    kept = KEPT
                    for t in each(COUNT):
                        total_t = totals_t[i]
                    there = T((F(x_0[chosen], kept[chosen]) - T(1)) * scale)
                    for j in range(n):
                        z[j] = STORE(T(F(x_0[j], kept[j]) * scale))
                    z[chosen] = STORE(there)
    leave(scratch)


@loop(PICK)
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
