"""Filling memory on CUDA: evenly spaced numbers, and random numbers with the CPU's values.

The loops are in `kernels/cuda/filling.py`, the random numbers themselves in `kernels/philox.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cuda.family import CudaBackend, line
from minigrad.backends.cuda.runtime import Program
from minigrad.backends.launch import NO_STEPS, Loop
from minigrad.backends.steps import Steps, through_dense
from minigrad.core import requests
from minigrad.core.dtype import DType, as_dtype
from minigrad.kernels import philox
from minigrad.kernels.cuda import filling
from minigrad.kernels.cuda.target import CUDA
from minigrad.kernels.specialize import write_kernel


@serves(CudaBackend, requests.Arange)
def arange(steps: Steps, request: requests.Arange) -> Loop:
    (out,), (start, step) = steps.outs, steps.operands
    n = out.layout.numel
    if n == 0:
        return NO_STEPS
    kernel = steps.backend.kernel(write_arange, np.dtype(np.float64 if out.dtype.is_float else np.int64), out.dtype)
    numbers = filling.ARANGE.pack(
        n=n, offset=out.layout.offset, stride=out.layout.strides[0], start=start.layout.offset,
        step=step.layout.offset,
    )  # fmt: skip
    return steps.backend.bind(kernel, *line(steps.backend.blocks(n)), numbers)


@serves(CudaBackend, requests.Random)
def random(steps: Steps, request: requests.Random) -> Loop:
    (out,), (state, limits), kind = steps.outs, steps.operands, request.kind
    layout, dtype = out.layout, out.dtype
    n = layout.numel
    if n == 0:
        return NO_STEPS
    if not layout.is_contiguous:
        return through_dense(steps, request)
    blocks = philox.blocks(kind, dtype, n)
    kernel = steps.backend.kernel(write_random, kind, dtype)
    numbers = filling.RANDOM.pack(
        n=n, blocks=blocks, offset=layout.offset, state=state.layout.offset, limits=limits.layout.offset
    )
    return steps.backend.bind(kernel, *line(steps.backend.blocks(blocks)), numbers)


def write_arange(compute: np.dtype[Any], out: DType) -> Program:
    """Write the loop of `arange`."""
    text = write_kernel(
        f"arange of {out}.",
        filling.arange,
        out=out,
        compute=compute,
        arrays=(as_dtype(compute), as_dtype(compute), out),
        fields=filling.ARANGE,
        target=CUDA,
    )
    return Program(f"arange_{out.short}", text)


def write_random(kind: str, out: DType) -> Program:
    """Write the loop of one kind of random numbers."""
    text = write_kernel(
        f"{kind} random numbers of {out}.",
        filling.random,
        fields=filling.RANDOM,
        target=CUDA,
        **philox.loop_words(kind, out, {name: f"math.{name}" for name in philox.FUNCTIONS}),
    )
    if kind == "normal":  # this needs logarithms and angles, which the module `math` has
        text = text.replace("import numpy as np\n", "import math\n\nimport numpy as np\n", 1)
    return Program(f"random_{kind}_{out.short}", text)
