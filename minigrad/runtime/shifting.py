"""Plans of calls that differ only in the offsets of their operands, as in a loop over `x[t]`: one is made of another.

The offset of an operand is a part of its layout, so each `x[t]` needs a plan.  The rules of the op make the first plans
of such a family.  Then one operand after the other is moved by one element: the numbers of the kernels, and the offsets
in the record of the launch, that grow by one are those of the operand.  Further plans are copies with other numbers.  A
launch that differs in anything else is not copied, nor one of a GPU, whose loads depend on the alignment of operands.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.backends.launch import Launch, Part, Scratch, Step
from minigrad.backends.registry import backend_of
from minigrad.core.layout import Layout
from minigrad.core.op import Op, Spec
from minigrad.core.plans import keep
from minigrad.core.roles import Entries
from minigrad.runtime.planning import PLANNERS, CallPlan
from minigrad.runtime.tensor import Tensor

FIRST = 3  # number of plans of a family that the rules make
FAR = 37  # the distance of the second probe


class Family:
    """Plans of an op for operands that differ only in their offsets.

    base: the last plan that the rules made.
    known: the plan from which others are made, its numbers (see `numbers_of`), and for each operand 1 for each number
    that its offset moves and 0 for the others; None before they are known, and empty if plans cannot be copied.
    """

    def __init__(self) -> None:
        self.count = 0
        self.base: Any = None
        self.known: tuple[Any, ...] | None = None

    def plan(self, op: Op, operands: tuple[Tensor, ...], params: dict[str, Any]) -> CallPlan | None:
        """Return a copy of the base for operands with other offsets, or None."""
        self.count += 1
        if self.count <= FIRST or self.base is None:
            return None
        if self.known is None:  # set at once, because other threads may make plans of the family
            self.known = probed(op, self.base)
        if not self.known:
            return None
        base, numbers, masks = self.known
        numbers = numbers.copy()
        for k, (x, spec, mask) in enumerate(zip(operands, base.specs, masks)):
            by = x.layout.offset - spec.layout.offset
            if not k and is_index(params):
                by += start_of(x.layout, params["index"]) - start_of(x.layout, base.params["index"])
            if by:
                numbers += by * mask
        return copied(base, numbers, operands, params if is_index(params) else base.params)


def probed(op: Op, base: CallPlan) -> tuple[Any, ...]:
    """Return a base with its numbers and masks, from plans in which one operand is moved; empty without masks.

    Each operand is moved by one element and by several: an offset that is counted in other units has no mask.
    """
    parts = numbers_of(base)
    if parts is None or (base.launch is None and base.dtype is not base.specs[0].dtype):
        return ()
    fixed, numbers = parts
    masks = []
    for k, spec in enumerate(base.specs):
        moves = []
        for by in (1, FAR):
            specs = (*base.specs[:k], moved(spec, spec.layout.offset + by), *base.specs[k + 1 :])
            other = numbers_of(PLANNERS[op.kind](op, backend_of(base.source), base.source, specs, base.params))
            if other is None or other[0] != fixed:
                return ()
            moves.append(other[1] - numbers)
        if not set(moves[0].tolist()) <= {0, 1} or (moves[0] * FAR != moves[1]).any():
            return ()
        masks.append(moves[0])
    return base, numbers, masks


def shifted(
    op: Op, operands: tuple[Tensor, ...], params: dict[str, Any], key: tuple[Any, ...]
) -> tuple[Family | None, CallPlan | None]:
    """Return the family of a call without a plan, and a plan that is made from another one of the family, or None.

    Indices of a view that differ in ints only are one family.
    key: the key of the plan, which begins with the layout, the dtype and the device of each operand.
    """
    rest: tuple[Any, ...] = key[3 * len(operands) :]
    if is_index(params):
        if start_of(operands[0].layout, params["index"]) is None:
            return None, None
        rest = tuple([int if item.__class__ is int else item for item in params["index"]])
    elif op.variadic or not any(x.layout.offset for x in operands):
        return None, None
    kind = (Family, *[(x.layout.shape, x.layout.strides, x.dtype, x.device) for x in operands], *rest)
    family = op.plans.get(kind) or keep(op, kind, Family())
    return family, family.plan(op, operands, params)


def is_index(params: dict[str, Any]) -> bool:
    """Return whether a call reads a view of a basic index, with an entry for each dim."""
    return "index" in params and params["index"].__class__ is Entries


def start_of(layout: Layout, index: Entries) -> Any:
    """Return how far the ints of an index move a view; None for an int that is not a position of its dim."""
    start = dim = 0
    for item in index:
        if item.__class__ is int:
            size = layout.shape[dim]
            if not -size <= item < size:
                return None
            start += (item + size * (item < 0)) * layout.strides[dim]
        dim += item is not None
    return start


def numbers_of(plan: CallPlan) -> tuple[Any, Any] | None:
    """Return the parts of a plan that are equal in its copies, and the numbers that can differ, as one array.

    Return None unless numbers determine all steps of the launch, on the host, and it stores no values.
    """
    launch = plan.launch
    if launch is None:
        return [x.layout.shape + x.layout.strides for x in plan.outs], np.array([x.layout.offset for x in plan.outs])
    own = all(isinstance(x, Scratch) for x in launch.temporaries) and launch.limits is None
    able = all(x.numbers.__class__ is np.ndarray and not x.kernel.enqueued for x in launch.steps)
    if not (own and able and launch.parts) or launch.flags or launch.always_fails:
        return None
    specs = [spec for part in launch.parts for spec in part.specs]
    steps = [(step.kernel, step.slots, step.unless_same, len(step.numbers)) for step in launch.steps]
    fixed = (
        steps, [memory[:2] for memory in launch.temporaries], [(x.request, x.slots, x.results) for x in launch.parts],
        [(spec.layout.shape, spec.layout.strides, spec.dtype) for spec in specs],
    )  # fmt: skip
    return fixed, np.concatenate([*[x.numbers for x in launch.steps], [spec.layout.offset for spec in specs]])


def copied(base: CallPlan, numbers: Any, operands: tuple[Tensor, ...], params: dict[str, Any]) -> CallPlan:
    """Return a copy of a plan with other numbers."""
    launch, outs, steps, first = base.launch, base.outs, [], 0
    if launch is None:
        outs = (moved(outs[0], int(numbers[0])),)
    else:
        for kernel, slots, old, same in launch.steps:
            steps.append(Step(kernel, slots, numbers[first : first + len(old)], same))
            first += len(old)
        offsets = iter(numbers[first:].tolist())
        parts = [
            Part(part.request, part.slots, tuple([moved(spec, next(offsets)) for spec in part.specs]), part.results)
            for part in launch.parts
        ]
        launch = Launch(launch.arguments, steps, launch.temporaries, parts=parts)
    plan = CallPlan(base.backend, base.device, tuple([Spec(x.layout, x.dtype) for x in operands]), launch, *outs)
    plan.source, plan.params = base.source, params
    plan.makes = plan.allocators = base.allocators  # many plans share the storages that wait for their next results
    plan.make = plan.makes[0] if launch else None
    return plan


def moved(spec: Spec, offset: int) -> Spec:
    """Return a spec with another offset."""
    return Spec(Layout.make(spec.layout.shape, spec.layout.strides, offset), spec.dtype)
