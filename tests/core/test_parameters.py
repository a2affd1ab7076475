"""The parameters of functions: what `inspect` reads, without its cost."""

import inspect
import sys
from functools import wraps
from typing import Any

import pytest

import minigrad as mg
from minigrad.core.parameters import Parameter, deferred_signature, parameters_of
from minigrad.core.requests import Gather, Request


def odd(a: int, /, b: "str" = "b", *more: float, c: bool, d: Any = None, **rest: Any) -> None:
    """A function with each kind of parameter."""


def plain(x, y=1):  # type: ignore[no-untyped-def]
    """A function without annotations."""


@wraps(odd)
def wrapped(*args: Any, **kwargs: Any) -> None:
    """A function that has the signature of another."""


def fields_of(function: Any) -> list[tuple[Any, ...]]:
    return [(p.name, p.kind, p.default, p.annotation) for p in inspect.signature(function).parameters.values()]


@pytest.mark.parametrize("function", [odd, plain, wrapped, lambda *, k=3: k, lambda *xs: xs, lambda: 0, int.__add__])
def test_parameters_are_those_that_inspect_reads(function: Any) -> None:
    assert [*map(tuple, parameters_of(function))] == fields_of(function)


def test_the_parameters_of_every_function_of_the_package_are_those_that_inspect_reads() -> None:
    functions = {
        value
        for name, module in sys.modules.items() if name.startswith("minigrad.")
        for value in vars(module).values() if inspect.isfunction(value) and "declared_parameters" not in vars(value)
    }  # fmt: skip
    assert len(functions) > 1000
    assert [f for f in functions if [*map(tuple, parameters_of(f))] != fields_of(f)] == []


def test_a_deferred_signature_is_made_at_its_first_use() -> None:
    made = []

    def make() -> Any:
        made.append(1)
        return [Parameter("x", annotation="Tensor").full()], "Tensor"

    signature = deferred_signature(make)
    assert isinstance(signature, inspect.Signature) and not made
    assert str(signature) == "(x: 'Tensor') -> 'Tensor'" and signature.bind(1).arguments == {"x": 1}
    assert signature == signature.replace() and hash(signature) == hash(signature.replace()) and made == [1]
    with pytest.raises(AttributeError):
        _ = signature.missing  # type: ignore[attr-defined]
    assert str(inspect.signature(mg.exp)) == "(input: 'Tensor', *, out: 'Tensor | None' = None) -> 'Tensor'"


def test_a_request_is_a_frozen_record() -> None:
    requests = [Request, *Request.__subclasses__()]
    assert len(requests) > 40 and all(isinstance(kind.names, tuple) for kind in requests)
    assert (
        Gather(1) == Gather(dim=1) != Gather(2)
        and hash(Gather(1)) == hash(Gather(dim=1))
        and repr(Gather(1)) == "Gather(dim=1)"
    )
    for given, named in (((), {}), ((1, 2), {}), ((1,), {"dim": 1}), ((), {"dims": 1})):
        with pytest.raises(TypeError, match="has the fields dim, got"):
            Gather(*given, **named)
    with pytest.raises(AttributeError, match="Gather is frozen: dim cannot be set"):
        Gather(1).dim = 2  # type: ignore[misc]
