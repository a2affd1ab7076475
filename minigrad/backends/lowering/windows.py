"""Windows on an image as a view: overlapping, without a copy, over an image that includes its padding."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from minigrad.backends.steps import Ints, Steps, Value
from minigrad.core.dtype import DType
from minigrad.core.layout import Layout


@dataclass(frozen=True)
class Windows:
    """The windows of an image (N, C, *sizes) as dims (N, C, *spots, *taps)."""

    image: Ints
    spots: Ints
    taps: Ints
    stride: Ints
    padding: Ints
    dilation: Ints

    @property
    def shape(self) -> Ints:
        return (*self.image[:2], *self.spots, *self.taps)

    @cached_property
    def padded(self) -> Ints:
        """The shape of the image with the padding that windows reach."""
        rows = zip(self.image[2:], self.spots, self.taps, self.stride, self.padding, self.dilation, strict=True)
        reach = [max(p + n, (count - 1) * s + (k - 1) * d + 1) for n, count, k, s, p, d in rows]
        return (*self.image[:2], *reach)

    @cached_property
    def view(self) -> Layout:
        """The windows as a layout over a contiguous padded image."""
        first, second, *strides = Layout.contiguous(self.padded).strides
        steps = [s * by for s, by in zip(strides, self.stride, strict=True)]
        gaps = [s * by for s, by in zip(strides, self.dilation, strict=True)]
        return Layout.make(self.shape, (first, second, *steps, *gaps), 0)

    @cached_property
    def interior(self) -> Layout:
        """The image as a layout over a contiguous padded image."""
        layout = Layout.contiguous(self.padded)
        for d, (p, n) in enumerate(zip(self.padding, self.image[2:], strict=True), 2):
            layout = layout.narrow(d, p, n)
        return layout

    @cached_property
    def positions(self) -> NDArray[np.int64]:
        """The row-major position in the plane of each window's elements, (*spots, *taps); -1 for padding."""
        dims = len(self.spots)
        position: NDArray[np.int64] = np.zeros((1,) * (2 * dims), np.int64)
        inside = position == 0
        for d, n in enumerate(self.image[2:]):
            starts = np.arange(self.spots[d]) * self.stride[d] - self.padding[d]
            at = starts[:, None] + np.arange(self.taps[d]) * self.dilation[d]
            at = np.expand_dims(at, [k for k in range(2 * dims) if k % dims != d])
            inside, position = inside & (at >= 0) & (at < n), position * n + at
        return np.where(inside, position, -1)

    def pad(self, steps: Steps, x: Value, dtype: DType) -> Value:
        """Return an image with zeros around it, as windows."""
        padded = steps.work(self.padded, dtype)
        steps.fill(padded, 0)
        steps.copy(padded.seen(self.interior), x)
        return padded.seen(self.view)
