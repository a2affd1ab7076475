"""Plans of calls that differ only in the offsets of their operands, as in a loop over `x[t]`: one is made of another.

The offset of an operand is a part of its layout, so each `x[t]` needs a plan.  The rules of the op make the first plans
of such a family.  Then one operand after the other is moved by one element: the numbers of the kernels, and the offsets
in the record of the launch, that grow by one are those of the operand.  Further plans are copies with other numbers.  A
launch that differs in anything else is not copied, nor one of a GPU, whose loads depend on the alignment of operands.
The launch of a copy, `Shifted`, consists of the other launch and the numbers until its record is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from types import FunctionType
from typing import Any

import numpy as np

from minigrad.backends.launch import Launch, Scratch
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
    facts: the facts of the base, which its copies share, unless a rule requests a layout, which has an offset.
    known: the plan from which others are made, its numbers (see `numbers_of`) if all operands began at offset 0, and
    for each operand 1 for each number that its offset moves and 0 for the others; None before they are known, and
    empty if plans cannot be copied.
    """

    def __init__(self) -> None:
        self.count = 0
        self.base: Any = None
        self.known: tuple[Any, ...] | None = None
        self.facts: dict[Any, Any] | None = None

    def plan(self, op: Op, operands: tuple[Tensor, ...], params: dict[str, Any], start: int) -> CallPlan | None:
        """Return a copy of the base for operands with other offsets, or None.

        start: how far the ints of an index move the view.
        """
        self.count += 1
        if self.count <= FIRST or self.base is None:
            return None
        if self.known is None:  # set at once, because other threads may make plans of the family
            names = [name for rule in (*op.rules, op.joint) if rule is not None for name in rule.facts]
            self.facts = None if any(name.endswith("_layout") for name in names) else self.base.facts
            self.known = probed(op, self.base)
        if not self.known:
            return None
        base, numbers, masks = self.known
        for x, mask in zip(operands, masks):
            at = x.layout.offset + start  # only views, of one operand, have an index
            if at:
                numbers = numbers + at * mask
        return copied(base, numbers, operands, params, self.facts)


def probed(op: Op, base: CallPlan) -> tuple[Any, ...]:
    """Return `Family.known` for a base, from plans in which one operand is moved; empty without masks."""
    if base.launch is None and base.dtype is not base.specs[0].dtype:
        return ()

    def parts_at(k: int, by: int) -> tuple[Any, Any] | None:
        specs = (*base.specs[:k], moved(spec := base.specs[k], spec.layout.offset + by), *base.specs[k + 1 :])
        return numbers_of(PLANNERS[op.kind](op, backend_of(base.source), base.source, specs, base.params))

    parts = numbers_of(base)
    masks = masks_of(parts, len(base.specs), parts_at)
    if parts is None or masks is None:
        return ()
    first, indexed = parts[1], has_index(op, base.params)
    for spec, mask in zip(base.specs, masks):
        start = start_of(spec.layout, base.params) if indexed else 0
        assert start is not None  # the call of the base was valid
        first = first - (spec.layout.offset + start) * mask
    return base, first, masks


def masks_of(
    parts: tuple[Any, Any] | None, count: int, parts_at: Callable[[int, int], tuple[Any, Any] | None]
) -> list[Any] | None:
    """Return for each of `count` operands 1 for each number that its offset moves and 0 for the others, or None.

    Each operand is moved by one element and by several: an offset that is counted in other units has no mask.
    parts: the result of `numbers_of`; parts_at: returns it for an operand that is moved by a number of elements.
    """
    if parts is None:
        return None
    (fixed, numbers), masks = parts, []
    for k in range(count):
        moves = []
        for by in (1, FAR):
            other = parts_at(k, by)
            if other is None or other[0] != fixed:
                return None
            moves.append(other[1] - numbers)
        if not set(np.ravel(moves[0])) <= {0, 1} or np.any(moves[0] * FAR != moves[1]):
            return None
        masks.append(moves[0])
    return masks


def shifted(
    op: Op, operands: tuple[Tensor, ...], params: dict[str, Any], key: tuple[Any, ...]
) -> tuple[Family | None, CallPlan | None]:
    """Return the family of a call without a plan, and a plan that is made from another one of the family, or None.

    Indices of a view that differ in ints only are one family.
    key: the key of the plan, which begins with the layout, the dtype and the device of each operand.
    """
    start, rest = 0, key[3 * len(operands) :]
    if has_index(op, params):
        first = start_of(operands[0].layout, params)
        if first is None:
            return None, None
        start, index = first, params["index"]
        entries = index if index.__class__ is Entries else ()
        rest = (params.get("dim"), *[int if item.__class__ is int else item for item in entries])
    elif op.variadic or not any(x.layout.offset for x in operands):
        return None, None
    kind = (Family, *[(x.layout.shape, x.layout.strides, x.dtype, x.device) for x in operands], *rest)
    family = op.plans.get(kind) or keep(op, kind, Family())
    return family, family.plan(op, operands, params, start)


def has_index(op: Op, params: dict[str, Any]) -> bool:
    """Return whether an op reads a view of a basic index, or is `select`."""
    return "index" in params and op.kind == "view" and op.public.__module__.startswith("minigrad.")


def start_of(layout: Layout, params: dict[str, Any]) -> int | None:
    """Return how far the ints of a basic index, or those of `select`, move a view.

    Return None for an int that is not a position of its dim, and for a parameter of another type.
    """
    index, start, dim = params["index"], 0, params.get("dim", 0)
    if index.__class__ is not Entries:
        if not (index.__class__ is dim.__class__ is int and 0 <= dim < layout.ndim):
            return None
        index = (index,)
    for item in index:
        if item.__class__ is int:
            size = layout.shape[dim]
            if not -size <= item < size:
                return None
            start += (item + size * (item < 0)) * layout.strides[dim]
        dim += item is not None
    return start


def numbers_of(plan: CallPlan) -> tuple[Any, Any] | None:
    """Return the parts of a plan that are equal in its copies, and the numbers that can differ: an array, or one."""
    if plan.launch is None:
        return [x.layout.shape + x.layout.strides for x in plan.outs], np.int64(plan.layout.offset)
    return numbers_of_launch(plan.launch)


def numbers_of_launch(launch: Launch) -> tuple[Any, Any] | None:
    """Return the parts of a launch that are equal in its copies, and the array of the numbers that can differ.

    Return None unless numbers determine all steps of the launch, on the host, and it stores no values.
    """
    own = all(isinstance(x, Scratch) for x in launch.temporaries) and launch.limits is None
    able = all(
        x.numbers.__class__ is np.ndarray and x.kernel.takes_numbers and not x.kernel.enqueued for x in launch.steps
    )
    if not (own and able and launch.parts) or launch.flags or launch.always_fails:
        return None
    specs = [spec for part in launch.parts for spec in part.specs]
    steps = [(step.kernel, step.slots, step.unless_same, len(step.numbers)) for step in launch.steps]
    fixed = (
        steps, [memory[:2] for memory in launch.temporaries], [(x.request, x.slots, x.results) for x in launch.parts],
        [(spec.layout.shape, spec.layout.strides, spec.dtype) for spec in specs],
    )  # fmt: skip
    return fixed, np.concatenate([*[x.numbers for x in launch.steps], [spec.layout.offset for spec in specs]])


class Shifted(Launch):
    """A launch with the kernels of another one, on operands with other offsets; its record is made at its first use.

    origin: the other launch.
    changed: the numbers of all steps, and the offsets of the specs of all parts.
    """

    __slots__ = ("changed", "origin")

    def __init__(self, origin: Launch, changed: Any) -> None:
        self.origin, self.changed = origin, changed  # type: ignore[misc]
        self.arguments, self.temporaries = origin.arguments, origin.temporaries
        self.flags, self.always_fails, self.limits = (), False, None

    def __getattr__(self, name: str) -> Any:
        if name == "steps":
            self.steps = tuple([old._replace(numbers=own) for old, own in zip(self.origin.steps, self.numbers())])
        elif name == "parts":
            parts = self.origin.parts
            specs = map(moved, [spec for part in parts for spec in part.specs], self.offsets().tolist())
            self.parts = tuple([part._replace(specs=tuple(islice(specs, len(part.specs)))) for part in parts])
        elif name == "call" and self.origin.fast[0] is None:  # the text of the function is that of the other launch
            other: Any = self.origin.call
            own = {f"n{k}": numbers for k, numbers in enumerate(self.numbers())}
            self.call = FunctionType(other.__code__, {**other.__globals__, **own})
        else:
            return super().__getattr__(name)
        return getattr(self, name)

    @property
    def fast(self) -> tuple[Any, Any]:
        kernel, _ = self.origin.fast
        return kernel, None if kernel is None else next(self.numbers())

    def numbers(self) -> Iterator[Any]:
        first = 0
        for step in self.origin.steps:
            yield self.changed[first : (first := first + len(step.numbers))]

    def offsets(self) -> Any:
        return self.changed[sum([len(step.numbers) for step in self.origin.steps]) :]


def copied(
    base: CallPlan, numbers: Any, operands: tuple[Tensor, ...], params: dict[str, Any], facts: dict[Any, Any] | None
) -> CallPlan:
    """Return a copy of a plan with other numbers."""
    launch, outs = base.launch, base.outs
    if launch is None:
        outs = (moved(outs[0], int(numbers)),)
    else:
        launch = Shifted(launch, numbers)
    specs = [old if x.layout is old.layout else Spec(x.layout, x.dtype) for x, old in zip(operands, base.specs)]
    plan = plan_like(base, tuple(specs), launch, outs)
    if facts is not None and launch is not None:
        plan.facts = facts
    if launch is None and "index" in params:
        plan.params = params
    return plan


def plan_like(other: CallPlan, specs: tuple[Spec, ...], launch: Any, outs: tuple[Spec, ...]) -> CallPlan:
    """Return the plan of a call that differs from that of another plan in the offsets of tensors only.

    The plans share the storages that wait for their next results.  launch: a `Shifted` launch, or None for a view.
    """
    plan: CallPlan = object.__new__(CallPlan)
    plan.backend, plan.device, plan.source, plan.params = other.backend, other.device, other.source, other.params
    plan.specs, plan.launch, plan.outs, plan.layout = specs, launch, outs, outs[0].layout
    plan.dtype, plan.numel, plan.tracks, plan.few = other.dtype, other.numel, other.tracks, other.few
    plan.makes = plan.allocators = other.allocators
    plan.make, plan.run, plan.kernel, plan.numbers = None, None, other.kernel, None
    if launch is not None:
        plan.make = plan.makes[0]
        plan.run = other.backend.function(launch) if other.kernel is None else launch
        plan.numbers = None if other.kernel is None else next(launch.numbers())
    plan.facts, plan.into, plan.writes = {}, {}, {}
    return plan


def moved(spec: Spec, offset: int) -> Spec:
    """Return a spec with another offset."""
    return spec if spec.layout.offset == offset else Spec(spec.layout.moved(offset), spec.dtype)
