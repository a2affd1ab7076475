"""Sorting on the CPU by integer keys: stable argsort of rows, and the first few elements without sorting the others.

The loops return positions, and on request the sorted values.  Keys are those of `kernels/integer.py`.  A key of up to
32 bits and the element's position share one 64-bit word, so that words of equal keys differ.  A longer key is sorted in
two parts: by its lower half, and then by its upper half.  Digits are sorted from the lowest to the highest (LSD radix
sort: Knuth, The Art of Computer Programming, vol. 3, section 5.2.5), and rows of a few elements by insertion.

Free names: `KEY` is the dtype's key, `BITS` its length, or the length of one part, and `WIDE` states whether it has two
parts.  `KEEP(position, x)` stores an element in `values`, if the elements are requested.
"""

# ruff: noqa: F821
# mypy: disable-error-code="assignment, name-defined"
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from minigrad.backends.cpu.family import CpuBackend, CpuSteps
from minigrad.backends.cpu.loops import CHUNK
from minigrad.backends.shared import lines_of, serve_positions
from minigrad.backends.steps import Ints, Value
from minigrad.core import requests
from minigrad.core.dtype import int64
from minigrad.core.op import Spec
from minigrad.core.plan import pieces
from minigrad.kernels.fields import Fields, loop
from minigrad.kernels.integer import key_words
from minigrad.kernels.macros import keep_macro
from minigrad.kernels.pasting import Late

FEW = 32  # maximum k for which the best elements are kept in a sorted list while the row is read


def insert(a, n):  # type: ignore[no-untyped-def]
    """Sort a few words by insertion."""
    for i in range(1, n):
        word = a[i]
        j = i
        while j > 0 and a[j - 1] > word:
            a[j] = a[j - 1]
            j -= 1
        a[j] = word


def radix(a, b, n, counts):  # type: ignore[no-untyped-def]
    """Sort words by the key in their upper half, and return the array that contains the result."""
    bits = np.uint64(8 if n < 8192 else 11)
    mask = np.uint64((np.uint64(1) << bits) - np.uint64(1))
    differing = np.uint64(0)
    for i in range(n):
        differing |= a[i] ^ a[0]
    shift = np.uint64(32)
    while shift < np.uint64(32 + BITS):
        if (differing >> shift) & mask != np.uint64(0):  # not all keys have the same digit
            for d in range(mask + np.uint64(1)):
                counts[d] = 0
            for i in range(n):
                counts[(a[i] >> shift) & mask] += 1
            position = 0
            for d in range(mask + np.uint64(1)):
                count = counts[d]
                counts[d] = position
                position += count
            for i in range(n):
                word = a[i]
                d = (word >> shift) & mask
                b[counts[d]] = word
                counts[d] += 1
            a, b = b, a
        shift += bits
    return a


ORDER = Fields("rows chunk n wanted rank", "sizes[rank]", "offset step strides[rank]")


@loop(ORDER, helpers=(radix, insert))
def order(in_0, values, out, N):  # type: ignore[no-untyped-def]
    """Write the positions of the first `wanted` of n elements in sorted order.  A task is a chunk of rows.

    The groups are those of out and in_0; step is along the row.  If the key is wide, the shift leaves its lower half.
    """
    n, z, s = N.n, N.step[0], N.step[1]
    a = workspace(n, np.uint64)
    b = workspace(n, np.uint64)
    counts = workspace(2048, np.int64)
    for t in range(first, last):
        for r in range(t * N.chunk, min(N.rows, (t + 1) * N.chunk)):
            rest = r
            to, at = N.offset[0], N.offset[1]
            walk(rest, N.sizes, to=N.strides[0], at=N.strides[1])
            for i in range(n):
                a[i] = (np.uint64(KEY(in_0[at + i * s])) << np.uint64(32)) | np.uint64(i)
            sorted_keys = a
            if n <= 32 and not WIDE:
                insert(a, n)
            else:
                sorted_keys = radix(a, b, n, counts)
            if WIDE:
                for i in range(n):
                    position = np.int64(sorted_keys[i] & np.uint64(0xFFFFFFFF))
                    a[i] = (KEY(in_0[at + position * s]) & np.uint64(0xFFFFFFFF00000000)) | np.uint64(position)
                sorted_keys = radix(a, b, n, counts)
            for i in range(N.wanted):
                position = np.int64(sorted_keys[i] & np.uint64(0xFFFFFFFF))
                out[to + i * z] = position
                KEEP(to + i * z, in_0[at + position * s])
    leave(a, b, counts)


def pick_some(keys, n, best, k):  # type: ignore[no-untyped-def]
    """Write the k lowest words of a row, in order.

    Few elements enter this list, so each run of 64 is first tested as a whole.
    """
    held = 0
    limit = np.uint32(0xFFFFFFFF)
    for first in range(0, n, 64):
        count = min(64, n - first)
        x = keys[first:]
        hits = 64 if held < k else 0
        for j in range(count):
            hits += 1 if x[j] < limit else 0
        if hits == 0:
            continue
        for j in range(count):
            if held < k or x[j] < limit:
                word = (np.uint64(x[j]) << np.uint64(32)) | np.uint64(first + j)
                p = min(held, k - 1)
                while p > 0 and best[p - 1] > word:
                    best[p] = best[p - 1]
                    p -= 1
                best[p] = word
                held = min(held + 1, k)
                if held == k:
                    limit = np.uint32(best[k - 1] >> np.uint64(32))


def sift(keys, n, a, k, counts):  # type: ignore[no-untyped-def]
    """Copy the words of a row whose highest digit allows them to be among the k lowest, in their order.

    Returns how many there are.
    """
    cut = np.uint32(max(BITS - 11, 0))
    for d in range(2048):
        counts[d] = 0
    for i in range(n):
        counts[keys[i] >> cut] += 1
    digit = 0
    below = counts[0]
    while below < k:
        digit += 1
        below += counts[digit]
    limit = np.uint32(digit)
    left = 0
    for i in range(n):
        if keys[i] >> cut <= limit:
            a[left] = (np.uint64(keys[i]) << np.uint64(32)) | np.uint64(i)
            left += 1
    return left


def pick_many(a, n, best, k, counts):  # type: ignore[no-untyped-def]
    """Write the k lowest words of a row; equal keys are ordered by position.

    Digit by digit, from the highest on, words are accepted, rejected, or left for the next digit.
    """
    held = 0
    left = n
    shift = np.uint64(24 + BITS)
    mask = np.uint64(255)
    while left > k - held:
        for d in range(256):
            counts[d] = 0
        for i in range(left):
            counts[(a[i] >> shift) & mask] += 1
        digit = 0
        below = counts[0]
        while below < k - held:
            digit += 1
            below += counts[digit]
        same = 0
        for i in range(left):
            word = a[i]
            d = np.int64((word >> shift) & mask)
            if d < digit:
                best[held] = word
                held += 1
            elif d == digit:
                a[same] = word
                same += 1
        left = same
        if shift == np.uint64(32):
            break
        shift -= np.uint64(8)
    for i in range(k - held):
        best[held + i] = a[i]


@loop(ORDER, helpers=(radix, pick_some, sift, pick_many))
def first_few(in_0, values, out, N):  # type: ignore[no-untyped-def]
    """Write the positions of the first `wanted` elements, for keys up to 32 bits."""
    n, k, z, s = N.n, N.wanted, N.step[0], N.step[1]
    keys = workspace(n, np.uint32)
    a = workspace(n if k > FEW else 0, np.uint64)
    best = workspace(k, np.uint64)
    spare = workspace(k, np.uint64)
    counts = workspace(2048, np.int64)
    for t in range(first, last):
        for r in range(t * N.chunk, min(N.rows, (t + 1) * N.chunk)):
            rest = r
            to, at = N.offset[0], N.offset[1]
            walk(rest, N.sizes, to=N.strides[0], at=N.strides[1])
            sorted_keys = best
            if s == 1:
                x = in_0[at : at + n]
                for i in range(n):
                    keys[i] = KEY(x[i])
            else:
                for i in range(n):
                    keys[i] = KEY(in_0[at + i * s])
            if k <= FEW:
                pick_some(keys, n, best, k)
            else:
                pick_many(a, sift(keys, n, a, k, counts), best, k, counts)
                sorted_keys = radix(best, spare, k, counts)
            for i in range(k):
                position = np.int64(sorted_keys[i] & np.uint64(0xFFFFFFFF))
                out[to + i * z] = position
                KEEP(to + i * z, in_0[at + position * s])
    leave(keys, a, best, spare, counts)


COST = 16  # cost of sorting one element, in additions
PART = 4  # `first_few`, which counts digits instead of sorting, is faster if at most 1/4 of a row is requested


def sort_rows(steps: CpuSteps, request: requests.Sort, out: Value, values: Value | None) -> None:
    """Add the steps that write the positions that sort the operand, and the sorted values if they are requested."""
    (a,), dim, descending = steps.operands, request.dim, request.descending
    n, wanted, bits = a.shape[dim], out.shape[dim], 8 * a.dtype.itemsize
    words = key_words(a.dtype, descending) | {
        "KEEP": Late(keep_macro, (values is not None,)), "BITS": min(bits, 32), "WIDE": bits > 32,
    }  # fmt: skip
    form = ("down" if descending else "up") + ("_kept" if values else "")
    # The kernel does not write a result that is not requested, so any memory may replace it.
    steps.run(
        first_few if wanted * PART <= n and bits <= 32 else order, a, values or out, out, words=words,
        form=form, dtypes=(a.dtype, a.dtype, int64), cost=COST, n=n, wanted=wanted, **chunks_of((out, a), a.shape, dim),
    )  # fmt: skip


serve_positions(CpuBackend, requests.Sort, sort_rows)


def chunks_of(specs: Sequence[Spec], shape: Ints, dim: int) -> dict[str, Any]:
    """Return the numbers of chunks of lines along a dim of `shape`, for the loops that sort or select."""
    dims, groups = lines_of(specs, dim, shape)
    rows = prod(dims)
    return {
        "rows": rows, "divided": pieces(rows, CHUNK // shape[dim]), "numel": rows * shape[dim], "each": groups,
        "sizes": dims,
    }  # fmt: skip
