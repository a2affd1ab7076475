"""L-BFGS: a quasi-Newton method, with steps of fixed length or a line search for the strong Wolfe conditions.

All parameters form one vector here.  The line search follows PyTorch, which follows Schmidt's minFunc.  It makes the
same choices, so that the losses of both libraries agree step by step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minigrad.core.roles import Choice
from minigrad.declare.many import many
from minigrad.declare.names import MG, namespaces
from minigrad.errors import ArgumentError
from minigrad.optim import lists
from minigrad.optim.linesearch import strong_wolfe
from minigrad.optim.optimizer import Optimizer, Params
from minigrad.optim.states import expect_rate
from minigrad.optim.stepping import in_pairs
from minigrad.runtime.recording import no_grad, recording_on
from minigrad.runtime.tensor import Tensor

CURVATURE = 1e-10  # smallest product of a step and the change of the gradient for which both are stored


@many
def moved(p, direction, *, length):  # type: ignore[no-untyped-def]
    """Return the element after a step of a given length along a direction."""
    return p + length * direction


class LBFGS(Optimizer):
    """Minimize a loss with L-BFGS, a quasi-Newton method for deterministic losses with few parameters.

    params: Parameters, or exactly one parameter group.
    lr: Factor of the search direction, or the first factor that the line search tries.
    max_iter: Maximum number of iterations per `step`.
    max_eval: Maximum number of calls of the closure per `step`; 1.25 times max_iter by default.
    tolerance_grad: Iterations stop if no element of the gradient exceeds this magnitude.
    tolerance_change: Iterations stop if the loss or all parameters change by less than this value.
    history_size: Number of previous steps that are stored. Each stored step requires memory for two copies of all
    parameters.
    line_search_fn ({"strong_wolfe"}): Line search. None: each step is `lr` times the search direction, and the first
    step is also scaled by min(1, 1 / sum(abs(gradient))).

    Raises ArgumentError if there are several parameter groups, or `line_search_fn` is neither None nor "strong_wolfe".

    Source: J. Nocedal and S. Wright, Numerical Optimization, algorithms 7.4, 7.5, 3.5 and 3.6.

    >>> w = mg.Var([3.0, -2.0])
    >>> optimizer = mg.optim.LBFGS([w], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = (w * w).sum()
    ...     loss.backward()
    ...     return loss
    >>> optimizer.step(closure).item()
    13.0
    >>> bool((w.detach().abs() < 1e-6).all())
    True
    """

    def __init__(
        self, params: Params, lr: Any = 1, max_iter: int = 20, max_eval: int | None = None,
        tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9, history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:  # fmt: skip
        expect_rate("LBFGS", lr)
        Choice(None, "strong_wolfe").expect("LBFGS", line_search_fn=line_search_fn)
        super().__init__(params, {
            "lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change, "history_size": history_size,
            "line_search_fn": line_search_fn,
        })  # fmt: skip
        if len(self.param_groups) != 1:
            raise ArgumentError(
                f"LBFGS: params must contain one parameter group, got {len(self.param_groups)}; pass one list of "
                "parameters"
            )

    # ---- all parameters as one vector ----

    complexes = True

    def gradient(self) -> Any:
        """Return all gradients as one vector; a missing gradient counts as zeros, a complex number as its two parts."""
        zeros_like, cat = namespaces[MG]["zeros_like"], namespaces[MG]["cat"]
        parts = [zeros_like(p.detach()) if p.grad is None else p.grad.detach() for p in self.parameters()]
        return cat([in_pairs((part,))[0].reshape(-1) for part in parts])

    def move(self, length: float, direction: Any) -> None:
        """Add `length * direction` to the parameters, in one launch."""
        start, parts, params = 0, [], [in_pairs((p,))[0] for p in self.parameters()]
        for p in params:
            parts.append(direction[start : start + p.numel()].reshape(p.shape))
            start += p.numel()
        moved.run([params, parts], length=length)

    def evaluated(self, closure: Callable[[], Any]) -> float:
        """Call the closure, which computes the gradients, and return the loss."""
        with recording_on():
            return float(closure())

    # ---- steps ----

    def step(self, closure: Any = None) -> Any:
        """Run up to `max_iter` iterations, which update the parameters.

        closure (callable): Function that computes the loss and its gradients, and returns the loss. It is called
        several times.

        Returns (object): The result of the first call of the closure.
        """
        if closure is None:
            raise ArgumentError(
                "LBFGS.step: closure must be a function that returns the loss, got None; pass optimizer.step(closure)"
            )
        with no_grad():
            return self.iterate(closure)

    def iterate(self, closure: Callable[[], Any]) -> Any:
        """Iterate until a stopping condition is met; return the first loss."""
        group = self.param_groups[0]
        state = self.state[group["params"][0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        with recording_on():
            first_loss = closure()
        run = Run(self, closure, group, state, float(first_loss))
        state["func_evals"] += 1
        if largest(run.gradient) <= group["tolerance_grad"]:
            return first_loss
        for k in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            run.choose_direction()
            if run.descent > -group["tolerance_change"] or run.advance(last=k == group["max_iter"]):
                break
        run.save()
        return first_loss


class Run:
    """The state of one call of `step`.

    `direction` and `length` describe the last step; `descent` is the derivative of the loss along the direction.
    """

    def __init__(
        self, optimizer: LBFGS, closure: Callable[[], Any], group: dict[str, Any], state: dict[str, Any], loss: float
    ) -> None:
        self.optimizer, self.closure, self.group, self.state, self.loss = optimizer, closure, group, state, loss
        self.gradient = optimizer.gradient()
        self.evaluations = 1
        self.direction: Any = state.get("d")
        self.length: Any = state.get("t")
        self.changes: list[Any] = state.get("old_dirs") or []
        self.steps: list[Any] = state.get("old_stps") or []
        self.ro: list[Any] = state.get("ro") or []
        self.diagonal: Any = state.get("H_diag", 1)
        self.last_gradient: Any
        self.last_loss: Any
        self.last_gradient, self.last_loss = state.get("prev_flat_grad"), state.get("prev_loss")
        self.descent = 0.0

    def choose_direction(self) -> None:
        """Compute the next direction, and the length that the line search tries first."""
        rate = float(self.group["lr"])
        if self.state["n_iter"] == 1:
            self.direction, self.changes, self.steps, self.ro, self.diagonal = -self.gradient, [], [], [], 1
            total = float(self.gradient.abs().sum())
            self.length = min(1.0, 1.0 / total) * rate if total else rate
        else:
            self.remember()
            self.direction = self.newton()
            self.length = rate
        self.last_gradient, self.last_loss = self.gradient, self.loss
        self.descent = float(dot(self.gradient, self.direction))

    def remember(self) -> None:
        """Store the last step and the change of the gradient, if the curvature along the step is positive."""
        change, step = self.gradient - self.last_gradient, self.direction * self.length
        curvature = float(dot(change, step))
        if curvature > CURVATURE:
            if len(self.changes) == self.group["history_size"]:
                for kept in (self.changes, self.steps, self.ro):
                    kept.pop(0)
            self.changes.append(change)
            self.steps.append(step)
            self.ro.append(1.0 / curvature)
            self.diagonal = curvature / float(dot(change, change))

    def newton(self) -> Any:
        """Return the negative gradient times the approximate inverse Hessian, with the two-loop recursion."""
        result, weights = -self.gradient, [0.0] * len(self.changes)
        for k in range(len(self.changes) - 1, -1, -1):
            weights[k] = float(dot(self.steps[k], result)) * float(self.ro[k])
            result = result - weights[k] * self.changes[k]
        result = result * float(self.diagonal)
        for k, weight in enumerate(weights):
            beta = float(dot(self.changes[k], result)) * float(self.ro[k])
            result = result + (weight - beta) * self.steps[k]
        return result

    def advance(self, last: bool) -> bool:
        """Take a step; return whether a stopping condition is met."""
        group, evaluations, optimal = self.group, 0, False
        if group["line_search_fn"] is not None:
            evaluations = self.search()
            self.optimizer.move(self.length, self.direction)
            optimal = largest(self.gradient) <= group["tolerance_grad"]
        else:
            self.optimizer.move(self.length, self.direction)
            if not last:
                self.loss = self.optimizer.evaluated(self.closure)
                self.gradient = self.optimizer.gradient()
                optimal = largest(self.gradient) <= group["tolerance_grad"]
                evaluations = 1
        self.evaluations += evaluations
        self.state["func_evals"] += evaluations
        return (
            last
            or self.evaluations >= group["max_eval"]
            or optimal
            or largest(self.direction * self.length) <= group["tolerance_change"]
            or abs(self.loss - self.last_loss) < group["tolerance_change"]
        )

    def search(self) -> int:
        """Find a length that satisfies the strong Wolfe conditions; return the number of evaluations."""
        params = [p.detach() for p in self.optimizer.parameters()]
        start = [namespaces[MG]["clone"](p) for p in params]

        def at(length: float) -> tuple[float, Any, float]:
            self.optimizer.move(length, self.direction)
            loss = self.optimizer.evaluated(self.closure)
            gradient = self.optimizer.gradient()
            lists.copy_(params, start)
            return loss, gradient, float(dot(gradient, self.direction))

        point, evaluations = strong_wolfe(
            at, self.length, (self.loss, self.gradient, self.descent), largest(self.direction),
            tolerance=self.group["tolerance_change"], limit=self.group["max_eval"] - self.evaluations,
        )  # fmt: skip
        self.length, self.loss, self.gradient = point.length, point.loss, point.gradient
        return evaluations

    def save(self) -> None:
        """Store the values that the next call of `step` needs, under PyTorch's names."""
        self.state |= {
            "d": self.direction, "t": self.length, "old_dirs": self.changes, "old_stps": self.steps, "ro": self.ro,
            "H_diag": self.diagonal, "prev_flat_grad": self.last_gradient, "prev_loss": self.last_loss,
        }  # fmt: skip


def dot(a: Tensor, b: Tensor) -> Any:
    """Compute the inner product of two vectors."""
    return (a * b).sum()


def largest(x: Any) -> float:
    """Return the largest magnitude of a vector, or nan if an element is nan."""
    return float(x.abs().max())
