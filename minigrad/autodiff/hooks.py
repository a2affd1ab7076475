"""Runs the hooks of a node: each sees what the one before it made of the gradient.

A hook gives None to leave the gradient as it is, or another of the same shape, dtype and device.  It is called in the
grad mode of the walk, so with `create_graph=True` what it does is differentiated too.
"""

from __future__ import annotations

from typing import Any

from minigrad.autodiff.watching import versions
from minigrad.errors import GradientError
from minigrad.runtime.graph import BackpropOp, Output
from minigrad.runtime.likeness import unlike
from minigrad.runtime.tensor import Tensor, describe


def hooked(node: BackpropOp, k: int, g: Tensor) -> Tensor:
    """The gradient of the k-th result, which is complete, after the hooks of that result.

    Raises GradientError, ShapeError, DTypeError or DeviceError for a hook that gives what is no such gradient, and
    GradientError for one that writes into the gradient: others may share it.
    """
    for hook in tuple((node.hooks or {}).get(k, {}).values()):
        before = versions((g,))
        given = hook(g)
        if versions((g,)) != before:
            raise GradientError(
                f"{who(node, k, hook)} wrote into the gradient {describe(g)}, which others share; return a new tensor "
                f"instead",
                op=node.op.label,
            )
        if given is not None:
            check_given(node, k, hook, g, given)
            g = given
    return g


def check_given(node: BackpropOp, k: int, hook: Any, g: Tensor, given: Any) -> None:
    """Raise unless what a hook gave can take the place of the gradient."""
    wrong = unlike(given, g)
    if wrong is None:
        return
    error, got = wrong
    raise error(
        f"{who(node, k, hook)} gave {got}; expected None, or a gradient {describe(g)} on {g.device} as it was given",
        op=node.op.label,
    )


def who(node: BackpropOp, k: int, hook: Any) -> str:
    """The hook as messages name it, with the line where it was written."""
    code = getattr(hook, "__code__", None)
    place = "" if code is None else f" at {code.co_filename}:{code.co_firstlineno}"
    return f"register_hook: the hook{place} on {node.name if node.ids is None else Output(node, k).name}"
