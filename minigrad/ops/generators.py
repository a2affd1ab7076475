"""Generators of random numbers, which consist of a key and a counter, and blocks that replace them.

A draw advances the counter by one block for each two elements, so the next draw continues where this draw ended.
`draws.py` draws the numbers, and `random.py` has the public functions.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from struct import Struct
from typing import Any

import numpy as np

from minigrad.backends.host import HostMemory
from minigrad.backends.registry import backend_of
from minigrad.config import listeners
from minigrad.core.device import Device
from minigrad.core.dtype import int64, uint8
from minigrad.core.storage import Storage
from minigrad.errors import ArgumentError
from minigrad.ops.creation import from_numpy
from minigrad.runtime.tensor import Tensor, describe

BYTES = 16  # bytes of a generator's state
PAIR = Struct("=QQ")


class Generator:
    """A stream of random numbers: `seed` selects the stream, `offset` is the number of 16-byte Philox blocks drawn."""

    def __init__(self, seed: int | None = None) -> None:
        self.offset = 0
        self.seed = checked_seed(int.from_bytes(os.urandom(8), "little") if seed is None else seed)

    def manual_seed(self, seed: int) -> Generator:
        """Restart the generator at the beginning of the stream of `seed`, which is taken modulo 2**64."""
        stream = self.in_use()
        stream.seed, stream.offset = checked_seed(seed), 0
        return self

    def in_use(self) -> Generator:
        """Return the generator from which this thread draws: itself, or its replacement while a run is repeated."""
        stream = self
        for block in _of_thread.blocks:
            stream = block.stream(self, stream)
        return stream

    def initial_seed(self) -> int:
        """Return the seed of the generator, modulo 2**64."""
        return self.in_use().seed

    def get_state(self) -> Tensor:
        """Return the seed and the offset as 16 elements of uint8 on the CPU, for `set_state`."""
        stream = self.in_use()
        return from_numpy(np.array([stream.seed, stream.offset % 2**64], "<u8").view(np.uint8))

    def set_state(self, new_state: Tensor) -> None:
        """Set the state that `get_state` returned.  Raises ArgumentError for any other argument."""
        if not isinstance(new_state, Tensor) or new_state.dtype is not uint8 or new_state.shape != (BYTES,):
            raise ArgumentError(
                f"set_state: new_state must be a state of minigrad's get_state(), uint8({BYTES},), got "
                f"{describe(new_state)}; call get_state() of a mg.Generator"
            )
        stream, words = self.in_use(), np.array(new_state.tolist(), np.uint8).view("<u8")
        stream.seed, stream.offset = int(words[0]), int(words[1])

    def clone_state(self) -> Generator:
        """Return a new generator with the same state, which will draw the same numbers."""
        return self.in_use().at(self.in_use().seed, self.in_use().offset)

    def at(self, seed: int, offset: int) -> Generator:
        """Return a new generator with this seed and offset."""
        twin = Generator(seed)
        twin.offset = offset
        return twin

    def take(self, blocks: int) -> int:
        """Reserve counter blocks, and return the index of the first."""
        first = self.offset
        self.offset += blocks
        return first

    def state(self, blocks: int, device: Device) -> Storage:
        """Reserve counter blocks, and return the key and the first block as memory of a device."""
        make, first = memory_of(device), self.take(blocks) % 2**64
        if make is None:
            words = np.frombuffer(PAIR.pack(self.seed, first), np.int64)
            return backend_of(device).from_host(words, int64, device)
        storage = make()
        PAIR.pack_into(storage.buffer, 0, self.seed, first)  # a copy of an array takes twice as long
        return storage


@cache
def memory_of(device: Device) -> Callable[[], Storage] | None:
    """Return a function that makes the memory of a state, for a device whose memory the host can write; or None."""
    backend = backend_of(device)
    return backend.maker(2, int64, device) if isinstance(backend, HostMemory) else None


listeners.append(memory_of.cache_clear)


def checked_seed(seed: Any) -> int:
    """Return a seed modulo 2**64.  Raises ArgumentError for a seed that is not an int."""
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise ArgumentError(f"manual_seed: seed must be an int, got {seed!r}; call mg.manual_seed(0), for example")
    return seed % 2**64


class Streams:
    """The generators from which a run draws, with their states before the run, so that the run can be repeated."""

    def __init__(self) -> None:
        self.states: dict[int, tuple[Generator, int, int]] = {}

    def stream(self, generator: Generator, source: Generator) -> Generator:
        """Return `source`, the generator from which to draw; store the state of `source` at the first use."""
        if id(generator) not in self.states:
            self.states[id(generator)] = generator, source.seed, source.offset
        return source

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Open a block in which the states of the generators that this thread uses are stored."""
        with drawn_from(self):
            yield

    @contextmanager
    def repeated(self) -> Iterator[None]:
        """Open a block in which this thread draws the same numbers again, and no generator advances."""
        with drawn_from(StandIns(self)):
            yield


class StandIns:
    """Replacements for the generators of a run, which begin with the stored states.

    If a generator has no stored state, its replacement begins with the current state of the generator.
    """

    def __init__(self, streams: Streams) -> None:
        self.streams = streams
        self.twins: dict[int, Generator] = {}

    def stream(self, generator: Generator, source: Generator) -> Generator:
        """Return the replacement of a generator, which is made at its first use."""
        twin = self.twins.get(id(generator))
        if twin is None:
            self.streams.stream(generator, source)
            _, seed, offset = self.streams.states[id(generator)]
            twin = self.twins[id(generator)] = source.at(seed, offset)
        return twin


class _OfThread(threading.local):
    blocks: tuple[Any, ...] = ()  # the open blocks of `drawn_from`, the innermost last


@contextmanager
def drawn_from(block: Any) -> Iterator[None]:
    """Open a block in which this thread draws from the generators that `block.stream` returns."""
    before = _of_thread.blocks
    _of_thread.blocks = (*before, block)
    try:
        yield
    finally:
        _of_thread.blocks = before


_of_thread = _OfThread()
default_generator = Generator()
