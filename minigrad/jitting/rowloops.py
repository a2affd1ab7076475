"""Reductions, products and row operations such as softmax as Python loops; `loops.py` prints other launches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from minigrad.backends.reference.scalars import first_accumulator
from minigrad.core import requests
from minigrad.core.dtype import as_dtype
from minigrad.core.rows import RowFn
from minigrad.jitting.composing import View
from minigrad.jitting.loops import Writer, letters, moved, prints, renamed
from minigrad.jitting.spelling import Value, literal, type_of, variable


class Row:
    """The totals of a row in a text.

    index: the index of an element.
    names: the names of the totals in the text.
    """

    def __init__(
        self, w: Writer, fn: RowFn, operands: Sequence[View], index: Sequence[str], dim: int, compute: np.dtype[Any]
    ) -> None:
        self.w, self.fn, self.operands, self.index, self.compute = w, fn, operands, list(index), compute
        self.dim, self.length = dim, operands[0].layout.shape[dim]
        used = {array.name for array in w.arrays.arrays.values()}
        self.names = {total.name: total.name + "_" * (total.name in used) for total in fn.totals}

    def value(self, scalar: Any, index: Sequence[str]) -> Value:
        """Return a scalar function of an element and the totals."""
        values = []
        for name in scalar.args:
            if name in self.names:
                values.append(variable(self.names[name]))
            else:
                values.append(self.w.load(self.operands[self.fn.operands.index(name)], index, self.compute))
        return self.w.speller.apply(scalar, values, self.compute)[0]

    def along(self) -> Any:
        """Open the loop along the row."""
        return self.w.over([self.length], [self.index[self.dim]])

    def write_totals(self, value: float = 0.0) -> None:
        """Write the lines that compute the totals. value: the parameter of the finishing functions."""
        w, compute = self.w, self.compute
        for total in self.fn.totals:
            name = self.names[total.name]
            start = literal(np.asarray(as_dtype(compute).lowest).item(), compute)
            w.write(f"{name} = {f'{type_of(compute)}(0)' if total.join == 'sum' else start}")
            with self.along():
                term = self.value(total.term, self.index)
                w.write(f"{name} += {term}" if total.join == "sum" else f"{name} = max({name}, {term})")
            if total.finish is not None:
                facts = [variable(name), literal(float(self.length), compute), literal(float(value), compute)]
                (last,) = w.speller.apply(total.finish, facts[: len(total.finish.args)], compute)
                w.write(f"{name} = {last}")


@prints(requests.MapRows)
def map_rows(w: Writer, request: requests.MapRows, outs: list[View], operands: list[View]) -> None:
    """Write a loop over the rows: first the totals of a row, then its elements, which are added to sums of columns."""
    fn, compute, shape = request.fn, outs[0].dtype.storage, operands[0].layout.shape
    index = letters(shape)
    row = Row(w, fn, operands, index, request.dim, compute)
    outer = ["0" if d == request.dim else i for d, i in enumerate(index)]
    sums = outs[fn.result is not None :]
    lines = [[*["0"] * (view.layout.ndim - 1), index[-1]] for view in sums]
    for view, at in zip(sums, lines):
        with row.along():
            w.write(f"{w.at(view, at)} = 0.0")
    with w.over(shape, outer, f"{fn.name} of each row{', and sums over the rows' if sums else ''}"):
        row.write_totals(request.value)
        with row.along():
            if fn.result is not None:
                w.store(outs[0], index, row.value(fn.result, index), compute)
            for view, at, term in zip(sums, lines, fn.terms, strict=True):
                w.write(f"{w.at(view, at)} += {row.value(term, index)}")


@prints(requests.Pick)
def pick(w: Writer, request: requests.Pick, outs: list[View], operands: list[View]) -> None:
    """Write a loop over the rows: the totals, and the element that the target names."""
    (out,), (x, target, *weight), compute = outs, operands, outs[0].dtype.storage
    shape = x.layout.shape
    index = letters(shape)
    row = Row(w, request.fn, [x], index, len(shape) - 1, compute)
    single = request.reduction != "none"
    label = w.at(target, index[:-1])
    share = str(w.load(weight[0], [label], compute)) if weight else "1"
    if single:
        w.write("total, count = np.float64(0), 0")
    with w.over(
        shape[:-1], index[:-1], f"{request.fn.name} at the target; rows with target {request.ignore} do not count"
    ):
        w.write(f"if {label} == {request.ignore}:")
        w.write("    continue" if single and index[:-1] != ["0"] * len(index[:-1]) else f"    {skipped(w, out, index)}")
        if not single or index[:-1] == ["0"] * len(index[:-1]):
            w.write("else:")
        deeper = not single or all(i == "0" for i in index[:-1])
        w.depth += deeper
        row.write_totals()
        assert request.fn.result is not None
        value = str(row.value(request.fn.result, [*index[:-1], label]))
        value = f"({value}) * {share}" if weight else value
        if single:
            w.write(f"total -= {value}")
            w.write(f"count += {share}")
        else:
            w.write(f"{w.at(out, index[:-1])} = -({value})")
        w.depth -= deeper
    if single:
        w.write(f"{w.at(out, ['0'] * out.layout.ndim)} = total{' / count' if request.reduction == 'mean' else ''}")


def skipped(w: Writer, out: View, index: Sequence[str]) -> str:
    """Return the statement for a row that does not count."""
    return f"{w.at(out, index[:-1])} = 0.0" if len(index) - 1 == out.layout.ndim and out.layout.ndim else "pass"


@prints(requests.PickBack)
def pick_back(w: Writer, request: requests.PickBack, outs: list[View], operands: list[View]) -> None:
    """Write a loop over the rows: the totals, and the gradient of each element."""
    (out,), (dy, x, target), compute = outs, operands, outs[0].dtype.storage
    shape = x.layout.shape
    index = letters(shape)
    row = Row(w, request.fn, [x], index, len(shape) - 1, compute)
    label = w.at(target, index[:-1])
    share = w.load(moved(dy, dy.layout.expand(target.layout.shape)), index[:-1], compute)
    if request.reduction == "mean":
        write_count(w, shape, index, f"{label} != {request.ignore}")
    with w.over(shape[:-1], index[:-1], f"the gradient: {request.fn.name}, less 1 at the target"):
        row.write_totals()
        with row.along():
            assert request.fn.result is not None
            result = row.value(request.fn.result, index)
            part = f"({result} - ({index[-1]} == {label}))"
            part += "" if str(share) == "1.0" else f" * {share}"
            part += " / count" if request.reduction == "mean" else ""
            w.write(f"{w.at(out, index)} = {part} if {label} != {request.ignore} else 0.0")


def write_count(w: Writer, shape: Sequence[int], index: Sequence[str], counts: str, share: str = "1") -> None:
    """Write the line that counts the rows for which a condition holds, or adds up their shares."""
    outer = [(str(n), i) for n, i in zip(shape, index[:-1]) if i != "0"]
    kind = "range" if len(outer) == 1 else "np.ndindex"
    loop = f" for {', '.join([i for _, i in outer])} in {kind}({', '.join([n for n, _ in outer])})"
    term = counts if share == "1" else f"{share} if {counts} else 0.0"
    w.write(f"count = sum({term}{loop})" if outer else f"count = np.float64({term})")


@prints(requests.Unpick)
def unpick(w: Writer, request: requests.Unpick, outs: list[View], operands: list[View]) -> None:
    """Write a loop over the elements, which are 0 except at the targets."""
    (out,), (dy, target, *weight), compute = outs, operands, outs[0].dtype.storage
    shape = out.layout.shape
    index = letters(shape)
    label = w.at(target, index[:-1])
    counts = f"{label} != {request.ignore}"
    share = str(w.load(weight[0], [label], compute)) if weight else "1"
    if request.reduction == "mean":
        write_count(w, shape, index, counts, share)
    head = w.load(moved(dy, dy.layout.expand(target.layout.shape)), index[:-1], compute)
    with w.over(shape, index, f"minus the incoming gradient at the target; none for {request.ignore}"):
        value = f"-{head}{f' * {share}' if weight else ''}{' / count' if request.reduction == 'mean' else ''}"
        w.write(f"{w.at(out, index)} = {value} if {index[-1]} == {label} != {request.ignore} else 0.0")


# ---- reductions, running reductions and products ---------------------------------------------------------------------


@prints(requests.Reduce)
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
            n = literal(float(prod(tuple([shape[d] for d in dims]))), compute)
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


@prints(requests.Scan)
def scan(w: Writer, request: requests.Scan, outs: list[View], operands: list[View]) -> None:
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


@prints(requests.Followed)
def followed(w: Writer, request: requests.Followed, outs: list[View], operands: list[View]) -> None:
    """Write the loops of the product, which store a function of each result."""
    count = len(operands) - len(request.scalar.args) + 1
    compute, scalar, others = outs[0].dtype.storage, renamed(request.scalar), operands[count:]

    def function(text: str, index: list[str]) -> str:
        w.write(f"total = {type_of(compute)}({text})")
        values = [w.load(view, index, compute) for view in others]
        values.insert(request.position, variable("total"))
        return str(w.speller.apply(scalar, values, compute)[0])

    assert isinstance(request.request, requests.Product)
    product(w, request.request, outs, operands[:count], function)


@prints(requests.Product)
def product(
    w: Writer, request: requests.Product, outs: list[View], operands: list[View],
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
