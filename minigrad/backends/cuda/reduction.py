"""Reductions, and positions of minima and maxima on CUDA: from specs to the launches of a plan.

The loops are in `kernels/cuda/reduction.py`, the plans in `reduction_plans.py`.  A reduction that is cut into pieces
writes their results into a workspace, in the accumulator dtype, and reduces them by a second launch.

Accuracy: a lane adds up to four float32 in float32, then continues in the reduction's compute dtype.  For a sum of
float32 that is float64, so before rounding the error is at most 2 * 2**-24 times the sum of magnitudes, for any length.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cuda.family import CudaBackend, line
from minigrad.backends.cuda.reduction_plans import Share, plan_groups, plan_search
from minigrad.backends.cuda.runtime import Program
from minigrad.backends.cuda.texts import group_words, parsed, wire
from minigrad.backends.launch import Loop
from minigrad.backends.shared import serve_positions
from minigrad.backends.steps import Steps, Value
from minigrad.core import requests
from minigrad.core.dtype import DType, as_dtype, int64
from minigrad.core.op import ScalarFn, Spec
from minigrad.core.reducer import Reducer, axes
from minigrad.kernels.cuda import reduction
from minigrad.kernels.cuda.target import CUDA
from minigrad.kernels.fields import Fields
from minigrad.kernels.macros import finish_macro, keep_macro, neutral_text, results_macro, scalar_macro, step_macro
from minigrad.kernels.pasting import Expand
from minigrad.kernels.rendering import fresh
from minigrad.kernels.specialize import NOTHING, load_text, store_text, write_kernel

Ints = tuple[int, ...]


@serves(CudaBackend, requests.Reduce)
@serves(CudaBackend, requests.ReduceTuple)
def reduce(steps: Steps, request: requests.Reduce | requests.ReduceTuple) -> Loop:
    outs, operands = steps.outs, steps.operands
    reducer, compute, dims = request.reducer, request.compute, request.dims
    count = prod(operands[0].shape[d] for d in dims)
    if reducer.combine is None:
        return one_after_another(steps, outs, operands, reducer, compute, dims, count)
    sources, goals = steps.operands, [y.layout for y in outs]
    share = plan_groups(goals, [x.layout for x in sources], dims, width(sources))
    while share.pieces > 1:
        shape, dtype = (share.pieces, *goals[0].shape), as_dtype(compute)
        parts = [steps.work(shape, dtype) for _ in reducer.identities]
        stage(steps, reducer.unfinished(), compute, sources, parts, share, count)
        reducer, sources, goals = reducer.joining(), parts, [y.unsqueeze(0) for y in goals]
        share = plan_groups(goals, [x.layout for x in sources], [0], width(sources))
    stage(steps, reducer, compute, sources, steps.outs, share, count)
    return steps.launch


def width(operands: Sequence[Value]) -> int:
    """Return the bytes of an element that lanes load together with its neighbours, or 0 for separate loads."""
    return operands[0].dtype.itemsize if len(operands) == 1 else 0


def stage(
    steps: Steps, reducer: Reducer, compute: np.dtype[Any], operands: Sequence[Value],
    outs: Sequence[Value], share: Share, count: int,
) -> None:  # fmt: skip
    """Add one launch of a reduction.

    count: the number of elements per result of the whole reduction.
    """
    lists = len(share.values["sizes"]), len(share.values["reduced_sizes"])
    if len(operands) == reducer.accumulators == len(outs) == 1:
        dtypes: tuple[Any, ...] = operands[0].dtype, outs[0].dtype
        kernel = steps.backend.kernel(write_spread, reducer, compute, *dtypes, share.along, share.width, *lists)
    else:
        dtypes = tuple([x.dtype for x in operands]), tuple([y.dtype for y in outs])
        kernel = steps.backend.kernel(write_mapped, reducer, compute, *dtypes, share.along, *lists)
    goals = share.goals if len(share.goals) == len(outs) else [*share.goals] * len(outs)
    numbers = reduction.spread_fields(*lists).pack(*goals, *share.each, count=count, **share.values)
    steps.then(cut(steps, kernel, share, numbers), *operands, *outs)


def one_after_another(
    steps: Steps, outs: Sequence[Spec], operands: Sequence[Spec], reducer: Reducer, compute: np.dtype[Any],
    dims: Sequence[int], count: int,
) -> Loop:  # fmt: skip
    """Return the launch of a reduction whose elements are combined in their order."""
    a, results = operands[0], len(outs)
    layouts = [spec.layout for spec in (*outs, *operands)]
    kept = axes(layouts, [d for d in range(a.layout.ndim) if d not in dims])
    reduced = axes(layouts[results:], list(dims), flip=False, sort=False)
    moves = [*[(0,) * len(reduced.dims)] * results, *reduced.strides]
    lists, dtypes = (len(kept.dims), len(reduced.dims)), [x.dtype for x in (*operands, *outs)]
    kernel = steps.backend.kernel(
        write_one_each, reducer, compute, tuple(dtypes[: len(operands)]), tuple(dtypes[len(operands) :]), *lists
    )
    numbers = reduction.reduction_fields(*lists).pack(
        *zip([x.offset + shift for x, shift in zip(layouts, kept.shifts)], kept.strides, moves, strict=True),
        outputs=outs[0].layout.numel, count=count, sizes=kept.dims, reduced_sizes=reduced.dims,
    )  # fmt: skip
    return steps.backend.bind(kernel, *line(steps.backend.blocks(outs[0].layout.numel)), numbers)


def cut(steps: Steps, kernel: Any, share: Share, numbers: Sequence[int]) -> Loop:
    """Return the launch of a kernel on a grid of groups and pieces."""
    blocks = steps.backend.blocks(share.values["outputs"], share.groups)
    return steps.backend.bind(kernel, (blocks, share.pieces, 1), share.block, numbers)


def search(steps: Steps, request: requests.Extreme, positions: Value, values: Value | None) -> None:
    """Add the steps that write the positions of the best elements, and their values if they are requested."""
    a, better = steps.operands[0], request.better
    first, then = plan_search(positions.layout, a.layout, request.dim)
    found = steps.work((first.partial,), int64) if then else positions
    goals = [] if values is None else [values]
    ask_search(steps, first, better, [a], goals if then is None else [], found)
    if then is not None:
        ask_search(steps, then, better, [a, found], goals, positions)


serve_positions(CudaBackend, requests.Extreme, search)


def ask_search(
    steps: Steps, share: Share, better: ScalarFn, operands: list[Value], values: list[Value], out: Value
) -> None:
    """Add one launch of a search."""
    dtypes, rank = tuple(x.dtype for x in operands), len(share.values["sizes"])
    kernel = steps.backend.kernel(write_search, better, dtypes, bool(values), share.along, rank)
    numbers = reduction.search_fields(rank).pack(**share.values)
    steps.then(cut(steps, kernel, share, numbers), *operands, *values, out)


def write_one_each(
    reducer: Reducer, compute: np.dtype[Any], dtypes: tuple[DType, ...], outs: tuple[DType, ...], kept: int,
    reduced: int,
) -> Program:  # fmt: skip
    """Write one sequential reduction, for these numbers of kept and reduced dims."""
    label, fields = f"reduce{kept}_{reduced}{finish_label(reducer)}", reduction.reduction_fields(kept, reduced)
    return written(reduction.one_each, reducer, compute, dtypes, outs, label, fields)


def written(
    template: Any, reducer: Reducer, compute: np.dtype[Any], dtypes: tuple[DType, ...], outs: tuple[DType, ...],
    label: str, fields: Fields, macros: Any = NOTHING, constants: Any = NOTHING, helpers: Sequence[Any] = (),
) -> Program:  # fmt: skip
    """Return the text of a reduction with any number of operands and results.

    The number of accumulators is also arbitrary.
    """
    scalar = reducer.scalar
    stores = [store_text(compute, y, CUDA, several=True)[0] for y in outs]
    identities = {f"IDENTITY_{k}": neutral_text(each, compute) for k, each in enumerate(reducer.identities)}
    text = write_kernel(
        f"{scalar.name}: {', '.join(map(str, dtypes))} -> {', '.join(map(str, outs))} in {compute}; {label}.",
        template,
        operands=dtypes,
        out=outs,
        compute=compute,
        macros={
            **macros, "F": step_macro(scalar, compute, CUDA), "FINISH": results_macro(reducer, compute, stores, CUDA),
        },
        constants={**constants, **identities, "RESULTS": len(outs)},
        accumulators=reducer.accumulators,
        helpers=helpers,
        fields=fields,
        target=CUDA,
    )  # fmt: skip
    return Program("_".join([scalar.name, *(d.short for d in (*dtypes, *outs)), label]), text)


def finish_label(reducer: Reducer) -> str:
    """Return the part of a kernel's name for the finishing function."""
    return "" if reducer.finish is None else f"_{reducer.finish.name}"


def write_spread(
    reducer: Reducer, compute: np.dtype[Any], a: DType, out: DType, along: bool, width: int, kept: int, reduced: int
) -> Program:
    """Write one reduction by groups of threads."""
    scalar, way = reducer.scalar, "along" if along else "across"
    label = f"{way}{kept}_{reduced}{finish_label(reducer)}" + (f"_by{width}" if width > 1 else "")
    macros, constants = wire(compute)
    assert reducer.combine is not None
    text = write_kernel(
        f"{scalar.name}: {a} -> {out} in {compute}; {label}.",
        reduction.spread,
        operands=(a,),
        out=out,
        compute=compute,
        macros=macros | {
            "F": scalar_macro(scalar, compute, CUDA), "COMBINE": step_macro(reducer.combine, compute, CUDA),
            "FINISH": finish_macro(reducer, compute, CUDA),
            "WIDELY": widely(reducer, compute, a, width), "FOURS": together(reducer, compute, a),
        },
        constants=constants | group_words(along) | {
            "IDENTITY": neutral_text(reducer.identity, compute), "WIDE": str(int(width > 1)), "WIDTH": str(width),
            "LOAD_ALL": f"load_{width}", "JOINED": "by_lanes" if along else "by_rows", "TOLD": "0",
        },
        helpers=[reduction.by_lanes if along else reduction.by_rows],
        fields=reduction.spread_fields(kept, reduced),
        target=CUDA,
    )  # fmt: skip
    return Program(f"{scalar.name}_{a.short}_{out.short}_{label}", text)


def write_mapped(
    reducer: Reducer, compute: np.dtype[Any], dtypes: tuple[DType, ...], outs: tuple[DType, ...], along: bool,
    kept: int, reduced: int,
) -> Program:  # fmt: skip
    """Write one reduction of any number of operands, accumulators and results by groups of threads."""
    label = f"{'along' if along else 'across'}{kept}_{reduced}{finish_label(reducer)}"
    macros, constants = wire(compute)
    assert reducer.combine is not None
    helper = reduction.by_lanes if along else reduction.by_rows
    return written(
        reduction.mapped, reducer, compute, dtypes, outs, label, reduction.spread_fields(kept, reduced),
        macros | {"COMBINE": step_macro(reducer.combine, compute, CUDA)},
        constants | group_words(along) | {"JOINED": helper.__name__, "TOLD": "0"}, [helper],
    )  # fmt: skip


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


def write_search(better: ScalarFn, operands: tuple[DType, ...], kept: bool, along: bool, rank: int) -> Program:
    """Write one search for the positions of min/max.

    kept: it also stores the values.  A second operand contains positions.
    """
    a, way = operands[0], "along" if along else "across"
    macros, constants = wire(a.compute)
    helper = reduction.best_by_lanes if along else reduction.best_by_rows
    candidate = "np.int64(in_1[found + i * numbers[{}]])".format(reduction.search_fields(rank).position("copy"))
    label = f"{way}{rank}{'_chosen' if len(operands) > 1 else ''}{'_kept' if kept else ''}"
    text = write_kernel(
        f"{'Value and position' if kept else 'Position'} of the first {better.name} of {a}; {label}.",
        reduction.search,
        operands=operands,
        out=int64,
        compute=a.compute,
        macros=macros | {"F": scalar_macro(better, a.compute, CUDA, True), "KEEP": keep_macro(kept)},
        constants=constants | group_words(along) | {
            "JOINED": helper.__name__, "CANDIDATE": candidate if len(operands) > 1 else "i",
        },
        helpers=[helper],
        arrays=(*operands, a, int64) if kept else (*operands, int64),
        fields=reduction.search_fields(rank),
        target=CUDA,
    )  # fmt: skip
    if not kept:
        text = text.replace(", values, out, numbers):", ", out, numbers):")
    return Program(f"{better.name}_{a.short}_{label}", text)
