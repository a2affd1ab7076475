"""Reading launches: the plans that a call made, and what must hold of the record of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from minigrad.backends.launch import Executable, HostFunction, Launch, Scratch
from minigrad.core.plans import planned
from minigrad.core.requests import Request
from minigrad.runtime import plans
from minigrad.runtime.planning import CallPlan


def plans_of(function: Callable[[], Any]) -> list[tuple[str, CallPlan]]:
    """Call a function with no plans known before; return the name of the op and the plan of each call in it."""
    plans.forget_plans()
    function()
    return [(op.name, plan) for op in planned.values() for plan in op.plans.values() if isinstance(plan, CallPlan)]


def launches_of(plan: CallPlan) -> Iterator[Launch]:
    """Return the launches of a plan: the one that makes a result, and those that write into what exists."""
    if plan.launch is not None:
        yield plan.launch
    yield from (launch for launch, _ in plan.writes.values())


def check_record(name: str, launch: Launch, plan: CallPlan) -> None:
    """Fail unless a record says everything: kernels, slots, memory in between, checks and requests."""
    assert isinstance(launch, Launch), name
    assert launch.arguments == len(plan.specs) + len(plan.outs), name
    slots = range(launch.arguments + len(launch.temporaries))
    for step in launch.steps:
        assert isinstance(step.kernel, Executable), name
        assert step.kernel.name, name
        assert set(step.slots) <= set(slots), name
    touched = {slot for step in launch.steps for slot in step.slots}
    for k, out in enumerate(plan.outs, len(plan.specs)):
        assert k in touched or not out.layout.numel or launch.always_fails, f"{name}: no step has result {k}"
    scratch = {k for k in slots if isinstance(launch.temporary(k), Scratch)}
    assert launch.lifetimes().keys() == scratch & touched, name
    assert all(launch.temporary(flag.slot) is not None and flag.after <= len(launch.steps) for flag in launch.flags)
    assert all(isinstance(request, Request) for request in launch.requests), name


def host_functions(launch: Launch) -> set[str]:
    """Return the names of the steps that are Python functions, which nobody but Python can run."""
    return {step.kernel.name for step in launch.steps if isinstance(step.kernel, HostFunction)}
