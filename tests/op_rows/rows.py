"""Rows of softmax, log_softmax, layer_norm, rms_norm and glu, and of their backward ops, which are ops too."""

from __future__ import annotations

from typing import Any

import numpy as np

import minigrad as mg

from .row import ALL, FLOATS, Row

EPS = 0.1
PAIRS = ((0, 1), (0, 2), (1, 2))


def softmax(x: np.ndarray, axis: int) -> np.ndarray:
    e = np.exp(x - x.max(axis, keepdims=True)) if x.size else x
    return e / e.sum(axis, keepdims=True)


def log_softmax(x: np.ndarray, axis: int) -> np.ndarray:
    return np.log(softmax(x, axis))


def normal(x: np.ndarray, center: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """The rows of the last dim as layer_norm leaves them, and what they were multiplied by."""
    deviation = x - x.mean(-1, keepdims=True) if center else x
    scale = 1 / np.sqrt((deviation**2).mean(-1, keepdims=True) + EPS)
    return deviation * scale, scale


def norm_backward(dy: np.ndarray, x: np.ndarray, weight: np.ndarray, center: bool = True) -> np.ndarray:
    y, scale = normal(x, center)
    d = dy * weight
    level = d.mean(-1, keepdims=True) if center else 0.0
    return scale * (d - level - y * (d * y).mean(-1, keepdims=True))


def weight_sums(dy: np.ndarray, x: np.ndarray, center: bool = True) -> np.ndarray:
    return (dy * normal(x, center)[0]).sum(tuple(range(x.ndim - 1)))


def bias_sums(dy: np.ndarray) -> np.ndarray:
    return dy.sum(tuple(range(dy.ndim - 1)))


def group_gradients(x: np.ndarray, g: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The gradients of group_norm with two groups."""
    values, slopes = (v.reshape(2, 2, 6) for v in (x, g * weight[:, None]))
    unit = normal(values)[0].reshape(x.shape)
    return _lines(norm_backward(slopes, values, np.ones(6)), (g * unit).sum((0, 2)), g.sum((0, 2)))


def glu_backward(g: np.ndarray, x: np.ndarray) -> np.ndarray:
    a, b = np.split(x, 2, 1)
    s = 1 / (1 + np.exp(-b))
    return np.concatenate([g * s, g * a * s * (1 - s)], 1)


def _row(name: str, fn: Any, numpy: Any, *shapes: tuple[int, ...], ops: Any = None, **more: Any) -> Row:
    return Row(name, fn, numpy, more.pop("domains", ("real",) * len(shapes)), ops or (name,), shapes,
               **{"dtypes": FLOATS, "tolerance": 8, **more})  # fmt: skip


def pair_gradients(g: np.ndarray, y: np.ndarray, x: np.ndarray) -> np.ndarray:
    result = np.zeros_like(x)
    for k, (i, j) in enumerate(PAIRS):
        term = 0 * x[i] if y[k] == 0 else g[k] / y[k] * (x[i] - x[j])
        result[i], result[j] = result[i] + term, result[j] - term
    return result


def row_gradients(g: np.ndarray, y: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    factors = np.where(y == 0, 0, g / np.where(y == 0, 1, y))
    return (factors[..., None] * (a[:, :, None] - b[:, None])).sum(2)


def _slope(name: str, numpy: Any, *shapes: tuple[int, ...], **params: Any) -> Row:
    """A slope's op, all its results one behind the other."""

    def fn(*operands: Any) -> Any:
        found = mg.schema[name].public(*operands, **params)
        return found if isinstance(found, mg.Tensor) else mg.cat([y.reshape(-1, 4) for y in found])

    return _row(name, fn, numpy, *shapes, smooth=False, slope=True)


def _lines(*found: np.ndarray) -> np.ndarray:
    return np.concatenate([y.reshape(-1, 4) for y in found])


S, L = (2, 3, 4), (4,)
F = mg.nn.functional
ROWS = [
    _row("softmax", lambda x: mg.softmax(x, 1), lambda x: softmax(x, 1), S, ops=("softmax",), dtypes=ALL,
         result="float"),
    _row("log_softmax", lambda x: mg.log_softmax(x, -1), lambda x: log_softmax(x, -1), S, ops=("log_softmax",),
         dtypes=ALL, result="float"),
    _row("softmin", lambda x: F.softmin(x, 0), lambda x: softmax(-x, 0), S, ops=("softmax",), dtypes=ALL,
         result="float"),
    _slope("softmax_backward", lambda g, y: (g - (g * y).sum(1, keepdims=True)) * y, S, S, dim=1),
    _slope("log_softmax_backward", lambda g, y: g - np.exp(y) * g.sum(2, keepdims=True), S, S, dim=2),
    _row("layer_norm", lambda x, w, b: F.layer_norm(x, 4, w, b, EPS), lambda x, w, b: normal(x)[0] * w + b, S, L, L,
         ops=("layer_norm",)),
    _row("layer_norm-dims", lambda x, w, b: F.layer_norm(x, (3, 4), w, b, EPS),
         lambda x, w, b: normal(x.reshape(2, 12))[0].reshape(x.shape) * w + b, S, (3, 4), (3, 4),
         ops=("layer_norm",)),
    _slope("layer_norm_backward", norm_backward, S, S, L, eps=EPS),
    _slope("layer_norm_sums", lambda g, x: _lines(weight_sums(g, x), bias_sums(g)), S, S, eps=EPS),
    _slope("layer_norm_gradients", lambda g, x, w: _lines(norm_backward(g, x, w), weight_sums(g, x), bias_sums(g)),
           S, S, L, eps=EPS),
    _row("rms_norm", lambda x, w: F.rms_norm(x, 4, w, EPS), lambda x, w: normal(x, False)[0] * w, S, L,
         ops=("rms_norm",)),
    _slope("rms_norm_backward", lambda g, x, w: norm_backward(g, x, w, False), S, S, L, eps=EPS),
    _slope("rms_norm_sums", lambda g, x: weight_sums(g, x, False), S, S, eps=EPS),
    _slope("rms_norm_gradients", lambda g, x, w: _lines(norm_backward(g, x, w, False), weight_sums(g, x, False)),
           S, S, L, eps=EPS),
    _slope("group_gradients", group_gradients, (2, 4, 3), (2, 4, 3), L, groups=2, eps=EPS),
    _slope("pair_gradients", pair_gradients, (3,), (3,), (3, 4), order=2),
    _slope("row_gradients", row_gradients, (2, 3, 5), (2, 3, 5), (2, 3, 4), (2, 5, 4), order=2),
    _slope("glu_backward", glu_backward, (2, 3, 4), (2, 6, 4), dim=1),
]  # fmt: skip
