"""Neural networks: `functional` has the ops of layers under PyTorch's names."""

from minigrad.nn import functional

__all__ = ["functional"]
