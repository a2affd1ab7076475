"""Picks on the CPU: one element per row, such as a cross entropy, and the gradients of such results.

The loops are in `kernels/cpu/picks.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, bind, headed, kind_of
from minigrad.backends.cpu.loops import CHUNK
from minigrad.backends.cpu.rowtexts import along, band_of, is_direct, nest_of
from minigrad.backends.launch import NO_STEPS, Launch
from minigrad.backends.steps import Steps
from minigrad.core import requests
from minigrad.core.dtype import DType, float64
from minigrad.core.layout import Layout, merge
from minigrad.core.op import Spec
from minigrad.core.plan import pieces, without
from minigrad.core.rows import RowFn
from minigrad.kernels.cpu import picks
from minigrad.kernels.specialize import write_kernel
from minigrad.kernels.store import load

REDUCTIONS = {"none": 0, "sum": 1, "mean": 2}
PICK_COST = 10  # cost of an element in additions, mainly that of one call of exp


@serves(CpuBackend, requests.Pick)
def pick(steps: Steps, request: requests.Pick) -> Launch:
    (out,), (x, *others) = steps.outs, steps.operands
    fn, ignore, reduction = request.fn, request.ignore, request.reduction
    target, *weight = others
    losses = out.layout if reduction == "none" else Layout.contiguous(target.shape, out.layout.offset)
    each = x.shape[-1] if fn.totals else 1
    views = [(losses, 0), along_row(x), (target.layout, 0), *per_class(weight, target.shape)]
    numbers, tasks, kind = pick_numbers(x.shape[-1], ignore, each, *views)
    direct = not fn.totals or is_direct(x, out)
    dtypes = tuple(spec.dtype for spec in (x, *others))
    kernel = steps.backend.kernel(write_pick, fn, dtypes, out.dtype, direct, REDUCTIONS[reduction], kind=kind)
    apart = tasks > 1 and reduction != "none"
    work = steps.work((2 * tasks,), float64) if apart else steps.outs[0]
    table = headed(tasks, numbers, end=apart)
    steps.then(kernel, *steps.operands, work, *steps.outs, numbers=table)
    return steps.launch


@serves(CpuBackend, requests.PickBack)
def pick_backward(steps: Steps, request: requests.PickBack) -> Launch:
    (out,), (dy, x, target) = steps.outs, steps.operands
    fn, ignore, reduction = request.fn, request.ignore, request.reduction
    if out.layout.numel == 0:
        return NO_STEPS
    n, heads = x.shape[-1], dy.layout.expand(target.shape)
    views = [along_row(out), along_row(x), (target.layout, 0), (heads, 0)]
    numbers, tasks, kind = pick_numbers(n, ignore, n, *views)
    dtypes = (x.dtype, target.dtype, dy.dtype)
    direct = is_direct(x, out)
    reducer = REDUCTIONS["mean" if reduction == "mean" else "none"]  # the gradient of a sum has a stride of 0
    kernel = steps.backend.kernel(write_pick, fn, dtypes, out.dtype, direct, reducer, True, kind=kind)
    head, values, chosen = steps.operands
    steps.then(kernel, values, chosen, head, *steps.outs, numbers=headed(tasks, numbers))
    return steps.launch


@serves(CpuBackend, requests.Unpick)
def unpick(steps: Steps, request: requests.Unpick) -> Launch:
    (out,), (dy, target, *weight), ignore, reduction = steps.outs, steps.operands, request.ignore, request.reduction
    if out.layout.numel == 0:
        return NO_STEPS
    n, heads = out.shape[-1], dy.layout.expand(target.shape)
    views = [along_row(out), (heads, 0), (target.layout, 0), *per_class(weight, target.shape)]
    numbers, tasks, kind = pick_numbers(n, ignore, n, *views)
    dtypes = tuple(x.dtype for x in (dy, target, *weight))
    kernel = steps.backend.kernel(write_unpick, dtypes, out.dtype, reduction == "mean", kind=kind)
    return bind(kernel, headed(tasks, numbers), len(dtypes))


def pick_numbers(n: int, ignore: int, each: int, *views: tuple[Layout, int]) -> tuple[list[int], int, str]:
    """Return the scalar arguments of `pick`, `pick_backward` and `unpick`, the number of tasks, and their kind.

    The rows, of n elements, are in row-major order.
    each: number of elements of a row that are read or written.
    views: for the result and each operand, a layout with the shape of the rows, and the step along a row.
    """
    layouts = [layout for layout, _ in views]
    dims, strides = merge(layouts)
    count = prod(dims)
    chunk, chunks = pieces(count, CHUNK // max(1, each))
    numbers = picks.PICK.pack(
        *[(layout.offset, step, moves) for (layout, step), moves in zip(views, strides, strict=True)],
        rows=count, chunk=chunk, chunks=chunks, n=n, band=chunk if each < n else band_of(n), ignore=ignore, shape=dims,
    )  # fmt: skip
    return numbers, chunks, kind_of(count * each, chunks, PICK_COST)


def along_row(x: Spec) -> tuple[Layout, int]:
    """Return the layout of the rows of a tensor, and the step along a row."""
    return without(x.layout, x.shape, len(x.shape) - 1), x.layout.strides[-1]


def per_class(weight: Sequence[Spec], shape: tuple[int, ...]) -> list[tuple[Layout, int]]:
    """Return a view in which each row of `shape` reads the same weights, or nothing if there are no weights."""
    return [(Layout.make(shape, (0,) * len(shape), w.layout.offset), w.layout.strides[0]) for w in weight]


def write_pick(fn: RowFn, dtypes: tuple[DType, ...], out: DType, direct: bool, reducer: int, back: bool = False) -> Any:
    """Write the kernel for one result per row, or for the gradient of this result, if `back`."""
    weighted = len(dtypes) == 3 and not back
    insertions = along(fn, (direct,), out, back)
    insertions["constants"] |= {
        "EACH": reducer == 0,
        "JOINED": reducer > 0,
        "MEAN": reducer == 2,
        "TOTALLED": bool(fn.totals),
        "WEIGHTED": weighted,
    }
    label = f"{'pick_backward' if back else 'pick'}{reducer}{'1' if direct else 'x'}{'w' if weighted else ''}"
    template, arrays = (picks.pick_backward, {}) if back else (picks.pick, {"work": float64})
    return nest_of(label, template, fn, dtypes, out, arrays | {"out": out}, fields=picks.PICK, **insertions)


def write_unpick(dtypes: tuple[DType, ...], out: DType, mean: bool) -> Any:
    """Write the kernel for the gradient of picked elements; a third dtype is that of the weights of the classes."""
    label = f"unpick{'_mean' if mean else ''}{'_weighted' if len(dtypes) == 3 else ''}"
    text = write_kernel(
        f"{label}: {', '.join(map(str, dtypes))} -> {out}.",
        picks.unpick,
        operands=dtypes,
        out=out,
        constants={"MEAN": mean, "WEIGHTED": len(dtypes) == 3},
        fields=picks.PICK,
    )
    return load(f"{label}_{'_'.join(d.short for d in (*dtypes, out))}", text)
