"""Rprop, which uses only the signs of gradients, and ASGD, which averages its parameters."""

from __future__ import annotations

from typing import Any

from minigrad.declare.many import Rule
from minigrad.errors import ArgumentError
from minigrad.optim import rules
from minigrad.optim.optimizer import Params
from minigrad.optim.states import filled, options_of, rate_of
from minigrad.optim.stepping import RuleOptimizer
from minigrad.runtime.tensor import Tensor


class Rprop(RuleOptimizer):
    """Minimize a loss with Rprop: each element has its own step size, and only the sign of its gradient is used.

    Parameters
    ----------
    params : iterable
        Parameters or parameter groups: see `Optimizer`.
    lr : float or Tensor, default 1e-2
        Initial step size of each element.
    etas : pair of float, default (0.5, 1.2)
        The first factor shrinks the step size if the sign of the gradient has changed since the last step; the second
        factor increases the step size if the sign is the same.
    step_sizes : pair of float, default (1e-6, 50)
        Smallest and largest step size.
    capturable, foreach, maximize, differentiable
        The same as for `Adam`.

    References
    ----------
    M. Riedmiller and H. Braun, A Direct Adaptive Method for Faster Backpropagation Learning: The RPROP Algorithm.
    """

    not_negative = ("lr",)
    pairs = {"shrink": ("etas", 0), "grow": ("etas", 1), "smallest": ("step_sizes", 0), "largest": ("step_sizes", 1)}

    def __init__(
        self, params: Params, lr: Any = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50), *, capturable: bool = False, foreach: bool | None = None,
        maximize: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ArgumentError(f"Rprop: etas must satisfy 0 < etas[0] < 1 < etas[1], got {etas}; pass etas=(0.5, 1.2)")
        super().__init__(params, options_of(locals()))

    def rule(self, group: dict[str, Any]) -> Rule:
        return rules.rprop

    def first_state(self, name: str, p: Any, group: dict[str, Any]) -> Tensor:
        return filled(p, rate_of(group) if name == "step_size" else 0.0)


class ASGD(RuleOptimizer):
    """Minimize a loss with averaged SGD: gradient descent that also computes a mean of the parameters.

    The learning rate decreases with the number of steps. For each parameter, `state["ax"]` contains the mean of its
    values from step `t0` on.

    Parameters
    ----------
    params : iterable
        Parameters or parameter groups: see `Optimizer`.
    lr : float or Tensor, default 1e-2
        Initial learning rate.
    lambd : float, default 1e-4
        Weight decay of the parameters, and factor in the decrease of the learning rate.
    alpha : float, default 0.75
        Exponent in the decrease of the learning rate.
    t0 : float, default 1e6
        Step at which averaging begins.
    weight_decay, foreach, maximize, differentiable, capturable
        The same as for `Adam`.

    References
    ----------
    B. Polyak and A. Juditsky, Acceleration of Stochastic Approximation by Averaging.
    """

    counters = ("step", "eta", "mu")
    not_negative = ("lr", "weight_decay")

    def __init__(
        self, params: Params, lr: Any = 1e-2, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6,
        weight_decay: float = 0, foreach: bool | None = None, maximize: bool = False, differentiable: bool = False,
        capturable: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, options_of(locals()))

    def rule(self, group: dict[str, Any]) -> Rule:
        return rules.asgd

    def first_counter(self, name: str, group: dict[str, Any]) -> float:
        return {"eta": rate_of(group), "mu": 1.0}.get(name, 0.0)

    def numbers(self, group: dict[str, Any], counters: dict[str, float]) -> dict[str, float]:
        counters["step"] += 1
        used = dict(counters)
        step, lr = counters["step"], rate_of(group)
        counters["eta"] = lr / (1 + group["lambd"] * lr * step) ** group["alpha"]
        counters["mu"] = 1 / max(1, step - group["t0"])
        return used
