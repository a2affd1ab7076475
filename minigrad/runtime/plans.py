"""The plans of calls, cached with each op: found by a key, made by `planning` the first time, limited in number.

The key of a call consists of its operands' layouts, dtypes and devices, which are one object for equal values, and of
its parameters as they were written.  If a setting that plans depend on changes (`config.py`), all plans are dropped.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

from minigrad.config import listeners
from minigrad.core.op import Op
from minigrad.core.plans import forget, keep, planned
from minigrad.runtime.ahead import begin
from minigrad.runtime.observers import instrument, observed
from minigrad.runtime.operands import canonical, forget_numbers, keyed
from minigrad.runtime.planning import CallPlan, make_plan
from minigrad.runtime.shifting import shifted
from minigrad.runtime.tensor import PLAIN, Tensor

NO_PARAMS: dict[str, Any] = {}
INTO = object()  # ends the key of a plan that only writes into existing memory


def plan_of(op: Op, operands: tuple[Tensor, ...], params: dict[str, Any] = NO_PARAMS, fresh: bool = True) -> CallPlan:
    """Return the plan of a call, either from the cache or a new plan.

    The key in the cache contains the parameters as the user wrote them, before roles convert them.
    fresh: whether the result has new memory; False if the call writes into existing memory, for which a launch is
    prepared for each layout.
    """
    key: Any = key_of_many(operands, frozenset(map(type, operands))) if op.variadic else operands_key(operands)
    if params:
        try:
            key = (*key, *[v if v.__class__ is int else keyed(v) for v in params.values()])
        except TypeError:  # the value cannot be hashed, for example an array that a role converts to a tuple
            params = canonical(op, operands, params)
            key = (*key, *map(keyed, params.values()))
    if not fresh:
        key = (*key, INTO)
    return op.plans.get(key) or plan_for(op, operands, params, key, fresh)


def operands_key(operands: Sequence[Tensor]) -> tuple[Any, ...]:
    """Return the part of the key of a call that its operands determine."""
    if len(operands) == 1:
        x = operands[0]
        return (x.layout, x.dtype, x.device)
    if len(operands) == 2:
        x, y = operands
        return (x.layout, x.dtype, x.device, y.layout, y.dtype, y.device)
    if len(operands) == 3:
        x, y, z = operands
        return (x.layout, x.dtype, x.device, y.layout, y.dtype, y.device, z.layout, z.dtype, z.device)
    return tuple([part for x in operands for part in (x.layout, x.dtype, x.device)])


def key_of_many(tensors: Sequence[Tensor], classes: Set[type] = PLAIN) -> tuple[Any, ...] | None:
    """Return the part of the key of a call that a sequence of tensors determines; a common dtype and device occur once.

    Return None for an empty sequence, and if the class of a value is not in `classes`.
    """
    if not tensors or tensors[0].__class__ not in classes:
        return None
    dtype, device, layouts = tensors[0].dtype, tensors[0].device, []
    for x in tensors:  # one loop takes half the time of a test of the classes and a comprehension
        if x.__class__ not in classes:
            return None
        if x.dtype is not dtype or x.device is not device:
            return operands_key(tensors) if all([x.__class__ in classes for x in tensors]) else None  # noqa: C419
        layouts.append(x.layout)
    return (*layouts, dtype, device)


def plan_for(
    op: Op, operands: tuple[Any, ...], params: dict[str, Any], key: tuple[Any, ...], fresh: bool = True
) -> CallPlan:
    """Make a plan and cache it."""
    family, plan = shifted(op, operands, params, key) if fresh else (None, None)
    if plan is None:
        if params:
            params = canonical(op, operands, params)
        begin(op, operands, params)
        plan = make_plan(op, operands, params, fresh)
        if family is not None:
            family.base = plan
    keep(op, key, plan)
    if observed.allocated or observed.launching:
        plan.instrument(observed)
    return plan


def instrument_plans() -> None:
    """Update all plans after a change of the observers; what was made from launches of plans is dropped."""
    for owner in tuple(planned.values()):
        for key, plan in tuple(owner.plans.items()):
            if isinstance(plan, CallPlan):
                plan.instrument(observed)
            else:
                owner.plans.pop(key, None)


def forget_plans() -> None:
    """Drop all plans, because a setting that they depend on has changed."""
    forget_numbers()
    instrument_plans()  # graphs keep some of the plans
    forget()


listeners.append(forget_plans)
instrument.append(instrument_plans)
