"""Creation: the dtype and the number of elements."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad as mg


def test_arange_takes_the_integers_of_numpy_for_integers() -> None:
    x = mg.arange(np.int64(3))
    assert x.dtype is mg.int64 and x.tolist() == [0, 1, 2]
    # 2 - 5 would wrap around to 253 in uint8.
    assert mg.arange(np.uint8(5), np.uint8(2), -1).tolist() == [5, 4, 3]


def test_arange_fills_a_dtype_to_its_bounds() -> None:
    assert mg.arange(254, 256, dtype="uint8").tolist() == [254, 255]
    assert mg.arange(-127, -129, -1, dtype="int8").tolist() == [-127, -128]


@pytest.mark.parametrize("kind", [float, np.float32, np.float64, int])
def test_limits_of_random_numbers_may_be_any_kind_of_number(kind):
    mg.manual_seed(3)
    wanted = mg.uniform((5,), -2.0, 2.0).tolist(), mg.normal(1.0, 2.0, (5,)).tolist()
    mg.manual_seed(3)
    assert (mg.uniform((5,), kind(-2), kind(2)).tolist(), mg.normal(kind(1), kind(2), (5,)).tolist()) == wanted


@pytest.mark.parametrize("make", [mg.zeros, mg.ones, mg.empty, mg.rand, mg.randn])
def test_a_shape_may_be_passed_by_name(make) -> None:
    assert make(size=(2, 3), device="reference").shape == (2, 3)
    assert make(size=2, device="reference").shape == (2,)
    with pytest.raises(TypeError, match=f"{make.__name__}\\(\\) got the argument size twice"):
        make(2, size=(2, 3))
