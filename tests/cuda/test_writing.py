"""Writing by index on CUDA: the last of equal indices wins in any order of threads, and nothing else changes."""

import numpy as np
import pytest
from cuda_mistakes import break_text, noticed

import minigrad as mg
from minigrad.errors import IndexOutOfRange


@pytest.mark.parametrize(("order", "seed"), [("forward", 0), ("reverse", 0), ("random", 1)])
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_the_last_of_equal_indices_stands_in_every_order(simulator, order, seed, dim):
    a = mg.arange(60, dtype="float32", device="reference").reshape(3, 4, 5)
    index = mg.tensor([1, 0, -1, 1, 1, 0], device="reference")
    src = mg.arange(1000, dtype="float32", device="reference")[: 6 * 60 // a.shape[dim]]
    shape = tuple(6 if d == dim else n for d, n in enumerate(a.shape))
    src = src.reshape(shape[::-1]).permute(2, 1, 0) + 0.5
    wanted = mg.index_copy(a, dim, index, src)
    with simulator.ordered(order, seed):
        found = mg.index_copy(a.cuda(), dim, index.cuda(), src.cuda())
    assert found.tolist() == wanted.tolist()


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "bfloat16", "float64"])
def test_elements_of_every_size_are_moved_as_they_are(dtype):
    x = mg.zeros(7, dtype=dtype, device="cuda")
    x[mg.tensor([5, 2, 5], dtype="int32", device="cuda")] = mg.tensor([0, 1, 1], dtype=dtype, device="cuda")
    assert x.tolist() == [0, 0, 1, 0, 0, 1, 0]


def test_views_are_written_through_and_nothing_beside_them():
    x = mg.arange(24, device="cuda").reshape(4, 6)
    y = np.arange(24).reshape(4, 6)
    x.t()[::2][mg.tensor([2, 0], device="cuda")] = mg.tensor([[100], [200]], device="cuda").expand(2, 4)
    y.T[::2][[2, 0]] = [[100], [200]]
    assert x.tolist() == y.tolist()


def test_nothing_is_written_by_no_index_and_a_wrong_one_is_an_error():
    x = mg.ones(3, device="cuda")
    x[mg.tensor([], dtype="int64", device="cuda")] = 5.0
    assert x.tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(IndexOutOfRange, match="3"):
        x[mg.tensor([0, 3], device="cuda")] = mg.tensor([7.0, 8.0], device="cuda")


MISTAKES = [
    ("select_put", "if in_1[k] == j:", "if True:", "race"),
    ("last_at", "atomic_max(out, k, j)", "out[k] = j", "race"),
    ("select_put", "while i < numbers[0]", "while i <= numbers[0]", "bounds"),
]


@pytest.mark.parametrize(("template", "right", "wrong", "kind"), MISTAKES, ids=["any", "plain", "too far"])
def test_the_simulator_notices_each_mistake_in_the_loops(monkeypatch, simulator, template, right, wrong, kind):
    break_text(monkeypatch, template, right, wrong)
    x, index = mg.zeros(9, dtype="int16", device="cuda"), mg.tensor([4, 4, 2], device="cuda")
    with noticed(kind):
        mg.index_copy(x, 0, index, mg.tensor([1, 2, 3], dtype="int16", device="cuda"))
