"""Masks of causal attention, if there are more keys than queries or fewer."""

from __future__ import annotations

from minigrad.core.dtype import bool_
from minigrad.declare.manual import document_all
from minigrad.ops.creation import ones
from minigrad.ops.shape.diagonals import tril
from minigrad.runtime.tensor import Tensor


def causal_upper_left(L: int, S: int) -> Tensor:
    """Return the mask bool(L, S) in which query i sees keys 0 to i, as with `is_causal=True`.

    L, S: Number of queries and of keys.
    """
    return tril(ones(L, S, dtype=bool_))


def causal_lower_right(L: int, S: int) -> Tensor:
    """Return the mask bool(L, S) in which the last query sees all keys, for S - L keys from a cache.

    L, S: Number of queries and of keys.
    """
    return tril(ones(L, S, dtype=bool_), S - L)


document_all(globals())
