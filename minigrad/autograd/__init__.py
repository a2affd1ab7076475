"""`mg.autograd`: PyTorch's names with PyTorch's meanings, so that ported code finds them.

`grad` always returns a tuple here, and an output that is not a scalar requires its `grad_outputs`.  `mg.grad(y, x)`
returns a tensor for a tensor, and begins with ones.  Everything else is the same object as elsewhere in minigrad.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from minigrad.api.absent import answering
from minigrad.autodiff import engine
from minigrad.autodiff.anomaly import detect_anomaly, is_anomaly_enabled, set_detect_anomaly
from minigrad.autodiff.checks import chosen
from minigrad.autodiff.function import Function
from minigrad.autodiff.grads import GradStore, collected
from minigrad.autodiff.owning import handed_out
from minigrad.autograd import function, functional, graph
from minigrad.autograd.variable import Variable
from minigrad.declare.docstring import document_all
from minigrad.declare.names import listed
from minigrad.errors import ArgumentError, GradientError
from minigrad.ops.creation import zeros_like
from minigrad.ops.shape.joining import stack
from minigrad.runtime.inference import inference_mode
from minigrad.runtime.recording import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from minigrad.runtime.tensor import Tensor, describe, expect_tensors
from minigrad.testing import gradcheck, gradgradcheck

__all__ = [
    "Function", "Variable", "backward", "detect_anomaly", "enable_grad", "function", "functional", "grad",
    "gradcheck", "gradgradcheck", "graph", "inference_mode", "is_anomaly_enabled", "is_grad_enabled", "no_grad",
    "set_detect_anomaly", "set_grad_enabled",
]  # fmt: skip
__dir__ = listed(__all__)
if not TYPE_CHECKING:  # a type checker would take every name for one that is there
    __getattr__ = answering(__name__)

Tensors = Tensor | Sequence[Tensor]


def grad(
    outputs: Tensors, inputs: Tensors, grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None, create_graph: bool = False, only_inputs: bool = True,
    allow_unused: bool | None = None, is_grads_batched: bool = False, materialize_grads: bool = False,
) -> tuple[Any, ...]:  # fmt: skip
    """Compute the gradients of outputs with respect to inputs, a tuple with one for each input.

    grad_outputs: one incoming gradient per output; required for an output that is not a scalar.  allow_unused: None for
    an input that the outputs do not depend on, or zeros with materialize_grads.  is_grads_batched: each of grad_outputs
    has one more dim in front, and so has each gradient.
    Raises GradientError for missing grad_outputs, and for an unused input that was not allowed.
    """
    if not only_inputs:
        raise ArgumentError("autograd.grad: only_inputs=False is not offered, as in PyTorch; use backward")
    ys, cotangents = with_cotangents("autograd.grad", outputs, grad_outputs)
    xs = chosen("autograd.grad", inputs)
    unused = materialize_grads if allow_unused is None else allow_unused
    if materialize_grads and not unused:
        raise ArgumentError("autograd.grad: materialize_grads=True returns zeros for unused inputs, so it allows them")
    if is_grads_batched:
        return in_batches(ys, xs, cotangents, retain_graph, create_graph, unused, materialize_grads)
    gradients = engine.grad(ys, xs, cotangents, retain_graph, create_graph, unused)
    return tuple([zeros_like(x) if g is None and materialize_grads else g for x, g in zip(xs, gradients, strict=True)])


def in_batches(
    ys: list[Any], xs: list[Any], cotangents: list[Any], retain: bool | None, create: bool, unused: bool, zeros: bool
) -> tuple[Any, ...]:
    """Return the gradients for each of a batch of cotangents, stacked."""
    counts = {g.shape[0] for g in cotangents if g is not None}
    if len(counts) != 1:
        raise GradientError(f"autograd.grad: grad_outputs have batches of {sorted(counts)}; pass batches of one size")
    rows = [
        engine.grad(ys, xs, [None if g is None else g[k] for g in cotangents], True, create, unused or zeros)
        for k in range(counts.pop())
    ]
    if not (create if retain is None else retain):
        for node in engine.reachable([engine.node_of(y) for y in ys])[0]:
            node.saved = None if node.saved else node.saved
    columns = [[zeros_like(x) if g is None and zeros else g for g in partials] for x, partials in zip(xs, zip(*rows))]
    return tuple([None if column[0] is None else stack(column) for column in columns])


def backward(
    tensors: Tensors, grad_tensors: Tensor | Sequence[Tensor | None] | None = None, retain_graph: bool | None = None,
    create_graph: bool = False, grad_variables: Any = None, inputs: Tensors | None = None,
) -> None:  # fmt: skip
    """Add the gradients of tensors to `.grad` of the Vars that they depend on, or of `inputs` only.

    grad_tensors: one incoming gradient per tensor; required for a tensor that is not a scalar.
    """
    if grad_variables is not None:
        raise ArgumentError("autograd.backward: grad_variables is called grad_tensors now, as in PyTorch")
    ys, cotangents = with_cotangents("autograd.backward", tensors, grad_tensors)
    xs = None if inputs is None else chosen("backward", inputs)
    retain = create_graph if retain_graph is None else retain_graph
    store = GradStore()
    early = store if xs is None else None
    pairs = engine.walk(ys, cotangents, xs, retain, create_graph, "autograd.backward", store=early)
    collected(handed_out(pairs, True, create_graph), xs, create_graph, store)


def with_cotangents(name: str, outputs: Any, gradients: Any) -> tuple[list[Any], list[Any]]:
    """Return the outputs, and a cotangent for each, None for ones.  Raises GradientError where one is missing."""
    ys = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    expect_tensors(name, *ys)
    cotangents = [gradients] if isinstance(gradients, Tensor) else list(gradients or [None] * len(ys))
    if len(cotangents) != len(ys):
        raise GradientError(f"{name}: expected a gradient for each of {len(ys)} outputs, got {len(cotangents)}")
    for y, g in zip(ys, cotangents, strict=True):
        if g is None and y.numel() != 1:
            raise GradientError(
                f"{name}: {describe(y)} is not a scalar, so its incoming gradient is required; pass a tensor of its "
                f"shape, for example mg.ones_like(y), or differentiate y.sum()"
            )
    return ys, cotangents


document_all(globals())
