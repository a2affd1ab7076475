"""Explanations of a tensor's gradient: `x.explain_grad()`.  The explanations are imported at the first call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad.runtime.tensor import Tensor

if TYPE_CHECKING:
    from minigrad.diagnostics import Explanation


def explain_grad(x: Tensor, y: Tensor | None = None) -> Explanation:
    """Explain why the gradient of y with respect to x is None, zero, nan or inf, or by which ops it flows.

    y may be left out under `mg.debug()`, where it is the newest result of x.
    """
    from minigrad.diagnostics import gradient

    return gradient.explain_grad(x, y)
