"""Random tensors, computed with Philox: equal seeds produce equal numbers with any number of threads, on every device.

A Generator consists of a key and a counter.  A call advances the counter by one block for each two elements, so the
next call continues where this call ended.  `manual_seed` restarts the default generator.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from struct import Struct
from typing import Any

import numpy as np
from ml_dtypes import finfo

from minigrad.backends.registry import backend_of
from minigrad.config import listeners
from minigrad.core.device import Device, as_device, default_device
from minigrad.core.dtype import DType, as_dtype, bool_, default_float, int64, uint8
from minigrad.core.formats import expect_format
from minigrad.core.layout import Layout
from minigrad.core.requests import Random
from minigrad.core.roles import Shape
from minigrad.core.shape import as_int, as_shape, broadcast_shapes, numel
from minigrad.core.storage import Storage
from minigrad.declare.decorators import kernel, public
from minigrad.errors import ArgumentError, DTypeError, unsteady
from minigrad.kernels import philox
from minigrad.ops.casting import cast
from minigrad.ops.creation import expect_fit, expect_float, expect_numbers, from_numpy, leaf
from minigrad.ops.indexing.sorting import argsort
from minigrad.runtime.tensor import Tensor, describe, expect_tensors
from minigrad.runtime.tracers import stack

NAMES = {"uniform": "rand", "normal": "randn", "integer": "randint"}  # kind of numbers -> the name in error messages
BYTES = 16  # bytes of a generator's state
PAIR = Struct("=QQ")
STATE, LIMITS = Layout.contiguous((2,)), Layout.contiguous((3,))


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
        words = np.frombuffer(PAIR.pack(self.seed, self.take(blocks) % 2**64), np.int64)
        return backend_of(device).from_host(words, int64, device)


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


@public()
def manual_seed(seed: int) -> Generator:
    """Restart the default generator: equal seeds produce equal numbers, with any number of threads."""
    return default_generator.manual_seed(seed)


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


def _drawn(
    kind: str, shape: tuple[int, ...], dtype: DType, device: Any, low: float, high: float, generator: Generator | None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return the next numbers of a generator as a tensor; low, high: the limits, or mean and standard deviation."""
    source = (default_generator if generator is None else generator).in_use()
    where = default_device() if device is None else as_device(device)
    for transform in reversed(stack.transforms):
        shape = transform.drawn_shape(NAMES[kind], shape)
    state = state_of(source, (numel(shape) + 1) // 2, where)
    number = int if kind == "integer" else float
    between = limits(kind, dtype, where, repr(number(low)), repr(number(high)))
    drawn = draw(state, between, kind=kind, shape=shape, dtype=dtype)
    for transform in stack.transforms:
        drawn = transform.drawn(drawn)
    return leaf(drawn, requires_grad)


def _floating(name: str, dtype: Any, generator: Any) -> Any:
    if generator is not None and not isinstance(generator, Generator):
        raise ArgumentError(
            f"{name}: the generator must be a mg.Generator, got {describe(generator)}; pass generator=mg.Generator()",
            op=name,
        )
    kind = default_float() if dtype is None else as_dtype(dtype)
    if not kind.is_float:
        raise DTypeError(f"{name}: dtype must be a floating dtype, got {kind}; use randint for random integers")
    return kind


def _expect_fit(name: str, kind: DType, **numbers: float) -> None:
    """Raise ArgumentError for a number outside the range of the dtype, with which samples would be infinite or nan."""
    for word, value in numbers.items():
        # The kernel computes the difference in the compute dtype.
        most = float(finfo(kind.compute if word == "high - low" else kind.numpy).max)
        if not abs(value) <= most:
            raise ArgumentError(
                f"{name}: {word} must be in the range of {kind}, got {value}; pass dtype=mg.float64, for example",
                op=name,
            )


@public(out=True)
def rand(
    *size: int | Sequence[int],
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return samples from the uniform distribution on [0, 1)."""
    kind = _floating("rand", dtype, generator)
    return _drawn("uniform", as_shape(size, "rand"), kind, device, 0.0, 1.0, generator, requires_grad)


@public(out=True)
def randn(
    *size: int | Sequence[int],
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return samples from the normal distribution with mean 0 and standard deviation 1."""
    kind = _floating("randn", dtype, generator)
    return _drawn("normal", as_shape(size, "randn"), kind, device, 0.0, 1.0, generator, requires_grad)


@public()
def uniform(
    shape: int | Sequence[int], low: float, high: float, *, generator: Generator | None = None,
    dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return samples from the uniform distribution on [low, high).

    Raises ArgumentError unless low and high are finite and low <= high, and if they exceed the range of the dtype.
    """
    expect_numbers("uniform", low=low, high=high)
    if not -math.inf < low <= high < math.inf:
        raise ArgumentError(
            f"uniform: low and high must be finite, with low <= high, got {low} and {high}; pass low=0.0, high=1.0, "
            "for example",
            op="uniform",
        )
    kind = _floating("uniform", dtype, generator)
    _expect_fit("uniform", kind, low=low, high=high, **{"high - low": high - low})
    return _drawn("uniform", as_shape((shape,), "uniform"), kind, device, low, high, generator, requires_grad)


@public(out=True)
def normal(
    mean: float | Tensor, std: float | Tensor = 1.0, size: int | Sequence[int] | None = None, *,
    generator: Generator | None = None, dtype: Any = None, device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return samples from normal distributions.

    mean: a number, or without `size` a tensor with the mean of each element.
    std: the standard deviation, a number, or without `size` a tensor with one value for each element.
    Not differentiable.  Raises ArgumentError for two numbers without `size`, for a tensor with `size`, and for a
    negative standard deviation.
    """
    tensors = [x for x in (mean, std) if isinstance(x, Tensor)]
    if tensors and size is None:
        if dtype is not None or device is not None or requires_grad:
            raise ArgumentError(
                "normal: dtype, device and requires_grad are allowed only with size, but mean or std is a tensor; "
                "convert the result with .to(...)",
                op="normal",
            )
        return _normal_of_each(mean, std, tensors, generator)
    if tensors or size is None:
        raise ArgumentError(
            "normal: mean and std must be numbers with a size, or at least one of them a tensor without a size; "
            "write mg.normal(0.0, 1.0, (2, 3)), for example",
            op="normal",
        )
    expect_numbers("normal", mean=mean, std=std)
    if not (math.isfinite(mean) and 0.0 <= std < math.inf):
        raise ArgumentError(
            f"normal: mean must be finite, and std finite and not negative, got mean={mean} and std={std}; pass "
            "mean=0.0, std=1.0, for example",
            op="normal",
        )
    kind = _floating("normal", dtype, generator)
    _expect_fit("normal", kind, mean=mean, std=std)
    return _drawn("normal", as_shape((size,), "normal"), kind, device, mean, std, generator, requires_grad)


def _normal_of_each(mean: Any, std: Any, tensors: list[Tensor], generator: Generator | None) -> Tensor:
    shape = broadcast_shapes("normal", *[x.shape for x in tensors])
    mean, std = (x.detach() if isinstance(x, Tensor) else x for x in (mean, std))
    first = tensors[0]
    if bool((std < 0).any().item() if isinstance(std, Tensor) else std < 0):
        raise ArgumentError("normal: std must not be negative, got a negative element; pass std.abs()", op="normal")
    drawn = randn(shape, dtype=first.dtype, device=first.device, generator=generator)
    return (mean + std * drawn).to(first.dtype)


@public(out=True)
def randint(
    low: int, high: int | None = None, size: int | Sequence[int] = (), *, generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return uniformly distributed integers in [low, high); `randint(high, size=...)` starts at 0.

    Raises ArgumentError for an empty range, DTypeError if the dtype cannot represent all integers of the range.
    """
    if isinstance(high, (tuple, list)):
        high, size = None, high
    if high is None:
        low, high = 0, low
    _floating("randint", None, generator)
    low, high = as_int(low, "low", "randint"), as_int(high, "high", "randint")
    kind = int64 if dtype is None else as_dtype(dtype)
    if high <= low:
        raise ArgumentError(
            f"randint: low must be less than high, got low={low} and high={high}; pass low=0, high=10, for example",
            op="randint",
        )
    expect_float("randint", kind, requires_grad)
    drawn = kind if kind.is_int else int64
    if kind is bool_ or low < drawn.lowest or high - 1 > drawn.highest:
        raise DTypeError(
            f"randint: dtype must represent all integers from {low} to {high - 1}, got {kind}; pass dtype=mg.int64, "
            "for example",
            op="randint",
        )
    result = _drawn("integer", as_shape((size,), "randint"), drawn, device, low, high, generator)
    return result if kind is drawn else leaf(cast(result, dtype=kind), requires_grad)


@public()
def randint_like(
    input: Tensor, low: int, high: int | None = None, *, generator: Generator | None = None, dtype: Any = None,
    device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return uniformly distributed integers in [low, high), with the shape, dtype and device of the input.

    `randint_like(input, high)` starts at 0.
    """
    expect_tensors("randint_like", input)
    expect_float("randint_like", dtype or input.dtype, requires_grad)
    return randint(
        low, high, input.shape, generator=generator, dtype=dtype or input.dtype,
        device=input.device if device is None else device, requires_grad=requires_grad,
    )  # fmt: skip


@public()
def rand_like(
    input: Tensor, *, generator: Generator | None = None, dtype: Any = None, device: Any = None,
    requires_grad: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """Return uniform samples in [0, 1), with the shape, dtype and device of the input."""
    expect_format("rand_like", memory_format)
    expect_tensors("rand_like", input)
    return rand(
        input.shape, generator=generator, dtype=dtype or input.dtype, device=input.device if device is None else device,
        requires_grad=requires_grad,
    )  # fmt: skip


@public()
def randn_like(
    input: Tensor, *, generator: Generator | None = None, dtype: Any = None, device: Any = None,
    requires_grad: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """Return standard normal samples, with the shape, dtype and device of the input."""
    expect_format("randn_like", memory_format)
    expect_tensors("randn_like", input)
    return randn(
        input.shape, generator=generator, dtype=dtype or input.dtype, device=input.device if device is None else device,
        requires_grad=requires_grad,
    )  # fmt: skip


@public(out=True)
def randperm(
    n: int, *, generator: Generator | None = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Return a random permutation of the integers from 0 to n - 1, in int64 by default.

    It is computed by sorting random keys.
    """
    (n,) = as_shape(n, "randperm")
    kind = int64 if dtype is None else as_dtype(dtype)
    expect_float("randperm", kind, requires_grad)
    expect_fit("randperm", max(n - 1, 0), kind)
    order = argsort(rand(n, generator=generator, dtype="float64", device=device))
    return leaf(order if kind is int64 else cast(order, dtype=kind), requires_grad)
