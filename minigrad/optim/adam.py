"""Adam and its variants: a running mean of gradients, divided by a measure of their magnitude."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from minigrad.declare.many import Rule
from minigrad.optim import rules
from minigrad.optim.optimizer import Params
from minigrad.optim.states import options_of
from minigrad.optim.stepping import RuleOptimizer


class Moments(RuleOptimizer):
    """Base class of the optimizers with two running means and the options of Adam."""

    not_negative: ClassVar[tuple[str, ...]] = ("lr", "eps", "weight_decay", "betas")

    def numbers(self, group: dict[str, Any], counters: dict[str, float]) -> dict[str, float]:
        counters["step"] += 1
        return {**counters, "decoupled": group.get("decoupled_weight_decay", False)}


class Adam(Moments):
    """Minimize a loss with Adam: a running mean of gradients, divided by the root of a running mean of their squares.

    In step t, with the gradient g of the parameter p: m = beta1 * m + (1 - beta1) * g,
    v = beta2 * v + (1 - beta2) * g**2, and p = p - lr * m / (1 - beta1**t) / (sqrt(v / (1 - beta2**t)) + eps).

    amsgrad: Whether to use the largest v of all steps so far instead of the current v.

    Raises ArgumentError if an option is negative or a beta is not in [0, 1).

    Source: D. Kingma and J. Ba, Adam: A Method for Stochastic Optimization, algorithm 1.

    >>> w = mg.Var([1.0])
    >>> optimizer = mg.optim.Adam([w], lr=0.25)
    >>> _ = (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.tolist()
    [0.75]
    """

    def __init__(
        self, params: Params, lr: Any = 1e-3, betas: tuple[Any, Any] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, amsgrad: bool = False, *, foreach: bool | None = None, maximize: bool = False,
        capturable: bool = False, differentiable: bool = False, fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, options_of(locals()))

    def rule(self, group: dict[str, Any]) -> Rule:
        if group["amsgrad"]:
            return rules.adam_amsgrad
        return rules.adamw if group["decoupled_weight_decay"] else rules.adam


class AdamW(Adam):
    """Minimize a loss with AdamW: Adam with weight decay that shrinks the parameter and does not change the gradient.

    weight_decay: Each step multiplies the parameter by 1 - lr * weight_decay.

    Source: I. Loshchilov and F. Hutter, Decoupled Weight Decay Regularization, algorithm 2.

    >>> print(mg.optim.AdamW([mg.Var([1.0])]).formula())
    g = -g if maximize else g
    exp_avg = exp_avg + (g - exp_avg) * (1 - beta1)
    exp_avg_sq = beta2 * exp_avg_sq + (1 - beta2) * g * g
    root = math.sqrt(exp_avg_sq) * (1 / math.sqrt(1 - beta2 ** step))
    p = p * (1 - lr * weight_decay)
    p = p - lr / (1 - beta1 ** step) * exp_avg / (root + eps)
    """

    def __init__(
        self, params: Params, lr: Any = 1e-3, betas: tuple[Any, Any] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 1e-2, amsgrad: bool = False, *, maximize: bool = False, foreach: bool | None = None,
        capturable: bool = False, differentiable: bool = False, fused: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
            differentiable=differentiable, fused=fused, decoupled_weight_decay=True,
        )  # fmt: skip

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:  # a state that was saved by Adam may have False, but AdamW always needs True
            group["decoupled_weight_decay"] = True


class Adamax(Moments):
    """Minimize a loss with Adamax: Adam with a decaying maximum of |gradient| as the divisor.

    In step t, with the gradient g of the parameter p: m = beta1 * m + (1 - beta1) * g, u = max(beta2 * u, |g| + eps),
    and p = p - lr * m / (1 - beta1**t) / u.

    Source: D. Kingma and J. Ba, Adam: A Method for Stochastic Optimization, algorithm 2.
    """

    always = rules.adamax

    def __init__(
        self, params: Params, lr: Any = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, foreach: bool | None = None, *, maximize: bool = False, differentiable: bool = False,
        capturable: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, options_of(locals()))


class NAdam(Moments):
    """Minimize a loss with NAdam: Adam with Nesterov momentum.

    momentum_decay: Decay rate of the difference between the momentum and the first beta.

    Source: T. Dozat, Incorporating Nesterov Momentum into Adam.
    """

    always = rules.nadam
    counters = ("step", "mu_product")
    not_negative = (*Moments.not_negative, "momentum_decay")

    def __init__(
        self, params: Params, lr: Any = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, momentum_decay: float = 4e-3, decoupled_weight_decay: bool = False, *,
        foreach: bool | None = None, maximize: bool = False, capturable: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, options_of(locals()))

    def first_counter(self, name: str, group: dict[str, Any]) -> float:
        return 1.0 if name == "mu_product" else 0.0

    def numbers(self, group: dict[str, Any], counters: dict[str, float]) -> dict[str, float]:
        result = super().numbers(group, counters)
        mu, mu_next = (
            group["betas"][0] * (1 - 0.5 * 0.96 ** (step * group["momentum_decay"]))
            for step in (counters["step"], counters["step"] + 1)
        )
        # The product is computed in float32, because it is stored in float32, and PyTorch also computes in float32.
        counters["mu_product"] = float(np.float32(counters["mu_product"]) * np.float32(mu))
        return {**result, "mu": mu, "mu_next": mu_next, "mu_product": counters["mu_product"]}


class RAdam(Moments):
    """Minimize a loss with RAdam (rectified Adam).

    Like Adam, RAdam divides the running mean of gradients by the root of the running mean of squares. In the first
    steps, in which the variance of this root is too large, it uses the running mean of gradients without a division.

    Source: L. Liu and others, On the Variance of the Adaptive Learning Rate and Beyond, algorithm 2.
    """

    always = rules.radam

    def __init__(
        self, params: Params, lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, decoupled_weight_decay: bool = False, *, foreach: bool | None = None,
        maximize: bool = False, capturable: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, options_of(locals()))
