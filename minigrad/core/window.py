"""Windows that slide over spatial dims: one static parameter of pooling and convolution.

Along each dim, the window at position `o` of the result reads the input at `o * stride - padding + tap * dilation`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

Ints = tuple[int, ...]


@dataclass(frozen=True)
class Window:
    """Describe the windows of a convolution or pooling; each field has one int per spatial dim.

    size: spatial size of the result.
    taps: size of a window; () for a convolution, whose weight specifies the size.
    groups: number of parts of the channels that a convolution treats separately.
    pad_counts, divisor: for a mean, whether the padding counts, and the divisor of the sum; None stands for the count.
    """

    size: Ints
    taps: Ints
    stride: Ints
    padding: Ints
    dilation: Ints
    groups: int = 1
    pad_counts: bool = True
    divisor: int | None = None

    def to(self, size: Sequence[int], groups: int | None = None) -> Window:
        """Return the same windows with another size of the result, or with another number of groups."""
        return changed(self, tuple(size), self.groups if groups is None else groups)


@lru_cache(1024)
def changed(window: Window, size: Ints, groups: int) -> Window:
    """Return windows with this size and number of groups; equal calls return one object, by which plans are found."""
    return replace(window, size=size, groups=groups)
