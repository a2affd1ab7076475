"""In-place methods: `x.name_(...)` for functions that have `out=`, for views, and for random numbers.

`x.clamp_(0, 1)` is `mg.clamp(x, 0, 1, out=x)`, with the arguments, defaults and derivative rules of the function.
`runtime/writing.py` checks all writes.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

from minigrad.api.python import item
from minigrad.autodiff.replacing import alike, assumed
from minigrad.core.dtype import DType, bool_, finfo, float32, float64
from minigrad.core.parameters import deferred_signature
from minigrad.core.roles import read_flag
from minigrad.declare import names
from minigrad.errors import ArgumentError, DTypeError, GradientError, MinigradError, ShapeError
from minigrad.ops import casting, creation, random
from minigrad.ops.indexing import assignment
from minigrad.ops.indexing.masks import unrepeated
from minigrad.ops.pointwise import rounding
from minigrad.ops.pointwise.blends import clamp
from minigrad.ops.shape import views
from minigrad.runtime.changes import rebind
from minigrad.runtime.dispatch import number
from minigrad.runtime.into import expect_result, write
from minigrad.runtime.rebasing import can_lay_out, lay_out
from minigrad.runtime.recording import mode
from minigrad.runtime.tensor import PLAIN, Tensor, describe
from minigrad.runtime.tracers import Tracer
from minigrad.runtime.writing import check_writable

FILL = creation.fill.op  # type: ignore[attr-defined]
OPERATORS = {"add": "x + y", "sub": "x - y", "mul": "x * y", "div": "x / y", "floor_divide": "x // y",
                "remainder": "x % y", "pow": "x ** y"}  # fmt: skip


def in_place(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return the method `name_` of a function with `out=`, which writes the result into the first argument."""
    name = function.__name__ + "_"

    def method(x: Tensor, *others: Any, **more: Any) -> Tensor:
        try:
            if x.__class__ not in PLAIN and isinstance(x, Tracer):
                assignment.begin_write(name, x)
                return replaced(name, x, function(x, *others, **more))
            arguments = (*others, *more.values()) if more else others
            check_writable(name, x, tuple([o for o in arguments if isinstance(o, Tensor)]))
            return function(x, *others, out=x, **more)
        except (DTypeError, ShapeError) as error:
            if "result" not in vars(error):
                raise
            raise misfit_in_place(name, x, error) from None

    method.__name__ = method.__qualname__ = name
    method.__doc__ = (
        f"Apply `{function.__name__}` in place, and record it.  Raises GradientError for a Var outside no_grad."
    )

    def parts() -> tuple[list[inspect.Parameter], Any]:
        shown = inspect.signature(function).parameters.values()
        return [p for p in shown if p.name not in ("out", "inplace")], Tensor

    method.writes = ("input",)  # type: ignore[attr-defined]
    method.__signature__ = deferred_signature(parts)  # type: ignore[attr-defined]
    return method


def over_repeats(method: Callable[..., Tensor], item_of: Callable[..., Any]) -> Callable[..., Tensor]:
    """Return an in-place method that also writes one number into a tensor whose elements share memory.

    It does not matter then which of these elements is written last.  The method first writes into a copy, so that it
    checks its arguments.
    item_of: a function of the arguments that returns an index and the value, or None if the values may differ.
    """

    @functools.wraps(method)
    def written(x: Tensor, *arguments: Any, **named: Any) -> Tensor:
        overlaps = x.__class__ in PLAIN and not x.layout.is_contiguous and x.layout.may_overlap_itself()
        if not overlaps:
            return method(x, *arguments, **named)
        method(x.detach().contiguous(), *arguments, **named)
        entry = item_of(*arguments, **named)
        if entry is None:
            return method(x, *arguments, **named)
        assignment.set_item(x, *entry)
        return x

    return written


def put_item(indices: Any, values: Tensor, accumulate: bool = False) -> Any:
    """Return the index and the value of `index_put_` as those of an item assignment, if it writes a single number."""
    return (tuple(indices), values) if values.numel() == 1 and not accumulate else None


REPEATS: dict[str, Callable[..., Any]] = {
    "index_fill": lambda dim, index, value: (
        (..., index, *[slice(None)] * (-1 - dim)) if dim < 0 else (*[slice(None)] * dim, index), value),
    "index_put": put_item,
}  # fmt: skip


def misfit_in_place(name: str, x: Tensor, error: MinigradError) -> MinigradError:
    """Return the error for a result that does not fit the tensor, without the `out` that the user did not write."""
    result, function = error.result, name.rstrip("_")
    convert = f", or convert the tensor with .to(mg.{result.dtype}) first" if error.what == "dtypes" else ""
    return type(error)(
        f"{name}: the result is {result!r}, and {describe(x)} is changed in place; {error.needed}, so write "
        f"x = {OPERATORS.get(function, f'x.{function}(...)')}{convert}",
        op=function,
    )


def replaced(name: str, x: Any, y: Tensor) -> Tensor:
    """Replace the value of x, a tensor inside a transform, by y in the dtype of x, and return x."""
    expect_result(name, y, x, x.device)
    x.transform.end_write(name, x, y if y.dtype is x.dtype else casting.cast_to(y, x.dtype))
    return x


# ---- values ----------------------------------------------------------------------------------------------------------


def fill_(x: Tensor, value: float) -> Tensor:
    """Set every element to `value`, in place."""
    if isinstance(value, Tensor) and value.ndim:
        raise ShapeError(f"fill_: value must be a number or have 0 dims, got {describe(value)}; use copy_")
    if isinstance(x, Tracer) or (isinstance(value, Tensor) and (value.requires_grad or isinstance(value, Tracer))):
        assignment.copy_into(x, value, "fill_", x)
        return x
    whole, x = x, unrepeated(x, None)[0]
    if not x.layout.is_contiguous and x.layout.may_overlap_itself():  # windows: one after another, from the last dim
        for part in x.unbind(min(range(x.ndim), key=lambda d: (x.shape[d] == 1, x.shape[d]))):
            fill_(part, value)
        return whole
    check_writable("fill_", x)
    scalar = item(value) if isinstance(value, Tensor) else value
    creation.expect_numbers("fill_", value=scalar)
    creation.expect_fit("fill_", scalar, x.dtype)
    write(FILL, (number(scalar, x.dtype, x.device),), {"shape": x.shape}, x)
    return whole


def zero_(x: Tensor) -> Tensor:
    """Set every element to 0, in place."""
    return fill_(x, 0)


def copy_(x: Tensor, source: Any, non_blocking: bool = False) -> Tensor:
    """Copy the elements of `source` into x, with broadcasting and a cast to the dtype of x, in place.

    A tensor on another device is first moved to the device of x; `non_blocking` is passed to `to`.
    """
    if non_blocking.__class__ is not bool:
        read_flag(non_blocking, "copy_", "non_blocking")
    if isinstance(source, Tensor) and source.device is not x.device:
        source = casting.to(source, device=x.device, non_blocking=non_blocking)
    assignment.copy_into(x, source, "copy_", x)
    return x


def fill_diagonal_(x: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """Write a number to the diagonal of a matrix, in place, and return the matrix.

    A tensor with more than two dims must have equal lengths in all dims; its diagonal is x[i, i, ..., i].
    fill_value: the number to write.  wrap: whether a matrix with more rows than columns has further diagonals.  Each
    further diagonal begins in column 0, with one row between it and the end of the diagonal above.
    Raises ShapeError for a tensor with fewer than two dims, or with more than two dims of different lengths.
    """
    if x.ndim < 2 or (x.ndim > 2 and len(set(x.shape)) > 1):
        raise ShapeError(
            f"fill_diagonal_: expected a matrix, or at least 3 dims of equal lengths, got {describe(x)}; slice the "
            "tensor to equal lengths"
        )
    if x.ndim > 2:
        for k in range(x.shape[0]):
            x[(k,) * x.ndim] = fill_value
        return x
    rows, columns = x.shape
    for start in range(0, rows if wrap else min(rows, 1), columns + 1):
        x[start : start + columns].diagonal().fill_(fill_value)
    return x


def apply_(x: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace each element by `callable(element)`, in place.

    The function runs in Python, so this is slow, and no gradient flows through it.
    """
    return refilled_by("apply_", callable, x)


def map_(x: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replace each element by `callable(element, other)`, in place, with `other` from `tensor`; see `apply_`.

    `tensor` is broadcast to the shape of x.
    """
    return refilled_by("map_", callable, x, tensor)


def map2_(x: Tensor, x1: Tensor, x2: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """Replace each element by `callable(element, first, second)`, in place, with values from x1 and x2.

    callable: a function of three Python numbers; see `map_`.
    """
    return refilled_by("map2_", callable, x, x1, x2)


def refilled_by(name: str, function: Callable[..., Any], x: Tensor, *others: Tensor) -> Tensor:
    """Replace each element by `function` of it and of the elements of other tensors, which do not have gradients."""
    for each in (x, *others):
        if each.requires_grad:
            raise GradientError(
                f"{name}: expected tensors that do not require gradients, got {describe(each)}; pass x.detach()"
            )
    columns = [numbers_in(each.expand(x.shape)) for each in (x, *others)]
    return refilled(x, [function(*values) for values in zip(*columns, strict=True)])


def numbers_in(x: Tensor) -> Any:
    """Return a list of the elements as Python numbers, in row-major order."""
    return x.detach().reshape(-1).tolist()


def refilled(x: Tensor, values: list[Any]) -> Tensor:
    """Write a list of elements into x, in row-major order, and return x."""
    x.copy_(x.new_tensor(values).reshape(x.shape))
    return x


# ---- views -----------------------------------------------------------------------------------------------------------


def view_in_place(name: str, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return the method `name_`, which changes the layout of a tensor over its memory: the in-place form of a view.

    A graph that saved the tensor would read it in the new layout, so this counts as a write, as in PyTorch.  A leaf
    cannot be written, nor can its layout change.  A value of a transform takes the value of the view.
    """

    def method(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if isinstance(x, Tracer):
            shown = function(alike(x), *args, **kwargs)
            return assumed(x, shown) if isinstance(shown, x.__class__) else x
        if x.storage.tracked and not (mode.enabled and can_lay_out(x)):
            raise GradientError(
                f"{name}_: the tensor must be a recorded result, or share no memory with a tensor that requires a "
                f"gradient, got {describe(x)}; write x = x.{name}(...)",
                op=f"{name}_",
            )
        layout = function(Tensor(x.storage, x.layout), *args, **kwargs).layout
        if layout is x.layout:
            return x
        if x.storage.tracked:
            lay_out(x, layout)
        else:
            rebind(x, x.storage, layout)
            x.storage.version += 1
        return x

    method.__name__ = method.__qualname__ = f"{name}_"
    method.__doc__ = (
        f"`{name}` in place: x itself shows its memory so, and is returned.  Raises GradientError for a leaf that "
        f"requires a gradient, and for other tensors that share memory with one."
    )
    method.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return method


VIEWS: dict[str, Any] = {
    **{name: names.methods[name] for name in ("squeeze", "unsqueeze", "t", "transpose")},
    "as_strided": views.strided_view, "swapaxes": names.methods["transpose"], "swapdims": names.methods["transpose"],
}  # fmt: skip


# ---- random numbers --------------------------------------------------------------------------------------------------


def redraw(name: str, x: Tensor, values: Tensor) -> Tensor:
    """Replace the elements of x by drawn values, and return x; the gradient of the replaced elements is 0."""
    assignment.copy_into(x, casting.cast(values, dtype=x.dtype), name, x)
    return x


def wide(name: str, x: Tensor) -> DType:
    """Return the dtype in which numbers for x are drawn: the dtype of x, or float32 for float16 and bfloat16."""
    if not x.dtype.is_float:
        raise DTypeError(
            f"{name}: expected a tensor with a floating dtype, got {describe(x)}; convert it with .to(mg.float32)"
        )
    return x.dtype if x.dtype.itemsize > 2 else float32


def share(x: Tensor, dtype: DType, generator: Any) -> Tensor:
    """Return one uniform number per element of x, between 0 and 1; both ends are excluded."""
    return clamp(random.rand(x.shape, dtype=dtype, device=x.device, generator=generator), 2.0**-25)


def expect(name: str, fits: bool, text: str, value: float) -> None:
    """Raise ArgumentError with `text` and `value` if a parameter of a distribution does not fit."""
    if not fits:
        raise ArgumentError(f"{name}: {text}, got {value}; pass a value in this range")


def normal_(x: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill x with samples of a normal distribution, in place."""
    return redraw("normal_", x, random.normal(mean, std, x.shape, dtype=x.dtype, device=x.device, generator=generator))


def uniform_(x: Tensor, low: float = 0.0, to: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill x with uniform numbers in [low, to), in place.

    PyTorch's name for `low` is `from`, which is a Python keyword.
    """
    drawn = random.uniform(x.shape, low, to, dtype=x.dtype, device=x.device, generator=generator)
    return redraw("uniform_", x, drawn)


def bernoulli_(x: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Fill x in place with 1 with probability p, and with 0 otherwise.

    p: the probability for all elements, or a tensor of probabilities that broadcasts to the shape of x.
    """
    if isinstance(p, Tensor):
        return redraw("bernoulli_", x, random.bernoulli(p.expand(x.shape), generator=generator))
    return redraw("bernoulli_", x, random.bernoulli(x, p, generator=generator))


def random_(x: Tensor, low: int | None = None, to: Any = ..., *, generator: Any = None) -> Tensor:
    """Fill x with random integers in [low, to), in place.

    `x.random_(to)` draws from [0, to).  `x.random_(low, None)` draws from `low` to a largest integer n.  For a float
    dtype, n is the end of the range in which all integers are exact, 2**24 for float32.  For an integer dtype, n is the
    largest value of the dtype, but at most 2**63 - 2.  For bool, n is 1.  `x.random_()` draws from 0 to n.
    Raises ArgumentError for integers that the dtype cannot store.
    """
    low, to = (0, low) if to is ... else (low or 0, to)
    digits = {2: 2**8 if "bfloat" in x.dtype.name else 2**11, 4: 2**24, 8: 2**53}
    most = 2 if x.dtype is bool_ else digits[x.dtype.itemsize] + 1 if x.dtype.is_float else x.dtype.highest + 1
    end = min(int(most), 2**63 - 1) if to is None else to
    drawn = random.randint(low, end, x.shape, device=x.device, generator=generator)
    least, largest = x.dtype.lowest, x.dtype.highest
    if x.dtype.is_float:
        least, largest = finfo(x.dtype).min, finfo(x.dtype).max
    for value in (low, end - 1):
        expect(
            "random_",
            least <= value <= largest,
            f"low and to - 1 must be from {least} to {largest} for {x.dtype}",
            value,
        )
    return redraw("random_", x, drawn)


def exponential_(x: Tensor, lambd: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill x with samples of an exponential distribution, in place: -log(1 - u)/lambd for uniform u.

    lambd: the rate of the distribution, which must be positive.
    """
    expect("exponential_", lambd > 0, "lambd must be positive", lambd)
    return redraw("exponential_", x, (-share(x, wide("exponential_", x), generator)).log1p() / -lambd)


def cauchy_(x: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill x with samples of a Cauchy distribution, in place: median + sigma*tan(pi*(u - 0.5)) for uniform u."""
    expect("cauchy_", sigma > 0, "sigma must be positive", sigma)
    turn = share(x, wide("cauchy_", x), generator)
    return redraw("cauchy_", x, ((turn - 0.5) * math.pi).tan() * sigma + median)


def geometric_(x: Tensor, p: float, *, generator: Any = None) -> Tensor:
    """Fill x with samples of a geometric distribution, in place.

    A sample is the number of independent trials up to the first success; each trial succeeds with probability p.
    """
    expect("geometric_", 0.0 < p < 1.0, "p must be between 0 and 1, both excluded", p)
    return redraw("geometric_", x, rounding.ceil(share(x, float64, generator).log() / math.log1p(-p)))


def log_normal_(x: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Any = None) -> Tensor:
    """Fill x with samples of a log-normal distribution, in place.

    The logarithm of a sample has a normal distribution with the given mean and standard deviation.
    """
    expect("log_normal_", std > 0, "std must be positive", std)
    drawn = random.randn(x.shape, dtype=wide("log_normal_", x), device=x.device, generator=generator)
    return redraw("log_normal_", x, (drawn * std + mean).exp())


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    fill_, zero_, copy_, fill_diagonal_, apply_, map_, map2_,
    *[view_in_place(name, function) for name, function in VIEWS.items()],
    normal_, uniform_, bernoulli_, random_, exponential_, cauchy_, geometric_, log_normal_,
)  # fmt: skip

# In-place methods and queries that are also functions; `api/memory.py` defines them.
METHODS = (
    "abs_", "acos_", "acosh_", "addmv_", "arccos_", "arccosh_", "arcsin_", "arcsinh_", "arctan_", "arctanh_", "asin_",
    "asinh_", "atan_", "atanh_", "ceil_", "clamp_", "clamp_max_", "clamp_min_", "clip_", "cos_", "cosh_", "deg2rad_",
    "detach", "detach_", "erf_", "erfc_", "exp2_", "exp_", "expm1_", "fill_", "fix_", "floor_", "frac_", "gcd_",
    "get_device", "i0_", "index_put_", "is_conj", "is_neg", "is_signed", "lcm_", "ldexp_", "log10_",
    "log1p_", "log2_", "log_", "logit_", "nan_to_num_", "neg_", "negative_", "rad2deg_", "reciprocal_", "relu_",
    "resize_as_", "resolve_conj", "resolve_neg", "round_", "rsqrt_", "sigmoid_", "sin_", "sinc_", "sinh_", "sqrt_",
    "square_", "tan_", "tanh_", "trunc_", "xlogy_", "zero_",
)  # fmt: skip
