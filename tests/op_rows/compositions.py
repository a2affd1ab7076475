"""Rows of functions that are made of other ops; their parts are compiled for the rows of these."""

from __future__ import annotations

from typing import Any

import numpy as np

import minigrad as mg

from .row import FLOATS, Row

F = mg.nn.functional
R = (2, 3)
CLASSES = np.array([2, 0])
LABELS = np.array([[2, 0, -1], [1, -1, 0]])


def _row(name: str, fn: Any, numpy: Any, *operands: tuple[str, tuple[int, ...]], **more: Any) -> Row:
    more = {"dtypes": FLOATS, "refuses": False, "tolerance": 8, "kernels": False} | more
    return Row(name, fn, numpy, tuple(domain for domain, _ in operands), more.pop("ops", ()),
               tuple(shape for _, shape in operands), **more)  # fmt: skip


def _index(x: Any, values: np.ndarray) -> Any:
    return mg.tensor(values, device=x.device)


def _share(x: np.ndarray) -> np.ndarray:
    """Numbers between 0 and 1, of positive ones."""
    return x / (x + 1)


def _soft(x: np.ndarray) -> np.ndarray:
    """-log(sigmoid(x))."""
    return np.log1p(np.exp(-x))


def _cosine(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a * b).sum(-1) / np.sqrt((a * a).sum(-1) * (b * b).sum(-1))


def _length(x: np.ndarray) -> np.ndarray:
    return np.sqrt((x * x).sum(-1))


def _multi_margin(x: np.ndarray) -> np.ndarray:
    gap = np.maximum(0, 5 + x - np.take_along_axis(x, CLASSES[:, None], 1)) ** 2
    return np.where(np.arange(3) == CLASSES[:, None], 0, gap).mean(1)


def _multilabel(x: np.ndarray) -> float:
    found = 0.0
    for row, labels in zip(x, ([2, 0], [1])):
        others = [k for k in range(3) if k not in labels]
        found += sum(max(0.0, 1 - row[j] + row[k]) for j in labels for k in others) / 3
    return found


NONE = {"reduction": "none"}
REAL, POSITIVE = ("real", R), ("positive", R)
LOSSES = [
    _row("binary_cross_entropy", lambda p, t: F.binary_cross_entropy(p / (p + 1.0), t, **NONE),
         lambda p, t: -t * np.log(_share(p)) - (1 - t) * np.log(1 - _share(p)), POSITIVE, REAL,
         ops=("cross_entropy_of_one",)),
    _row("binary_cross_entropy_with_logits", lambda x, t, w, p: F.binary_cross_entropy_with_logits(
         x, t, w, pos_weight=p), lambda x, t, w, p: (w * (p * t * _soft(x) + (1 - t) * _soft(-x))).mean(),
         REAL, REAL, POSITIVE, ("positive", (3,)), ops=("cross_entropy_of_logit",)),
    _row("kl_div", lambda x, t: F.kl_div(x, t, reduction="batchmean"), lambda x, t: (t * (np.log(t) - x)).sum() / 2,
         REAL, POSITIVE, ops=("divergence",)),
    _row("kl_div-log_target", lambda x, t: F.kl_div(x, t, log_target=True), lambda x, t: (np.exp(t) * (t - x)).mean(),
         REAL, ("small", R), ops=("divergence_of_logs",)),
    _row("poisson_nll_loss", lambda x, t: F.poisson_nll_loss(x, t, **NONE), lambda x, t: np.exp(x) - t * x,
         REAL, POSITIVE, ops=("poisson_of_log",)),
    _row("poisson_nll_loss-full", lambda x, t: F.poisson_nll_loss(x, t, False, True, eps=0.5, reduction="sum"),
         lambda x, t: (x - t * np.log(x + 0.5) + t * np.log(t) - t + np.log(2 * np.pi * t) / 2).sum(),
         POSITIVE, ("above1", R), ops=("poisson",)),
    _row("gaussian_nll_loss", lambda x, t, v: F.gaussian_nll_loss(x, t, v, full=True),
         lambda x, t, v: (np.log(2 * np.pi * v[:, None]) + (x - t) ** 2 / v[:, None]).mean() / 2,
         REAL, REAL, ("positive", (2,)), ops=("normal_of",)),
    _row("cosine_similarity", lambda a, b: F.cosine_similarity(a, b, -1), _cosine, REAL, ("real", (3,))),
    _row("pairwise_distance", lambda a, b: F.pairwise_distance(a, b, eps=0.5), lambda a, b: _length(a - b + 0.5),
         ("low", R), ("high", R)),
    _row("cosine_embedding_loss", lambda a, b: F.cosine_embedding_loss(a, b, _index(a, np.array([1, -1])), -2.0),
         lambda a, b: ((1 - _cosine(a, b)[0]) + (2 + _cosine(a, b)[1])) / 2, REAL, REAL),
    _row("triplet_margin_loss", lambda a, p, n: F.triplet_margin_loss(a, p, n, 9.0, eps=0.5),
         lambda a, p, n: (9 + _length(a - p + 0.5) - _length(a - n + 0.5)).mean(),
         ("low", R), ("high", R), ("high", R)),
    _row("triplet_margin_with_distance_loss", lambda a, p, n: F.triplet_margin_with_distance_loss(
         a, p, n, distance_function=lambda x, y: (x * y).sum(1), margin=20.0),
         lambda a, p, n: ((a * p - a * n).sum(1) + 20).mean(), REAL, REAL, REAL),
    _row("multi_margin_loss", lambda x: F.multi_margin_loss(x, _index(x, CLASSES), 2, 5.0, **NONE), _multi_margin,
         REAL),
    _row("multilabel_margin_loss", lambda x: F.multilabel_margin_loss(x, _index(x, LABELS), reduction="sum"),
         _multilabel, ("distinct", R)),
    _row("multilabel_soft_margin_loss", F.multilabel_soft_margin_loss,
         lambda x, t: (t * _soft(x) + (1 - t) * _soft(-x)).mean(), REAL, REAL),
]  # fmt: skip

ROWS = [*LOSSES]
