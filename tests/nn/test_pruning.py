"""Pruning: masks of parameters, one after another, with the results that PyTorch 2.13 has for the same weights."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import minigrad as mg
from minigrad.errors import ArgumentError, ShapeError

prune = mg.nn.utils.prune


def layer(rows: int = 3, columns: int = 4) -> Any:
    made = mg.nn.Linear(columns, rows, device="reference")
    with mg.no_grad():
        values = mg.arange(float(rows * columns), device="reference") - (rows * columns - 1) / 2
        made.weight.copy_(values.reshape(rows, columns))
    return made


def mask_of(module: Any) -> list[list[float]]:
    return module.weight_mask.tolist()


def test_masks_of_several_methods_are_combined() -> None:
    m = layer()
    weight = m.weight
    prune.l1_unstructured(m, "weight", 0.25)
    assert mask_of(m) == [[1, 1, 1, 1], [0, 0, 0, 1], [1, 1, 1, 1]]
    prune.ln_structured(m, "weight", 1, 2, 0)
    assert mask_of(m) == [[1, 1, 1, 1], [0, 0, 0, 0], [1, 1, 1, 1]] and prune.is_pruned(m)
    prune.l1_unstructured(m, "weight", 2)
    assert mask_of(m) == [[1, 1, 1, 0], [0, 0, 0, 0], [0, 1, 1, 1]]
    assert list(m.state_dict()) == ["bias", "weight_orig", "weight_mask"] and m.weight_orig is weight
    y = m(mg.ones(2, 4, device="reference"))
    assert y[0].tolist() == (m.weight_orig * m.weight_mask).sum(1).add(m.bias).tolist()
    y.sum().backward()
    assert weight.grad.tolist() == [[2, 2, 2, 0], [0, 0, 0, 0], [0, 2, 2, 2]]
    prune.remove(m, "weight")
    assert list(m.state_dict()) == ["bias", "weight"] and m.weight is weight and not prune.is_pruned(m)
    assert m.weight.tolist() == [[-5.5, -4.5, -3.5, 0.0], [0.0] * 4, [0.0, 3.5, 4.5, 5.5]]
    assert m(mg.ones(2, 4, device="reference")).tolist() == y.tolist()


def test_a_step_of_training_changes_what_a_mask_keeps() -> None:
    m = prune.l1_unstructured(layer(), "weight", 6)
    optimizer = mg.optim.SGD(m.parameters(), lr=1.0)
    x = mg.ones(1, 4, device="reference")
    before = m(x)
    before.sum().backward()
    optimizer.step()
    assert (m(x) - before)[0].tolist() == pytest.approx([-sum(row) - 1.0 for row in mask_of(m)])


def test_parameters_are_pruned_together() -> None:
    a, b = layer(), layer(2, 3)
    with mg.no_grad():
        b.weight.add_(2.5)
    prune.global_unstructured([(a, "weight"), (b, "weight")], pruning_method=prune.L1Unstructured, amount=0.5)
    assert mask_of(a) == [[1, 1, 1, 0], [0, 0, 0, 0], [0, 1, 1, 1]]
    assert mask_of(b) == [[0, 0, 0], [1, 1, 1]]
    with pytest.raises(ArgumentError, match="PRUNING_TYPE must be 'unstructured'"):
        prune.global_unstructured([(a, "weight")], pruning_method=prune.LnStructured, amount=1, n=2)


def test_random_methods_prune_the_right_number() -> None:
    c = mg.nn.Conv2d(4, 6, 3, device="reference")
    prune.random_structured(c, "weight", amount=0.25, dim=1)
    assert sorted(c.weight_mask.sum((0, 2, 3)).tolist()) == [0, 54, 54, 54]
    prune.random_unstructured(c, "weight", 10)
    assert c.weight_mask.sum().item() == 162 - 10
    prune.random_structured(c, "weight", amount=1, dim=1)
    assert c.weight_mask.sum((0, 2, 3)).count_nonzero().item() == 2
    assert [type(each).__name__ for each in prune.pruned(c)["weight"]] == [
        "RandomStructured", "RandomUnstructured", "RandomStructured"]  # fmt: skip


def test_scores_masks_and_tensors_without_a_module() -> None:
    t = mg.tensor([1.0, -3.0, 2.0, 0.5], device="reference")
    assert prune.L1Unstructured(2).prune(t).tolist() == [0, -3, 2, 0]
    assert prune.L1Unstructured(2).prune(t, importance_scores=1 / t).tolist() == [1, 0, 0, 0.5]
    m = prune.identity(layer(), "weight")
    assert mask_of(m) == [[1.0] * 4] * 3
    prune.custom_from_mask(m, "weight", mg.tensor([[1, 0, 1, 0]] * 3, device="reference"))
    assert mask_of(m) == [[1, 0, 1, 0]] * 3
    twin = prune.ln_structured(layer(), "weight", 1, float("inf"), 1, importance_scores=-layer().weight)
    assert mask_of(twin)[0].count(0) == 1


@pytest.mark.parametrize(
    ("use", "error", "message"),
    [
        (lambda m: prune.l1_unstructured(m, "weight", 1.5), ArgumentError, "amount must be a fraction from 0.0 to 1.0"),
        (lambda m: prune.l1_unstructured(m, "weight", "a"), TypeError, "amount must be an int"),
        (lambda m: prune.l1_unstructured(m, "weight", 13), ArgumentError, "amount must be at most 12"),
        (lambda m: prune.ln_structured(m, "weight", 1, 2, 5), IndexError, "valid are -2 to 1"),
        (lambda m: prune.ln_structured(m, "bias", 1, 2, 0), ShapeError, "must have at least 2 dims"),
        (lambda m: prune.custom_from_mask(m, "weight", mg.ones(3)), ShapeError, "must have the shape"),
        (lambda m: prune.remove(m, "weight"), ArgumentError, "is not pruned"),
    ],
)  # fmt: skip
def test_an_error_leaves_the_module_as_it_is(use: Any, error: type[Exception], message: str) -> None:
    m = layer()
    with pytest.raises(error, match=message):
        use(m)
    assert list(m.state_dict()) == ["weight", "bias"] and not prune.is_pruned(m)


def test_a_pruned_module_is_recorded_copied_and_pickled() -> None:
    m = prune.l1_unstructured(layer(), "weight", 6)
    optimizer = mg.optim.SGD(m.parameters(), lr=0.1)
    twins = [copy.deepcopy(m), pickle.loads(pickle.dumps(m))]
    x = mg.ones(2, 4, device="reference")

    @mg.jit
    def step(x: mg.Tensor) -> mg.Tensor:
        optimizer.zero_grad()
        loss = m(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    losses = [float(step(x)) for _ in range(4)]
    for twin in twins:
        assert prune.is_pruned(twin) and type(twin) is type(m) and twin.weight_orig is not m.weight_orig
        own = mg.optim.SGD(twin.parameters(), lr=0.1)
        for loss in losses:
            own.zero_grad()
            y = twin(x).square().mean()
            y.backward()
            own.step()
            assert float(y) == pytest.approx(loss)
    with pytest.raises(mg.StateError, match="weight is the product of weight_orig and weight_mask"):
        m.weight = x


def test_a_module_may_be_pruned_and_parametrized() -> None:
    m = mg.nn.utils.parametrizations.weight_norm(prune.l1_unstructured(layer(), "bias", 1), "weight")
    parametrize = mg.nn.utils.parametrize
    assert parametrize.is_parametrized(m, "weight") and not parametrize.is_parametrized(m, "bias")
    with pytest.raises(ArgumentError, match="has no parameter 'weight', only bias_orig"):
        prune.l1_unstructured(m, "weight", 1)
    prune.remove(m, "bias")
    assert parametrize.is_parametrized(m) and not prune.is_pruned(m)
    parametrize.remove_parametrizations(m, "weight")
    assert type(m) is mg.nn.Linear and not parametrize.is_parametrized(m)
