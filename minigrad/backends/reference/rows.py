"""Rows, one element at a time: their totals, the results computed from them, and sums down the columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.host import HostMemory
from minigrad.backends.launch import Loop
from minigrad.backends.reference.elements import INT64, Buffer, quiet, read, write
from minigrad.backends.reference.scalars import compute_type, python_function
from minigrad.core import requests
from minigrad.core.dtype import as_dtype
from minigrad.core.layout import Layout
from minigrad.core.op import ScalarFn, Spec
from minigrad.core.rows import RowFn

Row = list[tuple[Any, ...]]


def first_arguments(scalar: ScalarFn, compute: np.dtype[Any]) -> Callable[..., Any]:
    """Return a scalar function that also accepts more arguments than it has, and ignores these."""
    function, count = python_function(scalar, compute), len(scalar.args)
    return lambda *args: function(*args[:count])


def named_arguments(scalar: ScalarFn | None, fn: RowFn, compute: np.dtype[Any]) -> Callable[..., Any]:
    """Return a function of an element and totals that passes on the arguments that a scalar function names.

    For None, the function returns None.
    """
    if scalar is None:
        return lambda *args: None
    function, at = python_function(scalar, compute), [fn.names.index(a) for a in scalar.args]
    return lambda *args: function(*[args[p] for p in at])


def totals_of(fn: RowFn, compute: np.dtype[Any], value: float) -> Callable[[Row], tuple[Any, ...]]:
    """Return a function that computes all totals of a row, which is a list with one tuple per element."""
    number = compute_type(compute)
    start = {"sum": number(0), "max": number(as_dtype(compute).lowest)}
    terms = [named_arguments(total.term, fn, compute) for total in fn.totals]
    finishes = [None if total.finish is None else first_arguments(total.finish, compute) for total in fn.totals]

    def find(row: Row) -> tuple[Any, ...]:
        totals: tuple[Any, ...] = ()
        for total, term, finish in zip(fn.totals, terms, finishes, strict=True):
            joined = start[total.join]
            for element in row:
                one = term(*element, *totals)
                joined = joined + one if total.join == "sum" else (one if one > joined else joined)
            totals += (number(joined if finish is None else finish(joined, number(len(row)), number(value))),)
        return totals

    return find


def rows_of(shape: tuple[int, ...], dim: int) -> Iterator[list[int]]:
    """Yield the row-major positions of each row's elements."""
    order = (*(d for d in range(len(shape)) if d != dim), dim)
    positions = list(Layout.contiguous(shape).permute(order).offsets())
    n = shape[dim]
    return (positions[i : i + n] for i in range(0, len(positions), n or 1))


def shares_of(
    labels: Sequence[int], buffers: Sequence[Buffer], weight: Sequence[Spec], ignore: int, compute: np.dtype[Any]
) -> list[Any]:
    """Return the weight of each row: 0 for an ignored class, otherwise 1 or the element of the weights.

    buffers: the buffer of the weights, if there are any, followed by other buffers.
    """
    number = compute_type(compute)
    weights = read(buffers[0], weight[0], compute) if weight else None
    return [number(0) if t == ignore else number(1) if weights is None else weights[t] for t in labels]


class Rows(HostMemory):
    """The methods that prepare softmax, normalisation and similar requests."""

    @serves(requests.MapRows)
    def map_rows(self, out: Spec, *operands: Spec, fn: RowFn, dim: int, value: float) -> Loop:
        compute = out.dtype.compute
        find, result = totals_of(fn, compute, value), named_arguments(fn.result, fn, compute)

        def launch(*buffers: Buffer) -> None:
            elements = list(zip(*[read(b, s, compute) for b, s in zip(buffers, operands)], strict=True))
            results: list[Any] = [None] * len(elements)
            for positions in rows_of(out.shape, dim):
                totals = find([elements[p] for p in positions])
                for p in positions:
                    results[p] = result(*elements[p], *totals)
            write(buffers[-1], out, results, compute)

        return quiet(launch)

    @serves(requests.Pick)
    def pick(self, out: Spec, x: Spec, target: Spec, *weight: Spec, fn: RowFn, ignore: int, reduction: str) -> Loop:
        compute, n = out.dtype.compute, x.shape[-1]
        find, result = totals_of(fn, compute, 0.0), named_arguments(fn.result, fn, compute)
        number = compute_type(compute)

        def launch(buffer: Buffer, chosen: Buffer, *more: Buffer) -> bool:
            labels = [int(t) for t in read(chosen, target, INT64)]
            if any(label != ignore and not 0 <= label < n for label in labels):
                return True
            elements = [(value,) for value in read(buffer, x, compute)]
            shares = shares_of(labels, more, weight, ignore, compute)
            losses = []
            for r, (label, share) in enumerate(zip(labels, shares, strict=True)):
                row = elements[r * n : (r + 1) * n]
                losses.append(number(0) if label == ignore else number(-result(*row[label], *find(row)) * share))
            if reduction != "none":
                total = np.sum(np.array(losses, np.float64))
                losses = [number(total / np.sum(np.array(shares, np.float64)) if reduction == "mean" else total)]
            write(more[-1], out, losses, compute)
            return False

        return quiet(launch)

    @serves(requests.Unpick)
    def unpick(self, out: Spec, dy: Spec, target: Spec, *weight: Spec, ignore: int, reduction: str) -> Loop:
        compute, n = out.dtype.compute, out.shape[-1]
        number = compute_type(compute)
        wide = Spec(dy.layout.expand(target.shape), dy.dtype)

        def launch(g: Buffer, chosen: Buffer, *more: Buffer) -> bool:
            labels = [int(t) for t in read(chosen, target, INT64)]
            if any(label != ignore and not 0 <= label < n for label in labels):
                return True
            shares = shares_of(labels, more, weight, ignore, compute)
            scale = number(1 / np.sum(np.array(shares, np.float64)) if reduction == "mean" else 1)
            results: list[Any] = []
            for label, head, share in zip(labels, read(g, wide, compute), shares, strict=True):
                hit = number(0) if label == ignore else number(-number(head * scale) * share)
                results += [hit if j == label != ignore else number(0) for j in range(n)]
            write(more[-1], out, results, compute)
            return False

        return quiet(launch)

    @serves(requests.PickBack)
    def pick_backward(
        self, out: Spec, dy: Spec, x: Spec, target: Spec, *, fn: RowFn, ignore: int, reduction: str
    ) -> Loop:
        compute, n = out.dtype.compute, x.shape[-1]
        find, result = totals_of(fn, compute, 0.0), named_arguments(fn.result, fn, compute)
        number = compute_type(compute)
        wide = Spec(dy.layout.expand(target.shape), dy.dtype)

        def launch(g: Buffer, buffer: Buffer, chosen: Buffer, z: Buffer) -> None:
            elements = [(value,) for value in read(buffer, x, compute)]
            labels = [int(t) for t in read(chosen, target, INT64)]
            count = np.float64(sum(label != ignore for label in labels))
            share = number(1 / count if reduction == "mean" else 1)
            results: list[Any] = []
            for r, (label, head) in enumerate(zip(labels, read(g, wide, compute), strict=True)):
                row = elements[r * n : (r + 1) * n]
                totals = () if label == ignore else find(row)
                for j, element in enumerate(row):
                    if label == ignore:  # an ignored row is exactly 0; if all rows are ignored, the factor is inf
                        results.append(number(0))
                    else:
                        results.append(number((result(*element, *totals) - number(j == label)) * (head * share)))
            write(z, out, results, compute)

        return quiet(launch)

    @serves(requests.SumColumns)
    def sum_columns(self, *specs: Spec, fn: RowFn, value: float) -> Loop:
        made, count = fn.result is not None, len(specs) - len(fn.operands)
        outs, operands = specs[:count], specs[count:]
        compute, shape = outs[0].dtype.compute, operands[0].shape
        number, find = compute_type(compute), totals_of(fn, compute, value)
        result = named_arguments(fn.result, fn, compute)
        terms = [named_arguments(term, fn, compute) for term in fn.terms]

        def launch(*buffers: Buffer) -> None:
            elements = list(zip(*[read(b, s, compute) for b, s in zip(buffers, operands)], strict=True))
            sums: list[list[Any]] = [[number(0)] * shape[-1] for _ in terms]
            rows = []
            for positions in rows_of(shape, len(shape) - 1):
                totals = find([elements[p] for p in positions])
                for j, p in enumerate(positions):
                    rows.append(result(*elements[p], *totals))
                    for column, term in zip(sums, terms, strict=True):
                        column[j] = number(column[j] + term(*elements[p], *totals))
            values = [rows, *sums] if made else sums
            for buffer, out, each in zip(buffers[len(operands) :], outs, values, strict=True):
                write(buffer, out, each, compute)

        return quiet(launch)
