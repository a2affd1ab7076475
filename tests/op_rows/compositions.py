"""Rows of functions that are made of other ops; their parts are compiled for the rows of these."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.ops.nn.likelihood import poisson
from minigrad.ops.nn.margins import margin_gradients
from minigrad.ops.nn.recurrence import gru_step, lstm_step
from minigrad.ops.nn.sequences import gru_sequence, lstm_sequence

from .row import FLOATS, INTS, NUMBERS, Row
from .rows import softmax

F = mg.nn.functional
R, WIDE = (2, 3), ("float32", "float64")
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


def _margins(x: np.ndarray) -> np.ndarray:
    """The parts of the scores above the margin 5, and 0 for the named class; all of them are positive."""
    return (5 + x - np.take_along_axis(x, CLASSES[:, None], 1)) * (np.arange(3) != CLASSES[:, None])


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
         POSITIVE, ("above1", R)),
    _row("poisson", poisson, lambda x, t, eps: x - t * np.log(x + eps), POSITIVE, REAL, POSITIVE, ops=("poisson",)),
    _row("gaussian_nll_loss", lambda x, t, v: F.gaussian_nll_loss(x, t, v, full=True),
         lambda x, t, v: (np.log(2 * np.pi * v[:, None]) + (x - t) ** 2 / v[:, None]).mean() / 2,
         REAL, REAL, ("positive", (2,)), ops=("normal_of",)),
    _row("cosine_similarity", lambda a, b: F.cosine_similarity(a, b, -1), _cosine, REAL, ("real", (3,)),
         ops=("at_least",)),
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
         REAL, ops=("margin_losses",)),
    _row("multi_margin_loss-weights", lambda x: F.multi_margin_loss(x, _index(x, CLASSES), 1, 5.0,
         x.new_tensor([3.0, 1.0, 2.0])), lambda x: (_margins(x) * [[2], [3]]).sum() / 6, REAL),
    _row("margin_gradients", lambda g, x: margin_gradients(g, x, _index(x, CLASSES), power=1, margin=5.0,
         reduction="none"), lambda g, x: g[:, None] * np.array([[1, 1, -2], [-2, 1, 1]]) / 3, ("real", (2,)), REAL,
         ops=("margin_gradients",), smooth=False, slope=True),
    _row("multilabel_margin_loss", lambda x: F.multilabel_margin_loss(x, _index(x, LABELS), reduction="sum"),
         _multilabel, ("distinct", R)),
    _row("multilabel_soft_margin_loss", F.multilabel_soft_margin_loss,
         lambda x, t: (t * _soft(x) + (1 - t) * _soft(-x)).mean(), REAL, REAL),
]  # fmt: skip


def _attend(q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray, scale: float) -> np.ndarray:
    return softmax(np.where(mask, q @ k.swapaxes(-1, -2) * scale, -np.inf), -1) @ v


def _grouped(x: np.ndarray, w: np.ndarray, b: np.ndarray, groups: int) -> np.ndarray:
    parts = x.reshape(x.shape[0], groups, -1)
    y = (parts - parts.mean(2, keepdims=True)) / np.sqrt(parts.var(2, keepdims=True) + 1e-5)
    return y.reshape(x.shape) * w[:, None] + b[:, None]


def _neighbours(x: np.ndarray) -> np.ndarray:
    squares = np.pad(x * x, ((0, 0), (1, 1), (0, 0)))
    return x / np.sqrt(1 + 0.5 / 3 * (squares[:, :-2] + squares[:, 1:-1] + squares[:, 2:]))


SEEN = np.array([[True, False, True], [True, True, False]])
X, LINE = ("real", (2, 4, 3)), ("real", (4,))
SEQUENCE = ("real", (3, 2, 8)), ("real", (8, 2)), ("unit", (2, 2)), ("positive", (2, 2))
SUMS, R_STATE = ("real", (2, 12)), ("real", R)


def _gates(x: np.ndarray) -> np.ndarray:
    """The gates i, f, g and o of an LSTM."""
    i, f, g, o = np.split(x, 4, -1)
    return np.concatenate([1 / (1 + np.exp(-i)), 1 / (1 + np.exp(-f)), np.tanh(g), 1 / (1 + np.exp(-o))], -1)


def _lstm(x: np.ndarray, hidden: np.ndarray, c: np.ndarray) -> np.ndarray:
    i, f, g, o = np.split(_gates(x + hidden), 4, -1)
    return 2 * o * np.tanh(f * c + i * g) + f * c + i * g


def _sequence(sums: np.ndarray, weight: np.ndarray, h: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The sum over times of h times 2 plus c."""
    total = np.zeros_like(h)
    for x in sums:
        i, f, g, o = np.split(_gates(x + h @ weight.T), 4, -1)
        c = f * c + i * g
        h = o * np.tanh(c)
        total = total + 2 * h + c
    return total


def _gru_gates(x: np.ndarray, hidden: np.ndarray) -> np.ndarray:
    """The gates r, z and n of a GRU."""
    first = 1 / (1 + np.exp(-(x + hidden)[:, :6]))
    return np.concatenate([first, np.tanh(x[:, 6:] + first[:, :3] * hidden[:, 6:])], -1)


def _gru(x: np.ndarray, hidden: np.ndarray, h: np.ndarray) -> np.ndarray:
    _, z, n = np.split(_gru_gates(x, hidden), 3, -1)
    return (1 - z) * n + z * h


GRU_SEQUENCE = ("real", (3, 2, 6)), ("real", (6, 2)), ("real", (6,)), ("unit", (2, 2))


def _gru_times(sums: np.ndarray, weight: np.ndarray, bias: np.ndarray, h: np.ndarray) -> Iterator[tuple[Any, ...]]:
    """h, the gates and the sums of the state of all times."""
    for x in sums:
        hidden, n = h @ weight.T + bias, h.shape[1]
        first = 1 / (1 + np.exp(-(x + hidden)[:, : 2 * n]))
        last = np.tanh(x[:, 2 * n :] + first[:, :n] * hidden[:, 2 * n :])
        h = (1 - first[:, n:]) * last + first[:, n:] * h
        yield h, np.concatenate([first, last], -1), hidden


NETWORKS = [
    _row("normalize", lambda x: F.normalize(x, 2.0, -1), lambda x: x / _length(x)[:, None], REAL),
    _row("group_norm", lambda x, w, b: F.group_norm(x, 2, w, b), lambda x, w, b: _grouped(x, w, b, 2), X, LINE, LINE,
         ops=("normalized_groups",)),
    _row("instance_norm", lambda x, w, b: F.instance_norm(x, None, None, w, b), lambda x, w, b: _grouped(x, w, b, 4),
         X, LINE, LINE, ops=("normalized_groups",)),
    _row("local_response_norm", lambda x: F.local_response_norm(x, 3, 0.5, 0.5), _neighbours, X),
    _row("bilinear", F.bilinear, lambda a, b, w, bias: np.einsum("ni,oij,nj->no", a, w, b) + bias,
         REAL, ("real", (2, 2)), ("real", (4, 3, 2)), LINE),
    _row("scaled_dot_product_attention", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, _index(q, SEEN)),
         lambda q, k, v: _attend(q, k, v, SEEN, 0.5), ("real", (2, 2, 4)), ("real", (2, 3, 4)), ("real", (2, 3, 2)),
         ops=("attention", "attention_backward")),
    _row("scaled_dot_product_attention-heads", lambda q, k, v: F.scaled_dot_product_attention(
         q, k, v, is_causal=True, scale=0.7, enable_gqa=True), lambda q, k, v: _attend(
         q, k[[0, 0]], v[[0, 0]], np.tri(2, 3) > 0, 0.7), ("real", (2, 2, 4)),
         ("real", (1, 3, 4)), ("real", (1, 3, 2)), ops=("attention",)),
    _row("lstm_step", lambda x, hidden, c: (lambda y: y.h * 2.0 + y.c_next)(lstm_step(x, hidden, c)), _lstm,
         SUMS, SUMS, R_STATE, ops=("lstm_step", "lstm_step_backward"), kernels=True),
    _row("lstm_step-gates", lambda x, hidden, c: lstm_step(x, hidden, c).gates, lambda x, hidden, c: _gates(x + hidden),
         SUMS, SUMS, R_STATE, ops=("lstm_step",)),
    _row("lstm_sequence", lambda x, w, h, c: (lambda y: (y.hs * 2.0 + y.cs).sum(0))(lstm_sequence(x, w, h, c)),
         _sequence, *SEQUENCE, ops=("lstm_sequence", "lstm_sequence_backward")),
    _row("lstm_sequence-gates", lambda x, w, h, c: lstm_sequence(x, w, h, c).gates[0],
         lambda x, w, h, c: _gates(x[0] + h @ w.T), *SEQUENCE, ops=("lstm_sequence",)),
    _row("gru_sequence", lambda *of: (lambda hs: hs[0] + hs[1] * 2.0 + hs[2] * 3.0)(gru_sequence(*of).hs),
         lambda *of: sum((k + 1) * h for k, (h, *_) in enumerate(_gru_times(*of))), *GRU_SEQUENCE,
         ops=("gru_sequence", "gru_sequence_backward")),
    _row("gru_sequence-gates", lambda *of: gru_sequence(*of).gates[1:],
         lambda *of: np.stack([gates for _, gates, _ in _gru_times(*of)])[1:], *GRU_SEQUENCE, ops=("gru_sequence",)),
    _row("gru_sequence-hidden", lambda *of: gru_sequence(*of).hidden[1:],
         lambda *of: np.stack([hidden for *_, hidden in _gru_times(*of)])[1:], *GRU_SEQUENCE, ops=("gru_sequence",)),
    _row("gru_step-gates", lambda x, hidden, h: (lambda y: y.gates * y.gates + y.h_next.sum())(gru_step(x, hidden, h)),
         lambda x, hidden, h: _gru_gates(x, hidden) ** 2 + _gru(x, hidden, h).sum(), ("real", (2, 9)),
         ("real", (2, 9)), R_STATE, ops=("gru_step",)),
    _row("gru_step", lambda x, hidden, h: gru_step(x, hidden, h).h_next, _gru, ("real", (2, 9)), ("real", (2, 9)),
         R_STATE, ops=("gru_step", "gru_step_backward"), kernels=True),
]  # fmt: skip

EDGES = np.array([-1.0, 0.5, 1.0])


def _among(x: Any, others: np.ndarray) -> Any:
    """Constants in the dtype of an operand."""
    return mg.tensor(others, dtype=x.dtype, device=x.device)


SEARCHES = [
    _row("searchsorted", lambda x: mg.searchsorted(_among(x, EDGES), x), lambda x: np.searchsorted(EDGES, x), REAL,
         result="int64", smooth=False),
    _row("bucketize", lambda x: mg.bucketize(x, _among(x, EDGES), right=True),
         lambda x: np.searchsorted(EDGES, x, "right"), REAL, result="int64", smooth=False),
    _row("isin", lambda x: mg.isin(x, mg.full_like(x, 2)), lambda x: x == 2, ("whole", R), dtypes=NUMBERS,
         result="bool", smooth=False),
    _row("hash_tensor", lambda x: mg.hash_tensor(x, 0),
         lambda x: np.bitwise_xor.reduce(x.astype(np.int64), 0).view(np.uint64), ("whole", R), dtypes=INTS,
         result="uint64", smooth=False),
    _row("bincount", lambda x: mg.bincount(x, minlength=4), lambda x: np.bincount(x, minlength=4), ("whole", (5,)),
         dtypes=INTS, result="int64", smooth=False),
    _row("histc", lambda x: mg.histc(x, 4, -2.5, 2.5), lambda x: np.histogram(x, 4, (-2.5, 2.5))[0], REAL,
         smooth=False, dtypes=FLOATS[:3]),
]  # fmt: skip

A, B, COLUMNS = ("real", (2, 3, 4)), ("real", (4,)), np.array([[0, 2], [1, 0]])


def _put(x: np.ndarray, v: np.ndarray) -> np.ndarray:
    y = x.copy()
    np.add.at(y, (slice(None), CLASSES), v)
    return y


def _along(x: np.ndarray, values: Any) -> np.ndarray:
    y = x.copy()
    np.put_along_axis(y, COLUMNS, values, 1)
    return y


def _filled(x: np.ndarray) -> np.ndarray:
    y = x.copy()
    y[:, CLASSES] = 1.5
    return y


AGAIN = np.array([[0, 1, 1], [0, 0, 1]])


def _last(x: np.ndarray, v: np.ndarray) -> np.ndarray:
    y = x.copy()
    for i, j in np.ndindex(AGAIN.shape):
        y[AGAIN[i, j], j] = v[i, j]
    return y


PRODUCTS = [
    _row("inner", mg.inner, np.inner, ("real", (2, 4)), A),
    _row("vdot", mg.vdot, np.vdot, B, B),
    _row("vecdot", mg.linalg.vecdot, lambda a, b: (a * b).sum(-1), A, B),
    _row("cross", mg.cross, np.cross, REAL, REAL, ops=("crossed",)),
    _row("cross-linalg", lambda a, b: mg.linalg.cross(a, b, dim=0), lambda a, b: np.cross(a, b, axis=0),
         ("real", (3, 2)), ("real", (3, 2))),
    _row("kron", mg.kron, np.kron, REAL, ("real", (3, 2))),
    _row("kron-rows", mg.kron, np.kron, ("real", (12, 2)), ("real", (8, 3))),
    _row("tensordot", lambda a, b: mg.tensordot(a, b, ([2, 0], [0, 1])),
         lambda a, b: np.tensordot(a, b, ([2, 0], [0, 1])),
         A, ("real", (4, 2, 2))),
    _row("addbmm", lambda c, a, b: mg.addbmm(c, a, b, beta=0.5, alpha=2), lambda c, a, b: c / 2 + 2 * (a @ b).sum(0),
         ("real", (3, 2)), A, ("real", (2, 4, 2))),
    _row("addr", lambda c, a, b: mg.addr(c, a, b, alpha=2), lambda c, a, b: c + 2 * np.outer(a, b), B,
         ("real", (3,)), B),
    _row("vector_norm", lambda x: mg.linalg.vector_norm(x, 3, (0, 2)),
         lambda x: (abs(x) ** 3).sum((0, 2)) ** (1 / 3), A),
    _row("matrix_norm", lambda x: mg.linalg.matrix_norm(x, 1), lambda x: abs(x).sum(1).max(1), A),
    _row("dist", mg.dist, lambda a, b: np.sqrt(((a - b) ** 2).sum()), ("low", (3,)), ("high", (2, 3))),
    _row("cdist", lambda a, b: mg.cdist(a, b, 1.0), lambda a, b: abs(a[:, None] - b).sum(2), ("low", R),
         ("high", (4, 3)), ops=("row_distances",), kernels=False),
    _row("cdist-euclidean", mg.cdist, lambda a, b: _length(a[:, :, None] - b[:, None]), ("low", (2, 2, 3)),
         ("high", (2, 4, 3)), ops=("row_distances",)),
    _row("renorm", lambda x: mg.renorm(x, 2, 0, 0.1), lambda x: x / (_length(x)[:, None] + 1e-7) / 10, REAL),
    _row("vander", lambda x: mg.linalg.vander(x, 3), lambda x: x[..., None] ** np.arange(3), REAL),
    _row("matrix_power", lambda x: mg.linalg.matrix_power(x, 3), lambda x: x @ x @ x, ("unit", (2, 3, 3))),
    _row("multi_dot", lambda a, b, c: mg.linalg.multi_dot([a, b, c]), lambda a, b, c: a @ b @ c, ("real", (2, 4)),
         ("real", (4, 1)), ("real", (1, 3))),
    _row("chain_matmul", mg.chain_matmul, lambda a, b, c: a @ b @ c, ("real", (2, 4)), ("real", (4, 1)),
         ("real", (1, 3))),
]  # fmt: skip
STATISTICS = [
    _row("nansum", lambda x: mg.nansum(x, 1), lambda x: x.sum(1), A, ops=("nansum",)),
    _row("cov", mg.cov, np.cov, REAL, dtypes=WIDE),
    _row("corrcoef", lambda x: mg.corrcoef(x)[0, 1], lambda x: np.corrcoef(x)[0, 1], ("distinct", (2, 5)),
         dtypes=WIDE, constant=False),
    _row("quantile", lambda x: mg.quantile(x, 0.4, 1), lambda x: np.quantile(x, 0.4, 1), ("distinct", A[1]),
         dtypes=WIDE),
    _row("nanquantile", lambda x: mg.nanquantile(x, 0.3), lambda x: np.quantile(x, 0.3), ("distinct", R), dtypes=WIDE),
    _row("nanmedian", lambda x: mg.nanmedian(x, 1).values, lambda x: np.median(x, 1), ("distinct", R),
         ops=("nanmedian",)),
    _row("mode", lambda x: mg.mode(x, 1).values, lambda x: x.min(1), ("distinct", R), ops=("mode",)),
    _row("trapezoid", lambda y, x: mg.trapezoid(y, x), lambda y, x: np.trapezoid(y, x), REAL, ("real", (3,)),
         ops=("trapz",)),
    _row("cumulative_trapezoid", lambda y: mg.cumulative_trapezoid(y, dx=0.5, dim=1),
         lambda y: np.cumsum(y[:, 1:] + y[:, :-1], 1) / 4, A),
    _row("gradient", lambda x: mg.gradient(x, spacing=0.5, dim=2, edge_order=2)[0],
         lambda x: np.gradient(x, 0.5, axis=2, edge_order=2), A),
    _row("isclose", lambda x: mg.isclose(x, x * 0.0 + 1.0, 0.4), lambda x: np.isclose(x, 1.0, 0.4, 0), REAL,
         dtypes=FLOATS, result="bool", smooth=False),
]  # fmt: skip
PLACES = [
    _row("scatter", lambda x, v: mg.scatter(x, 1, _index(x, COLUMNS), v), lambda x, v: _along(x, v[:, :2]), REAL, REAL),
    _row("scatter-again", lambda x, v: mg.scatter(x, 0, _index(x, AGAIN), v), _last, REAL, REAL, ops=("scatter_put",)),
    _row("scatter-value", lambda x: mg.scatter(x, 1, _index(x, COLUMNS), 2.0), lambda x: _along(x, 2.0), REAL),
    _row("index_fill", lambda x: mg.index_fill(x, 1, _index(x, CLASSES), 1.5), _filled, REAL),
    _row("index_put", lambda x, v: mg.index_put(x, (None, _index(x, CLASSES)), v, True), _put, REAL, ("real", (2, 2))),
    _row("take", lambda x: mg.take(x, _index(x, LABELS)), lambda x: np.take(x, LABELS), REAL),
]  # fmt: skip


def _all_dropped(x: Any) -> Any:
    """Every kind of dropout where nothing is kept."""
    features = F.dropout2d(x, 1.0) + F.dropout3d(x, 1.0) + F.feature_alpha_dropout(x, 1.0, True)
    return F.dropout(x, 1.0) + F.dropout1d(x[0], 1.0) + F.alpha_dropout(x, 1.0, True) + features


DRAWS = [
    _row("dropout", _all_dropped, lambda x: 0 * x, ("real", (2, 3, 2, 2)), order2=False,
         ops=("dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout")),
    _row("rrelu", lambda x: F.rrelu(x, 0.25, 0.25, True), lambda x: np.where(x > 0, x, x / 4), REAL,
         order2=False),
    _row("gumbel_softmax", lambda x: F.gumbel_softmax(x).sum(-1), lambda x: 0 * x.sum(-1) + 1, REAL, order2=False),
    _row("bernoulli", lambda x: mg.bernoulli(x, 1.0), lambda x: 0 * x + 1, REAL, smooth=False, dtypes=FLOATS[:3]),
    _row("multinomial", lambda x: mg.msort(mg.multinomial(x, 3).T), lambda x: np.array([[0, 0], [1, 1], [2, 2]]),
         POSITIVE, smooth=False, result="int64"),
    _row("argwhere", mg.argwhere, np.argwhere, ("zeros", R), smooth=False, result="int64"),
    _row("unique_consecutive", lambda x: mg.unique_consecutive(x, True)[1],
         lambda x: np.cumsum(np.append(0, x[1:] != x[:-1])),
         ("whole", (6,)), smooth=False, result="int64"),
]  # fmt: skip

ROWS = [*LOSSES, *NETWORKS, *SEARCHES, *PRODUCTS, *STATISTICS, *PLACES, *DRAWS]
