"""Schedules that raise and lower the rate while the momentum changes in the opposite direction."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any

from minigrad.core.roles import Choice, Number
from minigrad.errors import ArgumentError
from minigrad.optim.lr_scheduler.base import LRScheduler, Rates, attributes_of, expect_optimizer, per_group, put
from minigrad.optim.optimizer import Optimizer

PerGroup = float | list[float]


class WithMomentum(LRScheduler):
    """Base class of the schedules that also change the momentum or the first beta.

    `use_beta1` is True if the optimizer has betas instead of a momentum.
    """

    def begin_momentum(
        self, optimizer: Optimizer, base: PerGroup, highest: PerGroup, fresh: bool
    ) -> tuple[list[Any], list[Any]]:
        """Determine which option is the momentum, write its initial value, and return the bounds of each group."""
        options = optimizer.defaults
        if "momentum" not in options and "betas" not in options:
            raise ArgumentError(
                f"{type(self).__name__}: cycle_momentum=True requires an optimizer with momentum or betas, got "
                f"{type(optimizer).__name__}; pass cycle_momentum=False"
            )
        self.use_beta1 = "betas" in options
        bounds = per_group("base_momentum", optimizer, base), per_group("max_momentum", optimizer, highest)
        if fresh:
            for group, low, high in zip(optimizer.param_groups, *bounds, strict=True):
                self.put_momentum(group, high)
                group["max_momentum"], group["base_momentum"] = high, low
        return bounds

    def put_momentum(self, group: dict[str, Any], value: float) -> None:
        """Write the momentum of a group."""
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


class CyclicLR(WithMomentum):
    """Raise the learning rate linearly from `base_lr` to `max_lr` and lower it again, in cycles.

    base_lr and max_lr: Smallest and largest rate; a list contains one rate per group.
    step_size_up: Number of epochs in which the rate rises.
    step_size_down: Number of epochs in which the rate falls; by default `step_size_up`.
    mode: Factor of the difference max_lr - base_lr: 1 for "triangular"; 1 in the first cycle and half the previous
    factor in each later cycle for "triangular2"; gamma**epoch for "exp_range".
    gamma: Base of the power for "exp_range".
    scale_fn: Function that maps the index of a cycle or an epoch to the factor; it replaces `mode`.
    scale_mode ({"cycle", "iterations"}): Whether `scale_fn` receives the index of the cycle or of the epoch.
    base_momentum and max_momentum: Smallest and largest momentum; a list contains one value per group.

    Source: L. Smith, Cyclical Learning Rates for Training Neural Networks.
    """

    def __init__(
        self, optimizer: Optimizer, base_lr: PerGroup, max_lr: PerGroup, step_size_up: int = 2000,
        step_size_down: int | None = None, mode: str = "triangular", gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None, scale_mode: str = "cycle", cycle_momentum: bool = True,
        base_momentum: PerGroup = 0.8, max_momentum: PerGroup = 0.9, last_epoch: int = -1,
    ) -> None:  # fmt: skip
        expect_optimizer("CyclicLR", optimizer)
        base_lrs = per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, base_lrs, strict=True):
                put(group, "lr", rate)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if scale_fn is None:
            advice = "pass scale_fn for another shape of the cycle"
            Choice("triangular", "triangular2", "exp_range", advice=advice).expect("CyclicLR", mode=mode)
        self.mode, self.gamma, self._scale_fn_custom = mode, gamma, scale_fn
        self.scale_mode = scale_mode if scale_fn else "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            bounds = self.begin_momentum(optimizer, base_momentum, max_momentum, last_epoch == -1)
            self.base_momentums, self.max_momentums = bounds
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """Return the height of the cycle or epoch with the index x."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "exp_range":
            return float(self.gamma**x)
        return 1 / 2.0 ** (x - 1) if self.mode == "triangular2" else 1.0

    def _rates(self) -> Rates:
        """Compute the rates of this epoch, and write the momentum of each group."""
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        part = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        height = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group, low, high in zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums):
                self.put_momentum(group, high - (high - low) * part * height)
        return [low + (high - low) * part * height for low, high in zip(self.base_lrs, self.max_lrs)]

    def state_dict(self) -> dict[str, Any]:
        """Return all attributes except the optimizer; for `scale_fn`, only the attributes of a callable object."""
        state = super().state_dict()
        custom = self._scale_fn_custom
        return {**state, "_scale_fn_custom": None if custom is None else attributes_of(custom)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a result of `state_dict`."""
        state = dict(state_dict)
        custom = state.pop("_scale_fn_custom")
        super().load_state_dict(state)
        if custom is not None and not isinstance(self._scale_fn_custom, types.FunctionType):
            self._scale_fn_custom.__dict__.update(custom)


class OneCycleLR(WithMomentum):
    """Raise the learning rate from max_lr / div_factor to `max_lr`, then lower it far below the initial rate.

    max_lr: Largest rate; a list contains one rate per group.
    total_steps: Number of steps; by default `epochs` times `steps_per_epoch`.
    epochs and steps_per_epoch: Number of epochs, and number of steps per epoch; required without `total_steps`.
    pct_start: Fraction of the steps in which the rate rises.
    anneal_strategy ({"cos", "linear"}): Shape of the change: along a cosine or linear.
    base_momentum and max_momentum: Smallest and largest momentum; a list contains one value per group.
    div_factor: Ratio of `max_lr` to the initial rate.
    final_div_factor: Ratio of the initial rate to the final rate.
    three_phase: Whether the rate falls to the initial rate in as many steps as it rose, and then to the final rate.

    Source: L. Smith and N. Topin, Super-Convergence: Very Fast Training of Neural Networks Using Large Learning Rates.
    """

    def __init__(
        self, optimizer: Optimizer, max_lr: PerGroup, total_steps: int | None = None, epochs: int | None = None,
        steps_per_epoch: int | None = None, pct_start: float = 0.3, anneal_strategy: str = "cos",
        cycle_momentum: bool = True, base_momentum: PerGroup = 0.85, max_momentum: PerGroup = 0.95,
        div_factor: float = 25.0, final_div_factor: float = 1e4, three_phase: bool = False, last_epoch: int = -1,
    ) -> None:  # fmt: skip
        expect_optimizer("OneCycleLR", optimizer)
        self.total_steps = steps_of(total_steps, epochs, steps_per_epoch)
        Number(0, 1, example=0.3).expect("OneCycleLR", pct_start=pct_start)
        Choice("cos", "linear").expect("OneCycleLR", anneal_strategy=anneal_strategy)
        self._schedule_phases = phases(self.total_steps, pct_start, three_phase)
        self._anneal_func_type = anneal_strategy
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, per_group("max_lr", optimizer, max_lr), strict=True):
                group["initial_lr"], group["max_lr"] = rate / div_factor, rate
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.begin_momentum(optimizer, base_momentum, max_momentum, last_epoch == -1)
        super().__init__(optimizer, last_epoch)

    def anneal(self, start: float, end: float, part: float) -> float:
        """Return the value at the fraction `part` of the way from `start` to `end`."""
        if self._anneal_func_type == "linear":
            return (end - start) * part + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)

    def _rates(self) -> Rates:
        """Compute the rates of this step, and write the momentum of each group."""
        step = self.last_epoch
        if step > self.total_steps:
            raise ArgumentError(
                f"OneCycleLR: step() can be called at most total_steps={self.total_steps} times, got step {step}; pass "
                "a larger total_steps"
            )
        start = 0.0
        for phase in self._schedule_phases:
            if step <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            start = phase["end_step"]
        part = (step - start) / (phase["end_step"] - start)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self.anneal(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                ends = group[phase["start_momentum"]], group[phase["end_momentum"]]
                self.put_momentum(group, self.anneal(*ends, part))
        return rates


def steps_of(total_steps: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
    """Return the number of steps of the cycle; raise ArgumentError unless it follows from positive ints."""
    if total_steps is None and (epochs is None or steps_per_epoch is None):
        raise ArgumentError(
            "OneCycleLR: either total_steps, or both epochs and steps_per_epoch are required, got neither; pass "
            "total_steps=1000, for example"
        )
    named: dict[str, Any] = {"total_steps": total_steps}
    if total_steps is None:
        named = {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
    Number(1, whole=True, example=100).expect("OneCycleLR", **named)
    return math.prod(named.values())


def phases(steps: int, part: float, three: bool) -> list[dict[str, Any]]:
    """Return for each phase its last step, and the names of its initial and final values."""
    up = {"end_step": float(part * steps) - 1, "start_lr": "initial_lr", "end_lr": "max_lr",
          "start_momentum": "max_momentum", "end_momentum": "base_momentum"}  # fmt: skip
    down = {"end_step": steps - 1, "start_lr": "max_lr", "end_lr": "min_lr",
            "start_momentum": "base_momentum", "end_momentum": "max_momentum"}  # fmt: skip
    if not three:
        return [up, down]
    back = {**down, "end_step": float(2 * part * steps) - 2, "end_lr": "initial_lr"}
    last = {**down, "start_lr": "initial_lr", "start_momentum": "max_momentum"}
    return [up, back, last]
