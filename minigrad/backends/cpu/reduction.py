"""Reductions on the CPU: from specs to the stages of a plan, kernel files and a launch.

The loops are in `kernels/cpu/reduction.py`, the plans in `reduction_plans.py`; reductions of several operands,
accumulators or results have theirs in `mapped.py`.  A reduction that is cut into pieces
writes their results into a workspace, in the accumulator dtype, and combines them in a second launch.  Only the
declared properties of a reduction are assumed; its source is not analysed.
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, CpuSteps
from minigrad.backends.cpu.mapped import TEMPLATES, is_crossed, mapped_words, plan_mapped
from minigrad.backends.cpu.reduction_plans import ReductionPlan, plan_reduction, plan_search
from minigrad.backends.cpu.texts import row_views, short_header
from minigrad.backends.shared import serve_positions
from minigrad.backends.steps import Value, through_terms
from minigrad.core import requests
from minigrad.core.dtype import DType, as_dtype, int64
from minigrad.core.op import ScalarFn
from minigrad.core.reducer import Reducer
from minigrad.kernels.cpu import positions, reduction
from minigrad.kernels.macros import expression_macro, finish_macro, keep_macro, neutral_text, scalar_macro
from minigrad.kernels.pasting import LEFT_OUT, Expand, Late, Macro, Part
from minigrad.kernels.rendering import fresh


@serves(CpuBackend, requests.Reduce)
def reduce(steps: CpuSteps, request: requests.Reduce) -> None:
    reducer, compute, dims = request.reducer, request.compute, request.dims
    if max(len(steps.operands), len(steps.outs), reducer.accumulators) > 1 or reducer.combine is None:
        return reduce_several(steps, request)
    (target,), (source,) = steps.outs, steps.operands
    stages = plan_reduction(target.layout, source.layout, dims)
    count, wide = source.layout.numel // target.layout.numel, as_dtype(compute)
    for k, plan in enumerate(stages):
        last = k == len(stages) - 1
        goal = target if last else steps.work((plan.work,), wide)
        _reduction(steps, plan, reducer if last else reducer.unfinished(), compute, source, goal, count)
        source = goal
        reducer = reducer if last else reducer.joining()


def reduce_several(steps: CpuSteps, request: requests.Reduce) -> None:
    """Add one loop, unless some operands are transposed; elementwise loops read these by tiles."""
    outs, operands = steps.outs, steps.operands
    reducer, compute, dims = request.reducer, request.compute, request.dims
    layouts = [a.layout for a in operands]
    plan = plan_mapped([y.layout for y in outs], layouts, dims, reducer.combine is None)
    if is_crossed(plan, layouts) and reducer.map is not None:
        return through_terms(steps, reducer, compute, dims)
    dtypes, stored = [a.dtype for a in operands], tuple([y.dtype for y in outs])
    # A single piece needs no partial results, so any memory may replace them.
    work = [steps.work((plan.work,), as_dtype(compute)) if plan.work else outs[0] for _ in range(reducer.accumulators)]
    steps.run(
        TEMPLATES[plan.kind], *operands, *work, *outs, compute=compute,
        dtypes=(*dtypes, *[compute] * len(work), *stored),
        words=Late(mapped_words, (reducer, compute, stored, plan.kind, plan.steps)),
        tasks=plan.tasks, numel=plan.numel, cost=reducer.scalar.cost, end=plan.work > 0,
        count=operands[0].layout.numel // outs[0].layout.numel, each=plan.each, **plan.values,
    )  # fmt: skip


def _reduction(
    steps: CpuSteps, plan: ReductionPlan, reducer: Reducer, compute: np.dtype[Any], a: Value, out: Value, count: int
) -> None:
    """Add one stage of a reduction.

    count: the number of elements per result of the whole reduction, by which a mean divides.
    """
    form, scalar, kind = form_of(reducer, compute, plan, a.dtype), reducer.scalar, plan.kind
    whole = form in WHOLE and kind not in ("across", "tiny")
    template = getattr(reduction, kind + "_whole" if whole else "along" if kind == "rows" else kind)
    values, dtypes = [a, out], list[Any]([a.dtype, out.dtype])
    if kind == "run":
        # A single piece needs no partial results, so any memory may replace them.
        capacity = (1 if form in WHOLE else plan.values["width"]) * plan.tasks
        values.insert(1, out if plan.tasks == 1 else steps.work((capacity,), as_dtype(compute)))
        dtypes.insert(1, accumulators(form, compute))
    words = reducer, compute, form, kind, plan.steps
    steps.run(
        template, *values, words=Late(reduction_words, words), compute=compute, dtypes=tuple(dtypes), tasks=plan.tasks,
        numel=plan.numel, cost=scalar.cost, end=kind == "run" and plan.tasks > 1, count=count,
        **plan.values,
    )  # fmt: skip


def search(steps: CpuSteps, request: requests.Extreme, positions: Value, values: Value | None) -> None:
    """Add the steps that write the positions of the best elements, and their values if they are requested."""
    (a,), better, dim = steps.operands, request.better, request.dim
    plan, choice = plan_search(positions.layout, a.layout, dim)
    found, kept = steps.work((plan.work,), int64) if plan.work else positions, values is not None
    # The kernel does not write a result that is not requested, so any memory may replace it.
    numbers = {"tasks": plan.tasks, "numel": plan.numel, "count": a.shape[dim], **plan.values}
    _find(steps, better, [a, values or found, found], plan.label, kept and not plan.work, numbers)
    if plan.work:
        choice["numel"] = plan.work
        _find(steps, better, [a, found, values or positions, positions], "choose", kept, choice)


def _find(
    steps: CpuSteps, better: ScalarFn, values: list[Value], label: str, kept: bool, numbers: dict[str, Any]
) -> None:
    """Add a step that writes positions of the best elements. kept: it also writes the elements."""
    a, kind = values[0].dtype, label.rstrip("1")
    steps.run(
        getattr(positions, kind), *values, words=Late(search_words, (better, a, label, kept)), compute=a.compute,
        dtypes=(*[x.dtype for x in values[:-2]], a, int64), cost=better.cost, **numbers,
    )  # fmt: skip


serve_positions(CpuBackend, requests.Extreme, search)


def accumulators(form: str, compute: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of the accumulators of a form, in memory of the compute dtype."""
    return np.dtype(f"u{compute.itemsize}") if form == "extreme" else compute


def lanes(compute: np.dtype[Any]) -> int:
    """Return the number of parallel accumulators: 512 bytes of registers hide the latency of an addition."""
    return min(128, 512 // compute.itemsize)


def form_of(reducer: Reducer, compute: np.dtype[Any], plan: ReductionPlan, a: DType) -> str:
    """Return the name of the loop form for a reduction of neighbours, or "" for the plain loop.

    Forms within one row: the compiler may re-associate "sum"; "wide sum" also converts each element; "short sum" adds
    a few float32 elements before it converts their sum; "integer" is an integer loop; "extreme" compares floats as
    integers.  Forms that combine rows: "eights" adds eight float32 rows before it converts the sums; "fours" compares
    four rows at a time.  "extreme" is also used across memory, and for few elements: comparing integers takes fewer
    cycles.
    """
    comparable = reducer.order == "extreme" and a.compute == compute and not (reducer.map or reducer.finish)
    if plan.kind == "tiny":
        return "extreme" if comparable and compute.kind == "f" else ""
    if plan.kind not in ("run", "along", "rows", "across") or not plan.steps:
        return ""
    rows = plan.kind == "across" or plan.cols > 1
    length = plan.values.get("rows", plan.numel)
    if compute.kind == "c":
        return "sum" if reducer.adds and not rows else ""
    if compute.kind != "f":
        return "" if rows else "integer"
    if reducer.order == "sum":
        seldom = reducer.adds and a.name == "float32" and compute.itemsize == 8
        if rows:
            return "eights" if seldom else ""
        if seldom and length >= SHORT:
            return "short sum"
        return "wide sum" if a.compute != compute and reducer.identity == "zero" else "sum"
    if not comparable:
        return ""
    if rows and a.storage == compute:
        return "fours"
    return "" if plan.cols > 1 else "extreme"


LOWEST = "T(-np.inf)"  # the initial value of a maximum
BETTER = {True: "{0} if {0} > {1} else {1}", False: "{0} if {0} < {1} else {1}"}
SHORT = 48  # minimum row length for short sums: a row of 100 takes 5.5 ns instead of 6.8, a row of 32 takes longer
WHOLE = ("sum", "wide sum", "short sum", "integer", "extreme")
LIBERTIES = {"sum": ("reassoc",), "wide sum": ("reassoc", "contract"), "short sum": ("reassoc", "contract")}


def reduction_words(reducer: Reducer, compute: np.dtype[Any], form: str, kind: str, unit_step: str) -> dict[str, Any]:
    """Return the words of a reduction in a form. unit_step: "1" if the innermost stride is 1."""
    macros, constants, helpers = words_of(reducer, compute, form)
    words = {name: Macro(macro) if callable(macro) else macro for name, macro in macros.items()}
    return words | constants | {helper.__name__: helper for helper in helpers} | {
        "name": f"{reducer.scalar.name}_{{all}}_{kind}{unit_step}", "STEP": unit_step or "step",
        "imports": short_header(form), "fastmath": LIBERTIES.get(form, ()),
        "inlined": form == "short sum",  # a call for each row takes 2 ns
    }  # fmt: skip


def words_of(
    reducer: Reducer, compute: np.dtype[Any], form: str
) -> tuple[dict[str, Any], dict[str, str], tuple[Any, ...]]:
    """Return the macros and constants of a reduction in a form, and the helpers of its loops except `stretch`."""
    neutral = neutral_text(reducer.identity, compute)
    macros: dict[str, Any] = {"F": scalar_macro(reducer.scalar, compute), "FINISH": finish_macro(reducer, compute)}
    macros["COMBINE"] = scalar_macro(reducer.combine or reducer.scalar, compute)
    macros["JOIN_PIECES"] = [Part(reduction.join_pieces)]
    constants = {"IDENTITY": neutral, "LANES": str(lanes(compute))}
    short, fours = form in ("short sum", "eights"), form == "fours"
    constants |= {"ACC": "T", "SHORT": str(int(short)), "EXTREME": str(int(fours))}
    helpers: tuple[Any, ...] = ()
    if form == "eights":
        helpers = (reduction.all_finite,)
    if fours:
        helpers = (reduction.best_of_four,)
        macros["BETTER"] = better(neutral)
    if form in ("wide sum", "short sum"):
        macros["F"] = times_one(reducer, compute)
    if form == "extreme":
        more_macros, more_constants = extreme(neutral, compute)
        macros |= more_macros
        constants |= more_constants
        helpers = (reduction.order_key, reduction.from_order_key)
    return macros, constants, helpers


def times_one(reducer: Reducer, compute: np.dtype[Any]) -> Expand:
    """Return the macro F(acc, x) of a sum, for `stretch`: the value that is added to acc is multiplied by `one`.

    The product comes after the map of x, because only a product that is an operand of the addition becomes part of it.
    """
    step = scalar_macro(reducer.unmapped().scalar, compute)
    value = None if reducer.map is None else scalar_macro(reducer.map, compute)

    def expand(args: list[ast.expr], used: set[str]) -> tuple[list[str], ast.expr]:
        acc, x = args
        lines, term = ([], x) if value is None else value([x], used)
        more, result = step([acc, ast.BinOp(term, ast.Mult(), ast.Name("one"))], used)
        return [*lines, *more], result

    return expand


def joined(better: str) -> Expand:
    """Return the macro F(acc, x) of a min/max: x becomes a key, and the better of the two keys is the result."""

    def expand(args: list[ast.expr], used: set[str]) -> tuple[list[str], ast.expr]:
        key = fresh("key", used)
        acc, x = (ast.unparse(a) for a in args)
        return [f"{key} = order_key({x})"], ast.parse(better.format(key, acc), mode="eval").body

    return expand


def better(neutral: str) -> Expand:
    """Return the macro of the larger of two values, or of the smaller."""
    return expression_macro(BETTER[neutral == LOWEST])


def extreme(neutral: str, compute: np.dtype[Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return macros and constants of a min/max of floats, which compares integers of the same order."""
    bits = 8 * compute.itemsize
    key, end, highest = f"np.uint{bits}", (1 << bits) - 1, (1 << bits - 1) - 1
    infinity = int(np.array(np.inf, compute).view(key[3:]))
    # Keys are rotated: for a maximum -inf becomes 0, for a minimum inf becomes the largest key; nans come after them.
    largest = neutral == LOWEST
    shift = infinity - end if largest else end - infinity
    macros = {
        "F": joined(BETTER[largest]),
        "COMBINE": better(neutral),
        "FINISH": expression_macro("from_order_key({})"),
    }
    constants = {
        "ACC": key,
        "SIGNED": f"np.int{bits}",
        "BITS": str(bits),
        "HIGHEST": f"np.int{bits}({highest})",
        "SHIFT": f"{key}({shift % (end + 1)})",
        "IDENTITY": f"{key}({0 if largest else end})",
    }
    return macros, constants


def search_words(better: ScalarFn, a: DType, label: str, kept: bool) -> dict[str, Any]:
    """Return the words of a search for the position of a min/max. kept: it also stores the value."""
    macro = Macro(scalar_macro(better, a.compute, condition=True))
    name = f"{better.name}_{a.short}_{label}{'_kept' if kept else ''}"
    words = {"F": macro, "KEEP": Macro(keep_macro(kept)), "name": name}
    if label.endswith("1"):
        return words | row_views("1", "x", "count")
    # A signed index: with unsigned ones, LLVM gathers elements into vectors, which takes 1.15 times as long on a Zen 5.
    return words | {"RUN_0": LEFT_OUT, "AT_0": "in_0[at_0 + j * step_0]"}
