"""The executable specification: every loop of the backend interface as plain Python.

Elements are collected by the layout's odometer, computed one at a time by the declaration's own scalar function, and
put back by the odometer; conversions are those of `core.dtype.cast_array`.  Nothing is compiled, merged or reordered,
so what this backend gives is what an op means, and every other backend is held to it by `tests/backends`.  It is a
device of its own, `reference`, whose memory is the host's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.backends.base import Launch
from minigrad.backends.host import HostMemory
from minigrad.backends.reference_scalars import compute_type, python_function
from minigrad.core.dtype import as_dtype, cast_array, fit_number, int64, to_logical
from minigrad.core.layout import Layout
from minigrad.core.op import ScalarFn, Spec
from minigrad.kernels import philox

Buffer = NDArray[Any]
INT64 = np.dtype(np.int64)


# ---- elements -------------------------------------------------------------------------------------------------------


def places(layout: Layout) -> NDArray[np.int64]:
    """Where the elements are, in row-major order of the index."""
    return np.fromiter(layout.offsets(), np.int64, layout.numel)


def collect(buffer: Buffer, spec: Spec, compute: np.dtype[Any]) -> NDArray[Any]:
    """The elements in row-major order, in the compute dtype."""
    return cast_array(to_logical(buffer, spec.dtype)[places(spec.layout)], as_dtype(compute))


def read(buffer: Buffer, spec: Spec, compute: np.dtype[Any]) -> list[Any]:
    """The elements in row-major order, as scalars of the compute dtype: see `compute_type`."""
    values = collect(buffer, spec, compute)
    return values.tolist() if compute.kind == "b" else list(values)


def write(buffer: Buffer, spec: Spec, values: Sequence[Any], compute: np.dtype[Any]) -> None:
    """Store scalars of the compute dtype, given in row-major order."""
    buffer[places(spec.layout)] = cast_array(np.array(values, compute), spec.dtype)


def write_integers(buffer: Buffer, spec: Spec, values: Sequence[int]) -> None:
    """Store exact integers of any size: they wrap, and for bool any that is not 0 is True."""
    if spec.dtype.kind == "bool":
        buffer[places(spec.layout)] = [value != 0 for value in values]
    else:
        low = np.array([value & philox.MASK64 for value in values], np.uint64)
        buffer[places(spec.layout)] = low.astype(spec.dtype.storage)


def quiet(launch: Launch) -> Launch:
    """A launch without NumPy's warnings: infinities, nan and wrapping are results here."""

    def run(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            return launch(*args)

    return run


def along(index: Spec, shape: tuple[int, ...], dim: int) -> Spec:
    """A 1-d index, or a 0-d one, stretched to a shape: entry j wherever the index of `dim` is j."""
    step = index.layout.strides[0] if index.layout.strides else 0
    strides = tuple(step if d == dim else 0 for d in range(len(shape)))
    return Spec(Layout.make(shape, strides, index.layout.offset), index.dtype)


def picked(layout: Layout, index: Spec, buffer: Buffer, dim: int) -> list[int]:
    """The offset in `layout` of each element that an index of the same rank names along `dim`."""
    size, step = layout.shape[dim], layout.strides[dim]
    rest = tuple(0 if d == dim else stride for d, stride in enumerate(layout.strides))
    starts = Layout.make(index.shape, rest, layout.offset).offsets()
    chosen = (int(i) for i in read(buffer, index, INT64))
    return [start + step * (i + size if i < 0 else i) for start, i in zip(starts, chosen, strict=True)]


def targets(out: Layout, a: Layout) -> Iterator[int]:
    """For each element of `a`, the offset of the element of `out` that it is folded into."""
    strides = tuple(0 if size == 1 else stride for size, stride in zip(out.shape, out.strides))
    return Layout.make(a.shape, strides, out.offset).offsets()


class ReferenceBackend(HostMemory):
    """Everything that `Backend` asks for, one element at a time."""

    # ---- loops ----

    def elementwise(self, scalar: ScalarFn, compute: np.dtype[Any], out: Spec, operands: Sequence[Spec]) -> Launch:
        f = python_function(scalar, compute)

        def launch(*buffers: Buffer) -> None:
            columns = [read(buffer, spec, compute) for buffer, spec in zip(buffers, operands)]
            write(buffers[-1], out, [f(*row) for row in zip(*columns, strict=True)], compute)

        return quiet(launch)

    def copy(self, out: Spec, a: Spec) -> Launch:
        def launch(x: Buffer, z: Buffer) -> None:
            z[places(out.layout)] = cast_array(to_logical(x, a.dtype)[places(a.layout)], out.dtype)

        return launch

    def reduce(
        self, scalar: ScalarFn, identity: str, compute: np.dtype[Any], out: Spec, a: Spec, dims: tuple[int, ...]
    ) -> Launch:
        return self._fold(scalar, identity, compute, out, a, None)

    def mean(self, scalar: ScalarFn, compute: np.dtype[Any], out: Spec, a: Spec, dims: tuple[int, ...]) -> Launch:
        count = 1
        for d in dims:
            count *= a.shape[d]
        return self._fold(scalar, "zero", compute, out, a, count)

    def _fold(
        self, scalar: ScalarFn, identity: str, compute: np.dtype[Any], out: Spec, a: Spec, count: int | None
    ) -> Launch:
        f, number, dtype = python_function(scalar, compute), compute_type(compute), as_dtype(compute)
        start = number({"zero": 0, "one": 1, "lowest": dtype.lowest, "highest": dtype.highest}[identity])

        def launch(x: Buffer, z: Buffer) -> None:
            folds = dict.fromkeys(out.layout.offsets(), start)
            for place, value in zip(targets(out.layout, a.layout), read(x, a, compute), strict=True):
                folds[place] = f(folds[place], value)
            values = list(folds.values())
            write(z, out, values if count is None else [v / number(count) for v in values], compute)

        return quiet(launch)

    def argreduce(self, better: ScalarFn, out: Spec, a: Spec, dim: int) -> Launch:
        compute = a.dtype.compute
        f = python_function(better, compute)
        # A layout whose offsets are the index along `dim`.
        positions = Layout.make(a.shape, tuple(int(d == dim) for d in range(len(a.shape))), 0)

        def launch(x: Buffer, z: Buffer) -> None:
            best: dict[int, tuple[Any, int]] = {}
            rows = zip(targets(out.layout, a.layout), positions.offsets(), read(x, a, compute), strict=True)
            for place, position, value in rows:
                if place not in best or f(best[place][0], value):
                    best[place] = (value, position)
            write(z, out, [best[place][1] for place in out.layout.offsets()], INT64)

        return quiet(launch)

    def matmul(self, out: Spec, a: Spec, b: Spec) -> Launch:
        """Python's own numbers: floats sum in float64 and round once, integers are exact and wrap once."""
        compute = out.dtype.compute
        *_, m, n = out.shape
        k = a.shape[-1]

        def launch(x: Buffer, y: Buffer, z: Buffer) -> None:
            lhs, rhs = collect(x, a, compute).tolist(), collect(y, b, compute).tolist()
            cells = []
            for cell in range(out.layout.numel):
                batch, i, j = cell // (m * n), cell // n % m, cell % n
                total: Any = 0
                for p in range(k):
                    total += lhs[(batch * m + i) * k + p] * rhs[(batch * k + p) * n + j]
                cells.append(total)
            if compute.kind == "f":
                write(z, out, cells, np.dtype(np.float64))
            else:
                write_integers(z, out, cells)

        return quiet(launch)

    # ---- indexing ----

    def gather(self, out: Spec, a: Spec, index: Spec, dim: int) -> Launch:
        def launch(x: Buffer, i: Buffer, z: Buffer) -> None:
            z[places(out.layout)] = x[np.array(picked(a.layout, index, i, dim), np.int64)]

        return launch

    def scatter_add(self, out: Spec, a: Spec, index: Spec, src: Spec, dim: int) -> Launch:
        compute = out.dtype.compute
        number, row_major = compute_type(compute), Layout.contiguous(out.shape)

        def launch(x: Buffer, i: Buffer, s: Buffer, z: Buffer) -> None:
            sums = read(x, a, compute)
            for place, value in zip(picked(row_major, index, i, dim), read(s, src, compute), strict=True):
                sums[place] = number(sums[place] + value)
            write(z, out, sums, compute)

        return quiet(launch)

    def index_select(self, out: Spec, a: Spec, index: Spec, dim: int) -> Launch:
        return self.gather(out, a, along(index, out.shape, dim), dim)

    def index_add(self, out: Spec, a: Spec, index: Spec, src: Spec, dim: int) -> Launch:
        return self.scatter_add(out, a, along(index, src.shape, dim), src, dim)

    def view_add(self, out: Spec, g: Spec, view: Spec) -> Launch:
        compute = out.dtype.compute
        number = compute_type(compute)

        def launch(x: Buffer, z: Buffer) -> None:
            sums = dict.fromkeys(out.layout.offsets(), number(0))
            for place, value in zip(view.layout.offsets(), read(x, g, compute), strict=True):
                sums[place] = number(sums[place] + value)
            write(z, out, list(sums.values()), compute)

        return quiet(launch)

    def index_bounds(self, index: Spec) -> Callable[[Any], tuple[int, int]]:
        def look(buffer: Buffer) -> tuple[int, int]:
            chosen = [int(i) for i in read(buffer, index, INT64)]
            # Of nothing, an empty range that is inside every dim.
            return (min(chosen), max(chosen)) if chosen else (0, -1)

        return look

    # ---- filling ----

    def fill(self, out: Spec) -> Launch:
        def launch(z: Buffer, value: float) -> None:
            z[places(out.layout)] = cast_array(np.asarray(fit_number(value, out.dtype)), out.dtype)

        return launch

    def arange(self, out: Spec) -> Launch:
        compute = np.dtype(np.float64 if out.dtype.is_float else np.int64)
        number = compute_type(compute)

        def launch(z: Buffer, start: float, step: float) -> None:
            first, by = number(start), number(step)
            write(z, out, [first + number(i) * by for i in range(out.layout.numel)], compute)

        return quiet(launch)

    def random(self, kind: str, out: Spec) -> Launch:
        dtype, n = out.dtype, out.layout.numel
        values, per = philox.value_function(kind, dtype), philox.per_block(kind, dtype)
        compute = int64.compute if kind == "integer" else dtype.compute
        low32, half, zero = np.uint64(0xFFFFFFFF), np.uint64(32), np.uint64(0)

        def launch(z: Buffer, key: int, counter: int, low: float, high: float) -> None:
            limits = philox.limits(kind, dtype, low, high)
            numbers: list[Any] = []
            for block in range(philox.blocks(kind, dtype, n)):
                place = np.uint64((counter + block) & philox.MASK64)
                words = philox.philox(np.uint64(key & philox.MASK64), place & low32, place >> half, zero, zero)
                numbers += values(*words, *limits)[: n - block * per]
            write(z, out, numbers, compute)

        return quiet(launch)
