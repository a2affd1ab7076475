"""Answers to 10, kernels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def _by_loop(index: Any, strides: Any, offset: Any) -> Any:
    for d in range(len(index)):
        offset += index[d] * strides[d]
    return offset


def _moving(buffer: Any, shape: Any, strides: Any, offset: Any) -> Any:
    total, row = 0.0, offset
    for _ in range(shape[0]):
        at = row
        for _ in range(shape[1]):
            total += buffer[at]
            at += strides[1]
        row += strides[0]
    return total


def _view(buffer: Any, shape: Any, strides: Any, offset: Any) -> Any:
    bytes_ = [8 * s for s in strides]
    return np.lib.stride_tricks.as_strided(buffer[offset:], shape, bytes_).sum()


def _largest(values: Any, parts: Any) -> Any:
    found = np.full(parts, -np.inf)
    for p in range(parts):
        for i in range(p * len(values) // parts, (p + 1) * len(values) // parts):
            found[p] = max(found[p], values[i])
    return found


def _pieces(values: Any, parts: Any) -> Any:
    n = len(values)
    return [max(values[p * n // parts : (p + 1) * n // parts], default=-math.inf) for p in range(parts)]


RIGHT: dict[str, list[Any]] = {
    "10.1": [lambda i, s, o: o + sum(a * b for a, b in zip(i, s, strict=True)), _by_loop],
    "10.2": [_moving, _view],
    "10.3": [_largest, _pieces],
    "10.4": [lambda f, b, p, w: max(f / p, b / w), lambda f, b, p, w: f / p if f * w > b * p else b / w],
}
WRONG: dict[str, list[Any]] = {
    "10.1": [
        lambda i, s, o: sum(a * b for a, b in zip(i, s, strict=True)),
        lambda i, s, o: o + sum(a * abs(b) for a, b in zip(i, s, strict=True)),
        lambda i, s, o: o + sum(a * b for a, b in zip(i, reversed(s), strict=True)),
        lambda i, s, o: o + sum(i) * sum(s),
        lambda i, s, o: o + sum(a + b for a, b in zip(i, s, strict=True)),
    ],
    "10.2": [
        lambda b, n, s, o: b.sum(),
        lambda b, n, s, o: b[o : o + n[0] * n[1]].sum(),
        lambda b, n, s, o: sum(b[i * s[0] + j * s[1]] for i in range(n[0]) for j in range(n[1])),
        lambda b, n, s, o: sum(b[o + i * s[1] + j * s[0]] for i in range(n[0]) for j in range(n[1])),
        lambda b, n, s, o: sum(b[o + i * s[0]] for i in range(n[0])),
    ],
    "10.3": [
        lambda v, parts: max(v),
        lambda v, parts: [max(v[p::parts], default=-math.inf) for p in range(parts)],
        lambda v, parts: [
            max(v[p * (len(v) // parts) : (p + 1) * (len(v) // parts)], default=-math.inf) for p in range(parts)
        ],
        lambda v, parts: [max(v[p * len(v) // parts : (p + 1) * len(v) // parts], default=0.0) for p in range(parts)],
        lambda v, parts: [max([0.0, *v[p * len(v) // parts : (p + 1) * len(v) // parts]]) for p in range(parts)],
    ],
    "10.4": [
        lambda f, b, p, w: f / p + b / w,
        lambda f, b, p, w: min(f / p, b / w),
        lambda f, b, p, w: f / p,
        lambda f, b, p, w: b / w,
        lambda f, b, p, w: max(p / f, w / b),
    ],
}
