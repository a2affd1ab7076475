"""Reductions, one element at a time."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.host import HostMemory
from minigrad.backends.launch import Loop
from minigrad.backends.reference.elements import Buffer, positions, quiet, read, write
from minigrad.backends.reference.scalars import compute_type, first_accumulator, python_function
from minigrad.core import requests
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.core.reducer import Reducer


class Reductions(HostMemory):
    """The method that prepares reductions."""

    @serves(requests.Reduce)
    def reduce(
        self, out: Spec, *operands: Spec, reducer: Reducer, compute: np.dtype[Any], dims: tuple[int, ...]
    ) -> Loop:
        """Reduce in the order of the elements, even if the reducer allows other orders."""
        f, start = python_function(reducer.scalar, compute), first_accumulator(reducer.identity, compute)
        count = compute_type(compute)(prod([operands[0].shape[d] for d in dims]))
        # For each element of an operand, the row-major position of its result.
        targets = positions(Layout.contiguous(out.shape).expand(operands[0].shape)).tolist()

        def launch(*buffers: Buffer) -> None:
            results = [start] * out.layout.numel
            columns = [read(buffer, spec, compute) for buffer, spec in zip(buffers, operands)]
            for target, *values in zip(targets, *columns, strict=True):
                results[target] = f(results[target], *values)
            if reducer.finish is not None:
                finish, taken = python_function(reducer.finish, compute), len(reducer.finish.args)
                results = [finish(*(acc, count)[:taken]) for acc in results]
            write(buffers[-1], out, results, compute)

        return quiet(launch)
