"""Matrix products of operands with any strides; batch dims broadcast, and a vector counts as a row or a column.

`matmul` computes the product.  `addmm` and similar ops scale the product and add it to another tensor in the same
kernel; `linear` adds its bias in this way.
"""

from __future__ import annotations

from math import prod
from typing import Annotated, Any

from minigrad.backends.base import Backend
from minigrad.backends.launch import Launch, remapped
from minigrad.core.conditions import Ndim, expect_shape, expect_shapes
from minigrad.core.dtype import DType
from minigrad.core.layout import Layout
from minigrad.core.op import Op, Spec
from minigrad.core.requests import Product
from minigrad.core.roles import Factor
from minigrad.core.shape import broadcast_shapes
from minigrad.core.strides import stretched_strides
from minigrad.declare.decorators import composed, kernel
from minigrad.declare.names import FUNCTIONAL, LINALG, MG
from minigrad.declare.rules import common, each
from minigrad.declare.rules import number as numbers
from minigrad.errors import DTypeError, ShapeError
from minigrad.ops.batch_rules import Flags, batched_product, ranked, stretched
from minigrad.ops.pointwise.arithmetic import mul
from minigrad.ops.pointwise.rounding import as_whole
from minigrad.ops.shape.views import reshape
from minigrad.runtime.tensor import Tensor, describe

Shape = tuple[int, ...]
FREE = "use matmul for other numbers of dims"
Vector = Annotated[Tensor, Ndim(1, advice=FREE)]
Matrix = Annotated[Tensor, Ndim(2, advice=FREE)]
Batch = Annotated[Tensor, Ndim(3, advice=FREE)]

# ---- rules ----------------------------------------------------------------------------------------------------------


def matmul_shape(op: Op, a: Spec, b: Spec) -> Shape:
    """Return the shape (..., m, n) of the product of (..., m, k) and (..., k, n), without the dim added to a vector.

    Raises ShapeError for scalars, for inner sizes that differ, and for batch dims that do not broadcast.
    """
    shown = f"{a!r} @ {b!r}"
    Ndim(least=1, advice="use * for scalars").expect(op.label, a, b, input=a, other=b)
    if a.shape[-1] != b.shape[-2 if len(b.shape) > 1 else 0]:
        raise mismatch(op.label, shown, a.shape, b.shape)
    try:
        batch = broadcast_shapes(op.label, a.shape[:-2], b.shape[:-2])
    except ShapeError as error:
        _, _, reason = str(error).partition(" do not broadcast")
        raise ShapeError(
            f"{op.label}: {shown}: the batch dims {a.shape[:-2]} and {b.shape[:-2]} do not broadcast{reason}",
            lhs=a.shape, rhs=b.shape,
        ) from None  # fmt: skip
    return (*batch, *a.shape[-2:-1], *(b.shape[-1:] if len(b.shape) > 1 else ()))


def mismatch(name: str, shown: str, left: Shape, right: Shape) -> ShapeError:
    """Return the ShapeError for inner sizes that differ."""
    which, size = ("second last dim", right[-2]) if len(right) > 1 else ("only dim", right[0])
    return ShapeError(
        f"{name}: {shown}: the last dim of the left, {left[-1]}, must equal the {which} of the right, {size}; "
        f"transpose or slice one operand", lhs=left, rhs=right,
    )  # fmt: skip


def as_matrices(out: Spec, a: Spec, b: Spec) -> tuple[Spec, Spec, Spec]:
    """Return the result and the operands as matrices: vectors become a row or a column, and batch dims are expanded."""
    left = a.layout if len(a.shape) > 1 else a.layout.unsqueeze(0)
    right = b.layout if len(b.shape) > 1 else b.layout.unsqueeze(1)
    batch = broadcast_shapes("matmul", left.shape[:-2], right.shape[:-2])
    shape = (*batch, left.shape[-2], right.shape[-1])
    result = Layout.contiguous(shape, out.layout.offset)
    left, right = left.expand((*batch, *left.shape[-2:])), right.expand((*batch, *right.shape[-2:]))
    return Spec(result, out.dtype), Spec(left, a.dtype), Spec(right, b.dtype)


def as_rows(x: Tensor) -> Tensor:
    """Return all rows of x as one matrix.

    Its sizes are passed explicitly, because -1 cannot be inferred for a tensor without elements.
    """
    return x.reshape(prod(x.shape[:-1]), x.shape[-1])


def left_gradient(g: Tensor, b: Tensor, a_shape: Shape) -> Tensor:
    """Return g @ b.T, the gradient of the left operand; a vector a counts as a row, and a vector b as a column.

    An outer product of vectors is computed element by element.
    """
    if b.ndim == 1:
        return g * b if len(a_shape) == 1 else g.unsqueeze(-1) * b
    if len(a_shape) == 1:
        g = g.unsqueeze(-2)
    return g @ b.mT


def right_gradient(g: Tensor, a: Tensor, b_shape: Shape) -> Tensor:
    """Return a.T @ g, the gradient of the right operand, in the shape of b.

    If b is a single matrix and a has batch dims, the batch becomes additional rows of one product, so that no batch of
    gradients must be summed.
    """
    if a.ndim == 1:
        return g * a if len(b_shape) == 1 else a.unsqueeze(-1) * g.unsqueeze(-2)
    if len(b_shape) == 1:
        return a.mT @ g if a.ndim == 2 else (a.mT @ g.unsqueeze(-1)).squeeze(-1)
    if len(b_shape) == 2 and a.ndim > 2:
        a, g = as_rows(a), as_rows(g)
    return a.mT @ g


# ---- products -------------------------------------------------------------------------------------------------------


@kernel(
    dtype=lambda op, specs: common(specs), shape=matmul_shape,
    vjp=(
        lambda g, other, *, input_shape: left_gradient(g, other, input_shape),
        lambda g, input, *, other_shape: right_gradient(g, input, other_shape),
    ),
    linear=each("input", "other"), batch="product", namespace=(MG, LINALG), method=True, complex=True,
)  # fmt: skip
def matmul(backend, out, input: Tensor, other: Tensor):
    """Return the matrix product; batch dims broadcast.

    A vector counts as a row on the left and as a column on the right, and the result does not have the added dim.
    Gradient: g @ other.T for input and input.T @ g for other.
    Raises ShapeError for scalars, for inner sizes that differ, and for batch dims that do not broadcast.
    """
    result, left, right = as_matrices(out, input, other)
    return backend.prepare(Product(), result, left, right)


@composed()
def dot(input: Vector, tensor: Vector) -> Tensor:
    """Return the inner product of two vectors of the same length."""
    return matmul(input, tensor)


@composed()
def mv(input: Matrix, vec: Vector) -> Tensor:
    """Return the product of a matrix and a vector."""
    return matmul(input, vec)


@composed()
def mm(input: Matrix, mat2: Matrix) -> Tensor:
    """Return the product of two matrices, without batch dims."""
    return matmul(input, mat2)


@composed()
def bmm(input: Batch, mat2: Batch) -> Tensor:
    """Return the matrix product of each pair of matrices in two batches (b, n, m) and (b, m, p)."""
    expect_shapes("bmm", "pass one matrix of mat2 per matrix of input", "b, n, m; b, m, p", input=input, mat2=mat2)
    return matmul(input, mat2)


@composed()
def outer(input: Vector, vec2: Vector) -> Tensor:
    """Return the outer product of two vectors: the products of each element of the first with each of the second."""
    return input.unsqueeze(1) * vec2


# ---- products that are added to something ---------------------------------------------------------------------------


def _addmm_dtype(op: Op, specs: tuple[Spec, ...], *, alpha: float, beta: float) -> DType:
    """Return the promoted dtype.  Raises DTypeError for bool, and for float factors of an integer product."""
    _, dtype = numbers(op, specs)
    for name, factor in (("alpha", alpha), ("beta", beta)):
        if not isinstance(factor, int if dtype.is_int else (int, float)):
            raise DTypeError(
                f"{op.label}: {name} must be {'an int' if dtype.is_int else 'a number'} for {dtype}, got "
                f"{describe(factor)}; pass {name}={'2' if dtype.is_int else '0.5'}, for example"
            )
    return dtype


def _addmm_shape(op: Op, c: Spec, a: Spec, b: Spec, *, alpha: float, beta: float) -> Shape:
    shape = matmul_shape(op, a, b)
    if stretched_strides(c.shape, (0,) * len(c.shape), shape) is None:
        raise ShapeError(
            f"{op.label}: input must broadcast to the shape {shape} of the product {a!r} @ {b!r}, got {c!r}; reshape "
            "input"
        )
    return shape


def _added(backend: Backend, out: Spec, c: Spec, a: Spec, b: Spec, alpha: float, beta: float) -> Launch:
    """Return the launch of alpha * a @ b + beta * c, with buffers in the order c, a, b, out."""
    result, left, right = as_matrices(out, a, b)
    layout = c.layout.expand(out.shape)
    if len(a.shape) == 1:
        layout = layout.unsqueeze(-1 if len(b.shape) == 1 else -2)
    if len(b.shape) == 1:
        layout = layout.unsqueeze(-1)
    if not beta:
        product = backend.prepare(Product(alpha), result, left, right)
        return remapped(product, (1, 2, 3), 4)
    launch = backend.prepare(Product(alpha, beta), result, left, right, Spec(layout, c.dtype))
    return remapped(launch, (1, 2, 0, 3), 4)


@kernel(
    dtype=_addmm_dtype, shape=_addmm_shape,
    vjp=(
        lambda g, *, beta: g * beta,
        lambda g, b, *, a_shape, alpha: left_gradient(g, b, a_shape) * alpha,
        lambda g, a, *, b_shape, alpha: right_gradient(g, a, b_shape) * alpha,
    ),
    linear=each(("c", "a"), ("c", "b")), name="addmm", namespace=(),
    batch=lambda c, a, b, *, alpha, beta, batch, flags: _addmm_batch(c, a, b, alpha, beta, batch, flags), complex=True,
)  # fmt: skip
def add_product(backend, out, c, a, b, *, alpha, beta):
    """Return beta * c + alpha * a @ b, computed in one kernel; addmm, baddbmm and addmv call this op.

    If beta is 0, c is not read.
    Gradient: beta * g for c, alpha * g @ b.T for a, and alpha * a.T @ g for b.
    """
    return _added(backend, out, c, a, b, alpha, beta)


def _addmm_batch(c: Tensor, a: Tensor, b: Tensor, alpha: float, beta: float, size: int, flags: Flags) -> Tensor:
    """Compute addmm for each sample of a batch."""
    product = batched_product(matmul, a, b, flags[1:], size) if flags[1] or flags[2] else matmul(a, b)
    y = product if alpha == 1 else product * alpha
    rank = product.ndim - (flags[1] or flags[2])
    y = y + ranked(c, flags[0], rank, size) * beta if beta else y
    return stretched(y, y.ndim > rank, size)


def with_factors(c: Tensor, a: Tensor, b: Tensor, alpha: Any, beta: Any) -> Tensor:
    """Return beta * c + alpha * a @ b; the kernel has real factors, so complex factors are multiplied before."""
    if isinstance(beta, complex):
        c, beta = mul(c, beta), 1
    if isinstance(alpha, complex):
        a, alpha = mul(a, alpha), 1
    return add_product(c, a, b, alpha=as_whole(alpha, a), beta=as_whole(beta, c))


@composed(of=add_product, in_place=True, older=("beta", "alpha"))
def addmm(input: Tensor, mat1: Matrix, mat2: Matrix, *, beta: Factor = 1, alpha: Factor = 1) -> Tensor:
    """Return beta * input + alpha * mat1 @ mat2, computed in one kernel.

    The input broadcasts to the product; if beta is 0, it is not read.
    Gradient: beta * g for input, alpha * g @ mat2.T for mat1, and alpha * mat1.T @ g for mat2.
    Raises ShapeError for factors that are not matrices or have different inner sizes, DTypeError for bool.
    """
    return with_factors(input, mat1, mat2, alpha, beta)


@composed(in_place=True, older=("beta", "alpha"))
def baddbmm(input: Tensor, batch1: Batch, batch2: Batch, *, beta: Factor = 1, alpha: Factor = 1) -> Tensor:
    """Return beta * input + alpha * batch1 @ batch2 for batches of matrices; see `addmm` and `bmm`."""
    return with_factors(input, batch1, batch2, alpha, beta)


@composed(in_place=True, older=("beta", "alpha"))
def addmv(input: Tensor, mat: Matrix, vec: Vector, *, beta: Factor = 1, alpha: Factor = 1) -> Tensor:
    """Return beta * input + alpha * mat @ vec; see `addmm`."""
    return with_factors(input, mat, vec, alpha, beta)


def _linear_shape(op: Op, input: Spec, weight: Spec, bias: Spec | None) -> Shape:
    Ndim(2, layout="(out, in)", advice="pass one row per output feature").expect("linear", weight=weight)
    if not input.shape or input.shape[-1] != weight.shape[1]:
        raise ShapeError(
            f"linear: the last dim of the input {input!r} must equal the second dim of the weight {weight!r}, "
            f"{weight.shape[1]}; transpose the weight with .T if its shape is (in, out)",
            lhs=input.shape, rhs=weight.shape,
        )  # fmt: skip
    if bias is not None and bias.shape:
        expect_shape("linear", weight.shape[:1], "one element per row of the weight", weight, bias=bias)
    return (*input.shape[:-1], weight.shape[0])


def weight_gradient(g: Tensor, x: Tensor) -> Tensor:
    """Return g.T @ x over all rows: the sum of the outer products of the rows of g and x, as one matrix product."""
    if len(g.layout.shape) != 2 or len(x.layout.shape) != 2:
        g, x = as_rows(g), as_rows(x)
    return g.mT @ x


@kernel(
    dtype=lambda op, specs: common(specs) if len(specs) == 2 else _addmm_dtype(op, specs, alpha=1, beta=1),
    shape=_linear_shape,
    vjp=(lambda g, weight: g @ weight, lambda g, input: weight_gradient(g, input), lambda g: g),
    linear=each(("input", "bias"), ("weight", "bias")),
    batch=lambda input, weight, bias, *, batch, flags: _linear_batch(input, weight, bias, batch, flags),
    namespace=FUNCTIONAL,
    complex=True,
)
def linear(backend, out, input: Tensor, weight: Tensor, bias: Tensor | None = None):
    """Return input @ weight.T + bias, computed in one kernel.

    Shapes: the input is (..., in), the weight is (out, in), the bias is (out,), and the result is (..., out).
    Gradient: g @ weight for input, g.T @ input over all rows for weight, and g summed over all rows for bias.
    Raises ShapeError unless the last dim of the input equals the second dim of the weight, and the bias has no dims or
    one element per row of the weight.
    """
    matrix = Spec(weight.layout.transpose(0, 1), weight.dtype)
    if bias is None:
        result, left, right = as_matrices(out, input, matrix)
        return backend.prepare(Product(), result, left, right)
    launch = _added(backend, out, bias, input, matrix, 1, 1)
    return remapped(launch, (2, 0, 1, 3), 4)


def _linear_batch(x: Tensor, weight: Tensor, bias: Tensor | None, size: int, flags: Flags) -> Tensor:
    """Apply `linear` to a batch.

    A batch of inputs becomes additional rows.  A batch of weights or biases is computed as a product and a sum.
    """
    if not flags[1] and not flags[2]:
        return linear(x, weight, bias)
    rank = x.ndim - flags[0]
    lead = x.shape[flags[0] : -1]
    if flags[1]:
        rows = reshape(x, (*x.shape[: flags[0]], -1 if x.numel() else 0, x.shape[-1])) if rank != 2 else x
        product = batched_product(matmul, rows, weight.mT, flags[:2], size)
        product = reshape(product, (size, *lead, weight.shape[1]))
    else:
        product = matmul(x, weight.mT)
    y = product if bias is None else product + ranked(bias, flags[2], rank, size)
    return stretched(y, True, size)
