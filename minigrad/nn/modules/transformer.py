"""Transformers: encoder and decoder layers, stacks of layers, and the complete model.

Source: Vaswani et al., "Attention is all you need" (2017).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from minigrad.core.dtype import bool_
from minigrad.errors import ArgumentError
from minigrad.nn import functional as F
from minigrad.nn.init import xavier_uniform_
from minigrad.nn.modules.attention import MultiheadAttention
from minigrad.nn.modules.containers import ModuleList
from minigrad.nn.modules.dropout import Dropout
from minigrad.nn.modules.linear import Linear
from minigrad.nn.modules.module import Module
from minigrad.nn.modules.normalization import LayerNorm
from minigrad.ops.creation import full
from minigrad.ops.pointwise.compare import where
from minigrad.ops.shape.diagonals import triu
from minigrad.runtime.tensor import Tensor

Activation = str | Callable[[Any], Any]


def activation_of(name: str, activation: Activation) -> Callable[[Any], Any]:
    """Return the activation function with a name, or the function itself."""
    if callable(activation):
        return activation
    if activation not in ("relu", "gelu"):
        raise ArgumentError(
            f"{name}: activation must be 'relu', 'gelu' or a function, got {activation!r}; pass activation='relu', for "
            "example"
        )
    return getattr(F, activation)


def causal(mask: Any, is_causal: bool | None) -> bool:
    """Return whether a mask is causal: `is_causal` if it is given, otherwise the values of the mask are tested."""
    if is_causal is not None:
        return is_causal
    if mask is None or mask.ndim != 2 or mask.shape[0] != mask.shape[1]:
        return False
    left_out = mask if mask.dtype is bool_ else mask == -math.inf
    upper = triu(full(tuple(mask.shape), True, device=mask.device), 1)
    inside = True if mask.dtype is bool_ else bool((where(upper, 0.0, mask) == 0).all().item())
    return inside and bool((left_out == upper).all().item())


class _Layer(Module):
    """Implement the common part of encoder and decoder layers: self-attention and two linear layers.

    d_model: Number of features of each element of the sequence.
    nhead: Number of attention heads.
    dim_feedforward: Number of features between the two linear layers.
    dropout: Probability that dropout sets an element to 0 in training mode.
    activation: Function between the linear layers: "relu", "gelu" or a function.
    layer_norm_eps: Value that each LayerNorm adds to the variance.
    batch_first: Whether tensors are (batch, length, size) instead of (length, batch, size).
    norm_first: Whether LayerNorm is applied to the input of each block, instead of the sum x + B(x).
    bias: Whether the linear layers, the projections of the attention and the LayerNorms have biases.
    """

    count = 2  # number of blocks, each with a norm and a dropout
    self_attn: Any
    dropout1: Any
    dropout2: Any

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: Activation = F.relu, layer_norm_eps: float = 1e-5, batch_first: bool = False,
        norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        made = {"device": device, "dtype": dtype}
        for name in ("self_attn", "multihead_attn")[: self.count - 1]:
            setattr(self, name, MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **made))
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **made)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **made)
        self.norm_first = norm_first
        for k in range(1, self.count + 1):
            setattr(self, f"norm{k}", LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **made))
        for k in range(1, self.count + 1):
            setattr(self, f"dropout{k}", Dropout(dropout))
        self.activation = activation_of(type(self).__name__, activation)

    def part(self, k: int, x: Any, block: Callable[[Any], Any]) -> Any:
        """Return x + block(x), normalized before the block or after the sum."""
        norm = getattr(self, f"norm{k}")
        return x + block(norm(x)) if self.norm_first else norm(x + block(x))

    def attend(self, attention: Any, x: Any, memory: Any, mask: Any, padding: Any, is_causal: bool) -> Any:
        """Return the attention of the queries x to a memory."""
        return attention(
            x, memory, memory, key_padding_mask=padding, need_weights=False, attn_mask=mask,
            is_causal=is_causal and mask is not None,
        )[0]  # fmt: skip

    # The blocks have the names that PyTorch uses, because subclasses call and override them.

    def _sa_block(self, x: Any, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False) -> Any:
        """Return the self-attention of x, with dropout."""
        return self.dropout1(self.attend(self.self_attn, x, x, attn_mask, key_padding_mask, is_causal))

    def _ff_block(self, x: Any) -> Any:
        """Return two linear layers of x with the activation between them, with dropout."""
        dropout = getattr(self, f"dropout{self.count}")
        return dropout(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerEncoderLayer(_Layer):
    """Apply self-attention and then two linear layers, each with a residual connection and a LayerNorm.

    A block B, which is the attention or the pair of linear layers, computes norm(x + B(x)) from its input x, or with
    `norm_first` x + B(norm(x)).
    """

    self_attn: Any

    def forward(
        self, src: Any, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Any:  # fmt: skip
        def own(x: Any) -> Any:
            return self._sa_block(x, src_mask, src_key_padding_mask, is_causal=is_causal)

        return self.part(2, self.part(1, src, own), self._ff_block)


class TransformerDecoderLayer(_Layer):
    """Apply self-attention, attention to the output of an encoder, and two linear layers.

    Each of these three blocks has a residual connection and a LayerNorm, as in `TransformerEncoderLayer`.
    """

    count = 3
    self_attn: Any
    multihead_attn: Any

    def forward(
        self, tgt: Any, memory: Any, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False, memory_is_causal: bool = False,
    ) -> Any:  # fmt: skip
        def own(x: Any) -> Any:
            return self._sa_block(x, tgt_mask, tgt_key_padding_mask, tgt_is_causal)

        def other(x: Any) -> Any:
            return self._mha_block(x, memory, memory_mask, memory_key_padding_mask, memory_is_causal)

        return self.part(3, self.part(2, self.part(1, tgt, own), other), self._ff_block)

    def _mha_block(self, x: Any, mem: Any, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False) -> Any:
        """Return the attention of x to a memory, with dropout."""
        return self.dropout2(self.attend(self.multihead_attn, x, mem, attn_mask, key_padding_mask, is_causal))


class _Stack(Module):
    """Call copies of a layer one after another, and then an optional norm.

    layer: The layer to copy.
    num_layers: Number of copies.
    norm: Module that is applied to the result.
    """

    def __init__(self, layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = ModuleList([deepcopy(layer) for _ in range(num_layers)])
        self.num_layers = num_layers
        self.norm: Any = norm


class TransformerEncoder(_Stack):
    """Call copies of an encoder layer one after another.

    encoder_layer (TransformerEncoderLayer): The layer to copy. All copies begin with the values of its parameters.
    enable_nested_tensor and mask_check: Have no effect: in PyTorch, they select another implementation.
    """

    def __init__(
        self, encoder_layer: Module, num_layers: int, norm: Module | None = None, enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(encoder_layer, num_layers, norm)

    def forward(
        self, src: Any, mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Any:  # fmt: skip
        is_causal = causal(mask, is_causal)
        for layer in self.layers:
            src = layer(src, src_mask=mask, src_key_padding_mask=src_key_padding_mask, is_causal=is_causal)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(_Stack):
    """Call copies of a decoder layer one after another.

    decoder_layer (TransformerDecoderLayer): The layer to copy. All copies begin with the values of its parameters.
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def forward(
        self, tgt: Any, memory: Any, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None, memory_is_causal: bool = False,
    ) -> Any:  # fmt: skip
        tgt_is_causal = causal(tgt_mask, tgt_is_causal)
        for layer in self.layers:
            tgt = layer(
                tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
                memory_is_causal=memory_is_causal,
            )  # fmt: skip
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """Encode a source sequence, and decode a target sequence that attends to the encoded source.

    d_model: Number of features of each element of the sequences.
    num_encoder_layers and num_decoder_layers: Number of layers of the encoder and of the decoder.
    dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device and dtype: The same as
    for `TransformerEncoderLayer`.
    custom_encoder and custom_decoder: Modules that replace the encoder and the decoder.
    """

    def __init__(
        self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6,
        dim_feedforward: int = 2048, dropout: float = 0.1, activation: Activation = F.relu,
        custom_encoder: Any = None, custom_decoder: Any = None, layer_norm_eps: float = 1e-5,
        batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        made = {"device": device, "dtype": dtype}
        layer = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        norms = [LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **made) for _ in range(2)]
        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*layer, **made), num_encoder_layers, norms[0]
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*layer, **made), num_decoder_layers, norms[1]
        )
        for p in self.parameters():
            if p.ndim > 1:
                xavier_uniform_(p)
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(
        self, src: Any, tgt: Any, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None, tgt_is_causal: bool | None = None, memory_is_causal: bool = False,
    ) -> Any:  # fmt: skip
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )  # fmt: skip

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """Return the causal mask (sz, sz): -inf above the diagonal, and 0 elsewhere."""
        return triu(full((sz, sz), -math.inf, dtype=dtype, device=device), 1)
