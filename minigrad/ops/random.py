"""Random tensors: Philox numbers, the same for any number of threads and on every device.

A Generator is a key and a counter.  A call takes as many counter blocks as it has elements, so the next call goes on
where it ended; `manual_seed` starts the default generator again.
"""

from __future__ import annotations

import math
import os
from typing import Any

from minigrad.backends.registry import backend_of
from minigrad.core.dtype import as_dtype, default_float, int64
from minigrad.core.op import Spec
from minigrad.core.shape import as_int, as_shape
from minigrad.errors import ArgumentError, DTypeError
from minigrad.ops.creation import empty, expect_numbers, tensor
from minigrad.runtime.tensor import Tensor, describe, expect_tensors, host_array


class Generator:
    """A stream of random numbers: `seed` chooses it, `offset` counts what has been drawn."""

    def __init__(self, seed: int | None = None) -> None:
        self.seed = 0
        self.offset = 0
        self.manual_seed(int.from_bytes(os.urandom(8), "little") if seed is None else seed)

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream of `seed` (taken modulo 2**64) from its beginning."""
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise ArgumentError(f"manual_seed: the seed must be an int, got {seed!r}")
        self.seed, self.offset = seed % 2**64, 0
        return self

    def take(self, blocks: int) -> int:
        """Reserve counter blocks; returns the first."""
        first = self.offset
        self.offset += blocks
        return first


default_generator = Generator()


def manual_seed(seed: int) -> Generator:
    """Restart the default generator: the same seed gives the same numbers, for any number of threads."""
    return default_generator.manual_seed(seed)


def _draw(kind: str, x: Tensor, low: float, high: float, generator: Generator | None) -> Tensor:
    source = default_generator if generator is None else generator
    n = x.numel()
    if n:
        first = source.take((n + 1) // 2)
        backend_of(x.device).random(kind, Spec(x.layout, x.dtype))(x.storage.buffer, source.seed, first, low, high)
    return x


def _floating(name: str, dtype: Any, generator: Any) -> Any:
    if generator is not None and not isinstance(generator, Generator):
        raise ArgumentError(f"{name}: the generator must be a mg.Generator, got {describe(generator)}", op=name)
    kind = default_float() if dtype is None else as_dtype(dtype)
    if not kind.is_float:
        raise DTypeError(f"{name}: random floats need a floating dtype, got {kind}; use randint for integers")
    return kind


def rand(
    *shape: Any, generator: Generator | None = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Uniform in [0, 1)."""
    kind = _floating("rand", dtype, generator)
    x = empty(as_shape(shape, "rand"), dtype=kind, device=device, requires_grad=requires_grad)
    return _draw("uniform", x, 0.0, 1.0, generator)


def randn(
    *shape: Any, generator: Generator | None = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Normal with mean 0 and deviation 1."""
    kind = _floating("randn", dtype, generator)
    x = empty(as_shape(shape, "randn"), dtype=kind, device=device, requires_grad=requires_grad)
    return _draw("normal", x, 0.0, 1.0, generator)


def uniform(
    shape: Any, low: float, high: float, *, generator: Generator | None = None, dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Uniform in [low, high).  Raises ArgumentError for a range without numbers."""
    expect_numbers("uniform", low=low, high=high)
    if not -math.inf < low <= high < math.inf:
        raise ArgumentError(f"uniform: low <= high must hold and both be finite, got {low} and {high}", op="uniform")
    kind = _floating("uniform", dtype, generator)
    x = empty(as_shape((shape,), "uniform"), dtype=kind, device=device, requires_grad=requires_grad)
    return _draw("uniform", x, low, high, generator)


def normal(
    shape: Any, mean: float, std: float, *, generator: Generator | None = None, dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Normal with the given mean and deviation.  Raises ArgumentError for a negative deviation."""
    expect_numbers("normal", mean=mean, std=std)
    if not (math.isfinite(mean) and 0.0 <= std < math.inf):
        raise ArgumentError(f"normal: a finite mean and std >= 0 are needed, got {mean} and {std}", op="normal")
    kind = _floating("normal", dtype, generator)
    x = empty(as_shape((shape,), "normal"), dtype=kind, device=device, requires_grad=requires_grad)
    return _draw("normal", x, mean, std, generator)


def randint(
    low: int, high: int | None = None, size: Any = (), *, generator: Generator | None = None, dtype: Any = None,
    device: Any = None,
) -> Tensor:  # fmt: skip
    """Integers in [low, high), all as likely; randint(high, size=...) starts at 0.  Raises ArgumentError if empty."""
    if isinstance(high, (tuple, list)):
        high, size = None, high
    if high is None:
        low, high = 0, low
    _floating("randint", None, generator)
    low, high = as_int(low, "low", "randint"), as_int(high, "high", "randint")
    kind = int64 if dtype is None else as_dtype(dtype)
    if high <= low:
        raise ArgumentError(f"randint: no integer lies in [{low}, {high}); low < high must hold", op="randint")
    if not kind.is_int or low < kind.lowest or high - 1 > kind.highest:
        raise DTypeError(f"randint: {kind} does not hold the integers of [{low}, {high})", op="randint")
    return _draw("integer", empty(as_shape((size,), "randint"), dtype=kind, device=device), low, high, generator)


def rand_like(x: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """`rand` with the shape, dtype and device of x."""
    expect_tensors("rand_like", x)
    return rand(x.shape, dtype=dtype or x.dtype, device=device or x.device, requires_grad=requires_grad)


def randn_like(x: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """`randn` with the shape, dtype and device of x."""
    expect_tensors("randn_like", x)
    return randn(x.shape, dtype=dtype or x.dtype, device=device or x.device, requires_grad=requires_grad)


def randperm(n: int, *, generator: Generator | None = None, device: Any = None) -> Tensor:
    """A random order of 0 .. n-1 (int64), by sorting random keys."""
    (n,) = as_shape(n, "randperm")
    keys = rand(n, generator=generator, dtype="float64", device=device)
    return tensor(host_array(keys).argsort(kind="stable"), int64, keys.device)
