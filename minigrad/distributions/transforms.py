"""Invertible transforms of samples, for `TransformedDistribution`, which state how they change a density.

A subclass defines `_call`, `_inverse` and `log_abs_det_jacobian`; all transforms here are elementwise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

from minigrad.core.dtype import finfo
from minigrad.core.shape import broadcast_shapes
from minigrad.distributions.distribution import summed
from minigrad.errors import ArgumentError
from minigrad.nn import functional as F
from minigrad.ops.creation import full_like
from minigrad.runtime.tensor import Tensor


class Transform:
    """An invertible transform of tensors.

    Parameters
    ----------
    cache_size : int, default 0
        If 1, the inverse of the last result is the same tensor from which the result was computed.
    """

    bijective = True
    stores_tensors = True  # `mg.jit` looks for tensors among the attributes
    sign = 1
    event_dim = 0

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ArgumentError(
                f"{type(self).__name__}: expected cache_size 0 or 1, got {cache_size}; pass cache_size=0"
            )
        self.cache_size, self._last = cache_size, (None, None)

    def __call__(self, x: Any) -> Any:
        """Return the transformed x."""
        if self.cache_size and self._last[0] is x:
            return self._last[1]
        y = self._call(x)
        self._last = (x, y) if self.cache_size else (None, None)
        return y

    def inverse(self, y: Any) -> Any:
        """Return the value that is transformed to y."""
        if self.cache_size and self._last[1] is y:
            return self._last[0]
        return self._inverse(y)

    @property
    def inv(self) -> Transform:
        """The inverse as a Transform."""
        return Inverse(self)

    def _call(self, x: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}: a Transform must define _call; add a method _call(self, x)")

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__}: an invertible Transform must define _inverse; add a method _inverse(self, y)"
        )

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape of the result for an argument of a given shape."""
        return tuple(shape)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Return the logarithm of the absolute derivative at x; y is the transformed x."""
        raise NotImplementedError(
            f"{type(self).__name__}: this Transform does not define log_abs_det_jacobian; add a method "
            "log_abs_det_jacobian(self, x, y)"
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Inverse(Transform):
    """The inverse of a transform."""

    def __init__(self, transform: Transform) -> None:
        super().__init__()
        self.transform, self.sign, self.event_dim = transform, transform.sign, transform.event_dim

    @property
    def inv(self) -> Transform:
        """The transform whose inverse this is."""
        return self.transform

    def _call(self, x: Any) -> Any:
        return self.transform.inverse(x)

    def _inverse(self, y: Any) -> Any:
        return self.transform(y)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape of the transform, which broadcasts to the same parameters."""
        return self.transform.forward_shape(shape)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Return the negated value of the transform."""
        return -self.transform.log_abs_det_jacobian(y, x)


class ExpTransform(Transform):
    """The transform exp(x)."""

    def _call(self, x: Any) -> Any:
        return x.exp()

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Return x."""
        return x


class TanhTransform(Transform):
    """The transform tanh(x).

    Examples
    --------
    >>> import minigrad as mg
    >>> t = TanhTransform()
    >>> round(t.inv(t(mg.tensor(0.5))).item(), 4)
    0.5
    """

    def _call(self, x: Any) -> Any:
        return x.tanh()

    def _inverse(self, y: Any) -> Any:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Return log(1 - tanh(x)^2), computed without cancellation for large x."""
        return 2.0 * (math.log(2.0) - x - F.softplus(-2.0 * x))


class SigmoidTransform(Transform):
    """The transform 1 / (1 + exp(-x)), limited to [tiny, 1 - eps] with the constants of the dtype."""

    def _bounded(self, y: Any) -> Any:
        kind = finfo(y.dtype)
        return y.clamp(float(kind.tiny), 1.0 - float(kind.eps))

    def _call(self, x: Any) -> Any:
        return self._bounded(x.sigmoid())

    def _inverse(self, y: Any) -> Any:
        y = self._bounded(y)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Return log(y) + log(1 - y)."""
        return -F.softplus(-x) - F.softplus(x)


class AffineTransform(Transform):
    """Map x to loc + scale * x.

    Parameters
    ----------
    loc, scale : Tensor or float
        Offset and factor of the transform.
    event_dim : int, default 0
        Number of last dims that belong to one sample.
    cache_size : int, default 0
        The same as for `Transform`.
    """

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale, self.event_dim = loc, scale, event_dim

    @property
    def sign(self) -> Any:  # type: ignore[override]
        """The sign of the scale."""
        if isinstance(self.scale, Tensor):
            return self.scale.sign()
        return (self.scale > 0) - (self.scale < 0)

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape to which the argument, `loc` and `scale` are broadcast."""
        numbers = [each.shape for each in (self.loc, self.scale) if isinstance(each, Tensor)]
        return broadcast_shapes("AffineTransform", tuple(shape), *numbers)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Return log |scale|, summed over the event dims."""
        if isinstance(self.scale, Tensor):
            result: Any = self.scale.abs().log() + full_like(x, 0.0)
        else:
            result = full_like(x, math.log(abs(self.scale)))
        return summed(result, self.event_dim)


class ComposeTransform(Transform):
    """Compose several transforms, which are applied in order.

    Parameters
    ----------
    parts : sequence of Transform
        Transforms in the order in which they are applied.
    cache_size : int, default 0
        The same as for `Transform`.
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = list(parts)
        self.event_dim = max([part.event_dim for part in self.parts], default=0)

    @property
    def sign(self) -> Any:  # type: ignore[override]
        """The product of the signs of the parts."""
        result: Any = 1
        for part in self.parts:
            result = result * part.sign
        return result

    def _call(self, x: Any) -> Any:
        for part in self.parts:
            x = part(x)
        return x

    def _inverse(self, y: Any) -> Any:
        for part in reversed(self.parts):
            y = part.inverse(y)
        return y

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape after the last transform."""
        return reduce(lambda before, part: part.forward_shape(before), self.parts, tuple(shape))

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Return the sum of the values of all parts."""
        total: Any = full_like(x, 0.0) if not self.parts else 0.0
        for part in self.parts:
            image = part(x)
            own = part.log_abs_det_jacobian(x, image)
            total = total + summed(own, self.event_dim - part.event_dim)
            x = image
        return total

    def __repr__(self) -> str:
        return f"ComposeTransform({self.parts})"
