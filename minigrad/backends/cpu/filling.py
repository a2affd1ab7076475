"""Filling memory on the CPU: one number everywhere, evenly spaced numbers, random numbers.

The loops are in `kernels/cpu/filling.py`, the random numbers themselves in `kernels/philox.py`.  A constant is an
elementwise copy of a single stored element that is read with stride 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.backends.base import Launch, serves
from minigrad.backends.cpu.family import Family, nothing
from minigrad.config import settings
from minigrad.core import requests
from minigrad.core.dtype import DType
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.core.plan import CHUNK, pieces
from minigrad.kernels import philox
from minigrad.kernels.cpu import filling
from minigrad.kernels.specialize import array_type, write_kernel
from minigrad.kernels.store import load


class Filling(Family):
    """The preparers of creation functions."""

    @serves(requests.Fill)
    def fill(self, out: Spec, a: Spec) -> Launch:
        layout = out.layout
        if layout.numel == 0:
            return nothing
        if layout.is_contiguous and layout.numel < settings.parallel_threshold:
            start, end, at = layout.offset, layout.offset + layout.numel, a.layout.offset

            # A short run needs no compiled loop, so that `zeros` costs no compile time.
            def write(value: NDArray[Any], buffer: NDArray[Any]) -> None:
                buffer[start:end] = value[at]

            return write
        return self.prepare(requests.Copy(), out, Spec(a.layout.expand(layout.shape), a.dtype))

    @serves(requests.Arange)
    def arange(self, out: Spec, start: Spec, step: Spec) -> Launch:
        n = out.layout.numel
        if n == 0:
            return nothing
        compute = np.dtype(np.float64 if out.dtype.is_float else np.int64)
        kernel = self.kernel(write_arange, compute, out.dtype, parallel=n >= settings.parallel_threshold)
        numbers = np.array([n, out.layout.offset, out.layout.strides[0], *pieces(n, CHUNK)], np.int64)
        at, by = start.layout.offset, step.layout.offset
        return lambda first, second, buffer: kernel(buffer, first[at], second[by], numbers)

    @serves(requests.Random)
    def random(self, out: Spec, state: Spec, low: Spec, high: Spec, *, kind: str) -> Launch:
        layout, dtype = out.layout, out.dtype
        n = layout.numel
        if n == 0:
            return nothing
        if not layout.is_contiguous:
            return self._random_through_a_copy(kind, out, (state, low, high))
        blocks = philox.blocks(kind, dtype, n)
        kernel = self.kernel(write_random, kind, dtype, parallel=n >= settings.parallel_threshold)
        numbers = np.array([n, layout.offset, blocks, *pieces(blocks, CHUNK // 4)], np.int64)

        at, first, last = state.layout.offset, low.layout.offset, high.layout.offset

        def launch(words: NDArray[Any], bottom: NDArray[Any], top: NDArray[Any], buffer: NDArray[Any]) -> None:
            key, counter = words[at : at + 2].view(np.uint64)
            kernel(buffer, key, counter, philox.limits(kind, dtype, bottom[first].item(), top[last].item()), numbers)

        return launch

    def _random_through_a_copy(self, kind: str, out: Spec, operands: tuple[Spec, ...]) -> Launch:
        dense = Spec(Layout.contiguous(out.layout.shape), out.dtype)
        draw = self.prepare(requests.Random(kind), dense, *operands)
        copy = self.prepare(requests.Copy(), out, dense)

        def launch(*buffers: NDArray[Any]) -> None:
            values = np.empty(dense.layout.numel, out.dtype.storage)
            draw(*buffers[:-1], values)
            copy(values, buffers[-1])

        return launch


def write_arange(compute: np.dtype[Any], out: DType, parallel: bool) -> Launch:
    """Write, compile and import the loop of `arange`."""
    text = write_kernel(
        f"arange of {out}, {'parallel' if parallel else 'serial'}.",
        filling.arange,
        out=out,
        compute=compute,
        parallel=parallel,
        signature=f"void({array_type(out)}, {compute}, {compute}, int64[::1])",
    )
    launch: Launch = load(f"arange_{out.short}_{'par' if parallel else 'ser'}", text).kernel
    return launch


def write_random(kind: str, out: DType, parallel: bool) -> Launch:
    """Write, compile and import the loop of one kind of random numbers."""
    values = philox.value_function(kind, out)
    compute, limits = (np.dtype(np.int64), "uint64") if kind == "integer" else (out.compute, str(out.compute))
    text = write_kernel(
        f"{kind} random numbers of {out}, {'parallel' if parallel else 'serial'}.",
        filling.random,
        out=out,
        compute=compute,
        constants={"VALUES": values.__name__, "PER": str(philox.per_block(kind, out))},
        helpers=(philox.philox, values),
        parallel=parallel,
        signature=f"void({array_type(out)}, uint64, uint64, {limits}[::1], int64[::1])",
    )
    launch: Launch = load(f"random_{kind}_{out.short}_{'par' if parallel else 'ser'}", text).kernel
    return launch
