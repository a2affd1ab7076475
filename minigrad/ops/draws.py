"""Draws of random numbers with Philox, of any kind: the op, and the recipe by which the public functions draw.

`generators.py` has the generators, and `random.py` the public functions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from minigrad.backends.registry import backend_of
from minigrad.config import listeners
from minigrad.core.device import Device, as_device, default_device
from minigrad.core.dtype import DType, float64, int64
from minigrad.core.layout import Layout
from minigrad.core.requests import Permutation, Random
from minigrad.core.roles import Shape, Size
from minigrad.core.shape import numel
from minigrad.declare.decorators import kernel
from minigrad.declare.factories import later
from minigrad.errors import unsteady
from minigrad.kernels import philox
from minigrad.ops.generators import Generator, default_generator
from minigrad.ops.indexing.sorting import argsort
from minigrad.runtime.plans import plan_of
from minigrad.runtime.tensor import PLAIN, Tensor
from minigrad.runtime.tracers import stack

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
    return (numel(shape) + 1) // 2


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
        result: Tensor = drawn
        return result

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
