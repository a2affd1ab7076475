"""Schedules that follow a formula of the epoch: factors, steps, a line, a power, a polynomial, or a cosine."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable

from minigrad.core.roles import Number
from minigrad.optim.lr_scheduler.base import LRScheduler, Rates, WithFunctions
from minigrad.optim.optimizer import Optimizer


class LambdaLR(WithFunctions):
    """Multiply the initial learning rate by a function of the epoch.

    >>> optimizer = mg.optim.SGD([mg.Var([1.0])], lr=2.0)
    >>> scheduler = mg.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5**epoch)
    >>> optimizer.step(); scheduler.step()
    >>> scheduler.get_last_lr()
    [1.0]
    """

    def _rates(self) -> Rates:
        return [rate * function(self.last_epoch) for function, rate in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(WithFunctions):
    """Multiply the previous rate by a function of the epoch."""

    def _rates(self) -> Rates:
        if self._is_initial:
            return self.current()
        return [rate * function(self.last_epoch)
                for function, rate in zip(self.lr_lambdas, self.current(), strict=True)]  # fmt: skip


class StepLR(LRScheduler):
    """Multiply the learning rate by gamma every `step_size` epochs.

    step_size: Number of epochs between two changes.
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> Rates:
        if self.last_epoch == 0 or self.last_epoch % self.step_size:
            return self.current()
        return [rate * self.gamma for rate in self.current()]

    def _get_closed_form_lr(self) -> Rates:
        return [rate * self.gamma ** (self.last_epoch // self.step_size) for rate in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Multiply the learning rate by gamma at the epochs in `milestones`.

    milestones: Epochs at which the rate changes; an epoch that occurs twice changes the rate twice.
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> Rates:
        if self.last_epoch not in self.milestones:
            return self.current()
        return [rate * self.gamma ** self.milestones[self.last_epoch] for rate in self.current()]

    def _get_closed_form_lr(self) -> Rates:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [rate * self.gamma**passed for rate in self.base_lrs]


class ConstantLR(LRScheduler):
    """Multiply the initial learning rate by a factor for `total_iters` epochs; then use the initial rate.

    factor: Factor of the initial rate, greater than 0 and at most 1.
    total_iters: Number of epochs in which the factor applies.
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        Number(0, 1, example=0.5).expect("ConstantLR", factor=factor)
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> Rates:
        if self.last_epoch == 0:
            return [rate * self.factor for rate in self.current()]
        if self.last_epoch != self.total_iters:
            return self.current()
        return [rate * (1.0 / self.factor) for rate in self.current()]

    def _get_closed_form_lr(self) -> Rates:
        factor = self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor)
        return [rate * factor for rate in self.base_lrs]


class LinearLR(LRScheduler):
    """Multiply the initial learning rate by a factor that changes linearly over `total_iters` epochs.

    start_factor and end_factor: Factors at the first epoch and after `total_iters` epochs. The first is in (0, 1], the
    second in [0, 1].
    total_iters: Number of epochs in which the factor changes.
    """

    def __init__(
        self, optimizer: Optimizer, start_factor: float = 1.0 / 3, end_factor: float = 1.0, total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        Number(0, 1, above=0, example=0.1).expect("LinearLR", start_factor=start_factor)
        Number(0, 1, example=1.0).expect("LinearLR", end_factor=end_factor)
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> Rates:
        if self.last_epoch == 0:
            return [rate * self.start_factor for rate in self.current()]
        if self._is_initial or self.last_epoch > self.total_iters:
            return self.current()
        rise = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * rise
        return [rate * (1.0 + rise / before) for rate in self.current()]

    def _get_closed_form_lr(self) -> Rates:
        rise = self.end_factor - self.start_factor
        passed = min(self.total_iters, self.last_epoch)
        return [rate * (self.start_factor + rise * passed / self.total_iters) for rate in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Multiply the learning rate by gamma after each epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> Rates:
        return self.current() if self._is_initial else [rate * self.gamma for rate in self.current()]

    def _get_closed_form_lr(self) -> Rates:
        return [rate * self.gamma**self.last_epoch for rate in self.base_lrs]


class PolynomialLR(LRScheduler):
    """Multiply the initial learning rate by (1 - epoch / total_iters)**power; it is 0 from `total_iters` epochs on.

    total_iters: Number of epochs in which the rate falls.
    power: Exponent of the formula.
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> Rates:
        if self._is_initial or self.last_epoch > self.total_iters:
            return self.current()
        now, before = (1.0 - epoch / self.total_iters for epoch in (self.last_epoch, self.last_epoch - 1))
        return [rate * (now / before) ** self.power for rate in self.current()]

    def _get_closed_form_lr(self) -> Rates:
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [rate * left**self.power for rate in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """Change the learning rate along a cosine with half period `T_max`, from the initial rate to `eta_min` and back.

    T_max: Number of epochs from the initial rate to the smallest rate.

    Source: I. Loshchilov and F. Hutter, SGDR: Stochastic Gradient Descent with Warm Restarts, equation 5.
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> Rates:
        if self._is_initial:
            return self.current()
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        # The previous rate was `eta_min`, so the recursive formula would divide by 0.
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [rate + (base - self.eta_min) * rise for base, rate in zip(self.base_lrs, self.current())]
        now, before = (1 + math.cos(math.pi * epoch / self.T_max) for epoch in (self.last_epoch, self.last_epoch - 1))
        return [now / before * (rate - self.eta_min) + self.eta_min for rate in self.current()]

    def _get_closed_form_lr(self) -> Rates:
        part = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (rate - self.eta_min) * part for rate in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Lower the learning rate to `eta_min` along half a period of a cosine, and restart from the initial rate.

    T_0: Number of epochs of the first run.
    T_mult: Ratio of the length of each run to the length of the previous run.

    Source: I. Loshchilov and F. Hutter, SGDR: Stochastic Gradient Descent with Warm Restarts, section 3.
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        Number(1, whole=True, example=10).expect("CosineAnnealingWarmRestarts", T_0=T_0, T_mult=T_mult)
        Number(example=0.0).expect("CosineAnnealingWarmRestarts", eta_min=eta_min)
        self.T_0, self.T_i, self.T_mult, self.eta_min = T_0, T_0, T_mult, eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> Rates:
        part = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (rate - self.eta_min) * part for rate in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Write the rates of the next epoch, or of a fractional epoch.

        epoch: Epoch to jump to, as in `scheduler.step(epoch + batch / batches)`.
        """
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        else:
            self._jump(epoch)
        self.last_epoch = math.floor(epoch)
        with self._computing():
            values = self.get_lr()
        self._write(values)

    def _jump(self, epoch: float) -> None:
        """Set the length of the run that contains an epoch, and the position in the run."""
        Number(0, example=0).expect("CosineAnnealingWarmRestarts", epoch=epoch)
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            runs = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**runs - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**runs
