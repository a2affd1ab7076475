"""Initial values: bounds, variances and structure, PyTorch's signatures, and layers with its distributions."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import ArgumentError, ShapeError

init, nn = mg.nn.init, mg.nn


def weight(*shape: int) -> Any:
    return nn.Parameter(mg.zeros(*shape, device="reference", dtype=mg.float64))


@pytest.fixture(autouse=True)
def seed() -> None:
    mg.manual_seed(7)


UNIFORM = [
    ("xavier_uniform_", {"gain": 2.0}, 2 * math.sqrt(6 / (20 * 4 + 30 * 4))),
    ("kaiming_uniform_", {"a": math.sqrt(5)}, 1 / math.sqrt(20 * 4)),
    ("kaiming_uniform_", {"mode": "fan_out", "nonlinearity": "relu"}, math.sqrt(6 / (30 * 4))),
    ("kaiming_uniform_", {"nonlinearity": "tanh"}, 5 / 3 * math.sqrt(3 / 80)),
    ("uniform_", {"a": -3.0, "b": 3.0}, 3.0),
]
NORMAL = [
    ("xavier_normal_", {}, math.sqrt(2 / 200)),
    ("kaiming_normal_", {"nonlinearity": "selu"}, 0.75 / math.sqrt(80)),
    ("kaiming_normal_", {"mode": "fan_out", "a": 1.0}, 1 / math.sqrt(120)),
    ("normal_", {"std": 0.5}, 0.5),
]


@pytest.mark.parametrize(("name", "arguments", "bound"), UNIFORM)
def test_uniform_values_fill_their_bounds(name: str, arguments: dict[str, Any], bound: float) -> None:
    w = weight(30, 20, 2, 2)
    assert getattr(init, name)(w, **arguments) is w and w.requires_grad and w.is_leaf
    values = w.detach().numpy()
    assert 0.99 * bound < np.abs(values).max() <= bound
    assert values.std() == pytest.approx(bound / math.sqrt(3), rel=0.05) and abs(values.mean()) < 0.05 * bound


@pytest.mark.parametrize(("name", "arguments", "std"), NORMAL)
def test_normal_values_have_their_deviation(name: str, arguments: dict[str, Any], std: float) -> None:
    values = getattr(init, name)(weight(30, 20, 2, 2), **arguments).detach().numpy()
    assert values.std() == pytest.approx(std, rel=0.05) and np.abs(values).max() > 2.5 * std


def test_truncated_normal_values() -> None:
    values = init.trunc_normal_(weight(60, 40), 1.0, 2.0, 0.0, 3.0).detach().numpy()
    assert values.min() >= 0.0 and values.max() <= 3.0 and abs(values.mean() - 1.413) < 0.05
    assert np.histogram(values, 3, (0.0, 3.0))[0].argmax() in (0, 1)
    with pytest.warns(UserWarning, match="more than 2 std"):
        init.trunc_normal_(weight(2, 2), 9.0)


def test_structured_values() -> None:
    assert np.array_equal(init.eye_(weight(3, 2)).detach().numpy(), np.eye(3, 2))
    q = init.orthogonal_(weight(3, 2, 2), gain=2.0).detach().numpy().reshape(3, 4)
    np.testing.assert_allclose(q @ q.T, 4 * np.eye(3), atol=1e-12)
    q = init.orthogonal_(weight(5, 2)).detach().numpy()
    np.testing.assert_allclose(q.T @ q, np.eye(2), atol=1e-12)
    values = init.sparse_(weight(10, 6), 0.35).detach().numpy()
    assert ((values == 0).sum(0) == 4).all()
    x = np.sin(np.arange(24.0)).reshape(1, 4, 6)
    w = init.dirac_(weight(4, 2, 3), groups=2)
    y = nn.functional.conv1d(mg.tensor(x, device="reference"), w, padding=1, groups=2)
    np.testing.assert_array_equal(y.detach().numpy(), x)
    assert init.constant_(weight(2), 3.0).tolist() == [3.0, 3.0] and init.ones_(weight(1)).tolist() == [1.0]
    assert init.zeros_(init.ones_(weight(1))).tolist() == [0.0]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: init.xavier_uniform_(weight(3)), ShapeError, "at least 2 dims"),
        (lambda: init.kaiming_normal_(weight(3, 3), mode="fan"), ArgumentError, "'fan_in' or 'fan_out'"),
        (lambda: init.calculate_gain("gelu"), ArgumentError, "must be 'leaky_relu', 'linear'"),
        (lambda: init.eye_(weight(3)), ShapeError, "must have 2 dims"),
        (lambda: init.sparse_(weight(3), 0.5), ShapeError, "must have 2 dims"),
        (lambda: init.dirac_(weight(3, 2, 2), groups=2), ShapeError, "a multiple of groups=2"),
        (lambda: init.orthogonal_(weight(3)), ShapeError, "at least 2 dims"),
    ],
)
def test_arguments_that_do_not_fit(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_a_generator_repeats_the_values() -> None:
    one, other = [init.kaiming_uniform_(weight(3, 3), generator=mg.Generator(3)).tolist() for _ in range(2)]
    assert one == other != init.kaiming_uniform_(weight(3, 3)).tolist()


HERE = {"device": "reference"}


@pytest.mark.parametrize(
    ("layer", "bound"),
    [
        (lambda: nn.Linear(64, 50, **HERE), 1 / 8),
        (lambda: nn.Conv2d(16, 30, 2, **HERE), 1 / 8),
        (lambda: nn.Conv1d(32, 60, 4, groups=2, **HERE), 1 / 8),
        (lambda: nn.ConvTranspose2d(30, 16, 2, **HERE), 1 / 8),
        (lambda: nn.Bilinear(64, 10, 20, **HERE), 1 / 8),
    ],
)
def test_layers_begin_uniform_within_the_root_of_their_fan_in(layer: Any, bound: float) -> None:
    for p in layer().parameters():
        values = p.detach().numpy()
        assert 0.7 * bound < np.abs(values).max() <= bound and abs(values.mean()) < bound / 2


def test_tables_begin_normal_with_zeros_for_the_padding() -> None:
    values = nn.Embedding(50, 40, padding_idx=2, **HERE).weight.detach().numpy()
    assert not values[2].any() and values.std() == pytest.approx(1.0, rel=0.1)
    norm = nn.LayerNorm(3, **HERE)
    assert norm.weight.tolist() == [1.0] * 3 and norm.bias.tolist() == [0.0] * 3


@pytest.mark.torch
@pytest.mark.parametrize("name", init.__all__)
def test_signatures_and_gains_are_pytorchs(name: str) -> None:
    torch = pytest.importorskip("torch")
    mine, theirs = [inspect.signature(getattr(each.nn.init, name)).parameters.values() for each in (mg, torch)]
    assert [(p.name, p.default) for p in mine] == [(p.name, p.default) for p in theirs]
    for function in ("linear", "conv2d", "conv_transpose1d", "sigmoid", "tanh", "relu", "leaky_relu", "selu"):
        assert init.calculate_gain(function) == pytest.approx(torch.nn.init.calculate_gain(function))
