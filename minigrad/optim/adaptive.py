"""Optimizers that divide gradients by the root of sums or means of squares: Adagrad, Adadelta, RMSprop."""

from __future__ import annotations

from typing import Any

from minigrad.declare.many import Rule
from minigrad.errors import ArgumentError
from minigrad.optim import rules
from minigrad.optim.optimizer import Params
from minigrad.optim.states import filled, options_of, scalar_state
from minigrad.optim.stepping import RuleOptimizer
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor


class Adagrad(RuleOptimizer):
    """Minimize a loss with Adagrad: each gradient is divided by the root of the sum of all squared gradients so far.

    Parameters
    ----------
    params : iterable
        Parameters or parameter groups: see `Optimizer`.
    lr : float or Tensor, default 1e-2
        Learning rate.
    lr_decay : float, default 0
        Decrease of the learning rate: step t uses lr / (1 + (t - 1) * lr_decay).
    weight_decay : float, default 0
        Multiple of the parameter that is added to its gradient.
    initial_accumulator_value : float, default 0
        Initial value of the sum of squares.
    eps : float, default 1e-10
        Value added to the root.
    foreach, maximize, differentiable, fused
        The same as for `Adam`.

    References
    ----------
    J. Duchi, E. Hazan and Y. Singer, Adaptive Subgradient Methods for Online Learning and Stochastic Optimization.
    """

    not_negative = ("lr", "lr_decay", "weight_decay", "eps", "initial_accumulator_value")

    def __init__(
        self, params: Params, lr: Any = 1e-2, lr_decay: float = 0, weight_decay: float = 0,
        initial_accumulator_value: float = 0, eps: float = 1e-10, foreach: bool | None = None, *,
        maximize: bool = False, differentiable: bool = False, fused: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__(params, options_of(locals()))

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a parameter group, and create its sums of squares immediately."""
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        for p in group["params"]:
            with no_grad():
                self.state[p] = {"step": scalar_state(0), "sum": self.first_state("sum", p, group)}

    def rule(self, group: dict[str, Any]) -> Rule:
        return rules.adagrad

    def first_state(self, name: str, p: Any, group: dict[str, Any]) -> Tensor:
        return filled(p, group["initial_accumulator_value"])

    def share_memory(self) -> None:
        """Do nothing; PyTorch has this method, and here the sums belong to one process."""


class Adadelta(RuleOptimizer):
    """Minimize a loss with Adadelta: each step is the gradient times a ratio of two running root mean squares.

    The numerator is the root mean square of the previous steps, and the denominator that of the gradients.

    Parameters
    ----------
    params : iterable
        Parameters or parameter groups: see `Optimizer`.
    lr : float or Tensor, default 1.0
        Factor of each step.
    rho : float, default 0.9
        Weight of the previous value in both running means of squares.
    eps : float, default 1e-6
        Value added to both means before the root is taken.
    weight_decay, foreach, capturable, maximize, differentiable
        The same as for `Adam`.

    References
    ----------
    M. Zeiler, ADADELTA: An Adaptive Learning Rate Method, algorithm 1.
    """

    not_negative = ("lr", "eps", "weight_decay")

    def __init__(
        self, params: Params, lr: Any = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0,
        foreach: bool | None = None, *, capturable: bool = False, maximize: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        if not 0.0 <= rho <= 1.0:
            raise ArgumentError(f"Adadelta: rho must be from 0 to 1, got {rho}; pass rho=0.9")
        super().__init__(params, options_of(locals()))

    def rule(self, group: dict[str, Any]) -> Rule:
        return rules.adadelta


class RMSprop(RuleOptimizer):
    """Minimize a loss with RMSprop: each gradient is divided by the root of a running mean of squared gradients.

    Parameters
    ----------
    params : iterable
        Parameters or parameter groups: see `Optimizer`.
    lr : float or Tensor, default 1e-2
        Learning rate.
    alpha : float, default 0.99
        Weight of the previous value in the running mean of squares.
    eps : float, default 1e-8
        Value added to the root.
    momentum : float, default 0
        Weight of the previous value in the running sum of steps.
    centered : bool, default False
        Whether to divide by the root of the variance, instead of the root of the mean of squares.
    weight_decay, capturable, foreach, maximize, differentiable
        The same as for `Adam`.

    References
    ----------
    G. Hinton, Neural Networks for Machine Learning, lecture 6e; A. Graves, Generating Sequences With Recurrent Neural
    Networks, equations 38 to 45, for `centered`.
    """

    not_negative = ("lr", "eps", "momentum", "weight_decay", "alpha")

    def __init__(
        self, params: Params, lr: Any = 1e-2, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0,
        momentum: float = 0, centered: bool = False, capturable: bool = False, foreach: bool | None = None,
        maximize: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, options_of(locals()))

    def rule(self, group: dict[str, Any]) -> Rule:
        if group["centered"]:
            return rules.rmsprop_centered_momentum if group["momentum"] > 0 else rules.rmsprop_centered
        return rules.rmsprop_momentum if group["momentum"] > 0 else rules.rmsprop
