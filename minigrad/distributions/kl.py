"""Kullback-Leibler divergences of pairs of distributions.

Most pairs of different families follow from -entropy(p) - mean of log q(x), where the mean requires only few moments of
p; other pairs have a formula of their own.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from minigrad.distributions.classes import Categorical, OneHotCategorical
from minigrad.distributions.combined import Independent, LogNormal, TransformedDistribution
from minigrad.distributions.counts import Bernoulli, Binomial, Geometric, Poisson
from minigrad.distributions.distribution import Distribution, ExponentialFamily
from minigrad.distributions.multivariate import LowRankMultivariateNormal, NormalVector, Wishart, solved
from minigrad.distributions.positive import Exponential, Gamma, Half, InverseGamma, Pareto, Weibull
from minigrad.distributions.real_line import Cauchy, Gumbel, Laplace, Normal, Uniform
from minigrad.distributions.simplex import Beta, ContinuousBernoulli, Dirichlet
from minigrad.distributions.utils import EULER, HALF_LOG_2PI, summed
from minigrad.errors import DTypeError
from minigrad.nn import functional as F
from minigrad.ops.creation import full
from minigrad.ops.pointwise.compare import where
from minigrad.ops.pointwise.special import mvlgamma
from minigrad.runtime.tensor import Tensor

FORMULAS: dict[tuple[type, type], Callable[[Any, Any], Any]] = {}


def register_kl(type_p: type[Distribution], type_q: type[Distribution]) -> Callable[[Any], Any]:
    """Return a decorator that registers the divergence of two classes of distributions for `kl_divergence`.

    type_p and type_q: Subclasses of Distribution. A formula of a subclass takes precedence.

    Returns: A decorator for functions of p and q, which returns the function itself.

    Raises TypeError if a class is not a subclass of Distribution.
    """
    for kind in (type_p, type_q):
        if not (isinstance(kind, type) and issubclass(kind, Distribution)):
            raise DTypeError(
                f"register_kl: expected a subclass of Distribution, got {kind!r}; pass Normal, for example"
            )

    def register(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        FORMULAS[type_p, type_q] = function
        return function

    return register


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Return the Kullback-Leibler divergence: the mean of `p.log_prob(x) - q.log_prob(x)` over samples x of p.

    p and q: Two distributions.

    Returns: The divergence in nats, of the batch shape.

    Raises NotImplementedError if there is no formula for the classes of p and q.

    >>> kl_divergence(Normal(1.0, 1.0), Normal(0.0, 1.0)).item()
    0.5
    """
    first, second = type(p).__mro__, type(q).__mro__
    matches = [(first.index(a), second.index(b)) for a, b in FORMULAS if a in first and b in second]
    if not matches:
        raise _without_formula(p, q)
    i, j = min(matches)
    if (i, j) != min(matches, key=lambda pair: pair[::-1]):
        warnings.warn(
            f"kl_divergence: several formulas for {type(p).__name__} and {type(q).__name__} are equally specific; "
            f"register_kl({type(p).__name__}, {type(q).__name__}) selects one",
            RuntimeWarning, stacklevel=2,
        )  # fmt: skip
    return FORMULAS[first[i], second[j]](p, q)


def _without_formula(p: Distribution, q: Distribution) -> NotImplementedError:
    return NotImplementedError(
        f"kl_divergence: there is no formula for {type(p).__name__} and {type(q).__name__}; average "
        f"p.log_prob(x) - q.log_prob(x) over x = p.sample((n,))"
    )


# ---- pairs of one family ---------------------------------------------------------------------------------------------


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> Any:
    ones = p.probs * (F.softplus(-q.logits) - F.softplus(-p.logits))
    zeros = (1 - p.probs) * (F.softplus(q.logits) - F.softplus(p.logits))
    ones = where(p.probs == 0, 0.0, where(q.probs == 0, math.inf, ones))
    return ones + where(p.probs == 1, 0.0, where(q.probs == 1, math.inf, zeros))


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Any:
    terms = p.probs * (p.logits - q.logits)
    terms = where((q.probs == 0) & (p.probs > 0), math.inf, terms)
    return where(p.probs == 0, 0.0, terms).sum(-1)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Dirichlet, q: Dirichlet) -> Any:
    a, b = p.concentration, q.concentration
    norms = a.sum(-1).lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return norms + ((a - b) * p._mean_log).sum(-1)


@register_kl(Gamma, Gamma)
def _gamma(p: Gamma, q: Gamma) -> Any:
    a, b, ratio = p.concentration, q.concentration, q.rate / p.rate
    return -b * ratio.log() + b.lgamma() - a.lgamma() + (a - b) * a.digamma() + a * (ratio - 1)


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Gumbel, q: Gumbel) -> Any:
    ratio, off = p.scale / q.scale, (q.loc - p.loc) / q.scale
    return -ratio.log() - off + ratio * EULER + (off + (1 + ratio).lgamma()).exp() - (1 + EULER)


@register_kl(Laplace, Laplace)
def _laplace(p: Laplace, q: Laplace) -> Any:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return distance / q.scale + ratio * (-distance / p.scale).exp() - 1 - ratio.log()


@register_kl(Weibull, Weibull)
def _weibull(p: Weibull, q: Weibull) -> Any:
    k, ratio = q.concentration / p.concentration, p.scale.log() - q.scale.log()
    return -k.log() - q.concentration * ratio + (k - 1) * EULER + (q.concentration * ratio + (1 + k).lgamma()).exp() - 1


@register_kl(Pareto, Pareto)
def _pareto(p: Pareto, q: Pareto) -> Any:
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return where(p.scale < q.scale, math.inf, result)


@register_kl(NormalVector, NormalVector)
def _multivariate(p: Any, q: Any) -> Any:
    if isinstance(q, LowRankMultivariateNormal):
        trace = (q.precision_matrix * p.covariance_matrix).sum((-2, -1))
    else:
        low = isinstance(p, LowRankMultivariateNormal)
        parts = [p.cov_factor, p.cov_diag.sqrt().diag_embed()] if low else [p.scale_tril]
        trace = sum(solved(q.scale_tril, part).square().sum((-2, -1)) for part in parts)
    return q._half_log_det() - p._half_log_det() + 0.5 * (trace + q._distance(q.loc - p.loc) - p.event_shape[0])


@register_kl(Wishart, Wishart)
def _wishart(p: Wishart, q: Wishart) -> Any:
    n = p.event_shape[0]
    trace = solved(q.scale_tril, p.scale_tril).square().sum((-2, -1))
    norms = mvlgamma(q.df / 2, n) - mvlgamma(p.df / 2, n) + q.df * (q._half_log_det() - p._half_log_det())
    return norms + 0.5 * (p.df - q.df) * p._digammas() + 0.5 * p.df * (trace - n)


@register_kl(Independent, Independent)
def _independent(p: Independent, q: Independent) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError(
            "kl_divergence: the two Independent must have equal reinterpreted_batch_ndims, got different values; "
            "create both with one value"
        )
    return summed(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: TransformedDistribution, q: TransformedDistribution) -> Any:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError(
            "kl_divergence: the two TransformedDistribution must have equal transforms and event shapes, got others; "
            "average p.log_prob(x) - q.log_prob(x) over samples x of p"
        )
    return kl_divergence(p.base_dist, q.base_dist)


ONE_FAMILY: dict[Any, Callable[[Any, Any], Any]] = {
    Beta: lambda p, q: _dirichlet(p._dirichlet, q._dirichlet),
    Binomial: lambda p, q: where(p.total_count > q.total_count, math.inf, p.total_count * _bernoulli(p, q)),
    Cauchy: lambda p, q: (((p.scale + q.scale) ** 2 + (p.loc - q.loc) ** 2) / (4 * p.scale * q.scale)).log(),
    ContinuousBernoulli: lambda p, q: -p.entropy() - q.log_prob_of_mean(p.mean),
    Exponential: lambda p, q: q.rate / p.rate - 1 - (q.rate / p.rate).log(),
    Geometric: lambda p, q: -p.entropy() - (-q.probs).log1p() / p.probs - q.logits,
    Half: lambda p, q: kl_divergence(p.base_dist, q.base_dist),
    InverseGamma: lambda p, q: _gamma(p._gamma, q._gamma),
    LogNormal: lambda p, q: kl_divergence(p.base_dist, q.base_dist),
    Normal: lambda p, q: (
        0.5 * ((p.scale / q.scale) ** 2 + ((p.loc - q.loc) / q.scale) ** 2 - 1) - (p.scale / q.scale).log()
    ),
    OneHotCategorical: _categorical,
    Poisson: lambda p, q: p.rate.xlogy(p.rate) - p.rate.xlogy(q.rate) - (p.rate - q.rate),
    Uniform: lambda p, q: where(
        (q.low <= p.low) & (q.high >= p.high), ((q.high - q.low) / (p.high - p.low)).log(), math.inf
    ),
}
for _p, _formula in ONE_FAMILY.items():
    register_kl(_p, _p)(_formula)


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: ExponentialFamily, q: ExponentialFamily) -> Any:
    """Return the Bregman divergence of the log normalizer at the natural parameters."""
    if type(p) is not type(q):
        raise _without_formula(p, q)
    normalizer, natural, gradients = p._normalizer_gradient()
    result = q._log_normalizer(*q._natural_params) - normalizer
    for a, b, g in zip(natural, q._natural_params, gradients, strict=True):
        result = result - summed((b - a) * g, len(q.event_shape))
    return result


# ---- pairs of different families: -entropy(p) - mean of log q(x) -----------------------------------------------------


def _mean_log(p: Any) -> Any:
    """Return the mean of log(x) for samples x of p."""
    if isinstance(p, Beta):
        return p._dirichlet._mean_log[..., 0]
    if isinstance(p, Gamma):
        return p.concentration.digamma() - p.rate.log()
    if isinstance(p, Exponential):
        return -p.rate.log() - EULER
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    return (p.high.xlogy(p.high) - p.low.xlogy(p.low)) / (p.high - p.low) - 1


def _mean_exp(p: Any, t: Any) -> Any:
    """Return the mean of exp(t * x) for samples x of p, for negative t."""
    if isinstance(p, Normal):
        return (p.loc * t + 0.5 * (p.scale * t) ** 2).exp()
    if isinstance(p, Gamma):
        return (-p.concentration * (-t / p.rate).log1p()).exp()
    if isinstance(p, Exponential):
        return p.rate / (p.rate - t)
    width = t * (p.high - p.low)
    return (t * p.low).exp() * width.expm1() / width


def _cross_gamma(p: Any, q: Gamma) -> Any:
    c = q.concentration
    return c * q.rate.log() - c.lgamma() + (c - 1) * _mean_log(p) - q.rate * p.mean


def _cross_laplace(p: Normal, q: Laplace) -> Any:
    off = (p.loc - q.loc) / p.scale
    distance = p.scale * (math.sqrt(2 / math.pi) * (-0.5 * off**2).exp() + off * (off / math.sqrt(2)).erf())
    return -(2 * q.scale).log() - distance / q.scale


def _cross(cross: Callable[[Any, Any], Any], inside: Callable[[Any, Any], Any] | None = None) -> Callable[..., Any]:
    """Return a divergence from a mean of log q; it is infinite where samples of p are outside the support of q."""

    def divergence(p: Any, q: Any) -> Any:
        result = -p.entropy() - cross(p, q)
        return result if inside is None else where(inside(p, q), result, math.inf)

    return divergence


# The mean of log q(x) for samples x of p, by the class of q.
MEANS: dict[Any, Callable[[Any, Any], Any]] = {
    Beta: lambda p, q: (
        (q.concentration1 - 1) * _mean_log(p)
        + (q.concentration0 - 1) * _mean_log(Uniform(1 - p.high, 1 - p.low, False))
        - q._log_normalizer(q.concentration1, q.concentration0)
    ),
    ContinuousBernoulli: lambda p, q: q.log_prob_of_mean(p.mean),
    Exponential: lambda p, q: q.rate.log() - q.rate * p.mean,
    Gamma: _cross_gamma,
    Gumbel: lambda p, q: (
        (q.loc - p.mean) / q.scale - (q.loc / q.scale).exp() * _mean_exp(p, -1 / q.scale) - q.scale.log()
    ),
    Laplace: _cross_laplace,
    Normal: lambda p, q: -(p.variance + (p.mean - q.loc) ** 2) / (2 * q.scale**2) - q.scale.log() - HALF_LOG_2PI,
    Pareto: lambda p, q: q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * _mean_log(p),
    Poisson: lambda p, q: p.probs * q.rate.log() - q.rate,
    Uniform: lambda p, q: -(q.high - q.low).log(),
}


def _unit(p: Any, q: Any) -> Any:
    """Return whether a uniform distribution p is inside [0, 1]."""
    return (p.low >= 0) & (p.high <= 1)


CROSSES: tuple[tuple[Any, tuple[Any, ...], Any], ...] = (
    (Normal, (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Pareto, Uniform), None),
    (Exponential, (Beta, ContinuousBernoulli, Gamma, Pareto), None),
    (Gamma, (Beta, Exponential, Pareto), None),
    (Gumbel, (Exponential, Gamma, Normal, Uniform), None),
    (Laplace, (Normal,), None), (ContinuousBernoulli, (Beta,), None), (Poisson, (Bernoulli,), None),
    (Exponential, (Uniform,), lambda p, q: p.low >= 0), (Gamma, (Uniform,), lambda p, q: p.low >= 0),
    (Beta, (Uniform,), _unit), (ContinuousBernoulli, (Uniform,), _unit),
    (Pareto, (Uniform,), lambda p, q: p.low >= q.scale),
    (Uniform, (Beta, ContinuousBernoulli), lambda p, q: (q.low <= 0) & (q.high >= 1)),
)  # fmt: skip
for _q, _all, _inside in CROSSES:
    for _p in _all:
        register_kl(_p, _q)(_cross(MEANS[_q], _inside))


def _infinite(p: Any, q: Any) -> Any:
    """Return infinity, because samples of p can be outside the support of q."""
    return full(p.batch_shape, math.inf, dtype=p.mean.dtype, device=p.mean.device)


OUTSIDE: dict[Any, tuple[Any, ...]] = {
    Beta: (Pareto,), ContinuousBernoulli: (Pareto,), Pareto: (Beta, ContinuousBernoulli, Uniform),
    **dict.fromkeys((Exponential, Gamma), (Beta, ContinuousBernoulli, Pareto, Uniform)),
    **dict.fromkeys((Gumbel, Laplace, Normal), (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    Poisson: (Bernoulli, Binomial),
}  # fmt: skip
for _p, _all in OUTSIDE.items():
    for _q in _all:
        register_kl(_p, _q)(_infinite)
