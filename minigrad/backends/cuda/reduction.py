"""Reductions and positions of extremes on CUDA: from specs to the launches of a plan.

The loops are in `kernels/cuda/reduction.py`, the plans in `reduction_plans.py`.  A reduction that is cut into pieces
writes their results into a workspace, in the dtype that it accumulates in, and reduces them by a second launch.

Accuracy: a lane adds up to four float32 as such, then goes on in the reduction's compute dtype: for a sum of float32
that is float64, so before it is rounded at most 2 * 2**-24 times the sum of magnitudes is lost, whatever the length.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cuda.family import Family, line
from minigrad.backends.cuda.reduction_plans import Share, plan_search, plan_spread
from minigrad.backends.cuda.runtime import Program
from minigrad.backends.cuda.texts import group_words, keep_macro, parsed, wire
from minigrad.backends.launch import NO_STEPS, Loop
from minigrad.backends.searching import Searching
from minigrad.backends.steps import Steps, Value, through_terms
from minigrad.core import requests
from minigrad.core.dtype import DType, as_dtype, int64
from minigrad.core.op import ScalarFn, Spec
from minigrad.core.reducer import Reducer, axes, kept_axes, leading
from minigrad.kernels.cuda import reduction
from minigrad.kernels.cuda.target import CUDA
from minigrad.kernels.pasting import Expand, finish_macro, scalar_macro
from minigrad.kernels.rendering import fresh
from minigrad.kernels.specialize import load_text, neutral_text, write_kernel

Ints = tuple[int, ...]


class Reduction(Family, Searching):
    """The preparers of reductions and of positions of extremes."""

    @serves(requests.Reduce)
    def reduce(self, out: Spec, *operands: Spec, reducer: Reducer, compute: np.dtype[Any], dims: Ints) -> Loop:
        if out.layout.numel == 0:
            return NO_STEPS
        a, count = operands[0], prod(operands[0].shape[d] for d in dims)
        if reducer.combine is None:
            if len(operands) > 1:
                return through_terms(self, requests.Reduce(reducer, compute, dims), out, *operands)
            return self.one_after_another(out, a, reducer, compute, dims, count)
        steps = Steps(self, (out,), operands)
        (goal,), sources = steps.outs, steps.operands
        if len(operands) > 1:
            order = leading([x.layout for x in sources])
            first, *others = [sources[k].layout for k in order]
            share = plan_spread(out.layout, first, dims, 0, others)
        else:
            order, share = [0], plan_spread(out.layout, a.layout, dims, a.dtype.itemsize)
        while share.pieces > 1:
            parts = steps.work((share.pieces, *out.shape), as_dtype(compute))
            self.stage(steps, reducer.unfinished(), compute, sources, parts, share, count, order)
            reducer, sources, order = reducer.joining(), [parts], [0]
            share = plan_spread(out.layout.unsqueeze(0), parts.layout, [0], parts.dtype.itemsize)
        self.stage(steps, reducer, compute, sources, goal, share, count, order)
        return steps.launch

    def stage(
        self, steps: Steps, reducer: Reducer, compute: np.dtype[Any], operands: Sequence[Value], out: Value,
        share: Share, count: int, order: Sequence[int],
    ) -> None:  # fmt: skip
        """One launch of a reduction of `count` elements to one.  order: the operands as the share has them."""
        if len(operands) > 1:
            self.stage_of_several(steps, reducer, compute, operands, out, share, count, order)
            return
        (a,) = operands
        lists = len(share.values["sizes"]), len(share.values["reduced_sizes"])
        kernel = self.kernel(write_spread, reducer, compute, a.dtype, out.dtype, share.along, share.width, *lists)
        numbers = reduction.spread_fields(*lists).pack(count=count, **share.values)
        steps.then(self.cut(kernel, share, numbers), a, out)

    def stage_of_several(
        self, steps: Steps, reducer: Reducer, compute: np.dtype[Any], operands: Sequence[Value], out: Value,
        share: Share, count: int, order: Sequence[int],
    ) -> None:  # fmt: skip
        """`stage` of several operands."""
        lists = len(share.values["sizes"]), len(share.values["reduced_sizes"])
        dtypes = tuple([x.dtype for x in operands])
        kernel = self.kernel(write_mapped, reducer, compute, dtypes, out.dtype, share.along, *lists)
        values = dict(share.values)
        each = [tuple([values.pop(name) for name in ("offset", "row_step", "steps", "reduced_steps")]), *share.others]
        given = [each[order.index(k)] for k in range(len(operands))]
        numbers = reduction.mapped_fields(*lists).pack(*given, count=count, **values)
        steps.then(self.cut(kernel, share, numbers), *operands, out)

    def one_after_another(
        self, out: Spec, a: Spec, reducer: Reducer, compute: np.dtype[Any], dims: Sequence[int], count: int
    ) -> Loop:
        """A reduction whose elements come in their order."""
        kept = kept_axes(out.layout, a.layout, dims)
        reduced = axes([a.layout], list(dims), flip=False, sort=False)
        kernel = self.kernel(write_reduction, reducer, compute, a.dtype, out.dtype, len(kept.dims), len(reduced.dims))
        numbers = reduction.reduction_fields(len(kept.dims), len(reduced.dims)).pack(
            outputs=out.layout.numel, count=count, offset=a.layout.offset + kept.shifts[0],
            to=out.layout.offset + kept.shifts[2], sizes=kept.dims, steps=kept.strides[0], to_steps=kept.strides[2],
            reduced_sizes=reduced.dims, reduced_steps=reduced.strides[0],
        )  # fmt: skip
        return self.bind(kernel, *line(self.blocks(out.layout.numel)), numbers)

    def cut(self, kernel: Any, share: Share, numbers: Sequence[int]) -> Loop:
        """The launch of a kernel on a grid of groups and pieces."""
        blocks = self.blocks(share.values["outputs"], share.groups)
        return self.bind(kernel, (blocks, share.pieces, 1), share.block, numbers)

    def search(self, steps: Steps, positions: Value, values: Value | None, better: ScalarFn, dim: int) -> None:
        a = steps.operands[0]
        first, then = plan_search(positions.layout, a.layout, dim)
        found = steps.work((first.partial,), int64) if then else positions
        goals = [] if values is None else [values]
        self.ask_search(steps, first, better, [a], goals if then is None else [], found)
        if then is not None:
            self.ask_search(steps, then, better, [a, found], goals, positions)

    def ask_search(
        self, steps: Steps, share: Share, better: ScalarFn, operands: list[Value], values: list[Value], out: Value
    ) -> None:
        """One launch of a search."""
        dtypes, rank = tuple(x.dtype for x in operands), len(share.values["sizes"])
        kernel = self.kernel(write_search, better, dtypes, bool(values), share.along, rank)
        numbers = reduction.search_fields(rank).pack(**share.values)
        steps.then(self.cut(kernel, share, numbers), *operands, *values, out)


def write_reduction(reducer: Reducer, compute: np.dtype[Any], a: DType, out: DType, kept: int, reduced: int) -> Program:
    """Write one reduction over so many dims, element after element."""
    scalar, label = reducer.scalar, f"reduce{kept}_{reduced}{finish_label(reducer)}"
    text = write_kernel(
        f"{scalar.name}: {a} -> {out} in {compute}; {label}.",
        reduction.one_each,
        operands=(a,),
        out=out,
        compute=compute,
        macros={
            "F": scalar_macro(scalar, compute, CUDA),
            "FINISH": finish_macro(reducer, compute, CUDA),
        },
        constants={"IDENTITY": neutral_text(reducer.identity, compute)},
        fields=reduction.reduction_fields(kept, reduced),
        target=CUDA,
    )
    return Program(f"{scalar.name}_{a.short}_{out.short}_{label}", text)


def finish_label(reducer: Reducer) -> str:
    """The last step in the name of a kernel."""
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
            "F": scalar_macro(scalar, compute, CUDA), "COMBINE": scalar_macro(reducer.combine, compute, CUDA),
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
    reducer: Reducer, compute: np.dtype[Any], dtypes: tuple[DType, ...], out: DType, along: bool, kept: int,
    reduced: int,
) -> Program:  # fmt: skip
    """Write one reduction of several operands by groups of threads."""
    scalar = reducer.scalar
    label = f"{'along' if along else 'across'}{kept}_{reduced}{finish_label(reducer)}"
    macros, constants = wire(compute)
    assert reducer.combine is not None
    text = write_kernel(
        f"{scalar.name}: {', '.join(map(str, dtypes))} -> {out} in {compute}; {label}.",
        reduction.mapped,
        operands=dtypes,
        out=out,
        compute=compute,
        macros=macros | {
            "F": scalar_macro(scalar, compute, CUDA), "COMBINE": scalar_macro(reducer.combine, compute, CUDA),
            "FINISH": finish_macro(reducer, compute, CUDA),
        },
        constants=constants | group_words(along) | {
            "IDENTITY": neutral_text(reducer.identity, compute), "JOINED": "by_lanes" if along else "by_rows",
            "TOLD": "0",
        },
        helpers=[reduction.by_lanes if along else reduction.by_rows],
        fields=reduction.mapped_fields(kept, reduced),
        target=CUDA,
    )  # fmt: skip
    return Program("_".join([scalar.name, *(d.short for d in (*dtypes, out)), label]), text)


def together(reducer: Reducer, compute: np.dtype[Any], a: DType) -> Expand:
    """The macro of an accumulator and some elements: float32 that are summed in float64 are added up first, unless that
    overflows."""
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
    """The macro of an accumulator and the elements of one load, by fours."""
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
    """Write one search for the places of extremes; kept: and for what they are.  A second operand has places."""
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
