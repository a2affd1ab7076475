"""PyTorch's names for the state of the default generator: `mg.random.get_rng_state()`, `mg.random.fork_rng()`.

One generator serves all devices.  Its state is a seed and a position: 16 bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from minigrad.declare.advice import present
from minigrad.ops.generators import Generator, default_generator
from minigrad.ops.random import manual_seed
from minigrad.runtime.tensor import Tensor


def get_rng_state() -> Tensor:
    """Return the state of the default generator.

    Returns: New uint8 tensor with 16 elements on the CPU, which `set_rng_state` accepts.

    >>> state = mg.get_rng_state()
    >>> x = mg.rand(2)
    >>> mg.set_rng_state(state)
    >>> bool((mg.rand(2) == x).all())
    True
    """
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Set the state of the default generator.

    new_state: State that `get_rng_state` returned.

    Raises ArgumentError if the tensor is not a state of minigrad, for example if it is a state of PyTorch.
    """
    default_generator.set_state(new_state)


def initial_seed() -> int:
    """Return the seed of the default generator."""
    return default_generator.initial_seed()


def seed() -> int:
    """Seed the default generator with 63 random bits of the operating system, and return the seed."""
    return manual_seed(Generator().seed).seed


@contextmanager
def fork_rng(devices: Iterable[Any] | None = None, enabled: bool = True, device_type: str = "cuda") -> Iterator[None]:
    """Open a block at whose end the default generator gets the state back that it had at the start.

    devices and device_type: Have no effect, because one generator serves all devices.
    enabled: Whether the state is restored.

    Returns (context manager): Context manager of the block.

    >>> _ = mg.manual_seed(0)
    >>> with mg.random.fork_rng():
    ...     x = mg.rand(2)
    >>> bool((mg.rand(2) == x).all())
    True
    """
    state = get_rng_state()
    try:
        yield
    finally:
        if enabled:
            set_rng_state(state)


NAMES = (Generator, fork_rng, get_rng_state, initial_seed, manual_seed, seed, set_rng_state)
present(globals(), {each.__name__: each for each in NAMES} | {"default_generator": default_generator})
