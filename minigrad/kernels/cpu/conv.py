"""Convolution on the register tile, without a matrix of patches: the tile reads the image through a table of offsets.

A task copies the piece of the image that its outputs see, with zeros where the padding is, and with the columns (rows,
planes) that one stride apart belong together side by side.  There, for every tap and channel, what the outputs of a
block multiply lies in one run that starts at a fixed distance: so a row of the right operand of the tile is an offset,
for any stride, dilation and number of dims.  Runs go on from one row of outputs to the next, over a few columns that
are computed and not kept.  `pack_weight` lays out the weight as the tile reads it, and `correlate` makes outputs; a
gradient of the image is both once per phase of the stride.  `correlate_weight` sums over outputs for the weight's
gradient, with the image on the left of the tile, and `add_slabs` adds what its tasks have summed.

Free names as in `matmul.py`, with `by_depth` and `by_rows`, the tiles that take tables.

numbers = N, groups, M (channels of the output in a group), C (of the image), taps;  5: output sizes; 8: block sizes;
11: strides; 14: lowest position that output 0 sees; 17: slots, 20: phases, 23: image sizes; 26: image offset, strides
of N, group, C and three dims; 33: the same for the output; 40: weight offset, strides of group, M, C; 44: bias offset,
strides of group and M, whether there is one; 48: panels of a task, or chunks; 49, 50, 51: where in this array the
phases, the offsets of the taps in the weight, and the table begin; 52: whether tiles end with each row of outputs,
which is better where a tile is done sooner than what is not kept of it can be sorted out.
"""

# ruff: noqa: F821
import numpy as np


def gather(x, image, numbers, at, l0, l1, l2):  # type: ignore[no-untyped-def]
    """Copy what a block sees, from position (l0, l1, l2) of the image whose first element is x[at]."""
    P0 = numbers[17]
    P1 = numbers[18]
    P2 = numbers[19]
    step = numbers[13]
    deep = numbers[32]
    phases = numbers[49]
    to = 0
    for c in range(numbers[3]):
        pc = at + c * numbers[29]
        for f0 in range(numbers[20]):
            for f1 in range(numbers[21]):
                for f2 in range(numbers[22]):
                    r0 = l0 + numbers[phases + f0]
                    r1 = l1 + numbers[phases + numbers[20] + f1]
                    r2 = l2 + numbers[phases + numbers[20] + numbers[21] + f2]
                    # Slots left..right lie inside the image.
                    left = min(P2, max(0, (step - 1 - r2) // step))
                    right = max(left, min(P2, (numbers[25] - r2 + step - 1) // step))
                    q2 = pc + (r2 + left * step) * deep
                    for u0 in range(P0):
                        i0 = r0 + u0 * numbers[11]
                        for u1 in range(P1):
                            i1 = r1 + u1 * numbers[12]
                            row = image[to : to + P2]
                            to += P2
                            if i0 < 0 or i0 >= numbers[23] or i1 < 0 or i1 >= numbers[24]:
                                for u in range(P2):
                                    row[u] = T(0)
                            else:
                                for u in range(left):
                                    row[u] = T(0)
                                q = q2 + i0 * numbers[30] + i1 * numbers[31]
                                inside = row[left:right]
                                n = right - left
                                if step * deep == 1:
                                    source = x[q : q + n]
                                    for u in range(n):
                                        inside[u] = source[u]
                                else:
                                    for u in range(n):
                                        inside[u] = x[q + u * step * deep]
                                for u in range(right, P2):
                                    row[u] = T(0)


def pack_weight(w, bias, panels, numbers):  # type: ignore[no-untyped-def]
    """Each task copies one panel: MR channels of the output side by side, for each channel of the image and tap, with
    zeros beyond the last one.  The bias is one more row, which meets a row of ones behind the image."""
    M = numbers[2]
    C = numbers[3]
    taps = numbers[4]
    K = C * taps + numbers[47]
    tall = (M + MR - 1) // MR
    for panel in range(first, last):
        g = panel // tall
        for i in range(MR):
            m = panel % tall * MR + i
            to = panel * K * MR + i
            for c in range(C):
                q = numbers[40] + g * numbers[41] + m * numbers[42] + c * numbers[43]
                for t in range(taps):
                    panels[to] = w[q + numbers[numbers[50] + t]] if m < M else T(0)
                    to += MR
            if numbers[47] > 0:
                panels[to] = bias[numbers[44] + g * numbers[45] + m * numbers[46]] if m < M else T(0)


def correlate(x, panels, out, numbers):  # type: ignore[no-untyped-def]
    """out[n, m, o] = bias[m] + the sum over c and taps of w[m, c, tap] * x[n, c, o * stride + position of the tap].

    Each task makes one block of outputs, or some panels of its channels.
    """
    M = numbers[2]
    C = numbers[3]
    added = numbers[47]
    K = C * numbers[4] + added
    tall = (M + MR - 1) // MR
    n0 = (numbers[5] + numbers[8] - 1) // numbers[8]
    n1 = (numbers[6] + numbers[9] - 1) // numbers[9]
    n2 = (numbers[7] + numbers[10] - 1) // numbers[10]
    parts = (tall + numbers[48] - 1) // numbers[48]
    P1 = numbers[18]
    P2 = numbers[19]
    size = C * numbers[20] * numbers[21] * numbers[22] * numbers[17] * P1 * P2
    by_row = numbers[52] > 0
    step = numbers[39]
    table = numbers[51]
    # A tile may read beyond the last output, into what is not initialised, and keeps nothing of it.
    ones = size + added * numbers[17] * P1 * P2
    image = room(ones + NR, T)
    for j in range(size, ones):
        image[np.uint64(j)] = T(1)
    edge = room(MR * NR, T)
    for task in range(first, last):
        rest = task // parts
        b2 = rest % n2 * numbers[10]
        rest //= n2
        b1 = rest % n1 * numbers[9]
        rest //= n1
        b0 = rest % n0 * numbers[8]
        rest //= n0
        g = rest % numbers[1]
        n = rest // numbers[1]
        c0 = min(numbers[8], numbers[5] - b0)
        c1 = min(numbers[9], numbers[6] - b1)
        c2 = min(numbers[10], numbers[7] - b2)
        gather(
            x,
            image,
            numbers,
            numbers[26] + n * numbers[27] + g * numbers[28],
            b0 * numbers[11] + numbers[14],
            b1 * numbers[12] + numbers[15],
            b2 * numbers[13] + numbers[16],
        )
        start = numbers[33] + n * numbers[34] + g * numbers[35] + b0 * numbers[37] + b1 * numbers[38] + b2 * step
        flat = ((c0 - 1) * P1 + c1 - 1) * P2 + c2
        across = (c2 + NR - 1) // NR
        low = task % parts * numbers[48]
        tiles = c0 * c1 * across if by_row else (flat + NR - 1) // NR
        for tile in range(tiles):
            if by_row:
                o2 = tile % across * NR
                o1 = tile // across % c1
                o0 = tile // across // c1
                q = (o0 * P1 + o1) * P2 + o2
                width = min(NR, c2 - o2)
            else:
                q = tile * NR
                o2 = q % P2
                o1 = q // P2 % P1
                o0 = q // P2 // P1
                width = min(NR, flat - q)
            straight = step == 1 and o1 < c1 and o2 + width <= c2
            for panel in range(low, min(tall, low + numbers[48])):
                m = panel * MR
                h = min(MR, M - m)
                left = (g * tall + panel) * K * MR
                z = start + m * numbers[36]
                # What cannot be written where it belongs is written beside, and taken apart.
                place = z + o0 * numbers[37] + o1 * numbers[38] + o2 if straight else 0
                pitch = numbers[36] if straight else NR
                target = out if straight else edge
                by_depth(
                    panels, left, 1, MR, image, q, (numbers, table), NR, target, place, pitch, K, h, width, T(1), False
                )
                if not straight:
                    for i in range(h):
                        j = 0
                        y2 = o2
                        y1 = o1
                        y0 = o0
                        while j < width:
                            run = min(width - j, P2 - y2)
                            kept = min(run, c2 - y2) if y1 < c1 else 0
                            to = z + i * numbers[36] + y0 * numbers[37] + y1 * numbers[38] + y2 * step
                            source = edge[i * NR + j : i * NR + j + run]
                            if step == 1:
                                row = out[to : to + max(kept, 0)]
                                for u in range(kept):
                                    row[u] = source[u]
                            else:
                                for u in range(kept):
                                    out[to + u * step] = source[u]
                            j += run
                            y2 = 0
                            y1 += 1
                            if y1 == P1:
                                y1 = 0
                                y0 += 1
    leave(edge)
    leave(image)


def turn(y, at, step, deep, panels, to, width, depth):  # type: ignore[no-untyped-def]
    """`depth` elements of `width` channels as rows of NR: element by element, zeros beyond the last channel."""
    squares = width // SIDE * SIDE if deep == 1 else 0
    even = depth // SIDE * SIDE
    for k in range(0, even, SIDE):
        for j in range(0, squares, SIDE):
            transpose(y, at + j * step + k, step, panels, to + k * NR + j, NR)
    for j in range(NR):
        start = even if j < squares else 0
        for k in range(start, depth):
            panels[to + k * NR + j] = y[at + j * step + k * deep] if j < width else T(0)


def correlate_weight(x, y, slabs, numbers):  # type: ignore[no-untyped-def]
    """slab[c, tap, m] = the sum over n and o of y[n, m, o] * x[n, c, o * stride + position of the tap].

    Each task sums over a chunk of images and blocks into a slab of its own.
    """
    M = numbers[2]
    C = numbers[3]
    K = C * numbers[4]
    across = (M + NR - 1) // NR
    pitch = across * NR
    n0 = (numbers[5] + numbers[8] - 1) // numbers[8]
    n1 = (numbers[6] + numbers[9] - 1) // numbers[9]
    n2 = (numbers[7] + numbers[10] - 1) // numbers[10]
    parts = numbers[0] * n0 * n1 * n2
    chunks = numbers[48]
    share = (parts + chunks - 1) // chunks
    P1 = numbers[18]
    P2 = numbers[19]
    size = C * numbers[20] * numbers[21] * numbers[22] * numbers[17] * P1 * P2
    table = numbers[51]
    image = room(size, T)
    turned = room(numbers[8] * numbers[9] * numbers[10] * pitch, T)
    for task in range(first, last):
        g = task // chunks
        start = task % chunks * share
        for part in range(start, min(parts, start + share)):
            b2 = part % n2 * numbers[10]
            rest = part // n2
            b1 = rest % n1 * numbers[9]
            rest //= n1
            b0 = rest % n0 * numbers[8]
            n = rest // n0
            c0 = min(numbers[8], numbers[5] - b0)
            c1 = min(numbers[9], numbers[6] - b1)
            c2 = min(numbers[10], numbers[7] - b2)
            gather(
                x,
                image,
                numbers,
                numbers[26] + n * numbers[27] + g * numbers[28],
                b0 * numbers[11] + numbers[14],
                b1 * numbers[12] + numbers[15],
                b2 * numbers[13] + numbers[16],
            )
            at = (
                numbers[33] + n * numbers[34] + g * numbers[35] + b0 * numbers[37] + b1 * numbers[38] + b2 * numbers[39]
            )
            for panel in range(across):
                m = panel * NR
                for o0 in range(c0):
                    for o1 in range(c1):
                        q = at + m * numbers[36] + o0 * numbers[37] + o1 * numbers[38]
                        to = ((panel * c0 + o0) * c1 + o1) * c2 * NR
                        turn(y, q, numbers[36], numbers[39], turned, to, min(NR, M - m), c2)
            for panel in range(across):
                # One vector where it holds all channels that are left.
                read = M - panel * NR if M - panel * NR <= LANES else NR
                for k in range(0, K, MR):
                    z = task * K * pitch + k * pitch + panel * NR
                    h = min(MR, K - k)
                    for o0 in range(c0):
                        for o1 in range(c1):
                            to = ((panel * c0 + o0) * c1 + o1) * c2 * NR
                            q = (o0 * P1 + o1) * P2
                            more = part > start or o0 > 0 or o1 > 0
                            by_rows(
                                image,
                                q,
                                (numbers, table + k),
                                1,
                                turned,
                                to,
                                NR,
                                read,
                                slabs,
                                z,
                                pitch,
                                c2,
                                h,
                                read,
                                T(1),
                                more,
                            )
    leave(turned)
    leave(image)


def add_slabs(slabs, out, numbers):  # type: ignore[no-untyped-def]
    """out[m, c, tap] = the sum of the slabs, in their order; a task is one channel c of a group."""
    M = numbers[2]
    C = numbers[3]
    taps = numbers[4]
    pitch = (M + NR - 1) // NR * NR
    size = taps * pitch
    for task in range(first, last):
        g = task // C
        c = task % C
        at = (g * numbers[48] * C + c) * size
        total = slabs[at : at + size]
        for chunk in range(1, numbers[48]):
            slab = slabs[at + chunk * C * size : at + chunk * C * size + size]
            for q in range(size):
                total[q] = T(total[q] + slab[q])
        to = numbers[40] + g * numbers[41] + c * numbers[43]
        for m in range(M):
            for t in range(taps):
                out[to + m * numbers[42] + numbers[numbers[50] + t]] = total[t * pitch + m]
