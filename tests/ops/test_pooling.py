"""Pooling under PyTorch's names: windows, padding, ties, nan, and what is refused before anything is allocated."""

import numba
import numpy as np
import pytest
from op_support import assert_sentence

import minigrad as mg
from minigrad.config import override
from minigrad.errors import ArgumentError, DTypeError, ShapeError
from minigrad.nn import functional as F

pytestmark = pytest.mark.usefixtures("float64")

INF, NAN = float("inf"), float("nan")


def row(*values, **given):
    return mg.tensor([[list(values)]], **given)


def test_the_stride_is_the_window_unless_it_is_given():
    assert F.max_pool1d(row(1.0, 5.0, 2.0, 3.0, 9.0), 2).tolist() == [[[5, 3]]]
    assert F.max_pool1d(row(1.0, 5.0, 2.0, 3.0, 9.0), 2, 1).tolist() == [[[5, 5, 3, 9]]]
    assert F.avg_pool1d(row(1.0, 5.0, 2.0, 4.0), 2).tolist() == [[[3, 3]]]


def test_ceil_mode_keeps_a_window_that_hangs_over_the_end_but_none_that_begins_there():
    assert F.max_pool1d(row(1.0, 5.0, 2.0), 2, ceil_mode=True).tolist() == [[[5, 2]]]
    assert F.avg_pool1d(row(1.0, 5.0, 2.0), 2, ceil_mode=True).tolist() == [[[3, 2]]]
    assert F.max_pool1d(row(1.0, 5.0, 2.0), 2, 4, 1, ceil_mode=True).shape == (1, 1, 1)


def test_the_padding_is_minus_infinity_for_the_largest_and_zero_for_the_mean():
    x = row(-4.0, -2.0)
    assert F.max_pool1d(x, 2, 2, 1).tolist() == [[[-4, -2]]]
    assert F.avg_pool1d(x, 2, 2, 1).tolist() == [[[-2, -1]]]
    assert F.avg_pool1d(x, 2, 2, 1, count_include_pad=False).tolist() == [[[-4, -2]]]
    assert F.avg_pool2d(x.unsqueeze(2), (1, 2), divisor_override=3).tolist() == [[[[-2]]]]


def test_the_first_of_equals_is_the_largest_and_gets_the_gradient():
    x = mg.Var([[[[1.0, 1.0], [1.0, 0.0]]]])
    y, at = F.max_pool2d(x, 2, return_indices=True)
    assert at.tolist() == [[[[0]]]] and at.dtype is mg.int64
    assert y.sum().backward()[x].tolist() == [[[[1, 0], [0, 0]]]]


def test_nan_is_larger_than_all_and_the_first_of_several_counts():
    y, at = F.max_pool1d(row(1.0, NAN, INF, NAN, 0.0, 2.0), 3, return_indices=True)
    assert np.isnan(y.numpy()).tolist() == [[[True, True]]] and at.tolist() == [[[1, 3]]]


def test_a_window_of_minus_infinities_has_its_first_position():
    y, at = F.max_pool1d(row(-INF, -INF, 3.0, -INF), 2, return_indices=True)
    assert y.tolist() == [[[-INF, 3]]] and at.tolist() == [[[0, 2]]]


def test_the_lowest_integer_is_found_beside_padding():
    low = -(2**31)
    y, at = F.max_pool1d(row(low, low, dtype="int32"), 2, 2, 1, return_indices=True)
    assert y.tolist() == [[[low, low]]] and at.tolist() == [[[0, 1]]]


def test_windows_that_overlap_add_their_gradients():
    x = mg.Var([[[0.0, 7.0, 0.0]]])
    assert F.max_pool1d(x, 2, 1).sum().backward()[x].tolist() == [[[0, 2, 0]]]
    assert F.avg_pool1d(x, 2, 1).sum().backward()[x].tolist() == [[[0.5, 1, 0.5]]]


def test_one_image_needs_no_batch():
    x = mg.randn(3, 6, 5)
    y, at = F.max_pool2d(x, 2, return_indices=True)
    assert y.shape == at.shape == (3, 3, 2) and F.avg_pool2d(x, 2).shape == (3, 3, 2)


def test_operands_of_any_strides():
    x = mg.randn(2, 3, 8, 6)
    turned = x.transpose(1, 3).clone().transpose(1, 3)
    wide = mg.cat([x, x], 3)[..., :6]
    for same in (turned, wide, x.flip(2).clone().flip(2)):
        for fn in (F.max_pool2d, F.avg_pool2d):
            assert np.array_equal(fn(x, 3, 2, 1).numpy(), fn(same, 3, 2, 1).numpy())


def test_the_number_of_threads_does_not_change_a_bit():
    x = mg.Var(np.random.default_rng(0).standard_normal((2, 3, 30, 31)))
    for fn in (F.max_pool2d, F.avg_pool2d):
        seen = []
        for threads, threshold in ((1, 0), (2, 0), (1, 1 << 40)):
            numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
            with override(parallel_threshold=threshold):
                y = fn(x, 3, 2, 1)
                seen.append((y.detach().numpy().tobytes(), mg.grad(y, x, y.detach()).numpy().tobytes()))
        assert seen[0] == seen[1] == seen[2]


def test_adaptive_windows_are_as_even_as_can_be():
    x = row(0.0, 1.0, 2.0, 3.0, 4.0)
    assert F.adaptive_avg_pool1d(x, 2).tolist() == [[[1, 3]]]
    assert F.adaptive_avg_pool1d(x, 1).tolist() == [[[2]]]
    assert F.adaptive_avg_pool2d(mg.ones(2, 3, 8, 8), (None, 4)).shape == (2, 3, 8, 4)


X = "float64(1, 2, 5, 5)"
BAD = [
    (lambda x: F.max_pool2d(x, 0), ArgumentError, "max_pool2d: kernel_size must be an int of at least 1, got int 0"),
    (lambda x: F.max_pool2d(x, (2, 2, 2)), ArgumentError, "max_pool2d: kernel_size 2 such ints"),
    (lambda x: F.max_pool2d(x, 2, 0), ArgumentError, "max_pool2d: stride must be an int of at least 1, got int 0"),
    (lambda x: F.max_pool2d(x, 2, padding=2), ArgumentError, "max_pool2d: padding at most half got (2, 2)"),
    (lambda x: F.max_pool2d(x, 6), ShapeError, f"max_pool2d: a window that spans (6, 6) must fit got {X}"),
    (lambda x: F.max_pool1d(x, 2), ShapeError, f"max_pool1d: input must have 2 or 3 dims {X}"),
    (lambda x: F.avg_pool2d(x, 2, divisor_override=0), ArgumentError, "avg_pool2d: divisor_override other than 0"),
    (lambda x: F.avg_pool2d(x.to(mg.int32), 2), DTypeError, "avg_pool: a floating dtype got int32(1, 2, 5, 5)"),
    (lambda x: F.max_pool2d(x.to(mg.bool), 2), DTypeError, "max_pool: must contain numbers got bool(1, 2, 5, 5)"),
    (lambda x: F.adaptive_avg_pool2d(x, (1, 2, 3)), ShapeError, f"adaptive_avg_pool2d: one size or 2 sizes, got {X}"),
    (lambda x: F.max_pool2d([1.0], 2), DTypeError, "max_pool2d: list [1.0]"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "text"), BAD, ids=[text[:40] for _, _, text in BAD])
def test_bad_arguments_are_named(call, error, text):
    with pytest.raises(error) as caught:
        call(mg.ones(1, 2, 5, 5))
    assert_sentence(str(caught.value), text)


def test_an_infinity_stays_in_the_adaptive_windows_that_have_it():
    assert F.adaptive_avg_pool1d(row(INF, 1.0, 1.0, 1.0, 1.0), 2).tolist() == [[[INF, 1]]]
    y = F.adaptive_avg_pool1d(row(1.0, 1.0, NAN, 3.0, 5.0, 7.0, 9.0), 3)
    assert np.isnan(y.numpy()).tolist() == [[[True, True, False]]] and y.tolist()[0][0][2] == 7


def test_adaptive_windows_of_halves_are_summed_in_float32():
    big = row(60000.0, 60000.0, 60000.0, dtype="float16")
    assert F.adaptive_avg_pool1d(big, 2).tolist() == [[[60000, 60000]]]


def test_an_adaptive_mean_of_no_element_is_refused():
    with pytest.raises(
        ShapeError, match=r"adaptive_avg_pool1d: .* without an empty pooled dim, .* got float64\(1, 1, 0\)"
    ):
        F.adaptive_avg_pool1d(mg.zeros(1, 1, 0), 2)


def test_adaptive_pools_of_no_channels_are_empty_and_maxima_of_a_batch_are_refused():
    for dims in (1, 2, 3):
        with pytest.raises(ShapeError, match="inner dim"):
            getattr(F, f"adaptive_max_pool{dims}d")(mg.zeros(2, 0, *(4,) * dims, device="reference"), 2)
        for name in ("avg", "max"):
            for size, shape in ((2, (2, 0, *(4,) * dims)), (3, (2, 0, *(4,) * dims)), (2, (0, *(4,) * dims))):
                if name == "max" and len(shape) == dims + 2:
                    continue
                x = mg.zeros(shape, device="reference").requires_grad_()
                y = getattr(F, f"adaptive_{name}_pool{dims}d")(x, size)
                y.sum().backward()
                assert y.shape == (*shape[:-dims], *(size,) * dims) and x.grad.shape == shape


@pytest.mark.parametrize("channels", [1, 7, 12])
def test_small_planes_that_are_searched_together_get_their_own_gradients(channels):
    x = mg.randn(2, channels, 3, 4, generator=mg.Generator(0))
    g = mg.randn(2, channels, 2, 2, generator=mg.Generator(1))

    def gradient(x, g):
        x = x.detach().requires_grad_()
        F.max_pool2d(x, 2, ceil_mode=True).backward(g)
        return x.grad

    alone = mg.cat([gradient(x[:, k : k + 1], g[:, k : k + 1]) for k in range(channels)], 1)
    assert mg.equal(gradient(x, g), alone)
    turned = x.permute(3, 1, 0, 2).contiguous().permute(2, 1, 3, 0)
    assert mg.equal(gradient(turned, g), alone)


@pytest.mark.parametrize("pool", [F.max_pool2d, F.avg_pool2d])
def test_narrow_planes_give_the_bits_of_wide_ones(pool):
    x = mg.Var(mg.randn(2, 3, 6, 9, generator=mg.Generator(0)))
    wide = mg.cat([x] * 8, 3)  # more columns than a narrow plane has
    for window, stride, n in (((2, 3), None, 3), ((3, 3), (1, 3), 3), ((2, 1), None, 9)):
        y, z = pool(x, window, stride), pool(wide, window, stride)
        assert y.shape[3] == n and z.shape[3] == 8 * n
        for k in range(8):
            np.testing.assert_array_equal(y.detach().numpy(), z[..., k * n : (k + 1) * n].detach().numpy())
        g, h = mg.grad((y * y * y).sum(), [x])[0], mg.grad((z * z * z).sum(), [x])[0]
        np.testing.assert_allclose(8 * g.numpy(), h.numpy(), rtol=1e-12)
