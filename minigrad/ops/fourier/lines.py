"""Linear ops that transform lines along one dim: of complex numbers, from real numbers, and to real numbers.

The matrix of a Fourier transform is symmetric, so `fourier` is its own derivative rule.  Half of the terms of the
transform of real numbers are conjugates of the others: `real_fourier` and `hermitian_fourier` compute with one half,
and each is the derivative rule of the other, with weights: a term that represents two terms counts twice.  All other
functions of `mg.fft` are compositions of these three ops.

A transform over several dims is one transform per dim.  A transform of real numbers begins with the last of the dims,
where half of the result is computed; a transform to real numbers ends with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from minigrad.core import requests
from minigrad.core.conditions import Ndim, NotHalf, Real
from minigrad.core.dtype import DType, default_float
from minigrad.core.op import Op, Spec
from minigrad.core.roles import AS_IT_COMES, Choice, Dim, Flag, Number, Role, Scalar, Size, read_int
from minigrad.core.shape import normalize_dim, normalize_dims
from minigrad.declare.decorators import kernel
from minigrad.declare.rules import same_shape
from minigrad.errors import DTypeError, ShapeError, check
from minigrad.ops.casting import cast
from minigrad.ops.creation import tensor
from minigrad.ops.shape.padding import with_constant
from minigrad.ops.shape.views import narrow, transpose
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
    return x * tensor(weights, dtype=x.dtype.to_real(), device=x.device)


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
    return hermitian_fourier(with_weights(g, n, 0.5), n=n, inverse=inverse, scale=scale)


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


# ---- the parts that all functions of `mg.fft` have in common: dims, lengths, dtypes, factors, and the ord ------------


Lengths = Annotated[Any, Role("Ints", "lengths, one per dim", "int | Sequence[int] | None", AS_IT_COMES)]
Axes = Annotated[Any, Role("Dims", "a dim, several, or None for all", "int | Sequence[int] | None", AS_IT_COMES)]
Norm = Annotated[Any, Choice(None, "backward", "ortho", "forward")]


def transformed_dims(op: str, x: Any, s: Sequence[Any] | None, dim: Any) -> list[int]:
    """Return the dims of a transform of x, counted from the front: `dim`, or the last ones, one per length in `s`."""
    ndim = len(x.shape)
    count = ndim if s is None else len(s)
    words = (op, ": s has ", count, " lengths, but input is ", x.dtype, x.shape)
    check(dim is not None or count <= ndim, ShapeError, *words, "; pass one per dim")
    chosen = range(ndim - count, ndim) if dim is None else dim if isinstance(dim, Sequence) else (dim,)
    normalize_dims(chosen, ndim, op, x)  # this call only raises an error for a repeated dim
    result = [normalize_dim(d, ndim, op, x) for d in chosen]
    uneven = (op, ": s and dim must have equal lengths for ", x.dtype, x.shape, ", got ", s, " and ", dim)
    check(s is None or len(s) == len(result), ShapeError, *uneven, "; pass one length per dim")
    return result


def transformed_lengths(op: str, x: Any, s: Sequence[Any] | None, dims: Sequence[int], hermitian: bool) -> list[int]:
    """Return the length of the transform along each dim, at least 1; None and -1 stand for that of the operand.

    hermitian: whether the last dim contains the terms 0 to n//2; then n is 2*(m - 1) for m terms by default.
    """
    sizes = [x.shape[d] for d in dims]
    if hermitian:
        sizes[-1] = 2 * (sizes[-1] - 1)
    wanted = [None] * len(sizes) if s is None else s
    result = [n if k is None or k == -1 else read_int(k, op, "s", (x,)) for k, n in zip(wanted, sizes, strict=True)]
    for d, n in zip(dims, result, strict=True):
        words = (op, ": the length must be at least 1, got ", n, " along dim ", d, " of ", x.dtype, x.shape)
        check(n >= 1, ShapeError, *words, "; pass a length", dim=d)
    return result


def numbers_of(name: str, x: Tensor, real: bool) -> Tensor:
    """Return the operand of a transform of complex or real numbers, in float32, float64 or a complex dtype."""
    if real:
        Real.expect(name, input=x)
    x = x if x.dtype.is_inexact else cast(x, dtype=default_float())
    NotHalf.expect(name, input=x)
    kind = x.dtype if real else x.dtype.to_complex()
    return x if x.dtype is kind else cast(x, dtype=kind)


def resized(name: str, x: Tensor, dim: int, n: int) -> Tensor:
    """Return x with n entries along a dim: the first ones, or all of them and zeros after them."""
    missing = n - x.shape[dim]
    if missing <= 0:
        return x if not missing else narrow(x, dim, 0, n)
    return with_constant(name, x, (0, 0) * (x.ndim - 1 - dim) + (0, missing), 0)


def exchanged(x: Tensor, dim: int) -> Tensor:
    """Return a view with a dim and the last dim exchanged."""
    return x if dim == x.ndim - 1 else transpose(x, dim, -1)


def scale_of(n: int, inverse: bool, norm: str | None) -> float:
    """Return the factor of a transform of length n."""
    if norm == "ortho":
        return float(n**-0.5)
    return 1.0 / n if inverse == (norm != "forward") else 1.0


def over_dims(x: Tensor, axes: Sequence[int], lengths: Sequence[int], inverse: bool, norm: str | None) -> Tensor:
    """Return the transform of complex numbers along several dims."""
    for d, n in zip(axes, lengths, strict=True):
        x = fourier(x, dim=d, inverse=inverse, scale=scale_of(n, inverse, norm))
    return x


def transform(name: str, x: Tensor, s: Any, dim: Any, norm: str | None, inverse: bool, kind: str) -> Tensor:
    """Return a transform of "complex" numbers, of "real" numbers, or of "hermitian" terms to real numbers.

    name: the public function, for messages.  s, dim: those of the public function.
    """
    s = s if s is None or isinstance(s, Sequence) else (s,)
    axes = transformed_dims(name, x, s, dim)
    if kind != "complex":
        Ndim(least=1).expect(name, input=x)
        Number(1, whole=True, advice="pass a dim").expect(name, x, **{"the number of dims": len(axes)})
    lengths = transformed_lengths(name, x, s, axes, kind == "hermitian")
    x = numbers_of(name, x, kind == "real")
    for d, n in zip(axes, lengths, strict=True):
        x = resized(name, x, d, n // 2 + 1 if kind == "hermitian" and d == axes[-1] else n)
    if kind == "complex":
        return over_dims(x, axes, lengths, inverse, norm)
    (*others, last), (*sizes, n) = axes, lengths
    scale = scale_of(n, inverse, norm)
    if kind == "real":
        terms = exchanged(real_fourier(exchanged(x, last), inverse=inverse, scale=scale), last)
        return over_dims(terms, others, sizes, inverse, norm)
    x = exchanged(over_dims(x, others, sizes, inverse, norm), last)
    return exchanged(hermitian_fourier(x, n=n, inverse=inverse, scale=scale), last)
