"""Errors of a layer whose input has another size than the layer was created for.

The op of a layer sees the weight and not the layer, so its message advises to change the weight.  `located` replaces
this message by one with the layer's own parameter, and adds the layer's name in each module that contains it.
"""

from __future__ import annotations

from inspect import signature
from typing import Any

from minigrad.errors import MinigradError, ShapeError
from minigrad.runtime.tensor import Tensor, describe


def located(module: Any, args: tuple[Any, ...], error: MinigradError) -> MinigradError:
    """Return the error for an exception that was raised in a call of a module."""
    inner = error.__dict__.get("layer")
    if inner is None:
        own = str(error).startswith(f"{type(module).__name__}:")
        error = (None if own else misfit(module, args)) or error
    else:
        for name in [name for name, child in module.named_children() if child is inner]:
            error.add_note(f"raised in {name!r} of {type(module).__name__}")
    error.__dict__["layer"] = module
    return error


def misfit(module: Any, args: tuple[Any, ...]) -> MinigradError | None:
    """Return an error for the first input with another size than a parameter of the constructor, or None.

    A subclass with another `forward` may expect other inputs, so the cause is left to the op's own error.
    """
    owner: Any = next(kind for kind in type(module).__mro__ if "_sizes" in vars(kind))
    if type(module).forward is not owner.forward:
        return None
    for k, parameter, dim in module._sizes:
        x, want = args[k] if k < len(args) else None, getattr(module, parameter)
        if isinstance(x, Tensor) and has_rank(module, x) and size_of(x, want, dim) != want:
            where = f"dim {dim}" if isinstance(want, int) else "the last dims"
            name = list(signature(module.forward).parameters)[k]
            return ShapeError(
                f"{type(module).__name__}: {name} must have the size {want} in {where} ({parameter}={want}), got "
                f"{describe(x)}; change {parameter}, or the layer before",
                op=type(module).__name__,
            )
    return None


def has_rank(module: Any, x: Tensor) -> bool:
    """Return whether the number of dims suits a convolution, whose op otherwise reports it; True for other layers."""
    dims = getattr(module, "_dims", None)
    return not isinstance(dims, int) or x.ndim - dims in (1, 2)


def size_of(x: Tensor, want: Any, dim: int) -> Any:
    """Return the size of a tensor that a layer compares with `want`: an int or the last sizes; None without the dim."""
    if not isinstance(want, int):
        return x.shape[max(0, x.ndim - len(want)) :]
    return x.shape[dim] if -x.ndim <= dim < x.ndim else None
