"""Sorting on CUDA: tiles in shared memory, then merges of sorted runs; both compute only the requested elements.

A row that fits into a tile is one launch; a block sorts several short rows.  For a longer row, the tiles are sorted
and merged in pairs.  If few elements are requested, those of all tiles are sorted as tiles again, which takes about
log(n) / log(tile / requested) launches.  A radix sort, as on the CPU, would read the words twice for each byte of a
key, and count between launches.  Merges read them once for each doubling of a tile, which is not more often for up to
half a million 32-bit elements, and need no knowledge of the key.

Keys are those of `kernels/integer.py`.  A key of up to 32 bits and the element's position share one 64-bit word; with
`WIDE`, the key is longer, and the position is in a second array, `spots`.  Equal keys keep their order, because the
first of two runs wins.  A thread has EACH neighbours in `held`, which the word `SETTLE` sorts by exchanging
neighbours, written out.  Then the length of runs doubles repeatedly: each thread searches where its own EACH elements
of two merged runs begin, and merges them.  The tiles of a long row are merged in pairs, again with EACH elements per
thread (O. Green, R. McColl, D. A. Bader, "GPU merge path: a GPU merging algorithm", ICS 2012).

Only the first `wanted` elements of each run are stored, because the first few elements of a row are among these.
Between launches, words are stored in rows; if they are `WIDE`, the same number of rows behind them has their
positions. FIRST: the input is the elements.  LAST: the output is the positions and, by `KEEP`, the elements, in
`values`.
"""

# mypy: disable-error-code="name-defined, no-untyped-def"
from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from minigrad.backends.cuda.family import CudaBackend, CudaSteps, line
from minigrad.backends.cuda.reduction_plans import power_above
from minigrad.backends.cuda.runtime import THREADS
from minigrad.backends.shared import lines_of, serve_positions
from minigrad.backends.steps import Value
from minigrad.core import requests
from minigrad.core.dtype import DType, int64, uint8, uint64
from minigrad.kernels.fields import Fields, loop
from minigrad.kernels.integer import key_words
from minigrad.kernels.macros import keep_macro
from minigrad.kernels.pasting import Expand, Late, Macro

EACH = 8  # number of elements per thread
LANES = 256  # maximum number of threads of a tile
FEWER = 4  # tiles are sorted again if at most 1/FEWER of their elements remain
CAPACITY = EACH * THREADS + EACH * THREADS // 16  # words of a tile in shared memory, see `slot`
WORD = np.dtype(np.int64)


def slot(i):
    """Return the index in shared memory of word i of a tile.

    One word in 17 is unused; otherwise threads with EACH neighbours would access the same bank.
    """
    return i + (i >> 4)


def together(keys, spots, held, carried, first, left, second, right, skip):
    """Merge EACH elements of two runs in `keys` into `held`, after the first `skip` elements of the merged order.

    The runs have `left` elements from `first` on, and `right` elements from `second` on.
    """
    low = max(0, skip - right)
    high = min(skip, left)
    while low < high:
        mid = (low + high) // 2
        if keys[slot(first + mid)] <= keys[slot(second + skip - 1 - mid)]:
            low = mid + 1
        else:
            high = mid
    i = min(low, left)
    j = min(skip - low, right)
    x = np.uint64(0xFFFFFFFFFFFFFFFF)
    y = np.uint64(0xFFFFFFFFFFFFFFFF)
    if i < left:
        x = keys[slot(first + i)]
    if j < right:
        y = keys[slot(second + j)]
    for k in range(EACH):
        if i < left and (j >= right or x <= y):
            held[k] = x
            if WIDE:
                carried[k] = spots[slot(first + i)]
            i += 1
            if i < left:
                x = keys[slot(first + i)]
        elif j < right:
            held[k] = y
            if WIDE:
                carried[k] = spots[slot(second + j)]
            j += 1
            if j < right:
                y = keys[slot(second + j)]


def stow(keys, spots, held, carried, at, count):
    """Store up to `count` of the EACH words of a thread at their positions in a tile."""
    for k in range(EACH):
        if k < count:
            keys[slot(at + k)] = held[k]
            if WIDE:
                spots[slot(at + k)] = carried[k]


def store_run(keys, spots, base, length, in_0, values, out, row, skip, p, N):
    """Store `length` words from `base` on.

    With LAST, their positions in a row are stored, after `skip` others; otherwise the words themselves, from p on.
    """
    if LAST:
        rest = row
        to, at, goal = N.offset[0], N.offset[1], N.offset[2]
        walk(rest, N.sizes, to=N.strides[0], at=N.strides[1], goal=N.strides[2])
    i = cuda.threadIdx.x
    while i < length:
        if LAST:
            if WIDE:
                position = np.int64(spots[slot(base + i)])
            else:
                position = np.int64(keys[slot(base + i)] & np.uint64(0xFFFFFFFF))
            out[to + (skip + i) * N.step[0]] = position
            KEEP(goal + (skip + i) * N.step[2], in_0[at + position * N.step[1]])
        else:
            out[p + i] = keys[slot(base + i)]
            if WIDE:
                out[N.rows * N.made + p + i] = np.uint64(spots[slot(base + i)])
        i += cuda.blockDim.x


def fetch(keys, spots, base, size, in_0, in_1, row, start, length, N):
    """Load a tile of `size` words, from position `start` of a row on.

    After the first `length` words, the tile is filled with the highest word.
    """
    if FIRST:
        rest = row
        at = N.offset[1] + start * N.step[1]
        walk(rest, N.sizes, at=N.strides[1])
    i = cuda.threadIdx.x
    while i < size:
        word = np.uint64(0xFFFFFFFFFFFFFFFF)
        spot = np.uint32(0)
        if i < length:
            if FIRST:
                word = np.uint64(KEY(in_0[at + i * N.step[1]]))
                if WIDE:
                    spot = np.uint32(start + i)
                else:
                    word = (word << np.uint64(32)) | np.uint64(np.uint32(start + i))
            else:
                word = in_1[row * N.n + start + i]
                if WIDE:
                    spot = np.uint32(in_1[(N.rows + row) * N.n + start + i])
        keys[slot(base + i)] = word
        if WIDE:
            spots[slot(base + i)] = spot
        i += cuda.blockDim.x


# Rows of n elements in tiles; `made` words per row are stored for the next launch.  The groups are those of out, in_0
# and values; step is along the row.
@loop(
    Fields("rows n tiles wanted made", "sizes[rank]", "offset step strides[rank]"),
    helpers=(slot, fetch, together, stow, store_run),
)
def runs(in_0, in_1, values, out, N):
    """Sort tiles, `blockDim.y` of them at a time in a block; in_1: the words of an earlier launch."""
    keys = cuda.shared.array(CAPACITY, np.uint64)
    if WIDE:
        spots = cuda.shared.array(CAPACITY, np.uint32)
    else:
        spots = cuda.shared.array(1, np.uint32)
    held = cuda.local.array(EACH, np.uint64)
    carried = cuda.local.array(EACH, np.uint32)
    size = cuda.blockDim.x * EACH
    base = cuda.threadIdx.y * size
    own = cuda.threadIdx.x * EACH
    unit = np.int64(cuda.blockIdx.x) * cuda.blockDim.y
    while unit < N.rows * N.tiles:
        inside = unit + cuda.threadIdx.y < N.rows * N.tiles
        row = (unit + cuda.threadIdx.y) // N.tiles if inside else np.int64(0)
        tile = unit + cuda.threadIdx.y - row * N.tiles
        length = min(np.int64(size), N.n - tile * size) if inside else np.int64(0)
        fetch(keys, spots, base, size, in_0, in_1, row, tile * size, length, N)
        cuda.syncthreads()
        for k in range(EACH):
            held[k] = keys[slot(base + own + k)]
            if WIDE:
                carried[k] = spots[slot(base + own + k)]
        SETTLE()
        stow(keys, spots, held, carried, base + own, EACH)
        cuda.syncthreads()
        run = EACH
        while run < size:
            pair = own & ~(2 * run - 1)
            together(keys, spots, held, carried, base + pair, run, base + pair + run, run, own - pair)
            cuda.syncthreads()
            stow(keys, spots, held, carried, base + own, EACH)
            cuda.syncthreads()
            run *= 2
        p = row * N.made + tile * N.wanted
        store_run(keys, spots, base, min(length, N.wanted), in_0, values, out, row, np.int64(0), p, N)
        # The next tile needs no barrier before it, because a thread overwrites only words that it has read itself.
        unit += np.int64(cuda.gridDim.x) * cuda.blockDim.y


def split(words, first, left, second, right, skip):
    """Return how many of the first `skip` elements of the merged order of two runs are in the first run.

    A warp searches for it, and its lanes compare 32 positions together.
    """
    low = max(np.int64(0), skip - right)
    high = min(skip, left)
    while low < high:
        step = (high - low + 31) // 32
        mid = low + (cuda.threadIdx.x % 32 + 1) * step - 1
        before = False
        if mid < high:
            before = words[first + mid] <= words[second + skip - 1 - mid]
        low += cuda.popc(cuda.ballot_sync(0xFFFFFFFF, before)) * step
        high = min(high, low + step - 1)
    return low


# Rows of n words in runs of `length`; two runs are a pair.  The first `wanted` words of a pair are computed in `tiles`
# tiles.  The other numbers are as for `runs`.
@loop(
    Fields("rows n length pairs tiles wanted made", "sizes[rank]", "offset step strides[rank]"),
    helpers=(slot, split, together, stow, store_run),
)
def merge(in_0, in_1, values, out, N):
    """Merge pairs of runs into one run each; a block merges a tile of a pair, whose bounds two searches find."""
    keys = cuda.shared.array(CAPACITY, np.uint64)
    if WIDE:
        spots = cuda.shared.array(CAPACITY, np.uint32)
    else:
        spots = cuda.shared.array(1, np.uint32)
    cuts = cuda.shared.array(2, np.int64)
    held = cuda.local.array(EACH, np.uint64)
    carried = cuda.local.array(EACH, np.uint32)
    own = cuda.threadIdx.x * EACH
    unit = np.int64(cuda.blockIdx.x)
    while unit < N.rows * N.pairs * N.tiles:
        pair = unit // N.tiles
        low = (unit - pair * N.tiles) * cuda.blockDim.x * EACH
        row = pair // N.pairs
        pair -= row * N.pairs
        first = row * N.n + pair * 2 * N.length
        left = min(N.length, N.n - pair * 2 * N.length)
        right = min(N.length, N.n - pair * 2 * N.length - left)
        second = first + left
        high = min(low + cuda.blockDim.x * EACH, min(left + right, N.wanted))
        low = min(low, high)
        if cuda.threadIdx.x < 64:
            cut = split(in_1, first, left, second, right, low if cuda.threadIdx.x < 32 else high)
            if cuda.threadIdx.x % 32 == 0:
                cuts[cuda.threadIdx.x // 32] = cut
        cuda.syncthreads()
        first += cuts[0]
        second += low - cuts[0]
        left = cuts[1] - cuts[0]
        right = high - low - left
        i = cuda.threadIdx.x
        while i < left + right:
            p = first + i if i < left else second + i - left
            keys[slot(i)] = in_1[p]
            if WIDE:
                spots[slot(i)] = np.uint32(in_1[N.rows * N.n + p])
            i += cuda.blockDim.x
        cuda.syncthreads()
        together(keys, spots, held, carried, 0, left, left, right, min(own, left + right))
        cuda.syncthreads()
        stow(keys, spots, held, carried, own, left + right - own)
        cuda.syncthreads()
        store_run(keys, spots, 0, left + right, in_0, values, out, row, low, row * N.made + pair * N.wanted + low, N)
        unit += cuda.gridDim.x


@dataclass(frozen=True)
class Stage:
    """Describe one launch of a sort on rows of n words.

    merges: whether the launch merges sorted runs of `length` words; otherwise it sorts tiles.
    runs: the number of sorted runs in a row after the launch.
    wanted: the number of words of each run that the launch writes.
    made: the number of words of a row after the launch.
    """

    merges: bool
    n: int
    length: int
    runs: int
    wanted: int
    made: int


def stages(n: int, wanted: int, tile: int) -> Iterator[Stage]:
    """Yield the launches that compute the first `wanted` of n elements.

    The last launch leaves one run.
    """
    length, merges = tile, False
    while True:
        whole = 2 * length if merges else tile
        runs, kept = -(-n // whole), min(whole, wanted)
        made = (runs - 1) * kept + min(kept, n - (runs - 1) * whole)
        yield Stage(merges, n, length, runs, kept, made)
        if runs == 1:
            return
        n, length, merges = made, kept, FEWER * wanted > tile


def order(steps: CudaSteps, request: requests.Sort, out: Value, values: Value | None) -> None:
    """Add the steps that write the positions that sort the operand, and the sorted values if they are requested."""
    a, dim, descending = steps.operands[0], request.dim, request.descending
    n, wanted = a.shape[dim], out.shape[dim]
    dims, groups = lines_of((out, a, values or out), dim, a.shape)
    rows, wide = prod(dims), a.dtype.itemsize > 4
    lanes = min(LANES, power_above(-(-n // EACH)))
    plan = list(stages(n, wanted, EACH * lanes))
    words = [steps.work((rows * stage.made * (1 + wide),), int64) for stage in plan[:-1][:2]]
    before = a
    for k, stage in enumerate(plan):
        first, last = k == 0, k == len(plan) - 1
        ends = groups if first or last else [(0, 0, ())] * 3
        sizes = dims if first or last else ()
        kept = a.dtype if last and values else None
        label = f"{'_wide' * wide}{'_positions' if last else '_words'}{f'_{kept.short}' if kept else ''}"
        more: dict[str, Any] = {
            "groups": ends, "rows": rows, "n": stage.n, "wanted": stage.wanted, "made": stage.made, "sizes": sizes,
        }  # fmt: skip
        after = out if last else words[k % 2]
        # A launch does not access an array that it does not need, so any memory may replace it.
        arrays = (a, before, values or out, after)
        dtype = a.dtype if first or kept else uint8
        dtypes = (dtype, uint64, dtype, int64 if last else uint64)
        if stage.merges:
            tiles = -(-stage.wanted // (EACH * LANES))
            steps.run(
                merge, *arrays, dtypes=dtypes, words=Late(sort_words, (None, False, last, kept, wide)),
                form=f"sort_merge_{{}}{label}", length=stage.length, pairs=stage.runs, tiles=tiles, compute=WORD,
                grid=line(steps.backend.blocks(rows * stage.runs * tiles, 1), LANES), **more,
            )  # fmt: skip
        else:
            way = ("_down" if descending else "_up") if first else ""
            high = min(THREADS // lanes, power_above(rows))
            steps.run(
                runs, *arrays, dtypes=dtypes, tiles=stage.runs, form=f"sort_runs_{{}}{way}{label}", compute=WORD,
                words=Late(sort_words, (a.dtype if first else None, first and descending, last, kept, wide)),
                grid=((steps.backend.blocks(rows * stage.runs, high), 1, 1), (lanes, high, 1)), **more,
            )  # fmt: skip
        before = after


serve_positions(CudaBackend, requests.Sort, order)


def sort_words(first: DType | None, descending: bool, last: bool, kept: DType | None, wide: bool) -> dict[str, Any]:
    """Return the words of both loops.

    first: the dtype of sorted elements, None for words.  kept: the dtype of values to store, or None.
    """
    return {
        **(key_words(first, descending) if first else {}), "KEEP": Macro(keep_macro(kept is not None)), "WIDE": wide,
        "SETTLE": Macro(settle_macro(wide)), "FIRST": first is not None, "LAST": last,
    }  # fmt: skip


def settle_macro(wide: bool) -> Expand:
    """Return the macro SETTLE: sort the elements of a thread by EACH rounds in which neighbours are exchanged."""

    def exchanged(name: str, k: int) -> str:
        return f"    {name}[{k}], {name}[{k + 1}] = {name}[{k + 1}], {name}[{k}]"

    def expand(args: list[ast.expr], used: set[str]) -> tuple[list[str], ast.expr]:
        lines = []
        for turn in range(EACH):
            for k in range(turn % 2, EACH - 1, 2):
                lines += [f"if held[{k}] > held[{k + 1}]:", exchanged("held", k)]
                lines += [exchanged("carried", k)] if wide else []
        return lines, ast.Constant(0)

    return expand
