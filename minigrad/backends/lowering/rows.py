"""Rows: a total is a term per element and its reduction; a result is a function of elements and totals."""

from __future__ import annotations

from collections.abc import Sequence

from minigrad.backends.base import Backend, serves
from minigrad.backends.lowering import functions
from minigrad.backends.steps import Steps, Value, shortened, viewed
from minigrad.core.dtype import DType, as_dtype, bool_, float64, int64
from minigrad.core.layout import Layout
from minigrad.core.op import ScalarFn
from minigrad.core.requests import Bounds, Gather, MapRows, Pick, PickBack, Scatter, Unpick
from minigrad.core.rows import RowFn


def of_row(steps: Steps, scalar: ScalarFn, out: Value, seen: Sequence[Value], fn: RowFn) -> None:
    """Apply a scalar function to the elements and totals of a row that it names."""
    steps.each(scalar, out, *[seen[fn.names.index(name)] for name in scalar.args])


def totals_of(steps: Steps, fn: RowFn, elements: list[Value], dim: int, dtype: DType, value: float) -> list[Value]:
    """Return all totals of each row, of size 1 along `dim`."""
    shape = elements[0].shape
    kept = shortened(shape, (dim,))
    totals: list[Value] = []
    length, parameter = steps.constant(float(shape[dim]), dtype), steps.constant(value, dtype)
    for total in fn.totals:
        terms, joined = steps.work(shape, dtype), steps.work(kept, dtype)
        of_row(steps, total.term, terms, [*elements, *totals], fn)
        steps.reducer({"sum": functions.SUM, "max": functions.TOP}[total.join], joined, terms, (dim,))
        if total.finish is not None:
            arguments = [joined, length, parameter]  # `finish` takes the first one, two or three of these arguments
            steps.each(total.finish, joined, *arguments[: len(total.finish.args)])
        totals.append(joined)
    return totals


@serves(Backend, MapRows)
def map_rows(steps: Steps, request: MapRows) -> None:
    """Compute the totals, the result if there is one, and the sum of each term over all dims except the last."""
    outs_left, elements, fn = list(steps.outs), steps.operands, request.fn
    shape, dtype = elements[0].shape, as_dtype(steps.outs[0].dtype.compute)
    seen = [*elements, *totals_of(steps, fn, elements, request.dim, dtype, request.value)]
    if fn.result is not None:
        of_row(steps, fn.result, outs_left.pop(0), seen, fn)
    for term, line in zip(fn.terms, outs_left, strict=True):
        terms, rows = steps.work(shape, dtype), range(len(shape) - 1)
        of_row(steps, term, terms, seen, fn)
        steps.reducer(functions.SUM, viewed(line, shortened(shape, rows)), terms, rows)


@serves(Backend, Pick)
def pick(steps: Steps, request: Pick) -> None:
    """Gather the element that each target selects, and compute its result; the index of an ignored row is 0."""
    (out,), (x, target, *weight) = steps.outs, steps.operands
    dtype, last = as_dtype(out.dtype.compute), len(x.shape) - 1
    totals = totals_of(steps, request.fn, [x], last, dtype, 0.0)
    ignored, index = classes_of(steps, target.seen(target.layout.unsqueeze(-1)), request.ignore, x.shape[-1])
    kept = index.shape
    element, loss = steps.work(kept, x.dtype), steps.work(kept, dtype)
    steps.ask(Gather(last), element, x, index)
    assert request.fn.result is not None
    of_row(steps, request.fn.result, loss, [element, *totals], request.fn)
    steps.each(functions.NEGATIVE_UNLESS, loss, loss, ignored)
    share = shares_of(steps, weight[0], index, ignored, x.shape, dtype) if weight else None
    if share is not None:
        steps.each(functions.PRODUCT, loss, loss, share)
    if request.reduction == "none":
        steps.copy(out, viewed(loss, target.shape))
        return
    total = summed(steps, loss)
    if request.reduction == "mean":
        steps.each(functions.QUOTIENT, total, total, counted(steps, ignored) if share is None else summed(steps, share))
    steps.copy(out, viewed(total, out.shape))


@serves(Backend, Unpick)
def unpick(steps: Steps, request: Unpick) -> None:
    """Add minus the incoming gradients, times the weights of their classes, into zeros."""
    (out,), (dy, target, *weight) = steps.outs, steps.operands
    dtype, last = as_dtype(out.dtype.compute), len(out.shape) - 1
    ignored, index = classes_of(steps, target.seen(target.layout.unsqueeze(-1)), request.ignore, out.shape[-1])
    value, zero = steps.work(index.shape, dtype), steps.constant(0, out.dtype)
    share = shares_of(steps, weight[0], index, ignored, out.shape, dtype) if weight else None
    scale = steps.constant(1.0, float64)
    if request.reduction == "mean":
        total = steps.work((1,) * len(index.shape), float64)
        steps.each(functions.QUOTIENT, total, scale, counted(steps, ignored) if share is None else summed(steps, share))
        scale = total
    heads = dy.seen(dy.layout.expand(target.shape).unsqueeze(-1))
    steps.each(functions.PICKED_GRADIENT, value, zero, steps.constant(1, dtype), ignored, heads, scale)
    if share is not None:
        steps.each(functions.PRODUCT, value, value, share)
    steps.ask(Scatter(last), out, zero.seen(Layout.contiguous(()).expand(out.shape)), index, value)


def shares_of(steps: Steps, weight: Value, index: Value, ignored: Value, shape: tuple[int, ...], dtype: DType) -> Value:
    """Return the weight of the class of each row, 0 for an ignored class. shape: of the rows, with their elements."""
    chosen, share = steps.work(index.shape, weight.dtype), steps.work(index.shape, dtype)
    steps.ask(Gather(len(shape) - 1), chosen, weight.expand(shape), index)
    steps.each(functions.UNLESS, share, chosen, ignored)
    return share


def summed(steps: Steps, x: Value, dtype: DType = float64) -> Value:
    """Return the sum of the elements, as a scalar that broadcasts to any shape."""
    total = steps.work((1,) * len(x.shape), dtype)
    steps.reducer(functions.SUM, total, x, range(len(x.shape)))
    return total


def ignored_rows(steps: Steps, target: Value, ignore: int) -> Value:
    """Return whether the class of each row is the index that stands for no class."""
    ignored = steps.work(target.shape, bool_)
    steps.each(functions.EQUAL, ignored, target, steps.constant(ignore, int64), compute=int64.compute)
    return ignored


def classes_of(steps: Steps, target: Value, ignore: int, classes: int) -> tuple[Value, Value]:
    """Return whether each row is ignored, and its class, which is 0 for an ignored row.

    The launch ends here if a class does not exist.
    """
    ignored, index = ignored_rows(steps, target, ignore), steps.work(target.shape, int64)
    steps.each(functions.CHOSEN, index, ignored, steps.constant(0, int64), target)
    if index.layout.numel:
        bounds = steps.work((2,), int64)
        steps.ask(Bounds(), bounds, index)
        steps.check(bounds, 0, classes - 1)
    return ignored, index


def counted(steps: Steps, ignored: Value) -> Value:
    """Return the number of rows that count, as a scalar that broadcasts to any shape."""
    counts = steps.work(ignored.shape, int64)
    steps.each(functions.UNLESS, counts, steps.constant(1, int64), ignored)
    return summed(steps, counts, int64)


@serves(Backend, PickBack)
def pick_back(steps: Steps, request: PickBack) -> None:
    """Compare each position with the target of its row, and compute the gradient."""
    (out,), (dy, x, target) = steps.outs, steps.operands
    dtype, last = as_dtype(out.dtype.compute), len(x.shape) - 1
    totals = totals_of(steps, request.fn, [x], last, dtype, 0.0)
    named = target.seen(target.layout.unsqueeze(-1))
    ignored = ignored_rows(steps, named, request.ignore)
    hit, result = steps.work(x.shape, bool_), steps.work(x.shape, dtype)
    steps.each(functions.EQUAL, hit, named, steps.positions(x.shape[-1], last + 1, last), compute=int64.compute)
    assert request.fn.result is not None
    of_row(steps, request.fn.result, result, [x, *totals], request.fn)
    share = steps.work((1,) * len(x.shape), float64)
    steps.fill(share, 1)
    if request.reduction == "mean":
        steps.each(functions.QUOTIENT, share, share, counted(steps, ignored))
    heads = dy.seen(dy.layout.expand(target.shape).unsqueeze(-1))
    steps.each(functions.PICKED_GRADIENT, out, result, hit, ignored, heads, share)
