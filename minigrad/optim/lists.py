"""Ops on lists of tensors in one launch: fill with zeros, scale, clip, average; and the joint norm of all tensors.

`Optimizer.zero_grad`, averages of parameters and the gradient scaler of `mg.amp` call these functions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from minigrad.declare.many import many
from minigrad.declare.names import LINALG, MG, namespaces
from minigrad.errors import GradientError
from minigrad.runtime.hosting import host
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor


@many
def zeroed(x):  # type: ignore[no-untyped-def]
    """Return 0."""
    return 0


@many
def scaled(x, *, factor):  # type: ignore[no-untyped-def]
    """Return factor * x."""
    return factor * x


@many
def clamped(x, *, low, high):  # type: ignore[no-untyped-def]
    """Return x limited to [low, high]; nan stays nan."""
    x = low if x < low else x
    return high if x > high else x


@many
def interpolated(average, x, *, weight):  # type: ignore[no-untyped-def]
    """Return average + weight * (x - average)."""
    return average + (x - average) * weight


@many
def copied(target, x):  # type: ignore[no-untyped-def]
    """Return x."""
    return x


def zero_(tensors: Iterable[Tensor]) -> None:
    """Fill all tensors with zeros."""
    zeroed.run([list(tensors)])


def scale_(tensors: Iterable[Tensor], factor: float) -> None:
    """Multiply all tensors by a factor, in place."""
    scaled.run([list(tensors)], factor=factor)


def clamp_(tensors: Iterable[Tensor], low: float = -math.inf, high: float = math.inf) -> None:
    """Limit all elements of all tensors to [low, high], in place; nan stays nan."""
    clamped.run([list(tensors)], low=low, high=high)


def lerp_(averages: Sequence[Tensor], tensors: Sequence[Tensor], weight: float) -> None:
    """Replace each average by average + weight * (tensor - average), in place."""
    interpolated.run([averages, tensors], weight=weight)


def copy_(targets: Sequence[Tensor], tensors: Sequence[Tensor]) -> None:
    """Copy each tensor into a target of its shape."""
    copied.run([targets, tensors])


def total_norm(tensors: Iterable[Tensor], norm_type: float = 2.0, error_if_nonfinite: bool = False) -> Tensor:
    """Compute the norm of all elements of a list of tensors, as if they were one vector.

    tensors: Floating tensors of any shapes.
    norm_type: Order of the norm; `math.inf` selects the largest magnitude.
    error_if_nonfinite: Whether to raise an error if the norm is nan or infinite.

    Returns: A scalar on the device of the first tensor, which is 0 if there are no tensors.

    Raises GradientError if the norm is not finite and `error_if_nonfinite` is True.
    """
    vector_norm, stack = namespaces[LINALG]["vector_norm"], namespaces[MG]["stack"]
    with no_grad():
        norms = [vector_norm(x.detach(), norm_type) for x in tensors]
        norms = [norm.to(norms[0].device) for norm in norms]
        result: Any = vector_norm(stack(norms), norm_type) if norms else namespaces[MG]["tensor"](0.0)
    if error_if_nonfinite and not math.isfinite(result.item()):
        raise GradientError(
            f"total_norm: expected a finite norm of order {norm_type}, got {result.item()}; find the "
            "gradient that is not finite with mg.detect_anomaly(), or pass error_if_nonfinite=False"
        )
    return result


def clip_norm_(
    tensors: Iterable[Tensor], max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """Scale all tensors in place so that their joint norm is at most `max_norm`; return the norm before scaling.

    The factor is min(1, max_norm / (norm + 1e-6)), as in PyTorch.  One launch scales all tensors.
    """
    tensors = list(tensors)
    norm = total_norm(tensors, norm_type, error_if_nonfinite)
    if host.defer is not None:  # while a program is recorded, the norm has no value, so ops compute the factor
        factor = (max_norm / (norm.double() + 1e-6)).clamp(max=1.0)
        for x in tensors:
            x.mul_(factor.to(x.dtype))
        return norm
    factor = max_norm / (norm.item() + 1e-6)
    if not factor >= 1:  # the comparison with nan is false, so a nan factor also scales the tensors
        scale_(tensors, factor)
    return norm
