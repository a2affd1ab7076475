"""Losses of elements: of regression and of margins."""

# The bodies of scalar functions are data, which the specialiser reads; they carry no types.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math

from minigrad.ops.nn.loss import loss


@loss(weight="share")
def mse_loss(input, target):
    """Return (input - target)**2.  Gradient: 2*g*(input - target), and minus that for the target."""
    return (input - target) * (input - target)


@loss(weight="share")
def l1_loss(input, target):
    """Return |input - target|.  Gradient: g*sign(input - target), 0 where they are equal, minus that for target."""
    return abs(input - target)


@loss(flags=False, weight="factor", bounds={"delta": "positive"})
def huber_loss(input, target, delta=1.0):
    """Return error**2 / 2 where |error| <= delta, otherwise delta * (|error| - delta/2), for error = input - target."""
    error = abs(input - target)
    return error * error * 0.5 if error <= delta else (error - delta * 0.5) * delta


@loss(bounds={"beta": "not negative"})
def smooth_l1_loss(input, target, beta=1.0):
    """Return error**2 / (2*beta) where |error| < beta, otherwise |error| - beta/2, for error = input - target."""
    error = abs(input - target)
    return error * error * 0.5 / beta if error < beta else error - beta * 0.5


@loss()
def soft_margin_loss(input, target):
    """Return log(1 + exp(-target*input)), for targets of 1 and -1, without overflow."""
    z = -target * input
    return z + math.log1p(math.exp(-z)) if z > 0 else math.log1p(math.exp(z))


@loss(first=("margin",))
def hinge_embedding_loss(input, target, margin=1.0):
    """Return input where the target is 1, max(0, margin - input) where it is -1.  Gradient: -g at the margin."""
    return (0 if target == -1 else input) + (0 if target == 1 or input > margin else margin - input)


@loss(first=("margin",))
def margin_ranking_loss(input1, input2, target, margin=0.0):
    """Return max(0, margin - target*(input1 - input2)): how far input1 is from leading, or trailing, by the margin."""
    lead = margin - target * (input1 - input2)
    return 0 if lead < 0 else lead
