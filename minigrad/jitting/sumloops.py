"""Reductions, running reductions and matrix products as Python loops; `loops.py` prints other launches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad.backends.reference.scalars import first_accumulator
from minigrad.core.requests import Followed, Product, Reduce, ReduceTuple, Scan
from minigrad.core.shape import numel
from minigrad.jitting.composing import View
from minigrad.jitting.loops import Writer, letters, prints, renamed
from minigrad.jitting.spelling import Value, literal, type_of, variable


@prints(Reduce, ReduceTuple)
def reduce(w: Writer, request: Any, outs: list[View], operands: list[View]) -> None:
    """Write a loop over the kept dims, and inside it a loop over the reduced dims."""
    reducer, compute, dims = request.reducer, request.compute, request.dims
    shape = operands[0].layout.shape
    index = letters(shape)
    kept = ["0" if d in dims else i for d, i in enumerate(index)]
    inner = [i if d in dims else "0" for d, i in enumerate(index)]
    names = ["total"] if reducer.accumulators == 1 else [f"total_{k}" for k in range(reducer.accumulators)]
    with w.over(shape, kept):
        for name, identity in zip(names, reducer.identities):
            w.write(f"{name} = {first(identity, compute)}")
        with w.over(shape, inner):
            accumulate(w, reducer, names, added(w, reducer, operands, index, compute), compute)
        values = [variable(name) for name in names]
        if reducer.finish is not None:
            n = literal(float(numel(tuple([shape[d] for d in dims]))), compute)
            more = [n] if len(reducer.finish.args) > len(values) else []
            values = w.speller.apply(reducer.finish, [*values, *more], compute)
        for view, value in zip(outs, values, strict=True):
            w.store(view, kept, value, compute)


def first(identity: str, compute: np.dtype[Any]) -> str:
    """Return the text of the initial value of an accumulator."""
    value = first_accumulator(identity, compute)
    value = value.item() if isinstance(value, np.generic) else value
    whole = isinstance(value, float) and value.is_integer()
    return f"{type_of(compute)}({int(value) if whole else literal(value, compute)})"


def added(w: Writer, reducer: Any, operands: list[View], index: list[str], compute: np.dtype[Any]) -> list[Value]:
    """Return an element of each operand.

    An element that is only added needs no conversion if the accumulator's dtype can represent its value.
    """
    plain = reducer.adds and compute.kind != "b"
    kinds = [view.dtype.storage for view in operands]
    return [w.load(view, index, kind if plain and np.can_cast(kind, compute) else compute)
            for view, kind in zip(operands, kinds)]  # fmt: skip


def accumulate(w: Writer, reducer: Any, names: list[str], loads: list[Value], compute: np.dtype[Any]) -> None:
    """Write the line that adds one more element to the accumulators."""
    if reducer.adds and compute.kind != "b":
        w.write(f"{names[0]} += {loads[0]}")
        return
    values = w.speller.apply(reducer.scalar, [*map(variable, names), *loads], compute)
    w.write(f"{', '.join(names)} = {', '.join(map(str, values))}")


@prints(Scan)
def scan(w: Writer, request: Scan, outs: list[View], operands: list[View]) -> None:
    """Write a loop that stores each partial result."""
    shape, reducer, compute = outs[0].layout.shape, request.reducer, request.compute
    index = letters(shape)
    outer = ["0" if d == request.dim else i for d, i in enumerate(index)]
    inner = [i if d == request.dim else "0" for d, i in enumerate(index)]
    names = [f"total_{k}" if reducer.accumulators > 1 else "total" for k in range(reducer.accumulators)]
    with w.over(shape, outer):
        for name, identity in zip(names, reducer.identities):
            w.write(f"{name} = {first(identity, compute)}")
        with w.over(shape, inner):
            accumulate(w, reducer, names, added(w, reducer, operands, index, compute), compute)
            w.store(outs[0], index, variable(names[0]), compute)


@prints(Followed)
def followed(w: Writer, request: Followed, outs: list[View], operands: list[View]) -> None:
    """Write the loops of the product, which store a function of each result."""
    count = len(operands) - len(request.scalar.args) + 1
    compute, scalar, others = outs[0].dtype.storage, renamed(request.scalar), operands[count:]

    def function(text: str, index: list[str]) -> str:
        w.write(f"total = {type_of(compute)}({text})")
        values = [w.load(view, index, compute) for view in others]
        values.insert(request.position, variable("total"))
        return str(w.speller.apply(scalar, values, compute)[0])

    assert isinstance(request.request, Product)
    product(w, request.request, outs, operands[:count], function)


@prints(Product)
def product(
    w: Writer, request: Product, outs: list[View], operands: list[View],
    after: Callable[[str, list[str]], str] | None = None,
) -> None:  # fmt: skip
    """Write a loop over the rows and columns, and inside it a loop over the terms.

    after: returns the text of the value to store, from the text of a result and its indices.
    """
    out, a, b = outs[0], operands[0], operands[1]
    shape, length = out.layout.shape, a.layout.shape[-1]
    index = letters((*shape, length))
    *batch, i, j, k = index
    kind = out.dtype.storage.kind
    zero = {"f": "np.float64(0)", "b": "False"}.get(kind, f"{type_of(out.dtype.storage)}(0)")
    with w.over(shape, index):
        w.write(f"total = {zero}")
        with w.over([length], [k]):
            sign = "&" if kind == "b" else "*"
            terms = [w.load(view, x, out.dtype.storage) for view, x in ((a, [*batch, i, k]), (b, [*batch, k, j]))]
            w.write(f"total {'|' if kind == 'b' else '+'}= {terms[0]} {sign} {terms[1]}")
        text = "total" if request.alpha == 1 else f"{request.alpha} * total"
        if len(operands) > 2:
            c = w.load(operands[2], index[:-1], out.dtype.storage)
            text += f" + {c}" if request.beta == 1 else f" + {request.beta} * {c}"
        w.write(f"{w.at(out, index[:-1])} = {text if after is None else after(text, index[:-1])}")
