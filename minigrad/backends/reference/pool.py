"""Pooling, window by window and in row-major order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np

from minigrad.backends.base import Ints, serves
from minigrad.backends.host import HostMemory
from minigrad.backends.launch import Loop
from minigrad.backends.reference.conv import index
from minigrad.backends.reference.elements import INT64, Buffer, quiet, read, write
from minigrad.backends.reference.scalars import compute_type
from minigrad.core import requests
from minigrad.core.op import Spec
from minigrad.core.shape import window_counts


def windows(
    outputs: Ints, image: Ints, window: Ints, stride: Ints, padding: Ints, dilation: Ints
) -> Iterator[list[int]]:
    """For each output in row-major order, the row-major places in the image that its window covers."""
    dims = range(len(window))
    for n, c, *position in product(*map(range, outputs)):
        along = []
        for d in dims:
            start = position[d] * stride[d] - padding[d]
            at = range(start, start + window[d] * dilation[d], dilation[d])
            along.append([i for i in at if 0 <= i < image[2 + d]])
        yield [index((n, c, *spot), image) for spot in product(*along)]


def first_largest(values: list[Any], positions: list[int]) -> int:
    """The place of the first largest element, or of the first nan; -1 where the window is padding only."""
    best = -1
    for position in positions:
        v = values[position]
        if best < 0 or v > values[best] or (v != v and values[best] == values[best]):
            best = position
    return best


class Pool(HostMemory):
    """The preparers of pooling."""

    @serves(requests.MaxPool)
    def largest(self, out: Spec, *others: Spec, part: str, **numbers: Any) -> Loop:
        return MAX_PARTS[part](self, out, *others, **numbers)

    @serves(requests.AvgPool)
    def average(self, out: Spec, *operands: Spec, part: str, **numbers: Any) -> Loop:
        return AVG_PARTS[part](self, out, *operands, **numbers)

    def max_pool(self, out: Spec, x: Spec, window: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Loop:
        compute = x.dtype.compute
        lowest = compute_type(compute)(x.dtype.lowest)

        def launch(a: Buffer, z: Buffer) -> None:
            values = read(a, x, compute)
            indices = positions(values, out.shape, x.shape, window, stride, padding, dilation)
            write(z, out, [lowest if p < 0 else values[p] for p in indices], compute)

        return quiet(launch)

    def max_pool_indices(
        self, out: Spec, at: Spec, x: Spec, window: Ints, stride: Ints, padding: Ints, dilation: Ints
    ) -> Loop:
        area, compute = int(np.prod(x.shape[2:])), x.dtype.compute
        lowest = compute_type(compute)(x.dtype.lowest)

        def launch(a: Buffer, z: Buffer, where: Buffer) -> None:
            values = read(a, x, compute)
            indices = positions(values, out.shape, x.shape, window, stride, padding, dilation)
            write(z, out, [lowest if p < 0 else values[p] for p in indices], compute)
            write(where, at, [max(p, 0) % area for p in indices], INT64)

        return quiet(launch)

    def max_pool_pick(
        self, out: Spec, h: Spec, x: Spec, window: Ints, stride: Ints, padding: Ints, dilation: Ints
    ) -> Loop:
        compute = out.dtype.compute
        zero = compute_type(compute)(0)

        def launch(b: Buffer, a: Buffer, z: Buffer) -> None:
            values = read(b, h, compute)
            indices = positions(read(a, x, x.dtype.compute), out.shape, x.shape, window, stride, padding, dilation)
            write(z, out, [zero if p < 0 else values[p] for p in indices], compute)

        return quiet(launch)

    def max_pool_back(
        self, out: Spec, g: Spec, x: Spec, window: Ints, stride: Ints, padding: Ints, dilation: Ints
    ) -> Loop:
        compute = out.dtype.compute
        number = compute_type(compute)

        def launch(b: Buffer, a: Buffer, z: Buffer) -> None:
            sums = [number(0)] * out.layout.numel
            indices = positions(read(a, x, x.dtype.compute), g.shape, x.shape, window, stride, padding, dilation)
            for p, value in zip(indices, read(b, g, compute), strict=True):
                if p >= 0:
                    sums[p] = number(sums[p] + value)
            write(z, out, sums, compute)

        return quiet(launch)

    def avg_pool(
        self, out: Spec, x: Spec, window: Ints, stride: Ints, padding: Ints, pad_counts: bool, divisor: int | None
    ) -> Loop:
        cells = list(windows(out.shape, x.shape, window, stride, padding, (1,) * len(window)))
        counts = divisors(out.shape, x.shape, window, stride, padding, pad_counts, divisor)

        def launch(a: Buffer, z: Buffer) -> None:
            values = [float(v) for v in read(a, x, x.dtype.compute)]
            means = [sum(values[p] for p in cell) / n for cell, n in zip(cells, counts, strict=True)]
            write(z, out, means, np.dtype(np.float64))

        return quiet(launch)

    def avg_pool_back(
        self, out: Spec, g: Spec, window: Ints, stride: Ints, padding: Ints, pad_counts: bool, divisor: int | None
    ) -> Loop:
        cells = list(windows(g.shape, out.shape, window, stride, padding, (1,) * len(window)))
        counts = divisors(g.shape, out.shape, window, stride, padding, pad_counts, divisor)

        def launch(a: Buffer, z: Buffer) -> None:
            sums = [0.0] * out.layout.numel
            for cell, n, value in zip(cells, counts, read(a, g, g.dtype.compute), strict=True):
                for p in cell:
                    sums[p] += float(value) / n
            write(z, out, sums, np.dtype(np.float64))

        return quiet(launch)


def positions(
    values: list[Any], outputs: Ints, image: Ints, window: Ints, stride: Ints, padding: Ints, dilation: Ints
) -> list[int]:
    """Per output, where in the image the first largest element of its window is."""
    return [first_largest(values, cell) for cell in windows(outputs, image, window, stride, padding, dilation)]


def divisors(
    outputs: Ints, image: Ints, window: Ints, stride: Ints, padding: Ints, pad_counts: bool, divisor: int | None
) -> list[int]:
    """Per output, what its sum is divided by."""
    along = [
        window_counts(outputs[2 + d], image[2 + d], window[d], stride[d], padding[d], pad_counts)
        for d in range(len(window))
    ]
    counts = [int(np.prod(cell)) if divisor is None else divisor for cell in product(*along)]
    return counts * (outputs[0] * outputs[1])


MAX_PARTS: dict[str, Callable[..., Loop]] = {
    "values": Pool.max_pool, "positions": Pool.max_pool_indices, "pick": Pool.max_pool_pick, "back": Pool.max_pool_back,
}  # fmt: skip
AVG_PARTS: dict[str, Callable[..., Loop]] = {"values": Pool.avg_pool, "back": Pool.avg_pool_back}
