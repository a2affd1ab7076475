"""Random permutations: the positions that sort random keys, in time proportional to their number.

The keys are uniform, so their highest bits distribute them evenly among parts, and the next bits distribute a part
among lists of a few elements (a bucket sort: Knuth, The Art of Computer Programming, vol. 3, section 5.2.5).  A part
stays in the first-level cache.  A word contains the bits of a key below those of its part, and then the position, so
that the words of equal keys have the order of their positions: the result is that of a stable sort of the keys.

Free names: `rank` is the function of `ranks.py`.
"""

# ruff: noqa: F821
from typing import Any

import numpy as np

from minigrad.kernels.cpu.target import imported
from minigrad.kernels.fields import Fields, loop
from minigrad.kernels.philox import philox

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


def ranks_header(words: Any) -> str:
    """Return the lines that define `rank`."""
    return imported("ranks", "ranks", "rank = ranks()", beside=["emitting.py"])


@loop(
    Fields("n bits out state"), inlined=True, imports=ranks_header,
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
    leave(ends)
    leave(counts)
