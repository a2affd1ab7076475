"""Reasons why launches share no loop, for `Jitted.report`, and the names of launches in reports and pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from minigrad.core.requests import Product
from minigrad.jitting.chaining import DEEP, LARGE, LEAST, reads_loops
from minigrad.jitting.composing import Unit
from minigrad.jitting.fusion import Group, grouped, segments_of
from minigrad.jitting.program import HostCall, Item, Memory, Program
from minigrad.jitting.repeats import repeats_of

OTHERS = "only elementwise operations share loops"
NO_CHAIN = f"no elementwise loop computes an operand of at least {LEAST} bytes for it alone"
NO_FOLLOWER = f"no elementwise loop alone reads a result of {LARGE} bytes or more, of an inner dim of at most {DEEP}"
NO_NEIGHBOUR = "no other elementwise operation that runs before or after it shares memory with it"
BETWEEN = "another launch has to run between it and the elementwise operations that share memory with it"

# Titles of requests that are not named after their scalar function.
TITLES = {
    "Product": "matrix product", "Pick": "loss at the targets", "PickBack": "gradient of the loss",
    "Unpick": "gradient at the targets", "Copy": "copy",
    "Convolve": "convolution", "PutBack": "gradient of a view", "Bounds": "index check",
    "Random": "random numbers", "SelectPut": "write by index", "Gather": "selection by index",
    "Scatter": "addition by index", "ScatterJoin": "reduction by index",
}  # fmt: skip


def names_of(item: Item) -> list[str]:
    """Return the names of the scalar functions, rows or requests of a launch."""
    return [title_of(request) for request in item.launch.requests]


def title_of(request: Any) -> str:
    """Return the usual name of the computation of a request."""
    function = getattr(request, "scalar", None) or getattr(request, "fn", None) or getattr(request, "reducer", None)
    name = getattr(function, "name", None) or getattr(getattr(function, "scalar", None), "name", None)
    kind = type(request).__name__ + "Join" * (getattr(request, "join", None) is not None)
    return TITLES.get(kind) or (name or kind).strip("_")


def not_fused(program: Program, stays: Callable[[int], bool], items: Sequence[Item | HostCall]) -> Iterator[str]:
    """Yield a line for each reason, with the launches that it keeps separate.

    stays: see `Fusion`.
    items: the items of its result.
    """
    parts = {id(part) for item in items if isinstance(item, Item) for part in item.fused}
    launches: dict[str, Counter[str]] = {}
    for _, segment in segments_of(program.items, repeats_of(program)):
        if segment and isinstance(segment[0], HostCall):
            continue
        groups = grouped(segment, program.memory, stays)
        for group in groups:
            if len(group.items) == 1 and id(group.items[0]) not in parts:
                names = ", ".join(dict.fromkeys(names_of(group.items[0]))) or "a launch"
                launches.setdefault(reason_of(group, groups, program.memory), Counter())[names] += 1
    for reason, counts in launches.items():
        listed = [name if count == 1 else f"{name} ({count})" for name, count in counts.items()]
        yield f"not fused: {', '.join(listed)}: {reason}"


def reason_of(group: Group, groups: list[Group], memory: dict[int, Memory]) -> str:
    """Return why a group has only one launch."""
    if not group.units:
        requests = group.items[0].launch.requests
        if any(map(reads_loops, requests)):
            return NO_CHAIN
        return NO_FOLLOWER if any(isinstance(request, Product) for request in requests) else OTHERS
    (unit,) = group.units
    for other in groups:
        if other is not group and other.units and share_memory(unit, other):
            first, second = sorted([group, other], key=lambda each: each.order)
            return first.refusal(second.units[0], memory) or BETWEEN
    return NO_NEIGHBOUR


def share_memory(unit: Unit, group: Group) -> bool:
    """Return whether a unit and a group use common memory."""
    slots = {view.slot for view in (*unit.outs, *unit.operands)}
    return not slots.isdisjoint(group.reads) or not slots.isdisjoint(group.written)
