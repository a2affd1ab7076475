"""Fourier transforms: values as in NumPy, gradients by finite differences, dims, lengths, factors and refusals."""

import numpy as np
import pytest
from cases import over

import minigrad as mg
from minigrad.errors import ArgumentError, DTypeError, IndexOutOfRange, ShapeError
from minigrad.testing import gradcheck, gradgradcheck

RNG = np.random.default_rng(0)
KINDS = {
    "fft": "complex", "ifft": "complex", "rfft": "real", "ihfft": "real", "irfft": "hermitian", "hfft": "hermitian",
}  # fmt: skip
LENGTHS = (1, 2, 3, 4, 6, 9, 16, 30, 67)  # 67 is a prime above the largest matrix of the reference device


def draw(name, *shape):
    x = RNG.standard_normal(shape)
    return x if KINDS[name.rstrip("2n")] == "real" else x + 1j * RNG.standard_normal(shape)


def on_reference(values):
    return mg.tensor(values, device="reference")


def agree(found, wanted, rtol=1e-11):
    assert found.numpy().dtype == wanted.dtype
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found.numpy(), wanted, rtol=rtol, atol=rtol * max(1.0, np.abs(wanted).max(initial=0)))


# ---- values ----------------------------------------------------------------------------------------------------------


@over(("name", "n"), [(name, n) for name in KINDS for n in LENGTHS])
def test_transforms_along_the_last_dim_are_those_of_numpy(name, n):
    x = draw(name, 2, n)
    length = n if KINDS[name] != "hermitian" else 2 * n - 2 or 1
    agree(getattr(mg.fft, name)(on_reference(x), length), getattr(np.fft, name)(x, length))


@over("name", list(KINDS))
def test_lengths_dims_and_factors_are_those_of_numpy(name):
    x = draw(name, 3, 4, 5)
    ours, numpy = getattr(mg.fft, name), getattr(np.fft, name)
    for n, dim, norm in ((None, 0, None), (7, 1, "ortho"), (2, -1, "forward"), (6, -2, "backward"), (1, 2, "ortho")):
        agree(ours(on_reference(x), n, dim, norm), numpy(x, n, dim, norm))
        transposed = on_reference(np.ascontiguousarray(x.transpose(2, 0, 1))).permute(1, 2, 0)
        agree(ours(transposed, n, dim, norm), numpy(x, n, dim, norm))


@over("name", ["fft", "ifft", "rfft", "irfft"])
def test_transforms_over_several_dims_are_those_of_numpy(name):
    x = draw(name, 3, 4, 5)
    for dims in ("2", "n"):
        ours, numpy = getattr(mg.fft, name + dims), getattr(np.fft, name + dims)
        for s, dim, norm in (((4, 3), (0, 1), "ortho"), ((2, 6), (2, 0), None), (None, (1, 2), "forward")):
            agree(ours(on_reference(x), s, dim, norm), numpy(x, s, dim, norm))
    agree(getattr(mg.fft, f"{name}n")(on_reference(x)), getattr(np.fft, f"{name}n")(x))
    agree(getattr(mg.fft, f"{name}n")(on_reference(x), (-1, 8)), getattr(np.fft, f"{name}n")(x, (4, 8), (1, 2)))


def test_hermitian_transforms_over_several_dims_invert_each_other():
    x = on_reference(RNG.standard_normal((3, 4, 6)))
    half = mg.fft.ihfftn(x)
    whole = np.conj(np.fft.fftn(x.numpy())) / 72  # terms of real numbers: the inverse transform is the conjugate
    agree(half, whole[..., :4])
    agree(mg.fft.hfftn(half), x.numpy())
    agree(mg.fft.hfft2(mg.fft.ihfft2(x)), x.numpy())


def test_real_numbers_and_integers_are_transformed_as_complex_numbers():
    for values in ([True, False, True], [1, 2, 4], np.float32([0.5, 1, 2])):
        found = mg.fft.fft(on_reference(values))
        assert found.dtype is mg.complex64
        np.testing.assert_allclose(found.numpy(), np.fft.fft(values), rtol=1e-6)
    assert mg.fft.irfft(on_reference([4, 0])).tolist() == [2.0, 2.0]
    assert mg.fft.rfft(on_reference([1, 2])).tolist() == [3, -1]


def test_frequencies_and_their_order():
    assert mg.fft.fftfreq(4, 0.5, device="reference").tolist() == [0.0, 0.5, -1.0, -0.5]
    assert mg.fft.rfftfreq(5, dtype=mg.float64, device="reference").tolist() == [0.0, 0.2, 0.4]
    assert mg.fft.fftfreq(0, device="reference").tolist() == []
    assert mg.fft.rfftfreq(2, 0.0, device="reference").isinf().tolist() == [False, True]
    assert mg.fft.rfftfreq(2, device="reference", requires_grad=True).requires_grad
    x = RNG.standard_normal((3, 4, 5))
    for dim in (None, 1, (0, -1)):
        agree(mg.fft.fftshift(on_reference(x), dim), np.fft.fftshift(x, dim))
        agree(mg.fft.ifftshift(on_reference(x), dim), np.fft.ifftshift(x, dim))


def test_out_receives_the_result():
    x, out = on_reference(draw("fft", 4)), mg.empty(4, dtype=mg.complex128, device="reference")
    assert mg.fft.fft(x, out=out) is out
    agree(out, np.fft.fft(x.numpy()))


# ---- frames of a signal ----------------------------------------------------------------------------------------------


def test_stft_transforms_the_frames_of_a_signal():
    x, window = RNG.standard_normal((2, 20)), np.hanning(6)
    around = np.pad(x, ((0, 0), (4, 4)), "reflect")
    shape = np.pad(window, 1)
    frames = np.stack([around[:, k : k + 8] * shape for k in range(0, 21, 3)], 1)
    given = {"hop_length": 3, "win_length": 6, "window": on_reference(window), "return_complex": True}
    found = mg.stft(on_reference(x), 8, **given)
    agree(found, np.fft.rfft(frames).transpose(0, 2, 1))
    whole = on_reference(x).stft(8, normalized=True, onesided=False, **given)
    agree(whole, np.fft.fft(frames, norm="ortho").transpose(0, 2, 1))
    parts = mg.stft(on_reference(x[0]), 8, center=False, return_complex=False)
    agree(parts[..., 0], np.stack([np.fft.rfft(x[0, k : k + 8]).real for k in range(0, 13, 2)], 1))
    aligned = mg.stft(on_reference(x), 8, center=False, align_to_window=True, **given)
    padded = np.pad(x, ((0, 0), (1, 1)))
    agree(aligned, np.stack([np.fft.rfft(padded[:, k : k + 8] * shape) for k in range(0, 15, 3)], 2))
    z = on_reference(draw("fft", 12))
    agree(mg.stft(z, 4, center=False), np.stack([np.fft.fft(z.numpy()[k : k + 4]) for k in range(9)], 1))


def test_istft_inverts_stft():
    x, window = on_reference(RNG.standard_normal((2, 30))), mg.hann_window(8, dtype="float64", device="reference")
    for onesided, normalized in ((True, False), (False, True)):
        terms = mg.stft(x, 8, 2, window=window, normalized=normalized, onesided=onesided, return_complex=True)
        given = {"hop_length": 2, "window": window, "normalized": normalized, "onesided": onesided}
        agree(mg.istft(terms, 8, **given), x.numpy())
        longer = terms.istft(8, length=36, **given).numpy()
        assert longer.shape == (2, 36)
        assert not longer[:, 34:].any()
    z = on_reference(draw("fft", 13))
    agree(mg.istft(mg.stft(z, 4, center=False), 4, center=False, return_complex=True), z.numpy())


def test_a_real_signal_of_all_terms_is_that_of_the_first_half():
    k = np.arange(20.0).reshape(4, 5)
    terms, window = on_reference(k % 7 + 1j * (k % 3)), mg.ones(4, dtype="float64", device="reference")
    for onesided in (None, False):
        found = mg.istft(terms, 4, 2, window=window, onesided=onesided)
        agree(found, np.array([1.25, -0.25, 0, -1, 2.25, -1, 1.875, 0.625]))  # the numbers of PyTorch 2.13


def test_gradients_of_frames():
    x = mg.Var(RNG.standard_normal(14), device="reference")
    assert gradcheck(lambda x: mg.stft(x, 6, 4, return_complex=True), x)
    terms = mg.Var(draw("fft", 4, 5), device="reference")
    assert gradcheck(lambda z: mg.istft(z, 6, 2), terms)


# ---- derivatives -----------------------------------------------------------------------------------------------------


@over(("name", "n"), [(name, n) for name in KINDS for n in (4, 5, 7)])
def test_gradients_of_both_orders_and_both_modes(name, n):
    x = mg.Var(draw(name, 2, 5), device="reference")

    def f(z):
        return getattr(mg.fft, name)(z, n, norm="ortho")

    assert gradcheck(f, x)
    assert gradgradcheck(f, x)


def test_a_gradient_is_that_of_pytorch():
    x = mg.Var(np.array([1.0, 2.0, -1.0, 0.5]), device="reference")
    terms = mg.fft.rfft(x)
    (terms.abs() ** 2).sum().backward()
    assert x.grad.tolist() == [4.0, 13.0, -4.0, 7.0]  # the numbers of PyTorch 2.13
    z = mg.Var(np.array([1 + 1j, 2 - 1j, 0.5j]), device="reference")
    (mg.fft.irfft(z) ** 2).sum().backward()
    np.testing.assert_allclose(z.grad.numpy(), [0.5, 2 - 1j, 0])


@over("name", list(KINDS))
def test_vmap_is_a_loop_over_samples(name):
    x = on_reference(draw(name, 3, 4, 5))
    for dim in (0, -1):
        found = mg.vmap(lambda z, d=dim: getattr(mg.fft, name)(z, dim=d))(x)
        agree(found, np.stack([getattr(np.fft, name)(each, axis=dim) for each in x.numpy()]))


def test_a_compiled_function_and_its_gradient():
    def loss(x):
        return (mg.fft.irfft(mg.fft.rfft(x, norm="ortho") * 2j, norm="ortho") * x).sum()

    x = RNG.standard_normal((2, 6))
    plain, compiled = mg.Var(x, device="reference"), mg.Var(x, device="reference")
    step = mg.jit(loss)
    for _ in range(3):
        plain.grad = compiled.grad = None
        loss(plain).backward()
        step(compiled).backward()
        np.testing.assert_allclose(compiled.grad.numpy(), plain.grad.numpy(), rtol=1e-12)


# ---- refusals --------------------------------------------------------------------------------------------------------


def test_faults_are_named():
    x, z = on_reference(np.ones((2, 3))), on_reference(np.ones((2, 3), complex))
    for error, text, call in (
        (DTypeError, "rfft: input must be real", lambda: mg.fft.rfft(z)),
        (DTypeError, "ihfftn: input must be real", lambda: mg.fft.ihfftn(z)),
        (DTypeError, r"fft: expected float32, float64, .* got float16\(2, 3\)", lambda: mg.fft.fft(x.half())),
        (ArgumentError, "fft: n must be positive, got 0", lambda: mg.fft.fft(x, 0)),
        (ArgumentError, "ifft: norm must be", lambda: mg.fft.ifft(x, norm="both")),
        (ShapeError, "irfft: the length must be at least 1, got 0 along dim 1", lambda: mg.fft.irfft(z[:, :1])),
        (ShapeError, "fft2: the length must be at least 1, got 0", lambda: mg.fft.fft2(x, (0, 3))),
        (ShapeError, "fftn: dim 1 is named twice", lambda: mg.fft.fftn(x, dim=(1, -1))),
        (ShapeError, "fftn: s has 3 lengths", lambda: mg.fft.fftn(x, (1, 2, 3))),
        (ShapeError, "fftn: s and dim must have equal lengths", lambda: mg.fft.fftn(x, (4,), (0, 1))),
        (ArgumentError, "rfftn: the number of dims must be positive", lambda: mg.fft.rfftn(x, dim=())),
        (IndexOutOfRange, "fft2", lambda: mg.fft.fft2(x[0])),
        (IndexOutOfRange, "fft", lambda: mg.fft.fft(x[0, 0])),
        (ArgumentError, "stft: return_complex .* must be True or False, got None", lambda: mg.stft(x[0], 2)),
        (DTypeError, "stft: input must be real", lambda: mg.stft(z[0], 2, onesided=True)),
        (ArgumentError, "stft: the length .* at least 4, got 3", lambda: mg.stft(z[0], 4, center=False)),
        (ArgumentError, "stft: win_length must be a number from 1 to 2, got 3", lambda: mg.stft(z[0], 2, win_length=3)),
        (ArgumentError, "stft: input must not be centered", lambda: mg.stft(z[0], 2, 1, align_to_window=False)),
        (ShapeError, "stft: window must have the shape", lambda: mg.stft(z[0], 2, window=x[0])),
        (ShapeError, "istft: input must have the shape", lambda: mg.istft(z, 9)),
        (
            ArgumentError,
            "istft: the smallest .* must be a number above 1e-11, got 0.0",
            lambda: mg.istft(z, 2, 1, window=x[0, :2] * 0),
        ),
        (
            DTypeError,
            r"istft: window must be real, .*; pass return_complex=True",
            lambda: mg.istft(z, 2, 1, window=z[0, :2]),
        ),
        (ArgumentError, "stft: hop_length .*must be positive, got 0", lambda: mg.stft(z[0], 2)),
        (ArgumentError, "istft: input must have all n_fft terms", lambda: mg.istft(z, 3, 1, return_complex=True)),
        (DTypeError, "fftfreq: result must have a floating dtype", lambda: mg.fft.fftfreq(4, dtype=mg.int64)),
    ):
        with pytest.raises(error, match=text):
            call()
