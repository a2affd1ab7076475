"""Functions that make the requests of a backend, for tests of kernels and of the contract.

`asking(backend).gather(out, x, index, 1)` prepares `Gather(1)`.  Launches of what takes scalars take Python's numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.core import requests as ask
from minigrad.core.device import CPU
from minigrad.core.dtype import cast_array, float64, int64
from minigrad.core.layout import Layout, along
from minigrad.core.op import Spec
from minigrad.kernels import philox

SCALAR = Layout.contiguous(())


def whole(index, like, dim):
    """An index vector as one that has an entry for each element of a tensor."""
    return Spec(along(index.layout, like.shape, dim), index.dtype)


class Asking:
    """A backend, and a function for each kind of request."""

    def __init__(self, backend: Any) -> None:
        self.backend = backend

    def __getattr__(self, name: str) -> Any:
        return getattr(self.backend, name)

    def give(self, values, dtype):
        """A buffer of the backend's with some values; `dtype` says which they are."""
        return self.backend.from_host(np.asarray(values), dtype, CPU).buffer

    def elementwise(self, scalar, compute, out, operands):
        return self.prepare(ask.Elementwise(scalar, compute), out, *operands)

    def copy(self, out, a):
        return self.prepare(ask.Copy(), out, a)

    def join(self, out, parts, dim):
        return self.prepare(ask.Join(dim), out, *parts)

    def reduce(self, reducer, compute, out, a, dims):
        return self.prepare(ask.Reduce(reducer, compute, dims), out, *(a if isinstance(a, tuple) else (a,)))

    def argreduce(self, better, out, a, dim):
        return self.prepare(ask.Extreme(better, dim), out, a)

    def matmul(self, out, a, b):
        return self.prepare(ask.Product(), out, a, b)

    def addmm(self, out, a, b, c, alpha, beta):
        if beta:
            return self.prepare(ask.Product(alpha, beta), out, a, b, c)
        launch = self.prepare(ask.Product(alpha), out, a, b)
        return lambda x, y, _, z: launch(x, y, z)

    def gather(self, out, a, index, dim):
        return self.prepare(ask.Gather(dim), out, a, index)

    def scatter_add(self, out, a, index, src, dim):
        return self.prepare(ask.Scatter(dim), out, a, index, src)

    def index_select(self, out, a, index, dim):
        return self.prepare(ask.Gather(dim), out, a, whole(index, out, dim))

    def index_add(self, out, a, index, src, dim):
        return self.prepare(ask.Scatter(dim), out, a, whole(index, src, dim), src)

    def index_put(self, out, index, src, dim):
        return self.prepare(ask.SelectPut(dim), out, index, src)

    def view_add(self, out, g, view):
        return self.prepare(ask.PutBack(view.layout), out, g)

    def index_bounds(self, index):
        launch = self.prepare(ask.Bounds(), Spec(Layout.contiguous((2,)), int64), index)

        def look(buffer):
            found = self.backend.allocate(2, int64, CPU)
            launch(buffer, found.buffer)
            return tuple(self.backend.to_host(found)[:2].tolist())

        return look

    def map_rows(self, fn, out, operands, dim, value):
        return self.prepare(ask.MapRows(fn, dim, value), out, *operands)

    def sum_columns(self, fn, outs, operands, value):
        return self.prepare(ask.MapRows(fn, operands[0].layout.ndim - 1, value), outs, *operands)

    def pick(self, fn, out, x, target, ignore, reduction):
        return self.prepare(ask.Pick(fn, ignore, reduction), out, x, target)

    def pick_backward(self, fn, out, dy, x, target, ignore, reduction):
        return self.prepare(ask.PickBack(fn, ignore, reduction), out, dy, x, target)

    def scan(self, reducer, compute, out, operands, dim):
        return self.prepare(ask.Scan(reducer, compute, dim), out, *operands)

    def argscan(self, better, out, a, dim):
        return self.prepare(ask.RunningExtreme(better, dim), out, a)

    def conv(self, out, x, w, bias, stride, padding, dilation, groups):
        return self.prepare(ask.Convolve("output", stride, padding, dilation, groups), out, x, w, bias)

    def conv_input(self, out, y, w, stride, padding, dilation, groups):
        return self.prepare(ask.Convolve("input", stride, padding, dilation, groups), out, y, w)

    def conv_weight(self, out, y, x, stride, padding, dilation, groups):
        return self.prepare(ask.Convolve("weight", stride, padding, dilation, groups), out, y, x)

    def argsort(self, out, a, dim, descending):
        return self.prepare(ask.Sort(dim, descending), out, a)

    def max_pool(self, out, x, *windows):
        return self.prepare(ask.MaxPool("values", *windows), out, x)

    def max_pool_indices(self, out, x, *windows):
        launch = self.prepare(ask.MaxPool("positions", *windows), (Spec(out.layout, x.dtype), out), x)
        n = out.layout.span()[1]
        return lambda a, places: launch(a, self.backend.allocate(n, x.dtype, CPU).buffer, places)

    def max_pool_pick(self, out, h, x, *windows):
        return self.prepare(ask.MaxPool("pick", *windows), out, h, x)

    def max_pool_back(self, out, g, x, *windows):
        return self.prepare(ask.MaxPool("back", *windows), out, g, x)

    def avg_pool(self, out, x, *windows):
        return self.prepare(ask.AvgPool("values", *windows), out, x)

    def avg_pool_back(self, out, g, *windows):
        return self.prepare(ask.AvgPool("back", *windows), out, g)

    def fill(self, out):
        launch = self.prepare(ask.Copy(), out, Spec(SCALAR.expand(out.shape), out.dtype))
        return lambda buffer, value: launch(self.give(cast_array(np.asarray([value]), out.dtype), out.dtype), buffer)

    def arange(self, out):
        wide = float64 if out.dtype.is_float else int64
        launch = self.prepare(ask.Arange(), out, Spec(SCALAR, wide), Spec(SCALAR, wide))
        return lambda buffer, *given: launch(*(self.give(np.array([v], wide.numpy), wide) for v in given), buffer)

    def random(self, kind, out):
        limit = philox.limit_dtype(kind, out.dtype)
        specs = [Spec(Layout.contiguous((2,)), int64), Spec(Layout.contiguous((3,)), limit)]
        launch = self.prepare(ask.Random(kind), out, *specs)

        def run(buffer, key, counter, low, high):
            state = np.array([key % 2**64, counter % 2**64], np.uint64).view(np.int64)
            limits = philox.limits(kind, out.dtype, low, high)
            launch(self.give(state, int64), self.give(limits, limit), buffer)

        return run

    def permutation(self, out):
        launch = self.prepare(ask.Permutation(), out, Spec(Layout.contiguous((2,)), int64))

        def run(buffer, key, counter):
            launch(self.give(np.array([key, counter], np.uint64).view(np.int64), int64), buffer)

        return run

    def nonzero(self, mask, parts=3):
        count = self.prepare(ask.Tally(parts), Spec(Layout.contiguous((parts + 1,)), int64), mask)

        def tally(buffer):
            found = self.backend.allocate(parts + 1, int64, CPU)
            count(buffer, found.buffer)
            starts = self.backend.to_host(found)[: parts + 1].copy()
            return int(starts[-1]), starts

        def write(buffer, starts, out):
            found, begin = (Spec(Layout.contiguous((n,)), int64) for n in (int(starts[-1]), parts + 1))
            self.prepare(ask.Locate(), found, mask, begin)(buffer, self.give(starts, int64), out)

        return tally, write
