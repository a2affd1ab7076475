"""Parts of services that several devices share: lines along a dim, positions, products, and tables of tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from math import prod
from typing import Any, Generic, TypeVar

from minigrad.backends.base import serves
from minigrad.backends.steps import Ints, Steps, Value
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.core.plan import walk, without
from minigrad.core.requests import Many, Request
from minigrad.core.strides import merge_dims


def lines_of(specs: Sequence[Spec], dim: int, shape: Ints) -> tuple[Ints, list[tuple[int, int, Ints]]]:
    """Return the dims of the lines along one dim, and for each tensor the offset, the step, and the strides of lines.

    shape: the shape in which all of them are traversed; their sizes of `dim` may differ.
    """
    dims, strides, offsets = walk([without(x.layout, shape, dim) for x in specs])
    return dims, [(offset, x.layout.strides[dim], s) for x, offset, s in zip(specs, offsets, strides, strict=True)]


def serve_positions(
    device: type[Any], kind: type[Request], find: Callable[[Any, Any, Value, Value | None], None]
) -> None:
    """Register the service of a request whose results are positions, or elements and their positions.

    find: adds the steps that write the positions, and the elements unless that value is None.
    """

    @serves(device, kind)
    def positions(steps: Steps, request: Request) -> None:
        *values, out = steps.outs
        if values and values[0].layout is not out.layout:
            steps.lower(request)
        elif out.layout.numel:
            find(steps, request, out, values[0] if values else None)


class Problem:
    """The sizes of one product, and the offset and strides of each operand, with merged batch dims.

    steps: strides of the batch, for the left and the right operand, the added matrix and the result.
    """

    def __init__(self, out: Layout, a: Layout, b: Layout, c: Layout | None) -> None:
        self.m, self.k = a.shape[-2:]
        self.n = b.shape[-1]
        self.out, self.a, self.b, self.c = out.offset, a.offset, b.offset, c.offset if c else 0
        self.am, self.ak = a.strides[-2:]
        self.bk, self.bn = b.strides[-2:]
        self.om, self.on = out.strides[-2:]
        self.cm, self.cn = c.strides[-2:] if c else (0, 0)
        added = c.strides[:-2] if c else (0,) * (len(out.shape) - 2)
        batch = [a.strides[:-2], b.strides[:-2], added, out.strides[:-2]]
        self.sizes, steps = merge_dims(out.shape[:-2], batch)
        self.steps: list[Ints] = list(steps)
        if self.sizes and not any(self.steps[1]):
            self._join_rows()

    def _join_rows(self) -> None:
        """Convert batch dims to rows where they are evenly spaced; there is one right operand for the whole batch."""
        left, _, added, result = self.steps
        columns = [(*left, self.am), (*added, self.cm), (*result, self.om)]
        rows, (steps_a, steps_c, steps_o) = merge_dims((*self.sizes, self.m), columns)
        if not rows:
            rows, steps_a, steps_c, steps_o = (1,), (self.am,), (self.cm,), (self.om,)
        self.m, self.am, self.cm, self.om = rows[-1], steps_a[-1], steps_c[-1], steps_o[-1]
        self.sizes = rows[:-1]
        self.steps = [steps_a[:-1], (0,) * len(self.sizes), steps_c[:-1], steps_o[:-1]]

    def part_rows(self) -> None:
        """Make each row of the left operand a separate product."""
        left, right, added, result = self.steps
        self.sizes = (*self.sizes, self.m)
        self.steps = [(*left, self.am), (*right, 0), (*added, self.cm), (*result, self.om)]
        self.m = 1

    def transposed(self) -> Problem:
        """Return the product of the transposed operands in reverse order, whose result is the transpose."""
        result = copy(self)
        result.m, result.n, result.a, result.b = self.n, self.m, self.b, self.a
        result.am, result.ak, result.bk, result.bn = self.bn, self.bk, self.ak, self.am
        result.om, result.on, result.cm, result.cn = self.on, self.om, self.cn, self.cm
        result.steps = [self.steps[1], self.steps[0], *self.steps[2:]]
        return result

    @property
    def batches(self) -> int:
        """The number of products."""
        return prod(self.sizes)


def points_of(out: Value, x: Value, w: Value, bias: Value | None) -> tuple[Value, Value, Value, Value | None] | None:
    """Return a convolution of single points as a matrix product: its result, both operands and the added matrix.

    w has dims (group, M, C, taps).  None is returned if there are groups, or if the points are not evenly spaced in
    memory.
    """
    groups, m, c = w.shape[:3]
    if groups > 1:
        return None
    n, points = out.shape[0], prod(out.shape[2:])
    matrix, results = x.layout.reshape((n, c, points)), out.layout.reshape((n, m, points))
    if matrix is None or results is None:
        return None
    left = w.seen(Layout.make((n, m, c), (0, *w.layout.strides[1:3]), w.layout.offset))
    if bias is not None:
        bias = bias.seen(Layout.make((n, m, points), (0, bias.layout.strides[0], 0), bias.layout.offset))
    return out.seen(results), left, x.seen(matrix), bias


T = TypeVar("T")


class Table(Generic[T]):
    """The arguments of a launch of `Many` (buffers, Specs or Values) as a table.

    A launch receives the columns that are only read, one column after another, then the constants, then the columns
    that are written.  Each column contains all rows.  The arguments of the scalar function begin with the columns that
    are written.

    columns: the number of tensors per row.
    written: the number of these that are results.
    """

    def __init__(self, request: Many, arguments: Sequence[T]) -> None:
        self.arguments, self.rows, self.written = arguments, request.rows, request.scalar.results
        self.columns = (len(arguments) - 1) // request.rows

    @property
    def middle(self) -> int:
        """The position of the constants among the arguments."""
        return (self.columns - self.written) * self.rows

    @property
    def constants(self) -> T:
        """The float64 vector that follows the tensors of each row as arguments."""
        return self.arguments[self.middle]

    def first(self, column: int) -> int:
        """Return the position among the arguments at which the tensors of a column begin."""
        if column < self.written:
            return self.middle + 1 + column * self.rows
        return (column - self.written) * self.rows

    def row(self, row: int) -> list[T]:
        """Return the tensors of a row, in the order of the scalar function's arguments."""
        return [self.arguments[self.first(column) + row] for column in range(self.columns)]

    def picked(self, rows: Sequence[int]) -> tuple[list[T], list[T]]:
        """Return the results and the operands of some rows, in the order of a separate request."""
        starts = [self.first(column) for column in range(self.columns)]
        tensors = [[self.arguments[start + row] for row in rows] for start in starts]
        outs = [x for column in tensors[: self.written] for x in column]
        return outs, [*[x for column in tensors[self.written :] for x in column], self.constants]
