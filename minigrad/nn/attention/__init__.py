"""PyTorch's choice among implementations of attention, for scripts that make it.  It has no effect: there is one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum

from minigrad.declare.manual import document_all
from minigrad.nn.attention import bias as bias


class SDPBackend(Enum):
    """The implementations of `scaled_dot_product_attention` that PyTorch has."""

    ERROR, MATH, FLASH_ATTENTION, EFFICIENT_ATTENTION, CUDNN_ATTENTION, OVERRIDEABLE = range(-1, 5)


@contextmanager
def sdpa_kernel(backends: SDPBackend | Sequence[SDPBackend], set_priority: bool = False) -> Iterator[None]:
    """Open a block in which PyTorch uses one of several implementations of attention; here it has no effect.

    backends: The implementations.
    set_priority: Whether their order is the order in which they are tried.
    """
    yield


document_all(globals())
