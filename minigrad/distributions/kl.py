"""Kullback-Leibler divergences of pairs of distributions, with one function per pair."""

from __future__ import annotations

import math
from typing import Any

from minigrad.distributions.bernoulli import Bernoulli
from minigrad.distributions.categorical import Categorical
from minigrad.distributions.distribution import Distribution, summed
from minigrad.distributions.exponential import Exponential
from minigrad.distributions.independent import Independent
from minigrad.distributions.laplace import Laplace
from minigrad.distributions.normal import Normal
from minigrad.distributions.one_hot_categorical import OneHotCategorical
from minigrad.distributions.transformed import LogNormal
from minigrad.distributions.uniform import Uniform
from minigrad.nn import functional as F
from minigrad.ops.pointwise.compare import where
from minigrad.runtime.tensor import Tensor


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Return the Kullback-Leibler divergence: the mean of `p.log_prob(x) - q.log_prob(x)` over samples x of p.

    Parameters
    ----------
    p, q : Distribution
        Two distributions of the same class.

    Returns
    -------
    Tensor
        The divergence in nats, of the batch shape.

    Raises
    ------
    NotImplementedError
        If minigrad has no formula for the classes of p and q.

    Examples
    --------
    >>> import minigrad as mg
    >>> kl_divergence(Normal(1.0, 1.0), Normal(0.0, 1.0)).item()
    0.5
    """
    formula: Any = FORMULAS.get(type(p)) if type(p) is type(q) else None
    if formula is None:
        raise NotImplementedError(
            f"kl_divergence: there is no formula for {type(p).__name__} and {type(q).__name__}; average "
            f"p.log_prob(x) - q.log_prob(x) over x = p.sample((n,))"
        )
    result: Tensor = formula(p, q)
    return result


def _normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - ratio.log())


def _bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    ones = p.probs * (F.softplus(-q.logits) - F.softplus(-p.logits))
    zeros = (1 - p.probs) * (F.softplus(q.logits) - F.softplus(p.logits))
    ones = where(p.probs == 0, 0.0, where(q.probs == 0, math.inf, ones))
    return ones + where(p.probs == 1, 0.0, where(q.probs == 1, math.inf, zeros))


def _categorical(p: Categorical, q: Categorical) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    terms = where((q.probs == 0) & (p.probs > 0), math.inf, terms)
    return where(p.probs == 0, 0.0, terms).sum(-1)


def _uniform(p: Uniform, q: Uniform) -> Tensor:
    inside = (q.low <= p.low) & (q.high >= p.high)
    return where(inside, ((q.high - q.low) / (p.high - p.low)).log(), math.inf)


def _exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


def _laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return distance / q.scale + ratio * (-distance / p.scale).exp() - 1 - ratio.log()


def _one_hot(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _categorical(p._categorical, q._categorical)


def _log_normal(p: LogNormal, q: LogNormal) -> Tensor:
    return _normal(p._normal, q._normal)


def _independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError(
            "kl_divergence: the two Independent must have equal reinterpreted_batch_ndims, got different values; "
            "create both with one value"
        )
    result: Tensor = summed(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)
    return result


FORMULAS = {
    Normal: _normal, Bernoulli: _bernoulli, Categorical: _categorical, Uniform: _uniform, Independent: _independent,
    Exponential: _exponential, Laplace: _laplace, OneHotCategorical: _one_hot, LogNormal: _log_normal,
}  # fmt: skip
