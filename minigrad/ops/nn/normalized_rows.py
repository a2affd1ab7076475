"""Row functions of layer_norm and rms_norm for the forward and the backward pass: scalar functions in a `RowFn`.

In the backward pass, a row sums products with the unscaled values, and the sums are multiplied by powers of the scale
at the end.  So one loop computes all sums that need the mean.  `normalization.py` declares the ops.
"""

from __future__ import annotations

import math

from minigrad.core.rows import RowFn, Total
from minigrad.declare.decorators import scalar


@scalar
def _itself(x):
    return x


@scalar
def _mean(total, n):
    return total / n


@scalar
def _inverse_root(total, n, eps):
    return 1 / math.sqrt(total / n + eps)


# ---- layer_norm -----------------------------------------------------------------------------------------------------


@scalar
def _deviation(x, middle):
    d = x - middle
    return d * d


@scalar
def _layer_norm(x, weight, bias, middle, scale):
    return (x - middle) * scale * weight + bias


@scalar
def _weighted(g, weight):
    return g * weight


@scalar
def _weighted_deviation(g, x, weight, middle):
    return g * weight * (x - middle)


@scalar
def _layer_norm_back(g, x, weight, middle, mean_gradient, scale, along):
    return scale * (g * weight - mean_gradient - (x - middle) * (scale * (scale * along)))


@scalar
def _weight_term(g, x, middle, scale):
    return g * ((x - middle) * scale)


@scalar
def _bias_term(g):
    return g


_MIDDLE = Total("middle", "sum", _itself, _mean)
_SCALE = Total("scale", "sum", _deviation, _inverse_root)
_MEAN_GRADIENT = Total("mean_gradient", "sum", _weighted, _mean)
LAYER_NORM = RowFn("layer_norm", ("x", "weight", "bias"), (_MIDDLE, _SCALE), _layer_norm)
LAYER_NORM_BACKWARD = RowFn(
    "layer_norm_backward",
    ("g", "x", "weight"),
    (_MIDDLE, _MEAN_GRADIENT, _SCALE, Total("along", "sum", _weighted_deviation, _mean)),
    _layer_norm_back,
    terms=(_weight_term, _bias_term),
)

# ---- rms_norm -------------------------------------------------------------------------------------------------------


@scalar
def _square(x):
    return x * x


@scalar
def _rms_norm(x, weight, scale):
    return x * scale * weight


@scalar
def _weighted_by_x(g, x, weight):
    return g * weight * x


@scalar
def _rms_norm_back(g, x, weight, scale, along):
    return scale * (g * weight - x * (scale * (scale * along)))


@scalar
def _rms_term(g, x, scale):
    return g * (x * scale)


_ROOT = Total("scale", "sum", _square, _inverse_root)
RMS_NORM = RowFn("rms_norm", ("x", "weight"), (_ROOT,), _rms_norm)
RMS_NORM_BACKWARD = RowFn(
    "rms_norm_backward",
    ("g", "x", "weight"),
    (_ROOT, Total("along", "sum", _weighted_by_x, _mean)),
    _rms_norm_back,
    terms=(_rms_term,),
)
