"""The methods that `api/` attaches to Tensor.  Written by `python -m minigrad.cli.stubs`."""

import builtins
from collections.abc import Iterator, Sequence
from typing import Any

from minigrad.autodiff.grads import GradStore
from minigrad.runtime.tensor import Tensor

class Attached:
    @property
    def H(self) -> Tensor:
        """Return a view of a matrix with its dims swapped; there are no complex numbers to conjugate."""

    @property
    def T(self) -> Tensor:
        """Return a view with all dims in reverse order."""

    def __abs__(self) -> Tensor:
        """Return |x|.  Gradient: g*sign(x), 0 at 0."""

    def __add__(self, other: Tensor | builtins.float) -> Tensor:
        """Return the sum of input and alpha * other, element by element; shapes broadcast.  For bool it is `or`."""

    def __and__(self, other: Tensor | builtins.float) -> Tensor:
        """Return the bits in both; for bool `and`."""

    def __array__(self, dtype: Any = ..., copy: builtins.bool | None = ...) -> Any:
        """Serve np.asarray(x): a copy for tensors that require a gradient, shared memory otherwise."""

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Serve a NumPy function that is called on tensors: see `numpy_calls.py`."""

    def __array_namespace__(self, *, api_version: builtins.str | None = ...) -> Any:
        """Return the module with the functions of the array API standard: `mg.array_api`."""

    def __bool__(self) -> builtins.bool:
        """Return bool(x) for one element.  Raises ShapeError for more, where the meaning is ambiguous."""

    def __complex__(self) -> builtins.complex:
        """Return complex(x) for one element."""

    def __contains__(self, element: Any) -> builtins.bool:
        """Return whether `element`, which broadcasts, equals some element of x, as in NumPy; False if not a number."""

    def __copy__(self) -> Tensor:
        """Another tensor on the same storage, with the same history; a Var becomes another leaf with the same `.grad`."""

    @property
    def __cuda_array_interface__(self) -> builtins.dict[builtins.str, Any]:
        """Return the description that CuPy, Numba and others read to share a tensor's memory on a CUDA device."""

    def __deepcopy__(self, memo: builtins.dict[builtins.int, Any]) -> Tensor:
        """Return a tensor on a copy of the storage, one for all that share it.  Raises GradientError within a graph."""

    def __dir__(self) -> builtins.list[builtins.str]:
        """Return the names of the attributes that a tensor has: its `__dir__`."""

    def __dlpack__(self, *, stream: Any = ..., max_version: Any = ..., dl_device: Any = ..., copy: builtins.bool | None = ...) -> Any:
        """Return the DLPack capsule; x must not require a gradient, and NumPy has no type for bfloat16 on the CPU."""

    def __dlpack_device__(self) -> builtins.tuple[builtins.int, builtins.int]:
        """Return DLPack's id of the device: 1 is the CPU, 2 CUDA; and its index."""

    def __eq__(self, other: Any) -> Any:
        """Return x == other.  Objects that are not numbers are compared by identity, so that `x in list` works."""

    def __float__(self) -> builtins.float:
        """Return float(x) for one element."""

    def __floordiv__(self, other: Tensor | builtins.float) -> Tensor:
        """Return the largest integer not above input/other, as Python's `//`; an integer over 0 is 0.  Gradient: 0."""

    def __format__(self, spec: builtins.str) -> builtins.str:
        """Return f"{x:.3f}" for one element, which is written as its number; without a spec it is str(x)."""

    def __ge__(self, other: Tensor | builtins.float) -> Tensor:
        """Return input >= other."""

    def __getitem__(self, index: Any) -> Tensor:
        """x[index]: ints, slices, None and Ellipsis give a view; index tensors, lists of ints and masks a copy."""

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
        """Return a one-element integer tensor as a Python index, as in range(x)."""

    def __int__(self) -> builtins.int:
        """Return int(x) for one element, towards zero."""

    def __invert__(self) -> Tensor:
        """Return input with all bits flipped; for bool `not`.  Raises DTypeError for floats."""

    def __ior__(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `bitwise_or` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def __ipow__(self, exponent: Tensor | builtins.float) -> Tensor:
        """Apply `pow` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def __irshift__(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `bitwise_right_shift` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def __isub__(self, other: Tensor | builtins.float, *, alpha: builtins.float = ...) -> Tensor:
        """Apply `sub` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def __iter__(self) -> Iterator[Tensor]:
        """Iterate over the slices along the first dim.  Raises TypeError for a scalar, which callers rely on."""

    def __itruediv__(self, other: Tensor | builtins.float, *, rounding_mode: Any = ...) -> Tensor:
        """Apply `div` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def __ixor__(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `bitwise_xor` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def __le__(self, other: Tensor | builtins.float) -> Tensor:
        """Return input <= other."""

    def __len__(self) -> builtins.int:
        """Return the length of the first dim.  Raises TypeError for a scalar, as Python does for an object without one."""

    def __lshift__(self, other: Tensor | builtins.float) -> Tensor:
        """Return input * 2**other, as bits; 0 where other is negative, or not below the number of bits."""

    def __lt__(self, other: Tensor | builtins.float) -> Tensor:
        """Return input < other."""

    def __matmul__(self, other: Tensor) -> Tensor:
        """Return the matrix product; a 1-d operand is a row on the left and a column on the right, and its dim is removed."""

    def __mod__(self, other: Tensor | builtins.float) -> Tensor:
        """Return input - other*floor(input/other), with the sign of other, as Python's `%`; for integers 0 if other is 0."""

    def __mul__(self, other: Tensor | builtins.float) -> Tensor:
        """Return the product per element; shapes broadcast.  For bool it is `and`.  Gradient: g*other and g*input."""

    def __ne__(self, other: Any) -> Any:
        """Return x != other.  Objects that are not numbers are compared by identity, as for `==`."""

    def __neg__(self) -> Tensor:
        """Return -x; unsigned integers wrap."""

    def __or__(self, other: Tensor | builtins.float) -> Tensor:
        """Return the bits in either; for bool `or`."""

    def __pos__(self) -> Tensor:
        """Return the input itself; bool is refused, as by `neg`."""

    def __pow__(self, exponent: Tensor | builtins.float) -> Tensor:
        """Return input**exponent; negative bases with integer exponents work.  Integers stay integers and wrap."""

    def __radd__(self, other: Any) -> Tensor:
        """Return `add` with the tensor as the second operand."""

    def __rand__(self, other: Any) -> Tensor:
        """Return `bitwise_and` with the tensor as the second operand."""

    def __rdiv__(self, other: Any) -> Tensor:
        """Return `div` with the tensor as the second operand."""

    def __reduce__(self) -> builtins.tuple[Any, ...]:
        """Return how pickle makes it again: from its elements, or from its storage if another tensor shows that."""

    def __repr__(self) -> builtins.str:
        """Return `tensor([3., 1., 4.])`, with dtype, device, name and op where they are not the defaults."""

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
        """Return round(x) and round(x, digits) for one element: a Python number.  `x.round()` rounds all elements."""

    def __rpow__(self, other: Any) -> Tensor:
        """Return `pow` with the tensor as the second operand."""

    def __rrshift__(self, other: Any) -> Tensor:
        """Return `bitwise_right_shift` with the tensor as the second operand."""

    def __rshift__(self, other: Tensor | builtins.float) -> Tensor:
        """Return input / 2**other, rounded down; 0 or -1 where other is negative, or not below the number of bits."""

    def __rsub__(self, other: Any) -> Tensor:
        """Return `sub` with the tensor as the second operand."""

    def __rtruediv__(self, other: Any) -> Tensor:
        """Return `div` with the tensor as the second operand."""

    def __rxor__(self, other: Any) -> Tensor:
        """Return `bitwise_xor` with the tensor as the second operand."""

    def __setitem__(self, index: Any, value: Any) -> None:
        """Assign x[index] = value through the view of the basic indices, at index tensors or where a mask is True."""

    def __sub__(self, other: Tensor | builtins.float) -> Tensor:
        """Return the difference of input and alpha * other, element by element; shapes broadcast.  Gradient: g and -g."""

    def __truediv__(self, other: Tensor | builtins.float) -> Tensor:
        """Return input/other, rounded if rounding_mode is "floor" or "trunc"; integers become the default float."""

    def __trunc__(self) -> builtins.int:
        """Return int(x) for one element, towards zero."""

    def __xor__(self, other: Tensor | builtins.float) -> Tensor:
        """Return the bits that are set in exactly one operand; for bool, `!=`."""

    def _repr_html_(self) -> builtins.str:
        """Return the HTML for a notebook: the text, and an image if there are many numbers."""

    def abs(self, *, out: Tensor | None = ...) -> Tensor:
        """Return |x|.  Gradient: g*sign(x), 0 at 0."""

    def abs_(self) -> Tensor:
        """Apply `abs` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def absolute(self, *, out: Tensor | None = ...) -> Tensor:
        """Return |x|.  Gradient: g*sign(x), 0 at 0."""

    def absolute_(self) -> Tensor:
        """Apply `abs` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def acos(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the arc cosine, nan outside [-1, 1].  Gradient: -g/sqrt(1 - x**2)."""

    def acos_(self) -> Tensor:
        """Apply `acos` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def acosh(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the inverse hyperbolic cosine, nan below 1.  Gradient: g/sqrt(x**2 - 1)."""

    def acosh_(self) -> Tensor:
        """Apply `acosh` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def add(self, other: Tensor | builtins.float, *, alpha: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
        """Return the sum of input and alpha * other, element by element; shapes broadcast.  For bool it is `or`."""

    def add_(self, other: Tensor | builtins.float, *, alpha: builtins.float = ...) -> Tensor:
        """Apply `add` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def addbmm(self, batch1: Tensor, batch2: Tensor, *, beta: builtins.float = ..., alpha: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
        """Return beta * input + alpha * the sum of the products of two batches of matrices: see `addmm`."""

    def addbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: builtins.float = ..., alpha: builtins.float = ...) -> Tensor:
        """Apply `addbmm` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def addcdiv(self, tensor1: Tensor, tensor2: Tensor, *, value: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
        """Return input + value * tensor1 / tensor2 per element; shapes broadcast.  Integers become the default float."""

    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: builtins.float = ...) -> Tensor:
        """Apply `addcdiv` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def addcmul(self, tensor1: Tensor, tensor2: Tensor, *, value: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
        """Return input + value * tensor1 * tensor2, element by element; shapes broadcast."""

    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: builtins.float = ...) -> Tensor:
        """Apply `addcmul` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def addmm(self, mat1: Tensor, mat2: Tensor, *, beta: builtins.float = ..., alpha: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
        """Return beta * input + alpha * mat1 @ mat2 in one kernel; input broadcasts. beta 0: input is not read."""

    def addmm_(self, mat1: Tensor, mat2: Tensor, *, beta: builtins.float = ..., alpha: builtins.float = ...) -> Tensor:
        """Apply `addmm` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def addmv(self, mat: Tensor, vec: Tensor, *, beta: builtins.float = ..., alpha: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
        """Return beta * input + alpha * mat @ vec: see `addmm`."""

    def addmv_(self, mat: Tensor, vec: Tensor, *, beta: builtins.float = ..., alpha: builtins.float = ...) -> Tensor:
        """Apply `addmv` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def addr(self, vec1: Tensor, vec2: Tensor, *, beta: builtins.float = ..., alpha: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
        """Return beta * input + alpha * the outer product of two vectors: see `addmm`."""

    def addr_(self, vec1: Tensor, vec2: Tensor, *, beta: builtins.float = ..., alpha: builtins.float = ...) -> Tensor:
        """Apply `addr` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def adjoint(self) -> Tensor:
        """Return a view with the last two dims swapped; the same as `mT`, as no dtype is complex."""

    def affine(self, mul: builtins.float, add: builtins.float) -> Tensor:
        """Return input * mul + add."""

    def all(self, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return whether every element over `dim` is not zero; True without elements."""

    def allclose(self, other: Tensor, rtol: builtins.float = ..., atol: builtins.float = ..., equal_nan: builtins.bool = ...) -> builtins.bool:
        """Return whether `isclose` holds for all elements."""

    def amax(self, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return the largest element over `dim`; nan wins.  Gradient: shared evenly by ties."""

    def amin(self, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return the smallest element over `dim`; nan wins.  Gradient: shared evenly by ties."""

    def aminmax(self, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
        """Return the smallest and the largest element over `dim`, in one pass; nan wins."""

    def any(self, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return whether an element over `dim` is not zero; False without elements."""

    def apply_(self, callable: Any) -> Tensor:
        """Replace each element by a function of it, in place; slow, as it runs in Python, and without a gradient."""

    def arccos(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the arc cosine, nan outside [-1, 1].  Gradient: -g/sqrt(1 - x**2)."""

    def arccos_(self) -> Tensor:
        """Apply `acos` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def arccosh(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the inverse hyperbolic cosine, nan below 1.  Gradient: g/sqrt(x**2 - 1)."""

    def arccosh_(self) -> Tensor:
        """Apply `acosh` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def arcsin(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the arc sine, nan outside [-1, 1].  Gradient: g/sqrt(1 - x**2), inf at the ends."""

    def arcsin_(self) -> Tensor:
        """Apply `asin` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def arcsinh(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the inverse hyperbolic sine.  Gradient: g/sqrt(x**2 + 1), where the square may overflow."""

    def arcsinh_(self) -> Tensor:
        """Apply `asinh` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def arctan(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the arc tangent.  Gradient: g/(1 + x**2)."""

    def arctan2(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return the angle of the point (other, input), in (-pi, pi]."""

    def arctan2_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `atan2` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def arctan_(self) -> Tensor:
        """Apply `atan` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def arctanh(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the inverse hyperbolic tangent, nan outside [-1, 1].  Gradient: g/(1 - x**2)."""

    def arctanh_(self) -> Tensor:
        """Apply `atanh` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def argmax(self, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return the int64 position of the largest element, of all or along `dim`; the first of ties, and nan wins."""

    def argmax_keepdim(self, dim: Any = ...) -> Any:
        """Return `argmax` with the reduced dims kept as length 1."""

    def argmin(self, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return the int64 position of the smallest element, of all or along `dim`; the first of ties, and nan wins."""

    def argmin_keepdim(self, dim: Any = ...) -> Any:
        """Return `argmin` with the reduced dims kept as length 1."""

    def argsort(self, dim: builtins.int = ..., descending: builtins.bool = ..., stable: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return the positions that sort the elements along `dim`; always stable, nan last."""

    def argwhere(self) -> Tensor:
        """Return the indices of all nonzero elements, one row for each: `nonzero`."""

    def as_strided(self, size: Any, stride: Any, storage_offset: builtins.int | None = ...) -> Tensor:
        """`as_strided` with the storage's bounds checked, and a gradient where x is contiguous from offset 0."""

    def as_strided_(self, size: Any, stride: Any, storage_offset: builtins.int | None = ...) -> Tensor:
        """`as_strided` in place: x itself shows its memory so, and is returned.  Raises GradientError for a tensor that requires a gradient, or shares memory with one."""

    def as_strided_scatter(self, src: Tensor, size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int], storage_offset: builtins.int | None = ...) -> Tensor:
        """Return the tensor with src in the part that strides over its elements, row by row, see; both are differentiated."""

    def asin(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the arc sine, nan outside [-1, 1].  Gradient: g/sqrt(1 - x**2), inf at the ends."""

    def asin_(self) -> Tensor:
        """Apply `asin` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def asinh(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the inverse hyperbolic sine.  Gradient: g/sqrt(x**2 + 1), where the square may overflow."""

    def asinh_(self) -> Tensor:
        """Apply `asinh` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def astype(self, *args: Any, dtype: Any = ..., device: Any = ..., copy: builtins.bool = ..., non_blocking: builtins.bool = ..., memory_format: Any = ...) -> Tensor:
        """Return x in another dtype and/or on another device: `x.to(mg.float64)`, `x.to("reference")`, `x.to(other)`."""

    def atan(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the arc tangent.  Gradient: g/(1 + x**2)."""

    def atan2(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return the angle of the point (other, input), in (-pi, pi]."""

    def atan2_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `atan2` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def atan_(self) -> Tensor:
        """Apply `atan` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def atanh(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the inverse hyperbolic tangent, nan outside [-1, 1].  Gradient: g/(1 - x**2)."""

    def atanh_(self) -> Tensor:
        """Apply `atanh` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def backward(self, gradient: Tensor | None = ..., retain_graph: builtins.bool | None = ..., create_graph: builtins.bool = ..., inputs: Tensor | Sequence[Tensor] | None = ...) -> GradStore:
        """Compute the gradients of y with respect to every Var that it depends on, and add each to the Var's `.grad`."""

    def baddbmm(self, batch1: Tensor, batch2: Tensor, *, beta: builtins.float = ..., alpha: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
        """Return beta * input + alpha * batch1 @ batch2 for batches of matrices: see `addmm` and `bmm`."""

    def baddbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: builtins.float = ..., alpha: builtins.float = ...) -> Tensor:
        """Apply `baddbmm` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def bernoulli(self, p: builtins.float | None = ..., *, generator: Any = ..., out: Tensor | None = ...) -> Tensor:
        """Return 1 with the probability in each element, otherwise 0, in input's dtype; p replaces all probabilities."""

    def bernoulli_(self, p: Any = ..., *, generator: Any = ...) -> Tensor:
        """Fill with 1 with probability p, a number or a tensor that broadcasts, otherwise 0; in place."""

    def bfloat16(self, memory_format: Any = ...) -> Tensor:
        """Return x as bfloat16."""

    def bincount(self, weights: Tensor | None = ..., minlength: builtins.int = ...) -> Tensor:
        """Return how often each integer from 0 on is in a vector, or the sum of the weights of its occurrences."""

    def bitwise_and(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return the bits in both; for bool `and`."""

    def bitwise_and_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `bitwise_and` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def bitwise_left_shift(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input * 2**other, as bits; 0 where other is negative, or not below the number of bits."""

    def bitwise_left_shift_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `bitwise_left_shift` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def bitwise_not(self, *, out: Tensor | None = ...) -> Tensor:
        """Return input with all bits flipped; for bool `not`.  Raises DTypeError for floats."""

    def bitwise_not_(self) -> Tensor:
        """Apply `bitwise_not` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def bitwise_or(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return the bits in either; for bool `or`."""

    def bitwise_or_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `bitwise_or` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def bitwise_right_shift(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input / 2**other, rounded down; 0 or -1 where other is negative, or not below the number of bits."""

    def bitwise_right_shift_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `bitwise_right_shift` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def bitwise_xor(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return the bits that are set in exactly one operand; for bool, `!=`."""

    def bitwise_xor_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `bitwise_xor` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def bmm(self, mat2: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the products of two batches of matrices, one by one; the batch is the first of three dims."""

    def bool(self, memory_format: Any = ...) -> Tensor:
        """Return x as bool."""

    def broadcast_add(self, other: Tensor | builtins.float, *, alpha: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
        """Return the sum of input and alpha * other, element by element; shapes broadcast.  For bool it is `or`."""

    def broadcast_add_(self, other: Tensor | builtins.float, *, alpha: builtins.float = ...) -> Tensor:
        """Apply `add` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def broadcast_as(self, *shape: builtins.int | Sequence[builtins.int]) -> Tensor:
        """Return a view with dims of length 1 expanded and new first dims.  Gradient: g summed over the expanded dims."""

    def broadcast_div(self, other: Tensor | builtins.float, *, rounding_mode: Any = ..., out: Tensor | None = ...) -> Tensor:
        """Return input/other, rounded if rounding_mode is "floor" or "trunc"; integers become the default float."""

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
        """Return the matrix product; a 1-d operand is a row on the left and a column on the right, and its dim is removed."""

    def broadcast_maximum(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return the larger of two; nan wins.  Gradient: g to the larger operand, g/2 to each at ties."""

    def broadcast_maximum_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `maximum` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def broadcast_minimum(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return the smaller of two; nan wins.  Gradient: g to the smaller operand, g/2 to each at ties."""

    def broadcast_minimum_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `minimum` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def broadcast_mul(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return the product per element; shapes broadcast.  For bool it is `and`.  Gradient: g*other and g*input."""

    def broadcast_mul_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `mul` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def broadcast_ne(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input != other."""

    def broadcast_ne_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `ne` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def broadcast_pow(self, exponent: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input**exponent; negative bases with integer exponents work.  Integers stay integers and wrap."""

    def broadcast_pow_(self, exponent: Tensor | builtins.float) -> Tensor:
        """Apply `pow` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def broadcast_sub(self, other: Tensor | builtins.float, *, alpha: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
        """Return the difference of input and alpha * other, element by element; shapes broadcast.  Gradient: g and -g."""

    def broadcast_sub_(self, other: Tensor | builtins.float, *, alpha: builtins.float = ...) -> Tensor:
        """Apply `sub` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def broadcast_to(self, *shape: builtins.int | Sequence[builtins.int]) -> Tensor:
        """Return a view with dims of length 1 expanded and new first dims.  Gradient: g summed over the expanded dims."""

    def byte(self, memory_format: Any = ...) -> Tensor:
        """Return x as uint8."""

    def cauchy_(self, median: builtins.float = ..., sigma: builtins.float = ..., *, generator: Any = ...) -> Tensor:
        """Fill with Cauchy numbers, in place: median + sigma*tan(pi*(u - 0.5)) for uniform u."""

    def ceil(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the smallest integer not below x.  Gradient: 0."""

    def ceil_(self) -> Tensor:
        """Apply `ceil` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def celu(self, alpha: Tensor | builtins.float = ..., inplace: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return input where it is positive, otherwise alpha * (exp(input/alpha) - 1). inplace: write into input."""

    def celu_(self, alpha: Tensor | builtins.float = ...) -> Tensor:
        """Apply `celu` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def char(self, memory_format: Any = ...) -> Tensor:
        """Return x as int8."""

    def cholesky(self, upper: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
        """Return `mg.linalg.cholesky`: the triangle whose product with its transpose is a positive definite matrix."""

    def cholesky_inverse(self, upper: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return the inverse of a matrix by its factor of `cholesky`."""

    def cholesky_solve(self, input2: Tensor, upper: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return X with A @ X = input by the factor of A that `cholesky` returned, input2; upper: by an upper one."""

    def chunk(self, chunks: builtins.int, dim: builtins.int = ...) -> builtins.tuple[Tensor, ...]:
        """Return at most `chunks` equal views along `dim`; the last may be smaller.  Of nothing, `chunks` empty views."""

    def clamp(self, min: Any = ..., max: Any = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return min(max(input, min), max); either bound may be None, a number or a tensor."""

    def clamp_(self, min: Any = ..., max: Any = ...) -> Tensor:
        """Apply `clamp` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def clamp_max(self, max: Any, *, out: Tensor | None = ...) -> Tensor:
        """Return input, not above max.  Gradient: g there and at the bound, 0 above, where the bound gets it."""

    def clamp_max_(self, max: Any) -> Tensor:
        """Apply `clamp_max` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def clamp_min(self, min: Any, *, out: Tensor | None = ...) -> Tensor:
        """Return input, not below min.  Gradient: g there and at the bound, 0 below, where the bound gets it."""

    def clamp_min_(self, min: Any) -> Tensor:
        """Apply `clamp_min` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def clip(self, min: Any = ..., max: Any = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return min(max(input, min), max); either bound may be None, a number or a tensor."""

    def clip_(self, min: Any = ..., max: Any = ...) -> Tensor:
        """Apply `clamp` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def clone(self, *, memory_format: Any = ...) -> Tensor:
        """Return a row-major copy in a separate storage.  Gradient: g."""

    def conj(self) -> Tensor:
        """Return x itself: it is dense and real."""

    def conj_physical(self) -> Tensor:
        """Return x itself: it is dense and real."""

    def const_set(self, value: builtins.float) -> Tensor:
        """Set every element to `value`, in place."""

    def contiguous(self, memory_format: Any = ...) -> Tensor:
        """Return the tensor itself if its elements are row-major without gaps, otherwise a row-major copy."""

    def copy(self, *, memory_format: Any = ...) -> Tensor:
        """Return a row-major copy in a separate storage.  Gradient: g."""

    def copy_(self, source: Any, non_blocking: builtins.bool = ...) -> Tensor:
        """Copy the elements of source, broadcast and cast, in place."""

    def copysign(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return |input| with the sign of other, which -0.0 and nan have too."""

    def copysign_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `copysign` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def corrcoef(self) -> Tensor:
        """Return the correlations of the rows of input: `cov` over the deviations of both, not outside of -1 to 1."""

    def cos(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the cosine.  Gradient: -g*sin(x)."""

    def cos_(self) -> Tensor:
        """Apply `cos` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def cosh(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the hyperbolic cosine.  Gradient: g*sinh(x)."""

    def cosh_(self) -> Tensor:
        """Apply `cosh` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def count_nonzero(self, dim: builtins.int | Sequence[builtins.int] | None = ...) -> Tensor:
        """Return how many elements over `dim` are not zero, in int64; nan is not zero."""

    def cov(self, *, correction: builtins.int = ..., fweights: Tensor | None = ..., aweights: Tensor | None = ...) -> Tensor:
        """Return the covariances of the rows of input, whose columns are observations; of one row its variance."""

    def cpu(self) -> Tensor:
        """Return x on the CPU; x itself where it is there."""

    def cross(self, other: Tensor, dim: builtins.int | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return the cross products of vectors along `dim`, or the first dim of length 3 if None; both broadcast."""

    def cuda(self, device: Any = ..., non_blocking: builtins.bool = ...) -> Tensor:
        """Return x on a CUDA device, the first one; x itself where it is there.  non_blocking: as that of `to`."""

    def cummax(self, dim: builtins.int, *, out: Tensor | None = ...) -> Any:
        """Return the largest of all elements up to each along `dim`, and its position: (values, indices)."""

    def cummin(self, dim: builtins.int, *, out: Tensor | None = ...) -> Any:
        """Return the smallest of all elements up to each along `dim`, and its position: (values, indices)."""

    def cumprod(self, dim: builtins.int, *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
        """Return products of all elements up to each along `dim`; dtypes as `cumsum`.  Gradient: exact with zeros too."""

    def cumprod_(self, dim: builtins.int, *, dtype: Any = ...) -> Tensor:
        """Apply `cumprod` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def cumsum(self, dim: builtins.int, *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
        """Return the sums of all elements up to each along `dim`."""

    def cumsum_(self, dim: builtins.int, *, dtype: Any = ...) -> Tensor:
        """Apply `cumsum` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    @property
    def data(self) -> Tensor:
        """Return the values without history, in the same memory, as `detach()`; `x.data = value` writes them, unrecorded."""

    def deg2rad(self, *, out: Tensor | None = ...) -> Tensor:
        """Convert degrees to radians, x*pi/180.  Gradient: g*pi/180."""

    def deg2rad_(self) -> Tensor:
        """Apply `deg2rad` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def det(self) -> Tensor:
        """Return `mg.linalg.det`: the determinants of square matrices."""

    def detach_(self) -> Tensor:
        """Cut x off from its history, in place, and return x: later results computed from it pass no gradient to it."""

    def diag(self, diagonal: builtins.int = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return a vector as a diagonal of a matrix of zeros, or a copy of a diagonal of a matrix."""

    def diag_embed(self, offset: builtins.int = ..., dim1: builtins.int = ..., dim2: builtins.int = ...) -> Tensor:
        """Return matrices with the last dim as a diagonal, and zeros.  Gradient: the diagonal of g."""

    def diagflat(self, offset: builtins.int = ...) -> Tensor:
        """Return a matrix of zeros with all elements as a diagonal."""

    def diagonal(self, offset: builtins.int = ..., dim1: builtins.int = ..., dim2: builtins.int = ...) -> Tensor:
        """Return the diagonal of two dims as the last dim.  Gradient: g on the diagonal of zeros."""

    def diagonal_scatter(self, src: Tensor, offset: builtins.int = ..., dim1: builtins.int = ..., dim2: builtins.int = ...) -> Tensor:
        """Return the tensor with src instead of `diagonal(input, offset, dim1, dim2)`; both are differentiated."""

    def diff(self, n: builtins.int = ..., dim: builtins.int = ..., prepend: Tensor | None = ..., append: Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return the n-th difference along `dim`: each element minus the one before it, n times."""

    def digamma(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the derivative of lgamma: -inf at 0, inf at -0.0, nan at negative integers."""

    def digamma_(self) -> Tensor:
        """Apply `digamma` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def dim(self, dim: builtins.int | None = ...) -> builtins.int:
        """Return the number of dims; with an argument, as in candle, the length of that dim."""

    @property
    def dims(self) -> builtins.tuple[builtins.int, ...]:
        """Sizes of the dims; `()` for a scalar."""

    def dist(self, other: Tensor, p: builtins.float = ...) -> Tensor:
        """Return the p-norm of x - other: see `mg.dist`."""

    def div(self, other: Tensor | builtins.float, *, rounding_mode: Any = ..., out: Tensor | None = ...) -> Tensor:
        """Return input/other, rounded if rounding_mode is "floor" or "trunc"; integers become the default float."""

    def div_(self, other: Tensor | builtins.float, *, rounding_mode: Any = ...) -> Tensor:
        """Apply `div` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def divide(self, other: Tensor | builtins.float, *, rounding_mode: Any = ..., out: Tensor | None = ...) -> Tensor:
        """Return input/other, rounded if rounding_mode is "floor" or "trunc"; integers become the default float."""

    def divide_(self, other: Tensor | builtins.float, *, rounding_mode: Any = ...) -> Tensor:
        """Apply `div` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def dot(self, tensor: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the inner product of two vectors of one length."""

    def double(self, memory_format: Any = ...) -> Tensor:
        """Return x as float64."""

    def dsplit(self, sections: builtins.int | Sequence[builtins.int] | Tensor) -> builtins.tuple[Tensor, ...]:
        """Return views of parts of one size, or up to indices, along the third dim."""

    def elem_count(self) -> builtins.int:
        """Return the number of elements."""

    def element_size(self) -> builtins.int:
        """Return the number of bytes of an element."""

    def elu(self, alpha: Tensor | builtins.float = ..., inplace: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return input where it is positive, otherwise alpha * (exp(input) - 1). inplace: write into input and return it."""

    def elu_(self, alpha: Tensor | builtins.float = ...) -> Tensor:
        """Apply `elu` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def eq(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input == other."""

    def eq_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `eq` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def equal(self, other: Tensor) -> builtins.bool:
        """Return whether two tensors have the same shape and equal elements; nan is not equal to nan."""

    def erf(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the error function.  Gradient: g*2/sqrt(pi)*exp(-x**2)."""

    def erf_(self) -> Tensor:
        """Apply `erf` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def erfc(self, *, out: Tensor | None = ...) -> Tensor:
        """Return 1 - erf(x) without cancellation for large x.  Gradient: -g*2/sqrt(pi)*exp(-x**2)."""

    def erfc_(self) -> Tensor:
        """Apply `erfc` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def erfinv(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the y with erf(y) = x: infinities at -1 and 1, nan beyond.  Gradient: g*sqrt(pi)/2*exp(y**2)."""

    def erfinv_(self) -> Tensor:
        """Apply `erfinv` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def exp(self, *, out: Tensor | None = ...) -> Tensor:
        """Return e**x.  exp(-inf) = 0, exp(inf) = inf.  Gradient: g*exp(x)."""

    def exp2(self, *, out: Tensor | None = ...) -> Tensor:
        """Return 2**x.  Gradient: g*2**x*ln(2)."""

    def exp2_(self) -> Tensor:
        """Apply `exp2` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def exp_(self) -> Tensor:
        """Apply `exp` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def expand(self, *shape: builtins.int | Sequence[builtins.int]) -> Tensor:
        """Return a view with dims of length 1 expanded and new first dims.  Gradient: g summed over the expanded dims."""

    def expand_as(self, other: Tensor) -> Tensor:
        """Return a view expanded to the shape of other; see `expand`."""

    def explain_grad(self, y: Tensor | None = ...) -> Any:
        """Explain why the gradient of y with respect to x is None, zero, nan or inf, or by which ops it flows."""

    def expm1(self, *, out: Tensor | None = ...) -> Tensor:
        """Return exp(x) - 1 without cancellation near 0.  Gradient: g*exp(x)."""

    def expm1_(self) -> Tensor:
        """Apply `expm1` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def exponential_(self, lambd: builtins.float = ..., *, generator: Any = ...) -> Tensor:
        """Fill with exponential numbers with the rate lambd, in place: -log(1 - u)/lambd for uniform u."""

    def fill_(self, value: builtins.float) -> Tensor:
        """Set every element to `value`, in place."""

    def fill_diagonal_(self, fill_value: builtins.float, wrap: builtins.bool = ...) -> Tensor:
        """Write a number to the diagonal, in place; for more than two dims, which must be equal, to x[i, i, ..., i]."""

    def fix(self, *, out: Tensor | None = ...) -> Tensor:
        """Return x without its fraction.  Gradient: 0."""

    def fix_(self) -> Tensor:
        """Apply `trunc` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def flatten(self, start_dim: builtins.int = ..., end_dim: builtins.int = ...) -> Tensor:
        """Return the dims from start_dim to end_dim (included) as one; a tensor of shape () becomes (1,)."""

    def flatten_all(self, start_dim: builtins.int = ..., end_dim: builtins.int = ...) -> Tensor:
        """Return the dims from start_dim to end_dim (included) as one; a tensor of shape () becomes (1,)."""

    def flatten_from(self, start_dim: builtins.int) -> Tensor:
        """Flatten the dims from start_dim to the last into one."""

    def flatten_to(self, end_dim: builtins.int) -> Tensor:
        """Flatten the dims up to end_dim (included) into one."""

    def flip(self, *dims: builtins.int | Sequence[builtins.int]) -> Tensor:
        """Return a view reversed along each of `dims`, by negative strides."""

    def fliplr(self) -> Tensor:
        """Return a view with the columns, the second dim, in reverse order."""

    def flipud(self) -> Tensor:
        """Return a view with the rows, the first dim, in reverse order."""

    def float(self, memory_format: Any = ...) -> Tensor:
        """Return x as float32."""

    def float_power(self, exponent: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input**exponent, in float64 for every dtype.  Gradient: as of `pow`."""

    def float_power_(self, exponent: Tensor | builtins.float) -> Tensor:
        """Apply `float_power` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def floor(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the largest integer not above x.  Gradient: 0."""

    def floor_(self) -> Tensor:
        """Apply `floor` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def floor_divide(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return the largest integer not above input/other, as Python's `//`; an integer over 0 is 0.  Gradient: 0."""

    def floor_divide_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `floor_divide` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def fmax(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return the larger of two; the other one if one is nan.  Gradient: g to the larger, at ties to input."""

    def fmax_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `fmax` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def fmin(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return the smaller of two; the other one if one is nan.  Gradient: g to the smaller, at ties to input."""

    def fmin_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `fmin` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def fmod(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input - other*trunc(input/other), with the sign of input, as C's fmod; for integers 0 if other is 0."""

    def fmod_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `fmod` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def force_contiguous(self, *, memory_format: Any = ...) -> Tensor:
        """Return a row-major copy in a separate storage.  Gradient: g."""

    def frac(self, *, out: Tensor | None = ...) -> Tensor:
        """Return x without its integer part, with the sign of x; nan for an infinity.  Gradient: g."""

    def frac_(self) -> Tensor:
        """Apply `frac` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def frexp(self, *, out: Tensor | None = ...) -> Any:
        """Return the mantissa and the exponent of each element: input = mantissa * 2**exponent."""

    def gather(self, dim: builtins.int, index: Tensor, *, sparse_grad: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
        """Return out[i, j, k] = input[i, index[i, j, k], k] for dim 1, and so on."""

    def gcd(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return the greatest common divisor of |input| and |other|; that of 0 and 0 is 0."""

    def gcd_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `gcd` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def ge(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input >= other."""

    def ge_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `ge` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def gelu(self, approximate: builtins.str = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return input * Phi(input), with the normal distribution function Phi; approximate="tanh" calls `gelu_tanh`."""

    def gelu_(self, approximate: builtins.str = ...) -> Tensor:
        """Apply `gelu` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def gelu_erf(self, approximate: builtins.str = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return input * Phi(input), with the normal distribution function Phi; approximate="tanh" calls `gelu_tanh`."""

    def gelu_erf_(self, approximate: builtins.str = ...) -> Tensor:
        """Apply `gelu` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def geometric_(self, p: builtins.float, *, generator: Any = ...) -> Tensor:
        """Fill with numbers of trials up to the first success, each with probability p; in place."""

    def ger(self, vec2: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the product of every element of a vector with every element of another."""

    def get(self, index: builtins.int) -> Tensor:
        """Return x[index] along the first dim."""

    def get_device(self) -> builtins.int:
        """Return the index of its CUDA device, -1 for a tensor on the CPU."""

    def get_on_dim(self, dim: builtins.int, index: builtins.int) -> Tensor:
        """Return a view of one position along `dim`, which is removed.  Gradient: zeros around g."""

    def glu(self, dim: builtins.int = ...) -> Tensor:
        """Return the first half of input along `dim` times the sigmoid of the second half."""

    @property
    def grad(self) -> Tensor | None:
        """Return the gradient for `retain_grad`, or that of a frozen Var, otherwise None; a Var has its own."""

    @property
    def grad_fn(self) -> Any:
        """Return the node that recorded how its values were made; None for a leaf."""

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
        """Return input where |input| > lambd, otherwise 0; nan stays nan.  Gradient: g there, 0 elsewhere."""

    def hardshrink_(self, lambd: Tensor | builtins.float = ...) -> Tensor:
        """Apply `hardshrink` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def hardsigmoid(self, inplace: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return relu6(x + 3) / 6.  Gradient: g/6 inside (-3, 3), 0 elsewhere and at both ends."""

    def hardsigmoid_(self) -> Tensor:
        """Apply `hardsigmoid` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def hardswish(self, inplace: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return input * relu6(input + 3) / 6.  Gradient: g*(input/3 + 1/2) in (-3, 3), 0 at -3 and below, g from 3 on."""

    def hardswish_(self) -> Tensor:
        """Apply `hardswish` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def hardtanh(self, min_val: Tensor | builtins.float = ..., max_val: Tensor | builtins.float = ..., inplace: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return input, not below min_val and not above max_val; nan stays nan."""

    def hardtanh_(self, min_val: Tensor | builtins.float = ..., max_val: Tensor | builtins.float = ...) -> Tensor:
        """Apply `hardtanh` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def heaviside(self, values: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return 0 below 0, 1 above, and values at 0; 0 for nan.  Gradient: 0; g at 0 for values."""

    def heaviside_(self, values: Tensor | builtins.float) -> Tensor:
        """Apply `heaviside` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def histc(self, bins: builtins.int = ..., min: builtins.float = ..., max: builtins.float = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return how many elements are in each of `bins` equal parts from min to max, in input's dtype; others are ignored."""

    def histogram(self, bins: builtins.int | Tensor, *, range: Sequence[builtins.float] | None = ..., weight: Tensor | None = ..., density: builtins.bool = ..., out: Tensor | None = ...) -> Any:
        """Count the elements in each bin, or add up their weights: (hist, bin_edges), in input's dtype."""

    def hsplit(self, sections: builtins.int | Sequence[builtins.int] | Tensor) -> builtins.tuple[Tensor, ...]:
        """Return views of parts of one size, or up to indices, along the second dim; of a row along its own."""

    def hypot(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return sqrt(input**2 + other**2), where the squares may overflow; infinite if one operand is."""

    def hypot_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `hypot` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def i(self, index: Any) -> Tensor:
        """x[index]: ints, slices, None and Ellipsis give a view; index tensors, lists of ints and masks a copy."""

    def i0(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the modified Bessel function I0: the mean of exp(x*cos(t)).  Gradient: g*i1(x)."""

    def i0_(self) -> Tensor:
        """Apply `i0` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def index_add(self, dim: builtins.int, index: Tensor, source: Tensor, *, alpha: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
        """Return input with alpha * source added along `dim` at the 1-d `index`; repeated positions add up."""

    def index_add_(self, dim: builtins.int, index: Tensor, source: Tensor, *, alpha: builtins.float = ...) -> Tensor:
        """Apply `index_add` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def index_copy(self, dim: builtins.int, index: Tensor, source: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return input with its slices along `dim` at the 1-d `index` replaced by those of source."""

    def index_copy_(self, dim: builtins.int, index: Tensor, source: Tensor) -> Tensor:
        """Apply `index_copy` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def index_fill(self, dim: builtins.int, index: Tensor, value: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input with one value in the slices along `dim` that the 1-d `index` names."""

    def index_fill_(self, dim: builtins.int, index: Tensor, value: Tensor | builtins.float) -> Tensor:
        """Apply `index_fill` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def index_put(self, indices: Any, values: Tensor, accumulate: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return input with values, which broadcast, at input[indices]; indices is a sequence of index tensors or masks."""

    def index_put_(self, indices: Any, values: Tensor, accumulate: builtins.bool = ...) -> Tensor:
        """Apply `index_put` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def index_reduce(self, dim: builtins.int, index: Tensor, source: Tensor, reduce: builtins.str, *, include_self: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
        """Return input with each slice of source along `dim` reduced into the slice that the 1-d `index` names."""

    def index_reduce_(self, dim: builtins.int, index: Tensor, source: Tensor, reduce: builtins.str, *, include_self: builtins.bool = ...) -> Tensor:
        """Apply `index_reduce` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def index_select(self, dim: builtins.int, index: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the slices of input along `dim` that the 1-d `index` names, in its order."""

    def inner(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the inner products of rows, which are the last dims; of a number it is the product with it."""

    def int(self, memory_format: Any = ...) -> Tensor:
        """Return x as int32."""

    def inverse(self, *, out: Tensor | None = ...) -> Tensor:
        """Return `mg.linalg.inv`: the inverses of square matrices."""

    def is_complex(self) -> builtins.bool:
        """Return False, since complex dtypes are not supported."""

    def is_conj(self) -> builtins.bool:
        """Return False: there is no such tensor."""

    @property
    def is_cpu(self) -> builtins.bool:
        """Whether it is in the memory of the host."""

    @property
    def is_cuda(self) -> builtins.bool:
        """Whether it is on a CUDA device."""

    def is_distributed(self) -> builtins.bool:
        """Return False: there is no such tensor."""

    def is_floating_point(self) -> builtins.bool:
        """Return whether the dtype is a float."""

    def is_inference(self) -> builtins.bool:
        """Return whether it was computed under `inference_mode`."""

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
        """Return whether the only element is not zero; raises ArgumentError for another number of elements."""

    def is_pinned(self, device: Any = ...) -> builtins.bool:
        """Return whether it is in pinned memory of the host, for copies to a device."""

    @property
    def is_quantized(self) -> builtins.bool:
        """Return False: there is no such tensor."""

    def is_same_size(self, other: Tensor) -> builtins.bool:
        """Return whether two tensors have one shape."""

    def is_set_to(self, tensor: Tensor) -> builtins.bool:
        """Return whether another tensor shows the same memory in the same layout."""

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
        """Return whether |input - other| <= atol + rtol*|other|, or both are equal; with equal_nan two nan are equal."""

    def isfinite(self, *, out: Tensor | None = ...) -> Tensor:
        """Return whether x is neither infinite nor nan."""

    def isfinite_(self) -> Tensor:
        """Apply `isfinite` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def isinf(self, *, out: Tensor | None = ...) -> Tensor:
        """Return whether x is infinite, of either sign."""

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
        """Return True, since complex dtypes are not supported."""

    def isreal_(self) -> Tensor:
        """Apply `isreal` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def item(self) -> Any:
        """Return the only element as a Python number.  Raises ShapeError for more or fewer."""

    @property
    def itemsize(self) -> builtins.int:
        """Return the number of bytes of an element."""

    def kron(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the Kronecker product: each element of input times all of other, as a block at its position."""

    def kthvalue(self, k: builtins.int, dim: builtins.int = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
        """Return the k-th smallest element along `dim`, k from 1 on: (values, indices); nan is the greatest."""

    def lcm(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return the least common multiple of |input| and |other|, 0 where one is 0; it wraps."""

    def lcm_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `lcm` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def ldexp(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input * 2**other.  Gradient: g*2**other, and g*y*ln(2) for other."""

    def ldexp_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `ldexp` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def le(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input <= other."""

    def le_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `le` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def leaky_relu(self, negative_slope: Tensor | builtins.float = ..., inplace: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return input where it is positive, otherwise negative_slope * input. inplace: write into input and return it."""

    def leaky_relu_(self, negative_slope: Tensor | builtins.float = ...) -> Tensor:
        """Apply `leaky_relu` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def lerp(self, end: Tensor | builtins.float, weight: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input + weight * (end - input), exactly `end` for the weight 1."""

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
        """Return log(|gamma(x)|), inf at 0 and at negative integers.  Gradient: g*digamma(x)."""

    def lgamma_(self) -> Tensor:
        """Apply `lgamma` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def log(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the natural logarithm; -inf at 0, nan below.  Gradient: g/x."""

    def log10(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the logarithm to base 10.  Gradient: g/(x*ln(10))."""

    def log10_(self) -> Tensor:
        """Apply `log10` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def log1p(self, *, out: Tensor | None = ...) -> Tensor:
        """Return log(1 + x) without cancellation near 0.  Gradient: g/(1+x)."""

    def log1p_(self) -> Tensor:
        """Apply `log1p` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def log2(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the logarithm to base 2.  Gradient: g/(x*ln(2))."""

    def log2_(self) -> Tensor:
        """Apply `log2` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def log_(self) -> Tensor:
        """Apply `log` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def log_normal_(self, mean: builtins.float = ..., std: builtins.float = ..., *, generator: Any = ...) -> Tensor:
        """Fill with exponentials of normal numbers with this mean and deviation, in place."""

    def log_sigmoid(self, *, out: Tensor | None = ...) -> Tensor:
        """Return log(sigmoid(x)), without overflow.  Gradient: g*sigmoid(-x)."""

    def log_sigmoid_(self) -> Tensor:
        """Apply `log_sigmoid` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def log_softmax(self, dim: builtins.int, dtype: Any = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return log(softmax(input)) along `dim`, without leaving the logarithm.  Gradient: g - exp(y) * sum(g)."""

    def log_sum_exp(self, dim: builtins.int | Sequence[builtins.int] | None, keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return log(sum(exp(x))) over `dim`; nothing overflows.  Gradient: g times the softmax."""

    def logaddexp(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return log(exp(input) + exp(other)) without overflow.  Gradient: g times each operand's share."""

    def logaddexp2(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return log2(2**input + 2**other) without overflow.  Gradient: g times each operand's share."""

    def logaddexp2_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `logaddexp2` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def logaddexp_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `logaddexp` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def logcumsumexp(self, dim: builtins.int, *, out: Tensor | None = ...) -> Tensor:
        """Return log(cumsum(exp(input))) along `dim`, without overflow.  Floats only."""

    def logdet(self) -> Tensor:
        """Return the logarithms of the determinants of square matrices: -inf for 0, nan for a negative one."""

    def logical_and(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return whether both are not zero."""

    def logical_and_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `logical_and` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def logical_not(self, *, out: Tensor | None = ...) -> Tensor:
        """Return whether x is zero."""

    def logical_not_(self) -> Tensor:
        """Apply `logical_not` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def logical_or(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return whether one is not zero."""

    def logical_or_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `logical_or` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def logical_xor(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return whether exactly one is not zero."""

    def logical_xor_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `logical_xor` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def logit(self, eps: Any = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return log(x/(1-x)), the inverse of sigmoid, nan outside of [0, 1]; eps: of x in [eps, 1 - eps]."""

    def logit_(self, eps: Any = ...) -> Tensor:
        """Apply `logit` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def logsumexp(self, dim: builtins.int | Sequence[builtins.int] | None, keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return log(sum(exp(x))) over `dim`; nothing overflows.  Gradient: g times the softmax."""

    def long(self, memory_format: Any = ...) -> Tensor:
        """Return x as int64."""

    def lt(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input < other."""

    def lt_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `lt` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return `mg.linalg.lu_solve`: the solutions of systems by factors of `mg.linalg.lu_factor`."""

    @property
    def mH(self) -> Tensor:
        """Return a view with the last two dims swapped."""

    @property
    def mT(self) -> Tensor:
        """Return a view with the last two dims swapped."""

    def map_(self, tensor: Tensor, callable: Any) -> Tensor:
        """Replace each element by a function of it and the one of a tensor that broadcasts, in place; see `apply_`."""

    def masked_fill(self, mask: Tensor, value: Tensor | builtins.float) -> Tensor:
        """Return x with `value`, a number or a 0-d tensor, where `mask` is True; the two broadcast.  The dtype of x stays."""

    def masked_fill_(self, mask: Tensor, value: builtins.float | Tensor) -> Tensor:
        """Apply `masked_fill` in place."""

    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """Return x with the elements of `source`, in their order, where `mask` is True; the two broadcast."""

    def masked_select(self, mask: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the elements where `mask` is True, 1-d and row-major; both broadcast.  Gradient: g where each was read."""

    def matmul(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the matrix product; a 1-d operand is a row on the left and a column on the right, and its dim is removed."""

    def matrix_power(self, n: builtins.int, *, out: Tensor | None = ...) -> Tensor:
        """Return `mg.linalg.matrix_power`: a power of square matrices, also a negative one."""

    def max(self, dim: builtins.int | Tensor | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
        """Return the largest element; with an int `dim`, (values, indices) along it; with a second tensor, `maximum`."""

    def max_all(self, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return the largest element over `dim`; nan wins.  Gradient: shared evenly by ties."""

    def max_keepdim(self, dim: Any = ...) -> Any:
        """Return `max` with the reduced dims kept as length 1."""

    def maximum(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return the larger of two; nan wins.  Gradient: g to the larger operand, g/2 to each at ties."""

    def maximum_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `maximum` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def mean(self, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
        """Return the mean over `dim`, floats only, accumulated and re-associated as `sum` is."""

    def mean_all(self, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
        """Return the mean over `dim`, floats only, accumulated and re-associated as `sum` is."""

    def mean_keepdim(self, dim: Any = ...) -> Any:
        """Return `mean` with the reduced dims kept as length 1."""

    def median(self, dim: builtins.int | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
        """Return the median of all elements, or (values, indices) along `dim`; the lower of two; nan if there is a nan."""

    def min(self, dim: builtins.int | Tensor | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
        """Return the smallest element; with an int `dim`, (values, indices) along it; with a second tensor, `minimum`."""

    def min_all(self, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return the smallest element over `dim`; nan wins.  Gradient: shared evenly by ties."""

    def min_keepdim(self, dim: Any = ...) -> Any:
        """Return `min` with the reduced dims kept as length 1."""

    def minimum(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return the smaller of two; nan wins.  Gradient: g to the smaller operand, g/2 to each at ties."""

    def minimum_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `minimum` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def mish(self, inplace: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return x * tanh(softplus(x)).  Gradient: with t the tanh, g*(t + x*(1 - t**2)*sigmoid(x)); 0.6*g at 0."""

    def mish_(self) -> Tensor:
        """Apply `mish` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def mm(self, mat2: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return matrix times matrix, without batch dims."""

    def mode(self, dim: builtins.int = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
        """Return the most frequent element along `dim`, the smallest of several, and its last position."""

    def moveaxis(self, source: builtins.int | Sequence[builtins.int], destination: builtins.int | Sequence[builtins.int]) -> Tensor:
        """Return a view with some dims moved to other positions; the others keep their order."""

    def movedim(self, source: builtins.int | Sequence[builtins.int], destination: builtins.int | Sequence[builtins.int]) -> Tensor:
        """Return a view with some dims moved to other positions; the others keep their order."""

    def msort(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the elements sorted along the first dim."""

    def mul(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return the product per element; shapes broadcast.  For bool it is `and`.  Gradient: g*other and g*input."""

    def mul_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `mul` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def mul_scalar(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return the product per element; shapes broadcast.  For bool it is `and`.  Gradient: g*other and g*input."""

    def mul_scalar_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `mul` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def multinomial(self, num_samples: builtins.int, replacement: builtins.bool = ..., *, generator: Any = ..., out: Tensor | None = ...) -> Tensor:
        """Draw int64 positions from each row of weights, which need not add up to 1; without replacement none twice."""

    def multiply(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return the product per element; shapes broadcast.  For bool it is `and`.  Gradient: g*other and g*input."""

    def multiply_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `mul` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def mv(self, vec: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return matrix times vector."""

    def mvlgamma(self, p: builtins.int, *, out: Tensor | None = ...) -> Tensor:
        """Return the log of the multivariate gamma function of p dims: a sum of lgamma(input - k/2), and p(p-1)/4*log(pi)."""

    def mvlgamma_(self, p: builtins.int) -> Tensor:
        """Apply `mvlgamma` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def nan_to_num(self, nan: builtins.float | None = ..., posinf: builtins.float | None = ..., neginf: builtins.float | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """Replace nan by the argument nan, inf by posinf and -inf by neginf."""

    def nan_to_num_(self, nan: builtins.float | None = ..., posinf: builtins.float | None = ..., neginf: builtins.float | None = ...) -> Tensor:
        """Apply `nan_to_num` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def nanmean(self, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
        """Return the mean over `dim` of the elements that are not nan; nan without any.  Gradient: g/count for each."""

    def nanmedian(self, dim: builtins.int | None = ..., keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
        """Return `median` of the elements that are not nan; nan if there is none.  Gradient: as of `median`."""

    def nanquantile(self, q: Tensor | builtins.float, dim: builtins.int | None = ..., keepdim: builtins.bool = ..., *, interpolation: builtins.str = ..., out: Tensor | None = ...) -> Tensor:
        """Return `quantile` of the elements that are not nan; nan if there is none."""

    def nansum(self, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
        """Return the sum over `dim` of the elements that are not nan; 0 without any.  Gradient: g for each of them."""

    def narrow(self, dim: builtins.int, start: builtins.int, length: builtins.int) -> Tensor:
        """Return a view of `length` elements along `dim` from `start`.  Gradient: zeros around g."""

    def narrow_copy(self, dim: builtins.int, start: builtins.int, length: builtins.int, *, out: Tensor | None = ...) -> Tensor:
        """Return a copy of the result of `narrow`, in separate memory."""

    @property
    def nbytes(self) -> builtins.int:
        """Return the number of bytes of all elements that the tensor shows."""

    def ndimension(self, dim: builtins.int | None = ...) -> builtins.int:
        """Return the number of dims; with an argument, as in candle, the length of that dim."""

    def ndtr(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the normal distribution function, with its negative tail to full relative accuracy."""

    def ndtr_(self) -> Tensor:
        """Apply `ndtr` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def ne(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input != other."""

    def ne_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `ne` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def neg(self, *, out: Tensor | None = ...) -> Tensor:
        """Return -x; unsigned integers wrap."""

    def neg_(self) -> Tensor:
        """Apply `neg` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def negative(self, *, out: Tensor | None = ...) -> Tensor:
        """Return -x; unsigned integers wrap."""

    def negative_(self) -> Tensor:
        """Apply `neg` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def nelement(self) -> builtins.int:
        """Return the number of elements."""

    def new(self, *sizes: Any) -> Tensor:
        """Return a tensor of lengths or data, of the dtype and on the device of x, as `new_empty` or `new_tensor`."""

    def new_empty(self, *size: builtins.int | Sequence[builtins.int], dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ...) -> Tensor:
        """Return `mg.empty` of a size, of the dtype and on the device of x."""

    def new_full(self, size: Any, fill_value: builtins.float, *, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ...) -> Tensor:
        """Return a tensor of one value, of the dtype and on the device of x; see `mg.full`."""

    def new_ones(self, *size: builtins.int | Sequence[builtins.int], dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ...) -> Tensor:
        """Return `mg.ones` of a size, of the dtype and on the device of x."""

    def new_tensor(self, data: Any, *, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ...) -> Tensor:
        """Return a copy of data in the dtype and on the device of x; see `mg.tensor`."""

    def new_zeros(self, *size: builtins.int | Sequence[builtins.int], dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ...) -> Tensor:
        """Return `mg.zeros` of a size, of the dtype and on the device of x."""

    def nextafter(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return the number of input's dtype next to it, towards other; float32 and float64 only."""

    def nextafter_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `nextafter` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def nonzero(self, *, as_tuple: builtins.bool = ..., out: Tensor | None = ...) -> Any:
        """Return the int64 indices of all nonzero elements, one row for each; as_tuple: one tensor for each dim instead."""

    def norm(self, p: builtins.float | builtins.str | None = ..., dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., dtype: Any = ...) -> Tensor:
        """Return the norm of order `p` over `dim`: see `mg.norm`."""

    def normal_(self, mean: builtins.float = ..., std: builtins.float = ..., *, generator: Any = ...) -> Tensor:
        """Fill with normal numbers, in place."""

    def not_equal(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input != other."""

    def not_equal_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `ne` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def numpy(self) -> Any:
        """Return the elements as a NumPy array that shares memory: a write to either shows in both."""

    def one_set(self) -> Tensor:
        """Set every element to 1, in place."""

    def outer(self, vec2: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the product of every element of a vector with every element of another."""

    @property
    def output_nr(self) -> builtins.int:
        """Return the index of the tensor among the results of its node."""

    def permute(self, *dims: builtins.int | Sequence[builtins.int]) -> Tensor:
        """Return a view with the dims in another order.  Gradient: the inverse order."""

    def pin_memory(self, device: Any = ...) -> Tensor:
        """Return a copy in pinned host memory, which the device reads itself: `to` with non_blocking then does not wait."""

    def pinverse(self, rcond: builtins.float = ...) -> Tensor:
        """Return `mg.linalg.pinv` with rtol=rcond: the Moore-Penrose inverses of matrices."""

    def polygamma(self, n: builtins.int) -> Tensor:
        """Return the n-th derivative of digamma.  `mg.polygamma(n, input)` has the order first."""

    def positive(self) -> Tensor:
        """Return the input itself; bool is refused, as by `neg`."""

    def pow(self, exponent: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input**exponent; negative bases with integer exponents work.  Integers stay integers and wrap."""

    def pow_(self, exponent: Tensor | builtins.float) -> Tensor:
        """Apply `pow` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def powf(self, exponent: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input**exponent; negative bases with integer exponents work.  Integers stay integers and wrap."""

    def powf_(self, exponent: Tensor | builtins.float) -> Tensor:
        """Apply `pow` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def prelu(self, weight: Tensor) -> Tensor:
        """Return input where it is positive, otherwise weight * input; one weight, or one per channel (the second dim)."""

    def prod(self, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
        """Return the product over `dim`.  Gradient: g times the product of the other elements, exact with zeros too."""

    def put(self, index: Tensor, source: Tensor, accumulate: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return input with the elements of source at positions among all its elements, row-major."""

    def put_(self, index: Tensor, source: Tensor, accumulate: builtins.bool = ...) -> Tensor:
        """Apply `put` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def qr(self, some: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
        """Return `mg.linalg.qr` with mode="reduced", or "complete" with some=False."""

    def quantile(self, q: Tensor | builtins.float, dim: builtins.int | None = ..., keepdim: builtins.bool = ..., *, interpolation: builtins.str = ..., out: Tensor | None = ...) -> Tensor:
        """Return the quantile q, 0 to 1, along `dim` or of all elements; several q are a new first dim."""

    def rad2deg(self, *, out: Tensor | None = ...) -> Tensor:
        """Convert radians to degrees, x*180/pi.  Gradient: g*180/pi."""

    def rad2deg_(self) -> Tensor:
        """Apply `rad2deg` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def random_(self, low: builtins.int | None = ..., to: Any = ..., *, generator: Any = ...) -> Tensor:
        """Fill with integers in [low, to), in place."""

    @property
    def rank(self) -> builtins.int:
        """Number of dims."""

    def ravel(self, start_dim: builtins.int = ..., end_dim: builtins.int = ...) -> Tensor:
        """Return the dims from start_dim to end_dim (included) as one; a tensor of shape () becomes (1,)."""

    @property
    def real(self) -> Tensor:
        """x itself: there are no complex numbers."""

    def recip(self, *, out: Tensor | None = ...) -> Tensor:
        """Return 1/x.  Gradient: -g/x**2."""

    def recip_(self) -> Tensor:
        """Apply `reciprocal` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def reciprocal(self, *, out: Tensor | None = ...) -> Tensor:
        """Return 1/x.  Gradient: -g/x**2."""

    def reciprocal_(self) -> Tensor:
        """Apply `reciprocal` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def record_stream(self, stream: Any) -> None:
        """Accept PyTorch's note for its allocator, which has no effect: memory of a device is used again in order."""

    def register_hook(self, hook: Any) -> Any:
        """Call `hook(gradient)` when the gradient of x is complete, once per backward pass; its result replaces it."""

    def register_post_accumulate_grad_hook(self, hook: Any) -> Any:
        """Call `hook(x)` when a backward has added to `x.grad`."""

    def relu(self, *, out: Tensor | None = ...) -> Tensor:
        """Return x where it is positive, otherwise 0; nan stays nan.  Gradient: g where x > 0, 0 at 0 and below."""

    def relu6(self, *, out: Tensor | None = ...) -> Tensor:
        """Return min(max(x, 0), 6); nan stays nan.  Gradient: g where 0 < x < 6, 0 elsewhere and at both ends."""

    def relu6_(self) -> Tensor:
        """Apply `relu6` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def relu_(self) -> Tensor:
        """Apply `relu` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def remainder(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input - other*floor(input/other), with the sign of other, as Python's `%`; for integers 0 if other is 0."""

    def remainder_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `remainder` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def renorm(self, p: builtins.float, dim: builtins.int, maxnorm: builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return the slices along `dim` whose norm of order p is above maxnorm scaled down to it."""

    def repeat(self, *repeats: builtins.int | Sequence[builtins.int]) -> Tensor:
        """Repeat the tensor repeats[d] times along each dim; more counts than dims add first dims."""

    def repeat_interleave(self, repeats: Tensor | builtins.int, dim: builtins.int | None = ..., *, output_size: builtins.int | None = ...) -> Tensor:
        """Repeat each element several times, one after the other, along `dim`, or of all as a row."""

    def requires_grad_(self, requires_grad: builtins.bool = ...) -> Tensor:
        """Make x a leaf that requires a gradient, or a constant with False; return x."""

    def reshape(self, *sizes: builtins.int | Sequence[builtins.int], shape: Sequence[builtins.int] | None = ...) -> Tensor:
        """Return x in another shape of the same size (one -1 is inferred): a view if the strides allow it, or a copy."""

    def reshape_as(self, other: Tensor) -> Tensor:
        """Return x in the shape of other; see `reshape`."""

    def resize_(self, *size: builtins.int | Sequence[builtins.int], memory_format: Any = ...) -> Tensor:
        """Give x another shape, in place, and return x: the elements in memory order, and undefined ones at the end."""

    def resize_as_(self, other: Tensor, *, memory_format: Any = ...) -> Tensor:
        """Give x the shape of other, in place; see `resize_`."""

    def resolve_conj(self) -> Tensor:
        """Return x itself: it is dense and real."""

    def resolve_neg(self) -> Tensor:
        """Return x itself: it is dense and real."""

    def retain_grad(self) -> None:
        """Keep the gradient of a value in between, as it is after all hooks: `x.grad` then has it.  A Var always does."""

    @property
    def retains_grad(self) -> builtins.bool:
        """Return whether `retain_grad` was called."""

    def roll(self, shifts: builtins.int | Sequence[builtins.int], dims: builtins.int | Sequence[builtins.int] = ...) -> Tensor:
        """Shift the elements by `shifts` along `dims`; elements beyond one end come in at the other."""

    def rot90(self, k: builtins.int = ..., dims: builtins.int | Sequence[builtins.int] = ...) -> Tensor:
        """Return a view rotated k times by 90 degrees in the plane of two dims, from the first towards the second."""

    def round(self, *, decimals: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
        """Return the nearest integer, or multiple of 10**-decimals; ties go to even: round(0.5) = 0, round(1.5) = 2."""

    def round_(self, *, decimals: builtins.float = ...) -> Tensor:
        """Apply `round` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def rsqrt(self, *, out: Tensor | None = ...) -> Tensor:
        """Return 1/sqrt(x).  Gradient: -g/(2*x*sqrt(x))."""

    def rsqrt_(self) -> Tensor:
        """Apply `rsqrt` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def scatter(self, dim: builtins.int, index: Tensor, src: Tensor | builtins.float, *, reduce: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor:
        """Return input with src[i, j, k], or a number, at [i, index[i, j, k], k] for dim 1."""

    def scatter_(self, dim: builtins.int, index: Tensor, src: Tensor | builtins.float, *, reduce: builtins.str | None = ...) -> Tensor:
        """Apply `scatter` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def scatter_add(self, dim: builtins.int, index: Tensor, src: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return input with src[i, j, k] added at [i, index[i, j, k], k] for dim 1; repeated positions add up."""

    def scatter_add_(self, dim: builtins.int, index: Tensor, src: Tensor) -> Tensor:
        """Apply `scatter_add` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def scatter_reduce(self, dim: builtins.int, index: Tensor, src: Tensor, reduce: builtins.str, *, include_self: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
        """Return input with each element of src reduced into the position that index names along `dim`."""

    def scatter_reduce_(self, dim: builtins.int, index: Tensor, src: Tensor, reduce: builtins.str, *, include_self: builtins.bool = ...) -> Tensor:
        """Apply `scatter_reduce` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def select(self, dim: builtins.int, index: builtins.int) -> Tensor:
        """Return a view of one position along `dim`, which is removed.  Gradient: zeros around g."""

    def select_scatter(self, src: Tensor, dim: builtins.int, index: builtins.int) -> Tensor:
        """Return the tensor with src instead of `select(input, dim, index)`; both are differentiated."""

    def selu(self, inplace: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return 1.0507 * x where x > 0, otherwise 1.7581 * (exp(x) - 1), which keeps activations near mean 0, variance 1."""

    def selu_(self) -> Tensor:
        """Apply `selu` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def sgn(self, *, out: Tensor | None = ...) -> Tensor:
        """Return -1, 0 or 1; nan stays nan.  Gradient: 0."""

    def sgn_(self) -> Tensor:
        """Apply `sign` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def share_memory_(self) -> Tensor:
        """Return x itself: processes share gradients through `mg.dist`, and loaders through separate memory."""

    def short(self, memory_format: Any = ...) -> Tensor:
        """Return x as int16."""

    def sigmoid(self, *, out: Tensor | None = ...) -> Tensor:
        """Return 1/(1 + exp(-x)), without overflow.  Gradient: g*y*(1-y)."""

    def sigmoid_(self) -> Tensor:
        """Apply `sigmoid` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def sign(self, *, out: Tensor | None = ...) -> Tensor:
        """Return -1, 0 or 1; nan stays nan.  Gradient: 0."""

    def sign_(self) -> Tensor:
        """Apply `sign` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def signbit(self, *, out: Tensor | None = ...) -> Tensor:
        """Return whether the sign of x is minus, which -0.0 and nan may have too."""

    def signbit_(self) -> Tensor:
        """Apply `signbit` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def silu(self, *, out: Tensor | None = ...) -> Tensor:
        """Return x*sigmoid(x).  Gradient: g*s*(1 + x*(1-s)) with s = sigmoid(x)."""

    def silu_(self) -> Tensor:
        """Apply `silu` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def sin(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the sine.  Gradient: g*cos(x)."""

    def sin_(self) -> Tensor:
        """Apply `sin` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def sinc(self, *, out: Tensor | None = ...) -> Tensor:
        """Return sin(pi*x)/(pi*x), 1 at 0.  Gradient: g*(cos(pi*x) - y)/x, 0 at 0."""

    def sinc_(self) -> Tensor:
        """Apply `sinc` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def sinh(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the hyperbolic sine.  Gradient: g*cosh(x)."""

    def sinh_(self) -> Tensor:
        """Apply `sinh` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def size(self, dim: builtins.int | None = ...) -> Any:
        """Return the shape, or the length of one dim."""

    def slice_scatter(self, src: Tensor, dim: builtins.int = ..., start: builtins.int | None = ..., end: builtins.int | None = ..., step: builtins.int = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return the tensor with src instead of input[start:end:step] along `dim`; both are differentiated."""

    def slice_set(self, source: Tensor, dim: builtins.int, offset: builtins.int) -> Tensor:
        """Write source into x from position `offset` along `dim`, in place."""

    def slogdet(self, *, out: Tensor | None = ...) -> Any:
        """Return `mg.linalg.slogdet`: (sign, logabsdet) of the determinants of square matrices."""

    def softmax(self, dim: builtins.int, dtype: Any = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return exp(input) / sum(exp(input)) along `dim`, shifted by the maximum so that nothing overflows."""

    def softplus(self, beta: Tensor | builtins.float = ..., threshold: Tensor | builtins.float = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return log(1 + exp(beta*input))/beta, without overflow; input itself where beta*input > threshold."""

    def softplus_(self, beta: Tensor | builtins.float = ..., threshold: Tensor | builtins.float = ...) -> Tensor:
        """Apply `softplus` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def softshrink(self, lambd: Tensor | builtins.float = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return input - lambd above lambd, input + lambd below -lambd, otherwise 0; nan stays nan."""

    def softshrink_(self, lambd: Tensor | builtins.float = ...) -> Tensor:
        """Apply `softshrink` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def softsign(self, *, out: Tensor | None = ...) -> Tensor:
        """Return x / (1 + |x|), between -1 and 1.  Gradient: g / (1 + |x|)**2."""

    def softsign_(self) -> Tensor:
        """Apply `softsign` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def sort(self, dim: builtins.int = ..., descending: builtins.bool = ..., stable: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
        """Return the sorted elements along `dim` and their original positions: (values, indices)."""

    def split(self, split_size: builtins.int | Sequence[builtins.int], dim: builtins.int = ..., *, axis: builtins.int | None = ...) -> builtins.tuple[Tensor, ...]:
        """Return views of parts along `dim`, or `axis`: `mg.split`, whose second parameter has another name in PyTorch."""

    def split_with_sizes(self, split_sizes: Sequence[builtins.int], dim: builtins.int = ...) -> builtins.tuple[Tensor, ...]:
        """Return `split` by a sequence of sizes."""

    def sqr(self, *, out: Tensor | None = ...) -> Tensor:
        """Return x*x.  Gradient: 2*g*x."""

    def sqr_(self) -> Tensor:
        """Apply `square` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def sqrt(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the square root; nan below 0.  Gradient: g/(2*sqrt(x)), inf at 0."""

    def sqrt_(self) -> Tensor:
        """Apply `sqrt` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def square(self, *, out: Tensor | None = ...) -> Tensor:
        """Return x*x.  Gradient: 2*g*x."""

    def square_(self) -> Tensor:
        """Apply `square` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def squeeze(self, dim: builtins.int | Sequence[builtins.int] | None = ...) -> Tensor:
        """Return a view without dims of length 1: all of them, or the named dims that have this length."""

    def squeeze_(self, dim: builtins.int | Sequence[builtins.int] | None = ...) -> Tensor:
        """`squeeze` in place: x itself shows its memory so, and is returned.  Raises GradientError for a tensor that requires a gradient, or shares memory with one."""

    def std(self, dim: builtins.int | Sequence[builtins.int] | None = ..., correction: builtins.float = ..., keepdim: builtins.bool = ..., *, unbiased: builtins.bool | None = ..., out: Tensor | None = ...) -> Tensor:
        """Return the standard deviation over `dim`: the square root of `var`.  Gradient: 0 where all elements are equal."""

    def std_mean(self, dim: builtins.int | Sequence[builtins.int] | None = ..., *, correction: builtins.float = ..., keepdim: builtins.bool = ..., unbiased: builtins.bool | None = ...) -> Any:
        """Return the standard deviation and the mean over `dim`, in the two passes of `std`."""

    def storage_offset(self) -> builtins.int:
        """Return the position of the first element in the storage."""

    def stride(self, dim: builtins.int | None = ...) -> Any:
        """Return the steps of all dims in elements, or that of one."""

    def sub(self, other: Tensor | builtins.float, *, alpha: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
        """Return the difference of input and alpha * other, element by element; shapes broadcast.  Gradient: g and -g."""

    def sub_(self, other: Tensor | builtins.float, *, alpha: builtins.float = ...) -> Tensor:
        """Apply `sub` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def subtract(self, other: Tensor | builtins.float, *, alpha: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
        """Return the difference of input and alpha * other, element by element; shapes broadcast.  Gradient: g and -g."""

    def subtract_(self, other: Tensor | builtins.float, *, alpha: builtins.float = ...) -> Tensor:
        """Apply `sub` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def sum(self, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
        """Return the sum over `dim`."""

    def sum_all(self, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = ..., *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
        """Return the sum over `dim`."""

    def sum_keepdim(self, dim: Any = ...) -> Any:
        """Return `sum` with the reduced dims kept as length 1."""

    def sum_to(self, shape: builtins.tuple[builtins.int, ...]) -> Tensor:
        """Return the sum over the dims along which `shape` was broadcast to x's shape: the adjoint of `expand`."""

    def sum_to_size(self, *size: builtins.int | Sequence[builtins.int]) -> Tensor:
        """Return the sum over the dims along which a tensor of that size was expanded to the shape of x; see `expand`."""

    def svd(self, some: builtins.bool = ..., compute_uv: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
        """Return (U, S, V) with U * S @ V.mT = input; some: with min(m, n) columns each.  See `mg.linalg.svd`."""

    def swapaxes(self, dim0: builtins.int, dim1: builtins.int) -> Tensor:
        """Return a view with two dims swapped.  Gradient: swapped back."""

    def swapaxes_(self, dim0: builtins.int, dim1: builtins.int) -> Tensor:
        """`swapaxes` in place: x itself shows its memory so, and is returned.  Raises GradientError for a tensor that requires a gradient, or shares memory with one."""

    def swapdims(self, dim0: builtins.int, dim1: builtins.int) -> Tensor:
        """Return a view with two dims swapped.  Gradient: swapped back."""

    def swapdims_(self, dim0: builtins.int, dim1: builtins.int) -> Tensor:
        """`swapdims` in place: x itself shows its memory so, and is returned.  Raises GradientError for a tensor that requires a gradient, or shares memory with one."""

    def t(self) -> Tensor:
        """Return the transpose of a matrix, as a view; a tensor with fewer dims as it is."""

    def t_(self) -> Tensor:
        """`t` in place: x itself shows its memory so, and is returned.  Raises GradientError for a tensor that requires a gradient, or shares memory with one."""

    def take(self, index: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the elements at positions among all of them, row-major, in the shape of index."""

    def take_along_dim(self, indices: Tensor, dim: builtins.int | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return `gather` of input and indices that broadcast along the other dims; without a dim, of all as a row."""

    def tan(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the tangent.  Gradient: g*(1 + tan(x)**2)."""

    def tan_(self) -> Tensor:
        """Apply `tan` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def tanh(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the hyperbolic tangent.  Gradient: g*(1 - tanh(x)**2)."""

    def tanh_(self) -> Tensor:
        """Apply `tanh` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def tanhshrink(self, *, out: Tensor | None = ...) -> Tensor:
        """Return x - tanh(x).  Gradient: g*tanh(x)**2."""

    def tanhshrink_(self) -> Tensor:
        """Apply `tanhshrink` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def tensor_split(self, sections: builtins.int | Sequence[builtins.int] | Tensor, dim: builtins.int = ...) -> builtins.tuple[Tensor, ...]:
        """Return views of equal parts along `dim`, the first ones longer by 1 if needed; or parts that end at each index."""

    def threshold(self, threshold: Tensor | builtins.float, value: Tensor | builtins.float, inplace: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return input where it is above the threshold, otherwise value; nan stays nan."""

    def threshold_(self, threshold: Tensor | builtins.float, value: Tensor | builtins.float) -> Tensor:
        """Apply `threshold` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def tile(self, *dims: builtins.int | Sequence[builtins.int]) -> Tensor:
        """Return the tensor repeated dims[d] times along each dim; counts or dims that are missing in front are 1."""

    def to(self, *args: Any, dtype: Any = ..., device: Any = ..., copy: builtins.bool = ..., non_blocking: builtins.bool = ..., memory_format: Any = ...) -> Tensor:
        """Return x in another dtype and/or on another device: `x.to(mg.float64)`, `x.to("reference")`, `x.to(other)`."""

    def to_dense(self) -> Tensor:
        """Return x itself: it is dense and real."""

    def to_device(self, device: Any, *, stream: None = ...) -> Tensor:
        """Return x on a device, as the array API standard spells it; x itself where it is there."""

    def to_dtype(self, *args: Any, dtype: Any = ..., device: Any = ..., copy: builtins.bool = ..., non_blocking: builtins.bool = ..., memory_format: Any = ...) -> Tensor:
        """Return x in another dtype and/or on another device: `x.to(mg.float64)`, `x.to("reference")`, `x.to(other)`."""

    def to_scalar(self) -> Any:
        """Return the only element as a Python number.  Raises ShapeError for more or fewer."""

    def to_vec0(self) -> Any:
        """Return the only element as a Python number.  Raises ShapeError for more or fewer."""

    def to_vec1(self) -> Any:
        """Return the elements as nested Python lists; a number for shape ()."""

    def to_vec2(self) -> Any:
        """Return the elements as nested Python lists; a number for shape ()."""

    def to_vec3(self) -> Any:
        """Return the elements as nested Python lists; a number for shape ()."""

    def tolist(self) -> Any:
        """Return the elements as nested Python lists; a number for shape ()."""

    def topk(self, k: builtins.int, dim: builtins.int = ..., largest: builtins.bool = ..., sorted: builtins.bool = ..., *, out: Tensor | None = ...) -> Any:
        """Return the k largest (or smallest) elements along `dim`, sorted, with positions: (values, indices)."""

    def trace(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the sum of the diagonal of a matrix, in the dtype of `sum`.  Gradient: g on the diagonal of zeros."""

    def transpose(self, dim0: builtins.int, dim1: builtins.int) -> Tensor:
        """Return a view with two dims swapped.  Gradient: swapped back."""

    def transpose_(self, dim0: builtins.int, dim1: builtins.int) -> Tensor:
        """`transpose` in place: x itself shows its memory so, and is returned.  Raises GradientError for a tensor that requires a gradient, or shares memory with one."""

    def tril(self, diagonal: builtins.int = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return the elements on and below a diagonal of the last two dims, with zeros above."""

    def tril_(self, diagonal: builtins.int = ...) -> Tensor:
        """Apply `tril` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def triu(self, diagonal: builtins.int = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return the elements on and above a diagonal of the last two dims, with zeros below."""

    def triu_(self, diagonal: builtins.int = ...) -> Tensor:
        """Apply `triu` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def true_divide(self, other: Tensor | builtins.float, *, rounding_mode: Any = ..., out: Tensor | None = ...) -> Tensor:
        """Return input/other, rounded if rounding_mode is "floor" or "trunc"; integers become the default float."""

    def true_divide_(self, other: Tensor | builtins.float, *, rounding_mode: Any = ...) -> Tensor:
        """Apply `div` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def trunc(self, *, out: Tensor | None = ...) -> Tensor:
        """Return x without its fraction.  Gradient: 0."""

    def trunc_(self) -> Tensor:
        """Apply `trunc` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def type(self, dtype: Any = ..., non_blocking: builtins.bool = ...) -> Any:
        """Return x in another dtype, as `to`; without one the name of its own, "float32"."""

    def type_as(self, other: Tensor) -> Tensor:
        """Return x in the dtype of other, and on its device."""

    def unbind(self, dim: builtins.int = ...) -> builtins.tuple[Tensor, ...]:
        """Return views of all positions along `dim`, which is removed."""

    def unflatten(self, dim: builtins.int, sizes: builtins.int | Sequence[builtins.int]) -> Tensor:
        """Return a view with one dim as several, of the given sizes; one of them may be -1."""

    def unfold(self, dimension: builtins.int, size: builtins.int, step: builtins.int) -> Tensor:
        """Return windows of `size` elements, one every `step` elements along a dim, as last dim."""

    def uniform_(self, low: builtins.float = ..., to: builtins.float = ..., *, generator: Any = ...) -> Tensor:
        """Fill with uniform numbers in [low, to), in place.  PyTorch's name of `low`, `from`, is a Python keyword."""

    def unique(self, sorted: builtins.bool = ..., return_inverse: builtins.bool = ..., return_counts: builtins.bool = ..., dim: builtins.int | None = ...) -> Any:
        """Return the elements of input, or its slices along `dim`, once each and in order; nan equals nothing."""

    def unique_consecutive(self, return_inverse: builtins.bool = ..., return_counts: builtins.bool = ..., dim: builtins.int | None = ...) -> Any:
        """Return the elements of input, or its slices along `dim`, without those that equal the one before."""

    def unsafe_chunk(self, chunks: builtins.int, dim: builtins.int = ...) -> builtins.tuple[Tensor, ...]:
        """Return `chunk`; writes into its parts are recorded here too."""

    def unsafe_split(self, split_size: builtins.int, dim: builtins.int = ...) -> builtins.tuple[Tensor, ...]:
        """Return `split`; writes into its parts are recorded here too."""

    def unsafe_split_with_sizes(self, split_sizes: Sequence[builtins.int], dim: builtins.int = ...) -> builtins.tuple[Tensor, ...]:
        """Return `split_with_sizes`; writes into its parts are recorded here too."""

    def unsqueeze(self, dim: builtins.int) -> Tensor:
        """Return a view with a new dim of length 1 at position `dim`."""

    def unsqueeze_(self, dim: builtins.int) -> Tensor:
        """`unsqueeze` in place: x itself shows its memory so, and is returned.  Raises GradientError for a tensor that requires a gradient, or shares memory with one."""

    def var(self, dim: builtins.int | Sequence[builtins.int] | None = ..., correction: builtins.float = ..., keepdim: builtins.bool = ..., *, unbiased: builtins.bool | None = ..., out: Tensor | None = ...) -> Tensor:
        """Return the variance over `dim`, in two passes: the mean of squared deviations times n / (n - correction)."""

    def var_keepdim(self, dim: Any = ...) -> Any:
        """Return `var` with the reduced dims kept as length 1."""

    def var_mean(self, dim: builtins.int | Sequence[builtins.int] | None = ..., *, correction: builtins.float = ..., keepdim: builtins.bool = ..., unbiased: builtins.bool | None = ...) -> Any:
        """Return the variance and the mean over `dim`, in the two passes of `var`."""

    def vdot(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the inner product of two vectors of one length: `dot`, for there are no complex numbers."""

    def view(self, *shape: builtins.int | Sequence[builtins.int], size: Sequence[builtins.int] | None = ...) -> Tensor:
        """Return x in another shape over the same memory; raises ShapeError where only a copy could (use reshape)."""

    def view_as(self, other: Tensor) -> Tensor:
        """Return a view in the shape of other; see `view`."""

    @property
    def volatile(self) -> builtins.bool:
        """Return False: PyTorch's name from before `no_grad`, without effect; scripts that assign it get a warning."""

    def vsplit(self, sections: builtins.int | Sequence[builtins.int] | Tensor) -> builtins.tuple[Tensor, ...]:
        """Return views of parts of one size, or up to indices, along the first dim."""

    def where(self, condition: Tensor, other: Any) -> Tensor:
        """Return x where the condition holds, otherwise other.  `mg.where` has the condition first."""

    def where_cond(self, a: Any, b: Any) -> Tensor:
        """Select by a condition, in candle's order of `where`: the condition first."""

    def xlogy(self, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
        """Return input*log(other), 0 where input is 0 unless other is nan."""

    def xlogy_(self, other: Tensor | builtins.float) -> Tensor:
        """Apply `xlogy` in place, and record it.  Raises GradientError for a Var outside no_grad."""

    def zero_(self) -> Tensor:
        """Set every element to 0, in place."""

    def zero_set(self) -> Tensor:
        """Set every element to 0, in place."""

