"""assert_close accepts and refuses the values that PyTorch's function does, with its messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.testing import assert_close


def row(*values: float, dtype: Any = None) -> mg.Tensor:
    return mg.tensor(list(values), dtype, "reference")


@pytest.mark.parametrize(
    ("actual", "expected", "options"),
    [
        (row(1.0, 2.0), row(1.0, 2.000002), {}),
        (row(1.0, dtype="float16"), row(1.001, dtype="float16"), {}),
        (row(1, 2), row(1, 2), {}),
        (row(float("inf"), float("nan")), row(float("inf"), float("nan")), {"equal_nan": True}),
        (row(1.0), row(1.0, dtype="float64"), {"check_dtype": False}),
        (row(1, 5), row(1, 2), {"rtol": 0.0, "atol": 3.0}),
        ({"a": [row(1.0), (2, True, None)]}, {"a": [row(1.0), (2, True, None)]}, {}),
        (np.ones(2), np.ones(2), {}),
        (mg.Var([1.0], device="reference"), row(1.0), {}),
    ],
)
def test_close_values_pass(actual: Any, expected: Any, options: dict[str, Any]) -> None:
    assert_close(actual, expected, **options)


@pytest.mark.parametrize(
    ("actual", "expected", "message"),
    [
        (row(1.0, 2.5), row(1.0, 2.0), "Tensor-likes are not close!\n\nMismatched elements: 1 / 2 (50.0%)\n"
         "Greatest absolute difference: 0.5 at index (1,) (up to 1e-05 allowed)\n"
         "Greatest relative difference: 0.25 at index (1,) (up to 1.3e-06 allowed)"),
        (1.0, 2.0, "Scalars are not close!\n\nExpected 2.0 but got 1.0.\n"
         "Absolute difference: 1.0 (up to 1e-07 allowed)\n"
         "Relative difference: 0.5 (up to 1e-07 allowed)"),
        (row(1.0), row(1.0, dtype="float64"), "The values for attribute 'dtype' do not match: float32 != float64."),
        (row(1.0), row(1.0, 2.0), "The values for attribute 'shape' do not match: (1,) != (2,)."),
        ([1], [1, 2], "The length of the sequences mismatch: 1 != 2"),
        ({"a": 1}, {"b": 1}, "The keys of the mappings do not match:\nMissing keys in the actual mapping: ['b']\n"
         "Additional keys in the actual mapping: ['a']"),
        (True, False, "Booleans mismatch: True is not False"),
        (1, 1.0, "The types do not match: int != float"),
    ],
)  # fmt: skip
def test_other_values_fail_with_the_message_of_pytorch(actual: Any, expected: Any, message: str) -> None:
    with pytest.raises(AssertionError) as caught:
        assert_close(actual, expected)
    assert str(caught.value) == message


def test_the_place_in_a_tree_ends_the_message_and_msg_replaces_it() -> None:
    with pytest.raises(AssertionError, match=r"not equal!\n[\s\S]*\n\nThe failure occurred for item \['a'\]\[1\]$"):
        assert_close({"a": [1, row(2)]}, {"a": [1, row(3)]})
    with pytest.raises(AssertionError, match=r"^hey$"):
        assert_close(1, 2, msg="hey")
    with pytest.raises(AssertionError, match=r"^step 3: Scalars are not equal!"):
        assert_close(1, 2, msg=lambda message: f"step 3: {message}")
    with pytest.raises(AssertionError, match="nan at index"):
        assert_close(row(float("nan")), row(float("nan")))


def test_arguments_that_cannot_be_compared_are_refused() -> None:
    with pytest.raises(mg.ArgumentError, match=r"rtol and atol must be given together, got rtol=1.0 and atol=None"):
        assert_close(1, 2, rtol=1.0)
    with pytest.raises(mg.DTypeError, match=r"got int64\(1,\) and int 1; convert one of them"):
        assert_close(row(1), 1)
