"""`Variable`: PyTorch's tensors with a gradient before version 0.4."""

from __future__ import annotations

from typing import Any

from minigrad.errors import warn
from minigrad.runtime.tensor import Tensor


class VariableType(type):
    """The metaclass of `Variable`: a call returns a tensor, and every tensor is an instance."""

    def __call__(cls, data: Any = None, requires_grad: bool = False, volatile: bool | None = None) -> Tensor:
        """Return a tensor with the same memory and without history."""
        if volatile is not None:
            warn("Variable: volatile has no effect; write `with mg.no_grad():`")
        x = Tensor() if data is None else data.detach()
        return x.requires_grad_() if requires_grad else x

    def __instancecheck__(cls, instance: object) -> bool:
        """Return whether an object is a tensor."""
        return isinstance(instance, Tensor)


class Variable(metaclass=VariableType):
    """Return a leaf with the values of a tensor; this is PyTorch's older form of `requires_grad`.

    data (Tensor): Tensor whose memory the result shares; an empty tensor if None.
    requires_grad: Whether the result requires a gradient.
    volatile: Has no effect; a warning is shown if it is passed.

    New code should create leaves with `mg.Var` or `requires_grad=True`; `Variable` is for existing scripts.

    >>> x = Variable(mg.ones(2), requires_grad=True)
    >>> x.requires_grad, isinstance(x, Variable)
    (True, True)
    """
