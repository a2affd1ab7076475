"""Convolution and its gradients as one list of products: the triples of output, input and weight elements.

Convolution and its two gradients come from one trilinear form, the sum over all such triples of y * x * w. Each part is
the derivative of this sum with respect to one of the three.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from minigrad.backends.base import Ints, serves
from minigrad.backends.host import HostMemory
from minigrad.backends.launch import Loop
from minigrad.backends.reference.elements import FLOAT64, Buffer, collect, quiet, write, write_integers
from minigrad.core import requests
from minigrad.core.op import Spec

# The array that each part computes, then the two arrays that it multiplies: outputs y, an image x, a weight w.
PARTS = {"output": "yxw", "input": "xyw", "weight": "wyx"}


def triples(y: Ints, x: Ints, w: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> Iterator[Ints]:
    """Yield the row-major positions (in y, in x, in w) of all products; products with the padding are left out."""
    n, outputs, spots = y[0], y[1], y[2:]
    spot_count, pixel_count, tap_count = math.prod(spots), math.prod(x[2:]), math.prod(w[2:])
    meetings = list(meeting(spots, x[2:], w[2:], stride, padding, dilation))
    for i, o, c in product(range(n), range(outputs), range(w[1])):
        in_y, in_w = (i * outputs + o) * spot_count, (o * w[1] + c) * tap_count
        in_x = (i * x[1] + o // (outputs // groups) * w[1] + c) * pixel_count
        for spot, pixel, tap in meetings:
            yield in_y + spot, in_x + pixel, in_w + tap


def meeting(spots: Ints, pixels: Ints, taps: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Iterator[Ints]:
    """Yield these positions for one output channel and one input channel."""
    dims = range(len(spots))
    for position in product(*map(range, spots)):
        for tap in product(*map(range, taps)):
            at = [position[d] * stride[d] - padding[d] + tap[d] * dilation[d] for d in dims]
            if all(0 <= at[d] < pixels[d] for d in dims):
                yield index(position, spots), index(tuple(at), pixels), index(tap, taps)


def index(positions: Ints, shape: Ints) -> int:
    """Return the row-major position of an element."""
    total = 0
    for position, size in zip(positions, shape, strict=True):
        total = total * size + position
    return total


class Conv(HostMemory):
    """The method that prepares convolutions."""

    @serves(requests.Convolve)
    def convolve(self, out: Spec, *operands: Spec, part: str, **window: Any) -> Loop:
        shapes = {name: spec.shape for name, spec in zip(PARTS[part], (out, *operands), strict=False)}
        k, i, j = map("yxw".index, PARTS[part])
        area = math.prod(out.shape[2:])

        def sums(a: list[Any], b: list[Any], bias: Sequence[Any] = (0,)) -> list[Any]:
            totals = [bias[at // area % len(bias)] for at in range(out.layout.numel)]
            for positions in triples(shapes["y"], shapes["x"], shapes["w"], **window):
                totals[positions[k]] += a[positions[i]] * b[positions[j]]
            return totals

        return reduced(out, operands, sums)


def reduced(out: Spec, operands: tuple[Spec, ...], sums: Any) -> Loop:
    """Return a launch that calls `sums` with Python numbers, and rounds or wraps its results once."""
    compute = out.dtype.compute

    def launch(*buffers: Buffer) -> None:
        values = [collect(b, s, compute).tolist() for b, s in zip(buffers[:-1], operands, strict=True)]
        if compute.kind == "f":
            write(buffers[-1], out, sums(*values), FLOAT64)
        else:
            write_integers(buffers[-1], out, sums(*values))

    return quiet(launch)
