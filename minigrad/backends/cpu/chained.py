"""Elementwise functions before rows and reductions on the CPU, in one launch that stores no intermediate value.

Rows read a computed operand from a scratch row, and reductions from a workspace of one piece, which stays in the cache.
Both are read like memory, so the result has the bits of two launches: the additions are those of `run_whole` and
`rows_whole` of `kernels/cpu/reduction.py` over a tensor with these elements.  For other loops the request is lowered.

Free names: `fill` computes the elements in their own dtype, ELEMENT.  there, `F` is the scalar
function, and `RUN_K` and `AT_K` are as in `rows.py`.
"""

# ruff: noqa: F821, F841
# mypy: disable-error-code="name-defined"
from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any, NamedTuple

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, CpuSteps
from minigrad.backends.cpu.loops import CHUNK
from minigrad.backends.cpu.reduction import LIBERTIES, WHOLE, accumulators, form_of, words_of
from minigrad.backends.cpu.reduction_plans import ReductionPlan, plan_reduction
from minigrad.backends.cpu.rows import along_numbers, is_streamed, run_rows
from minigrad.backends.cpu.texts import Chain, elements_of, helper, short_header, step_words
from minigrad.backends.steps import Ints, Value
from minigrad.core import requests
from minigrad.core.dtype import DType, as_dtype
from minigrad.core.layout import Layout
from minigrad.core.op import ScalarFn, Spec
from minigrad.core.plan import pieces
from minigrad.core.plan import walk as traverse
from minigrad.core.reducer import Reducer
from minigrad.core.strides import merge_dims
from minigrad.kernels.cpu import reduction
from minigrad.kernels.cpu.target import CPU
from minigrad.kernels.fields import Fields, loop
from minigrad.kernels.macros import expression_macro
from minigrad.kernels.pasting import Late, Macro, paste
from minigrad.kernels.specialize import load_text

RUN = Fields("n piece pieces to count one", each="offset step", results=False)
ROWS = Fields("kept groups chunk rows to count one", "sizes[kept] to_steps[kept]", "offset step strides[kept]", False)


def fill(in_K, at_K, step_K, computed, n):  # type: ignore[no-untyped-def]
    """Compute n elements, whose distance in each operand is constant."""
    u_K = RUN_K
    for j in range(n):
        computed[j] = F(LOAD_K(AT_K))


@loop(RUN)
def run_whole(in_K, work, out, N):  # type: ignore[no-untyped-def]
    """Reduce the only row.  A task is one piece of it.

    `work` stores the accumulator of each piece.
    """
    total = IDENTITY
    computed = workspace(N.piece if first < last else 0, ELEMENT)
    step_K = N.step[K]
    for p in range(first, last):
        start = p * N.piece
        length = min(N.n - start, N.piece)
        at_K = N.offset[K] + start * step_K
        fill(in_K, at_K, step_K, computed, length)
        total = stretch(computed, 0, length, IDENTITY, T(N.one))
        if N.pieces > 1:
            work[p] = total
    leave(computed)
    JOIN_PIECES()


@loop(ROWS)
def rows_whole(in_K, out, N):  # type: ignore[no-untyped-def]
    """Reduce each row to one output.  A task is a chunk of the rows."""
    computed = workspace(N.rows, ELEMENT)
    step_K = N.step[K]
    for t in range(first, last):
        for g in range(t * N.chunk, min(N.groups, (t + 1) * N.chunk)):
            position = g
            to = N.to
            at_K = N.offset[K]
            walk(position, N.sizes, to=N.to_steps, at_K=N.strides[K])
            fill(in_K, at_K, step_K, computed, N.rows)
            out[to] = STORE(FINISH(stretch(computed, 0, N.rows, IDENTITY, T(N.one)), N.count))
    leave(computed)


LONGEST = 1 << 16  # maximum number of elements of a row that is computed into a workspace
NAME = 64  # maximum number of characters of a kernel's name


TEMPLATES: dict[str, Callable[..., Any]] = {"run": run_whole, "rows": rows_whole}


class Source(NamedTuple):
    """Describe the arrays of a kernel that computes operands of a request itself.

    order: the positions of the arrays among the operands: first one for each operand of the inner request.
    chains: the functions that compute operands.
    """

    order: list[int]
    chains: tuple[Chain, ...]

    @property
    def cost(self) -> int:
        """The approximate cost of the functions, in additions."""
        return sum(chain.scalar.cost for chain in self.chains)

    def named(self, name: str) -> str:
        """Return the name of a kernel."""
        return "_of_".join([name, *[chain.scalar.name for chain in self.chains]])[:NAME].rstrip("_")


def source_of(scalars: Sequence[ScalarFn | None], reads: Sequence[Ints]) -> Source:
    """Return how a kernel reads the operands of a request with chains."""
    order, chains = [first for first, *_ in reads], []
    for k, (scalar, arrays) in enumerate(zip(scalars, reads, strict=True)):
        if scalar is not None:
            chains.append(Chain(k, scalar, (k, *range(len(order), len(order) + len(arrays) - 1))))
            order += arrays[1:]
    return Source(order, tuple(chains))


@serves(CpuBackend, requests.Chained)
def chain(steps: CpuSteps, request: requests.Chained) -> None:
    out, inner, source, made = steps.outs[0], request.request, source_of(request.scalars, request.reads), False
    if isinstance(inner, requests.MapRows) and not inner.fn.terms and out.dtype.compute == request.dtype.storage:
        made = chained_rows(steps, out, source, inner)
    if isinstance(inner, requests.Reduce) and len(request.scalars) == 1:
        made = chained_reduction(steps, out, source, inner, request.dtype)
    if not made:
        steps.lower(request)


def chained_rows(steps: CpuSteps, out: Value, source: Source, request: requests.MapRows) -> bool:
    """Add the loop over rows along the memory of the result, or return False."""
    fn, dim = request.fn, request.dim
    if out.layout.numel == 0 or (out.layout.strides[dim] != 1 and out.shape[dim] > 1):
        return False
    n, arrays = out.shape[dim], [steps.operands[k] for k in source.order]
    share = pieces(out.layout.numel // n, CHUNK // n)
    numbers, direct = along_numbers(out, arrays, dim, request.value, share)
    whole = {*range(len(fn.operands))} - {chain.operand for chain in source.chains}
    read = tuple([slices if k in whole else None for k, slices in enumerate(direct)])
    parts = tuple([f"part {k}" for k in range(len(fn.operands), len(arrays))])
    named = replace(fn, name=source.named(fn.name), operands=(*fn.operands, *parts))
    run_rows(
        steps, named, arrays, {"out": out}, read, is_streamed(out, n), numbers, source.chains,
        step_words([x.layout.strides[dim] for x in arrays]),
    )  # fmt: skip
    return True


def chained_reduction(steps: CpuSteps, out: Value, source: Source, request: requests.Reduce, element: DType) -> bool:
    """Add the loop of a reduction of whole rows of neighbours, or return False."""
    dims, reducer, compute = request.dims, request.reducer, request.compute
    arrays = [steps.operands[k] for k in source.order]
    shape, (chain,) = arrays[0].shape, source.chains
    if out.layout.numel == 0 or reducer.combine is None:
        return False
    plan, *more = plan_reduction(out.layout, Layout.contiguous(shape), dims)
    form = form_of(reducer, compute, plan, element)
    sizes = tuple([shape[d] for d in dims])
    merged, strides = merge_dims(sizes, [tuple([x.layout.strides[d] for d in dims]) for x in arrays])
    if more or form not in WHOLE or plan.kind not in ("run", "rows") or len(merged) > 1:
        return False
    if plan.kind == "rows" and plan.values["rows"] > LONGEST:
        return False
    along = [each[0] if merged else 1 for each in strides]
    values = [*arrays, out]
    dtypes: list[Any] = [x.dtype for x in values]
    pieced = plan.kind == "run" and plan.tasks > 1
    if plan.kind == "run":
        values.insert(-1, steps.work((plan.tasks,), as_dtype(compute)) if pieced else out)
        dtypes.insert(-1, accumulators(form, compute))
    name = source.named(reducer.scalar.name)
    words = (name, reducer, compute, tuple(dtypes[: len(arrays)]), element, plan.kind, form, chain, step_words(along))
    steps.run(
        TEMPLATES[plan.kind], *values, words=Late(reduced_words, words), compute=compute, dtypes=tuple(dtypes),
        tasks=plan.tasks, numel=plan.numel, cost=reducer.scalar.cost + source.cost, end=pieced, count=prod(sizes),
        **row_numbers(plan, out, arrays, dims, along),
    )  # fmt: skip
    return True


def row_numbers(
    plan: ReductionPlan, out: Spec, arrays: Sequence[Spec], dims: Ints, along: Sequence[int]
) -> dict[str, Any]:
    """Return the numbers of the loops, except the number of elements per result.

    along: the stride of each array along a row.
    """
    if plan.kind == "run":
        numbers = {name: plan.values[name] for name in ("n", "piece", "pieces", "to", "one")}
        return {"each": [(x.layout.offset, step) for x, step in zip(arrays, along)], **numbers}
    kept = [d for d in range(len(arrays[0].shape)) if d not in dims]
    layouts = [
        Layout.make(tuple([x.shape[d] for d in kept]), tuple([x.layout.strides[d] for d in kept]), x.layout.offset)
        for x in (out, *arrays)
    ]
    sizes, strides, offsets = traverse(layouts)
    return {
        "each": [*zip(offsets[1:], along, strides[1:], strict=True)], "groups": prod(sizes), "to": offsets[0],
        "chunk": plan.values["chunk"], "rows": plan.values["rows"], "one": 1, "sizes": sizes, "to_steps": strides[0],
    }  # fmt: skip


def reduced_words(
    name: str, reducer: Reducer, compute: np.dtype[Any], dtypes: tuple[DType, ...], element: DType, kind: str,
    form: str, chain: Chain, steps: str,
) -> dict[str, Any]:  # fmt: skip
    """Return the words of a reduction of computed elements. steps: the strides of the arrays along a row."""
    fields = RUN if kind == "run" else ROWS
    macros, constants, helpers = words_of(reducer, compute, form)
    own = macros | {"LOAD_0": expression_macro(load_text(element, compute)[0])}
    text = short_header(form)
    for function in (*helpers, reduction.stretch):
        pasted = paste(function, 1, own, constants, fields)
        text += "\n\n" + CPU.helper(LIBERTIES.get(form, ()), form == "short sum") + pasted
    loads = {f"LOAD_{k}": expression_macro(load_text(each, element.compute)[0]) for k, each in enumerate(dtypes)}
    filled = paste(fill, len(dtypes), {"F": chain.macro(element.compute), **loads}, elements_of(steps))
    text += helper(re.sub(r"\bT\(", f"np.{element.compute}(", filled), fill, "fill")
    words = {word: Macro(macro) if callable(macro) else macro for word, macro in macros.items()}
    return words | constants | {"name": f"{name}_{{all}}_{kind}{steps}"} | {
        "ELEMENT": f"np.{element.compute}", "imports": text,
    }  # fmt: skip
