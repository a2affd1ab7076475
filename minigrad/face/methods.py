"""Which op is which method: the table that gives Tensor its operators, methods, in-place forms and aliases.

Tensor itself knows no op; here, above both, they meet.  A name in `METHODS` is a method with the op's own signature,
every elementwise op also gets its in-place `name_`.  Other libraries' names are in `aliases.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from minigrad.autodiff.engine import backward
from minigrad.core.dtype import (
    DType,
    as_dtype,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)  # fmt: skip
from minigrad.core.shape import as_shape, normalize_dim
from minigrad.errors import ArgumentError, DTypeError, ShapeError
from minigrad.ops import (
    activation,
    arithmetic,
    casting,
    compare,
    composed,
    creation,
    explog,
    indexing,
    joining,
    linalg,
    masks,
    reduce,
    rounding,
    scan,
    softmax,
    sorting,
    subscript,
    trigonometry,
    views,
)  # fmt: skip
from minigrad.ops.declare import schema
from minigrad.runtime import dispatch
from minigrad.runtime.tensor import Tensor, describe, expect_tensors, host_array
from minigrad.runtime.var import Var
from minigrad.runtime.writing import check_writable

FILL = creation.fill.op  # type: ignore[attr-defined]
METHODS: dict[Any, str] = {
    arithmetic: "add sub mul div neg abs sign square reciprocal sqrt rsqrt hypot pow floor_divide remainder "
    "maximum minimum",
    compare: "eq ne lt le gt ge isnan isinf isfinite logical_and logical_or logical_xor logical_not "
    "bitwise_and bitwise_or bitwise_xor",
    explog: "exp exp2 expm1 log log2 log10 log1p erf erfc ndtr logaddexp",
    trigonometry: "sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh",
    rounding: "floor ceil trunc round",
    activation: "relu sigmoid log_sigmoid silu",
    reduce: "sum mean amax amin any all prod argmax argmin max min var std logsumexp norm sum_to",
    softmax: "softmax log_softmax",
    sorting: "sort argsort msort topk kthvalue median",
    scan: "cumsum cumprod cummax cummin logcumsumexp",
    composed: "clamp leaky_relu elu softplus gelu affine lerp roll slice_scatter",
    linalg: "matmul dot mv mm outer bmm baddbmm addmm addmv",
    indexing: "gather scatter_add index_select index_add",
    masks: "nonzero masked_select masked_fill masked_fill_ masked_scatter",
    joining: "split chunk repeat",
    casting: "to contiguous clone",
    views: "reshape flatten",
}

OPERATORS = {
    "add": arithmetic.add, "sub": arithmetic.sub, "mul": arithmetic.mul, "truediv": arithmetic.div,
    "floordiv": arithmetic.floor_divide, "mod": arithmetic.remainder, "pow": arithmetic.pow,
    "and": compare.bitwise_and, "or": compare.bitwise_or, "xor": compare.bitwise_xor,
}  # fmt: skip

COMPARISONS = {
    "eq": compare.eq, "ne": compare.ne, "lt": compare.lt, "le": compare.le, "gt": compare.gt, "ge": compare.ge,
}  # fmt: skip

# ---- views with PyTorch's positional arguments ----------------------------------------------------------------------


def view(x: Tensor, *shape: Any) -> Tensor:
    """x in another shape over the same memory; raises ShapeError where only a copy could do it (use reshape)."""
    if len(shape) == 1 and isinstance(shape[0], DType):
        raise ArgumentError(
            "view: reinterpreting bytes as another dtype is not offered; .to(dtype) converts", op="view"
        )
    return views.as_view(x, shape=as_shape(shape, "view", hole=True))


def narrow(x: Tensor, dim: int, start: int, length: int) -> Tensor:
    """A view of `length` elements along `dim` from `start`."""
    return views.narrow(x, dim=dim, start=start, length=length)


def select(x: Tensor, dim: int, index: int) -> Tensor:
    """A view of one position along `dim`, which goes."""
    return views.select(x, dim=dim, index=index)


def transpose(x: Tensor, dim0: int, dim1: int) -> Tensor:
    """A view with two dims swapped."""
    return views.transpose(x, dim0=dim0, dim1=dim1)


def permute(x: Tensor, *dims: Any) -> Tensor:
    """A view with the dims in another order."""
    return views.permute(x, dims=_ints(dims))


def squeeze(x: Tensor, dim: Any = None) -> Tensor:
    """A view without dims of length 1: all, or those named that have it."""
    return views.squeeze(x, dim=_ints((dim,)) if isinstance(dim, (list, tuple)) else dim)


def unsqueeze(x: Tensor, dim: int) -> Tensor:
    """A view with a dim of length 1 at `dim`."""
    return views.unsqueeze(x, dim=dim)


def expand(x: Tensor, *shape: Any) -> Tensor:
    """A view with dims of length 1 stretched to `shape`; -1 keeps a length."""
    return views.expand(x, shape=_ints(shape))


def flip(x: Tensor, *dims: Any) -> Tensor:
    """A view reversed along `dims`."""
    return views.flip(x, dims=_ints(dims))


def diagonal(x: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A view of the diagonal of two dims, as the last dim."""
    return views.diagonal(x, offset=offset, dim1=dim1, dim2=dim2)


def unfold(x: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """A view of all windows of `size` along a dim, one every `step`, as a last dim."""
    return views.unfold(x, dim=dimension, size=size, step=step)


def _ints(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """(1, 2), ((1, 2),) and ([1, 2],) are the same."""
    return tuple(values[0]) if len(values) == 1 and isinstance(values[0], (tuple, list)) else tuple(values)


def where(x: Tensor, condition: Tensor, other: Any) -> Tensor:
    """x where the condition holds, else other.  `mg.where(condition, a, b)` has the condition first."""
    return compare.where(condition, x, other)


def movedim(x: Tensor, source: int, destination: int) -> Tensor:
    """A view with one dim moved to another place."""
    expect_tensors("movedim", x)
    order = list(range(x.ndim))
    d = order.pop(normalize_dim(source, x.ndim, "movedim", x))
    order.insert(normalize_dim(destination, x.ndim, "movedim", x), d)
    return permute(x, order)


VIEWS = (
    view, narrow, select, transpose, permute, squeeze, unsqueeze, expand, flip, diagonal, unfold, movedim, where,
)  # fmt: skip


# ---- properties and conversions -------------------------------------------------------------------------------------


def matrix_transpose(x: Tensor) -> Tensor:
    """A view with the last two dims swapped."""
    if x.ndim < 2:
        raise ShapeError(f"mT: expected at least 2 dims, got {describe(x)}", op="mT")
    return views.transpose(x, dim0=-2, dim1=-1)


def t(x: Tensor) -> Tensor:
    """The transpose of a matrix; a view."""
    expect_tensors("t", x)
    if x.ndim > 2:
        raise ShapeError(f"t: expected at most 2 dims, got {describe(x)}; use .mT or transpose", op="t")
    return views.transpose(x, dim0=0, dim1=1) if x.ndim == 2 else views.full_transpose(x)


def item(x: Tensor) -> Any:
    """The only element as a Python number.  Raises ShapeError for more or fewer."""
    if x.numel() != 1:
        raise ShapeError(f"item: expected one element, got {describe(x)} of {x.numel()}; use tolist()", op="item")
    value = host_array(x).reshape(()).item()
    return float(value) if x.dtype.is_float else value


def tolist(x: Tensor) -> Any:
    """The elements as nested Python lists; a number for shape ()."""
    array = host_array(x)
    return array.astype(np.float64).tolist() if x.dtype.is_float else array.tolist()


def size(x: Tensor, dim: int | None = None) -> Any:
    """The shape, or the length of one dim."""
    return x.shape if dim is None else x.shape[normalize_dim(dim, x.ndim, "size", x)]


def iterate(x: Tensor) -> Iterator[Tensor]:
    """The slices along the first dim."""
    if x.ndim == 0:
        raise ShapeError(f"iter: {describe(x)} has no dim to walk over; use item()", op="iter")
    return (views.select(x, dim=0, index=k) for k in range(x.shape[0]))


def truth(x: Tensor) -> bool:
    """bool(x) for one element.  Raises ShapeError for more: which of them would be meant?"""
    if x.numel() != 1:
        raise ShapeError(f"bool: the truth of {describe(x)} is ambiguous; use .any() or .all()", op="bool")
    return bool(item(x))


def requires_grad_(x: Tensor, requires_grad: bool = True) -> Tensor:
    """Exists to say how: a tensor cannot become a leaf afterwards here."""
    if requires_grad == x.requires_grad:
        return x
    raise ArgumentError(
        f"requires_grad_: {describe(x)} cannot change; make a leaf with mg.Var(x), cut history with x.detach()"
    )


# ---- in place -------------------------------------------------------------------------------------------------------


def in_place(op: Any) -> Callable[..., Tensor]:
    """The `name_` form of an elementwise op: the result goes into the first operand."""

    def method(x: Tensor, *others: Any) -> Tensor:
        check_writable(op.name + "_", x, tuple(o for o in others if isinstance(o, Tensor)))
        result: Tensor = op.public(x, *others, out=x)
        return result

    method.__name__ = method.__qualname__ = op.name + "_"
    method.__doc__ = f"`{op.name}` in place.  Raises GradientError where a gradient would be lost."
    return method


def fill_(x: Tensor, value: float) -> Tensor:
    """Every element becomes `value`, in place."""
    check_writable("fill_", x, (value,) if isinstance(value, Tensor) else ())
    number = item(value) if isinstance(value, Tensor) else value
    creation.expect_numbers("fill_", value=number)
    creation.expect_fit("fill_", number, x.dtype)
    dispatch.write(FILL, (dispatch.number(number, x.dtype, x.device),), {"shape": x.shape}, x)
    return x


def zero_(x: Tensor) -> Tensor:
    """Every element becomes 0, in place."""
    return fill_(x, 0)


def copy_(x: Tensor, source: Any) -> Tensor:
    """The elements of source, broadcast and cast, in place."""
    subscript.copy_into(x.detach(), source, "copy_", x)
    return x


# ---- attaching ------------------------------------------------------------------------------------------------------


def swapped(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The reflected operator: 2 - x is sub(2, x)."""

    def method(x: Tensor, other: Any) -> Tensor:
        return function(other, x)

    return method


def comparison(function: Callable[..., Tensor]) -> Callable[..., Any]:
    """== and != with what is no number fall back to Python's identity, so that `x in list` works; < and > raise.

    An array raises as it does in `x + array`: False would look like an answer.
    """

    def method(x: Tensor, other: Any) -> Any:
        if not isinstance(other, (Tensor, bool, int, float, np.generic, np.ndarray)):
            return NotImplemented
        return function(x, other)

    return method


def caster(dtype: DType) -> Callable[[Tensor], Tensor]:
    """x.float(), x.long() ...: PyTorch's short casts."""

    def method(x: Tensor) -> Tensor:
        return casting.to(x, dtype)

    method.__doc__ = f"x as {dtype}."
    return method


CASTS = {
    "float": float32, "double": float64, "half": float16, "bfloat16": bfloat16, "long": int64, "int": int32,
    "short": int16, "char": int8, "byte": uint8, "bool": bool_,
}  # fmt: skip


def attach() -> None:
    """Give Tensor everything above."""
    for module, names in METHODS.items():
        for name in names.split():
            setattr(Tensor, name, getattr(module, name))
    for function in (*VIEWS, t, item, tolist, size, fill_, zero_, copy_, requires_grad_):
        setattr(Tensor, function.__name__, function)
    Var.set = subscript.set_value  # type: ignore[attr-defined]
    Tensor.as_strided = views.strided_view  # type: ignore[attr-defined]
    for name, op in schema.items():
        if op.kind == "elementwise":
            setattr(Tensor, name + "_", in_place(op))
    Tensor.clamp_ = lambda x, min=None, max=None: copy_(x, composed.clamp(x, min, max))  # type: ignore[attr-defined]
    for name, function in OPERATORS.items():
        setattr(Tensor, f"__{name}__", function)
        setattr(Tensor, f"__r{name}__", swapped(function))
        setattr(Tensor, f"__i{name}__", in_place(function.op))  # type: ignore[attr-defined]
    for name, function in COMPARISONS.items():
        setattr(Tensor, f"__{name}__", comparison(function) if name in ("eq", "ne") else function)
    for name, dtype in CASTS.items():
        setattr(Tensor, name, caster(as_dtype(dtype)))
    special = {
        "__pow__": composed.power, "__neg__": arithmetic.neg, "__abs__": arithmetic.abs, "__matmul__": linalg.matmul,
        "__rmatmul__": swapped(linalg.matmul), "__invert__": invert, "__getitem__": subscript.get_item,
        "__setitem__": subscript.set_item, "__iter__": iterate, "__bool__": truth,
        "__float__": lambda x: float(item(x)), "__int__": lambda x: int(item(x)), "__index__": as_index,
        "backward": backward, "mT": property(matrix_transpose),
        "T": property(views.full_transpose), "dims": property(lambda x: x.shape), "rank": property(lambda x: x.ndim),
    }  # fmt: skip
    for name, value in special.items():
        setattr(Tensor, name, value)


def invert(x: Tensor) -> Tensor:
    """~x: `not` for bool, all bits for integers."""
    if x.dtype is bool_:
        return compare.logical_not(x)
    if x.dtype.is_float:
        raise DTypeError(f"invert: bits are defined for bool and integers only, got {describe(x)}", op="invert")
    return compare.bitwise_xor(x, -1 if x.dtype.is_signed else int(x.dtype.highest))


def as_index(x: Tensor) -> int:
    """A one-element integer tensor where Python wants an index."""
    if not x.dtype.is_int:
        raise DTypeError(f"index: expected an integer dtype, got {describe(x)}", op="index")
    return int(item(x))


attach()
