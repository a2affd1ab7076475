"""Products of several inputs: scaled_dot_product_attention and bilinear, as their definitions say."""

from __future__ import annotations

import math

from minigrad.core.dtype import bool_
from minigrad.core.roles import Flag, Scalar
from minigrad.declare.decorators import composed
from minigrad.errors import ArgumentError, ShapeError
from minigrad.ops.creation import ones
from minigrad.ops.linalg.einsum import einsum
from minigrad.ops.nn.dropout import dropped
from minigrad.ops.nn.softmax import softmax
from minigrad.ops.pointwise.compare import where
from minigrad.ops.reduction.sums import amax, wide
from minigrad.ops.shape.triangles import tril
from minigrad.ops.shape.views import expand, reshape
from minigrad.runtime.tensor import Tensor, describe


@composed(method=False, out=False)
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: Scalar = 0.0,
    is_causal: Flag = False, scale: float | None = None, enable_gqa: Flag = False,
) -> Tensor:  # fmt: skip
    """softmax(query @ key.mT * scale + mask) @ value; scale is 1/sqrt(the length of a query) if None.

    Shapes: query (..., L, E), key (..., S, E), value (..., S, V).  attn_mask: bool, True for what takes part, or a
    number to add; is_causal: query i sees the keys up to i.  enable_gqa: several heads of queries share one of keys.
    A query that sees nothing gives zeros.  Halves are computed in float32.
    """
    name = "scaled_dot_product_attention"
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise ShapeError(f"{name}: expected 2 dims or more, got {', '.join(map(describe, (query, key, value)))}")
    if is_causal and attn_mask is not None:
        raise ArgumentError(f"{name}: attn_mask and is_causal=True cannot both be given", op=name)
    if enable_gqa:
        key, value = repeated_heads(name, query, key), repeated_heads(name, query, value)
    size = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = wide(query) * size @ wide(key).mT
    mask = tril(ones(scores.shape[-2:], dtype=bool_, device=scores.device)) if is_causal else attn_mask
    weights = softmax(scores, -1) if mask is None or not scores.shape[-1] else masked_softmax(scores, mask)
    return (dropped(name, weights, weights.shape, dropout_p, True, False) @ wide(value)).to(query.dtype)


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """The softmax of rows of scores where a mask holds, or with a number added; zeros for a row of -inf alone."""
    scores = where(mask, scores, -math.inf) if mask.dtype is bool_ else scores + mask
    blind = amax(scores.detach(), -1, keepdim=True) == -math.inf
    return where(blind, 0.0, softmax(where(blind, 0.0, scores), -1))


def repeated_heads(name: str, query: Tensor, x: Tensor) -> Tensor:
    """Heads (the third last dim) repeated, each for as many heads of queries as share it."""
    heads, mine = query.shape[-3] if query.ndim > 2 else 0, x.shape[-3] if x.ndim > 2 else 0
    if not mine or heads % mine:
        raise ShapeError(
            f"{name}: the heads of {describe(query)} must be a multiple of those of {describe(x)}", op=name
        )
    lead, sizes = x.shape[:-3], x.shape[-2:]
    return reshape(expand(x.unsqueeze(-3), shape=(*lead, mine, heads // mine, *sizes)), (*lead, heads, *sizes))


@composed(method=False, out=False)
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """The sum over i and j of input1[i] * weight[out, i, j] * input2[j], plus a bias; leading dims stay."""
    if weight.ndim != 3 or (*input1.shape[:-1], *weight.shape[1:]) != (
        *input2.shape[:-1], *input1.shape[-1:], *input2.shape[-1:]
    ):  # fmt: skip
        raise ShapeError(
            f"bilinear: {describe(input1)} and {describe(input2)} must agree but for the last dims, which the weight "
            f"{describe(weight)}, (out, in1, in2), has", op="bilinear",
        )  # fmt: skip
    y = einsum("...i,oij,...j->...o", input1, weight, input2)
    return y if bias is None else y + bias
