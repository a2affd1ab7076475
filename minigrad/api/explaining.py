"""The method `x.explain_grad()`, which imports the module with the explanations at its first call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad.runtime.tensor import Tensor

if TYPE_CHECKING:
    from minigrad.diagnostics import Explanation


def explain_grad(x: Tensor, y: Tensor | None = None) -> Explanation:
    """Explain why the gradient of y with respect to x is None, zero, nan or inf.

    For any other gradient, the explanation lists the ops through which the gradient flows.
    y: the result of the computation.  Under `mg.debug()`, y is optional, and the default is the newest result that was
    computed from x.
    """
    from minigrad.diagnostics import gradient

    return gradient.explain_grad(x, y)
