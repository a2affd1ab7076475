"""Transforms of the elements of samples: exponentials, powers, sigmoids, affine functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from minigrad.core.dtype import finfo
from minigrad.core.shape import broadcast_shapes
from minigrad.distributions import constraints
from minigrad.distributions.transform_base import Transform
from minigrad.distributions.utils import formula, summed
from minigrad.nn import functional as F
from minigrad.ops.creation import full_like, zeros_like
from minigrad.runtime.tensor import Tensor


class ExpTransform(Transform):
    """The transform exp(x)."""

    bijective, sign = True, 1
    codomain = constraints.positive
    _call: Any = formula(lambda self, x: x.exp())
    _inverse: Any = formula(lambda self, y: y.log())
    log_abs_det_jacobian: Any = formula(lambda self, x, y: x)


class PowerTransform(Transform):
    """The transform x ** exponent of positive numbers.

    exponent: The exponent, which is not 0.
    """

    bijective = True
    domain = codomain = constraints.positive

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.exponent = exponent

    sign: Any = property(lambda self: _sign(self.exponent))
    _call: Any = formula(lambda self, x: x**self.exponent)
    _inverse: Any = formula(lambda self, y: y ** (1 / self.exponent))
    forward_shape: Any = formula(
        lambda self, shape: broadcast_shapes("PowerTransform", tuple(shape), getattr(self.exponent, "shape", ()))
    )
    inverse_shape = forward_shape
    log_abs_det_jacobian: Any = formula(lambda self, x, y: (self.exponent * y / x).abs().log())


class SoftplusTransform(Transform):
    """The transform log(1 + exp(x))."""

    bijective, sign = True, 1
    codomain = constraints.positive
    _call: Any = formula(lambda self, x: F.softplus(x))
    _inverse: Any = formula(lambda self, y: y + (-(-y).expm1()).log())
    log_abs_det_jacobian: Any = formula(lambda self, x, y: -F.softplus(-x))


class TanhTransform(Transform):
    """The transform tanh(x).

    >>> t = TanhTransform()
    >>> round(t.inv(t(mg.tensor(0.5))).item(), 4)
    0.5
    """

    bijective, sign = True, 1
    codomain = constraints.interval(-1.0, 1.0)
    _call: Any = formula(lambda self, x: x.tanh())
    _inverse: Any = formula(lambda self, y: y.atanh())
    log_abs_det_jacobian: Any = formula(lambda self, x, y: 2.0 * (math.log(2.0) - x - F.softplus(-2.0 * x)))


class SigmoidTransform(Transform):
    """The transform 1 / (1 + exp(-x)), limited to [tiny, 1 - eps] with the constants of the dtype."""

    bijective, sign = True, 1
    codomain = constraints.unit_interval

    def _bounded(self, y: Any) -> Any:
        kind = finfo(y.dtype)
        return y.clamp(float(kind.tiny), 1.0 - float(kind.eps))

    _call: Any = formula(lambda self, x: self._bounded(x.sigmoid()))

    def _inverse(self, y: Any) -> Any:
        y = self._bounded(y)
        return y.log() - (-y).log1p()

    log_abs_det_jacobian: Any = formula(lambda self, x, y: -F.softplus(-x) - F.softplus(x))


class AbsTransform(Transform):
    """The transform |x|, which has no inverse; `inverse` returns the positive preimage."""

    codomain = constraints.positive
    _call: Any = formula(lambda self, x: x.abs())
    _inverse: Any = formula(lambda self, y: y)


class AffineTransform(Transform):
    """Map x to loc + scale * x.

    loc and scale: Offset and factor of the transform.
    event_dim: Number of last dims that belong to one sample.
    """

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim
        self.domain = self.codomain = (
            constraints.independent(constraints.real, event_dim) if event_dim else constraints.real
        )

    sign: Any = property(lambda self: _sign(self.scale))
    _call: Any = formula(lambda self, x: self.loc + self.scale * x)
    _inverse: Any = formula(lambda self, y: (y - self.loc) / self.scale)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        numbers = [each.shape for each in (self.loc, self.scale) if isinstance(each, Tensor)]
        return broadcast_shapes("AffineTransform", tuple(shape), *numbers)

    inverse_shape = forward_shape

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Return log |scale|, summed over the event dims."""
        if isinstance(self.scale, Tensor):
            result: Any = self.scale.abs().log() + zeros_like(x)
        else:
            result = full_like(x, math.log(abs(self.scale)))
        return summed(result, self._event_dim)


def _sign(number: Any) -> Any:
    return number.sign() if isinstance(number, Tensor) else (number > 0) - (number < 0)


class CumulativeDistributionTransform(Transform):
    """The cumulative distribution function of a distribution as a transform to [0, 1].

    distribution (Distribution): The distribution, which has `cdf`, `icdf` and `log_prob`.
    """

    bijective, sign = True, 1
    codomain = constraints.unit_interval

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution

    domain: Any = property(lambda self: self.distribution.support)
    _call: Any = formula(lambda self, x: self.distribution.cdf(x))
    _inverse: Any = formula(lambda self, y: self.distribution.icdf(y))
    log_abs_det_jacobian: Any = formula(lambda self, x, y: self.distribution.log_prob(x))
