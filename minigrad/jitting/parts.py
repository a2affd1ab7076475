"""Copies of the parts of complex numbers in a program, which stand for the views that eager mode makes."""

from __future__ import annotations

from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Collection
from typing import Any

from minigrad.core.requests import Elementwise
from minigrad.errors import RecordingError
from minigrad.jitting.program import HostCall, Program, written_by
from minigrad.ops.shape.parts import imag_copy, real_copy

SCALARS: Any = [x.op.scalar for x in (real_copy, imag_copy)]  # type: ignore[attr-defined]


def is_copy_of_parts(item: Any) -> bool:
    """Return whether a launch computes `real_copy` or `imag_copy`."""
    if isinstance(item, HostCall):
        return False
    parts = item.launch.origin.parts  # a list of all requests would take longer, for each launch of a long program
    return len(parts) == 1 and isinstance(parts[0].request, Elementwise) and parts[0].request.scalar in SCALARS


def view_of(item: Any) -> tuple[int, int]:
    """Return the slot of the complex numbers of a copy, and which part it has."""
    return item.slots[0], SCALARS.index(item.launch.requests[0].scalar)


def check_parts(program: Program, results: Collection[int]) -> None:
    """Raise RecordingError if a copy of parts could differ from a view of them.

    This is so if the program writes the copy, writes the complex numbers before it uses the copy, or returns the copy
    while the complex numbers exist after the call, or have another copy that does.  results: the slots that exist
    then: those of results and gradients.
    """
    copies: list[tuple[int, Any]] = [(k, item) for k, item in enumerate(program.items) if is_copy_of_parts(item)]
    if not copies:
        return
    writes, used = defaultdict[int, list[int]](list), dict[int, int]()
    calls = [k for k, item in enumerate(program.items) if isinstance(item, HostCall)]
    for k, item in enumerate(program.items):
        if not isinstance(item, HostCall):
            used |= dict.fromkeys(item.slots, k)
            for slot in written_by(item):
                writes[slot].append(k)
    end = len(program.items)
    shown = Counter(view_of(item) for _, item in copies if item.slots[-1] in results)
    for k, item in copies:
        whole, part = item.slots[0], item.slots[-1]
        existed = program.memory[whole].kind != "temporary"  # then a Python function may write it, too
        changes = [writes[whole], calls] if existed else [writes[whole]]
        changed = min([next(iter(each[bisect(each, k) :]), end) for each in changes])
        last = end if part in results else used[part]
        visible = existed or whole in results or shown[view_of(item)] > 1
        if changed < last or writes[part][-1] > k or (visible and part in results):
            raise RecordingError(
                f"{item.line}: jit: the function writes complex numbers or their parts while x.real or x.imag shows "
                "them, or returns such a view of existing memory, but a program copies the parts; write x.real.clone()"
            )
