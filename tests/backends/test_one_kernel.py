"""Two results of an op come from one kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.kernels.store import watch
from minigrad.runtime.plans import forget_plans

F = mg.nn.functional
VALUES = np.random.default_rng(0).permutation(72).reshape(2, 1, 6, 6).astype(np.float64)

CALLS: dict[str, Callable[[Any], Any]] = {
    "max": lambda x: x.max(3),
    "min of a dim in front": lambda x: x.min(0),
    "sort": lambda x: x.sort(3),
    "topk": lambda x: x.topk(2, 3),
    "cummax": lambda x: x.cummax(3),
    "max_pool": lambda x: F.max_pool2d(x, 2, return_indices=True),
}


def kernels_of(call: Callable[[], Any]) -> list[str]:
    """The files of the kernels that a first call prepares, which are those that it runs."""
    forget_plans()
    with watch() as files:
        call()
    return files


@pytest.mark.parametrize("name", CALLS)
def test_values_and_places_come_from_one_kernel(name: str) -> None:
    x = mg.tensor(VALUES)
    values, places = CALLS[name](x)
    assert len(kernels_of(lambda: CALLS[name](x))) == 1
    assert values.dtype is mg.float64 and places.dtype is mg.int64 and values.shape == places.shape


@pytest.mark.parametrize("name", CALLS)
def test_the_gradient_goes_to_the_places_by_one_more(name: str) -> None:
    x = mg.Var(VALUES)
    values, _ = CALLS[name](x)
    g = mg.ones_like(values)
    assert len(kernels_of(lambda: mg.grad(values, x, g, retain_graph=True))) <= 2  # zeros, and what is added to them
