"""Rows of softmax, log_softmax, layer_norm and rms_norm, and of their backward ops, which are ops too."""

from __future__ import annotations

from typing import Any

import numpy as np

import minigrad as mg
from minigrad.ops import norms
from minigrad.ops import softmax as softmaxes

from .row import ALL, FLOATS, Row

EPS = 0.1


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


def norm_backward(x: np.ndarray, dy: np.ndarray, weight: np.ndarray, center: bool = True) -> np.ndarray:
    y, scale = normal(x, center)
    d = dy * weight
    level = d.mean(-1, keepdims=True) if center else 0.0
    return scale * (d - level - y * (d * y).mean(-1, keepdims=True))


def layer_norm_sums(x: np.ndarray, dy: np.ndarray) -> np.ndarray:
    lead = tuple(range(x.ndim - 1))
    return np.stack([(dy * normal(x)[0]).sum(lead), dy.sum(lead)])


def rms_norm_sums(x: np.ndarray, dy: np.ndarray) -> np.ndarray:
    return (dy * normal(x, False)[0]).sum(tuple(range(x.ndim - 1)))


def _row(name: str, fn: Any, numpy: Any, *shapes: tuple[int, ...], ops: Any = None, **more: Any) -> Row:
    return Row(name, fn, numpy, more.pop("domains", ("real",) * len(shapes)), ops or (name,), shapes,
               **{"dtypes": FLOATS, "tolerance": 8, **more})  # fmt: skip


S, P = (2, 3, 4), (2, 4)
F = mg.nn.functional
ROWS = [
    _row("softmax", lambda x: mg.softmax(x, 1), lambda x: softmax(x, 1), S, ops=("softmax",), dtypes=ALL,
         result="float"),
    _row("log_softmax", lambda x: mg.log_softmax(x, -1), lambda x: log_softmax(x, -1), S, ops=("log_softmax",),
         dtypes=ALL, result="float"),
    _row("softmin", lambda x: F.softmin(x, 0), lambda x: softmax(-x, 0), S, ops=("softmax",), dtypes=ALL,
         result="float"),
    _row("softmax_backward", lambda g, y: softmaxes.softmax_backward(g, y, dim=1),
         lambda g, y: (g - (g * y).sum(1, keepdims=True)) * y, S, S),
    _row("log_softmax_backward", lambda g, y: softmaxes.log_softmax_backward(g, y, dim=2),
         lambda g, y: g - np.exp(y) * g.sum(2, keepdims=True), S, S),
    _row("layer_norm", lambda x, p: norms.layer_norm_with(x, p, eps=EPS), lambda x, p: normal(x)[0] * p[0] + p[1], S, P,
         ops=("layer_norm",)),
    _row("layer_norm-public", lambda x, w, b: F.layer_norm(x, (3, 4), w, b, EPS),
         lambda x, w, b: normal(x.reshape(2, 12))[0].reshape(x.shape) * w + b, S, (3, 4), (3, 4),
         ops=("layer_norm", "two_lines")),
    _row("layer_norm_backward", lambda x, g, w: norms.layer_norm_backward(x, g, w, eps=EPS), norm_backward, S, S, (4,)),
    _row("layer_norm_sums", lambda x, g: norms.layer_norm_sums(x, g, eps=EPS), layer_norm_sums, S, S),
    _row("layer_norm_gradients", lambda x, g, w: norms.layer_norm_gradients(x, g, w, eps=EPS),
         lambda x, g, w: np.concatenate([norm_backward(x, g, w).reshape(6, 4), layer_norm_sums(x, g)]), S, S, (4,)),
    _row("rms_norm", lambda x, w: F.rms_norm(x, 4, w, EPS), lambda x, w: normal(x, False)[0] * w, S, (4,),
         ops=("rms_norm",)),
    _row("rms_norm_backward", lambda x, g, w: norms.rms_norm_backward(x, g, w, eps=EPS),
         lambda x, g, w: norm_backward(x, g, w, False), S, S, (4,)),
    _row("rms_norm_sums", lambda x, g: norms.rms_norm_sums(x, g, eps=EPS), rms_norm_sums, S, S),
    _row("rms_norm_gradients", lambda x, g, w: norms.rms_norm_gradients(x, g, w, eps=EPS),
         lambda x, g, w: np.concatenate([norm_backward(x, g, w, False).reshape(6, 4), rms_norm_sums(x, g)[None]]), S, S,
         (4,)),
]  # fmt: skip
