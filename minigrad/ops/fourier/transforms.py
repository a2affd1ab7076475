"""The functions of `mg.fft`: discrete Fourier transforms along one dim, two dims, or several.

With the length n of a dim, the forward transform is the sum over j of x[j] * e**(-2*pi*i*j*k/n) for k from 0 to n - 1.
The inverse transform has the other sign, and by default the factor 1/n.  `norm` selects the factors: "backward", the
default, divides the inverse transform by n; "forward" divides the forward transform by n; "ortho" divides both by the
square root of n.  Every function first takes the leading elements along a dim, or adds zeros after them, if a length is
passed.  All functions are compositions of three linear ops (`lines.py`), so all orders of derivatives follow.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from minigrad.core.conditions import Floating
from minigrad.core.dtype import as_dtype, default_float
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.core.roles import Int, Number
from minigrad.core.shape import normalize_dims
from minigrad.declare.decorators import composed, public
from minigrad.declare.variants import family
from minigrad.ops.creation import as_numbers, computed, expect_float, expect_numbers
from minigrad.ops.fourier.lines import Axes, Lengths, Norm, transform
from minigrad.ops.shape.rearranging import roll
from minigrad.runtime.tensor import Tensor

Length = Annotated[Any, Number(1, whole=True, example=8, optional=True)]


@composed(method=False)
def fft(input: Tensor, n: Length = None, dim: Int = -1, norm: Norm = None) -> Tensor:
    """Return the discrete Fourier transform, along one dim.

    Any dtype except float16 and bfloat16; real numbers are converted to complex numbers.
    Gradient: the transform of g with the opposite sign of the exponent and the same factor.
    """
    return transform("fft", input, (n,), dim, norm, False, "complex")


@composed(method=False)
def ifft(input: Tensor, n: Length = None, dim: Int = -1, norm: Norm = None) -> Tensor:
    """Return the inverse discrete Fourier transform, along one dim.

    Any dtype except float16 and bfloat16; real numbers are converted to complex numbers.
    Gradient: the transform of g with the opposite sign of the exponent and the same factor.
    """
    return transform("ifft", input, (n,), dim, norm, True, "complex")


@composed(method=False)
def rfft(input: Tensor, n: Length = None, dim: Int = -1, norm: Norm = None) -> Tensor:
    """Return the terms 0 to n//2 of the discrete Fourier transform of real numbers, along one dim.

    Raises DTypeError for complex numbers.
    Gradient: the sum over k of Re(g[k] * e**(+2*pi*i*j*k/n)), times the factor.
    """
    return transform("rfft", input, (n,), dim, norm, False, "real")


@composed(method=False)
def irfft(input: Tensor, n: Length = None, dim: Int = -1, norm: Norm = None) -> Tensor:
    """Return the real numbers whose transform has the given terms 0 to n//2, along one dim.

    n: the length of the result, by default an even one, 2*(m - 1) for m terms.  The imaginary parts of term 0 and, for
    an even n, of term n/2 have no effect.
    Gradient: the terms 0 to n//2 of the transform of g with the opposite sign, twice for each term that stands for two.
    """
    return transform("irfft", input, (n,), dim, norm, True, "hermitian")


@composed(method=False)
def hfft(input: Tensor, n: Length = None, dim: Int = -1, norm: Norm = None) -> Tensor:
    """Return the real transform, along one dim, of numbers with x[n - k] = conj(x[k]), from the terms 0 to n//2.

    n: the length of the result, by default an even one, 2*(m - 1) for m terms.  The imaginary parts of term 0 and, for
    an even n, of term n/2 have no effect.
    Gradient: the terms 0 to n//2 of the transform of g with the opposite sign, twice for each term that stands for two.
    """
    return transform("hfft", input, (n,), dim, norm, False, "hermitian")


@composed(method=False)
def ihfft(input: Tensor, n: Length = None, dim: Int = -1, norm: Norm = None) -> Tensor:
    """Return the terms 0 to n//2 of the inverse discrete Fourier transform of real numbers, along one dim.

    Raises DTypeError for complex numbers.
    Gradient: the sum over k of Re(g[k] * e**(-2*pi*i*j*k/n)), times the factor.
    """
    return transform("ihfft", input, (n,), dim, norm, True, "real")


# Whether each transform has the sign and the factor of an inverse, and the terms that it takes or returns.
KINDS = {
    "fft": (False, "complex"), "ifft": (True, "complex"), "rfft": (False, "real"), "irfft": (True, "hermitian"),
    "hfft": (False, "hermitian"), "ihfft": (True, "real"),
}  # fmt: skip


@family(
    composed(method=False),
    ifftn="Return `ifft` along each dim",
    rfftn="Return `rfft` along the last dim, and then `fft` along the others",
    irfftn="Return `ifft` along all dims but the last, and then `irfft` along the last",
    hfftn="Return `fft` along all dims but the last, and then `hfft` along the last",
    ihfftn="Return `ihfft` along the last dim, and then `ifft` along the others",
)
def fftn(input: Tensor, s: Lengths = None, dim: Axes = None, norm: Norm = None, *, name: str) -> Tensor:
    """Return `fft` along each dim."""
    return transform(name, input, s, dim, norm, *KINDS[name[:-1]])


@family(
    composed(method=False),
    ifft2="Return `ifftn` along two dims",
    rfft2="Return `rfftn` along two dims",
    irfft2="Return `irfftn` along two dims",
    hfft2="Return `hfftn` along two dims",
    ihfft2="Return `ihfftn` along two dims",
)
def fft2(input: Tensor, s: Lengths = None, dim: Axes = (-2, -1), norm: Norm = None, *, name: str) -> Tensor:
    """Return `fftn` along two dims."""
    return transform(name, input, s, dim, norm, *KINDS[name[:-1]])


# ---- frequencies and orders -----------------------------------------------------------------------------------------


def frequencies(name: str, terms: Any, n: int, d: float, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    """Return terms/(n*d) in a floating dtype, for the function `name`."""
    (d,) = as_numbers(d)
    expect_numbers(name, d=d)
    kind = default_float() if dtype is None else as_dtype(dtype)
    expect_float(name, kind, requires_grad)
    Floating.expect(name, result=Spec(Layout.contiguous((len(terms),)), kind))
    with np.errstate(all="ignore"):  # inf and nan for d = 0, and for the length 0, as in PyTorch
        return computed(terms / np.float64(n * d), kind, device)


@public(out=True)
def fftfreq(
    n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:  # fmt: skip
    """Return the frequencies of the terms of `fft`, k/(n*d): first those that are not negative, then the negative ones.

    n: the length of the transform.  d: the distance of two samples.
    """
    n = Number(0, whole=True).read(n, "fftfreq", "n", ())
    half = (n + 1) // 2
    terms = np.append(np.arange(half), np.arange(half - n, 0))
    return frequencies("fftfreq", terms, n, d, dtype, device, requires_grad)


@public(out=True)
def rfftfreq(
    n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:  # fmt: skip
    """Return the frequencies of the terms of `rfft`, k/(n*d) for k from 0 to n//2.

    n: the length of the transform.  d: the distance of two samples.
    """
    n = Number(0, whole=True).read(n, "rfftfreq", "n", ())
    return frequencies("rfftfreq", np.arange(n // 2 + 1), n, d, dtype, device, requires_grad)


@composed(method=False, out=False)
def fftshift(input: Tensor, dim: Axes = None) -> Tensor:
    """Return the terms of a transform in ascending order of frequency: term 0 moves to the middle of each dim.

    dim: the dims, by default all of them.
    Gradient: `ifftshift` of g.
    """
    dims = normalize_dims(dim, input.ndim, "fftshift", input)
    return roll(input, [input.shape[d] // 2 for d in dims], dims)


@composed(method=False, out=False)
def ifftshift(input: Tensor, dim: Axes = None) -> Tensor:
    """Return the terms of a transform in their own order: the inverse of `fftshift`.

    dim: the dims, by default all of them.
    Gradient: `fftshift` of g.
    """
    dims = normalize_dims(dim, input.ndim, "ifftshift", input)
    return roll(input, [-(input.shape[d] // 2) for d in dims], dims)
