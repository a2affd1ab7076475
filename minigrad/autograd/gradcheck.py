"""The names of `torch.autograd.gradcheck`: both checks and their error, which `minigrad/testing/` defines."""

from minigrad.testing import GradcheckError, gradcheck, gradgradcheck

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
