"""Elementwise loops over more than one chunk: on all threads, and tile by tile where operands lie across the output.

The op table is small, so one thread does its only chunk, and it never sees a tile.  Here each kind of dtype meets both
once, by an op that the table compiles in that dtype anyway.  `--full` takes every dtype.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from cases import unless_full
from layouts import dense, inner_gap, stepped, transposed
from op_rows.row import ALL, Row
from op_support import arrays, assert_close, operands, wide
from op_table import ROWS
from selection import runs_alone_in, spread

import minigrad as mg
from minigrad.backends.cpu.loops import CHUNK, LARGE
from minigrad.kernels.store import watch

SHAPE = (70, 3, 97)
SERIAL, PARALLEL = 1 << 60, 0


def one_each(operands: int) -> list[tuple[Row, str]]:
    """For every dtype an elementwise row of so many operands that the table compiles in it, each time another one."""
    found = []
    for k, dtype in enumerate(ALL):
        rows = [r for r in ROWS if r.elementwise and len(r.domains) == operands and r.ops and runs_alone_in(r, dtype)]
        rows = [r for r in rows if r.name != "frexp"]  # its loop has two results and no tiles
        if rows:
            found.append((spread(rows, k, len(ALL)), dtype))
    return found


def results(row: Row, dtype: str, layouts: Sequence[Any], thresholds: tuple[int, ...]) -> None:
    """The row over a large shape, held to NumPy; serial and parallel loops give the same bits."""
    values = operands(row, arrays(row, (SHAPE,) * len(row.domains)), dtype, "cpu")
    given = [layout(x) for layout, x in zip(layouts, values)]
    with np.errstate(all="ignore"):
        want = row.numpy(*[wide(x) * 1.0 if row.result == "float" else wide(x) for x in given])
    bits = []
    for threshold in thresholds:
        with mg.override(parallel_threshold=threshold):
            got = row.fn(*given)
        assert_close(row, got, want, dtype)
        bits.append(wide(got).tobytes())
    assert len(set(bits)) == 1, "threads change the bits"


def one_of_a_kind(dtype: str) -> bool:
    """Whether a dtype runs without --full."""
    return dtype in ("bool", "uint8", "int8", "int16", "float16", "bfloat16", "float32", "float64")


def named(cases: list[tuple[Row, str]]) -> Any:
    return pytest.mark.parametrize(("row", "dtype"), cases, ids=[f"{row.name}-{dtype}" for row, dtype in cases])


def test_the_shape_is_large() -> None:
    assert np.prod(SHAPE) > 2 * CHUNK > LARGE


@unless_full(lambda dtype: one_of_a_kind(dtype) and dtype not in ("int8", "bfloat16"))
@named(one_each(1)[::2] + one_each(2)[1::2])
def test_all_threads_give_the_bits_of_one(row: Row, dtype: str) -> None:
    results(row, dtype, (dense, dense), (SERIAL, PARALLEL))


# Which of the two loops it is follows from the dtype: both are seen, and each kernel is compiled once.
@unless_full(one_of_a_kind)
@named(one_each(1)[::2] + one_each(2)[::4] + one_each(3)[-1:])
def test_an_operand_across_the_output_is_read_in_tiles(row: Row, dtype: str) -> None:
    with watch() as files:
        results(row, dtype, (transposed, dense, dense), (PARALLEL if dtype.startswith("int") else SERIAL,))
    assert any("_tiled_" in file for file in files)


@pytest.mark.parametrize("layout", [inner_gap, stepped], ids=["rows", "strided"])
@named([(row, "float64") for row in ROWS if row.name in ("exp", "hypot")])
def test_rows_and_strided_loops_on_all_threads(row: Row, dtype: str, layout: Any) -> None:
    results(row, dtype, (layout, layout), (SERIAL, PARALLEL))
