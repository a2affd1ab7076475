"""Multi-head attention: project the inputs, attend in each head, and project the concatenated heads."""

from __future__ import annotations

from typing import Any

from minigrad.nn.heads import Heads, expect_heads
from minigrad.nn.init import constant_, xavier_normal_, xavier_uniform_
from minigrad.nn.modules.linear import Linear
from minigrad.nn.modules.module import Module
from minigrad.nn.parameter import Parameter
from minigrad.ops.creation import empty


class MultiheadAttention(Heads, Module):
    """Compute scaled dot-product attention in several heads at once.

    Each head projects its inputs to embed_dim / num_heads elements and computes softmax(q @ k.T / sqrt(head_dim)) @ v.
    The results of the heads are concatenated and projected again.

    embed_dim: Length of queries and of the result.
    num_heads: Number of heads; it must divide embed_dim.
    dropout: Probability that an attention weight is set to 0 in training mode.
    add_bias_kv: Whether to append one trainable key and one trainable value to the sequences.
    add_zero_attn: Whether to append one key and one value that contain zeros.
    kdim and vdim: Lengths of keys and values; embed_dim if None.

    Source: Vaswani et al., "Attention is all you need" (2017), section 3.2.2.
    """

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, add_bias_kv: bool = False,
        add_zero_attn: bool = False, kdim: int | None = None, vdim: int | None = None, batch_first: bool = False,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        Module.__init__(self)
        expect_heads("MultiheadAttention", embed_dim, num_heads)
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        self.dropout, self.batch_first, self.add_zero_attn = dropout, batch_first, add_zero_attn
        made = {"device": device, "dtype": dtype}
        same = self.kdim == self.vdim == embed_dim
        shapes = {"in_proj_weight": (3 * embed_dim, embed_dim)} if same else {
            "q_proj_weight": (embed_dim, embed_dim), "k_proj_weight": (embed_dim, self.kdim),
            "v_proj_weight": (embed_dim, self.vdim),
        }  # fmt: skip
        for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight", "in_proj_weight"):
            shape = shapes.get(name)
            self.register_parameter(name, None if shape is None else Parameter(empty(*shape, **made)))
        self.register_parameter("in_proj_bias", Parameter(empty(3 * embed_dim, **made)) if bias else None)
        self.out_proj = Linear(embed_dim, embed_dim, bias=bias, **made)
        for name in ("bias_k", "bias_v"):
            self.register_parameter(name, Parameter(empty(1, 1, embed_dim, **made)) if add_bias_kv else None)
        self.reset_parameters()

    in_proj_weight: Any
    in_proj_bias: Any
    bias_k: Any
    bias_v: Any

    def reset_parameters(self) -> None:
        """Draw initial values; biases that are added to projections are 0."""
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            weight = getattr(self, name)
            if weight is not None:
                xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            constant_(self.in_proj_bias, 0.0)
            constant_(self.out_proj.bias, 0.0)
        for extra in (self.bias_k, self.bias_v):
            if extra is not None:
                xavier_normal_(extra)
