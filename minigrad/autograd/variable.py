"""`Variable`: PyTorch's class of tensors with a gradient, from before version 0.4."""

from __future__ import annotations

from typing import Any

from minigrad.errors import warn
from minigrad.runtime.tensor import Tensor


class VariableType(type):
    """The class of `Variable`: a call gives a tensor, and every tensor is an instance."""

    def __call__(cls, data: Any = None, requires_grad: bool = False, volatile: bool | None = None) -> Tensor:
        """Return the values of a tensor without its history, in the same memory."""
        if volatile is not None:
            warn("Variable: volatile has no effect; write `with mg.no_grad():`")
        x = Tensor() if data is None else data.detach()
        return x.requires_grad_() if requires_grad else x

    def __instancecheck__(cls, instance: object) -> bool:
        """Return whether it is a tensor."""
        return isinstance(instance, Tensor)


class Variable(metaclass=VariableType):
    """Return a leaf with the values of a tensor; PyTorch's older name for `requires_grad`.

    Parameters
    ----------
    data : Tensor, optional
        The values, which the result shares.
    requires_grad : bool, default False
        Whether gradients flow to the result.
    volatile : bool, optional
        Accepted with a warning.

    Notes
    -----
    A tensor that requires a gradient itself is what `mg.Var` and `requires_grad=True` make; `Variable` is for scripts
    that have it.

    Examples
    --------
    >>> import minigrad as mg
    >>> x = Variable(mg.ones(2), requires_grad=True)
    >>> x.requires_grad, isinstance(x, Variable)
    (True, True)
    """
