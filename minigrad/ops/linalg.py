"""Matrix products over operands of any strides; leading (batch) dims broadcast."""

from __future__ import annotations

from minigrad.core.dtype import DType
from minigrad.core.op import Op, Spec
from minigrad.core.shape import broadcast_shapes
from minigrad.errors import ShapeError
from minigrad.ops.declare import kernel
from minigrad.ops.rules import common
from minigrad.tensor import Tensor, describe, expect_tensors


def matmul_dtype(op: Op, specs: tuple[Spec, ...]) -> DType:
    """The promoted dtype."""
    return common(specs)


def matmul_shape(op: Op, a: Spec, b: Spec) -> tuple[int, ...]:
    """(..., m, k) @ (..., k, n) -> (..., m, n).  Raises ShapeError unless k agrees and batch dims broadcast."""
    if a.shape[-1] != b.shape[-2]:
        raise mismatch(f"{a!r} @ {b!r}", a.shape, b.shape)
    try:
        batch = broadcast_shapes("matmul", a.shape[:-2], b.shape[:-2])
    except ShapeError as error:
        _, _, reason = str(error).partition(" do not broadcast")
        raise ShapeError(
            f"matmul: {a!r} @ {b!r}: the batch dims {a.shape[:-2]} and {b.shape[:-2]} do not broadcast{reason}",
            op="matmul", lhs=a.shape, rhs=b.shape,
        ) from None  # fmt: skip
    return (*batch, a.shape[-2], b.shape[-1])


def mismatch(shown: str, left: tuple[int, ...], right: tuple[int, ...]) -> ShapeError:
    """The error for inner sizes that differ."""
    which, size = ("second last dim", right[-2]) if len(right) > 1 else ("only dim", right[0])
    return ShapeError(
        f"matmul: {shown}: the last dim of the left, {left[-1]}, must equal the {which} of the right, {size}",
        op="matmul", lhs=left, rhs=right,
    )  # fmt: skip


@kernel(dtype=matmul_dtype, shape=matmul_shape, vjp=(lambda g, b: g @ b.mT, lambda g, a: a.mT @ g))
def matmul_nd(backend, out, a, b):
    """The product of matrices (2 dims or more): `matmul` calls it once vectors have become matrices.

    Gradient: g @ b.T and a.T @ g.
    """
    batch = out.shape[:-2]
    a = Spec(a.layout.expand((*batch, *a.shape[-2:])), a.dtype)
    b = Spec(b.layout.expand((*batch, *b.shape[-2:])), b.dtype)
    return backend.matmul(out, a, b)


def matmul(a: Tensor, b: Tensor) -> Tensor:
    """Matrix product; a 1-d operand is a row on the left, a column on the right, and its dim goes from the result.

    Raises ShapeError for scalars and for inner sizes that differ.
    """
    expect_tensors("matmul", a, b)
    if a.ndim >= 2 and b.ndim >= 2:
        return matmul_nd(a, b)
    if a.ndim == 0 or b.ndim == 0:
        raise ShapeError(
            f"matmul: {describe(a)} @ {describe(b)}: both operands need at least one dim; use * for scalars",
            op="matmul",
        )
    if a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        raise mismatch(f"{describe(a)} @ {describe(b)}", a.shape, b.shape)
    left = a if a.ndim > 1 else a.unsqueeze(0)
    right = b if b.ndim > 1 else b.unsqueeze(1)
    y = matmul_nd(left, right)
    if b.ndim == 1:
        y = y.squeeze(-1)
    return y.squeeze(-2 if b.ndim > 1 else -1) if a.ndim == 1 else y


def dot(a: Tensor, b: Tensor) -> Tensor:
    """The inner product of two vectors of one length."""
    _need("dot", a, b, (1, 1))
    return matmul(a, b)


def mv(a: Tensor, b: Tensor) -> Tensor:
    """Matrix times vector."""
    _need("mv", a, b, (2, 1))
    return matmul(a, b)


def mm(a: Tensor, b: Tensor) -> Tensor:
    """Matrix times matrix, no batch dims."""
    _need("mm", a, b, (2, 2))
    return matmul(a, b)


def outer(a: Tensor, b: Tensor) -> Tensor:
    """The product of every element of a vector with every element of another."""
    _need("outer", a, b, (1, 1))
    return a.unsqueeze(1) * b.unsqueeze(0)


def _need(name: str, a: Tensor, b: Tensor, dims: tuple[int, int]) -> None:
    expect_tensors(name, a, b)
    if (a.ndim, b.ndim) != dims:
        raise ShapeError(
            f"{name}: expected tensors of {dims[0]} and {dims[1]} dims, got {describe(a)} and {describe(b)}"
        )
