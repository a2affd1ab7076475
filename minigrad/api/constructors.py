"""Make tensors as PyTorch does: `x.new_zeros` and similar methods, and the old constructors, such as `FloatTensor`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minigrad.core import dtype as dtypes
from minigrad.core.device import as_device
from minigrad.core.layout import Layout
from minigrad.core.roles import read_flag
from minigrad.core.shape import Size, as_shape
from minigrad.core.storage import Storage
from minigrad.errors import ArgumentError, ArgumentTypeError, DTypeError, GradientError
from minigrad.ops import creation
from minigrad.runtime.rebasing import owner_of
from minigrad.runtime.tensor import PLAIN, Tensor, describe, old_constructor
from minigrad.runtime.tracers import constant_like

# The dtypes of the old constructors.
NAMES = {name + "Tensor": dtypes.as_dtype(dtype) for name, dtype in {
    "Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16", "Long": "int64",
    "Int": "int32", "Short": "int16", "Char": "int8", "Byte": "uint8", "Bool": "bool",
}.items()}  # fmt: skip


def new_tensor(x: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Return a copy of data in the dtype and on the device of x; see `mg.tensor`."""
    read_flag(requires_grad, "new_tensor", "requires_grad")
    creation.expect_float("new_tensor", dtype or x.dtype, requires_grad)
    return creation.tensor(data, dtype or x.dtype, x.device if device is None else device, requires_grad)


def newly(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return `x.new_zeros` or a similar method: a creation function with the dtype and the device of x as defaults."""

    def method(
        x: Tensor, *size: int | Sequence[int], dtype: Any = None, device: Any = None, requires_grad: bool = False,
        **kwargs: Any,
    ) -> Tensor:  # fmt: skip
        creation.expect_float(method.__name__, dtype or x.dtype, requires_grad)
        where = x.device if device is None else device
        y = function(*size, dtype=dtype or x.dtype, device=where, requires_grad=requires_grad, **kwargs)
        return y if x.__class__ in PLAIN else constant_like(x, y)

    method.__name__ = method.__qualname__ = f"new_{function.__name__}"
    method.__doc__ = f"Return `mg.{function.__name__}` of a size, of the dtype and on the device of x."
    return method


def new_full(
    x: Tensor, size: Any, fill_value: float, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
    **kwargs: Any,
) -> Tensor:  # fmt: skip
    """Return a tensor filled with one value, in the dtype and on the device of x; see `mg.full`."""
    kind, where = dtype or x.dtype, x.device if device is None else device
    creation.expect_float("new_full", kind, requires_grad)
    options: dict[str, Any] = {"dtype": kind, "device": where, "requires_grad": requires_grad} | kwargs
    y = creation.full(as_shape((size,), "new_full"), fill_value, **options)
    return constant_like(x, y)


def new_empty_strided(
    x: Tensor, size: Sequence[int], stride: Sequence[int], *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False, **kwargs: Any,
) -> Tensor:  # fmt: skip
    """Return `mg.empty_strided` of a size and strides, of the dtype and on the device of x."""
    from minigrad.api.memory import empty_strided

    where = x.device if device is None else device
    return empty_strided(size, stride, dtype=dtype or x.dtype, device=where, requires_grad=requires_grad, **kwargs)


def new(x: Tensor, *sizes: Any, size: Any = None) -> Tensor:
    """Return `x.new_empty` of several lengths or of `size`, or `x.new_tensor` of data."""
    return legacy(sizes if size is None else (*sizes, *size), x.dtype, x.device)


def legacy(args: Sequence[Any], dtype: Any, device: Any = None) -> Tensor:
    """Return the result of one of PyTorch's old constructors.

    Ints, or a shape such as `x.shape`, are the lengths of the dims of a tensor with undefined values.  Any other single
    argument is a list or an array to copy, or a tensor of the dtype or a storage, whose memory the result shares.
    Raises ArgumentError for several arguments that are not all ints, DTypeError for a tensor of another dtype.
    """
    if len(args) == 1 and isinstance(args[0], Size):
        return creation.empty(args[0], dtype=dtype, device=device)
    if len(args) == 1 and not isinstance(args[0], (int, np.integer)):
        data = args[0]
        if isinstance(data, (Tensor, Storage)):
            return sharing(data, dtype, device)
        if not isinstance(data, (Tensor, np.ndarray, list, tuple)):
            data = list(data)
        return creation.tensor(data, dtype=dtype, device=device)
    if not all(isinstance(length, (int, np.integer)) for length in args):
        raise ArgumentError(
            f"Tensor: expected ints as the lengths of the dims, or one list of values, got {len(args)} arguments of "
            "other types; pass one list, for example"
        )
    return creation.empty([int(length) for length in args] or [0], dtype=dtype, device=device)


def sharing(data: Tensor | Storage, dtype: Any, device: Any) -> Tensor:
    """Return a tensor over the memory of another tensor or of a storage, in its dtype, for the old constructors."""
    if isinstance(data, Tensor):
        x: Any = data
    else:
        storage = data.read_as(dtype)
        x = Tensor(storage, Layout.contiguous((storage.numel,)))
    if x.dtype is not dtype or (device is not None and x.device.kind != as_device(device).kind):
        raise DTypeError(
            f"Tensor: expected a tensor or a storage of {dtype}, got {describe(x)} on {x.device}; convert it with "
            f".to(mg.{dtype})"
        )
    return x.view_as(x)


def constructed(args: Sequence[Any]) -> tuple[Layout, Storage, Any]:
    """Return layout, storage and base of `mg.Tensor(...)`, which has the default float dtype: see `legacy`."""
    if len(args) != 1 or not isinstance(args[0], Tensor):
        x = legacy(args, dtypes.default_float())
        return x.layout, x.storage, None
    x = args[0]
    if x.requires_grad:
        raise GradientError(
            f"Tensor: expected a tensor that does not require a gradient, got {describe(x)}; pass x.detach(), or use x"
        )
    return x.layout, x.storage, owner_of(x)


class TensorType(type):
    """The metaclass of `FloatTensor` and similar names, each of which stands for a dtype and a kind of device."""

    dtype: dtypes.DType
    device: str

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        """Refuse a base class, because the tensors of a dtype are of the class `Tensor`."""
        if bases:
            raise ArgumentTypeError(f"{name}: {bases[0].__name__} cannot be a base class; derive from mg.Tensor")
        super().__init__(name, bases, namespace)

    def __call__(cls, *sizes: Any) -> Tensor:
        """Return a tensor of the dtype, with the lengths of its dims or its data as arguments."""
        return legacy(sizes, cls.dtype, cls.device or None)

    def __instancecheck__(cls, instance: object) -> bool:
        """Return whether an object is a tensor of the dtype on a device of this kind."""
        if not isinstance(instance, Tensor) or instance.dtype is not cls.dtype:
            return False
        return instance.device.kind == cls.device if cls.device else instance.device.kind != "cuda"


def as_kind(obj: Any) -> tuple[dtypes.DType, str | None]:
    """Return the dtype and the device, or None, for a dtype, an old constructor or the name of one.

    >>> as_kind("torch.LongTensor")
    (mg.int64, None)
    """
    if isinstance(obj, str) and obj.endswith("Tensor"):
        *package, name = obj.split(".")
        if name not in NAMES:
            raise DTypeError(
                f"type: dtype must be one of {', '.join(NAMES)}, got {obj!r}; pass 'FloatTensor', for example"
            )
        return NAMES[name], "cuda" if "cuda" in package else None
    if obj is Tensor:
        return dtypes.default_float(), None
    if isinstance(obj, TensorType):
        return obj.dtype, obj.device or None
    return dtypes.as_dtype(obj), None


FUNCTIONS = (
    new_tensor, new, newly(creation.empty), newly(creation.zeros), newly(creation.ones), new_full, new_empty_strided,
)  # fmt: skip
old_constructor.append(constructed)
