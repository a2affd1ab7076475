"""`mg.autograd.function`: the names of `torch.autograd.function`."""

from __future__ import annotations

from minigrad.autodiff.context import Context as FunctionCtx
from minigrad.autodiff.function import Function, once_differentiable
from minigrad.declare.names import listed

InplaceFunction = Function  # PyTorch's older base class of functions that write their argument
__all__ = ["Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]
__dir__ = listed(__all__)
