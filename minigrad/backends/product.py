"""One matrix product as sizes, offsets and strides, which all backends share."""

from __future__ import annotations

from math import prod

from minigrad.core.layout import Layout
from minigrad.core.strides import merge_dims

Ints = tuple[int, ...]


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

    @property
    def batches(self) -> int:
        """The number of products."""
        return prod(self.sizes)
