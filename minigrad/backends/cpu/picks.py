"""Picks on the CPU: one element per row, such as a cross entropy, and the gradients of such results.

The nests are `pick`, `pick_backward` and `unpick`; their totals and scratch rows are those of `kernels/cpu/rows.py`.
"""

# ruff: noqa: B007, F821, F841, SIM102
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, CpuSteps
from minigrad.backends.cpu.loops import CHUNK
from minigrad.backends.cpu.rows import along, band_of, is_direct
from minigrad.core import requests
from minigrad.core.dtype import DType, float64
from minigrad.core.layout import Layout, merge
from minigrad.core.op import Spec
from minigrad.core.plan import pieces, without
from minigrad.core.rows import RowFn
from minigrad.kernels.fields import Fields, loop
from minigrad.kernels.pasting import Late

PICK = Fields("rows chunk chunks n band ignore rank", "shape[rank]", "offset step strides[rank]")


@loop(PICK)
def pick(in_K, work, out, N):  # type: ignore[no-untyped-def]
    """Compute minus the result at the element of each row with the index in in_1; 0 if this index is `ignore`.

    If there are weights, each value is multiplied by the element of in_2 with this index.  A kernel stores the values,
    their sum, or their mean over the rows that are not ignored.  Several tasks store sums and counts, or sums of
    weights, in `work`, and the end joins them.  Without totals, only these elements are read.
    """
    n, rank = N.n, N.rank
    value = 0.0
    WORKSPACES()
    only = N.chunks == 1
    joined = np.float64(0)
    weight = np.float64(0)
    line = N.shape[rank - 1] if rank > 0 else 1
    move = N.strides[0][rank - 1]
    move_K = N.strides[K + 1][rank - 1]
    for t in range(first, last):
        if not only:
            joined = np.float64(0)
            weight = np.float64(0)
        r = t * N.chunk
        stop = min(N.rows, r + N.chunk)
        while r < stop:  # a run of rows at equal distances needs no division per row
            BAND()
            for i in range(count):
                chosen = np.int64(in_1[np.uint64(from_1 + i * move_1)])
                if chosen != N.ignore and (chosen < 0 or chosen >= n):
                    flag[0] = 1
                    chosen = N.ignore
                loss = T(0)
                if chosen != N.ignore:
                    if COUNT:
                        ALL()
                        for t in each(COUNT):
                            total_t = totals_t[i]
                        loss = T(-F(x_0[chosen]))
                    else:
                        loss = T(-F(LOAD_0(in_0[np.uint64(from_0 + i * move_0 + chosen * N.step[1])])))
                    if WEIGHTED:
                        share = T(LOAD_2(in_2[np.uint64(from_2 + i * move_2 + chosen * N.step[3])]))
                        loss = T(loss * share)
                        weight += share
                    else:
                        weight += 1
                if EACH:
                    out[np.uint64(start + i * move)] = STORE(loss)
                if JOINED:
                    joined += loss
        if JOINED:
            if not only:
                work[t] = joined
                work[N.chunks + t] = weight
    if COUNT:
        leave(scratch)
    if JOINED:
        if first == last:
            for t in range(N.chunks):
                joined += work[t]
                weight += work[N.chunks + t]
        if only or first == last:
            if MEAN:
                joined /= weight
            out[N.offset[0]] = STORE(T(joined))


@loop(PICK)
def pick_backward(in_K, out, N):  # type: ignore[no-untyped-def]
    """Compute the gradient of `pick`: in_2 times (F - 1 at the element with the index, F elsewhere).

    For a mean, it is divided by the count.
    """
    n = N.n
    value = 0.0
    rank = N.rank
    WORKSPACES()
    share = 1.0
    line = N.shape[rank - 1] if rank > 0 else 1
    move = N.strides[0][rank - 1]
    move_K = N.strides[K + 1][rank - 1]
    if MEAN:
        number = 0
        for rest in range(N.rows // line):
            at = N.offset[2]
            for d in range(rank - 2, -1, -1):
                at += rest % N.shape[d] * N.strides[2][d]
                rest //= N.shape[d]
            for j in range(line):
                number += 1 if np.int64(in_1[at + j * move_1]) != N.ignore else 0
        share = np.float64(1) / number
    for t in range(first, last):
        r = t * N.chunk
        stop = min(N.rows, r + N.chunk)
        while r < stop:
            BAND()
            for i in range(count):
                z = ROW
                chosen = np.int64(in_1[from_1 + i * move_1])
                if chosen != N.ignore and (chosen < 0 or chosen >= n):
                    flag[0] = 1
                    chosen = N.ignore
                if chosen == N.ignore:
                    for j in range(n):
                        z[j] = STORE(T(0))
                else:
                    scale = T(LOAD_2(in_2[from_2 + i * move_2]) * T(share))
                    ALL()
                    kept = KEPT
                    for t in each(COUNT):
                        total_t = totals_t[i]
                    there = T((F(x_0[chosen], kept[chosen]) - T(1)) * scale)
                    for j in range(n):
                        z[j] = STORE(T(F(x_0[j], kept[j]) * scale))
                    z[chosen] = STORE(there)
    leave(scratch)


@loop(PICK)
def unpick(in_K, out, N):  # type: ignore[no-untyped-def]
    """Store minus in_0 at the element of each row with the index in in_1, and 0 at all other elements.

    The value is multiplied by the element of in_2 with this index, if there are weights.  For a mean, it is divided by
    the sum of the weights of all rows, or by the number of rows, that are not ignored.
    """
    n, rank, step = N.n, N.rank, N.step[0]
    line = N.shape[rank - 1] if rank > 0 else 1
    move = N.strides[0][rank - 1]
    move_K = N.strides[K + 1][rank - 1]
    scale = 1.0
    if MEAN:
        count = np.float64(0)
        for rest in range(N.rows // line):
            at = N.offset[2]
            for d in range(rank - 2, -1, -1):
                at += rest % N.shape[d] * N.strides[2][d]
                rest //= N.shape[d]
            for _ in range(line):
                chosen = np.int64(in_1[np.uint64(at)])
                if WEIGHTED:
                    if chosen != N.ignore and chosen >= 0 and chosen < n:
                        count += T(LOAD_2(in_2[np.uint64(N.offset[3] + chosen * N.step[3])]))
                else:
                    count += 1.0 if chosen != N.ignore else 0.0
                at += move_1
        scale = np.float64(1) / count
    # The zeros of neighbouring rows are written along memory, whether the rows lie along it or across it.
    for t in range(first, last):
        r = t * N.chunk
        stop = min(N.rows, r + N.chunk)
        while r < stop:
            rest = r
            to = N.offset[0]
            at_K = N.offset[K + 1]
            walk(rest, N.shape, to=N.strides[0], at_K=N.strides[K + 1])
            run = min(line - r % line, stop - r)
            r += run
            lines, length, far, near = (n, run, step, move) if move == 1 else (run, n, move, step)
            if step == 1 and move == n:
                lines, length, near = 1, run * n, 1
            for i in range(lines):
                if near == 1:
                    z = out[to + i * far : to + i * far + length]
                    for j in range(length):
                        z[j] = STORE(T(0))
                else:
                    for j in range(length):
                        out[np.uint64(to + i * far + j * near)] = STORE(T(0))
            for _ in range(run):
                chosen = np.int64(in_1[np.uint64(at_1)])
                if chosen != N.ignore:
                    if chosen < 0 or chosen >= n:
                        flag[0] = 1
                    else:
                        value = T(LOAD_0(in_0[np.uint64(at_0)]) * T(scale))
                        if WEIGHTED:
                            value = T(value * T(LOAD_2(in_2[np.uint64(at_2 + chosen * N.step[3])])))
                        out[np.uint64(to + chosen * step)] = STORE(T(-value))
                to += move
                at_K += move_K


REDUCTIONS = {"none": 0, "sum": 1, "mean": 2}
PICK_COST = 10  # cost of an element in additions, mainly that of one call of exp


@serves(CpuBackend, requests.Pick)
def pick_elements(steps: CpuSteps, request: requests.Pick) -> None:
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
        pick, *steps.operands, work, out, words=Late(pick_words, (fn, out.dtype, direct, reducer, len(weight))),
        form=f"{fn.name}{reducer}{'1' if direct else 'x'}", end=apart,
        dtypes=(*[spec.dtype for spec in steps.operands], float64, out.dtype), **numbers,
    )  # fmt: skip


@serves(CpuBackend, requests.PickBack)
def spread_picks(steps: CpuSteps, request: requests.PickBack) -> None:
    (out,), (dy, x, target) = steps.outs, steps.operands
    fn, ignore, reduction = request.fn, request.ignore, request.reduction
    if not out.layout.numel:
        return
    n, heads = x.shape[-1], dy.layout.expand(target.shape)
    views = [along_row(out), along_row(x), (target.layout, 0), (heads, 0)]
    direct = is_direct(x, out)
    reducer = REDUCTIONS["mean" if reduction == "mean" else "none"]  # the gradient of a sum has a stride of 0
    steps.run(
        pick_backward, x, target, dy, out, words=Late(pick_words, (fn, out.dtype, direct, reducer, 0, True)),
        form=f"{fn.name}{reducer}{'1' if direct else 'x'}", **pick_numbers(n, ignore, n, *views),
    )  # fmt: skip


@serves(CpuBackend, requests.Unpick)
def spread_elements(steps: CpuSteps, request: requests.Unpick) -> None:
    (out,), (dy, target, *weight), ignore, reduction = steps.outs, steps.operands, request.ignore, request.reduction
    if not out.layout.numel:
        return
    n, heads = out.shape[-1], dy.layout.expand(target.shape)
    views = [along_row(out), (heads, 0), (target.layout, 0), *per_class(weight, target.shape)]
    words = {"MEAN": reduction == "mean", "WEIGHTED": len(weight) > 0}
    form = "_".join([name.lower() for name, holds in words.items() if holds])
    steps.run(unpick, *steps.operands, out, words=words, form=form, **pick_numbers(n, ignore, n, *views))


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
        "each": [(layout.offset, step, moves) for (layout, step), moves in zip(views, strides, strict=True)],
        "divided": divided, "numel": count * each, "cost": PICK_COST, "rows": count, "n": n,
        "band": divided[0] if each < n else band_of(n), "ignore": ignore, "shape": dims,
    }  # fmt: skip


def along_row(x: Spec) -> tuple[Layout, int]:
    """Return the layout of the rows of a tensor, and the step along a row."""
    return without(x.layout, x.shape, len(x.shape) - 1), x.layout.strides[-1]


def per_class(weight: Sequence[Spec], shape: tuple[int, ...]) -> list[tuple[Layout, int]]:
    """Return a view in which each row of `shape` reads the same weights, or nothing if there are no weights."""
    return [(Layout.make(shape, (0,) * len(shape), w.layout.offset), w.layout.strides[0]) for w in weight]


def pick_words(fn: RowFn, out: DType, direct: bool, reducer: int, weighted: int, back: bool = False) -> dict[str, Any]:
    """Return the words of the loop for one result per row, or for the gradient of this result, if `back`."""
    return along(fn, (direct,), out, back) | {
        "EACH": reducer == 0, "JOINED": reducer > 0, "MEAN": reducer == 2, "WEIGHTED": weighted > 0,
    }  # fmt: skip
