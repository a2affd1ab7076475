"""Linear ops that transform lines along one dim: of complex numbers, from real numbers, and to real numbers.

The matrix of a Fourier transform is symmetric, so `fourier` is its own derivative rule.  Half of the terms of the
transform of real numbers are conjugates of the others: `real_fourier` and `hermitian_fourier` compute with one half,
and each is the derivative rule of the other, with weights: a term that represents two terms counts twice.  All other
functions of `mg.fft` are compositions of these three ops.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.core import requests
from minigrad.core.dtype import DType
from minigrad.core.op import Op, Spec
from minigrad.core.roles import Dim, Flag, Scalar, Size
from minigrad.declare.decorators import kernel
from minigrad.declare.rules import same_shape
from minigrad.errors import DTypeError, check
from minigrad.ops.creation import tensor
from minigrad.runtime.tensor import Tensor

Shape = tuple[int, ...]


def of_complex(op: Op, specs: tuple[Spec, ...], **params: Any) -> DType:
    """Return the dtype of the operand.  Raises DTypeError unless it is complex; `mg.fft` converts it."""
    dtype = specs[0].dtype
    words = f"{op.label}: expected complex numbers, got {specs[0]!r}; write mg.fft.fft(x)"
    check(dtype.is_complex, DTypeError, words, op=op.label)
    return dtype


@kernel(
    dtype=of_complex, shape=same_shape, linear=True, batch="along", complex=True, namespace=(),
    vjp=(lambda g, *, dim, inverse, scale: fourier(g, dim=dim, inverse=inverse, scale=scale),),
)  # fmt: skip
def fourier(backend, out, input: Tensor, *, dim: Dim, inverse: Flag, scale: Scalar):
    """Return scale * (the sum over j of x[j] * e**(-2*pi*i*j*k/n)) along a dim; `inverse` changes the sign.

    Gradient: the same op, because its matrix is symmetric.
    """
    return backend.prepare(requests.Fourier(dim, inverse, scale), out, input)


def with_weights(x: Tensor, n: int, factor: float) -> Tensor:
    """Multiply the terms that represent two terms of a transform of length n by a factor."""
    weights = np.full(x.shape[-1], factor)
    weights[0] = 1.0
    if n % 2 == 0:
        weights[-1] = 1.0
    result: Tensor = x * tensor(weights, dtype=x.dtype.to_real(), device=x.device)
    return result


def half_shape(op: Op, input: Spec, **params: Any) -> Shape:
    """Return the shape of the terms 0 to n//2."""
    return (*input.shape[:-1], input.shape[-1] // 2 + 1)


@kernel(
    dtype=lambda op, specs, **params: specs[0].dtype.to_complex(), shape=half_shape, linear=True, batch="front",
    complex=True, namespace=(),
    vjp=(lambda g, *, inverse, scale, in_shape: adjoint_of_real(g, in_shape[-1], inverse, scale),),
)  # fmt: skip
def real_fourier(backend, out, input: Tensor, *, inverse: Flag, scale: Scalar):
    """Return the terms 0 to n//2 of `fourier` of real numbers along the last dim.

    Gradient: `hermitian_fourier` of g, with half of each term that represents two terms.
    """
    return backend.prepare(requests.Fourier(len(out.shape) - 1, inverse, scale), out, input)


def adjoint_of_real(g: Tensor, n: int, inverse: bool, scale: float) -> Tensor:
    """Return the gradient of the operand of `real_fourier`."""
    result: Tensor = hermitian_fourier(with_weights(g, n, 0.5), n=n, inverse=inverse, scale=scale)
    return result


@kernel(
    dtype=lambda op, specs, **params: of_complex(op, specs).to_real(), linear=True, batch="front", complex=True,
    namespace=(),
    shape=lambda op, input, *, n, inverse, scale: (*input.shape[:-1], n),
    vjp=(lambda g, *, n, inverse, scale: with_weights(real_fourier(g, inverse=inverse, scale=scale), n, 2.0),),
)  # fmt: skip
def hermitian_fourier(backend, out, input: Tensor, *, n: Size, inverse: Flag, scale: Scalar):
    """Return the real parts of `fourier` of n terms along the last dim, from the terms 0 to n//2.

    Every other term is the conjugate of one of them.
    Gradient: `real_fourier` of g, with twice each term that represents two terms.
    """
    return backend.prepare(requests.Fourier(len(out.shape) - 1, inverse, scale), out, input)
