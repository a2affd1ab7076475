"""Gradient descent, with momentum or without."""

from __future__ import annotations

from typing import Any

from minigrad.declare.many import Rule
from minigrad.errors import ArgumentError
from minigrad.optim import rules
from minigrad.optim.optimizer import Params
from minigrad.optim.options import expect_at_least, expect_rate
from minigrad.optim.stepping import RuleOptimizer


class SGD(RuleOptimizer):
    """Gradient descent, with momentum or without.

    Parameters
    ----------
    params : iterable
        Parameters or parameter groups: see `Optimizer`.
    lr : float or Tensor, default 1e-3
        Learning rate.
    momentum : float, default 0
        Part of the running sum of gradients that stays.
    dampening : float, default 0
        Part of a gradient that is left out of the running sum, from the second step on.
    weight_decay : float, default 0
        Multiple of the parameter that is added to its gradient.
    nesterov : bool, default False
        Look ahead along the running sum.
    maximize : bool, default False
        Go up instead of down.
    foreach, differentiable, fused
        PyTorch's options of speed, without effect here; differentiable=True is refused.

    Raises
    ------
    ArgumentError
        If an option is negative, or `nesterov` goes without momentum or with dampening.

    Examples
    --------
    >>> w = mg.Var([3.0])
    >>> optimizer = mg.optim.SGD([w], lr=0.5)
    >>> _ = (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.tolist()
    [0.0]
    """

    counters = ()

    def __init__(
        self, params: Params, lr: Any = 1e-3, momentum: float = 0, dampening: float = 0, weight_decay: float = 0,
        nesterov: bool = False, *, maximize: bool = False, foreach: bool | None = None, differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:  # fmt: skip
        expect_rate("SGD", lr)
        expect_at_least("SGD", momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ArgumentError(
                f"SGD: nesterov expects a momentum above 0 and no dampening, got {momentum} and {dampening}"
            )
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
            "nesterov": nesterov, "maximize": maximize, "foreach": foreach, "differentiable": differentiable,
            "fused": fused,
        })  # fmt: skip

    def rule(self, group: dict[str, Any]) -> Rule:
        return rules.sgd_momentum if group["momentum"] != 0 else rules.sgd
