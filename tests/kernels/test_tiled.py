"""Loops in which an operand lies across the rows of the output: read tile by tile, whatever else is strided."""

import numpy as np
import pytest
from cases import over

import minigrad as mg
from minigrad.backends.cpu.loops import plan_elementwise
from minigrad.config import override
from minigrad.core.layout import Layout

PERMUTED = [
    ((70, 90), (1, 0)), ((70, 512), (1, 0)), ((3, 1024, 9, 10), (0, 2, 3, 1)), ((20, 30, 40), (2, 0, 1)),
    ((20, 30, 40), (1, 2, 0)), ((5, 33, 17, 9), (0, 2, 3, 1)), ((500, 9), (1, 0)), ((9, 500), (1, 0)),
    ((17, 300), (1, 0)), ((300, 65), (1, 0)),
]  # fmt: skip


def sample(shape, dtype="float32"):
    return np.random.default_rng(0).uniform(-9, 9, shape).astype(dtype)


@over("flipped", [False, True])
@over(("shape", "order"), PERMUTED)
def test_a_permuted_copy_is_numpys(shape, order, flipped):
    array = sample(shape)
    x = mg.tensor(array)
    if flipped:
        array, x = array[::-1], x.flip(0)
    assert np.array_equal(x.permute(*order).contiguous().numpy(), array.transpose(order))


def test_a_transposed_operand_beside_a_dense_one_a_row_and_a_number():
    a, b, row = sample((80, 70)), sample((70, 80)), sample((80,))
    x, y = mg.tensor(a), mg.tensor(b)
    assert np.array_equal((y * x.t()).numpy(), b * a.T)
    assert np.array_equal((x.t() + mg.tensor(row)).numpy(), a.T + row)
    assert np.array_equal((x.t() * 2.0).numpy(), a.T * np.float32(2.0))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "float64"])
def test_every_width_of_element(dtype):
    array = sample((65, 130), dtype)
    assert np.array_equal(mg.tensor(array).t().contiguous().numpy(), array.T)


def test_a_transpose_written_in_place_through_its_own_layout():
    array = sample((100, 100))
    x = mg.tensor(array).t()
    x.mul_(2.0)
    assert np.array_equal(x.numpy(), array.T * np.float32(2.0))


def test_one_and_all_threads_give_the_same_bits():
    x = mg.tensor(sample((300, 400))).t()
    y = (x * 1.1).numpy()
    with override(parallel_threshold=1 << 40):
        assert np.array_equal((x * 1.1).numpy(), y)


def test_columns_whose_lines_meet_in_a_cache_are_read_in_narrow_tiles():
    def columns(*shape):
        plan = plan_elementwise(Layout.contiguous(shape[::-1]), [Layout.contiguous(shape).transpose(0, 1)], 1)
        return plan.numbers["wide"]

    assert (columns(700, 512), columns(700, 1536)) == (8, 8)
    assert (columns(700, 500), columns(512, 700)) == (64, 64)


def test_a_copy_has_strips_of_a_cache_line_and_copies_the_bits_of_every_nan():
    layout = Layout.contiguous((80, 512)).transpose(0, 1)
    plan = plan_elementwise(Layout.contiguous((512, 80)), [layout], 1, copies=True)
    assert [plan.numbers[name] for name in ("tall", "wide")] == [16, 64]
    bits = np.arange(0x7F800001, 0x7F800001 + 80 * 90, dtype=np.uint32).reshape(80, 90)
    copied = mg.tensor(bits.view(np.float32)).t().contiguous().numpy()
    assert np.array_equal(copied.view(np.uint32), bits.T)


def test_small_operands_and_dense_ones_take_the_shorter_loops():
    def kind(shape, *operands):
        return plan_elementwise(Layout.contiguous(shape), operands, 1).kind

    assert kind((80, 80), Layout.contiguous((80, 80)).transpose(0, 1)) == "tiled"
    assert kind((8, 8), Layout.contiguous((8, 8)).transpose(0, 1)) == "strided"
    assert kind((80, 80), Layout.contiguous((80, 80))) == "dense"
    assert kind((80, 80), Layout.contiguous((80, 160)).slice(1, 0, None, 2)) == "strided"
