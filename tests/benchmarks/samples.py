"""A dataset as users write it, one sample at a time in Python, for loaders of any library and their workers."""

from __future__ import annotations

from typing import Any

import numpy as np

PADDING = 4  # pixels on each side


class Augmented:
    """Images of 32x32 pixels: padded, cut out at random, mirrored at random, scaled."""

    def __init__(self, n: int) -> None:
        draw = np.random.default_rng(0)
        self.images, self.labels = draw.integers(0, 256, (n, 3, 32, 32), np.uint8), draw.integers(0, 10, n)
        self.draw = np.random.default_rng(1)

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, i: int) -> Any:
        x = np.pad(self.images[i], ((0, 0), (PADDING, PADDING), (PADDING, PADDING)))
        top, left = self.draw.integers(0, 2 * PADDING + 1, 2)
        x = x[:, top : top + 32, left : left + 32]
        if self.draw.random() < 0.5:
            x = x[:, :, ::-1]
        return np.ascontiguousarray((x.astype(np.float32) / 255 - 0.5) / 0.25), self.labels[i]
