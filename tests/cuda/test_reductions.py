"""Reductions and min/max searches by groups of threads: every way of sharing the work, against NumPy."""

import math
from fractions import Fraction

import numpy as np
import pytest
from cases import over, unless_full
from cuda_mistakes import noticed, text_of
from strided import WAYS

import minigrad as mg
from minigrad.backends.cuda import reduction
from minigrad.backends.cuda.reduction_plans import plan_groups, plan_search
from minigrad.backends.cuda.runtime import Program
from minigrad.backends.cuda.simulator import check_written
from minigrad.core.dtype import f32, f64, i64
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.declare.record import schema
from minigrad.kernels.cuda import reduction as loops
from minigrad.ops.reduction.extremes import GREATER

# One output of one warp, of a block, of several pieces; many along memory, across it, over two dims at once.
SHAPES = [((37,), (0,)), ((700,), (0,)), ((9000,), (0,)), ((3, 45), (1,)), ((45, 17), (0,)), ((700, 2), (0,)),
          ((6, 5, 7), (0, 2)), ((2, 260), (1,))]  # fmt: skip


def integers(shape, seed=0):
    """Whole numbers, so that every order of a sum gives the same."""
    return np.random.default_rng(seed).integers(-9, 10, shape)


@unless_full(lambda order, shape, dims: order[0] == "random" or shape == (3, 45))
@over(("shape", "dims"), SHAPES, ids=str)
def test_groups_of_every_size_in_every_order(order, shape, dims):
    x = integers(shape).astype(np.float32)
    y = mg.tensor(x, device="cuda")
    assert np.array_equal(y.sum(dims).numpy(), x.sum(dims)) and np.array_equal(y.amax(dims).numpy(), x.max(dims))
    if len(dims) == 1:
        values, places = y.max(dims[0])
        assert np.array_equal(places.numpy(), x.argmax(dims[0])) and np.array_equal(values.numpy(), x.max(dims[0]))
        assert np.array_equal(y.argmin(dims[0]).numpy(), x.argmin(dims[0]))


@unless_full(lambda way, dims: (way, dims) in (("flipped", (0,)), ("stepped", (1,)), ("transposed", (0, 1))))
@over("way", WAYS)
@over("dims", [(0,), (1,), (0, 1)], ids=str)
def test_layouts(simulator, way, dims):
    x = mg.tensor(integers((9, 40)).astype(np.float32), device="cuda")
    view = {"transposed": x.t().contiguous().t(), "flipped": x.flip(1), "stepped": x[::2, ::3], "offset": x[2:, 3:]}
    y = view.get(way, x)
    assert np.array_equal(y.sum(dims).numpy(), y.numpy().sum(dims))
    if len(dims) == 1:
        assert np.array_equal(y.argmax(dims[0]).numpy(), y.numpy().argmax(dims[0]))


@pytest.mark.parametrize("dims", [(0,), (1,), (0, 1)], ids=str)
def test_several_operands_are_read_by_one_launch_each_in_its_own_layout(simulator, dims):
    x = mg.tensor(integers((9, 40)).astype(np.float32), device="cuda")
    pairs = [(x, x.flip(1)), (x.t().contiguous().t(), x), (x[:1].expand(9, 40), x), (x[::2, ::3], x[:5, :14])]
    for a, b in pairs:
        want = (a.numpy() - b.numpy()) ** 2
        assert mg.nn.functional.mse_loss(a, b, reduction="sum").item() == want.sum()
        np.testing.assert_allclose(a.var(dims).numpy(), a.numpy().astype(np.float64).var(dims, ddof=1), rtol=1e-6)


def test_pieces_of_several_operands_are_combined(simulator):
    x = mg.tensor(integers((9000,)).astype(np.float32), device="cuda")
    assert mg.nn.functional.mse_loss(x, x.flip(0), reduction="sum").item() == ((x - x.flip(0)).numpy() ** 2).sum()


@unless_full(lambda dtype: dtype in ("bool", "uint32"))
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "uint32", "int64", "float16", "float64"])
def test_what_travels_between_lanes(simulator, dtype):
    numbers = (np.arange(100) * 37) % 101
    x = mg.tensor(numbers % 2 if dtype == "bool" else numbers, dtype=dtype, device="reference")
    y = x.to("cuda")
    for name in ("amax", "amin", "any", "all", "sum", "argmax"):
        assert getattr(y, name)().tolist() == getattr(x, name)().tolist(), name


def test_nan_wins_wherever_it_stands_and_the_first_of_equals(simulator):
    for at in (0, 33, 139):
        x = np.zeros(140, np.float32)
        x[at] = math.nan
        y = mg.tensor(x, device="cuda")
        assert np.isnan(y.amax().item()) and np.isnan(y.amin().item()) and y.argmax().item() == at
    assert mg.zeros(40, device="cuda").argmax().item() == 0
    assert mg.zeros(50, 3, device="cuda").argmax(0).tolist() == [0, 0, 0]


@pytest.mark.parametrize("shape", [(2048,), (301, 5)], ids=str)
def test_sums_of_float32_are_as_near_as_they_say(simulator, shape):
    rng = np.random.default_rng(1)
    x = (rng.standard_normal(shape) * 10.0 ** rng.integers(-20, 20, shape)).astype(np.float32).reshape(shape[0], -1)
    got = mg.tensor(x, device="cuda").to(mg.float32).sum(0).numpy()
    for column, found in zip(x.T, got, strict=True):
        exact = sum(map(Fraction, map(float, column)))
        magnitudes = sum(abs(Fraction(float(v))) for v in column)
        assert abs(Fraction(float(found)) - exact) <= magnitudes * Fraction(2, 1 << 24) + abs(exact) / (1 << 24)


def test_a_sum_that_overflows_on_the_way_does_not(simulator):
    x = np.float32([3e38, 3e38, -3e38, -3e38] * 8)
    assert mg.tensor(x, device="cuda").sum().item() == 0
    column = mg.tensor(np.repeat(x[:, None], 3, 1), device="cuda")
    assert column.sum(0).tolist() == [0, 0, 0]


def test_what_is_cut_depends_on_shapes_alone():
    for shape, dims in [((1 << 24,), (0,)), ((1 << 20, 8), (0,)), ((4, 1 << 20), (1,)), ((512, 3, 64, 64), (0, 2, 3))]:
        out = Layout.contiguous(tuple(1 if d in dims else n for d, n in enumerate(shape)))
        share = plan_groups([out], [Layout.contiguous(shape)], dims, 4)
        assert 128 <= share.pieces * -(-out.numel // share.groups) <= 2048 and math.prod(share.block) == 256
        if len(dims) == 1:
            first, then = plan_search(out, Layout.contiguous(shape), dims[0])
            assert first.pieces > 1 and then is not None and then.values["rows"] == first.pieces


# ---- mistakes


ALONG, ACROSS = ((600,), (0,)), ((40, 5), (0,))
BARRIER = "        cuda.syncthreads()\n"
MISTAKES = [
    (ALONG, False, (f"{BARRIER}        acc", "        acc"), "race unwritten"),
    (ALONG, False, ("i < length:", "i <= length:"), "bounds"),
    (ALONG, False, ("lane == 0 and inside", "lane == 0 and not inside"), "unwritten"),
    (ALONG, False, ("lane == 0 and inside", "inside"), "race"),
    (ACROSS, False, (f"    {BARRIER}", ""), "race unwritten"),
    (ACROSS, False, ("lane == 0 and inside", "inside"), "race"),
    (ACROSS, False, ("first + cuda.threadIdx.x < numbers[0]", "True"), "bounds"),
    (ALONG, True, (f"{BARRIER}        k = 0", "        k = 0"), "race unwritten"),
    (ALONG, True, ("min(numbers[1], p * numbers[2] + numbers[2])", "p * numbers[2] + numbers[2] + 1"), "bounds"),
    (ACROSS, True, (f"    {BARRIER}", ""), "race unwritten"),
    (ACROSS, True, ("lane == 0 and inside", "lane < 0 and inside"), "unwritten"),
]


def launched(simulator, case, sought, change=("", "")):
    """Launch a text, changed, as the backend would launch the right one."""
    shape, dims = case
    x = integers(shape).astype(np.float32)
    a, out = Layout.contiguous(shape), Layout.contiguous(tuple(1 if d in dims else n for d, n in enumerate(shape)))
    if sought:
        share = plan_search(out, a, dims[0])[0]
        rank = len(share.values["sizes"])
        words = reduction.search_words(GREATER, f32, False, share.along, True)
        text = text_of(loops.search, (f32, None, i64), words, f32.compute, kept=rank)
        numbers = loops.SEARCH.packed((), dict(share.values))
    else:
        share = plan_groups([out], [a], dims, 4)
        ranks = {"kept": len(share.values["sizes"]), "reduced": len(share.values["reduced_sizes"])}
        words = reduction.spread_words(schema["sum"].reducer, f64.compute, f32, share.along, share.width)
        text = text_of(loops.spread, (f32, f32), words, f64.compute, **ranks)
        numbers = loops.SPREAD.packed([*share.goals, *share.each], {"count": 1} | share.values)
    assert share.pieces == 1 and change[0] in text
    there, goal = simulator.allocate(x.size, x.dtype), simulator.allocate(out.numel, np.dtype("i8" if sought else "f4"))
    simulator.copy_to_device(there, x.reshape(-1))
    kernel, before = simulator.load(Program("changed", text.replace(*change))), simulator.launches
    simulator.launcher(kernel, (1, 1, 1), share.block, numbers)(there.address, goal.address)
    check_written(Spec(out, i64 if sought else f32), goal, before)
    return simulator.copy_to_host(goal).tolist() == (x.argmax(dims[0]) if sought else x.sum(dims)).reshape(-1).tolist()


@pytest.mark.parametrize(("case", "sought", "change", "kind"), MISTAKES)
def test_a_mistake_in_these_loops_is_noticed(simulator, case, sought, change, kind):
    for order, seed in (("forward", 0), ("reverse", 0)):
        with simulator.ordered(order, seed), noticed(kind):
            launched(simulator, case, sought, change)


@pytest.mark.parametrize(("case", "sought"), [(ALONG, False), (ACROSS, False), (ALONG, True), (ACROSS, True)])
def test_without_a_mistake_nothing_is_noticed(simulator, case, sought):
    assert launched(simulator, case, sought)
