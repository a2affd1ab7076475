"""What the methods of a `mg.Function` are given, and how its arguments are taken apart.

`function.py` is what a user subclasses, `calling.py` makes an op of each call.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from minigrad.autodiff.watching import fits
from minigrad.errors import DeviceError, DTypeError, GradientError, MinigradError, ShapeError
from minigrad.ops.shape.views import expand, permute
from minigrad.runtime.data import host_array
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.tracers import Tracer


class Context:
    """What a forward keeps for its backward: `save_for_backward`, and any attribute.

    needs_input_grad: for each argument, whether a gradient is asked of it; in backward, in this pass.
    """

    def __init__(self, needs: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs
        self._kept: tuple[Tensor | None, ...] = ()
        self._dirty: tuple[Tensor, ...] = ()
        self._constant: tuple[Tensor, ...] = ()
        self._zeros = True

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for backward, which finds them in `saved_tensors`.  A change in place in between is noticed."""
        for x in tensors:
            if x is not None and not isinstance(x, Tensor):
                raise GradientError(
                    f"save_for_backward: expected tensors and None, got {describe(x)}; keep that as ctx.name"
                )
        self._kept = tensors

    save_for_forward = save_for_backward

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` was given."""
        return self._kept

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say which arguments forward has written into; it must return them."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say which outputs carry no gradient."""
        self._constant = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward is given zeros for an output that nothing used, which is the default, or None."""
        self._zeros = bool(value)


class VmapInfo(NamedTuple):
    """What `Function.vmap` is told of the batch."""

    batch_size: int
    randomness: str


class Hole(NamedTuple):
    """Where a tensor stands among arguments or results: its name, and the how many-th tensor it is."""

    name: str
    k: int


class Placeholder(NamedTuple):
    """What a gradient of an operand must fit."""

    shape: tuple[int, ...]
    dtype: Any
    device: Any


def together(*results: Any) -> tuple[Any, ...]:
    """Several results."""
    return results


def has(cls: Any, method: str) -> bool:
    """Whether a class defines a method of `mg.Function`, itself or by another base."""
    for base in cls.__mro__:
        if method in vars(base):
            return not base.__module__.startswith("minigrad.autodiff.function")
    return False


@lru_cache(maxsize=1024)
def argument_names(cls: Any, count: int) -> tuple[str, ...]:
    """The names of `count` arguments of forward, without ctx."""
    parameters = list(inspect.signature(cls.forward).parameters.values())
    if not has(cls, "setup_context"):
        parameters = parameters[1:]
    names: list[str] = []
    for p in parameters:
        if p.kind is p.VAR_POSITIONAL:
            names += [f"{p.name}[{i}]" for i in range(count - len(names))]
            break
        names.append(p.name)
    return (*names, *[f"argument {i}" for i in range(len(names), count)])[:count]


def position_of(function: Callable[..., Any]) -> str:
    """File and line of a function."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return "?" if code is None else f"{code.co_filename}:{code.co_firstlineno}"


def among(x: Tensor, others: Sequence[Tensor]) -> bool:
    """Whether x is one of them; `in` would compare elements."""
    return any(x is other for other in others)


def tensors_in(value: Any) -> Iterator[Tensor]:
    """The tensors in nested lists, tuples and dicts."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from tensors_in(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from tensors_in(each)


def check_flat(name: str, parts: Sequence[Any]) -> None:
    """Raise GradientError for a result of forward that holds tensors in a list, tuple or dict."""
    for x in parts:
        if not isinstance(x, Tensor) and any(True for _ in tensors_in(x)):
            raise GradientError(
                f"{name}: forward gave a {type(x).__name__} with tensors in it, which no gradient would reach; give "
                f"each as a result of its own",
                op=name,
            )


def code_of(x: Tensor, operands: Sequence[Tensor], results: Sequence[Tensor]) -> int | None:
    """The number of the operand, or of the result as a negative one, that x is."""
    for k, each in enumerate(operands):
        if x is each:
            return k
    for k, each in enumerate(results):
        if x is each:
            return -1 - k
    return None


def in_front(y: Tensor, dim: int | None, size: int) -> Tensor:
    """A result with its batch dim first, stretched where it has none."""
    if dim is None:
        return expand(y, shape=(size, *y.shape))
    order = list(range(y.ndim))
    order.insert(0, order.pop(dim))
    return permute(y, dims=tuple(order))


def check_gradient(whose: str, name: str, g: Any, like: Any) -> None:
    """Raise unless g is a float tensor on the device of the argument, `like`, that can be summed to its shape."""
    error: type[MinigradError]
    if not isinstance(g, Tensor):
        error = GradientError
    elif not g.dtype.is_float:
        error = DTypeError
    elif g.device is not like.device:
        error = DeviceError
    elif not fits(g.shape, like, None):
        error = ShapeError
    else:
        return
    where = f" on {g.device}" if error is DeviceError else ""
    raise error(
        f"{whose} gave {describe(g)}{where} for {name!r}; expected a gradient {like.dtype}{like.shape} on {like.device}"
    )


def nonzero(g: Tensor) -> bool:
    """Whether there is anything in a gradient."""
    return isinstance(g, Tracer) or bool(host_array(g).any())
