"""`functional_call`: the dicts receive the tensors that a call assigns to members."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest

import minigrad as mg
from minigrad.errors import ArgumentError
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
