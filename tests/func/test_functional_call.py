"""`functional_call`: the dicts receive the tensors that a call assigns to members."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest

import minigrad as mg
from minigrad.errors import ArgumentError, DeclarationError
from minigrad.nn.utils.stateless import functional_call


class Counted(mg.nn.Module):
    """Replaces one buffer, writes into another, and keeps the third."""

    def __init__(self) -> None:
        super().__init__()
        for name in ("calls", "total", "kept"):
            self.register_buffer(name, mg.zeros(1, device="reference"))
        self.inner = mg.nn.Module()
        self.inner.register_buffer("last", mg.zeros(2, device="reference"))

    def forward(self, x: mg.Tensor, fail: bool = False) -> mg.Tensor:
        self.calls = self.calls + 1.0
        self.total += x.sum()
        self.inner.last = x
        if fail:
            raise ValueError("its own")
        return x * self.calls


def buffers(module: mg.nn.Module) -> dict[str, Any]:
    return {name: x.clone() for name, x in module.named_buffers()}


@pytest.mark.parametrize("split", [False, True])
def test_a_dict_receives_the_buffers_that_a_call_replaces(split: bool) -> None:
    module, x = Counted(), mg.tensor([2.0, 3.0], device="reference")
    given = buffers(module)
    kept = given["kept"]
    parts = ({"calls": given.pop("calls")}, given) if split else (given,)
    for k in (1, 2):
        y = mg.func.functional_call(module, parts if split else given, (x,))
        assert y.tolist() == [2.0 * k, 3.0 * k]
    assert parts[0]["calls"].tolist() == [2.0] and given["total"].tolist() == [10.0]
    assert given["inner.last"] is x and given["kept"] is kept
    assert all(not mg.any(value).item() for value in module.buffers()), "the module has its own buffers again"


def test_a_call_that_fails_restores_the_module_and_reports_what_it_assigned() -> None:
    module, x = Counted(), mg.tensor([2.0, 3.0], device="reference")
    given = buffers(module)
    with pytest.raises(ValueError, match="its own"):
        mg.func.functional_call(module, given, (x,), {"fail": True})
    assert given["calls"].tolist() == [1.0] and module.calls.tolist() == [0.0]


def test_a_dict_that_cannot_change_stays() -> None:
    module, x = Counted(), mg.tensor([2.0, 3.0], device="reference")
    given = MappingProxyType(buffers(module))
    assert mg.func.functional_call(module, given, (x,)).tolist() == [2.0, 3.0]
    assert given["calls"].tolist() == [0.0] and module.calls.tolist() == [0.0]


def test_names_that_are_not_given_are_not_added() -> None:
    module, x = Counted(), mg.tensor([2.0, 3.0], device="reference")
    given: dict[str, Any] = {"kept": mg.ones(1, device="reference")}
    mg.func.functional_call(module, given, (x,))
    assert [*given] == ["kept"]


def test_other_names_are_attributes_during_the_call() -> None:
    module, x = Counted(), mg.tensor([2.0, 3.0], device="reference")
    module.plain = x
    module.forward = lambda a: a * module.plain + module.extra  # type: ignore[method-assign]
    given = {"plain": x + 1.0, "extra": x}
    assert functional_call(module, given, (x,)).tolist() == [8.0, 15.0]
    assert module.plain is x and not hasattr(module, "extra")
    with pytest.raises(ArgumentError, match="has no 'plain' among its parameters and buffers"):
        functional_call(module, buffers(module) | given, (x,), strict=True)
    with pytest.raises(AttributeError, match="has no module 'other'"):
        functional_call(module, {"other.weight": x}, (x,))


def test_a_module_that_contains_itself() -> None:
    module, x = Counted(), mg.tensor([2.0, 3.0], device="reference")
    module.inner.outer = module
    given = {"inner.outer.calls": mg.ones(1, device="reference")}
    assert functional_call(module, given, (x,), tie_weights=False).tolist() == [4.0, 6.0]
    assert given["inner.outer.calls"].tolist() == [2.0]


@pytest.mark.parametrize("values", [{"inner.last": 2.0}, {"training": mg.zeros(1)}])
def test_only_tensors_are_replaced_by_tensors(values: dict[str, Any]) -> None:
    module = Counted()
    with pytest.raises(DeclarationError, match="must be a tensor or None, got"):
        mg.func.functional_call(module, values, (mg.zeros(2),))
    assert module.training is True and module.inner.last.tolist() == [0.0, 0.0]


class Tied(mg.nn.Module):
    """Uses its weight and its buffer twice, each under two names."""

    def __init__(self) -> None:
        super().__init__()
        self.first = mg.nn.Linear(2, 2, bias=False, device="reference")
        self.weight = self.first.weight
        self.register_buffer("shift", mg.ones(2, device="reference"))
        self.register_buffer("same", self.shift)

    def forward(self, x: mg.Tensor) -> mg.Tensor:
        return mg.nn.functional.linear(self.first(x), self.weight) + self.shift + self.same


@pytest.mark.parametrize("tracked", [True, False])
def test_a_module_becomes_a_function_of_its_parameters(tracked: bool) -> None:
    module, x = mg.nn.Linear(2, 1, device="reference"), mg.tensor([[1.0, 2.0]], device="reference")
    function, params = mg.func.make_functional(module, disable_autograd_tracking=not tracked)
    assert [p.requires_grad for p in params] == [tracked, tracked] and function.param_names == ("weight", "bias")
    assert function(params, x).tolist() == module(x).tolist() and params[0] is not module.weight
    grads = mg.func.grad(lambda p: function(p, x).sum())(params)
    assert [g.tolist() for g in grads] == [[[1.0, 2.0]], [1.0]]
    with pytest.raises(ArgumentError, match="'shift' in Tied; call make_functional_with_buffers"):
        mg.func.make_functional(Tied())


def test_a_function_of_buffers_replaces_all_names_of_a_member() -> None:
    module, x = Tied(), mg.ones(1, 2, device="reference")
    function, params, given = mg.func.make_functional_with_buffers(module)
    assert len(params) == len(given) == 1 and function.buffer_names == ("shift",)
    twice = function([2.0 * p for p in params], [b * 3.0 for b in given], x)
    assert mg.allclose(twice, (module(x) - 2.0) * 4.0 + 6.0)
    with pytest.raises(ValueError, match="zip"):
        function(params, (), x)


def test_an_ensemble_is_a_function_of_stacked_states() -> None:
    models, x = [Tied() for _ in range(3)], mg.tensor([[1.0, -2.0]], device="reference")
    function, params, given = mg.func.combine_state_for_ensemble(models)
    assert params[0].shape == (3, 2, 2) and not params[0].requires_grad and given[0].shape == (3, 2)
    y = mg.func.vmap(function, (0, 0, None))(params, given, x)
    assert mg.allclose(y, mg.stack([model(x).detach() for model in models]))


def test_batch_norms_without_running_statistics_run_under_vmap() -> None:
    net = mg.nn.Sequential(mg.nn.BatchNorm1d(2, device="reference"), mg.nn.Sequential(mg.nn.InstanceNorm1d(2)))
    x = mg.tensor([[[1.0, 2.0], [5.0, -2.0]], [[0.0, 3.0], [1.0, 1.0]]], device="reference")
    assert mg.func.replace_all_batch_norm_modules_(net) is net and not list(net.buffers())
    y = mg.func.vmap(net[0])(x)
    assert mg.allclose(y, mg.stack([net[0](sample) for sample in x.unbind()]).detach())
    net.eval()
    assert mg.allclose(net[0](x[0]), y[0])
    assert mg.func.replace_all_batch_norm_modules_(mg.nn.BatchNorm2d(3)).running_mean is None
