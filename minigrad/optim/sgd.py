"""Gradient descent with or without momentum."""

from __future__ import annotations

from typing import Any

from minigrad.declare.many import Rule
from minigrad.errors import ArgumentError
from minigrad.optim import rules
from minigrad.optim.optimizer import Params
from minigrad.optim.states import options_of
from minigrad.optim.stepping import RuleOptimizer


class SGD(RuleOptimizer):
    """Minimize a loss with gradient descent (SGD), with or without momentum.

    Without momentum, a step computes p = p - lr * g for a parameter p with the gradient g. With momentum, it computes
    b = momentum * b + (1 - dampening) * g and p = p - lr * b; in the first step, b is g.

    momentum: Weight of the previous value in the running sum of gradients.
    dampening: Number d such that the running sum adds (1 - d) * g, from the second step on.

    Raises ArgumentError if an option is negative, or `nesterov` is True without momentum or with dampening.

    >>> w = mg.Var([3.0])
    >>> optimizer = mg.optim.SGD([w], lr=0.5)
    >>> _ = (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.tolist()
    [0.0]
    """

    counters = ()
    not_negative = ("lr", "momentum", "weight_decay")

    def __init__(
        self, params: Params, lr: Any = 1e-3, momentum: float = 0, dampening: float = 0, weight_decay: float = 0,
        nesterov: bool = False, *, maximize: bool = False, foreach: bool | None = None, differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:  # fmt: skip
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ArgumentError(
                f"SGD: nesterov=True requires momentum above 0 and dampening=0, got momentum={momentum} and "
                f"dampening={dampening}; pass momentum=0.9, for example"
            )
        super().__init__(params, options_of(locals()))

    def rule(self, group: dict[str, Any]) -> Rule:
        return rules.sgd_momentum if group["momentum"] != 0 else rules.sgd
