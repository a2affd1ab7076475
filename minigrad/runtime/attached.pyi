"""The methods that `api/` attaches to Tensor.  Written by `python -m minigrad.cli.stubs`."""

import builtins
from collections.abc import Iterator, Sequence
from typing import Any

from minigrad.autodiff.grads import GradStore
from minigrad.runtime.tensor import Tensor

class Attached:
    @property
    def H(self) -> Tensor:
        """Return a matrix with its dims swapped, and conjugated if it is complex; for a real matrix, this is a view."""

    @property
    def T(self) -> Tensor:
        """Return a view with all dims in reverse order."""

    def __abs__(self) -> Tensor:
        """Return the absolute value of x, and the magnitude of a complex number.  Gradient: g*sgn(x), which is 0 at 0."""

    def __add__(self, other: Tensor | builtins.float) -> Tensor:
        """Return input + alpha * other, element by element; shapes broadcast.  For bool, the sum is `or`."""

    def __and__(self, other: Tensor | builtins.float) -> Tensor:
        """Return the bits that are set in both operands; for bool, this is `and`."""

    def __array__(self, dtype: Any = ..., copy: builtins.bool | None = ...) -> Any:
        """Return the array for `np.asarray(x)`: a copy if x requires a gradient, otherwise an array with shared memory."""

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Compute a NumPy function that is called on tensors: see `numpy_calls.py`."""

    def __array_namespace__(self, *, api_version: builtins.str | None = ...) -> Any:
        """Return the module with the functions of the array API standard: `mg.array_api`."""

    def __bool__(self) -> builtins.bool:
        """Return bool(x) of a tensor with one element."""

    def __complex__(self) -> builtins.complex:
        """Return complex(x) of a tensor with one element."""

    def __contains__(self, element: Any) -> builtins.bool:
        """Return whether `element`, broadcast to x, equals some element of x, as in NumPy."""

    def __copy__(self) -> Tensor:
        """Return another tensor on the same storage, with the same history."""

    @property
    def __cuda_array_interface__(self) -> builtins.dict[builtins.str, Any]:
        """Return `__cuda_array_interface__`, which CuPy, Numba and other libraries read to share memory on a CUDA device."""

    def __deepcopy__(self, memo: builtins.dict[builtins.int, Any]) -> Tensor:
        """Return a tensor on a copy of the storage; all copied tensors of this storage share the copy."""

    def __dir__(self) -> builtins.list[builtins.str]:
        """Return the names of the attributes that a tensor really has, for its `__dir__`."""

    def __divmod__(self, other: Any) -> builtins.tuple[Tensor, Tensor]:
        """Return the pair (x // other, x % other)."""

    def __dlpack__(self, *, stream: Any = ..., max_version: Any = ..., dl_device: Any = ..., copy: builtins.bool | None = ...) -> Any:
        """Return the DLPack capsule of a tensor."""

    def __dlpack_device__(self) -> builtins.tuple[builtins.int, builtins.int]:
        """Return DLPack's id of the device, 1 for the CPU or 2 for CUDA, and the index of the device."""

    def __eq__(self, other: Any) -> Any:
        """Return x == other, element by element."""

    def __float__(self) -> builtins.float:
        """Return float(x) of a tensor with one element."""

    def __floordiv__(self, other: Tensor | builtins.float) -> Tensor:
        """Return floor(input/other), as Python's `//`; for integers, the result is 0 if other is 0.  Gradient: 0."""

    def __format__(self, spec: builtins.str) -> builtins.str:
        """Return `f"{x:.3f}"` for a tensor with one element, formatted as a Python number."""

    def __ge__(self, other: Tensor | builtins.float) -> Tensor:
        """Return input >= other."""

    def __getitem__(self, index: Any) -> Tensor:
        """Return x[index]: a view for ints, slices, None and Ellipsis; a copy for index tensors, lists and masks."""

    def __gt__(self, other: Tensor | builtins.float) -> Tensor:
        """Return input > other."""

    def __iadd__(self, other: Tensor | builtins.float, *, alpha: builtins.float = ...) -> Tensor:
        """Apply `add` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def __iand__(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `bitwise_and` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def __ifloordiv__(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `floor_divide` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def __ilshift__(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `bitwise_left_shift` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def __imod__(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `remainder` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def __imul__(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `mul` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def __index__(self) -> builtins.int:
        """Return the element of an integer tensor with one element as an index, as in range(x)."""

    def __int__(self) -> builtins.int:
        """Return int(x) of a tensor with one element, rounded towards zero."""

    def __invert__(self) -> Tensor:
        """Return the input with all bits flipped; for bool, this is `not`.  Raises DTypeError for floats."""

    def __ior__(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `bitwise_or` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def __ipow__(self, exponent: Tensor | builtins.float) -> Tensor:
        """Apply `pow` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def __irshift__(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `bitwise_right_shift` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def __isub__(self, other: Tensor | builtins.float, *, alpha: builtins.float = ...) -> Tensor:
        """Apply `sub` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def __iter__(self) -> Iterator[Tensor]:
        """Iterate over the slices along the first dim.  Raises TypeError for a scalar, as Python requires."""

    def __itruediv__(self, other: Tensor | builtins.float, *, rounding_mode: Any = ...) -> Tensor:
        """Apply `div` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def __ixor__(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `bitwise_xor` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def __le__(self, other: Tensor | builtins.float) -> Tensor:
        """Return input <= other."""

    def __len__(self) -> builtins.int:
        """Return the length of the first dim.  Raises TypeError for a scalar, as Python does for other types."""

    def __lshift__(self, other: Tensor | builtins.float) -> Tensor:
        """Return the bits of the input, shifted to the left by `other`."""

    def __lt__(self, other: Tensor | builtins.float) -> Tensor:
        """Return input < other."""

    def __matmul__(self, other: Tensor) -> Tensor:
        """Return the matrix product; batch dims broadcast."""

    def __mod__(self, other: Tensor | builtins.float) -> Tensor:
        """Return input - other*floor(input/other), as Python's `%`; for integers, the result is 0 if other is 0."""

    def __mul__(self, other: Tensor | builtins.float) -> Tensor:
        """Return input * other, per element; shapes broadcast.  For bool, this is `and`.  Gradient: g*other and g*input."""

    def __ne__(self, other: Any) -> Any:
        """Return x != other, element by element; other objects are compared by identity, as for `==`."""

    def __neg__(self) -> Tensor:
        """Return -x; unsigned integers wrap.  Gradient: -g."""

    def __or__(self, other: Tensor | builtins.float) -> Tensor:
        """Return the bits that are set in at least one operand; for bool, this is `or`."""

    def __pos__(self) -> Tensor:
        """Return the input itself.  Raises DTypeError for bool, as `neg` does."""

    def __pow__(self, exponent: Tensor | builtins.float) -> Tensor:
        """Return input**exponent, element by element; shapes broadcast."""

    def __radd__(self, other: Any) -> Tensor:
        """Return `add` with the tensor as the second operand."""

    def __rand__(self, other: Any) -> Tensor:
        """Return `bitwise_and` with the tensor as the second operand."""

    def __rdiv__(self, other: Any) -> Tensor:
        """Return `div` with the tensor as the second operand."""

    def __reduce__(self) -> builtins.tuple[Any, ...]:
        """Return the function and the arguments with which pickle restores a tensor, and the attributes that a user set."""

    def __repr__(self) -> builtins.str:
        """Return `tensor([3., 1., 4.])`, with dtype, device, name and op where they are not the defaults."""

    def __reversed__(self) -> Tensor:
        """Return a tensor with the rows in reverse order, as `reversed(x)`; a scalar is returned as it is."""

    def __rfloordiv__(self, other: Any) -> Tensor:
        """Return `floor_divide` with the tensor as the second operand."""

    def __rlshift__(self, other: Any) -> Tensor:
        """Return `bitwise_left_shift` with the tensor as the second operand."""

    def __rmatmul__(self, other: Any) -> Tensor:
        """Return `matmul` with the tensor as the second operand."""

    def __rmod__(self, other: Any) -> Tensor:
        """Return `remainder` with the tensor as the second operand."""

    def __rmul__(self, other: Any) -> Tensor:
        """Return `mul` with the tensor as the second operand."""

    def __ror__(self, other: Any) -> Tensor:
        """Return `bitwise_or` with the tensor as the second operand."""

    def __round__(self, ndigits: builtins.int | None = ...) -> Any:
        """Return round(x) or round(x, ndigits) of a tensor with one element, as a Python number."""

    def __rpow__(self, other: Any) -> Tensor:
        """Return `pow` with the tensor as the second operand."""

    def __rrshift__(self, other: Any) -> Tensor:
        """Return `bitwise_right_shift` with the tensor as the second operand."""

    def __rshift__(self, other: Tensor | builtins.float) -> Tensor:
        """Return input / 2**other, rounded down."""

    def __rsub__(self, other: Any) -> Tensor:
        """Return `sub` with the tensor as the second operand."""

    def __rtruediv__(self, other: Any) -> Tensor:
        """Return `div` with the tensor as the second operand."""

    def __rxor__(self, other: Any) -> Tensor:
        """Return `bitwise_xor` with the tensor as the second operand."""

    def __setitem__(self, index: Any, value: Any) -> None:
        """Assign `x[index] = value`, for basic indices, index tensors and masks."""

    def __sub__(self, other: Tensor | builtins.float) -> Tensor:
        """Return input - alpha * other, element by element; shapes broadcast.  Gradient: g and -alpha*g."""

    def __truediv__(self, other: Tensor | builtins.float) -> Tensor:
        """Return input/other, rounded if rounding_mode is "floor" or "trunc"; without it, integers become floats."""

    def __trunc__(self) -> builtins.int:
        """Return int(x) of a tensor with one element, rounded towards zero."""

    def __xor__(self, other: Tensor | builtins.float) -> Tensor:
        """Return the bits that are set in exactly one operand; for bool, this is `!=`."""

    @property
    def _base(self) -> Tensor | None:
        """Return the tensor whose memory x is a view of; None for a tensor that owns its memory."""

    def _repr_html_(self) -> builtins.str:
        """Return the HTML of a tensor for a notebook: its text, and an image if it has many elements."""

    @property
    def _version(self) -> builtins.int:
        """Return the count of writes into the memory of x.  Raise GradientError for a result of `inference_mode`."""

    def abs(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the absolute value of x, and the magnitude of a complex number.  Gradient: g*sgn(x), which is 0 at 0."""

    def abs_(self) -> Tensor:
        """Apply `abs` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def absolute(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the absolute value of x, and the magnitude of a complex number.  Gradient: g*sgn(x), which is 0 at 0."""

    def absolute_(self) -> Tensor:
        """Apply `abs` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def acos(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the arccosine of x; nan outside [-1, 1].  Gradient: -g/sqrt(1 - x**2), which is -inf at -1 and 1."""

    def acos_(self) -> Tensor:
        """Apply `acos` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def acosh(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the inverse hyperbolic cosine of x; nan for x < 1.  Gradient: g/sqrt(x**2 - 1), which is inf at 1."""

    def acosh_(self) -> Tensor:
        """Apply `acosh` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def add(self, other: Tensor | builtins.float, *, alpha: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
        """Return input + alpha * other, element by element; shapes broadcast.  For bool, the sum is `or`."""

    def add_(self, other: Tensor | builtins.float, *, alpha: builtins.float = ...) -> Tensor:
        """Apply `add` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def addbmm(self, batch1: Tensor, batch2: Tensor, *, beta: builtins.complex = ..., alpha: builtins.complex = ..., out: Tensor | None = ...) -> Tensor:
        """Return beta * input + alpha * the sum over the batch of batch1 @ batch2; see `addmm`."""

    def addbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: builtins.complex = ..., alpha: builtins.complex = ...) -> Tensor:
        """Apply `addbmm` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def addcdiv(self, tensor1: Tensor, tensor2: Tensor, *, value: builtins.complex = ..., out: Tensor | None = ...) -> Tensor:
        """Return input + value * tensor1 / tensor2, element by element; shapes broadcast."""

    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: builtins.complex = ...) -> Tensor:
        """Apply `addcdiv` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def addcmul(self, tensor1: Tensor, tensor2: Tensor, *, value: builtins.complex = ..., out: Tensor | None = ...) -> Tensor:
        """Return input + value * tensor1 * tensor2, element by element; shapes broadcast."""

    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: builtins.complex = ...) -> Tensor:
        """Apply `addcmul` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def addmm(self, mat1: Tensor, mat2: Tensor, *, beta: builtins.complex = ..., alpha: builtins.complex = ..., out: Tensor | None = ...) -> Tensor:
        """Return beta * input + alpha * mat1 @ mat2, computed in one kernel."""

    def addmm_(self, mat1: Tensor, mat2: Tensor, *, beta: builtins.complex = ..., alpha: builtins.complex = ...) -> Tensor:
        """Apply `addmm` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def addmv(self, mat: Tensor, vec: Tensor, *, beta: builtins.complex = ..., alpha: builtins.complex = ..., out: Tensor | None = ...) -> Tensor:
        """Return beta * input + alpha * mat @ vec; see `addmm`."""

    def addmv_(self, mat: Tensor, vec: Tensor, *, beta: builtins.complex = ..., alpha: builtins.complex = ...) -> Tensor:
        """Apply `addmv` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def addr(self, vec1: Tensor, vec2: Tensor, *, beta: builtins.complex = ..., alpha: builtins.complex = ..., out: Tensor | None = ...) -> Tensor:
        """Return beta * input + alpha * the outer product of vec1 and vec2; see `addmm`."""

    def addr_(self, vec1: Tensor, vec2: Tensor, *, beta: builtins.complex = ..., alpha: builtins.complex = ...) -> Tensor:
        """Apply `addr` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def adjoint(self) -> Tensor:
        """Return a tensor with the last two dims swapped, and conjugated if it is complex; for a real one, this is a view."""

    def affine(self, mul: builtins.float, add: builtins.float) -> Tensor:
        """Return input * mul + add."""

    def all(self, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return whether all elements over `dim` are nonzero, as 0 or 1 in uint8 for uint8; True without elements."""

    def allclose(self, other: Tensor, rtol: builtins.float = ..., atol: builtins.float = ..., equal_nan: builtins.bool = ...) -> builtins.bool:
        """Return whether `isclose` holds for all elements."""

    def amax(self, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return the largest element over `dim`; nan if an element is nan."""

    def amin(self, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return the smallest element over `dim`; nan if an element is nan."""

    def aminmax(self, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
        """Return the smallest and the largest element over `dim`, in one pass; both are nan if an element is nan."""

    def angle(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the angle of x in radians, from -pi to pi; for a real number it is 0, or pi below 0."""

    def angle_(self) -> Tensor:
        """Apply `angle` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def any(self, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return whether any element over `dim` is nonzero, as 0 or 1 in uint8 for uint8; False without elements."""

    def apply_(self, callable: Any) -> Tensor:
        """Replace each element by `callable(element)`, in place."""

    def arccos(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the arccosine of x; nan outside [-1, 1].  Gradient: -g/sqrt(1 - x**2), which is -inf at -1 and 1."""

    def arccos_(self) -> Tensor:
        """Apply `acos` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def arccosh(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the inverse hyperbolic cosine of x; nan for x < 1.  Gradient: g/sqrt(x**2 - 1), which is inf at 1."""

    def arccosh_(self) -> Tensor:
        """Apply `acosh` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def arcsin(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the arcsine of x; nan outside [-1, 1].  Gradient: g/sqrt(1 - x**2), which is inf at -1 and 1."""

    def arcsin_(self) -> Tensor:
        """Apply `asin` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def arcsinh(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the inverse hyperbolic sine of x.  Gradient: g/sqrt(x**2 + 1), also where the square would overflow."""

    def arcsinh_(self) -> Tensor:
        """Apply `asinh` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def arctan(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the arctangent of x.  Gradient: g/(1 + x**2)."""

    def arctan2(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return the angle of the point (other, input) in radians, from -pi to pi."""

    def arctan2_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `atan2` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def arctan_(self) -> Tensor:
        """Apply `atan` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def arctanh(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the inverse hyperbolic tangent of x; nan outside [-1, 1], -inf at -1, and inf at 1."""

    def arctanh_(self) -> Tensor:
        """Apply `atanh` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def argmax(self, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return the position of the largest element, of all elements or along `dim`, in int64."""

    def argmax_keepdim(self, dim: Any = ...) -> Any:
        """Return `argmax` with the reduced dims kept as length 1."""

    def argmin(self, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return the position of the smallest element, of all elements or along `dim`, in int64."""

    def argmin_keepdim(self, dim: Any = ...) -> Any:
        """Return `argmin` with the reduced dims kept as length 1."""

    def argsort(self, dim: builtins.int = ..., descending: builtins.bool = ..., stable: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return the positions that sort the elements along `dim`."""

    def argwhere(self) -> Tensor:
        """Return the indices of all nonzero elements as an int64 matrix, with one row per element, as `nonzero`."""

    def as_strided(self, size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int], storage_offset: builtins.int | None = ...) -> Tensor:
        """Return a view with any shape and strides over the storage, after a check of the storage's bounds."""

    def as_strided_(self, size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int], storage_offset: builtins.int | None = ...) -> Tensor:
        """`as_strided` in place: x itself shows its memory so, and is returned.  Raises GradientError for a leaf that requires a gradient, and for other tensors that share memory with one."""

    def as_strided_scatter(self, src: Tensor, size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int], storage_offset: builtins.int | None = ...) -> Tensor:
        """Return a copy of the tensor in which src replaces the elements that size, stride and offset specify."""

    def asin(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the arcsine of x; nan outside [-1, 1].  Gradient: g/sqrt(1 - x**2), which is inf at -1 and 1."""

    def asin_(self) -> Tensor:
        """Apply `asin` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def asinh(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the inverse hyperbolic sine of x.  Gradient: g/sqrt(x**2 + 1), also where the square would overflow."""

    def asinh_(self) -> Tensor:
        """Apply `asinh` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def astype(self, *args: Any, dtype: Any = ..., device: Any = ..., copy: builtins.bool = ..., non_blocking: builtins.bool = ..., memory_format: Any = ...) -> Tensor:
        """Return x in another dtype, on another device, or both."""

    def atan(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the arctangent of x.  Gradient: g/(1 + x**2)."""

    def atan2(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return the angle of the point (other, input) in radians, from -pi to pi."""

    def atan2_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `atan2` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def atan_(self) -> Tensor:
        """Apply `atan` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def atanh(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the inverse hyperbolic tangent of x; nan outside [-1, 1], -inf at -1, and inf at 1."""

    def atanh_(self) -> Tensor:
        """Apply `atanh` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def backward(self, gradient: Tensor | None = ..., retain_graph: builtins.bool | None = ..., create_graph: builtins.bool = ..., inputs: Tensor | Sequence[Tensor] | None = ...) -> GradStore:
        """Compute the gradients of y with respect to every Var that it depends on, and add each to the Var's `.grad`."""

    def baddbmm(self, batch1: Tensor, batch2: Tensor, *, beta: builtins.complex = ..., alpha: builtins.complex = ..., out: Tensor | None = ...) -> Tensor:
        """Return beta * input + alpha * batch1 @ batch2 for batches of matrices; see `addmm` and `bmm`."""

    def baddbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: builtins.complex = ..., alpha: builtins.complex = ...) -> Tensor:
        """Apply `baddbmm` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def bernoulli(self, p: builtins.float | None = ..., *, generator: Any = ..., out: Tensor | None = ...) -> Tensor:
        """Return 1 with the probability that each element contains, otherwise 0, in the dtype of the input."""

    def bernoulli_(self, p: Any = ..., *, generator: Any = ...) -> Tensor:
        """Fill x in place with 1 with probability p, and with 0 otherwise."""

    def bfloat16(self, memory_format: Any = ...) -> Tensor:
        """Return x as bfloat16."""

    def bincount(self, weights: Tensor | None = ..., minlength: builtins.int = ...) -> Tensor:
        """Return the number of occurrences of each integer from 0 on in a vector, or the sum of their weights."""

    def bitwise_and(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return the bits that are set in both operands; for bool, this is `and`."""

    def bitwise_and_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `bitwise_and` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def bitwise_left_shift(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return the bits of the input, shifted to the left by `other`."""

    def bitwise_left_shift_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `bitwise_left_shift` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def bitwise_not(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the input with all bits flipped; for bool, this is `not`.  Raises DTypeError for floats."""

    def bitwise_not_(self) -> Tensor:
        """Apply `bitwise_not` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def bitwise_or(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return the bits that are set in at least one operand; for bool, this is `or`."""

    def bitwise_or_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `bitwise_or` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def bitwise_right_shift(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input / 2**other, rounded down."""

    def bitwise_right_shift_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `bitwise_right_shift` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def bitwise_xor(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return the bits that are set in exactly one operand; for bool, this is `!=`."""

    def bitwise_xor_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `bitwise_xor` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def bmm(self, mat2: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the matrix product of each pair of matrices in two batches (b, n, m) and (b, m, p)."""

    def bool(self, memory_format: Any = ...) -> Tensor:
        """Return x as bool."""

    def broadcast_add(self, other: Tensor | builtins.float, *, alpha: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
        """Return input + alpha * other, element by element; shapes broadcast.  For bool, the sum is `or`."""

    def broadcast_add_(self, other: Tensor | builtins.float, *, alpha: builtins.float = ...) -> Tensor:
        """Apply `add` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def broadcast_as(self, *shape: builtins.int | Sequence[builtins.int]) -> Tensor:
        """Return a view of a larger shape, in which dims of length 1 are expanded and leading dims are added."""

    def broadcast_div(self, other: Tensor | builtins.float, *, rounding_mode: Any = ..., out: Tensor | None = ...) -> Tensor:
        """Return input/other, rounded if rounding_mode is "floor" or "trunc"; without it, integers become floats."""

    def broadcast_div_(self, other: Tensor | builtins.float, *, rounding_mode: Any = ...) -> Tensor:
        """Apply `div` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def broadcast_eq(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input == other."""

    def broadcast_eq_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `eq` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def broadcast_ge(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input >= other."""

    def broadcast_ge_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `ge` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def broadcast_gt(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input > other."""

    def broadcast_gt_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `gt` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def broadcast_le(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input <= other."""

    def broadcast_le_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `le` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def broadcast_lt(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input < other."""

    def broadcast_lt_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `lt` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def broadcast_matmul(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the matrix product; batch dims broadcast."""

    def broadcast_maximum(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return the larger element, or nan.  Gradient: g for the larger operand, g/2 each at ties, g for both at nan."""

    def broadcast_maximum_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `maximum` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def broadcast_minimum(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return the smaller element, or nan.  Gradient: g for the smaller operand, g/2 each at ties, g for both at nan."""

    def broadcast_minimum_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `minimum` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def broadcast_mul(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input * other, per element; shapes broadcast.  For bool, this is `and`.  Gradient: g*other and g*input."""

    def broadcast_mul_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `mul` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def broadcast_ne(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input != other."""

    def broadcast_ne_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `ne` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def broadcast_pow(self, exponent: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input**exponent, element by element; shapes broadcast."""

    def broadcast_pow_(self, exponent: Tensor | builtins.float) -> Tensor:
        """Apply `pow` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def broadcast_sub(self, other: Tensor | builtins.float, *, alpha: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
        """Return input - alpha * other, element by element; shapes broadcast.  Gradient: g and -alpha*g."""

    def broadcast_sub_(self, other: Tensor | builtins.float, *, alpha: builtins.float = ...) -> Tensor:
        """Apply `sub` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def broadcast_to(self, *shape: builtins.int | Sequence[builtins.int]) -> Tensor:
        """Return a view of a larger shape, in which dims of length 1 are expanded and leading dims are added."""

    def byte(self, memory_format: Any = ...) -> Tensor:
        """Return x as uint8."""

    def cauchy_(self, median: builtins.float = ..., sigma: builtins.float = ..., *, generator: Any = ...) -> Tensor:
        """Fill x with samples of a Cauchy distribution, in place: median + sigma*tan(pi*(u - 0.5)) for uniform u."""

    def cdouble(self, memory_format: Any = ...) -> Tensor:
        """Return x as complex128."""

    def ceil(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the smallest integer that is not less than x.  Gradient: 0."""

    def ceil_(self) -> Tensor:
        """Apply `ceil` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def celu(self, alpha: Tensor | builtins.float = ..., inplace: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return input where it is positive, otherwise alpha * (exp(input/alpha) - 1)."""

    def celu_(self, alpha: Tensor | builtins.float = ...) -> Tensor:
        """Apply `celu` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def cfloat(self, memory_format: Any = ...) -> Tensor:
        """Return x as complex64."""

    def char(self, memory_format: Any = ...) -> Tensor:
        """Return x as int8."""

    def cholesky(self, upper: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
        """Return the Cholesky factor of symmetric positive definite matrices, as `mg.linalg.cholesky`."""

    def cholesky_inverse(self, upper: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return the inverse of a matrix, from the factor that `cholesky` returned for the matrix."""

    def cholesky_solve(self, input2: Tensor, upper: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return X with A @ X = input, from the factor `input2` that `cholesky` returned for A."""

    def chunk(self, chunks: builtins.int, dim: builtins.int = ...) -> builtins.tuple[Tensor, ...]:
        """Return views of at most `chunks` parts of equal length along `dim`; the last part may be shorter."""

    def clamp(self, min: Any = ..., max: Any = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return min(max(input, min), max); either bound may be None, a number or a tensor."""

    def clamp_(self, min: Any = ..., max: Any = ...) -> Tensor:
        """Apply `clamp` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def clamp_max(self, max: Any, *, out: Tensor | None = ...) -> Tensor:
        """Return the smaller of the input and `max`."""

    def clamp_max_(self, max: Any) -> Tensor:
        """Apply `clamp_max` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def clamp_min(self, min: Any, *, out: Tensor | None = ...) -> Tensor:
        """Return the larger of the input and `min`."""

    def clamp_min_(self, min: Any) -> Tensor:
        """Apply `clamp_min` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def clip(self, min: Any = ..., max: Any = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return min(max(input, min), max); either bound may be None, a number or a tensor."""

    def clip_(self, min: Any = ..., max: Any = ...) -> Tensor:
        """Apply `clamp` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def clone(self, *, memory_format: Any = ...) -> Tensor:
        """Return a copy in a separate storage, in the memory format of the input by default.  Gradient: g."""

    def conj(self) -> Tensor:
        """Return the conjugate: a new tensor for a complex dtype, and a real tensor itself.  Gradient: the conjugate of g."""

    def conj_physical(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the conjugate of x; a real number is its own conjugate.  Gradient: the conjugate of g."""

    def conj_physical_(self) -> Tensor:
        """Apply `conj_physical` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def const_set(self, value: builtins.float) -> Tensor:
        """Set every element to `value`, in place."""

    def contiguous(self, memory_format: Any = ...) -> Tensor:
        """Return a row-major copy without gaps, or one in another memory format; the tensor itself if it has this order."""

    def copy(self, *, memory_format: Any = ...) -> Tensor:
        """Return a copy in a separate storage, in the memory format of the input by default.  Gradient: g."""

    def copy_(self, source: Any, non_blocking: builtins.bool = ...) -> Tensor:
        """Copy the elements of `source` into x, with broadcasting and a cast to the dtype of x, in place."""

    def copysign(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return |input| with the sign of other; -0.0 and nan have a sign as well."""

    def copysign_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `copysign` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def corrcoef(self) -> Tensor:
        """Return the correlation matrix of the rows of the input; its elements, or both parts of them, are from -1 to 1."""

    def cos(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the cosine of x.  Gradient: -g*sin(x)."""

    def cos_(self) -> Tensor:
        """Apply `cos` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def cosh(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the hyperbolic cosine of x.  Gradient: g*sinh(x)."""

    def cosh_(self) -> Tensor:
        """Apply `cosh` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def count_nonzero(self, dim: builtins.int | Sequence[builtins.int] | None = ...) -> Tensor:
        """Return the number of nonzero elements over `dim`, in int64; nan is nonzero."""

    def cov(self, *, correction: builtins.int = ..., fweights: Tensor | None = ..., aweights: Tensor | None = ...) -> Tensor:
        """Return the covariance matrix of the rows of the input, whose columns are observations."""

    def cpu(self) -> Tensor:
        """Return x on the CPU; x itself if it is on the CPU."""

    def cross(self, other: Tensor, dim: builtins.int | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return the cross products of vectors of length 3 along `dim`; the operands broadcast."""

    def cuda(self, device: Any = ..., non_blocking: builtins.bool = ...) -> Tensor:
        """Return x on a CUDA device; x itself if it is on that device."""

    def cummax(self, dim: builtins.int, *, out: Tensor | None = ...) -> Any:
        """Return the cumulative maximum along `dim` and its positions, as the named tuple (values, indices)."""

    def cummin(self, dim: builtins.int, *, out: Tensor | None = ...) -> Any:
        """Return the cumulative minimum along `dim` and its positions, as the named tuple (values, indices)."""

    def cumprod(self, dim: builtins.int, *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
        """Return the cumulative product along `dim`: at each position, the product of the elements up to this position."""

    def cumprod_(self, dim: builtins.int, *, dtype: Any = ...) -> Tensor:
        """Apply `cumprod` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def cumsum(self, dim: builtins.int, *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
        """Return the cumulative sum along `dim`: at each position, the sum of the elements up to this position."""

    def cumsum_(self, dim: builtins.int, *, dtype: Any = ...) -> Tensor:
        """Apply `cumsum` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    @property
    def data(self) -> Tensor:
        """Return the values without history, in the same memory, as `detach()`."""

    def deg2rad(self, *, out: Tensor | None = ...) -> Tensor:
        """Convert degrees to radians, x*pi/180.  Gradient: g*pi/180."""

    def deg2rad_(self) -> Tensor:
        """Apply `deg2rad` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def det(self) -> Tensor:
        """Return the determinants of square matrices, as `mg.linalg.det`."""

    def detach_(self) -> Tensor:
        """Detach x from its history, in place, and return x: later results pass no gradient through x."""

    def diag(self, diagonal: builtins.int = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return a matrix with a vector as a diagonal and zeros elsewhere, or a copy of a diagonal of a matrix."""

    def diag_embed(self, offset: builtins.int = ..., dim1: builtins.int = ..., dim2: builtins.int = ...) -> Tensor:
        """Return matrices that have the last dim of the input as a diagonal, and zeros elsewhere."""

    def diagflat(self, offset: builtins.int = ...) -> Tensor:
        """Return a matrix with all elements of the input, in row-major order, as a diagonal, and zeros elsewhere."""

    def diagonal(self, offset: builtins.int = ..., dim1: builtins.int = ..., dim2: builtins.int = ...) -> Tensor:
        """Return a view of the diagonal of two dims, as the last dim.  Gradient: g on the diagonal, and 0 elsewhere."""

    def diagonal_scatter(self, src: Tensor, offset: builtins.int = ..., dim1: builtins.int = ..., dim2: builtins.int = ...) -> Tensor:
        """Return a copy of the tensor in which src replaces `diagonal(input, offset, dim1, dim2)`."""

    def diff(self, n: builtins.int = ..., dim: builtins.int = ..., prepend: Tensor | None = ..., append: Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return the n-th differences along `dim`: n times, each element minus the element before it."""

    def digamma(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the derivative of lgamma; -inf at 0, inf at -0.0, and nan at negative integers."""

    def digamma_(self) -> Tensor:
        """Apply `digamma` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def dim(self, dim: builtins.int | None = ...) -> builtins.int:
        """Return the number of dims; with the argument `dim`, return the length of that dim, as in candle."""

    def dim_order(self, *, ambiguity_check: builtins.bool | builtins.list[Any] = ...) -> builtins.tuple[builtins.int, ...]:
        """Return the dims from that with the largest stride to that with the smallest."""

    @property
    def dims(self) -> builtins.tuple[builtins.int, ...]:
        """Sizes of the dims; `()` for a scalar."""

    def dist(self, other: Tensor, p: builtins.float = ...) -> Tensor:
        """Return the p-norm of x - other: see `mg.dist`."""

    def div(self, other: Tensor | builtins.float, *, rounding_mode: Any = ..., out: Tensor | None = ...) -> Tensor:
        """Return input/other, rounded if rounding_mode is "floor" or "trunc"; without it, integers become floats."""

    def div_(self, other: Tensor | builtins.float, *, rounding_mode: Any = ...) -> Tensor:
        """Apply `div` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def divide(self, other: Tensor | builtins.float, *, rounding_mode: Any = ..., out: Tensor | None = ...) -> Tensor:
        """Return input/other, rounded if rounding_mode is "floor" or "trunc"; without it, integers become floats."""

    def divide_(self, other: Tensor | builtins.float, *, rounding_mode: Any = ...) -> Tensor:
        """Apply `div` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def dot(self, tensor: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the inner product of two vectors of the same length."""

    def double(self, memory_format: Any = ...) -> Tensor:
        """Return x as float64."""

    def dsplit(self, sections: builtins.int | Sequence[builtins.int] | Tensor) -> builtins.tuple[Tensor, ...]:
        """Return views of parts along the third dim."""

    def elem_count(self) -> builtins.int:
        """Return the number of elements."""

    def element_size(self) -> builtins.int:
        """Return the number of bytes of an element."""

    def elu(self, alpha: Tensor | builtins.float = ..., inplace: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return input where it is positive, otherwise alpha * (exp(input) - 1)."""

    def elu_(self, alpha: Tensor | builtins.float = ...) -> Tensor:
        """Apply `elu` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def eq(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input == other."""

    def eq_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `eq` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def equal(self, other: Tensor) -> builtins.bool:
        """Return whether two tensors have the same shape and equal elements; nan is not equal to nan."""

    def erf(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the error function of x.  Gradient: g*2/sqrt(pi)*exp(-x**2)."""

    def erf_(self) -> Tensor:
        """Apply `erf` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def erfc(self, *, out: Tensor | None = ...) -> Tensor:
        """Return 1 - erf(x) without cancellation for large x.  Gradient: -g*2/sqrt(pi)*exp(-x**2)."""

    def erfc_(self) -> Tensor:
        """Apply `erfc` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def erfinv(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the y with erf(y) = x; -inf at -1, inf at 1, and nan outside [-1, 1]."""

    def erfinv_(self) -> Tensor:
        """Apply `erfinv` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def exp(self, *, out: Tensor | None = ...) -> Tensor:
        """Return e**x; exp(-inf) is 0, and exp(inf) is inf.  Gradient: g*exp(x)."""

    def exp2(self, *, out: Tensor | None = ...) -> Tensor:
        """Return 2**x.  Gradient: g*2**x*ln(2)."""

    def exp2_(self) -> Tensor:
        """Apply `exp2` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def exp_(self) -> Tensor:
        """Apply `exp` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def expand(self, *shape: builtins.int | Sequence[builtins.int]) -> Tensor:
        """Return a view of a larger shape, in which dims of length 1 are expanded and leading dims are added."""

    def expand_as(self, other: Tensor) -> Tensor:
        """Return a view of x, expanded to the shape of `other`; see `expand`."""

    def explain_grad(self, y: Tensor | None = ...) -> Any:
        """Explain why the gradient of y with respect to x is None, zero, nan or inf."""

    def expm1(self, *, out: Tensor | None = ...) -> Tensor:
        """Return exp(x) - 1 without cancellation near 0.  Gradient: g*exp(x)."""

    def expm1_(self) -> Tensor:
        """Apply `expm1` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def exponential_(self, lambd: builtins.float = ..., *, generator: Any = ...) -> Tensor:
        """Fill x with samples of an exponential distribution, in place: -log(1 - u)/lambd for uniform u."""

    def fill_(self, value: builtins.float) -> Tensor:
        """Set every element to `value`, in place."""

    def fill_diagonal_(self, fill_value: builtins.float, wrap: builtins.bool = ...) -> Tensor:
        """Write a number to the diagonal of a matrix, in place, and return the matrix."""

    def fix(self, *, out: Tensor | None = ...) -> Tensor:
        """Return x rounded towards zero to an integer.  Gradient: 0."""

    def fix_(self) -> Tensor:
        """Apply `trunc` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def flatten(self, start_dim: builtins.int = ..., end_dim: builtins.int = ...) -> Tensor:
        """Return the tensor with the dims from start_dim to end_dim, which is included, merged into one dim."""

    def flatten_all(self, start_dim: builtins.int = ..., end_dim: builtins.int = ...) -> Tensor:
        """Return the tensor with the dims from start_dim to end_dim, which is included, merged into one dim."""

    def flatten_from(self, start_dim: builtins.int) -> Tensor:
        """Flatten the dims from `start_dim` to the last into one."""

    def flatten_to(self, end_dim: builtins.int) -> Tensor:
        """Flatten the dims from the first to `end_dim`, which is included, into one."""

    def flip(self, *dims: builtins.int | Sequence[builtins.int]) -> Tensor:
        """Return a view with the elements in reverse order along each of `dims`; it has negative strides."""

    def fliplr(self) -> Tensor:
        """Return a view with the second dim, the columns, in reverse order."""

    def flipud(self) -> Tensor:
        """Return a view with the first dim, the rows, in reverse order."""

    def float(self, memory_format: Any = ...) -> Tensor:
        """Return x as float32."""

    def float_power(self, exponent: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input**exponent, computed and returned in float64, or in complex128.  Gradient: the same as for `pow`."""

    def float_power_(self, exponent: Tensor | builtins.float) -> Tensor:
        """Apply `float_power` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def floor(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the largest integer that is not greater than x.  Gradient: 0."""

    def floor_(self) -> Tensor:
        """Apply `floor` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def floor_divide(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return floor(input/other), as Python's `//`; for integers, the result is 0 if other is 0.  Gradient: 0."""

    def floor_divide_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `floor_divide` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def fmax(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return the larger of two elements; if one of them is nan, return the other one."""

    def fmax_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `fmax` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def fmin(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return the smaller of two elements; if one of them is nan, return the other one."""

    def fmin_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `fmin` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def fmod(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input - other*trunc(input/other), as C's fmod; the result has the sign of input."""

    def fmod_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `fmod` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def force_contiguous(self, *, memory_format: Any = ...) -> Tensor:
        """Return a copy in a separate storage, in the memory format of the input by default.  Gradient: g."""

    def frac(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the fraction x - trunc(x), which has the sign of x; nan for inf and -inf.  Gradient: g."""

    def frac_(self) -> Tensor:
        """Apply `frac` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def frexp(self, *, out: Tensor | None = ...) -> Any:
        """Return the mantissa and the exponent of each element: input = mantissa * 2**exponent."""

    def gather(self, dim: builtins.int, index: Tensor, *, sparse_grad: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
        """Return the elements of input at the positions that index contains along `dim`."""

    def gcd(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return the greatest common divisor of |input| and |other|; gcd(0, 0) is 0."""

    def gcd_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `gcd` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def ge(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input >= other."""

    def ge_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `ge` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def gelu(self, approximate: builtins.str = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return input * Phi(input), with the distribution function Phi of the standard normal distribution."""

    def gelu_(self, approximate: builtins.str = ...) -> Tensor:
        """Apply `gelu` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def gelu_erf(self, approximate: builtins.str = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return input * Phi(input), with the distribution function Phi of the standard normal distribution."""

    def gelu_erf_(self, approximate: builtins.str = ...) -> Tensor:
        """Apply `gelu` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def geometric_(self, p: builtins.float, *, generator: Any = ...) -> Tensor:
        """Fill x with samples of a geometric distribution, in place."""

    def geqrf(self, *, out: Tensor | None = ...) -> Any:
        """Return (a, tau): the packed QR factors of matrices (..., m, n), with min(m, n) reflections."""

    def ger(self, vec2: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the outer product of two vectors: the products of each element of the first with each of the second."""

    def get(self, index: builtins.int) -> Tensor:
        """Return the slice at position `index` of the first dim, `x[index]`."""

    def get_device(self) -> builtins.int:
        """Return the index of the tensor's CUDA device, or -1 for a tensor on the CPU."""

    def get_on_dim(self, dim: builtins.int, index: builtins.int) -> Tensor:
        """Return a view of one position along `dim`, without this dim.  Gradient: g at this position, and 0 elsewhere."""

    def glu(self, dim: builtins.int = ...) -> Tensor:
        """Return the first half of input along `dim` times the sigmoid of the second half."""

    @property
    def grad(self) -> Tensor | None:
        """Return the gradient that `retain_grad` stored, that of a frozen Var, or one that a user has set; otherwise None."""

    @property
    def grad_fn(self) -> Any:
        """Return the node of the recorded op that computed x, for PyTorch's traversal of the graph; None for a leaf."""

    def greater(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input > other."""

    def greater_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `gt` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def greater_equal(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input >= other."""

    def greater_equal_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `ge` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def gt(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input > other."""

    def gt_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `gt` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def half(self, memory_format: Any = ...) -> Tensor:
        """Return x as float16."""

    def hardshrink(self, lambd: Tensor | builtins.float = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return input where |input| > lambd, otherwise 0; nan stays nan."""

    def hardshrink_(self, lambd: Tensor | builtins.float = ...) -> Tensor:
        """Apply `hardshrink` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def hardsigmoid(self, inplace: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return relu6(x + 3) / 6.  Gradient: g/6 where -3 < x < 3, and 0 elsewhere, also at -3 and 3."""

    def hardsigmoid_(self) -> Tensor:
        """Apply `hardsigmoid` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def hardswish(self, inplace: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return input * relu6(input + 3) / 6."""

    def hardswish_(self) -> Tensor:
        """Apply `hardswish` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def hardtanh(self, min_val: Tensor | builtins.float = ..., max_val: Tensor | builtins.float = ..., inplace: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return min(max(input, min_val), max_val); nan stays nan."""

    def hardtanh_(self, min_val: Tensor | builtins.float = ..., max_val: Tensor | builtins.float = ...) -> Tensor:
        """Apply `hardtanh` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def hash_tensor(self, dim: builtins.int | Sequence[builtins.int] | None = ..., *, keepdim: builtins.bool = ..., mode: builtins.int = ..., out: Tensor | None = ...) -> Tensor:
        """Return the exclusive or of the bits of the elements over `dim`, in uint64; not differentiable."""

    def heaviside(self, values: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return the Heaviside step function: 0 for input < 0, 1 for input > 0, `values` at 0, and 0 for nan."""

    def heaviside_(self, values: Tensor | builtins.float) -> Tensor:
        """Apply `heaviside` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def histc(self, bins: builtins.int = ..., min: builtins.float = ..., max: builtins.float = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return the number of elements in each of `bins` bins of equal width from min to max, in the dtype of the input."""

    def histogram(self, bins: builtins.int | Tensor = ..., *, range: Sequence[builtins.float] | None = ..., weight: Tensor | None = ..., density: builtins.bool = ..., out: Tensor | None = ...) -> Any:
        """Count the elements in each bin, or sum their weights, and return (hist, bin_edges) in the dtype of the input."""

    def hsplit(self, sections: builtins.int | Sequence[builtins.int] | Tensor) -> builtins.tuple[Tensor, ...]:
        """Return views of parts along the second dim, or along the only dim of a vector."""

    def hypot(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return sqrt(input**2 + other**2), also where the squares would overflow; inf if an operand is infinite."""

    def hypot_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `hypot` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def i(self, index: Any) -> Tensor:
        """Return x[index]: a view for ints, slices, None and Ellipsis; a copy for index tensors, lists and masks."""

    def i0(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the modified Bessel function I0: the mean of exp(x*cos(t)).  Gradient: g*i1(x)."""

    def i0_(self) -> Tensor:
        """Apply `i0` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def igamma(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the regularized lower incomplete gamma function of the order `input` from 0 to `other`."""

    def igamma_(self, other: Tensor) -> Tensor:
        """Apply `igamma` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def igammac(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the regularized upper incomplete gamma function, 1 - igamma(input, other), without cancellation."""

    def igammac_(self, other: Tensor) -> Tensor:
        """Apply `igammac` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    @property
    def imag(self) -> Tensor:
        """Return a view of the imaginary parts.  Gradient: i*g.  Raises DTypeError for a real tensor."""

    def index_add(self, dim: builtins.int, index: Tensor, source: Tensor, *, alpha: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
        """Return input with the slices of alpha * source added at the positions in the vector `index` along `dim`."""

    def index_add_(self, dim: builtins.int, index: Tensor, source: Tensor, *, alpha: builtins.float = ...) -> Tensor:
        """Apply `index_add` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def index_copy(self, dim: builtins.int, index: Tensor, source: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return input with the slices at the positions in the vector `index` along `dim` replaced by those of source."""

    def index_copy_(self, dim: builtins.int, index: Tensor, source: Tensor) -> Tensor:
        """Apply `index_copy` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def index_fill(self, dim: builtins.int, index: Tensor, value: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input with the slices at the positions in the vector `index` along `dim` filled with one value."""

    def index_fill_(self, dim: builtins.int, index: Tensor, value: Tensor | builtins.float) -> Tensor:
        """Apply `index_fill` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def index_put(self, indices: Any, values: Tensor, accumulate: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return input with the elements at input[indices] replaced by values, which broadcast."""

    def index_put_(self, indices: Any, values: Tensor, accumulate: builtins.bool = ...) -> Tensor:
        """Apply `index_put` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def index_reduce(self, dim: builtins.int, index: Tensor, source: Tensor, reduce: builtins.str, *, include_self: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
        """Return input with each slice of source along `dim` reduced into the slice at its position in the vector `index`."""

    def index_reduce_(self, dim: builtins.int, index: Tensor, source: Tensor, reduce: builtins.str, *, include_self: builtins.bool = ...) -> Tensor:
        """Apply `index_reduce` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def index_select(self, dim: builtins.int, index: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the slices of input at the positions in the vector `index` along `dim`, in the order of the index."""

    def inner(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the inner products over the last dims of both operands; for a scalar operand, return the product."""

    def int(self, memory_format: Any = ...) -> Tensor:
        """Return x as int32."""

    def inverse(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the inverses of square matrices, as `mg.linalg.inv`."""

    def is_complex(self) -> builtins.bool:
        """Return whether the dtype is complex."""

    def is_conj(self) -> builtins.bool:
        """Return False: there is no such tensor."""

    @property
    def is_cpu(self) -> builtins.bool:
        """Return whether the tensor is in the memory of the host."""

    @property
    def is_cuda(self) -> builtins.bool:
        """Return whether the tensor is on a CUDA device."""

    def is_distributed(self) -> builtins.bool:
        """Return False: there is no such tensor."""

    def is_floating_point(self) -> builtins.bool:
        """Return whether the dtype is a float."""

    def is_inference(self) -> builtins.bool:
        """Return whether a tensor was computed under `inference_mode`."""

    @property
    def is_ipu(self) -> builtins.bool:
        """Return False: there is no such tensor."""

    @property
    def is_maia(self) -> builtins.bool:
        """Return False: there is no such tensor."""

    @property
    def is_meta(self) -> builtins.bool:
        """Return False: there is no such device."""

    @property
    def is_mkldnn(self) -> builtins.bool:
        """Return False: there is no such tensor."""

    @property
    def is_mps(self) -> builtins.bool:
        """Return False: there is no such device."""

    @property
    def is_mtia(self) -> builtins.bool:
        """Return False: there is no such tensor."""

    def is_neg(self) -> builtins.bool:
        """Return False: there is no such tensor."""

    @property
    def is_nested(self) -> builtins.bool:
        """Return False: there is no such tensor."""

    def is_nonzero(self) -> builtins.bool:
        """Return whether the only element is not zero.  Raises ArgumentError for another number of elements."""

    def is_pinned(self, device: Any = ...) -> builtins.bool:
        """Return whether the tensor is in pinned host memory, which a device reads directly."""

    @property
    def is_quantized(self) -> builtins.bool:
        """Return False: there is no such tensor."""

    def is_same_size(self, other: Tensor) -> builtins.bool:
        """Return whether two tensors have the same shape."""

    def is_set_to(self, tensor: Tensor) -> builtins.bool:
        """Return whether another tensor has the same memory and the same layout."""

    def is_shared(self) -> builtins.bool:
        """Return False: there is no such tensor."""

    def is_signed(self) -> builtins.bool:
        """Return whether the dtype has negative numbers."""

    @property
    def is_sparse(self) -> builtins.bool:
        """Return False: there is no such tensor."""

    @property
    def is_sparse_csr(self) -> builtins.bool:
        """Return False: there is no such tensor."""

    @property
    def is_vulkan(self) -> builtins.bool:
        """Return False: there is no such tensor."""

    @property
    def is_xla(self) -> builtins.bool:
        """Return False: there is no such tensor."""

    @property
    def is_xpu(self) -> builtins.bool:
        """Return False: there is no such device."""

    def isclose(self, other: Tensor, rtol: builtins.float = ..., atol: builtins.float = ..., equal_nan: builtins.bool = ...) -> Tensor:
        """Return whether input == other or |input - other| <= atol + rtol*|other|, for each element."""

    def isfinite(self, *, out: Tensor | None = ...) -> Tensor:
        """Return whether x is neither infinite nor nan."""

    def isfinite_(self) -> Tensor:
        """Apply `isfinite` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def isinf(self, *, out: Tensor | None = ...) -> Tensor:
        """Return whether x is inf or -inf."""

    def isinf_(self) -> Tensor:
        """Apply `isinf` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def isnan(self, *, out: Tensor | None = ...) -> Tensor:
        """Return whether x is nan."""

    def isnan_(self) -> Tensor:
        """Apply `isnan` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def isneginf(self, *, out: Tensor | None = ...) -> Tensor:
        """Return whether x is -inf."""

    def isneginf_(self) -> Tensor:
        """Apply `isneginf` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def isposinf(self, *, out: Tensor | None = ...) -> Tensor:
        """Return whether x is inf."""

    def isposinf_(self) -> Tensor:
        """Apply `isposinf` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def isreal(self, *, out: Tensor | None = ...) -> Tensor:
        """Return whether the imaginary part of x is 0; a real number has none."""

    def isreal_(self) -> Tensor:
        """Apply `isreal` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def istft(self, n_fft: builtins.int, hop_length: builtins.int | None = ..., win_length: builtins.int | None = ..., window: Tensor | None = ..., center: builtins.bool = ..., normalized: builtins.bool = ..., onesided: builtins.bool | None = ..., length: builtins.int | None = ..., return_complex: builtins.bool = ...) -> Tensor:
        """Return the signal whose `stft` is nearest to the input: the sum of its frames, divided by that of their windows."""

    def item(self) -> Any:
        """Return the only element as a Python number.  Raises ShapeError for another number of elements."""

    @property
    def itemsize(self) -> builtins.int:
        """Return the number of bytes of an element."""

    def kron(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the Kronecker product: the block at each position is this element of the input times the tensor other."""

    def kthvalue(self, k: builtins.int, dim: builtins.int = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
        """Return the k-th smallest element along `dim` and its position, as (values, indices)."""

    def lcm(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return the least common multiple of |input| and |other|, 0 if either is 0; a result that is too large wraps."""

    def lcm_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `lcm` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def ldexp(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input * 2**other.  Gradient, with the result y: g*2**other for input, and g*y*ln(2) for other."""

    def ldexp_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `ldexp` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def le(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input <= other."""

    def le_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `le` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def leaky_relu(self, negative_slope: Tensor | builtins.float = ..., inplace: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return input where it is positive, otherwise negative_slope * input."""

    def leaky_relu_(self, negative_slope: Tensor | builtins.float = ...) -> Tensor:
        """Apply `leaky_relu` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def lerp(self, end: Tensor | builtins.float, weight: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input + weight * (end - input); the result is exactly `end` for the weight 1."""

    def lerp_(self, end: Tensor | builtins.float, weight: Tensor | builtins.float) -> Tensor:
        """Apply `lerp` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def less(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input < other."""

    def less_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `lt` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def less_equal(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input <= other."""

    def less_equal_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `le` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def lgamma(self, *, out: Tensor | None = ...) -> Tensor:
        """Return log(|gamma(x)|); inf at 0 and at negative integers.  Gradient: g*digamma(x)."""

    def lgamma_(self) -> Tensor:
        """Apply `lgamma` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def log(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the natural logarithm; -inf at 0, and nan for x < 0.  Gradient: g/x."""

    def log10(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the logarithm to base 10; -inf at 0, and nan for x < 0.  Gradient: g/(x*ln(10))."""

    def log10_(self) -> Tensor:
        """Apply `log10` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def log1p(self, *, out: Tensor | None = ...) -> Tensor:
        """Return log(1 + x) without cancellation near 0.  Gradient: g/(1+x)."""

    def log1p_(self) -> Tensor:
        """Apply `log1p` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def log2(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the logarithm to base 2; -inf at 0, and nan for x < 0.  Gradient: g/(x*ln(2))."""

    def log2_(self) -> Tensor:
        """Apply `log2` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def log_(self) -> Tensor:
        """Apply `log` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def log_normal_(self, mean: builtins.float = ..., std: builtins.float = ..., *, generator: Any = ...) -> Tensor:
        """Fill x with samples of a log-normal distribution, in place."""

    def log_sigmoid(self, *, out: Tensor | None = ...) -> Tensor:
        """Return log(sigmoid(x)), without overflow.  Gradient: g*sigmoid(-x)."""

    def log_sigmoid_(self) -> Tensor:
        """Apply `log_sigmoid` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def log_softmax(self, dim: builtins.int, dtype: Any = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return log(softmax(input)) along `dim`, computed as input - log(sum(exp(input))), which does not underflow."""

    def log_sum_exp(self, dim: builtins.int | Sequence[builtins.int] | None, keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return log(sum(exp(input))) over `dim`, without overflow of the exponentials."""

    def logaddexp(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return log(exp(input) + exp(other)) without overflow."""

    def logaddexp2(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return log2(2**input + 2**other) without overflow."""

    def logaddexp2_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `logaddexp2` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def logaddexp_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `logaddexp` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def logcumsumexp(self, dim: builtins.int, *, out: Tensor | None = ...) -> Tensor:
        """Return log(cumsum(exp(input))) along `dim`, without overflow.  Raises DTypeError for integers."""

    def logdet(self) -> Tensor:
        """Return the logarithms of the determinants of square matrices."""

    def logical_and(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return whether both operands are nonzero."""

    def logical_and_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `logical_and` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def logical_not(self, *, out: Tensor | None = ...) -> Tensor:
        """Return whether x is zero."""

    def logical_not_(self) -> Tensor:
        """Apply `logical_not` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def logical_or(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return whether at least one operand is nonzero."""

    def logical_or_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `logical_or` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def logical_xor(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return whether exactly one operand is nonzero."""

    def logical_xor_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `logical_xor` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def logit(self, eps: Any = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return log(x/(1-x)), the inverse of sigmoid; nan for x outside [0, 1]."""

    def logit_(self, eps: Any = ...) -> Tensor:
        """Apply `logit` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def logsumexp(self, dim: builtins.int | Sequence[builtins.int] | None, keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return log(sum(exp(input))) over `dim`, without overflow of the exponentials."""

    def long(self, memory_format: Any = ...) -> Tensor:
        """Return x as int64."""

    def lt(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input < other."""

    def lt_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `lt` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def lu(self, pivot: builtins.bool = ..., get_infos: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
        """Return (LU, pivots) as `mg.linalg.lu_factor`, also for singular matrices."""

    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the solutions of systems from the factors of `mg.linalg.lu_factor`, as `mg.linalg.lu_solve`."""

    @property
    def mH(self) -> Tensor:
        """Return a tensor with the last two dims swapped, and conjugated if it is complex; for a real one, this is a view."""

    @property
    def mT(self) -> Tensor:
        """Return a view with the last two dims swapped."""

    def map2_(self, x1: Tensor, x2: Tensor, callable: Any) -> Tensor:
        """Replace each element by `callable(element, first, second)`, in place, with values from x1 and x2."""

    def map_(self, tensor: Tensor, callable: Any) -> Tensor:
        """Replace each element by `callable(element, other)`, in place, with `other` from `tensor`; see `apply_`."""

    def masked_fill(self, mask: Tensor, value: Tensor | builtins.float) -> Tensor:
        """Return a copy of the input with `value` where `mask` is True; input and mask broadcast."""

    def masked_fill_(self, mask: Tensor, value: builtins.float | Tensor) -> Tensor:
        """Apply `masked_fill` in place; the mask must broadcast to the shape of x."""

    def masked_scatter(self, mask: Tensor, source: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return a copy of the input with the elements of `source`, in their order, where `mask` is True."""

    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Tensor:
        """Apply `masked_scatter` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def masked_select(self, mask: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return a vector of the elements where `mask` is True, in row-major order; input and mask broadcast."""

    def matmul(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the matrix product; batch dims broadcast."""

    def matrix_exp(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the exponentials of square matrices: the sum of input^k / k! over all k."""

    def matrix_power(self, n: builtins.int, *, out: Tensor | None = ...) -> Tensor:
        """Return the n-th power of square matrices, as `mg.linalg.matrix_power`; n may be negative."""

    def max(self, dim: builtins.int | Tensor | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
        """Return the largest of all elements."""

    def max_all(self, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return the largest element over `dim`; nan if an element is nan."""

    def max_keepdim(self, dim: Any = ...) -> Any:
        """Return `max` with the reduced dims kept as length 1."""

    def maximum(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return the larger element, or nan.  Gradient: g for the larger operand, g/2 each at ties, g for both at nan."""

    def maximum_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `maximum` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def mean(self, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
        """Return the mean of the elements over `dim`; nan if there are no elements."""

    def mean_all(self, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
        """Return the mean of the elements over `dim`; nan if there are no elements."""

    def mean_keepdim(self, dim: Any = ...) -> Any:
        """Return `mean` with the reduced dims kept as length 1."""

    def median(self, dim: builtins.int | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
        """Return the median of all elements, or with `dim` the named tuple (values, indices) of the medians along `dim`."""

    def min(self, dim: builtins.int | Tensor | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
        """Return the smallest of all elements."""

    def min_all(self, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return the smallest element over `dim`; nan if an element is nan."""

    def min_keepdim(self, dim: Any = ...) -> Any:
        """Return `min` with the reduced dims kept as length 1."""

    def minimum(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return the smaller element, or nan.  Gradient: g for the smaller operand, g/2 each at ties, g for both at nan."""

    def minimum_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `minimum` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def mish(self, inplace: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return x * tanh(softplus(x)); for x >= 20, softplus(x) is computed as x, since tanh is 1 there in every dtype."""

    def mish_(self) -> Tensor:
        """Apply `mish` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def mm(self, mat2: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the product of two matrices, without batch dims."""

    def mode(self, dim: builtins.int = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
        """Return the most frequent element along `dim`, and the position of its last occurrence."""

    def moveaxis(self, source: builtins.int | Sequence[builtins.int], destination: builtins.int | Sequence[builtins.int]) -> Tensor:
        """Return a view with some dims moved to other positions; the other dims keep their order."""

    def movedim(self, source: builtins.int | Sequence[builtins.int], destination: builtins.int | Sequence[builtins.int]) -> Tensor:
        """Return a view with some dims moved to other positions; the other dims keep their order."""

    def msort(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the elements sorted along the first dim."""

    def mul(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input * other, per element; shapes broadcast.  For bool, this is `and`.  Gradient: g*other and g*input."""

    def mul_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `mul` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def mul_scalar(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input * other, per element; shapes broadcast.  For bool, this is `and`.  Gradient: g*other and g*input."""

    def mul_scalar_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `mul` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def multinomial(self, num_samples: builtins.int, replacement: builtins.bool = ..., *, generator: Any = ..., out: Tensor | None = ...) -> Tensor:
        """Draw int64 positions from each row of weights, with probabilities proportional to the weights."""

    def multiply(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input * other, per element; shapes broadcast.  For bool, this is `and`.  Gradient: g*other and g*input."""

    def multiply_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `mul` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def mv(self, vec: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the product of a matrix and a vector."""

    def mvlgamma(self, p: builtins.int, *, out: Tensor | None = ...) -> Tensor:
        """Return the logarithm of the multivariate gamma function of dimension p."""

    def mvlgamma_(self, p: builtins.int) -> Tensor:
        """Apply `mvlgamma` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def nan_to_num(self, nan: builtins.float | None = ..., posinf: builtins.float | None = ..., neginf: builtins.float | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """Replace nan by `nan`, inf by `posinf` and -inf by `neginf`."""

    def nan_to_num_(self, nan: builtins.float | None = ..., posinf: builtins.float | None = ..., neginf: builtins.float | None = ...) -> Tensor:
        """Apply `nan_to_num` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def nanmean(self, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
        """Return the mean over `dim` of the elements that are not nan; nan if all elements are nan."""

    def nanmedian(self, dim: builtins.int | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
        """Return `median` of the elements that are not nan; nan if all elements are nan."""

    def nanquantile(self, q: Tensor | builtins.float, dim: builtins.int | None = ..., keepdim: builtins.bool = ..., *, interpolation: builtins.str = ..., out: Tensor | None = ...) -> Tensor:
        """Return `quantile` of the elements that are not nan; nan if all elements are nan."""

    def nansum(self, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
        """Return the sum over `dim` of the elements that are not nan; 0 if all elements are nan."""

    def narrow(self, dim: builtins.int, start: builtins.int, length: builtins.int) -> Tensor:
        """Return a view of `length` elements along `dim`, from `start`.  Gradient: g at these elements, and 0 elsewhere."""

    def narrow_copy(self, dim: builtins.int, start: builtins.int, length: builtins.int, *, out: Tensor | None = ...) -> Tensor:
        """Return a copy of the result of `narrow`, in separate memory."""

    @property
    def nbytes(self) -> builtins.int:
        """Return the number of bytes of all elements of the tensor, not of its storage."""

    def ndimension(self, dim: builtins.int | None = ...) -> builtins.int:
        """Return the number of dims; with the argument `dim`, return the length of that dim, as in candle."""

    def ndtr(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the cumulative distribution function of the standard normal distribution."""

    def ndtr_(self) -> Tensor:
        """Apply `ndtr` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def ne(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input != other."""

    def ne_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `ne` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def neg(self, *, out: Tensor | None = ...) -> Tensor:
        """Return -x; unsigned integers wrap.  Gradient: -g."""

    def neg_(self) -> Tensor:
        """Apply `neg` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def negative(self, *, out: Tensor | None = ...) -> Tensor:
        """Return -x; unsigned integers wrap.  Gradient: -g."""

    def negative_(self) -> Tensor:
        """Apply `neg` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def nelement(self) -> builtins.int:
        """Return the number of elements."""

    def new(self, *sizes: Any, size: Any = ...) -> Tensor:
        """Return `x.new_empty` of several lengths or of `size`, or `x.new_tensor` of data."""

    def new_empty(self, *size: builtins.int | Sequence[builtins.int], dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., **kwargs: Any) -> Tensor:
        """Return `mg.empty` of a size, of the dtype and on the device of x."""

    def new_empty_strided(self, size: Sequence[builtins.int], stride: Sequence[builtins.int], *, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., **kwargs: Any) -> Tensor:
        """Return `mg.empty_strided` of a size and strides, of the dtype and on the device of x."""

    def new_full(self, size: Any, fill_value: builtins.float, *, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., **kwargs: Any) -> Tensor:
        """Return a tensor filled with one value, in the dtype and on the device of x; see `mg.full`."""

    def new_ones(self, *size: builtins.int | Sequence[builtins.int], dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., **kwargs: Any) -> Tensor:
        """Return `mg.ones` of a size, of the dtype and on the device of x."""

    def new_tensor(self, data: Any, *, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ...) -> Tensor:
        """Return a copy of data in the dtype and on the device of x; see `mg.tensor`."""

    def new_zeros(self, *size: builtins.int | Sequence[builtins.int], dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., **kwargs: Any) -> Tensor:
        """Return `mg.zeros` of a size, of the dtype and on the device of x."""

    def nextafter(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return the next number after input in the direction of other, in the dtype of the operands."""

    def nextafter_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `nextafter` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def nonzero(self, *, as_tuple: builtins.bool = ..., out: Tensor | None = ...) -> Any:
        """Return the indices of all nonzero elements as an int64 matrix, with one row per element."""

    def nonzero_static(self, *, size: builtins.int, fill_value: builtins.int = ..., out: Tensor | None = ...) -> Tensor:
        """Return the indices of the first `size` nonzero elements as an int64 matrix, with one row per element."""

    def norm(self, p: builtins.float | builtins.str | None = ..., dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., dtype: Any = ...) -> Tensor:
        """Return the norm of order `p` over `dim`; see `mg.norm`."""

    def normal_(self, mean: builtins.float = ..., std: builtins.float = ..., *, generator: Any = ...) -> Tensor:
        """Fill x with samples of a normal distribution, in place."""

    def not_equal(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input != other."""

    def not_equal_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `ne` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def numpy(self, *, force: builtins.bool = ...) -> Any:
        """Return a NumPy array that shares the memory of the tensor, so a write to one is visible in the other."""

    def one_set(self) -> Tensor:
        """Set every element to 1, in place."""

    def orgqr(self, input2: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the first columns of a product of reflections, as `mg.linalg.householder_product`; input2: tau."""

    def ormqr(self, input2: Tensor, input3: Tensor, left: builtins.bool = ..., transpose: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return Q @ input3 for the square product Q of the reflections of `mg.geqrf`, without computing Q."""

    def outer(self, vec2: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the outer product of two vectors: the products of each element of the first with each of the second."""

    @property
    def output_nr(self) -> builtins.int:
        """Return the index of the tensor among the results of its node; 0 for a leaf."""

    def permute(self, *dims: builtins.int | Sequence[builtins.int]) -> Tensor:
        """Return a view with the dims in another order.  Gradient: g, permuted with the inverse order."""

    def pin_memory(self, device: Any = ...) -> Tensor:
        """Return a copy of x in pinned (page-locked) host memory, or x itself if its memory is already pinned."""

    def pinverse(self, rcond: builtins.float = ...) -> Tensor:
        """Return the Moore-Penrose inverses of matrices, as `mg.linalg.pinv` with rtol=rcond."""

    def polygamma(self, n: builtins.int) -> Tensor:
        """Return the n-th derivative of digamma.  `mg.polygamma(n, input)` takes the order first."""

    def positive(self) -> Tensor:
        """Return the input itself.  Raises DTypeError for bool, as `neg` does."""

    def pow(self, exponent: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input**exponent, element by element; shapes broadcast."""

    def pow_(self, exponent: Tensor | builtins.float) -> Tensor:
        """Apply `pow` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def powf(self, exponent: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input**exponent, element by element; shapes broadcast."""

    def powf_(self, exponent: Tensor | builtins.float) -> Tensor:
        """Apply `pow` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def prelu(self, weight: Tensor) -> Tensor:
        """Return input where it is positive, otherwise weight * input."""

    def prod(self, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
        """Return the product of the elements over `dim`; 1 if there are no elements."""

    def put(self, index: Tensor, source: Tensor, accumulate: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return input with the elements of source stored at the positions in `index`, which count in row-major order."""

    def put_(self, index: Tensor, source: Tensor, accumulate: builtins.bool = ...) -> Tensor:
        """Apply `put` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def qr(self, some: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
        """Return the QR factors of matrices, as `mg.linalg.qr` with mode="reduced", or "complete" with some=False."""

    def quantile(self, q: Tensor | builtins.float, dim: builtins.int | None = ..., keepdim: builtins.bool = ..., *, interpolation: builtins.str = ..., out: Tensor | None = ...) -> Tensor:
        """Return the quantile q of the elements along `dim`, or of all elements; a row with nan produces nan."""

    def rad2deg(self, *, out: Tensor | None = ...) -> Tensor:
        """Convert radians to degrees, x*180/pi.  Gradient: g*180/pi."""

    def rad2deg_(self) -> Tensor:
        """Apply `rad2deg` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def random_(self, low: builtins.int | None = ..., to: Any = ..., *, generator: Any = ...) -> Tensor:
        """Fill x with random integers in [low, to), in place."""

    @property
    def rank(self) -> builtins.int:
        """Number of dims."""

    def ravel(self) -> Tensor:
        """Return the elements in one dim, contiguous: a copy if the memory is not, such as that of `x[::2]`."""

    @property
    def real(self) -> Tensor:
        """Return a view of the real parts; a real tensor is returned itself.  Gradient: g."""

    def recip(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the reciprocal 1/x; inf or -inf at 0.  Gradient: -g/x**2."""

    def recip_(self) -> Tensor:
        """Apply `reciprocal` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def reciprocal(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the reciprocal 1/x; inf or -inf at 0.  Gradient: -g/x**2."""

    def reciprocal_(self) -> Tensor:
        """Apply `reciprocal` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def record_stream(self, stream: Any) -> None:
        """Do nothing: the method exists for code from PyTorch; minigrad reuses the memory of a device in stream order."""

    def register_hook(self, hook: Any) -> Any:
        """Call `hook(gradient)` in each backward pass, when the gradient of x is complete."""

    def register_post_accumulate_grad_hook(self, hook: Any) -> Any:
        """Call `hook(x)` after `backward` has added to `x.grad`."""

    def relu(self, *, out: Tensor | None = ...) -> Tensor:
        """Return x where x > 0, otherwise 0; nan stays nan.  Gradient: g where x > 0 or nan, and 0 where x <= 0."""

    def relu6(self, *, out: Tensor | None = ...) -> Tensor:
        """Return min(max(x, 0), 6); nan stays nan.  Gradient: g where 0 < x < 6 or nan, and 0 elsewhere."""

    def relu6_(self) -> Tensor:
        """Apply `relu6` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def relu_(self) -> Tensor:
        """Apply `relu` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def remainder(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input - other*floor(input/other), as Python's `%`; for integers, the result is 0 if other is 0."""

    def remainder_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `remainder` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def renorm(self, p: builtins.float, dim: builtins.int, maxnorm: builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return the tensor with its slices along `dim` scaled down where their norm of order p exceeds maxnorm."""

    def renorm_(self, p: builtins.float, dim: builtins.int, maxnorm: builtins.float) -> Tensor:
        """Apply `renorm` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def repeat(self, *repeats: builtins.int | Sequence[builtins.int]) -> Tensor:
        """Repeat the tensor repeats[d] times along each dim d; additional counts in front add leading dims."""

    def repeat_interleave(self, repeats: Tensor | builtins.int, dim: builtins.int | None = ..., *, output_size: builtins.int | None = ...) -> Tensor:
        """Repeat each element along `dim`; the copies of an element are next to each other."""

    def requires_grad_(self, requires_grad: builtins.bool = ...) -> Tensor:
        """Make x a leaf that requires a gradient, in place; with False, make it a constant.  Return x."""

    def reshape(self, *sizes: builtins.int | Sequence[builtins.int], shape: Sequence[builtins.int] | None = ...) -> Tensor:
        """Return a tensor of another shape with the same elements: a view if the strides allow it, otherwise a copy."""

    def reshape_as(self, other: Tensor) -> Tensor:
        """Return x in the shape of `other`; see `reshape`."""

    def resize_(self, *size: builtins.int | Sequence[builtins.int], memory_format: Any = ...) -> Tensor:
        """Change the shape of x, in place, and return x, whose elements are then those of its memory, in order."""

    def resize_as_(self, other: Tensor, *, memory_format: Any = ...) -> Tensor:
        """Change the shape of x to that of `other`, in place; see `resize_`."""

    def resolve_conj(self) -> Tensor:
        """Return the tensor itself, because `conj` computes its numbers."""

    def resolve_neg(self) -> Tensor:
        """Return x itself: it is dense, and its sign is that of its elements."""

    def retain_grad(self) -> None:
        """Make backward passes set `x.grad` for an intermediate result; the gradient includes the changes of all hooks."""

    @property
    def retains_grad(self) -> builtins.bool:
        """Return whether x is an intermediate result for which `retain_grad` was called."""

    def roll(self, shifts: builtins.int | Sequence[builtins.int], dims: builtins.int | Sequence[builtins.int] | None = ...) -> Tensor:
        """Shift the elements by `shifts` along `dims`; elements that leave one end enter at the other end."""

    def rot90(self, k: builtins.int = ..., dims: builtins.int | Sequence[builtins.int] = ...) -> Tensor:
        """Return a view rotated k times by 90 degrees in the plane of two dims, from the first towards the second."""

    def round(self, *, decimals: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
        """Return x rounded to the nearest integer, or to the nearest multiple of 10**-decimals."""

    def round_(self, *, decimals: builtins.float = ...) -> Tensor:
        """Apply `round` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def rsqrt(self, *, out: Tensor | None = ...) -> Tensor:
        """Return 1/sqrt(x); inf at 0, and nan for x < 0.  Gradient: -g/(2*x*sqrt(x))."""

    def rsqrt_(self) -> Tensor:
        """Apply `rsqrt` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def scatter(self, dim: builtins.int, index: Tensor, src: Tensor | builtins.float | None = ..., *, reduce: builtins.str | None = ..., value: builtins.float | None = ..., out: Tensor | None = ...) -> Tensor:
        """Return input with src, a tensor or a number, stored at the positions that index contains along `dim`."""

    def scatter_(self, dim: builtins.int, index: Tensor, src: Tensor | builtins.float | None = ..., *, reduce: builtins.str | None = ..., value: builtins.float | None = ...) -> Tensor:
        """Apply `scatter` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def scatter_add(self, dim: builtins.int, index: Tensor, src: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return input with the elements of src added at the positions that index contains along `dim`."""

    def scatter_add_(self, dim: builtins.int, index: Tensor, src: Tensor) -> Tensor:
        """Apply `scatter_add` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def scatter_reduce(self, dim: builtins.int, index: Tensor, src: Tensor, reduce: builtins.str, *, include_self: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
        """Return input with each element of src reduced into the element at the position that index contains along `dim`."""

    def scatter_reduce_(self, dim: builtins.int, index: Tensor, src: Tensor, reduce: builtins.str, *, include_self: builtins.bool = ...) -> Tensor:
        """Apply `scatter_reduce` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def select(self, dim: builtins.int, index: builtins.int) -> Tensor:
        """Return a view of one position along `dim`, without this dim.  Gradient: g at this position, and 0 elsewhere."""

    def select_scatter(self, src: Tensor, dim: builtins.int, index: builtins.int) -> Tensor:
        """Return a copy of the tensor in which src replaces `select(input, dim, index)`."""

    def selu(self, inplace: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return 1.0507 * x where x > 0, otherwise 1.7581 * (exp(x) - 1)."""

    def selu_(self) -> Tensor:
        """Apply `selu` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def set_(self, source: Any = ..., storage_offset: builtins.int = ..., size: Sequence[builtins.int] | None = ..., stride: Sequence[builtins.int] | None = ...) -> Tensor:
        """Make x a tensor over other memory, in place, and return x."""

    def sgn(self, *, out: Tensor | None = ...) -> Tensor:
        """Return x/|x|, and 0 at 0; for a real tensor, this is `sign`."""

    def sgn_(self) -> Tensor:
        """Apply `sgn` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def share_memory_(self) -> Tensor:
        """Return x itself; it is not moved to shared memory."""

    def short(self, memory_format: Any = ...) -> Tensor:
        """Return x as int16."""

    def sigmoid(self, *, out: Tensor | None = ...) -> Tensor:
        """Return 1/(1 + exp(-x)), without overflow.  Gradient: g*y*(1 - y) with the result y."""

    def sigmoid_(self) -> Tensor:
        """Apply `sigmoid` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def sign(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the sign of x: -1, 0 or 1, and nan for nan; for bool, this is x.  Gradient: 0."""

    def sign_(self) -> Tensor:
        """Apply `sign` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def signbit(self, *, out: Tensor | None = ...) -> Tensor:
        """Return whether the sign bit of x is set; -0.0 and nan have a sign bit as well."""

    def signbit_(self) -> Tensor:
        """Apply `signbit` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def silu(self, *, out: Tensor | None = ...) -> Tensor:
        """Return x*sigmoid(x).  Gradient: g*s*(1 + x*(1-s)) with s = sigmoid(x)."""

    def silu_(self) -> Tensor:
        """Apply `silu` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def sin(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the sine of x.  Gradient: g*cos(x)."""

    def sin_(self) -> Tensor:
        """Apply `sin` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def sinc(self, *, out: Tensor | None = ...) -> Tensor:
        """Return sin(pi*x)/(pi*x), which is 1 at 0.  Gradient: g*(cos(pi*x) - y)/x with the result y; 0 at 0."""

    def sinc_(self) -> Tensor:
        """Apply `sinc` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def sinh(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the hyperbolic sine of x.  Gradient: g*cosh(x)."""

    def sinh_(self) -> Tensor:
        """Apply `sinh` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def size(self, dim: builtins.int | None = ...) -> Any:
        """Return the shape, or the length of `dim`."""

    def slice_scatter(self, src: Tensor, dim: builtins.int = ..., start: builtins.int | None = ..., end: builtins.int | None = ..., step: builtins.int = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return a copy of the tensor in which src replaces input[start:end:step] along `dim`."""

    def slice_set(self, source: Tensor, dim: builtins.int, offset: builtins.int) -> Tensor:
        """Write `source` into x along `dim`, from position `offset`, in place."""

    def slogdet(self, *, out: Tensor | None = ...) -> Any:
        """Return (sign, logabsdet) of the determinants of square matrices, as `mg.linalg.slogdet`."""

    def softmax(self, dim: builtins.int, dtype: Any = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return exp(input) / sum(exp(input)) along `dim`; the input is first shifted by its maximum to avoid overflow."""

    def softplus(self, beta: Tensor | builtins.float = ..., threshold: Tensor | builtins.float = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return log(1 + exp(beta*input))/beta, without overflow; the input itself where beta*input > threshold."""

    def softplus_(self, beta: Tensor | builtins.float = ..., threshold: Tensor | builtins.float = ...) -> Tensor:
        """Apply `softplus` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def softshrink(self, lambd: Tensor | builtins.float = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return input - lambd where input > lambd, input + lambd where input < -lambd, otherwise 0; nan produces nan."""

    def softshrink_(self, lambd: Tensor | builtins.float = ...) -> Tensor:
        """Apply `softshrink` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def sort(self, dim: builtins.int = ..., descending: builtins.bool = ..., stable: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
        """Return the elements sorted along `dim`, and their positions in the input, as (values, indices)."""

    def split(self, split_size: builtins.int | Sequence[builtins.int], dim: builtins.int = ..., *, axis: builtins.int | None = ...) -> builtins.tuple[Tensor, ...]:
        """Return views of parts along `dim`, as `mg.split`, which calls the second parameter `split_size_or_sections`."""

    def split_with_sizes(self, split_sizes: Sequence[builtins.int], dim: builtins.int = ...) -> builtins.tuple[Tensor, ...]:
        """Return views of parts along `dim` with the given lengths, as `split`."""

    def sqr(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the square of x, x*x; for bool, it is an int64.  Gradient: 2*g*x."""

    def sqr_(self) -> Tensor:
        """Apply `square` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def sqrt(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the square root of x; nan for x < 0.  Gradient: g/(2*sqrt(x)), which is inf at 0."""

    def sqrt_(self) -> Tensor:
        """Apply `sqrt` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def square(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the square of x, x*x; for bool, it is an int64.  Gradient: 2*g*x."""

    def square_(self) -> Tensor:
        """Apply `square` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def squeeze(self, dim: builtins.int | Sequence[builtins.int] | None = ...) -> Tensor:
        """Return a view without dims of length 1: without all of them, or without those that `dim` names."""

    def squeeze_(self, dim: builtins.int | Sequence[builtins.int] | None = ...) -> Tensor:
        """`squeeze` in place: x itself shows its memory so, and is returned.  Raises GradientError for a leaf that requires a gradient, and for other tensors that share memory with one."""

    def std(self, dim: builtins.int | Sequence[builtins.int] | None = ..., correction: builtins.float | None = ..., keepdim: builtins.bool = ..., *, unbiased: builtins.bool | None = ..., out: Tensor | None = ...) -> Tensor:
        """Return the standard deviation over `dim`, which is the square root of `var`."""

    def std_mean(self, dim: builtins.int | Sequence[builtins.int] | None = ..., correction: builtins.float | None = ..., keepdim: builtins.bool = ..., *, unbiased: builtins.bool | None = ...) -> Any:
        """Return the standard deviation and the mean over `dim` as a named tuple, computed in two passes."""

    def stft(self, n_fft: builtins.int, hop_length: builtins.int | None = ..., win_length: builtins.int | None = ..., window: Tensor | None = ..., center: builtins.bool = ..., pad_mode: builtins.str = ..., normalized: builtins.bool = ..., onesided: builtins.bool | None = ..., return_complex: builtins.bool | None = ..., align_to_window: builtins.bool | None = ...) -> Tensor:
        """Return the Fourier transforms of the frames of a signal, of shape (..., terms, frames)."""

    def storage_offset(self) -> builtins.int:
        """Return the position of the first element in the storage."""

    def stride(self, dim: builtins.int | None = ...) -> Any:
        """Return the strides of all dims, or that of `dim`, in elements."""

    def sub(self, other: Tensor | builtins.float, *, alpha: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
        """Return input - alpha * other, element by element; shapes broadcast.  Gradient: g and -alpha*g."""

    def sub_(self, other: Tensor | builtins.float, *, alpha: builtins.float = ...) -> Tensor:
        """Apply `sub` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def subtract(self, other: Tensor | builtins.float, *, alpha: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
        """Return input - alpha * other, element by element; shapes broadcast.  Gradient: g and -alpha*g."""

    def subtract_(self, other: Tensor | builtins.float, *, alpha: builtins.float = ...) -> Tensor:
        """Apply `sub` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def sum(self, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
        """Return the sum of the elements over `dim`; 0 if there are no elements."""

    def sum_all(self, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
        """Return the sum of the elements over `dim`; 0 if there are no elements."""

    def sum_keepdim(self, dim: Any = ...) -> Any:
        """Return `sum` with the reduced dims kept as length 1."""

    def sum_to(self, shape: builtins.tuple[builtins.int, ...]) -> Tensor:
        """Return the sum over the dims along which a tensor of `shape` broadcasts to the input; the adjoint of `expand`."""

    def sum_to_size(self, *size: builtins.int | Sequence[builtins.int]) -> Tensor:
        """Return x summed to the shape `size`, over the dims along which such a tensor is expanded to the shape of x."""

    def svd(self, some: builtins.bool = ..., compute_uv: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
        """Return (U, S, V) with U * S @ V.mH = input; see `mg.linalg.svd`."""

    def swapaxes(self, dim0: builtins.int, dim1: builtins.int) -> Tensor:
        """Return a view with two dims swapped.  Gradient: g with the same two dims swapped."""

    def swapaxes_(self, dim0: builtins.int, dim1: builtins.int) -> Tensor:
        """`swapaxes` in place: x itself shows its memory so, and is returned.  Raises GradientError for a leaf that requires a gradient, and for other tensors that share memory with one."""

    def swapdims(self, dim0: builtins.int, dim1: builtins.int) -> Tensor:
        """Return a view with two dims swapped.  Gradient: g with the same two dims swapped."""

    def swapdims_(self, dim0: builtins.int, dim1: builtins.int) -> Tensor:
        """`swapdims` in place: x itself shows its memory so, and is returned.  Raises GradientError for a leaf that requires a gradient, and for other tensors that share memory with one."""

    def t(self) -> Tensor:
        """Return a view of the transpose of a matrix; a tensor with fewer dims is returned with its shape."""

    def t_(self) -> Tensor:
        """`t` in place: x itself shows its memory so, and is returned.  Raises GradientError for a leaf that requires a gradient, and for other tensors that share memory with one."""

    def take(self, index: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the elements at row-major positions among all elements, in the shape of index."""

    def take_along_dim(self, indices: Tensor, dim: builtins.int | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return the elements of input at indices along `dim`; both broadcast along the other dims, and then `gather` runs."""

    def tan(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the tangent of x.  Gradient: g*(1 + tan(x)**2)."""

    def tan_(self) -> Tensor:
        """Apply `tan` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def tanh(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the hyperbolic tangent of x.  Gradient: g*(1 - tanh(x)**2)."""

    def tanh_(self) -> Tensor:
        """Apply `tanh` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def tanhshrink(self, *, out: Tensor | None = ...) -> Tensor:
        """Return x - tanh(x).  Gradient: g*tanh(x)**2."""

    def tanhshrink_(self) -> Tensor:
        """Apply `tanhshrink` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def tensor_split(self, sections: builtins.int | Sequence[builtins.int] | Tensor, dim: builtins.int = ...) -> builtins.tuple[Tensor, ...]:
        """Return views of parts along `dim`."""

    def threshold(self, threshold: Tensor | builtins.float, value: Tensor | builtins.float, inplace: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return input where it is greater than the threshold, otherwise value; nan stays nan."""

    def threshold_(self, threshold: Tensor | builtins.float, value: Tensor | builtins.float) -> Tensor:
        """Apply `threshold` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def tile(self, *dims: builtins.int | Sequence[builtins.int]) -> Tensor:
        """Return the tensor repeated dims[d] times along each dim d; missing leading counts or dims are 1."""

    def to(self, *args: Any, dtype: Any = ..., device: Any = ..., copy: builtins.bool = ..., non_blocking: builtins.bool = ..., memory_format: Any = ...) -> Tensor:
        """Return x in another dtype, on another device, or both."""

    def to_dense(self) -> Tensor:
        """Return x itself: it is dense, and its sign is that of its elements."""

    def to_device(self, device: Any, *, stream: None = ...) -> Tensor:
        """Return x on a device, under the array API's name of `to`; x itself if it is on that device."""

    def to_dtype(self, *args: Any, dtype: Any = ..., device: Any = ..., copy: builtins.bool = ..., non_blocking: builtins.bool = ..., memory_format: Any = ...) -> Tensor:
        """Return x in another dtype, on another device, or both."""

    def to_scalar(self) -> Any:
        """Return the only element as a Python number.  Raises ShapeError for another number of elements."""

    def to_vec0(self) -> Any:
        """Return the only element as a Python number.  Raises ShapeError for another number of elements."""

    def to_vec1(self) -> Any:
        """Return the elements as nested Python lists; for shape () the result is a number."""

    def to_vec2(self) -> Any:
        """Return the elements as nested Python lists; for shape () the result is a number."""

    def to_vec3(self) -> Any:
        """Return the elements as nested Python lists; for shape () the result is a number."""

    def tolist(self) -> Any:
        """Return the elements as nested Python lists; for shape () the result is a number."""

    def topk(self, k: builtins.int, dim: builtins.int = ..., largest: builtins.bool = ..., sorted: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
        """Return the k largest or smallest elements along `dim`, and their positions, as (values, indices)."""

    def trace(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the sum of the diagonal of a matrix; as in `sum`, integers become int64."""

    def transpose(self, dim0: builtins.int, dim1: builtins.int) -> Tensor:
        """Return a view with two dims swapped.  Gradient: g with the same two dims swapped."""

    def transpose_(self, dim0: builtins.int, dim1: builtins.int) -> Tensor:
        """`transpose` in place: x itself shows its memory so, and is returned.  Raises GradientError for a leaf that requires a gradient, and for other tensors that share memory with one."""

    def tril(self, diagonal: builtins.int = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return the elements on and below a diagonal of the last two dims, with zeros above it."""

    def tril_(self, diagonal: builtins.int = ...) -> Tensor:
        """Apply `tril` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def triu(self, diagonal: builtins.int = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return the elements on and above a diagonal of the last two dims, with zeros below it."""

    def triu_(self, diagonal: builtins.int = ...) -> Tensor:
        """Apply `triu` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def true_divide(self, other: Tensor | builtins.float, *, rounding_mode: Any = ..., out: Tensor | None = ...) -> Tensor:
        """Return input/other, rounded if rounding_mode is "floor" or "trunc"; without it, integers become floats."""

    def true_divide_(self, other: Tensor | builtins.float, *, rounding_mode: Any = ...) -> Tensor:
        """Apply `div` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def trunc(self, *, out: Tensor | None = ...) -> Tensor:
        """Return x rounded towards zero to an integer.  Gradient: 0."""

    def trunc_(self) -> Tensor:
        """Apply `trunc` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def type(self, dtype: Any = ..., non_blocking: builtins.bool = ...) -> Any:
        """Return x in another dtype; without `dtype`, return the name of the dtype of x, such as "float32"."""

    def type_as(self, other: Tensor) -> Tensor:
        """Return x in the dtype and on the device of `other`."""

    def unbind(self, dim: builtins.int = ...) -> builtins.tuple[Tensor, ...]:
        """Return views of the slices at all positions along `dim`, without this dim."""

    def unflatten(self, dim: builtins.int, sizes: builtins.int | Sequence[builtins.int]) -> Tensor:
        """Return a view with one dim split into several dims of the given sizes; one size may be -1."""

    def unfold(self, dimension: builtins.int, size: builtins.int, step: builtins.int) -> Tensor:
        """Return a view of the windows of `size` elements along a dim, which begin every `step` elements."""

    def uniform_(self, low: builtins.float = ..., to: builtins.float = ..., *, generator: Any = ...) -> Tensor:
        """Fill x with uniform numbers in [low, to), in place."""

    def unique(self, sorted: builtins.bool = ..., return_inverse: builtins.bool = ..., return_counts: builtins.bool = ..., dim: builtins.int | None = ...) -> Any:
        """Return the distinct elements of the input, or its distinct slices along `dim`, in ascending order."""

    def unique_consecutive(self, return_inverse: builtins.bool = ..., return_counts: builtins.bool = ..., dim: builtins.int | None = ...) -> Any:
        """Return the elements of the input, or its slices along `dim`, and drop each that equals its predecessor."""

    def unsafe_chunk(self, chunks: builtins.int, dim: builtins.int = ...) -> builtins.tuple[Tensor, ...]:
        """Return `chunk(input, chunks, dim)`."""

    def unsafe_split(self, split_size: builtins.int, dim: builtins.int = ...) -> builtins.tuple[Tensor, ...]:
        """Return `split(input, split_size, dim)`."""

    def unsafe_split_with_sizes(self, split_sizes: Sequence[builtins.int], dim: builtins.int = ...) -> builtins.tuple[Tensor, ...]:
        """Return `split_with_sizes(input, split_sizes, dim)`."""

    def unsqueeze(self, dim: builtins.int) -> Tensor:
        """Return a view with a new dim of length 1 at position `dim`."""

    def unsqueeze_(self, dim: builtins.int) -> Tensor:
        """`unsqueeze` in place: x itself shows its memory so, and is returned.  Raises GradientError for a leaf that requires a gradient, and for other tensors that share memory with one."""

    def untyped_storage(self) -> Any:
        """Return the storage of x as bytes."""

    def var(self, dim: builtins.int | Sequence[builtins.int] | None = ..., correction: builtins.float | None = ..., keepdim: builtins.bool = ..., *, unbiased: builtins.bool | None = ..., out: Tensor | None = ...) -> Tensor:
        """Return the variance over `dim`: the sum of squared deviations from the mean, divided by n - correction."""

    def var_keepdim(self, dim: Any = ...) -> Any:
        """Return `var` with the reduced dims kept as length 1."""

    def var_mean(self, dim: builtins.int | Sequence[builtins.int] | None = ..., correction: builtins.float | None = ..., keepdim: builtins.bool = ..., *, unbiased: builtins.bool | None = ...) -> Any:
        """Return the variance and the mean over `dim` as a named tuple, computed in the two passes of `var`."""

    def vdot(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the inner product of two vectors of the same length; that of complex vectors conjugates the first one."""

    def view(self, *shape: builtins.int | Sequence[builtins.int], size: Sequence[builtins.int] | None = ..., dtype: Any = ...) -> Tensor:
        """Return a view of x with another shape, over the same memory."""

    def view_as(self, other: Tensor) -> Tensor:
        """Return a view of x in the shape of `other`; see `view`."""

    def view_as_complex(self) -> Tensor:
        """Return a view of pairs of real numbers, the last dim, as complex numbers."""

    def view_as_real(self) -> Tensor:
        """Return a view of complex numbers with a last dim of 2: the real and the imaginary parts."""

    @property
    def volatile(self) -> builtins.bool:
        """Return False.  PyTorch replaced this attribute by `no_grad`; an assignment to it has no effect and warns."""

    def vsplit(self, sections: builtins.int | Sequence[builtins.int] | Tensor) -> builtins.tuple[Tensor, ...]:
        """Return views of parts along the first dim of a tensor with at least two dims."""

    def where(self, condition: Tensor, other: Any) -> Tensor:
        """Return x where the condition is True, otherwise `other`.  `mg.where` takes the condition first."""

    def where_cond(self, a: Any, b: Any) -> Tensor:
        """Return `mg.where` of the operands; as a method, the tensor is the condition, as in candle."""

    def xlogy(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input*log(other); where input is 0, the result is 0 unless other is nan."""

    def xlogy_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `xlogy` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def zero_(self) -> Tensor:
        """Set every element to 0, in place."""

    def zero_set(self) -> Tensor:
        """Set every element to 0, in place."""

