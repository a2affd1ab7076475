"""Averages of a model's parameters over its training: stochastic weight averaging, and exponential means.

A model is any object with `parameters()`, and `buffers()` and `modules()` where they are used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from itertools import chain
from typing import Any

from minigrad.api.absent import present
from minigrad.core.dtype import int64
from minigrad.declare.names import MG, namespaces
from minigrad.errors import ArgumentError
from minigrad.optim import lists
from minigrad.optim.lr_scheduler.base import LRScheduler, Rates, per_group
from minigrad.optim.optimizer import Optimizer
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor

Update = Callable[[Tensor, Tensor, Any], Tensor]
MultiUpdate = Callable[[Sequence[Tensor], Sequence[Tensor], Any], None]


def expect_decay(name: str, decay: float) -> None:
    """Raise ArgumentError unless a decay is between 0 and 1."""
    if not 0.0 <= decay <= 1.0:
        raise ArgumentError(f"{name}: expected decay in [0, 1], got {decay}")


def get_ema_multi_avg_fn(decay: float = 0.999) -> MultiUpdate:
    """Return a function that updates exponential moving averages of lists of tensors, by one launch.

    Parameters
    ----------
    decay : float, default 0.999
        Weight of the average, from 0 to 1; the current value has the weight 1 - decay.

    Returns
    -------
    callable
        A function of the averages, the current values and their count; it writes the averages.

    Raises
    ------
    ArgumentError
        If `decay` is not between 0 and 1.
    """
    expect_decay("get_ema_multi_avg_fn", decay)

    def ema_update(averages: Sequence[Tensor], current: Sequence[Tensor], _: Any) -> None:
        lists.lerp_(averages, current, 1 - decay)

    return ema_update


def get_swa_multi_avg_fn() -> MultiUpdate:
    """Return a function that updates the means of lists of tensors, by one launch.

    Returns
    -------
    callable
        A function of the means, the current values and the number of values in the means; it writes the means.
    """

    def swa_update(averages: Sequence[Tensor], current: Sequence[Tensor], num_averaged: Any) -> None:
        lists.lerp_(averages, current, 1 / (int(num_averaged) + 1))

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> Update:
    """Return a function that updates an exponential moving average.

    Parameters
    ----------
    decay : float, default 0.999
        Weight of the average, from 0 to 1; the current value has the weight 1 - decay.

    Returns
    -------
    callable
        A function of an average, a current value and their count, which returns the new average.

    Raises
    ------
    ArgumentError
        If `decay` is not between 0 and 1.
    """
    expect_decay("get_ema_avg_fn", decay)

    def ema_update(average: Any, current: Any, num_averaged: Any) -> Any:
        with no_grad():
            return decay * average + (1 - decay) * current

    return ema_update


def get_swa_avg_fn() -> Update:
    """Return a function that updates a mean.

    Returns
    -------
    callable
        A function of a mean, a current value and the number of values in the mean, which returns the new mean.
    """

    def swa_update(average: Any, current: Any, num_averaged: Any) -> Any:
        with no_grad():
            return average + (current - average) / (num_averaged + 1)

    return swa_update


class AveragedModel:
    """A copy of a model whose parameters are averages.

    Parameters
    ----------
    model : object
        A module, or anything that `copy.deepcopy` copies and that has `parameters()`.
    device : Device or str, optional
        Where the copy lives.
    avg_fn : callable, optional
        From an average, a current value and their count to the new average.
    multi_avg_fn : callable, optional
        The same over lists of tensors, in place; the mean by default, by one launch.
    use_buffers : bool, default False
        Average buffers as well; otherwise they are copied.

    Attributes
    ----------
    module : object
        The copy.
    n_averaged : Tensor
        How many models were averaged; int64.
    """

    def __init__(
        self, model: Any, device: Any = None, avg_fn: Update | None = None, multi_avg_fn: MultiUpdate | None = None,
        use_buffers: bool = False,
    ) -> None:  # fmt: skip
        if avg_fn is not None and multi_avg_fn is not None:
            raise ArgumentError("AveragedModel: expected avg_fn or multi_avg_fn, got both")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.n_averaged: Any = namespaces[MG]["tensor"](0, dtype=int64)
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the copy."""
        return self.module(*args, **kwargs)

    forward = __call__

    def __getattr__(self, name: str) -> Any:
        """Anything else is the copy's: `parameters`, `eval`, `train`."""
        if name == "module":
            raise AttributeError(name)
        return getattr(self.module, name)

    def state_dict(self) -> dict[str, Any]:
        """Return the count and the state of the copy, whose keys begin with "module."."""
        return {"n_averaged": self.n_averaged,
                **{f"module.{key}": value for key, value in self.module.state_dict().items()}}  # fmt: skip

    def load_state_dict(self, state_dict: dict[str, Any], strict: bool = True) -> Any:
        """Load the result of `state_dict`, of this library or of PyTorch."""
        own = {key.removeprefix("module."): value for key, value in state_dict.items() if key.startswith("module.")}
        self.n_averaged = namespaces[MG]["tensor"](int(state_dict["n_averaged"]), dtype=int64)
        return self.module.load_state_dict(own, strict=strict)

    def update_parameters(self, model: Any) -> None:
        """Add the parameters of a model to the averages; the first time they are copied.

        Parameters
        ----------
        model : object
            The model that was copied, as it is now.
        """
        with no_grad():
            self._average(tensors_of(self.module, self.use_buffers), tensors_of(model, self.use_buffers))
            if not self.use_buffers:
                pairs = list(zip(buffers_of(self.module), buffers_of(model), strict=True))
                lists.copy_([a for a, _ in pairs], [b.to(a.device, a.dtype) for a, b in pairs])
            self.n_averaged += 1

    def _average(self, averages: list[Any], current: list[Any]) -> None:
        """Move averages to current values, which may be on another device."""
        moved = [x.to(a.device, a.dtype) for a, x in zip(averages, current, strict=True)]
        if int(self.n_averaged) == 0:
            lists.copy_(averages, moved)
        elif self.avg_fn is not None:
            for a, x in zip(averages, moved, strict=True):
                a.copy_(self.avg_fn(a, x, self.n_averaged.to(a.device)))
        else:
            update = self.multi_avg_fn or get_swa_multi_avg_fn()
            groups: dict[Any, tuple[list[Any], list[Any]]] = {}
            for a, x in zip(averages, moved, strict=True):
                group = groups.setdefault((a.device, a.dtype), ([], []))
                group[0].append(a)
                group[1].append(x)
            for group in groups.values():
                update(*group, self.n_averaged)


def buffers_of(model: Any) -> list[Any]:
    """Return the buffers of a model, without history; none where it has no such method."""
    return [x.detach() for x in model.buffers()] if hasattr(model, "buffers") else []


def tensors_of(model: Any, buffers: bool) -> list[Any]:
    """Return the parameters of a model without history, and its buffers where they count."""
    return [x.detach() for x in chain(model.parameters(), buffers_of(model) if buffers else ())]


def update_bn(loader: Iterable[Any], model: Any, device: Any = None) -> None:
    """Compute the running means and variances of all batch norms of a model again, over a loader.

    Parameters
    ----------
    loader : iterable
        Batches; of a tuple or a list the first entry is the input.
    model : Module
        It is called with each batch, in training mode, without recording.
    device : Device or str, optional
        Where batches are moved.
    """
    norms = [each for each in model.modules() if hasattr(each, "reset_running_stats")]
    norms = [each for each in norms if getattr(each, "running_mean", None) is not None]
    if not norms:
        return
    momenta, training = [each.momentum for each in norms], model.training
    for each in norms:
        each.reset_running_stats()
        each.momentum = None  # None means the mean of all batches
    model.train()
    with no_grad():
        for batch in loader:
            x = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(x if device is None else x.to(device))
    for each, momentum in zip(norms, momenta, strict=True):
        each.momentum = momentum
    model.train(training)


class SWALR(LRScheduler):
    """Move the rates to constant ones over some epochs.

    Parameters
    ----------
    optimizer : Optimizer
        The rates in its groups are overwritten, here and by each `step`.
    swa_lr : float or list of float
        The rate at the end; a list has one for each group.
    anneal_epochs : int, default 10
        Number of epochs that the change takes; 0 for at once.
    anneal_strategy : {"cos", "linear"}
        Along a cosine or a line.
    last_epoch : int, default -1
        See `LRScheduler`.
    """

    def __init__(
        self, optimizer: Optimizer, swa_lr: Any, anneal_epochs: int = 10, anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        for group, rate in zip(optimizer.param_groups, per_group("swa_lr", optimizer, swa_lr), strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ArgumentError(f"SWALR: expected anneal_strategy 'cos' or 'linear', got {anneal_strategy!r}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ArgumentError(f"SWALR: expected anneal_epochs to be an int of at least 0, got {anneal_epochs!r}")
        self._anneal_strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        super().__init__(optimizer, last_epoch)

    def part(self, step: int) -> float:
        """Return the fraction of the change that is done at a step."""
        t = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * t)) / 2 if self._anneal_strategy == "cos" else t

    def get_lr(self) -> Rates:
        """Compute the rates of this epoch from those of the epoch before."""
        self._expect_within_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self.part(step - 1), self.part(step)
        rates = []
        for group in self.optimizer.param_groups:
            rate, goal = group["lr"], group["swa_lr"]
            first = goal if before == 1 else (rate - before * goal) / (1 - before)
            rates.append(goal * now + first * (1 - now))
        return rates


present(globals(), {each.__name__: each for each in (
    AveragedModel, SWALR, get_ema_avg_fn, get_ema_multi_avg_fn, get_swa_avg_fn, get_swa_multi_avg_fn, update_bn,
)})  # fmt: skip
