"""Generators of random numbers, the blocks of numbers that replace them, and draws of any kind with Philox.

A draw advances the counter of a generator by one block for each two elements, so the next draw continues where this
draw ended.  `random.py` has the public functions.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from math import prod
from struct import Struct
from typing import Any

import numpy as np

from minigrad.backends.host import HostMemory
from minigrad.backends.registry import backend_of
from minigrad.config import listeners
from minigrad.core.device import Device, as_device, default_device
from minigrad.core.dtype import DType, float64, int64, uint8
from minigrad.core.layout import Layout
from minigrad.core.requests import Permutation, Random
from minigrad.core.roles import Shape, Size
from minigrad.core.storage import Storage
from minigrad.declare.decorators import kernel
from minigrad.declare.factories import later
from minigrad.errors import ArgumentError, unsteady
from minigrad.kernels import philox
from minigrad.ops.creation import from_numpy
from minigrad.ops.indexing.sorting import argsort
from minigrad.runtime.plans import plan_of
from minigrad.runtime.tensor import PLAIN, Tensor, describe
from minigrad.runtime.tracers import stack

# ---- generators and blocks -------------------------------------------------------------------------------------------


BYTES = 16  # bytes of a generator's state
PAIR = Struct("=QQ")


class Generator:
    """A stream of random numbers: `seed` selects the stream, `offset` is the number of 16-byte Philox blocks drawn."""

    def __init__(self, seed: int | str | Device | None = None, *, device: Any = None) -> None:
        """Make a generator; PyTorch passes a device where the seed is, and numbers here do not depend on it."""
        if isinstance(seed, (str, Device)):
            seed, device = None, seed
        self.device = as_device("cpu" if device is None else device)
        if device is not None:
            backend_of(self.device)  # raises an error for a device that does not exist
        self.offset = 0
        self.seed = checked_seed(int.from_bytes(os.urandom(8), "little") >> 1 if seed is None else seed)  # fits int64

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

    def set_state(self, new_state: Tensor) -> Generator:
        """Set the state that `get_state` returned, and return the generator.  Raises ArgumentError for others."""
        if not isinstance(new_state, Tensor) or new_state.dtype is not uint8 or new_state.shape != (BYTES,):
            raise ArgumentError(
                f"set_state: new_state must be a state of minigrad's get_state(), uint8({BYTES},), got "
                f"{describe(new_state)}; call get_state() of a mg.Generator"
            )
        stream, words = self.in_use(), np.array(new_state.tolist(), np.uint8).view("<u8")
        stream.seed, stream.offset = int(words[0]), int(words[1])
        return self

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


def expect_generator(name: str, generator: Any) -> None:
    """Raise ArgumentError unless `generator` is a Generator or None."""
    if generator is not None and not isinstance(generator, Generator):
        raise ArgumentError(
            f"{name}: generator must be a mg.Generator, got {describe(generator)}; pass generator=mg.Generator()"
        )


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


# ---- draws -----------------------------------------------------------------------------------------------------------


NAMES = {"uniform": "rand", "normal": "randn", "integer": "randint"}  # kind of numbers -> the name in error messages
STATE, LIMITS = Layout.contiguous((2,)), Layout.contiguous((3,))


@kernel(
    dtype=lambda op, specs, *, kind, shape, dtype: dtype,
    shape=lambda op, state, limits, *, kind, shape, dtype: shape,
    namespace=(),
)
def draw(backend, out, state, limits, *, kind, shape: Shape, dtype):
    """Return random numbers of the stream and the position in `state`: see `Random` in core/requests.py."""
    return backend.prepare(Random(kind), out, state, limits)


@lru_cache(maxsize=256)
def limits(kind: str, dtype: DType, device: Device, low: str, high: str) -> Tensor:
    """Return the limits of random numbers as a constant tensor; common limits are cached.

    low, high: the limits as text, because 0.0 and -0.0 would be equal as keys of the cache.
    """
    wanted = philox.limit_dtype(kind, dtype)
    values = philox.limits(kind, dtype, *(int(v) if kind == "integer" else float(v) for v in (low, high)))
    return Tensor(backend_of(device).constant(values, wanted, device), LIMITS)


listeners.append(limits.cache_clear)


def state_of(source: Generator, blocks: int, device: Device) -> Tensor:
    """Return the key and the counter of a generator as a tensor, and reserve `blocks` counter blocks."""
    unsteady.check()
    return Tensor(source.state(blocks, device), STATE)


def shares(blocks: int, dtype: DType, device: Device) -> tuple[Tensor, Tensor]:
    """Return the operands of `Random` for uniform numbers in [0, 1), and reserve blocks of the default generator."""
    return state_of(default_generator.in_use(), blocks, device), limits("uniform", dtype, device, "0.0", "1.0")


def blocks_of(shape: tuple[int, ...]) -> int:
    """Return how many counter blocks a draw reserves: one for each two elements."""
    return (prod(shape) + 1) // 2


class Draw:
    """The recipe of the next numbers of a generator.

    low, high: the limits, or the mean and the standard deviation.
    call: the op that draws them, its operands after the state of the generator, and its parameters.
    """

    def __init__(
        self, kind: str, shape: tuple[int, ...], dtype: DType, device: Any, low: float, high: float,
        generator: Generator | None,
    ) -> None:  # fmt: skip
        self.generator = default_generator if generator is None else generator
        self.kind, self.shape, self.dtype = kind, shape, dtype
        self.device = default_device() if device is None else as_device(device)
        number = int if kind == "integer" else float
        self.limits = limits(kind, dtype, self.device, repr(number(low)), repr(number(high)))
        self.call: Any = draw.op, (self.limits,), {"kind": kind, "shape": shape, "dtype": dtype}  # type: ignore[attr-defined]

    def make(self) -> Tensor:
        """Draw the numbers; transforms determine their shape, and wrap them."""
        placeholder = stack.transforms[-1].collected(self) if stack.transforms else None
        if placeholder is not None:
            return placeholder
        shape = self.shape
        for transform in reversed(stack.transforms):
            shape = transform.drawn_shape(NAMES[self.kind], shape)
        drawn = draw(self.state(shape), self.limits, kind=self.kind, shape=shape, dtype=self.dtype)
        for transform in stack.transforms:
            drawn = transform.drawn(drawn)
        return drawn

    def later(self) -> Tensor:
        """Return the recipe of a public function: the draw with a plan, unless only one call can use it."""
        once = Tensor not in PLAIN or self.generator is not default_generator
        return later(self.make if once else self.planned())

    def state(self, shape: tuple[int, ...]) -> Tensor:
        """Reserve the counter blocks of a shape."""
        return state_of(self.generator.in_use(), blocks_of(shape), self.device)

    def planned(self) -> Callable[[], Tensor]:
        """Return a function that draws numbers with a plan; among transforms, it draws them by the general path."""
        op, constants, parameters = self.call
        device, generator, blocks = self.device, self.generator, blocks_of(self.shape)
        state = Tensor(backend_of(device).allocate(2, int64, device), STATE)
        plan, buffers = plan_of(op, (state, *constants), parameters), [x.storage.buffer for x in constants]

        def next_numbers() -> Tensor:
            if stack.transforms:
                return self.make()
            unsteady.check()
            source, storage = generator.in_use().state(blocks, device), plan.make()
            plan.run(source.buffer, *buffers, storage.buffer)
            return Tensor(storage, plan.layout)

        return next_numbers


@kernel(dtype=lambda op, specs, *, n: int64, shape=lambda op, state, *, n: (n,), namespace=())
def permuted(backend, out, state, *, n: Size):
    """Return a random permutation of n positions: see `Permutation` in core/requests.py."""
    return backend.prepare(Permutation(), out, state)


class Shuffle(Draw):
    """The recipe of a random permutation: the positions that sort the next n uniform numbers."""

    def __init__(self, n: int, device: Any, generator: Generator | None) -> None:
        super().__init__("uniform", (n,), float64, device, 0.0, 1.0, generator)
        self.call = permuted.op, (), {"n": n}  # type: ignore[attr-defined]

    def make(self) -> Tensor:
        """Draw the permutation; among transforms, each example may have its own numbers."""
        unsteady.check()  # the calls depend on whether transforms run, so they are not repeated
        result: Tensor = (
            argsort(super().make()) if stack.transforms else permuted(self.state(self.shape), n=self.shape[0])
        )
        return result
