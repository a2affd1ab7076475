"""Reverse mode: walking the recorded graph back, and where the gradients go."""

from minigrad.autodiff import pulling as _pulling  # noqa: F401  gives nodes their way through
