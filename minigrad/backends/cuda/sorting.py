"""Sorting on CUDA: tiles in shared memory, then merges of sorted runs; both compute only the requested elements.

The loops are in `kernels/cuda/sorting.py`.  A row that fits into a tile is one launch; a block sorts several short
rows.  For a longer row, the tiles are sorted and merged in pairs.  If few elements are requested, those of all tiles
are sorted as tiles again, which takes about log(n) / log(tile / requested) launches.  A radix sort, as on the CPU,
would read the words twice for each byte of a key, and count between launches.  Merges read them once for each doubling
of a tile, which is not more often for up to half a million 32-bit elements, and need no knowledge of the key.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from minigrad.backends.cuda.family import CudaBackend, line
from minigrad.backends.cuda.reduction_plans import power_above
from minigrad.backends.cuda.runtime import THREADS, Program
from minigrad.backends.shared import serve_positions
from minigrad.backends.steps import Steps, Value
from minigrad.core import requests
from minigrad.core.dtype import DType, int64, uint8
from minigrad.core.plan import walk, without
from minigrad.kernels.cuda import sorting
from minigrad.kernels.cuda.target import CUDA
from minigrad.kernels.fields import Fields
from minigrad.kernels.integer import key_of
from minigrad.kernels.macros import expression_macro, keep_macro
from minigrad.kernels.pasting import Expand
from minigrad.kernels.specialize import write_kernel

EACH = 8  # number of elements per thread
LANES = 256  # maximum number of threads of a tile
FEWER = 4  # tiles are sorted again if at most 1/FEWER of their elements remain

COMMON = (sorting.together, sorting.stow, sorting.leave)  # functions that both loops call


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


def order(steps: Steps, request: requests.Sort, out: Value, values: Value | None) -> None:
    """Add the steps that write the positions that sort the operand, and the sorted values if they are requested."""
    a, dim, descending = steps.operands[0], request.dim, request.descending
    n, wanted = a.shape[dim], out.shape[dim]
    specs = (out, a, values or out)
    dims, strides, offsets = walk([without(x.layout, a.shape, dim) for x in specs])
    groups = list(zip(offsets, [x.layout.strides[dim] for x in specs], strides, strict=True))
    rows, wide = prod(dims), a.dtype.itemsize > 4
    lanes = min(LANES, power_above(-(-n // EACH)))
    plan = list(stages(n, wanted, EACH * lanes))
    words = [steps.work((rows * stage.made * (1 + wide),), int64) for stage in plan[:-1][:2]]
    before = a
    for k, stage in enumerate(plan):
        first, last = k == 0, k == len(plan) - 1
        ends = groups if first or last else [(0, 0, ())] * 3
        sizes = dims if first or last else ()
        how = (last, a.dtype if last and values else None, wide, len(sizes))
        common: dict[str, Any] = {
            "rows": rows, "n": stage.n, "wanted": stage.wanted, "made": stage.made, "sizes": sizes,
        }  # fmt: skip
        after = out if last else words[k % 2]
        if stage.merges:
            kernel = steps.backend.kernel(write_merge, *how)
            tiles = -(-stage.wanted // (EACH * LANES))
            numbers = sorting.merge_fields(how[-1]).pack(
                *ends, length=stage.length, pairs=stage.runs, tiles=tiles, **common
            )
            grid, block = line(steps.backend.blocks(rows * stage.runs * tiles, 1), LANES)
        else:
            kernel = steps.backend.kernel(write_runs, a.dtype if first else None, first and descending, *how)
            numbers = sorting.runs_fields(how[-1]).pack(*ends, tiles=stage.runs, **common)
            high = min(THREADS // lanes, power_above(rows))
            grid, block = (steps.backend.blocks(rows * stage.runs, high), 1, 1), (lanes, high, 1)
        # A launch does not access an array that it does not need, so any memory may replace it.
        steps.then(steps.backend.bind(kernel, grid, block, numbers), a, before, values or out, after)
        before = after


serve_positions(CudaBackend, requests.Sort, order)


def write_runs(first: DType | None, descending: bool, last: bool, kept: DType | None, wide: bool, rank: int) -> Program:
    """Write the sort of tiles.

    first: the dtype of sorted elements, None for words.
    kept: the dtype of values to store, or None.
    """
    key, constants = key_of(first or int64, descending)
    way = f"{first.short}_{'down' if descending else 'up'}" if first else "words"
    helpers: list[Callable[..., Any]] = [sorting.slot, *([key] if first else []), sorting.fetch, *COMMON]
    return written(
        sorting.runs, way, sorting.runs_fields(rank), first, last, kept, wide, rank,
        helpers, {"KEY": expression_macro(f"{key.__name__}({{}})"), "SETTLE": settle_macro(wide)}, constants,
    )  # fmt: skip


def write_merge(last: bool, kept: DType | None, wide: bool, rank: int) -> Program:
    """Write the merge of two runs."""
    helpers: list[Callable[..., Any]] = [sorting.slot, sorting.split, *COMMON]
    return written(sorting.merge, "words", sorting.merge_fields(rank), None, last, kept, wide, rank, helpers, {}, {})


def written(
    template: Callable[..., Any], way: str, fields: Fields, first: DType | None, last: bool, kept: DType | None,
    wide: bool, rank: int, helpers: Sequence[Callable[..., Any]], macros: dict[str, Expand], constants: dict[str, str],
) -> Program:  # fmt: skip
    """Write the loop that sorts tiles, or the loop that merges runs."""
    name = template.__name__
    label = f"{'wide_' if wide else ''}{'positions' if last else 'words'}{f'_{kept.short}' if kept else ''}{rank}"
    a, words = first or kept or uint8, np.dtype(np.uint64)
    position = "spots[{}]" if wide else "keys[{}] & np.uint64(4294967295)"
    capacity = EACH * THREADS + EACH * THREADS // 16
    text = write_kernel(
        f"{name} of {way}: {label}.",
        template,
        operands=(a, a),
        out=int64,
        macros={"KEEP": keep_macro(kept is not None), "PLACE": expression_macro(position), **macros},
        constants={
            "EACH": str(EACH), "ROOM": str(capacity), "SPOTS": str(capacity if wide else 1), "WIDE": str(int(wide)),
            "NARROW": str(int(not wide)), "HIGHEST": "np.uint64(18446744073709551615)", "FIRST": str(int(bool(first))),
            "LAST": str(int(last)), **constants,
        },
        arrays=(a, words, a, int64 if last else words),
        helpers=helpers,
        fields=fields,
        target=CUDA,
    )  # fmt: skip
    return Program(f"sort_{name}_{way}_{label}", text)


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
