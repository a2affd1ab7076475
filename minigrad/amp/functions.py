"""custom_fwd and custom_bwd: decorators that state how an `mg.Function` runs inside a block of `autocast`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from minigrad.amp.autocast import autocast, castable
from minigrad.core.device import as_device
from minigrad.core.dtype import DType, as_dtype
from minigrad.runtime import casting
from minigrad.runtime.tensor import Tensor


def custom_fwd(fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: Any = None) -> Any:
    """Decorate the `forward` of a Function for use inside `autocast` blocks.

    Parameters
    ----------
    fwd : callable, optional
        The static method; if None, a decorator is returned.
    device_type : str
        Kind of device of the block.
    cast_inputs : DType or str, optional
        Dtype to which floating tensors on this device are cast if the function is called inside a block; the ops in
        `forward` then run without autocast. By default, the ops in `forward` run with the autocast of the block.

    Returns
    -------
    callable
        The method, or the decorator.

    Examples
    --------
    >>> import minigrad as mg
    >>> class Double(mg.Function):
    ...     @staticmethod
    ...     @mg.amp.custom_fwd(device_type="cpu", cast_inputs="float32")
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     @mg.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, g):
    ...         return g * 2
    >>> with mg.autocast("cpu"):
    ...     Double.apply(mg.ones(1, dtype="bfloat16")).dtype
    mg.float32
    """
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    method: Callable[..., Any] = fwd
    kind = as_device(device_type).kind
    dtype = None if cast_inputs is None else as_dtype(cast_inputs)

    @functools.wraps(method)
    def forward(*args: Any, **kwargs: Any) -> Any:
        casts = casting.current()
        if dtype is None or casts is None or casts.kind != kind or casts.dtype is None:
            return method(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return method(
                *[cast(x, dtype, kind) for x in args], **{name: cast(x, dtype, kind) for name, x in kwargs.items()}
            )

    return forward


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Any:
    """Decorate the `backward` of a Function whose `forward` has `custom_fwd`; a backward pass never casts operands."""
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)
    as_device(device_type)
    return bwd


def cast(value: Any, dtype: DType, kind: str) -> Any:
    """Return a value whose floating tensors on a kind of device, also those in containers, are cast to a dtype."""
    if isinstance(value, Tensor):
        return value.to(dtype) if castable(value, kind) else value
    if isinstance(value, dict):
        return {key: cast(each, dtype, kind) for key, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)([cast(each, dtype, kind) for each in value])
    return value
