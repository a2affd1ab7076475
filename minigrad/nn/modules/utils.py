"""Helpers of `torch.nn.modules.utils`, which users' layers and scripts import."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from minigrad.nn.modules.derived import repeated

Tuples = Callable[[Any], tuple[Any, ...]]


def _ntuple(n: int, name: str = "parse") -> Tuples:
    """Return a function that repeats a number `n` times."""
    return partial(repeated, count=n)


_single: Tuples = partial(repeated, count=1)
_pair: Tuples = partial(repeated, count=2)
_triple: Tuples = partial(repeated, count=3)
_quadruple: Tuples = partial(repeated, count=4)


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Remove a prefix, such as "module.", from the keys of a state dict, in place."""
    metadata = getattr(state_dict, "_metadata", {})
    for key in [key for key in state_dict if key.startswith(prefix)]:
        state_dict[key[len(prefix) :]] = state_dict.pop(key)
    for key in [key for key in metadata if f"{key}.".startswith(prefix)]:
        metadata[key[len(prefix) :]] = metadata.pop(key)
