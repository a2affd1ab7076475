"""Reverse mode: the backward pass through the recorded graph, and the destinations of gradients."""

from minigrad.autodiff import repeating as _repeating  # noqa: F401  defines the method `pull` of nodes
