"""Selection: the element at one rank of the sorted order of a row, without sorting the row.

Keys are those of `kernels/integer.py`.  Equal keys are ordered by position.  In a row of a few elements, the rank of an
element is found by comparing it with all others.  In a longer row, the keys are divided by their digits, from the
highest on, and only the keys with the digit of the wanted key remain (Knuth, The Art of Computer Programming, vol. 3,
sections 5.2.5 and 5.3.3).

Free names, filled in by `specialize`: `KEY` is the dtype's key, `UINT` its dtype and `BITS` its length.  `NAN` is the
key of nan.
"""

# ruff: noqa: F821
import numpy as np

from minigrad.kernels.fields import Fields, loop


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
    n = N.n
    s = N.step[1]
    keys = workspace(n, UINT)
    left = workspace(n, np.int64)
    counts = workspace(256, np.int64)
    for t in range(first, last):
        for r in range(t * N.chunk, min(N.rows, (t + 1) * N.chunk)):
            rest = r
            to = N.offset[0]
            at = N.offset[1]
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
    leave(keys)
    leave(left)
    leave(counts)
