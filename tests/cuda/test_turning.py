"""Copies and casts across memory by tiles in shared memory, against NumPy in every order of threads."""

import numpy as np
import pytest
from cases import over, unless_full
from cuda_mistakes import noticed, text_of

import minigrad as mg
from minigrad.backends.cuda import elementwise, loops
from minigrad.backends.cuda.loops import plan_turned
from minigrad.backends.cuda.runtime import Program
from minigrad.backends.cuda.simulator import check_written
from minigrad.backends.lowering.functions import IDENTITY
from minigrad.config import announce
from minigrad.core.dtype import f32, u8
from minigrad.core.layout import Layout
from minigrad.core.op import Spec


@pytest.fixture
def small(monkeypatch):
    """Tiles are used for planes that a simulator is quick with."""
    monkeypatch.setattr(loops, "LEAST", 2)
    monkeypatch.setattr(loops, "TURNED", 4)
    yield
    announce()


def numbers(shape, dtype="float32"):
    x = np.random.default_rng(3).integers(0, 2 if dtype == "bool" else 100, shape)
    return mg.tensor(x, dtype=dtype)


@pytest.fixture
def by_tiles(kernels_of):
    """What a function gives; it has used a kernel of tiles."""

    def asked(function):
        found, used = kernels_of(function)
        assert "tiles" in used
        return found

    return asked


# One tile and less, one more than a tile, two words, and what is no whole word; in words of 1, 2 and 4 elements.
@unless_full(lambda order, dtype, shape: shape == (34, 6) or (dtype == "uint8" and order[0] == "random"))
@over("shape", [(5, 7), (33, 2), (34, 6), (8, 132)], ids=str)
@over("dtype", ["float32", "uint8", "float16", "float64", "bool"])
def test_transposes_of_every_size_of_element_in_every_order(order, small, by_tiles, dtype, shape):
    x = numbers(shape, dtype)
    y = x.to("cuda")
    assert by_tiles(lambda: y.t().contiguous()).tolist() == x.t().tolist()


@pytest.mark.parametrize("dims", [(0, 2, 1), (1, 2, 0), (2, 1, 0)], ids=str)
def test_any_two_dims_are_turned_and_the_others_are_a_batch(simulator, small, by_tiles, dims):
    x = numbers((3, 6, 10))
    assert by_tiles(lambda: x.to("cuda").permute(*dims).contiguous()).tolist() == x.permute(*dims).tolist()
    x = numbers((2, 2, 3, 1, 2))
    dims = (4, *dims, 3)
    assert by_tiles(lambda: x.to("cuda").permute(*dims).contiguous()).tolist() == x.permute(*dims).tolist()


def test_other_strides_than_one_and_results_that_lie_across(simulator, small, by_tiles):
    x = numbers((12, 21))
    y = x.to("cuda")
    for there, here in ((y[:, ::2].t(), x[:, ::2].t()), (y.flip(1).t(), x.flip(1).t()), (y[1:, 3:].t(), x[1:, 3:].t()),
                        (y.flip(0).t(), x.flip(0).t())):  # fmt: skip
        assert by_tiles(there.contiguous).tolist() == here.tolist()
    goal = mg.zeros(22, 26, device="cuda")
    part = goal[1:, 2:].t()[::2, ::-1]
    by_tiles(lambda: part.copy_(y))
    wanted = np.zeros((22, 26), np.float32)
    wanted[1:, 2:].T[::2, ::-1] = x.numpy()
    assert np.array_equal(goal.numpy(), wanted)


@pytest.mark.parametrize(("source", "target"), [("float32", "float16"), ("uint8", "float32"), ("int64", "bool"),
                                                ("bool", "bfloat16"), ("float64", "int8")])  # fmt: skip
def test_casts_are_made_on_the_way(simulator, small, by_tiles, source, target):
    x = numbers((6, 36), source)
    there = x.to("cuda").t()
    assert by_tiles(lambda: there.to(target)).tolist() == x.t().to(target).tolist()


def test_what_is_small_or_has_no_neighbours_elsewhere_is_not_turned():
    whole = Layout.contiguous((64, 64))
    assert plan_turned(whole, whole.transpose(0, 1), (4, 4)) is not None
    for a in (whole, whole.flip(1), Layout.contiguous((64,)).expand((64, 64)),
              Layout.contiguous((64, 1)).expand((64, 64))):  # fmt: skip
        assert plan_turned(whole, a, (4, 4)) is None
    for shape in ((15, 1024), (1024, 15), (31, 33), (0, 64)):
        a = Layout.contiguous(shape).transpose(0, 1)
        assert plan_turned(Layout.contiguous(a.shape), a, (4, 4)) is None


def test_words_are_as_wide_as_everything_begins_at_their_multiples():
    for shape, offset, size, width in (((64, 128), 0, 1, 4), ((64, 130), 0, 1, 2), ((64, 128), 2, 1, 2),
                                       ((64, 129), 0, 1, 1), ((64, 128), 0, 2, 2), ((64, 128), 0, 4, 1)):  # fmt: skip
        a = Layout.contiguous(shape, offset).transpose(0, 1)
        assert plan_turned(Layout.contiguous(a.shape), a, (size, size)).width == width


# ---- mistakes

BARRIER = "        cuda.syncthreads()\n"
MISTAKES = [
    (f32, (f"{BARRIER}        high", "        high"), "race unwritten"),
    (f32, (f"{BARRIER}        task", "        task"), "race"),
    (f32, ("if line < high", "if line <= high"), "bounds race"),
    (f32, ("line < high:", "line + 1 < high:"), "unwritten"),
    (f32, ("- 1) * numbers[10]", ") * numbers[10]"), "bounds"),
    (u8, ("< numbers[4]:", "< numbers[4] - 4:"), "unwritten"),
    (u8, ("(x * 4 + 1) * 32", "(x * 4 + 2) * 32"), "unwritten race"),
    (u8, ("v1[0]", "v2[0]"), "wrong"),
]


def launched(simulator, dtype, change=("", "")):
    """Launch a text, changed, as the backend would launch the right one; whether the result is right."""
    source = Layout.contiguous((36, 68)).transpose(0, 1)
    out, size = Spec(Layout.contiguous((68, 36)), dtype), dtype.itemsize
    plan = plan_turned(out.layout, source, (size, size))
    words = elementwise.turn_words(IDENTITY, dtype.compute, (dtype, dtype), plan.width, plan.rank)
    text = text_of(elementwise.tiles, (dtype, dtype), words, dtype.compute, rank=plan.rank)
    assert change[0] in text
    x = np.random.default_rng(5).integers(0, 200, (36, 68)).astype(dtype.numpy)
    there, goal = (simulator.allocate(x.size, dtype.numpy) for _ in range(2))
    simulator.copy_to_device(there, x.reshape(-1))
    kernel, before = simulator.load(Program("changed", text.replace(*change))), simulator.launches
    numbers = elementwise.TILES.packed(plan.groups, dict(plan.numbers))
    simulator.launcher(kernel, (2, 1, 1), plan.block, numbers)(there.address, goal.address)
    check_written(out, goal, before)
    return np.array_equal(simulator.copy_to_host(goal).reshape(68, 36), x.T)


@pytest.mark.parametrize(("dtype", "change", "notice"), MISTAKES)
def test_a_mistake_in_these_loops_is_noticed(simulator, dtype, change, notice):
    with simulator.ordered("reverse"):
        if notice == "wrong":
            assert not launched(simulator, dtype, change)
            return
        with noticed(notice):
            launched(simulator, dtype, change)


@pytest.mark.parametrize("dtype", [f32, u8], ids=str)
def test_without_a_mistake_nothing_is_noticed(simulator, dtype):
    assert launched(simulator, dtype)
