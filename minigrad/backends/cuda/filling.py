"""Filling memory on CUDA: evenly spaced numbers, and random numbers with the CPU's values.

Free names: `STORE` is the conversion, and `T` the compute dtype.  For `random`, the function `VALUES` converts a
block of words to `PER` numbers (`kernels/philox.py`, whose text is pasted above the loop).
"""

# mypy: disable-error-code="name-defined, no-untyped-def"
from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cuda.family import CudaBackend, CudaSteps
from minigrad.backends.steps import through_dense
from minigrad.core import requests
from minigrad.core.dtype import DType
from minigrad.kernels.fields import Fields, loop
from minigrad.kernels.pasting import Late
from minigrad.kernels.philox import FUNCTIONS, block_words, limit_dtype, philox
from minigrad.kernels.philox import blocks as blocks_of


@loop(Fields("n out stride start step"))
def arange(start, step, out, N):
    """out[i] = start + i * step.

    Each element is computed from i, not from the previous element, so that rounding errors do not add up.
    """
    begin = start[N.start]
    by = step[N.step]
    i = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while i < N.n:
        out[N.out + i * N.stride] = STORE(begin + T(i) * by)
        i += np.int64(cuda.gridDim.x) * cuda.blockDim.x


@loop(Fields("n blocks out state limits"), words={"philox": philox, **{name: f"math.{name}" for name in FUNCTIONS}})
def random(state, limits, out, N):
    """Write random numbers: a thread computes a block of words, and the two or four numbers from it.

    state: a key and a counter.
    """
    n = N.n
    key = np.uint64(state[N.state])
    counter = np.uint64(state[N.state + 1])
    low = T(limits[N.limits])
    span = T(limits[N.limits + 1])
    highest = T(limits[N.limits + 2])
    zero = np.uint64(0)
    block = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while block < N.blocks:
        position = counter + np.uint64(block)
        w0, w1, w2, w3 = philox(key, position & np.uint64(0xFFFFFFFF), position >> np.uint64(32), zero, zero)
        values = VALUES(w0, w1, w2, w3, low, span, highest)
        start = block * PER
        at = N.out + start
        for j in each(PER):
            if start + j < n:
                out[at + j] = STORE(values[j])
        block += np.int64(cuda.gridDim.x) * cuda.blockDim.x


@serves(CudaBackend, requests.Arange)
def fill_range(steps: CudaSteps, request: requests.Arange) -> None:
    (out,), (start, step) = steps.outs, steps.operands
    compute = np.dtype(np.float64 if out.dtype.is_float else np.int64)
    n, stride = out.layout.numel, out.layout.strides[0]
    steps.run(arange, start, step, out, compute=compute, elements=n, n=n, stride=stride)


@serves(CudaBackend, requests.Random)
def fill_random(steps: CudaSteps, request: requests.Random) -> None:
    (out,), (state, limits), kind = steps.outs, steps.operands, request.kind
    if not out.layout.is_contiguous:
        return through_dense(steps, request)
    n = out.layout.numel
    blocks, compute = blocks_of(kind, out.dtype, n), limit_dtype(kind, out.dtype).compute
    steps.run(
        random, state, limits, out, words=Late(random_words, (kind, out.dtype)), form=f"random_{kind}_{{}}",
        compute=compute, elements=blocks, n=n, blocks=blocks,
    )  # fmt: skip


def random_words(kind: str, dtype: DType) -> dict[str, Any]:
    """Return the words of `random`; normal numbers need logarithms and angles."""
    return {**block_words(kind, dtype), "imports": "import math\n" if kind == "normal" else ""}
