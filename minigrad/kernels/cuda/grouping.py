"""Additions by index in an order that depends only on the index.

Entries are sorted by their keys, and a thread adds some neighbours in this order.  A key is the position of an
addition, as an integer; entries with equal keys keep their order.  The sort uses DIGITS bits at a time, the lowest
first.  `tally` counts the digits of each block of entries.  A scan of the counts returns the target positions for each
block and digit, and `arrange` writes the entries there.  `ENTRY` is the entry at a position of the order so far, and
`KEY` is its key.

`add_runs` divides the order into chunks.  A run of equal keys that begins and ends in a chunk is added to the result.
The sums of runs that cross an end of a chunk, at most two per chunk, are stored as sorted entries for the next launch.
"""

# ruff: noqa: F821, F841
import numpy as np

from minigrad.kernels.fields import Fields


def keys_fields(rank):
    """Return the numbers of `keys`: lines of `length` indices into lines of `size` positions.

    dropped: the key of an index that is out of range.
    """
    return Fields("count length size dropped offset step", f"sizes[{rank}] steps[{rank}]")


def keys(in_0, flag, out, N):
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


def runs_fields(rank, columns):
    """Return the numbers of `add_runs` for `rank` dims of lines, and for `columns` dims that share an index.

    length: entries of a line.  step: the distance between them.  size, to_step: of the dim along which is added.
    """
    lists = f"sizes[{rank}] steps[{rank}] to_steps[{rank}] "
    lists += f"col_sizes[{columns}] col_steps[{columns}] to_col_steps[{columns}]"
    return Fields("count chunks cols length step offset size to_step to dropped", lists)


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
        at = N.offset
        to = N.to
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
