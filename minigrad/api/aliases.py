"""Names from candle and NumPy for functions that have another name in minigrad.

`ALIASES` lists second names of the same functions.  The functions below differ from those of minigrad in their
arguments.  `docs/names.md` lists all these names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minigrad.api import methods as _methods  # noqa: F401  attaches the methods that get a second name here
from minigrad.api.in_place import copy_, fill_
from minigrad.declare.decorators import public
from minigrad.declare.names import MG
from minigrad.ops import creation
from minigrad.ops.pointwise import compare
from minigrad.ops.shape import views
from minigrad.runtime.tensor import Tensor

# The name in candle, NumPy or PyTorch -> the name in minigrad.  As methods of Tensor, both names are the same function.
ALIASES = {
    "sqr": "square", "recip": "reciprocal", "powf": "pow", "to_dtype": "to", "astype": "to", "broadcast_as": "expand",
    "broadcast_to": "expand", "sum_all": "sum", "mean_all": "mean", "max_all": "amax", "min_all": "amin",
    "copy": "clone", "to_vec0": "item", "to_scalar": "item", "to_vec1": "tolist", "to_vec2": "tolist",
    "to_vec3": "tolist", "i": "__getitem__", "get_on_dim": "select", "flatten_all": "flatten",
    "log_sum_exp": "logsumexp", "broadcast_matmul": "matmul",
    "gelu_erf": "gelu", "elem_count": "numel", "mul_scalar": "mul",
    "multiply": "mul", "subtract": "sub", "divide": "div", "true_divide": "div", "negative": "neg", "absolute": "abs",
    "swapaxes": "transpose", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh",
    "arccosh": "acosh", "arctanh": "atanh", "clip": "clamp", "fix": "trunc",
    "force_contiguous": "clone", "zero_set": "zero_", "const_set": "fill_", "nelement": "numel", "ndimension": "dim",
    "swapdims": "transpose", "moveaxis": "movedim", "arctan2": "atan2", "greater": "gt",
    "greater_equal": "ge", "less": "lt", "less_equal": "le", "not_equal": "ne", "ger": "outer",
}  # fmt: skip
ALIASES |= {f"broadcast_{n}": n for n in "add sub mul div maximum minimum pow eq ne lt le gt ge".split()}


@public(namespace=MG)
def flatten_to(x: Tensor, end_dim: int) -> Tensor:
    """Flatten the dims from the first to `end_dim`, which is included, into one."""
    return views.flatten(x, 0, end_dim)


@public(namespace=MG)
def flatten_from(x: Tensor, start_dim: int) -> Tensor:
    """Flatten the dims from `start_dim` to the last into one."""
    return views.flatten(x, start_dim, -1)


def get(x: Tensor, index: int) -> Tensor:
    """Return the slice at position `index` of the first dim, `x[index]`."""
    return views.select(x, dim=0, index=index)


@public(namespace=MG)
def where_cond(condition: Tensor, a: Any, b: Any) -> Tensor:
    """Return `mg.where` of the operands; as a method, the tensor is the condition, as in candle."""
    return compare.where(condition, a, b)


@public(namespace=MG)
def arange_step(start: float, end: float, step: float, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Return `mg.arange` with a step, under candle's name."""
    return creation.arange(start, end, step, dtype=dtype, device=device)


def one_set(x: Tensor) -> Tensor:
    """Set every element to 1, in place."""
    return fill_(x, 1)


def slice_set(x: Tensor, source: Tensor, dim: int, offset: int) -> Tensor:
    """Write `source` into x along `dim`, from position `offset`, in place."""
    return copy_(views.narrow(x, dim=dim, start=offset, length=source.shape[dim]), source)


def keeping(name: str) -> Callable[..., Any]:
    """Return the method of a reduction with keepdim=True, such as candle's `sum_keepdim(dim)`."""
    reducer = getattr(Tensor, name)

    def method(x: Tensor, dim: Any = None) -> Any:
        return reducer(x, dim, keepdim=True)

    method.__name__ = method.__qualname__ = f"{name}_keepdim"
    method.__doc__ = f"Return `{name}` with the reduced dims kept as length 1."
    return method


def attach() -> None:
    """Attach the aliases and the functions above to Tensor."""
    for alias, name in ALIASES.items():
        setattr(Tensor, alias, getattr(Tensor, name))
        if hasattr(Tensor, f"{name}_") and not hasattr(Tensor, f"{alias}_"):
            setattr(Tensor, f"{alias}_", getattr(Tensor, f"{name}_"))
    for name in ("sum", "mean", "max", "min", "argmax", "argmin", "var"):
        setattr(Tensor, f"{name}_keepdim", keeping(name))
    for function in (flatten_to, flatten_from, get, where_cond, one_set, slice_set):
        setattr(Tensor, function.__name__, function)


attach()
