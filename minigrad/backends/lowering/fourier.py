"""Fourier transforms: products with small matrices of roots of unity, and factors between them.

A transform of length n = a*b is a transform of length a, a multiplication by roots of unity, and a transform of length
b (Cooley and Tukey, "An algorithm for the machine calculation of complex Fourier series", 1965).  A length whose prime
factors are large is a convolution, computed by transforms of a power of two (Bluestein, "A linear filtering approach
to the computation of the discrete Fourier transform", 1970).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.backends.base import Backend, serves
from minigrad.backends.lowering.functions import CONJUGATE, PRODUCT, REAL_PART
from minigrad.backends.steps import Steps, Value, viewed
from minigrad.core.requests import Fourier, Product

LARGEST = 64  # the largest matrix of a product


@serves(Backend, Fourier)
def fourier(steps: Steps, request: Fourier) -> None:
    """Transform the rows of a matrix, and scale the result."""
    (out,), (a,) = steps.outs, steps.operands
    if not a.dtype.is_complex:
        from_real(steps, request)
        return
    if not out.dtype.is_complex:
        to_real(steps, request)
        return
    last, n = len(a.shape) - 1, a.shape[request.dim]
    source, target = (x.seen(x.layout.transpose(request.dim, last)) for x in (a, out))
    rows = steps.work((a.layout.numel // n, n), a.dtype)
    steps.copy(viewed(rows, source.shape), source)
    sign = 1 if request.inverse else -1
    terms = transforms_of(steps, rows, sign)
    steps.each(PRODUCT, target, viewed(terms, target.shape), steps.constant(request.scale, a.dtype))


def roots(exponents: NDArray[Any], n: int, sign: int) -> NDArray[Any]:
    """Return e**(2*pi*i*sign*k/n) for each exponent k; the roots of whole quarters of a turn are exact."""
    quarters, rest = np.divmod(4 * (exponents % n), n)
    turns = np.array([1, 1j, -1, -1j])[quarters] * np.exp(0.5j * np.pi * rest / n)
    return turns if sign > 0 else turns.conj()


def transforms_of(steps: Steps, x: Value, sign: int) -> Value:
    """Return the transforms of the rows of a dense matrix, not scaled."""
    rows, n = x.shape
    a = next((k for k in range(min(LARGEST, n), 1, -1) if n % k == 0), 0)
    if a in (0, n) and n > LARGEST:
        return convolved(steps, x, sign)
    result = steps.work(x.shape, x.dtype)
    if n <= LARGEST:
        j = np.arange(n)
        steps.ask(Product(), result, x, steps.constant(roots(np.outer(j, j), n, sign), x.dtype))
        return result
    b = n // a
    j, k = np.arange(a), np.arange(b)
    matrix = steps.constant(roots(np.outer(j, j), a, sign), x.dtype)
    parts = steps.work((rows, a, b), x.dtype)
    steps.ask(Product(), parts, matrix.expand((rows, a, a)), viewed(x, (rows, a, b)))
    steps.each(PRODUCT, parts, parts, steps.constant(roots(np.outer(j, k), n, sign), x.dtype))
    terms = viewed(transforms_of(steps, viewed(parts, (rows * a, b)), sign), (rows, a, b))
    steps.copy(viewed(result, (rows, b, a)), terms.transposed)
    return result


def convolved(steps: Steps, x: Value, sign: int) -> Value:
    """Return the transforms of rows: -2*j*k = (j - k)**2 - j**2 - k**2, so they are a convolution with a chirp."""
    rows, n = x.shape
    size = 1 << (2 * n - 2).bit_length()
    chirp = roots(np.arange(n) ** 2, 2 * n, sign)
    filtered = np.zeros(size, np.complex128)
    filtered[:n] = chirp.conj()
    filtered[size - n + 1 :] = chirp[:0:-1].conj()
    factors, padded = steps.constant(chirp, x.dtype), steps.work((rows, size), x.dtype)
    steps.fill(padded, 0)
    steps.each(PRODUCT, padded.at(1, 0, n), x, factors)
    spectrum = transforms_of(steps, padded, -1)
    steps.each(PRODUCT, spectrum, spectrum, steps.constant(np.fft.fft(filtered) / size, x.dtype))
    terms, result = transforms_of(steps, spectrum, 1), steps.work(x.shape, x.dtype)
    steps.each(PRODUCT, result, terms.at(1, 0, n), factors)
    return result


def from_real(steps: Steps, request: Fourier) -> None:
    """Transform real numbers as complex numbers, and keep the first half."""
    (out,), (a,), last = steps.outs, steps.operands, request.dim
    numbers, terms = (steps.work(a.shape, out.dtype) for _ in range(2))
    steps.copy(numbers, a)
    steps.ask(request, terms, numbers)
    steps.copy(out, terms.at(last, 0, out.shape[last]))


def to_real(steps: Steps, request: Fourier) -> None:
    """Add the conjugates of the second half, transform, and keep the real parts."""
    (out,), (a,), last = steps.outs, steps.operands, request.dim
    n, m = out.shape[last], a.shape[last]
    whole, terms = (steps.work(out.shape, a.dtype) for _ in range(2))
    steps.copy(whole.at(last, 0, m), a)
    if n > m:
        mirrored = a.at(last, 1, n - m)
        steps.each(CONJUGATE, whole.at(last, m, n - m), mirrored.seen(mirrored.layout.flip(last)))
    steps.ask(request, terms, whole)
    steps.each(REAL_PART, out, terms, compute=a.dtype.compute)
