"""Checks of the options of optimizers, such as learning rates and decays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minigrad.errors import ArgumentError
from minigrad.runtime.tensor import Tensor


def rate_of(group: dict[str, Any]) -> float:
    """Return the learning rate of a group, which may be a tensor, as a float."""
    return float(group["lr"])


def expect_offered(name: str, defaults: dict[str, Any]) -> None:
    """Raise ArgumentError for options that exclude each other or are not supported."""
    if defaults.get("differentiable"):
        raise ArgumentError(
            f"{name}: differentiable=True is not offered: a step records nothing; write the update with tensor ops to "
            f"differentiate through it"
        )
    if defaults.get("fused") and defaults.get("foreach"):
        raise ArgumentError(f"{name}: fused and foreach cannot both be True; leave both out, a step is one launch")


def expect_at_least(name: str, least: float = 0.0, **values: Any) -> None:
    """Raise ArgumentError if a value is less than `least` or nan."""
    for option_name, value in values.items():
        if not value >= least:
            raise ArgumentError(
                f"{name}: expected {option_name} to be at least {least:g}, got {value}; pass a value in this range"
            )


def expect_betas(name: str, betas: Sequence[Any], option_name: str = "betas") -> None:
    """Raise ArgumentError unless all values are in [0, 1)."""
    for k, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ArgumentError(f"{name}: expected {option_name}[{k}] in [0, 1), got {beta}; pass 0.9, for example")


def expect_rate(name: str, lr: Any) -> None:
    """Raise ArgumentError unless a learning rate is a number, or a tensor of one element, of at least 0."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ArgumentError(
            f"{name}: expected lr to be a number or a tensor of one element, got shape {lr.shape}; pass lr=1e-3, for "
            "example"
        )
    expect_at_least(name, lr=lr.item() if isinstance(lr, Tensor) else lr)
