"""Filling memory on the CPU: evenly spaced numbers and random numbers.

The loops are in `kernels/cpu/filling.py`, the random numbers themselves in `kernels/philox.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, bind, headed, kind_of
from minigrad.backends.cpu.loops import CHUNK
from minigrad.backends.launch import NO_STEPS, Launch
from minigrad.backends.steps import Steps, through_dense
from minigrad.core import requests
from minigrad.core.dtype import DType, as_dtype, int64, uint64
from minigrad.core.plan import pieces
from minigrad.kernels import philox
from minigrad.kernels.cpu import filling, permuting
from minigrad.kernels.cpu.target import element, imported
from minigrad.kernels.specialize import write_kernel
from minigrad.kernels.store import load

COST = 16  # cost of an element of a permutation, in additions
# A permutation of more than WHOLE positions, whose words would have too few bits, is divided into parts of 2**PART
# positions at most.  On a Zen 5, parts of 256 to 1024 positions are equally fast.
WHOLE, PART = 2048, 9


@serves(CpuBackend, requests.Arange)
def arange(steps: Steps, request: requests.Arange) -> Launch:
    (out,), (start, step) = steps.outs, steps.operands
    n = out.layout.numel
    if n == 0:
        return NO_STEPS
    if not out.layout.is_contiguous:
        return through_dense(steps, request)
    compute = np.dtype(np.float64 if out.dtype.is_float else np.int64)
    chunk, chunks = pieces(n, CHUNK)
    kernel = steps.backend.kernel(write_arange, compute, out.dtype, kind=kind_of(n, chunks))
    numbers = filling.ARANGE.pack(
        n=n, chunk=chunk, offset=out.layout.offset, start=start.layout.offset, step=step.layout.offset
    )  # fmt: skip
    return bind(kernel, headed(chunks, numbers), 2)


@serves(CpuBackend, requests.Random)
def random(steps: Steps, request: requests.Random) -> Launch:
    (out,), (state, limits), kind = steps.outs, steps.operands, request.kind
    layout, dtype = out.layout, out.dtype
    n = layout.numel
    if n == 0:
        return NO_STEPS
    if not layout.is_contiguous:
        return through_dense(steps, request)
    blocks = philox.blocks(kind, dtype, n)
    chunk, chunks = pieces(blocks, CHUNK // 4)
    kernel = steps.backend.kernel(write_random, kind, dtype, kind=kind_of(n, chunks))
    numbers = filling.RANDOM.pack(
        n=n, blocks=blocks, chunk=chunk, offset=layout.offset, state=state.layout.offset,
        limits=limits.layout.offset,
    )  # fmt: skip
    return bind(kernel, headed(chunks, numbers), 2)


@serves(CpuBackend, requests.Permutation)
def permutation(steps: Steps, request: requests.Permutation) -> Launch:
    (out,), (state,) = steps.outs, steps.operands
    n = out.layout.numel
    if n == 0:
        return NO_STEPS
    if not out.layout.is_contiguous:
        return through_dense(steps, request)
    numbers = permuting.PERMUTATION.pack(
        n=n, bits=max(0, (n - 1).bit_length() - PART) if n > WHOLE else 0, offset=out.layout.offset,
        state=state.layout.offset,
    )  # fmt: skip
    memory = steps.work((2 * n + 1,), uint64)
    kernel = steps.backend.kernel(write_permutation, kind=kind_of(n, 1, COST))
    steps.then(kernel, steps.operands[0], memory, steps.outs[0], numbers=headed(1, numbers))
    return steps.launch


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


def write_permutation() -> Any:
    """Write, compile and import the loop of random permutations."""
    text = write_kernel(
        "random permutations.",
        permuting.permutation,
        out=int64,
        arrays=(int64, uint64, int64),
        fields=permuting.PERMUTATION,
        inlined=True,
        constants={"RANK": "rank", "EIGHT": "8", "FEW": "5", "LISTS": "4096"},
        helpers=(
            philox.philox,
            permuting.draw_keys,
            permuting.count_digits,
            permuting.divide,
            permuting.insert,
            permuting.sort_part,
        ),
        imports=imported("ranks", "ranks", "rank = ranks()", beside=["emitting.py"]),
    )
    return load("random_permutation", text)
