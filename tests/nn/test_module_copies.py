"""Copies of modules, and dicts of parameters: the same in both libraries."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict
from typing import Any

import pytest

import minigrad as mg


def test_a_copy_has_parameters_without_gradients(lib: Any) -> None:
    net = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.ModuleList([lib.nn.Linear(1, 1)]))
    net.tied = net[0]
    net[0](lib.ones(1, 2)).sum().backward()
    net[1][0].weight.requires_grad_(False)
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net)), copy.deepcopy((net, 1))[0]):
        assert all(p.grad is None for p in twin.parameters()) and twin.tied is twin[0]
        assert [p.requires_grad for p in twin.parameters()] == [p.requires_grad for p in net.parameters()]
        assert twin[0].weight.tolist() == net[0].weight.tolist()
    assert net[0].weight.grad is not None


def test_a_copy_with_an_optimizer_trains_on_its_own(lib: Any) -> None:
    net = lib.nn.Linear(1, 1, bias=False)
    net.weight.data.fill_(1.0)
    optimizer = lib.optim.SGD(net.parameters(), lr=1.0, momentum=0.5)
    net(lib.ones(1, 1)).sum().backward()
    optimizer.step()
    twin, other = copy.deepcopy((net, optimizer))
    twin(lib.ones(1, 1)).sum().backward()
    other.step()
    assert net.weight.item() == 0.0 and twin.weight.item() == -1.5


def test_a_subclass_sets_its_state(lib: Any) -> None:
    class Part(lib.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.weight, self.cache = lib.nn.Parameter(lib.ones(1)), 5

        def __getstate__(self) -> Any:
            return {**self.__dict__, "cache": None}

        def __setstate__(self, state: Any) -> None:
            super().__setstate__(state)
            self.cache = 7

    part = Part()
    twin = copy.deepcopy(part)
    assert twin.cache == 7 and part.cache == 5 and twin.weight is not part.weight
    assert [name for name, _ in twin.named_parameters()] == ["weight"]


def test_members_of_a_shallow_copy_are_its_own() -> None:
    net = mg.nn.Linear(1, 1, device="reference")
    twin = copy.copy(net)
    assert twin.weight is net.weight
    twin.more = mg.nn.Parameter(mg.ones(1, device="reference"))
    del twin.bias
    assert [name for name, _ in net.named_parameters()] == ["weight", "bias"]
    assert [name for name, _ in twin.named_parameters()] == ["weight", "more"]


def test_dicts_of_parameters_are_joined(lib: Any) -> None:
    make, one = lib.nn.ParameterDict, lib.ones(1)
    plain, ordered = make({"z": one, "y": one}), make(OrderedDict([("z", one), ("y", one)]))
    assert list(plain) == ["y", "z"] and list(ordered) == list(make([("z", one), ("y", one)])) == ["z", "y"]
    assert list(ordered | {"b": one, "a": one}) == ["z", "y", "a", "b"] and len(ordered) == 2
    assert list(OrderedDict([("k", one), ("c", one)]) | plain)[:1] == ["k"]
    ordered |= make([("x", one)])
    assert list(ordered) == ["z", "y", "x"] and ordered.popitem()[0] == "x" and list(ordered) == ["z", "y"]
    assert list(plain.fromkeys(["b", "a"], one)) == ["b", "a"]
    with pytest.raises(KeyError):
        make().popitem()
    for name in ("keys", "forward"):
        with pytest.raises(KeyError):
            plain[name] = one
    assert [name for name, _ in plain.named_parameters()] == ["y", "z"]


def test_insertion_beyond_the_ends_is_an_error(lib: Any) -> None:
    net = lib.nn.Sequential(lib.nn.ReLU())
    net.insert(1, lib.nn.Tanh())
    net.insert(-2, lib.nn.Sigmoid())
    assert [type(module).__name__ for module in net] == ["Sigmoid", "ReLU", "Tanh"]
    for k in (4, -4):
        with pytest.raises(IndexError):
            net.insert(k, lib.nn.ReLU())


def test_a_parameter_that_is_frozen_between_steps_keeps_its_gradient_until_it_is_removed(lib: Any) -> None:
    p = lib.nn.Parameter(lib.ones(2))
    optimizer = lib.optim.SGD([p], lr=1.0)
    (p * 3.0).sum().backward()
    p.requires_grad_(False)
    assert p.grad.tolist() == [3.0, 3.0]
    optimizer.step()
    assert p.tolist() == [-2.0, -2.0]
    optimizer.zero_grad()
    optimizer.step()
    assert p.grad is None and p.tolist() == [-2.0, -2.0], "a frozen parameter does not move any more"
    p.grad = lib.ones(2)
    lib.nn.utils.clip_grad_norm_([p], 1e-3)
    assert p.grad.sum().item() < 2e-3
    p.requires_grad_()
    net = lib.nn.Module()
    net.p = p
    p.requires_grad_(False)
    net.zero_grad(set_to_none=False)
    assert p.grad.tolist() == [0.0, 0.0]
    net.zero_grad()
    p.requires_grad_()
    (p * 2.0).sum().backward()
    assert p.grad.tolist() == [2.0, 2.0], "nothing is left of the old gradient"
    with pytest.raises((RuntimeError, ValueError)):
        p.requires_grad_(False).grad = lib.ones(3)
