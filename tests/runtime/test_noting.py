"""What is noted under debug mode: which nodes have saved a value, for as long as they live."""

from __future__ import annotations

import pytest

import minigrad as mg
from minigrad.errors import StorageError
from minigrad.runtime.noting import _holders


def test_a_var_keeps_nothing_of_the_ops_that_have_saved_it_and_are_gone() -> None:
    x = mg.Var([1.0, 2.0], device="reference")
    with mg.debug():
        kept = x * x
        for _ in range(20):
            (x * x).sum().backward()
    assert len(_holders[x.storage]) == 1
    del kept
    assert len(_holders[x.storage]) == 0


def test_a_write_names_the_oldest_op_that_has_saved_the_value() -> None:
    with mg.debug():
        x = mg.Var([1.0, 2.0], device="reference")
        y = x * 2.0
        z, w = y.sin(), y.cos()
        with pytest.raises(StorageError, match="which sin"):
            y.mul_(2.0)
        del z
        with pytest.raises(StorageError, match="which cos"):
            y.mul_(2.0)
        w.sum().backward()
        y.mul_(2.0)
