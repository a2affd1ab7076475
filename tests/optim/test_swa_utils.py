"""Averages of a model: means and exponential means, buffers, batch norms, and the schedule that goes with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from optim.test_many import launches

import minigrad as mg

swa = mg.optim.swa_utils


class Model:
    """Two parameters and a buffer."""

    def __init__(self) -> None:
        self.weights = [mg.Var([1.0, 2.0], device="reference"), mg.Var([3.0], device="reference")]
        self.counts = [mg.tensor([0], device="reference")]

    def parameters(self) -> Any:
        return iter(self.weights)

    def buffers(self) -> Any:
        return iter(self.counts)

    def __call__(self, x: Any) -> Any:
        return x * self.weights[1]

    def add(self, value: int) -> None:
        """Change everything."""
        with mg.no_grad():
            for p in (*self.weights, *self.counts):
                p.add_(value)


def test_the_mean_of_models_is_one_launch() -> None:
    model = Model()
    averaged = swa.AveragedModel(model)
    for k in range(4):
        with launches() as requests:
            averaged.update_parameters(model)
        assert [type(r).__name__ for r in requests[:2]] == ["Many", "Many"]  # parameters, buffers
        model.add(k + 1)
    assert int(averaged.n_averaged) == 4
    assert averaged.module.weights[0].tolist() == [1 + (0 + 1 + 3 + 6) / 4, 2 + 10 / 4]
    assert averaged.module.counts[0].tolist() == [6] and averaged(2.0).tolist() == [2 * 5.5]


def test_exponential_means() -> None:
    for options in ({"multi_avg_fn": swa.get_ema_multi_avg_fn(0.75)}, {"avg_fn": swa.get_ema_avg_fn(0.75)}):
        model = Model()
        averaged = swa.AveragedModel(model, **options)
        averaged.update_parameters(model)
        model.add(4)
        averaged.update_parameters(model)
        assert averaged.module.weights[0].tolist() == [2.0, 3.0]
    with pytest.raises(mg.ArgumentError, match=r"decay must be a number from 0 to 1, got 2"):
        swa.get_ema_multi_avg_fn(2)
    with pytest.raises(mg.ArgumentError, match="got both"):
        swa.AveragedModel(model, avg_fn=swa.get_swa_avg_fn(), multi_avg_fn=swa.get_swa_multi_avg_fn())


class Norm:
    """A running mean, as a batch norm has it."""

    def __init__(self) -> None:
        self.momentum: float | None = 0.1
        self.training = False
        self.reset_running_stats()

    def reset_running_stats(self) -> None:
        self.running_mean, self.batches = 0.0, 0

    def modules(self) -> list[Any]:
        return [self]

    def train(self, mode: bool = True) -> None:
        self.training = mode

    def __call__(self, x: Any) -> None:
        assert self.training and self.momentum is None and not mg.is_grad_enabled()
        self.batches += 1
        self.running_mean += (x.mean().item() - self.running_mean) / self.batches


def test_running_means_of_batch_norms_are_computed_over_all_batches() -> None:
    model = Norm()
    batches = [mg.tensor([1.0, 3.0], device="reference"), (mg.tensor([4.0], device="reference"), "label")]
    swa.update_bn(batches, model)
    assert model.running_mean == 3.0 and model.momentum == 0.1 and not model.training


@pytest.mark.torch
@pytest.mark.parametrize("options", [{"anneal_epochs": 5}, {"anneal_epochs": 0}, {"anneal_strategy": "linear"}])
def test_rates_are_pytorchs(options: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    rows = []
    for library, p in ((mg, mg.Var([1.0])), (torch, torch.nn.Parameter(torch.ones(1)))):
        optimizer = library.optim.SGD([p], lr=0.5)
        schedule = library.optim.swa_utils.SWALR(optimizer, 0.05, **options)
        rates = []
        for _ in range(15):
            optimizer.step()
            schedule.step()
            rates.append(schedule.get_last_lr()[0])
        rows.append(rates)
    np.testing.assert_allclose(rows[0], rows[1], rtol=1e-12)
    with pytest.raises(mg.ArgumentError, match="got 'exp'"):
        swa.SWALR(mg.optim.SGD([mg.Var([1.0])]), 0.1, anneal_strategy="exp")
