"""Rows of convolution and its transpose; the oracle is the definition as loops over positions and taps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minigrad.core.shape import Window
from minigrad.nn import functional
from minigrad.ops.nn import convolution

from .row import NUMBERS, Row


def conv(x: np.ndarray, w: np.ndarray, b: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> np.ndarray:
    """The definition: per output position, the window of the padded image times each weight."""
    dims = range(x.ndim - 2)
    padded = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    reach = [dilation[d] * (w.shape[2 + d] - 1) + 1 for d in dims]
    size = [(padded.shape[2 + d] - reach[d]) // stride[d] + 1 for d in dims]
    out = np.zeros((x.shape[0], w.shape[0], *size), np.result_type(x, w))
    rows, channels = w.shape[0] // groups, w.shape[1]
    for o in range(w.shape[0]):
        first = o // rows * channels
        for place in np.ndindex(*size):
            starts = [place[d] * stride[d] for d in dims]
            window = tuple(slice(starts[d], starts[d] + reach[d], dilation[d]) for d in dims)
            part = padded[(slice(None), slice(first, first + channels), *window)]
            out[(slice(None), o, *place)] = (part * w[o]).reshape(x.shape[0], -1).sum(1)
    return out if b is None else out + b.reshape(-1, *(1,) * len(size))


def transposed(y: np.ndarray, w: np.ndarray, b: Any, stride: Any, padding: Any, more: Any, groups: int,
               dilation: Any) -> np.ndarray:  # fmt: skip
    """The definition: each input element adds its multiple of a weight to a padded image, which is cropped."""
    dims = range(y.ndim - 2)
    reach = [dilation[d] * (w.shape[2 + d] - 1) + 1 for d in dims]
    size = [(y.shape[2 + d] - 1) * stride[d] + reach[d] + more[d] for d in dims]
    channels = w.shape[1]
    out = np.zeros((y.shape[0], channels * groups, *size), np.result_type(y, w))
    for n, i, *place in np.ndindex(*y.shape):
        first = i // (y.shape[1] // groups) * channels
        starts = [place[d] * stride[d] for d in dims]
        window = tuple(slice(starts[d], starts[d] + reach[d], dilation[d]) for d in dims)
        out[(n, slice(first, first + channels), *window)] += y[(n, i, *place)] * w[i]
    out = out[(..., *(slice(p, n - p) for p, n in zip(padding, size)))]
    return out if b is None else out + b.reshape(-1, *(1,) * len(size))


def _row(name: str, shapes: Any, fn: Any, numpy: Any, ops: tuple[str, ...] = ("conv",)) -> Row:
    terms = math.prod(shapes[1][1:])
    return Row(name, fn, numpy, ("real",) * len(shapes), ops, shapes, dtypes=NUMBERS, tolerance=2 + terms / 2)


def _conv(name: str, *shapes: Any, groups: int = 1, **given: Any) -> Row:
    dims = len(shapes[0]) - 2
    fn = getattr(functional, f"conv{dims}d")
    fill = {k: given.get(k, (v,) * dims) for k, v in {"stride": 1, "padding": 0, "dilation": 1}.items()}
    given["groups"] = groups
    return _row(
        name,
        shapes,
        lambda x, w, b=None: fn(x, w, b, **given),
        lambda x, w, b=None: conv(x, w, b, fill["stride"], fill["padding"], fill["dilation"], groups),
    )


def _transposed(name: str, *shapes: Any, groups: int = 1, **given: Any) -> Row:
    dims = len(shapes[0]) - 2
    fn = getattr(functional, f"conv_transpose{dims}d")
    names = {"stride": 1, "padding": 0, "output_padding": 0, "dilation": 1}
    s, p, m, d = (given.get(k, (v,) * dims) for k, v in names.items())
    given["groups"] = groups
    return _row(
        name,
        shapes,
        lambda x, w, b=None: fn(x, w, b, **given),
        lambda x, w, b=None: transposed(x, w, b, s, p, m, groups, d),
        ("conv_input",),
    )


def _weight(y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The gradient of a 3 x 2 weight with stride (1, 2) and padding (1, 0)."""
    padded = np.pad(x, [(0, 0), (0, 0), (1, 1), (0, 0)])
    out = np.zeros((y.shape[1], x.shape[1], 3, 2), np.result_type(x, y))
    for a, b in np.ndindex(3, 2):
        part = padded[:, :, a : a + y.shape[2], b : b + 2 * y.shape[3] : 2]
        out[:, :, a, b] = np.einsum("noij,ncij->oc", y, part)
    return out


ROWS = [
    _conv("conv1d", (2, 3, 7), (4, 3, 3), (4,)),
    _conv("conv1d-groups", (1, 4, 8), (6, 2, 3), stride=(2,), padding=(1,), dilation=(2,), groups=2),
    _conv("conv2d", (2, 2, 4, 5), (3, 2, 3, 2), (3,)),
    _conv("conv2d-all", (1, 4, 6, 5), (4, 2, 2, 2), stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2),
    _conv("conv2d-depthwise", (2, 3, 4, 4), (3, 1, 3, 3), (3,), padding=(1, 1), groups=3),
    _conv("conv3d", (1, 2, 3, 3, 4), (2, 2, 2, 2, 2), (2,), stride=(1, 1, 2)),
    _transposed("conv_transpose1d", (2, 3, 4), (3, 2, 3), (2,), stride=(2,), padding=(1,), output_padding=(1,)),
    _transposed("conv_transpose2d", (1, 4, 3, 2), (4, 1, 2, 3), (2,), stride=(2, 3), dilation=(1, 2), groups=2),
    _transposed("conv_transpose2d-apart", (1, 2, 3, 2), (2, 2, 2, 1), stride=(3, 2)),
    _transposed("conv_transpose3d", (1, 2, 2, 2, 2), (2, 1, 2, 2, 1), (1,), stride=(1, 2, 1)),
    Row("conv_weight", lambda y, x: convolution.conv_weight(
            y, x, window=Window((3, 2), (), (1, 2), (1, 0), (1, 1))),
        _weight, ("real", "real"), ("conv_weight",), ((2, 3, 3, 2), (2, 2, 3, 5)), dtypes=NUMBERS, tolerance=12),
]  # fmt: skip
