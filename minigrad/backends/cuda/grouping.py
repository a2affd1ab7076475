"""Additions by index in an order that depends on the index alone: the entries are sorted, and added up in chunks.

The loops are in `kernels/cuda/grouping.py`.  Positions and keys take 32 bits; with the counters this is 20 bytes per
index.  The partial sums of chunks take a sixteenth of the memory of the added elements.

Accuracy: a sum of n floats consists of sums of up to CHUNK elements in their order; these are summed by up to CHUNK /
2, and so on.  So the error in float32 is at most (CHUNK + 16 * log16(n)) * 2**-24 times the sum of magnitudes.
"""

from __future__ import annotations

from math import prod
from typing import Any

from minigrad.backends.cuda.family import line
from minigrad.backends.cuda.runtime import THREADS, Program
from minigrad.backends.lowering.functions import SUM
from minigrad.backends.steps import Steps, Value
from minigrad.core import requests
from minigrad.core.dtype import DType, int32
from minigrad.core.plan import walk, without
from minigrad.kernels.cuda import grouping, indexing
from minigrad.kernels.cuda.target import CUDA
from minigrad.kernels.macros import expression_macro
from minigrad.kernels.specialize import write_kernel

CHUNK = 32  # number of entries that one thread adds
DIGIT = 8  # number of bits of a digit of the radix sort
KEYS = (1 << 31) - 1  # maximum number of 32-bit keys; one more value marks dropped entries


def add_grouped(steps: Steps, total: Value, index: Value, src: Value, flag: Value, dim: int) -> None:
    """Compute total[index along dim] += src; dims along which the index repeats share its order."""
    dims, strides, offsets = walk([without(x.layout, index.shape, dim) for x in (src, total, index)])
    own = [d for d in range(len(dims)) if strides[2][d]]
    common = [d for d in range(len(dims)) if not strides[2][d]]
    sizes, lengths = [dims[d] for d in own], [dims[d] for d in common]
    at, to, where = ([s[d] for d in own] for s in strides)
    length, size, cols = index.shape[dim], total.shape[dim], prod(lengths)
    count, dropped = prod(sizes) * length, prod(sizes) * size
    keys = steps.work((count,), int32)
    numbers = grouping.keys_fields(len(own)).pack(
        count=count, length=length, size=size, dropped=dropped, offset=offsets[2], step=index.layout.strides[dim],
        sizes=sizes, steps=where,
    )  # fmt: skip
    kernel = steps.backend.kernel(write_keys, index.dtype, len(own))
    steps.then(steps.backend.bind(kernel, *line(steps.backend.blocks(count)), numbers), index, flag, keys)
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
        kernel = steps.backend.kernel(write_add_runs, src.dtype, total.dtype, len(own), len(common), first)
        numbers = grouping.runs_fields(len(own), len(common)).pack(count=count, chunks=chunks, **values)
        launch = steps.backend.bind(kernel, *line(steps.backend.blocks(chunks * cols)), numbers)
        steps.then(launch, src, keys, order, parts, part_keys, total)
        if chunks == 1:
            return
        count, src, keys, order = 2 * chunks, parts, part_keys, part_keys
        dense = [prod(lengths[d + 1 :]) for d in range(len(lengths))]
        values |= {"step": cols, "offset": 0, "col_steps": dense}


def ordered(steps: Steps, keys: Value, highest: int) -> Value:
    """Return the entries in the order of their keys."""
    count = keys.shape[0]
    blocks = -(-count // THREADS)
    counts, sums = (steps.work((blocks << DIGIT,), int32) for _ in range(2))
    order, spare = (steps.work((count,), int32) for _ in range(2))
    grid = line(min(blocks, steps.backend.most))
    for shift in range(0, highest.bit_length(), DIGIT):
        known, before = shift > 0, order if shift else keys
        numbers = grouping.ORDER.pack(count=count, blocks=blocks, shift=shift)
        tally, arrange = (
            steps.backend.kernel(write_ordering, loop, known) for loop in (grouping.tally, grouping.arrange)
        )
        steps.then(steps.backend.bind(tally, *grid, numbers), keys, before, counts)
        steps.ask(requests.Scan(SUM, int32.compute, 0), sums, counts)
        steps.then(steps.backend.bind(arrange, *grid, numbers), keys, before, counts, sums, spare)
        order, spare = spare, order
    return order


def entry_text(known: bool) -> str:
    """Return the text of the entry at a position.

    It is the entry in the order so far, or the position itself if there is no order yet.
    """
    return "order[{}]" if known else "{}"


def write_keys(index: DType, rank: int) -> Program:
    """Write the kernel that converts indices to keys."""
    text = write_kernel(
        f"keys of {index}; {rank} dims of lines.",
        grouping.keys,
        operands=(index,),
        out=int32,
        helpers=[indexing.position_of],
        arrays=(index, int32, int32),
        fields=grouping.keys_fields(rank),
        target=CUDA,
    )
    return Program(f"keys_{index.short}_{rank}", text)


def write_ordering(loop: Any, known: bool) -> Program:
    """Write the count of digits, or the sort of entries by a digit. known: a previous order exists."""
    name, entry = f"{loop.__name__}_{'again' if known else 'first'}", entry_text(known)
    text = write_kernel(
        f"{name}.",
        loop,
        out=int32,
        macros={"ENTRY": expression_macro(entry), "KEY": expression_macro(f"np.int64(keys[{entry}])")},
        arrays=(int32,) * (loop.__code__.co_argcount - 1),
        fields=grouping.ORDER,
        target=CUDA,
    )
    return Program(name, text)


def write_add_runs(src: DType, out: DType, rank: int, columns: int, first: bool) -> Program:
    """Write the sums of chunks. first: sums of the added elements, not of the partial sums of chunks."""
    entry = entry_text(first)
    label = f"{rank}_{columns}" + ("" if first else "_again")
    text = write_kernel(
        f"sums of runs: {src} to {out}; {label}.",
        grouping.add_runs,
        operands=(src,),
        out=out,
        macros={"ENTRY": expression_macro(entry), "KEY": expression_macro(f"np.int64(keys[{entry}])")},
        constants={"CHUNK": str(CHUNK), "LINES": str(int(first and rank > 0))},
        arrays=(src, int32, int32, out, int32, out),
        fields=grouping.runs_fields(rank, columns),
        target=CUDA,
    )
    return Program(f"add_runs_{src.short}_{out.short}_{label}", text)
