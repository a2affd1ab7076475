"""Orders on CUDA are the CPU's: rows within a tile, tiles that are merged, the first few; in every order of threads."""

import itertools

import numpy as np
import pytest
from cases import over, unless_full
from cuda_mistakes import break_text, noticed

import minigrad as mg
from minigrad.backends.cuda import sorting
from minigrad.runtime.plans import forget_plans

FLOATS = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -1.5]
DTYPES = ["bool", "uint8", "int8", "int16", "int32", "uint32", "int64", "float16", "bfloat16", "float32", "float64"]


@pytest.fixture
def small_tiles(cuda, monkeypatch):
    """Tiles of 512 elements, so that rows of some hundred have several."""
    monkeypatch.setattr(sorting, "LANES", 64)
    forget_plans()
    yield
    forget_plans()


def values(dtype, shape, seed=1):
    """Many equal ones, and the extremes of a dtype."""
    rng = np.random.default_rng(seed)
    if dtype.startswith(("float", "bfloat")):
        return mg.tensor(rng.choice(FLOATS, shape), dtype=dtype)
    if dtype == "bool":
        return mg.tensor(rng.integers(0, 2, shape), dtype=dtype)
    ends = np.iinfo(dtype)
    return mg.tensor(rng.choice(np.array([ends.min, ends.max, 0, 1, ends.max - 1], dtype), shape))


def hold_sorted(x, dim=-1, descending=False):
    """The order is the CPU's, and the elements are those that stand there."""
    found, wanted = x.cuda().sort(dim, descending), x.sort(dim, descending)
    assert found[1].tolist() == wanted[1].tolist() == x.argsort(dim, descending).tolist()
    np.testing.assert_array_equal(found[0].numpy(), wanted[0].numpy())


def hold_chosen(x, k, dim=-1, largest=True):
    found, wanted = x.cuda().topk(k, dim, largest), x.topk(k, dim, largest)
    assert found[1].tolist() == wanted[1].tolist()
    np.testing.assert_array_equal(found[0].numpy(), wanted[0].numpy())


@unless_full(lambda order: order[0] == "random")
def test_rows_of_every_length_within_a_tile(order):
    for n in (1, 2, 7, 8, 9, 16, 17, 70):
        hold_sorted(values("float32", (3, n)), 1, n % 2 == 0)
    hold_sorted(values("float32", (9, 40)), 0)
    hold_sorted(values("int64", (2, 40)), 1)


@over(("dtype", "descending"), [*itertools.product(DTYPES, (False, True))])
@unless_full(lambda dtype, descending: descending == (dtype in ("bool", "float16", "int64", "float64")))
def test_equal_elements_extremes_and_nan_stand_as_on_the_cpu(cuda, dtype, descending):
    x = values(dtype, 33)
    assert x.cuda().argsort(0, descending).tolist() == x.argsort(0, descending).tolist()


def test_layouts(cuda):
    x = values("float32", (6, 10))
    for view in (x.t(), x.flip(0, 1), x[1::2, 1::3], x[:, :1].expand(6, 5), x[2:]):
        there = view.cuda()
        for dim in (0, 1):
            assert there.argsort(dim).tolist() == view.argsort(dim).tolist()
    there = x.cuda()
    np.testing.assert_array_equal(there.t().sort(0)[0].t().numpy(), there.sort(1)[0].numpy())


def test_no_element_and_one(cuda):
    for shape in ((0,), (3, 0), (0, 3), (1,)):
        x = mg.ones(*shape, device="cuda")
        assert x.sort(0)[1].shape == shape and x.argsort(-1).shape == shape
    assert mg.tensor(3.0, device="cuda").reshape(1).topk(1)[1].tolist() == [0]
    assert mg.ones(5, device="cuda").topk(0)[0].shape == (0,)


@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize("n", [511, 512, 513, 1024, 1025, 1700])
@unless_full(lambda dtype, n: (dtype, n) in {("float32", 1025), ("int64", 513)})
def test_long_rows_are_sorted_in_tiles_and_merged(small_tiles, dtype, n):
    hold_sorted(values(dtype, n), 0, n == 513)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("n", "k"), [(700, 1), (700, 512), (700, 600), (1700, 128), (1700, 129), (1700, 1)])
@unless_full(lambda dtype, n, k: (dtype, n, k) in {("float32", 700, 600), ("float64", 700, 1)})
def test_the_first_few_of_long_rows(small_tiles, dtype, n, k):
    hold_chosen(values(dtype, n), k, 0, k != 600)


@unless_full(lambda order: order[0] == "reverse")
def test_tiles_of_several_rows_in_every_order(order, small_tiles):
    hold_chosen(values("float32", (530, 2)), 3, 0)
    hold_sorted(values("int16", (2, 520)), 1)


def test_a_second_turn_of_the_blocks_goes_on_where_the_first_ended(cuda, small_tiles, monkeypatch):
    monkeypatch.setattr(cuda, "most", 1)
    hold_sorted(values("float32", (2, 530)), 1)
    hold_sorted(values("float32", (300, 3)), 1)


def test_stages_make_the_first_few_of_a_row():
    for n, wanted, tile in itertools.product(
        (1, 2048, 2049, 1 << 20, 1_000_001), (1, 7, 512, 513, 2048, 1 << 20), (2048,)
    ):
        found = list(sorting.stages(n, min(n, wanted), tile))
        assert found[-1].made == min(n, wanted) and found[0].n == n
        assert all(before.made == after.n for before, after in itertools.pairwise(found))
    assert len(list(sorting.stages(1 << 20, 10, 2048))) == 3 and len(list(sorting.stages(1 << 20, 1 << 20, 2048))) == 10


# ---- mistakes

BARRIER = "        cuda.syncthreads()\n"
DEEPER = f"    {BARRIER}"
MISTAKES = [
    ("runs", f"{BARRIER}        for k", "        for k", "race unwritten"),
    ("runs", f"{BARRIER}        run = 8", "        run = 8", "race unwritten"),
    ("runs", f"{DEEPER}            stow", "            stow", "race"),
    ("runs", f"{DEEPER}            run *= 2", "            run *= 2", "race"),
    ("runs", "if i < length:", "if i <= length:", "bounds"),
    ("runs", "while i < length:", "while i < length - 1:", "unwritten"),
    ("runs", "if held[0] > held[1]:", "if held[0] < held[1]:", "wrong"),
    ("merge", f"{BARRIER}        first +=", "        first +=", "race unwritten"),
    ("merge", f"{BARRIER}        together", "        together", "race unwritten"),
    ("merge", f"{BARRIER}        stow", "        stow", "race unwritten"),
    ("merge", f"{BARRIER}        store_run", "        store_run", "race unwritten"),
    ("merge", "while i < length:", "while i < length - 1:", "unwritten"),
    ("merge", "if mid < high:", "if mid <= high + 40:", "bounds unwritten"),
]


@pytest.mark.parametrize(("template", "right", "wrong", "notice"), MISTAKES)
def test_a_mistake_in_these_loops_is_noticed(simulator, cuda, small_tiles, monkeypatch, template, right, wrong, notice):
    break_text(monkeypatch, template, right, wrong)
    monkeypatch.setattr(cuda, "most", 1)
    x = values("float32", (2, 520) if template == "merge" else (5, 300))
    with simulator.ordered("reverse"):
        if notice == "wrong":
            assert x.cuda().argsort(1).tolist() != x.argsort(1).tolist()
            return
        with noticed(notice):
            x.cuda().argsort(1)
