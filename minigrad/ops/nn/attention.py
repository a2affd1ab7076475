"""Products of several inputs: scaled_dot_product_attention and bilinear."""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

from minigrad.core.conditions import Ndim, expect_multiple, expect_shapes
from minigrad.core.dtype import bool_, promote
from minigrad.core.roles import Flag, Probability
from minigrad.core.shape import broadcast_shapes
from minigrad.declare.decorators import composed
from minigrad.errors import ArgumentError, ShapeError, unsteady
from minigrad.ops.creation import ones
from minigrad.ops.generators import shares
from minigrad.ops.linalg.einsum import einsum
from minigrad.ops.nn.attention_blocks import attention, masked_softmax
from minigrad.ops.nn.dropout import dropped
from minigrad.ops.nn.softmax import softmax
from minigrad.ops.pointwise.compare import where
from minigrad.ops.reduction.sums import wide
from minigrad.ops.shape.diagonals import tril
from minigrad.ops.shape.views import expand, reshape
from minigrad.runtime.operands import are_plain
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.tracers import stack

NAME = "scaled_dot_product_attention"


@composed()
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: Probability = 0.0,
    is_causal: Flag = False, scale: float | None = None, enable_gqa: Flag = False,
) -> Tensor:  # fmt: skip
    """Return softmax(query @ key.mT * scale + attn_mask) @ value.

    float16 and bfloat16 are computed in float32; on a processor with AMX, the weights of bfloat16 are rounded to
    bfloat16, as in PyTorch.  If all keys of a query are masked, its row of the result is 0.

    Shapes: the query is (..., L, E), the key is (..., S, E), the value is (..., S, V), and the result is (..., L, V).
    attn_mask: a bool mask that is True for keys that take part, or a float mask that is added to the scores.
    dropout_p: the probability that an element of the softmax is set to 0; the other elements are divided by
    1 - dropout_p. There is no argument `training`, so pass 0 during evaluation.
    is_causal: whether query i attends only to keys 0 to i.
    scale: the factor of the scores; 1/sqrt(E) if None.
    enable_gqa: whether several query heads share one head of keys and values.
    Gradient: let p be the softmax, h = g @ value.mT, and s = p * (h - (p * h).sum(-1, keepdim=True)), the gradient of
    the scores. It is p.mT @ g for value, scale * s @ key for query, scale * s.mT @ query for key, and s for a float
    attn_mask, summed over dims that were broadcast.
    Raises ShapeError for operands of other shapes, ArgumentError if both attn_mask and is_causal=True are passed.
    """
    Ndim(least=2).expect(NAME, query=query, key=key, value=value)
    if is_causal and attn_mask is not None:
        raise ArgumentError(
            f"{NAME}: attn_mask and is_causal=True exclude each other, got both; omit is_causal, or combine a causal "
            "mask with attn_mask"
        )
    if enable_gqa:
        key, value = repeated_heads(query, key), repeated_heads(query, value)
    size = 1.0 / math.sqrt(query.shape[-1] or 1) if scale is None else scale
    expect_shapes(
        NAME, "transpose or reshape the operands", "..., L, E; ..., S, E; ..., S, V", query=query, key=key, value=value
    )
    if dropout_p:
        unsteady.check()  # the calls depend on whether transforms run, so they are not repeated
    traced = not are_plain(query, key, value, attn_mask) or (dropout_p and stack.transforms)
    if traced or (attn_mask is not None and attn_mask.requires_grad):
        return composition(query, key, value, attn_mask, dropout_p, is_causal, size)
    return in_blocks(query, key, value, attn_mask, dropout_p, is_causal, size)


def composition(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float, causal: bool, scale: float
) -> Tensor:
    """Return the attention as a composition of ops, for tensors inside a transform and masks with a gradient."""
    scores = wide(query) * scale @ wide(key).mT
    mask = tril(ones(scores.shape[-2:], dtype=bool_, device=scores.device)) if causal else mask
    try:
        weights = softmax(scores, -1) if mask is None or not scores.shape[-1] else masked_softmax(scores, mask)
    except ShapeError:
        raise wrong_mask(mask, scores.shape) from None
    return (dropped(NAME, weights, weights.shape, dropout_p, True, False) @ wide(value)).to(query.dtype)


def in_blocks(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float, causal: bool, scale: float
) -> Tensor:
    """Return the attention from blocks of scores, without a matrix of all scores."""
    lead = broadcast_shapes(NAME, query.shape[:-2], key.shape[:-2], value.shape[:-2])
    dtype = reduce(promote, [x.dtype for x in (query, key, value)])
    parts = [flat_heads(x.to(dtype), lead) for x in (query, key, value)]
    n, m = query.shape[-2], key.shape[-2]
    if mask is not None:
        numbers = where(mask, 0.0, -math.inf) if mask.dtype is bool_ else mask
        try:
            mask = expand(numbers.to(dtype.accumulate), shape=(*(lead or (1,)), n, m))
        except ShapeError:
            raise wrong_mask(mask, (*lead, n, m)) from None
    drawn: Any = (None, None)
    if dropout_p:
        drawn = shares(math.prod(lead) * n * (m // 2 + 1), dtype.accumulate, query.device)
    y = attention(*parts, mask, *drawn, scale=float(scale), causal=causal, dropout=float(dropout_p))
    return reshape(y, (*lead, n, value.shape[-1])).to(query.dtype)


def wrong_mask(mask: Tensor, shape: tuple[int, ...]) -> ShapeError:
    """Return the error for a mask that does not expand to the shape of the scores."""
    return ShapeError(
        f"{NAME}: attn_mask must have the shape {shape} of the scores, (..., L, S), or one that expands to it, got "
        f"{describe(mask)}; reshape the mask"
    )


def flat_heads(x: Tensor, lead: tuple[int, ...]) -> Tensor:
    """Return matrices with all leading dims, expanded to `lead`, merged into one."""
    sizes = x.shape[-2:]
    return reshape(x if x.shape[:-2] == lead else expand(x, shape=(*lead, *sizes)), (math.prod(lead), *sizes))


def repeated_heads(query: Tensor, x: Tensor) -> Tensor:
    """Return x with each head, in the third last dim, repeated for all heads of queries that share it."""
    heads, mine = query.shape[-3] if query.ndim > 2 else 0, x.shape[-3] if x.ndim > 2 else 0
    expect_multiple(
        NAME, "the number of heads", heads, query, "repeat or remove heads", **{f"the heads of {x.shape}": mine}
    )
    lead, sizes = x.shape[:-3], x.shape[-2:]
    return reshape(expand(x.unsqueeze(-3), shape=(*lead, mine, heads // mine, *sizes)), (*lead, heads, *sizes))


@composed()
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return bias[o] plus the sum of input1[i] * weight[o, i, j] * input2[j] over i and j, for each output o.

    Shapes: input1 is (..., in1), input2 is (..., in2), weight is (out, in1, in2), bias is (out,), and the result is
    (..., out).
    Raises ShapeError for operands of other shapes.
    """
    expect_shapes(
        "bilinear", "reshape the inputs", "*, in1; *, in2; out, in1, in2; out", input1=input1, input2=input2,
        weight=weight, bias=bias,
    )  # fmt: skip
    y = einsum("...i,oij,...j->...o", input1, weight, input2)
    return y if bias is None else y + bias
