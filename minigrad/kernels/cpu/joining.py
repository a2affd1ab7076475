"""The loop that joins dense operands: bytes of each in turn, row by row of the result.

`move` is that of `moving.py`.
"""

# ruff: noqa: F821


def join(addresses, numbers):  # type: ignore[no-untyped-def]
    """addresses: of the parts, then of the result.  numbers = bytes of a chunk, of all and of a row, parts, then where
    in a row each part begins, the end of the row, and how far the elements of each lie behind its address."""
    whole = numbers[1]
    row = numbers[2]
    parts = numbers[3]
    to = addresses[parts] + numbers[5 + 2 * parts]
    for chunk in range(first, last):
        at = chunk * numbers[0]
        stop = min(whole, at + numbers[0])
        line = at // row
        within = at - line * row
        k = 0
        while numbers[5 + k] <= within:
            k += 1
        while at < stop:
            begin = numbers[4 + k]
            end = numbers[5 + k]
            n = min(end - within, stop - at)
            source = addresses[k] + numbers[5 + parts + k]
            move(to + at, source + line * (end - begin) + within - begin, n)
            at += n
            within += n
            if within == end:
                k += 1
            if k == parts:
                k = 0
                within = 0
                line += 1
