"""The arguments of the methods of a `mg.Function`, and helpers that split the arguments of its call.

`function.py` contains the class that a user subclasses, and `calling.py` makes an op of each call.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from minigrad.autodiff.watching import fits
from minigrad.errors import DeviceError, DTypeError, GradientError, MinigradError, ShapeError
from minigrad.ops.shape.views import expand, permute
from minigrad.runtime.data import host_array
from minigrad.runtime.iterables import tensors_in
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.tracers import Tracer


class Context:
    """Store the values that the `forward` of a Function saves for its `backward`.

    `save_for_backward` saves tensors, and any other value can be stored as an attribute.

    Parameters
    ----------
    needs : tuple of bool
        For each argument, whether it requires a gradient. It becomes `needs_input_grad`; in backward, this attribute
        states whether the current pass computes the gradient of the argument.
    """

    def __init__(self, needs: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs
        self._kept: tuple[Tensor | None, ...] = ()
        self._forward: tuple[Tensor | None, ...] | None = None
        self._dirty: tuple[Tensor, ...] = ()
        self._writes = False  # whether forward may write its arguments without saying so
        self._constant: tuple[Tensor, ...] = ()
        self._zeros = True

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Save tensors for backward, which reads them in `saved_tensors`.

        An in-place change before backward is detected.
        """
        check_saved("save_for_backward", tensors)
        self._kept = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Save tensors for jvp, which reads them in `saved_tensors`; by default, those of `save_for_backward`."""
        check_saved("save_for_forward", tensors)
        self._forward = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors that `save_for_backward` received."""
        return self._kept

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The older name of `saved_tensors`."""
        warnings.warn("saved_variables: this name is deprecated; use saved_tensors", DeprecationWarning, stacklevel=2)
        return self._kept

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Mark the arguments that forward has written into; forward must return them."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Mark the outputs that carry no gradient."""
        self._constant = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Choose whether backward receives zeros for an unused output, which is the default, or None."""
        self._zeros = bool(value)


def check_saved(name: str, tensors: tuple[Any, ...]) -> None:
    """Raise GradientError unless all values are tensors or None."""
    for x in tensors:
        if x is not None and not isinstance(x, Tensor):
            raise GradientError(
                f"{name}: expected tensors or None, got {describe(x)}; store another value as an attribute, for "
                "example ctx.value"
            )


class VmapInfo(NamedTuple):
    """Information about the batch, which `Function.vmap` receives."""

    batch_size: int
    randomness: str


class Hole(NamedTuple):
    """The position of a tensor among arguments or results: its name, and its index among the tensors."""

    name: str
    k: int


class Placeholder(NamedTuple):
    """Shape, dtype and device that a gradient of an operand must fit."""

    shape: tuple[int, ...]
    dtype: Any
    device: Any


def together(*results: Any) -> tuple[Any, ...]:
    """Return several results as a tuple."""
    return results


def has(cls: Any, method: str) -> bool:
    """Return whether a class or one of its bases overrides a method of `mg.Function`."""
    for base in cls.__mro__:
        if method in vars(base):
            return not base.__module__.startswith("minigrad.autodiff.function")
    return False


@lru_cache(maxsize=1024)
def default_arguments(forward: Any) -> tuple[Any, ...]:
    """Return the default values of the parameters of a `forward` without ctx, by position."""
    parameters = inspect.signature(forward).parameters.values()
    return tuple([each.default for each in parameters if each.kind < each.VAR_POSITIONAL])


@lru_cache(maxsize=1024)
def argument_names(cls: Any, count: int) -> tuple[str, ...]:
    """Return the names of `count` arguments of forward, without ctx."""
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


def among(x: Tensor, others: Sequence[Tensor]) -> bool:
    """Return whether x is one of the tensors `others`; `in` would compare elements."""
    return any(x is other for other in others)


def check_flat(name: str, parts: Sequence[Any]) -> None:
    """Raise GradientError for a result of forward that contains tensors in a list, tuple or dict."""
    for x in parts:
        if not isinstance(x, Tensor) and any(True for _ in tensors_in(x)):
            raise GradientError(
                f"{name}: forward must return tensors, got a {type(x).__name__} that contains tensors, which would "
                "get no gradient; return each tensor as a separate result"
            )


def code_of(x: Tensor, operands: Sequence[Tensor], results: Sequence[Tensor]) -> int | None:
    """Return k if x is operand k, -1 - k if it is result k, otherwise None."""
    for k, each in enumerate(operands):
        if x is each:
            return k
    for k, each in enumerate(results):
        if x is each:
            return -1 - k
    return None


def in_front(y: Tensor, dim: int | None, size: int) -> Tensor:
    """Return a result with its batch dim first, expanded if it has no batch dim."""
    if dim is None:
        return expand(y, shape=(size, *y.shape))
    order = list(range(y.ndim))
    order.insert(0, order.pop(dim))
    return permute(y, dims=tuple(order))


def check_gradient(whose: str, name: str, g: Any, like: Any) -> None:
    """Raise an error unless g fits the argument `like`.

    g must be a float tensor on the device of the argument that can be summed to its shape.
    """
    error: type[MinigradError]
    if not isinstance(g, Tensor):
        error = GradientError
    elif not g.dtype.is_inexact:
        error = DTypeError
    elif g.device is not like.device:
        error = DeviceError
    elif not fits(g.shape, like, None):
        error = ShapeError
    else:
        return
    where = f" on {g.device}" if error is DeviceError else ""
    raise error(
        f"{whose} must return a gradient {like.dtype}{like.shape} on {like.device} for {name!r}, got "
        f"{describe(g)}{where}"
    )


def nonzero(g: Tensor) -> bool:
    """Return whether a gradient has an element other than zero."""
    return isinstance(g, Tracer) or bool(host_array(g).any())
