"""Requests of an op to a device: one small record per kind, without the loops that implement it.

The body of a declaration makes a request with one of these records, `backend.prepare(Gather(dim), out, x, index)`.  A
backend implements the request with loops of its own, or `backends/lowering/` composes it from simpler requests.
Operands and results are Specs; the fields contain all other data.  Two equal requests on equal Specs are the same
launch, so records are frozen and hashable.
"""

from __future__ import annotations

import inspect
from typing import Any, ClassVar, dataclass_transform

import numpy as np

from minigrad.core.dtype import DType
from minigrad.core.layout import Layout
from minigrad.core.op import ScalarFn
from minigrad.core.reducer import Reducer
from minigrad.core.rows import RowFn
from minigrad.core.strides import Ints


@dataclass_transform(frozen_default=True, eq_default=False)
class Request:
    """Base class of the records: their fields are their annotations, as in a frozen dataclass.

    Their methods are defined here once, because a dataclass compiles some of them per record, at every import.

    checks: whether a launch reports an index that is out of range.
    """

    checks: ClassVar[bool] = False
    names: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        own = [name for name, kind in inspect.get_annotations(cls).items() if not str(kind).startswith("ClassVar")]
        cls.names = (*cls.names, *own)

    def __init__(self, *values: Any, **named: Any) -> None:
        fields = dict(zip(self.names, values, strict=False)) | named
        missing = [name for name in self.names if name not in fields and not hasattr(self, name)]
        if missing or len(values) + len(named) > len(fields) or not fields.keys() <= {*self.names}:
            raise TypeError(f"{type(self).__name__} has the fields {', '.join(self.names)}, got {values} and {named}")
        vars(self).update(fields)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: {name} cannot be set")

    def fields(self) -> dict[str, Any]:
        """Return the fields by name."""
        return {name: getattr(self, name) for name in self.names}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Request) and type(self) is type(other) and self.fields() == other.fields()

    def __hash__(self) -> int:
        return hash((type(self), *self.fields().values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.fields().items())})"


# ---- element by element ---------------------------------------------------------------------------------------------


class Elementwise(Request):
    """Compute out[i] = scalar(operands[i]...) in `compute`, for any number of operands, expanded to the shape of out.

    A scalar function with several results has as many outs, of one shape: outs[k][i] = scalar(operands[i]...)[k].
    If the Spec of an operand is the same object as that of a result, the operand is the memory of this result: all
    operands of an element are read before one of its results is written.
    """

    scalar: ScalarFn
    compute: np.dtype[Any]


class Chained(Request):
    """Run `request`, some of whose operands are computed first, if possible in the same kernel.

    Operand k of `request` is computed element by element by the function scalars[k] from the operands reads[k] of this
    request, in `dtype`.  If scalars[k] is None, operand k is the only operand in reads[k].  `dtype` is both a storage
    dtype and a compute dtype, so storing an operand would not round it.  The operands of a function are expanded to one
    shape, and no result shares memory with an operand of a function.
    """

    request: Request
    scalars: tuple[ScalarFn | None, ...]
    reads: tuple[Ints, ...]
    dtype: DType


class Followed(Request):
    """Compute out = scalar(...) element by element, where argument `position` is the result of `request`.

    The result of `request` is not stored.  The operands are the operands of `request`, followed by the other arguments
    of `scalar`, which are expanded to the shape of out.  No operand shares memory with out.  The storage dtype and the
    compute dtype of out are both the dtype of the result of `request`.
    """

    request: Request
    scalar: ScalarFn
    position: int


class Many(Request):
    """Apply a scalar function to each row of a table of tensors, in place.

    With `r` results and `k` tensor arguments, a row has `k` tensors of one shape; the function reads all of them and
    overwrites the first `r`.  Rows may have different shapes.  The outs of the request are the first `r` columns of the
    table, and its operands are the other columns, one column after another, and then a float64 vector.  This vector has
    the other arguments of the function, with the same values for every element.  No two tensors of the table may share
    memory that is written.
    """

    scalar: ScalarFn
    compute: np.dtype[Any]
    rows: int


class Copy(Request):
    """out = a, cast: float to int saturates and maps nan to 0, int to int wraps, anything to bool is `!= 0`."""


class Join(Request):
    """out = the operands in sequence along `dim`, cast to the dtype of out."""

    dim: int


# ---- along dims -----------------------------------------------------------------------------------------------------


class Reduce(Request):
    """Reduce operands of one shape over `dims` in `compute`; each result has this shape with length 1 in the dims."""

    reducer: Reducer
    compute: np.dtype[Any]
    dims: Ints


class LogSum(Request):
    """out = log(sum(exp(a))) over dims, without overflow; `out` has length 1 in each of these dims."""

    dims: Ints


class Scan(Request):
    """Compute the running reduction along `dim`: out[i] reduces out[i - 1] and operands[i], starting from the identity.

    The computation is in `compute`.  With one operand and a reducer that can combine partial results, long rows may be
    divided into blocks that are reduced first.
    """

    reducer: Reducer
    compute: np.dtype[Any]
    dim: int


class Sort(Request):
    """Compute the positions (int64) along `dim` that sort the elements, or the sorted elements and their positions.

    The sort is stable, nan is greater than every number, and -0.0 equals 0.0.  If the results are shorter than the
    operand along `dim`, they receive the first ones.
    """

    dim: int
    descending: bool


class Extreme(Request):
    """Find the best element along `dim`: its index (int64), or the element and its index; both have length 1 in `dim`.

    The best element is the one for which better(best, x) is false for every later element x.
    """

    better: ScalarFn
    dim: int


class RunningExtreme(Request):
    """Find the best element so far along `dim`: its index (int64), or the element and its index.

    Element x replaces it if better(best, x).
    """

    better: ScalarFn
    dim: int


class Nth(Request):
    """Select one element of each row along `dim`: the results are these elements and their positions (int64).

    Both results have length 1 along `dim`.  The row is ordered as by `Sort`, and `rank` counts from 0.
    missing: the effect of nan. "last": nan has its rank in the order. "first": if a row has a nan, its first nan is
    selected. "skip": the element in the lower middle of the elements that are not nan is selected, and `rank` has no
    effect; without such elements, the first nan is selected.
    """

    dim: int
    rank: int
    missing: str


class Insert(Request):
    """Find the places (int64) at which the elements of x would be inserted into sorted lines, along the last dim.

    The operands are lines (..., n) and x (..., m), which have one dtype and the same leading dims; out has the shape of
    x.  A place is the number of elements of the line that come before the element in the order of `Sort`; with `after`,
    also of those that are equal to it.
    """

    after: bool


# ---- products -------------------------------------------------------------------------------------------------------


class Product(Request):
    """Compute out[..., m, n] = alpha * a[..., m, k] @ b[..., k, n] + beta * c.

    The batch dims of a and b are already expanded to those of out, and c is expanded to the shape of out.
    The operands are a, b, and c unless beta is 0. out and c may share one buffer with the same layout; then the product
    is added to c in place.
    """

    alpha: float = 1
    beta: float = 0


class Convolve(Request):
    """Compute a convolution of an image x with a weight w, or one of its gradients.

    y is the output.  A result is a sum of products of two of x, y and w, in which position of x = position of y *
    stride - padding + tap * dilation.  Outside the image, x is 0. Dims are (N, channels, 1 to 3 spatial dims); those of
    the weight are (output channels, image channels / groups, taps).

    part "output": the operands are x, w and a bias with one element per channel.  The result is the bias + the sum of x
        * w over the taps and the channels of the group.
    part "input": the operands are y and w. The result is the sum over output channels and taps.
    part "weight": the operands are y and x. The result is the sum over the batch and all positions.
    """

    part: str
    stride: Ints
    padding: Ints
    dilation: Ints
    groups: int


class Cholesky(Request):
    """Factorize batches of square matrices a: the results are triangles u with u.H @ u = a, and the state of each row.

    Both results are dense, and u is upper triangular.  Only the upper triangle of a is read.  The second result (int64)
    has one value per row: 0 if its pivot is positive, otherwise 1.
    """


class LU(Request):
    """Factorize batches of matrices a (m, n) by LU with row exchanges; there are three dense results.

    The first result contains L below the diagonal, without its diagonal of ones, and U on and above the diagonal.  The
    second (int64) has, for each of the min(m, n) steps k, the row that was exchanged with row k. The third (int64) has,
    for each row of L @ U, the index of the equal row of a. A pivot is the first of the largest absolute values of its
    column; for complex numbers, of the sums of the magnitudes of both parts, as in LAPACK.  A column whose pivot is 0
    is left unchanged, so U has a 0 on its diagonal, and the other results are not affected.
    """


class QR(Request):
    """Factorize batches of matrices a (m, n): q (m, p) with orthonormal columns, and r (p, n), with q @ r = a.

    Both results are dense.  r is upper triangular; p is m or min(m, n).  The factors are products of Householder
    reflections, so the diagonal of r may be negative; it is real.
    """


class Eigh(Request):
    """Compute the eigenvalues (n) and eigenvectors (n, n) of batches of symmetric or Hermitian matrices.

    Both results are dense.  The eigenvalues are real and ascending, and the eigenvectors are orthonormal columns.  Only
    the upper triangle of a matrix is read.  Eigenvalues that do not converge are nan.

    general: whether the matrices are not Hermitian.  Both results are then complex, also for real matrices; the
    eigenvalues are not sorted, and the largest element of an eigenvector of length 1 is real and positive.
    vectors: whether the eigenvectors are wanted; otherwise the second result may remain uninitialised.
    """

    general: bool = False
    vectors: bool = True


class SVD(Request):
    """Compute the singular value decompositions of matrices a (m, n): u (m, p), s (k) and vh (q, n), all dense.

    Here u[:, :k] * s @ vh[:k] = a and k = min(m, n); p is m or k, and q is n or k. The columns of u and the rows of vh
    are orthonormal, and s is descending.  Singular values that do not converge are nan.
    vectors: whether u and vh are results; otherwise s is the only one.
    """

    vectors: bool = True


class TurnRows(Request):
    """Make the rows of matrices a (k, n) orthogonal, with k <= n: the results are j, y = j @ a, and lengths.

    All results are dense.  j (k, k) is orthogonal or unitary, and the rows of y (k, n) are orthogonal to each other.
    The third result contains the lengths of the rows of y (k), in descending order.  Lengths that do not converge are
    nan.
    """


class SolveTriangular(Request):
    """Solve a @ out = b for triangular matrices a.

    The operands are a and b, with the batch dims of out, which is dense.  The other triangle of a is not read.  unit:
    whether the diagonal of a counts as 1 and is not read.
    """

    upper: bool
    unit: bool


# ---- Fourier transforms ---------------------------------------------------------------------------------------------


class Fourier(Request):
    """Compute out[k] = scale * (the sum over j of a[j] * e**(-2*pi*i*j*k/n)) along a dim of length n; out is dense.

    If the operand is real, out contains the terms 0 to n//2.  If out is real, the operand contains the terms 0 to n//2;
    every other term a[n - k] is the conjugate of a[k], and out contains the real parts.  In these two cases, `dim` is
    the last one.  inverse: whether the exponent has the other sign.
    """

    dim: int
    inverse: bool
    scale: float


# ---- by index -------------------------------------------------------------------------------------------------------


class Gather(Request):
    """Compute out[i, j, k] = a[i, index[i, j, k], k] for dim 1, from the operands a and index.

    Negative indices count from the end.
    A launch of `Gather`, `Scatter` or `SelectPut` returns True if an index was out of range.  Then the result is
    undefined, but no memory outside the operands was read or written, even if another thread writes to the index at the
    same time.
    """

    checks = True
    dim: int


class Scatter(Request):
    """out = a, then out[i, index[i, j, k], k] += src[i, j, k] for dim 1, in index order; operands: a, index, src.

    join: a function instead of the sum, out[i, index[i, j, k], k] = join(this element, src[i, j, k]), or None.  Then a,
    src and out have one dtype, and the function is called in index order if the order matters.
    """

    checks = True
    dim: int
    join: ScalarFn | None = None


class SelectPut(Request):
    """Write out[i, index[j], k] = src[i, j, k] for dim 1; if an index repeats, its last slice remains.

    The operands are index and src, which has the dtype of out.  All other elements of out do not change.
    """

    checks = True
    dim: int


class PutBack(Request):
    """out (contiguous) = 0, then the operand is added into it through the layout `view`; overlaps are summed.

    The offset of `view` counts from the beginning of out's buffer.
    """

    view: Layout


# ---- rows -----------------------------------------------------------------------------------------------------------


class MapRows(Request):
    """Compute each element of out from the elements of its row along `dim`, in the compute dtype of out.

    The operands have the shape of out, with stride 0 in dims along which they are expanded.  `value` is the parameter
    of the `finish` functions of the totals.

    If `fn` has terms, the sum of each term over all rows is a separate result, a vector with one element per column,
    and `fn` may have no result of its own.  Then dim is the last one, all results are dense, and the sum of no rows is
    0.
    """

    fn: RowFn
    dim: int
    value: float = 0.0


class Pick(Request):
    """Compute, for each row along the last dim, minus the result of `fn` at the element with the index `target`.

    The operands are x, target, and optionally weight, a vector with one element per position of a row, by which each
    value is multiplied.  The value is 0 if the target is `ignore`.  reduction: "none" for one value per row, "sum" for
    the sum over all rows, or "mean" for the sum divided by the sum of the weights, or the number, of the rows that are
    not ignored.  The launch fails if a target is neither `ignore` nor a position in its row.
    """

    checks = True
    fn: RowFn
    ignore: int
    reduction: str


class PickBack(Request):
    """Compute the gradient of `Pick` with respect to x: dy * (result of `fn`, minus 1 at the index `target`).

    `fn` belongs to this request: for cross entropy, `Pick` has log_softmax and `PickBack` has softmax.  For a mean, the
    gradient is divided by the number of rows that are not ignored.  The operands are dy, x and target.  The operand dy
    is the gradient of the result of `Pick`: one value per row, or one value for all rows.  Rows whose target is
    `ignore` receive 0.
    """

    checks = True
    fn: RowFn
    ignore: int
    reduction: str


class Unpick(Request):
    """Compute the adjoint of a `Pick` whose result is the element: out is -dy at the index `target`, 0 elsewhere.

    For a mean, dy is divided by the sum of the weights, or the number, of the rows that are not ignored.  The operands
    are dy, target, and optionally weight; dy has one value per row, or one value for all rows.  Rows whose target is
    `ignore` receive 0.
    """

    checks = True
    ignore: int
    reduction: str


class NormalizeGroups(Request):
    """Normalize each group of channels: out = (x - mean) / sqrt(variance + eps) * weight + bias.

    The mean and the variance are computed over a group, and weight and bias have one element per channel.
    The operands are x (images, channels, ...), weight and bias (channels,).  The channels of an image form `groups`
    groups of equal size. out is dense.
    """

    groups: int
    eps: float


class GroupGradients(Request):
    """Three dense results: the gradients of the operands of `NormalizeGroups`.  Operands: x, the incoming g, weight."""

    groups: int
    eps: float


class PairDistances(Request):
    """Reduce x[i] - x[j] with `reducer` for each pair of rows i < j of a matrix x (n, m); the result is dense.

    The order of the pairs is (0, 1), (0, 2), ..., (n - 2, n - 1).  Terms are computed in `compute`, sums in float64.
    """

    reducer: Reducer
    compute: np.dtype[Any]


class RowDistances(Request):
    """out[..., i, j] (dense) = `reducer`'s reduction of a[..., i, :] - b[..., j, :].

    The operands are matrices or batches of them, a (..., n, k) and b (..., m, k); out is (..., n, m).  Terms are
    computed in `compute`, sums in float64.
    """

    reducer: Reducer
    compute: np.dtype[Any]


class PairGradients(Request):
    """Compute out[i, k] (dense), the sum over all rows j of factor(g, y) * direction(x[i, k] - x[j, k]).

    Here g and y are the values of the pair of rows i and j. The operands are g and y, one value per pair, and x (n,
    m).  Terms are computed in `compute`, sums in float64. direction is an odd function.
    """

    factor: ScalarFn
    direction: ScalarFn
    compute: np.dtype[Any]


class RowGradients(Request):
    """out[..., i, k] (dense) = the sum over all j of factor(g, y)[..., i, j] * direction(a[..., i, k] - b[..., j, k]).

    The operands are g and y (..., n, m), a (..., n, k) and b (..., m, k).  Terms are computed in `compute`, sums in
    float64.
    """

    factor: ScalarFn
    direction: ScalarFn
    compute: np.dtype[Any]


# ---- pooling --------------------------------------------------------------------------------------------------------


class MaxPool(Request):
    """Compute the largest element of each window, or read or add elements at the positions of these elements.

    The window of an output begins at its position * stride - padding.  Elements outside the image do not count.

    part "values": the operand is x.  The result is the largest element of each window: nan if the window has a nan, and
        the dtype's lowest value if the window has no element in the image.
    part "positions": the operand is x.  The first result is that of "values", and the second (int64) is the row-major
        position in the plane of the first largest element.
    part "pick": the operands are h and x.  The result is the element of h at the first largest element of x.
    part "back": the operands are g and x.  The result is 0, to which each element of g is added at the position of the
        first largest element of x in its window.
    """

    part: str
    window: Ints
    stride: Ints
    padding: Ints
    dilation: Ints


class AvgPool(Request):
    """Compute the mean of each window, or add gradients to the elements of the windows; windows are as in `MaxPool`.

    part "values": the operand is x.  The result is the sum of each window divided by `divisor`.  If `divisor` is None,
        it is the number of elements of the window, and elements of the padding count if `pad_counts`.
    part "back": the operand is g.  The result is 0, to which each element of g, divided by the divisor of its window,
        is added at all elements of the window.
    """

    part: str
    window: Ints
    stride: Ints
    padding: Ints
    pad_counts: bool
    divisor: int | None


class Resample(Request):
    """Compute out[i, o, j], the sum over k of weight[k, o] * a[i, index[k, o], j] for dim 1.

    An index of -1 marks an unused term.
    The operands are a and two tables of (terms, outputs): index (int64) and weight, which has the dtype of a and out,
    float32 or float64.
    back: whether to compute the adjoint: out begins with 0, and then out[i, index[k, o], j] += weight[k, o] * a[i, o,
    j].
    """

    dim: int
    back: bool


class SampleGrid(Request):
    """Sample images a (N, C, H, W): out[n, c, h, w] (dense) is image a[n, c] at the position grid[n, h, w] = (x, y).

    The sample is the sum of the four pixels around (column, row) = (locate(x, W, corners, beyond), locate(y, H,
    corners, beyond)).  Each pixel is multiplied by its weight, the product of 1 - its distance along each dim.  Pixels
    outside the image are 0; a weight of nan makes the result nan.  All tensors have the dtype of out, float32 or
    float64.
    near: whether to return the nearest pixel instead; halfway cases are rounded to even.
    back: whether to compute the adjoint: with g (N, C, h, w) instead of a, each element of g times its weights is added
    to the pixels of out (N, C, H, W), which begins with 0.
    """

    locate: ScalarFn
    near: bool
    beyond: int
    corners: bool
    back: bool


class GridGradients(Request):
    """out (dense) = the gradient of the grid of a `SampleGrid` without near, for the incoming g. Operands: g, a, grid.

    derivative(g, position, size, corners, beyond): g times the derivative of locate.
    """

    locate: ScalarFn
    derivative: ScalarFn
    beyond: int
    corners: bool


# ---- creation, and values of masks and indices ----------------------------------------------------------------------


class Arange(Request):
    """out[i] = start + i * step, 1-d; operands: start and step, float64 for floats, otherwise int64."""


class Random(Request):
    """Generate Philox4x32-10 random numbers from a key, a counter and three limits.

    The key and the counter are int64, with the bits of uint64 values.
    kind: "uniform" in [low, high), "normal" with a mean and a standard deviation, or "integer" in [low, high).  The
        limits are those of `kernels.philox.limits`, in the dtype of `kernels.philox.limit_dtype`.  On every device,
        element i (row-major) uses block counter + i // 4 (i // 2 for 64-bit values).
    """

    kind: str


class Permutation(Request):
    """out (int64, 1-d) = the positions that sort as many uniform float64 numbers in [0, 1), in a stable sort.

    The operand is a key and a counter, as for `Random`, which defines the numbers.
    """


class Tally(Request):
    """Count the true elements of a mask in `parts` equal, row-major parts.

    out (int64, `1 + parts` elements) = the count of true elements before each part, and finally the count of all.
    """

    parts: int


class Locate(Request):
    """The row-major positions (int64) of the true elements of a mask.

    Operands: the mask, and the result of `Tally`.
    """


class Bounds(Request):
    """out (int64, 2 elements) = the lowest and the highest element of an index tensor; 0 and -1 if it is empty."""
