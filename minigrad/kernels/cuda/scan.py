"""Scans: every partial result of a reduction along one dim, and running min/max with their positions.

Free names: `F` is a step of the scan from the accumulator and the operands' elements, or states whether x beats the
best element.  `COMBINE` joins two accumulators, the earlier one first, and `IDENTITY` is the first accumulator.
`LOAD_K` and `STORE` are the conversions.  `SEND` and `RECEIVE` convert an accumulator to the type `WIRE`, which threads
exchange, and back.

A group of `blockDim.x` lanes scans a row, or a block of a row, in tiles of EACH neighbours per lane.  Each lane scans
its own elements, then the lanes scan their totals, and the total is carried to the next tile.  `SCAN_OWN` and
`LEAVE_OWN` are written out for the EACH elements, which use one load and one store if possible.  If rows are divided,
`work` has the totals of their blocks, the first blocks of all rows first.  `LATER` is `later` of two positions.
"""

# ruff: noqa: F821, F841, RUF059
import numpy as np

from minigrad.kernels.fields import Fields


def scan_fields(rank):
    """Return the numbers of these kernels: rows of n elements, in `blocks` blocks of up to `block` elements."""
    return Fields("rows n block blocks", f"shape[{rank}]", f"offset step strides[{rank}]")


def chain(in_K, out, N):
    """Scan one element after the other; a thread scans one row."""
    i = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while i < N.rows:
        rest = i
        to = N.offset[0]
        at_K = N.offset[K + 1]
        walk(rest, N.shape, to=N.strides[0], at_K=N.strides[K + 1])
        acc = IDENTITY
        j = np.int64(0)
        while j < N.n:
            acc = T(F(acc, LOAD_K(in_K[at_K])))
            out[to] = STORE(acc)
            to += N.step[0]
            at_K += N.step[K + 1]
            j += 1
        i += np.int64(cuda.gridDim.x) * cuda.blockDim.x


def before_lane(acc, carry):
    """Return the total before a lane, and the carry to the next tile.

    They are computed from the totals of the lanes in the group and the carry from the previous tile.
    """
    lane = cuda.threadIdx.x % 32
    lanes = min(cuda.blockDim.x, 32)
    step = 1
    while step < lanes:
        other = RECEIVE(cuda.shfl_up_sync(0xFFFFFFFF, SEND(acc), step))
        if lane % lanes >= step:
            acc = T(COMBINE(other, acc))
        step *= 2
    earlier = RECEIVE(cuda.shfl_up_sync(0xFFFFFFFF, SEND(acc), 1))
    if cuda.blockDim.x > 32:
        parts = cuda.shared.array(8, WIRE)
        cuda.syncthreads()
        if lane == 31:
            parts[cuda.threadIdx.x // 32] = SEND(acc)
        cuda.syncthreads()
        mine = carry
        k = 0
        while k < cuda.blockDim.x // 32:
            if k == cuda.threadIdx.x // 32:
                mine = carry
            part = RECEIVE(parts[k])
            carry = T(COMBINE(carry, part))
            k += 1
        after = carry
    else:
        mine = carry
        last = RECEIVE(cuda.shfl_sync(0xFFFFFFFF, SEND(acc), cuda.threadIdx.y * lanes % 32 + lanes - 1))
        after = T(COMBINE(carry, last))
    if lane % lanes > 0:
        mine = T(COMBINE(mine, earlier))
    return mine, after


def tiles(in_0, work, out, N):
    """Scan rows in tiles; the scan of each block begins with the total of the blocks before it."""
    held = cuda.local.array(EACH, T)
    first = np.int64(cuda.blockIdx.x) * cuda.blockDim.y
    while first < N.rows * N.blocks:
        inside = first + cuda.threadIdx.y < N.rows * N.blocks
        unit = first + cuda.threadIdx.y if inside else np.int64(0)
        row = unit // N.blocks
        part = unit - row * N.blocks
        start = part * N.block
        length = min(N.block, N.n - start) if inside else np.int64(0)
        rest = row
        to = N.offset[0] + start * N.step[0]
        at = N.offset[1] + start * N.step[1]
        walk(rest, N.shape, to=N.strides[0], at=N.strides[1])
        carry = IDENTITY
        if CUT:
            if cuda.threadIdx.x < part:
                carry = work[cuda.threadIdx.x * N.rows + row]
            total = by_lanes(carry)
            carry = total[0]
        tile = np.int64(0)
        while tile < N.block:
            i = tile + cuda.threadIdx.x * EACH
            SCAN_OWN()
            acc = held[EACH - 1]
            mine, carry = before_lane(acc, carry)
            LEAVE_OWN()
            tile += cuda.blockDim.x * EACH
        first += np.int64(cuda.gridDim.x) * cuda.blockDim.y


def extremes(in_0, in_1, out, N):
    """Write the best elements of in_0 so far to in_1, and their positions to out; every row is one block."""
    held = cuda.local.array(EACH, np.int64)
    lane = cuda.threadIdx.x % 32
    lanes = min(cuda.blockDim.x, 32)
    parts = cuda.shared.array(8, np.int64)
    first = np.int64(cuda.blockIdx.x) * cuda.blockDim.y
    while first < N.rows:
        inside = first + cuda.threadIdx.y < N.rows
        rest = first + cuda.threadIdx.y if inside else np.int64(0)
        length = N.n if inside else np.int64(0)
        to = N.offset[0]
        at = N.offset[1]
        goal = N.offset[2]
        walk(rest, N.shape, to=N.strides[0], at=N.strides[1], goal=N.strides[2])
        carry = np.int64(-1)
        tile = np.int64(0)
        while tile < N.n:
            i = tile + cuda.threadIdx.x * EACH
            winner = np.int64(-1)
            for k in range(EACH):
                if i + k < length:
                    winner = LATER(winner, i + k)
                held[k] = winner
            step = 1
            while step < lanes:
                other = cuda.shfl_up_sync(0xFFFFFFFF, winner, step)
                if lane % lanes >= step:
                    winner = LATER(other, winner)
                step *= 2
            earlier = cuda.shfl_up_sync(0xFFFFFFFF, winner, 1)
            mine = carry
            if cuda.blockDim.x > 32:
                cuda.syncthreads()
                if lane == 31:
                    parts[cuda.threadIdx.x // 32] = winner
                cuda.syncthreads()
                k = 0
                while k < cuda.blockDim.x // 32:
                    if k == cuda.threadIdx.x // 32:
                        mine = carry
                    carry = LATER(carry, parts[k])
                    k += 1
            else:
                last = cuda.shfl_sync(0xFFFFFFFF, winner, cuda.threadIdx.y * lanes % 32 + lanes - 1)
                carry = LATER(carry, last)
            if lane % lanes > 0:
                mine = LATER(mine, earlier)
            for k in range(EACH):
                if i + k < length:
                    position = LATER(mine, held[k])
                    in_1[goal + (i + k) * N.step[2]] = in_0[at + position * N.step[1]]
                    out[to + (i + k) * N.step[0]] = position
            tile += cuda.blockDim.x * EACH
        first += np.int64(cuda.gridDim.x) * cuda.blockDim.y


def later(winner, there, in_0, at, step):
    """Return the position of the better of two elements of a row.

    The second element comes later.  A position of -1 means that there is no element.
    """
    if there < 0:
        return winner
    if winner < 0:
        return there
    held = LOAD_0(in_0[at + winner * step])
    value = LOAD_0(in_0[at + there * step])
    return there if F(held, value) else winner
