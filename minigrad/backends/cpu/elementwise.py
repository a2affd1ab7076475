"""Elementwise loops and copies on the CPU: from specs to a plan, a kernel file and a launch.

Kernels are cached by the parts that are pasted into them (scalar, dtypes, layout class); the caller caches launches.
If there are at least `settings.parallel_threshold` elements, a kernel runs on all threads.  An element of a function
such as `exp` counts as several elements.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, bind, headed, kind_of
from minigrad.backends.cpu.loops import LoopPlan, plan_elementwise, plan_nest
from minigrad.backends.cpu.texts import square_header
from minigrad.backends.launch import NO_STEPS, Launch
from minigrad.backends.lowering.functions import IDENTITY
from minigrad.backends.steps import Steps
from minigrad.core import requests
from minigrad.core.dtype import DType, as_dtype, bool_, uint8
from minigrad.core.op import ScalarFn, Spec
from minigrad.kernels.cpu import elementwise
from minigrad.kernels.cpu.elementwise import transpose_copy
from minigrad.kernels.macros import expression_macro, scalar_macro, stores_macro
from minigrad.kernels.pasting import LEFT_OUT
from minigrad.kernels.scalar import strip_docstring
from minigrad.kernels.specialize import store_text, write_kernel
from minigrad.kernels.store import load

TEMPLATES = {
    "dense": (elementwise.dense, elementwise.DENSE),
    "tiled": (elementwise.tiled, elementwise.TILED),
}


@serves(CpuBackend, requests.Elementwise)
def apply(steps: Steps, request: requests.Elementwise) -> Launch:
    *operands, out = steps.specs
    return loop(steps, out, operands, request.scalar, request.compute)


def loop(steps: Steps, out: Spec, operands: Sequence[Spec], scalar: ScalarFn, compute: np.dtype[Any]) -> Launch:
    """Return the launch of a loop with one result.  An operand that is `out` itself has its memory."""
    if out.layout.numel == 0:
        return NO_STEPS
    dtypes = tuple(a.dtype for a in operands)
    copies = scalar == IDENTITY and dtypes == (out.dtype,)
    bits = as_dtype(f"uint{8 * out.dtype.itemsize}")
    wanted = returned(scalar)
    if (
        wanted
        and out.dtype is not bits
        and all(dtype is (out.dtype if k in wanted else bool_) for k, dtype in enumerate(dtypes))
    ):  # one kernel copies or selects elements of a size, whatever their dtype is
        made = Spec(out.layout, bits)
        sources = [made if a is out else Spec(a.layout, bits) if k in wanted else a for k, a in enumerate(operands)]
        return loop(steps, made, sources, scalar, bits.compute)
    if scalar == IDENTITY and dtypes == (bool_,):  # a bool is stored as the byte 0 or 1
        byte = Spec(operands[0].layout, uint8)
        return loop(steps, out, [byte], scalar, uint8.compute if out.dtype.is_int else compute)
    plan = plan_elementwise(out.layout, [a.layout for a in operands], scalar.cost, copies)
    if plan.kind not in TEMPLATES:
        return nest(steps, plan, (out,), operands, scalar, compute)
    if copies and plan.kind == "tiled":
        kernel = steps.backend.kernel(write_tiled_copy, out.dtype.itemsize, kind=kind_of(out.layout.numel, plan.tasks))
        return bind(kernel, headed(plan.tasks, plan.numbers), 1)
    same = tuple(k for k, a in enumerate(operands) if a is out)
    kernel = steps.backend.kernel(
        write_elementwise, scalar, compute, dtypes, out.dtype, plan.label, same,
        kind=kind_of(out.layout.numel, plan.tasks, scalar.cost),
    )  # fmt: skip
    return bind(kernel, headed(plan.tasks, plan.numbers), len(operands))


@serves(CpuBackend, requests.ElementwiseTuple)
def elementwise_tuple(steps: Steps, request: requests.ElementwiseTuple) -> Launch:
    scalar, count = request.scalar, len(steps.operands)
    outs, operands = steps.specs[count:], steps.specs[:count]
    plan = plan_nest([y.layout for y in outs], [a.layout for a in operands], scalar.cost)
    return nest(steps, plan, outs, operands, scalar, request.compute)


def nest(
    steps: Steps, plan: LoopPlan, outs: Sequence[Spec], operands: Sequence[Spec], scalar: ScalarFn,
    compute: np.dtype[Any],
) -> Launch:  # fmt: skip
    """Return the launch of the general loop, for any rank and any number of results."""
    same = tuple([next((k for k, y in enumerate(outs) if a is y), None) for a in operands])
    kernel = steps.backend.kernel(
        write_nest, scalar, compute, tuple([a.dtype for a in operands]), tuple([y.dtype for y in outs]),
        plan.label, same, kind=kind_of(outs[0].layout.numel, plan.tasks, scalar.cost),
    )  # fmt: skip
    return bind(kernel, headed(plan.tasks, plan.numbers), len(operands), len(outs))


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


def write_elementwise(
    scalar: ScalarFn,
    compute: np.dtype[Any],
    dtypes: tuple[DType, ...],
    out: DType,
    label: str,
    same: tuple[int, ...],
) -> Any:
    """Write, compile and import one elementwise kernel. same: indices of the operands that are the output itself."""
    kind = label.rstrip("01")
    inside = [f"in{k}" for k in same]
    name = "_".join([scalar.name, *(d.short for d in dtypes), out.short, label, *inside])
    template, fields = TEMPLATES[kind]
    macros = {f"HERE_{k}": expression_macro("z" if k in same else "{}") for k in range(len(dtypes))}
    text = write_kernel(
        f"{scalar.name}: {', '.join(map(str, dtypes))} -> {out}; {label}.",
        template,
        operands=dtypes,
        out=out,
        compute=compute,
        macros={"F": scalar_macro(scalar, compute, condition=out.kind == "bool"), **macros},
        constants=evaluations(label[len(kind) :], {"": "z[0]"})
        | {f"STEP_{k}": step for k, step in enumerate(label[len(kind) :])},
        fields=fields,
    )
    return load(name, text)


def write_tiled_copy(itemsize: int) -> Any:
    """Write, compile and import the copy by tiles of elements of one size; it copies bits, whatever their dtype is."""
    dtype = as_dtype(f"uint{8 * itemsize}")
    text = write_kernel(
        f"copy by tiles of elements of {itemsize} bytes.", elementwise.tiled_copy, operands=(dtype,), out=dtype,
        helpers=(transpose_copy,), imports=square_header(dtype), fields=elementwise.TILED,
    )  # fmt: skip
    return load(f"tiled_copy_{dtype.short}", text)


def write_nest(
    scalar: ScalarFn,
    compute: np.dtype[Any],
    dtypes: tuple[DType, ...],
    outs: tuple[DType, ...],
    label: str,
    same: tuple[int | None, ...],
) -> Any:
    """Write, compile and import one nest.

    same: for each operand, the index of the result that is the same memory, or None.
    """
    inside = [f"in{k}" for k, result in enumerate(same) if result is not None]
    stores, conditions = [store_text(compute, y, several=True)[0] for y in outs], [y.kind == "bool" for y in outs]
    text = write_kernel(
        f"{scalar.name}: {', '.join(map(str, dtypes))} -> {', '.join(map(str, outs))}; {label}.",
        elementwise.nest,
        operands=dtypes,
        out=outs,
        compute=compute,
        macros={"F": stores_macro(scalar, compute, stores, conditions)},
        constants=positions(label.removeprefix("rows").removeprefix("strided"), len(outs), same),
        fields=elementwise.NEST,
    )
    name = "_".join([scalar.name, *(d.short for d in (*dtypes, *outs)), label, *inside])
    return load(name, text)


def positions(steps: str, results: int, same: tuple[int | None, ...]) -> dict[str, str]:
    """Return the source text of an element's position: in a slice with a pasted step, or computed from the stride."""
    names = {"RESULTS": str(results), **evaluations(steps, {f"_{k}": f"out_{k}[z_{k}]" for k in range(results)})}
    if steps:
        names["EVALUATIONS"] = f"np.uint64({names['EVALUATIONS']})"
    for k in range(results):
        far = f"numbers[{elementwise.NEST.position('step', group=str(k))}]"
        names[f"OUT_AT_{k}"] = f"out_{k}[z_{k} + i]" if steps else f"out_{k}[np.uint64(to_{k} + (start + i) * far_{k})]"
        names[f"OUT_RUN_{k}"] = f"np.uint64(to_{k} + start)" if steps else LEFT_OUT
        names[f"OUT_STEP_{k}"] = LEFT_OUT if steps else far
    for k, result in enumerate(same):
        names |= operand_positions(k, steps[k] if steps else "", result, results)
    return names


def evaluations(steps: str, firsts: Mapping[str, str]) -> dict[str, str]:
    """Return the source text of the number of elements that a run computes: 1 if each operand has step 0.

    firsts: the text of the first element of each result, which is then repeated, by the result's ending.
    """
    once = bool(steps) and "1" not in steps
    repeated = {f"REPEATED{ending}": first if once else LEFT_OUT for ending, first in firsts.items()}
    return {"EVALUATIONS": "1" if once else "count", **repeated}


def operand_positions(k: int, step: str, result: int | None, results: int) -> dict[str, str]:
    """Return the source text of an element of operand k.

    step: "0", "1" or "".
    result: the result that is the same memory, or None.
    """
    if not step:
        number = f"numbers[{elementwise.NEST.position('step', group=str(k + results))}]"
        return {
            f"AT_{k}": f"in_{k}[np.uint64(at_{k} + (start + i) * step_{k})]",
            f"RUN_{k}": LEFT_OUT,
            f"STEP_OF_{k}": number,
        }
    moves = step == "1"
    run = f"np.uint64(at_{k}{' + start' if moves else ''})" if result is None else f"z_{result}"
    array = f"in_{k}" if result is None else f"out_{result}"
    at = f"{array}[x_{k}{' + i' if moves else ''}]"
    return {f"AT_{k}": at, f"STEP_OF_{k}": LEFT_OUT, f"RUN_{k}": run}
