"""The matrix product of a batch, out = alpha * a @ b + beta * c: tiles, packing, and products with a vector.

`multiply` walks register tiles over blocks of the result and reads both operands where they are; b's rows must be
dense, or `pack` has copied b into panels as wide as a tile, turning it around on the way.  `vector` serves results of
one row or one column, which memory bounds: sums along rows, or rows scaled and added, whichever runs along memory.
Dtypes are those of the registers here; halves, bools and mixed operands are cast by the copy kernels before.

Free names, filled in by `specialize`: `T`, `ALPHA` and `BETA` (read from the numbers), and from the module's
header the tile, its size `MR x NR`, and the depth `KC` up to which operands stay in the nearest caches.  All numbers
are in elements; `rank` is that of the batch, after which lists of its length follow: sizes, and strides per operand.
"""

# ruff: noqa: F821
import numpy as np


def multiply(a, b, c, out, numbers):  # type: ignore[no-untyped-def]
    """Each task makes one block of one matrix, or of the part of it that one piece of the inner dim gives.

    numbers = M, N, K; rows, columns and depth of a task; offset of out; offset of a, its steps along m and k; offset
    of b, from panel to panel and from row to row, whether all of a panel may be read (b is packed); offset of c and
    its steps along m and n; mode (0: out = alpha * product, 1: that is added to out, 2: beta * c is added to it);
    batches; rank; alpha, beta (bits of float64 where T is a float); sizes, strides of a, b and c.  If the inner dim is
    cut, out has a matrix for each piece, and `add_pieces` does the rest.
    """
    M = numbers[0]
    N = numbers[1]
    K = numbers[2]
    high = numbers[3]
    wide = numbers[4]
    deep = numbers[5]
    am = numbers[8]
    ak = numbers[9]
    bk = numbers[12]
    mode = numbers[17]
    rank = numbers[19]
    alpha = ALPHA
    beta = BETA
    down = (M + high - 1) // high
    across = (N + wide - 1) // wide
    pieces = (K + deep - 1) // deep
    whole = numbers[18] * M * N
    for task in range(first, last):
        piece = task % pieces
        block = task // pieces
        i0 = block % down * high
        j0 = block // down % across * wide
        batch = block // (down * across)
        i1 = min(M, i0 + high)
        j1 = min(N, j0 + wide)
        pa = numbers[7]
        pb = numbers[10]
        pc = numbers[14]
        rest = batch
        for d in range(rank - 1, -1, -1):
            place = rest % numbers[22 + d]
            rest //= numbers[22 + d]
            pa += place * numbers[22 + rank + d]
            pb += place * numbers[22 + 2 * rank + d]
            pc += place * numbers[22 + 3 * rank + d]
        z = numbers[6] + batch * M * N + piece * whole
        if mode == 2:
            for i in range(i0, i1):
                row = out[z + i * N + j0 : z + i * N + j1]
                q = pc + i * numbers[15] + j0 * numbers[16]
                if numbers[16] == 1:
                    x = c[q : q + j1 - j0]
                    for j in range(j1 - j0):
                        row[j] = T(beta * x[j])
                else:
                    for j in range(j1 - j0):
                        row[j] = T(beta * c[q + j * numbers[16]])
        for k0 in range(piece * deep, min(K, (piece + 1) * deep), KC):
            depth = min(KC, min(K, (piece + 1) * deep) - k0)
            more = k0 > piece * deep or mode > 0
            for j in range(j0, j1, NR):
                w = min(NR, N - j)
                right = pb + j // NR * numbers[11] + k0 * bk
                read = NR if numbers[13] else w
                for i in range(i0, i1, MR):
                    left = pa + i * am + k0 * ak
                    to = z + i * N + j
                    h = min(MR, M - i)
                    tile(a, left, am, ak, b, right, bk, read, out, to, N, depth, h, w, alpha, more)


def pack(source, panels, numbers):  # type: ignore[no-untyped-def]
    """Each task copies one panel: NR columns, k by k, with zeros beyond the last column.

    numbers = columns, depth; offset of the source, its steps from column to column and from k to k; batches; rank;
    sizes, strides of the source.
    """
    N = numbers[0]
    K = numbers[1]
    step = numbers[3]
    deep = numbers[4]
    rank = numbers[6]
    across = (N + NR - 1) // NR
    for task in range(first, last):
        at = numbers[2]
        rest = task // across
        for d in range(rank - 1, -1, -1):
            at += rest % numbers[7 + d] * numbers[7 + rank + d]
            rest //= numbers[7 + d]
        left = task % across * NR
        w = min(NR, N - left)
        at += left * step
        to = task * NR * K
        if step == 1 and w == NR:
            for k in range(K):
                x = source[at + k * deep : at + k * deep + NR]
                z = panels[to + k * NR : to + k * NR + NR]
                for j in range(NR):
                    z[j] = x[j]
        else:
            squares = w // SIDE * SIDE if deep == 1 else 0
            even = K // SIDE * SIDE
            for k in range(0, even, SIDE):
                for j in range(0, squares, SIDE):
                    transpose(source, at + j * step + k, step, panels, to + k * NR + j, NR)
            for j in range(w):
                # Unsigned, because a signed index is tested for wrapping around at each element.
                start = even if j < squares else 0
                p = np.uint64(to + start * NR + j)
                q = at + j * step + start * deep
                for _ in range(start, K):
                    panels[p] = source[np.uint64(q)]
                    p += np.uint64(NR)
                    q += deep
            if w < NR:
                for k in range(K):
                    z = panels[to + k * NR + w : to + (k + 1) * NR]
                    for j in range(len(z)):
                        z[j] = T(0)


def vector(matrix, x, out, numbers):  # type: ignore[no-untyped-def]
    """Each task makes `high` elements of out, from `deep` elements of x.

    numbers = elements of out, of x; elements and depth of a task; offset of out; offset of the matrix, its steps along
    out and along x; offset of x, its step; batches; rank; sizes, strides of the matrix and of x.  If x is cut, out has
    a result for each piece, as in `multiply`.
    """
    M = numbers[0]
    K = numbers[1]
    high = numbers[2]
    deep = numbers[3]
    sm = numbers[6]
    sk = numbers[7]
    step = numbers[9]
    rank = numbers[11]
    down = (M + high - 1) // high
    pieces = (K + deep - 1) // deep
    spare = room(deep if step != 1 else 0, T)
    for task in range(first, last):
        piece = task % pieces
        k0 = piece * deep
        k1 = min(K, k0 + deep)
        i0 = task // pieces % down * high
        i1 = min(M, i0 + high)
        batch = task // (pieces * down)
        at = numbers[5]
        q = numbers[8] + k0 * step
        rest = batch
        for d in range(rank - 1, -1, -1):
            place = rest % numbers[12 + d]
            rest //= numbers[12 + d]
            at += place * numbers[12 + rank + d]
            q += place * numbers[12 + 2 * rank + d]
        z = (piece * numbers[10] + batch) * M + numbers[4]
        at += i0 * sm + k0 * sk
        y = x[q : q + k1 - k0]
        if step != 1:
            y = spare[0 : k1 - k0]
            for k in range(k1 - k0):
                y[k] = x[q + k * step]
        if sk == 1:
            for i in range(i0, i1):
                row = matrix[at + (i - i0) * sm : at + (i - i0) * sm + k1 - k0]
                out[z + i] = inner(row, y)
        else:
            line = out[z + i0 : z + i1]
            n = i1 - i0
            for i in range(n):
                line[i] = 0
            even = (k1 - k0) // 4 * 4 if sm == 1 else 0
            for k in range(0, even, 4):
                # Four rows a turn: the sums are read and written a quarter as often.
                r0 = matrix[at : at + n]
                r1 = matrix[at + sk : at + sk + n]
                r2 = matrix[at + 2 * sk : at + 2 * sk + n]
                r3 = matrix[at + 3 * sk : at + 3 * sk + n]
                at += 4 * sk
                for i in range(n):
                    line[i] = T(
                        line[i] + T(T(r0[i] * y[k] + r1[i] * y[k + 1]) + T(r2[i] * y[k + 2] + r3[i] * y[k + 3]))
                    )
            for k in range(even, k1 - k0):
                for i in range(n):
                    line[i] = T(line[i] + matrix[at + i * sm] * y[k])
                at += sk
    leave(spare)


def add_pieces(pieces, c, out, numbers):  # type: ignore[no-untyped-def]
    """One task: out = alpha times the sum of the pieces, in order, with beta * c added or added to out, as `mode` says.

    numbers = how many; M, N; offset of out; offset of c, its steps along m and n; mode; batches; rank; alpha, beta;
    sizes, strides of c.
    """
    M = numbers[1]
    N = numbers[2]
    mode = numbers[7]
    rank = numbers[9]
    alpha = ALPHA
    beta = BETA
    whole = numbers[8] * M * N
    total = pieces[0:whole]
    for piece in range(1, numbers[0]):
        more = pieces[piece * whole : (piece + 1) * whole]
        for q in range(whole):
            total[q] = T(total[q] + more[q])
    for row in range(numbers[8] * M):
        at = numbers[4] + row % M * numbers[5]
        rest = row // M
        for d in range(rank - 1, -1, -1):
            at += rest % numbers[12 + d] * numbers[12 + rank + d]
            rest //= numbers[12 + d]
        line = out[numbers[3] + row * N : numbers[3] + (row + 1) * N]
        for j in range(N):
            value = T(alpha * total[row * N + j])
            if mode == 1:
                value = T(value + line[j])
            elif mode == 2:
                value = T(value + beta * c[at + j * numbers[6]])
            line[j] = value


def inner(x, y):  # type: ignore[no-untyped-def]
    """The inner product of two dense vectors.  Its sum may be taken in any order, so that it vectorises."""
    total = T(0)
    for k in range(len(x)):
        total += x[k] * y[k]
    return total
