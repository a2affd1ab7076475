"""The names of minigrad.  Written by `python -m minigrad.cli.stubs`."""

import builtins
from collections.abc import Iterator, Sequence
from typing import Any

from minigrad.autodiff.grads import GradStore as GradStore
from minigrad.core.dtype import DType as DType
from minigrad.runtime.tensor import Tensor as Tensor
from minigrad.core.allocator import Allocator as Allocator
from minigrad.errors import ArgumentError as ArgumentError
from minigrad.api.legacy import BFloat16Tensor as BFloat16Tensor
from minigrad.backends.base import Backend as Backend
from minigrad.runtime.graph import BackpropOp as BackpropOp
from minigrad.api.legacy import BoolTensor as BoolTensor
from minigrad.api.legacy import ByteTensor as ByteTensor
from minigrad.api.legacy import CharTensor as CharTensor
from minigrad.api.checkpoints import Checkpoint as Checkpoint
from minigrad.errors import DTypeError as DTypeError
from minigrad.errors import DeclarationError as DeclarationError
from minigrad.core.device import Device as Device
from minigrad.errors import DeviceError as DeviceError
from minigrad.api.legacy import DoubleTensor as DoubleTensor
from minigrad.errors import FileError as FileError
from minigrad.api.legacy import FloatTensor as FloatTensor
from minigrad.autodiff.function import Function as Function
from minigrad.ops.random import Generator as Generator
from minigrad.amp.grad_scaler import GradScaler as GradScaler
from minigrad.errors import GradientError as GradientError
from minigrad.errors import GroupError as GroupError
from minigrad.api.legacy import HalfTensor as HalfTensor
from minigrad.errors import IndexOutOfRange as IndexOutOfRange
from minigrad.api.legacy import IntTensor as IntTensor
from minigrad.errors import KernelError as KernelError
from minigrad.core.layout import Layout as Layout
from minigrad.api.legacy import LongTensor as LongTensor
from minigrad.core.allocator import MemoryStats as MemoryStats
from minigrad.errors import MinigradError as MinigradError
from minigrad.errors import RecordingError as RecordingError
from minigrad.errors import ShapeError as ShapeError
from minigrad.api.legacy import ShortTensor as ShortTensor
from minigrad.core.shape import Size as Size
from minigrad.errors import StateError as StateError
from minigrad.core.storage import Storage as Storage
from minigrad.errors import StorageError as StorageError
from minigrad.runtime.var import Var as Var
from minigrad.errors import WorkerError as WorkerError
from minigrad import amp as amp
from minigrad.api import array_api as array_api
from minigrad.amp.autocast import autocast as autocast
from minigrad import autograd as autograd
from minigrad import backends as backends
from minigrad import cuda as cuda
from minigrad.autodiff.custom import custom_vjp as custom_vjp
from minigrad import data as data
from minigrad.autodiff.anomaly import detect_anomaly as detect_anomaly
from minigrad import dist as dist
from minigrad import distributed as distributed
from minigrad import distributions as distributions
from minigrad import func as func
from minigrad.runtime.inference import inference_mode as inference_mode
from minigrad import linalg as linalg
from minigrad import nn as nn
from minigrad import optim as optim
from minigrad import random as random
from minigrad.core import requests as requests
from minigrad.declare import rules as rules
from minigrad import special as special
from minigrad import testing as testing
from minigrad import utils as utils
from minigrad import viz as viz
__version__: str


def abs(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return |x|.  Gradient: g*sign(x), 0 at 0."""

def absolute(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return |x|.  Gradient: g*sign(x), 0 at 0."""

def acos(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the arc cosine, nan outside [-1, 1].  Gradient: -g/sqrt(1 - x**2)."""

def acosh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the inverse hyperbolic cosine, nan below 1.  Gradient: g/sqrt(x**2 - 1)."""

def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Return means of `output_size` windows along the last dim, as even as can be: see `adaptive_avg_pool2d`."""

def add(input: Tensor | builtins.float, other: Tensor | builtins.float, *, alpha: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
    """Return the sum of input and alpha * other, element by element; shapes broadcast.  For bool it is `or`."""

def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: builtins.float = ..., alpha: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
    """Return beta * input + alpha * the sum of the products of two batches of matrices: see `addmm`."""

def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
    """Return input + value * tensor1 / tensor2 per element; shapes broadcast.  Integers become the default float."""

def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
    """Return input + value * tensor1 * tensor2, element by element; shapes broadcast."""

def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: builtins.float = ..., alpha: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
    """Return beta * input + alpha * mat1 @ mat2 in one kernel; input broadcasts. beta 0: input is not read."""

def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: builtins.float = ..., alpha: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
    """Return beta * input + alpha * mat @ vec: see `addmm`."""

def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: builtins.float = ..., alpha: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
    """Return beta * input + alpha * the outer product of two vectors: see `addmm`."""

def adjoint(input: Tensor) -> Tensor:
    """Return a view with the last two dims swapped; the same as `mT`, as no dtype is complex."""

def affine(input: Tensor, mul: builtins.float, add: builtins.float) -> Tensor:
    """Return input * mul + add."""

def alias_copy(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return a copy, as `clone`."""

def all(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return whether every element over `dim` is not zero; True without elements."""

def allclose(input: Tensor, other: Tensor, rtol: builtins.float = ..., atol: builtins.float = ..., equal_nan: builtins.bool = ...) -> builtins.bool:
    """Return whether `isclose` holds for all elements."""

def amax(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the largest element over `dim`; nan wins.  Gradient: shared evenly by ties."""

def amin(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the smallest element over `dim`; nan wins.  Gradient: shared evenly by ties."""

def aminmax(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
    """Return the smallest and the largest element over `dim`, in one pass; nan wins."""

def any(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return whether an element over `dim` is not zero; False without elements."""

def arange(start: builtins.float, end: builtins.float | None = ..., step: builtins.float = ..., *, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return start, start+step, ... below end (above it for a negative step); arange(n) starts at 0."""

def arange_step(start: builtins.float, end: builtins.float, step: builtins.float, *, dtype: Any = ..., device: Any = ...) -> Tensor:
    """Return candle's `arange` with a step."""

def arccos(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the arc cosine, nan outside [-1, 1].  Gradient: -g/sqrt(1 - x**2)."""

def arccosh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the inverse hyperbolic cosine, nan below 1.  Gradient: g/sqrt(x**2 - 1)."""

def arcsin(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the arc sine, nan outside [-1, 1].  Gradient: g/sqrt(1 - x**2), inf at the ends."""

def arcsinh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the inverse hyperbolic sine.  Gradient: g/sqrt(x**2 + 1), where the square may overflow."""

def arctan(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the arc tangent.  Gradient: g/(1 + x**2)."""

def arctan2(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return the angle of the point (other, input), in (-pi, pi]."""

def arctanh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the inverse hyperbolic tangent, nan outside [-1, 1].  Gradient: g/(1 - x**2)."""

def are_deterministic_algorithms_enabled() -> builtins.bool:
    """Return True: see `use_deterministic_algorithms`."""

def argmax(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the int64 position of the largest element, of all or along `dim`; the first of ties, and nan wins."""

def argmin(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the int64 position of the smallest element, of all or along `dim`; the first of ties, and nan wins."""

def argsort(input: Tensor, dim: builtins.int = ..., descending: builtins.bool = ..., stable: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the positions that sort the elements along `dim`; always stable, nan last."""

def argwhere(input: Tensor) -> Tensor:
    """Return the indices of all nonzero elements, one row for each: `nonzero`."""

def as_dtype(obj: builtins.object) -> DType:
    """Return the DType for `obj`: a DType, a name, a NumPy dtype or scalar type, or Python's bool, int, float."""

def as_strided_copy(input: Tensor, size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int], storage_offset: builtins.int | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of the view of the storage with any shape and strides; see `Tensor.as_strided`."""

def as_strided_scatter(input: Tensor, src: Tensor, size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int], storage_offset: builtins.int | None = ...) -> Tensor:
    """Return the tensor with src in the part that strides over its elements, row by row, see; both are differentiated."""

def as_tensor(data: Any, dtype: Any = ..., device: Any = ...) -> Tensor:
    """Return data as a tensor: a tensor itself, memory shared with an array if possible, otherwise a copy (`tensor`)."""

def asin(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the arc sine, nan outside [-1, 1].  Gradient: g/sqrt(1 - x**2), inf at the ends."""

def asinh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the inverse hyperbolic sine.  Gradient: g/sqrt(x**2 + 1), where the square may overflow."""

def atan(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the arc tangent.  Gradient: g/(1 + x**2)."""

def atan2(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return the angle of the point (other, input), in (-pi, pi]."""

def atanh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the inverse hyperbolic tangent, nan outside [-1, 1].  Gradient: g/(1 - x**2)."""

def atleast_1d(*tensors: Tensor) -> Tensor | builtins.tuple[Tensor, ...]:
    """Return views with one dim at least: a number becomes a row of one.  Of several tensors a tuple."""

def atleast_2d(*tensors: Tensor) -> Tensor | builtins.tuple[Tensor, ...]:
    """Return views with two dims at least: a row of n becomes (1, n).  Of several tensors a tuple."""

def atleast_3d(*tensors: Tensor) -> Tensor | builtins.tuple[Tensor, ...]:
    """Return views with three or more dims: a row of n becomes (1, n, 1), a matrix (n, m, 1); a tuple for several."""

def avg_pool1d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = ..., padding: builtins.int | Sequence[builtins.int] = ..., ceil_mode: builtins.bool = ..., count_include_pad: builtins.bool = ...) -> Tensor:
    """Return the mean of each window along the last dim: see `avg_pool2d`."""

def backward(y: Tensor, gradient: Tensor | None = ..., retain_graph: builtins.bool | None = ..., create_graph: builtins.bool = ..., inputs: Tensor | Sequence[Tensor] | None = ...) -> GradStore:
    """Compute the gradients of y with respect to every Var that it depends on, and add each to the Var's `.grad`."""

def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: builtins.float = ..., alpha: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
    """Return beta * input + alpha * batch1 @ batch2 for batches of matrices: see `addmm` and `bmm`."""

def bernoulli(input: Tensor, p: builtins.float | None = ..., *, generator: Any = ..., out: Tensor | None = ...) -> Tensor:
    """Return 1 with the probability in each element, otherwise 0, in input's dtype; p replaces all probabilities."""
bf16: DType
bfloat16: DType

def bincount(input: Tensor, weights: Tensor | None = ..., minlength: builtins.int = ...) -> Tensor:
    """Return how often each integer from 0 on is in a vector, or the sum of the weights of its occurrences."""

def bitwise_and(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return the bits in both; for bool `and`."""

def bitwise_left_shift(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input * 2**other, as bits; 0 where other is negative, or not below the number of bits."""

def bitwise_not(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return input with all bits flipped; for bool `not`.  Raises DTypeError for floats."""

def bitwise_or(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return the bits in either; for bool `or`."""

def bitwise_right_shift(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input / 2**other, rounded down; 0 or -1 where other is negative, or not below the number of bits."""

def bitwise_xor(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return the bits that are set in exactly one operand; for bool, `!=`."""

def block_diag(*tensors: Tensor) -> Tensor:
    """Return a matrix with matrices along its diagonal, and zeros; a row of n counts as (1, n)."""

def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the products of two batches of matrices, one by one; the batch is the first of three dims."""
bool: DType
bool_: DType

def broadcast_shapes(*shapes: builtins.int | Sequence[builtins.int]) -> builtins.tuple[builtins.int, ...]:
    """Return the shape to which all shapes broadcast.  Raises ShapeError where two sizes differ and neither is 1."""

def broadcast_tensors(*tensors: Tensor) -> builtins.tuple[Tensor, ...]:
    """Return views of all tensors in their broadcast shape.  Gradient: g summed over the expanded dims."""

def broadcast_to(input: Tensor, size: builtins.int | Sequence[builtins.int]) -> Tensor:
    """Return `expand` with the sizes as one argument."""

def bucketize(input: Tensor | builtins.float, boundaries: Tensor, *, out_int32: builtins.bool = ..., right: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return the interval between the boundaries, one sorted row, of each element: see `searchsorted`."""

def can_cast(from_: Any, to: Any) -> builtins.bool:
    """Return whether the kind of a dtype allows a cast to another: bool to integers to floats, and never back."""

def cartesian_prod(*tensors: Tensor) -> Tensor:
    """Return every choice of one element of each vector, as rows of a matrix; a single vector is unchanged."""

def cast(input: Tensor, dtype: Any, *, out: Tensor | None = ...) -> Tensor:
    """Return the values in another dtype, copied."""

def cat(tensors: Sequence[Tensor], dim: builtins.int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Join tensors along an existing dim; their dtypes promote.  Gradient: each tensor gets its part of g."""

def cdist(x1: Tensor, x2: Tensor, p: builtins.float = ..., compute_mode: Any = ...) -> Tensor:
    """Return the distance of order p of each row of x1 from each row of x2, (..., m, k) and (..., n, k) to (..., m, n)."""

def ceil(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the smallest integer not below x.  Gradient: 0."""

def celu(input: Tensor, alpha: Tensor | builtins.float = ..., inplace: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return input where it is positive, otherwise alpha * (exp(input/alpha) - 1). inplace: write into input."""

def channel_shuffle(input: Tensor, groups: builtins.int) -> Tensor:
    """Return images (N, C, ...) with permuted channels: the first of each group, the second, and so on."""
channels_last: Any
channels_last_3d: Any

def checkpoint(fn: Any, *args: Any, preserve_rng_state: builtins.bool = ..., use_reentrant: builtins.bool | None = ..., **kwargs: Any) -> Any:
    """Call `fn(*args, **kwargs)`, save only its arguments, and run it again in the backward pass."""

def cholesky(input: Tensor, upper: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
    """Return `mg.linalg.cholesky`: the triangle whose product with its transpose is a positive definite matrix."""

def cholesky_inverse(input: Tensor, upper: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the inverse of a matrix by its factor of `cholesky`."""

def cholesky_solve(input: Tensor, input2: Tensor, upper: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return X with A @ X = input by the factor of A that `cholesky` returned, input2; upper: by an upper one."""

def chunk(input: Tensor, chunks: builtins.int, dim: builtins.int = ...) -> builtins.tuple[Tensor, ...]:
    """Return at most `chunks` equal views along `dim`; the last may be smaller.  Of nothing, `chunks` empty views."""

def clamp(input: Tensor, min: Any = ..., max: Any = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return min(max(input, min), max); either bound may be None, a number or a tensor."""

def clamp_max(input: Tensor, max: Any, *, out: Tensor | None = ...) -> Tensor:
    """Return input, not above max.  Gradient: g there and at the bound, 0 above, where the bound gets it."""

def clamp_min(input: Tensor, min: Any, *, out: Tensor | None = ...) -> Tensor:
    """Return input, not below min.  Gradient: g there and at the bound, 0 below, where the bound gets it."""

def clip(input: Tensor, min: Any = ..., max: Any = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return min(max(input, min), max); either bound may be None, a number or a tensor."""

def clone(input: Tensor, *, memory_format: Any = ...) -> Tensor:
    """Return a row-major copy in a separate storage.  Gradient: g."""

def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """Join tensors along the second dim; a number or a vector counts as a column."""

def combinations(input: Tensor, r: builtins.int = ..., with_replacement: builtins.bool = ...) -> Tensor:
    """Return all choices of r elements of a row, in order, as rows of a matrix; with_replacement: also equal ones."""

def composed(*, namespace: Any = ..., method: builtins.bool = ..., in_place: builtins.bool = ..., out: builtins.bool = ..., floats: builtins.bool = ..., of: Any = ..., writes: builtins.tuple[builtins.str, ...] = ...) -> Any:
    """Declare an op that is made of others: the body is its definition, in tensor code."""

def concat(tensors: Sequence[Tensor], dim: builtins.int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Join tensors along an existing dim; their dtypes promote.  Gradient: each tensor gets its part of g."""

def concatenate(tensors: Sequence[Tensor], dim: builtins.int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Join tensors along an existing dim; their dtypes promote.  Gradient: each tensor gets its part of g."""

def constant_pad_nd(input: Tensor, pad: builtins.int | Sequence[builtins.int], value: builtins.float = ...) -> Tensor:
    """Return the tensor with pad[0] and pad[1] elements of one value before and after the last dim, and so on."""

def contiguous(input: Tensor, memory_format: Any = ...) -> Tensor:
    """Return the tensor itself if its elements are row-major without gaps, otherwise a row-major copy."""
contiguous_format: Any

def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: builtins.int | Sequence[builtins.int] = ..., padding: builtins.int | Sequence[builtins.int] | builtins.str = ..., dilation: builtins.int | Sequence[builtins.int] = ..., groups: builtins.int = ...) -> Tensor:
    """Return the convolution along one dim: as `conv2d`, with input (N, C, W) and weight (out, C / groups, kW)."""

def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: builtins.int | Sequence[builtins.int] = ..., padding: builtins.int | Sequence[builtins.int] | builtins.str = ..., dilation: builtins.int | Sequence[builtins.int] = ..., groups: builtins.int = ...) -> Tensor:
    """Return the convolution of images (N, C, H, W), or one (C, H, W), with a weight (out, C / groups, kH, kW)."""

def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: builtins.int | Sequence[builtins.int] = ..., padding: builtins.int | Sequence[builtins.int] | builtins.str = ..., dilation: builtins.int | Sequence[builtins.int] = ..., groups: builtins.int = ...) -> Tensor:
    """Convolve along three dims: as `conv2d`, with input (N, C, D, H, W) and weight (out, C / groups, kD, kH, kW)."""

def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: builtins.int | Sequence[builtins.int] = ..., padding: builtins.int | Sequence[builtins.int] = ..., output_padding: builtins.int | Sequence[builtins.int] = ..., groups: builtins.int = ..., dilation: builtins.int | Sequence[builtins.int] = ...) -> Tensor:
    """Return the transposed convolution along one dim: see `conv_transpose2d`."""

def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: builtins.int | Sequence[builtins.int] = ..., padding: builtins.int | Sequence[builtins.int] = ..., output_padding: builtins.int | Sequence[builtins.int] = ..., groups: builtins.int = ..., dilation: builtins.int | Sequence[builtins.int] = ...) -> Tensor:
    """Return the gradient of `conv2d` with respect to its input, as an op: weight (C, out / groups, kH, kW)."""

def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: builtins.int | Sequence[builtins.int] = ..., padding: builtins.int | Sequence[builtins.int] = ..., output_padding: builtins.int | Sequence[builtins.int] = ..., groups: builtins.int = ..., dilation: builtins.int | Sequence[builtins.int] = ...) -> Tensor:
    """Return the transposed convolution along three dims: see `conv_transpose2d`."""

def copysign(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return |input| with the sign of other, which -0.0 and nan have too."""

def corrcoef(input: Tensor) -> Tensor:
    """Return the correlations of the rows of input: `cov` over the deviations of both, not outside of -1 to 1."""

def cos(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the cosine.  Gradient: -g*sin(x)."""

def cosh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the hyperbolic cosine.  Gradient: g*sinh(x)."""

def cosine_similarity(x1: Tensor, x2: Tensor, dim: builtins.int = ..., eps: builtins.float = ...) -> Tensor:
    """Return the cosine of the angle between vectors along `dim`; the tensors broadcast, lengths are at least eps."""

def count_nonzero(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ...) -> Tensor:
    """Return how many elements over `dim` are not zero, in int64; nan is not zero."""

def cov(input: Tensor, *, correction: builtins.int = ..., fweights: Tensor | None = ..., aweights: Tensor | None = ...) -> Tensor:
    """Return the covariances of the rows of input, whose columns are observations; of one row its variance."""

def cross(input: Tensor, other: Tensor, dim: builtins.int | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the cross products of vectors along `dim`, or the first dim of length 3 if None; both broadcast."""

def cummax(input: Tensor, dim: builtins.int, *, out: Tensor | None = ...) -> Any:
    """Return the largest of all elements up to each along `dim`, and its position: (values, indices)."""

def cummin(input: Tensor, dim: builtins.int, *, out: Tensor | None = ...) -> Any:
    """Return the smallest of all elements up to each along `dim`, and its position: (values, indices)."""

def cumprod(input: Tensor, dim: builtins.int, *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
    """Return products of all elements up to each along `dim`; dtypes as `cumsum`.  Gradient: exact with zeros too."""

def cumsum(input: Tensor, dim: builtins.int, *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
    """Return the sums of all elements up to each along `dim`."""

def cumulative_trapezoid(y: Tensor, x: Tensor | None = ..., *, dx: Any = ..., dim: builtins.int = ...) -> Tensor:
    """Return the integrals up to each value but the first: see `trapezoid`."""

def debug(enabled: builtins.bool = ...) -> Any:
    """Open a `with` block in which every recorded op stores the user's line, for errors and pictures."""

def default_device() -> Any:
    """Return the device of tensors that are created without a `device` argument."""

def default_float() -> DType:
    """Return the dtype of Python floats and of float tensors that are created without a dtype."""
default_generator: Any

def deg2rad(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Convert degrees to radians, x*pi/180.  Gradient: g*pi/180."""

def det(input: Tensor) -> Tensor:
    """Return `mg.linalg.det`: the determinants of square matrices."""

def device(device: Any) -> Any:
    """Return the device of that name: "cpu", "reference", "cuda" (which is "cuda:0"), "cuda:1", ..."""

def diag(input: Tensor, diagonal: builtins.int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return a vector as a diagonal of a matrix of zeros, or a copy of a diagonal of a matrix."""

def diag_embed(input: Tensor, offset: builtins.int = ..., dim1: builtins.int = ..., dim2: builtins.int = ...) -> Tensor:
    """Return matrices with the last dim as a diagonal, and zeros.  Gradient: the diagonal of g."""

def diagflat(input: Tensor, offset: builtins.int = ...) -> Tensor:
    """Return a matrix of zeros with all elements as a diagonal."""

def diagonal(input: Tensor, offset: builtins.int = ..., dim1: builtins.int = ..., dim2: builtins.int = ...) -> Tensor:
    """Return the diagonal of two dims as the last dim.  Gradient: g on the diagonal of zeros."""

def diagonal_copy(input: Tensor, offset: builtins.int = ..., dim1: builtins.int = ..., dim2: builtins.int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of the result of `diagonal`, in separate memory."""

def diagonal_scatter(input: Tensor, src: Tensor, offset: builtins.int = ..., dim1: builtins.int = ..., dim2: builtins.int = ...) -> Tensor:
    """Return the tensor with src instead of `diagonal(input, offset, dim1, dim2)`; both are differentiated."""

def diff(input: Tensor, n: builtins.int = ..., dim: builtins.int = ..., prepend: Tensor | None = ..., append: Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the n-th difference along `dim`: each element minus the one before it, n times."""

def digamma(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the derivative of lgamma: -inf at 0, inf at -0.0, nan at negative integers."""

def div(input: Tensor | builtins.float, other: Tensor | builtins.float, *, rounding_mode: Any = ..., out: Tensor | None = ...) -> Tensor:
    """Return input/other, rounded if rounding_mode is "floor" or "trunc"; integers become the default float."""

def divide(input: Tensor | builtins.float, other: Tensor | builtins.float, *, rounding_mode: Any = ..., out: Tensor | None = ...) -> Tensor:
    """Return input/other, rounded if rounding_mode is "floor" or "trunc"; integers become the default float."""

def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the inner product of two vectors of one length."""
double: DType

def dsplit(input: Tensor, sections: builtins.int | Sequence[builtins.int] | Tensor) -> builtins.tuple[Tensor, ...]:
    """Return views of parts of one size, or up to indices, along the third dim."""

def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """Join tensors along the third dim; a vector of n counts as (1, n, 1), a matrix as (n, m, 1)."""
dtype: Any
e: Any

def einsum(equation: builtins.str, *operands: Tensor) -> Tensor:
    """Return the sum of products that an equation states, such as "ij,jk->ik" (Einstein summation)."""

def elementwise(*, dtype: Any, vjp: Any = ..., linear: Any = ..., jvp: Any = ..., batch: Any = ..., outputs: builtins.tuple[builtins.str, ...] = ..., zeros: builtins.bool = ..., namespace: Any = ..., method: builtins.bool = ..., name: builtins.str = ..., front: builtins.str = ..., otherwise: Any = ..., sole: Any = ..., by_number: Any = ..., fuse: builtins.bool | None = ..., label: builtins.str = ...) -> Any:
    """Declare an elementwise op over any number of operands; the body is its scalar function."""

def elu(input: Tensor, alpha: Tensor | builtins.float = ..., inplace: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return input where it is positive, otherwise alpha * (exp(input) - 1). inplace: write into input and return it."""

def empty(*size: builtins.int | Sequence[builtins.int], dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., memory_format: Any = ..., out: Tensor | None = ...) -> Tensor:
    """Return uninitialised memory; read it only after writing it."""

def empty_cache(device: builtins.str = ...) -> None:
    """Return the device's cached blocks to the system; memory in use is not affected."""

def empty_like(input: Tensor, *, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., memory_format: Any = ...) -> Tensor:
    """Return `empty` with the shape, dtype and device of x."""

def enable_grad() -> Any:
    """Record ops again inside a `no_grad` block."""

def eq(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input == other."""

def equal(input: Tensor, other: Tensor) -> builtins.bool:
    """Return whether two tensors have the same shape and equal elements; nan is not equal to nan."""

def erf(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the error function.  Gradient: g*2/sqrt(pi)*exp(-x**2)."""

def erfc(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return 1 - erf(x) without cancellation for large x.  Gradient: -g*2/sqrt(pi)*exp(-x**2)."""

def erfinv(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the y with erf(y) = x: infinities at -1 and 1, nan beyond.  Gradient: g*sqrt(pi)/2*exp(y**2)."""

def exp(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return e**x.  exp(-inf) = 0, exp(inf) = inf.  Gradient: g*exp(x)."""

def exp2(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return 2**x.  Gradient: g*2**x*ln(2)."""

def expand(input: Tensor, *shape: builtins.int | Sequence[builtins.int]) -> Tensor:
    """Return a view with dims of length 1 expanded and new first dims.  Gradient: g summed over the expanded dims."""

def expand_copy(input: Tensor, size: builtins.int | Sequence[builtins.int], *, implicit: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return a copy of the result of `expand`, in separate memory. implicit: has no effect."""

def explain(y: Tensor, limit: builtins.int = ...) -> None:
    """Print how y was computed: its memory, then each recorded op from the first to the last."""

def expm1(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return exp(x) - 1 without cancellation near 0.  Gradient: g*exp(x)."""

def eye(n: builtins.int, m: builtins.int | None = ..., *, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return ones on the diagonal of an n x m matrix (m = n when omitted)."""
f16: DType
f32: DType
f64: DType

def fill(input: Tensor, value: Tensor | builtins.float) -> Tensor:
    """Return a tensor of `value`, a number or a tensor of one, with the shape and dtype of input."""

def finfo(type: Any = ...) -> Any:
    """Return the limits of a float dtype, by default of the default float dtype."""

def fix(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return x without its fraction.  Gradient: 0."""

def flatten(input: Tensor, start_dim: builtins.int = ..., end_dim: builtins.int = ...) -> Tensor:
    """Return the dims from start_dim to end_dim (included) as one; a tensor of shape () becomes (1,)."""

def flatten_from(x: Tensor, start_dim: builtins.int) -> Tensor:
    """Flatten the dims from start_dim to the last into one."""

def flatten_to(x: Tensor, end_dim: builtins.int) -> Tensor:
    """Flatten the dims up to end_dim (included) into one."""

def flip(input: Tensor, *dims: builtins.int | Sequence[builtins.int]) -> Tensor:
    """Return a view reversed along each of `dims`, by negative strides."""

def fliplr(input: Tensor) -> Tensor:
    """Return a view with the columns, the second dim, in reverse order."""

def flipud(input: Tensor) -> Tensor:
    """Return a view with the rows, the first dim, in reverse order."""
float: DType
float16: DType
float32: DType
float64: DType

def float_power(input: Tensor | builtins.float, exponent: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input**exponent, in float64 for every dtype.  Gradient: as of `pow`."""

def floor(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the largest integer not above x.  Gradient: 0."""

def floor_divide(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return the largest integer not above input/other, as Python's `//`; an integer over 0 is 0.  Gradient: 0."""

def fmax(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return the larger of two; the other one if one is nan.  Gradient: g to the larger, at ties to input."""

def fmin(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return the smaller of two; the other one if one is nan.  Gradient: g to the smaller, at ties to input."""

def fmod(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input - other*trunc(input/other), with the sign of input, as C's fmod; for integers 0 if other is 0."""

def frac(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return x without its integer part, with the sign of x; nan for an infinity.  Gradient: g."""

def frexp(input: Tensor, *, out: Tensor | None = ...) -> Any:
    """Return the mantissa and the exponent of each element: input = mantissa * 2**exponent."""

def from_dlpack(ext_tensor: Any, *, device: Any = ..., copy: builtins.bool | None = ...) -> Tensor:
    """Return a tensor that shares memory with an object of another library, which has `__dlpack__`."""

def from_numpy(ndarray: Any) -> Tensor:
    """Return a CPU tensor that shares the array's memory: a write to either is visible in both."""

def full(size: builtins.int | Sequence[builtins.int], fill_value: builtins.float, *, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return a tensor filled with one value; by default the dtype is that of the value."""

def full_like(input: Tensor, fill_value: builtins.float, *, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., memory_format: Any = ...) -> Tensor:
    """Return a tensor filled with one value, with the shape, dtype and device of x."""

def gather(input: Tensor, dim: builtins.int, index: Tensor, *, sparse_grad: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return out[i, j, k] = input[i, index[i, j, k], k] for dim 1, and so on."""

def gcd(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return the greatest common divisor of |input| and |other|; that of 0 and 0 is 0."""

def ge(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input >= other."""

def gelu(input: Tensor, approximate: builtins.str = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return input * Phi(input), with the normal distribution function Phi; approximate="tanh" calls `gelu_tanh`."""

def ger(input: Tensor, vec2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the product of every element of a vector with every element of another."""

def get_allocator(kind: builtins.str) -> Any:
    """Return the allocator of a kind of device."""

def get_default_dtype() -> DType:
    """Return the dtype of Python floats and of float tensors that are created without a dtype."""

def get_float32_matmul_precision() -> builtins.str:
    """Return "highest": see `set_float32_matmul_precision`."""

def get_num_threads() -> builtins.int:
    """Return the number of threads that share a kernel."""

def get_rng_state() -> Tensor:
    """Return the state of the default generator."""

def grad(outputs: Tensor | Sequence[Tensor], inputs: Tensor | Sequence[Tensor], grad_outputs: Tensor | Sequence[Tensor | None] | None = ..., retain_graph: builtins.bool | None = ..., create_graph: builtins.bool = ..., allow_unused: builtins.bool = ...) -> Any:
    """Compute the gradients of outputs with respect to inputs; `.grad` does not change."""

def gradient(input: Tensor, *, spacing: Any = ..., dim: builtins.int | Sequence[builtins.int] | None = ..., edge_order: builtins.int = ...) -> Any:
    """Return the derivatives along each dim, one tensor each: central differences, of `edge_order` 1 or 2 at both ends."""

def greater(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input > other."""

def greater_equal(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input >= other."""

def grid_sampler(input: Tensor, grid: Tensor, interpolation_mode: builtins.int, padding_mode: builtins.int, align_corners: builtins.bool) -> Tensor:
    """Call `nn.functional.grid_sample` with numbers for modes."""

def grid_sampler_2d(input: Tensor, grid: Tensor, interpolation_mode: builtins.int, padding_mode: builtins.int, align_corners: builtins.bool) -> Tensor:
    """Call `grid_sampler` for images with two dims."""

def grid_sampler_3d(input: Tensor, grid: Tensor, interpolation_mode: builtins.int, padding_mode: builtins.int, align_corners: builtins.bool) -> Tensor:
    """Call `grid_sampler` for images with three dims."""

def gt(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input > other."""
half: DType

def hardshrink(input: Tensor, lambd: Tensor | builtins.float = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return input where |input| > lambd, otherwise 0; nan stays nan.  Gradient: g there, 0 elsewhere."""

def heaviside(input: Tensor | builtins.float, values: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return 0 below 0, 1 above, and values at 0; 0 for nan.  Gradient: 0; g at 0 for values."""

def histc(input: Tensor, bins: builtins.int = ..., min: builtins.float = ..., max: builtins.float = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return how many elements are in each of `bins` equal parts from min to max, in input's dtype; others are ignored."""

def histogram(input: Tensor, bins: builtins.int | Tensor, *, range: Sequence[builtins.float] | None = ..., weight: Tensor | None = ..., density: builtins.bool = ..., out: Tensor | None = ...) -> Any:
    """Count the elements in each bin, or add up their weights: (hist, bin_edges), in input's dtype."""

def histogramdd(input: Tensor, bins: Any, range: Sequence[builtins.float] | None = ..., weight: Tensor | None = ..., density: builtins.bool = ...) -> Any:
    """Count the points (..., D) in each bin of D dims, or add up their weights: (hist, D tensors of edges)."""

def hsplit(input: Tensor, sections: builtins.int | Sequence[builtins.int] | Tensor) -> builtins.tuple[Tensor, ...]:
    """Return views of parts of one size, or up to indices, along the second dim; of a row along its own."""

def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """Join tensors along the second dim; vectors are joined end to end."""

def hypot(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return sqrt(input**2 + other**2), where the squares may overflow; infinite if one operand is."""

def i0(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the modified Bessel function I0: the mean of exp(x*cos(t)).  Gradient: g*i1(x)."""
i16: DType
i32: DType
i64: DType
i8: DType

def iinfo(type: Any) -> Any:
    """Return the limits of an integer dtype: bits, max, min and dtype."""

def index_add(input: Tensor, dim: builtins.int, index: Tensor, source: Tensor, *, alpha: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
    """Return input with alpha * source added along `dim` at the 1-d `index`; repeated positions add up."""

def index_copy(input: Tensor, dim: builtins.int, index: Tensor, source: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return input with its slices along `dim` at the 1-d `index` replaced by those of source."""

def index_fill(input: Tensor, dim: builtins.int, index: Tensor, value: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input with one value in the slices along `dim` that the 1-d `index` names."""

def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return input with values, which broadcast, at input[indices]; indices is a sequence of index tensors or masks."""

def index_reduce(input: Tensor, dim: builtins.int, index: Tensor, source: Tensor, reduce: builtins.str, *, include_self: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return input with each slice of source along `dim` reduced into the slice that the 1-d `index` names."""

def index_select(input: Tensor, dim: builtins.int, index: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the slices of input along `dim` that the 1-d `index` names, in its order."""
inf: Any

def initial_seed() -> builtins.int:
    """Return the seed of the default generator."""

def inner(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the inner products of rows, which are the last dims; of a number it is the product with it."""
int: DType
int16: DType
int32: DType
int64: DType
int8: DType

def inverse(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `mg.linalg.inv`: the inverses of square matrices."""

def is_complex(input: Tensor) -> builtins.bool:
    """Return False, since complex dtypes are not supported."""

def is_floating_point(input: Tensor) -> builtins.bool:
    """Return whether the dtype is a float."""

def is_grad_enabled() -> builtins.bool:
    """Return whether ops are currently recorded in this thread or task."""

def is_inference_mode_enabled() -> builtins.bool:
    """Return whether this thread or task is inside an `inference_mode` block."""

def is_nonzero(input: Tensor) -> builtins.bool:
    """Return whether the only element is not zero; raises ArgumentError for another number of elements."""

def is_same_size(input: Tensor, other: Tensor) -> builtins.bool:
    """Return whether two tensors have one shape."""

def is_tensor(obj: Any) -> builtins.bool:
    """Return whether it is a tensor."""

def isclose(input: Tensor, other: Tensor, rtol: builtins.float = ..., atol: builtins.float = ..., equal_nan: builtins.bool = ...) -> Tensor:
    """Return whether |input - other| <= atol + rtol*|other|, or both are equal; with equal_nan two nan are equal."""

def isfinite(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return whether x is neither infinite nor nan."""

def isin(elements: Tensor | builtins.float, test_elements: Tensor | builtins.float, *, assume_unique: builtins.bool = ..., invert: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return whether each element is among others; nan is not.  invert: if it is not.  assume_unique: has no effect."""

def isinf(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return whether x is infinite, of either sign."""

def isnan(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return whether x is nan."""

def isneginf(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return whether x is -inf."""

def isposinf(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return whether x is inf."""

def isreal(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return True, since complex dtypes are not supported."""

def jit(function: Any = ..., *, fuse: builtins.bool = ..., verify: builtins.int = ...) -> Any:
    """Record a function once, and then run it as a list of launches without Python between them."""

def kernel(*, dtype: Any, shape: Any, vjp: Any = ..., linear: Any = ..., jvp: Any = ..., batch: Any = ..., joint: Any = ..., outputs: builtins.tuple[builtins.str, ...] = ..., zeros: builtins.bool = ..., name: builtins.str = ..., label: builtins.str = ..., namespace: Any = ..., method: builtins.bool = ..., in_place: builtins.bool = ..., out: builtins.bool = ..., floats: builtins.bool = ..., writes: builtins.tuple[builtins.str, ...] = ..., otherwise: Any = ...) -> Any:
    """Declare an op with a kernel family of its own."""

def kron(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the Kronecker product: each element of input times all of other, as a block at its position."""

def kthvalue(input: Tensor, k: builtins.int, dim: builtins.int = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
    """Return the k-th smallest element along `dim`, k from 1 on: (values, indices); nan is the greatest."""

def lcm(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return the least common multiple of |input| and |other|, 0 where one is 0; it wraps."""

def ldexp(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input * 2**other.  Gradient: g*2**other, and g*y*ln(2) for other."""

def le(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input <= other."""

def leaky_relu(input: Tensor, negative_slope: Tensor | builtins.float = ..., inplace: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return input where it is positive, otherwise negative_slope * input. inplace: write into input and return it."""

def lerp(input: Tensor | builtins.float, end: Tensor | builtins.float, weight: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input + weight * (end - input), exactly `end` for the weight 1."""

def less(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input < other."""

def less_equal(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input <= other."""

def lgamma(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return log(|gamma(x)|), inf at 0 and at negative integers.  Gradient: g*digamma(x)."""

def linspace(start: builtins.float, end: builtins.float, steps: builtins.int, *, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return `steps` values from start to end, both included.  Ends may be 0-d tensors; they get no gradient."""

def load(f: Any, map_location: Any = ..., *, weights_only: builtins.bool | None = ..., mmap: builtins.bool | None = ...) -> Any:
    """Read the file of `save`, or another file in its formats, as a dict of tensors by name."""

def log(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the natural logarithm; -inf at 0, nan below.  Gradient: g/x."""

def log10(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the logarithm to base 10.  Gradient: g/(x*ln(10))."""

def log1p(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return log(1 + x) without cancellation near 0.  Gradient: g/(1+x)."""

def log2(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the logarithm to base 2.  Gradient: g/(x*ln(2))."""

def log_sigmoid(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return log(sigmoid(x)), without overflow.  Gradient: g*sigmoid(-x)."""

def log_softmax(input: Tensor, dim: builtins.int, dtype: Any = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return log(softmax(input)) along `dim`, without leaving the logarithm.  Gradient: g - exp(y) * sum(g)."""

def logaddexp(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return log(exp(input) + exp(other)) without overflow.  Gradient: g times each operand's share."""

def logaddexp2(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return log2(2**input + 2**other) without overflow.  Gradient: g times each operand's share."""

def logcumsumexp(input: Tensor, dim: builtins.int, *, out: Tensor | None = ...) -> Tensor:
    """Return log(cumsum(exp(input))) along `dim`, without overflow.  Floats only."""

def logdet(input: Tensor) -> Tensor:
    """Return the logarithms of the determinants of square matrices: -inf for 0, nan for a negative one."""

def logical_and(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return whether both are not zero."""

def logical_not(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return whether x is zero."""

def logical_or(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return whether one is not zero."""

def logical_xor(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return whether exactly one is not zero."""

def logit(input: Tensor, eps: Any = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return log(x/(1-x)), the inverse of sigmoid, nan outside of [0, 1]; eps: of x in [eps, 1 - eps]."""

def logspace(start: builtins.float, end: builtins.float, steps: builtins.int, base: builtins.float = ..., *, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return `steps` powers of base with evenly spaced exponents, both ends included; see `linspace`."""

def logsumexp(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None, keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return log(sum(exp(x))) over `dim`; nothing overflows.  Gradient: g times the softmax."""
long: DType

def lt(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input < other."""

def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `mg.linalg.lu_solve`: the solutions of systems by factors of `mg.linalg.lu_factor`."""

def manual_seed(seed: builtins.int) -> Any:
    """Restart the default generator: the same seed produces the same numbers, for any number of threads."""

def masked_fill(input: Tensor, mask: Tensor, value: Tensor | builtins.float) -> Tensor:
    """Return x with `value`, a number or a 0-d tensor, where `mask` is True; the two broadcast.  The dtype of x stays."""

def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Return x with the elements of `source`, in their order, where `mask` is True; the two broadcast."""

def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the elements where `mask` is True, 1-d and row-major; both broadcast.  Gradient: g where each was read."""

def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the matrix product; a 1-d operand is a row on the left and a column on the right, and its dim is removed."""

def matrix_power(input: Tensor, n: builtins.int, *, out: Tensor | None = ...) -> Tensor:
    """Return `mg.linalg.matrix_power`: a power of square matrices, also a negative one."""

def max(input: Tensor, dim: builtins.int | Tensor | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
    """Return the largest element; with an int `dim`, (values, indices) along it; with a second tensor, `maximum`."""

def max_pool1d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = ..., padding: builtins.int | Sequence[builtins.int] = ..., dilation: builtins.int | Sequence[builtins.int] = ..., ceil_mode: builtins.bool = ..., return_indices: builtins.bool = ...) -> Any:
    """Return the largest element of each window along the last dim: see `max_pool2d`."""

def max_pool2d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = ..., padding: builtins.int | Sequence[builtins.int] = ..., dilation: builtins.int | Sequence[builtins.int] = ..., ceil_mode: builtins.bool = ..., return_indices: builtins.bool = ...) -> Any:
    """Return the largest element of each window of (N, C, H, W), or of (C, H, W); stride is kernel_size if None."""

def max_pool3d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = ..., padding: builtins.int | Sequence[builtins.int] = ..., dilation: builtins.int | Sequence[builtins.int] = ..., ceil_mode: builtins.bool = ..., return_indices: builtins.bool = ...) -> Any:
    """Return the largest element of each window of the last three dims: see `max_pool2d`."""

def maximum(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return the larger of two; nan wins.  Gradient: g to the larger operand, g/2 to each at ties."""

def mean(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
    """Return the mean over `dim`, floats only, accumulated and re-associated as `sum` is."""

def median(input: Tensor, dim: builtins.int | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
    """Return the median of all elements, or (values, indices) along `dim`; the lower of two; nan if there is a nan."""

def memory_stats(device: builtins.str = ...) -> Any:
    """Return the counters of a device's allocator, as `MemoryStats`."""

def meshgrid(*tensors: Tensor, indexing: builtins.str | None = ...) -> builtins.tuple[Tensor, ...]:
    """Return views of vectors, each along a separate dim and expanded along the others."""

def min(input: Tensor, dim: builtins.int | Tensor | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
    """Return the smallest element; with an int `dim`, (values, indices) along it; with a second tensor, `minimum`."""

def minimum(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return the smaller of two; nan wins.  Gradient: g to the smaller operand, g/2 to each at ties."""

def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return matrix times matrix, without batch dims."""

def mode(input: Tensor, dim: builtins.int = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
    """Return the most frequent element along `dim`, the smallest of several, and its last position."""

def moveaxis(input: Tensor, source: builtins.int | Sequence[builtins.int], destination: builtins.int | Sequence[builtins.int]) -> Tensor:
    """Return `movedim` under NumPy's name."""

def movedim(input: Tensor, source: builtins.int | Sequence[builtins.int], destination: builtins.int | Sequence[builtins.int]) -> Tensor:
    """Return a view with some dims moved to other positions; the others keep their order."""

def msort(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the elements sorted along the first dim."""

def mul(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return the product per element; shapes broadcast.  For bool it is `and`.  Gradient: g*other and g*input."""

def multinomial(input: Tensor, num_samples: builtins.int, replacement: builtins.bool = ..., *, generator: Any = ..., out: Tensor | None = ...) -> Tensor:
    """Draw int64 positions from each row of weights, which need not add up to 1; without replacement none twice."""

def multiply(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return the product per element; shapes broadcast.  For bool it is `and`.  Gradient: g*other and g*input."""

def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return matrix times vector."""

def mvlgamma(input: Tensor, p: builtins.int, *, out: Tensor | None = ...) -> Tensor:
    """Return the log of the multivariate gamma function of p dims: a sum of lgamma(input - k/2), and p(p-1)/4*log(pi)."""
nan: Any

def nan_to_num(input: Tensor, nan: builtins.float | None = ..., posinf: builtins.float | None = ..., neginf: builtins.float | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Replace nan by the argument nan, inf by posinf and -inf by neginf."""

def nanmean(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
    """Return the mean over `dim` of the elements that are not nan; nan without any.  Gradient: g/count for each."""

def nanmedian(input: Tensor, dim: builtins.int | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
    """Return `median` of the elements that are not nan; nan if there is none.  Gradient: as of `median`."""

def nanquantile(input: Tensor, q: Tensor | builtins.float, dim: builtins.int | None = ..., keepdim: builtins.bool = ..., *, interpolation: builtins.str = ..., out: Tensor | None = ...) -> Tensor:
    """Return `quantile` of the elements that are not nan; nan if there is none."""

def nansum(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
    """Return the sum over `dim` of the elements that are not nan; 0 without any.  Gradient: g for each of them."""

def narrow(input: Tensor, dim: builtins.int, start: builtins.int, length: builtins.int) -> Tensor:
    """Return a view of `length` elements along `dim` from `start`.  Gradient: zeros around g."""

def narrow_copy(input: Tensor, dim: builtins.int, start: builtins.int, length: builtins.int, *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of the result of `narrow`, in separate memory."""

def ndtr(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the normal distribution function, with its negative tail to full relative accuracy."""

def ne(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input != other."""

def neg(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return -x; unsigned integers wrap."""

def negative(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return -x; unsigned integers wrap."""
newaxis: Any

def nextafter(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return the number of input's dtype next to it, towards other; float32 and float64 only."""

def no_grad() -> Any:
    """Record nothing in this block, or in the decorated function."""

def nonzero(input: Tensor, *, as_tuple: builtins.bool = ..., out: Tensor | None = ...) -> Any:
    """Return the int64 indices of all nonzero elements, one row for each; as_tuple: one tensor for each dim instead."""

def norm(input: Tensor, p: builtins.float | builtins.str | None = ..., dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., out: Tensor | None = ..., dtype: Any = ...) -> Tensor:
    """Return the norm of order `p` of the elements over `dim`, `sum(abs(x)**p)**(1/p)`."""

def normal(mean: builtins.float | Tensor, std: builtins.float | Tensor = ..., size: builtins.int | Sequence[builtins.int] | None = ..., *, generator: Any = ..., dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return normal samples; mean and deviation are numbers or, without `size`, tensors with a value per element."""

def not_equal(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input != other."""

def numel(input: Tensor) -> builtins.int:
    """Return the number of elements."""

def ones(*size: builtins.int | Sequence[builtins.int], dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return ones, of the default float unless a dtype is given."""

def ones_like(input: Tensor, *, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., memory_format: Any = ...) -> Tensor:
    """Return ones with the shape, dtype and device of x."""

def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the product of every element of a vector with every element of another."""

def override(**values: Any) -> Any:
    """Change settings inside a `with` block."""

def pairwise_distance(x1: Tensor, x2: Tensor, p: builtins.float = ..., eps: builtins.float = ..., keepdim: builtins.bool = ...) -> Tensor:
    """Return the norm of order p of x1 - x2 + eps along the last dim; the two broadcast."""

def pdist(input: Tensor, p: builtins.float = ...) -> Tensor:
    """Return the distance of order p of each pair of rows of a matrix (n, m), as a vector of n * (n - 1) / 2."""

def permute(input: Tensor, *dims: builtins.int | Sequence[builtins.int]) -> Tensor:
    """Return a view with the dims in another order.  Gradient: the inverse order."""

def permute_copy(input: Tensor, *dims: builtins.int | Sequence[builtins.int], out: Tensor | None = ...) -> Tensor:
    """Return a copy of the result of `permute`, in separate memory."""
pi: Any

def pinverse(input: Tensor, rcond: builtins.float = ...) -> Tensor:
    """Return `mg.linalg.pinv` with rtol=rcond: the Moore-Penrose inverses of matrices."""

def pixel_shuffle(input: Tensor, upscale_factor: builtins.int) -> Tensor:
    """Return images (..., C*r*r, H, W) as (..., C, H*r, W*r): each r*r channels become the pixels of a square."""

def pixel_unshuffle(input: Tensor, downscale_factor: builtins.int) -> Tensor:
    """Return images (..., C, H*r, W*r) as (..., C*r*r, H, W): the pixels of each square become channels."""

def polygamma(n: builtins.int, input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the n-th derivative of digamma.  Gradient: g*polygamma(n + 1, x)."""

def positive(input: Tensor) -> Tensor:
    """Return the input itself; bool is refused, as by `neg`."""

def pow(input: Tensor | builtins.float, exponent: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input**exponent; negative bases with integer exponents work.  Integers stay integers and wrap."""

def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Return input where it is positive, otherwise weight * input; one weight, or one per channel (the second dim)."""
preserve_format: Any

def printoptions(precision: builtins.int | None = ..., threshold: builtins.float | None = ..., edgeitems: builtins.int | None = ..., linewidth: builtins.int | None = ..., profile: builtins.str | None = ..., sci_mode: builtins.bool | None = ...) -> Iterator[None]:
    """Set print options as `set_printoptions` for a `with` block, in this thread or task."""

def prod(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
    """Return the product over `dim`.  Gradient: g times the product of the other elements, exact with zeros too."""

def promote(a: DType, b: DType) -> DType:
    """Return the dtype that two operands promote to."""

def promote_types(a: DType, b: DType) -> DType:
    """Return the dtype that two operands promote to."""

def put(input: Tensor, index: Tensor, source: Tensor, accumulate: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return input with the elements of source at positions among all its elements, row-major."""

def qr(input: Tensor, some: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
    """Return `mg.linalg.qr` with mode="reduced", or "complete" with some=False."""

def quantile(input: Tensor, q: Tensor | builtins.float, dim: builtins.int | None = ..., keepdim: builtins.bool = ..., *, interpolation: builtins.str = ..., out: Tensor | None = ...) -> Tensor:
    """Return the quantile q, 0 to 1, along `dim` or of all elements; several q are a new first dim."""

def rad2deg(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Convert radians to degrees, x*180/pi.  Gradient: g*180/pi."""

def rand(*size: builtins.int | Sequence[builtins.int], generator: Any = ..., dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return samples from the uniform distribution on [0, 1)."""

def rand_like(input: Tensor, *, generator: Any = ..., dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., memory_format: Any = ...) -> Tensor:
    """Return `rand` with the shape, dtype and device of the input."""

def randint(low: builtins.int, high: builtins.int | None = ..., size: builtins.int | Sequence[builtins.int] = ..., *, generator: Any = ..., dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return uniform integers in [low, high); randint(high, size=...) starts at 0.  Raises ArgumentError if empty."""

def randint_like(input: Tensor, low: builtins.int, high: builtins.int | None = ..., *, generator: Any = ..., dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ...) -> Tensor:
    """Return `randint` with the shape, dtype and device of input; randint_like(input, high) starts at 0."""

def randn(*size: builtins.int | Sequence[builtins.int], generator: Any = ..., dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return samples from the normal distribution with mean 0 and standard deviation 1."""

def randn_like(input: Tensor, *, generator: Any = ..., dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., memory_format: Any = ...) -> Tensor:
    """Return `randn` with the shape, dtype and device of the input."""

def randperm(n: builtins.int, *, generator: Any = ..., dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return a random permutation of 0 .. n-1 (int64 unless a dtype is given), by sorting random keys."""

def ravel(input: Tensor) -> Tensor:
    """Return all elements as one dim, `flatten` under NumPy's name."""

def reciprocal(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return 1/x.  Gradient: -g/x**2."""

def reduction(*, dtype: Any, identity: builtins.str | builtins.tuple[builtins.str, ...], order: builtins.str | None = ..., combine: Any = ..., map: Any = ..., finish: Any = ..., mean: builtins.bool = ..., vjp: Any = ..., linear: Any = ..., jvp: Any = ..., batch: Any = ..., outputs: builtins.tuple[builtins.str, ...] = ..., zeros: builtins.bool = ..., namespace: Any = ..., method: builtins.bool = ..., name: builtins.str = ..., label: builtins.str = ...) -> Any:
    """Declare a reduction over any set of dims: map, combine, finish; the body is its scalar function (acc, x)."""

def register_backend(kind: builtins.str, factory: Any, dlpack: builtins.int | None = ...) -> None:
    """Register the backend for the devices of `kind`; it replaces an earlier registration."""

def relu(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return x where it is positive, otherwise 0; nan stays nan.  Gradient: g where x > 0, 0 at 0 and below."""

def relu6(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return min(max(x, 0), 6); nan stays nan.  Gradient: g where 0 < x < 6, 0 elsewhere and at both ends."""

def remainder(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input - other*floor(input/other), with the sign of other, as Python's `%`; for integers 0 if other is 0."""

def renorm(input: Tensor, p: builtins.float, dim: builtins.int, maxnorm: builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return the slices along `dim` whose norm of order p is above maxnorm scaled down to it."""

def repeat(input: Tensor, *repeats: builtins.int | Sequence[builtins.int]) -> Tensor:
    """Repeat the tensor repeats[d] times along each dim; more counts than dims add first dims."""

def repeat_interleave(input: Tensor, repeats: Tensor | builtins.int, dim: builtins.int | None = ..., *, output_size: builtins.int | None = ...) -> Tensor:
    """Repeat each element several times, one after the other, along `dim`, or of all as a row."""

def reshape(input: Tensor, *sizes: builtins.int | Sequence[builtins.int], shape: Sequence[builtins.int] | None = ...) -> Tensor:
    """Return x in another shape of the same size (one -1 is inferred): a view if the strides allow it, or a copy."""

def result_type(tensor1: Any, tensor2: Any) -> DType:
    """Return the dtype of an op between two tensors or numbers; a number is weak next to a tensor."""

def roll(input: Tensor, shifts: builtins.int | Sequence[builtins.int], dims: builtins.int | Sequence[builtins.int] = ...) -> Tensor:
    """Shift the elements by `shifts` along `dims`; elements beyond one end come in at the other."""

def rot90(input: Tensor, k: builtins.int = ..., dims: builtins.int | Sequence[builtins.int] = ...) -> Tensor:
    """Return a view rotated k times by 90 degrees in the plane of two dims, from the first towards the second."""

def round(input: Tensor, *, decimals: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
    """Return the nearest integer, or multiple of 10**-decimals; ties go to even: round(0.5) = 0, round(1.5) = 2."""

def row_stack(tensors: Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """Join tensors along the first dim; a vector of n counts as (1, n)."""

def rsqrt(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return 1/sqrt(x).  Gradient: -g/(2*x*sqrt(x))."""

def rsub(input: Tensor, other: Any, *, alpha: builtins.float = ...) -> Tensor:
    """Return other - alpha * input.  Gradient: -g*alpha, and g for other."""

def save(obj: Any, f: Any) -> None:
    """Write tensors, and dicts, lists and tuples of tensors, numbers and strings, to a file."""

def scalar(function: Any) -> Any:
    """Declare a helper that other scalar functions may call; it is expanded in place."""

def scalar_tensor(s: builtins.float, *, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ...) -> Tensor:
    """Return a tensor of shape () with one number, of the default float unless a dtype is given."""

def scatter(input: Tensor, dim: builtins.int, index: Tensor, src: Tensor | builtins.float, *, reduce: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor:
    """Return input with src[i, j, k], or a number, at [i, index[i, j, k], k] for dim 1."""

def scatter_add(input: Tensor, dim: builtins.int, index: Tensor, src: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return input with src[i, j, k] added at [i, index[i, j, k], k] for dim 1; repeated positions add up."""

def scatter_reduce(input: Tensor, dim: builtins.int, index: Tensor, src: Tensor, reduce: builtins.str, *, include_self: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return input with each element of src reduced into the position that index names along `dim`."""
schema: Any

def searchsorted(sorted_sequence: Tensor, input: Tensor | builtins.float, *, out_int32: builtins.bool = ..., right: builtins.bool = ..., side: builtins.str | None = ..., sorter: Tensor | None = ..., out: Tensor | None = ...) -> Tensor:
    """Return the int64 positions at which elements of input fit into sorted rows, before equal elements."""

def seed() -> builtins.int:
    """Seed the default generator with 64 random bits of the operating system, and return the seed."""

def select(input: Tensor, dim: builtins.int, index: builtins.int) -> Tensor:
    """Return a view of one position along `dim`, which is removed.  Gradient: zeros around g."""

def select_copy(input: Tensor, dim: builtins.int, index: builtins.int, *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of the result of `select`, in separate memory."""

def select_scatter(input: Tensor, src: Tensor, dim: builtins.int, index: builtins.int) -> Tensor:
    """Return the tensor with src instead of `select(input, dim, index)`; both are differentiated."""

def selu(input: Tensor, inplace: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return 1.0507 * x where x > 0, otherwise 1.7581 * (exp(x) - 1), which keeps activations near mean 0, variance 1."""

def set_allocator(kind: builtins.str, allocator: Any) -> None:
    """Set the allocator of all devices of this kind."""

def set_default_device(device: Any) -> None:
    """Set the device of tensors that are created without a `device` argument."""

def set_default_dtype(d: Any) -> None:
    """Set the default float dtype; see `mg.set_default_float`."""

def set_default_float(dtype: Any) -> None:
    """Set the dtype that Python floats are converted to."""

def set_default_tensor_type(t: Any) -> None:
    """Set the default float to the dtype of an old constructor, such as `mg.DoubleTensor` or its name."""

def set_float32_matmul_precision(precision: builtins.str) -> None:
    """Accept PyTorch's switch: products of float32 always have float32's precision."""

def set_grad_enabled(enabled: builtins.bool) -> Any:
    """Record ops or not, by a flag: the same as `enable_grad()` or `no_grad()`."""

def set_num_threads(num: builtins.int) -> None:
    """Share kernels between `num` threads in this Python thread from now on.  Raise ArgumentError out of range."""

def set_printoptions(precision: builtins.int | None = ..., threshold: builtins.float | None = ..., edgeitems: builtins.int | None = ..., linewidth: builtins.int | None = ..., profile: builtins.str | None = ..., sci_mode: builtins.bool | None = ...) -> None:
    """Set how tensors are printed in this process; omitted options do not change, except sci_mode."""

def set_rng_state(new_state: Tensor) -> None:
    """Set the state of the default generator."""
settings: Any

def sgn(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return -1, 0 or 1; nan stays nan.  Gradient: 0."""
short: DType

def sigmoid(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return 1/(1 + exp(-x)), without overflow.  Gradient: g*y*(1-y)."""

def sign(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return -1, 0 or 1; nan stays nan.  Gradient: 0."""

def signbit(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return whether the sign of x is minus, which -0.0 and nan may have too."""

def silu(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return x*sigmoid(x).  Gradient: g*s*(1 + x*(1-s)) with s = sigmoid(x)."""

def sin(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the sine.  Gradient: g*cos(x)."""

def sinc(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return sin(pi*x)/(pi*x), 1 at 0.  Gradient: g*(cos(pi*x) - y)/x, 0 at 0."""

def sinh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the hyperbolic sine.  Gradient: g*cosh(x)."""

def slice_copy(input: Tensor, dim: builtins.int = ..., start: builtins.int | None = ..., end: builtins.int | None = ..., step: builtins.int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of input[start:end:step] along `dim`."""

def slice_scatter(input: Tensor, src: Tensor, dim: builtins.int = ..., start: builtins.int | None = ..., end: builtins.int | None = ..., step: builtins.int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the tensor with src instead of input[start:end:step] along `dim`; both are differentiated."""

def slogdet(input: Tensor, *, out: Tensor | None = ...) -> Any:
    """Return `mg.linalg.slogdet`: (sign, logabsdet) of the determinants of square matrices."""

def softmax(input: Tensor, dim: builtins.int, dtype: Any = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return exp(input) / sum(exp(input)) along `dim`, shifted by the maximum so that nothing overflows."""

def softmin(input: Tensor, dim: builtins.int, dtype: Any = ...) -> Tensor:
    """Return softmax(-input)."""

def softplus(input: Tensor, beta: Tensor | builtins.float = ..., threshold: Tensor | builtins.float = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return log(1 + exp(beta*input))/beta, without overflow; input itself where beta*input > threshold."""

def sort(input: Tensor, dim: builtins.int = ..., descending: builtins.bool = ..., stable: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
    """Return the sorted elements along `dim` and their original positions: (values, indices)."""

def split(tensor: Tensor, split_size_or_sections: builtins.int | Sequence[builtins.int], dim: builtins.int = ...) -> builtins.tuple[Tensor, ...]:
    """Return views of parts along `dim`: of a given size (the last may be smaller), or of the given sizes."""

def split_copy(input: Tensor, split_size: builtins.int, dim: builtins.int = ..., *, out: Tensor | None = ...) -> builtins.tuple[Tensor, ...]:
    """Return copies of the parts that `split` sees."""

def split_with_sizes(input: Tensor, split_sizes: Sequence[builtins.int], dim: builtins.int = ...) -> builtins.tuple[Tensor, ...]:
    """Return `split` by a sequence of sizes."""

def split_with_sizes_copy(input: Tensor, split_sizes: Sequence[builtins.int], dim: builtins.int = ..., *, out: Tensor | None = ...) -> builtins.tuple[Tensor, ...]:
    """Return copies of the parts that `split_with_sizes` sees."""

def sqrt(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the square root; nan below 0.  Gradient: g/(2*sqrt(x)), inf at 0."""

def square(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return x*x.  Gradient: 2*g*x."""

def squeeze(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ...) -> Tensor:
    """Return a view without dims of length 1: all of them, or the named dims that have this length."""

def squeeze_copy(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of the result of `squeeze`, in separate memory."""

def stack(tensors: Sequence[Tensor], dim: builtins.int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Join tensors of one shape along a new dim.  Gradient: each tensor gets its part of g."""

def std(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ..., correction: builtins.float = ..., keepdim: builtins.bool = ..., *, unbiased: builtins.bool | None = ..., out: Tensor | None = ...) -> Tensor:
    """Return the standard deviation over `dim`: the square root of `var`.  Gradient: 0 where all elements are equal."""

def std_mean(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ..., *, correction: builtins.float = ..., keepdim: builtins.bool = ..., unbiased: builtins.bool | None = ...) -> Any:
    """Return the standard deviation and the mean over `dim`, in the two passes of `std`."""

def sub(input: Tensor | builtins.float, other: Tensor | builtins.float, *, alpha: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
    """Return the difference of input and alpha * other, element by element; shapes broadcast.  Gradient: g and -g."""

def subtract(input: Tensor | builtins.float, other: Tensor | builtins.float, *, alpha: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
    """Return the difference of input and alpha * other, element by element; shapes broadcast.  Gradient: g and -g."""

def sum(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
    """Return the sum over `dim`."""

def svd(input: Tensor, some: builtins.bool = ..., compute_uv: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
    """Return (U, S, V) with U * S @ V.mT = input; some: with min(m, n) columns each.  See `mg.linalg.svd`."""

def swapaxes(input: Tensor, axis0: builtins.int, axis1: builtins.int) -> Tensor:
    """Return `transpose` under NumPy's name."""

def swapdims(input: Tensor, dim0: builtins.int, dim1: builtins.int) -> Tensor:
    """Return `transpose` under another name."""

def t(input: Tensor) -> Tensor:
    """Return the transpose of a matrix, as a view; a tensor with fewer dims as it is."""

def t_copy(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of the result of `t`, in separate memory."""

def take(input: Tensor, index: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the elements at positions among all of them, row-major, in the shape of index."""

def take_along_dim(input: Tensor, indices: Tensor, dim: builtins.int | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return `gather` of input and indices that broadcast along the other dims; without a dim, of all as a row."""

def tan(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the tangent.  Gradient: g*(1 + tan(x)**2)."""

def tanh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the hyperbolic tangent.  Gradient: g*(1 - tanh(x)**2)."""

def tape(y: Tensor, timed: builtins.bool = ...) -> Any:
    """Return the recorded ops below y, the oldest first, with the bytes that each op saved."""

def tensor(data: Any, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ...) -> Tensor:
    """Return a new tensor with the elements of a number, nested lists, an array or a tensor."""

def tensor_split(input: Tensor, sections: builtins.int | Sequence[builtins.int] | Tensor, dim: builtins.int = ...) -> builtins.tuple[Tensor, ...]:
    """Return views of equal parts along `dim`, the first ones longer by 1 if needed; or parts that end at each index."""

def tensordot(a: Tensor, b: Tensor, dims: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
    """Return the sum of products over the last `dims` dims of a and the first of b, or over two lists of dims."""

def threading_layer() -> builtins.str:
    """Return the layer that runs the team, or "none yet": Numba chooses it at the first launch."""

def threshold(input: Tensor | builtins.float, threshold: Tensor | builtins.float, value: Tensor | builtins.float, inplace: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return input where it is above the threshold, otherwise value; nan stays nan."""

def tile(input: Tensor, *dims: builtins.int | Sequence[builtins.int]) -> Tensor:
    """Return the tensor repeated dims[d] times along each dim; counts or dims that are missing in front are 1."""

def topk(input: Tensor, k: builtins.int, dim: builtins.int = ..., largest: builtins.bool = ..., sorted: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
    """Return the k largest (or smallest) elements along `dim`, sorted, with positions: (values, indices)."""

def trace(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the sum of the diagonal of a matrix, in the dtype of `sum`.  Gradient: g on the diagonal of zeros."""

def transpose(input: Tensor, dim0: builtins.int, dim1: builtins.int) -> Tensor:
    """Return a view with two dims swapped.  Gradient: swapped back."""

def transpose_copy(input: Tensor, dim0: builtins.int, dim1: builtins.int, *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of the result of `transpose`, in separate memory."""

def trapezoid(y: Tensor, x: Tensor | None = ..., *, dx: Any = ..., dim: builtins.int = ...) -> Tensor:
    """Return the integral along `dim` by the trapezoidal rule; x: the sample points, by default dx apart."""

def trapz(y: Tensor, x: Tensor | None = ..., *, dx: Any = ..., dim: builtins.int = ...) -> Tensor:
    """Call `trapezoid`; this is another name."""

def tril(input: Tensor, diagonal: builtins.int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the elements on and below a diagonal of the last two dims, with zeros above."""

def tril_indices(row: builtins.int, col: builtins.int, offset: builtins.int = ..., *, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ...) -> Tensor:
    """Return the rows and the columns of the elements on and below a diagonal of a matrix, as a matrix of two rows."""

def triu(input: Tensor, diagonal: builtins.int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the elements on and above a diagonal of the last two dims, with zeros below."""

def triu_indices(row: builtins.int, col: builtins.int, offset: builtins.int = ..., *, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ...) -> Tensor:
    """Return the rows and the columns of the elements on and above a diagonal of a matrix, as a matrix of two rows."""

def true_divide(input: Tensor | builtins.float, other: Tensor | builtins.float, *, rounding_mode: Any = ..., out: Tensor | None = ...) -> Tensor:
    """Return input/other, rounded if rounding_mode is "floor" or "trunc"; integers become the default float."""

def trunc(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return x without its fraction.  Gradient: 0."""
u16: DType
u32: DType
u64: DType
u8: DType
uint16: DType
uint32: DType
uint64: DType
uint8: DType

def unbind(input: Tensor, dim: builtins.int = ...) -> builtins.tuple[Tensor, ...]:
    """Return views of all positions along `dim`, which is removed."""

def unbind_copy(input: Tensor, dim: builtins.int = ..., *, out: Tensor | None = ...) -> builtins.tuple[Tensor, ...]:
    """Return copies of all positions along `dim`, which is removed."""

def unflatten(input: Tensor, dim: builtins.int, sizes: builtins.int | Sequence[builtins.int]) -> Tensor:
    """Return a view with one dim as several, of the given sizes; one of them may be -1."""

def unfold(input: Tensor, dimension: builtins.int, size: builtins.int, step: builtins.int) -> Tensor:
    """Return windows of `size` elements, one every `step` elements along a dim, as last dim."""

def unfold_copy(input: Tensor, dimension: builtins.int, size: builtins.int, step: builtins.int, *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of the result of `unfold`, in separate memory."""

def uniform(shape: builtins.int | Sequence[builtins.int], low: builtins.float, high: builtins.float, *, generator: Any = ..., dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ...) -> Tensor:
    """Return uniform samples in [low, high).  Raises ArgumentError for an empty range."""

def unique(input: Tensor, sorted: builtins.bool = ..., return_inverse: builtins.bool = ..., return_counts: builtins.bool = ..., dim: builtins.int | None = ...) -> Any:
    """Return the elements of input, or its slices along `dim`, once each and in order; nan equals nothing."""

def unique_consecutive(input: Tensor, return_inverse: builtins.bool = ..., return_counts: builtins.bool = ..., dim: builtins.int | None = ...) -> Any:
    """Return the elements of input, or its slices along `dim`, without those that equal the one before."""

def unravel_index(indices: Tensor, shape: builtins.int | Sequence[builtins.int]) -> builtins.tuple[Tensor, ...]:
    """Return the index along each dim of a tensor of `shape`, of positions among all its elements, row-major."""

def unsafe_chunk(input: Tensor, chunks: builtins.int, dim: builtins.int = ...) -> builtins.tuple[Tensor, ...]:
    """Return `chunk`; writes into its parts are recorded here too."""

def unsafe_split(input: Tensor, split_size: builtins.int, dim: builtins.int = ...) -> builtins.tuple[Tensor, ...]:
    """Return `split`; writes into its parts are recorded here too."""

def unsafe_split_with_sizes(input: Tensor, split_sizes: Sequence[builtins.int], dim: builtins.int = ...) -> builtins.tuple[Tensor, ...]:
    """Return `split_with_sizes`; writes into its parts are recorded here too."""

def unsqueeze(input: Tensor, dim: builtins.int) -> Tensor:
    """Return a view with a new dim of length 1 at position `dim`."""

def unsqueeze_copy(input: Tensor, dim: builtins.int, *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of the result of `unsqueeze`, in separate memory."""

def use_deterministic_algorithms(mode: builtins.bool, *, warn_only: builtins.bool = ...) -> None:
    """Accept PyTorch's switch: results are deterministic unless `mg.cuda.deterministic(False)` was called."""

def var(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ..., correction: builtins.float = ..., keepdim: builtins.bool = ..., *, unbiased: builtins.bool | None = ..., out: Tensor | None = ...) -> Tensor:
    """Return the variance over `dim`, in two passes: the mean of squared deviations times n / (n - correction)."""

def var_mean(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ..., *, correction: builtins.float = ..., keepdim: builtins.bool = ..., unbiased: builtins.bool | None = ...) -> Any:
    """Return the variance and the mean over `dim`, in the two passes of `var`."""

def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the inner product of two vectors of one length: `dot`, for there are no complex numbers."""

def view(x: Tensor, *shape: builtins.int | Sequence[builtins.int], size: Sequence[builtins.int] | None = ...) -> Tensor:
    """Return x in another shape over the same memory; raises ShapeError where only a copy could (use reshape)."""

def view_copy(input: Tensor, size: builtins.int | Sequence[builtins.int], *, out: Tensor | None = ...) -> Tensor:
    """Return a copy in another shape."""

def vsplit(input: Tensor, sections: builtins.int | Sequence[builtins.int] | Tensor) -> builtins.tuple[Tensor, ...]:
    """Return views of parts of one size, or up to indices, along the first dim."""

def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """Join tensors along the first dim; a vector of n counts as (1, n)."""

def where(condition: Tensor, input: Tensor | builtins.float = ..., other: Tensor | builtins.float = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return input where the condition is True, otherwise other; the condition must be bool.  All three broadcast."""

def where_cond(condition: Tensor, a: Any, b: Any) -> Tensor:
    """Select by a condition, in candle's order of `where`: the condition first."""

def xlogy(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input*log(other), 0 where input is 0 unless other is nan."""

def zeros(*size: builtins.int | Sequence[builtins.int], dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return zeros, of the default float unless a dtype is given."""

def zeros_like(input: Tensor, *, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., memory_format: Any = ...) -> Tensor:
    """Return zeros with the shape, dtype and device of x."""
