"""Reading elements by index tensors and adding into them, one element at a time, in index order."""

from __future__ import annotations

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.host import HostMemory
from minigrad.backends.launch import Loop
from minigrad.backends.lowering.functions import TOTAL
from minigrad.backends.reference.elements import INT64, Buffer, positions, quiet, read, write
from minigrad.backends.reference.scalars import compute_type, python_function
from minigrad.core import requests
from minigrad.core.layout import Layout, along
from minigrad.core.op import ScalarFn, Spec


class Indexing(HostMemory):
    """The methods that prepare gathers, scatters and index checks."""

    @serves(requests.Gather)
    def gather(self, out: Spec, a: Spec, index: Spec, *, dim: int) -> Loop:
        def launch(x: Buffer, i: Buffer, z: Buffer) -> bool:
            chosen = picked(a.layout, index, i, dim)
            if chosen is None:
                return True
            z[positions(out.layout)] = x[np.array(chosen, np.int64)]
            return False

        return launch

    @serves(requests.ScatterAdd)
    def scatter_add(self, out: Spec, a: Spec, index: Spec, src: Spec, *, dim: int) -> Loop:
        return self.scatter_join(out, a, index, src, dim=dim, join=TOTAL)

    @serves(requests.ScatterJoin)
    def scatter_join(self, out: Spec, a: Spec, index: Spec, src: Spec, *, dim: int, join: ScalarFn) -> Loop:
        compute, row_major = out.dtype.compute, Layout.contiguous(out.shape)
        function = python_function(join, compute)

        def launch(x: Buffer, i: Buffer, s: Buffer, z: Buffer) -> bool:
            chosen = picked(row_major, index, i, dim)
            if chosen is None:
                return True
            results = read(x, a, compute)
            for position, value in zip(chosen, read(s, src, compute), strict=True):
                results[position] = function(results[position], value)
            write(z, out, results, compute)
            return False

        return quiet(launch)

    @serves(requests.Select)
    def index_select(self, out: Spec, a: Spec, index: Spec, *, dim: int) -> Loop:
        return self.gather(out, a, Spec(along(index.layout, out.shape, dim), index.dtype), dim=dim)

    @serves(requests.SelectAdd)
    def index_add(self, out: Spec, a: Spec, index: Spec, src: Spec, *, dim: int) -> Loop:
        return self.scatter_add(out, a, Spec(along(index.layout, src.shape, dim), index.dtype), src, dim=dim)

    @serves(requests.SelectPut)
    def index_put(self, out: Spec, index: Spec, src: Spec, *, dim: int) -> Loop:
        spread = Spec(along(index.layout, src.shape, dim), index.dtype)

        def launch(i: Buffer, s: Buffer, z: Buffer) -> bool:
            chosen = picked(out.layout, spread, i, dim)
            if chosen is None:
                return True
            for position, of in zip(chosen, src.layout.offsets(), strict=True):
                z[position] = s[of]
            return False

        return launch

    @serves(requests.PutBack)
    def view_add(self, out: Spec, g: Spec, *, view: Layout) -> Loop:
        compute = out.dtype.compute
        number = compute_type(compute)

        def launch(x: Buffer, z: Buffer) -> None:
            sums = dict.fromkeys(out.layout.offsets(), number(0))
            for position, value in zip(view.offsets(), read(x, g, compute), strict=True):
                sums[position] = number(sums[position] + value)
            write(z, out, list(sums.values()), compute)

        return quiet(launch)

    @serves(requests.Bounds)
    def index_bounds(self, out: Spec, index: Spec) -> Loop:
        def look(buffer: Buffer, result: Buffer) -> None:
            chosen = [int(i) for i in read(buffer, index, INT64)]
            # Without elements, return an empty range, which is inside every dim.
            result[positions(out.layout)] = (min(chosen), max(chosen)) if chosen else (0, -1)

        return look


def picked(layout: Layout, index: Spec, buffer: Buffer, dim: int) -> list[int] | None:
    """Return the offset in `layout` of each element that an index of the same rank selects along `dim`.

    The result is None if an index is out of range.
    """
    size, step = layout.shape[dim], layout.strides[dim]
    rest = tuple(0 if d == dim else stride for d, stride in enumerate(layout.strides))
    starts = Layout.make(index.shape, rest, layout.offset).offsets()
    chosen = [int(i) for i in read(buffer, index, INT64)]
    if any(not -size <= i < size for i in chosen):
        return None
    return [start + step * (i % size) for start, i in zip(starts, chosen, strict=True)]
