"""Pairs of rows on the CPU: the matrix in the compute dtype, the factors of a gradient, then one kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.backends.base import Launch, serves
from minigrad.backends.cpu.family import Family, headed, kind_of
from minigrad.backends.cpu.loops import CHUNK
from minigrad.backends.launch import NO_STEPS
from minigrad.backends.steps import Steps
from minigrad.core import requests
from minigrad.core.dtype import DType, as_dtype
from minigrad.core.op import ScalarFn, Spec
from minigrad.core.plan import pieces
from minigrad.core.reducer import Reducer
from minigrad.kernels.cpu import pairs
from minigrad.kernels.pasting import finish_macro, scalar_macro
from minigrad.kernels.specialize import neutral_text, write_kernel
from minigrad.kernels.store import load


class Pairs(Family):
    """The methods that prepare distances between rows and their gradient."""

    @serves(requests.PairDistances)
    def pair_distances(self, out: Spec, x: Spec, reducer: Reducer, compute: np.dtype[Any]) -> Launch:
        if not out.layout.numel:
            return NO_STEPS
        steps = Steps(self, (out,), (x,))
        n, m = x.shape
        columns = steps.work((m, n), as_dtype(compute))
        steps.copy(columns.transposed, steps.operands[0])
        chunk, tasks = pieces(-(-n // 2), max(1, CHUNK // (n * max(1, m))))
        kernel = self.kernel(write_distances, reducer, compute, out.dtype, kind=kind_of(out.layout.numel * m, tasks, 2))
        numbers = pairs.DISTANCES.pack(rows=n, cols=m, to=out.layout.offset, chunk=chunk)
        steps.then(kernel, columns, *steps.outs, numbers=headed(tasks, numbers))
        return steps.launch

    @serves(requests.PairGradients)
    def pair_gradients(
        self, out: Spec, *operands: Spec, factor: ScalarFn, direction: ScalarFn, compute: np.dtype[Any]
    ) -> Launch:
        if not out.layout.numel:
            return NO_STEPS
        steps = Steps(self, (out,), operands)
        g, y, x = steps.operands
        n, m = x.shape
        factors, matrix = steps.work(g.shape, as_dtype(compute)), steps.work((n, m), as_dtype(compute))
        steps.each(factor, factors, g, y)
        steps.copy(matrix, x)
        chunk, tasks = pieces(n, max(1, CHUNK // (n * m)))
        kernel = self.kernel(write_gradients, direction, compute, out.dtype, kind=kind_of(n * n * m, tasks, 2))
        numbers = pairs.GRADIENTS.pack(rows=n, cols=m, to=out.layout.offset, chunk=chunk)
        steps.then(kernel, factors, matrix, *steps.outs, numbers=headed(tasks, numbers))
        return steps.launch


def write_distances(reducer: Reducer, compute: np.dtype[Any], out: DType) -> Any:
    """Write, compile and import the loop of distances."""
    x = as_dtype(compute)
    text = write_kernel(
        f"{reducer.scalar.name} of the differences of two rows: {x} -> {out}.", pairs.distances, operands=(x,), out=out,
        compute=compute, fields=pairs.DISTANCES, arrays=(x, out),
        macros={"F": scalar_macro(reducer.scalar, compute), "FINISH": finish_macro(reducer, compute)},
        constants={"IDENTITY": neutral_text(reducer.identity, compute), "COLUMNS": "8"},
    )  # fmt: skip
    return load(f"pairs_{reducer.finish.name if reducer.finish else reducer.scalar.name}_{x.short}_{out.short}", text)


def write_gradients(direction: ScalarFn, compute: np.dtype[Any], out: DType) -> Any:
    """Write, compile and import the loop of gradients."""
    x = as_dtype(compute)
    text = write_kernel(
        f"{direction.name} of all pairs of rows: {x} -> {out}.", pairs.gradients, operands=(x,), out=out,
        compute=compute, fields=pairs.GRADIENTS, arrays=(x, x, out), helpers=(pairs.factor_of,),
        macros={"DIRECTION": scalar_macro(direction, compute)}, constants={"ROWS": "4"},
    )  # fmt: skip
    return load(f"pairs_{direction.name}_{x.short}_{out.short}", text)
