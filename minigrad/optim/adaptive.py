"""Optimizers with a step size per element (Adagrad, Adadelta, RMSprop, Rprop), and ASGD, which averages parameters."""

from __future__ import annotations

from typing import Any

from minigrad.core.roles import Number
from minigrad.declare.many import Rule
from minigrad.errors import ArgumentError
from minigrad.optim import rules
from minigrad.optim.optimizer import Params
from minigrad.optim.states import filled, options_of, rate_of, scalar_state
from minigrad.optim.stepping import RuleOptimizer
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor


class Adagrad(RuleOptimizer):
    """Minimize a loss with Adagrad: each gradient is divided by the root of the sum of all squared gradients so far.

    lr_decay: Decrease of the learning rate: step t uses lr / (1 + (t - 1) * lr_decay).
    initial_accumulator_value: Initial value of the sum of squares.

    Source: J. Duchi, E. Hazan and Y. Singer, Adaptive Subgradient Methods for Online Learning and Stochastic
    Optimization.
    """

    always = rules.adagrad
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

    def first_state(self, name: str, p: Any, group: dict[str, Any]) -> Tensor:
        return filled(p, group["initial_accumulator_value"])

    def share_memory(self) -> None:
        """Do nothing; PyTorch has this method, and here the sums belong to one process."""


class Adadelta(RuleOptimizer):
    """Minimize a loss with Adadelta: each step is the gradient times a ratio of two running root mean squares.

    The numerator is the root mean square of the previous steps, and the denominator that of the gradients.

    lr: Factor of each step.
    rho: Weight of the previous value in both running means of squares.
    eps: Value added to both means before the root is taken.

    Source: M. Zeiler, ADADELTA: An Adaptive Learning Rate Method, algorithm 1.
    """

    always = rules.adadelta
    not_negative = ("lr", "eps", "weight_decay")

    def __init__(
        self, params: Params, lr: Any = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0,
        foreach: bool | None = None, *, capturable: bool = False, maximize: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        Number(0, 1, example=0.9).expect("Adadelta", rho=rho)
        super().__init__(params, options_of(locals()))


class RMSprop(RuleOptimizer):
    """Minimize a loss with RMSprop: each gradient is divided by the root of a running mean of squared gradients.

    alpha: Weight of the previous value in the running mean of squares.
    momentum: Weight of the previous value in the running sum of steps.
    centered: Whether to divide by the root of the variance, instead of the root of the mean of squares.

    Source: G. Hinton, Neural Networks for Machine Learning, lecture 6e; A. Graves, Generating Sequences With Recurrent
    Neural Networks, equations 38 to 45, for `centered`.
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


class Rprop(RuleOptimizer):
    """Minimize a loss with Rprop: each element has its own step size, and only the sign of its gradient is used.

    lr: Initial step size of each element.
    etas: The first factor shrinks the step size if the sign of the gradient has changed since the last step; the second
    factor increases the step size if the sign is the same.
    step_sizes: Smallest and largest step size.

    Source: M. Riedmiller and H. Braun, A Direct Adaptive Method for Faster Backpropagation Learning: The RPROP
    Algorithm.
    """

    always = rules.rprop
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

    def first_state(self, name: str, p: Any, group: dict[str, Any]) -> Tensor:
        return filled(p, rate_of(group) if name == "step_size" else 0.0)


class ASGD(RuleOptimizer):
    """Minimize a loss with averaged SGD: gradient descent that also computes a mean of the parameters.

    The learning rate decreases with the number of steps. For each parameter, `state["ax"]` contains the mean of its
    values from step `t0` on.

    lr: Initial learning rate.
    lambd: Weight decay of the parameters, and factor in the decrease of the learning rate.
    alpha: Exponent in the decrease of the learning rate.
    t0: Step at which averaging begins.

    Source: B. Polyak and A. Juditsky, Acceleration of Stochastic Approximation by Averaging.
    """

    always = rules.asgd
    counters = ("step", "eta", "mu")
    not_negative = ("lr", "weight_decay")

    def __init__(
        self, params: Params, lr: Any = 1e-2, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6,
        weight_decay: float = 0, foreach: bool | None = None, maximize: bool = False, differentiable: bool = False,
        capturable: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, options_of(locals()))

    def first_counter(self, name: str, group: dict[str, Any]) -> float:
        return {"eta": rate_of(group), "mu": 1.0}.get(name, 0.0)

    def numbers(self, group: dict[str, Any], counters: dict[str, float]) -> dict[str, float]:
        counters["step"] += 1
        used = dict(counters)
        step, lr = counters["step"], rate_of(group)
        counters["eta"] = lr / (1 + group["lambd"] * lr * step) ** group["alpha"]
        counters["mu"] = 1 / max(1, step - group["t0"])
        return used
