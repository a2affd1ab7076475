"""Products of vectors and tensors: inner, cross and Kronecker products, tensordot; and sums of scaled products."""

from __future__ import annotations

from math import prod
from typing import Annotated, Any

from minigrad.core.conditions import Ndim, expect_same, expect_shapes
from minigrad.core.dtype import bool_
from minigrad.core.roles import Factor, Front, expect_kind
from minigrad.core.shape import broadcast_shapes, normalize_dim
from minigrad.declare.decorators import composed, kernel
from minigrad.declare.forms import apart
from minigrad.declare.names import LINALG
from minigrad.declare.rules import each, number
from minigrad.errors import ArgumentError, ShapeError
from minigrad.kernels.scalar import formula
from minigrad.ops.casting import clone
from minigrad.ops.creation import zeros_like
from minigrad.ops.linalg.products import dot, matmul, with_factors
from minigrad.ops.pointwise.blends import addcmul
from minigrad.ops.pointwise.compare import logical_and, logical_or
from minigrad.ops.reduction.sums import sum
from minigrad.ops.shape.parts import conj
from minigrad.ops.shape.views import expand, permute, reshape
from minigrad.runtime.into import copy_result
from minigrad.runtime.tensor import Tensor, describe

# A row of fewer than SHORT elements takes longer to start than to read; `kron` copies such rows if there are MANY.
SHORT, MANY = 64, 8


@composed()
def inner(input: Tensor, other: Tensor) -> Tensor:
    """Return the inner products over the last dims of both operands; for a scalar operand, return the product."""
    if not input.ndim or not other.ndim:
        return input * other
    expect_shapes("inner", "transpose or slice one of them", "..., n; ..., n", input=input, other=other)
    return tensordot(input, other, ((-1,), (-1,)))


@composed()
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """Return the inner product of two vectors of the same length; that of complex vectors conjugates the first one."""
    return dot(conj(input), other)


@composed(namespace=LINALG)
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """Return the inner products of vectors along `dim`, with x conjugated if it is complex; the operands broadcast."""
    return sum(conj(x) * y, dim)


@composed()
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """Return the cross products of vectors of length 3 along `dim`; the operands broadcast.

    dim: the dim of the vectors; None stands for the first dim of length 3.
    """
    if dim is None:
        dim = next((d for d, n in enumerate(input.shape) if n == 3), None)
        if dim is None:
            raise ShapeError(
                f"cross: input must have a dim of length 3, got {describe(input)}; pass vectors of 3 elements"
            )
        dim -= input.ndim if input.ndim == other.ndim else 0
    expect_same("dims", "cross", input=input, other=other)
    d = normalize_dim(dim, input.ndim, "cross", input)
    if input.shape[d] != 3 or other.shape[d] != 3:
        raise ShapeError(
            f"cross: the operands must have length 3 along dim {dim}, got {describe(input)} and {describe(other)}; "
            "pass the dim of the vectors as dim"
        )
    shape = broadcast_shapes("cross", input.shape, other.shape)
    return crossed(*[x if x.shape == shape else expand(x, shape=shape) for x in (input, other)], dim=d)


# The elements of the cross product of two vectors.
THREE_PRODUCTS = formula(
    "three_products(a0, a1, a2, b0, b1, b2)", "a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0", results=3
)


@kernel(
    dtype=lambda op, specs, *, dim: number(op, specs)[1], shape=lambda op, a, b, *, dim: a.shape, namespace=(),
    label="cross", linear=each("a", "b"),
    vjp=(lambda g, b, *, dim: crossed(b, g, dim=dim), lambda g, a, *, dim: crossed(g, a, dim=dim)),
    batch=lambda a, b, *, dim, batch, flags: crossed(
        *[x if flag else expand(x, shape=(batch, *x.shape)) for x, flag in zip((a, b), flags)], dim=dim + 1
    ),
    complex=True,
)  # fmt: skip
def crossed(steps, out, a: Tensor, b: Tensor, *, dim):
    """Return the cross products along a dim of two tensors of the same shape, computed in one pass.

    Gradient: b x g for a, and g x a for b.
    """
    outs, operands = ([x.seen(x.layout.select(dim, k)) for x in values for k in range(3)]
                      for values in (steps.outs, steps.operands))  # fmt: skip
    steps.each(THREE_PRODUCTS, outs, *operands)


@composed()
def kron(input: Tensor, other: Tensor) -> Tensor:
    """Return the Kronecker product: the block at each position is this element of the input times the tensor other."""
    n = max(input.ndim, other.ndim)
    first, second = ((1,) * (n - x.ndim) + x.shape for x in (input, other))
    a = reshape(input, tuple([m for size in first for m in (size, 1)]))
    b = reshape(other, tuple([m for size in second for m in (1, size)]))
    if n and second[-1] < SHORT and min(input.numel(), other.numel()) >= MANY * max(first[-1], second[-1]):
        # The operands have many short rows, so they are first expanded to the row length of the result, which takes
        # little time.
        a, b = (clone(expand(x, shape=(*x.shape[:-2], first[-1], second[-1]))) for x in (a, b))
        a, b = (reshape(x, (*x.shape[:-2], first[-1] * second[-1])) for x in (a, b))
    return reshape(a * b, tuple([p * q for p, q in zip(first, second)]))


@composed(method=False)
def tensordot(a: Tensor, b: Tensor, dims: Front = 2, out: Tensor | None = None) -> Tensor:
    """Return the products of a and b, summed over dims of both.

    dims: a number n, for the last n dims of a and the first n dims of b; or two lists of dims, one for each operand.
    """
    if out is not None:
        x, y = apart(tensordot.op, (a, b), out)  # type: ignore[attr-defined]
        return copy_result("tensordot", tensordot(x, y, dims), out)
    if isinstance(dims, int):
        if not 0 <= dims <= min(a.ndim, b.ndim):
            raise ArgumentError(
                f"tensordot: dims must be from 0 to {min(a.ndim, b.ndim)} for {describe(a)} and {describe(b)}, got "
                f"{dims}; pass dims=1, for example"
            )
        dims = tuple(range(a.ndim - dims, a.ndim)), tuple(range(dims))
    left, right = ([normalize_dim(d, x.ndim, "tensordot", x) for d in ds] for x, ds in zip((a, b), listed(dims)))
    pairs = list(zip(left, right))
    if len(left) != len(right) or any(a.shape[i] != b.shape[j] and 1 not in (a.shape[i], b.shape[j]) for i, j in pairs):
        raise ShapeError(
            f"tensordot: dims {left} of {describe(a)} and {right} of {describe(b)} must have equal lengths; pass pairs "
            "of dims with equal lengths"
        )
    # A dim of size 1 broadcasts: its only element is multiplied by the sum over the other operand's dim.
    a, b = _summed(a, [i for i, j in pairs if b.shape[j] == 1]), _summed(b, [j for i, j in pairs if a.shape[i] == 1])
    kept, rest = ([d for d in range(x.ndim) if d not in ds] for x, ds in ((a, left), (b, right)))
    n, shape = prod(a.shape[d] for d in left), (*[a.shape[d] for d in kept], *[b.shape[d] for d in rest])
    rows = reshape(permute(a, (*kept, *left)), (prod(a.shape[d] for d in kept), n))
    columns = reshape(permute(b, (*right, *rest)), (n, prod(b.shape[d] for d in rest)))
    return reshape(matmul(rows, columns), shape)


def _summed(x: Tensor, dims: list[int]) -> Tensor:
    """Return x summed over dims, which stay with length 1, in the dtype of x."""
    return sum(x, dims, keepdim=True, dtype=x.dtype) if dims else x


def listed(dims: Any) -> list[list[int]]:
    """Return two lists of dims from the argument `dims`, which is a tensor or a pair of ints or sequences."""
    both = dims.tolist() if isinstance(dims, Tensor) else dims
    return [[each] if isinstance(each, int) else list(each) for each in both]


@composed(in_place=True, older=("beta", "alpha"))
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Factor = 1, alpha: Factor = 1) -> Tensor:
    """Return beta * input + alpha * the sum over the batch of batch1 @ batch2; see `addmm`."""
    expect_shapes("addbmm", "transpose or slice one of them", "b, n, k; b, k, m", batch1=batch1, batch2=batch2)
    n, m, k = batch1.shape
    rows = reshape(permute(batch1, (1, 0, 2)), (m, n * k))
    return with_factors(input, rows, reshape(batch2, (n * k, batch2.shape[2])), alpha, beta)


@composed(in_place=True, older=("beta", "alpha"))
def addr(
    input: Tensor, vec1: Annotated[Tensor, Ndim(1)], vec2: Annotated[Tensor, Ndim(1)], *, beta: Factor = 1,
    alpha: Factor = 1,
) -> Tensor:  # fmt: skip
    """Return beta * input + alpha * the outer product of vec1 and vec2; see `addmm`.

    The factors of integers must be ints, and those of numbers cannot be booleans.
    """
    expect_kind("addr", input, vec1, vec2, alpha=alpha, beta=beta)
    column, row = vec1.unsqueeze(1), vec2.unsqueeze(0)
    if input.dtype is vec1.dtype is vec2.dtype is bool_:  # sums and products of booleans are "or" and "and"
        product = logical_and(column, row)
        product = product if alpha else zeros_like(product)
        return logical_or(input, product) if beta else product
    if beta == 1 and input.dtype.is_float and input.shape == (column.shape[0], row.shape[1]):
        return addcmul(input, column, row, value=alpha)
    return with_factors(input, column, row, alpha, beta)
