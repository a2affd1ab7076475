"""Pooling: the largest element or the mean of each window, over up to three dims of any strides.

Values go row by row: the rows of a window are joined first, side by side in registers, then the taps along a row.
What has to know where the largest element is looks for it window by window, in row-major order, so that ties go to the
first.  A gradient is made plane by plane, where windows may overlap, and stored once.

Free names: `LOAD_0`, `STORE`, `T`, `LOAD_X` for the operand that windows are in, and `LOWEST` for the largest of
nothing.  A task is some rows of outputs where the numbers say how many, else a plane.

numbers = N, C;  2: output sizes; 5: image sizes; 8: windows; 11: strides; 14: paddings; 17: dilations; 20: image
offset, strides of N, C and three dims; 26: the same for a second operand; 32: offset of out, which is dense; 33: rows
(outputs along the middle dim) of a task; 34: elements of a row of the image that is laid out by taps.  `counts` are
the reciprocals of what a mean counts, an element for each output along each dim.
"""

# ruff: noqa: F821
import numpy as np


def max_pool(x, out, numbers):  # type: ignore[no-untyped-def]
    """out[n, c, o] = the largest element of the window of o; nan if there is one."""
    O0 = numbers[2]
    O1 = numbers[3]
    O2 = numbers[4]
    S2 = numbers[7]
    step = numbers[13]
    pad = numbers[16]
    rows = numbers[33]
    parts = (O1 + rows - 1) // rows
    size = max(S2 + pad, (O2 - 1) * step + (numbers[10] - 1) * numbers[19] + 1)
    line = room(size, T)
    best = room(O2, T)
    for task in range(first, last):
        part = task % parts
        o0 = task // parts % O0
        plane = task // (parts * O0)
        at = numbers[20] + plane // numbers[1] * numbers[21] + plane % numbers[1] * numbers[22]
        for o1 in range(part * rows, min(O1, (part + 1) * rows)):
            # A row of the image with the padding on both sides, the largest over the window's rows.
            for j in range(size):
                line[j] = LOWEST
            inside = line[pad : pad + S2]
            for a in range(numbers[8]):
                i0 = o0 * numbers[11] - numbers[14] + a * numbers[17]
                for b in range(numbers[9]):
                    i1 = o1 * numbers[12] - numbers[15] + b * numbers[18]
                    if i0 >= 0 and i0 < numbers[5] and i1 >= 0 and i1 < numbers[6]:
                        q = at + i0 * numbers[23] + i1 * numbers[24]
                        if numbers[25] == 1:
                            # Unsigned: neither a slice nor an index is then tested for its ends.
                            for j in range(S2):
                                v = LOAD_0(x[np.uint64(q + j)])
                                inside[j] = v if (v > inside[j]) | (v != v) else inside[j]
                        else:
                            for j in range(S2):
                                v = LOAD_0(x[q + j * numbers[25]])
                                inside[j] = v if (v > inside[j]) | (v != v) else inside[j]
            for j in range(O2):
                best[j] = line[np.uint64(j * step)]
            for c in range(1, numbers[10]):
                tap = line[c * numbers[19] :]
                if step == 1:
                    for j in range(O2):
                        best[j] = tap[j] if (tap[j] > best[j]) | (tap[j] != tap[j]) else best[j]
                else:
                    for j in range(O2):
                        v = tap[np.uint64(j * step)]
                        best[j] = v if (v > best[j]) | (v != v) else best[j]
            to = numbers[32] + ((plane * O0 + o0) * O1 + o1) * O2
            row = out[to : to + O2]
            for j in range(O2):
                row[j] = STORE(best[j])
    leave(best)
    leave(line)


def search(x, numbers, at, o0, o1, line, best, where):  # type: ignore[no-untyped-def]
    """For a row of outputs, the largest elements of their windows in the plane at x[at], and the row-major positions
    of the first of them there; -1 for a window of padding.

    Each row of the image is laid out so that what the windows have at one tap lies side by side.
    """
    O2 = numbers[4]
    S1 = numbers[6]
    S2 = numbers[7]
    step = numbers[13]
    pad = numbers[16]
    spread = numbers[19]
    r0 = o0 * numbers[11] - numbers[14]
    r1 = o1 * numbers[12] - numbers[15]
    top0 = r0 + (max(0, -r0) + numbers[17] - 1) // numbers[17] * numbers[17]
    top1 = r1 + (max(0, -r1) + numbers[18] - 1) // numbers[18] * numbers[18]
    nowhere = top0 >= min(numbers[5], r0 + numbers[8] * numbers[17]) or top1 >= min(S1, r1 + numbers[9] * numbers[18])
    for j in range(O2):
        # The first element inside of the image stands until a larger one comes, also if it is the lowest number.
        r2 = j * step - pad
        top2 = r2 + (max(0, -r2) + spread - 1) // spread * spread
        none = nowhere or top2 >= min(S2, r2 + numbers[10] * spread)
        where[j] = -1 if none else (top0 * S1 + top1) * S2 + top2
        best[j] = LOWEST
    reach = (numbers[10] - 1) * spread
    slots = O2 + reach // step
    for a in range(numbers[8]):
        i0 = r0 + a * numbers[17]
        for b in range(numbers[9]):
            i1 = r1 + b * numbers[18]
            if i0 >= 0 and i0 < numbers[5] and i1 >= 0 and i1 < S1:
                q = at + i0 * numbers[23] + i1 * numbers[24]
                for f in range(min(step, reach + 1)):
                    part = line[f * slots : (f + 1) * slots]
                    left = min(slots, max(0, (pad - f + step - 1) // step))
                    right = max(left, min(slots, (S2 + pad - f + step - 1) // step))
                    start = q + (left * step + f - pad) * numbers[25]
                    for u in range(left):
                        part[u] = LOWEST
                    inside = part[left:right]
                    if step * numbers[25] == 1:
                        source = x[start : start + right - left]
                        for u in range(right - left):
                            inside[u] = LOAD_X(source[u])
                    else:
                        for u in range(right - left):
                            inside[u] = LOAD_X(x[np.uint64(start + u * step * numbers[25])])
                    for u in range(right, slots):
                        part[u] = LOWEST
                place = (i0 * S1 + i1) * S2 - pad
                for c in range(numbers[10]):
                    f = c * spread % step * slots + c * spread // step
                    tap = line[f : f + O2]
                    for j in range(O2):
                        v = tap[j]
                        more = (v > best[j]) | ((v != v) & (best[j] == best[j]))
                        where[j] = place + j * step if more else where[j]
                        best[j] = v if more else best[j]
                    place += spread


def max_pool_indices(x, out, places, numbers):  # type: ignore[no-untyped-def]
    """out[n, c, o] = the largest element of the window; places = where in its plane, counted row by row, the first such
    element is."""
    O2 = numbers[4]
    rows = numbers[2] * numbers[3]
    line = room(numbers[34], T)
    best = room(O2, T)
    where = room(O2, np.int64)
    for plane in range(first, last):
        at = numbers[20] + plane // numbers[1] * numbers[21] + plane % numbers[1] * numbers[22]
        for o in range(rows):
            search(x, numbers, at, o // numbers[3], o % numbers[3], line, best, where)
            to = numbers[32] + (plane * rows + o) * O2
            for j in range(O2):
                out[to + j] = STORE(best[j])
                places[to + j] = max(0, where[j])
    leave(where)
    leave(best)
    leave(line)


def max_pool_pick(h, x, out, numbers):  # type: ignore[no-untyped-def]
    """out[n, c, o] = the element of h where x has the first largest of the window; 0 for a window of padding."""
    O2 = numbers[4]
    rows = numbers[2] * numbers[3]
    line = room(numbers[34], T)
    best = room(O2, T)
    where = room(O2, np.int64)
    for plane in range(first, last):
        n = plane // numbers[1]
        c = plane % numbers[1]
        at = numbers[20] + n * numbers[21] + c * numbers[22]
        ph = numbers[26] + n * numbers[27] + c * numbers[28]
        for o in range(rows):
            search(x, numbers, at, o // numbers[3], o % numbers[3], line, best, where)
            to = numbers[32] + (plane * rows + o) * O2
            for j in range(O2):
                p = where[j]
                i2 = p % numbers[7]
                i1 = p // numbers[7] % numbers[6]
                i0 = p // numbers[7] // numbers[6]
                v = T(0)
                if p >= 0:
                    v = LOAD_0(h[ph + i0 * numbers[29] + i1 * numbers[30] + i2 * numbers[31]])
                out[to + j] = STORE(v)
    leave(where)
    leave(best)
    leave(line)


def max_pool_back(g, x, out, numbers):  # type: ignore[no-untyped-def]
    """out = 0, then each g[n, c, o] is added where x has the first largest element of the window."""
    O2 = numbers[4]
    rows = numbers[2] * numbers[3]
    whole = numbers[5] * numbers[6] * numbers[7]
    line = room(numbers[34], T)
    best = room(O2, T)
    where = room(O2, np.int64)
    sums = room(whole, T)
    for plane in range(first, last):
        n = plane // numbers[1]
        c = plane % numbers[1]
        at = numbers[20] + n * numbers[21] + c * numbers[22]
        pg = numbers[26] + n * numbers[27] + c * numbers[28]
        for j in range(whole):
            sums[j] = T(0)
        for o in range(rows):
            search(x, numbers, at, o // numbers[3], o % numbers[3], line, best, where)
            q = pg + o // numbers[3] * numbers[29] + o % numbers[3] * numbers[30]
            for j in range(O2):
                if where[j] >= 0:
                    sums[np.uint64(where[j])] += LOAD_0(g[np.uint64(q + j * numbers[31])])
        row = out[numbers[32] + plane * whole : numbers[32] + (plane + 1) * whole]
        for j in range(whole):
            row[j] = STORE(sums[j])
    leave(sums)
    leave(where)
    leave(best)
    leave(line)


def avg_pool(x, out, counts, numbers):  # type: ignore[no-untyped-def]
    """out[n, c, o] = the sum of the window of o, times the reciprocal of what it counts."""
    O0 = numbers[2]
    O1 = numbers[3]
    O2 = numbers[4]
    S2 = numbers[7]
    step = numbers[13]
    pad = numbers[16]
    rows = numbers[33]
    parts = (O1 + rows - 1) // rows
    size = max(S2 + pad, (O2 - 1) * step + numbers[10])
    line = room(size, T)
    sums = room(O2, T)
    share = counts[O0 + O1 : O0 + O1 + O2]
    for task in range(first, last):
        part = task % parts
        o0 = task // parts % O0
        plane = task // (parts * O0)
        at = numbers[20] + plane // numbers[1] * numbers[21] + plane % numbers[1] * numbers[22]
        for o1 in range(part * rows, min(O1, (part + 1) * rows)):
            for j in range(size):
                line[j] = T(0)
            inside = line[pad : pad + S2]
            for a in range(numbers[8]):
                i0 = o0 * numbers[11] - numbers[14] + a
                for b in range(numbers[9]):
                    i1 = o1 * numbers[12] - numbers[15] + b
                    if i0 >= 0 and i0 < numbers[5] and i1 >= 0 and i1 < numbers[6]:
                        q = at + i0 * numbers[23] + i1 * numbers[24]
                        if numbers[25] == 1:
                            for j in range(S2):
                                inside[j] += LOAD_0(x[np.uint64(q + j)])
                        else:
                            for j in range(S2):
                                inside[j] += LOAD_0(x[q + j * numbers[25]])
            for j in range(O2):
                sums[j] = line[np.uint64(j * step)]
            for c in range(1, numbers[10]):
                tap = line[c:]
                if step == 1:
                    for j in range(O2):
                        sums[j] += tap[j]
                else:
                    for j in range(O2):
                        sums[j] += tap[np.uint64(j * step)]
            to = numbers[32] + ((plane * O0 + o0) * O1 + o1) * O2
            row = out[to : to + O2]
            scale = T(counts[o0] * counts[O0 + o1])
            for j in range(O2):
                row[j] = STORE(T(sums[j] * T(scale * share[j])))
    leave(sums)
    leave(line)


def avg_pool_back(g, out, counts, numbers):  # type: ignore[no-untyped-def]
    """out = 0, then each g[n, c, o], times the reciprocal of what its window counts, is added all over the window."""
    O0 = numbers[2]
    O1 = numbers[3]
    O2 = numbers[4]
    S2 = numbers[7]
    step = numbers[13]
    pad = numbers[16]
    whole = numbers[5] * numbers[6] * S2
    size = max(S2 + pad, (O2 - 1) * step + numbers[10])
    sums = room(whole, T)
    line = room(size, T)
    spread = room(O2, T)
    for plane in range(first, last):
        at = numbers[26] + plane // numbers[1] * numbers[27] + plane % numbers[1] * numbers[28]
        for j in range(whole):
            sums[j] = T(0)
        for o0 in range(O0):
            for o1 in range(O1):
                scale = T(counts[o0] * counts[O0 + o1])
                q = at + o0 * numbers[29] + o1 * numbers[30]
                for j in range(O2):
                    spread[j] = T(LOAD_0(g[q + j * numbers[31]]) * T(scale * counts[O0 + O1 + j]))
                for j in range(size):
                    line[j] = T(0)
                for c in range(numbers[10]):
                    tap = line[c:]
                    for j in range(O2):
                        tap[np.uint64(j * step)] += spread[j]
                inside = line[pad : pad + S2]
                for a in range(numbers[8]):
                    i0 = o0 * numbers[11] - numbers[14] + a
                    for b in range(numbers[9]):
                        i1 = o1 * numbers[12] - numbers[15] + b
                        if i0 >= 0 and i0 < numbers[5] and i1 >= 0 and i1 < numbers[6]:
                            p = (i0 * numbers[6] + i1) * S2
                            target = sums[p : p + S2]
                            for j in range(S2):
                                target[j] += inside[j]
        row = out[numbers[32] + plane * whole : numbers[32] + (plane + 1) * whole]
        for j in range(whole):
            row[j] = STORE(sums[j])
    leave(spread)
    leave(line)
    leave(sums)
