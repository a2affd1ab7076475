"""Joins on CUDA: many operands in one launch, by words as wide as they allow; in every order of threads."""

import numpy as np
import pytest
from cases import unless_full
from cuda_mistakes import break_text, noticed

import minigrad as mg
from minigrad.backends.cuda import joining
from minigrad.backends.steps import Steps
from minigrad.runtime.plans import forget_plans


def counted(count, shape, dim, dtype, sizes=(0, 1, 3, 4)):
    """Tensors of different lengths along a dim, and no element twice."""
    found, start = [], 0
    for k in range(count):
        each = tuple(sizes[k % len(sizes)] if d == dim else n for d, n in enumerate(shape))
        found.append((start + np.arange(np.prod(each, dtype=int))).reshape(each).astype(dtype))
        start += found[-1].size
    return found


def hold(arrays, dim):
    joined = mg.cat([mg.tensor(a).cuda() for a in arrays], dim)
    assert np.array_equal(joined.numpy(), np.concatenate(arrays, dim))


@pytest.mark.parametrize("count", [1, 2, 3, 5, 33])
@unless_full(lambda count: count in (3, 33))
def test_joins_of_so_many_operands_along_every_dim(order, count):
    for dim in (0, 1, 2):
        hold(counted(count, (3, 2, 4), dim, "float32"), dim)
    arrays = counted(count, (3, 4), 2, "int16")
    assert np.array_equal(mg.stack([mg.tensor(a).cuda() for a in arrays], 1).numpy(), np.stack(arrays, 1))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "int32", "int64", "float16", "float64"])
def test_words_are_as_wide_as_the_operands_allow(cuda, dtype):
    for sizes in ((16, 32), (8, 4), (2, 6), (5, 3)):
        hold(counted(3, (2, 1), 1, dtype, sizes), 1)
    x = mg.arange(40).to(dtype).cuda()
    assert mg.cat([x[3:], x[16:32], x[:1]]).tolist() == [*x[3:].tolist(), *x[16:32].tolist(), *x[:1].tolist()]


def test_what_is_strided_or_of_another_dtype_is_copied(cuda):
    x, y = mg.arange(12, device="cuda").reshape(3, 4), mg.ones(4, 3, dtype="float32", device="cuda")
    assert mg.cat([x.t(), y]).tolist() == [*x.t().tolist(), *y.tolist()]


def test_blocks_are_shared_out_by_size(cuda, monkeypatch):
    monkeypatch.setattr(cuda, "most", 2)
    forget_plans()
    hold(counted(3, (2,), 0, "float64", (700, 1, 300)), 0)
    forget_plans()
    assert joining.shares(Steps(cuda, (), ()), 1, (700, 1, 300), (0, 700, 701), (0, 0, 0))[0] == 4


MISTAKES = [
    ("while i < width * numbers[0]:", "while i <= width * numbers[0]:", "bounds race"),
    ("while i < width * numbers[0]:", "while i + 1 < width * numbers[0]:", "unwritten"),
    ("+ begin + i", "+ i", "race"),
    ("position >= numbers[3]", "position > numbers[3]", "unwritten"),
    ("store_1(out, at,", "store_1(out, at + 1,", "bounds unwritten"),
]


@pytest.mark.parametrize(("right", "wrong", "notice"), MISTAKES)
def test_a_mistake_in_the_loop_is_noticed(simulator, monkeypatch, right, wrong, notice):
    break_text(monkeypatch, "join", right, wrong)
    with noticed(notice):
        hold(counted(2, (3, 1), 1, "int16", (3, 4)), 1)
