"""Reductions, and positions of minima and maxima on CUDA: from specs to the launches of a plan.

The loops are in `kernels/cuda/reduction.py`, the plans in `reduction_plans.py`.  A reduction that is cut into pieces
writes their results into a workspace, in the accumulator dtype, and reduces them by a second launch.

Accuracy: a lane adds up to four float32 in float32, then continues in the reduction's compute dtype.  For a sum of
float32 that is float64, so before rounding the error is at most 2 * 2**-24 times the sum of magnitudes, for any
length.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cuda.family import CudaBackend, CudaSteps, by
from minigrad.backends.cuda.reduction_plans import Share, plan_groups, plan_search
from minigrad.backends.cuda.runtime import Size
from minigrad.backends.shared import serve_positions
from minigrad.backends.steps import Value
from minigrad.core import requests
from minigrad.core.dtype import DType, as_dtype, int64
from minigrad.core.op import ScalarFn
from minigrad.core.reducer import Reducer, axes
from minigrad.kernels.cuda import reduction as loops
from minigrad.kernels.cuda.target import CUDA
from minigrad.kernels.macros import finish_macro, keep_macro, neutral_text, results_macro, scalar_macro, step_macro
from minigrad.kernels.pasting import Expand, Late, Macro, parsed
from minigrad.kernels.rendering import fresh
from minigrad.kernels.specialize import load_text, store_text


@serves(CudaBackend, requests.Reduce)
def reduce(steps: CudaSteps, request: requests.Reduce) -> None:
    outs, operands = steps.outs, steps.operands
    reducer, compute, dims = request.reducer, request.compute, request.dims
    count = prod(operands[0].shape[d] for d in dims)
    if reducer.combine is None:
        one_after_another(steps, outs, operands, reducer, compute, dims, count)
        return
    sources, goals = steps.operands, [y.layout for y in outs]
    share = plan_groups(goals, [x.layout for x in sources], dims, width(sources))
    while share.pieces > 1:
        shape, dtype = (share.pieces, *goals[0].shape), as_dtype(compute)
        parts = [steps.work(shape, dtype) for _ in reducer.identities]
        stage(steps, reducer.unfinished(), compute, sources, parts, share, count)
        reducer, sources, goals = reducer.joining(), parts, [y.unsqueeze(0) for y in goals]
        share = plan_groups(goals, [x.layout for x in sources], [0], width(sources))
    stage(steps, reducer, compute, sources, steps.outs, share, count)


def width(operands: Sequence[Value]) -> int:
    """Return the bytes of an element that lanes load together with its neighbours, or 0 for separate loads."""
    return operands[0].dtype.itemsize if len(operands) == 1 else 0


def stage(
    steps: CudaSteps, reducer: Reducer, compute: np.dtype[Any], operands: Sequence[Value],
    outs: Sequence[Value], share: Share, count: int,
) -> None:  # fmt: skip
    """Add one launch of a reduction.

    count: the number of elements per result of the whole reduction.
    """
    template, words = loops.mapped, Late(mapped_words, (reducer, compute, tuple([y.dtype for y in outs]), share.along))
    if len(operands) == reducer.accumulators == len(outs) == 1:
        arguments = reducer, compute, operands[0].dtype, share.along, share.width
        template, words = loops.spread, Late(spread_words, arguments)
    goals = share.goals if len(share.goals) == len(outs) else [*share.goals] * len(outs)
    label = f"{'along' if share.along else 'across'}{finish_label(reducer)}{by(share.width)}"
    steps.run(
        template, *operands, *outs, words=words, compute=compute,
        form=f"{reducer.scalar.name}_{{}}_{label}", grid=(grid_of(steps, share), share.block),
        groups=[*goals, *share.each], count=count, **share.values,
    )  # fmt: skip


def one_after_another(
    steps: CudaSteps, outs: Sequence[Value], operands: Sequence[Value], reducer: Reducer, compute: np.dtype[Any],
    dims: Sequence[int], count: int,
) -> None:  # fmt: skip
    """Add the launch of a reduction whose elements are combined in their order."""
    a, results = operands[0], len(outs)
    layouts = [spec.layout for spec in (*outs, *operands)]
    kept = axes(layouts, [d for d in range(a.layout.ndim) if d not in dims])
    reduced = axes(layouts[results:], list(dims), flip=False, sort=False)
    moves = [*[(0,) * len(reduced.dims)] * results, *reduced.strides]
    starts = [x.offset + shift for x, shift in zip(layouts, kept.shifts)]
    steps.run(
        loops.one_each, *operands, *outs, compute=compute,
        form=f"{reducer.scalar.name}_{{}}_reduce{finish_label(reducer)}",
        words=Late(several_words, (reducer, compute, tuple([y.dtype for y in outs]))), elements=outs[0].layout.numel,
        groups=list(zip(starts, kept.strides, moves, strict=True)), outputs=outs[0].layout.numel, count=count,
        sizes=kept.dims, reduced_sizes=reduced.dims,
    )  # fmt: skip


def grid_of(steps: CudaSteps, share: Share) -> Size:
    """Return the grid of groups and pieces."""
    return steps.backend.blocks(share.values["outputs"], share.groups), share.pieces, 1


def find_best(steps: CudaSteps, request: requests.Extreme, positions: Value, values: Value | None) -> None:
    """Add the steps that write the positions of the best elements, and their values if they are requested."""
    a, better = steps.operands[0], request.better
    first, then = plan_search(positions.layout, a.layout, request.dim)
    found = steps.work((first.partial,), int64) if then else positions
    goals = [] if values is None else [values]
    ask_search(steps, first, better, [a], goals if then is None else [], found)
    if then is not None:
        ask_search(steps, then, better, [a, found], goals, positions)


serve_positions(CudaBackend, requests.Extreme, find_best)


def ask_search(
    steps: CudaSteps, share: Share, better: ScalarFn, operands: list[Value], values: list[Value], out: Value
) -> None:
    """Add one launch of a search."""
    dtype, kept = operands[0].dtype, bool(values)
    label = f"{'along' if share.along else 'across'}{'_chosen' * (len(operands) > 1)}{'_kept' * kept}"
    steps.run(
        loops.search, *operands, values[0] if values else None, out, compute=dtype.compute,
        form=f"{better.name}_{{}}_{label}", grid=(grid_of(steps, share), share.block),
        words=Late(search_words, (better, dtype, kept, share.along, len(operands) == 1)), **share.values,
    )  # fmt: skip


def finish_label(reducer: Reducer) -> str:
    """Return the part of a kernel's name for the finishing function."""
    return "" if reducer.finish is None else f"_{reducer.finish.name}"


def several_words(reducer: Reducer, compute: np.dtype[Any], outs: tuple[DType, ...]) -> dict[str, Any]:
    """Return the words of a reduction with any number of operands, accumulators and results."""
    stores = [store_text(compute, y, CUDA, several=True)[0] for y in outs]
    return {
        "F": Macro(step_macro(reducer.scalar, compute, CUDA)), "RESULTS": len(outs),
        "accumulators": reducer.accumulators, "FINISH": Macro(results_macro(reducer, compute, stores, CUDA)),
        **{f"IDENTITY_{k}": neutral_text(each, compute) for k, each in enumerate(reducer.identities)},
    }  # fmt: skip


def mapped_words(reducer: Reducer, compute: np.dtype[Any], outs: tuple[DType, ...], along: bool) -> dict[str, Any]:
    """Return the words of `mapped`."""
    words = loops.wire(compute) | loops.joined_words(along) | several_words(reducer, compute, outs)
    return words | {"COMBINE": Macro(step_macro(reducer.combine, compute, CUDA))}


def spread_words(reducer: Reducer, compute: np.dtype[Any], a: DType, along: bool, width: int) -> dict[str, Any]:
    """Return the words of `spread`."""
    return loops.wire(compute) | loops.joined_words(along) | {
        "F": reducer.scalar, "COMBINE": Macro(step_macro(reducer.combine, compute, CUDA)), "WIDTH": width,
        "FINISH": Macro(finish_macro(reducer, compute, CUDA)), "FOURS": Macro(together(reducer, compute, a)),
        "WIDELY": Macro(widely(reducer, compute, a, width)), "WIDE": width > 1, "TAKE": f"load_{width}",
        "IDENTITY": neutral_text(reducer.identity, compute),
    }  # fmt: skip


def together(reducer: Reducer, compute: np.dtype[Any], a: DType) -> Expand:
    """Return the macro of an accumulator and some elements.

    float32 elements that are summed in float64 are first added in float32, unless that overflows.
    """
    plain, load = scalar_macro(reducer.scalar, compute, CUDA), load_text(a, compute, CUDA)[0]

    def expand(args: list[ast.expr], used: set[str]) -> tuple[list[str], ast.expr]:
        acc, *xs = map(ast.unparse, args)
        names = [fresh("x", used) for _ in xs]
        lines = [f"{name} = {x}" for name, x in zip(names, xs, strict=True)]
        if reducer.adds and a.name == "float32" and compute.itemsize == 8:
            part = fresh("part", used)
            pairs = [f"({' + '.join(names[k : k + 2])})" for k in range(0, len(names), 2)]
            each = " + ".join(f"T({name})" for name in names)
            zero = "np.float32(0)"
            return [*lines, f"{part} = {' + '.join(pairs)}"], parsed(
                f"{acc} + (T({part}) if {part} - {part} == {zero} else {each})"
            )
        for name in names:
            more, last = plain([parsed(acc), parsed(load.format(name))], used)
            acc = fresh("acc", used)
            lines += [*more, f"{acc} = T({ast.unparse(last)})"]
        return lines, parsed(acc)

    return expand


def widely(reducer: Reducer, compute: np.dtype[Any], a: DType, width: int) -> Expand:
    """Return the macro of an accumulator and the elements of one load, by fours."""
    some = together(reducer, compute, a)

    def expand(args: list[ast.expr], used: set[str]) -> tuple[list[str], ast.expr]:
        acc, x = args
        lines: list[str] = []
        for k in range(0, width, 4):
            more, result = some([acc, *[parsed(f"{ast.unparse(x)}[{j}]") for j in range(k, min(width, k + 4))]], used)
            name = fresh("acc", used)
            lines += [*more, f"{name} = T({ast.unparse(result)})"]
            acc = parsed(name)
        return lines, acc

    return expand


def search_words(better: ScalarFn, a: DType, kept: bool, along: bool, first: bool) -> dict[str, Any]:
    """Return the words of `search`.

    kept: it also stores the values.  first: otherwise, a second operand contains positions.
    """
    return loops.wire(a.compute) | loops.joined_words(along, loops.best_by_lanes, loops.best_by_rows) | {
        "F": Macro(scalar_macro(better, a.compute, CUDA, True)), "KEEP": Macro(keep_macro(kept)),
        "FIRST": first,
    }  # fmt: skip
