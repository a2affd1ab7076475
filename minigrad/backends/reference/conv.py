"""Convolution and its gradients as one list of products: which output, input and weight meet.

The three are one trilinear form, the sum over all such triples of y * x * w, differentiated in turn by each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np

from minigrad.backends.base import Ints, serves
from minigrad.backends.host import HostMemory
from minigrad.backends.launch import Loop
from minigrad.backends.reference.elements import Buffer, collect, quiet, write, write_integers
from minigrad.core import requests
from minigrad.core.op import Spec


def triples(y: Ints, x: Ints, w: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> Iterator[Ints]:
    """Row-major places (in y, in x, in w) of all that is multiplied; what would read the padding is left out."""
    n, outputs, *spots = y
    dims = range(len(spots))
    for i, o, c in product(range(n), range(outputs), range(w[1])):
        channel = o // (outputs // groups) * w[1] + c
        for position in product(*map(range, spots)):
            for tap in product(*map(range, w[2:])):
                at = [position[d] * stride[d] - padding[d] + tap[d] * dilation[d] for d in dims]
                if all(0 <= at[d] < x[2 + d] for d in dims):
                    yield index((i, o, *position), y), index((i, channel, *at), x), index((o, c, *tap), w)


def index(positions: Ints, shape: Ints) -> int:
    """Row-major position of an element."""
    total = 0
    for position, size in zip(positions, shape, strict=True):
        total = total * size + position
    return total


class Conv(HostMemory):
    """The preparers of convolution."""

    @serves(requests.Convolve)
    def convolve(self, out: Spec, *operands: Spec, part: str, **numbers: Any) -> Loop:
        return PARTS[part](self, out, *operands, **numbers)

    def conv(
        self, out: Spec, x: Spec, w: Spec, bias: Spec, stride: Ints, padding: Ints, dilation: Ints, groups: int
    ) -> Loop:
        def sums(a: list[Any], b: list[Any], c: list[Any]) -> list[Any]:
            area = math.prod(out.shape[2:])
            totals = [c[i // area % len(c)] for i in range(out.layout.numel)]
            for i, j, k in triples(out.shape, x.shape, w.shape, stride, padding, dilation, groups):
                totals[i] += a[j] * b[k]
            return totals

        return reduced(out, (x, w, bias), sums)

    def conv_input(self, out: Spec, y: Spec, w: Spec, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> Loop:
        def sums(a: list[Any], b: list[Any]) -> list[Any]:
            totals: list[Any] = [0] * out.layout.numel
            for i, j, k in triples(y.shape, out.shape, w.shape, stride, padding, dilation, groups):
                totals[j] += a[i] * b[k]
            return totals

        return reduced(out, (y, w), sums)

    def conv_weight(
        self, out: Spec, y: Spec, x: Spec, stride: Ints, padding: Ints, dilation: Ints, groups: int
    ) -> Loop:
        def sums(a: list[Any], b: list[Any]) -> list[Any]:
            totals: list[Any] = [0] * out.layout.numel
            for i, j, k in triples(y.shape, x.shape, out.shape, stride, padding, dilation, groups):
                totals[k] += a[i] * b[j]
            return totals

        return reduced(out, (y, x), sums)


def reduced(out: Spec, operands: tuple[Spec, ...], sums: Any) -> Loop:
    """A launch that gives `sums` the operands as Python's own numbers, and rounds or wraps what it returns once."""
    compute = out.dtype.compute

    def launch(*buffers: Buffer) -> None:
        values = [collect(b, s, compute).tolist() for b, s in zip(buffers[:-1], operands, strict=True)]
        if compute.kind == "f":
            write(buffers[-1], out, sums(*values), np.dtype(np.float64))
        else:
            write_integers(buffers[-1], out, sums(*values))

    return quiet(launch)


PARTS: dict[str, Callable[..., Loop]] = {"output": Conv.conv, "input": Conv.conv_input, "weight": Conv.conv_weight}
