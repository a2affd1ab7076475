"""`mg.autograd.forward_ad`: PyTorch's dual tensors, on the forward mode of `mg.func.jvp`.

A dual tensor has a primal value and a tangent; an op on it computes the tangent of its result together with the result.
`mg.func.jvp` is the functional form, which can be nested.
"""

from __future__ import annotations

import contextlib
from typing import Any, NamedTuple

from minigrad.autodiff.barriers import alias
from minigrad.autodiff.forward import Dual, DualTransform
from minigrad.declare.manual import document_all
from minigrad.declare.names import listed
from minigrad.errors import DTypeError, GradientError
from minigrad.runtime.tensor import Tensor, describe, expect_tensors
from minigrad.runtime.tracers import Tracer
from minigrad.runtime.var import unlike

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]
__dir__ = listed(__all__)

_open: list[DualTransform] = []  # the transform of the open level
_current_level = -1  # the number of the open level; PyTorch has this name too


class UnpackedDualTensor(NamedTuple):
    """The parts of a dual tensor.

    primal (Tensor): The value.
    tangent (Tensor or None): The tangent; None for a tensor that has none at the level.
    """

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Open a level of dual tensors, until `exit_dual_level`.

    Returns: The number of the level, 0.

    Raises GradientError if a level is open.
    """
    global _current_level
    if _open:
        raise GradientError(
            "enter_dual_level: one level can be open at a time, got a second one; nest mg.func.jvp instead"
        )
    _open.append(DualTransform().__enter__())
    _current_level = 0
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the level of dual tensors; their tangents cannot be read afterwards.

    Raises GradientError if no level is open, or if `level` is not the open one.
    """
    global _current_level
    check_open("exit_dual_level", level)
    _open.pop().__exit__(None, None, None)
    _current_level = -1


class dual_level(contextlib.ContextDecorator):
    """Open a level of dual tensors for a block, or for each call of a decorated function.

    >>> import minigrad.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(mg.tensor(3.0), mg.tensor(1.0))
    ...     fwAD.unpack_dual(x * x).tangent.item()
    6.0
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *error: Any) -> None:
        exit_dual_level(level=0)


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """Return a dual tensor with the value of a tensor and a tangent.

    tensor: The value, of a floating dtype; gradients flow through it as usual.
    tangent: Tangent with the shape, dtype and device of the value.

    Returns: A new tensor, which belongs to the open level.

    Raises DTypeError if the value has no floating dtype, or an argument is not a tensor.
    Raises GradientError if no level is open, or the tangent is a dual tensor of it.
    """
    check_open("make_dual", level)
    expect_tensors("make_dual", tensor, tangent)
    (transform,) = _open
    if not tensor.dtype.is_inexact:
        raise DTypeError(
            f"make_dual: the value must have a floating dtype, got {describe(tensor)}; convert it with .float()"
        )
    wrong = unlike(tangent, tensor)
    if wrong is not None:
        error, got = wrong
        raise error(f"make_dual: the tangent must be {describe(tensor)}, like the value, got {got}; convert it")
    if belongs(tangent):
        raise GradientError(
            "make_dual: the tangent must not be a dual tensor of the same level, got one; pass unpack_dual(t).primal"
        )
    return Dual(tensor.primal if belongs(tensor) else tensor, tangent, transform)  # type: ignore[attr-defined]


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """Return the value and the tangent of a tensor.

    tensor: Any tensor.
    level: The number of the level, which must be the open one; without an open level, the tangent is None.

    Returns: A view of the value, and the tangent, or None.
    """
    if level is not None:
        check_open("unpack_dual", level)
    expect_tensors("unpack_dual", tensor)
    if not isinstance(tensor, Dual):
        return UnpackedDualTensor(tensor, None)
    x = tensor.primal
    primal = alias(x) if x.requires_grad or isinstance(x, Tracer) else x.detach()
    return UnpackedDualTensor(primal, tensor.tangent if belongs(tensor) else None)


def belongs(x: Tensor) -> bool:
    """Return whether a tensor is a dual tensor of the open level."""
    return isinstance(x, Dual) and bool(_open) and x.transform is _open[-1]


def check_open(name: str, level: int | None) -> None:
    """Raise GradientError unless a level is open, and `level` is it or None."""
    if not _open or level not in (None, 0):
        raise GradientError(
            f"{name}: expected the open level of dual tensors, got level {level} and "
            f"{'level 0 is open' if _open else 'no level is open'}; write `with dual_level():` around the computation"
        )


document_all({name: globals()[name] for name in __all__})
