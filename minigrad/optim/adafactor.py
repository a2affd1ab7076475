"""Adafactor: a matrix has row and column means of squared gradients instead of one state per element."""

from __future__ import annotations

import math
from typing import Any

from minigrad.core.dtype import finfo
from minigrad.core.roles import Number
from minigrad.declare.names import LINALG, MG, namespaces
from minigrad.errors import ArgumentError
from minigrad.optim.optimizer import GroupOptimizer, Params
from minigrad.optim.states import NOT_NEGATIVE, expect_rate, filled, options_of, rate_of, scalar_state
from minigrad.runtime.tensor import Tensor


class Adafactor(GroupOptimizer):
    """Minimize a loss with Adafactor, which stores only row and column means of the squared gradients of a matrix.

    params: Tensors or parameter groups: see `Optimizer`.
    lr: Upper bound of the relative size of a step, and the rate of the weight decay.
    beta2_decay: Exponent: step t updates the running mean of squares with the weight t ** beta2_decay.
    eps (pair of float): The first value is a lower bound for the root mean square of the gradients, by which a step is
    divided; None selects the machine epsilon of the dtype. The second value is a lower bound for the root mean square
    of the parameter, which scales the step.
    d: Upper bound of the root mean square of an update; a larger update is scaled down.

    Raises ArgumentError if an option is out of its range.

    Source: Shazeer and Stern, Adafactor: Adaptive learning rates with sublinear memory cost, 2018; with PyTorch's use
    of `lr` and of the first `eps`.

    >>> p = mg.nn.Parameter(mg.ones(3, 4))
    >>> optimizer = mg.optim.Adafactor([p])
    >>> p.grad = mg.ones(3, 4)
    >>> optimizer.step()
    >>> round(p[0, 0].item(), 4), optimizer.state[p]["row_var"].shape, optimizer.state[p]["col_var"].shape
    (0.99, (3, 1), (1, 4))
    """

    def __init__(
        self, params: Params, lr: Any = 1e-2, beta2_decay: float = -0.8, eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0, weight_decay: float = 0.0, *, foreach: bool | None = None, maximize: bool = False,
    ) -> None:  # fmt: skip
        expect_rate("Adafactor", lr)
        if not beta2_decay <= 0:
            raise ArgumentError(
                f"Adafactor: expected beta2_decay to be at most 0, got {beta2_decay}; pass beta2_decay=-0.8"
            )
        least = 0.0 if eps[0] is None else eps[0]
        NOT_NEGATIVE.expect("Adafactor", weight_decay=weight_decay, **{"eps[0]": least, "eps[1]": eps[1]})
        Number(1, example=1.0).expect("Adafactor", d=d)
        super().__init__(params, options_of(locals()))

    def update(self, group: dict[str, Any]) -> None:
        """Update the parameters of a group that have a gradient, one after another."""
        for p in group["params"]:
            if p.grad is not None:
                self.update_one(p, -p.grad if group["maximize"] else p.grad, group)

    def update_one(self, p: Any, g: Any, group: dict[str, Any]) -> None:
        """Update one parameter with its gradient g."""
        state = self.state[p]
        if not state:
            state["step"] = scalar_state(0.0)
            if g.ndim > 1:
                state["row_var"], state["col_var"] = zeros_without(g, -1), zeros_without(g, -2)
            else:
                state["variance"] = filled(p, 0.0)
        state["step"] += 1
        steps, lr = float(state["step"]), rate_of(group)
        least, floor = group["eps"]
        least = finfo(p.dtype).eps if least is None else least
        rate = max(floor, root_mean_square(p)) * min(lr, 1 / math.sqrt(steps))
        if group["weight_decay"]:
            p.mul_(1 - lr * group["weight_decay"])
        step = variance(state, g, steps ** group["beta2_decay"], least).clamp_(min=least * least).rsqrt_().mul_(g)
        p.add_(step, alpha=-rate / max(1.0, root_mean_square(step) / group["d"]))


def zeros_without(g: Tensor, dim: int) -> Tensor:
    """Return zeros with the shape of a gradient, except that one dim has length 1."""
    shape = list(g.shape)
    shape[dim] = 1
    return namespaces[MG]["zeros"](*shape, dtype=g.dtype, device=g.device)


def root_mean_square(x: Any) -> float:
    """Return the square root of the mean of the squared elements."""
    return float(namespaces[LINALG]["vector_norm"](x.detach())) / math.sqrt(x.numel())


def variance(state: dict[str, Any], g: Any, share: float, least: float) -> Any:
    """Update the running means of squares, and return the estimate for each element as a new tensor."""
    if g.ndim <= 1:
        state["variance"].lerp_(g * g, share)
        return state["variance"].clone()
    rows, columns = state["row_var"], state["col_var"]
    norm = namespaces[LINALG]["vector_norm"]
    rows.lerp_(norm(g, dim=-1, keepdim=True).square_() / g.shape[-1], share)
    columns.lerp_(norm(g, dim=-2, keepdim=True).square_() / g.shape[-2], share)
    return (rows @ columns).div_(rows.mean(dim=-2, keepdim=True).clamp_(min=least))
