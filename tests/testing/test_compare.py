"""The same function in two libraries, and the line where their results differ."""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import ArgumentError
from minigrad.testing import CompareError, compare

X, W = np.arange(6.0).reshape(2, 3) / 4 - 0.6, np.arange(12.0).reshape(3, 4) / 5 - 1


def layer(x: Any, w: Any) -> Any:
    """A helper, whose variables are looked at too."""
    hidden = x @ w
    return hidden


def network(lib: Any, x: Any, w: Any) -> Any:
    """Two layers."""
    h = layer(x, w)
    h = lib.tanh(h)
    total = h.sum()
    return total


def another(**changed: Any) -> Any:
    """NumPy with other functions."""
    module = types.ModuleType("another")
    vars(module).update(vars(np) | changed)
    return module


def test_what_agrees_is_told() -> None:
    report = compare(network, "numpy", X, W)
    assert report and len(report.checks) == 9 and report.notes == ["gradients are not compared: numpy computes none"]
    assert str(report).startswith("compare with numpy: agrees\n  ok  'x', set in line")


def test_the_first_value_that_departs_is_named_with_its_line() -> None:
    with pytest.raises(CompareError, match=r"'h', set in line \d+ differs at 7 of 8 elements") as error:
        compare(network, another(tanh=np.sinh), X, W)
    source = network.__code__.co_firstlineno
    assert error.value.line == source + 3 and "h" in error.value.what


def test_a_shape_that_differs_is_told() -> None:
    with pytest.raises(CompareError, match=r"'h', set in line \d+ has shape \(2, 4\) in minigrad and \(8,\) in numpy"):
        compare(network, another(tanh=np.ravel), X, W)


def test_another_way_through_the_function_is_told() -> None:
    def branch(lib: Any, x: Any) -> Any:
        if lib is mg:
            y = x * 2.0
        else:
            z = x * 2.0
            y = z
        return y

    with pytest.raises(CompareError, match="the function takes another branch"):
        compare(branch, "numpy", X)


def test_what_is_no_library_is_refused() -> None:
    for typo in ("numppy", "no_such_library", "reference", "", ".numpy"):
        with pytest.raises(ArgumentError, match=rf"got '{typo}', .*; pass 'numpy', 'torch' or 'jax'") as error:
            compare(network, typo, X, W)
        assert "pip" not in str(error.value), "a typo must not lead to the installation of an unknown package"
    with pytest.raises(ArgumentError, match="must be the name of a library or its module, got 3"):
        compare(network, 3, X, W)


def test_a_known_library_that_is_missing_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax.numpy", None)
    with pytest.raises(ArgumentError, match="the library jax is not installed; run pip install jax"):
        compare(network, "jax", X, W)


def test_a_name_that_the_other_library_lacks_is_told() -> None:
    with pytest.raises(ArgumentError, match=r"numpy's ndarray has no 'relu'; .*lambda lib, x: lib\.exp\(x\)"):
        compare(lambda x: x.relu(), "numpy", X)
    with pytest.raises(ArgumentError, match="module numpy has no 'softmax'"):
        compare(lambda lib, x: lib.softmax(x, 0), "numpy", X)
    with pytest.raises(AttributeError, match="'NoneType' object has no attribute 'y'"):
        compare(lambda x: None.y, "numpy", X)  # type: ignore[attr-defined]


@pytest.mark.torch
def test_gradients_are_compared_with_pytorch() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: nothing to compare with")
    told = compare(network, torch, X, W)
    assert sum("the gradient of" in text for text, _ in told.checks) == 10

    def cut(lib: Any, x: Any) -> Any:
        y = x * 3.0
        z = (y.detach() if lib is mg else y) * y
        return z.sum()

    with pytest.raises(CompareError, match=r"the gradient of 'y' of line \d+ differs"):
        compare(cut, torch, X)


def test_a_function_that_calls_minigrad_is_advised_to_take_the_library() -> None:
    with pytest.raises(mg.DTypeError) as caught:
        compare(lambda x: mg.softmax(x, 0), "numpy", [1.0, 2.0])
    assert any("first parameter `lib`" in note for note in caught.value.__notes__)
