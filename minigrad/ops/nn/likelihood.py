"""Losses that are negative log-likelihoods: of booleans, counts, normally distributed numbers and distributions.

Each loss has a scalar function of its elements, whose derivative rules are usually derived from it.  `loss.py` applies
weights and reductions.
"""

from __future__ import annotations

import math
from typing import Any

from minigrad.core.conditions import expect_same
from minigrad.core.roles import Flag, FlagOrNone, Scalar
from minigrad.declare.decorators import composed, elementwise, scalar
from minigrad.errors import ShapeError
from minigrad.ops.nn.loss import floats, joined, named_reduction
from minigrad.runtime.dispatch import number
from minigrad.runtime.tensor import Tensor, describe

NARROW = 1e-12  # lower bound of input * (1 - input) in the gradient of binary_cross_entropy
ELEMENTS: dict[str, Any] = {"dtype": floats, "vjp": "derived", "namespace": ()}


# ---- of elements ----------------------------------------------------------------------------------------------------


@scalar
def log_above(x):
    """Return log(x), but at least -100; nan stays nan."""
    return -100 if math.log(x) < -100 else math.log(x)


def _gradient(g: Tensor, input: Tensor, target: Tensor) -> Tensor:
    """Return the gradient of `cross_entropy_of_one` for the input, by elementwise ops, which become one loop."""
    spread = input * (1.0 - input)
    return g * (input - target) / (spread >= NARROW).where_cond(spread, NARROW)


@elementwise(
    dtype=floats, namespace=(), label="binary_cross_entropy",
    vjp=(
        _gradient,
        lambda g, input: g * ((-input).log1p() - input.log()),
    ),
)  # fmt: skip
def cross_entropy_of_one(input, target):
    """Return -target*log(input) - (1 - target)*log(1 - input), where each logarithm is at least -100.

    Gradient: g*(input - target)/max(input*(1 - input), 1e-12) for input, and g*log(1/input - 1) for target, also where
    a logarithm is -100.
    """
    low = math.log1p(-input)
    return (target - 1) * (-100 if low < -100 else low) - target * log_above(input)


@elementwise(**ELEMENTS, label="binary_cross_entropy_with_logits")
def cross_entropy_of_logit(input, target, pos_weight=1.0):
    """Return -pos_weight*target*log(sigmoid(input)) - (1 - target)*log(sigmoid(-input)), without overflow.

    Gradient: for input, g*(sigmoid(input) - target) if pos_weight is 1.
    """
    # All choices use one condition, so that the derived rule uses the same side of 0 everywhere.
    soft = math.log1p(math.exp(input if input < 0 else -input))
    below = input if input < 0 else 0
    above = 0 if input < 0 else input
    return pos_weight * target * (soft - below) + (1 - target) * (soft + above)


@elementwise(**ELEMENTS, label="kl_div")
def divergence(input, target):
    """Return target*(log(target) - input); where the target is 0, target*log(target) counts as 0."""
    return (target * math.log(target) if target != 0 else 0) - target * input


@elementwise(**ELEMENTS, label="kl_div")
def divergence_of_logs(input, target):
    """Return exp(target)*(target - input)."""
    return math.exp(target) * (target - input)


@elementwise(**ELEMENTS, label="poisson_nll_loss")
def poisson_of_log(input, target):
    """Return exp(input) - target*input."""
    return math.exp(input) - target * input


@elementwise(**ELEMENTS, label="poisson_nll_loss")
def poisson(input, target, eps=1e-8):
    """Return input - target*log(input + eps)."""
    return input - target * math.log(input + eps)


@elementwise(**ELEMENTS, label="gaussian_nll_loss")
def normal_of(input, target, var):
    """Return (log(var) + (input - target)**2 / var) / 2."""
    return (math.log(var) + (input - target) * (input - target) / var) * 0.5


# ---- the public forms -----------------------------------------------------------------------------------------------


@composed()
def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Return -target*log(input) - (1 - target)*log(1 - input), where each logarithm is at least -100.

    The input contains probabilities; an element outside 0 to 1 produces nan.
    Gradient: for input, g*(input - target)/max(input*(1 - input), 1e-12).
    """
    reduction = named_reduction("binary_cross_entropy", reduction, size_average, reduce)
    expect_same("shape", "binary_cross_entropy", input=input, target=target)
    loss = cross_entropy_of_one(input, target)
    return joined(loss if weight is None else loss * weight, reduction)


@composed()
def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean", pos_weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return `binary_cross_entropy` of sigmoid(input), without overflow.

    pos_weight: the factor of the term -target*log(sigmoid(input)), which broadcasts; 1 if None.
    Gradient: for input, g*(sigmoid(input) - target) without weights.
    """
    name = "binary_cross_entropy_with_logits"
    reduction = named_reduction(name, reduction, size_average, reduce)
    expect_same("shape", name, input=input, target=target)
    loss = cross_entropy_of_logit(input, target, 1.0 if pos_weight is None else pos_weight)
    return joined(loss if weight is None else loss * weight, reduction)


@composed()
def kl_div(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", log_target: Flag = False,
) -> Tensor:  # fmt: skip
    """Return target*(log(target) - input), the terms of the Kullback-Leibler divergence.

    The input contains log-probabilities.  Where a target probability is 0, the term is 0.
    reduction: "mean", "sum", "none" or "batchmean". "batchmean" divides the sum by the length of the first dim; for
    rows that are distributions, this is the mean divergence.
    Gradient: for input, -g*target, or with log_target=True, -g*exp(target).
    """
    rows = reduction == "batchmean" and size_average is None and reduce is None
    how = "sum" if rows else named_reduction("kl_div", reduction, size_average, reduce)
    loss = joined((divergence_of_logs if log_target else divergence)(input, target), how)
    return loss / input.shape[0] if rows and input.ndim else loss


@composed()
def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: Flag = True, full: Flag = False, size_average: bool | None = None,
    eps: Scalar = 1e-08, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Return the negative log-likelihood of counts with a Poisson distribution: exp(input) - target*input.

    log_input: whether the input is the logarithm of the rate; if False, the result is input - target*log(input + eps).
    full: whether to add Stirling's approximation of log(target!) for targets above 1.
    Gradient: for input, g*(exp(input) - target), or with log_input=False, g*(1 - target/(input + eps)).
    """
    reduction = named_reduction("poisson_nll_loss", reduction, size_average, reduce)
    loss = poisson_of_log(input, target) if log_input else poisson(input, target, eps)
    if full:
        n = (target > 1).where_cond(target, 1.0)
        stirling = n * n.log() - n + (n * (2 * math.pi)).log() * 0.5
        loss = loss + (target > 1).where_cond(stirling, 0.0)
    return joined(loss, reduction)


@composed()
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: FlagOrNone = False,
    eps: Scalar = 1e-06,
    reduction: str = "mean",
) -> Tensor:
    """Return the negative log-likelihood of normally distributed targets: (log(var) + (input - target)**2 / var)/2.

    var: a number, or a tensor of variances in the shape of the input or with one element per row of the input. A
    variance below eps counts as eps.
    full: whether to add log(2*pi)/2.
    Gradient: g*(input - target)/var for input, and g*(1 - (input - target)**2/var)/(2*var) for var, with eps as var
    where var is below eps.
    Raises ShapeError for a tensor `var` of another shape.
    """
    named_reduction("gaussian_nll_loss", reduction)
    var = var if isinstance(var, Tensor) else number(var, input.dtype, input.device)
    if var.shape and var.shape == input.shape[:-1] and var.shape != input.shape:
        var = var.unsqueeze(-1)
    elif var.shape not in (input.shape, ()) and (
        var.ndim != input.ndim or [m for m, n in zip(var.shape, input.shape) if m != n] != [1]
    ):
        raise ShapeError(
            f"gaussian_nll_loss: var must have the shape of input {describe(input)}, or one element per row of input, "
            f"got {describe(var)}; reshape var"
        )
    loss = normal_of(input, target, at_least(var, eps))
    return joined(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


@elementwise(dtype=floats, vjp=(lambda g: g, None), namespace=())
def at_least(x, low):
    """Return the larger of x and low; nan stays nan.  Gradient: g for x, also where x is less than low."""
    return low if x < low else x
