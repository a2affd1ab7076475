"""The matrix product of bfloat16 on processors with AMX, whose registers are tiles: packing, and blocks of sums.

`pack_tiles` copies an operand into panels of SIDE rows or columns.  A panel has a pair of tiles for each SIDE elements
of the inner dim, with zeros beyond the operand, so the product has no special cases.  `multiply_tiles` reads the left
operand from panels, or directly if its dense rows consist of whole tiles.  It computes blocks of SIDE x SIDE sums in
float32; it scales each block, adds a matrix, and rounds it once while it is in the first-level cache.  If the inner dim
has several parts, the sums of a task are kept in a workspace.  The header of the module defines the functions of
`amx.py`.  `sizes` and the steps after it are those of the batch.
"""

# ruff: noqa: F821
from __future__ import annotations

from minigrad.kernels.cpu.target import imported
from minigrad.kernels.fields import Fields, loop

SIDE, PAIR = 32, 1024  # rows of a panel, elements of a pair of tiles
BLOCK = 1024  # sums of a block
PACK = Fields("cols length b across along tall left rank", "sizes[rank] steps[rank]")
MULTIPLY = Fields(
    "rows cols deep high wide part to a lift step pitch b c cm more batches rank alpha beta",
    "sizes[rank] a_steps[rank] b_steps[rank] c_steps[rank]",
)


def tile_lines(words, dtype, functions):  # type: ignore[no-untyped-def]
    """Return the lines that define the functions of tiles."""
    names = "configure, release, pack_tile, add_block, store_block"
    beside = ["emitting.py", "tile.py", "vectors.py", "../half.py"]
    return imported("amx", "tile_functions", f"{names} = tile_functions()", beside=beside)


@loop(PACK, results=1, imports=tile_lines)
def pack_tiles(source, panels, N):  # type: ignore[no-untyped-def]
    """Copy a matrix into panels of tiles.

    A task is one panel, or with `tall` one pair of tiles of each panel: if the elements across the panels are dense,
    whole rows of the source are read.  b, across, along: offset of the source, its steps across the panels and along
    the inner dim; one of them is 1.  left: whether the tiles are those of a left operand.
    """
    across, along = N.across, N.along
    left = N.left != 0
    deep = (N.length + SIDE - 1) // SIDE
    high = (N.cols + SIDE - 1) // SIDE
    parts = deep if N.tall else high
    for task in range(first, last):
        at = N.b
        part = task % parts
        batch = task // parts
        rest = batch
        walk(rest, N.sizes, at=N.steps)
        p0, p1, k0, k1 = part, part + 1, 0, deep
        if N.tall:
            p0, p1, k0, k1 = 0, high, part, part + 1
        for p in range(p0, p1):
            for k in range(k0, k1):
                to = ((batch * high + p) * deep + k) * PAIR
                for half in range(2):
                    j = p * SIDE + half * SIDE // 2
                    start = at + j * across + k * SIDE * along
                    width = N.cols - j
                    depth = N.length - k * SIDE
                    pack_tile(source, start, across, along, panels, to, width, depth, left)
                    to += PAIR // 2


@loop(MULTIPLY, loads=(2,), imports=tile_lines)
def multiply_tiles(a, b, c, out, N):  # type: ignore[no-untyped-def]
    """Compute out = alpha * a @ b + beta * c.  A task is a block of `high` x `wide` panels of one result.

    deep: pairs of tiles of a panel.  part: how many of them are multiplied for all blocks of a task, before the next
    ones.  Two panels of b are used together, so that each part of a is read from the second-level cache half as often.

    to: offset of out.  a: offset of the left operand, whose panels are `lift` apart, and whose tiles along the inner
    dim are `step` apart; the rows of a tile are `pitch` apart.  b: offset of the panels of b.  c, cm: offset of c, and
    its step along rows; its columns are dense.  more: whether c is added.
    """
    rows, cols, deep, part, high, wide, lift = N.rows, N.cols, N.deep, N.part, N.high, N.wide, N.lift
    step, pitch, cm = N.step, N.pitch, N.cm
    more = N.more != 0
    panel = deep * PAIR
    alpha = FACTOR(N.alpha)
    beta = FACTOR(N.beta)
    tall = (rows + SIDE - 1) // SIDE
    broad = (cols + SIDE - 1) // SIDE
    down = (tall + high - 1) // high
    across = (broad + wide - 1) // wide
    kept = BLOCK if deep > part else 0
    sums = workspace(max(BLOCK, kept * high * wide), T)
    configure()
    for task in range(first, last):
        batch = task // (down * across)
        i0 = task % down * high
        j0 = task // down % across * wide
        pa, pb, pc = N.a, N.b, N.c
        rest = batch
        walk(rest, N.sizes, pa=N.a_steps, pb=N.b_steps, pc=N.c_steps)
        z = N.to + batch * rows * cols
        i1 = min(tall, i0 + high)
        j1 = min(broad, j0 + wide)
        for k in range(0, deep, part):
            depth = min(part, deep - k)
            for pair in range(j0, j1, 2):
                for i in range(i0, i1):
                    for j in range(pair, min(j1, pair + 2)):
                        at = ((j - j0) * high + i - i0) * kept
                        left = pa + i * lift + k * step
                        add_block(a, left, step, pitch, b, pb + j * panel + k * PAIR, depth, sums, at, k > 0)
                        if k + depth == deep:
                            h = min(SIDE, rows - i * SIDE)
                            w = min(SIDE, cols - j * SIDE)
                            added = pc + i * SIDE * cm + j * SIDE
                            to = z + i * SIDE * cols + j * SIDE
                            store_block(sums, at, c, added, cm, out, to, cols, h, w, alpha, beta, more)
    release()
    leave(sums)
