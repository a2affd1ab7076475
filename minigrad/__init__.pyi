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
from minigrad.api.files.checkpoints import Checkpoint as Checkpoint
from minigrad.errors import DTypeError as DTypeError
from minigrad.errors import DeclarationError as DeclarationError
from minigrad.core.device import Device as Device
from minigrad.errors import DeviceError as DeviceError
from minigrad.api.legacy import DoubleTensor as DoubleTensor
from minigrad.errors import FileError as FileError
from minigrad.api.legacy import FloatTensor as FloatTensor
from minigrad.autodiff.function import Function as Function
from minigrad.ops.generators import Generator as Generator
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
from minigrad.api.interop import array_api as array_api
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
from minigrad.runtime.recording import enable_grad as enable_grad
from minigrad import fft as fft
from minigrad import func as func
from minigrad.runtime.inference import inference_mode as inference_mode
from minigrad.core.formats import MemoryFormat as MemoryFormat
from minigrad import linalg as linalg
from minigrad import nn as nn
from minigrad.runtime.recording import no_grad as no_grad
from minigrad import optim as optim
from minigrad import quasirandom as quasirandom
from minigrad import random as random
from minigrad.core import requests as requests
from minigrad.declare import rules as rules
from minigrad.runtime.recording import set_grad_enabled as set_grad_enabled
from minigrad import signal as signal
from minigrad import special as special
from minigrad import testing as testing
from minigrad import utils as utils
from minigrad import viz as viz
__version__: str


def abs(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the absolute value of x, and the magnitude of a complex number.  Gradient: g*sgn(x), which is 0 at 0."""

def abs_(input: Tensor) -> Tensor:
    """Apply `abs` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def absolute(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the absolute value of x, and the magnitude of a complex number.  Gradient: g*sgn(x), which is 0 at 0."""

def acos(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the arccosine of x; nan outside [-1, 1].  Gradient: -g/sqrt(1 - x**2), which is -inf at -1 and 1."""

def acos_(input: Tensor) -> Tensor:
    """Apply `acos` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def acosh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the inverse hyperbolic cosine of x; nan for x < 1.  Gradient: g/sqrt(x**2 - 1), which is inf at 1."""

def acosh_(input: Tensor) -> Tensor:
    """Apply `acosh` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Return the mean of each of `output_size` windows along the last dim; see `adaptive_avg_pool2d`."""

def add(input: Tensor | builtins.float, other: Tensor | builtins.float, *, alpha: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
    """Return input + alpha * other, element by element; shapes broadcast.  For bool, the sum is `or`."""

def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: builtins.complex = ..., alpha: builtins.complex = ..., out: Tensor | None = ...) -> Tensor:
    """Return beta * input + alpha * the sum over the batch of batch1 @ batch2; see `addmm`."""

def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: builtins.complex = ..., out: Tensor | None = ...) -> Tensor:
    """Return input + value * tensor1 / tensor2, element by element; shapes broadcast."""

def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: builtins.complex = ..., out: Tensor | None = ...) -> Tensor:
    """Return input + value * tensor1 * tensor2, element by element; shapes broadcast."""

def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: builtins.complex = ..., alpha: builtins.complex = ..., out: Tensor | None = ...) -> Tensor:
    """Return beta * input + alpha * mat1 @ mat2, computed in one kernel."""

def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: builtins.complex = ..., alpha: builtins.complex = ..., out: Tensor | None = ...) -> Tensor:
    """Return beta * input + alpha * mat @ vec; see `addmm`."""

def addmv_(input: Tensor, mat: Tensor, vec: Tensor, *, beta: builtins.complex = ..., alpha: builtins.complex = ...) -> Tensor:
    """Apply `addmv` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: builtins.complex = ..., alpha: builtins.complex = ..., out: Tensor | None = ...) -> Tensor:
    """Return beta * input + alpha * the outer product of vec1 and vec2; see `addmm`."""

def adjoint(input: Tensor) -> Tensor:
    """Return a tensor with the last two dims swapped, and conjugated if it is complex; for a real one, this is a view."""

def affine(input: Tensor, mul: builtins.float, add: builtins.float) -> Tensor:
    """Return input * mul + add."""

def alias_copy(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of the tensor, as `clone`."""

def all(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return whether all elements over `dim` are nonzero, as 0 or 1 in uint8 for uint8; True without elements."""

def allclose(input: Tensor, other: Tensor, rtol: builtins.float = ..., atol: builtins.float = ..., equal_nan: builtins.bool = ...) -> builtins.bool:
    """Return whether `isclose` holds for all elements."""

def amax(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the largest element over `dim`; nan if an element is nan."""

def amin(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the smallest element over `dim`; nan if an element is nan."""

def aminmax(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
    """Return the smallest and the largest element over `dim`, in one pass; both are nan if an element is nan."""

def angle(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the angle of x in radians, from -pi to pi; for a real number it is 0, or pi below 0."""

def any(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return whether any element over `dim` is nonzero, as 0 or 1 in uint8 for uint8; False without elements."""

def arange(start: builtins.float, end: builtins.float | None = ..., step: builtins.float = ..., *, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return the values start, start+step, ... that are less than end; arange(n) starts at 0."""

def arange_step(start: builtins.float, end: builtins.float, step: builtins.float, *, dtype: Any = ..., device: Any = ...) -> Tensor:
    """Return `mg.arange` with a step, under candle's name."""

def arccos(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the arccosine of x; nan outside [-1, 1].  Gradient: -g/sqrt(1 - x**2), which is -inf at -1 and 1."""

def arccos_(input: Tensor) -> Tensor:
    """Apply `acos` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def arccosh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the inverse hyperbolic cosine of x; nan for x < 1.  Gradient: g/sqrt(x**2 - 1), which is inf at 1."""

def arccosh_(input: Tensor) -> Tensor:
    """Apply `acosh` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def arcsin(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the arcsine of x; nan outside [-1, 1].  Gradient: g/sqrt(1 - x**2), which is inf at -1 and 1."""

def arcsin_(input: Tensor) -> Tensor:
    """Apply `asin` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def arcsinh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the inverse hyperbolic sine of x.  Gradient: g/sqrt(x**2 + 1), also where the square would overflow."""

def arcsinh_(input: Tensor) -> Tensor:
    """Apply `asinh` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def arctan(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the arctangent of x.  Gradient: g/(1 + x**2)."""

def arctan2(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return the angle of the point (other, input) in radians, from -pi to pi."""

def arctan_(input: Tensor) -> Tensor:
    """Apply `atan` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def arctanh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the inverse hyperbolic tangent of x; nan outside [-1, 1], -inf at -1, and inf at 1."""

def arctanh_(input: Tensor) -> Tensor:
    """Apply `atanh` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def are_deterministic_algorithms_enabled() -> builtins.bool:
    """Return the mode that `use_deterministic_algorithms` has set; results are deterministic in both modes."""

def argmax(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the position of the largest element, of all elements or along `dim`, in int64."""

def argmin(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the position of the smallest element, of all elements or along `dim`, in int64."""

def argsort(input: Tensor, dim: builtins.int = ..., descending: builtins.bool = ..., stable: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the positions that sort the elements along `dim`."""

def argwhere(input: Tensor) -> Tensor:
    """Return the indices of all nonzero elements as an int64 matrix, with one row per element, as `nonzero`."""

def as_dtype(obj: builtins.object) -> DType:
    """Return the DType for `obj`: a DType, a name, a NumPy dtype or scalar type, or Python's bool, int, float, complex."""

def as_strided(x: Tensor, size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int], storage_offset: builtins.int | None = ...) -> Tensor:
    """Return a view with any shape and strides over the storage, after a check of the storage's bounds."""

def as_strided_copy(input: Tensor, size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int], storage_offset: builtins.int | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of the result of `Tensor.as_strided`, a view of the storage with any shape and strides."""

def as_strided_scatter(input: Tensor, src: Tensor, size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int], storage_offset: builtins.int | None = ...) -> Tensor:
    """Return a copy of the tensor in which src replaces the elements that size, stride and offset specify."""

def as_tensor(data: Any, dtype: Any = ..., device: Any = ...) -> Tensor:
    """Return data as a tensor, without a copy if possible."""

def asarray(obj: Any, *, dtype: Any = ..., device: Any = ..., copy: builtins.bool | None = ..., requires_grad: builtins.bool | None = ...) -> Tensor:
    """Return an object as a tensor, which shares its memory if this is possible."""

def asin(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the arcsine of x; nan outside [-1, 1].  Gradient: g/sqrt(1 - x**2), which is inf at -1 and 1."""

def asin_(input: Tensor) -> Tensor:
    """Apply `asin` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def asinh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the inverse hyperbolic sine of x.  Gradient: g/sqrt(x**2 + 1), also where the square would overflow."""

def asinh_(input: Tensor) -> Tensor:
    """Apply `asinh` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def atan(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the arctangent of x.  Gradient: g/(1 + x**2)."""

def atan2(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return the angle of the point (other, input) in radians, from -pi to pi."""

def atan_(input: Tensor) -> Tensor:
    """Apply `atan` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def atanh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the inverse hyperbolic tangent of x; nan outside [-1, 1], -inf at -1, and inf at 1."""

def atanh_(input: Tensor) -> Tensor:
    """Apply `atanh` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def atleast_1d(*tensors: Tensor) -> Tensor | builtins.tuple[Tensor, ...]:
    """Return views with at least one dim: shape () becomes (1,); a tuple for several tensors."""

def atleast_2d(*tensors: Tensor) -> Tensor | builtins.tuple[Tensor, ...]:
    """Return views with at least two dims: shape (n,) becomes (1, n); a tuple for several tensors."""

def atleast_3d(*tensors: Tensor) -> Tensor | builtins.tuple[Tensor, ...]:
    """Return views with at least three dims: (n,) becomes (1, n, 1), and (n, m) becomes (n, m, 1)."""

def avg_pool1d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = ..., padding: builtins.int | Sequence[builtins.int] = ..., ceil_mode: builtins.bool = ..., count_include_pad: builtins.bool = ...) -> Tensor:
    """Return the mean of each window along the last dim; see `avg_pool2d`."""

def backward(y: Tensor, gradient: Tensor | None = ..., retain_graph: builtins.bool | None = ..., create_graph: builtins.bool = ..., inputs: Tensor | Sequence[Tensor] | None = ...) -> GradStore:
    """Compute the gradients of y with respect to every Var that it depends on, and add each to the Var's `.grad`."""

def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: builtins.complex = ..., alpha: builtins.complex = ..., out: Tensor | None = ...) -> Tensor:
    """Return beta * input + alpha * batch1 @ batch2 for batches of matrices; see `addmm` and `bmm`."""

def bartlett_window(window_length: builtins.int, periodic: builtins.bool = ..., *, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ...) -> Tensor:
    """Return the Bartlett window, 1 - |t|, a triangle."""

def bernoulli(input: Tensor, p: builtins.float | None = ..., *, generator: Any = ..., out: Tensor | None = ...) -> Tensor:
    """Return 1 with the probability that each element contains, otherwise 0, in the dtype of the input."""
bf16: DType
bfloat16: DType

def bincount(input: Tensor, weights: Tensor | None = ..., minlength: builtins.int = ...) -> Tensor:
    """Return the number of occurrences of each integer from 0 on in a vector, or the sum of their weights."""

def binomial(count: Tensor, prob: Tensor, generator: Any = ...) -> Tensor:
    """Return the numbers of successes in `count` trials, each of probability `prob`, in the dtype of `prob`."""

def bitwise_and(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return the bits that are set in both operands; for bool, this is `and`."""

def bitwise_left_shift(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return the bits of the input, shifted to the left by `other`."""

def bitwise_not(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the input with all bits flipped; for bool, this is `not`.  Raises DTypeError for floats."""

def bitwise_or(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return the bits that are set in at least one operand; for bool, this is `or`."""

def bitwise_right_shift(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input / 2**other, rounded down."""

def bitwise_xor(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return the bits that are set in exactly one operand; for bool, this is `!=`."""

def blackman_window(window_length: builtins.int, periodic: builtins.bool = ..., *, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ...) -> Tensor:
    """Return the Blackman window, 0.42 + 0.5*cos(pi*t) + 0.08*cos(2*pi*t)."""

def block_diag(*tensors: Tensor) -> Tensor:
    """Return a matrix with the matrices as blocks along its diagonal, and zeros elsewhere; (n,) counts as (1, n)."""

def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the matrix product of each pair of matrices in two batches (b, n, m) and (b, m, p)."""
bool: DType
bool_: DType

def broadcast_shapes(*shapes: builtins.int | Sequence[builtins.int]) -> builtins.tuple[builtins.int, ...]:
    """Return the shape to which all shapes broadcast.  Raises ShapeError if two sizes differ and neither is 1."""

def broadcast_tensors(*tensors: Tensor) -> builtins.tuple[Tensor, ...]:
    """Return views of all tensors, expanded to the shape to which they broadcast."""

def broadcast_to(input: Tensor, size: builtins.int | Sequence[builtins.int]) -> Tensor:
    """Return `expand` of the tensor to a shape that is a single argument."""

def bucketize(input: Tensor | builtins.float, boundaries: Tensor, *, out_int32: builtins.bool = ..., right: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return the index of the interval between sorted boundaries in which each element is; see `searchsorted`."""
c128: DType
c64: DType

def can_cast(from_: Any, to: Any) -> builtins.bool:
    """Return whether dtype `from_` can be cast to dtype `to` under PyTorch's rules."""

def cartesian_prod(*tensors: Tensor) -> Tensor:
    """Return all combinations of one element from each vector, as the rows of a matrix; a single vector itself."""

def cast(input: Tensor, dtype: Any, *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of the values in another dtype."""

def cat(tensors: Sequence[Tensor], dim: builtins.int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Join tensors along an existing dim, in the promoted dtype; channels last, if all tensors are."""

def cdist(x1: Tensor, x2: Tensor, p: builtins.float = ..., compute_mode: builtins.str = ...) -> Tensor:
    """Return the distance of order p between each row of x1 and each row of x2."""
cdouble: DType

def ceil(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the smallest integer that is not less than x.  Gradient: 0."""

def ceil_(input: Tensor) -> Tensor:
    """Apply `ceil` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def celu(input: Tensor, alpha: Tensor | builtins.float = ..., inplace: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return input where it is positive, otherwise alpha * (exp(input/alpha) - 1)."""
cfloat: DType

def chain_matmul(*matrices: Tensor) -> Tensor:
    """Return the product of matrices; this is PyTorch's older form of `linalg.multi_dot`, which takes a list."""

def channel_shuffle(input: Tensor, groups: builtins.int) -> Tensor:
    """Return images (N, C, ...) with permuted channels: the first channel of each group, then the second, and so on."""
channels_last: Any
channels_last_3d: Any

def checkpoint(fn: Any, *args: Any, preserve_rng_state: builtins.bool = ..., use_reentrant: builtins.bool | None = ..., context_fn: Any = ..., determinism_check: builtins.str = ..., debug: builtins.bool = ..., early_stop: builtins.bool = ..., **kwargs: Any) -> Any:
    """Call `fn(*args, **kwargs)`, save only its arguments, and run it again in the backward pass."""

def cholesky(input: Tensor, upper: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
    """Return the Cholesky factor of symmetric positive definite matrices, as `mg.linalg.cholesky`."""

def cholesky_inverse(input: Tensor, upper: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the inverse of a matrix, from the factor that `cholesky` returned for the matrix."""

def cholesky_solve(input: Tensor, input2: Tensor, upper: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return X with A @ X = input, from the factor `input2` that `cholesky` returned for A."""

def chunk(input: Tensor, chunks: builtins.int, dim: builtins.int = ...) -> builtins.tuple[Tensor, ...]:
    """Return views of at most `chunks` parts of equal length along `dim`; the last part may be shorter."""

def clamp(input: Tensor, min: Any = ..., max: Any = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return min(max(input, min), max); either bound may be None, a number or a tensor."""

def clamp_(input: Tensor, min: Any = ..., max: Any = ...) -> Tensor:
    """Apply `clamp` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def clamp_max(input: Tensor, max: Any, *, out: Tensor | None = ...) -> Tensor:
    """Return the smaller of the input and `max`."""

def clamp_max_(input: Tensor, max: Any) -> Tensor:
    """Apply `clamp_max` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def clamp_min(input: Tensor, min: Any, *, out: Tensor | None = ...) -> Tensor:
    """Return the larger of the input and `min`."""

def clamp_min_(input: Tensor, min: Any) -> Tensor:
    """Apply `clamp_min` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def clip(input: Tensor, min: Any = ..., max: Any = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return min(max(input, min), max); either bound may be None, a number or a tensor."""

def clip_(input: Tensor, min: Any = ..., max: Any = ...) -> Tensor:
    """Apply `clamp` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def clone(input: Tensor, *, memory_format: Any = ...) -> Tensor:
    """Return a copy in a separate storage, in the memory format of the input by default.  Gradient: g."""

def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """Join tensors along the second dim; a number or a vector counts as a column."""

def combinations(input: Tensor, r: builtins.int = ..., with_replacement: builtins.bool = ...) -> Tensor:
    """Return all combinations of r elements of a vector as the rows of a matrix, in lexicographic order of positions."""

def complex(real: Tensor | builtins.float, imag: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return the complex number real + i*imag."""
complex128: DType
complex64: DType

def composed(*, namespace: Any = ..., method: builtins.bool | None = ..., in_place: builtins.bool = ..., out: builtins.bool | None = ..., floats: builtins.bool = ..., of: Any = ..., writes: builtins.tuple[builtins.str, ...] = ..., channels_last: builtins.bool = ..., spelled: Any = ..., older: builtins.tuple[builtins.str, ...] = ...) -> Any:
    """Declare an op that is composed of other ops: the body is its definition, in tensor code."""

def concat(tensors: Sequence[Tensor], dim: builtins.int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Join tensors along an existing dim, in the promoted dtype; channels last, if all tensors are."""

def concatenate(tensors: Sequence[Tensor], dim: builtins.int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Join tensors along an existing dim, in the promoted dtype; channels last, if all tensors are."""

def conj(input: Tensor) -> Tensor:
    """Return the conjugate: a new tensor for a complex dtype, and a real tensor itself.  Gradient: the conjugate of g."""

def conj_physical(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the conjugate of x; a real number is its own conjugate.  Gradient: the conjugate of g."""

def constant_pad_nd(input: Tensor, pad: builtins.int | Sequence[builtins.int], value: builtins.complex = ...) -> Tensor:
    """Return the tensor, surrounded by elements of one value."""

def contiguous(input: Tensor, memory_format: Any = ...) -> Tensor:
    """Return a row-major copy without gaps, or one in another memory format; the tensor itself if it has this order."""
contiguous_format: Any

def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: builtins.int | Sequence[builtins.int] = ..., padding: builtins.int | Sequence[builtins.int] | builtins.str = ..., dilation: builtins.int | Sequence[builtins.int] = ..., groups: builtins.int = ...) -> Tensor:
    """Return the convolution along one dim of signals (N, C, W) with a weight (out, C / groups, kW); see `conv2d`."""

def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: builtins.int | Sequence[builtins.int] = ..., padding: builtins.int | Sequence[builtins.int] | builtins.str = ..., dilation: builtins.int | Sequence[builtins.int] = ..., groups: builtins.int = ...) -> Tensor:
    """Return the convolution of images (N, C, H, W), or of one (C, H, W), with a weight (out, C / groups, kH, kW)."""

def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: builtins.int | Sequence[builtins.int] = ..., padding: builtins.int | Sequence[builtins.int] | builtins.str = ..., dilation: builtins.int | Sequence[builtins.int] = ..., groups: builtins.int = ...) -> Tensor:
    """Convolve volumes (N, C, D, H, W) along three dims with a weight (out, C / groups, kD, kH, kW); see `conv2d`."""

def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: builtins.int | Sequence[builtins.int] = ..., padding: builtins.int | Sequence[builtins.int] = ..., output_padding: builtins.int | Sequence[builtins.int] = ..., groups: builtins.int = ..., dilation: builtins.int | Sequence[builtins.int] = ...) -> Tensor:
    """Return the transposed convolution along one dim; see `conv_transpose2d`."""

def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: builtins.int | Sequence[builtins.int] = ..., padding: builtins.int | Sequence[builtins.int] = ..., output_padding: builtins.int | Sequence[builtins.int] = ..., groups: builtins.int = ..., dilation: builtins.int | Sequence[builtins.int] = ...) -> Tensor:
    """Return the transposed convolution of images (N, C, H, W) with a weight (C, out / groups, kH, kW)."""

def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: builtins.int | Sequence[builtins.int] = ..., padding: builtins.int | Sequence[builtins.int] = ..., output_padding: builtins.int | Sequence[builtins.int] = ..., groups: builtins.int = ..., dilation: builtins.int | Sequence[builtins.int] = ...) -> Tensor:
    """Return the transposed convolution along three dims; see `conv_transpose2d`."""

def copysign(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return |input| with the sign of other; -0.0 and nan have a sign as well."""

def corrcoef(input: Tensor) -> Tensor:
    """Return the correlation matrix of the rows of the input; its elements, or both parts of them, are from -1 to 1."""

def cos(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the cosine of x.  Gradient: -g*sin(x)."""

def cos_(input: Tensor) -> Tensor:
    """Apply `cos` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def cosh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the hyperbolic cosine of x.  Gradient: g*sinh(x)."""

def cosh_(input: Tensor) -> Tensor:
    """Apply `cosh` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def cosine_similarity(x1: Tensor, x2: Tensor, dim: builtins.int = ..., eps: builtins.float = ...) -> Tensor:
    """Return the cosine of the angle between vectors along `dim`; the operands broadcast."""

def count_nonzero(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ...) -> Tensor:
    """Return the number of nonzero elements over `dim`, in int64; nan is nonzero."""

def cov(input: Tensor, *, correction: builtins.int = ..., fweights: Tensor | None = ..., aweights: Tensor | None = ...) -> Tensor:
    """Return the covariance matrix of the rows of the input, whose columns are observations."""

def cross(input: Tensor, other: Tensor, dim: builtins.int | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the cross products of vectors of length 3 along `dim`; the operands broadcast."""

def cummax(input: Tensor, dim: builtins.int, *, out: Tensor | None = ...) -> Any:
    """Return the cumulative maximum along `dim` and its positions, as the named tuple (values, indices)."""

def cummin(input: Tensor, dim: builtins.int, *, out: Tensor | None = ...) -> Any:
    """Return the cumulative minimum along `dim` and its positions, as the named tuple (values, indices)."""

def cumprod(input: Tensor, dim: builtins.int, *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
    """Return the cumulative product along `dim`: at each position, the product of the elements up to this position."""

def cumsum(input: Tensor, dim: builtins.int, *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
    """Return the cumulative sum along `dim`: at each position, the sum of the elements up to this position."""

def cumulative_trapezoid(y: Tensor, x: Tensor | None = ..., *, dx: Any = ..., dim: builtins.int = ...) -> Tensor:
    """Return the integrals from the first sample to each later sample along `dim`; see `trapezoid`."""

def debug(enabled: builtins.bool = ...) -> Any:
    """Open a `with` block in which every recorded op stores the line of user code, for errors and pictures."""

def default_complex() -> DType:
    """Return the dtype to which Python complex numbers are converted, whose parts have the default float dtype."""

def default_device() -> Any:
    """Return the device of tensors that are created without a `device` argument."""

def default_float() -> DType:
    """Return the dtype to which Python floats are converted, and of new float tensors without a given dtype."""
default_generator: Any

def deg2rad(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Convert degrees to radians, x*pi/180.  Gradient: g*pi/180."""

def deg2rad_(input: Tensor) -> Tensor:
    """Apply `deg2rad` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def det(input: Tensor) -> Tensor:
    """Return the determinants of square matrices, as `mg.linalg.det`."""

def detach(self: Any) -> Tensor:
    """Return a tensor with the same storage, without history."""

def detach_(x: Tensor) -> Tensor:
    """Detach x from its history, in place, and return x: later results pass no gradient through x."""
device = Device

def diag(input: Tensor, diagonal: builtins.int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return a matrix with a vector as a diagonal and zeros elsewhere, or a copy of a diagonal of a matrix."""

def diag_embed(input: Tensor, offset: builtins.int = ..., dim1: builtins.int = ..., dim2: builtins.int = ...) -> Tensor:
    """Return matrices that have the last dim of the input as a diagonal, and zeros elsewhere."""

def diagflat(input: Tensor, offset: builtins.int = ...) -> Tensor:
    """Return a matrix with all elements of the input, in row-major order, as a diagonal, and zeros elsewhere."""

def diagonal(input: Tensor, offset: builtins.int = ..., dim1: builtins.int = ..., dim2: builtins.int = ...) -> Tensor:
    """Return a view of the diagonal of two dims, as the last dim.  Gradient: g on the diagonal, and 0 elsewhere."""

def diagonal_copy(input: Tensor, offset: builtins.int = ..., dim1: builtins.int = ..., dim2: builtins.int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of the result of `diagonal`, in separate memory."""

def diagonal_scatter(input: Tensor, src: Tensor, offset: builtins.int = ..., dim1: builtins.int = ..., dim2: builtins.int = ...) -> Tensor:
    """Return a copy of the tensor in which src replaces `diagonal(input, offset, dim1, dim2)`."""

def diff(input: Tensor, n: builtins.int = ..., dim: builtins.int = ..., prepend: Tensor | None = ..., append: Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the n-th differences along `dim`: n times, each element minus the element before it."""

def digamma(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the derivative of lgamma; -inf at 0, inf at -0.0, and nan at negative integers."""

def div(input: Tensor | builtins.float, other: Tensor | builtins.float, *, rounding_mode: Any = ..., out: Tensor | None = ...) -> Tensor:
    """Return input/other, rounded if rounding_mode is "floor" or "trunc"; without it, integers become floats."""

def divide(input: Tensor | builtins.float, other: Tensor | builtins.float, *, rounding_mode: Any = ..., out: Tensor | None = ...) -> Tensor:
    """Return input/other, rounded if rounding_mode is "floor" or "trunc"; without it, integers become floats."""

def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the inner product of two vectors of the same length."""
double: DType

def dsplit(input: Tensor, sections: builtins.int | Sequence[builtins.int] | Tensor) -> builtins.tuple[Tensor, ...]:
    """Return views of parts along the third dim."""

def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """Join tensors along the third dim; a vector of n counts as (1, n, 1), a matrix as (n, m, 1)."""
dtype = DType
e: Any

def einsum(equation: builtins.str, *operands: Tensor) -> Tensor:
    """Return the sum of products that an equation such as "ij,jk->ik" specifies (Einstein summation)."""

def elementwise(*, dtype: Any, vjp: Any = ..., linear: Any = ..., jvp: Any = ..., batch: Any = ..., outputs: builtins.tuple[builtins.str, ...] = ..., zeros: builtins.bool = ..., namespace: Any = ..., method: builtins.bool | None = ..., name: builtins.str = ..., inplace: builtins.bool = ..., front: builtins.str = ..., otherwise: Any = ..., sole: Any = ..., by_number: Any = ..., fuse: builtins.bool | None = ..., label: builtins.str = ...) -> Any:
    """Declare an elementwise op over any number of operands; the body is its scalar function."""

def elu(input: Tensor, alpha: Tensor | builtins.float = ..., inplace: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return input where it is positive, otherwise alpha * (exp(input) - 1)."""

def empty(*size: builtins.int | Sequence[builtins.int], dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., memory_format: Any = ..., out: Tensor | None = ...) -> Tensor:
    """Return a tensor with uninitialized elements, which must be written before they are read."""

def empty_cache(device: builtins.str = ...) -> None:
    """Return the device's cached blocks to the system; memory in use is not affected."""

def empty_like(input: Tensor, *, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., memory_format: Any = ...) -> Tensor:
    """Return an uninitialized tensor with the shape, dtype and device of the input."""

def empty_permuted(size: Sequence[builtins.int], physical_layout: Sequence[builtins.int], *, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., pin_memory: builtins.bool | None = ...) -> Tensor:
    """Return a tensor with uninitialized elements, without gaps."""

def empty_strided(size: Sequence[builtins.int], stride: Sequence[builtins.int], *, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., pin_memory: builtins.bool | None = ...) -> Tensor:
    """Return a tensor with uninitialized elements, of a size and with the given strides, in elements."""

def eq(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input == other."""

def equal(input: Tensor, other: Tensor) -> builtins.bool:
    """Return whether two tensors have the same shape and equal elements; nan is not equal to nan."""

def erf(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the error function of x.  Gradient: g*2/sqrt(pi)*exp(-x**2)."""

def erf_(input: Tensor) -> Tensor:
    """Apply `erf` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def erfc(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return 1 - erf(x) without cancellation for large x.  Gradient: -g*2/sqrt(pi)*exp(-x**2)."""

def erfc_(input: Tensor) -> Tensor:
    """Apply `erfc` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def erfinv(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the y with erf(y) = x; -inf at -1, inf at 1, and nan outside [-1, 1]."""

def exp(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return e**x; exp(-inf) is 0, and exp(inf) is inf.  Gradient: g*exp(x)."""

def exp2(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return 2**x.  Gradient: g*2**x*ln(2)."""

def exp2_(input: Tensor) -> Tensor:
    """Apply `exp2` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def exp_(input: Tensor) -> Tensor:
    """Apply `exp` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def expand(input: Tensor, *shape: builtins.int | Sequence[builtins.int]) -> Tensor:
    """Return a view of a larger shape, in which dims of length 1 are expanded and leading dims are added."""

def expand_copy(input: Tensor, size: builtins.int | Sequence[builtins.int], *, implicit: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return a copy of the result of `expand`, in separate memory."""

def explain(y: Tensor, limit: builtins.int = ...) -> None:
    """Print how y was computed: the layout of its memory, then each recorded op from the first to the last."""

def expm1(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return exp(x) - 1 without cancellation near 0.  Gradient: g*exp(x)."""

def expm1_(input: Tensor) -> Tensor:
    """Apply `expm1` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def eye(n: builtins.int, m: builtins.int | None = ..., *, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return an n x m matrix with ones on the diagonal and zeros elsewhere; by default, m is n."""
f16: DType
f32: DType
f64: DType

def fill(input: Tensor, value: Tensor | builtins.float) -> Tensor:
    """Return a tensor filled with `value`, with the shape and dtype of the input."""

def fill_(x: Tensor, value: builtins.float) -> Tensor:
    """Set every element to `value`, in place."""

def finfo(type: Any = ...) -> Any:
    """Return the limits of a float dtype, or of the parts of a complex dtype; by default of the default float dtype."""

def fix(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return x rounded towards zero to an integer.  Gradient: 0."""

def fix_(input: Tensor) -> Tensor:
    """Apply `trunc` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def flatten(input: Tensor, start_dim: builtins.int = ..., end_dim: builtins.int = ...) -> Tensor:
    """Return the tensor with the dims from start_dim to end_dim, which is included, merged into one dim."""

def flatten_from(x: Tensor, start_dim: builtins.int) -> Tensor:
    """Flatten the dims from `start_dim` to the last into one."""

def flatten_to(x: Tensor, end_dim: builtins.int) -> Tensor:
    """Flatten the dims from the first to `end_dim`, which is included, into one."""

def flip(input: Tensor, *dims: builtins.int | Sequence[builtins.int]) -> Tensor:
    """Return a view with the elements in reverse order along each of `dims`; it has negative strides."""

def fliplr(input: Tensor) -> Tensor:
    """Return a view with the second dim, the columns, in reverse order."""

def flipud(input: Tensor) -> Tensor:
    """Return a view with the first dim, the rows, in reverse order."""
float: DType
float16: DType
float32: DType
float64: DType

def float_power(input: Tensor | builtins.float, exponent: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input**exponent, computed and returned in float64, or in complex128.  Gradient: the same as for `pow`."""

def floor(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the largest integer that is not greater than x.  Gradient: 0."""

def floor_(input: Tensor) -> Tensor:
    """Apply `floor` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def floor_divide(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return floor(input/other), as Python's `//`; for integers, the result is 0 if other is 0.  Gradient: 0."""

def fmax(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return the larger of two elements; if one of them is nan, return the other one."""

def fmin(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return the smaller of two elements; if one of them is nan, return the other one."""

def fmod(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input - other*trunc(input/other), as C's fmod; the result has the sign of input."""

def frac(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the fraction x - trunc(x), which has the sign of x; nan for inf and -inf.  Gradient: g."""

def frac_(input: Tensor) -> Tensor:
    """Apply `frac` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def frexp(input: Tensor, *, out: Tensor | None = ...) -> Any:
    """Return the mantissa and the exponent of each element: input = mantissa * 2**exponent."""

def from_dlpack(ext_tensor: Any, *, device: Any = ..., copy: builtins.bool | None = ...) -> Tensor:
    """Return a tensor that shares memory with an object of another library."""

def from_file(filename: builtins.str, shared: builtins.bool | None = ..., size: builtins.int = ..., *, dtype: Any = ..., requires_grad: builtins.bool = ...) -> Tensor:
    """Return a vector over the first `size` elements of a file, which is mapped into memory."""

def from_numpy(ndarray: Any) -> Tensor:
    """Return a CPU tensor that shares the array's memory: a write to either is visible in both."""

def frombuffer(buffer: Any, *, dtype: Any, count: builtins.int = ..., offset: builtins.int = ..., requires_grad: builtins.bool = ...) -> Tensor:
    """Return a vector over the memory of an object with Python's buffer protocol, which it shares."""

def full(size: builtins.int | Sequence[builtins.int], fill_value: builtins.float, *, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return a tensor filled with one value; the default dtype is that of a Python number with this value."""

def full_like(input: Tensor, fill_value: builtins.float, *, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., memory_format: Any = ...) -> Tensor:
    """Return a tensor filled with one value, with the shape, dtype and device of the input."""

def gather(input: Tensor, dim: builtins.int, index: Tensor, *, sparse_grad: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return the elements of input at the positions that index contains along `dim`."""

def gcd(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return the greatest common divisor of |input| and |other|; gcd(0, 0) is 0."""

def gcd_(input: Tensor | builtins.float, other: Tensor | builtins.float) -> Tensor:
    """Apply `gcd` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def ge(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input >= other."""

def gelu(input: Tensor, approximate: builtins.str = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return input * Phi(input), with the distribution function Phi of the standard normal distribution."""

def geqrf(input: Tensor, *, out: Tensor | None = ...) -> Any:
    """Return (a, tau): the packed QR factors of matrices (..., m, n), with min(m, n) reflections."""

def ger(input: Tensor, vec2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the outer product of two vectors: the products of each element of the first with each of the second."""

def get_allocator(kind: builtins.str) -> Any:
    """Return the allocator of a kind of device."""

def get_default_device() -> Any:
    """Return the device of tensors that are created without a `device` argument."""

def get_default_dtype() -> DType:
    """Return the dtype to which Python floats are converted, and of new float tensors without a given dtype."""

def get_deterministic_debug_mode() -> builtins.int:
    """Return 0 without deterministic algorithms, 1 with `warn_only`, and otherwise 2."""

def get_device(x: Tensor) -> builtins.int:
    """Return the index of the tensor's CUDA device, or -1 for a tensor on the CPU."""

def get_float32_matmul_precision() -> builtins.str:
    """Return "highest", always; see `set_float32_matmul_precision`."""

def get_num_threads() -> builtins.int:
    """Return the number of threads that share a kernel."""

def get_rng_state() -> Tensor:
    """Return the state of the default generator."""

def grad(outputs: Tensor | Sequence[Tensor], inputs: Tensor | Sequence[Tensor], grad_outputs: Tensor | Sequence[Tensor | None] | None = ..., retain_graph: builtins.bool | None = ..., create_graph: builtins.bool = ..., allow_unused: builtins.bool = ...) -> Any:
    """Compute the gradients of outputs with respect to inputs, Vars or intermediate values; `.grad` does not change."""

def gradient(input: Tensor, *, spacing: Any = ..., dim: builtins.int | Sequence[builtins.int] | None = ..., edge_order: builtins.int = ...) -> Any:
    """Return the derivatives of a sampled function along each dim, as a tuple with one tensor per dim."""

def greater(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input > other."""

def greater_equal(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input >= other."""

def grid_sampler(input: Tensor, grid: Tensor, interpolation_mode: builtins.int, padding_mode: builtins.int, align_corners: builtins.bool) -> Tensor:
    """Call `nn.functional.grid_sample` with ints for the modes."""

def grid_sampler_2d(input: Tensor, grid: Tensor, interpolation_mode: builtins.int, padding_mode: builtins.int, align_corners: builtins.bool) -> Tensor:
    """Call `grid_sampler` for images with two dims."""

def grid_sampler_3d(input: Tensor, grid: Tensor, interpolation_mode: builtins.int, padding_mode: builtins.int, align_corners: builtins.bool) -> Tensor:
    """Call `grid_sampler` for images with three dims."""

def gt(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input > other."""
half: DType

def hamming_window(window_length: builtins.int, periodic: builtins.bool = ..., alpha: builtins.float = ..., beta: builtins.float = ..., *, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ...) -> Tensor:
    """Return the Hamming window, alpha + beta*cos(pi*t)."""

def hann_window(window_length: builtins.int, periodic: builtins.bool = ..., *, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ...) -> Tensor:
    """Return the Hann window, (1 + cos(pi*t))/2 for t from -1 to 1."""

def hardshrink(input: Tensor, lambd: Tensor | builtins.float = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return input where |input| > lambd, otherwise 0; nan stays nan."""

def hash_tensor(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ..., *, keepdim: builtins.bool = ..., mode: builtins.int = ..., out: Tensor | None = ...) -> Tensor:
    """Return the exclusive or of the bits of the elements over `dim`, in uint64; not differentiable."""

def heaviside(input: Tensor | builtins.float, values: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return the Heaviside step function: 0 for input < 0, 1 for input > 0, `values` at 0, and 0 for nan."""

def histc(input: Tensor, bins: builtins.int = ..., min: builtins.float = ..., max: builtins.float = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the number of elements in each of `bins` bins of equal width from min to max, in the dtype of the input."""

def histogram(input: Tensor, bins: builtins.int | Tensor = ..., *, range: Sequence[builtins.float] | None = ..., weight: Tensor | None = ..., density: builtins.bool = ..., out: Tensor | None = ...) -> Any:
    """Count the elements in each bin, or sum their weights, and return (hist, bin_edges) in the dtype of the input."""

def histogramdd(input: Tensor, bins: Any, range: Sequence[builtins.float] | None = ..., weight: Tensor | None = ..., density: builtins.bool = ...) -> Any:
    """Count points in D-dimensional bins, or sum the weights of the points, and return (hist, bin_edges)."""

def hsplit(input: Tensor, sections: builtins.int | Sequence[builtins.int] | Tensor) -> builtins.tuple[Tensor, ...]:
    """Return views of parts along the second dim, or along the only dim of a vector."""

def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """Join tensors along the second dim; vectors are joined end to end."""

def hypot(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return sqrt(input**2 + other**2), also where the squares would overflow; inf if an operand is infinite."""

def i0(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the modified Bessel function I0: the mean of exp(x*cos(t)).  Gradient: g*i1(x)."""

def i0_(input: Tensor) -> Tensor:
    """Apply `i0` in place, and record it.  Raises GradientError for a Var outside no_grad."""
i16: DType
i32: DType
i64: DType
i8: DType

def igamma(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the regularized lower incomplete gamma function of the order `input` from 0 to `other`."""

def igammac(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the regularized upper incomplete gamma function, 1 - igamma(input, other), without cancellation."""

def iinfo(type: Any) -> Any:
    """Return the limits of an integer dtype: bits, max, min and dtype."""

def imag(input: Tensor) -> Tensor:
    """Return a view of the imaginary parts.  Gradient: i*g.  Raises DTypeError for a real tensor."""

def index_add(input: Tensor, dim: builtins.int, index: Tensor, source: Tensor, *, alpha: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
    """Return input with the slices of alpha * source added at the positions in the vector `index` along `dim`."""

def index_copy(input: Tensor, dim: builtins.int, index: Tensor, source: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return input with the slices at the positions in the vector `index` along `dim` replaced by those of source."""

def index_fill(input: Tensor, dim: builtins.int, index: Tensor, value: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input with the slices at the positions in the vector `index` along `dim` filled with one value."""

def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return input with the elements at input[indices] replaced by values, which broadcast."""

def index_put_(input: Tensor, indices: Any, values: Tensor, accumulate: builtins.bool = ...) -> Tensor:
    """Apply `index_put` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def index_reduce(input: Tensor, dim: builtins.int, index: Tensor, source: Tensor, reduce: builtins.str, *, include_self: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return input with each slice of source along `dim` reduced into the slice at its position in the vector `index`."""

def index_select(input: Tensor, dim: builtins.int, index: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the slices of input at the positions in the vector `index` along `dim`, in the order of the index."""
inf: Any

def initial_seed() -> builtins.int:
    """Return the seed of the default generator."""

def inner(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the inner products over the last dims of both operands; for a scalar operand, return the product."""
int: DType
int16: DType
int32: DType
int64: DType
int8: DType

def inverse(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the inverses of square matrices, as `mg.linalg.inv`."""

def is_complex(input: Tensor) -> builtins.bool:
    """Return whether the dtype is complex."""

def is_conj(x: Tensor) -> builtins.bool:
    """Return False: there is no such tensor."""

def is_deterministic_algorithms_warn_only_enabled() -> builtins.bool:
    """Return the value of `warn_only` that `use_deterministic_algorithms` has set."""

def is_floating_point(input: Tensor) -> builtins.bool:
    """Return whether the dtype is a float."""

def is_grad_enabled() -> builtins.bool:
    """Return whether ops are currently recorded in this thread or task."""

def is_inference(input: Tensor) -> builtins.bool:
    """Return whether a tensor was computed under `inference_mode`."""

def is_inference_mode_enabled() -> builtins.bool:
    """Return whether this thread or task is inside an `inference_mode` block."""

def is_neg(x: Tensor) -> builtins.bool:
    """Return False: there is no such tensor."""

def is_nonzero(input: Tensor) -> builtins.bool:
    """Return whether the only element is not zero.  Raises ArgumentError for another number of elements."""

def is_same_size(input: Tensor, other: Tensor) -> builtins.bool:
    """Return whether two tensors have the same shape."""

def is_signed(x: Tensor) -> builtins.bool:
    """Return whether the dtype has negative numbers."""

def is_tensor(obj: Any) -> builtins.bool:
    """Return whether an object is a tensor."""

def isclose(input: Tensor, other: Tensor, rtol: builtins.float = ..., atol: builtins.float = ..., equal_nan: builtins.bool = ...) -> Tensor:
    """Return whether input == other or |input - other| <= atol + rtol*|other|, for each element."""

def isfinite(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return whether x is neither infinite nor nan."""

def isin(elements: Tensor | builtins.float, test_elements: Tensor | builtins.float, *, assume_unique: builtins.bool = ..., invert: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return whether each element equals one of `test_elements`; nan does not equal any element."""

def isinf(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return whether x is inf or -inf."""

def isnan(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return whether x is nan."""

def isneginf(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return whether x is -inf."""

def isposinf(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return whether x is inf."""

def isreal(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return whether the imaginary part of x is 0; a real number has none."""

def istft(input: Tensor, n_fft: builtins.int, hop_length: builtins.int | None = ..., win_length: builtins.int | None = ..., window: Tensor | None = ..., center: builtins.bool = ..., normalized: builtins.bool = ..., onesided: builtins.bool | None = ..., length: builtins.int | None = ..., return_complex: builtins.bool = ...) -> Tensor:
    """Return the signal whose `stft` is nearest to the input: the sum of its frames, divided by that of their windows."""

def jit(function: Any = ..., *, fuse: builtins.bool = ..., verify: builtins.int = ...) -> Any:
    """Record a function once, and then run it as a list of launches without Python between them."""

def kaiser_window(window_length: builtins.int, periodic: builtins.bool = ..., beta: builtins.float = ..., *, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ...) -> Tensor:
    """Return the Kaiser window, i0(beta*sqrt(1 - t**2))/i0(beta)."""

def kernel(*, dtype: Any, shape: Any, vjp: Any = ..., linear: Any = ..., jvp: Any = ..., batch: Any = ..., joint: Any = ..., outputs: builtins.tuple[builtins.str, ...] = ..., zeros: builtins.bool = ..., name: builtins.str = ..., label: builtins.str = ..., namespace: Any = ..., method: builtins.bool = ..., in_place: builtins.bool = ..., out: builtins.bool = ..., floats: builtins.bool = ..., writes: builtins.tuple[builtins.str, ...] = ..., otherwise: Any = ..., sole: Any = ..., complex: builtins.bool = ...) -> Any:
    """Declare an op that has its own kernels."""

def kron(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the Kronecker product: the block at each position is this element of the input times the tensor other."""

def kthvalue(input: Tensor, k: builtins.int, dim: builtins.int = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
    """Return the k-th smallest element along `dim` and its position, as (values, indices)."""
layout = MemoryFormat

def lcm(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return the least common multiple of |input| and |other|, 0 if either is 0; a result that is too large wraps."""

def lcm_(input: Tensor | builtins.float, other: Tensor | builtins.float) -> Tensor:
    """Apply `lcm` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def ldexp(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input * 2**other.  Gradient, with the result y: g*2**other for input, and g*y*ln(2) for other."""

def ldexp_(input: Tensor | builtins.float, other: Tensor | builtins.float) -> Tensor:
    """Apply `ldexp` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def le(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input <= other."""

def leaky_relu(input: Tensor, negative_slope: Tensor | builtins.float = ..., inplace: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return input where it is positive, otherwise negative_slope * input."""

def lerp(input: Tensor | builtins.float, end: Tensor | builtins.float, weight: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input + weight * (end - input); the result is exactly `end` for the weight 1."""

def less(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input < other."""

def less_equal(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input <= other."""

def lgamma(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return log(|gamma(x)|); inf at 0 and at negative integers.  Gradient: g*digamma(x)."""

def linspace(start: builtins.complex, end: builtins.complex, steps: builtins.int, *, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return `steps` evenly spaced values from start to end, both included, on a line of complex numbers if one is."""

def load(f: Any, map_location: Any = ..., *, weights_only: builtins.bool | None = ..., mmap: builtins.bool | None = ...) -> Any:
    """Read a file that `save` or another library has written in the safetensors or .npz format."""

def lobpcg(A: Tensor, k: builtins.int | None = ..., B: Tensor | None = ..., X: Tensor | None = ..., n: builtins.int | None = ..., iK: Tensor | None = ..., niter: Any = ..., tol: Any = ..., largest: builtins.bool | None = ..., method: Any = ..., tracker: Any = ..., ortho_iparams: Any = ..., ortho_fparams: Any = ..., ortho_bparams: Any = ...) -> Any:
    """Return the k largest or smallest eigenvalues of symmetric matrices, and their eigenvectors."""

def log(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the natural logarithm; -inf at 0, and nan for x < 0.  Gradient: g/x."""

def log10(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the logarithm to base 10; -inf at 0, and nan for x < 0.  Gradient: g/(x*ln(10))."""

def log10_(input: Tensor) -> Tensor:
    """Apply `log10` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def log1p(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return log(1 + x) without cancellation near 0.  Gradient: g/(1+x)."""

def log1p_(input: Tensor) -> Tensor:
    """Apply `log1p` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def log2(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the logarithm to base 2; -inf at 0, and nan for x < 0.  Gradient: g/(x*ln(2))."""

def log2_(input: Tensor) -> Tensor:
    """Apply `log2` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def log_(input: Tensor) -> Tensor:
    """Apply `log` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def log_sigmoid(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return log(sigmoid(x)), without overflow.  Gradient: g*sigmoid(-x)."""

def log_softmax(input: Tensor, dim: builtins.int, dtype: Any = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return log(softmax(input)) along `dim`, computed as input - log(sum(exp(input))), which does not underflow."""

def logaddexp(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return log(exp(input) + exp(other)) without overflow."""

def logaddexp2(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return log2(2**input + 2**other) without overflow."""

def logcumsumexp(input: Tensor, dim: builtins.int, *, out: Tensor | None = ...) -> Tensor:
    """Return log(cumsum(exp(input))) along `dim`, without overflow.  Raises DTypeError for integers."""

def logdet(input: Tensor) -> Tensor:
    """Return the logarithms of the determinants of square matrices."""

def logical_and(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return whether both operands are nonzero."""

def logical_not(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return whether x is zero."""

def logical_or(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return whether at least one operand is nonzero."""

def logical_xor(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return whether exactly one operand is nonzero."""

def logit(input: Tensor, eps: Any = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return log(x/(1-x)), the inverse of sigmoid; nan for x outside [0, 1]."""

def logit_(input: Tensor, eps: Any = ...) -> Tensor:
    """Apply `logit` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def logspace(start: builtins.complex, end: builtins.complex, steps: builtins.int, base: builtins.float = ..., *, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return `steps` powers of base, whose exponents are `linspace(start, end, steps)`, with its rule for integers."""

def logsumexp(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None, keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return log(sum(exp(input))) over `dim`, without overflow of the exponentials."""
long: DType

def lt(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input < other."""

def lu(A: Tensor, pivot: builtins.bool = ..., get_infos: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
    """Return (LU, pivots) as `mg.linalg.lu_factor`, also for singular matrices."""

def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the solutions of systems from the factors of `mg.linalg.lu_factor`, as `mg.linalg.lu_solve`."""

def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: builtins.bool = ..., unpack_pivots: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
    """Return (P, L, U) with A = P @ L @ U from the results of `mg.linalg.lu_factor`."""

def manual_seed(seed: builtins.int) -> Any:
    """Restart the default generator: equal seeds produce equal numbers, with any number of threads."""

def masked_fill(input: Tensor, mask: Tensor, value: Tensor | builtins.float) -> Tensor:
    """Return a copy of the input with `value` where `mask` is True; input and mask broadcast."""

def masked_scatter(input: Tensor, mask: Tensor, source: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of the input with the elements of `source`, in their order, where `mask` is True."""

def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return a vector of the elements where `mask` is True, in row-major order; input and mask broadcast."""

def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the matrix product; batch dims broadcast."""

def matrix_exp(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the exponentials of square matrices: the sum of input^k / k! over all k."""

def matrix_power(input: Tensor, n: builtins.int, *, out: Tensor | None = ...) -> Tensor:
    """Return the n-th power of square matrices, as `mg.linalg.matrix_power`; n may be negative."""

def max(input: Tensor, dim: builtins.int | Tensor | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
    """Return the largest of all elements."""

def max_pool1d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = ..., padding: builtins.int | Sequence[builtins.int] = ..., dilation: builtins.int | Sequence[builtins.int] = ..., ceil_mode: builtins.bool = ..., return_indices: builtins.bool | None = ...) -> Any:
    """Return the largest element of each window along the last dim; see `max_pool2d`."""

def max_pool2d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = ..., padding: builtins.int | Sequence[builtins.int] = ..., dilation: builtins.int | Sequence[builtins.int] = ..., ceil_mode: builtins.bool = ..., return_indices: builtins.bool | None = ...) -> Any:
    """Return the largest element of each window of images (N, C, H, W), or of one image (C, H, W)."""

def max_pool3d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = ..., padding: builtins.int | Sequence[builtins.int] = ..., dilation: builtins.int | Sequence[builtins.int] = ..., ceil_mode: builtins.bool = ..., return_indices: builtins.bool | None = ...) -> Any:
    """Return the largest element of each window of the last three dims; see `max_pool2d`."""

def maximum(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return the larger element, or nan.  Gradient: g for the larger operand, g/2 each at ties, g for both at nan."""

def mean(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
    """Return the mean of the elements over `dim`; nan if there are no elements."""

def median(input: Tensor, dim: builtins.int | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
    """Return the median of all elements, or with `dim` the named tuple (values, indices) of the medians along `dim`."""
memory_format = MemoryFormat

def memory_stats(device: builtins.str = ...) -> Any:
    """Return the counters of a device's allocator, as `MemoryStats`."""

def meshgrid(*tensors: Tensor, indexing: builtins.str | None = ...) -> builtins.tuple[Tensor, ...]:
    """Return the coordinates of a grid: views of the vectors, each along its own dim and expanded along the other dims."""

def min(input: Tensor, dim: builtins.int | Tensor | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
    """Return the smallest of all elements."""

def minimum(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return the smaller element, or nan.  Gradient: g for the smaller operand, g/2 each at ties, g for both at nan."""

def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the product of two matrices, without batch dims."""

def mode(input: Tensor, dim: builtins.int = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
    """Return the most frequent element along `dim`, and the position of its last occurrence."""

def moveaxis(input: Tensor, source: builtins.int | Sequence[builtins.int], destination: builtins.int | Sequence[builtins.int]) -> Tensor:
    """Return `movedim(input, source, destination)`; `moveaxis` is NumPy's name of `movedim`."""

def movedim(input: Tensor, source: builtins.int | Sequence[builtins.int], destination: builtins.int | Sequence[builtins.int]) -> Tensor:
    """Return a view with some dims moved to other positions; the other dims keep their order."""

def msort(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the elements sorted along the first dim."""

def mul(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input * other, per element; shapes broadcast.  For bool, this is `and`.  Gradient: g*other and g*input."""

def multinomial(input: Tensor, num_samples: builtins.int, replacement: builtins.bool = ..., *, generator: Any = ..., out: Tensor | None = ...) -> Tensor:
    """Draw int64 positions from each row of weights, with probabilities proportional to the weights."""

def multiply(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input * other, per element; shapes broadcast.  For bool, this is `and`.  Gradient: g*other and g*input."""

def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the product of a matrix and a vector."""

def mvlgamma(input: Tensor, p: builtins.int, *, out: Tensor | None = ...) -> Tensor:
    """Return the logarithm of the multivariate gamma function of dimension p."""
nan: Any

def nan_to_num(input: Tensor, nan: builtins.float | None = ..., posinf: builtins.float | None = ..., neginf: builtins.float | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Replace nan by `nan`, inf by `posinf` and -inf by `neginf`."""

def nan_to_num_(input: Tensor, nan: builtins.float | None = ..., posinf: builtins.float | None = ..., neginf: builtins.float | None = ...) -> Tensor:
    """Apply `nan_to_num` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def nanmean(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
    """Return the mean over `dim` of the elements that are not nan; nan if all elements are nan."""

def nanmedian(input: Tensor, dim: builtins.int | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
    """Return `median` of the elements that are not nan; nan if all elements are nan."""

def nanquantile(input: Tensor, q: Tensor | builtins.float, dim: builtins.int | None = ..., keepdim: builtins.bool = ..., *, interpolation: builtins.str = ..., out: Tensor | None = ...) -> Tensor:
    """Return `quantile` of the elements that are not nan; nan if all elements are nan."""

def nansum(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
    """Return the sum over `dim` of the elements that are not nan; 0 if all elements are nan."""

def narrow(input: Tensor, dim: builtins.int, start: builtins.int, length: builtins.int) -> Tensor:
    """Return a view of `length` elements along `dim`, from `start`.  Gradient: g at these elements, and 0 elsewhere."""

def narrow_copy(input: Tensor, dim: builtins.int, start: builtins.int, length: builtins.int, *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of the result of `narrow`, in separate memory."""

def ndtr(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the cumulative distribution function of the standard normal distribution."""

def ne(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input != other."""

def neg(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return -x; unsigned integers wrap.  Gradient: -g."""

def neg_(input: Tensor) -> Tensor:
    """Apply `neg` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def negative(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return -x; unsigned integers wrap.  Gradient: -g."""

def negative_(input: Tensor) -> Tensor:
    """Apply `neg` in place, and record it.  Raises GradientError for a Var outside no_grad."""
newaxis: Any

def nextafter(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return the next number after input in the direction of other, in the dtype of the operands."""

def nonzero(input: Tensor, *, as_tuple: builtins.bool = ..., out: Tensor | None = ...) -> Any:
    """Return the indices of all nonzero elements as an int64 matrix, with one row per element."""

def nonzero_static(input: Tensor, *, size: builtins.int, fill_value: builtins.int = ..., out: Tensor | None = ...) -> Tensor:
    """Return the indices of the first `size` nonzero elements as an int64 matrix, with one row per element."""

def norm(input: Tensor, p: builtins.float | builtins.str | None = ..., dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., out: Tensor | None = ..., dtype: Any = ...) -> Tensor:
    """Return the norm of order `p` of the elements over `dim`, `sum(abs(x)**p)**(1/p)`."""

def normal(mean: builtins.float | Tensor, std: builtins.float | Tensor = ..., size: builtins.int | Sequence[builtins.int] | None = ..., *, generator: Any = ..., dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return samples from normal distributions."""

def not_equal(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input != other."""

def numel(input: Tensor) -> builtins.int:
    """Return the number of elements."""

def ones(*size: builtins.int | Sequence[builtins.int], dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return a tensor filled with ones; the default dtype is the default float."""

def ones_like(input: Tensor, *, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., memory_format: Any = ...) -> Tensor:
    """Return a tensor of ones with the shape, dtype and device of the input."""

def orgqr(input: Tensor, input2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the first columns of a product of reflections, as `mg.linalg.householder_product`; input2: tau."""

def ormqr(input: Tensor, input2: Tensor, input3: Tensor, left: builtins.bool = ..., transpose: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return Q @ input3 for the square product Q of the reflections of `mg.geqrf`, without computing Q."""

def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the outer product of two vectors: the products of each element of the first with each of the second."""

def override(**values: Any) -> Any:
    """Change settings inside a `with` block."""

def pairwise_distance(x1: Tensor, x2: Tensor, p: builtins.float = ..., eps: builtins.float = ..., keepdim: builtins.bool = ...) -> Tensor:
    """Return the norm of order p of x1 - x2 + eps along the last dim; the operands broadcast."""

def pca_lowrank(A: Tensor, q: builtins.int | None = ..., center: builtins.bool = ..., niter: builtins.int = ...) -> Any:
    """Return (U, S, V) of `svd_lowrank` for the rows of A minus their mean: a principal component analysis."""

def pdist(input: Tensor, p: builtins.float = ...) -> Tensor:
    """Return the distances of order p between all pairs of rows of a matrix (n, m), as a vector of n*(n - 1)/2."""

def permute(input: Tensor, *dims: builtins.int | Sequence[builtins.int]) -> Tensor:
    """Return a view with the dims in another order.  Gradient: g, permuted with the inverse order."""

def permute_copy(input: Tensor, *dims: builtins.int | Sequence[builtins.int], out: Tensor | None = ...) -> Tensor:
    """Return a copy of the result of `permute`, in separate memory."""
pi: Any

def pinverse(input: Tensor, rcond: builtins.float = ...) -> Tensor:
    """Return the Moore-Penrose inverses of matrices, as `mg.linalg.pinv` with rtol=rcond."""

def pixel_shuffle(input: Tensor, upscale_factor: builtins.int) -> Tensor:
    """Return images (..., C*r*r, H, W) as (..., C, H*r, W*r): each r*r channels become a square of r*r pixels."""

def pixel_unshuffle(input: Tensor, downscale_factor: builtins.int) -> Tensor:
    """Return images (..., C, H*r, W*r) as (..., C*r*r, H, W): each square of r*r pixels becomes r*r channels."""

def poisson(input: Tensor, generator: Any = ...) -> Tensor:
    """Return samples from Poisson distributions whose means are the elements of the input, in the dtype of the input."""

def polar(abs: Tensor | builtins.float, angle: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return the complex number abs*(cos(angle) + i*sin(angle))."""

def polygamma(n: builtins.int, input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the n-th derivative of digamma.  Gradient: g*polygamma(n + 1, input)."""

def positive(input: Tensor) -> Tensor:
    """Return the input itself.  Raises DTypeError for bool, as `neg` does."""

def pow(input: Tensor | builtins.float, exponent: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input**exponent, element by element; shapes broadcast."""

def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Return input where it is positive, otherwise weight * input."""
preserve_format: Any

def printoptions(precision: builtins.int | None = ..., threshold: builtins.float | None = ..., edgeitems: builtins.int | None = ..., linewidth: builtins.int | None = ..., profile: builtins.str | None = ..., sci_mode: builtins.bool | None = ...) -> Iterator[None]:
    """Set print options for a `with` block, in this thread or task: see `set_printoptions`."""

def prod(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
    """Return the product of the elements over `dim`; 1 if there are no elements."""

def promote(a: DType, b: DType) -> DType:
    """Return the dtype that two operands promote to."""

def promote_types(a: DType, b: DType) -> DType:
    """Return the dtype that two operands promote to."""

def put(input: Tensor, index: Tensor, source: Tensor, accumulate: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return input with the elements of source stored at the positions in `index`, which count in row-major order."""

def qr(input: Tensor, some: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
    """Return the QR factors of matrices, as `mg.linalg.qr` with mode="reduced", or "complete" with some=False."""

def quantile(input: Tensor, q: Tensor | builtins.float, dim: builtins.int | None = ..., keepdim: builtins.bool = ..., *, interpolation: builtins.str = ..., out: Tensor | None = ...) -> Tensor:
    """Return the quantile q of the elements along `dim`, or of all elements; a row with nan produces nan."""

def rad2deg(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Convert radians to degrees, x*180/pi.  Gradient: g*180/pi."""

def rad2deg_(input: Tensor) -> Tensor:
    """Apply `rad2deg` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def rand(*size: builtins.int | Sequence[builtins.int], generator: Any = ..., dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return samples from the uniform distribution on [0, 1); for a complex dtype, of both parts."""

def rand_like(input: Tensor, *, generator: Any = ..., dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., memory_format: Any = ...) -> Tensor:
    """Return uniform samples in [0, 1), with the shape, dtype and device of the input."""

def randint(low: builtins.int = ..., high: builtins.int | None = ..., size: builtins.int | Sequence[builtins.int] = ..., *, generator: Any = ..., dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return uniformly distributed integers in [low, high); `randint(high, size=...)` starts at 0."""

def randint_like(input: Tensor, low: builtins.int, high: builtins.int | None = ..., *, generator: Any = ..., dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., **kwargs: Any) -> Tensor:
    """Return uniformly distributed integers in [low, high), with the shape, dtype and device of the input."""

def randn(*size: builtins.int | Sequence[builtins.int], generator: Any = ..., dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return samples from the normal distribution with mean 0 and standard deviation 1."""

def randn_like(input: Tensor, *, generator: Any = ..., dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., memory_format: Any = ...) -> Tensor:
    """Return standard normal samples, with the shape, dtype and device of the input."""

def randperm(n: builtins.int, *, generator: Any = ..., dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return a random permutation of the integers from 0 to n - 1, in int64 by default."""

def range(start: builtins.float, end: builtins.float | None = ..., step: builtins.float = ..., *, out: Tensor | None = ..., dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ...) -> Tensor:
    """Return the numbers from `start` to `end`, which is included, as PyTorch's old `range`; see `arange`."""

def ravel(input: Tensor) -> Tensor:
    """Return the elements in one dim, contiguous: a copy if the memory is not, such as that of `x[::2]`."""

def real(input: Tensor) -> Tensor:
    """Return a view of the real parts; a real tensor is returned itself.  Gradient: g."""

def reciprocal(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the reciprocal 1/x; inf or -inf at 0.  Gradient: -g/x**2."""

def reciprocal_(input: Tensor) -> Tensor:
    """Apply `reciprocal` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def reduction(*, dtype: Any, identity: builtins.str | builtins.tuple[builtins.str, ...], order: builtins.str | None = ..., combine: Any = ..., map: Any = ..., finish: Any = ..., mean: builtins.bool = ..., vjp: Any = ..., linear: Any = ..., jvp: Any = ..., batch: Any = ..., outputs: builtins.tuple[builtins.str, ...] = ..., zeros: builtins.bool = ..., namespace: Any = ..., method: builtins.bool | None = ..., name: builtins.str = ..., label: builtins.str = ...) -> Any:
    """Declare a reduction over any set of dims: map, combine, finish; the body is its scalar function (acc, x)."""

def register_backend(kind: builtins.str, factory: Any, dlpack: builtins.int | None = ...) -> None:
    """Register the backend for the devices of `kind`; it replaces an earlier registration."""

def relu(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return x where x > 0, otherwise 0; nan stays nan.  Gradient: g where x > 0 or nan, and 0 where x <= 0."""

def relu6(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return min(max(x, 0), 6); nan stays nan.  Gradient: g where 0 < x < 6 or nan, and 0 elsewhere."""

def relu_(input: Tensor) -> Tensor:
    """Apply `relu` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def remainder(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input - other*floor(input/other), as Python's `%`; for integers, the result is 0 if other is 0."""

def renorm(input: Tensor, p: builtins.float, dim: builtins.int, maxnorm: builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return the tensor with its slices along `dim` scaled down where their norm of order p exceeds maxnorm."""

def repeat(input: Tensor, *repeats: builtins.int | Sequence[builtins.int]) -> Tensor:
    """Repeat the tensor repeats[d] times along each dim d; additional counts in front add leading dims."""

def repeat_interleave(input: Tensor, repeats: Tensor | builtins.int, dim: builtins.int | None = ..., *, output_size: builtins.int | None = ...) -> Tensor:
    """Repeat each element along `dim`; the copies of an element are next to each other."""

def reshape(input: Tensor, *sizes: builtins.int | Sequence[builtins.int], shape: Sequence[builtins.int] | None = ...) -> Tensor:
    """Return a tensor of another shape with the same elements: a view if the strides allow it, otherwise a copy."""

def resize_as_(x: Tensor, other: Tensor, *, memory_format: Any = ...) -> Tensor:
    """Change the shape of x to that of `other`, in place; see `resize_`."""

def resolve_conj(input: Tensor) -> Tensor:
    """Return the tensor itself, because `conj` computes its numbers."""

def resolve_neg(x: Tensor) -> Tensor:
    """Return x itself: it is dense, and its sign is that of its elements."""

def result_type(tensor1: Any, tensor2: Any) -> DType:
    """Return the dtype of the result of an op on two tensors or numbers."""

def roll(input: Tensor, shifts: builtins.int | Sequence[builtins.int], dims: builtins.int | Sequence[builtins.int] | None = ...) -> Tensor:
    """Shift the elements by `shifts` along `dims`; elements that leave one end enter at the other end."""

def rot90(input: Tensor, k: builtins.int = ..., dims: builtins.int | Sequence[builtins.int] = ...) -> Tensor:
    """Return a view rotated k times by 90 degrees in the plane of two dims, from the first towards the second."""

def round(input: Tensor, *, decimals: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
    """Return x rounded to the nearest integer, or to the nearest multiple of 10**-decimals."""

def round_(input: Tensor, *, decimals: builtins.float = ...) -> Tensor:
    """Apply `round` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def row_stack(tensors: Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """Join tensors along the first dim; a vector of n counts as (1, n)."""

def rsqrt(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return 1/sqrt(x); inf at 0, and nan for x < 0.  Gradient: -g/(2*x*sqrt(x))."""

def rsqrt_(input: Tensor) -> Tensor:
    """Apply `rsqrt` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def rsub(input: Tensor, other: Any, *, alpha: builtins.complex = ...) -> Tensor:
    """Return other - alpha * input.  Gradient: -g*alpha for input, and g for other."""

def save(obj: Any, f: Any) -> None:
    """Write a tensor, or a tree of dicts, lists and tuples with tensors, numbers and strings, to a file."""

def scalar(function: Any) -> Any:
    """Declare a helper that other scalar functions may call; its body is inlined into theirs."""

def scalar_tensor(s: builtins.float, *, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ...) -> Tensor:
    """Return a tensor of shape () with one number; the default dtype is the default float."""

def scatter(input: Tensor, dim: builtins.int, index: Tensor, src: Tensor | builtins.float | None = ..., *, reduce: builtins.str | None = ..., value: builtins.float | None = ..., out: Tensor | None = ...) -> Tensor:
    """Return input with src, a tensor or a number, stored at the positions that index contains along `dim`."""

def scatter_add(input: Tensor, dim: builtins.int, index: Tensor, src: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return input with the elements of src added at the positions that index contains along `dim`."""

def scatter_reduce(input: Tensor, dim: builtins.int, index: Tensor, src: Tensor, reduce: builtins.str, *, include_self: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return input with each element of src reduced into the element at the position that index contains along `dim`."""
schema: Any

def searchsorted(sorted_sequence: Tensor, input: Tensor | builtins.float, *, out_int32: builtins.bool = ..., right: builtins.bool = ..., side: builtins.str | None = ..., sorter: Tensor | None = ..., out: Tensor | None = ...) -> Tensor:
    """Return the positions at which to insert the elements of input into sorted rows, so that the rows stay sorted."""

def seed() -> builtins.int:
    """Seed the default generator with 63 random bits of the operating system, and return the seed."""

def select(input: Tensor, dim: builtins.int, index: builtins.int) -> Tensor:
    """Return a view of one position along `dim`, without this dim.  Gradient: g at this position, and 0 elsewhere."""

def select_copy(input: Tensor, dim: builtins.int, index: builtins.int, *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of the result of `select`, in separate memory."""

def select_scatter(input: Tensor, src: Tensor, dim: builtins.int, index: builtins.int) -> Tensor:
    """Return a copy of the tensor in which src replaces `select(input, dim, index)`."""

def selu(input: Tensor, inplace: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return 1.0507 * x where x > 0, otherwise 1.7581 * (exp(x) - 1)."""

def set_allocator(kind: builtins.str, allocator: Any) -> None:
    """Set the allocator of all devices of this kind."""

def set_default_device(device: Any) -> None:
    """Set the device of tensors that are created without a `device` argument; None is the CPU."""

def set_default_dtype(d: Any) -> None:
    """Set the default float dtype; see `mg.set_default_float`."""

def set_default_float(dtype: Any) -> None:
    """Set the dtype that Python floats are converted to."""

def set_default_tensor_type(t: Any) -> None:
    """Set the default float to the dtype of an old constructor, such as `mg.DoubleTensor` or its name."""

def set_deterministic_debug_mode(debug_mode: builtins.int | builtins.str) -> None:
    """Call `use_deterministic_algorithms` for one of three modes."""

def set_float32_matmul_precision(precision: builtins.str) -> None:
    """Accept PyTorch's setting without effect: products of float32 always have the precision of float32."""

def set_num_threads(num: builtins.int) -> None:
    """Share kernels between `num` threads in this Python thread from now on."""

def set_printoptions(precision: builtins.int | None = ..., threshold: builtins.float | None = ..., edgeitems: builtins.int | None = ..., linewidth: builtins.int | None = ..., profile: builtins.str | None = ..., sci_mode: builtins.bool | None = ...) -> None:
    """Set how tensors are printed in this process."""

def set_rng_state(new_state: Tensor) -> None:
    """Set the state of the default generator."""
settings: Any

def sgn(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return x/|x|, and 0 at 0; for a real tensor, this is `sign`."""
short: DType

def sigmoid(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return 1/(1 + exp(-x)), without overflow.  Gradient: g*y*(1 - y) with the result y."""

def sigmoid_(input: Tensor) -> Tensor:
    """Apply `sigmoid` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def sign(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the sign of x: -1, 0 or 1, and nan for nan; for bool, this is x.  Gradient: 0."""

def signbit(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return whether the sign bit of x is set; -0.0 and nan have a sign bit as well."""

def silu(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return x*sigmoid(x).  Gradient: g*s*(1 + x*(1-s)) with s = sigmoid(x)."""

def sin(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the sine of x.  Gradient: g*cos(x)."""

def sin_(input: Tensor) -> Tensor:
    """Apply `sin` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def sinc(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return sin(pi*x)/(pi*x), which is 1 at 0.  Gradient: g*(cos(pi*x) - y)/x with the result y; 0 at 0."""

def sinc_(input: Tensor) -> Tensor:
    """Apply `sinc` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def sinh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the hyperbolic sine of x.  Gradient: g*cosh(x)."""

def sinh_(input: Tensor) -> Tensor:
    """Apply `sinh` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def slice_copy(input: Tensor, dim: builtins.int = ..., start: builtins.int | None = ..., end: builtins.int | None = ..., step: builtins.int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of input[start:end:step] along `dim`."""

def slice_scatter(input: Tensor, src: Tensor, dim: builtins.int = ..., start: builtins.int | None = ..., end: builtins.int | None = ..., step: builtins.int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of the tensor in which src replaces input[start:end:step] along `dim`."""

def slogdet(input: Tensor, *, out: Tensor | None = ...) -> Any:
    """Return (sign, logabsdet) of the determinants of square matrices, as `mg.linalg.slogdet`."""

def softmax(input: Tensor, dim: builtins.int, dtype: Any = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return exp(input) / sum(exp(input)) along `dim`; the input is first shifted by its maximum to avoid overflow."""

def softmin(input: Tensor, dim: builtins.int, dtype: Any = ...) -> Tensor:
    """Return softmax(-input) along `dim`, in which the smallest elements have the largest values."""

def softplus(input: Tensor, beta: Tensor | builtins.float = ..., threshold: Tensor | builtins.float = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return log(1 + exp(beta*input))/beta, without overflow; the input itself where beta*input > threshold."""

def sort(input: Tensor, dim: builtins.int = ..., descending: builtins.bool = ..., stable: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
    """Return the elements sorted along `dim`, and their positions in the input, as (values, indices)."""

def split(tensor: Tensor, split_size_or_sections: builtins.int | Sequence[builtins.int], dim: builtins.int = ...) -> builtins.tuple[Tensor, ...]:
    """Return views of parts along `dim`."""

def split_copy(input: Tensor, split_size: builtins.int, dim: builtins.int = ..., *, out: Tensor | None = ...) -> builtins.tuple[Tensor, ...]:
    """Return copies of the views that `split` returns."""

def split_with_sizes(input: Tensor, split_sizes: Sequence[builtins.int], dim: builtins.int = ...) -> builtins.tuple[Tensor, ...]:
    """Return views of parts along `dim` with the given lengths, as `split`."""

def split_with_sizes_copy(input: Tensor, split_sizes: Sequence[builtins.int], dim: builtins.int = ..., *, out: Tensor | None = ...) -> builtins.tuple[Tensor, ...]:
    """Return copies of the views that `split_with_sizes` returns."""

def sqrt(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the square root of x; nan for x < 0.  Gradient: g/(2*sqrt(x)), which is inf at 0."""

def sqrt_(input: Tensor) -> Tensor:
    """Apply `sqrt` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def square(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the square of x, x*x; for bool, it is an int64.  Gradient: 2*g*x."""

def square_(input: Tensor) -> Tensor:
    """Apply `square` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def squeeze(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ...) -> Tensor:
    """Return a view without dims of length 1: without all of them, or without those that `dim` names."""

def squeeze_copy(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of the result of `squeeze`, in separate memory."""

def stack(tensors: Sequence[Tensor], dim: builtins.int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Join tensors of the same shape along a new dim.  Gradient: each tensor gets its part of g."""

def std(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ..., correction: builtins.float | None = ..., keepdim: builtins.bool = ..., *, unbiased: builtins.bool | None = ..., out: Tensor | None = ...) -> Tensor:
    """Return the standard deviation over `dim`, which is the square root of `var`."""

def std_mean(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ..., correction: builtins.float | None = ..., keepdim: builtins.bool = ..., *, unbiased: builtins.bool | None = ...) -> Any:
    """Return the standard deviation and the mean over `dim` as a named tuple, computed in two passes."""

def stft(input: Tensor, n_fft: builtins.int, hop_length: builtins.int | None = ..., win_length: builtins.int | None = ..., window: Tensor | None = ..., center: builtins.bool = ..., pad_mode: builtins.str = ..., normalized: builtins.bool = ..., onesided: builtins.bool | None = ..., return_complex: builtins.bool | None = ..., align_to_window: builtins.bool | None = ...) -> Tensor:
    """Return the Fourier transforms of the frames of a signal, of shape (..., terms, frames)."""
strided: Any

def sub(input: Tensor | builtins.float, other: Tensor | builtins.float, *, alpha: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
    """Return input - alpha * other, element by element; shapes broadcast.  Gradient: g and -alpha*g."""

def subtract(input: Tensor | builtins.float, other: Tensor | builtins.float, *, alpha: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
    """Return input - alpha * other, element by element; shapes broadcast.  Gradient: g and -alpha*g."""

def sum(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
    """Return the sum of the elements over `dim`; 0 if there are no elements."""

def svd(input: Tensor, some: builtins.bool = ..., compute_uv: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
    """Return (U, S, V) with U * S @ V.mH = input; see `mg.linalg.svd`."""

def svd_lowrank(A: Tensor, q: builtins.int = ..., niter: builtins.int = ..., M: Tensor | None = ...) -> Any:
    """Return (U, S, V) with U * S @ V.mT close to A, or to A - M, for matrices (..., m, n) of a low rank."""

def swapaxes(input: Tensor, axis0: builtins.int, axis1: builtins.int) -> Tensor:
    """Return `transpose(input, axis0, axis1)`; `swapaxes` is NumPy's name of this function."""

def swapdims(input: Tensor, dim0: builtins.int, dim1: builtins.int) -> Tensor:
    """Return `transpose(input, dim0, dim1)`; PyTorch has both names."""

def t(input: Tensor) -> Tensor:
    """Return a view of the transpose of a matrix; a tensor with fewer dims is returned with its shape."""

def t_copy(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of the result of `t`, in separate memory."""

def take(input: Tensor, index: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the elements at row-major positions among all elements, in the shape of index."""

def take_along_dim(input: Tensor, indices: Tensor, dim: builtins.int | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the elements of input at indices along `dim`; both broadcast along the other dims, and then `gather` runs."""

def tan(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the tangent of x.  Gradient: g*(1 + tan(x)**2)."""

def tan_(input: Tensor) -> Tensor:
    """Apply `tan` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def tanh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the hyperbolic tangent of x.  Gradient: g*(1 - tanh(x)**2)."""

def tanh_(input: Tensor) -> Tensor:
    """Apply `tanh` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def tape(y: Tensor, timed: builtins.bool = ...) -> Any:
    """Return the recorded ops from which y was computed, the oldest first, with the bytes that each op saved."""

def tensor(data: Any, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., *, pin_memory: builtins.bool | None = ...) -> Tensor:
    """Return a new tensor with the elements of a number, nested lists, an array or a tensor."""

def tensor_split(input: Tensor, sections: builtins.int | Sequence[builtins.int] | Tensor, dim: builtins.int = ...) -> builtins.tuple[Tensor, ...]:
    """Return views of parts along `dim`."""

def tensordot(a: Tensor, b: Tensor, dims: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
    """Return the products of a and b, summed over dims of both."""

def threading_layer() -> builtins.str:
    """Return the layer that runs the team, or "none yet": Numba chooses it at the first launch."""

def threshold(input: Tensor | builtins.float, threshold: Tensor | builtins.float, value: Tensor | builtins.float, inplace: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return input where it is greater than the threshold, otherwise value; nan stays nan."""

def tile(input: Tensor, *dims: builtins.int | Sequence[builtins.int]) -> Tensor:
    """Return the tensor repeated dims[d] times along each dim d; missing leading counts or dims are 1."""

def topk(input: Tensor, k: builtins.int, dim: builtins.int = ..., largest: builtins.bool = ..., sorted: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
    """Return the k largest or smallest elements along `dim`, and their positions, as (values, indices)."""

def trace(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the sum of the diagonal of a matrix; as in `sum`, integers become int64."""

def transpose(input: Tensor, dim0: builtins.int, dim1: builtins.int) -> Tensor:
    """Return a view with two dims swapped.  Gradient: g with the same two dims swapped."""

def transpose_copy(input: Tensor, dim0: builtins.int, dim1: builtins.int, *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of the result of `transpose`, in separate memory."""

def trapezoid(y: Tensor, x: Tensor | None = ..., *, dx: Any = ..., dim: builtins.int = ...) -> Tensor:
    """Return the integral along `dim` by the trapezoidal rule."""

def trapz(y: Tensor, x: Tensor | None = ..., *, dx: Any = ..., dim: builtins.int = ...) -> Tensor:
    """Return `trapezoid(y, x, dx=dx, dim=dim)`; `trapz` is its older name in PyTorch and NumPy."""

def tril(input: Tensor, diagonal: builtins.int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the elements on and below a diagonal of the last two dims, with zeros above it."""

def tril_indices(row: builtins.int, col: builtins.int, offset: builtins.int = ..., *, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ...) -> Tensor:
    """Return the positions on and below a diagonal of a matrix: the row indices as row 0, the column indices as row 1."""

def triu(input: Tensor, diagonal: builtins.int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the elements on and above a diagonal of the last two dims, with zeros below it."""

def triu_indices(row: builtins.int, col: builtins.int, offset: builtins.int = ..., *, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ...) -> Tensor:
    """Return the positions on and above a diagonal of a matrix: the row indices as row 0, the column indices as row 1."""

def true_divide(input: Tensor | builtins.float, other: Tensor | builtins.float, *, rounding_mode: Any = ..., out: Tensor | None = ...) -> Tensor:
    """Return input/other, rounded if rounding_mode is "floor" or "trunc"; without it, integers become floats."""

def trunc(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return x rounded towards zero to an integer.  Gradient: 0."""

def trunc_(input: Tensor) -> Tensor:
    """Apply `trunc` in place, and record it.  Raises GradientError for a Var outside no_grad."""
u16: DType
u32: DType
u64: DType
u8: DType
uint16: DType
uint32: DType
uint64: DType
uint8: DType

def unbind(input: Tensor, dim: builtins.int = ...) -> builtins.tuple[Tensor, ...]:
    """Return views of the slices at all positions along `dim`, without this dim."""

def unbind_copy(input: Tensor, dim: builtins.int = ..., *, out: Tensor | None = ...) -> builtins.tuple[Tensor, ...]:
    """Return copies of the slices at all positions along `dim`, without this dim."""

def unflatten(input: Tensor, dim: builtins.int, sizes: builtins.int | Sequence[builtins.int]) -> Tensor:
    """Return a view with one dim split into several dims of the given sizes; one size may be -1."""

def unfold(input: Tensor, dimension: builtins.int, size: builtins.int, step: builtins.int) -> Tensor:
    """Return a view of the windows of `size` elements along a dim, which begin every `step` elements."""

def unfold_copy(input: Tensor, dimension: builtins.int, size: builtins.int, step: builtins.int, *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of the result of `unfold`, in separate memory."""

def uniform(shape: builtins.int | Sequence[builtins.int], low: builtins.float, high: builtins.float, *, generator: Any = ..., dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ...) -> Tensor:
    """Return samples from the uniform distribution on [low, high); for a complex dtype, of both parts."""

def unique(input: Tensor, sorted: builtins.bool = ..., return_inverse: builtins.bool = ..., return_counts: builtins.bool = ..., dim: builtins.int | None = ...) -> Any:
    """Return the distinct elements of the input, or its distinct slices along `dim`, in ascending order."""

def unique_consecutive(input: Tensor, return_inverse: builtins.bool = ..., return_counts: builtins.bool = ..., dim: builtins.int | None = ...) -> Any:
    """Return the elements of the input, or its slices along `dim`, and drop each that equals its predecessor."""

def unravel_index(indices: Tensor, shape: builtins.int | Sequence[builtins.int]) -> builtins.tuple[Tensor, ...]:
    """Return the indices along each dim of a tensor of `shape`, from row-major positions among all its elements."""

def unsafe_chunk(input: Tensor, chunks: builtins.int, dim: builtins.int = ...) -> builtins.tuple[Tensor, ...]:
    """Return `chunk(input, chunks, dim)`."""

def unsafe_split(input: Tensor, split_size: builtins.int, dim: builtins.int = ...) -> builtins.tuple[Tensor, ...]:
    """Return `split(input, split_size, dim)`."""

def unsafe_split_with_sizes(input: Tensor, split_sizes: Sequence[builtins.int], dim: builtins.int = ...) -> builtins.tuple[Tensor, ...]:
    """Return `split_with_sizes(input, split_sizes, dim)`."""

def unsqueeze(input: Tensor, dim: builtins.int) -> Tensor:
    """Return a view with a new dim of length 1 at position `dim`."""

def unsqueeze_copy(input: Tensor, dim: builtins.int, *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of the result of `unsqueeze`, in separate memory."""

def use_deterministic_algorithms(mode: builtins.bool, *, warn_only: builtins.bool = ...) -> None:
    """Fill uninitialized memory, if mode is True and `mg.utils.deterministic.fill_uninitialized_memory` is True."""

def vander(x: Tensor, N: builtins.int | None = ..., increasing: builtins.bool = ...) -> Tensor:
    """Return the matrix of the powers of the elements of a vector, one power per column."""

def var(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ..., correction: builtins.float | None = ..., keepdim: builtins.bool = ..., *, unbiased: builtins.bool | None = ..., out: Tensor | None = ...) -> Tensor:
    """Return the variance over `dim`: the sum of squared deviations from the mean, divided by n - correction."""

def var_mean(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ..., correction: builtins.float | None = ..., keepdim: builtins.bool = ..., *, unbiased: builtins.bool | None = ...) -> Any:
    """Return the variance and the mean over `dim` as a named tuple, computed in the two passes of `var`."""

def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the inner product of two vectors of the same length; that of complex vectors conjugates the first one."""

def view(x: Tensor, *shape: builtins.int | Sequence[builtins.int], size: Sequence[builtins.int] | None = ..., dtype: Any = ...) -> Tensor:
    """Return a view of x with another shape, over the same memory."""

def view_as_complex(input: Tensor) -> Tensor:
    """Return a view of pairs of real numbers, the last dim, as complex numbers."""

def view_as_complex_copy(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of the result of `view_as_complex`, in separate memory."""

def view_as_real(input: Tensor) -> Tensor:
    """Return a view of complex numbers with a last dim of 2: the real and the imaginary parts."""

def view_as_real_copy(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of the result of `view_as_real`, in separate memory."""

def view_copy(input: Tensor, size: builtins.int | Sequence[builtins.int], *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of the tensor in another shape with the same number of elements."""

def vmap(func: Any, in_dims: Any = ..., out_dims: Any = ..., randomness: builtins.str = ..., *, chunk_size: builtins.int | None = ...) -> Any:
    """Return a function that applies `func` to all samples of a batch at once."""

def vsplit(input: Tensor, sections: builtins.int | Sequence[builtins.int] | Tensor) -> builtins.tuple[Tensor, ...]:
    """Return views of parts along the first dim of a tensor with at least two dims."""

def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """Join tensors along the first dim; a vector of n counts as (1, n)."""

def where(condition: Tensor, input: Tensor | builtins.float | None = ..., other: Tensor | builtins.float | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return input where the condition is True, otherwise other; the three operands broadcast."""

def where_cond(condition: Tensor, a: Any, b: Any) -> Tensor:
    """Return `mg.where` of the operands; as a method, the tensor is the condition, as in candle."""

def xlogy(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input*log(other); where input is 0, the result is 0 unless other is nan."""

def xlogy_(input: Tensor | builtins.float, other: Tensor | builtins.float) -> Tensor:
    """Apply `xlogy` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def zero_(x: Tensor) -> Tensor:
    """Set every element to 0, in place."""

def zeros(*size: builtins.int | Sequence[builtins.int], dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return a tensor filled with zeros; the default dtype is the default float."""

def zeros_like(input: Tensor, *, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., memory_format: Any = ...) -> Tensor:
    """Return a tensor of zeros with the shape, dtype and device of the input."""
