"""Sorting by integer keys: rows are divided into tiles, a group of threads sorts a tile, and sorted runs are merged.

Keys are those of `kernels/integer.py`.  A key of up to 32 bits and the element's position share one 64-bit word; with
`WIDE`, the key is longer, and the position is in a second array, `spots`.  Equal keys keep their order, because the
first of two runs wins.  A thread has EACH neighbours in `held`, which the word `SETTLE` sorts by exchanging neighbours,
written out.  Then the length of runs doubles repeatedly: each thread searches where its own EACH elements of two merged
runs begin, and merges them.  The tiles of a long row are merged in pairs, again with EACH elements per thread (O.
Green, R. McColl, D. A. Bader, "GPU merge path: a GPU merging algorithm", ICS 2012).

Only the first `wanted` elements of each run are stored, because the first few elements of a row are among these.
Between launches, words are stored in rows; if they are `WIDE`, the same number of rows behind them has their positions.
FIRST: the input is the elements.  LAST: the output is the positions and, by `KEEP`, the elements, in `values`.
"""

# ruff: noqa: F821
import numpy as np

from minigrad.kernels.fields import Fields


def runs_fields(rank):
    """Return the numbers of `runs`: rows of n elements in tiles; `made` words per row are stored for the next launch.

    The groups are those of out, in_0 and values; step is along the row.
    """
    return Fields("rows n tiles wanted made", f"sizes[{rank}]", f"offset step strides[{rank}]")


def merge_fields(rank):
    """Return the numbers of `merge`: rows of n words in runs of `length`; two runs are a pair.

    The first `wanted` words of a pair are computed in `tiles` tiles.  The other numbers are as for `runs`.
    """
    return Fields("rows n length pairs tiles wanted made", f"sizes[{rank}]", f"offset step strides[{rank}]")


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
    x = HIGHEST
    y = HIGHEST
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


def leave(keys, spots, base, length, in_0, values, out, row, skip, p, N):
    """Store `length` words from `base` on.

    With LAST, their positions in a row are stored, after `skip` others; otherwise the words themselves, from p on.
    """
    if LAST:
        rest = row
        to = N.offset[0]
        at = N.offset[1]
        goal = N.offset[2]
        walk(rest, N.sizes, to=N.strides[0], at=N.strides[1], goal=N.strides[2])
    i = cuda.threadIdx.x
    while i < length:
        if LAST:
            position = np.int64(PLACE(slot(base + i)))
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
        word = HIGHEST
        spot = np.uint32(0)
        if i < length:
            if FIRST:
                word = np.uint64(KEY(in_0[at + i * N.step[1]]))
                spot = np.uint32(start + i)
                if NARROW:
                    word = (word << np.uint64(32)) | np.uint64(spot)
            else:
                word = in_1[row * N.n + start + i]
                if WIDE:
                    spot = np.uint32(in_1[(N.rows + row) * N.n + start + i])
        keys[slot(base + i)] = word
        if WIDE:
            spots[slot(base + i)] = spot
        i += cuda.blockDim.x


def runs(in_0, in_1, values, out, N):
    """Sort tiles, `blockDim.y` of them at a time in a block; in_1: the words of an earlier launch."""
    keys = cuda.shared.array(ROOM, np.uint64)
    spots = cuda.shared.array(SPOTS, np.uint32)
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
        leave(keys, spots, base, min(length, N.wanted), in_0, values, out, row, np.int64(0), p, N)
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


def merge(in_0, in_1, values, out, N):
    """Merge pairs of runs into one run each; a block merges a tile of a pair, whose bounds two searches find."""
    keys = cuda.shared.array(ROOM, np.uint64)
    spots = cuda.shared.array(SPOTS, np.uint32)
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
        leave(keys, spots, 0, left + right, in_0, values, out, row, low, row * N.made + pair * N.wanted + low, N)
        unit += cuda.gridDim.x
