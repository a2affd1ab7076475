"""The dims of a Fourier transform and its lengths along them, from the arguments of a public function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minigrad.core.roles import read_int
from minigrad.core.shape import normalize_dim, normalize_dims
from minigrad.errors import ShapeError


def transformed_dims(op: str, x: Any, s: Sequence[Any] | None, dim: Any, shown: str) -> list[int]:
    """Return the dims of a transform of x, counted from the front: `dim`, or the last ones, one per length in `s`.

    shown: a description of x, for messages.
    """
    ndim = len(x.shape)
    count = ndim if s is None else len(s)
    if dim is None and count > ndim:
        raise ShapeError(f"{op}: s has {count} lengths, but input is {shown}; pass one per dim")
    chosen = range(ndim - count, ndim) if dim is None else dim if isinstance(dim, Sequence) else (dim,)
    normalize_dims(chosen, ndim, op, x)  # this call only raises an error for a repeated dim
    result = [normalize_dim(d, ndim, op, x) for d in chosen]
    if s is not None and len(s) != len(result):
        raise ShapeError(
            f"{op}: s and dim must have equal lengths for {shown}, got {s} and {dim}; pass one length per dim"
        )
    return result


def transformed_lengths(
    op: str, x: Any, s: Sequence[Any] | None, dims: Sequence[int], hermitian: bool, shown: str
) -> list[int]:
    """Return the length of the transform along each dim, at least 1; None and -1 stand for that of the operand.

    hermitian: whether the last dim contains the terms 0 to n//2; then n is 2*(m - 1) for m terms by default.
    """
    sizes = [x.shape[d] for d in dims]
    if hermitian:
        sizes[-1] = 2 * (sizes[-1] - 1)
    wanted = [None] * len(sizes) if s is None else s
    result = [n if k is None or k == -1 else read_int(k, op, "s", (x,)) for k, n in zip(wanted, sizes, strict=True)]
    for d, n in zip(dims, result, strict=True):
        if n < 1:
            raise ShapeError(
                f"{op}: the length must be at least 1, got {n} along dim {d} of {shown}; pass a length", dim=d
            )
    return result
