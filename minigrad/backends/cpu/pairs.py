"""Pairs of rows on the CPU: their distances, and the gradient with respect to the elements of a matrix.

`columns` is a matrix in the compute dtype, transposed.  So the distances of one row from neighbouring rows are a loop
over neighbours, which vectorises without re-ordering additions.  Sixteen columns are added up in the compute dtype, and
these sums are added in float64.  A gradient adds the terms of 32 rows in the compute dtype, eight at a time,
and then adds these sums in float64.  Its rows have `width` elements, whole lines of the cache: a loop over the
remaining elements would take as long as that over all vectors.  The elements behind the `cols` of a row have any value.

Free names: `F` is the reduction's scalar function of (acc, difference), and `FINISH` its last step; in a gradient, `F`
is the function of a difference.  Each output is computed by one task, in one order, so the number of threads cannot
change a result.
"""

# ruff: noqa: F821
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, CpuSteps
from minigrad.backends.cpu.loops import CHUNK
from minigrad.backends.steps import Value
from minigrad.core import requests
from minigrad.core.dtype import as_dtype
from minigrad.core.op import ScalarFn
from minigrad.core.plan import pieces
from minigrad.core.reducer import Reducer
from minigrad.kernels.fields import Fields, loop
from minigrad.kernels.macros import finish_macro, neutral_text
from minigrad.kernels.pasting import Late

COLUMNS, ROWS = 8, 4  # columns, and rows of `columns`, that are added together
LINE = 16  # elements of float32 in a line of the cache


def from_row(source, at, step, columns, start, width, m, part, acc, y, skipped):  # type: ignore[no-untyped-def]
    """Write to `y` the distances of one row from neighbouring rows; `part` and `acc` are memory for the sums.

    Element k of the row is source[at + k * step], and element k of neighbour j is columns[start + k * width + j].  `y`
    has no place for the first `skipped` sums, nor for the last ones: they fill vectors.
    """
    count = len(acc)
    for j in range(count):
        acc[j] = 0.0
    for low in range(0, m, 16):
        high = min(m, low + 16)
        for j in range(count):
            part[j] = IDENTITY
        k = low
        while k + 8 <= high:
            for q in each(COLUMNS):
                a_q = source[at + (k + q) * step]
            p = columns[start + k * width : start + (k + 7) * width + count]
            for j in range(count):
                s = part[j]
                for q in each(COLUMNS):
                    s = T(F(s, a_q - p[np.uint64(j + q * width)]))
                part[j] = s
            k += 8
        while k < high:
            b = source[at + k * step]
            x = columns[start + k * width : start + k * width + count]
            for j in range(count):
                part[j] = T(F(part[j], b - x[j]))
            k += 1
        for j in range(count):
            acc[j] += np.float64(part[j])
    sums = acc[skipped : skipped + len(y)]
    for j in range(len(y)):
        y[j] = STORE(FINISH(T(sums[j]), m))


def from_two_rows(source, at, columns, start, width, m, part, acc, y, z):  # type: ignore[no-untyped-def]
    """Write to `y` and `z` the distances of two rows from neighbouring rows, with one load per column for both rows.

    The rows are source[at : at + 2 * m].  Each distance has the additions of `from_row`, in the same order.
    """
    count = len(y)
    part_y = part[:count]
    part_z = part[count : 2 * count]
    for j in range(2 * count):
        acc[j] = 0.0
    for low in range(0, m, 16):
        high = min(m, low + 16)
        for j in range(2 * count):
            part[j] = IDENTITY
        k = low
        while k + 4 <= high:
            for q in each(ROWS):
                a_q = source[at + k + q]
                b_q = source[at + m + k + q]
            p = columns[start + k * width : start + (k + 3) * width + count]
            for j in range(count):
                s = part_y[j]
                t = part_z[j]
                for q in each(ROWS):
                    x_q = p[np.uint64(j + q * width)]
                    s = T(F(s, a_q - x_q))
                    t = T(F(t, b_q - x_q))
                part_y[j] = s
                part_z[j] = t
            k += 4
        while k < high:
            a = source[at + k]
            b = source[at + m + k]
            x = columns[start + k * width : start + k * width + count]
            for j in range(count):
                part_y[j] = T(F(part_y[j], a - x[j]))
                part_z[j] = T(F(part_z[j], b - x[j]))
            k += 1
        for j in range(2 * count):
            acc[j] += np.float64(part[j])
    for j in range(count):
        y[j] = STORE(FINISH(T(acc[j]), m))
        z[j] = STORE(FINISH(T(acc[count + j]), m))


@loop(Fields("rows width cols out chunk"), helpers=(from_row,), fastmath=("contract",))
def pairs(columns, out, N):  # type: ignore[no-untyped-def]
    """Compute the distances of all pairs of rows.  A task is `chunk` rows from the beginning and as many from the end.

    So all tasks have the same number of pairs, except the last one.  The sums of a row begin and end with whole lines
    of the cache, because a loop over the remaining elements would take longer than that over all vectors.
    """
    n = N.rows
    total = workspace(N.width, np.float64)
    part = workspace(N.width, T)
    for task in range(first, last):
        for turn in range(2 * task * N.chunk, 2 * min((n + 1) // 2, (task + 1) * N.chunk)):
            i = turn // 2 if turn % 2 == 0 else n - 1 - turn // 2
            count = n - 1 - i
            if turn % 2 and i == turn // 2:
                count = 0  # if n is odd, the previous turn has computed the row in the middle
            at = N.out + i * (2 * n - i - 1) // 2
            begin = (i + 1) // LINE * LINE
            y = out[at : at + count]
            sums = total[: N.width - begin]
            from_row(columns, i, N.width, columns, begin, N.width, N.cols, part, sums, y, i + 1 - begin)
    leave(total, part)


@loop(
    Fields("rows others width cols all_rows out chunk block"), helpers=(from_row, from_two_rows), fastmath=("contract",)
)
def crossed(matrix, columns, out, N):  # type: ignore[no-untyped-def]
    """Compute the distances of each row of `matrix` from all rows of the other matrix, in each batch of `rows` rows.

    A task is `chunk` rows.  All of them read a block of the other rows before the next block, which stays in the cache.
    """
    n, m = N.others, N.cols
    total = workspace(2 * N.block, np.float64)
    part = workspace(2 * N.block, T)
    end = min(N.all_rows, last * N.chunk)
    for low in range(0, n, N.block):
        count = min(n - low, N.block)
        i = first * N.chunk
        while i < end:
            start = i // N.rows * m * N.width + low
            at = N.out + i * n + low
            y = out[at : at + count]
            if i + 1 < end and (i + 1) % N.rows != 0:
                z = out[at + n : at + n + count]
                from_two_rows(matrix, i * m, columns, start, N.width, m, part, total, y, z)
                i += 2
            else:
                from_row(matrix, i * m, 1, columns, start, N.width, m, part[:count], total[:count], y, 0)
                i += 1
    leave(total, part)


def add_rows(x, y, factors, matrix, base, part, total, other):  # type: ignore[no-untyped-def]
    """Add to `total` the factors times the directions from some rows of a matrix to the row x, and to `other` for y.

    The first half of `factors` belongs to x, the second half to y.  matrix[base] is the first element of the first of
    the rows, each of which is loaded once for both.  `part` is memory for twice as many sums as x is long.
    """
    n = len(factors) // 2
    m = len(x)
    s = part[:m]
    t = part[m : 2 * m]
    for k in range(2 * m):
        part[k] = T(0)
    j = 0
    while j + 8 <= n:
        for q in each(COLUMNS):
            a_q = factors[j + q]
            b_q = factors[n + j + q]
        # One slice for all rows: a slice takes as long as several elements.
        z = matrix[base + j * m : base + (j + 8) * m]
        for k in range(m):
            r = s[k]
            u = t[k]
            for q in each(COLUMNS):
                e_q = z[np.uint64(k + q * m)]
                r += T(a_q * T(F(x[k] - e_q)))
                u += T(b_q * T(F(y[k] - e_q)))
            s[k] = r
            t[k] = u
        j += 8
    while j < n:
        a = factors[j]
        b = factors[n + j]
        z = matrix[base + j * m : base + (j + 1) * m]
        for k in range(m):
            e = z[k]
            s[k] += T(a * T(F(x[k] - e)))
            t[k] += T(b * T(F(y[k] - e)))
        j += 1
    for k in range(m):
        total[k] += np.float64(s[k])
        other[k] += np.float64(t[k])


@loop(Fields("rows cols width out chunk"), helpers=(add_rows,), fastmath=("contract",))
def pair_gradients(factors, matrix, out, N):  # type: ignore[no-untyped-def]
    """Compute the gradients of a chunk of rows, two rows at a time; factors: one number per pair of rows.

    If the number of rows is odd, the last row is computed twice.
    """
    n, m, width = N.rows, N.cols, N.width
    total = workspace(2 * width, np.float64)
    part = workspace(2 * width, T)
    own = workspace(64, T)
    end = min(n, last * N.chunk)
    for i in range(first * N.chunk, end, 2):
        two = min(2, end - i)
        x = matrix[i * width : (i + 1) * width]
        y = matrix[(i + two - 1) * width : (i + two) * width]
        for k in range(2 * width):
            total[k] = 0.0
        for low in range(0, n, 32):
            count = min(32, n - low)
            for k in range(2 * count):
                row = i if k < count else i + two - 1
                j = low + k if k < count else low + k - count
                left = min(row, j)
                at = left * (2 * n - left - 1) // 2 + max(row, j) - left - 1
                own[k] = T(0) if row == j else factors[at]
            add_rows(x, y, own[: 2 * count], matrix, low * width, part, total[:width], total[width : 2 * width])
        for r in range(two):
            z = out[N.out + (i + r) * m : N.out + (i + r + 1) * m]
            sums = total[r * width : (r + 1) * width]
            for k in range(m):
                z[k] = STORE(T(sums[k]))
    leave(total, part, own)


@loop(Fields("rows others cols width all_rows out chunk step next"), helpers=(add_rows,), fastmath=("contract",))
def crossed_gradients(factors, matrix, others, out, N):  # type: ignore[no-untyped-def]
    """Compute the gradients of a chunk of rows, two rows at a time.

    factors: one number per row and row of the other matrix.  `step` is the distance between the factors of neighbouring
    rows, and `next` that between those of other rows.  All rows of the chunk read 32 of the other rows before the next
    32, which stay in the cache.  A row without a neighbour in its batch is computed twice: the last sums are not used.
    """
    n, m, width = N.others, N.cols, N.width
    begin = first * N.chunk
    end = min(N.all_rows, last * N.chunk)
    total = workspace((N.chunk * max(1, last - first) + 1) * width, np.float64)
    part = workspace(2 * width, T)
    own = workspace(64, T)
    for k in range((end - begin + 1) * width):
        total[k] = 0.0
    for low in range(0, n, 32):
        count = min(32, n - low)
        i = begin
        while i < end:
            batch = i // N.rows
            at = batch * N.rows * n + (i - batch * N.rows) * N.step + low * N.next
            two = 2 if i + 1 < end and (i + 1) % N.rows != 0 else 1
            also = at + (two - 1) * N.step
            # Unsigned indices need no test for wrapping around.
            for k in range(count):
                own[k] = factors[np.uint64(at + k * N.next)]
                own[count + k] = factors[np.uint64(also + k * N.next)]
            x = matrix[i * width : (i + 1) * width]
            y = matrix[(i + two - 1) * width : (i + two) * width]
            to = (i - begin) * width
            sums = total[to : to + width]
            to = to + width if two == 2 else (end - begin) * width
            more = total[to : to + width]
            add_rows(x, y, own[: 2 * count], others, (batch * n + low) * width, part, sums, more)
            i += two
    for i in range(begin, end):
        sums = total[(i - begin) * width : (i - begin + 1) * width]
        z = out[N.out + i * m : N.out + (i + 1) * m]
        for k in range(m):
            z[k] = STORE(T(sums[k]))
    leave(total, part, own)


TOGETHER = 16  # rows of a task at the least, so that they share what they read
NEAR = 1 << 17  # bytes of a block of columns that stays in the second cache
BLOCK = 64  # the columns of a block are a multiple of this number


@serves(CpuBackend, requests.PairDistances)
def pair_distances(steps: CpuSteps, request: requests.PairDistances) -> None:
    (out,), (x,), compute = steps.outs, steps.operands, request.compute
    n, m = x.shape
    width = -(-n // LINE) * LINE
    columns = steps.work((m, width), as_dtype(compute))
    steps.copy(columns.at(1, 0, n).transposed, x)
    steps.run(
        pairs, columns, out, **distances(request.reducer, compute), cost=2 * m,
        divided=pieces(-(-n // 2), max(1, CHUNK // (n * max(1, m)))), rows=n, width=width, cols=m,
    )  # fmt: skip


@serves(CpuBackend, requests.RowDistances)
def row_distances(steps: CpuSteps, request: requests.RowDistances) -> None:
    (out,), (a, b), compute = steps.outs, steps.operands, request.compute
    *batch, n, m = b.shape
    # Each line of columns begins at a multiple of 16 elements, so that no vector lies in two lines of the cache.
    width = -(-n // LINE) * LINE
    matrix, columns = in_order(steps, a, compute), steps.work((*batch, m, width), as_dtype(compute))
    steps.copy(columns.at(len(batch) + 1, 0, n).transposed, b)
    all_rows = out.layout.numel // n
    steps.run(
        crossed, matrix, columns, out, **distances(request.reducer, compute), cost=2 * m,
        divided=pieces(all_rows, max(TOGETHER, CHUNK // (n * max(1, m)))), rows=a.shape[-2], others=n, width=width,
        cols=m, all_rows=all_rows,
        block=min(n, max(BLOCK, NEAR // (max(1, m) * columns.dtype.itemsize) // BLOCK * BLOCK)),
    )  # fmt: skip


@serves(CpuBackend, requests.PairGradients)
def differentiate_pairs(steps: CpuSteps, request: requests.PairGradients) -> None:
    (out,), (g, y, x), compute = steps.outs, steps.operands, request.compute
    n, m = x.shape
    factors, matrix = steps.work(g.shape, as_dtype(compute)), in_lines(steps, x, compute)
    steps.each(request.factor, factors, g, y)
    steps.run(
        pair_gradients, factors, matrix, out, **gradients(request.direction, compute), cost=2 * n,
        divided=pieces(n, max(1, CHUNK // (n * m))), rows=n, cols=m, width=matrix.shape[-1],
    )  # fmt: skip


@serves(CpuBackend, requests.RowGradients)
def row_gradients(steps: CpuSteps, request: requests.RowGradients) -> None:
    (out,), (g, y, a, b), compute = steps.outs, steps.operands, request.compute
    if not g.layout.numel:
        steps.fill(out, 0)
        return
    n, m = b.shape[-2:]
    flipped = y.transposed.layout.is_contiguous and not y.layout.is_contiguous
    factors = steps.work(y.transposed.shape if flipped else y.shape, as_dtype(compute))
    steps.each(request.factor, factors, *[x.transposed if flipped else x for x in (g, y)])
    matrix, others = (in_lines(steps, x, compute) for x in (a, b))
    all_rows, rows = out.layout.numel // m, a.shape[-2]
    steps.run(
        crossed_gradients, factors, matrix, others, out, **gradients(request.direction, compute), cost=2 * n,
        divided=pieces(all_rows, max(TOGETHER, CHUNK // (n * m))), rows=rows, others=n, cols=m, width=others.shape[-1],
        all_rows=all_rows, step=1 if flipped else n, next=rows if flipped else 1,
    )  # fmt: skip


def in_order(steps: CpuSteps, x: Value, compute: np.dtype[Any]) -> Value:
    """Return x if its elements are row-major from the start of its memory, in the compute dtype; otherwise a copy."""
    dtype = as_dtype(compute)
    if x.dtype is dtype and x.layout.is_contiguous and not x.layout.offset:
        return x
    return steps.copied(x, dtype)


def in_lines(steps: CpuSteps, x: Value, compute: np.dtype[Any]) -> Value:
    """Return matrices whose rows are whole lines of the cache: `in_order`, or a copy with more elements per row."""
    *batch, m = x.shape
    width = -(-m // LINE) * LINE
    if width == m:
        return in_order(steps, x, compute)
    wider = steps.work((*batch, width), as_dtype(compute))
    steps.copy(wider.at(len(batch), 0, m), x)
    return wider


def distances(reducer: Reducer, compute: np.dtype[Any]) -> dict[str, Any]:
    """Return the words and the form of the loops of distances."""
    finish, identity = Late(finish_macro, (reducer, compute)), neutral_text(reducer.identity, compute)
    form = reducer.finish.name if reducer.finish else reducer.scalar.name
    return {"words": {"F": reducer.scalar, "FINISH": finish, "IDENTITY": identity}, "form": form, "compute": compute}


def gradients(direction: ScalarFn, compute: np.dtype[Any]) -> dict[str, Any]:
    """Return the words and the form of the loops of gradients."""
    return {"words": {"F": direction}, "form": direction.name, "compute": compute}
