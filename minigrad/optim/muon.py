"""Muon: steps along the running mean of a matrix's gradients, after this mean is orthogonalized."""

from __future__ import annotations

import math
from typing import Any

from minigrad.core.dtype import bfloat16
from minigrad.core.roles import Choice
from minigrad.declare.names import LINALG, MG, namespaces
from minigrad.errors import ArgumentError
from minigrad.optim import rules
from minigrad.optim.optimizer import GroupOptimizer, Params
from minigrad.optim.states import NOT_NEGATIVE, expect_rate, filled, options_of
from minigrad.runtime.tensor import Tensor, describe

COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # Jordan's polynomial, whose derivative at 0 is large


class Muon(GroupOptimizer):
    """Minimize a loss with Muon, an optimizer for the weight matrices of hidden layers.

    The direction of a step is the running mean of gradients, converted to a nearly orthogonal matrix.

    params: Matrices, or parameter groups of matrices: see `Optimizer`.
    lr (float): Learning rate.
    momentum: Weight of the previous value in the running mean of gradients.
    ns_coefficients: Coefficients of the polynomial of the Newton-Schulz iteration.
    eps: Lower bound of the norm by which the direction is divided.
    ns_steps: Number of Newton-Schulz iterations, less than 100.
    adjust_lr_fn: Learning rate for a shape: lr * sqrt(max(1, rows / columns)) for "original", which is the default, and
    lr * 0.2 * sqrt(max(rows, columns)) for "match_rms_adamw".

    Raises ArgumentError if a parameter is not a matrix, or an option is out of its range.

    The Newton-Schulz iteration computes in bfloat16, as in PyTorch. PyTorch adds in another order, so the results of
    both libraries agree to about two digits.

    Source: K. Jordan and others, Muon: An optimizer for hidden layers in neural networks.
    """

    def __init__(
        self, params: Params, lr: Any = 1e-3, weight_decay: float = 0.1, momentum: float = 0.95, nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = COEFFICIENTS, eps: float = 1e-7, ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:  # fmt: skip
        expect_rate("Muon", lr)
        NOT_NEGATIVE.expect("Muon", momentum=momentum, weight_decay=weight_decay)
        Choice(None, "original", "match_rms_adamw").expect("Muon", adjust_lr_fn=adjust_lr_fn)
        super().__init__(params, options_of(locals()))

    def expect_parameters(self, params: list[Any]) -> None:
        """Raise an error unless all parameters are matrices and leaves."""
        super().expect_parameters(params)
        for p in params:
            if p.ndim != 2:
                raise ArgumentError(
                    f"Muon: params must contain only matrices, got {describe(p)}; use AdamW for parameters of other "
                    "shapes"
                )

    @staticmethod
    def formula() -> str:
        """Return the update as text: the rules before and after the matrix is orthogonalized."""
        between = "update = orthogonal(update)"
        return "\n".join([rules.muon_momentum.formula(), between, rules.muon.formula()])

    def update(self, group: dict[str, Any]) -> None:
        """Update a group: one launch for all momenta, products for each matrix, and one launch per learning rate."""
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
    """Return a matrix near the orthogonal factor of x; its singular values are between 0.5 and 1.5.

    The method is a Newton-Schulz iteration with a polynomial of degree 5.
    """
    if steps >= 100:
        raise ArgumentError(f"Muon: ns_steps must be less than 100, got {steps}; pass ns_steps=5")
    if len(coefficients) != 3:
        raise ArgumentError(
            f"Muon: ns_coefficients must have three values, got {len(coefficients)}; omit ns_coefficients for the "
            "default"
        )
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
    """Return the factor by which the shape of a matrix changes the learning rate."""
    rows, columns = shape
    return 0.2 * math.sqrt(max(rows, columns)) if adjust == "match_rms_adamw" else math.sqrt(max(1, rows / columns))
