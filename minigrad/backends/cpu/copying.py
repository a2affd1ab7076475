"""Copies on the CPU: operands joined into one result, and planes surrounded by copies of their elements.

If each operand of a join is dense and has the dtype of the result, one launch copies bytes of each operand in turn, for
each row of the result; `move` is that of `kernels/cpu/moving.py`.  Other joins are copies, one per operand: see
`backends/lowering/`.

Planes have up to three dims (z, y, x).  `position` returns the position from which an element is copied.  Rows are
copied as slices, and only the elements that are added to a row are computed one by one.  `around_back` is the adjoint.
"""

# ruff: noqa: F821
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from itertools import accumulate
from math import prod

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, CpuSteps
from minigrad.backends.cpu.loops import CHUNK
from minigrad.backends.cpu.texts import sum_text
from minigrad.backends.launch import Launch
from minigrad.core import requests
from minigrad.core.layout import Layout, merge
from minigrad.core.plan import pieces
from minigrad.kernels.cpu.target import moving_header
from minigrad.kernels.fields import Fields, loop


@loop(Fields("chunk whole row parts", "ends[parts] offsets"), table=True, imports=lambda *others: moving_header())
def join(addresses, N):  # type: ignore[no-untyped-def]
    """Copy the operands into the result.  A task is a chunk of the `whole` bytes of the result.

    ends: where each operand's part of a row ends.  offsets: how many bytes the first element of each operand, and of
    the result, is behind its address.
    """
    parts = N.parts
    to = addresses[parts] + N.offsets[parts]
    for chunk in range(first, last):
        at = chunk * N.chunk
        stop = min(N.whole, at + N.chunk)
        line = at // N.row
        within = at - line * N.row
        k = 0
        while N.ends[k] <= within:
            k += 1
        while at < stop:
            begin = N.ends[k - 1] if k > 0 else 0
            end = N.ends[k]
            n = min(end - within, stop - at)
            source = addresses[k] + N.offsets[k]
            move(to + at, source + line * (end - begin) + within - begin, n)
            at += n
            within += n
            if within == end:
                k += 1
            if k == parts:
                k = 0
                within = 0
                line += 1


PIECE = 1 << 15  # size of a chunk in bytes
# Maximum number of elements for a strided copy (0.7 ns per element); longer operands use a call that moves bytes (5
# ns).
SHORT = 6
LONG = 4096  # minimum number of elements of an operand for a separate launch


@serves(CpuBackend, requests.Join)
def join_dense(steps: CpuSteps, request: requests.Join) -> Launch | None:
    (out,), parts, dim = steps.outs, steps.operands, request.dim
    lengths = [prod(x.shape[dim:]) for x in parts]
    scattered = max(lengths) <= SHORT and out.layout.numel >= LONG * len(parts)
    if scattered or not all(x.dtype is out.dtype and x.layout.is_contiguous for x in (out, *parts)):
        return steps.lower(request)
    size = out.dtype.itemsize
    ends = [size * n for n in accumulate(lengths)]
    whole = size * out.layout.numel
    chunk, _ = pieces(whole, PIECE)
    chunk = -(-chunk // 64) * 64  # chunks begin at cache lines
    offsets = [size * x.layout.offset for x in (*parts, out)]
    steps.run(
        join, *parts, out, dtypes=(), divided=(chunk, -(-whole // chunk)), whole=whole, row=ends[-1], ends=ends,
        offsets=offsets,
    )  # fmt: skip
    return None


# A unit is a chunk of planes.  n: the sizes of a plane; before: the elements added in front; m: the sizes of the
# surrounded plane.  The groups have the strides of a plane, and those of the other dims.
AROUND = Fields(
    "planes chunk mode n_x before_x m_x rank", "shape[rank] n[2] before[2] m[2]", "offset z y x strides[rank]"
)


def position(i, n, mode):  # type: ignore[no-untyped-def]
    """Return the position among n elements from which the element at i is copied; 0 reflects, 1 clamps, 2 wraps."""
    if i >= 0 and i < n:
        return i
    if mode == 1:
        return 0 if i < 0 else n - 1
    if mode == 2:
        return i + n if i < 0 else i - n
    return -i if i < 0 else 2 * (n - 1) - i


@loop(AROUND, loads=0, helpers=(position,))
def around(in_0, out, N):  # type: ignore[no-untyped-def]
    """Copy each row of a plane into the rows of the surrounded plane, and fill their ends."""
    n = N.n_x
    m = N.m_x
    before = N.before_x
    mode = N.mode
    step = N.x[1]
    for unit in range(first, last):
        for plane in range(unit * N.chunk, min(N.planes, (unit + 1) * N.chunk)):
            rest = plane
            to = N.offset[0]
            at = N.offset[1]
            walk(rest, N.shape, to=N.strides[0], at=N.strides[1])
            for z in range(N.m[0]):
                from_z = at + position(z - N.before[0], N.n[0], mode) * N.z[1]
                for y in range(N.m[1]):
                    row = from_z + position(y - N.before[1], N.n[1], mode) * N.y[1]
                    start = to + z * N.z[0] + y * N.y[0]
                    if step == 1:
                        here = np.uint64(start + before)
                        there = np.uint64(row)
                        for j in range(np.uint64(n)):
                            out[here + j] = in_0[there + j]
                    else:
                        for j in range(n):
                            out[np.uint64(start + before + j)] = in_0[np.uint64(row + j * step)]
                    for j in range(before):
                        out[np.uint64(start + j)] = in_0[np.uint64(row + position(j - before, n, mode) * step)]
                    for j in range(before + n, m):
                        out[np.uint64(start + j)] = in_0[np.uint64(row + position(j - before, n, mode) * step)]


@loop(AROUND, loads=2, helpers=(position,))
def around_back(in_0, out, N):  # type: ignore[no-untyped-def]
    """Add each row of a surrounded plane to the row from which it was copied; the planes begin with 0."""
    n = N.n_x
    m = N.m_x
    before = N.before_x
    mode = N.mode
    step = N.x[1]
    for unit in range(first, last):
        for plane in range(unit * N.chunk, min(N.planes, (unit + 1) * N.chunk)):
            rest = plane
            to = N.offset[0]
            at = N.offset[1]
            walk(rest, N.shape, to=N.strides[0], at=N.strides[1])
            whole = out[to : to + N.n[0] * N.n[1] * n]
            for j in range(N.n[0] * N.n[1] * n):
                whole[j] = STORE(T(0))
            for z in range(N.m[0]):
                to_z = to + position(z - N.before[0], N.n[0], mode) * N.z[0]
                for y in range(N.m[1]):
                    start = to_z + position(y - N.before[1], N.n[1], mode) * N.y[0]
                    row = at + z * N.z[1] + y * N.y[1]
                    line = out[start : start + n]
                    if step == 1:
                        source = in_0[row + before : row + before + n]
                        for j in range(n):
                            line[j] = STORE(T(ADD(LOAD_1(line[j]), LOAD_0(source[j]))))
                    else:
                        for j in range(n):
                            value = LOAD_0(in_0[np.uint64(row + (before + j) * step)])
                            line[j] = STORE(T(ADD(LOAD_1(line[j]), value)))
                    for j in range(before):
                        k = position(j - before, n, mode)
                        line[k] = STORE(T(ADD(LOAD_1(line[k]), LOAD_0(in_0[np.uint64(row + j * step)]))))
                    for j in range(before + n, m):
                        k = position(j - before, n, mode)
                        line[k] = STORE(T(ADD(LOAD_1(line[k]), LOAD_0(in_0[np.uint64(row + j * step)]))))


MODES = ("reflect", "replicate", "circular")  # in the order of the numbers that the kernel compares
PLANE = 3  # the number of dims of a plane


@serves(CpuBackend, requests.Surround)
def surround(steps: CpuSteps, request: requests.Surround) -> Launch | None:
    (out,), (a,) = steps.outs, steps.operands
    counts, mode, back = request.counts, request.mode, request.back
    first = next((d for d, pair in enumerate(counts) if any(pair)), len(counts))
    if len(counts) - first > PLANE:
        return steps.lower(request)
    first = min(first, len(counts) - 1)  # at least the last dim belongs to a plane
    lead, missing = out.shape[:first], PLANE - len(out.shape) + first
    inner = (1,) * missing + (out if back else a).shape[first:]
    pairs = ((0, 0),) * missing + counts[first:]
    wide = [n + sum(pair) for n, pair in zip(inner, pairs, strict=True)]
    layouts = [Layout.make(lead, x.layout.strides[:first], x.layout.offset) for x in (out, a)]
    dims, strides = merge(layouts)
    planes = prod(dims)
    inward = [(0,) * missing + x.layout.strides[first:] for x in (out, a)]
    groups = [(x.layout.offset, *step, moves) for x, step, moves in zip((out, a), inward, strides, strict=True)]
    steps.run(
        around_back if back else around, a, out, words={"ADD": sum_text(out.dtype)} if back else {},
        divided=pieces(planes, CHUNK // prod(wide)), numel=planes * prod(wide), each=groups, planes=planes,
        mode=MODES.index(mode), n_x=inner[-1], before_x=pairs[-1][0], m_x=wide[-1],
        shape=dims, n=inner[:-1], before=[pair[0] for pair in pairs[:-1]], m=wide[:-1],
    )  # fmt: skip
    return None
