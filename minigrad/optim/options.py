"""Checks of the options of optimizers, such as learning rates and decays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minigrad.errors import ArgumentError
from minigrad.runtime.tensor import Tensor


def rate_of(group: dict[str, Any]) -> float:
    """Return the learning rate of a group, which may be a tensor, as a float."""
    return float(group["lr"])


def options_of(variables: dict[str, Any]) -> dict[str, Any]:
    """Return the options among the local variables of an `__init__`: all arguments except the parameters."""
    return {name: value for name, value in variables.items() if name not in ("self", "params", "__class__")}


def expect_offered(name: str, defaults: dict[str, Any]) -> None:
    """Raise ArgumentError for options that exclude each other or are not supported."""
    if defaults.get("differentiable"):
        raise ArgumentError(
            f"{name}: differentiable must be False, because a step is not recorded, got True; write the update with "
            "tensor ops to differentiate through it"
        )
    if defaults.get("fused") and defaults.get("foreach"):
        raise ArgumentError(
            f"{name}: fused and foreach must not both be True; omit both, because one launch updates each parameter "
            "group anyway"
        )


def expect_at_least(name: str, least: float = 0.0, **values: Any) -> None:
    """Raise ArgumentError if a value is less than `least` or nan."""
    for option_name, value in values.items():
        if not value >= least:
            raise ArgumentError(
                f"{name}: {option_name} must be at least {least:g}, got {value}; pass a value in this range"
            )


def expect_betas(name: str, betas: Sequence[Any], option_name: str = "betas") -> None:
    """Raise ArgumentError unless all values are in [0, 1)."""
    for k, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ArgumentError(
                f"{name}: {option_name}[{k}] must be at least 0 and less than 1, got {beta}; pass 0.9, for example"
            )


def expect_rate(name: str, lr: Any) -> None:
    """Raise ArgumentError unless a learning rate is a number, or a tensor of one element, of at least 0."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ArgumentError(
            f"{name}: lr must be a number or a tensor of one element, got shape {lr.shape}; pass lr=1e-3, for example"
        )
    expect_at_least(name, lr=lr.item() if isinstance(lr, Tensor) else lr)
