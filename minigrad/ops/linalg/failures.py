"""Checks of factors: a launch detects a matrix without a valid factor, and its error names the first such matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.backends.base import Backend
from minigrad.backends.launch import Launch
from minigrad.backends.limits import IndexLimits
from minigrad.backends.steps import Steps, Value
from minigrad.core.device import CPU
from minigrad.core.dtype import int64
from minigrad.core.layout import Layout
from minigrad.core.op import ScalarFn, Spec
from minigrad.core.requests import Bounds, Copy
from minigrad.errors import ArgumentError


class Failure(IndexLimits):
    """Create the error of a failed factorization; it names the first matrix of the batch with an invalid value.

    refused: a function that receives the values as a NumPy array and returns True for each invalid value.
    sentence: the description of the fault; {} is replaced by the index of the value in its matrix, counted from 0.
    """

    __slots__ = ("refused", "sentence")

    def __init__(self, backend: Backend, label: str, a: Spec, result: Value, refused: Any, sentence: str) -> None:
        super().__init__(backend, label, result.slot, result.spec, a, -1)
        self.refused, self.sentence = refused, sentence

    def error(self, buffers: tuple[Any, ...]) -> Any:
        """Return the error for a call on these buffers."""
        index = self.index
        copy = self.backend.allocate(index.layout.numel, index.dtype, CPU)
        spec = Spec(Layout.contiguous(index.shape), index.dtype)
        self.backend.prepare(Copy(), spec, index)(buffers[self.slot], copy.buffer)
        values = self.backend.to_host(copy)[: index.layout.numel].reshape(index.shape)
        *where, k = np.argwhere(self.refused(values))[0].tolist()
        which = f"the matrix{f' {where} of the batch' if where else ''} {self.x!r}"
        return ArgumentError(
            f"{self.label}: {which} {self.sentence.format(k)}", op=self.label, batch=tuple(where), position=k
        )


def refusing(steps: Steps, label: str, result: Value, function: ScalarFn, refused: Any, sentence: str) -> Launch:
    """Return a launch that ends with an error if a scalar function of any element of a result is not 0.

    refused: the same function of an array on the host.  sentence: as for `Failure`.
    """
    a = steps.operands[0]
    if not result.layout.numel:
        return steps.launch
    wrong, bounds = steps.work(result.shape, int64), steps.work((2,), int64)
    steps.each(function, wrong, result, compute=result.dtype.compute)
    steps.ask(Bounds(), bounds, wrong)
    steps.check(bounds, 0, 0)
    return steps.launch.within(Failure(steps.backend, label, a.spec, result, refused, sentence))
