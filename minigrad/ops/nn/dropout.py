"""Dropout, which sets random elements or channels to 0 in training; and gumbel_softmax.

The random numbers come from the default generator, so `mg.manual_seed` makes them reproducible.  Gradients flow through
the elements that were kept.
"""

from __future__ import annotations

import math
from typing import Annotated

from minigrad.core.conditions import Floating, Ndim
from minigrad.core.dtype import float32
from minigrad.core.roles import Dim, Flag, FlagOrNone, Probability, Scalar
from minigrad.declare.decorators import composed
from minigrad.errors import warn
from minigrad.ops.casting import cast
from minigrad.ops.creation import arange
from minigrad.ops.nn.softmax import softmax
from minigrad.ops.pointwise.arithmetic import mul
from minigrad.ops.pointwise.blends import clamp
from minigrad.ops.random import rand
from minigrad.ops.reduction.extremes import argmax
from minigrad.runtime.into import copy_result
from minigrad.runtime.tensor import Tensor, describe

# Minus the limit of selu for large negative inputs, scale * alpha.  Source: Klambauer et al., arXiv 1706.02515.
SATURATION = 1.7580993408473766


@composed()
def dropout(input: Tensor, p: Probability = 0.5, training: Flag = True, inplace: FlagOrNone = False) -> Tensor:
    """Set each element to 0 with probability p, and divide the other elements by 1 - p.

    If training is False or p is 0, the result is the input itself.  If p is 1, all elements become 0.
    Gradient: g/(1 - p) for an element that was kept, otherwise 0.
    Raises ArgumentError for p outside [0, 1], DTypeError for an input that is not a float tensor.
    """
    return dropped("dropout", input, input.shape, p, training, inplace)


@composed()
def dropout1d(
    input: Annotated[Tensor, Ndim(2, 3, advice="use dropout for other numbers of dims")], p: Probability = 0.5,
    training: Flag = True, inplace: FlagOrNone = False,
) -> Tensor:  # fmt: skip
    """Apply `dropout` to whole channels of signals (N, C, L) or (C, L)."""
    return dropped("dropout1d", input, channels(input, input.ndim - 1), p, training, inplace)


@composed()
def dropout2d(input: Tensor, p: Probability = 0.5, training: Flag = True, inplace: FlagOrNone = False) -> Tensor:
    """Apply `dropout` to whole channels, dim 1, of images (N, C, H, W); with three dims, dim 0 is the batch."""
    return dropped("dropout2d", input, channels(input, 2), p, training, inplace)


@composed()
def dropout3d(input: Tensor, p: Probability = 0.5, training: Flag = True, inplace: FlagOrNone = False) -> Tensor:
    """Apply `dropout` to whole channels of volumes (N, C, D, H, W) or (C, D, H, W)."""
    if input.ndim not in (4, 5):
        warn(
            f"dropout3d: input should have 4 or 5 dims, (C, D, H, W) or (N, C, D, H, W), got {describe(input)}; use "
            "dropout for other numbers of dims"
        )
    return dropped("dropout3d", input, channels(input, 2 if input.ndim == 5 else 1), p, training, inplace)


@composed()
def alpha_dropout(input: Tensor, p: Probability = 0.5, training: Flag = False, inplace: FlagOrNone = False) -> Tensor:
    """Apply dropout that preserves mean 0 and variance 1.

    Dropped elements get the limit of selu for large negative inputs, and all elements are then scaled and shifted.
    """
    return dropped("alpha_dropout", input, input.shape, p, training, inplace, alpha=True)


@composed()
def feature_alpha_dropout(
    input: Tensor, p: Probability = 0.5, training: Flag = False, inplace: FlagOrNone = False
) -> Tensor:
    """Apply `alpha_dropout` to whole channels, which are dim 1."""
    return dropped("feature_alpha_dropout", input, channels(input, 2), p, training, inplace, alpha=True)


def channels(x: Tensor, count: int) -> tuple[int, ...]:
    """Return the shape of one number per channel: the first `count` dims, which x must have, and 1 for the others."""
    return (*x.shape[:count], *(1,) * abs(x.ndim - count))


def dropped(
    name: str, x: Tensor, shape: tuple[int, ...], p: float, training: bool, inplace: bool, alpha: bool = False
) -> Tensor:
    """Return x after dropout, with one random decision per element of `shape`, which broadcasts to that of x.

    name: the op, for messages.  alpha: whether to apply alpha dropout.
    """
    if not training or p == 0.0 or not x.numel():
        return x
    Ndim(least=len(shape)).expect(name, input=x)
    Floating.expect(name, input=x)
    # A shape of separate ints lets `rand` find its plan at once.
    kept = cast(rand(*shape, dtype=float32, device=x.device) >= p, dtype=x.dtype)
    if not alpha:
        factor = kept * (1.0 / (1.0 - p) if p < 1.0 else 0.0)
        return mul(x, factor, out=x) if inplace else x * factor
    if p == 1.0:
        y = x * 0.0
    else:
        scale = 1.0 / math.sqrt((SATURATION**2 * p + 1.0) * (1.0 - p))
        y = x * (kept * scale) + (kept - (1.0 - p)) * (SATURATION * scale)
    return copy_result(name, y, x) if inplace else y


@composed()
def gumbel_softmax(
    logits: Annotated[Tensor, Floating], tau: Scalar = 1, hard: FlagOrNone = False, eps: Scalar = 1e-10, dim: Dim = -1
) -> Tensor:
    """Return a differentiable sample of classes: softmax((logits + noise)/tau), with Gumbel noise.

    logits: unnormalized log-probabilities of the classes.
    tau: the temperature; for small tau, the sample is close to a one-hot vector.
    hard: whether to return the one-hot vector of the largest element, with the gradient of the soft sample.
    dim: the dim of the classes.
    eps: has no effect.
    Gradient: y*(g - sum(g*y))/tau with the softmax y; the noise counts as a constant.
    Source: Jang, Gu, Poole, arXiv 1611.01144.
    Raises DTypeError if logits is not a float tensor.
    """
    # The logarithms would be infinite at 0 and 1.
    uniform = clamp(rand(logits.shape, dtype=float32, device=logits.device), 2.0**-25)
    noise = -(-uniform.log()).log()
    y = softmax((logits + cast(noise, dtype=logits.dtype)) / tau, dim)
    if not hard:
        return y
    n, later = (logits.shape[dim], logits.ndim - dim - 1) if logits.ndim else (1, 0)
    classes = arange(n, device=logits.device).reshape(n, *(1,) * later) if logits.ndim else 0
    one = cast(argmax(y.detach(), dim, True) == classes, dtype=y.dtype)
    return one - y.detach() + y
