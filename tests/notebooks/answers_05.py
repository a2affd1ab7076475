"""Answers to 05, tensors are strides."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np


def _position_by_dot(strides: Any, offset: Any, index: Any) -> Any:
    return offset + int(np.dot(np.array(index, dtype=int), np.array(strides, dtype=int)))


def _flipped_by_slice(shape: Any, strides: Any, offset: Any, dim: Any) -> Any:
    last = offset + shape[dim] * strides[dim] - strides[dim]
    return [*strides[:dim], -strides[dim], *strides[dim + 1 :]], last


def _broadcast_from_the_right(shape: Any, strides: Any, target: Any) -> Any:
    found = []
    for d in range(1, len(target) + 1):
        stays = d <= len(shape) and shape[-d] == target[-d]
        found.append(strides[-d] if stays else 0)
    return tuple(reversed(found))


def _broadcast_for_columns_too_often(shape: Any, strides: Any, target: Any) -> Any:
    return (0,) * (len(target) - len(shape)) + strides


def _broadcast_from_the_left(shape: Any, strides: Any, target: Any) -> Any:
    kept = tuple(0 if n != m else s for n, s, m in zip(shape, strides, target))
    return kept + (0,) * (len(target) - len(shape))


def _flattens_by_walking(shape: Any, strides: Any) -> Any:
    positions = [sum(i * s for i, s in zip(index, strides)) for index in np.ndindex(*shape)]
    return len({b - a for a, b in pairwise(positions)}) <= 1


def _flattens_with_ones(shape: Any, strides: Any) -> Any:
    return all(strides[d] == shape[d + 1] * strides[d + 1] for d in range(len(shape) - 1))


def _dense(shape: Any, strides: Any) -> Any:
    run = 1
    for n, s in zip(reversed(shape), reversed(strides)):
        if n > 1 and s != run:
            return False
        run *= n
    return True


RIGHT: dict[str, list[Any]] = {
    "05.1": [lambda strides, offset, index: offset + sum(i * s for i, s in zip(index, strides)), _position_by_dot],
    "05.2": [
        lambda shape, strides, offset, dim: (
            tuple(-s if d == dim else s for d, s in enumerate(strides)),
            offset + (shape[dim] - 1) * strides[dim],
        ),
        _flipped_by_slice,
    ],
    "05.3": [
        lambda shape, strides, target: (
            (0,) * (len(target) - len(shape))
            + tuple(0 if n < m else s for n, s, m in zip(shape, strides, target[len(target) - len(shape) :]))
        ),
        _broadcast_from_the_right,
    ],
    "05.4": [
        _flattens_by_walking,
        lambda shape, strides: _flattens_with_ones(
            [n for n in shape if n > 1], [s for n, s in zip(shape, strides) if n > 1]
        ),
    ],
    "05.5": [
        lambda n, size, step: ((1 + (n - size) // step, size), (step, 1)),
        lambda n, size, step: [[len(range(0, n - size + 1, step)), size], [step, 1]],
    ],
}
WRONG: dict[str, list[Any]] = {
    "05.1": [
        lambda strides, offset, index: sum(i * s for i, s in zip(index, strides)),
        lambda strides, offset, index: offset + sum(i + s for i, s in zip(index, strides)),
        lambda strides, offset, index: offset + sum(i * abs(s) for i, s in zip(index, strides)),
        lambda strides, offset, index: offset + sum(index),
        lambda strides, offset, index: offset + index[0] * strides[0] + index[1] * strides[1],
        lambda strides, offset, index: [offset + i * s for i, s in zip(index, strides)],
    ],
    "05.2": [
        lambda shape, strides, offset, dim: (tuple(-s if d == dim else s for d, s in enumerate(strides)), offset),
        lambda shape, strides, offset, dim: (
            tuple(-s if d == dim else s for d, s in enumerate(strides)),
            offset + shape[dim] * strides[dim],
        ),
        lambda shape, strides, offset, dim: (
            tuple(-s if d == dim else s for d, s in enumerate(strides)),
            offset + shape[dim] - 1,
        ),
        lambda shape, strides, offset, dim: (tuple(-s for s in strides), offset + (shape[dim] - 1) * strides[dim]),
        lambda shape, strides, offset, dim: (strides[::-1], offset),
        lambda shape, strides, offset, dim: tuple(-s if d == dim else s for d, s in enumerate(strides)),
    ],
    "05.3": [
        _broadcast_for_columns_too_often,
        _broadcast_from_the_left,
        lambda shape, strides, target: tuple(0 for _ in target),
        lambda shape, strides, target: tuple(0 if n == 1 else s for n, s in zip(shape, strides)),
        lambda shape, strides, target: (1,) * (len(target) - len(shape)) + strides,
        lambda shape, strides, target: strides,
    ],
    "05.4": [
        _flattens_with_ones,
        _dense,
        lambda shape, strides: strides == tuple(sorted(strides, reverse=True)),
        lambda shape, strides: True,
        lambda shape, strides: strides[-1] == 1 if strides else True,
        lambda shape, strides: all(a == n * b for a, n, b in zip(strides, shape, strides[1:])),
    ],
    "05.5": [
        lambda n, size, step: ((n - size + 1, size), (step, 1)),
        lambda n, size, step: ((n // step, size), (step, 1)),
        lambda n, size, step: (((n - size) // step + 1, size), (size, 1)),
        lambda n, size, step: (((n - size) // step + 1, size), (1, step)),
        lambda n, size, step: (((n - size) // step, size), (step, 1)),
        lambda n, size, step: ((size, (n - size) // step + 1), (1, step)),
    ],
}
PRINTED = [
    "is at 4*i + 2*j in the storage",
    "used       x1  x2  x3  x3  x2  x1",
    "positions of a.T: [0, 4, 8, 1, ",
    "a.T.reshape(12) shares memory: False\nview: int64(4, 3) with strides (1, 4) cannot be seen as (12,)",
    "strides (4, 2) -> (2,)  shared: True",
    "[[3.0, 3.0, 3.0], [3.0, 3.0, 3.0], [3.0, 3.0, 3.0]]\n[[7.0, 7.0, 0.0], [0.0, 0.0, 0.0]]",
    "with strides (0, 1), whose elements share memory",
    "[[1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]]",
    "[[1.0, 1.0, 1.0], [2.0, 2.0, 2.0], [3.0, 3.0, 3.0]]\n[[1.0, 0.0, 0.0, 0.0], [0.0, ",
    "the expanded noise: True  its clone: False\nwindows: True  a.T: False",
    "after transposing: None",
]
