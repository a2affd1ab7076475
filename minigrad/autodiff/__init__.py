"""Reverse mode: the backward pass through the recorded graph, and the destinations of gradients."""

from minigrad.autodiff import pulling as _pulling  # noqa: F401  assigns `BackpropOp.pull`
