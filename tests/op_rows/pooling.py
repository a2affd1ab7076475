"""Rows of pooling; the oracle walks over windows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.core.shape import Window
from minigrad.nn import functional
from minigrad.ops.nn.windows import avg_pool_back, max_pool_back, max_pool_pick

from .row import FLOATS, NUMBERS, Row

Place = tuple[tuple[int, ...], tuple[slice, ...], tuple[int, ...]]


def sizes(x: np.ndarray, window: Any, stride: Any, padding: Any, dilation: Any, ceil: bool) -> list[int]:
    """How many windows along each dim."""
    found = []
    for d, k in enumerate(window):
        n, starts = x.shape[2 + d], []
        while len(starts) * stride[d] < n + padding[d]:
            at = len(starts) * stride[d] - padding[d]
            if at + dilation[d] * (k - 1) >= n + padding[d] + (stride[d] - 1 if ceil else 0):
                break
            starts.append(at)
        found.append(len(starts))
    return found


def windows(x: np.ndarray, window: Any, stride: Any, padding: Any, dilation: Any, ceil: bool) -> Iterator[Place]:
    """For each output: its index, the slices of the image, and its size with padding."""
    for place in np.ndindex(*sizes(x, window, stride, padding, dilation, ceil)):
        slices, counts = [], []
        for d, o in enumerate(place):
            start = o * stride[d] - padding[d]
            end = start + dilation[d] * (window[d] - 1) + 1
            counts.append(min(end, x.shape[2 + d] + padding[d]) - start)
            first = start if start >= 0 else start + -(start // dilation[d]) * dilation[d]
            slices.append(slice(first, min(end, x.shape[2 + d]), dilation[d]))
        yield place, tuple(slices), tuple(counts)


def largest(x: np.ndarray, *rest: Any) -> np.ndarray:
    found = [(p, x[(..., *s)].reshape(*x.shape[:2], -1).max(-1)) for p, s, _ in windows(x, *rest)]
    return gathered(x, found, rest)


def mean(x: np.ndarray, window: Any, stride: Any, padding: Any, ceil: bool, pad: bool, divisor: Any) -> np.ndarray:
    rest = (window, stride, padding, (1,) * len(window), ceil)
    found = []
    for p, s, counts in windows(x, *rest):
        part = x[(..., *s)].reshape(*x.shape[:2], -1)
        found.append((p, part.sum(-1) / (divisor or (np.prod(counts) if pad else part.shape[-1]))))
    return gathered(x, found, rest)


def gathered(x: np.ndarray, found: list[Any], rest: Any) -> np.ndarray:
    out = np.zeros((*x.shape[:2], *sizes(x, *rest)), np.result_type(*(v for _, v in found)))
    for place, value in found:
        out[(..., *place)] = value
    return out


def _max(name: str, shape: Any, window: Any, stride: Any = None, padding: Any = None, dilation: Any = None,
         ceil: bool = False) -> Row:  # fmt: skip
    dims = len(shape) - 2
    fn = getattr(functional, f"max_pool{dims}d")
    rest = (window, stride or window, padding or (0,) * dims, dilation or (1,) * dims, ceil)
    return Row(
        name,
        lambda x: fn(x, window, stride, rest[2], rest[3], ceil),
        lambda x: largest(x, *rest),
        ("distinct",),
        ("max_pool",),
        (shape,),
        dtypes=NUMBERS,
    )


def _avg(name: str, shape: Any, window: Any, stride: Any = None, padding: Any = None, ceil: bool = False,
         pad: bool = True, divisor: Any = None) -> Row:  # fmt: skip
    dims = len(shape) - 2
    fn = getattr(functional, f"avg_pool{dims}d")
    rest = (window, stride or window, padding or (0,) * dims, ceil, pad, divisor)
    return Row(
        name,
        lambda x: fn(x, window, stride, rest[2], ceil, pad, *(() if dims == 1 else (divisor,))),
        lambda x: mean(x, *rest),
        ("real",),
        ("avg_pool",),
        (shape,),
        dtypes=FLOATS,
        tolerance=4,
    )


def _lp(name: str, shape: Any, window: Any, stride: Any = None) -> Row:
    """The root of the sum of squares of each window."""
    fn = getattr(functional, f"lp_pool{len(window)}d")
    rest = (window, stride or window, (0,) * len(window), False, True, 1)
    return Row(
        name,
        lambda x: fn(x, 2, window, stride),
        lambda x: np.sqrt(mean(x * x, *rest)),
        ("positive",),
        (name,),
        (shape,),
        dtypes=FLOATS,
        tolerance=8,
        kernels=False,
        refuses=False,
    )


WIDE = np.random.default_rng(3).permutation(30).reshape(1, 2, 3, 5) * 0.37
SPOT = ((2, 2), (1, 2), (0, 1), (1, 1))


def _found() -> list[tuple[tuple[int, ...], tuple[int, int, int, int]]]:
    """Per output of WIDE under SPOT, where the largest element is."""
    result = []
    for place, slices, _ in windows(WIDE, *SPOT, False):
        for c in range(2):
            part = WIDE[(0, c, *slices)]
            i, j = np.unravel_index(part.argmax(), part.shape)
            result.append(((0, c, *place), (0, c, slices[0].start + int(i), slices[1].start + int(j))))
    return result


def _put(g: np.ndarray) -> np.ndarray:
    out = np.zeros(WIDE.shape, g.dtype)
    for place, spot in _found():
        out[spot] += g[place]
    return out


def _pick(h: np.ndarray) -> np.ndarray:
    out = np.zeros((1, 2, 2, 3), h.dtype)
    for place, spot in _found():
        out[place] = h[spot]
    return out


def _spread(g: np.ndarray) -> np.ndarray:
    out = np.zeros((1, 2, 3, 5), np.float64)
    for place, slices, _ in windows(out, *SPOT, False):
        part = out[(..., *slices)]
        part += g[(..., *place)][..., None, None] / (part.shape[-1] * part.shape[-2])
    return out


def _adaptive(x: np.ndarray) -> np.ndarray:
    spans = [[(o * n // m, -(-(o + 1) * n // m)) for o in range(m)] for n, m in zip(x.shape[2:], (2, 3))]
    return np.stack([np.stack([x[:, :, a:b, c:d].mean((2, 3)) for c, d in spans[1]], -1) for a, b in spans[0]], -2)


GIVEN = {device: mg.tensor(WIDE, device=device) for device in ("cpu", "reference")}


def _wide(x: Any) -> Any:
    # A device of a test's own, or another simulator for each module, has no memory of the one before.
    found = GIVEN.get(str(x.device))
    return mg.tensor(WIDE, device=x.device) if found is None else found


ROWS = [
    _max("max_pool1d", (2, 2, 7), (2,)),
    _max("max_pool2d", (2, 2, 4, 6), (2, 2)),
    _max("max_pool2d-overlap", (1, 2, 5, 6), (3, 3), (2, 1), (1, 1)),
    _max("max_pool2d-dilated", (1, 2, 6, 5), (2, 2), (1, 1), (1, 0), (2, 3)),
    _max("max_pool2d-ceil", (1, 2, 5, 4), (2, 3), (2, 2), ceil=True),
    _max("max_pool3d", (1, 2, 3, 4, 3), (2, 2, 2), (1, 2, 1)),
    _avg("avg_pool1d", (2, 2, 7), (3,), (2,), (1,)),
    _avg("avg_pool2d", (2, 2, 4, 6), (2, 2)),
    _avg("avg_pool2d-overlap", (1, 2, 5, 6), (3, 2), (2, 1), (1, 1)),
    _avg("avg_pool2d-inside", (1, 2, 5, 6), (3, 2), (2, 1), (1, 1), pad=False),
    _avg("avg_pool2d-ceil", (1, 2, 5, 4), (2, 3), (2, 2), (1, 1), ceil=True),
    _avg("avg_pool2d-divisor", (1, 2, 5, 4), (2, 2), divisor=3),
    _avg("avg_pool3d", (1, 2, 3, 4, 3), (2, 2, 2), (1, 2, 1)),
    Row("max_pool_back", lambda g: max_pool_back(g, _wide(g), window=Window((3, 5), *SPOT)), _put, ("real",),
        ("max_pool_back",), ((1, 2, 2, 3),), dtypes=FLOATS),
    Row("max_pool_pick", lambda h: max_pool_pick(h, _wide(h), window=Window((2, 3), *SPOT)), _pick, ("real",),
        ("max_pool_pick",), ((1, 2, 3, 5),), dtypes=FLOATS),
    Row("avg_pool_back", lambda g: avg_pool_back(g, window=Window((3, 5), *SPOT, pad_counts=False)), _spread, ("real",),
        ("avg_pool_back",), ((1, 2, 2, 3),), dtypes=FLOATS, tolerance=4),
    Row("max_pool_indices-values", lambda x: functional.max_pool2d(x, 2, return_indices=True)[0],
        lambda x: x.reshape(2, 2, 2, 2, 3, 2).max((3, 5)), ("distinct",), ("max_pool_indices",), ((2, 2, 4, 6),),
        dtypes=NUMBERS),
    Row("max_pool_indices", lambda x: functional.max_pool2d(x, 2, return_indices=True)[1],
        lambda x: np.array([[[2 * i * x.shape[3] + 2 * j + int(p.argmax()) // 2 * x.shape[3] + int(p.argmax()) % 2
                              for j in range(x.shape[3] // 2) for p in [plane[2 * i:2 * i + 2, 2 * j:2 * j + 2]]]
                             for i in range(x.shape[2] // 2)] for plane in x.reshape(-1, *x.shape[2:])]).reshape(
                                 *x.shape[:2], x.shape[2] // 2, x.shape[3] // 2),
        ("distinct",), ("max_pool_indices",), ((2, 2, 4, 5),), dtypes=NUMBERS, result="int64", smooth=False),
    _lp("lp_pool1d", (2, 2, 7), (3,), (2,)),
    _lp("lp_pool2d", (2, 2, 4, 6), (2, 3)),
    _lp("lp_pool3d", (1, 2, 2, 4, 2), (2, 2, 1)),
    Row("adaptive_avg_pool2d", lambda x: functional.adaptive_avg_pool2d(x, (2, 3)), _adaptive, ("real",), (),
        ((1, 2, 5, 4),), dtypes=FLOATS, tolerance=4),
    Row("adaptive_avg_pool1d", lambda x: functional.adaptive_avg_pool1d(x, 2),
        lambda x: np.stack([x[..., :3].mean(-1), x[..., 2:].mean(-1)], -1), ("real",), ("resample",), ((1, 2, 5),),
        dtypes=FLOATS, tolerance=4),
    Row("adaptive_avg_pool3d", lambda x: functional.adaptive_avg_pool3d(x, 1),
        lambda x: x.mean((2, 3, 4), keepdims=True), ("real",), (), ((1, 2, 2, 3, 2),), dtypes=FLOATS, tolerance=4),
    Row("adaptive_avg_pool2d-even", lambda x: functional.adaptive_avg_pool2d(x, (2, None)),
        lambda x: x.reshape(1, 2, 2, 2, 3).mean(3), ("real",), (), ((1, 2, 4, 3),), dtypes=FLOATS, tolerance=4),
]  # fmt: skip
