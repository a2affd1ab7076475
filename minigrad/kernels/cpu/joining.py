"""The loop that joins dense operands: bytes of each in turn, row by row of the result.

Free name, filled in by `specialize`: `RANGE`.  `move` is that of `moving.py`.
"""

# ruff: noqa: F821
import numpy as np


def join(addresses, numbers):  # type: ignore[no-untyped-def]
    """addresses: of the parts, then of the result.  numbers = chunks, bytes of a chunk, of all and of a row, parts,
    then where in a row each part begins, and the end of the row."""
    whole = numbers[2]
    row = numbers[3]
    parts = numbers[4]
    for chunk in RANGE(numbers[0]):
        at = np.int64(chunk) * numbers[1]
        last = min(whole, at + numbers[1])
        line = at // row
        within = at - line * row
        k = 0
        while numbers[6 + k] <= within:
            k += 1
        while at < last:
            begin = numbers[5 + k]
            end = numbers[6 + k]
            n = min(end - within, last - at)
            move(addresses[parts] + at, addresses[k] + line * (end - begin) + within - begin, n)
            at += n
            within += n
            if within == end:
                k += 1
            if k == parts:
                k = 0
                within = 0
                line += 1
