"""`mg.autograd`: PyTorch's names with PyTorch's meanings, for ported code.

`grad` always returns a tuple here, and an output that is not a scalar requires `grad_outputs`.  In contrast,
`mg.grad(y, x)` returns a tensor if x is a tensor, and starts with ones.  The names that `mg` has too, except
`grad`, are the same objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from minigrad.autodiff import engine
from minigrad.autodiff.anomaly import detect_anomaly, is_anomaly_enabled, set_detect_anomaly
from minigrad.autodiff.checks import chosen, kept, listed_tensors
from minigrad.autodiff.function import Function
from minigrad.autodiff.grads import GradStore, collected
from minigrad.autodiff.owning import handed_out
from minigrad.autograd import forward_ad, function, functional, graph
from minigrad.autograd.gradcheck import gradcheck, gradgradcheck  # these functions replace the module as attribute
from minigrad.autograd.variable import Variable
from minigrad.declare.advice import answering
from minigrad.declare.manual import document_all
from minigrad.declare.names import listed
from minigrad.errors import ArgumentError, GradientError
from minigrad.ops.creation import zeros_like
from minigrad.ops.shape.joining import stack
from minigrad.runtime.inference import inference_mode
from minigrad.runtime.recording import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from minigrad.runtime.tensor import Tensor, describe, expect_tensors

__all__ = [
    "Function", "Variable", "backward", "detect_anomaly", "enable_grad", "forward_ad", "function",
    "functional", "grad", "gradcheck", "gradgradcheck", "graph", "inference_mode", "is_anomaly_enabled",
    "is_grad_enabled", "is_multithreading_enabled", "no_grad", "set_detect_anomaly", "set_grad_enabled",
    "set_multithreading_enabled",
]  # fmt: skip
__dir__ = listed(__all__)
if not TYPE_CHECKING:  # a type checker would otherwise accept every attribute of this module
    __getattr__ = answering(__name__)

Tensors = Tensor | Sequence[Tensor]


def grad(
    outputs: Tensors, inputs: Tensors, grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None, create_graph: bool = False, only_inputs: bool = True,
    allow_unused: bool | None = None, is_grads_batched: bool = False, materialize_grads: bool = False,
) -> tuple[Any, ...]:  # fmt: skip
    """Compute the gradients of outputs with respect to inputs, and return a tuple with one gradient per input.

    outputs and inputs (Tensor or sequence of Tensor): Outputs to differentiate, and tensors with respect to which they
    are differentiated.
    grad_outputs: One incoming gradient per output; required for an output that is not a scalar.
    only_inputs: Must be True.
    allow_unused: Whether an input that the outputs do not depend on is allowed; by default the value of
    `materialize_grads`.
    is_grads_batched: Whether dim 0 of each tensor in `grad_outputs` is a batch of incoming gradients; dim 0 of each
    gradient is then this batch.

    Returns (tuple of Tensor or None): One gradient per input.

    Raises GradientError if `grad_outputs` is missing for an output that does not have exactly one element, or if the
    outputs do not depend on an input and `allow_unused` is False.
    """
    if not only_inputs:
        raise ArgumentError(
            "autograd.grad: only_inputs must be True, got False, which PyTorch does not support either; use "
            "autograd.backward to fill .grad"
        )
    ys, cotangents = with_cotangents("autograd.grad", outputs, grad_outputs)
    edges: list[Any] = [inputs] if isinstance(inputs, (Tensor, graph.GradientEdge)) else list(inputs)
    xs = chosen("autograd.grad", edges)
    if not xs:
        raise ArgumentError("autograd.grad: inputs must contain at least one tensor, got none; pass the leaves")
    unused = materialize_grads if allow_unused is None else allow_unused
    if materialize_grads and not unused:
        raise ArgumentError(
            "autograd.grad: with materialize_grads=True, allow_unused must be True or omitted, got False; omit "
            "allow_unused"
        )
    if is_grads_batched:
        return in_batches(ys, xs, cotangents, retain_graph, create_graph, unused, materialize_grads)
    gradients = engine.grad(ys, xs, cotangents, retain_graph, create_graph, unused)
    if not materialize_grads:
        return tuple(gradients)
    if any(g is None and isinstance(edge, graph.GradientEdge) for edge, g in zip(edges, gradients)):
        raise ArgumentError(
            "autograd.grad: materialize_grads must be False for an unused input that is a GradientEdge, got True; pass "
            "tensors"
        )
    return tuple([zeros_like(x).requires_grad_() if g is None else g for x, g in zip(xs, gradients, strict=True)])


def in_batches(
    ys: list[Any], xs: list[Any], cotangents: list[Any], retain: bool | None, create: bool, unused: bool, zeros: bool
) -> tuple[Any, ...]:
    """Return the stacked gradients for each entry of a batch of cotangents."""
    counts = {g.shape[0] for g in cotangents if g is not None}
    if len(counts) != 1:
        raise GradientError(
            "autograd.grad: all grad_outputs must have the same length in their first dim, the batch, got lengths "
            f"{sorted(counts)}; pass batches of one size"
        )
    rows = [
        engine.grad(ys, xs, [None if g is None else g[k] for g in cotangents], True, create, unused or zeros)
        for k in range(counts.pop())
    ]
    if not kept("autograd.grad", retain, create):
        for node in engine.reachable([engine.node_of(y) for y in ys])[0]:
            node.saved = None if node.saved else node.saved
    columns = [[zeros_like(x) if g is None and zeros else g for g in partials] for x, partials in zip(xs, zip(*rows))]
    return tuple([None if column[0] is None else stack(column) for column in columns])


def backward(
    tensors: Tensors, grad_tensors: Tensor | Sequence[Tensor | None] | None = None, retain_graph: bool | None = None,
    create_graph: bool = False, grad_variables: Any = None, inputs: Tensors | None = None,
) -> None:  # fmt: skip
    """Add the gradients of tensors to `.grad` of all Vars that they depend on, or only of `inputs`.

    tensors (Tensor or sequence of Tensor): Tensors to differentiate.
    grad_tensors: One incoming gradient per tensor; required for a tensor that is not a scalar.
    grad_variables (None): Older name of `grad_tensors`, which must be None.
    inputs (Tensor or sequence of Tensor): Tensors that receive gradients; by default all Vars that the tensors depend
    on.
    """
    if grad_variables is not None:
        raise ArgumentError("autograd.backward: grad_variables is the old name of grad_tensors; pass grad_tensors=...")
    ys, cotangents = with_cotangents("autograd.backward", tensors, grad_tensors)
    xs = None if inputs is None else chosen("backward", inputs)
    retain = kept("autograd.backward", retain_graph, create_graph)
    store = GradStore()
    early = store if xs is None else None
    pairs = engine.walk(ys, cotangents, xs, retain, create_graph, "autograd.backward", store=early)
    collected(handed_out(pairs, True, create_graph), xs, create_graph, store)


def with_cotangents(name: str, outputs: Any, gradients: Any) -> tuple[list[Any], list[Any]]:
    """Return the outputs, and one cotangent per output (None means ones); raise GradientError if one is missing."""
    ys = listed_tensors(outputs)
    expect_tensors(name, *ys)
    cotangents = [gradients] if isinstance(gradients, Tensor) else list(gradients or [None] * len(ys))
    if len(cotangents) != len(ys):
        raise GradientError(
            f"{name}: expected one gradient for each of the {len(ys)} outputs, got {len(cotangents)}; pass None for an "
            "output that is a scalar"
        )
    for y, g in zip(ys, cotangents, strict=True):
        if g is None and y.numel() != 1:
            raise GradientError(
                f"{name}: {describe(y)} is not a scalar, so its incoming gradient is required; pass a tensor of its "
                f"shape, for example mg.ones_like(y), or differentiate y.sum()"
            )
    return ys, cotangents


class set_multithreading_enabled(AbstractContextManager[None]):
    """Accept PyTorch's switch for the threads of its engine; it has no effect, as a statement or as a `with` block.

    mode: Whether PyTorch may run a backward pass in several threads.  Here it runs in the thread that calls it, and its
    kernels use several threads.
    """

    enabled = True

    def __init__(self, mode: bool) -> None:
        self.before, set_multithreading_enabled.enabled = set_multithreading_enabled.enabled, bool(mode)

    def __exit__(self, *error: object) -> None:
        """End the block."""
        set_multithreading_enabled.enabled = self.before


def is_multithreading_enabled() -> bool:
    """Return the last value of `set_multithreading_enabled`; True by default."""
    return set_multithreading_enabled.enabled


document_all(globals())
