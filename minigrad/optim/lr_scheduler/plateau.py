"""A schedule that depends on a metric: the rate falls when the metric no longer improves."""

from __future__ import annotations

import math
from typing import Any

from minigrad.core.roles import Choice
from minigrad.errors import ArgumentError, warn
from minigrad.optim.lr_scheduler.base import EPOCH_DEPRECATION_WARNING, LRScheduler, expect_optimizer, per_group, put
from minigrad.optim.optimizer import Optimizer


class ReduceLROnPlateau(LRScheduler):
    """Multiply the learning rate by a factor when a metric has not improved for more than `patience` epochs.

    optimizer: Optimizer whose learning rates each `step()` of this scheduler overwrites.
    mode: Whether a lower ("min", the default) or a higher ("max") metric is better.
    factor: Factor of each change, below 1.
    patience: Number of epochs without an improvement after which the rate does not change yet; one more epoch changes
    it.
    threshold: Smallest change that counts as an improvement.
    threshold_mode: Whether the threshold is relative to the best value ("rel") or an absolute difference ("abs").
    cooldown: Number of epochs after a change in which epochs without an improvement are not counted.
    min_lr: Lower bound of the rate; a list contains one bound per group.
    eps: A rate is only changed if the change exceeds this value.
    """

    def __init__(
        self, optimizer: Optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10,
        threshold: float = 1e-4, threshold_mode: str = "rel", cooldown: int = 0, min_lr: float | list[float] = 0,
        eps: float = 1e-8,
    ) -> None:  # fmt: skip
        if factor >= 1.0:
            raise ArgumentError(
                f"ReduceLROnPlateau: factor must be less than 1, got {factor}; pass factor=0.1, for example"
            )
        Choice("min", "max").expect("ReduceLROnPlateau", mode=mode)
        Choice("rel", "abs").expect("ReduceLROnPlateau", threshold_mode=threshold_mode)
        self.optimizer = expect_optimizer("ReduceLROnPlateau", optimizer)
        self.min_lrs = per_group("ReduceLROnPlateau: min_lr", optimizer, min_lr)
        self.default_min_lr: Any = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self.factor, self.patience, self.cooldown, self.eps = factor, patience, cooldown, eps
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.last_epoch = 0
        self._last_lr = self.current()
        self._reset()

    def _reset(self) -> None:
        """Reset the best value and the counters."""
        self.best, self.cooldown_counter, self.num_bad_epochs = self.mode_worse, 0, 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:
        """Record the metric of an epoch, and lower the rates if it has not improved for more than `patience` epochs.

        metrics (float or Tensor): Metric of this epoch.
        epoch: Index of the epoch; deprecated, as in PyTorch.
        """
        value = float(metrics)
        if epoch is not None:
            warn(EPOCH_DEPRECATION_WARNING)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(value, self.best):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self.current()

    def _reduce_lr(self) -> None:
        """Multiply the rates by the factor, within the bounds `min_lr`."""
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise ArgumentError(
                    f"ReduceLROnPlateau: min_lr must have one value for each of the {len(groups)} parameter groups of "
                    f"the optimizer, which has new groups, got {len(self.min_lrs)} values; set scheduler.min_lrs"
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs, strict=True):
            old = float(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                put(group, "lr", new)

    @property
    def in_cooldown(self) -> bool:
        """Return whether the schedule is in the cooldown after a change of the rate."""
        return self.cooldown_counter > 0

    def is_better(self, value: float, best: float) -> bool:
        """Return whether a value is an improvement over the best value."""
        if self.mode == "min":
            return value < (best * (1.0 - self.threshold) if self.threshold_mode == "rel" else best - self.threshold)
        return value > (best * (self.threshold + 1.0) if self.threshold_mode == "rel" else best + self.threshold)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a result of `state_dict`."""
        super().load_state_dict(state_dict)
        self.mode_worse = math.inf if self.mode == "min" else -math.inf
