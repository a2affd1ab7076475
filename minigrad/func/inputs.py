"""The inputs of a transform: the checked arguments of a function, and their descriptions in messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minigrad.errors import ArgumentError, DeviceError, DTypeError, GradientError, RecordingError, ShapeError
from minigrad.func.trees import Tree, flatten, leaves_as, unflatten
from minigrad.ops.creation import zeros
from minigrad.runtime.recording import definition_of
from minigrad.runtime.tensor import Tensor, describe

Function = Callable[..., Any]
Argnums = int | Sequence[int]
OF_ALL = ("vjp", "jvp", "hvp", "linearize")  # the transforms without argnums, which differentiate all primals


class Inputs:
    """The arguments with respect to which a transform differentiates.

    `floats` are the tensors among the leaves.  All other leaves (None, numbers, other objects) are passed on unchanged.
    """

    __slots__ = ("args", "floats", "leaves", "positions", "spots", "tree")

    def __init__(self, name: str, args: tuple[Any, ...], argnums: Argnums) -> None:
        self.args = args
        self.positions = argnums if isinstance(argnums, int) else argument_positions(name, argnums, args)
        if isinstance(self.positions, int):
            chosen = args[position(name, self.positions, args)]
        else:
            chosen = tuple([args[k] for k in self.positions])
        self.leaves, self.tree = flatten(chosen)
        self.spots = [k for k, x in enumerate(self.leaves) if isinstance(x, Tensor)]
        self.floats: list[Tensor] = [self.leaves[k] for k in self.spots]
        if not self.floats:
            raise GradientError(
                f"{name}: expected at least one tensor in the differentiated arguments, got {shown(chosen)}; wrap "
                f"numbers, for example mg.tensor(3.0)"
            )
        for x in self.floats:
            if not x.dtype.is_inexact:
                left_out = "leave it out of the primals, lambda x: f(x, n)"
                other = left_out if name in OF_ALL else "remove its index from argnums"
                raise DTypeError(
                    f"{name}: only tensors with a floating dtype have a derivative, got {describe(x)}; convert it "
                    f"with .to(mg.float32), or {other}"
                )

    def nested(self, values: Sequence[Any], other: Any = None) -> Any:
        """Return values for the floats, nested like the arguments; all other leaves become `other`."""
        if self.tree.kind is None:
            return values[0]
        leaves = [other] * len(self.leaves)
        for k, value in zip(self.spots, values):
            leaves[k] = value
        return unflatten(self.tree, leaves)

    def replaced(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Return the arguments of the function, with the floats replaced by values."""
        leaves = list(self.leaves)
        for k, value in zip(self.spots, values):
            leaves[k] = value
        chosen = unflatten(self.tree, leaves)
        args = list(self.args)
        if isinstance(self.positions, int):
            args[self.positions] = chosen
        else:
            for k, value in zip(self.positions, chosen):
                args[k] = value
        return tuple(args)


def position(name: str, k: Any, args: tuple[Any, ...]) -> int:
    """Return an entry of argnums after checking that it is an index of the arguments."""
    if isinstance(k, bool) or not isinstance(k, int) or not -len(args) <= k < len(args):
        raise ArgumentError(
            f"{name}: argnums must be an index of one of the {len(args)} positional arguments, got {k!r}; pass "
            "argnums=0, for example"
        )
    return k


def argument_positions(name: str, argnums: Sequence[int], args: tuple[Any, ...]) -> tuple[int, ...]:
    """Return argnums after checking that there is at least one, and none twice."""
    positions = tuple([position(name, k, args) for k in argnums])
    if not positions or len({k % len(args) for k in positions}) < len(positions):
        problem = "names an argument twice" if positions else "is empty"
        raise ArgumentError(f"{name}: argnums {problem}, got {argnums!r}; pass each index once, such as (0, 1)")
    return positions


def shown(value: Any) -> str:
    """Return a description of a nested value for messages."""
    leaves, tree = flatten(value)
    return (
        describe(value) if tree.kind is None else f"{tree} of {', '.join(describe(x) for x in leaves[:4]) or 'nothing'}"
    )


def with_aux(name: str, func: Function, returned: Any) -> tuple[Any, Any]:
    """Return the pair that a function with has_aux=True returned, after a check."""
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise ArgumentError(
            f"{name}: with has_aux=True {called(func)} must return (output, aux), got {shown(returned)}; return a "
            "tuple of two"
        )
    return returned


def expect_real(name: str, tensors: Sequence[Tensor]) -> None:
    """Raise DTypeError for a complex tensor: its derivative is a Jacobian of pairs, not one of complex numbers."""
    for x in tensors:
        if x.dtype.is_complex:
            raise DTypeError(
                f"{name}: inputs and outputs must be real, got {describe(x)}; pass and return mg.view_as_real(x), or "
                "use vjp or jvp"
            )


def outputs_of(name: str, func: Function, y: Any) -> tuple[list[Any], Tree]:
    """Return the leaves of a function's result and their tree; raise ArgumentError unless all are tensors."""
    leaves, tree = flatten(y)
    if not leaves or not all(isinstance(x, Tensor) for x in leaves):
        raise ArgumentError(
            f"{name}: {called(func)} must return tensors, got {shown(y)}; wrap numbers, for example mg.tensor(3.0)"
        )
    return leaves, tree


def called(func: Function) -> str:
    """Return a description of a function for messages."""
    definition = definition_of(func)
    return f"the function {getattr(func, '__name__', type(func).__name__)}{definition and f' at {definition}'}"


def alike(x: Tensor) -> Tensor:
    """Return zeros like x: the derivative of a result that is independent of it."""
    return zeros(x.shape, dtype=x.dtype, device=x.device)


def check_like(name: str, what: str, t: Any, whose: str, x: Tensor) -> None:
    """Raise an error unless t has the shape, dtype and device of x."""
    if not isinstance(t, Tensor):
        raise ArgumentError(
            f"{name}: the {what} of the {whose} {describe(x)} must be a tensor, got {shown(t)}; pass mg.ones_like(x), "
            "for example"
        )
    error = ShapeError if t.shape != x.shape else DTypeError if t.dtype is not x.dtype else None
    if error is not None:
        raise error(
            f"{name}: the {what} must have the shape and dtype of the {whose} {describe(x)}, got {describe(t)}; "
            "convert it with .to(dtype) or reshape it"
        )
    if t.device is not x.device:
        if str(t.device) == str(x.device):  # one of the two tensors belongs to a recording
            remedy = f"call mg.func.{name} in the jitted function"
            raise RecordingError(f"{name}: mg.jit cannot record a function that {name} returned before; {remedy}")
        raise DeviceError(
            f"{name}: the {what} must be on {x.device} like the {whose} {describe(x)}, got a tensor on {t.device}; "
            f"move the tensor with .to('{x.device}')"
        )


def tangents_for(name: str, inputs: Inputs, tangents: Any) -> list[Tensor]:
    """Return one tangent per float of the inputs, after checking them."""
    leaves = leaves_as(inputs.tree, tangents)
    if leaves is None:
        raise ArgumentError(
            f"{name}: tangents must be nested as the primals, {inputs.tree}, got {flatten(tangents)[1]}; build them "
            "with mg.func.tree_map(mg.ones_like, primals), for example"
        )
    result = [leaves[k] for k in inputs.spots]
    for x, t in zip(inputs.floats, result):
        check_like(name, "tangent", t, "primal", x)
    return result
