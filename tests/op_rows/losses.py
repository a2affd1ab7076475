"""Rows of cross_entropy and nll_loss: fused, weighted, smoothed, with an ignored class; and of mse_loss."""

from __future__ import annotations

from typing import Any

import numpy as np

import minigrad as mg
from minigrad.ops.nn.batch_norm import moved, normalized_channels

from .row import FLOATS, NUMBERS, Row
from .rows import log_softmax, softmax

F = mg.nn.functional
CLASSES = np.array([[2, 0, 1], [1, 0, 2]])  # class 1 is the ignored one; more rows count than do not
ONEHOT = np.eye(3)[CLASSES]
VALID = CLASSES != 1
WEIGHTS = np.array([0.5, 8.0, 2.0])
SIGNS = np.where(np.arange(15).reshape(3, 5) % 3, -1.0, 1.0)


def _target(x: Any, classes: np.ndarray = CLASSES) -> Any:
    return mg.tensor(classes, device=x.device)


def _rows(x: Any, **given: Any) -> Any:
    """The loss of rows in the last dim, whose classes are neighbours."""
    return F.cross_entropy(x.transpose(1, 2), _target(x), ignore_index=1, **given)


def _losses(x: np.ndarray) -> np.ndarray:
    """Of rows in the last dim, 0 for the ignored class."""
    return -(log_softmax(x, -1) * ONEHOT).sum(-1) * VALID


def _slopes(x: np.ndarray) -> np.ndarray:
    return (softmax(x, -1) - ONEHOT) * VALID[..., None]


def _smooth(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    logs, q = log_softmax(x, 1), np.eye(3)[CLASSES[0]] * 0.7 + 0.1
    return -(logs * q * w).sum(1) * VALID[0]


def _row(name: str, fn: Any, numpy: Any, *shapes: tuple[int, ...], ops: Any = (), **more: Any) -> Row:
    domains = more.pop("domains", ("real",) * len(shapes))
    return Row(name, fn, numpy, domains, ops, shapes, dtypes=FLOATS, tolerance=8, refuses=False, **more)


def _backward(reduction: str, numpy: Any, shape: tuple[int, ...]) -> Row:
    op = mg.schema["cross_entropy_backward"].public
    return _row(f"cross_entropy_backward-{reduction}", lambda g, x: op(g, x, _target(x), ignore=1, reduction=reduction),
                numpy, shape, S, ops=BACK)  # fmt: skip


def _named(reduction: str, numpy: Any, weights: np.ndarray | None = None) -> list[Row]:
    """nll_loss of one reduction, and the adjoint that is its gradient, over the class dim in the middle."""
    op = mg.schema["named_gradient"].public
    given = {"dim": 1, "ignore": 1, "reduction": reduction}
    heads = {"none": lambda g: g[:, None]}.get(reduction, lambda g: g)
    share = VALID if weights is None else VALID * weights[CLASSES]
    count = share.sum() if reduction == "mean" else 1
    hot = -(ONEHOT * share[..., None]).swapaxes(1, 2)
    label = reduction if weights is None else f"{reduction}-weights"

    def factors(x: Any) -> Any:
        return None if weights is None else mg.tensor(weights, dtype=x.dtype, device=x.device)

    return [
        _row(f"nll_loss-{label}",
             lambda x: F.nll_loss(x, _target(x), factors(x), ignore_index=1, reduction=reduction),
             lambda x: numpy((x * hot).sum(1)) / count, S, ops=("minus_named",), kernels=label == "mean"),
        _row(f"named_gradient-{label}", lambda g: op(g, _target(g), factors(g), shape=S, **given),
             lambda g: heads(g) * hot / count, R if reduction == "none" else (), ops=("named_gradient",),
             kernels=label == "mean"),
    ]  # fmt: skip


def _elements(
    name: str, each: Any, *domains: str, kernels: bool = False, target: Any = None, **given: float
) -> list[Row]:
    """A loss of elements, its sum and its mean; `each` is what NumPy says of the elements.  target: a fixed one."""

    def loss(*xs: Any, reduction: str) -> Any:
        fixed = [] if target is None else [mg.tensor(target, dtype=xs[0].dtype, device=xs[0].device)]
        return getattr(F, name)(*xs, *fixed, reduction=reduction, **given)

    how = {"none": lambda y: y, "sum": np.sum, "mean": np.mean}
    return [
        _row(f"{name}-{kind}", lambda *xs, kind=kind: loss(*xs, reduction=kind),
             lambda *xs, of=of: of(each(*xs)), *[(3, 5)] * len(domains), domains=domains,
             kernels=kernels and kind != "none", ops=(f"{name}_{'each' if kind == 'none' else kind}",))
        for kind, of in how.items()
    ]  # fmt: skip


S, R = (2, 3, 3), (2, 3)
EACH = {"ignore_index": 1, "reduction": "none"}
ALONG, BACK = ("cross_entropy",), ("cross_entropy_backward",)
ROWS = [
    _row("cross_entropy", lambda x: _rows(x), lambda x: _losses(x).sum() / VALID.sum(), S, ops=ALONG),
    _row("cross_entropy-sum", lambda x: _rows(x, reduction="sum"), lambda x: _losses(x).sum(), S, ops=ALONG),
    _row("cross_entropy-none", lambda x: _rows(x, reduction="none"), _losses, S, ops=ALONG),
    _row("cross_entropy-images", lambda x: F.cross_entropy(x, _target(x), ignore_index=1), lambda x: _losses(
        x.swapaxes(1, 2)).sum() / VALID.sum(), S),
    _row("cross_entropy-weights", lambda x, w: F.cross_entropy(x, _target(x, CLASSES[0]), w, **EACH,
                                                               label_smoothing=0.3), _smooth,
         (3, 3), (3,), domains=("real", "positive")),
    _row("cross_entropy-probabilities", lambda x, q: F.cross_entropy(x, q), lambda x, q: -(
        log_softmax(x, 1) * q).sum() / 4, (4, 3), (4, 3), domains=("real", "positive")),
    _row("linear_cross_entropy", lambda x, w, b: F.linear_cross_entropy(
        x, w, _target(x, CLASSES[0]), linear_bias=b), lambda x, w, b: -(
        log_softmax(x @ w.T + b, 1) * np.eye(3)[CLASSES[0]]).sum() / 3, (3, 2), (3, 2), (3,), kernels=False),
    _row("nll_loss", lambda x, w: F.nll_loss(x, _target(x, CLASSES[0]), w), lambda x, w: -(
        x * np.eye(3)[CLASSES[0]] * w).sum() / w[CLASSES[0]].sum(), (3, 3), (3,), domains=("real", "positive")),
    *_named("none", lambda y: y),
    *_named("sum", np.sum),
    *_named("mean", np.sum),
    *_named("none", lambda y: y, WEIGHTS),
    *_named("mean", np.sum, WEIGHTS),
    _row("mse_loss-weights", lambda x, t, w: F.mse_loss(x, t, weight=w), lambda x, t, w: (
        (x - t) ** 2 * w).sum() / w.sum(), R, R, R, domains=("real", "real", "positive"), kernels=False),
    _backward("none", lambda g, x: g[..., None] * _slopes(x), R),
    _backward("sum", lambda g, x: g * _slopes(x), ()),
    _backward("mean", lambda g, x: g * _slopes(x) / VALID.sum(), ()),
    Row("interpolate", lambda x: F.interpolate(x, size=(3, 4), mode="bilinear", align_corners=True),
        lambda x: np.einsum("am,ncmk,bk->ncab", np.array([[1, 0], [0.5, 0.5], [0, 1]]), x, np.array(
            [[1, 0, 0], [1 / 3, 2 / 3, 0], [0, 2 / 3, 1 / 3], [0, 0, 1]])), ("real",), (), ((2, 1, 2, 3),),
        dtypes=FLOATS, refuses=False, tolerance=8, kernels=False),
    Row("interpolate-bicubic", lambda x: F.interpolate(x, size=(2, 4), mode="bicubic"),
        lambda x: x @ np.array([[2195, -147, 0], [738, 1535, -225], [-225, 1535, 738], [0, -147, 2195]]).T / 2048,
        ("real",), (), ((1, 2, 2, 3),), dtypes=FLOATS, refuses=False, tolerance=8, kernels=False),
    Row("interpolate-antialias", lambda x: F.interpolate(x, size=(2, 2), mode="bilinear", antialias=True),
        lambda x: x @ np.array([[3, 3, 1, 0], [0, 1, 3, 3]]).T / 7,
        ("real",), (), ((1, 2, 2, 4),), dtypes=FLOATS, refuses=False, tolerance=8, kernels=False),
    Row("interpolate-nearest", lambda x: F.interpolate(x, scale_factor=2), lambda x: x.repeat(2, 2), ("real",), (),
        ((2, 3, 2),), dtypes=NUMBERS, refuses=False, kernels=False),
    Row("batch_norm", lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
        lambda x, w, b: (x - x.mean((0, 2), keepdims=True)) / np.sqrt(x.var((0, 2), keepdims=True) + 1e-5)
        * w[:, None] + b[:, None], ("real", "real", "real"), ("normalized_channels", "channel_gradients"),
        ((2, 3, 4), (3,), (3,)), dtypes=FLOATS, refuses=False, tolerance=8),
    Row("batch_norm-center", lambda x, w, b: (lambda y: y.center.to(x.dtype) + y.y.sum((0, 2)))(
        normalized_channels(x, w, b, eps=0.5)), lambda x, w, b: x.mean((0, 2)) + 8 * b, ("real", "real", "real"),
        ("normalized_channels",), ((2, 3, 4), (3,), (3,)), dtypes=FLOATS, refuses=False, tolerance=64, kernels=False),
    Row("batch_norm-spread", lambda x, w, b: (lambda y: y.spread.to(x.dtype) * 2.0 + y.y.sum((0, 2)))(
        normalized_channels(x, w, b, eps=0.5)), lambda x, w, b: 2 * x.var((0, 2)) + 8 * b, ("real", "real", "real"),
        ("normalized_channels",), ((2, 3, 4), (3,), (3,)), dtypes=FLOATS, refuses=False, tolerance=64, kernels=False),
    Row("moved", moved, lambda a, b, m: a * (1 - m) + b * m, ("real", "real", "real"), ("moved",),
        ((2, 3), (2, 3), (2, 3)), dtypes=FLOATS, refuses=False, kernels=False),
    Row("batch_norm-running", lambda x, m, v, w, b: F.batch_norm(x, m, v, w, b, eps=0.5),
        lambda x, m, v, w, b: (x - m) / np.sqrt(v + 0.5) * w + b, ("real", "real", "positive", "real", "real"),
        ("scaled_from",), ((4, 3), (3,), (3,), (3,), (3,)), dtypes=FLOATS, refuses=False, tolerance=4, kernels=False),
    *_elements("mse_loss", lambda x, t: (x - t) ** 2, "real", "real", kernels=True),
    *_elements("l1_loss", lambda x, t: abs(x - t), "real", "real"),
    *_elements("huber_loss", lambda x, t: np.where(abs(x - t) <= 0.5, (x - t) ** 2 / 2, (abs(x - t) - 0.25) / 2),
               "real", "real", delta=0.5),
    *_elements("smooth_l1_loss", lambda x, t: np.where(abs(x - t) < 0.5, (x - t) ** 2, abs(x - t) - 0.25),
               "real", "real", beta=0.5),
    *_elements("soft_margin_loss", lambda x, t: np.log(1 + np.exp(-t * x)), "real", "real"),
    *_elements("hinge_embedding_loss", lambda x: np.where(SIGNS == 1, x, np.maximum(0, 0.1 - x)), "real",
               target=SIGNS, margin=0.1),
    *_elements("margin_ranking_loss", lambda a, b, t: np.maximum(0, 0.1 - t * (a - b)), "real", "real", "real",
               margin=0.1),
]  # fmt: skip
