"""Pieces of kernel texts that several families paste, and elementwise functions around another loop.

They index neighbours, pass floats among the numbers, define helper functions and write header lines.  A `Chain`
computes an operand of a kernel, and an `After` changes its result: `chained.py` and `matmul.py` prepare their launches.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from minigrad.backends.steps import Value
from minigrad.core.dtype import DType
from minigrad.core.op import ScalarFn
from minigrad.kernels.cpu.processor import tile_shape, wide_tile
from minigrad.kernels.cpu.target import CPU, imported
from minigrad.kernels.macros import scalar_macro
from minigrad.kernels.pasting import LEFT_OUT, Expand


def step_words(steps: Sequence[int]) -> str:
    """Return the step of each array along a row: "0", "1", or "s" for any other, which a kernel reads at run time."""
    return "".join([str(step) if step in (0, 1) else "s" for step in steps])


def row_views(steps: str, view: str, length: str) -> dict[str, str]:
    """Return the texts `RUN_K`, the slice of array K along a row, and `AT_K`, its element j.

    steps: the result of `step_words`.
    view: the name of a slice.
    length: the name of the number of elements.
    A run of step 1 is indexed through a slice, otherwise the loop would not be vectorised.  Other indices are unsigned,
    because a signed index is tested for wrapping around at each element.
    """
    constants = {}
    for k, step in enumerate(steps):
        run = {"0": f"in_{k}[at_{k} :]", "1": f"in_{k}[at_{k} : at_{k} + {length}]"}
        at = {"0": f"{view}_{k}[0]", "1": f"{view}_{k}[j]"}
        constants[f"RUN_{k}"] = run.get(step, LEFT_OUT)
        constants[f"AT_{k}"] = at.get(step, f"in_{k}[np.uint64(at_{k} + j * step_{k})]")
    return constants


def bits(value: float) -> int:
    """Return the bits of a float64 as an integer, which is passed among the scalar arguments of a kernel.

    `factor_text` is the inverse in a kernel.
    """
    return int(np.float64(value).view(np.int64))


def factor_text(dtype: DType) -> str:
    """Return the text that converts a number of the kernel to a factor: see `bits`."""
    return "T(np.int64({0}).view(np.float64))" if dtype.is_float else "T({0})"


def helper(text: str, template: Callable[..., Any], name: str, liberty: str = "", inlined: bool = False) -> str:
    """Return a pasted function under another name, for the module of a kernel."""
    head = "\n\n" + CPU.helper((liberty,) if liberty else (), inlined)
    return head + text.replace(f"def {template.__name__}(", f"def {name}(", 1)


def short_header(form: str) -> str:
    """Return the lines that define the sums of a reduction's form in the vectors of the processor, or ""."""
    names = {"short sum": ("short_sum", "short_sums"), "eights": ("add_rows", "sums_of_rows")}
    if form not in names:
        return ""
    name, maker = names[form]
    line = f'{name} = {maker}(tile_shape("float32")[0])'
    return imported("processor", "tile_shape") + imported("short", maker, line, beside=["emitting.py"])


@cache
def tile_size(dtype: DType, wide: bool = False) -> tuple[int, int]:
    """Return the rows and columns of the tile that `tile_header` passes to a kernel."""
    lanes, rows, vectors = (wide_tile if wide else tile_shape)(str(dtype))
    return rows, vectors * lanes


def sum_text(dtype: DType) -> str:
    """Return the text of `ADD`: wrap-around for integers, which Numba would widen; `or` for bools."""
    return {"bool": "{0} or {1}", "float": "{0} + {1}"}.get(dtype.kind, "T({0} + {1})")


class Chain(NamedTuple):
    """A function that computes one operand of a kernel from some of its arrays.

    operand: the position of this operand.
    scalar: the function.
    reads: the positions of the arrays that it reads.
    """

    operand: int
    scalar: ScalarFn
    reads: tuple[int, ...]

    def macro(self, compute: np.dtype[np.generic]) -> Expand:
        """Return the function as a macro of one element per array of the kernel."""
        plain = scalar_macro(self.scalar, compute)

        def expand(args: list[ast.expr], used: set[str]) -> tuple[list[str], ast.expr]:
            return plain([args[position] for position in self.reads], used)

        return expand


def elements_of(steps: str) -> dict[str, str]:
    """Return the texts that index arrays along a row of n elements. steps: the result of `step_words`."""
    return row_views(steps, "u", "n")


class After(NamedTuple):
    """Describe a scalar function that a kernel applies to its result and to additional operands.

    Each additional operand has the layout of the result, or is the same in each row.
    steps: the strides of the additional operands along a row, as `step_words` returns them.
    """

    chain: Chain
    steps: str
    operands: list[Value]

    @property
    def dtypes(self) -> tuple[DType, ...]:
        """The dtypes of the operands."""
        return tuple([x.dtype for x in self.operands])

    def groups(self, cols: int) -> list[tuple[int, int]]:
        """Return for each operand its offset and its stride from row to row. cols: the columns of the result."""
        return [(x.layout.offset, cols if x.layout.is_contiguous else 0) for x in self.operands]


def after_of(scalar: ScalarFn, position: int, others: Sequence[Value], out: Value) -> After | None:
    """Return the After for `scalar`, whose argument `position` is the result of a kernel.

    others: the other arguments.  None is returned if one of them is neither laid out like `out` nor the same in each
    row.
    """
    reads = (*range(1, position + 1), 0, *range(position + 1, len(others) + 1))
    operands = [*others] or [out]  # a kernel needs at least one operand after the result
    steps = []
    for x in operands:
        *outer, last = x.layout.strides
        if not x.layout.is_contiguous and (any(outer) or last not in (0, 1)):
            return None
        steps.append(1 if x.layout.is_contiguous else last)
    return After(Chain(0, scalar, reads), step_words(steps), operands)
