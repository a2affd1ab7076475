"""Elementwise loops and copies on the CPU: from specs to a plan, a kernel file and a launch.

Kernels are kept by what is pasted into them (scalar, dtypes, layout class), launches by the caller.  A kernel runs on
all threads from `settings.parallel_threshold` elements on, where a function such as `exp` counts as several.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.backends.base import Launch, serves
from minigrad.backends.cpu.family import Family, bind, headed, kind_of
from minigrad.backends.cpu.loops import plan_elementwise
from minigrad.backends.launch import NO_STEPS
from minigrad.core import requests
from minigrad.core.dtype import DType
from minigrad.core.op import ScalarFn, Spec
from minigrad.kernels.cpu import elementwise
from minigrad.kernels.pasting import LEFT_OUT, expression_macro, scalar_macro
from minigrad.kernels.specialize import write_kernel
from minigrad.kernels.store import load

TEMPLATES = {
    "dense": (elementwise.dense, elementwise.DENSE),
    "tiled": (elementwise.tiled, elementwise.TILED),
}


class Elementwise(Family):
    """The preparer of elementwise loops."""

    @serves(requests.Elementwise)
    def elementwise(self, out: Spec, *operands: Spec, scalar: ScalarFn, compute: np.dtype[Any]) -> Launch:
        if out.layout.numel == 0:
            return NO_STEPS
        plan = plan_elementwise(out.layout, [a.layout for a in operands])
        dtypes = tuple(a.dtype for a in operands)
        same = tuple(k for k, a in enumerate(operands) if a is out)
        kernel = self.kernel(
            write_elementwise, scalar, compute, dtypes, out.dtype, plan.label, same,
            kind=kind_of(out.layout.numel, plan.tasks, scalar.cost),
        )  # fmt: skip
        return bind(kernel, headed(plan.tasks, plan.numbers), len(operands))


def write_elementwise(
    scalar: ScalarFn,
    compute: np.dtype[Any],
    dtypes: tuple[DType, ...],
    out: DType,
    label: str,
    same: tuple[int, ...],
) -> Any:
    """Write, compile and import one elementwise kernel.  same: the operands that are the output itself."""
    kind = label.rstrip("01")
    inside = [f"in{k}" for k in same]
    name = "_".join([scalar.name, *(d.short for d in dtypes), out.short, label, *inside])
    template, fields = TEMPLATES.get(kind, (elementwise.nest, elementwise.NEST))
    here = {f"HERE_{k}": expression_macro("z" if k in same else "{}") for k in range(len(dtypes))}
    text = write_kernel(
        f"{scalar.name}: {', '.join(map(str, dtypes))} -> {out}; {label}.",
        template,
        operands=dtypes,
        out=out,
        compute=compute,
        macros={"F": scalar_macro(scalar, compute, condition=out.kind == "bool"), **here},
        constants=places(label[len(kind) :], len(dtypes), same),
        fields=fields,
    )
    return load(name, text)


def places(steps: str, operands: int, same: tuple[int, ...]) -> dict[str, str]:
    """The source text of one element's place: in a slice with a pasted step, or computed from the step's number."""
    names = {"OUT_AT": "z[i]", "OUT_RUN": "out[at + start : at + start + count]", "OUT_STEP": LEFT_OUT}
    if not steps:
        step = f"numbers[{elementwise.NEST.place('step', group='0')}]"
        names = {"OUT_AT": "out[at + (start + i) * step]", "OUT_RUN": LEFT_OUT, "OUT_STEP": step}
    for k in range(operands):
        if not steps:
            names |= {f"AT_{k}": f"in_{k}[at_{k} + (start + i) * step_{k}]", f"RUN_{k}": LEFT_OUT}
            names[f"STEP_OF_{k}"] = f"numbers[{elementwise.NEST.place('step', group=str(k + 1))}]"
            continue
        moves = steps[k] == "1"
        names |= {f"AT_{k}": f"x_{k}[{'i' if moves else '0'}]", f"STEP_{k}": steps[k], f"STEP_OF_{k}": LEFT_OUT}
        names[f"RUN_{k}"] = "z" if k in same else f"in_{k}[at_{k}{' + start' if moves else ''} :]"
    return names
