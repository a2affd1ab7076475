"""Launches that move elements, by index or by position, as Python loops; `loops.py` prints other launches."""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.core.requests import Arange, Gather, Join, PutBack, Select
from minigrad.jitting.composing import View
from minigrad.jitting.loops import Writer, copy, letters, moved, prints
from minigrad.jitting.spelling import literal, variable


@prints(Join)
def join(w: Writer, request: Join, outs: list[View], operands: list[View]) -> None:
    """Write a loop per operand."""
    start = 0
    for a in operands:
        length = a.layout.shape[request.dim]
        copy(w, request, [moved(outs[0], outs[0].layout.narrow(request.dim, start, length))], [a])
        start += length


@prints(Arange)
def arange(w: Writer, request: Arange, outs: list[View], operands: list[View]) -> None:
    """Write a loop over the positions."""
    compute = np.dtype(np.float64 if outs[0].dtype.is_float else np.int64)
    index = letters(outs[0].layout.shape)
    start, step = [w.load(view, index, compute) for view in operands]
    with w.over(outs[0].layout.shape, index):
        w.store(outs[0], index, variable(f"{start} + {index[0]} * {step}"), compute)


@prints(Gather, Select)
def gather(w: Writer, request: Any, outs: list[View], operands: list[View]) -> None:
    """Write a loop that reads elements by index."""
    (out,), (a, chosen), dim = outs, operands, request.dim
    shape = out.layout.shape
    index = letters(shape)
    where = w.at(chosen, index if isinstance(request, Gather) else [index[dim]])
    picked = [where if d == dim else i for d, i in enumerate(index)]
    with w.over(shape, index):
        w.store(out, index, variable(w.at(a, picked)), out.dtype.storage)


@prints(PutBack)
def put_back(w: Writer, request: PutBack, outs: list[View], operands: list[View]) -> None:
    """Write a loop of zeros, and a loop that adds each element through the view."""
    (out,), (g,) = outs, operands
    compute = out.dtype.storage
    index = letters(out.layout.shape)
    with w.over(out.layout.shape, index):
        w.store(out, index, literal(0, compute), compute)
    index = letters(g.layout.shape)
    with w.over(g.layout.shape, index):
        w.write(f"{w.at(moved(out, request.view), index)} += {w.load(g, index, compute)}")
