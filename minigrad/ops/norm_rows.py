"""What layer_norm and rms_norm compute along a row, forward and backward: scalar functions in a `RowFn`.

A backward row has x first, as a forward row has, so that both find the statistics with the same functions.  Their
products with a power of the scale are left to the result: so the sums that need the mean are made in one loop.
`norms.py` declares the ops.
"""

from __future__ import annotations

import math
from dataclasses import replace

from minigrad.core.rows import RowFn, Total
from minigrad.ops.declare import scalar

# ---- layer_norm -----------------------------------------------------------------------------------------------------


@scalar
def _itself(x):
    return x


@scalar
def _mean(total, n):
    return total / n


@scalar
def _deviation(x, first, second, middle):
    d = x - middle
    return d * d


@scalar
def _inverse_root(total, n, eps):
    return 1 / math.sqrt(total / n + eps)


@scalar
def _layer_norm(x, weight, bias, middle, scale):
    return (x - middle) * scale * weight + bias


@scalar
def _weighted(x, dy, weight):
    return dy * weight


@scalar
def _weighted_deviation(x, dy, weight, middle):
    return dy * weight * (x - middle)


@scalar
def _layer_norm_slope(x, dy, weight, middle, level, scale, slope):
    return scale * (dy * weight - level - (x - middle) * (scale * (scale * slope)))


@scalar
def _weight_term(x, dy, weight, middle, level, scale):
    return dy * ((x - middle) * scale)


@scalar
def _bias_term(x, dy):
    return dy


@scalar
def _deviation_of_two(x, dy, middle):
    d = x - middle
    return d * d


@scalar
def _weight_term_alone(x, dy, middle, scale):
    return dy * ((x - middle) * scale)


_MIDDLE = Total("sum", _itself, _mean)
_SCALE = Total("sum", _deviation, _inverse_root)
LAYER_NORM = RowFn("layer_norm", 3, (_MIDDLE, _SCALE), _layer_norm)
LAYER_NORM_BACKWARD = RowFn(
    "layer_norm_backward",
    3,
    (_MIDDLE, Total("sum", _weighted, _mean), _SCALE, Total("sum", _weighted_deviation, _mean)),
    _layer_norm_slope,
)
LAYER_NORM_SUMS = RowFn(
    "layer_norm_sums",
    2,
    (_MIDDLE, Total("sum", _deviation_of_two, _inverse_root)),
    None,
    terms=(_weight_term_alone, _bias_term),
)
LAYER_NORM_GRADIENTS = replace(LAYER_NORM_BACKWARD, name="layer_norm_gradients", terms=(_weight_term, _bias_term))

# ---- rms_norm -------------------------------------------------------------------------------------------------------


@scalar
def _square(x):
    return x * x


@scalar
def _rms_norm(x, weight, scale):
    return x * scale * weight


@scalar
def _weighted_by_x(x, dy, weight):
    return dy * weight * x


@scalar
def _rms_norm_slope(x, dy, weight, scale, slope):
    return scale * (dy * weight - x * (scale * (scale * slope)))


@scalar
def _rms_term(x, dy, weight, scale):
    return dy * (x * scale)


@scalar
def _rms_term_alone(x, dy, scale):
    return dy * (x * scale)


_ROOT = Total("sum", _square, _inverse_root)
RMS_NORM = RowFn("rms_norm", 2, (_ROOT,), _rms_norm)
RMS_NORM_BACKWARD = RowFn("rms_norm_backward", 3, (_ROOT, Total("sum", _weighted_by_x, _mean)), _rms_norm_slope)
RMS_NORM_SUMS = RowFn("rms_norm_sums", 2, (_ROOT,), None, terms=(_rms_term_alone,))
RMS_NORM_GRADIENTS = replace(RMS_NORM_BACKWARD, name="rms_norm_gradients", terms=(_rms_term,))
