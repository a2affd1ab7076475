"""Masks of causal attention, if there are more keys than queries or fewer."""

from __future__ import annotations

from minigrad.core.dtype import bool_
from minigrad.declare.manual import document_all
from minigrad.ops.creation import ones
from minigrad.ops.shape.diagonals import tril
from minigrad.runtime.tensor import Tensor


def causal_upper_left(L: int, S: int) -> Tensor:
    """Return the mask in which query i sees keys 0 to i, as with `is_causal=True`.

    L: Number of queries.
    S: Number of keys.

    Returns: A new tensor bool(L, S) on the default device, for `attn_mask` of `scaled_dot_product_attention`.
    """
    return tril(ones(L, S, dtype=bool_))


def causal_lower_right(L: int, S: int) -> Tensor:
    """Return the mask in which the last query sees all keys, as needed if the first S - L keys are from a cache.

    L: Number of queries.
    S: Number of keys.

    Returns: A new tensor bool(L, S) on the default device, for `attn_mask` of `scaled_dot_product_attention`.

    >>> mg.nn.attention.bias.causal_lower_right(2, 3).tolist()
    [[True, True, False], [True, True, True]]
    """
    return tril(ones(L, S, dtype=bool_), S - L)


document_all(globals())
