"""Averages of a model's parameters during training: stochastic weight averaging, and exponential moving averages.

A model is any object with `parameters()`; some functions also need `buffers()` and `modules()`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from itertools import chain
from typing import Any

from minigrad.core.dtype import int64
from minigrad.core.roles import Choice, Number
from minigrad.declare.advice import present
from minigrad.declare.names import MG, namespaces
from minigrad.errors import ArgumentError
from minigrad.optim import lists
from minigrad.optim.lr_scheduler.base import LRScheduler, Rates, per_group
from minigrad.optim.optimizer import Optimizer
from minigrad.runtime.hosting import hosted
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor

Update = Callable[[Tensor, Tensor, Any], Tensor]
MultiUpdate = Callable[[Sequence[Tensor], Sequence[Tensor], Any], None]


def get_ema_multi_avg_fn(decay: float = 0.999) -> MultiUpdate:
    """Return a function that updates exponential moving averages of lists of tensors in one launch.

    Returns: A function of the averages, the current values and the number of values in the averages, which updates the
    averages in place.

    Raises ArgumentError if `decay` is not between 0 and 1.
    """
    Number(0, 1, example=0.999).expect("get_ema_multi_avg_fn", decay=decay)

    def ema_update(averages: Sequence[Tensor], current: Sequence[Tensor], _: Any) -> None:
        lists.lerp_(averages, current, 1 - decay)

    return ema_update


def get_swa_multi_avg_fn() -> MultiUpdate:
    """Return a function that updates the means of lists of tensors in one launch.

    Returns: A function of the means, the current values and the number of values in the means, which updates the means
    in place.
    """

    def swa_update(averages: Sequence[Tensor], current: Sequence[Tensor], num_averaged: Any) -> None:
        lists.lerp_(averages, current, 1 / (int(num_averaged) + 1))

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> Update:
    """Return a function that updates an exponential moving average.

    Returns: A function of an average, a current value and the number of values in the average, which returns the new
    average.

    Raises ArgumentError if `decay` is not between 0 and 1.
    """
    Number(0, 1, example=0.999).expect("get_ema_avg_fn", decay=decay)

    def ema_update(average: Any, current: Any, num_averaged: Any) -> Any:
        with no_grad():
            return decay * average + (1 - decay) * current

    return ema_update


def get_swa_avg_fn() -> Update:
    """Return a function that updates a mean.

    Returns: A function of a mean, a current value and the number of values in the mean, which returns the new mean.
    """

    def swa_update(average: Any, current: Any, num_averaged: Any) -> Any:
        with no_grad():
            return average + (current - average) / (num_averaged + 1)

    return swa_update


class AveragedModel:
    """Copy a model, and average its parameters over the steps of a training run.

    Each call of `update_parameters(model)` updates the averages with the current parameters of the model.

    model (object): A module, or any object with `parameters()` that `copy.deepcopy` can copy.
    device: Device of the copy.
    avg_fn (callable): Function of an average, a current value and the number of values in the average, which returns
    the new average.
    multi_avg_fn (callable): Function of lists of averages and of current values, and of the number of values, which
    updates the averages in place. By default, the function computes means in one launch.
    use_buffers: Whether buffers are averaged as well. If False, they are copied.

    Attributes:
        module (object): The copy of the model.
        n_averaged (Tensor): Number of calls of `update_parameters`, an int64 scalar.
    """

    stores_tensors = True  # `mg.jit` looks for tensors among the attributes

    def __init__(
        self, model: Any, device: Any = None, avg_fn: Update | None = None, multi_avg_fn: MultiUpdate | None = None,
        use_buffers: bool = False,
    ) -> None:  # fmt: skip
        if avg_fn is not None and multi_avg_fn is not None:
            raise ArgumentError("AveragedModel: avg_fn and multi_avg_fn exclude each other, got both; pass one of them")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.n_averaged: Any = namespaces[MG]["tensor"](0, dtype=int64)
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the copy of the model."""
        return self.module(*args, **kwargs)

    forward = __call__

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the copy, such as `parameters`, `eval` or `train`."""
        if name == "module":
            raise AttributeError(name)
        return getattr(self.module, name)

    def state_dict(self) -> dict[str, Any]:
        """Return the count and the state of the copy, whose keys begin with "module."."""
        return {"n_averaged": self.n_averaged,
                **{f"module.{key}": value for key, value in self.module.state_dict().items()}}  # fmt: skip

    def load_state_dict(self, state_dict: dict[str, Any], strict: bool = True) -> Any:
        """Load a result of `state_dict`, from minigrad or PyTorch."""
        own = {key.removeprefix("module."): value for key, value in state_dict.items() if key.startswith("module.")}
        self.n_averaged = namespaces[MG]["tensor"](int(state_dict["n_averaged"]), dtype=int64)
        return self.module.load_state_dict(own, strict=strict)

    def update_parameters(self, model: Any) -> None:
        """Add the parameters of a model to the averages; the first call copies them.

        model (object): The model that was copied, with its present parameters.
        """
        with no_grad():
            self._average(tensors_of(self.module, self.use_buffers), tensors_of(model, self.use_buffers))
            if not self.use_buffers:
                pairs = list(zip(buffers_of(self.module), buffers_of(model), strict=True))
                lists.copy_([a for a, _ in pairs], [b.to(a.device, a.dtype) for a, b in pairs])
            self.n_averaged += 1

    def _written(self) -> list[Any]:
        """Return the tensors that `update_parameters` writes."""
        return [*tensors_of(self.module, True), self.n_averaged]

    update_parameters = hosted(update_parameters, _written, objects=True)

    def _average(self, averages: list[Any], current: list[Any]) -> None:
        """Update averages with current values, which may be on another device."""
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
    """Return the buffers of a model without history; the list is empty if it has no `buffers`."""
    return [x.detach() for x in model.buffers()] if hasattr(model, "buffers") else []


def tensors_of(model: Any, buffers: bool) -> list[Any]:
    """Return the parameters of a model without history, and with `buffers` also its buffers."""
    return [x.detach() for x in chain(model.parameters(), buffers_of(model) if buffers else ())]


def update_bn(loader: Iterable[Any], model: Any, device: Any = None) -> None:
    """Recompute the running means and variances of all batch norms of a model.

    loader: Batches. The first entry of a tuple or a list is the input.
    model: Model that is called with each batch, in training mode and without recording.
    device: Device to which the batches are moved.
    """
    norms = [each for each in model.modules() if hasattr(each, "reset_running_stats")]
    norms = [each for each in norms if getattr(each, "running_mean", None) is not None]
    if not norms:
        return
    momenta, training = [each.momentum for each in norms], model.training
    for each in norms:
        each.reset_running_stats()
        each.momentum = None  # with None, the statistics are the mean over all batches
    model.train()
    with no_grad():
        for batch in loader:
            x = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(x if device is None else x.to(device))
    for each, momentum in zip(norms, momenta, strict=True):
        each.momentum = momentum
    model.train(training)


class SWALR(LRScheduler):
    """Change the learning rates to the constant rates `swa_lr` within `anneal_epochs` epochs.

    swa_lr: Final rate; a list contains one rate per group.
    anneal_epochs: Number of epochs of the change; with 0, the change is immediate.
    anneal_strategy ({"cos", "linear"}): Shape of the change: along a cosine or linear.
    last_epoch: See `LRScheduler`.
    """

    def __init__(
        self, optimizer: Optimizer, swa_lr: Any, anneal_epochs: int = 10, anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        for group, rate in zip(optimizer.param_groups, per_group("swa_lr", optimizer, swa_lr), strict=True):
            group["swa_lr"] = rate
        Choice("cos", "linear").expect("SWALR", anneal_strategy=anneal_strategy)
        Number(0, whole=True, example=10).expect("SWALR", anneal_epochs=anneal_epochs)
        self._anneal_strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        super().__init__(optimizer, last_epoch)

    def part(self, step: int) -> float:
        """Return the fraction of the change that is complete at a step."""
        t = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * t)) / 2 if self._anneal_strategy == "cos" else t

    def _rates(self) -> Rates:
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
