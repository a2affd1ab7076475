"""Schedules along a cosine, once or with restarts."""

from __future__ import annotations

import math

from minigrad.core.roles import Number
from minigrad.errors import ArgumentError
from minigrad.optim.lr_scheduler.base import LRScheduler, Rates
from minigrad.optim.optimizer import Optimizer


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
        if not isinstance(eta_min, (float, int)):
            raise ArgumentError(
                f"CosineAnnealingWarmRestarts: eta_min must be a number, got {eta_min!r}; pass eta_min=0.0"
            )
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
