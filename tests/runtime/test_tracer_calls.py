"""Creation, random numbers, masks, item assignment and transfer at the door of the transforms.

What is an op passes it as any other.  What has to look at elements, or to write into memory, says that a value of a
transform has none, before anything is written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from counting import Counted, Counting, both

import minigrad as mg
from minigrad.errors import GradientError
from minigrad.runtime.dispatch import apply

VALUES = [[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]]


def given(values: Any = VALUES, dtype: Any = None) -> mg.Tensor:
    return mg.tensor(values, dtype=dtype, device="reference")


def call(name: str, *operands: mg.Tensor, **params: Any) -> mg.Tensor:
    return apply(mg.schema[name], operands, params)


MASK = [True, False, True, True]
KEY = {"kind": "uniform", "shape": (3,), "dtype": mg.float32}
OPS: dict[str, tuple[mg.Tensor, Callable[[Any], Any]]] = {
    "fill": (given(7.0), lambda value: call("fill", value, shape=(2, 2))),
    "count_up": (given(3.0), lambda start: call("count_up", start, given(0.5), count=4, dtype=mg.float32)),
    "draw": (given([5, 1], "int64"), lambda state: call("draw", state, given([0.0, 1.0, 1.0]), **KEY)),
    "tally": (given(MASK), lambda mask: call("tally", mask, parts=1)),
    "locate": (given(MASK), lambda mask: call("locate", mask, given([0, 3], "int64"), count=3)),
    "transfer": (given(), lambda x: x.to("cpu")),
    "clone": (given(), lambda x: x.clone()),
    "cast": (given(), lambda x: x.to("float64")),
}


@pytest.mark.parametrize("name", OPS)
def test_what_fills_counts_draws_and_moves_passes_the_door_once(name: str) -> None:
    x, function = OPS[name]
    transform, wrapped = both(x)
    y, want = function(wrapped), function(x)
    assert transform.seen == [name] and isinstance(y, Counted)
    assert (y.shape, y.dtype, y.device) == (want.shape, want.dtype, want.device)
    assert y.inner.tolist() == want.tolist()


NEW: dict[str, Callable[[Any], Any]] = {
    "zeros_like": mg.zeros_like,
    "full_like": lambda x: mg.full_like(x, 2.0),
    "rand_like": mg.rand_like,
}


@pytest.mark.parametrize("name", NEW)
def test_what_is_made_like_a_value_is_a_plain_constant(name: str) -> None:
    transform, x = both(given())
    y = NEW[name](x)
    assert type(y) is mg.Tensor and transform.seen == []
    assert (y.shape, y.dtype, y.device) == (x.shape, x.dtype, x.device)


LOOKS: dict[str, Callable[[Any], Any]] = {
    "nonzero": lambda x: x.nonzero(),
    "a mask": lambda x: x[x > 0.0],
    "masked_select": lambda x: mg.masked_select(x, x > 0.0),
    "an array": lambda x: np.asarray(x),
    "a tensor of it": mg.tensor,
}


@pytest.mark.parametrize("name", LOOKS)
def test_what_depends_on_elements_cannot_be_asked_of_a_transform(name: str) -> None:
    _, x = both(given())
    with pytest.raises(GradientError, match="belongs to a transform"):
        LOOKS[name](x)


def assign(y: mg.Tensor, place: Any, value: Any) -> None:
    y[place] = value


WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "a row": lambda y, x: assign(y, 0, x[0]),
    "a place of the transform": lambda y, x: assign(y, x > 0.0, 1.0),
    "some of it by a mask": lambda y, x: assign(y, y == 0.0, x.reshape(-1)),
    "copy_": lambda y, x: y.copy_(x),
    "add_": lambda y, x: y.add_(x),
    "fill_": lambda y, x: y.fill_(x.sum()),
    "out=": lambda y, x: mg.exp(x, out=y),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_value_of_a_transform_is_written_into_no_plain_tensor(name: str) -> None:
    _, x = both(given())
    y = mg.zeros(2, 3, device="reference")
    version = y.storage.version
    with pytest.raises(GradientError, match=r"(belongs to|carries) a transform"):
        WRITES[name](y, x)
    assert y.tolist() == [[0.0] * 3] * 2 and y.storage.version == version


@pytest.mark.parametrize("write", [lambda x: assign(x, 0, 1.0), lambda x: x.zero_(), lambda x: x.add_(1.0)])
def test_a_value_of_a_transform_is_not_written_into(write: Callable[[Any], Any]) -> None:
    inner = given()
    x = Counted(Counting(), inner)
    with pytest.raises(GradientError, match="belongs to a transform"):
        write(x)
    assert inner.tolist() == VALUES
