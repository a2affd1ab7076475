"""Filling memory on the CPU: evenly spaced numbers and random numbers.

The loops are in `kernels/cpu/filling.py`, the random numbers themselves in `kernels/philox.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.backends.base import Launch, serves
from minigrad.backends.cpu.family import Family, bind, headed, kind_of
from minigrad.backends.cpu.loops import CHUNK
from minigrad.backends.launch import NO_STEPS
from minigrad.backends.steps import through_dense
from minigrad.core import requests
from minigrad.core.dtype import DType, as_dtype
from minigrad.core.op import Spec
from minigrad.core.plan import pieces
from minigrad.kernels import philox
from minigrad.kernels.cpu import filling
from minigrad.kernels.cpu.target import element
from minigrad.kernels.specialize import write_kernel
from minigrad.kernels.store import load


class Filling(Family):
    """The methods that prepare ranges and random numbers."""

    @serves(requests.Arange)
    def arange(self, out: Spec, start: Spec, step: Spec) -> Launch:
        n = out.layout.numel
        if n == 0:
            return NO_STEPS
        if not out.layout.is_contiguous:
            return through_dense(self, requests.Arange(), out, start, step)
        compute = np.dtype(np.float64 if out.dtype.is_float else np.int64)
        chunk, chunks = pieces(n, CHUNK)
        kernel = self.kernel(write_arange, compute, out.dtype, kind=kind_of(n, chunks))
        numbers = filling.ARANGE.pack(
            n=n, chunk=chunk, offset=out.layout.offset, start=start.layout.offset, step=step.layout.offset
        )  # fmt: skip
        return bind(kernel, headed(chunks, numbers), 2)

    @serves(requests.Random)
    def random(self, out: Spec, state: Spec, limits: Spec, *, kind: str) -> Launch:
        layout, dtype = out.layout, out.dtype
        n = layout.numel
        if n == 0:
            return NO_STEPS
        if not layout.is_contiguous:
            return through_dense(self, requests.Random(kind), out, state, limits)
        blocks = philox.blocks(kind, dtype, n)
        chunk, chunks = pieces(blocks, CHUNK // 4)
        kernel = self.kernel(write_random, kind, dtype, kind=kind_of(n, chunks))
        numbers = filling.RANDOM.pack(
            n=n, blocks=blocks, chunk=chunk, offset=layout.offset, state=state.layout.offset,
            limits=limits.layout.offset,
        )  # fmt: skip
        return bind(kernel, headed(chunks, numbers), 2)


def write_arange(compute: np.dtype[Any], out: DType) -> Any:
    """Write, compile and import the loop of `arange`."""
    text = write_kernel(
        f"arange of {out}.",
        filling.arange,
        out=out,
        compute=compute,
        arrays=(as_dtype(compute), as_dtype(compute), out),
        fields=filling.ARANGE,
    )
    return load(f"arange_{out.short}", text)


def write_random(kind: str, out: DType) -> Any:
    """Write, compile and import the loop of one kind of random numbers.

    The angles are below 2 * pi, so their sine and cosine have no other form for large arguments.
    """
    bits = 8 * philox.limit_dtype(kind, out).itemsize
    functions = {name: f"{name}_{bits}" for name in philox.FUNCTIONS} | {"sqrt": "math.sqrt"}
    words = philox.loop_words(kind, out, functions)
    words["constants"]["ELEMENT"] = f"np.{element(out)}"
    text = write_kernel(
        f"{kind} random numbers of {out}.", filling.random, fields=filling.RANDOM, inlined=True, **words
    )
    return load(f"random_{kind}_{out.short}", text)
