"""Running an op into what exists: `out=`, the in-place forms, item assignment.

The plan says what the result is, the launch is prepared for the layout that is written to, and `writing.py` says
whether it may be.
"""

from __future__ import annotations

from typing import Any

from minigrad.backends.base import Launch
from minigrad.core.op import Op, Spec
from minigrad.core.requests import Elementwise
from minigrad.errors import DeviceError, DTypeError, ShapeError
from minigrad.runtime.planning import CallPlan
from minigrad.runtime.promises import launchable
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.writing import check_writable

INTO_LIMIT = 64
VECTORS_PAY = 2048  # elements from which a kernel of its own is worth compiling for an operand that is the result


def run_into(op: Op, plan: CallPlan, operands: tuple[Any, ...], out: Tensor) -> Tensor:
    """Run an op into `out` (the `out=` and `name_` forms, and `write`): checks, launch, version."""
    if not isinstance(out, Tensor):
        raise DTypeError(f"{op.label}: out must be a tensor, got {describe(out)}", op=op.label)
    storage, layout = out.storage, out.layout
    same, bit = 0, 1
    if plan.numel >= VECTORS_PAY:
        for x in operands:
            if x.storage is storage and x.layout is layout:
                same |= bit
            bit <<= 1
    launch = plan.into.get((layout, out.dtype, out.device, same))
    if launch is None:
        launch = plan_into(op, plan, out, same)
    check_writable(op.label, out, operands)
    launch(*[x.storage.buffer for x in operands], storage.buffer)
    storage.version += 1
    return out


def plan_into(op: Op, plan: CallPlan, out: Tensor, same: int) -> Launch:
    """A launch of `plan` that writes into what exists; the last few are kept.

    same: a bit mask of the operands that are `out` itself.
    Raises ShapeError, DTypeError or DeviceError if the result does not fit `out`.
    """
    result = Spec(plan.layout, plan.dtype)
    if out.layout.shape != plan.layout.shape:
        raise ShapeError(
            f"{op.label}: the result is {result!r}, out is {describe(out)}; shapes must agree", op=op.label
        )
    if out.dtype is not plan.dtype:
        raise DTypeError(
            f"{op.label}: the result is {result!r}, out is {describe(out)}; dtypes must agree", op=op.label
        )
    if out.device is not plan.device:
        raise DeviceError(
            f"{op.label}: the operands are on {plan.device}, out {describe(out)} on {out.device}; devices must agree",
            op=op.label,
        )
    target = Spec(out.layout, out.dtype)
    if op.kind == "elementwise":
        expanded = [
            target if same >> k & 1 else Spec(s.layout.expand(out.shape), s.dtype) for k, s in enumerate(plan.specs)
        ]
        compute, _ = op.dtype_rule(op, plan.specs)  # type: ignore[misc]
        launch = plan.backend.prepare(Elementwise(op.scalar, compute), target, *expanded)  # type: ignore[arg-type]
    else:
        launch = launchable(op, op.prepare(plan.backend, target, *plan.specs, **plan.params))  # type: ignore[misc]
    if len(plan.into) >= INTO_LIMIT:
        plan.into.clear()
    plan.into[out.layout, out.dtype, out.device, same] = launch
    return launch
