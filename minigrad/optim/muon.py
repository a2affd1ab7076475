"""Muon: the running mean of a matrix's gradients, made orthogonal."""

from __future__ import annotations

import math
from typing import Any

from minigrad.core.dtype import bfloat16
from minigrad.declare.names import LINALG, MG, namespaces
from minigrad.errors import ArgumentError
from minigrad.optim import rules
from minigrad.optim.optimizer import GroupOptimizer, Params
from minigrad.optim.options import expect_at_least, expect_rate
from minigrad.optim.states import filled
from minigrad.runtime.tensor import Tensor, describe

COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # of Jordan's polynomial, whose slope at 0 is large


class Muon(GroupOptimizer):
    """Muon: steps along an orthogonal matrix near the running mean of gradients, for matrices of hidden layers.

    Parameters
    ----------
    params : iterable
        Matrices, or parameter groups of matrices: see `Optimizer`.
    lr : float, default 1e-3
        Learning rate.
    weight_decay : float, default 0.1
        Each step multiplies the parameter with 1 - lr * weight_decay.
    momentum : float, default 0.95
        Part of the running mean that stays.
    nesterov : bool, default True
        Look ahead along the running mean.
    ns_coefficients : triple of float
        Coefficients of the polynomial of the Newton-Schulz iteration.
    eps : float, default 1e-7
        The least norm that a gradient is divided by.
    ns_steps : int, default 5
        Iterations, below 100.
    adjust_lr_fn : {"original", "match_rms_adamw"}, optional
        How the rate depends on the shape: sqrt(max(1, rows / columns)) times lr, or 0.2 * sqrt(max(rows, columns))
        times lr.

    Raises
    ------
    ArgumentError
        If a parameter is not a matrix, or an option makes no sense.

    Notes
    -----
    The iteration computes in bfloat16, as in PyTorch, where sums are rounded in another order: results agree to about
    two digits.

    References
    ----------
    K. Jordan and others, Muon: An optimizer for hidden layers in neural networks.
    """

    def __init__(
        self, params: Params, lr: Any = 1e-3, weight_decay: float = 0.1, momentum: float = 0.95, nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = COEFFICIENTS, eps: float = 1e-7, ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:  # fmt: skip
        expect_rate("Muon", lr)
        expect_at_least("Muon", momentum=momentum, weight_decay=weight_decay)
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ArgumentError(
                f"Muon: expected adjust_lr_fn None, 'original' or 'match_rms_adamw', got {adjust_lr_fn!r}"
            )
        super().__init__(params, {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
            "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn,
        })  # fmt: skip

    def expect_parameters(self, params: list[Any]) -> None:
        """Raise unless all are matrices and leaves."""
        super().expect_parameters(params)
        for p in params:
            if p.ndim != 2:
                raise ArgumentError(f"Muon: expected matrices as parameters, got {describe(p)}; use AdamW for others")

    @staticmethod
    def formula() -> str:
        """Return the update as text: the rules before and after the matrix is made orthogonal."""
        between = "update = orthogonal(update)"
        return "\n".join([rules.muon_momentum.formula(), between, rules.muon.formula()])

    def update(self, group: dict[str, Any]) -> None:
        """Update a group: momenta by one launch, products for each matrix, and a launch per shape."""
        params = [p for p in group["params"] if p.grad is not None]
        for p in params:
            if self.state[p].get("momentum_buffer") is None:
                self.state[p]["momentum_buffer"] = filled(p, 0.0)
        buffers = [self.state[p]["momentum_buffer"] for p in params]
        directions = [filled(p, 0.0) for p in params]
        rules.muon_momentum.run(
            [buffers, directions, [p.grad for p in params]], momentum=group["momentum"], nesterov=group["nesterov"]
        )
        lr = float(group["lr"])
        turned: dict[float, tuple[list[Any], list[Any]]] = {}
        for p, direction in zip(params, directions, strict=True):
            step = orthogonal(direction, group["ns_coefficients"], group["ns_steps"], group["eps"])
            same_rate = turned.setdefault(lr * factor_of(p.shape, group["adjust_lr_fn"]), ([], []))
            same_rate[0].append(p)
            same_rate[1].append(step.to(p.dtype))
        for rate, (same, steps) in turned.items():
            rules.muon.run([same, steps], lr=lr, rate=rate, weight_decay=group["weight_decay"])


def orthogonal(x: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """Compute a matrix near the orthogonal factor of x, whose singular values are between 0.5 and 1.5.

    Newton-Schulz iterations with a polynomial of fifth degree.
    """
    if steps >= 100:
        raise ArgumentError(f"Muon: expected ns_steps below 100, got {steps}")
    if len(coefficients) != 3:
        raise ArgumentError(f"Muon: expected three ns_coefficients, got {len(coefficients)}")
    a, b, c = coefficients
    addmm: Any = namespaces[MG]["addmm"]
    tall = x.shape[0] > x.shape[1]
    y: Any = x.to(bfloat16)
    y = y.T if tall else y
    y = y / namespaces[LINALG]["vector_norm"](y).clamp(min=eps)
    for _ in range(steps):
        gram = y @ y.T
        y = addmm(y, addmm(gram, gram, gram, beta=b, alpha=c), y, beta=a)
    return y.T if tall else y


def factor_of(shape: tuple[int, ...], adjust: str | None) -> float:
    """Return the factor of the rate for a shape."""
    rows, columns = shape
    return 0.2 * math.sqrt(max(rows, columns)) if adjust == "match_rms_adamw" else math.sqrt(max(1, rows / columns))
