"""Joining on CUDA: one launch for up to 32 operands, if each is dense and has the dtype of the result.

The loop is in `kernels/cuda/joining.py`.  Even for two operands one launch is best: a second launch costs more than the
choice of an operand in each block.  Other joins are copies, one per operand: see `backends/lowering/`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import accumulate
from math import gcd, prod

from minigrad.backends.base import serves
from minigrad.backends.cuda.family import CudaBackend, line
from minigrad.backends.cuda.loops import COUNT_32, WIDEST, magic_of
from minigrad.backends.cuda.runtime import THREADS, Program
from minigrad.backends.launch import Launch
from minigrad.backends.steps import Steps
from minigrad.core import requests
from minigrad.core.dtype import int16, int32, int64, uint8
from minigrad.kernels.cuda import elementwise, joining
from minigrad.kernels.cuda.target import CUDA
from minigrad.kernels.pasting import Expand
from minigrad.kernels.specialize import write_kernel

PARTS = 32  # maximum number of operands per launch


@serves(CudaBackend, requests.Join)
def join(steps: Steps, request: requests.Join) -> Launch:
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
        ends, numbers = shares(steps, lines, round(begins[-1] * of), round(out.layout.offset * of), *scaled)
        launch = steps.backend.bind(
            steps.backend.kernel(write_join, size_above(len(scaled[0])), word), *line(ends), numbers
        )
        sources = steps.operands[some]
        steps.then(launch, *sources, *sources[:1] * (size_above(len(sources)) - len(sources)), *steps.outs)
    return steps.launch


def shares(
    steps: Steps, lines: int, row: int, to: int, widths: Sequence[int], begins: Sequence[int], bases: Sequence[int]
) -> tuple[int, list[int]]:
    """Return the number of blocks of a launch, and its scalar arguments.

    Each operand has a share of the blocks.  The kernel has a fixed number of operands; missing operands have no
    blocks.
    """
    each = max(THREADS, -(-lines * sum(widths) // steps.backend.most))
    ends = list(accumulate(-(-lines * width // each) for width in widths))
    magics, shifts = zip(*[magic_of(max(1, width)) for width in widths], strict=True)
    fields, more = joining.join_fields(size_above(len(widths))), size_above(len(widths)) - len(widths)
    rest = {"widths": widths, "begins": begins, "bases": bases, "magics": magics, "shifts": shifts}
    numbers = fields.pack(
        lines=lines, row=row, to=to, ends=ends + ends[-1:] * more,
        **{name: [*values, *[0] * more] for name, values in rest.items()},
    )  # fmt: skip
    return ends[-1], numbers


def size_above(n: int) -> int:
    """Return the number of operands of the kernel that joins n operands."""
    return 1 << max(1, (n - 1).bit_length())


def write_join(parts: int, word: int) -> Program:
    """Write the join of `parts` operands, by words of `word` bytes."""
    element = {1: uint8, 2: int16, 4: int32}.get(word, int64)
    width = max(1, word // 8)
    fields = joining.join_fields(parts)
    text = write_kernel(
        f"join: {parts} dense operands, by {word} bytes.",
        joining.join,
        operands=(element,) * parts,
        out=element,
        macros={"PART": part_macro(parts)},
        constants={"WIDTH": str(width), "LOAD_WORD": f"load_{width}", "STORE_WORD": f"store_{width}"},
        helpers=[elementwise.divide],
        fields=fields,
        target=CUDA,
    )
    return Program(f"join{parts}_{element.short}" + (f"_by{width}" if width > 1 else ""), text)


def part_macro(parts: int) -> Expand:
    """Return the macro PART: the operand of a block, and its scalar arguments."""
    fields = joining.join_fields(parts)
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
