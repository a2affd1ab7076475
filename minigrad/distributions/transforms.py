"""The transforms of samples, under the names of `torch.distributions.transforms`: of elements, vectors and matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from minigrad.core.dtype import finfo
from minigrad.core.shape import broadcast_shapes
from minigrad.declare.advice import present
from minigrad.distributions import constraints
from minigrad.distributions.transform_base import ComposeTransform, IndependentTransform, Transform
from minigrad.distributions.utils import formula, summed, tril_matrix_to_vec, vec_to_tril_matrix
from minigrad.errors import ShapeError
from minigrad.nn import functional as F
from minigrad.ops.creation import arange, eye, full_like, zeros_like
from minigrad.ops.shape.joining import cat, stack
from minigrad.runtime.tensor import Tensor

# ---- elements --------------------------------------------------------------------------------------------------------


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


# ---- vectors and matrices --------------------------------------------------------------------------------------------


class ReshapeTransform(Transform):
    """Reshape the event dims.

    in_shape and out_shape: Event shapes with equal numbers of elements.
    """

    bijective = True

    def __init__(self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.in_shape, self.out_shape = tuple(in_shape), tuple(out_shape)
        if math.prod(self.in_shape) != math.prod(self.out_shape):
            raise ShapeError(
                f"ReshapeTransform: in_shape and out_shape must have equal numbers of elements, got {self.in_shape} "
                f"and {self.out_shape}; pass out_shape=({math.prod(self.in_shape)},)"
            )
        self.domain = constraints.independent(constraints.real, len(self.in_shape))
        self.codomain = constraints.independent(constraints.real, len(self.out_shape))

    _call: Any = formula(lambda self, x: x.reshape(self.forward_shape(x.shape)))
    _inverse: Any = formula(lambda self, y: y.reshape(self.inverse_shape(y.shape)))

    def _changed(self, shape: Sequence[int], old: tuple[int, ...], new: tuple[int, ...]) -> tuple[int, ...]:
        cut = len(shape) - len(old)
        if cut < 0 or tuple(shape[cut:]) != old:
            raise ShapeError(f"ReshapeTransform: expected a shape that ends with {old}, got {tuple(shape)}; reshape it")
        return (*shape[:cut], *new)

    forward_shape: Any = formula(lambda self, shape: self._changed(shape, self.in_shape, self.out_shape))
    inverse_shape: Any = formula(lambda self, shape: self._changed(shape, self.out_shape, self.in_shape))
    log_abs_det_jacobian: Any = formula(lambda self, x, y: x.new_zeros(x.shape[: x.ndim - len(self.in_shape)]))


def vector_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """Return a shape.  Raises ShapeError if it has no dims."""
    if not len(shape):
        raise ShapeError("vector_shape: expected at least 1 dim, got a scalar; pass a vector")
    return tuple(shape)


class SoftmaxTransform(Transform):
    """The softmax over the last dim, which is not bijective; `inverse` returns the logarithm."""

    domain, codomain = constraints.real_vector, constraints.simplex
    _call: Any = formula(lambda self, x: F.softmax(x, -1))
    _inverse: Any = formula(lambda self, y: y.log())
    forward_shape: Any = formula(lambda self, shape: vector_shape(shape))
    inverse_shape = forward_shape


class StickBreakingTransform(Transform):
    """Map n real numbers to n + 1 positive weights with the sum 1, each a fraction of the remaining weight.

    The fractions are sigmoid(x[i] - log(n - i)), so that x = 0 is mapped to equal weights.

    Source: Stan Development Team, Stan Reference Manual, Unit simplex.
    """

    bijective = True
    domain, codomain = constraints.real_vector, constraints.simplex

    def _shifted(self, x: Any) -> Any:
        n = x.shape[-1]
        return x - (n - arange(n, dtype=x.dtype, device=x.device)).log()

    def _call(self, x: Any) -> Any:
        shifted = self._shifted(x)
        rest = -F.softplus(shifted).cumsum(-1)  # the logarithm of the weight that remains after each fraction
        before = cat([x.new_zeros((*x.shape[:-1], 1)), rest], -1)
        return cat([(before[..., :-1] - F.softplus(-shifted)).exp(), before[..., -1:].exp()], -1)

    def _inverse(self, y: Any) -> Any:
        n = y.shape[-1] - 1
        rest = y.flip(-1).cumsum(-1).flip(-1)[..., 1:]  # sums of the later weights, which lose no digits near 0
        tiny = 1e-300 if str(y.dtype).endswith("64") else 1e-37
        logs = y[..., :-1].clamp(min=tiny).log() - rest.clamp(min=tiny).log()
        return logs + (n - arange(n, dtype=y.dtype, device=y.device)).log()

    forward_shape: Any = formula(lambda self, shape: (*vector_shape(shape)[:-1], shape[-1] + 1))
    inverse_shape: Any = formula(lambda self, shape: (*vector_shape(shape)[:-1], shape[-1] - 1))
    log_abs_det_jacobian: Any = formula(lambda self, x, y: (y[..., :-1].log() - F.softplus(self._shifted(x))).sum(-1))


class LowerCholeskyTransform(Transform):
    """Map square matrices to lower triangular matrices with positive diagonals: exp on the diagonal, 0 above."""

    domain, codomain = constraints.independent(constraints.real, 2), constraints.lower_cholesky
    _call: Any = formula(lambda self, x: x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed())
    _inverse: Any = formula(lambda self, y: y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed())
    log_abs_det_jacobian: Any = formula(lambda self, x, y: x.diagonal(dim1=-2, dim2=-1).sum(-1))


class PositiveDefiniteTransform(Transform):
    """Map square matrices to positive definite matrices L @ L.mT, with L of `LowerCholeskyTransform`."""

    domain, codomain = constraints.independent(constraints.real, 2), constraints.positive_definite

    def _call(self, x: Any) -> Any:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Any) -> Any:
        from minigrad import linalg

        return LowerCholeskyTransform().inverse(linalg.cholesky(y))


class CorrCholeskyTransform(Transform):
    """Map n(n-1)/2 real numbers to the Cholesky factor of an n x n correlation matrix.

    Each row is built like a broken stick from the tanh of its numbers, and has length 1.

    Source: Stan Development Team, Stan Reference Manual, Cholesky factors of correlation matrices.
    """

    bijective = True
    domain, codomain = constraints.real_vector, constraints.corr_cholesky

    def _call(self, x: Any) -> Any:
        eps = 1e-15 if str(x.dtype).endswith("64") else 1e-7
        r = vec_to_tril_matrix(x.tanh().clamp(-1 + eps, 1 - eps), -1)
        n = r.shape[-1]
        rest = (1 - r.square()).sqrt().cumprod(-1)
        before = cat([rest.new_ones((*rest.shape[:-1], 1)), rest[..., :-1]], -1)
        return (r + eye(n, dtype=x.dtype, device=x.device)) * before

    def _inverse(self, y: Any) -> Any:
        before = 1 - cat([y.new_zeros((*y.shape[:-1], 1)), y.square().cumsum(-1)[..., :-1]], -1)
        flat = tril_matrix_to_vec(y, -1), tril_matrix_to_vec(before, -1)
        return (flat[0] / flat[1].sqrt()).atanh()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Return the sum of half the logarithms of the remaining lengths, and of the derivatives of tanh."""
        rest = 1 - tril_matrix_to_vec(y.square().cumsum(-1), -2) if y.shape[-1] > 2 else y.new_ones((*y.shape[:-2], 0))
        derivatives = 2 * (x + F.softplus(-2 * x) - math.log(2.0))
        return 0.5 * rest.log().sum(-1) - derivatives.sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        k = shape[-1] if len(shape) else 0
        n = round((1 + math.sqrt(1 + 8 * k)) / 2)
        if not len(shape) or n * (n - 1) // 2 != k:
            raise ShapeError(f"CorrCholeskyTransform: expected n(n-1)/2 elements, got {tuple(shape)}; pass 6 for n = 4")
        return (*shape[:-1], n, n)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        if len(shape) < 2 or shape[-1] != shape[-2]:
            raise ShapeError(f"CorrCholeskyTransform: expected square matrices, got {tuple(shape)}; pass (4, 4)")
        return (*shape[:-2], shape[-1] * (shape[-1] - 1) // 2)


class CatTransform(Transform):
    """Apply different transforms to parts of a tensor along a dim.

    tseq: One transform per part.
    dim: The dim along which the parts are concatenated.
    lengths: Lengths of the parts; all are 1 by default.
    """

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size)
        self.transforms = [each.with_cache(cache_size) for each in tseq] if cache_size else list(tseq)
        self.dim, self.lengths = dim, [1] * len(self.transforms) if lengths is None else list(lengths)
        self.bijective = all(each.bijective for each in self.transforms)

    length: Any = property(lambda self: sum(self.lengths), doc="The length of the concatenated dim.")
    domain: Any = property(
        lambda self: constraints.cat([each.domain for each in self.transforms], self.dim, self.lengths)
    )
    codomain: Any = property(
        lambda self: constraints.cat([each.codomain for each in self.transforms], self.dim, self.lengths)
    )

    def _parts(self, x: Any) -> Any:
        if x.shape[self.dim] != self.length:
            raise ShapeError(
                f"{type(self).__name__}: expected length {self.length} in dim {self.dim}, got {tuple(x.shape)}; pass "
                "lengths that add up to this length"
            )
        return x.split(self.lengths, self.dim)

    def _joined(self, parts: list[Any]) -> Any:
        return cat(parts, self.dim)

    _call: Any = formula(
        lambda self, x: self._joined([each(part) for each, part in zip(self.transforms, self._parts(x), strict=True)])
    )
    _inverse: Any = formula(
        lambda self, y: self._joined(
            [each.inverse(part) for each, part in zip(self.transforms, self._parts(y), strict=True)]
        )
    )

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Return the values of the parts, concatenated, or summed if the dim is an event dim."""
        dim = self.dim if self.dim < 0 else self.dim - x.ndim
        pairs = zip(self.transforms, self._parts(x), self._parts(y), strict=True)
        values = [(each, each.log_abs_det_jacobian(a, b)) for each, a, b in pairs]
        logs = [summed(value, self.event_dim - each.event_dim) for each, value in values]
        dim += self.event_dim
        return cat(logs, dim) if dim < 0 else sum(logs)


class StackTransform(CatTransform):
    """Apply different transforms to the slices of a tensor along a dim.

    dim: The dim of the slices.
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, None, cache_size)

    domain: Any = property(lambda self: constraints.stack([each.domain for each in self.transforms], self.dim))
    codomain: Any = property(lambda self: constraints.stack([each.codomain for each in self.transforms], self.dim))

    def _parts(self, x: Any) -> Any:
        return [part.squeeze(self.dim) for part in super()._parts(x)]

    def _joined(self, parts: list[Any]) -> Any:
        return stack(parts, self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Return the values of the slices, stacked."""
        pairs = zip(self.transforms, self._parts(x), self._parts(y), strict=True)
        return stack([each.log_abs_det_jacobian(a, b) for each, a, b in pairs], self.dim)


identity_transform = ComposeTransform([])
CLASSES = {name: x for name, x in globals().items() if isinstance(x, type) and issubclass(x, Transform)}
present(globals(), CLASSES)
