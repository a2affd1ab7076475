"""One number per dim: helpers of `torch.nn.modules.utils`, which users' layers import."""

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
