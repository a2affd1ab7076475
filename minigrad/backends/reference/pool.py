"""Pooling, window by window and in row-major order; resampling, output by output."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from minigrad.backends.base import Ints, serves
from minigrad.backends.host import HostMemory
from minigrad.backends.launch import Loop
from minigrad.backends.reference.conv import index
from minigrad.backends.reference.elements import FLOAT64, INT64, Buffer, quiet, read, write
from minigrad.backends.reference.scalars import compute_type
from minigrad.core import requests
from minigrad.core.op import Spec
from minigrad.core.shape import window_counts


def windows(
    outputs: Ints, image: Ints, window: Ints, stride: Ints, padding: Ints, dilation: Ints
) -> Iterator[list[int]]:
    """Yield for each output, in row-major order, the row-major positions in the image that its window covers."""
    dims = range(len(window))
    for n, c, *position in product(*map(range, outputs)):
        along = []
        for d in dims:
            start = position[d] * stride[d] - padding[d]
            at = range(start, start + window[d] * dilation[d], dilation[d])
            along.append([i for i in at if 0 <= i < image[2 + d]])
        yield [index((n, c, *spot), image) for spot in product(*along)]


def first_largest(values: list[Any], positions: list[int]) -> int:
    """Return the position of the first largest element, or of the first nan.

    The result is -1 if the window contains only padding.
    """
    best = -1
    for position in positions:
        v = values[position]
        if best < 0 or v > values[best] or (v != v and values[best] == values[best]):
            best = position
    return best


class Pool(HostMemory):
    """The methods that prepare pooling and resampling."""

    @serves(requests.MaxPool)
    def largest(self, out: Spec, *others: Spec, part: str, **numbers: Ints) -> Loop:
        # The last of `others` is the Spec of x.  A Spec before it describes the positions of the maxima (a result) or
        # the values to read or to add.
        *before, x = others
        outputs = before[0] if part == "back" else out
        area, compute = int(np.prod(x.shape[2:])), out.dtype.compute
        number = compute_type(compute)

        def search(buffer: Buffer) -> tuple[list[Any], list[int]]:
            """Return the image, and for each output the position of the first largest element of its window."""
            image = read(buffer, x, x.dtype.compute)
            return image, [first_largest(image, cell) for cell in windows(outputs.shape, x.shape, **numbers)]

        def values(a: Buffer, z: Buffer, *where: Buffer) -> None:
            image, chosen = search(a)
            write(z, out, [number(x.dtype.lowest) if p < 0 else image[p] for p in chosen], compute)
            for buffer in where:
                write(buffer, before[0], [max(p, 0) % area for p in chosen], INT64)

        def pick(b: Buffer, a: Buffer, z: Buffer) -> None:
            elements = read(b, before[0], compute)
            write(z, out, [number(0) if p < 0 else elements[p] for p in search(a)[1]], compute)

        def back(b: Buffer, a: Buffer, z: Buffer) -> None:
            sums = [number(0)] * out.layout.numel
            for p, value in zip(search(a)[1], read(b, before[0], compute), strict=True):
                if p >= 0:
                    sums[p] = number(sums[p] + value)
            write(z, out, sums, compute)

        return quiet(pick if part == "pick" else back if part == "back" else values)

    @serves(requests.AvgPool)
    def average(self, out: Spec, a: Spec, *, part: str, pad_counts: bool, divisor: int | None, **numbers: Ints) -> Loop:
        means, image = (a, out) if part == "back" else (out, a)
        cells = list(windows(means.shape, image.shape, **numbers, dilation=(1,) * len(numbers["window"])))
        counts = divisors(means.shape, image.shape, **numbers, pad_counts=pad_counts, divisor=divisor)

        def values(x: Buffer, z: Buffer) -> None:
            elements = [float(v) for v in read(x, a, a.dtype.compute)]
            sums = [sum(elements[p] for p in cell) / n for cell, n in zip(cells, counts, strict=True)]
            write(z, out, sums, FLOAT64)

        def back(x: Buffer, z: Buffer) -> None:
            sums = [0.0] * out.layout.numel
            for cell, n, value in zip(cells, counts, read(x, a, a.dtype.compute), strict=True):
                for p in cell:
                    sums[p] += float(value) / n
            write(z, out, sums, FLOAT64)

        return quiet(back if part == "back" else values)

    @serves(requests.Resample)
    def resample(self, out: Spec, a: Spec, table: Spec, weight: Spec, *, dim: int, back: bool) -> Loop:
        compute, number = out.dtype.compute, compute_type(out.dtype.compute)
        terms, count = table.shape
        beside = [range(1 if d == dim else n) for d, n in enumerate(out.shape)]

        def launch(x: Buffer, i: Buffer, w: Buffer, z: Buffer) -> None:
            elements, sums = read(x, a, compute), [number(0)] * out.layout.numel
            named, weights = read(i, table, INT64), read(w, weight, compute)
            for spot, t in product(product(*beside), range(terms * count)):
                if named[t] >= 0:
                    to, of = (int(named[t]), t % count) if back else (t % count, int(named[t]))
                    p = index((*spot[:dim], to, *spot[dim + 1 :]), out.shape)
                    q = index((*spot[:dim], of, *spot[dim + 1 :]), a.shape)
                    sums[p] = number(sums[p] + number(weights[t] * elements[q]))
            write(z, out, sums, compute)

        return quiet(launch)


def divisors(
    outputs: Ints, image: Ints, window: Ints, stride: Ints, padding: Ints, pad_counts: bool, divisor: int | None
) -> list[int]:
    """Return the divisor of the sum of each output."""
    along = [
        window_counts(outputs[2 + d], image[2 + d], window[d], stride[d], padding[d], pad_counts)
        for d in range(len(window))
    ]
    counts = [int(np.prod(cell)) if divisor is None else divisor for cell in product(*along)]
    return counts * (outputs[0] * outputs[1])
