"""Windows that slide over spatial dims: one static parameter of pooling and convolution.

A window that begins at position `o` of its result reads `o * stride - padding + tap * dilation` along each dim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

Ints = tuple[int, ...]


@dataclass(frozen=True)
class Window:
    """The windows of one call, with one int for each spatial dim.

    size: spatial size of the result.  taps: size of a window; of a convolution () since the weight has it.
    groups: parts of the channels that a convolution treats apart.
    pad_counts, divisor: of a mean, whether the padding counts, and the number to divide the sum by instead.
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
        """Return the same windows with a result of another size, or with another number of groups."""
        return replace(self, size=tuple(size), groups=self.groups if groups is None else groups)
