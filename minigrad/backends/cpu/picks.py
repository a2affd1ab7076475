"""Picks on the CPU: one element per row, such as a cross entropy, and the gradients of such results.

The loops are in `kernels/cpu/picks.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, CpuSteps
from minigrad.backends.cpu.loops import CHUNK
from minigrad.backends.cpu.rowtexts import along, band_of, is_direct
from minigrad.core import requests
from minigrad.core.dtype import DType, float64
from minigrad.core.layout import Layout, merge
from minigrad.core.op import Spec
from minigrad.core.plan import pieces, without
from minigrad.core.rows import RowFn
from minigrad.kernels.cpu import picks
from minigrad.kernels.pasting import Late, Macro

REDUCTIONS = {"none": 0, "sum": 1, "mean": 2}
PICK_COST = 10  # cost of an element in additions, mainly that of one call of exp


@serves(CpuBackend, requests.Pick)
def pick(steps: CpuSteps, request: requests.Pick) -> None:
    (out,), (x, *others) = steps.outs, steps.operands
    fn, ignore, reduction = request.fn, request.ignore, request.reduction
    target, *weight = others
    losses = out.layout if reduction == "none" else Layout.contiguous(target.shape, out.layout.offset)
    each = x.shape[-1] if fn.totals else 1
    views = [(losses, 0), along_row(x), (target.layout, 0), *per_class(weight, target.shape)]
    numbers = pick_numbers(x.shape[-1], ignore, each, *views)
    direct, reducer, tasks = not fn.totals or is_direct(x, out), REDUCTIONS[reduction], numbers["divided"][1]
    apart = tasks > 1 and reduction != "none"
    work = steps.work((2 * tasks,), float64) if apart else out
    steps.run(
        picks.pick, *steps.operands, work, out, words=Late(pick_words, (fn, out.dtype, direct, reducer, len(weight))),
        form=f"{fn.name}{reducer}{'1' if direct else 'x'}", end=apart,
        dtypes=(*[spec.dtype for spec in steps.operands], float64, out.dtype), **numbers,
    )  # fmt: skip


@serves(CpuBackend, requests.PickBack)
def pick_backward(steps: CpuSteps, request: requests.PickBack) -> None:
    (out,), (dy, x, target) = steps.outs, steps.operands
    fn, ignore, reduction = request.fn, request.ignore, request.reduction
    if not out.layout.numel:
        return
    n, heads = x.shape[-1], dy.layout.expand(target.shape)
    views = [along_row(out), along_row(x), (target.layout, 0), (heads, 0)]
    direct = is_direct(x, out)
    reducer = REDUCTIONS["mean" if reduction == "mean" else "none"]  # the gradient of a sum has a stride of 0
    steps.run(
        picks.pick_backward, x, target, dy, out, words=Late(pick_words, (fn, out.dtype, direct, reducer, 0, True)),
        form=f"{fn.name}{reducer}{'1' if direct else 'x'}", **pick_numbers(n, ignore, n, *views),
    )  # fmt: skip


@serves(CpuBackend, requests.Unpick)
def unpick(steps: CpuSteps, request: requests.Unpick) -> None:
    (out,), (dy, target, *weight), ignore, reduction = steps.outs, steps.operands, request.ignore, request.reduction
    if not out.layout.numel:
        return
    n, heads = out.shape[-1], dy.layout.expand(target.shape)
    views = [along_row(out), (heads, 0), (target.layout, 0), *per_class(weight, target.shape)]
    words = {"MEAN": reduction == "mean", "WEIGHTED": len(weight) > 0}
    form = "_".join([name.lower() for name, holds in words.items() if holds])
    steps.run(picks.unpick, *steps.operands, out, words=words, form=form, **pick_numbers(n, ignore, n, *views))


def pick_numbers(n: int, ignore: int, each: int, *views: tuple[Layout, int]) -> dict[str, Any]:
    """Return the tasks and the numbers of `pick`, `pick_backward` and `unpick`.

    The rows, of n elements, are in row-major order.
    each: number of elements of a row that are read or written.
    views: for the result and each operand, a layout with the shape of the rows, and the step along a row.
    """
    layouts = [layout for layout, _ in views]
    dims, strides = merge(layouts)
    count = prod(dims)
    divided = pieces(count, CHUNK // max(1, each))
    return {
        "groups": [(layout.offset, step, moves) for (layout, step), moves in zip(views, strides, strict=True)],
        "divided": divided, "elements": count * each, "cost": PICK_COST, "rows": count, "n": n,
        "band": divided[0] if each < n else band_of(n), "ignore": ignore, "shape": dims,
    }  # fmt: skip


def along_row(x: Spec) -> tuple[Layout, int]:
    """Return the layout of the rows of a tensor, and the step along a row."""
    return without(x.layout, x.shape, len(x.shape) - 1), x.layout.strides[-1]


def per_class(weight: Sequence[Spec], shape: tuple[int, ...]) -> list[tuple[Layout, int]]:
    """Return a view in which each row of `shape` reads the same weights, or nothing if there are no weights."""
    return [(Layout.make(shape, (0,) * len(shape), w.layout.offset), w.layout.strides[0]) for w in weight]


def pick_words(
    fn: RowFn, out: DType, direct: bool, reducer: int, weighted: int, back: bool = False
) -> dict[str, Any]:  # fmt: skip
    """Return the words of the loop for one result per row, or for the gradient of this result, if `back`."""
    insertions = along(fn, (direct,), out, back)
    macros = {name: Macro(macro) if callable(macro) else macro for name, macro in insertions["macros"].items()}
    constants = {
        "EACH": reducer == 0, "JOINED": reducer > 0, "MEAN": reducer == 2, "TOTALLED": bool(fn.totals),
        "WEIGHTED": weighted > 0,
    }  # fmt: skip
    return insertions["constants"] | constants | macros | {"imports": insertions["imports"]}
