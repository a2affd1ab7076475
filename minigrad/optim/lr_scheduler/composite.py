"""Schedules that combine other schedules: one after another, or all at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from minigrad.errors import ArgumentError, DTypeError
from minigrad.optim.lr_scheduler.base import LRScheduler, put
from minigrad.optim.lr_scheduler.plateau import ReduceLROnPlateau
from minigrad.optim.optimizer import Optimizer


class Composite(LRScheduler):
    """Base of the schedules that combine other schedules."""

    unsaved = ("optimizer", "_schedulers")
    _schedulers: list[Any]

    def expect_schedulers(self, schedulers: Sequence[Any], optimizer: Any) -> Any:
        """Return the optimizer to which all schedulers belong; raise an error if one needs a metric in `step`."""
        name = type(self).__name__
        if not schedulers:
            raise ArgumentError(
                f"{name}: schedulers must contain at least one scheduler, got none; pass a list of schedulers"
            )
        optimizer = optimizer or getattr(schedulers[0], "optimizer", None)
        for k, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise DTypeError(
                    f"{name}: schedulers must contain only schedulers, got {type(scheduler).__name__} at index {k}; "
                    "pass a list such as [StepLR(optimizer, 10)]"
                )
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ArgumentError(
                    f"{name}: ReduceLROnPlateau, at index {k}, cannot be combined with others, because its step() "
                    "requires a metric; call its step() separately"
                )
            if scheduler.optimizer is not optimizer:
                raise ArgumentError(
                    f"{name}: all schedulers must belong to one optimizer, but the scheduler at index {k} belongs to "
                    "another; create this scheduler with the same optimizer"
                )
        return optimizer

    def state_dict(self) -> dict[str, Any]:
        """Return all attributes except the optimizer, and the states of the schedulers."""
        return {**super().state_dict(), "_schedulers": [each.state_dict() for each in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a result of `state_dict`."""
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "_schedulers"})
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(state)


class SequentialLR(Composite):
    """Run schedules one after another; the first begins at epoch 0, and each other schedule begins at its milestone.

    schedulers (list of LRScheduler): Schedules of `optimizer`.
    milestones: Epochs at which the second and all later schedules begin, in ascending order.
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: list[Any], milestones: list[int], last_epoch: int = -1
    ) -> None:
        self.expect_schedulers(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ArgumentError(
                f"SequentialLR: milestones must have one entry fewer than schedulers, got {len(milestones)} milestones "
                f"and {len(schedulers)} schedulers; pass one milestone per change of the scheduler"
            )
        self._schedulers, self._milestones = schedulers, milestones
        self.last_epoch, self.optimizer = last_epoch + 1, optimizer
        for group in optimizer.param_groups:
            put(group, "lr", group["initial_lr"])
        undo(schedulers)  # each scheduler took a first step when it was created
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def step(self, epoch: int | None = None) -> None:
        """Take a step of the schedule that is active in this epoch."""
        self.last_epoch += 1
        k = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[k]
        if k > 0 and self._milestones[k - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


def undo(schedulers: Sequence[Any]) -> None:
    """Decrease the epoch of all schedulers by one, including the schedulers that they combine."""
    for scheduler in schedulers:
        if hasattr(scheduler, "_schedulers"):
            undo(scheduler._schedulers)
        elif hasattr(scheduler, "last_epoch"):
            scheduler.last_epoch -= 1


class ChainedScheduler(Composite):
    """Run several schedules at each step, so that the product of their factors multiplies the learning rate.

    schedulers (sequence of LRScheduler): Schedules of the same optimizer.
    optimizer: The optimizer of the schedules; by default the optimizer of the first schedule.
    """

    def __init__(self, schedulers: Sequence[Any], optimizer: Optimizer | None = None) -> None:
        self.optimizer = self.expect_schedulers(schedulers, optimizer)
        self._schedulers = list(schedulers)
        self._last_lr = self.current()

    def step(self, epoch: int | None = None) -> None:
        """Take a step of each schedule."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self.current()
