"""Schedules have PyTorch's values at each of sixty epochs, and save and load their state."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pytest
from cases import over
from optim_cases import FROZEN, SCHEDULES, metric, state_of, steps_of

import minigrad as mg

schedulers = mg.optim.lr_scheduler
KEYS = ("lr", "momentum")


def sgd(library: Any = mg, parameter: Any = None) -> Any:
    """Return an optimizer with two groups."""
    groups = [{"params": [mg.Var([0.0]) if parameter is None else parameter()], "lr": lr} for lr in (0.1, 0.05)]
    return library.optim.SGD(groups, momentum=0.9)


@over("name", SCHEDULES)
def test_sixty_epochs_have_the_frozen_rates(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = steps_of(name, schedulers, sgd())
    np.testing.assert_allclose(rows, json.loads(FROZEN.read_text())["schedules"][name], rtol=1e-9, atol=1e-14)


@pytest.mark.torch
@over("name", SCHEDULES)
def test_rates_are_pytorchs_and_states_have_its_keys(name: str) -> None:
    torch = pytest.importorskip("torch")

    def parameter() -> Any:
        return torch.nn.Parameter(torch.zeros(1))

    ours, theirs = sgd(), sgd(torch, parameter)
    rows = steps_of(name, torch.optim.lr_scheduler, theirs)
    np.testing.assert_allclose(steps_of(name, schedulers, ours), rows, rtol=1e-12, atol=1e-15)
    mine, other = SCHEDULES[name](schedulers, sgd()), SCHEDULES[name](torch.optim.lr_scheduler, sgd(torch, parameter))
    assert mine.state_dict().keys() == other.state_dict().keys()


@over("name", SCHEDULES)
def test_a_schedule_goes_on_from_its_state(name: str) -> None:
    optimizer, other = sgd(), sgd()
    schedule, loaded = SCHEDULES[name](schedulers, optimizer), SCHEDULES[name](schedulers, other)
    for epoch in range(40):
        if epoch == 23:
            loaded.load_state_dict(schedule.state_dict())
            other.load_state_dict(optimizer.state_dict())
        argument = [metric(epoch)] if name.startswith("Reduce") else []
        optimizer.step()
        schedule.step(*argument)
        if epoch >= 23:
            other.step()
            loaded.step(*argument)
            assert state_of(other, KEYS) == state_of(optimizer, KEYS)
            assert loaded.get_last_lr() == schedule.get_last_lr()


def test_the_wrong_order_of_steps_is_warned_of_once() -> None:
    optimizer = sgd()
    schedule = schedulers.StepLR(optimizer, 2)
    with pytest.warns(UserWarning, match="call optimizer.step"):
        schedule.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schedule.step()
    with pytest.warns(UserWarning, match="get_last_lr"):
        schedule.get_lr()
    with pytest.warns(UserWarning, match="deprecated"):
        schedule.step(6)
    assert schedule.get_last_lr() == pytest.approx([1e-4, 5e-5])


def test_a_rate_that_is_a_tensor_is_written_into() -> None:
    rate, w = mg.tensor(0.5), mg.Var([1.0])
    optimizer = mg.optim.SGD([w], lr=rate)
    schedule = schedulers.ExponentialLR(optimizer, 0.5)
    w.grad = mg.tensor([1.0])
    optimizer.step()
    schedule.step()
    assert rate.item() == 0.25 and w.item() == 0.5 and optimizer.param_groups[0]["lr"] is rate


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda o: schedulers.StepLR(None, 2), "must be a mg.optim.Optimizer, got NoneType"),
        (lambda o: schedulers.StepLR(o, 2, last_epoch=3), "requires 'initial_lr'"),
        (lambda o: schedulers.LambdaLR(o, [abs]), "one value for each of the 2 parameter groups, got 1"),
        (lambda o: schedulers.ConstantLR(o, 2.0), "factor must be a number from 0 to 1, got 2.0"),
        (lambda o: schedulers.LinearLR(o, 0.0), "start_factor must be a number from 0 to 1, above 0"),
        (lambda o: schedulers.OneCycleLR(o, 0.1), "either total_steps, or both epochs and steps_per_epoch"),
        (lambda o: schedulers.OneCycleLR(o, 0.1, 10, pct_start=2.0), r"pct_start must be a number from 0 to 1"),
        (lambda o: schedulers.CyclicLR(o, 0.1, 0.2, mode="square"), "got 'square'"),
        (
            lambda o: schedulers.CyclicLR(mg.optim.Rprop([mg.Var([1.0])]), 0.1, 0.2),
            "requires an optimizer with momentum or betas",
        ),
        (lambda o: schedulers.CosineAnnealingWarmRestarts(o, 0), "T_0 must be positive, got 0"),
        (lambda o: schedulers.ReduceLROnPlateau(o, factor=1.5), "factor must be less than 1"),
        (lambda o: schedulers.SequentialLR(o, [schedulers.StepLR(o, 1)], [3]), "one entry fewer"),
        (lambda o: schedulers.ChainedScheduler([]), "at least one scheduler"),
        (lambda o: schedulers.ChainedScheduler([schedulers.ReduceLROnPlateau(o)]), "requires a metric"),
        (
            lambda o: schedulers.ChainedScheduler([schedulers.StepLR(o, 1)], sgd()),
            "must belong to one optimizer, but the scheduler at index 0",
        ),
    ],
)
def test_arguments_without_a_meaning_are_refused(make: Any, match: str) -> None:
    with pytest.raises(mg.MinigradError, match=match):
        make(sgd())


def test_one_cycle_has_an_end() -> None:
    optimizer = sgd()
    schedule = schedulers.OneCycleLR(optimizer, 0.1, 3)
    optimizer.step()
    for _ in range(3):
        schedule.step()
    with pytest.raises(mg.ArgumentError, match="at most total_steps=3 times, got step 4"):
        schedule.step()
