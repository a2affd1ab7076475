"""Gradients of convolutions from the gradient of the result, under the names of `torch.nn.grad`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minigrad.autodiff.engine import grad
from minigrad.declare.manual import document_all
from minigrad.nn import functional as F
from minigrad.ops.creation import zeros
from minigrad.runtime.recording import recording_on
from minigrad.runtime.tensor import Tensor

DOC = """Return the gradient of the {operand} of `{name}`.

{operand}_size (sequence of int): Shape of the {operand}.
{other}: The {other}.
grad_output: Gradient of the result.
stride, padding, dilation and groups: As for `{name}`.

Returns: Gradient in the shape `{operand}_size`. It is differentiable with respect to `{other}` and `grad_output`.
"""


def both_gradients(name: str) -> tuple[Callable[..., Tensor], Callable[..., Tensor]]:
    """Return the functions that compute the gradients of the input and of the weight of a convolution."""

    def of_input(
        input_size: Any, weight: Tensor, grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:  # fmt: skip
        # A convolution is linear in each operand, so the gradient does not depend on the values of the operand.
        x = zeros(*input_size, dtype=weight.dtype, device=weight.device)
        return pulled(name, (x, weight), 0, grad_output, stride, padding, dilation, groups)

    def of_weight(
        input: Tensor, weight_size: Any, grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:  # fmt: skip
        w = zeros(*weight_size, dtype=input.dtype, device=input.device)
        return pulled(name, (input, w), 1, grad_output, stride, padding, dilation, groups)

    for function, operand, other in ((of_input, "input", "weight"), (of_weight, "weight", "input")):
        function.__name__ = function.__qualname__ = f"{name}_{operand}"
        function.__doc__ = DOC.format(name=name, operand=operand, other=other)
    return of_input, of_weight


def pulled(name: str, operands: tuple[Tensor, Tensor], which: int, grad_output: Tensor, *arguments: Any) -> Tensor:
    """Return the gradient of one operand of a convolution, which is a new tensor of zeros."""
    graph = any(x.requires_grad for x in (*operands, grad_output))
    with recording_on():
        operands[which].requires_grad_()
        y = getattr(F, name)(*operands, None, *arguments)
        (result,) = grad(y, [operands[which]], grad_output, create_graph=graph)
    return result


conv1d_input, conv1d_weight = both_gradients("conv1d")
conv2d_input, conv2d_weight = both_gradients("conv2d")
conv3d_input, conv3d_weight = both_gradients("conv3d")
document_all(globals())
