"""Scans by groups of threads: lanes, warps, tiles and blocks of a row, in every order of threads, against NumPy."""

import numpy as np
import pytest
from cases import unless_full
from cuda_mistakes import noticed, text_of

import minigrad as mg
from minigrad.backends.cuda import scan
from minigrad.backends.cuda.runtime import Program
from minigrad.backends.cuda.simulator import check_written
from minigrad.core.dtype import f32, f64, i64
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.kernels.cuda.target import CUDA
from minigrad.kernels.macros import scalar_macro
from minigrad.kernels.pasting import Macro
from minigrad.ops.reduction.scan import NOT_LESS, SUM

# A few lanes a row, tiles of a warp, tiles of a block.
SHAPES = [((5, 9), 1), ((2, 150), 1), ((1100,), 0), ((6, 5), 0)]


def integers(shape):
    return np.random.default_rng(2).integers(-4, 5, shape).astype(np.float32)


@unless_full(lambda order, shape, dim: order[0] == "random" or shape == (2, 150))
@pytest.mark.parametrize(("shape", "dim"), SHAPES, ids=str)
def test_scans_of_every_form_in_every_order(order, shape, dim):
    x = integers(shape)
    y = mg.tensor(x, device="cuda")
    assert np.array_equal(y.cumsum(dim).numpy(), x.cumsum(dim))
    values, places = y.cummax(dim)
    assert np.array_equal(values.numpy(), np.maximum.accumulate(x, dim))
    assert places.tolist() == mg.tensor(x, device="reference").cummax(dim)[1].tolist()


@unless_full(lambda order: order[0] == "random")
def test_long_rows_are_cut_into_blocks(order, monkeypatch):
    monkeypatch.setattr(scan, "BLOCK", 1024)
    x = integers((2, 2100))
    assert np.array_equal(mg.tensor(x, device="cuda").cumsum(1).numpy(), x.cumsum(1))


def test_rows_side_by_side_have_a_thread_each(order, monkeypatch):
    monkeypatch.setattr(scan, "SIDE_BY_SIDE", 32)
    x = integers((5, 67))
    assert np.array_equal(mg.tensor(x, device="cuda").cumsum(0).numpy(), x.cumsum(0))


@unless_full(lambda dtype: dtype in ("bool", "float16"))
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64", "float16", "bfloat16", "float64"])
def test_dtypes(simulator, dtype):
    x = mg.tensor(np.arange(70) % 3, dtype=dtype, device="reference")
    y = x.to("cuda")
    assert y.cumsum(0).tolist() == x.cumsum(0).tolist() and y.cummin(0)[1].tolist() == x.cummin(0)[1].tolist()


def test_products_logarithms_and_nan(simulator):
    x = mg.tensor(np.random.default_rng(4).standard_normal((3, 40)), device="reference")
    y = x.to("cuda")
    np.testing.assert_allclose(y.cumprod(1).numpy(), x.cumprod(1).numpy(), rtol=1e-13)
    np.testing.assert_allclose(y.logcumsumexp(1).numpy(), x.logcumsumexp(1).numpy(), rtol=1e-13)
    x = np.zeros(40, np.float32)
    x[[7, 20]] = np.nan
    got = mg.tensor(x, device="cuda")
    assert np.array_equal(np.isnan(got.cumsum(0).numpy()), np.arange(40) >= 7)
    values, places = got.cummax(0)
    wanted = mg.tensor(x, device="reference").cummax(0)[1]
    assert np.array_equal(np.isnan(values.numpy()), np.arange(40) >= 7) and places.tolist() == wanted.tolist()


def test_layouts(simulator):
    x = mg.tensor(integers((5, 12)), device="reference")
    y = x.to("cuda")
    for got, view in ((y.t(), x.t()), (y.flip(1), x.flip(1)), (y[::2, 1::3], x[::2, 1::3]), (y[:, 2:], x[:, 2:])):
        for dim in (0, 1):
            assert got.cumsum(dim).tolist() == view.cumsum(dim).tolist()
            assert got.cummax(dim)[1].tolist() == view.cummax(dim)[1].tolist()


# ---- mistakes

BARRIER = "        cuda.syncthreads()\n"
MISTAKES = [
    ("tiles", (f"{BARRIER}        mine", "        mine"), "race unwritten"),
    ("tiles", ("if i + k < length:", "if i + k <= length:"), "bounds race"),
    ("tiles", ("tile += cuda.blockDim.x * 4", "tile += cuda.blockDim.x * 8"), "unwritten"),
    ("tiles", ("if lane == 31:", "if lane == 30:"), "wrong"),
    ("tiles", ("if lane % lanes >= step:", "if lane % lanes > step:"), "wrong"),
    ("running", (f"        {BARRIER}                k = 0", "                k = 0"), "race unwritten"),
    ("running", (f"        {BARRIER}                if lane == 31:", "                if lane == 31:"), "race"),
    ("running", ("if i + k < length:", "if i + k <= length:"), "bounds race"),
]


def launched(simulator, kind, change=("", "")):
    """Launch a text, changed, as the backend would launch the right one; whether the result is right."""
    n = 1300
    x = integers(n)
    if kind == "tiles":
        words = scan.tile_words(SUM, f64.compute, 4, False, False)
        text, results = text_of(scan.tiles, (f32, None, f32), words, f64.compute, rank=0), ["f4"]
    else:
        words = {"F": Macro(scalar_macro(NOT_LESS, f32.compute, CUDA, True))}
        text, results = text_of(scan.extremes, (f32, f32, i64), words, f32.compute, rank=0), ["f4", "i8"]
    assert change[0] in text
    there, *goals = (simulator.allocate(n, np.dtype(dtype)) for dtype in ("f4", *results))
    simulator.copy_to_device(there, x)
    groups = [(0, 1, ())] * (1 + len(goals))
    numbers = scan.SCAN.packed(groups, {"rows": 1, "n": n, "block": n, "blocks": 1, "shape": ()})
    kernel, before = simulator.load(Program("changed", text.replace(*change))), simulator.launches
    launch = simulator.launcher(kernel, (1, 1, 1), (256, 1, 1), numbers)
    launch(there.address, *[goal.address for goal in goals])
    check_written(Spec(Layout.contiguous((n,)), f32), goals[0], before)
    wanted = np.cumsum(x) if kind == "tiles" else np.maximum.accumulate(x)
    return np.array_equal(simulator.copy_to_host(goals[0]), wanted)


@pytest.mark.parametrize(("kind", "change", "notice"), MISTAKES)
def test_a_mistake_in_these_loops_is_noticed(simulator, kind, change, notice):
    with simulator.ordered("reverse"):
        if notice == "wrong":
            assert not launched(simulator, kind, change)
            return
        with noticed(notice):
            launched(simulator, kind, change)


@pytest.mark.parametrize("kind", ["tiles", "running"])
def test_without_a_mistake_nothing_is_noticed(simulator, kind):
    assert launched(simulator, kind)
