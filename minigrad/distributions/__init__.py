"""Probability distributions under the names of `torch.distributions`: samples, log densities, entropies, divergences.

Each file contains one distribution; `kl.py` contains the Kullback-Leibler divergences of pairs.
"""

from minigrad.declare.advice import present
from minigrad.distributions import transforms
from minigrad.distributions.bernoulli import Bernoulli
from minigrad.distributions.categorical import Categorical
from minigrad.distributions.cauchy import Cauchy
from minigrad.distributions.distribution import Distribution
from minigrad.distributions.exponential import Exponential
from minigrad.distributions.gumbel import Gumbel
from minigrad.distributions.independent import Independent
from minigrad.distributions.kl import kl_divergence
from minigrad.distributions.laplace import Laplace
from minigrad.distributions.multivariate_normal import MultivariateNormal
from minigrad.distributions.normal import Normal
from minigrad.distributions.one_hot_categorical import OneHotCategorical, OneHotCategoricalStraightThrough
from minigrad.distributions.transformed import LogNormal, TransformedDistribution
from minigrad.distributions.transforms import (
    AffineTransform,
    ComposeTransform,
    ExpTransform,
    SigmoidTransform,
    TanhTransform,
    Transform,
)
from minigrad.distributions.uniform import Uniform

NAMES = (
    AffineTransform, Bernoulli, Categorical, Cauchy, ComposeTransform, Distribution, ExpTransform, Exponential, Gumbel,
    Independent, Laplace, LogNormal, MultivariateNormal, Normal, OneHotCategorical, OneHotCategoricalStraightThrough,
    SigmoidTransform, TanhTransform, Transform, TransformedDistribution, Uniform, kl_divergence,
)  # fmt: skip
present(globals(), {thing.__name__: thing for thing in NAMES} | {"transforms": transforms})
