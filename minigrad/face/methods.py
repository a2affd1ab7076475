"""Which op is which method: the table that gives Tensor its operators, methods, in-place forms and aliases.

Tensor itself knows no op; here, above both, they meet.  A name in `METHODS` is a method with the op's own signature
and, if that has `out=`, also gets its in-place `name_`.  What Python itself asks for is in `python.py`, what PyTorch's
users ask for daily in `pytorch.py`, other libraries' names are in `aliases.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

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
from minigrad.face import gradients, leaves, pytorch
from minigrad.face.copying import COPIES
from minigrad.face.explaining import explain_grad
from minigrad.face.in_place import copy_, fill_, has_out, in_place, zero_
from minigrad.face.python import PLACES, item, tolist
from minigrad.ops import (
    activation,
    arithmetic,
    assignment,
    casting,
    compare,
    composed,
    explog,
    extremes,
    indexing,
    joining,
    linalg,
    masks,
    powers,
    reduce,
    rounding,
    scan,
    softmax,
    sorting,
    subscript,
    trigonometry,
    views,
)  # fmt: skip
from minigrad.runtime.tensor import PLAIN, Tensor, describe, expect_tensors
from minigrad.runtime.var import Var

METHODS: dict[Any, str] = {
    arithmetic: "add sub mul div neg abs sign square floor_divide remainder maximum minimum",
    powers: "reciprocal sqrt rsqrt hypot pow",
    compare: "eq ne lt le gt ge isnan isinf isfinite logical_and logical_or logical_xor logical_not "
    "bitwise_and bitwise_or bitwise_xor",
    explog: "exp exp2 expm1 log log2 log10 log1p erf erfc ndtr logaddexp",
    trigonometry: "sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh",
    rounding: "floor ceil trunc round",
    activation: "relu relu6 sigmoid log_sigmoid silu",
    reduce: "sum mean amax amin any all prod var std logsumexp sum_to",
    extremes: "argmax argmin max min",
    softmax: "softmax log_softmax",
    sorting: "sort argsort msort topk kthvalue median",
    scan: "cumsum cumprod cummax cummin logcumsumexp",
    composed: "clamp leaky_relu elu softplus gelu affine lerp roll slice_scatter",
    linalg: "matmul dot mv mm outer bmm baddbmm addmm addmv",
    indexing: "gather scatter_add index_select index_add index_copy",
    masks: "nonzero masked_select masked_fill masked_fill_ masked_scatter",
    joining: "split chunk repeat",
    casting: "to contiguous clone",
    views: "reshape flatten",
}

OPERATORS = {
    "add": arithmetic.add, "sub": arithmetic.sub, "mul": arithmetic.mul, "truediv": arithmetic.div,
    "floordiv": arithmetic.floor_divide, "mod": arithmetic.remainder, "pow": powers.pow,
    "and": compare.bitwise_and, "or": compare.bitwise_or, "xor": compare.bitwise_xor,
}  # fmt: skip

# == and != are in `python.py`: they may be asked about what is no number.
COMPARISONS = {"__lt__": compare.lt, "__le__": compare.le, "__gt__": compare.gt, "__ge__": compare.ge}

# ---- views with PyTorch's positional arguments ----------------------------------------------------------------------


def view(x: Tensor, *shape: int | Sequence[int]) -> Tensor:
    """x in another shape over the same memory; raises ShapeError where only a copy could do it (use reshape)."""
    if len(shape) == 1 and shape[0].__class__ is tuple:
        shape = shape[0]
    found = views.seen(x, shape)
    if found is not None:
        return found
    if len(shape) == 1 and isinstance(shape[0], DType):
        raise ArgumentError(
            "view: reinterpreting bytes as another dtype is not offered; .to(dtype) converts", op="view"
        )
    return views.remembered(x, shape, as_shape(shape, "view", hole=True))


def narrow(x: Tensor, dim: int, start: int, length: int) -> Tensor:
    """A view of `length` elements along `dim` from `start`."""
    return views.narrow(x, dim=dim, start=start, length=length)


def select(x: Tensor, dim: int, index: int) -> Tensor:
    """A view of one position along `dim`, which goes."""
    return views.select(x, dim=dim, index=index)


def transpose(x: Tensor, dim0: int, dim1: int) -> Tensor:
    """A view with two dims swapped."""
    return views.transpose(x, dim0=dim0, dim1=dim1)


def permute(x: Tensor, *dims: int | Sequence[int]) -> Tensor:
    """A view with the dims in another order."""
    return views.permute(x, dims=_ints(dims))


def squeeze(x: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """A view without dims of length 1: all, or those named that have it."""
    return views.squeeze(x, dim=_ints((dim,)) if isinstance(dim, (list, tuple)) else dim)


def unsqueeze(x: Tensor, dim: int) -> Tensor:
    """A view with a dim of length 1 at `dim`."""
    return views.unsqueeze(x, dim=dim)


def expand(x: Tensor, *shape: int | Sequence[int]) -> Tensor:
    """A view with dims of length 1 stretched to `shape`; -1 keeps a length."""
    return views.expand(x, shape=_ints(shape))


def flip(x: Tensor, *dims: int | Sequence[int]) -> Tensor:
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
    """x where the condition holds, else other.  `mg.where(condition, input, other)` has the condition first."""
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


def matrix_transpose(x: Tensor) -> Tensor:
    """A view with the last two dims swapped."""
    if x.ndim < 2:
        raise ShapeError(f"mT: expected at least 2 dims, got {describe(x)}", op="mT")
    return views.full_transpose(x) if x.ndim == 2 else views.transpose(x, dim0=-2, dim1=-1)


def t(x: Tensor) -> Tensor:
    """The transpose of a matrix; a view."""
    if x.__class__ not in PLAIN:
        expect_tensors("t", x)
    if x.ndim > 2:
        raise ShapeError(f"t: expected at most 2 dims, got {describe(x)}; use .mT or transpose", op="t")
    return views.full_transpose(x)


# ---- attaching ------------------------------------------------------------------------------------------------------


def swapped(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The reflected operator: 2 - x is sub(2, x)."""

    def method(x: Tensor, other: Any) -> Tensor:
        return function(other, x)

    method.__name__ = method.__qualname__ = f"reflected_{function.__name__}"
    method.__doc__ = f"`{function.__name__}` with the tensor as the second operand."
    return method


def caster(name: str, dtype: DType) -> Callable[[Tensor], Tensor]:
    """x.float(), x.long() ...: PyTorch's short casts."""

    def method(x: Tensor) -> Tensor:
        return casting.to(x, dtype)

    method.__name__ = method.__qualname__ = name
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
            function = getattr(module, name)
            setattr(Tensor, name, function)
            if has_out(function):
                setattr(Tensor, name + "_", in_place(function))
    for function in (*VIEWS, t, item, tolist, fill_, zero_, copy_, *leaves.FUNCTIONS, *gradients.FUNCTIONS,
                     *pytorch.FUNCTIONS):  # fmt: skip
        setattr(Tensor, function.__name__, function)
    Var.set = assignment.set_var  # type: ignore[attr-defined]
    for function in pytorch.PROPERTIES:
        setattr(Tensor, function.__name__, property(function))
    for name, function in OPERATORS.items():
        setattr(Tensor, f"__{name}__", function)
        setattr(Tensor, f"__r{name}__", swapped(function))
        setattr(Tensor, f"__i{name}__", in_place(function))
    for name, dtype in CASTS.items():
        setattr(Tensor, name, caster(name, as_dtype(dtype)))
    special = {
        **PLACES, **COPIES, **COMPARISONS, "explain_grad": explain_grad,
        "__pow__": composed.power, "__neg__": arithmetic.neg, "__abs__": arithmetic.abs, "__matmul__": linalg.matmul,
        "__rmatmul__": swapped(linalg.matmul), "__invert__": invert, "__getitem__": subscript.get_item,
        "__setitem__": assignment.set_item, "as_strided": views.strided_view, "backward": backward,
        "mT": property(matrix_transpose), "T": property(views.full_transpose), "dims": Tensor.shape,
        "rank": Tensor.ndim, "grad": property(gradients.grad, gradients.set_grad),
        "retains_grad": property(gradients.retains_grad), "grad_fn": property(leaves.grad_fn),
        "requires_grad": Tensor.requires_grad.setter(leaves.set_requires_grad),  # type: ignore[attr-defined]
        "data": property(leaves.data, leaves.set_data),
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


attach()
