"""Elementwise loops and copies on the CPU: from specs to a plan, a kernel file and a launch.

Kernels are cached by the parts that are pasted into them (scalar, dtypes, layout class); the caller caches launches.
If there are at least `settings.parallel_threshold` elements, a kernel runs on all threads.  An element of a function
such as `exp` counts as several elements.
"""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, CpuSteps
from minigrad.backends.cpu.loops import LoopPlan, plan_elementwise, plan_nest
from minigrad.backends.lowering.functions import IDENTITY
from minigrad.core import requests
from minigrad.core.dtype import DType, bits_of, bool_, uint8
from minigrad.core.op import ScalarFn
from minigrad.kernels.cpu import elementwise
from minigrad.kernels.macros import scalar_macro, stores_macro
from minigrad.kernels.pasting import Late, Macro
from minigrad.kernels.scalar import strip_docstring
from minigrad.kernels.specialize import store_text

TEMPLATES = {"dense": elementwise.dense, "tiled": elementwise.tiled}


@serves(CpuBackend, requests.Elementwise)
def apply(steps: CpuSteps, request: requests.Elementwise) -> None:
    """Add the loop.  An operand that is the result itself has its memory."""
    scalar, (out, *others), operands = request.scalar, steps.outs, steps.operands
    if others:
        plan = plan_nest([y.layout for y in steps.outs], [a.layout for a in operands], scalar.cost)
        nest(steps, plan, scalar, request.compute, [x.dtype for x in (*operands, *steps.outs)])
        return
    dtypes, compute = as_bits(scalar, [x.dtype for x in (*operands, out)], request.compute)
    *_, stored = dtypes
    copies = scalar == IDENTITY and dtypes == [stored, stored]
    plan = plan_elementwise(out.layout, [a.layout for a in operands], scalar.cost, copies)
    same = tuple([k for k, a in enumerate(operands) if a.spec is out.spec])
    if plan.kind not in TEMPLATES:
        nest(steps, plan, scalar, compute, dtypes)
    elif copies and plan.kind == "tiled":
        steps.run(
            elementwise.tiled_copy, *operands, out, dtypes=tuple(dtypes), tasks=plan.tasks, each=plan.each,
            **plan.numbers,
        )  # fmt: skip
    else:
        steps.run(
            TEMPLATES[plan.kind], *operands, out, compute=compute, dtypes=tuple(dtypes),
            words=Late(run_words, (scalar, compute, stored, plan.kind, plan.pasted, same, len(operands))),
            tasks=plan.tasks, cost=scalar.cost, each=plan.each, **plan.numbers,
        )  # fmt: skip


def as_bits(scalar: ScalarFn, dtypes: list[DType], compute: np.dtype[Any]) -> tuple[list[DType], np.dtype[Any]]:
    """Return the dtypes of the operands and of the result, and the compute dtype, for the kernel of a scalar function.

    One kernel copies or selects elements of a size, whatever their dtype is.
    """
    *read, out = dtypes
    bits, wanted = bits_of(out), returned(scalar)
    if wanted and out is not bits and all(dtype is (out if k in wanted else bool_) for k, dtype in enumerate(read)):
        return [*[bits if k in wanted else dtype for k, dtype in enumerate(read)], bits], bits.compute
    if scalar == IDENTITY and read == [bool_]:  # a bool is stored as the byte 0 or 1
        return [uint8, out], uint8.compute if out.is_int else compute
    return dtypes, compute


def nest(steps: CpuSteps, plan: LoopPlan, scalar: ScalarFn, compute: np.dtype[Any], dtypes: list[DType]) -> None:
    """Add the general loop, for any rank and any number of results."""
    outs, operands = steps.outs, steps.operands
    same = tuple([next((k for k, y in enumerate(outs) if a.spec is y.spec), None) for a in operands])
    words = scalar, compute, tuple(dtypes[len(operands) :]), plan.kind, plan.pasted, same
    steps.run(
        elementwise.nest, *operands, *outs, words=Late(nest_words, words), compute=compute, dtypes=tuple(dtypes),
        tasks=plan.tasks, cost=scalar.cost, each=plan.each, **plan.numbers,
    )  # fmt: skip


@lru_cache(maxsize=512)
def returned(scalar: ScalarFn) -> frozenset[int]:
    """Return the operands of which a function returns one, unchanged; none if it computes anything."""
    (*lines, last) = strip_docstring(scalar.node.body)
    result = last.value if isinstance(last, ast.Return) else None
    parts = [result.test, result.body, result.orelse] if isinstance(result, ast.IfExp) else [result]
    names = [part.id for part in parts if isinstance(part, ast.Name)]
    if lines or len(names) < len(parts):
        return frozenset()
    return frozenset(map(scalar.args.index, names[1:] or names))


def run_words(
    scalar: ScalarFn, compute: np.dtype[Any], out: DType, kind: str, steps: str, same: tuple[int, ...], operands: int
) -> dict[str, Any]:
    """Return the words of a loop with one result. same: indices of the operands that are the result itself."""
    words: dict[str, Any] = evaluations(steps) | {f"STEP_{k}": step for k, step in enumerate(steps)}
    for k in range(operands):
        start = f"numbers[{elementwise.DENSE.position('offset', group=str(k + 1))}]"
        words[f"RUN_{k}"] = "z" if k in same else f"in_{k}[{start}{' + lo' * (steps[k : k + 1] == '1')} :]"
    words["F"] = Macro(scalar_macro(scalar, compute, condition=out.kind == "bool"))
    words["name"] = "_".join([scalar.name, "{all}", kind + steps, *[f"in{k}" for k in same]])
    return words


def nest_words(
    scalar: ScalarFn, compute: np.dtype[Any], outs: tuple[DType, ...], kind: str, steps: str,
    same: tuple[int | None, ...],
) -> dict[str, Any]:  # fmt: skip
    """Return the words of the general loop.

    same: for each operand, the index of the result that is the same memory, or None.
    """
    stores, conditions = [store_text(compute, y, several=True)[0] for y in outs], [y.kind == "bool" for y in outs]
    macro = Macro(stores_macro(scalar, compute, stores, conditions))
    inside = [f"in{k}" for k, result in enumerate(same) if result is not None]
    words: dict[str, Any] = {
        "F": macro, "name": "_".join([scalar.name, "{all}", kind + steps, *inside]),
        "RESULTS": len(outs), "LOOSE": not steps, **evaluations(steps),
    }  # fmt: skip
    for k in range(len(same)):
        words[f"AT_{k}"] = f"in_{k}[np.uint64(at_{k} + (start + i) * step_{k})]"
    for k, (step, result) in enumerate(zip(steps, same, strict=False)):
        along, array = step == "1", f"in_{k}" if result is None else f"out_{result}"
        words[f"RUN_{k}"] = f"np.uint64(at_{k}{' + start' * along})" if result is None else f"z_{result}"
        words[f"AT_{k}"] = f"{array}[x_{k}{' + i' * along}]"
    return words


def evaluations(steps: str) -> dict[str, Any]:
    """Return the number of elements that a run computes, and whether the first one is repeated: if all steps are 0."""
    once = bool(steps) and "1" not in steps
    return {"EVALUATIONS": "1" if once else "count", "REPEATED": once}
