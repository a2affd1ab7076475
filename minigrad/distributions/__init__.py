"""Probability distributions under the names of `torch.distributions`: samples, log densities, entropies, divergences.

Each file contains the distributions of one kind of values.  `constraints` are sets of values, `transforms` map samples,
and `biject_to` and `transform_to` return the transform to a set; `kl.py` contains the divergences of pairs.
"""

import sys

from minigrad.declare.advice import imported, present
from minigrad.distributions import constraint_registry, constraints, kl, transforms, utils
from minigrad.distributions.classes import Categorical, Multinomial, OneHotCategorical, OneHotCategoricalStraightThrough
from minigrad.distributions.combined import (
    Independent,
    LogisticNormal,
    LogNormal,
    MixtureSameFamily,
    TransformedDistribution,
)
from minigrad.distributions.constraint_registry import biject_to, transform_to  # objects without a page of their own
from minigrad.distributions.counts import Bernoulli, Binomial, Geometric, NegativeBinomial, Poisson
from minigrad.distributions.distribution import Distribution, ExponentialFamily
from minigrad.distributions.kl import kl_divergence, register_kl
from minigrad.distributions.multivariate import LKJCholesky, LowRankMultivariateNormal, MultivariateNormal, Wishart
from minigrad.distributions.positive import (
    Chi2,
    Exponential,
    FisherSnedecor,
    Gamma,
    GeneralizedPareto,
    HalfCauchy,
    HalfNormal,
    InverseGamma,
    Pareto,
    Weibull,
)
from minigrad.distributions.real_line import Cauchy, Gumbel, Laplace, Normal, StudentT, Uniform, VonMises
from minigrad.distributions.relaxed import LogitRelaxedBernoulli, RelaxedBernoulli, RelaxedOneHotCategorical
from minigrad.distributions.simplex import Beta, ContinuousBernoulli, Dirichlet, Kumaraswamy

OTHERS = {
    "constraint_registry": constraint_registry, "constraints": constraints, "kl": kl,
    "transforms": transforms, "utils": utils,
}  # fmt: skip
present(globals(), imported(globals()) | transforms.CLASSES | OTHERS)
# PyTorch has one module per distribution, from which scripts import its class.
MODULES = (
    "bernoulli beta binomial categorical cauchy chi2 continuous_bernoulli dirichlet exp_family exponential "
    "fishersnedecor gamma generalized_pareto geometric gumbel half_cauchy half_normal independent inverse_gamma "
    "kumaraswamy laplace lkj_cholesky log_normal logistic_normal lowrank_multivariate_normal mixture_same_family "
    "multinomial negative_binomial normal one_hot_categorical pareto poisson relaxed_bernoulli relaxed_categorical "
    "studentT transformed_distribution uniform von_mises weibull wishart"
).split()
for name in MODULES:
    globals()[name] = sys.modules[f"{__name__}.{name}"] = sys.modules[__name__]
