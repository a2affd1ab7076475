"""`mg.autograd.graph`: the names of `torch.autograd.graph`."""

from __future__ import annotations

from minigrad.autodiff.holding import saved_tensors_hooks
from minigrad.declare.names import listed
from minigrad.runtime.graph import BackpropOp as Node

__all__ = ["Node", "saved_tensors_hooks"]
__dir__ = listed(__all__)
