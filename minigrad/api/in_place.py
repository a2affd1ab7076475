"""In-place methods: `x.name_(...)` for functions that have `out=`, and `fill_`, `zero_`, `copy_`.

`x.clamp_(0, 1)` is `mg.clamp(x, 0, 1, out=x)`, with the arguments, defaults and derivative rules of the function.
`runtime/writing.py` checks all writes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from minigrad.api.python import item
from minigrad.errors import DTypeError, MinigradError, ShapeError
from minigrad.ops import casting, creation
from minigrad.ops.indexing import assignment
from minigrad.runtime.dispatch import number
from minigrad.runtime.into import write
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
        if x.__class__ not in PLAIN and isinstance(x, Tracer):
            assignment.begin_write(name, x)
            return replaced(name, x, function(x, *others, **more))
        arguments = (*others, *more.values()) if more else others
        check_writable(name, x, tuple([o for o in arguments if isinstance(o, Tensor)]))
        try:
            return function(x, *others, out=x, **more)
        except (DTypeError, ShapeError) as error:
            if "result" not in vars(error):
                raise
            raise misfit(name, x, error) from None

    method.__name__ = method.__qualname__ = name
    method.__doc__ = (
        f"Apply `{function.__name__}` in place, and record it.  Raises GradientError for a Var outside no_grad."
    )
    shown = inspect.signature(function)
    kept = [p for p in shown.parameters.values() if p.name not in ("out", "inplace")]
    method.writes = (kept[0].name,)  # type: ignore[attr-defined]
    method.__signature__ = shown.replace(parameters=kept, return_annotation=Tensor)  # type: ignore[attr-defined]
    return method


def misfit(name: str, x: Tensor, error: MinigradError) -> MinigradError:
    """Return the error for a result that does not fit the tensor, without the `out` that the user did not write."""
    result, function = error.result, name.rstrip("_")
    convert = f", or convert the tensor with .to(mg.{result.dtype}) first" if error.what == "dtypes" else ""
    return type(error)(
        f"{name}: the result is {result!r}, and {describe(x)} is changed in place; {error.what} must agree, so write "
        f"x = {OPERATORS.get(function, f'x.{function}(...)')}{convert}",
        op=function,
    )


def replaced(name: str, x: Any, y: Tensor) -> Tensor:
    """Replace the value of x, a tensor inside a transform, by y, and return x."""
    if (y.shape, y.dtype, y.device) != (x.shape, x.dtype, x.device):
        raise ShapeError(
            f"{name}: the result must have the shape, dtype and device of the tensor {describe(x)} that is changed in "
            f"place, got {describe(y)}; use {name.rstrip('_')}, which returns a new tensor",
            op=name,
        )
    x.transform.end_write(name, x, y)
    return x


def fill_(x: Tensor, value: float) -> Tensor:
    """Set every element to `value`, in place."""
    if isinstance(value, Tensor) and value.requires_grad and value.ndim == 0:
        assignment.copy_into(x, value, "fill_", x)
        return x
    if isinstance(x, Tracer):
        assignment.copy_into(x, value, "fill_", x)
        return x
    check_writable("fill_", x)
    scalar = item(value) if isinstance(value, Tensor) else value
    creation.expect_numbers("fill_", value=scalar)
    creation.expect_fit("fill_", scalar, x.dtype)
    write(FILL, (number(scalar, x.dtype, x.device),), {"shape": x.shape}, x)
    return x


def zero_(x: Tensor) -> Tensor:
    """Set every element to 0, in place."""
    return fill_(x, 0)


def copy_(x: Tensor, source: Any, non_blocking: bool = False) -> Tensor:
    """Copy the elements of `source` into x, with broadcasting and a cast to the dtype of x, in place.

    A tensor on another device is first moved to the device of x; `non_blocking` is passed to `to`.
    """
    if isinstance(source, Tensor) and source.device is not x.device:
        source = casting.to(source, device=x.device, non_blocking=non_blocking)
    assignment.copy_into(x, source, "copy_", x)
    return x
