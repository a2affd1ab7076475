"""Joining on CUDA: one launch for up to 32 operands, if each is dense and has the dtype of the result.

Even for two operands one launch is best: a second launch costs more than the choice of an operand in each
block.  Other joins are copies, one per operand: see `backends/lowering/`.

The loop copies words of up to 16 bytes, each WIDTH elements of memory.  A row of the result is one row of each
operand, one after the other.  Blocks are divided among the operands by size.  `PART`, which is written out, finds the
operand of a block with one comparison per operand.  It defines `source`, which begins at word `base`; `width`, the
words per row, which begin at word `begin` of a row of the result; and the blocks from `start` to `stop`.
"""

# mypy: disable-error-code="name-defined, no-untyped-def"
from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import accumulate
from math import gcd, prod
from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cuda.family import CudaBackend, CudaSteps, line
from minigrad.backends.cuda.loops import COUNT_32, divide, magic_of
from minigrad.backends.cuda.runtime import THREADS, WIDEST
from minigrad.backends.steps import Steps
from minigrad.core import requests
from minigrad.core.dtype import int16, int32, int64, uint8
from minigrad.kernels.fields import Fields, loop
from minigrad.kernels.pasting import Expand, Late, Macro

PARTS = 32  # maximum number of operands per launch
WORDS = {1: uint8, 2: int16, 4: int32}  # the elements of words of these bytes; larger words are of int64

# `lines` lines of `row` words; ends: the block at which the blocks of each operand end
JOIN = Fields("lines row out", " ".join(f"{name}[parts]" for name in "ends widths begins bases magics shifts".split()))


@loop(JOIN, helpers=(divide,))
def join(in_K, out, N):
    """Copy the words of each operand to their positions in the result."""
    PART()
    i = (position - start) * cuda.blockDim.x + cuda.threadIdx.x
    while i < width * N.lines:
        line = np.int64(divide(np.uint32(i), magic, shift))
        at = N.out + line * N.row + begin + i - line * width
        PUT(out, at * WIDTH, TAKE(source, (base + i) * WIDTH))
        i += (stop - start) * cuda.blockDim.x


@serves(CudaBackend, requests.Join)
def join_dense(steps: CudaSteps, request: requests.Join) -> None:
    (out,), parts, dim = steps.outs, steps.operands, request.dim
    dense = all(x.dtype is out.dtype and x.layout.is_contiguous for x in (out, *parts))
    widths, starts = [prod(x.shape[dim:]) for x in parts], [x.layout.offset for x in parts]
    begins, size = [0, *accumulate(widths)], out.dtype.itemsize
    word = gcd(WIDEST, *[size * n for n in (*widths, *starts, out.layout.offset)])
    lines = prod(out.shape[:dim])
    if not dense or len(parts) < 2 or lines * max(widths) * size // word >= COUNT_32:
        return steps.lower(request)
    of = size / word  # words per element; every size here is a multiple of the word
    for k in range(0, len(parts), PARTS):
        some = slice(k, k + PARTS)
        scaled = [[round(n * of) for n in numbers] for numbers in (widths[some], begins[:-1][some], starts[some])]
        blocks, numbers = shares(steps, lines, *scaled)
        sources, count = parts[some], size_above(len(parts[some]))
        steps.run(
            join, *sources, *sources[:1] * (count - len(sources)), out, words=Late(join_words, (count, word)),
            dtypes=(WORDS.get(word, int64),) * (count + 1), form=f"by{word // 8}" if word > 8 else "words",
            grid=line(blocks), row=round(begins[-1] * of), out=round(out.layout.offset * of), **numbers,
        )  # fmt: skip


def shares(
    steps: Steps, lines: int, widths: Sequence[int], begins: Sequence[int], bases: Sequence[int]
) -> tuple[int, dict[str, Any]]:
    """Return the number of blocks of a launch, and its numbers.

    Each operand has a share of the blocks.  The kernel has a fixed number of operands; missing operands have no
    blocks.
    """
    each = max(THREADS, -(-lines * sum(widths) // steps.backend.most))
    ends = list(accumulate(-(-lines * width // each) for width in widths))
    magics, shifts = zip(*[magic_of(max(1, width)) for width in widths], strict=True)
    more = size_above(len(widths)) - len(widths)
    rest = {"widths": widths, "begins": begins, "bases": bases, "magics": magics, "shifts": shifts}
    rest = {name: [*values, *[0] * more] for name, values in rest.items()}
    return ends[-1], {"lines": lines, "ends": ends + ends[-1:] * more, **rest}


def size_above(n: int) -> int:
    """Return the number of operands of the kernel that joins n operands."""
    return 1 << max(1, (n - 1).bit_length())


def join_words(parts: int, word: int) -> dict[str, Any]:
    """Return the words of the join of `parts` operands, by words of `word` bytes."""
    width = max(1, word // 8)
    words = {"WIDTH": width, "TAKE": f"load_{width}", "PUT": f"store_{width}"}
    return {"PART": Macro(part_macro(parts)), **words}


def part_macro(parts: int) -> Expand:
    """Return the macro PART: the operand of a block, and its scalar arguments."""
    fields = JOIN.fixed({"parts": parts})
    known = {"stop": "ends", **{name: name + "s" for name in ("width", "begin", "base", "magic", "shift")}}

    def number(name: str, k: int) -> str:
        return f"numbers[{int(fields.position(name)) + k}]"

    def expand(args: list[ast.expr], used: set[str]) -> tuple[list[str], ast.expr]:
        lines = ["position = np.int64(cuda.blockIdx.x)"]
        for k in range(parts):
            chosen = {"source": f"in_{k}", "start": number("ends", k - 1) if k else "np.int64(0)"}
            chosen |= {name: number(of, k) for name, of in known.items()}
            if k:
                lines.append(f"if position >= {chosen['start']}:")
            lines += [f"{'    ' if k else ''}{name} = {value}" for name, value in chosen.items()]
        return lines, ast.Constant(0)

    return expand
