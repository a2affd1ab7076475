"""Selection and search on the CPU: the element at one rank of a row, and the places of elements in sorted rows.

Keys are those of `kernels/integer.py`, so nan is the largest element and the two zeros are equal.  Equal keys are
ordered by position.  In a row of a few elements, the rank of an element is found by comparing it with all others.  In a
longer row, the keys are divided by their digits, from the highest on, and only the keys with the digit of the wanted
key remain (Knuth, The Art of Computer Programming, vol. 3, sections 5.2.5 and 5.3.3).  A search is binary.

Free names: `KEY` is the dtype's key, `UINT` its dtype and `BITS` its length.  `NAN` is the key of nan.
"""

# ruff: noqa: B007, F821
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from math import prod

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, CpuSteps
from minigrad.backends.cpu.loops import CHUNK
from minigrad.backends.cpu.sorting import COST, FEW, PART, chunks_of
from minigrad.backends.shared import lines_of
from minigrad.core import requests
from minigrad.core.plan import pieces
from minigrad.kernels.fields import Fields, loop
from minigrad.kernels.integer import key_words


def position_by_pairs(keys, n, k):  # type: ignore[no-untyped-def]
    """Return the position of the key of rank k, by comparisons of all pairs."""
    for i in range(n):
        key = keys[i]
        before = 0
        for j in range(i):
            before += 1 if keys[j] <= key else 0
        for j in range(i + 1, n):
            before += 1 if keys[j] < key else 0
        if before == k:
            return np.int64(i)
    return np.int64(0)


def position_by_digits(keys, n, k, left, counts):  # type: ignore[no-untyped-def]
    """Return the position of the key of rank k, digit by digit.

    left: scratch memory for the positions of the keys that remain, which stay in their order.
    """
    remaining = n
    shift = UINT(BITS - 8)
    for part in range(BITS // 8):
        for d in range(256):
            counts[d] = 0
        if part == 0:
            for i in range(n):
                counts[(keys[i] >> shift) & UINT(255)] += 1
        else:
            for i in range(remaining):
                counts[(keys[left[i]] >> shift) & UINT(255)] += 1
        digit = 0
        while k >= counts[digit]:
            k -= counts[digit]
            digit += 1
        same = 0
        if part == 0:
            for i in range(n):
                left[same] = i
                same += 1 if np.int64((keys[i] >> shift) & UINT(255)) == digit else 0
        else:
            for i in range(remaining):
                at = left[i]
                left[same] = at
                same += 1 if np.int64((keys[at] >> shift) & UINT(255)) == digit else 0
        remaining = same
        if remaining == 1:
            break
        shift -= UINT(8)
    return np.int64(left[k])


@loop(
    Fields("rows chunk n wanted missing rank", "sizes[rank]", "offset step strides[rank]"),
    helpers=(position_by_pairs, position_by_digits),
)
def select(in_0, values, out, N):  # type: ignore[no-untyped-def]
    """Write one element of each row, and its position.  A task is a chunk of rows.

    wanted: the rank in the order.  missing: with 1, rows with nan select their first nan; with 2, the rank is the lower
    middle of the elements that are not nan.  The groups are those of out and in_0; step is along the row.
    """
    n, s = N.n, N.step[1]
    keys = workspace(n, UINT)
    left = workspace(n, np.int64)
    counts = workspace(256, np.int64)
    for t in range(first, last):
        for r in range(t * N.chunk, min(N.rows, (t + 1) * N.chunk)):
            rest = r
            to, at = N.offset[0], N.offset[1]
            walk(rest, N.sizes, to=N.strides[0], at=N.strides[1])
            present = 0
            if s == 1:
                x = in_0[at : at + n]
                for i in range(n):
                    keys[i] = KEY(x[i])
            else:
                for i in range(n):
                    keys[i] = KEY(in_0[at + i * s])
            for i in range(n):
                present += 1 if keys[i] != NAN else 0
            wanted = N.wanted
            if N.missing == 1 and present < n:
                wanted = present
            if N.missing == 2:
                wanted = max(present - 1, 0) // 2
            if n <= 32:
                position = position_by_pairs(keys, n, wanted)
            else:
                position = position_by_digits(keys, n, wanted, left, counts)
            out[to] = position
            values[to] = in_0[at + position * s]
    leave(keys, left, counts)


LANES = 8  # number of binary searches side by side


@loop(Fields("blocks block cols n after rank", "sizes[rank]", "offset step strides[rank]"), loads=2)
def insert(lines, x, out, N):  # type: ignore[no-untyped-def]
    """Write the place of each element of x in its line of n sorted elements.  A task is a block of a row of x.

    after: whether the place is behind equal elements.  The groups are those of out, lines and x; step is along the row.
    """
    step = N.step[1]
    after = N.after != 0
    for unit in range(first, last):
        rest = unit // N.blocks
        left = (unit - rest * N.blocks) * N.block
        to, line, at = N.offset[0], N.offset[1], N.offset[2]
        walk(rest, N.sizes, to=N.strides[0], line=N.strides[1], at=N.strides[2])
        end = min(left + N.block, N.cols)
        # LANES searches run side by side without branches, because each step of one search waits for the step before.
        whole = left + (end - left) // LANES * LANES
        for c in range(left, whole, LANES):
            for u in each(LANES):
                key_u = KEY(x[at + (c + u) * N.step[2]])
                low_u = 0
            size = N.n
            while size > 0:
                half = (size + 1) // 2
                for u in each(LANES):
                    other_u = KEY(lines[np.uint64(line + (low_u + half - 1) * step)])
                    low_u = low_u + half if (other_u < key_u) | ((other_u == key_u) & after) else low_u
                size -= half
            for u in each(LANES):
                out[to + (c + u) * N.step[0]] = low_u
        for c in range(whole, end):
            key = KEY(x[at + c * N.step[2]])
            low = 0
            size = N.n
            while size > 0:
                half = (size + 1) // 2
                other = KEY(lines[np.uint64(line + (low + half - 1) * step)])
                low = low + half if (other < key) | ((other == key) & after) else low
                size -= half
            out[to + c * N.step[0]] = low


JOINED = 4096  # elements of a line and a row of x from which both are sorted together, if a search takes more steps
MISSING = {"last": 0, "first": 1, "skip": 2}


@serves(CpuBackend, requests.Nth)
def select_nth(steps: CpuSteps, request: requests.Nth) -> None:
    (values, positions), (a,) = steps.outs, steps.operands
    dim, rank, missing = request.dim, request.rank, request.missing
    n = a.shape[dim]
    few = missing == "last" and rank < FEW and n >= FEW * PART and a.dtype.itemsize <= 4  # `first_few` is faster
    if few or values.layout is not positions.layout:
        return steps.lower(request)
    words = key_words(a.dtype) | {"BITS": 8 * a.dtype.itemsize, "NAN": key_words(a.dtype)["TOP"]}
    steps.run(
        select, a, values, positions, words=words, cost=COST, n=n, wanted=rank,
        missing=MISSING[missing] if a.dtype.is_float else 0, **chunks_of((positions, a), a.shape, dim),
    )  # fmt: skip


@serves(CpuBackend, requests.Insert)
def search_lines(steps: CpuSteps, request: requests.Insert) -> None:
    (out,), (lines, x) = steps.outs, steps.operands
    last, cols, n = len(x.shape) - 1, x.shape[-1], lines.shape[-1]
    # In a long line, the steps of a search wait for memory.
    if n + cols >= JOINED and n.bit_length() * cols > 2 * (n + cols):
        return steps.lower(request)
    dims, groups = lines_of((out, lines, x), last, x.shape)
    block, blocks = pieces(cols, CHUNK // COST)
    steps.run(
        insert, lines, x, out, words=key_words(x.dtype), cost=COST, tasks=blocks * prod(dims), each=groups,
        blocks=blocks, block=block, cols=cols, n=n, after=request.after, sizes=dims,
    )  # fmt: skip
