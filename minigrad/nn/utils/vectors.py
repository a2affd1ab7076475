"""Conversion of all parameters to one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minigrad.errors import DeviceError, ShapeError
from minigrad.ops.shape.joining import cat
from minigrad.runtime.iterables import tensors_of
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor, describe


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Return the elements of all parameters as one vector.

    Parameters
    ----------
    parameters : iterable of Tensor
        The parameters, all on one device.

    Returns
    -------
    Tensor
        A new vector; gradients flow from it to the parameters.

    Raises
    ------
    DeviceError
        If the parameters are on several devices.

    Examples
    --------
    >>> import minigrad as mg
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

    Parameters
    ----------
    vec : Tensor
        The elements of all parameters.
    parameters : iterable of Tensor
        The parameters, written in place.

    Raises
    ------
    ShapeError
        If the vector and the parameters have different numbers of elements.
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
