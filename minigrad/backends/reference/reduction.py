"""Reductions and searches, one element at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.backends.base import serves
from minigrad.backends.host import HostMemory
from minigrad.backends.launch import Loop
from minigrad.backends.reference.elements import INT64, Buffer, quiet, read, write
from minigrad.backends.reference.scalars import compute_type, first_accumulator, python_function, tuple_function
from minigrad.core import requests
from minigrad.core.layout import Layout
from minigrad.core.op import ScalarFn, Spec
from minigrad.core.reducer import Reducer


class Reductions(HostMemory):
    """The methods that prepare reductions and searches."""

    @serves(requests.Reduce)
    def reduce(self, *specs: Spec, reducer: Reducer, compute: np.dtype[Any], dims: tuple[int, ...]) -> Loop:
        """Reduce in the order of the elements, even if the reduction allows other orders."""
        outs, operands = specs[: reducer.results], specs[reducer.results :]
        f = tuple_function(reducer.scalar, compute)
        start = tuple([first_accumulator(identity, compute) for identity in reducer.identities])
        out, layout = outs[0].layout, operands[0].layout
        finish = finisher(reducer, compute, prod(layout.shape[d] for d in dims))

        def launch(*buffers: Buffer) -> None:
            accumulators = dict.fromkeys(out.offsets(), start)
            columns = [read(x, spec, compute) for x, spec in zip(buffers, operands)]
            for target, *values in zip(targets(out, layout), *columns, strict=True):
                accumulators[target] = f(*accumulators[target], *values)
            rows = [finish(*acc) for acc in accumulators.values()]
            for k, (buffer, spec) in enumerate(zip(buffers[len(operands) :], outs, strict=True)):
                write(buffer, spec, [row[k] for row in rows], compute)

        return quiet(launch)

    @serves(requests.ReduceTuple)
    def reduce_tuple(self, *specs: Spec, **fields: Any) -> Loop:
        return self.reduce(*specs, **fields)

    @serves(requests.LogSum)
    def logsum(self, out: Spec, a: Spec, *, dims: tuple[int, ...]) -> Loop:
        compute = np.dtype(a.dtype.accumulator)

        def launch(x: Buffer, z: Buffer) -> None:
            rows: dict[int, list[Any]] = {target: [] for target in out.layout.offsets()}
            for target, value in zip(targets(out.layout, a.layout), read(x, a, compute), strict=True):
                rows[target].append(value)
            write(z, out, [log_of_sum(np.array(row, compute)) for row in rows.values()], compute)

        return quiet(launch)

    @serves(requests.ArgReduce)
    def argreduce(self, out: Spec, a: Spec, *, better: ScalarFn, dim: int) -> Loop:
        compute = a.dtype.compute
        f = python_function(better, compute)
        # The offsets of this layout are the index along `dim`.
        positions = Layout.make(a.shape, tuple(int(d == dim) for d in range(len(a.shape))), 0)

        def launch(x: Buffer, z: Buffer) -> None:
            best: dict[int, tuple[Any, int]] = {}
            rows = zip(targets(out.layout, a.layout), positions.offsets(), read(x, a, compute), strict=True)
            for target, position, value in rows:
                if target not in best or f(best[target][0], value):
                    best[target] = (value, position)
            write(z, out, [best[target][1] for target in out.layout.offsets()], INT64)

        return quiet(launch)


def finisher(reducer: Reducer, compute: np.dtype[Any], count: int) -> Callable[..., tuple[Any, ...]]:
    """Return the function from the accumulators of `count` elements to the results."""
    if reducer.finish is None:
        return lambda *accumulators: accumulators
    f, n = tuple_function(reducer.finish, compute), compute_type(compute)(count)
    return f if len(reducer.finish.args) == reducer.accumulators else lambda *accumulators: f(*accumulators, n)


def log_of_sum(row: NDArray[Any]) -> Any:
    """Return log(sum(exp(x))) of some elements; each is shifted by the largest element if that is finite."""
    top = row.max()
    shift = top if np.isfinite(top) else row.dtype.type(0)
    return np.log(np.exp(row - shift).sum()) + shift


def targets(out: Layout, a: Layout) -> Iterator[int]:
    """Yield for each element of `a` the offset of the element of `out` that it is reduced into."""
    strides = tuple(0 if size == 1 else stride for size, stride in zip(out.shape, out.strides))
    return Layout.make(a.shape, strides, out.offset).offsets()
