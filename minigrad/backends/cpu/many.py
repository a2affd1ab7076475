"""Many tensors in one launch on the CPU: a table of their addresses, from which one kernel reads any number of them.

A launch of `Many` has the chunks of all tensors as tasks.  Rows whose tensors are runs share a kernel, other rows have
separate loops.  One kernel can process any number of rows of the same dtypes.

A join copies bytes of each operand in turn, for each row of the result, if each operand is dense and has the dtype of
the result; `move` is that of `kernels/cpu/moving.py`.  Other joins are copies, one per operand: see
`backends/lowering/`.

Free names: `F` stores the results of the scalar function in the columns that are written.  `LOAD_K` converts an element
of column K, whose addresses begin at entry `FIRST_K` of the table and whose type is `TYPE_K`.  The constants are read
when the kernel runs, so another learning rate does not compile another kernel; `h_S` stands for each of them.
"""

# ruff: noqa: F821
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain
from math import prod
from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, CpuSteps
from minigrad.backends.cpu.loops import CHUNK, lines
from minigrad.backends.shared import Table
from minigrad.backends.steps import Value
from minigrad.core import requests
from minigrad.core.dtype import DType
from minigrad.core.layout import Layout
from minigrad.core.op import ScalarFn, Spec
from minigrad.core.plan import walk
from minigrad.kernels.cpu.target import element, moving_header
from minigrad.kernels.fields import Fields, loop
from minigrad.kernels.macros import stores_macro
from minigrad.kernels.pasting import Late, Macro
from minigrad.kernels.specialize import store_text

MANY = Fields("rows chunks columns constants", "row[chunks] start[chunks] count[chunks] offsets")


@loop(MANY, table=True)
def many(N):  # type: ignore[no-untyped-def]
    """Compute the tensors of each row of the table; each is a run from its offset on.  A task is a chunk of a row."""
    rows, columns = N.rows, N.columns
    constants = operand(table, 2 + (columns - RESULTS) * rows, np.float64)[N.constants :]
    h_S = T(constants[S])
    for c in range(first, last):
        t = N.row[c]
        start = N.start[c]
        count = N.count[c]
        at_K = N.offsets[t * columns + K] + start
        x_K = operand(table, FIRST_K + t, TYPE_K)[at_K : at_K + count]
        for i in range(count):
            # All elements of a row are read before one is written, because a result is an argument as well.
            F(LOAD_K(x_K[i]), h_S, x_R[i])


@serves(CpuBackend, requests.Many)
def apply_many(steps: CpuSteps, request: requests.Many) -> None:
    outs, operands = steps.outs, steps.operands
    scalar, compute, rows = request.scalar, request.compute, request.rows
    table = Table(request, [*operands, *outs])
    offsets = [run_offsets([spec.layout for spec in table.row(row)]) for row in range(rows)]
    runs = [each for each in offsets if each is not None]
    if len(runs) < rows or len({dtypes_of(table.row(row)) for row in range(rows)}) > 1:
        return many_apart(steps, request, table, offsets)
    chunks = chunks_of([table.arguments[table.first(0) + row].layout.numel for row in range(rows)])
    if not chunks:
        return
    dtypes = dtypes_of(table.row(0))
    steps.run(
        many, *operands, *outs, words=Late(many_words, (scalar, compute, dtypes)), compute=compute, dtypes=dtypes,
        tasks=len(chunks),
        numel=sum(n for _, _, n in chunks), cost=scalar.cost, rows=rows, columns=table.columns,
        constants=table.constants.layout.offset, offsets=list(chain(*runs)), row=[t for t, _, _ in chunks],
        start=[at for _, at, _ in chunks], count=[n for _, _, n in chunks],
    )  # fmt: skip


def many_apart(steps: CpuSteps, request: requests.Many, table: Table[Value], offsets: Sequence[Any]) -> None:
    """Add the steps for rows that one kernel cannot process.

    Rows of runs are grouped by their dtypes; other rows run one by one.
    """
    kinds: dict[Any, list[int]] = {}
    for row, at in enumerate(offsets):
        key = "apart" if at is None else dtypes_of(table.row(row))
        kinds.setdefault(key, []).append(row)
    for key, chosen in kinds.items():
        results, others = table.picked(chosen)
        part = requests.Many(request.scalar, request.compute, len(chosen))
        if key != "apart":
            steps.ask(part, results, *others)
            continue
        specs = tuple([x.spec for x in results]), [x.spec for x in others]
        steps.then(steps.backend.lower(part, specs[0], *specs[1]), *others, *results)


def run_offsets(layouts: Sequence[Layout]) -> tuple[int, ...] | None:
    """Return the offsets of tensors of one shape if one index traverses all of them element by element.

    Otherwise the result is None.
    """
    if all(layout.is_contiguous for layout in layouts):
        return tuple([layout.offset for layout in layouts])
    dims, strides, offsets = walk(layouts)
    if len(dims) > 1 or any(s and s[0] != 1 for s in strides):
        return None
    return tuple(offsets)


def dtypes_of(row: Sequence[Spec]) -> tuple[DType, ...]:
    """Return the dtypes of the tensors of a row."""
    return tuple([spec.dtype for spec in row])


def chunks_of(sizes: Sequence[int]) -> list[tuple[int, int, int]]:
    """Cut the rows into chunks: (row, first element, number of elements)."""
    result = []
    for row, size in enumerate(sizes):
        chunk, _ = lines(size, CHUNK)
        result += [(row, at, min(chunk, size - at)) for at in range(0, size, chunk)]
    return result


def many_words(scalar: ScalarFn, compute: np.dtype[Any], dtypes: tuple[DType, ...]) -> dict[str, Any]:
    """Return the words of the loop over many tensors of one scalar function."""
    results, columns = dtypes[: scalar.results], len(dtypes)
    read = columns - len(results)
    # The table of addresses begins with the flag and the scalar arguments; `Table` describes the order of the rest.
    starts = [f"3 + {read + k} * rows" for k in range(len(results))]
    starts += [f"2 + {k} * rows" for k in range(read)]
    stores = [store_text(compute, y, several=True)[0] for y in results]
    words = {f"FIRST_{k}": start for k, start in enumerate(starts)}
    words |= {f"TYPE_{k}": f"np.{element(dtype)}" for k, dtype in enumerate(dtypes)}
    return words | {
        "F": Macro(stores_macro(scalar, compute, stores, [y.kind == "bool" for y in results])),
        "RESULTS": len(results), "accumulators": len(scalar.args) - columns,
        "name": f"many_{scalar.name}_{{reads}}",
    }  # fmt: skip


@loop(Fields("chunk whole row parts", "ends[parts] offsets"), table=True, imports=lambda *others: moving_header())
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


PIECE = 1 << 15  # size of a chunk in bytes
# Maximum number of elements for a strided copy (0.7 ns per element); longer operands use a call that moves bytes (5
# ns).
SHORT = 6
LONG = 4096  # minimum number of elements of an operand for a separate launch


@serves(CpuBackend, requests.Join)
def join_dense(steps: CpuSteps, request: requests.Join) -> None:
    (out,), parts, dim = steps.outs, steps.operands, request.dim
    lengths = [prod(x.shape[dim:]) for x in parts]
    scattered = max(lengths) <= SHORT and out.layout.numel >= LONG * len(parts)
    if scattered or not all(x.dtype is out.dtype and x.layout.is_contiguous for x in (out, *parts)):
        return steps.lower(request)
    size = out.dtype.itemsize
    ends = [size * n for n in accumulate(lengths)]
    whole = size * out.layout.numel
    offsets = [size * x.layout.offset for x in (*parts, out)]
    steps.run(
        join, *parts, out, dtypes=(), divided=lines(whole, PIECE), whole=whole, row=ends[-1], ends=ends,
        offsets=offsets,
    )  # fmt: skip
