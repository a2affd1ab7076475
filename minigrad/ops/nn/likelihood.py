"""Losses that are a negative log-likelihood: of a boolean, a count, a normal number or a distribution.

Each has a scalar function of its elements, whose derivative rules are generated; `loss.py` applies weights and means.
"""

# The bodies of scalar functions are data, which the specialiser reads; they carry no types.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
from typing import Any

from minigrad.core.roles import Flag, Scalar
from minigrad.declare.decorators import composed, elementwise, scalar
from minigrad.errors import ShapeError
from minigrad.ops.nn.loss import floats, joined, named_reduction
from minigrad.ops.pointwise.clamping import clamp
from minigrad.runtime.dispatch import number
from minigrad.runtime.tensor import Tensor, describe

NARROW = 1e-12  # lower bound of x * (1 - x) in the gradient
ELEMENTS: dict[str, Any] = {"dtype": floats, "vjp": "derived", "namespace": (), "method": False}


# ---- of elements ----------------------------------------------------------------------------------------------------


@scalar
def log_above(x):
    """Return log(x), not below -100; nan stays nan."""
    return -100 if math.log(x) < -100 else math.log(x)


@elementwise(
    dtype=floats, namespace=(), method=False, label="binary_cross_entropy",
    vjp=(
        lambda g, input, target: g * (input - target) / clamp(input * (1.0 - input), NARROW),
        lambda g, input: g * ((-input).log1p() - input.log()),
    ),
)  # fmt: skip
def cross_entropy_of_one(input, target):
    """Return -target*log(input) - (1 - target)*log(1 - input), no logarithm below -100.

    Gradient: g*(input - target) over input*(1 - input), which is at least 1e-12, and g*log(1/input - 1) for the
    target, also where a logarithm is -100.
    """
    low = math.log1p(-input)
    return (target - 1) * (-100 if low < -100 else low) - target * log_above(input)


@elementwise(**ELEMENTS, label="binary_cross_entropy_with_logits")
def cross_entropy_of_logit(input, target, pos_weight=1.0):
    """Return -pos_weight*target*log(sigmoid(input)) - (1 - target)*log(sigmoid(-input)), without overflow."""
    # All choices use one condition, so that the derived rule uses the same side of 0 everywhere.
    soft = math.log1p(math.exp(input if input < 0 else -input))
    below = input if input < 0 else 0
    above = 0 if input < 0 else input
    return pos_weight * target * (soft - below) + (1 - target) * (soft + above)


@elementwise(**ELEMENTS, label="kl_div")
def divergence(input, target):
    """Return target*(log(target) - input); where the target is 0, its logarithm counts 0."""
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


def expect_one_shape(name: str, input: Tensor, target: Tensor) -> None:
    """Raise ShapeError unless input and target have one shape."""
    if input.shape != target.shape:
        raise ShapeError(f"{name}: {describe(input)} and {describe(target)} must have the same shape", op=name)


@composed(method=False, out=False)
def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Return -target*log(input) - (1 - target)*log(1 - input) for probabilities; logarithms are at least -100.

    An input outside 0 to 1 produces nan.  Gradient: g*(input - target) / max(input*(1 - input), 1e-12).
    """
    reduction = named_reduction("binary_cross_entropy", reduction, size_average, reduce)
    expect_one_shape("binary_cross_entropy", input, target)
    loss = cross_entropy_of_one(input, target)
    return joined(loss if weight is None else loss * weight, reduction)


@composed(method=False, out=False)
def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean", pos_weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return `binary_cross_entropy` of sigmoid(input), without overflow. pos_weight: factor of the term of target.

    Gradient: g*(sigmoid(input) - target) without weights.
    """
    name = "binary_cross_entropy_with_logits"
    reduction = named_reduction(name, reduction, size_average, reduce)
    expect_one_shape(name, input, target)
    loss = cross_entropy_of_logit(input, target, 1.0 if pos_weight is None else pos_weight)
    return joined(loss if weight is None else loss * weight, reduction)


@composed(method=False, out=False)
def kl_div(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", log_target: Flag = False,
) -> Tensor:  # fmt: skip
    """Return target*(log(target) - input) for log-probabilities in input; log_target: target holds logarithms, too.

    reduction: "batchmean" is the divergence: the sum over the length of the first dim.
    """
    rows = reduction == "batchmean" and size_average is None and reduce is None
    how = "sum" if rows else named_reduction("kl_div", reduction, size_average, reduce)
    loss = joined((divergence_of_logs if log_target else divergence)(input, target), how)
    return loss / input.shape[0] if rows and input.ndim else loss


@composed(method=False, out=False)
def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: Flag = True, full: Flag = False, size_average: bool | None = None,
    eps: Scalar = 1e-08, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Return exp(input) - target*input, the log of a rate; without log_input, input - target*log(input + eps).

    full: with Stirling's approximation of log(target!) for targets above 1.
    """
    reduction = named_reduction("poisson_nll_loss", reduction, size_average, reduce)
    loss = poisson_of_log(input, target) if log_input else poisson(input, target, eps)
    if full:
        n = (target > 1).where_cond(target, 1.0)
        stirling = n * n.log() - n + (n * (2 * math.pi)).log() * 0.5
        loss = loss + (target > 1).where_cond(stirling, 0.0)
    return joined(loss, reduction)


@composed(method=False, out=False)
def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor | float, full: Flag = False, eps: Scalar = 1e-06, reduction: str = "mean"
) -> Tensor:
    """Return (log(var) + (input - target)**2 / var)/2, plus log(2*pi)/2 if full; a variance below eps counts as eps.

    var: of input's shape, or one for each row of it.  Gradient: that of var is taken at eps where it is below.
    """
    named_reduction("gaussian_nll_loss", reduction)
    var = var if isinstance(var, Tensor) else number(var, input.dtype, input.device)
    if var.shape and var.shape == input.shape[:-1] and var.shape != input.shape:
        var = var.unsqueeze(-1)
    elif var.shape not in (input.shape, ()) and (
        var.ndim != input.ndim or [m for m, n in zip(var.shape, input.shape) if m != n] != [1]
    ):
        raise ShapeError(
            f"gaussian_nll_loss: var {describe(var)} must have the shape of {describe(input)}, or one element for "
            f"each row of it", op="gaussian_nll_loss",
        )  # fmt: skip
    loss = normal_of(input, target, at_least(var, eps))
    return joined(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


@elementwise(dtype=floats, vjp=(lambda g: g, None), namespace=(), method=False)
def at_least(x, low):
    """Return x, or low where x is less; nan stays nan.  Gradient: g everywhere."""
    return low if x < low else x
