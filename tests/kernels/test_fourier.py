"""The forms of the CPU's Fourier transforms: values as in NumPy's double precision, threads, and kernels as Python."""

import os
import subprocess
import sys

import numpy as np
from cases import over

import minigrad as mg
from minigrad.backends.cpu import fourier

RNG = np.random.default_rng(0)
DTYPES = {np.complex64: 3e-7, np.complex128: 1e-15}


def draw(*shape):
    return RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)


def agree(found, wanted, dtype):
    error = np.abs(found.numpy() - wanted).max() / np.sqrt(np.square(np.abs(wanted)).mean())
    assert found.shape == wanted.shape
    assert error < DTYPES[dtype] * 10


# The form of each length: rows of eight lines, groups of eight rows, and convolutions.
ROWS, GROUPS, CHIRPS = (64, 72, 128, 1000, 1024, 1344), (1, 2, 3, 7, 30, 48, 100, 108, 210), (11, 37, 121, 134, 1009)


@over("dtype", list(DTYPES))
@over("n", [*ROWS, *GROUPS, *CHIRPS])
def test_rows_are_those_of_numpy(n, dtype):
    for count in (1, 9):
        x = draw(count, n).astype(dtype)
        for ours, numpy in ((mg.fft.fft, np.fft.fft), (mg.fft.ifft, np.fft.ifft)):
            agree(ours(mg.tensor(x), norm="ortho"), numpy(x.astype(complex), norm="ortho"), dtype)


COLUMNS = [
    ((2, 64, 8), np.complex64),
    ((3, 45, 19), np.complex128),
    ((5, 64, 3), np.complex64),
    ((2, 11, 9), np.complex64),
]


@over(("shape", "dtype"), COLUMNS)
def test_columns_are_those_of_numpy(shape, dtype):
    x = draw(*shape).astype(dtype)
    agree(mg.fft.fft(mg.tensor(x), dim=1), np.fft.fft(x.astype(complex), axis=1), dtype)
    agree(mg.fft.ifft(mg.tensor(x), dim=1), np.fft.ifft(x.astype(complex), axis=1), dtype)


def test_columns_of_length_1_are_those_of_numpy():
    for inner in (1, 7, 8, 9):
        x = draw(3, 4, inner).astype(np.complex64)
        for values, given in ((x[:, :1], {}), (x, {"n": 1})):
            for _ in range(2):
                agree(mg.fft.fft(mg.tensor(values), dim=1, **given), x[:, :1].astype(complex), np.complex64)
                agree(mg.fft.ifft(mg.tensor(values), dim=1, **given), x[:, :1].astype(complex), np.complex64)


@over(
    ("shape", "dim", "dtype"),
    [((4, 64, 1), 1, np.complex64), ((4, 11, 1), 1, np.complex128), ((2, 3, 11, 1, 1), 2, np.complex64)],
)
def test_rows_before_dims_of_size_1_are_those_of_numpy(shape, dim, dtype):
    x = draw(*shape).astype(dtype)
    for ours, numpy in ((mg.tensor(x), x), (mg.tensor(x)[1:], x[1:])):
        agree(mg.fft.fft(ours, dim=dim), np.fft.fft(numpy.astype(complex), axis=dim), dtype)
    if shape[dim] == 64:
        y = RNG.standard_normal((4, 128, 1)).astype(np.float32)
        half = np.fft.rfft(y.astype(float), axis=1)
        agree(mg.fft.rfft(mg.tensor(y), dim=1), half, dtype)
        agree(mg.fft.irfft(mg.tensor(half.astype(dtype)), dim=1), y, dtype)


def test_dense_rows_behind_others_are_those_of_numpy():
    for n in (64, 100, 11, 128):
        x = draw(12, n).astype(np.complex64)
        agree(mg.fft.fft(mg.tensor(x)[2:]), np.fft.fft(x[2:].astype(complex)), np.complex64)
        agree(mg.fft.ifft(mg.tensor(x)[3:], dim=0), np.fft.ifft(x[3:].astype(complex), axis=0), np.complex64)


def test_rows_with_any_strides_are_those_of_numpy():
    x = draw(6, 5, 130).astype(np.complex64)
    y = mg.tensor(x)
    cut = slice(1, 129)
    for ours, numpy in (
        (y[1:, ::2, cut], x[1:, ::2, cut]), (y.permute(1, 0, 2)[:, 1:, cut], x.transpose(1, 0, 2)[:, 1:, cut]),
        (y[:, :, ::2], x[:, :, ::2]), (y.permute(2, 0, 1)[:96], x.transpose(2, 0, 1)[:96]),
        (y[:1, :, cut].expand(4, 5, 128), np.broadcast_to(x[:1, :, cut], (4, 5, 128))),
    ):  # fmt: skip
        for dim in range(3):
            agree(mg.fft.fft(ours, dim=dim), np.fft.fft(numpy.astype(complex), axis=dim), np.complex64)


# Other lengths are transformed as complex numbers, by more kernels; the reference device tests these compositions.
@over(("n", "dtype"), [(128, np.complex64), (160, np.complex128), (2000, np.complex64)])
def test_real_transforms_are_those_of_numpy(n, dtype):
    x, terms = RNG.standard_normal((3, n)).astype(dtype(0).real.dtype), draw(3, n // 2 + 1).astype(dtype)
    for name, operand in (("rfft", x), ("ihfft", x), ("irfft", terms), ("hfft", terms)):
        length = (n,) if name in ("irfft", "hfft") else ()
        wanted = getattr(np.fft, name)(operand.astype(complex if length else float), *length, norm="ortho")
        agree(getattr(mg.fft, name)(mg.tensor(operand), *length, norm="ortho"), wanted, dtype)


def test_results_do_not_depend_on_threads():
    rows, columns = mg.tensor(draw(21, 128).astype(np.complex64)), mg.tensor(draw(64, 21).astype(np.complex64))
    found = []
    for threads, threshold in ((1, 1 << 40), (2, 0)):
        with mg.override(parallel_threshold=threshold):
            before = mg.get_num_threads()
            mg.set_num_threads(threads)
            results = mg.fft.fft(rows.clone()), mg.fft.fft(columns.clone(), dim=0), mg.fft.fft(columns.clone())
            found.append([y.numpy().tobytes() for y in results])
            mg.set_num_threads(before)
    assert found[0] == found[1]


PLAIN = """
import numpy as np
import minigrad as mg

x = np.arange(9 * 64).reshape(9, 64) % 7 + 1j
for values in (x, x[:, :50], x[:, :22], np.concatenate([x, x], 1)):
    for dim in (0, 1):
        found = mg.fft.ifft(mg.tensor(values), dim=dim).numpy()
        assert np.abs(found - np.fft.ifft(values, axis=dim)).max() < 1e-13, (values.shape, dim)
real = np.arange(256.0) % 11
terms = mg.fft.rfft(mg.tensor(real))
assert np.abs(terms.numpy() - np.fft.rfft(real)).max() < 1e-11
assert np.abs(mg.fft.irfft(terms).numpy() - real).max() < 1e-13
assert np.abs((mg.tensor(x) @ mg.tensor(x.T)).numpy() - x @ x.T).max() < 1e-9
"""


def test_kernels_run_as_python(tmp_path):
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "MINIGRAD_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", PLAIN], env=environment, check=True)


def test_radices_are_the_factors_of_a_length():
    for n in range(1, 2000):
        radices = fourier.radices_of(n)
        smooth = np.prod(radices) == n if radices is not None else any(n % p == 0 for p in range(11, n + 1, 2))
        assert smooth
    assert fourier.radices_of(1024) == (4, 4, 8, 8)
    assert fourier.radices_of(22) is None
