"""Convolution under PyTorch's names: what its arguments mean, and what is refused before anything is allocated."""

import numpy as np
import pytest
from op_support import assert_sentence

import minigrad as mg
from minigrad.errors import ArgumentError, DTypeError, ShapeError
from minigrad.nn import functional as F
from minigrad.testing import gradcheck, gradgradcheck


def ones(*shape, **given):
    return mg.ones(*shape, **given)


def test_a_window_of_ones_counts_its_pixels():
    y = F.conv2d(ones(1, 1, 3, 4), ones(1, 1, 3, 3), padding=1)
    assert y.tolist() == [[[[4, 6, 6, 4], [6, 9, 9, 6], [4, 6, 6, 4]]]]


def test_the_kernel_is_not_flipped():
    x = mg.tensor([[[1.0, 2.0, 3.0, 4.0]]])
    assert F.conv1d(x, mg.tensor([[[1.0, 0.0, -1.0]]])).tolist() == [[[-2, -2]]]


def test_one_image_needs_no_batch():
    x, w = mg.randn(3, 6, 5), mg.randn(4, 3, 2, 2)
    assert np.array_equal(F.conv2d(x, w).numpy(), F.conv2d(x.unsqueeze(0), w).numpy()[0])
    assert F.conv_transpose2d(mg.randn(4, 6, 5), w).shape == (3, 7, 6)


def test_same_keeps_the_size_and_puts_an_odd_zero_at_the_end():
    x = mg.tensor([[[1.0, 2.0, 3.0]]])
    assert F.conv1d(x, ones(1, 1, 2), padding="same").tolist() == [[[3, 5, 3]]]
    assert F.conv2d(ones(2, 1, 5, 6), ones(1, 1, 3, 4), padding="same", dilation=(1, 2)).shape == (2, 1, 5, 6)
    assert F.conv1d(x, ones(1, 1, 2), padding="valid").tolist() == [[[3, 5]]]


def test_a_transposed_convolution_spreads_each_element():
    x = mg.tensor([[[1.0, 2.0]]])
    assert F.conv_transpose1d(x, ones(1, 1, 3), stride=2).tolist() == [[[1, 1, 3, 2, 2]]]
    assert F.conv_transpose1d(x, ones(1, 1, 1), stride=2, output_padding=1).tolist() == [[[1, 0, 2, 0]]]


@pytest.mark.parametrize("turned", [False, True], ids=["dense", "channels last"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
def test_a_window_of_one_pixel_is_a_matrix_product(dtype, turned):
    """Of the points of each image: as long as they lie in a row, and also where they do not."""
    rng = np.random.default_rng(0)
    x, w, b = (rng.integers(-3, 4, s).astype(dtype) for s in ((2, 5, 3, 7), (4, 5, 1, 1), (4,)))
    given = mg.tensor(x.transpose(0, 2, 3, 1)).permute(0, 3, 1, 2) if turned else mg.tensor(x)
    want = np.einsum("ncij,mc->nmij", x.astype("float64"), w[:, :, 0, 0].astype("float64")) + b[:, None, None]
    assert np.array_equal(F.conv2d(given, mg.tensor(w), mg.tensor(b)).numpy(), want.astype(dtype))
    if dtype == "float64":
        assert gradcheck(F.conv2d, [mg.Var(given), mg.Var(w), mg.Var(b)])


@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize("turned", [False, True], ids=["dense", "channels last"])
def test_a_window_of_one_pixel_and_groups_of_channels(turned, device):
    rng = np.random.default_rng(0)
    x, w, b, g = (rng.standard_normal(s).astype(np.float32) for s in ((2, 6, 3, 7), (4, 3, 1, 1), (4,), (2, 4, 3, 7)))
    x = np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2) if turned else x
    x, w, b, g = (mg.Var(mg.tensor(part, device=device)) for part in (x, w, b, g))
    halves = [(x[:, 3 * k : 3 * k + 3], w[2 * k : 2 * k + 2], b[2 * k : 2 * k + 2]) for k in (0, 1)]
    for grouped, parts in (
        (F.conv2d(x, w, b, groups=2), [F.conv2d(*half) for half in halves]),
        (
            F.conv_transpose2d(g, w, groups=2),
            [F.conv_transpose2d(g[:, 2 * k : 2 * k + 2], halves[k][1]) for k in (0, 1)],
        ),
    ):
        y = mg.cat(parts, 1)
        assert np.allclose(grouped.numpy(force=True), y.numpy(force=True), atol=1e-5)
        operands = [x, w, b] if y.shape[1] == 4 else [g, w]
        for ours, wanted in zip(mg.grad(grouped.sin().sum(), operands), mg.grad(y.sin().sum(), operands)):
            assert np.allclose(ours.numpy(), wanted.numpy(), atol=1e-5)


def test_an_empty_batch_gives_an_empty_batch_and_zero_gradients():
    x, w = mg.Var(np.zeros((0, 2, 5, 5))), mg.Var(np.ones((3, 2, 3, 3)))
    y = F.conv2d(x, w)
    grads = y.sum().backward()
    assert y.shape == (0, 3, 3, 3) and grads[x].shape == x.shape and not grads[w].numpy().any()


def test_no_tap_comes_to_every_third_pixel():
    """With stride 3 and two taps, the third of three pixels gets nothing."""
    x = mg.Var(np.ones((1, 1, 6)))
    grads = F.conv1d(x, ones(1, 1, 2, dtype="float64"), stride=3).sum().backward()
    assert grads[x].tolist() == [[[1, 1, 0, 1, 1, 0]]]


def test_gradients_of_every_order_in_float64():
    x, w, b = (mg.Var(np.random.default_rng(i).standard_normal(s))
               for i, s in enumerate([(1, 2, 5, 4), (2, 1, 2, 2), (2,)]))  # fmt: skip
    fn = lambda x, w, b: F.conv2d(x, w, b, stride=(2, 1), padding=1, groups=2)
    gradcheck(fn, [x, w, b])
    gradgradcheck(fn, [x, w, b])


X, W = "float32(1, 4, 5, 5)", "float32(6, 2, 3, 3)"
BAD = [
    (lambda x, w: F.conv2d(x, w), ShapeError, f"conv2d: groups=1, 2 channels for the weight {W} got input {X}"),
    (lambda x, w: F.conv2d(x, w, groups=4), ShapeError, "conv2d: with groups=4"),
    (lambda x, w: F.conv2d(x, w, groups=0), ArgumentError, "conv2d: groups must be an int of at least 1, got int 0"),
    (lambda x, w: F.conv1d(x, w), ShapeError, f"conv1d: input must have 2 or 3 dims got {X} {W}"),
    (lambda x, w: F.conv2d(x, w, ones(3), groups=2), ShapeError, "conv2d: bias must have shape (6,) got float32(3,)"),
    (lambda x, w: F.conv2d(x, w, stride=0, groups=2), ArgumentError, "conv2d: stride must be an int of at least 1"),
    (lambda x, w: F.conv2d(x, w, padding=(1, 2, 3), groups=2), ArgumentError, "conv2d: padding must be 2 such ints"),
    (lambda x, w: F.conv2d(x, w, padding="full", groups=2), ArgumentError, "conv2d: padding must be ints or 'same'"),
    (lambda x, w: F.conv2d(x, w, None, 2, "same", groups=2), ArgumentError, "conv2d: padding='same' requires stride 1"),
    (lambda x, w: F.conv2d(x, w, dilation=3, groups=2), ShapeError, f"conv2d: {W} covers (7, 7) (5, 5)"),
    (lambda x, w: F.conv_transpose2d(x, w), ShapeError, f"conv_transpose2d: first dim of {W} must be 4 {X}"),
    (lambda x, w: F.conv_transpose2d(x, ones(4, 1, 1, 1), padding=4), ShapeError, f"conv_transpose2d: at least 1 {X}"),
    (lambda x, w: F.conv_transpose2d(x, ones(4, 1, 3, 3), output_padding=1), ArgumentError,
     "conv_transpose2d: output_padding must be less than stride got output_padding=(1, 1), stride=(1, 1)"),
    (lambda x, w: F.conv2d(x.to(mg.bool), w.to(mg.bool), groups=2), DTypeError, "conv2d: numbers, not bool, got"),
    (lambda x, w: F.conv2d([1.0], w), DTypeError, "conv2d: list [1.0]"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "text"), BAD, ids=[text.split(":")[1][:40] for _, _, text in BAD])
def test_bad_arguments_are_named(call, error, text):
    with pytest.raises(error) as caught:
        call(ones(1, 4, 5, 5), ones(6, 2, 3, 3))
    assert_sentence(str(caught.value), text)
