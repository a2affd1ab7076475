"""Launches on rows as Python loops: softmax, normalisation and cross-entropy; `loops.py` prints other launches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad.core.dtype import as_dtype
from minigrad.core.requests import MapRows, Pick, PickBack, SumColumns, Unpick
from minigrad.core.rows import RowFn
from minigrad.jitting.composing import View
from minigrad.jitting.loops import Writer, letters, moved, prints
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


@prints(MapRows)
def map_rows(w: Writer, request: MapRows, outs: list[View], operands: list[View]) -> None:
    """Write a loop over the rows: first the totals of a row, then its elements."""
    (out,), compute = outs, outs[0].dtype.storage
    index = letters(out.layout.shape)
    row = Row(w, request.fn, operands, index, request.dim, compute)
    outer = ["0" if d == request.dim else i for d, i in enumerate(index)]
    with w.over(out.layout.shape, outer, f"{request.fn.name} of each row"):
        row.write_totals(request.value)
        with row.along():
            assert request.fn.result is not None
            w.store(out, index, row.value(request.fn.result, index), compute)


@prints(Pick)
def pick(w: Writer, request: Pick, outs: list[View], operands: list[View]) -> None:
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


@prints(PickBack)
def pick_back(w: Writer, request: PickBack, outs: list[View], operands: list[View]) -> None:
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


@prints(Unpick)
def unpick(w: Writer, request: Unpick, outs: list[View], operands: list[View]) -> None:
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


@prints(SumColumns)
def sum_columns(w: Writer, request: SumColumns, outs: list[View], operands: list[View]) -> None:
    """Write a loop over the rows that adds up each term per column."""
    fn, compute, shape = request.fn, outs[0].dtype.storage, operands[0].layout.shape
    index = letters(shape)
    row = Row(w, fn, operands, index, len(shape) - 1, compute)
    made = fn.result is not None
    lines = [[*["0"] * (view.layout.ndim - 1), index[-1]] for view in outs[made:]]
    for view, at in zip(outs[made:], lines):
        with row.along():
            w.write(f"{w.at(view, at)} = 0.0")
    with w.over(shape[:-1], index[:-1], f"{fn.name} of each row, and sums over the rows"):
        row.write_totals(request.value)
        with row.along():
            if fn.result is not None:
                w.store(outs[0], index, row.value(fn.result, index), compute)
            for view, at, term in zip(outs[made:], lines, fn.terms, strict=True):
                w.write(f"{w.at(view, at)} += {row.value(term, index)}")
