"""Masks on CUDA: blocks count and write the selected positions, in row-major order for any order of threads."""

import numpy as np
import pytest
from cases import unless_full
from cuda_mistakes import break_text

import minigrad as mg
from minigrad.backends.cuda.watched import Notice
from minigrad.core import requests
from minigrad.core.dtype import bool_, int64
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.ops.indexing import masks as ops
from minigrad.runtime.plans import forget_plans


@pytest.fixture
def short_parts(monkeypatch):
    """Parts of some 100 elements, so that small masks have several."""
    monkeypatch.setattr(ops, "PART", 100)
    forget_plans()
    yield
    forget_plans()


def drawn(shape, share):
    return np.random.default_rng(3).random(shape) < share


def hold(mask, values):
    """Where elements stand, and what stands there."""
    assert np.array_equal(mg.nonzero(mask).numpy(), np.argwhere(values))


@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 33, 255, 257, 1001])
@unless_full(lambda n: n in (0, 17, 257))
def test_masks_of_every_length(cuda, n):
    for share in (0, 0.4, 1):
        values = drawn(n, share)
        hold(mg.tensor(values).cuda(), values)
    values = drawn(n + 3, 0.5)
    hold(mg.tensor(values).cuda()[3:], values[3:])  # begins between two words


@unless_full(lambda order: order[0] == "random")
def test_parts_in_every_order(order, short_parts):
    values = drawn(330, 0.5)
    hold(mg.tensor(values).cuda(), values)


def test_layouts(cuda):
    values = drawn((7, 20), 0.4)
    mask, x = mg.tensor(values).cuda(), np.arange(140.0).reshape(7, 20)
    hold(mask.t(), values.T)
    hold(mask[::2, 1::3].flip(0), values[::2, 1::3][::-1])
    hold(mask[:, :1].expand(7, 3), np.broadcast_to(values[:, :1], (7, 3)))
    assert np.array_equal(mg.tensor(x).cuda()[mask].numpy(), x[values])
    hold(mg.tensor(True, device="cuda"), np.array(True))


def test_a_second_turn_of_the_blocks_goes_on_where_the_first_ended(cuda, short_parts, monkeypatch):
    monkeypatch.setattr(cuda, "most", 1)
    values = drawn(330, 0.5)
    hold(mg.tensor(values).cuda(), values)


def located(cuda, n, share, starts, count):
    """What is found in a mask of which `starts` was told."""
    runtime = cuda.runtime
    there, told, goal = (runtime.allocate(k, np.dtype(kind)) for k, kind in ((n, "u1"), (2, "i8"), (count, "i8")))
    runtime.copy_to_device(there, drawn(n, share).astype(np.uint8))
    runtime.copy_to_device(told, np.array(starts))
    mask, out = Spec(Layout.contiguous((n,)), bool_), Spec(Layout.contiguous((count,)), int64)
    cuda.prepare(requests.Locate(), out, mask, Spec(Layout.contiguous((2,)), int64))(there, told, goal)
    return runtime.copy_to_host(goal)


@pytest.mark.parametrize("count", [3, 60])
def test_a_mask_that_was_written_after_it_was_counted_gives_as_many(cuda, count):
    wanted = np.zeros(count, int)
    found = np.flatnonzero(drawn(100, 0.3))
    wanted[: len(found)] = found[:count]
    assert located(cuda, 100, 0.3, [0, count], count).tolist() == wanted.tolist()


BARRIER = "        cuda.syncthreads()"
MISTAKES = [
    ("mask_count", f"sums[0] = np.int32(0)\n{BARRIER}", "sums[0] = np.int32(0)", "race unwritten"),
    ("mask_count", f"atomic_add(sums, 0, total)\n{BARRIER}", "atomic_add(sums, 0, total)", "race"),
    ("mask_count", "atomic_add(sums, 0, total)", "sums[0] += total", "race"),
    ("mask_count", "while i < stop:", "while i + 1 < stop:", "wrong"),
    ("mask_positions", f"sums[warp] = held\n{BARRIER}", "sums[warp] = held", "race unwritten"),
    ("mask_positions", "k < warp", "k <= warp", "unwritten"),
    ("mask_positions", "while first < end:", "while first + 32 < end:", "wrong"),
    ("mask_positions", "ballot & below", "ballot", "race"),
    ("mask_positions", "position < stop:", "position <= stop:", "bounds"),
]


@pytest.mark.parametrize(("template", "right", "wrong", "notice"), MISTAKES)
def test_a_mistake_in_these_loops_is_noticed(simulator, monkeypatch, template, right, wrong, notice):
    break_text(monkeypatch, template, right, wrong)
    values = np.ones((10, 11), bool)
    said = set()
    for way in ("forward", "reverse"):
        forget_plans()
        with simulator.ordered(way):
            try:
                found = mg.nonzero(mg.tensor(values).cuda().t()).numpy()
                said |= set() if np.array_equal(found, np.argwhere(values.T)) else {"wrong"}
            except Notice as error:
                said.add(error.kind)
    forget_plans()
    assert said & set(notice.split())
