"""The parts that all functions of `mg.fft` have in common: dims, lengths, dtypes, factors, and the order of transforms.

A transform over several dims is one transform per dim.  A transform of real numbers begins with the last of the dims,
where half of the result is computed; a transform to real numbers ends with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from minigrad.core.dtype import default_float
from minigrad.core.roles import AS_IT_COMES, Choice, Role, read_int
from minigrad.core.shape import normalize_dim, normalize_dims
from minigrad.errors import DTypeError, ShapeError
from minigrad.ops.casting import cast
from minigrad.ops.fourier.lines import fourier, hermitian_fourier, real_fourier
from minigrad.ops.shape.padding import with_constant
from minigrad.ops.shape.rearranging import movedim
from minigrad.ops.shape.views import narrow
from minigrad.runtime.tensor import Tensor, describe

Lengths = Annotated[Any, Role("Ints", "lengths, one per dim", "int | Sequence[int] | None", AS_IT_COMES)]
Axes = Annotated[Any, Role("Dims", "a dim, several, or None for all", "int | Sequence[int] | None", AS_IT_COMES)]
Norm = Annotated[Any, Choice(None, "backward", "ortho", "forward")]


def numbers_of(name: str, x: Tensor, real: bool) -> Tensor:
    """Return the operand of a transform of complex or real numbers, in float32, float64 or a complex dtype."""
    if real and x.dtype.is_complex:
        raise DTypeError(f"{name}: input must be real, got {describe(x)}; pass input.real, or call fft", op=name)
    kind = x.dtype if x.dtype.is_inexact else default_float()
    if kind.is_float and kind.itemsize < 4:
        raise DTypeError(
            f"{name}: expected float32, float64, complex or integers, got {describe(x)}, which is computed in {kind}; "
            "convert it with .to(mg.float32)", op=name,
        )  # fmt: skip
    kind = kind if real else kind.to_complex()
    return x if x.dtype is kind else cast(x, dtype=kind)


def axes_of(name: str, x: Tensor, s: Any, dim: Any) -> list[int]:
    """Return the dims of a transform, counted from the front: `dim`, or the last ones, one per length in `s`."""
    count = len(s) if s is not None else x.ndim
    if dim is None and count > x.ndim:
        raise ShapeError(f"{name}: s has {count} lengths, but input is {describe(x)}; pass one per dim", op=name)
    chosen = range(x.ndim - count, x.ndim) if dim is None else dim if isinstance(dim, Sequence) else (dim,)
    normalize_dims(chosen, x.ndim, name, x)  # this call only raises an error for a repeated dim
    result = [normalize_dim(d, x.ndim, name, x) for d in chosen]
    if s is not None and len(s) != len(result):
        raise ShapeError(
            f"{name}: s and dim must have equal lengths for {describe(x)}, got {s} and {dim}; pass one length per dim",
            op=name,
        )
    return result


def lengths_of(name: str, x: Tensor, s: Any, axes: Sequence[int], hermitian: bool) -> list[int]:
    """Return the length of the transform along each dim, at least 1; None and -1 stand for that of the operand."""
    wanted = [None] * len(axes) if s is None else s
    sizes = [x.shape[d] for d in axes]
    if hermitian:
        sizes[-1] = 2 * (sizes[-1] - 1)
    result = [n if k is None or k == -1 else read_int(k, name, "s", (x,)) for k, n in zip(wanted, sizes, strict=True)]
    for d, n in zip(axes, result, strict=True):
        if n < 1:
            raise ShapeError(
                f"{name}: the length must be at least 1, got {n} along dim {d} of {describe(x)}; pass a length",
                op=name, dim=d,
            )  # fmt: skip
    return result


def resized(name: str, x: Tensor, dim: int, n: int) -> Tensor:
    """Return x with n entries along a dim: the first ones, or all of them and zeros after them."""
    missing = n - x.shape[dim]
    if missing <= 0:
        return x if not missing else narrow(x, dim, 0, n)
    return with_constant(name, x, (0, 0) * (x.ndim - 1 - dim) + (0, missing), 0)


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
    axes = axes_of(name, x, s, dim)
    if kind != "complex" and not axes:
        raise ShapeError(f"{name}: expected at least one dim, got {describe(x)} and dim={dim}; pass a dim", op=name)
    lengths = lengths_of(name, x, s, axes, kind == "hermitian")
    x = numbers_of(name, x, kind == "real")
    half = {axes[-1]: lengths[-1] // 2 + 1} if kind == "hermitian" else {}
    for d, n in zip(axes, lengths, strict=True):
        x = resized(name, x, d, half.get(d, n))
    if kind == "complex":
        return over_dims(x, axes, lengths, inverse, norm)
    (*others, last), (*sizes, n) = axes, lengths
    scale = scale_of(n, inverse, norm)
    if kind == "real":
        terms = movedim(real_fourier(movedim(x, last, -1), inverse=inverse, scale=scale), -1, last)
        return over_dims(terms, others, sizes, inverse, norm)
    x = movedim(over_dims(x, others, sizes, inverse, norm), last, -1)
    return movedim(hermitian_fourier(x, n=n, inverse=inverse, scale=scale), -1, last)
