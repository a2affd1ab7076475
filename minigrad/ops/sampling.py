"""Samples from probabilities that a tensor contains: bernoulli and multinomial.  `random.py` has the generators."""

from __future__ import annotations

from math import inf
from typing import Annotated, Any

from minigrad.core.conditions import Floating
from minigrad.core.dtype import float64
from minigrad.core.roles import Flag, Number, Size
from minigrad.declare.decorators import composed
from minigrad.errors import ArgumentError, ShapeError
from minigrad.ops.casting import cast
from minigrad.ops.indexing.searching import insertions
from minigrad.ops.indexing.sorting import topk
from minigrad.ops.pointwise.clamping import clamp
from minigrad.ops.random import rand
from minigrad.ops.reduction.scan import cumsum
from minigrad.ops.reduction.sums import amin, aminmax, count_nonzero, sum
from minigrad.ops.shape.views import reshape
from minigrad.runtime.tensor import Tensor, describe


@composed()
def bernoulli(
    input: Tensor,
    p: Annotated[Any, Number(0, 1, noun="probability", example=0.5, optional=True)] = None,
    *,
    generator: Any = None,
) -> Tensor:
    """Return 1 with the probability that each element contains, otherwise 0, in the dtype of the input.

    p: the probability for all elements; then the elements of the input are not read.
    Not differentiable.  Raises DTypeError for probabilities that are not floats, ArgumentError for p outside [0, 1].
    """
    chances = input.detach() if p is None else p
    if p is None:
        Floating.expect("bernoulli", input=input)
    return cast(rand(input.shape, dtype=float64, device=input.device, generator=generator) < chances, dtype=input.dtype)


@composed()
def multinomial(input: Tensor, num_samples: Size, replacement: Flag = False, *, generator: Any = None) -> Tensor:
    """Draw int64 positions from each row of weights, with probabilities proportional to the weights.

    The weights of a row do not need to add up to 1.
    replacement: whether a position can be drawn more than once in a row.
    Shapes: the input is (n,) or (m, n), and the result is (num_samples,) or (m, num_samples).
    Not differentiable.  Raises ShapeError for an input that does not have rows of floats, or if num_samples is not
    positive or, without replacement, greater than n; raises ArgumentError if weights are negative, not finite or all 0,
    and without replacement if a row has fewer than num_samples weights above 0.
    Source: without replacement, Efraimidis and Spirakis, Weighted random sampling with a reservoir, 2006.
    """
    n = input.shape[-1] if input.ndim in (1, 2) and input.dtype.is_float else 0
    if not 0 < num_samples <= (num_samples if replacement and n else n):
        raise ShapeError(
            "multinomial: input must be a vector or matrix of floats, and num_samples positive and at most the "
            f"length of a row without replacement, got {describe(input)} and num_samples={num_samples}; convert input "
            "with .float(), or pass replacement=True",
            op="multinomial",
        )
    weights = cast(input.detach(), dtype=float64) if input.ndim == 2 else cast(input.detach(), dtype=float64)[None]
    totals = sum(weights, -1)
    ends = [x.item() for part in (weights, totals) for x in aminmax(part)] if input.numel() else [0, 1, 1, 1]
    lowest, _, least_total, largest_total = ends
    if not (lowest >= 0 and least_total > 0 and largest_total < inf):
        raise ArgumentError(
            "multinomial: the weights in each row of input must be finite, not negative, and not all 0, got other "
            f"weights in {describe(input)}; compute weights with softmax, for example",
            op="multinomial",
        )
    if replacement:
        steps = cumsum(weights, -1)
        drawn = rand(weights.shape[0], num_samples, dtype=float64, device=input.device, generator=generator)
        result = insertions(steps, drawn * steps[:, -1:], after=True)
    else:
        if input.numel() and amin(count_nonzero(weights, -1)).item() < num_samples:
            raise ArgumentError(
                f"multinomial: with replacement=False, each row of input must have at least {num_samples} weights "
                f"above 0, got fewer in {describe(input)}; pass replacement=True or a smaller num_samples"
            )
        chance = clamp(rand(weights.shape, dtype=float64, device=input.device, generator=generator), 2.0**-60)
        # A weight is divided by a logarithm, not the reverse, because log / 1e-308 is -inf, as for a weight of 0.
        result = topk(weights / chance.log(), num_samples, -1, largest=False).indices
    return reshape(result, (*input.shape[:-1], num_samples))
