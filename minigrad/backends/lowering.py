"""Requests made of simpler ones, for devices that do not serve them.

Each function here is a definition: what `Sort` means in terms of `ArgSort` and `Gather`, what a cast is element by
element.  A lowered launch runs the launches that it is made of one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from minigrad.backends.base import Backend, Launch, lowerings
from minigrad.core.op import Spec
from minigrad.core.requests import (
    ArgReduce,
    ArgScan,
    Copy,
    Elementwise,
    Extreme,
    Gather,
    Join,
    Ordered,
    Request,
    RunningExtreme,
    Sort,
)
from minigrad.kernels.scalar import parse

Specs = tuple[Spec, ...]
F = TypeVar("F", bound=Callable[..., Any])


def lowers(kind: type[Request]) -> Callable[[F], F]:
    """Mark a function as what makes requests of a kind of others."""

    def mark(function: F) -> F:
        lowerings[kind] = function
        return function

    return mark


def identity(x):  # type: ignore[no-untyped-def]
    """The scalar function of a copy."""
    return x


def nonzero(x):  # type: ignore[no-untyped-def]
    """The scalar function of a cast to bool."""
    return x != 0


IDENTITY, NONZERO = parse(identity), parse(nonzero)


@lowers(Copy)
def copy(backend: Backend, request: Copy, outs: Specs, operands: Specs) -> Launch:
    """A copy is the identity, element by element; a cast to bool is `!= 0`."""
    (out,), (a,) = outs, operands
    if out.dtype.kind == "bool" and a.dtype.kind != "bool":
        return backend.prepare(Elementwise(NONZERO, a.dtype.compute), out, a)
    if not a.dtype.is_int or not out.dtype.is_float:
        compute = out.dtype.compute if a.dtype.kind == "bool" else a.dtype.compute
    else:  # float32 on the way to a half would round twice
        compute = out.dtype.compute if out.dtype.itemsize > 2 else np.dtype(np.float64)
    return backend.prepare(Elementwise(IDENTITY, compute), out, a)


@lowers(Join)
def join(backend: Backend, request: Join, outs: Specs, operands: Specs) -> Launch:
    """Each operand is copied to its place."""
    (out,) = outs
    launches, start = [], 0
    for part in operands:
        length = part.shape[request.dim]
        place = Spec(out.layout.narrow(request.dim, start, length), out.dtype)
        launches.append(backend.prepare(Copy(), place, part) if place.layout.numel else None)
        start += length

    def launch(*buffers: Any) -> None:
        for move, buffer in zip(launches, buffers, strict=False):
            if move is not None:
                move(buffer, buffers[-1])

    return launch


@lowers(Extreme)
def extreme(backend: Backend, request: Extreme, outs: Specs, operands: Specs) -> Launch:
    """The place is found, and then read."""
    return read_at(backend, ArgReduce(request.better, request.dim), outs, operands[0], request.dim)


@lowers(RunningExtreme)
def running_extreme(backend: Backend, request: RunningExtreme, outs: Specs, operands: Specs) -> Launch:
    """The places are found, and then read."""
    return read_at(backend, ArgScan(request.better, request.dim), outs, operands[0], request.dim)


@lowers(Ordered)
def ordered(backend: Backend, request: Ordered, outs: Specs, operands: Specs) -> Launch:
    """The order is found, and then read."""
    return read_at(backend, Sort(request.dim, request.descending), outs, operands[0], request.dim)


def read_at(backend: Backend, search: Request, outs: Specs, a: Spec, dim: int) -> Launch:
    """A launch over (a, values, places) that finds places and reads `a` there."""
    values, places = outs
    find = backend.prepare(search, places, a)
    read = backend.prepare(Gather(dim), values, a, places)

    def launch(x: Any, result: Any, where: Any) -> None:
        find(x, where)
        read(x, where, result)

    return launch
