"""Filling memory on the CPU: evenly spaced numbers, random numbers and permutations.

The loops are in `kernels/cpu/filling.py` and `permuting.py`, the random numbers themselves in `kernels/philox.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, CpuSteps
from minigrad.backends.cpu.loops import CHUNK
from minigrad.backends.launch import Launch
from minigrad.backends.steps import through_dense
from minigrad.core import requests
from minigrad.core.dtype import DType, uint64
from minigrad.core.plan import pieces
from minigrad.kernels import philox
from minigrad.kernels.cpu import filling, permuting
from minigrad.kernels.cpu.target import element
from minigrad.kernels.pasting import Late

COST = 16  # cost of an element of a permutation, in additions
# A permutation of more than WHOLE positions, whose words would have too few bits, is divided into parts of 2**PART
# positions at most.  On a Zen 5, parts of 256 to 1024 positions are equally fast.
WHOLE, PART = 2048, 9
FLOAT, INT = np.dtype(np.float64), np.dtype(np.int64)  # `arange` computes in one of them


@serves(CpuBackend, requests.Arange)
def arange(steps: CpuSteps, request: requests.Arange) -> Launch | None:
    (out,), n = steps.outs, steps.outs[0].layout.numel
    if not out.layout.is_contiguous:
        return through_dense(steps, request)
    compute = FLOAT if out.dtype.is_float else INT
    steps.run(filling.arange, *steps.operands, out, compute=compute, n=n, divided=pieces(n, CHUNK))
    return None


@serves(CpuBackend, requests.Random)
def random(steps: CpuSteps, request: requests.Random) -> Launch | None:
    (out,), kind = steps.outs, request.kind
    if not out.layout.is_contiguous:
        return through_dense(steps, request)
    n, compute = out.layout.numel, philox.limit_dtype(kind, out.dtype).compute
    blocks = philox.blocks(kind, out.dtype, n)
    steps.run(
        filling.random, *steps.operands, out, words=Late(random_words, (kind, out.dtype)), form=kind, compute=compute,
        n=n, blocks=blocks, divided=pieces(blocks, CHUNK // 4),
    )  # fmt: skip
    return None


def random_words(kind: str, dtype: DType) -> dict[str, Any]:
    """Return the words of the loop of one kind of random numbers.

    The angles are below 2 * pi, so their sine and cosine have no other form for large arguments.
    """
    bits = 8 * philox.limit_dtype(kind, dtype).itemsize
    functions = {name: f"{name}_{bits}" for name in philox.FUNCTIONS} | {"sqrt": "math.sqrt"}
    words = {"philox": philox.philox, "ELEMENT": f"np.{element(dtype)}"}
    return words | philox.block_words(kind, dtype) | functions


@serves(CpuBackend, requests.Permutation)
def permutation(steps: CpuSteps, request: requests.Permutation) -> Launch | None:
    (out,), (state,) = steps.outs, steps.operands
    n = out.layout.numel
    if not out.layout.is_contiguous:
        return through_dense(steps, request)
    bits = max(0, (n - 1).bit_length() - PART) if n > WHOLE else 0
    steps.run(permuting.permutation, state, steps.work((2 * n + 1,), uint64), out, cost=COST, n=n, bits=bits)
    return None
