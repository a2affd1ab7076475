"""Reading elements by an index tensor, joining others with them in index order, and reductions, one by one.

Eigenvalues of general matrices are those of NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
from numpy.typing import NDArray

from minigrad.backends.base import serves
from minigrad.backends.launch import Loop
from minigrad.backends.lowering.functions import SUM
from minigrad.backends.reference.elements import Buffer, collect, positions, quiet, read, write
from minigrad.backends.reference.loops import ReferenceBackend
from minigrad.backends.reference.scalars import compute_type, first_accumulator, python_function, tuple_function
from minigrad.backends.steps import Steps
from minigrad.core.dtype import int64
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.core.requests import Eigh, Gather, Reduce, Scatter


@serves(ReferenceBackend, Gather)
def gather(steps: Steps, request: Gather) -> Loop:
    """Return the loop that reads the selected elements."""
    (out,), (a, index) = steps.outs, steps.operands
    select = selection(a.layout, index, request.dim)

    def launch(x: Buffer, i: Buffer, z: Buffer) -> bool:
        chosen = select(i)
        if chosen is not None:
            z[positions(out.layout)] = x[chosen]
        return chosen is None

    return launch


@serves(ReferenceBackend, Scatter)
def scatter(steps: Steps, request: Scatter) -> Loop:
    """Return the loop that adds to the selected elements, or joins them with others, one after the other."""
    (out,), (a, index, src) = steps.outs, steps.operands
    compute = out.dtype.compute
    join, select = request.join or SUM.scalar, selection(Layout.contiguous(out.shape), index, request.dim)
    joined = python_function(join, compute)

    def launch(x: Buffer, i: Buffer, s: Buffer, z: Buffer) -> bool:
        chosen = select(i)
        if chosen is not None:
            results = read(x, a, compute)
            for position, value in zip(chosen, read(s, src, compute), strict=True):
                results[position] = joined(results[position], value)
            write(z, out, results, compute)
        return chosen is None

    return quiet(launch)


def selection(layout: Layout, index: Spec, dim: int) -> Callable[[Buffer], NDArray[np.int64] | None]:
    """Return a function of the index's buffer: the offset in `layout` of each element that the index selects.

    The index selects along `dim` and has the rank of `layout`.  The result is None if an index is out of range.
    """
    size, step = layout.shape[dim], layout.strides[dim]
    rest = tuple(0 if d == dim else stride for d, stride in enumerate(layout.strides))
    starts = positions(Layout.make(index.shape, rest, layout.offset))

    def select(buffer: Buffer) -> NDArray[np.int64] | None:
        chosen = collect(buffer, index, int64.compute)
        inside = ((-size <= chosen) & (chosen < size)).all()
        return starts + step * (chosen % size) if inside else None

    return select


# ---- reductions ------------------------------------------------------------------------------------------------------


@serves(ReferenceBackend, Reduce)
def reduce(steps: Steps, request: Reduce) -> Loop:
    """Reduce in the order of the elements, even if the reducer allows other orders."""
    outs, operands, reducer, compute = steps.outs, steps.operands, request.reducer, request.compute
    f, start = tuple_function(reducer.scalar, compute), tuple(first_accumulator(x, compute) for x in reducer.identities)
    count = compute_type(compute)(prod([operands[0].shape[d] for d in request.dims]))
    # For each element of an operand, the row-major position of its result.
    targets = positions(Layout.contiguous(outs[0].shape).expand(operands[0].shape)).tolist()

    def launch(*buffers: Buffer) -> None:
        results = [start] * outs[0].layout.numel
        columns = [read(buffer, spec, compute) for buffer, spec in zip(buffers, operands)]
        for target, *values in zip(targets, *columns, strict=True):
            results[target] = f(*results[target], *values)
        if reducer.finish is not None:
            finish, taken = tuple_function(reducer.finish, compute), len(reducer.finish.args)
            results = [finish(*(*accs, count)[:taken]) for accs in results]
        for k, column in enumerate(zip(*results), len(operands)):
            write(buffers[k], steps.specs[k], column, compute)

    return quiet(launch)


@serves(ReferenceBackend, Eigh)
def eigh(steps: Steps, request: Eigh) -> Loop | None:
    """Return the loop over general matrices, whose number of steps depends on the elements, so no lowering has it."""
    if not request.general:
        steps.lower(request)
        return None
    (values, vectors), (a,) = steps.outs, steps.operands
    compute, n = vectors.dtype.compute, a.shape[-1]

    def launch(x: Buffer, w: Buffer, v: Buffer) -> None:
        matrices = collect(x, a, a.dtype.compute).reshape(-1, n, n)
        pairs = [decomposed(matrix, compute) for matrix in matrices]
        for buffer, spec, results in zip((w, v), (values, vectors), zip(*pairs)):
            write(buffer, spec, np.concatenate(results, axis=None).tolist(), compute)

    return quiet(launch)


def decomposed(matrix: Buffer, compute: np.dtype[np.complexfloating]) -> tuple[Buffer, Buffer]:
    """Return the eigenvalues and eigenvectors of one matrix, or nan for a matrix with nan or infinities."""
    if not np.isfinite(matrix).all():
        return np.full(len(matrix), np.nan, compute), np.full(matrix.shape, np.nan, compute)
    w, v = (each.astype(compute) for each in np.linalg.eig(matrix))
    largest = v[np.abs(v).argmax(0), np.arange(len(v))]
    return w, v * (largest.conj() / np.abs(largest))
