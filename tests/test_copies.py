"""copy, deepcopy and pickle of tensors: other objects, with memory that nobody frees twice."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from op_rows.row import FLOATS
from op_table import DEVICES

import minigrad as mg
from minigrad.errors import GradientError

devices = pytest.mark.parametrize("device", DEVICES)


@devices
def test_a_copied_var_is_a_leaf_of_its_own(device: str) -> None:
    x = mg.Var([3.0, 1.0], device=device, name="x")
    for twin in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert isinstance(twin, mg.Var) and twin.name == "x" and twin.device is x.device and twin.id != x.id
        grads = (x * 2.0 + twin * 5.0).backward()
        assert grads[x].tolist() == [2.0, 2.0] and grads[twin].tolist() == [5.0, 5.0]


@devices
def test_a_copy_shares_the_memory_and_a_deep_copy_does_not(device: str) -> None:
    x = mg.Var([3.0, 1.0], device=device)
    x.sum().backward()
    shallow, deep = copy.copy(x), copy.deepcopy(x)
    x.set([4.0, 7.0])
    x.grad.fill_(9.0)
    assert shallow.tolist() == [4.0, 7.0] and shallow.grad is None, "as in PyTorch"
    assert deep.tolist() == [3.0, 1.0] and deep.grad.tolist() == [1.0, 1.0]


def test_a_deep_copy_is_counted_and_freed_like_any_tensor() -> None:
    x = mg.zeros(100)
    before = mg.memory_stats().live
    twin = copy.deepcopy([x, x])
    assert mg.memory_stats().live == before + 1 and twin[0] is twin[1] is not x
    del twin
    assert mg.memory_stats().live == before


def test_views_of_one_storage_stay_so_in_a_deep_copy() -> None:
    x = mg.tensor([[1.0, 2.0], [3.0, 4.0]])
    whole, row = copy.deepcopy((x, x.T[1]))
    row.fill_(0.0)
    assert whole.tolist() == [[1.0, 0.0], [3.0, 0.0]] and x.tolist() == [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_pickle_holds_what_the_view_sees(dtype: str) -> None:
    x = mg.tensor(np.arange(100.0), dtype=dtype)[90:93].flip(0)
    twin = pickle.loads(pickle.dumps(x))
    assert twin.tolist() == [92.0, 91.0, 90.0] and twin.dtype is x.dtype and twin.is_contiguous()
    assert len(pickle.dumps(x)) < len(pickle.dumps(mg.zeros(1000)))


def test_a_graph_is_not_copied() -> None:
    x = mg.Var([1.0, 2.0])
    y = x * 2.0
    y.tag = "kept"
    with pytest.raises(GradientError, match="is the result of mul, and the graph of a result cannot be copied"):
        copy.deepcopy(y)
    twin = pickle.loads(pickle.dumps(y))
    assert isinstance(twin, mg.Var) and twin.tolist() == [2.0, 4.0] and twin.tag == "kept"
    twin.sum().backward()
    assert twin.grad.tolist() == [1.0, 1.0] and x.grad is None


@devices
def test_views_of_one_storage_stay_so_in_a_pickle(device: str) -> None:
    x = mg.tensor([[1.0, 2.0], [3.0, 4.0]], device=device)
    w = mg.Var([5.0, 6.0], device=device, name="w")
    whole, turned, row, leaf, value = pickle.loads(pickle.dumps([x, x.T, x[1], w, w.detach()]))
    whole[1, 0] = 9.0
    assert turned.tolist() == [[1.0, 9.0], [2.0, 4.0]] and row.tolist() == [9.0, 4.0]
    value.fill_(0.0)
    assert isinstance(leaf, mg.Var) and leaf.name == "w" and leaf.tolist() == [0.0, 0.0] and leaf.device is w.device
    assert x.tolist() == [[1.0, 2.0], [3.0, 4.0]] and w.tolist() == [5.0, 6.0]


@pytest.mark.parametrize("dtype", FLOATS)
def test_views_whose_base_is_gone_stay_together(dtype: str) -> None:
    first, second = mg.tensor(np.arange(6.0), dtype=dtype, device="reference").reshape(3, 2).T
    again, other = pickle.loads(pickle.dumps((first, second)))
    assert again.storage is other.storage and again.dtype is first.dtype
    assert again.tolist() == [0.0, 2.0, 4.0] and other.tolist() == [1.0, 3.0, 5.0]


def test_what_a_pickle_makes_is_counted_and_freed_like_any_tensor() -> None:
    x = mg.zeros(100)
    written = pickle.dumps([x, x[:3]])
    before = mg.memory_stats().live
    twins = pickle.loads(written)
    assert mg.memory_stats().live == before + 1 and len(twins) == 2
    del twins
    assert mg.memory_stats().live == before
