"""Multi-head attention over given projections, for `MultiheadAttention` and `multi_head_attention_forward`."""

from __future__ import annotations

import math
from typing import Any

from minigrad.core.dtype import bool_
from minigrad.errors import ArgumentError, DTypeError, ShapeError
from minigrad.ops.creation import zeros
from minigrad.ops.linalg.products import linear
from minigrad.ops.nn.attention import scaled_dot_product_attention
from minigrad.ops.nn.attention_blocks import masked_softmax
from minigrad.ops.nn.dropout import dropout as dropped
from minigrad.ops.nn.softmax import softmax
from minigrad.ops.pointwise.compare import where
from minigrad.ops.shape.joining import cat
from minigrad.ops.shape.padding import pad
from minigrad.runtime.tensor import Tensor, describe, expect_tensors


class Heads:
    """The computation of a `MultiheadAttention` layer: its attributes may be parameters or any tensors."""

    embed_dim: int
    num_heads: int
    head_dim: int
    kdim: int
    vdim: int
    dropout: float
    training: bool
    batch_first: bool
    add_zero_attn: bool
    in_proj_weight: Any
    in_proj_bias: Any
    bias_k: Any
    bias_v: Any
    out_proj: Any

    def forward(
        self, query: Any, key: Any, value: Any, key_padding_mask: Tensor | None = None, need_weights: bool = True,
        attn_mask: Tensor | None = None, average_attn_weights: bool = True, is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        """Return the result and the attention weights.

        query, key and value (Tensor): Tensors of shape (L, N, embed_dim), (S, N, kdim) and (S, N, vdim). With
        `batch_first`, N is the first dim. Inputs without a batch have no dim N.
        key_padding_mask: Shape (N, S) or (S,). True excludes a key; a floating mask is added to the scores.
        need_weights: Whether to return the weights. If False, attention does not store the matrix of weights.
        attn_mask: Shape (L, S) or (N * num_heads, L, S). True excludes a pair; a floating mask is added to the scores.
        average_attn_weights: Whether the weights are the mean over the heads, (N, L, S), instead of (N, num_heads, L,
        S).
        is_causal: Whether attn_mask is causal. If no weights are returned, attention can then use a faster path.

        Returns:
            output : Tensor
                Shape (L, N, embed_dim), with the same dims as `query`.
            weights : Tensor or None
                Shape (N, L, S), or (N, num_heads, L, S) if the weights are not averaged; None without `need_weights`.

        Raises ShapeError if the shapes of the inputs or of a mask are not those above.
        Raises DTypeError if a mask is neither bool nor float.
        Raises ArgumentError if `is_causal` is True and `attn_mask` is None.
        """
        self.check(query, key, value)
        batched = query.ndim == 3
        if not batched:
            query, key, value = (x.unsqueeze(0) for x in (query, key, value))
            key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
        elif not self.batch_first:
            query, key, value = (x.transpose(0, 1) for x in (query, key, value))
        if is_causal and attn_mask is None:
            raise ArgumentError(
                "MultiheadAttention: attn_mask is required with is_causal=True, got None; pass a causal mask as "
                "attn_mask"
            )
        q, k, v = self.projected(query, key, value)
        causal = is_causal and key_padding_mask is None and not need_weights and k.shape[1] == key.shape[1]
        if attn_mask is not None and tuple(attn_mask.shape[-2:]) != (q.shape[1], k.shape[1]):
            causal = False  # `mask` raises the error
        mask = None if causal else self.mask(attn_mask, key_padding_mask, q, k)
        q, k, v = (x.unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2) for x in (q, k, v))
        dropout = self.dropout if self.training else 0.0
        if need_weights:
            scores = q * (1 / math.sqrt(self.head_dim)) @ k.mT
            weights = softmax(scores, -1) if mask is None else masked_softmax(scores, mask)
            weights = dropped(weights, dropout) if dropout else weights
            heads = weights @ v
            weights = weights.mean(1) if average_attn_weights else weights
        else:
            heads = scaled_dot_product_attention(q, k, v, mask, dropout, causal)
        output = self.out_proj(heads.transpose(1, 2).flatten(2))
        if not batched:
            return output.squeeze(0), weights.squeeze(0) if need_weights else None
        return output if self.batch_first else output.transpose(0, 1), weights if need_weights else None

    def check(self, query: Any, key: Any, value: Any) -> None:
        """Raise DTypeError unless all are tensors, ShapeError unless shapes match."""
        sizes = (self.embed_dim, self.kdim, self.vdim)
        inputs = (query, key, value)
        expect_tensors("MultiheadAttention", *inputs)
        dims = {x.ndim for x in inputs}
        if dims not in ({2}, {3}) or tuple(x.shape[-1] for x in inputs) != sizes:
            raise ShapeError(
                f"MultiheadAttention: query, key and value must have 2 or 3 dims, with {sizes} elements in the last "
                f"dim, got {', '.join(map(describe, inputs))}; reshape the inputs"
            )
        length, batch = (0, None) if dims == {2} else (1, 0) if self.batch_first else (0, 1)
        if key.shape[length] != value.shape[length] or (
            batch is not None and len({x.shape[batch] for x in inputs}) > 1
        ):
            raise ShapeError(
                "MultiheadAttention: key and value must have the same length, and query, key and value the same batch "
                f"size, got {', '.join(map(describe, inputs))}; slice or expand the inputs"
            )

    def projected(self, query: Any, key: Any, value: Any) -> list[Any]:
        """Return projected queries, keys and values (N, length, embed_dim), with any appended key and value."""
        biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        if self.in_proj_weight is not None and query is key and key is value:
            parts = list(linear(query, self.in_proj_weight, self.in_proj_bias).chunk(3, -1))
        else:
            separate = [getattr(self, f"{name}_proj_weight") for name in "qkv"]
            weights = separate if self.in_proj_weight is None else self.in_proj_weight.chunk(3)
            parts = [linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True)]
        for at, extra in ((1, self.bias_k), (2, self.bias_v)):
            x = parts[at]
            if extra is not None:
                x = cat([x, extra.expand(len(x), 1, self.embed_dim)], 1)
            if self.add_zero_attn:
                x = cat([x, zeros(len(x), 1, self.embed_dim, dtype=x.dtype, device=x.device)], 1)
            parts[at] = x
        return parts

    def mask(self, pairs: Any, padding: Any, q: Any, k: Any) -> Any:
        """Return the mask to add to the scores (N, num_heads, L, S), or None; the mask is broadcast to their shape."""
        batch, length, count = q.shape[0], q.shape[1], k.shape[1]
        added = count - (self.bias_k is not None) - self.add_zero_attn
        masks = []
        for name, x in (("attn_mask", pairs), ("key_padding_mask", padding)):
            if x is not None and not (isinstance(x, Tensor) and (x.dtype is bool_ or x.dtype.is_float)):
                raise DTypeError(
                    f"MultiheadAttention: {name} must be a tensor of bools or floats, got {describe(x)}; convert it "
                    "with .to(mg.bool)"
                )
        if pairs is not None:
            expected = ((length, added), (batch * self.num_heads, length, added))
            if tuple(pairs.shape) not in expected:
                raise ShapeError(
                    f"MultiheadAttention: attn_mask must have the shape {expected[0]} or {expected[1]}, got "
                    f"{describe(pairs)}; reshape or expand the mask"
                )
            masks.append(pairs if pairs.ndim == 2 else pairs.unflatten(0, (batch, self.num_heads)))
        if padding is not None:
            if tuple(padding.shape) != (batch, added):
                raise ShapeError(
                    f"MultiheadAttention: key_padding_mask must have the shape {(batch, added)}, got "
                    f"{describe(padding)}; reshape or expand the mask"
                )
            masks.append(padding.unsqueeze(1).unsqueeze(1))
        numbers = [where(x, -math.inf, 0.0).to(q.dtype) if x.dtype is bool_ else x for x in masks]
        if not numbers:
            return None
        total = numbers[0] if len(numbers) == 1 else numbers[0] + numbers[1]
        return total if added == count else pad(total, (0, count - added))


def expect_heads(name: str, embed_dim: int, num_heads: int) -> None:
    """Raise ArgumentError unless num_heads divides embed_dim."""
    if embed_dim <= 0 or num_heads <= 0 or embed_dim % num_heads:
        raise ArgumentError(
            f"{name}: num_heads must divide embed_dim, got num_heads={num_heads} and embed_dim={embed_dim}; pass "
            "num_heads=1, for example"
        )


def with_parameters(
    embed_dim: int, num_heads: int, in_proj_weight: Any, separate: tuple[Any, ...], in_proj_bias: Any, bias_k: Any,
    bias_v: Any, add_zero_attn: bool, dropout: float, out_weight: Any, out_bias: Any,
) -> Heads:  # fmt: skip
    """Return heads that compute with these tensors, which may be results of other ops."""
    expect_heads("multi_head_attention_forward", embed_dim, num_heads)
    heads = Heads()
    kdim, vdim = (embed_dim if w is None else w.shape[1] for w in separate[1:])
    heads.__dict__.update(
        embed_dim=embed_dim, num_heads=num_heads, head_dim=embed_dim // num_heads, kdim=kdim, vdim=vdim,
        dropout=dropout, training=True, batch_first=False, add_zero_attn=add_zero_attn, in_proj_weight=in_proj_weight,
        in_proj_bias=in_proj_bias, bias_k=bias_k, bias_v=bias_v,
        out_proj=lambda x: linear(x, out_weight, out_bias),
        **{f"{name}_proj_weight": w for name, w in zip("qkv", separate, strict=True)},
    )  # fmt: skip
    return heads
