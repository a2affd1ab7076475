"""Attach the operators, methods and in-place forms to Tensor.

The Tensor class does not refer to ops, and this module imports both.  The methods that are ops come from the tables of
`declare/names.py`.  Python's protocols are in `python.py`, common methods of PyTorch in `pytorch.py`, and the names of
other libraries in `aliases.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minigrad.api import autograd, constructors, in_place, pytorch
from minigrad.api.copying import COPIES
from minigrad.api.python import POSITIONS, item, tolist
from minigrad.autodiff.engine import backward
from minigrad.core import dtype as dtypes
from minigrad.core.code import HIDDEN, at_first_call, write_now
from minigrad.core.op import Op
from minigrad.core.shape import as_shape
from minigrad.declare import names
from minigrad.declare.decorators import public
from minigrad.declare.forms import in_format
from minigrad.errors import ShapeError
from minigrad.ops import casting
from minigrad.ops.indexing import assignment, subscript
from minigrad.ops.linalg import products as linalg
from minigrad.ops.pointwise import arithmetic, compare, explog, special
from minigrad.ops.shape import joining, parts, rearranging, views
from minigrad.runtime.dispatch import apply
from minigrad.runtime.operands import WeakNumber
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.var import Var

OPERATORS = {
    "add": arithmetic.add, "sub": arithmetic.sub, "mul": arithmetic.mul, "truediv": arithmetic.div,
    "floordiv": arithmetic.floor_divide, "mod": arithmetic.remainder, "pow": explog.pow,
    "lshift": compare.bitwise_left_shift, "rshift": compare.bitwise_right_shift,
    "and": compare.bitwise_and, "or": compare.bitwise_or, "xor": compare.bitwise_xor,
}  # fmt: skip

# == and != are in `python.py`, because their operand may be any object.
# Other operands raise an error with advice, except objects of other classes, which may have an operator of their own.
DATA = (Tensor, bool, int, float, complex, str, list, tuple, dict, set, type(None), WeakNumber)

COMPARISONS = {"__lt__": compare.lt, "__le__": compare.le, "__gt__": compare.gt, "__ge__": compare.ge}

# ---- methods that are not functions of mg ---------------------------------------------------------------------------


@public(namespace=names.MG)
def view(x: Tensor, *shape: int | Sequence[int], size: Sequence[int] | None = None, dtype: Any = None) -> Tensor:
    """Return a view of x with another shape, over the same memory.

    size, dtype: the argument by its name.  With a dtype instead of a shape, the view has the bits of x as
    elements of this dtype, and no gradient.
    Raises ShapeError if the strides of x do not allow a view (use `reshape`).
    """
    if size is not None:
        shape = views.named_shape("view", shape, "size", size)
    if dtype is not None:
        shape = (*shape, dtypes.as_dtype(dtype))  # type: ignore[arg-type]
    if len(shape) == 1 and isinstance(shape[0], tuple):
        shape = shape[0]
    result = views.seen(x, shape)
    if result is not None:
        return result
    if len(shape) == 1 and isinstance(shape[0], dtypes.DType):
        return parts.with_bits(x, shape[0])
    return views.remembered(x, shape, as_shape(shape, "view", hole=True))


def split(x: Tensor, split_size: int | Sequence[int], dim: int = 0, *, axis: int | None = None) -> tuple[Tensor, ...]:
    """Return views of parts along `dim`, as `mg.split`, which calls the second parameter `split_size_or_sections`."""
    return joining.split(x, split_size, dim if axis is None else axis)


def where(x: Tensor, condition: Tensor, other: Any) -> Tensor:
    """Return x where the condition is True, otherwise `other`.  `mg.where` takes the condition first."""
    return compare.where(condition, x, other)


def polygamma(x: Tensor, n: int) -> Tensor:
    """Return the n-th derivative of digamma.  `mg.polygamma(n, input)` takes the order first."""
    return special.polygamma(n, x)


def matrix_transpose(x: Tensor) -> Tensor:
    """Return a view with the last two dims swapped."""
    if x.ndim < 2:
        raise ShapeError(f"mT: expected at least 2 dims, got {describe(x)}; add a dim with unsqueeze(0)")
    return views.full_transpose(x) if x.ndim == 2 else views.transpose(x, dim0=-2, dim1=-1)


def matrix_adjoint(x: Tensor) -> Tensor:
    """Return a matrix with its dims swapped, and conjugated if it is complex; for a real matrix, this is a view."""
    if x.ndim != 2:
        raise ShapeError(f"H: expected a matrix, got {describe(x)}; use x.mH, which swaps the last two dims")
    return rearranging.adjoint(x)


def set_real(x: Tensor, value: Any) -> None:
    """Write the real parts of x."""
    assignment.set_item(parts.real(x), ..., parts.real(value) if isinstance(value, Tensor) else value)


def set_imag(x: Tensor, value: Any) -> None:
    """Write the imaginary parts of x."""
    assignment.set_item(parts.imag(x), ..., parts.real(value) if isinstance(value, Tensor) else value)


# ---- attaching ------------------------------------------------------------------------------------------------------


def operator(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return the operator of a function: it returns NotImplemented for an object of a class that is not known here.

    Python then calls the operator of this object.  The code is that of the function, so a call has no additional frame.
    """
    own: dict[str, Any] = {}

    def write() -> Callable[..., Tensor]:
        write_now(function)
        own.update(function.__globals__, **{f"{HIDDEN}apply": apply_known})
        return function

    made: Any = at_first_call(function.__name__, own, write)
    made.function = made.__wrapped__ = function
    for name in ("__signature__", "__doc__", "op"):
        setattr(made, name, getattr(function, name))
    return made


def apply_known(op: Op, operands: tuple[Any, ...], *rest: Any) -> Any:
    """Run an op, or return NotImplemented if an operand is neither a tensor nor plain data."""
    for x in operands:
        if not (isinstance(x, DATA) or hasattr(x, "__array__")):
            return NotImplemented
    return apply(op, operands, *rest)


def swapped(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return the reflected form of an operator: `2 - x` calls sub(2, x)."""

    def method(x: Tensor, other: Any) -> Tensor:
        return function(other, x)

    method.__name__ = method.__qualname__ = f"reflected_{function.__name__}"
    method.__doc__ = f"Return `{function.__name__}` with the tensor as the second operand."
    return method


def caster(name: str, dtype: dtypes.DType) -> Callable[..., Tensor]:
    """Return the method of a short cast, such as `x.float()` or `x.long()`."""

    def method(x: Tensor, memory_format: Any = None) -> Tensor:
        return in_format(name, casting.to(x, dtype), memory_format)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"Return x as {dtype}."
    return method


CASTS = {
    "float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16", "long": "int64", "int": "int32",
    "short": "int16", "char": "int8", "byte": "uint8", "bool": "bool", "cfloat": "complex64", "cdouble": "complex128",
}  # fmt: skip


def attach() -> None:
    """Attach the ops, the methods above, and those of the other modules of this package to Tensor."""
    for name, function in names.methods.items():
        setattr(Tensor, name, function)
    for name, function in names.in_place.items():
        method = in_place.in_place(function)
        item_of = in_place.REPEATS.get(name)
        setattr(Tensor, f"{name}_", in_place.over_repeats(method, item_of) if item_of else method)
    methods: list[Any] = [view, split, where, polygamma, item, tolist]
    modules: tuple[Any, ...] = (autograd, constructors, in_place, pytorch)
    for function in (*methods, *[each for module in modules for each in module.FUNCTIONS]):
        setattr(Tensor, function.__name__, function)
    Var.set = assignment.set_var  # type: ignore[attr-defined]
    for function in pytorch.PROPERTIES:
        setattr(Tensor, function.__name__, property(function))
    setattr(Tensor, "volatile", property(pytorch.volatile, pytorch.set_volatile))  # noqa: B010
    for name, named in OPERATORS.items():
        function = operator(named)
        setattr(Tensor, f"__{name}__", function)
        setattr(Tensor, f"__r{name}__", swapped(function))
        setattr(Tensor, f"__i{name}__", in_place.in_place(function))
    for name, dtype in CASTS.items():
        setattr(Tensor, name, caster(name, dtypes.as_dtype(dtype)))
    special = {
        **POSITIONS, **COPIES, **autograd.PROPERTIES,
        **{name: operator(function) for name, function in COMPARISONS.items()},
        "__neg__": arithmetic.neg, "__pos__": names.methods["positive"],
        "__abs__": arithmetic.abs, "__matmul__": operator(linalg.matmul),
        "__rmatmul__": swapped(operator(linalg.matmul)),
        "__rdiv__": swapped(arithmetic.div), "__invert__": compare.bitwise_not, "__getitem__": subscript.get_item,
        "__setitem__": assignment.set_item, "as_strided": views.strided_view, "backward": backward,
        "mT": property(matrix_transpose), "mH": property(rearranging.adjoint),
        "real": property(parts.real, set_real), "imag": property(parts.imag, set_imag),
        "H": property(matrix_adjoint), "T": property(views.full_transpose), "dims": Tensor.shape,
        "rank": Tensor.ndim,
    }  # fmt: skip
    for name, value in special.items():
        setattr(Tensor, name, value)


attach()
