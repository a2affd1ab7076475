"""The product of bfloat16 by the tiles of AMX: when it is used, and its tasks.

The loops are in `kernels/cpu/tiled.py`.  An operand is packed if its columns or its rows are dense, and copied before
otherwise.  The products of an element are added in the order of the inner dim, so its bits do not depend on the tasks.
As with pairs (decision 078), operands and sums below 2**-126 count as 0.  docs/decisions/099 has the measurements.
"""

from __future__ import annotations

from minigrad.backends.cpu.family import CpuSteps
from minigrad.backends.cpu.texts import factor_text
from minigrad.backends.shared import Problem
from minigrad.backends.steps import Ints, Value
from minigrad.core.dtype import bfloat16, float32
from minigrad.core.layout import Layout
from minigrad.kernels.cpu import tiled
from minigrad.kernels.cpu.processor import has_tiles
from minigrad.kernels.cpu.tiled import PAIR, SIDE

LEAST, MANY = 8, 1 << 13  # minimum number of rows, columns and inner elements, and of multiply-adds of a matrix
PART = 16  # pairs of tiles of a panel that are multiplied before the next ones: 32 KB
HIGH, WIDE = 8, 16  # maximum number of panels of a task: its panels then stay in the second-level cache
TASKS = 16  # number of tasks, for any number of threads
WORK = 32  # multiply-adds that take as long as one element of an elementwise loop; so does a packed element


def is_tiled(out: Value, a: Value, b: Value, c: Value | None) -> bool:
    """Return whether a product is computed by tiles: a and b must be bfloat16, out and c both bfloat16 or float32."""
    fits = out.dtype in (bfloat16, float32) and (c is None or c.dtype is out.dtype)
    if not (fits and a.dtype is b.dtype is bfloat16):
        return False
    m, k, n = *a.shape[-2:], b.shape[-1]
    return min(m, k, n) >= LEAST and m * k * n >= MANY and has_tiles()


def add_tiled(steps: CpuSteps, out: Value, a: Value, b: Value, c: Value | None, factors: Ints) -> None:
    """Add the steps that compute alpha * a @ b + beta * c by tiles; factors: the bits of alpha and beta."""
    a, b = with_dense_line(steps, a), with_dense_line(steps, b)
    if c is not None and c.layout.strides[-1] != 1:
        c = steps.copied(c.expand(out.shape))
    p = Problem(out.layout, a.layout, b.layout, c.layout if c else None)
    deep, direct = -(-p.k // SIDE), p.ak == 1 and p.m % SIDE == p.k % SIDE == 0
    left, a_steps = (a, p.steps[0]) if direct else tiles_of(steps, p, a, left=True)
    start, lift, step, pitch = (p.a, SIDE * p.am, SIDE, p.am) if direct else (0, deep * PAIR, PAIR, SIDE)
    right, b_steps = tiles_of(steps, p, b, left=False)
    high, wide = panels_of_task(p)
    steps.run(
        tiled.multiply_tiles, left, right, out if c is None else c, out, words={"FACTOR": factor_text(float32)},
        tasks=tasks_of(p, high, wide), numel=p.batches * p.m * p.n * p.k // WORK, rows=p.m, cols=p.n, deep=deep,
        high=high, wide=wide, part=PART, to=p.out, a=start, lift=lift, step=step, pitch=pitch, c=p.c, cm=p.cm,
        more=c is not None, batches=p.batches, alpha=factors[0], beta=factors[1], sizes=p.sizes, a_steps=a_steps,
        b_steps=b_steps, c_steps=p.steps[2],
    )  # fmt: skip


def with_dense_line(steps: CpuSteps, x: Value) -> Value:
    """Return an operand whose rows or columns are dense, or a dense copy of another one."""
    return x if 1 in x.layout.strides[-2:] else steps.copied(x)


def tiles_of(steps: CpuSteps, p: Problem, x: Value, left: bool) -> tuple[Value, Ints]:
    """Return an operand in panels, and the steps of its batch."""
    n, offset, across, along = (p.m, p.a, p.am, p.ak) if left else (p.n, p.b, p.bn, p.bk)
    strides = p.steps[0 if left else 1]
    # Matrices that are repeated along a dim of the batch, with stride 0, are packed once.
    sizes = tuple(size if step else 1 for size, step in zip(p.sizes, strides, strict=True))
    positions = Layout.contiguous(sizes)
    high, deep = -(-n // SIDE), -(-p.k // SIDE)
    one = high * deep * PAIR
    panels = steps.work((positions.numel * one,), bfloat16)
    tall = along != 1
    steps.run(
        tiled.pack_tiles, x, panels, tasks=positions.numel * (deep if tall else high),
        numel=positions.numel * n * p.k, cols=n, length=p.k, b=offset, across=across, along=along, tall=tall,
        left=left, sizes=sizes, steps=strides,
    )  # fmt: skip
    return panels, tuple(s * one if step else 0 for s, step in zip(positions.strides, strides, strict=True))


def panels_of_task(p: Problem) -> tuple[int, int]:
    """Return the rows and columns of a task in panels: about TASKS tasks, unless they would be single blocks."""
    high, wide = min(HIGH, -(-p.m // SIDE)), min(WIDE, -(-p.n // SIDE))
    while tasks_of(p, high, wide) < TASKS and high * wide > 1:
        high, wide = (high, -(-wide // 2)) if wide > high else (-(-high // 2), wide)
    return high, wide


def tasks_of(p: Problem, high: int, wide: int) -> int:
    """Return the number of tasks of `high` x `wide` panels."""
    return p.batches * -(-p.m // (high * SIDE)) * -(-p.n // (wide * SIDE))
