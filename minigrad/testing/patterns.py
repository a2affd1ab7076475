"""Guess the error in a gradient from its values: each common mistake in a rule leaves a pattern.

`suspect` compares an analytic gradient with the numeric one, and names the first pattern that explains the difference:
a wrong sign, a factor, a transpose or reversal, a sum that is one too many, swapped operands, or a missing term.
The gradient for twice the incoming gradient shows whether the rule uses its g.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
LOOSE = 1e-3  # relative error up to which a pattern is reported


def suspect(analytic: Array, numeric: Array, others: Mapping[str, Array], doubled: Array | None = None) -> str | None:
    """Return the pattern as text, or None.

    others: the numeric gradients of the other arguments, by name.
    doubled: the analytic gradient for twice the incoming gradient.
    """
    if not (np.isfinite(analytic).all() and np.isfinite(numeric).all()) or not numeric.size:
        return None
    if not analytic.any() and numeric.any():
        return "it is zero everywhere: the result may be detached, or the rule may return 0"
    if doubled is not None and close(doubled, analytic):
        return "it does not depend on the incoming gradient: the rule must multiply by g"
    for result in (factor(analytic, numeric), permuted(analytic, numeric), unsummed(analytic, numeric)):
        if result is not None:
            return result
    for name, other in others.items():
        if other.shape == analytic.shape and close(analytic, other) and not close(numeric, other):
            return f"it is the gradient of {name!r}: the operands may be swapped"
    return offset(analytic, numeric) or nonlinear(analytic, doubled)


def nonlinear(analytic: Array, doubled: Array | None) -> str | None:
    """Return a text unless twice the incoming gradient doubles the gradient."""
    if doubled is None or close(doubled, 2 * analytic):
        return None
    return "it is not proportional to the incoming gradient: a rule must be linear in g"


def close(a: Any, b: Any) -> bool:
    """Return whether two arrays are nearly equal, relative to the largest element."""
    scale = max(float(np.abs(b).max(initial=0.0)), 1e-12)
    return a.shape == b.shape and bool(np.abs(a - b).max(initial=0.0) <= LOOSE * scale)


def factor(analytic: Array, numeric: Array) -> str | None:
    """Return a text if one factor explains all elements."""
    size = float(np.vdot(numeric, numeric))
    if size == 0.0:
        return None
    ratio = float(np.vdot(numeric, analytic)) / size
    if abs(ratio) < 1e-9 or not close(analytic, ratio * numeric):
        return None
    if abs(ratio + 1) <= LOOSE:
        return "it has the wrong sign"
    if abs(ratio - 1) <= LOOSE:
        return None
    known = next((f" (1/{n})" for n in range(2, 1025) if abs(ratio * n - 1) <= LOOSE), "")
    if numeric.size == 1 and not known and abs(ratio - round(ratio)) > LOOSE:
        return None  # with one value, every ratio fits some factor
    return f"it is {ratio:.6g}{known} times what it should be"


def permuted(analytic: Array, numeric: Array) -> str | None:
    """Return a text if the values are right but at transposed or reversed positions."""
    if not 2 <= analytic.ndim <= 4:
        return None
    for order in permutations(range(analytic.ndim)):
        turned = numeric.transpose(order)
        if turned.shape == analytic.shape and not close(numeric, turned) and close(analytic, turned):
            return f"its values are those of the gradient with the dims in the order {order}: a transpose is missing"
    for dim in range(analytic.ndim):
        flipped = np.flip(numeric, dim)
        if not close(numeric, flipped) and close(analytic, flipped):
            return f"its values are reversed along dim {dim}"
    return None


def unsummed(analytic: Array, numeric: Array) -> str | None:
    """Return a text if each element is the sum of the gradient over a dim."""
    for dim in range(analytic.ndim):
        total = np.broadcast_to(numeric.sum(dim, keepdims=True), numeric.shape)
        if numeric.shape[dim] > 1 and not close(total, numeric) and close(analytic, total):
            return f"it is summed over dim {dim} although the operand has that dim"
    return None


def offset(analytic: Array, numeric: Array) -> str | None:
    """Return a text if all elements are off by the same number."""
    away = analytic - numeric
    if away.size > 1 and np.ptp(away) <= LOOSE * np.abs(away).max() and np.ptp(numeric) > LOOSE * np.abs(away).max():
        return f"it is off by {float(away.mean()):.6g} at every element: a term may be missing"
    return None
