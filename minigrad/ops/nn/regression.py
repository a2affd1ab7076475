"""Losses that are sums or means over elements: for regression, and margin losses."""

# The bodies of scalar functions are data, which the specialiser reads; they carry no types.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
from typing import Annotated, Any

from minigrad.core.roles import Number
from minigrad.ops.nn.loss import loss


@loss(weight="share")
def mse_loss(input, target):
    """Return the squared error (input - target)**2.

    Gradient: 2*g*(input - target) for input, and -2*g*(input - target) for target.
    """
    return (input - target) * (input - target)


@loss(weight="share")
def l1_loss(input, target):
    """Return the absolute error |input - target|.

    Gradient: g*sign(input - target) for input, and -g*sign(input - target) for target; 0 where they are equal.
    """
    return abs(input - target)


@loss(flags=False, weight="factor", limits={"delta": Annotated[Any, Number(above=0, example=1.0)]})
def huber_loss(input, target, delta=1.0):
    """Return error**2/2 where |error| <= delta, otherwise delta * (|error| - delta/2), with error = input - target."""
    error = abs(input - target)
    return error * error * 0.5 if error <= delta else (error - delta * 0.5) * delta


@loss(limits={"beta": Annotated[Any, Number(0, example=1.0)]})
def smooth_l1_loss(input, target, beta=1.0):
    """Return error**2 / (2*beta) where |error| < beta, otherwise |error| - beta/2, with error = input - target."""
    error = abs(input - target)
    return error * error * 0.5 / beta if error < beta else error - beta * 0.5


@loss()
def soft_margin_loss(input, target):
    """Return log(1 + exp(-target*input)) without overflow; the targets are 1 and -1."""
    z = -target * input
    rest = math.log1p(math.exp(-z if z > 0 else z))
    return z + rest if z > 0 else rest


@loss(first=("margin",))
def hinge_embedding_loss(input, target, margin=1.0):
    """Return input where the target is 1, and max(0, margin - input) where the target is -1.

    Gradient: g for target 1; for target -1, -g where input <= margin, and 0 where input > margin.
    """
    return (0 if target == -1 else input) + (0 if target == 1 or input > margin else margin - input)


@loss(first=("margin",))
def margin_ranking_loss(input1, input2, target, margin=0.0):
    """Return max(0, margin - target*(input1 - input2)).

    The loss is 0 if input1 exceeds input2 by the margin for target 1, or is less by the margin for target -1.
    """
    lead = margin - target * (input1 - input2)
    return 0 if lead < 0 else lead
