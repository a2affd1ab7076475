"""LRScheduler: computes the learning rates, writes them into the parameter groups, and saves the schedule."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from minigrad.errors import ArgumentError, DTypeError, absent_method, warn
from minigrad.optim.optimizer import Optimizer
from minigrad.runtime.hosting import hosted
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor

Rates = list[Any]
EPOCH_DEPRECATION_WARNING = (
    "step: the parameter epoch is deprecated, as in PyTorch; call scheduler.step() once an epoch, without an argument"
)


class LRScheduler:
    """Define the base class of the learning rate schedules; a subclass overrides `get_lr`.

    optimizer: The constructor and each `step` overwrite the learning rates in its parameter groups.
    last_epoch: Epoch from which to continue; -1 starts at epoch 0 with the current learning rates of the groups.

    Raises DTypeError if `optimizer` is not an Optimizer.
    Raises ArgumentError if `last_epoch` is not -1 and a group has no "initial_lr".

    Attributes:
        base_lrs (list of float): Initial learning rate of each group.
        last_epoch (int): Number of steps so far.
    """

    _get_lr_called_within_step = False
    _is_initial = False
    unsaved: tuple[str, ...] = ("optimizer",)  # attributes that are not saved

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self.optimizer = expect_optimizer(type(self).__name__, optimizer)
        for k, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", value_of(group["lr"]))
            elif "initial_lr" not in group:
                raise ArgumentError(
                    f"{type(self).__name__}: last_epoch={last_epoch} requires 'initial_lr' in each parameter group, "
                    f"but group {k} has no such entry; load the state of the optimizer first, or pass last_epoch=-1"
                )
        self.base_lrs: Rates = values_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        optimizer.__dict__.setdefault("_opt_called", False)
        self._initial_step()

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "step" in cls.__dict__:
            cls.step = hosted(cls.__dict__["step"])  # type: ignore[method-assign]

    def _initial_step(self) -> None:
        """Write the initial rates."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def get_lr(self) -> Rates:
        """Compute the rates for `last_epoch`; `step` calls this method.  The present rates are in `get_last_lr`."""
        if not self._get_lr_called_within_step:  # another call could apply a factor twice
            warn(
                "get_lr: get_lr() should be called only by step(), but was called elsewhere; call get_last_lr() for "
                "the current learning rates"
            )
        return self._rates()

    def _rates(self) -> Rates:
        """Compute the rates for `last_epoch`."""
        raise absent_method(self, "a scheduler", "get_lr(self)")

    def get_last_lr(self) -> Rates:
        """Return the rates that were written last, one per group."""
        return self._last_lr

    @hosted
    def step(self, epoch: int | None = None) -> None:
        """Write the rates of the next epoch; call it after the optimizer's `step`.

        epoch: Epoch to jump to; deprecated, as in PyTorch.
        """
        if self._step_count == 1 and not self.optimizer.__dict__.get("_opt_called", False):
            warn(
                "lr_scheduler.step() was called before optimizer.step(), so the schedule skips its first learning "
                "rate; call optimizer.step() first"
            )
        self._step_count += 1
        if epoch is not None:
            warn(EPOCH_DEPRECATION_WARNING)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        """Write the rates of the next epoch, or of the given epoch."""
        with self._computing():
            if epoch is None:
                self.last_epoch += 1
                values = self.get_lr()
            else:
                self.last_epoch = epoch
                closed: Callable[[], Rates] | None = getattr(self, "_get_closed_form_lr", None)
                values = self.get_lr() if closed is None else closed()
        self._write(values)

    def _write(self, values: Rates) -> None:
        """Write one rate per group."""
        for group, rate in zip(self.optimizer.param_groups, values, strict=True):
            put(group, "lr", rate)
        self._last_lr = values_of(self.optimizer, "lr")

    @contextmanager
    def _computing(self) -> Iterator[None]:
        """Open a block in which the schedule itself calls `get_lr`."""
        self._get_lr_called_within_step = True
        try:
            yield
        finally:
            self._get_lr_called_within_step = False

    def current(self) -> Rates:
        """Return the present rate of each group."""
        return values_of(self.optimizer, "lr")

    def state_dict(self) -> dict[str, Any]:
        """Return all attributes except the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key not in self.unsaved}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a result of `state_dict`, from minigrad or PyTorch."""
        self.__dict__.update(state_dict)


class WithFunctions(LRScheduler):
    """Define the base class of the schedules that call one function per parameter group.

    lr_lambda: Function that maps an epoch to a factor; a list contains one function per group.
    """

    unsaved = ("optimizer", "lr_lambdas")

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        name = type(self).__name__
        functions = per_group(f"{name}: lr_lambda", expect_optimizer(name, optimizer), lr_lambda)
        for function in functions:
            if not callable(function):
                raise DTypeError(
                    f"{name}: lr_lambda must be a function or a list of functions, got {function!r}; write `lambda "
                    "epoch: 0.95**epoch`, for example"
                )
        self.lr_lambdas = functions
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return all attributes except the optimizer; for each function, only the attributes of a callable object."""
        return {**super().state_dict(), "lr_lambdas": [attributes_of(each) for each in self.lr_lambdas]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a result of `state_dict`."""
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "lr_lambdas"})
        for function, state in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if state is not None:
                function.__dict__.update(state)


def attributes_of(function: Any) -> dict[str, Any] | None:
    """Return the attributes of a callable object, which can be saved, or None for a plain function."""
    return None if isinstance(function, types.FunctionType) else dict(function.__dict__)


def expect_optimizer(name: str, optimizer: Any) -> Optimizer:
    """Return the optimizer, or raise DTypeError for any other object."""
    if not isinstance(optimizer, Optimizer):
        raise DTypeError(
            f"{name}: optimizer must be a mg.optim.Optimizer, got {type(optimizer).__name__}; pass the optimizer as "
            "the first argument"
        )
    return optimizer


def value_of(value: Any) -> Any:
    """Return the present value of an option; a tensor is copied."""
    return value.clone() if isinstance(value, Tensor) else value


def values_of(optimizer: Optimizer, key: str) -> list[Any]:
    """Return the present value of an option for each group."""
    return [value_of(group[key]) for group in optimizer.param_groups]


def put(group: dict[str, Any], key: str, value: Any) -> None:
    """Set an option; a tensor is overwritten in place, so that other users of the tensor see the new value."""
    if isinstance(group[key], Tensor):
        with no_grad():
            group[key].fill_(value.item() if isinstance(value, Tensor) else value)
    else:
        group[key] = value


def per_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """Return one value per group: the entries of a list, or one value for all groups.

    Raises ArgumentError if the list has another length.
    """
    groups = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value_of(value) for _ in range(groups)]
    if len(value) != groups:
        raise ArgumentError(
            f"{name}: expected one value for each of the {groups} parameter groups, got {len(value)}; pass one value "
            "per group"
        )
    return list(map(value_of, value))
