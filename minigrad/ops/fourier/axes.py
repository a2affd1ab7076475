"""The parts that all functions of `mg.fft` have in common: dims, lengths, dtypes, factors, and the order of transforms.

A transform over several dims is one transform per dim.  A transform of real numbers begins with the last of the dims,
where half of the result is computed; a transform to real numbers ends with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from minigrad.core.conditions import Ndim, NotHalf, Real
from minigrad.core.dtype import default_float
from minigrad.core.roles import AS_IT_COMES, Choice, Number, Role
from minigrad.core.transforms import transformed_dims, transformed_lengths
from minigrad.ops.casting import cast
from minigrad.ops.fourier.lines import fourier, hermitian_fourier, real_fourier
from minigrad.ops.shape.padding import with_constant
from minigrad.ops.shape.views import narrow, transpose
from minigrad.runtime.tensor import Tensor, describe

Lengths = Annotated[Any, Role("Ints", "lengths, one per dim", "int | Sequence[int] | None", AS_IT_COMES)]
Axes = Annotated[Any, Role("Dims", "a dim, several, or None for all", "int | Sequence[int] | None", AS_IT_COMES)]
Norm = Annotated[Any, Choice(None, "backward", "ortho", "forward")]


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
    axes = transformed_dims(name, x, s, dim, describe(x))
    if kind != "complex":
        Ndim(least=1).expect(name, input=x)
        Number(1, whole=True, advice="pass a dim").expect(name, x, **{"the number of dims": len(axes)})
    lengths = transformed_lengths(name, x, s, axes, kind == "hermitian", describe(x))
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
