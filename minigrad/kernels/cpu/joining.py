"""The loop that joins dense operands: for each row of the result, it copies bytes of each operand in turn.

`move` is that of `moving.py`.
"""

# ruff: noqa: F821
from minigrad.kernels.cpu.target import moving_header
from minigrad.kernels.fields import Fields, loop


@loop(Fields("chunk whole row parts", "ends[parts] offsets"), table=True, imports=lambda words: moving_header())
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
