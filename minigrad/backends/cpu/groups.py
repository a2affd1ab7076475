"""Normalization of groups of channels on the CPU: subtract the mean, divide by the deviation.

A row is one group of an image.  It consists of some channels, and each channel is a run of memory with its own weight
and bias.  A row is read from memory once and then stays in the cache.  The gradients of a channel's weight and bias are
two sums over its run.  The gradient of a row is computed from these sums, too:

    dx = scale * (weight * g - mean(weight * g) - unit * mean(weight * g * unit)),  unit = (x - middle) * scale

`work` has the two sums of each run; at the end of the kernel they are added over the images.  The compiler may re-order
the additions of a sum; the order is the same for any number of threads.
"""

# ruff: noqa: F821
# mypy: disable-error-code="name-defined"
from __future__ import annotations

import math
from math import prod
from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, CpuSteps
from minigrad.backends.cpu.loops import CHUNK
from minigrad.backends.cpu.texts import bits
from minigrad.backends.steps import Value
from minigrad.core import requests
from minigrad.core.dtype import as_dtype
from minigrad.core.plan import pieces
from minigrad.kernels.fields import Fields, loop

# A task is a chunk of rows.  per_image: the groups of an image.  channels: count per group.  size: elements of a run.
# eps: its float64 bits.  weight_step, bias_step: steps between channels.
ROWS = "rows chunk chunks per_image channels size eps"


def mean(x, at, n):  # type: ignore[no-untyped-def]
    """Return the mean of n neighbours."""
    total = T(0)
    for j in range(n):
        total += LOAD_0(x[np.uint64(at + j)])
    return T(total / T(n))


def squares(x, at, n, middle):  # type: ignore[no-untyped-def]
    """Return the sum of the squared deviations of n neighbours from `middle`."""
    total = T(0)
    for j in range(n):
        d = T(LOAD_0(x[np.uint64(at + j)]) - middle)
        total += d * d
    return total


def products(x, g, at, start, n, middle):  # type: ignore[no-untyped-def]
    """Return `squares`, the sum of n elements of g, and the sum of their products with the deviations."""
    total = T(0)
    plain = T(0)
    along = T(0)
    for j in range(n):
        d = T(LOAD_0(x[np.uint64(at + j)]) - middle)
        v = LOAD_1(g[np.uint64(start + j)])
        total += d * d
        plain += v
        along += v * d
    return total, plain, along


@loop(
    Fields(f"{ROWS} x free out weight weight_step bias bias_step"), loads=3, helpers=(mean, squares),
    fastmath=("reassoc",),
)  # fmt: skip
def normalize_groups(x, weight, bias, out, N):  # type: ignore[no-untyped-def]
    """out = (x - middle) * (scale * weight) + bias.  A task is a chunk of rows."""
    size = N.size
    width = N.channels * size
    eps = np.int64(N.eps).view(np.float64)
    for task in range(first, last):
        for row in range(task * N.chunk, min(N.rows, (task + 1) * N.chunk)):
            middle = mean(x, N.x + row * width, width)
            total = squares(x, N.x + row * width, width, middle)
            scale = T(T(1) / T(math.sqrt(T(total / T(width) + T(eps)))))
            channel = row % N.per_image * N.channels
            for c in range(N.channels):
                factor = T(scale * LOAD_1(weight[N.weight + (channel + c) * N.weight_step]))
                shift = LOAD_2(bias[N.bias + (channel + c) * N.bias_step])
                at = N.x + row * width + c * size
                to = N.out + row * width + c * size
                for j in range(size):
                    out[np.uint64(to + j)] = STORE(T(T(LOAD_0(x[np.uint64(at + j)]) - middle) * factor + shift))


@loop(
    Fields(f"{ROWS} x g dx weight weight_step free_0 free_1 dweight dbias"), loads=3, results=1,
    helpers=(mean, products), fastmath=("reassoc",),
)  # fmt: skip
def group_gradients(x, g, weight, work, dx, dweight, dbias, N):  # type: ignore[no-untyped-def]
    """Compute the gradients of `normalize_groups` for x, weight and bias.

    A task is a chunk of rows.  `g` is the incoming gradient.  At the end, dweight and dbias receive the sums over the
    images.
    """
    size, channels = N.size, N.channels
    width = channels * size
    eps = np.int64(N.eps).view(np.float64)
    for task in range(first, last):
        for row in range(task * N.chunk, min(N.rows, (task + 1) * N.chunk)):
            middle = mean(x, N.x + row * width, width)
            channel = N.weight + row % N.per_image * channels * N.weight_step
            total = T(0)
            plain = T(0)
            along = T(0)
            for c in range(channels):
                at = row * width + c * size
                parts, of_bias, of_weight = products(x, g, N.x + at, N.g + at, size, middle)
                total += parts
                w = LOAD_2(weight[channel + c * N.weight_step])
                plain += w * of_bias
                along += w * of_weight
                work[2 * (row * channels + c)] = of_bias
                work[2 * (row * channels + c) + 1] = of_weight
            scale = T(T(1) / T(math.sqrt(T(total / T(width) + T(eps)))))
            plain = T(scale * T(plain / T(width)))
            along = T(T(scale * scale) * T(scale * T(along / T(width))))
            for c in range(channels):
                factor = T(scale * LOAD_2(weight[channel + c * N.weight_step]))
                work[2 * (row * channels + c) + 1] *= scale
                at = row * width + c * size
                values = x[N.x + at : N.x + at + size]
                head = g[N.g + at : N.g + at + size]
                z = dx[N.dx + at : N.dx + at + size]
                for j in range(size):
                    d = T(LOAD_0(values[j]) - middle)
                    z[j] = STORE(T(T(factor * LOAD_1(head[j]) - plain) - d * along))
    if first == last or N.chunks == 1:
        count = N.per_image * channels
        for c in range(count):
            of_bias = np.float64(0)
            of_weight = np.float64(0)
            for run in range(c, N.rows * channels, count):
                of_bias += work[2 * run]
                of_weight += work[2 * run + 1]
            dbias[N.dbias + c] = STORE(T(of_bias))
            dweight[N.dweight + c] = STORE(T(of_weight))


COST = 8  # approximate cost of an element, in additions


@serves(CpuBackend, requests.NormalizeGroups)
def normalize_channels(steps: CpuSteps, request: requests.NormalizeGroups) -> None:
    x, weight, bias = steps.operands
    numbers = rows(x, weight, request.groups, request.eps)
    values = steps.dense(x), weight, bias, *steps.outs
    steps.run(normalize_groups, *values, free=0, bias_step=bias.layout.strides[0], **numbers)


@serves(CpuBackend, requests.GroupGradients)
def channel_gradients(steps: CpuSteps, request: requests.GroupGradients) -> None:
    dx, (x, g, weight) = steps.outs[0], steps.operands
    if not dx.layout.numel:
        for line in steps.outs[1:]:
            steps.fill(line, 0)
        return
    numbers = rows(x, weight, request.groups, request.eps)
    x, g = steps.dense(x), steps.dense(g)
    work = steps.work((2 * x.shape[0] * x.shape[1],), as_dtype(dx.dtype.compute))
    end = numbers["divided"][1] > 1
    steps.run(group_gradients, x, g, weight, work, *steps.outs, end=end, free_0=0, free_1=0, **numbers)


def rows(x: Value, weight: Value, parts: int, eps: float) -> dict[str, Any]:
    """Return the numbers of the loops over dense rows, one for each group of an image."""
    images, channels, *sizes = x.shape
    size = prod(sizes)
    return {
        "rows": images * parts, "divided": pieces(images * parts, CHUNK // (channels // parts * size)), "cost": COST,
        "per_image": parts, "channels": channels // parts, "size": size, "eps": bits(eps),
        "weight_step": weight.layout.strides[0],
    }  # fmt: skip
