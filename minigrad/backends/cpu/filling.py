"""Filling memory on the CPU: evenly spaced numbers, random numbers and permutations.

Free names: `STORE`, the compute dtype `T`, and for `random` the function `VALUES`, which converts a block of words to
`PER` numbers (see `kernels/philox.py`, whose text is pasted above the loop).  `rank` is the function of
`kernels/cpu/ranks.py`.

A permutation is the positions that sort random keys, in time proportional to their number.  The keys are uniform, so
their highest bits distribute them evenly among parts, and the next bits distribute a part among lists of a few elements
(a bucket sort: Knuth, The Art of Computer Programming, vol. 3, section 5.2.5).  A part stays in the first-level cache.
A word contains the bits of a key below those of its part, and then the position, so that the words of equal keys have
the order of their positions: the result is that of a stable sort of the keys.
"""

# ruff: noqa: B007, F821
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, CpuSteps
from minigrad.backends.cpu.loops import CHUNK
from minigrad.backends.steps import through_dense
from minigrad.core import requests
from minigrad.core.dtype import DType, uint64
from minigrad.core.plan import pieces
from minigrad.kernels.cpu.target import element, imported
from minigrad.kernels.fields import Fields, loop
from minigrad.kernels.pasting import Late
from minigrad.kernels.philox import FUNCTIONS, block_words, limit_dtype, philox
from minigrad.kernels.philox import blocks as blocks_of


@loop(Fields("n chunk out start step"))
def arange(start, step, out, N):  # type: ignore[no-untyped-def]
    """out[i] = start + i * step.  A task is a chunk of the elements.

    Each element is computed from i, not from the previous element, so that rounding errors do not add up.
    """
    begin = start[N.start]
    by = step[N.step]
    for c in range(first, last):
        lo = c * N.chunk
        count = min(N.chunk, N.n - lo)
        z = out[N.out + lo : N.out + lo + count]
        for i in range(count):
            z[i] = STORE(begin + T(lo + i) * by)


@loop(Fields("n blocks chunk out state limits"), inlined=True)
def random(state, limits, out, N):  # type: ignore[no-untyped-def]
    """Write random numbers.  A task is a chunk of the blocks of words.

    out, state, limits: the positions at which out, the key and the limits begin.
    """
    key = np.uint64(state[N.state])
    counter = np.uint64(state[N.state + 1])
    low = T(limits[N.limits])
    span = T(limits[N.limits + 1])
    highest = T(limits[N.limits + 2])
    zero = np.uint64(0)
    part = workspace(PER, ELEMENT)
    for c in range(first, last):
        lo = c * N.chunk
        hi = min(lo + N.chunk, N.blocks)
        whole = min(hi, N.n // PER)
        # The blocks that are stored as a whole come first.  Their loop has no branches, so it vectorises over blocks.
        # The last block may have more numbers than are needed; it is written to `part`.
        z = out[N.out + lo * PER : N.out + whole * PER]
        count = whole - lo
        for ends in range(2):
            position = counter + np.uint64(lo)
            for block in range(count):
                index = position + np.uint64(block)
                w0, w1, w2, w3 = philox(key, index & np.uint64(0xFFFFFFFF), index >> np.uint64(32), zero, zero)
                values = VALUES(w0, w1, w2, w3, low, span, highest)
                for j in range(PER):
                    z[block * PER + j] = STORE(values[j])
            lo = whole
            count = hi - whole
            z = part
        if count > 0:
            for j in range(N.n - whole * PER):
                out[N.out + whole * PER + j] = part[j]
    leave(part)


EIGHT = 8  # words whose ranks are computed at once
FEW = 5  # the largest mean length of a list
LISTS = 4096  # the largest number of lists


def draw_keys(key, counter, keys, blocks):  # type: ignore[no-untyped-def]
    """Write two keys of 53 bits for each block: the numbers of `uniform64` without their scale."""
    zero = np.uint64(0)
    half = np.uint64(32)
    for block in range(blocks):
        index = counter + np.uint64(block)
        w0, w1, w2, w3 = philox(key, index & np.uint64(0xFFFFFFFF), index >> half, zero, zero)
        keys[2 * block] = ((w0 << half) | w1) >> np.uint64(11)
        keys[2 * block + 1] = ((w2 << half) | w3) >> np.uint64(11)


def count_digits(x, n, shift, counts):  # type: ignore[no-untyped-def]
    """Write for each digit, which is a word without its lowest bits, how many of n words have a smaller digit."""
    for d in range(len(counts)):
        counts[d] = 0
    for i in range(n):
        counts[x[i] >> shift] += 1
    position = 0
    for d in range(len(counts)):
        count = counts[d]
        counts[d] = position
        position += count


def divide(keys, n, bits, words, ends):  # type: ignore[no-untyped-def]
    """Write the words of all keys, part by part, and the end of each part."""
    up = np.uint64(11) + bits
    shift = np.uint64(53) - bits
    if bits == np.uint64(0):
        for i in range(n):
            words[i] = (keys[i] << up) | np.uint64(i)
        ends[0] = n
        return
    count_digits(keys, n, shift, ends)
    for i in range(n):
        word = keys[i]
        part = word >> shift
        words[ends[part]] = (word << up) | np.uint64(i)
        ends[part] += 1


def insert(x, low, high):  # type: ignore[no-untyped-def]
    """Sort the words from `low` to `high` by insertion."""
    for i in range(low + 1, high):
        word = x[i]
        j = i
        while j > low and x[j - 1] > word:
            x[j] = x[j - 1]
            j -= 1
        x[j] = word


def sort_part(words, x, counts, mask, z):  # type: ignore[no-untyped-def]
    """Write the positions of the words of a part in order.  x is memory for as many words.

    The ranks of eight words are computed at once.  Those after the end of a list belong to later lists, so they are
    larger than all words of this list, and later lists replace their positions in `z`.
    """
    n = len(words)
    lists = 2
    shift = np.uint64(63)
    while FEW * lists < n and lists < LISTS:
        lists *= 2
        shift -= np.uint64(1)
    ends = counts[:lists]
    count_digits(words, n, shift, ends)
    for i in range(n):
        word = words[i]
        digit = word >> shift
        x[ends[digit]] = word
        ends[digit] += 1
    low = 0
    for d in range(lists):
        high = ends[d]
        if high - low <= 8 and low + 8 <= n:
            y = z[low:]
            s = x[low:]
            for q in each(EIGHT):
                r_q = rank(x, low, s[q])
            for q in each(EIGHT):
                y[r_q] = np.int64(s[q] & mask)
        elif high - low <= 16 and low + 16 <= n:
            for i in range(low, high):
                word = x[i]
                z[low + rank(x, low, word) + rank(x, low + 8, word)] = np.int64(word & mask)
        else:
            insert(x, low, high)
            for i in range(low, high):
                z[i] = np.int64(x[i] & mask)
        low = high


@loop(
    Fields("n bits out state"), inlined=True,
    imports=lambda *others: imported("ranks", "ranks", "rank = ranks()", beside=["emitting.py"]),
    helpers=(philox, draw_keys, count_digits, divide, insert, sort_part),
)  # fmt: skip
def permutation(state, memory, out, N):  # type: ignore[no-untyped-def]
    """Write a permutation of n positions, in one task.

    bits: the number of bits that select a part.  memory: 2*n + 1 words.
    """
    n = N.n
    keys = memory[: n + 1]
    words = memory[n + 1 : 2 * n + 1]
    bits = np.uint64(N.bits)
    ends = workspace(1 << N.bits, np.int64)
    counts = workspace(LISTS, np.int64)
    mask = (np.uint64(1) << (np.uint64(11) + bits)) - np.uint64(1)
    for _ in range(first, last):
        draw_keys(np.uint64(state[N.state]), np.uint64(state[N.state + 1]), keys, (n + 1) // 2)
        divide(keys, n, bits, words, ends)
        begin = 0
        for part in range(1 << N.bits):
            end = ends[part]
            sort_part(words[begin:end], keys, counts, mask, out[N.out + begin : N.out + end])
            begin = end
    leave(ends, counts)


COST = 16  # cost of an element of a permutation, in additions
# A permutation of more than WHOLE positions, whose words would have too few bits, is divided into parts of 2**PART
# positions at most.  On a Zen 5, parts of 256 to 1024 positions are equally fast.
WHOLE, PART = 2048, 9
FLOAT, INT = np.dtype(np.float64), np.dtype(np.int64)  # `arange` computes in one of them


@serves(CpuBackend, requests.Arange)
def fill_range(steps: CpuSteps, request: requests.Arange) -> None:
    (out,), n = steps.outs, steps.outs[0].layout.numel
    if not out.layout.is_contiguous:
        return through_dense(steps, request)
    compute = FLOAT if out.dtype.is_float else INT
    steps.run(arange, *steps.operands, out, compute=compute, n=n, divided=pieces(n, CHUNK))


@serves(CpuBackend, requests.Random)
def fill_random(steps: CpuSteps, request: requests.Random) -> None:
    (out,), kind = steps.outs, request.kind
    if not out.layout.is_contiguous:
        return through_dense(steps, request)
    n, compute = out.layout.numel, limit_dtype(kind, out.dtype).compute
    blocks = blocks_of(kind, out.dtype, n)
    steps.run(
        random, *steps.operands, out, words=Late(random_words, (kind, out.dtype)), form=kind, compute=compute,
        n=n, blocks=blocks, divided=pieces(blocks, CHUNK // 4),
    )  # fmt: skip


def random_words(kind: str, dtype: DType) -> dict[str, Any]:
    """Return the words of the loop of one kind of random numbers.

    The angles are below 2 * pi, so their sine and cosine have no other form for large arguments.
    """
    bits = 8 * limit_dtype(kind, dtype).itemsize
    functions = {name: f"{name}_{bits}" for name in FUNCTIONS} | {"sqrt": "math.sqrt"}
    words = {"philox": philox, "ELEMENT": f"np.{element(dtype)}"}
    return words | block_words(kind, dtype) | functions


@serves(CpuBackend, requests.Permutation)
def fill_permutation(steps: CpuSteps, request: requests.Permutation) -> None:
    (out,), (state,) = steps.outs, steps.operands
    n = out.layout.numel
    if not out.layout.is_contiguous:
        return through_dense(steps, request)
    bits = max(0, (n - 1).bit_length() - PART) if n > WHOLE else 0
    steps.run(permutation, state, steps.work((2 * n + 1,), uint64), out, cost=COST, n=n, bits=bits)
