"""Clipping of gradients, by the norm of all together or element by element; parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minigrad.errors import DeviceError, ShapeError
from minigrad.ops.shape.joining import cat
from minigrad.optim.lists import total_norm
from minigrad.runtime.iterables import tensors_of
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor, describe

# ---- clipping --------------------------------------------------------------------------------------------------------


Tensors = Any  # a tensor, or an iterable of tensors


def gradients_of(name: str, parameters: Tensors) -> list[Any]:
    """Return the gradients of all parameters that have a gradient; name: the public function."""
    return [p.grad for p in tensors_of(name, parameters) if p.grad is not None]


def get_total_norm(
    tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """Return the norm of all elements of several tensors, as if they were one vector.

    tensors: The tensors.

    Returns: A scalar, which is 0 if there are no tensors.

    Raises GradientError if the norm is not finite and `error_if_nonfinite` is True.

    >>> mg.nn.utils.get_total_norm([mg.tensor([3.0]), mg.tensor([[4.0]])]).item()
    5.0
    """
    return total_norm(tensors_of("get_total_norm", tensors, "tensors"), float(norm_type), error_if_nonfinite)


def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Multiply the gradients in place by `min(1, max_norm / (total_norm + 1e-6))`.

    total_norm: The norm of the gradients, from `get_total_norm`.
    """
    with no_grad():
        factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
        for g in gradients_of("clip_grads_with_norm_", parameters):
            g.mul_(factor.to(device=g.device, dtype=g.dtype))


def clip_grad_norm_(
    parameters: Tensors, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:  # fmt: skip
    """Scale the gradients in place so that their norm, taken as one vector, is at most `max_norm`.

    Returns: The norm before scaling, a scalar.

    >>> w = mg.Var([3.0, 4.0])
    >>> _ = (w * w).sum().backward()
    >>> mg.nn.utils.clip_grad_norm_(w, 1.0).item(), [round(g, 4) for g in w.grad.tolist()]
    (10.0, [0.6, 0.8])
    """
    parameters = tensors_of("clip_grad_norm_", parameters)
    total = get_total_norm(gradients_of("clip_grad_norm_", parameters), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total)
    return total


def clip_grad_norm(
    parameters: Tensors, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:  # fmt: skip
    """Call `clip_grad_norm_`; `clip_grad_norm` is its older name in PyTorch."""
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite)


def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Limit each element of the gradients to [-clip_value, clip_value], in place.

    clip_value: Upper bound of the magnitude of each element.
    """
    with no_grad():
        for g in gradients_of("clip_grad_value_", parameters):
            g.clamp_(-float(clip_value), float(clip_value))


# ---- parameters as one vector ----------------------------------------------------------------------------------------


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Return the elements of all parameters as one vector.

    parameters: The parameters, all on one device.

    Returns: A new vector; gradients flow from it to the parameters.

    Raises DeviceError if the parameters are on several devices.

    >>> mg.nn.utils.parameters_to_vector([mg.zeros(2), mg.ones(1, 2)]).tolist()
    [0.0, 0.0, 1.0, 1.0]
    """
    each = tensors_of("parameters_to_vector", parameters)
    devices = {str(p.device) for p in each}
    if len(devices) > 1:
        raise DeviceError(
            f"parameters_to_vector: expected parameters on one device, got {', '.join(sorted(devices))}; move the "
            "model with .to(device)"
        )
    return cat([p.reshape(-1) for p in each])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Write the elements of a vector into parameters, in order.

    vec: The elements of all parameters.
    parameters: The parameters, written in place.

    Raises ShapeError if the vector and the parameters have different numbers of elements.
    """
    each = tensors_of("vector_to_parameters", parameters)
    count = sum(p.numel() for p in each)
    if vec.shape != (count,):
        raise ShapeError(
            f"vector_to_parameters: expected a vector of {count} elements, got {describe(vec)}; pass the result of "
            "parameters_to_vector"
        )
    start = 0
    with no_grad():
        values: Any = vec.detach()
        for p in each:
            p.copy_(values[start : start + p.numel()].reshape(p.shape))
            start += p.numel()
