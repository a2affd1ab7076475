"""Exercises of notebook 16: complex gradients and Fourier transforms."""

from __future__ import annotations

import cmath
from collections.abc import Callable
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.learning import grading
from minigrad.learning.grading import Exercises, Wrong, as_float, expect_close, as_results

EXERCISES = Exercises()


def waves(seed: int, n: int) -> Any:
    """Return n random complex128 numbers, which are the same for every answer."""
    return mg.from_numpy(np.random.default_rng(seed).standard_normal((n, 2)).view(np.complex128).ravel())


def expect_not_conjugate(got: Any, want: Any, what: str, advice: str, tolerance: float = 1e-9) -> None:
    """Compare complex numbers; a result that is the conjugate of `want` gets an advice."""
    try:
        expect_close(got, want, what, tolerance)
    except Wrong as wrong:
        try:
            expect_close(got, want.conjugate(), what, tolerance)
        except Wrong:
            raise wrong from None
        raise Wrong(f"{what} is the conjugate of the right result: {advice}") from None


def gradient_of(f: Callable[[complex], float], z: complex) -> complex:
    """Return the gradient of a real function of one complex number, by central differences."""
    h = 1e-6
    return complex(*((f(z + step) - f(z - step)) / (2 * h) for step in (h, 1j * h)))


@EXERCISES(
    "16.1", gradient_of, "A complex gradient consists of two real derivatives.",
    "Perturb the real part by h, then the imaginary part. How do you write the second step?",
    "z + 1j * h perturbs the imaginary part. Each derivative is a central difference, a real number.",
    "complex((f(z + h) - f(z - h)) / (2 * h), (f(z + 1j * h) - f(z - 1j * h)) / (2 * h)).",
)  # fmt: skip
def grade_gradient_of(answer: Any) -> None:
    """Test functions whose gradients are known."""
    for name, f, right in (
        ("|z|^2", lambda z: abs(z) ** 2, lambda z: 2 * z),
        ("the real part of z*z", lambda z: (z * z).real, lambda z: 2 * z.conjugate()),
        ("3 times the imaginary part of z", lambda z: 3 * z.imag, lambda z: 3j),
        ("|exp(z)|", lambda z: abs(cmath.exp(z)), lambda z: abs(cmath.exp(z)) + 0j),
    ):
        for z in (0.5 + 1.5j, -2.0 - 0.25j):
            what = f"the gradient of {name} at {z}"
            advice = "it is the factor u, and the gradient points in the direction in which the function grows"
            expect_not_conjugate(answer(f, z), right(z), what, advice, 1e-6)


def conj_product_rule(u: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Return the factors of a and b for y = a * conj(b)."""
    return u * b.conj(), (u * a).conj()


@EXERCISES(
    "16.2", conj_product_rule,
    "A rule multiplies by the derivative; only an operand that was conjugated receives a conjugate.",
    "Write dy for a small da and a small db, and put it into dL = Re(u dy).",
    "dL = Re(u conj(b) da) + Re(u a conj(db)). The second term must have the form Re(... db).",
    "A number and its conjugate have the same real part: Re(u a conj(db)) = Re(conj(u a) db).",
    excluded=("grad", "vjp", "backward"),
)  # fmt: skip
def grade_conj_product_rule(answer: Any) -> None:
    """Compare both factors."""
    for n in (3, 1):
        u, a, b = (waves(seed, n) for seed in (1, 2, 3))
        got = as_results(answer(u, a, b), 2, "conj_product_rule", "a tuple of 2 tensors")
        for name, mine, want in zip("ab", got, conj_product_rule(u, a, b), strict=True):
            advice = "a rule receives and returns factors of dL = Re(u dz); minigrad takes the conjugate afterwards"
            expect_not_conjugate(mine, want.numpy(), f"the factor of {name}", advice)


def rfft_rule(u: Any, n: int) -> Any:
    """Return the gradient of the n real operands of rfft."""
    return mg.fft.fft(u, n=n).real


@EXERCISES(
    "16.3", rfft_rule, "A real operand receives the real part of the transposed matrix times u.",
    "rfft(x) is the first half of the rows of F, times x. Which matrix do you multiply u by?",
    "By the first half of the columns of F, since F.T = F. That is F times u with zeros for the other terms.",
    "mg.fft.fft(u, n=n) appends the zeros. x is real, so take the real part.",
    excluded=("grad", "vjp", "backward"),
)  # fmt: skip
def grade_rfft_rule(answer: Any) -> None:
    """Test even and odd lengths, and the smallest ones."""
    for n in (8, 7, 2, 1, 5):
        u = waves(n, n // 2 + 1)
        expect_close(answer(u, n), rfft_rule(u, n), f"rfft_rule for n = {n}", 1e-9)


def slope(x: Any, length: float) -> Any:
    """Return the derivative of a periodic function: multiply each term by i times its wave number."""
    n = len(x)
    factors = mg.from_numpy(2j * np.pi / length * n * np.fft.fftfreq(n))
    return mg.fft.ifft(mg.fft.fft(x) * factors).real


@EXERCISES(
    "16.4", slope, "A derivative is a multiplication in terms of waves; its transpose is minus itself.",
    "The derivative of exp(2 pi i k s / length) is a number times this function. Which number?",
    "The number is 2 pi i k / length. Terms above n/2 belong to negative k: np.fft.fftfreq(n) * n lists all k.",
    "mg.fft.ifft(mg.fft.fft(x) * factors).real, where factors is a complex128 tensor with 2 pi i k / length.",
)  # fmt: skip
def grade_slope(answer: Any) -> None:
    """Test waves on rings of several lengths, and the gradient: the transpose of a derivative is minus itself."""
    for n, length in ((16, 2 * np.pi), (15, 3.0), (9, 0.5)):
        at = 2 * np.pi * np.arange(n) / n
        for k in (1, n // 2 - 1):
            given = mg.Var(2.0 + np.sin(k * at) + 0.5 * np.cos(at))
            want = (k * np.cos(k * at) - 0.5 * np.sin(at)) * (2 * np.pi / length)
            where = f"of 2 + sin({k} q) + cos(q) / 2, q = 2 pi s / {length:.4g}, at {n} points"
            got = answer(given, length)
            expect_close(got, want, f"the slope {where}", 1e-9)
            cut = "the values are right, but no gradient flows from the slope to x"
            gradient = grading.gradient_of(got, given, cut, mg.from_numpy(np.sin(at)))
            expect_close(gradient, -2 * np.pi / length * np.cos(at), f"the gradient of the slope {where}", 1e-9)


def frequency(s: Any) -> float:
    """Return the w at which the sum of s[t] exp(-i w t) is largest: the peak of an FFT, then Newton steps."""
    s, t = s.numpy(), np.arange(len(s))
    w = 2 * np.pi * np.argmax(np.abs(np.fft.fft(s, 8 * len(s)))) / (8 * len(s))
    for _ in range(20):
        y, y1, y2 = (((-1j * t) ** k * s) @ np.exp(-1j * w * t) for k in range(3))
        w -= (y1 * y.conjugate()).real / ((y2 * y.conjugate()).real + abs(y1) ** 2)
    return float(w % (2 * np.pi))


@EXERCISES(
    "16.5", frequency, "The FFT finds the right valley, and a search inside it finds the digits.",
    "Which frequencies does mg.fft.fft compare with? How far can the largest sum be from the nearest of them?",
    "mg.fft.fft(s, n=8 * len(s)) compares with eight times as many. Start at its largest |term|.",
    "Maximize log |sum s exp(-i w t)|^2 from there: Newton's method for w, or smaller and smaller grids.",
)  # fmt: skip
def grade_frequency(answer: Any) -> None:
    """Test noisy waves, one above pi, and a second wave that is weaker."""
    for w, weak, n in ((0.71, 0.0, 64), (5.93, 0.0, 50), (3.3, 0.6, 64), (1.234, 0.5, 33)):
        t = np.arange(n)
        s = np.exp(1j * (w * t + 1.0)) + weak * np.exp(1j * (w - 1.4) * t) + 0.3 * waves(n, n).numpy()
        found, want = as_float(answer(mg.from_numpy(s)), "frequency"), frequency(mg.from_numpy(s))
        if abs(found - want) > 1e-6 and abs((found - want + np.pi) % (2 * np.pi) - np.pi) < 1e-6:
            raise Wrong(f"frequency of {n} values is {found:.7g}; add or subtract turns of 2 pi to be in [0, 2 pi)")
        if 1e-6 < abs(found - want) <= np.pi / n:
            raise Wrong(f"frequency of {n} values is {found:.7g}, which is near the peak; {want:.7g} was expected")
        expect_close(found, want, f"the frequency of {n} values", 1e-6)
