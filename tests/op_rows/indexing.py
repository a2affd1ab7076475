"""Rows of compositions by index and of images: puts, histograms, bags, unpooling and positions that are computed."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.ops.indexing.positions import pair_add
from minigrad.ops.nn import ctc, taps

from .compositions import _index, _row
from .row import FLOATS, INTS, NUMBERS, Row

F = mg.nn.functional
R, X, TABLE = (2, 3), (3, 4), (4, 3)
CELLS, NAMED = np.array([[0, 5], [3, 0]]), np.array([2, 0, 2, 2])
LABELS, STEPS, LENGTHS = np.array([[1, 1], [2, 1], [2, 1]]), np.array([4, 3, 3]), np.array([2, 2, 0])
COLUMNS = np.array([[0], [1]])
WHOLE: dict[str, Any] = {"dtypes": ("int64",), "smooth": False}
WAYS: dict[str, Any] = {"near": False, "beyond": 0, "corners": True}
TAPS = np.array([[[0, 2, -1], [2, 2, 1]], [[1, -1, -1], [0, 1, 1]]])
ROWS_OF_PAIRS, COLUMNS_OF_PAIRS = np.array([[0], [2]]), np.array([3, -1, 1])  # two pairs are the same element
BAGS = np.array([[0, 2, 2, 1], [3, 1, 0, 2]])


def _put(x: np.ndarray, v: np.ndarray, accumulate: bool = False) -> np.ndarray:
    y = x.reshape(-1).copy()
    for k, value in zip(CELLS.reshape(-1), v.reshape(-1)):
        y[k] = y[k] + value if accumulate else value
    return y.reshape(x.shape)


def _pairs_added(g: np.ndarray) -> np.ndarray:
    y = np.zeros((3, 4, *g.shape[2:]), g.dtype)
    np.add.at(y, (ROWS_OF_PAIRS, COLUMNS_OF_PAIRS), g)
    return y


def _scattered(x: np.ndarray, v: np.ndarray) -> np.ndarray:
    y = x.copy()
    y[2, 0] += v[0, 0]
    y[0, 1] += v[0, 1]
    return y


def _index_reduce(x: np.ndarray, v: np.ndarray) -> np.ndarray:
    y = x.copy()
    for k, row in zip(NAMED, v):
        y[k] = y[k] * row
    return y


def _ctc(x: np.ndarray) -> np.ndarray:
    """The sum over all alignments of steps to labels, which repeat labels and add blanks."""
    losses = []
    for n, (steps, count) in enumerate(zip(STEPS, LENGTHS)):
        total = 0.0
        for path in product(range(x.shape[2]), repeat=steps):
            kept = [c for k, c in enumerate(path) if c and (not k or path[k - 1] != c)]
            total += np.exp(sum(x[t, n, c] for t, c in enumerate(path))) * (kept == LABELS[n, :count].tolist())
        losses.append(-np.log(total) / max(1, count))
    return np.mean(losses)


def _bag(x: np.ndarray, how: Any) -> np.ndarray:
    return np.stack([how(x[row[row != 1]], 0) for row in BAGS])


def _windows(x: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    spans = [[(o * n // m, -(-(o + 1) * n // m)) for o in range(m)] for n, m in zip(x.shape[1:], sizes)]
    return np.array([[plane[tuple(slice(*span) for span in cell)].max() for cell in product(*spans)]
                     for plane in x]).reshape(len(x), *sizes)  # fmt: skip


def _adaptive(sizes: tuple[int, ...], shape: tuple[int, ...]) -> Row:
    name = f"adaptive_max_pool{len(sizes)}d"
    fn = getattr(F, name)
    return _row(name, lambda x: fn(x, sizes), lambda x: _windows(x, sizes), ("distinct", shape), order2=False)


def _unpooled(x: np.ndarray, indices: np.ndarray, size: tuple[int, ...]) -> np.ndarray:
    y = np.zeros((len(x), np.prod(size)), x.dtype)
    for plane, row, at in zip(y, x.reshape(len(x), -1), indices.reshape(len(x), -1)):
        plane[at] = row
    return y.reshape(len(x), *size)


def _unpooling(dims: int) -> Row:
    indices = np.array([[0, 3 * 2 ** (dims - 1) - 1]] * 2).reshape(2, *(1,) * (dims - 1), 2)
    fn = getattr(F, f"max_unpool{dims}d")
    return _row(f"max_unpool{dims}d", lambda x: fn(x, _index(x, indices), 2, output_size=(*(2,) * (dims - 1), 3)),
                lambda x: _unpooled(x, indices, (*(2,) * (dims - 1), 3)), ("real", indices.shape))  # fmt: skip


def _cubic(t: float) -> float:
    t = abs(t)
    return (1.25 * t - 2.25) * t * t + 1 if t <= 1 else ((-0.75 * t + 3.75) * t - 6) * t + 3 if t < 2 else 0.0


def _sampled(x: np.ndarray, grid: np.ndarray, weight: Any, reach: int, border: bool) -> np.ndarray:
    """Each output as the sum of the pixels around its position, which runs from -1 to 1 between the outer centres."""
    dims = grid.shape[-1]
    y = np.zeros((*x.shape[:2], *grid.shape[1:-1]))
    for n, *spot in np.ndindex(grid.shape[:-1]):
        at = [(grid[(n, *spot, dims - 1 - d)] + 1) / 2 * (x.shape[2 + d] - 1) for d in range(dims)]
        for offset in product(range(1 - reach, reach + 1), repeat=dims):
            pixel = [int(np.floor(a)) + k for a, k in zip(at, offset)]
            inside = [min(max(p, 0), m - 1) for p, m in zip(pixel, x.shape[2:])]
            if border or pixel == inside:
                y[(n, slice(None), *spot)] += x[(n, slice(None), *inside)] * np.prod(
                    [weight(a - p) for a, p in zip(at, pixel)]
                )
    return y


def _image_gradient(g: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """The gradient of the images of the row grid_sample, pixel by pixel."""
    result = np.zeros((*g.shape[:2], 3, 4))
    for pixel in np.ndindex(3, 4):
        one = np.zeros_like(result)
        one[(..., *pixel)] = 1
        result[(..., *pixel)] = (_sampled(one, grid, _linear, 1, False) * g).sum((2, 3))
    return result


def _grid_gradient(g: np.ndarray, x: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """The gradient of its grid: a central difference is exact, because results are linear along each dim."""
    result, h = np.zeros_like(grid), 2.0**-10
    for k in range(2):
        step = h * np.eye(2)[k]
        change = [_sampled(x, grid + side * step, _linear, 1, False) for side in (1, -1)]
        result[..., k] = ((change[0] - change[1]) / (2 * h) * g).sum(1)
    return result


def _tapped(x: np.ndarray, w: np.ndarray, back: bool) -> np.ndarray:
    y = np.zeros_like(x)
    for n, k, o in np.ndindex(TAPS.shape):
        if (i := TAPS[n, k, o]) >= 0:
            to, at = (i, o) if back else (o, i)
            y[n, :, to] += w[n, k, o] * x[n, :, at]
    return y


def _linear(t: float) -> float:
    return max(0.0, 1 - abs(t))


def _affine(theta: np.ndarray) -> np.ndarray:
    h, w = np.meshgrid([-2 / 3, 0, 2 / 3], [-0.5, 0.5], indexing="ij")
    return np.einsum("nij,hwj->nhwi", theta, np.stack([w, h, np.ones((3, 2))], -1))


ROWS = [
    _row("put-flat", lambda x, v: mg.put(x, _index(x, CELLS), v), _put, ("real", R), ("real", (2, 2))),
    _row("put-accumulate", lambda x, v: mg.put(x, _index(x, CELLS), v, True), lambda x, v: _put(x, v, True),
         ("real", R), ("real", (4,))),
    _row("fill-like", lambda x, v: mg.fill(x, v), lambda x, v: 0 * x + v, ("real", R), ("real", ()), order2=False),
    _row("pair", lambda x: x[:, _index(x, ROWS_OF_PAIRS), _index(x, COLUMNS_OF_PAIRS)],
         lambda x: x[:, ROWS_OF_PAIRS, COLUMNS_OF_PAIRS], ("real", (2, 3, 4)), ops=("pair_select",)),
    _row("pair-inside", lambda x: x[:, _index(x, COLUMNS_OF_PAIRS), _index(x, ROWS_OF_PAIRS)],
         lambda x: x[:, COLUMNS_OF_PAIRS, ROWS_OF_PAIRS], ("real", (2, 4, 3, 2)), ops=("pair_select",)),
    _row("pair_add",
         lambda g: pair_add(g, _index(g, ROWS_OF_PAIRS), _index(g, COLUMNS_OF_PAIRS), shape=(3, 4, 2), dim=0),
         _pairs_added, ("real", (2, 3, 2)), ops=("pair_add",)),
    _row("index_reduce", lambda x, v: mg.index_reduce(x, 0, _index(x, NAMED), v, "prod"), _index_reduce,
         ("real", X), ("real", (4, 4)), dtypes=NUMBERS, ops=("scatter_product",)),
    _row("scatter_add-larger", lambda x, v: mg.scatter_add(x, 0, _index(x, np.array([[2, 0]])), v), _scattered,
         ("real", X), ("real", (2, 3)), dtypes=NUMBERS),
    _row("unravel_index", lambda x: mg.stack([*mg.unravel_index(x, (3, 4))]), lambda x: np.stack(np.unravel_index(
         x.astype(int), (3, 4))), ("whole", X), dtypes=INTS, result="int64", smooth=False),
    _row("histogram", lambda x: mg.histogram(x, 4, range=(-1.5, 1.5)).hist, lambda x: np.histogram(
         x, 4, (-1.5, 1.5))[0], ("real", X), dtypes=FLOATS[2:3], smooth=False),
    _row("histogramdd", lambda x: mg.histogramdd(x, [2, 3], (-1.5, 1.5, -2, 2), density=True).hist,
         lambda x: np.histogramdd(x, (2, 3), ((-1.5, 1.5), (-2, 2)), density=True)[0], ("zeros", (9, 2)),
         dtypes=FLOATS[2:3], smooth=False, constant=False),
    _row("pdist", lambda x: mg.pdist(x, 1.0), lambda x: np.array(
         [abs(x[i] - x[j]).sum() for i in range(3) for j in range(i + 1, 3)]), ("distinct", X), constant=False,
         ops=("pair_distances",), kernels=False),
    _row("pdist-euclidean", mg.pdist, lambda x: np.array(
         [np.sqrt(((x[i] - x[j]) ** 2).sum()) for i in range(3) for j in range(i + 1, 3)]), ("distinct", X),
         constant=False, ops=("pair_distances",)),
    _row("ctc_loss", lambda x: F.ctc_loss(x, _index(x, LABELS), STEPS, LENGTHS), _ctc, ("real", (4, 3, 3)),
         ops=("ctc_step", "ctc_cost")),
    _row("ctc_label", lambda x: ctc.ctc_label(x, *[_index(x, v) for v in (COLUMNS, LENGTHS)], 9),
         lambda x: np.where(COLUMNS < LENGTHS, x, 9), ("whole", (2, 3)), **WHOLE),
    _row("ctc_moves", lambda x: ctc.ctc_moves(x, 1, *[_index(x, v) for v in (COLUMNS, LENGTHS)]),
         lambda x: (COLUMNS < LENGTHS) * (1 + (x != 1)), ("whole", (2, 3)), result="int8", **WHOLE),
    _row("embedding_bag", lambda w: F.embedding_bag(_index(w, BAGS), w, padding_idx=1), lambda w: _bag(w, np.mean),
         ("real", TABLE)),
    _row("embedding_bag-sum", lambda w, s: F.embedding_bag(
         _index(w, BAGS.reshape(-1)), w, _index(w, np.array([0, 4, 4])), mode="sum", per_sample_weights=s),
         lambda w, s: np.stack([s[:4] @ w[BAGS[0]], 0 * w[0], s[4:] @ w[BAGS[1]]]), ("real", TABLE), ("real", (8,))),
    _row("embedding_bag-max", lambda w: F.embedding_bag(_index(w, BAGS), w, padding_idx=1, mode="max"),
         lambda w: _bag(w, np.max), ("distinct", TABLE), order2=False),
    *map(_adaptive, ((3,), (2, 3), (1, 2, 2)), ((2, 7), (2, 3, 4), (1, 2, 3, 2))),
    *map(_unpooling, (1, 2, 3)),
    _row("grid_sample", lambda x, g: F.grid_sample(x, g, align_corners=True), lambda x, g: _sampled(
         x, g, _linear, 1, False), ("real", (1, 2, 3, 4)), ("unit", (1, 2, 2, 2)), order2=False,
         ops=("sampled",)),
    _row("grid_sample-3d", lambda x, g: F.grid_sample(x, g, padding_mode="border", align_corners=True),
         lambda x, g: _sampled(x, g, _linear, 1, True), ("real", (1, 1, 2, 3, 2)), ("unit", (1, 1, 1, 3, 3)),
         order2=False, ops=("linear_tap", "joined_tap", "pad_position")),
    _row("grid_sample-bicubic", lambda x, g: F.grid_sample(x, g, "bicubic", "border", True), lambda x, g: _sampled(
         x, g, _cubic, 2, True), ("real", (1, 1, 3, 4)), ("unit", (1, 1, 3, 2))),
    _row("pixel_at", lambda x: taps.pixel_at(x, 5.0, 0.0), lambda x: ((x + 1) * 5 - 1) / 2, ("real", R),
         ops=("pixel_at",), order2=False),
    _row("pixel_at-corners", lambda x: taps.pixel_at(x, 5.0, 1.0), lambda x: (x + 1) * 2, ("real", R),
         ops=("pixel_at",), order2=False),
    *[_row(f"tapped{'-back' if back else ''}", lambda x, w, back=back: taps.tapped(x, _index(x, TAPS), w, 3, back),
           lambda x, w, back=back: _tapped(x, w, back), ("real", (2, 6, 3)), ("real", (2, 2, 3)),
           dtypes=("float32", "float64"), ops=("tapped",)) for back in (False, True)],
    _row("image_gradient", lambda g, grid: taps.image_gradient(g, grid, size=(3, 4), **WAYS), _image_gradient,
         ("real", (1, 2, 2, 2)), ("unit", (1, 2, 2, 2)), dtypes=("float32", "float64"), smooth=False, slope=True,
         ops=("image_gradient",)),
    _row("grid_gradient", lambda g, x, grid: taps.grid_gradient(g, x, grid, **WAYS), _grid_gradient,
         ("real", (1, 2, 2, 2)), ("real", (1, 2, 3, 4)), ("unit", (1, 2, 2, 2)), dtypes=("float32", "float64"),
         smooth=False, slope=True, ops=("grid_gradient",)),
    _row("affine_grid", lambda t: F.affine_grid(t, (2, 1, 3, 2)), _affine, ("real", (2, 2, 3))),
]  # fmt: skip
