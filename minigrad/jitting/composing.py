"""Elementwise launches as parts of one scalar function: how a unit is read, and how units are composed.

A *unit* is a launch that computes each element of its results from the elements at the same position of its operands.
The scalar functions of several units, one line each, form a scalar function again, so any device can run it: a value
that a later line reads stays in a register.  Its bits are the same as in memory, since only booleans and values whose
dtype is that of the registers are passed on in this way.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from minigrad.backends.launch import Part
from minigrad.backends.lowering.elements import cast
from minigrad.core.device import Device
from minigrad.core.dtype import DType
from minigrad.core.layout import Layout
from minigrad.core.op import ScalarFn
from minigrad.core.plan import walk
from minigrad.core.plans import bounded
from minigrad.core.requests import Copy, Elementwise
from minigrad.jitting.program import Item, Memory, sole_part
from minigrad.kernels.reading import Lines
from minigrad.kernels.scalar import projected

ARRAYS = 12  # maximum number of arrays in a loop; a processor cannot prefetch more streams
NAME = 48  # maximum length of a composed function's name, which is a part of its kernel's name
_interned: dict[Any, ScalarFn] = {}  # equal functions are one object, so that they share one kernel
INTERNED_LIMIT = 1024


class View(NamedTuple):
    """The memory of a slot in the layout and dtype in which a launch reads or writes it."""

    slot: int
    layout: Layout
    dtype: DType


class Unit(NamedTuple):
    """An elementwise launch.

    scalars: one scalar function per result.
    compute: the dtype of the registers.
    """

    scalars: tuple[ScalarFn, ...]
    compute: np.dtype[Any]
    outs: tuple[View, ...]
    operands: tuple[View, ...]
    device: Device
    line: str

    @property
    def shape(self) -> tuple[int, ...]:
        return self.outs[0].layout.shape

    @property
    def cost(self) -> int:
        """The cost of one element, in additions."""
        return sum(scalar.cost for scalar in self.scalars)

    def like(self, other: Unit) -> bool:
        """Return whether two units could be lines of one loop."""
        return self.compute == other.compute and self.shape == other.shape and self.device == other.device

    def in_register(self, view: View) -> bool:
        """Return whether a register stores the value of a result exactly as memory would."""
        dtype = view.dtype
        return dtype.kind == "bool" or (dtype.compute == self.compute and dtype.storage == self.compute)


def unit_of(item: Item, memory: Mapping[int, Memory]) -> Unit | None:
    """Return a launch as a unit; None if it is anything other than one elementwise loop."""
    part = sole_part(item)
    if part is None or not part.specs[-1].layout.numel:
        return None
    body = body_of(part)
    if body is None:
        return None
    views = [View(item.slots[k], spec.layout, spec.dtype) for k, spec in zip(part.slots, part.specs)]
    count = len(views) - part.results
    return Unit(*body, tuple(views[count:]), tuple(views[:count]), memory[views[-1].slot].device, item.line)


def body_of(part: Part) -> tuple[tuple[ScalarFn, ...], np.dtype[Any]] | None:
    """Return the scalar functions of an elementwise request and the dtype in which they compute, or None."""
    request = part.request
    if isinstance(request, Elementwise):
        scalar = request.scalar
        several = [projected(scalar, k) for k in range(scalar.results)] if scalar.results > 1 else [scalar]
        return tuple(several), request.compute
    if isinstance(request, Copy):
        scalar, compute = cast(part.specs[0].dtype, part.specs[1].dtype)
        return (scalar,), compute
    return None


def runs_along(outs: Sequence[Layout], layouts: Sequence[Layout]) -> bool:
    """Return whether one loop can read and write all views along their innermost dim, with strides 1 or 0.

    In the innermost dim, the results must have stride 1, and the operands stride 1 or 0 (broadcast).  For other views,
    separate loops are faster, because each can process its memory tile by tile.
    """
    _, strides, _ = walk([*outs, *layouts])
    inner = [s[-1] if s else 1 for s in strides]
    return all(s == 1 for s in inner[: len(outs)]) and all(s in (0, 1) for s in inner)


class Composer(Lines):
    """Compose the scalar functions of several units into one scalar function.

    operands: the views that the function reads, in the order of its arguments.
    values: the expression of each view that has been read or written.
    literals: whether constants are written into the function as numbers; otherwise constants are operands as well.
    """

    def __init__(self, memory: Mapping[int, Memory], units: Sequence[Unit], literals: bool = True) -> None:
        super().__init__()
        self.memory, self.literals = memory, literals
        self.operands: list[View] = []
        self.values: dict[View, ast.expr] = {}
        for unit in units:
            self.add(unit)

    def add(self, unit: Unit) -> None:
        """Write the lines of a unit."""
        arguments = [self.read(view, unit.compute) for view in unit.operands]
        written: dict[View, ast.expr] = {}
        for scalar, view in zip(unit.scalars, unit.outs):
            written[view] = self.call(scalar, arguments, view.dtype.kind == "bool")
        self.values |= written

    def read(self, view: View, compute: np.dtype[Any]) -> ast.expr:
        """Return the expression of a value: a line's name, a constant or a new argument."""
        value = self.values.get(view)
        if value is None:
            value = literal(self.memory[view.slot], view, compute) if self.literals else None
            if value is None:
                value = ast.Name(f"x{len(self.operands)}")
                self.operands.append(view)
            self.values[view] = value
        return value

    def composed(self, results: Sequence[View]) -> ScalarFn:
        """Return the function of the operands that returns these values; equal functions are one object."""
        called = [each.name.strip("_") for each in self.helpers.values()]
        name = "_".join(dict.fromkeys(called))[:NAME].rstrip("_")
        names = [f"x{k}" for k in range(len(self.operands))]
        scalar = self.function(name, names, [self.values[view] for view in results], "mg.jit:1")
        key = ast.unparse(scalar.node), tuple(self.helpers.items())
        return _interned.get(key) or bounded(_interned, key, scalar, INTERNED_LIMIT)


def literal(memory: Memory, view: View, compute: np.dtype[Any]) -> ast.expr | None:
    """Return a constant that a program reads repeatedly as a literal, otherwise None.

    Signed zeros, infinities and nan stay in memory: not every dtype has literals for them.
    """
    if memory.kind != "constant" or view.dtype.storage != compute or any(view.layout.strides):
        return None
    value = memory.value.reshape(-1)[view.layout.offset].item()
    if isinstance(value, complex) or not math.isfinite(value) or (value == 0 and math.copysign(1.0, value) < 0):
        return None
    return ast.UnaryOp(ast.USub(), ast.Constant(-value)) if value < 0 else ast.Constant(value)
