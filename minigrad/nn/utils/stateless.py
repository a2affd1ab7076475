"""PyTorch's older module of `functional_call`, which is `mg.func.functional_call`."""

from minigrad.func.modules import functional_call

__all__ = ["functional_call"]
