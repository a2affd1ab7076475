"""Reasons why launches share no loop, for `Jitted.report`, and the names of launches in reports and pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from minigrad.jitting.composing import Unit
from minigrad.jitting.fusion import Group, grouped, segments
from minigrad.jitting.program import HostCall, Item, Memory, Program

OTHERS = "only elementwise operations share loops"
NO_NEIGHBOUR = "no other elementwise operation that runs before or after it shares memory with it"
BETWEEN = "another launch has to run between it and the elementwise operations that share memory with it"

# Requests whose scalar function is not what they compute.
TITLES = {
    "Product": "matrix product", "Pick": "loss at the targets", "PickBack": "gradient of the loss", "Copy": "copy",
    "Fill": "fill", "Convolve": "convolution", "PutBack": "gradient of a view", "Bounds": "index check",
    "Random": "random numbers", "Select": "selection by index", "SelectAdd": "addition by index",
    "SelectPut": "write by index",
}  # fmt: skip


def names_of(item: Item) -> list[str]:
    """Return the names of the scalar functions, rows or requests of a launch."""
    return [title_of(request) for request in item.launch.requests]


def title_of(request: Any) -> str:
    """Return the name of a request as people call its computation."""
    function = getattr(request, "scalar", None) or getattr(request, "fn", None) or getattr(request, "reducer", None)
    name = getattr(function, "name", None) or getattr(getattr(function, "scalar", None), "name", None)
    kind = type(request).__name__
    return TITLES.get(kind) or (name or kind).strip("_")


def not_fused(program: Program, stays: Callable[[int], bool]) -> Iterator[str]:
    """Yield a line for each reason, with the launches that stay alone for it.  stays: see `Fusion`."""
    launches: dict[str, Counter[str]] = {}
    for segment in segments(program.items):
        if segment and isinstance(segment[0], HostCall):
            continue
        groups = grouped(segment, program.memory, stays)
        for group in groups:
            if len(group.items) == 1:
                names = ", ".join(dict.fromkeys(names_of(group.items[0]))) or "a launch"
                launches.setdefault(reason_of(group, groups, program.memory), Counter())[names] += 1
    for reason, counts in launches.items():
        listed = [name if count == 1 else f"{name} ({count})" for name, count in counts.items()]
        yield f"not fused: {', '.join(listed)}: {reason}"


def reason_of(group: Group, groups: list[Group], memory: dict[int, Memory]) -> str:
    """Return why a group has one launch."""
    if not group.units:
        return OTHERS
    (unit,) = group.units
    for other in groups:
        if other is not group and other.units and share_memory(unit, other):
            first, second = sorted([group, other], key=lambda each: each.order)
            return first.refusal(second.units[0], memory) or BETWEEN
    return NO_NEIGHBOUR


def share_memory(unit: Unit, group: Group) -> bool:
    """Return whether a unit reads or writes memory that a group reads or writes."""
    slots = {view.slot for view in (*unit.outs, *unit.operands)}
    return not slots.isdisjoint(group.reads) or not slots.isdisjoint(group.written)
