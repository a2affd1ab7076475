"""`mg.autograd.function`: as `torch.autograd.function`."""

from __future__ import annotations

from minigrad.autodiff.context import Context as FunctionCtx
from minigrad.autodiff.function import Function, once_differentiable

__all__ = ["Function", "FunctionCtx", "once_differentiable"]
