"""Points in the plane whose classes cannot be separated by a straight line: spirals and moons."""

from __future__ import annotations

import math

import numpy as np

from minigrad.data.samplers import COUNT
from minigrad.data.streams import drawn_key, permutation, uniforms
from minigrad.errors import ArgumentError
from minigrad.ops.creation import from_numpy
from minigrad.ops.generators import Generator, expect_generator
from minigrad.runtime.tensor import Tensor


def spirals(
    n: int = 300, classes: int = 3, noise: float = 0.1, turns: float = 0.75, generator: Generator | None = None
) -> tuple[Tensor, Tensor]:
    """Generate points on the arms of a spiral, with one class per arm.

    classes: Number of arms.
    noise: Standard deviation of the normal noise that is added to both coordinates; an arm reaches radius 1.
    turns: Number of turns of an arm around the center.

    Returns: The points, float32 (n, 2), and their classes, int64 (n,), in a random order.

    >>> points, labels = mg.data.spirals(6, noise=0.0, generator=mg.Generator(0))
    >>> points.shape, sorted(labels.tolist())
    ((6, 2), [0, 0, 1, 1, 2, 2])
    """
    expect_shape("spirals", n, noise, generator)
    COUNT.expect("spirals", classes=classes)
    labels = np.arange(n) % classes
    radius = (np.arange(n) // classes + 1) / -(-n // classes)
    angle = 2 * math.pi * (turns * radius + labels / classes)
    return shuffled(np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1), labels, noise, generator)


def moons(n: int = 200, noise: float = 0.1, generator: Generator | None = None) -> tuple[Tensor, Tensor]:
    """Generate points on two interleaving half circles.

    noise: Standard deviation of the normal noise that is added to both coordinates; the circles have radius 1.

    Returns: The points, float32 (n, 2), and their classes, int64 (n,), in a random order. If n is odd, class 0 has one
    more point.

    >>> points, labels = mg.data.moons(5, noise=0.0, generator=mg.Generator(0))
    >>> sorted(labels.tolist())
    [0, 0, 0, 1, 1]
    """
    expect_shape("moons", n, noise, generator)
    labels = np.arange(n) % 2
    sizes = np.where(labels == 0, -(-n // 2), n // 2)
    angle = math.pi * (np.arange(n) // 2) / np.maximum(sizes - 1, 1)
    outer = np.stack([np.cos(angle), np.sin(angle)], 1)
    inner = np.stack([1 - np.cos(angle), 0.5 - np.sin(angle)], 1)
    return shuffled(np.where(labels[:, None] == 0, outer, inner), labels, noise, generator)


def expect_shape(name: str, n: int, noise: float, generator: Generator | None) -> None:
    """Raise ArgumentError unless `n` is positive and `noise` finite and >= 0."""
    COUNT.expect(name, n=n)
    expect_generator(name, generator)
    if not 0 <= noise < math.inf:
        raise ArgumentError(
            f"{name}: noise must be finite and not negative, got {noise!r}; pass noise=0.1, for example"
        )


def shuffled(
    points: np.ndarray, labels: np.ndarray, noise: float, generator: Generator | None
) -> tuple[Tensor, Tensor]:
    """Return points with added noise, and their labels, in a random order.

    Two uniform random numbers yield two normal ones (G. Box, M. Muller, Annals of Mathematical Statistics 29, 1958).
    """
    n = len(points)
    u = 1.0 - uniforms(drawn_key(generator), 2 * n).reshape(2, n)
    radius, angle = noise * np.sqrt(-2.0 * np.log(u[0])), 2 * math.pi * u[1]
    points = points + np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
    order = permutation(drawn_key(generator), n)
    return from_numpy(points[order].astype(np.float32)), from_numpy(labels[order].astype(np.int64))
