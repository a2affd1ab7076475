"""Additions by index in an order that depends on the index alone: the entries are sorted, and added up in chunks.

Entries are sorted by their keys, and a thread adds some neighbours in this order.  A key is the position of an
addition, as an integer; entries with equal keys keep their order.  The sort uses DIGIT bits at a time, the lowest
first.  `tally` counts the digits of each block of entries.  A scan of the counts returns the target positions for each
block and digit, and `arrange` writes the entries there.  `ENTRY` is the entry at a position of the order so far, and
`KEY` is its key.

`add_runs` divides the order into chunks.  A run of equal keys that begins and ends in a chunk is added to the result.
The sums of runs that cross an end of a chunk, at most two per chunk, are stored as sorted entries for the next launch.

Positions and keys take 32 bits; with the counters this is 20 bytes per index.  The partial sums of chunks take a
sixteenth of the memory of the added elements.

Accuracy: a sum of n floats consists of sums of up to CHUNK elements in their order; these are summed by up to CHUNK /
2, and so on.  So the error in float32 is at most (CHUNK + 16 * log16(n)) * 2**-24 times the sum of magnitudes.
"""

# mypy: disable-error-code="name-defined, no-untyped-def"
from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from minigrad.backends.cuda.family import CudaSteps
from minigrad.backends.cuda.runtime import THREADS
from minigrad.backends.lowering.functions import SUM
from minigrad.backends.steps import Value
from minigrad.core import requests
from minigrad.core.dtype import int32
from minigrad.core.plan import walk as walked
from minigrad.core.plan import without
from minigrad.kernels.fields import Fields, loop

CHUNK = 32  # number of entries that one thread adds
DIGIT = 8  # number of bits of a digit of the radix sort
KEYS = (1 << 31) - 1  # maximum number of 32-bit keys; one more value marks dropped entries


def position_of(index, size):
    """Return the position of an index, counted from the beginning, or -1 if it is out of range."""
    k = np.int64(index)
    if k < 0:
        k += size
    return k if 0 <= k and k < size else np.int64(-1)


# Lines of `length` indices into lines of `size` positions; dropped: the key of an index that is out of range.
KEYS_FIELDS = Fields("count length size dropped offset step", "sizes[rank] steps[rank]")


@loop(KEYS_FIELDS, words={"position_of": position_of})
def keys_of(in_0, flag, out, N):
    """Write the key of each index, line by line."""
    i = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while i < N.count:
        line = i // N.length
        at = N.offset + (i - line * N.length) * N.step
        first = line * N.size
        walk(line, N.sizes, at=N.steps)
        k = position_of(in_0[at], N.size)
        if k < 0:
            atomic_add(flag, 0, np.int32(1))
        out[i] = np.int32(first + k if k >= 0 else N.dropped)
        i += np.int64(cuda.gridDim.x) * cuda.blockDim.x


ORDER = Fields("count blocks shift")


@loop(ORDER, loads=())
def tally(keys, order, out, N):
    """Count how many entries of each block of 256 have each digit.

    The counts of the lowest digit in all blocks come first in out.
    """
    many = cuda.shared.array(256, np.int32)
    t = np.int64(cuda.threadIdx.x)
    block = np.int64(cuda.blockIdx.x)
    while block < N.blocks:
        many[t] = np.int32(0)
        cuda.syncthreads()
        p = block * 256 + t
        if p < N.count:
            atomic_add(many, (KEY(p) >> N.shift) & 255, np.int32(1))
        cuda.syncthreads()
        out[t * N.blocks + block] = many[t]
        block += np.int64(cuda.gridDim.x)


@loop(ORDER, loads=())
def arrange(keys, order, counts, sums, out, N):
    """Write each entry behind the entries with lower digits, and behind those with the same digit that come before it.

    These are the entries of earlier blocks, and the earlier entries of its own block.
    """
    many = cuda.shared.array(2048, np.int32)
    t = np.int64(cuda.threadIdx.x)
    warp = t // 32
    earlier = np.uint32((np.int64(1) << (t % 32)) - 1)
    block = np.int64(cuda.blockIdx.x)
    while block < N.blocks:
        for w in range(8):
            many[w * 256 + t] = np.int32(0)
        cuda.syncthreads()
        p = block * 256 + t
        inside = p < N.count
        digit = np.int64(0)
        if inside:
            digit = (KEY(p) >> N.shift) & 255
        # `same` has a bit for each lane of the warp with the same digit: the lanes that agree in every bit of it.
        same = np.uint32(cuda.ballot_sync(0xFFFFFFFF, inside))
        for bit in range(8):
            one = (digit >> bit) & 1 != 0
            vote = np.uint32(cuda.ballot_sync(0xFFFFFFFF, one))
            same = np.uint32(same & (vote if one else vote ^ np.uint32(0xFFFFFFFF)))
        rank = np.int64(cuda.popc(np.uint32(same & earlier)))
        if inside and rank == 0:
            many[warp * 256 + digit] = np.int32(cuda.popc(same))
        cuda.syncthreads()
        if inside:
            for w in range(warp):
                rank += many[w * 256 + digit]
            cell = digit * N.blocks + block
            out[sums[cell] - counts[cell] + rank] = np.int32(ENTRY(p))
        cuda.syncthreads()
        block += np.int64(cuda.gridDim.x)


# length: the entries of a line; step: the distance between them; size, to_step: of the dim along which is added.  The
# cols are the dims that share an index.
RUNS = Fields(
    "count chunks cols length step offset size to_step to dropped",
    "sizes[rank] steps[rank] to_steps[rank] col_sizes[columns] col_steps[columns] to_col_steps[columns]",
)


@loop(RUNS)
def add_runs(in_0, keys, order, parts, part_keys, out, N):
    """Add the runs of equal keys; a thread has one column of CHUNK entries."""
    unit = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while unit < N.chunks * N.cols:
        chunk = unit // N.cols
        col = unit - chunk * N.cols
        p = chunk * CHUNK
        stop = min(p + CHUNK, N.count)
        key = KEY(p)
        begins = p == 0 or KEY(p - 1) != key
        goes_on = stop < N.count and KEY(stop) == KEY(stop - 1)
        if col == 0:
            part_keys[2 * chunk] = np.int32(N.dropped if begins else key)
            part_keys[2 * chunk + 1] = np.int32(KEY(stop - 1) if goes_on else N.dropped)
        head = 2 * chunk * N.cols + col
        at, to = N.offset, N.to
        walk(col, N.col_sizes, at=N.col_steps, to=N.to_col_steps)
        acc = T(0)
        while p < stop:
            if key < N.dropped:
                entry = np.int64(ENTRY(p))
                q = at
                if LINES:
                    line = entry // N.length
                    entry -= line * N.length
                    walk(line, N.sizes, q=N.steps)
                acc = T(acc + LOAD_0(in_0[q + entry * N.step]))
            p += 1
            if p == stop or KEY(p) != key:
                last = p == stop and goes_on
                whole = begins and not last
                if whole and key < N.dropped:
                    line = key // N.size
                    r = to + (key - line * N.size) * N.to_step
                    walk(line, N.sizes, r=N.to_steps)
                    out[r] = T(out[r] + acc)
                if not whole:
                    parts[head + N.cols if begins else head] = acc
                    if last and not begins:  # the run covers the chunk, which still has two entries: one is 0
                        parts[head + N.cols] = T(0)
                if p < stop:
                    key = KEY(p)
                    begins = True
                    acc = T(0)
        unit += np.int64(cuda.gridDim.x) * cuda.blockDim.x


def entry_words(known: bool) -> dict[str, Any]:
    """Return the words of an entry at a position of the order so far; if none is known, it is the position itself."""
    entry = "order[{0}]" if known else "{0}"
    return {"ENTRY": entry, "KEY": f"np.int64(keys[{entry}])"}


def add_grouped(steps: CudaSteps, total: Value, index: Value, src: Value, flag: Value, dim: int) -> None:
    """Compute total[index along dim] += src; dims along which the index repeats share its order."""
    dims, strides, offsets = walked([without(x.layout, index.shape, dim) for x in (src, total, index)])
    own = [d for d in range(len(dims)) if strides[2][d]]
    common = [d for d in range(len(dims)) if not strides[2][d]]
    sizes, lengths = [dims[d] for d in own], [dims[d] for d in common]
    at, to, where = ([s[d] for d in own] for s in strides)
    length, size, cols = index.shape[dim], total.shape[dim], prod(lengths)
    count, dropped = prod(sizes) * length, prod(sizes) * size
    keys = steps.work((count,), int32)
    steps.run(
        keys_of, index, flag, keys, elements=count, count=count, length=length, size=size, dropped=dropped,
        offset=offsets[2], step=index.layout.strides[dim], sizes=sizes, steps=where,
    )  # fmt: skip
    order = ordered(steps, keys, dropped)
    values: dict[str, Any] = {
        "cols": cols, "length": length, "step": src.layout.strides[dim], "offset": offsets[0], "size": size,
        "to_step": total.layout.strides[dim], "to": offsets[1], "dropped": dropped, "sizes": sizes, "steps": at,
        "to_steps": to, "col_sizes": lengths, "col_steps": [strides[0][d] for d in common],
        "to_col_steps": [strides[1][d] for d in common],
    }  # fmt: skip
    while True:
        chunks = -(-count // CHUNK)
        parts, part_keys = steps.work((2 * chunks, cols), total.dtype), steps.work((2 * chunks,), int32)
        first = order is not keys
        steps.run(
            add_runs, src, keys, order, parts, part_keys, total, form="add_runs_{}" + ("" if first else "_again"),
            words={**entry_words(first), "LINES": first and bool(own)}, elements=chunks * cols, count=count,
            chunks=chunks, **values,
        )  # fmt: skip
        if chunks == 1:
            return
        count, src, keys, order = 2 * chunks, parts, part_keys, part_keys
        dense = [prod(lengths[d + 1 :]) for d in range(len(lengths))]
        values |= {"step": cols, "offset": 0, "col_steps": dense}


def ordered(steps: CudaSteps, keys: Value, highest: int) -> Value:
    """Return the entries in the order of their keys."""
    count = keys.shape[0]
    blocks = -(-count // THREADS)
    counts, sums = (steps.work((blocks << DIGIT,), int32) for _ in range(2))
    order, spare = (steps.work((count,), int32) for _ in range(2))
    for shift in range(0, highest.bit_length(), DIGIT):
        known, before = shift > 0, order if shift else keys
        more: dict[str, Any] = {
            "words": entry_words(known), "elements": blocks, "threads": THREADS, "count": count, "blocks": blocks,
            "shift": shift,
        }  # fmt: skip
        steps.run(tally, keys, before, counts, form="again" if known else "first", **more)
        steps.ask(requests.Scan(SUM, int32.compute, 0), sums, counts)
        steps.run(arrange, keys, before, counts, sums, spare, form="again" if known else "first", **more)
        order, spare = spare, order
    return order
