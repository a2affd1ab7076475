"""Conversion of numbers, nested lists and arrays to storages, which `mg.tensor` and `mg.Var` copy from."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from functools import reduce
from itertools import chain
from typing import Any

import numpy as np

from minigrad.backends.registry import backend_of
from minigrad.core.device import as_device, default_device
from minigrad.core.dtype import DType, as_dtype, bool_, fit_number, float32, float64, inferred, int64, promote, uint64
from minigrad.core.layout import Layout
from minigrad.core.storage import Storage
from minigrad.errors import DTypeError, ShapeError
from minigrad.runtime.tensor import Tensor, describe

ARRAY_PROTOCOLS = ("__array__", "__array_interface__")  # of NumPy's arrays and of those of other libraries
KINDS, LISTS = frozenset({bool, int, float, complex}), frozenset({list, tuple})
# The type codes of Python's arrays that contain numbers of a kind as they are stored for a dtype.
CODES = {(float, float32): "f", (int, float32): "f", (float, float64): "d", (int, float64): "d", (int, int64): "q",
         (bool, bool_): "B"}  # fmt: skip
# Functions that receive the data and the name of each call of `store`; the journal is one while debug mode is on.
watchers: list[Callable[[Any, str], None]] = []


def store(
    data: Any, dtype: Any = None, device: Any = None, name: str = "tensor", check: Callable[[DType], None] | None = None
) -> tuple[Storage, Layout]:
    """Copy a number, a nested list or tuple, an array or a tensor into a new storage.

    Dtypes: Python floats and complex numbers get the default dtypes, ints int64, bools bool; arrays and tensors keep
    their dtype.
    name: the function that was called, for messages.
    check: a function that may refuse the dtype of the storage, before memory is allocated.

    Raises ShapeError for a ragged list (the message names both lengths).  Raises DTypeError for a value that is not a
    number, for a masked array, or for Python ints that an integer dtype cannot store.  Elements of arrays and tensors
    are cast, and wrap.
    """
    for watch in watchers:
        watch(data, name)
    where = default_device() if device is None else as_device(device)
    plain = plain_numbers(data)
    if plain is not None:
        leaves, shape, kind = plain
        wanted = inferred(kind) if dtype is None else as_dtype(dtype)
        if check is not None:
            check(wanted)
        code = CODES.get((kind, wanted))
        if code is not None:
            try:  # `np.array` takes longer, and warns of numbers that become infinite
                flat = np.frombuffer(array(code, leaves), wanted.storage)
            except OverflowError:  # the general path names the number
                pass
            else:
                return backend_of(where).from_host(flat, wanted, where), Layout.contiguous(shape)
    if isinstance(data, Storage):
        memory = data if dtype is None else data.read_as(as_dtype(dtype))
        if dtype is not None and memory.dtype is not as_dtype(dtype):
            raise DTypeError(f"{name}: expected bytes or a storage of {dtype}, got {data!r}; omit dtype")
        data = Tensor(memory, Layout.contiguous((memory.numel,)))
    if isinstance(data, Tensor):
        values = host_array(data)
        source = data.dtype
        where = data.device if device is None else where
    elif any(hasattr(data, protocol) for protocol in ARRAY_PROTOCOLS):
        refuse_masked(name, data)
        values = np.asarray(data)
        source = as_dtype(values.dtype)
    elif hasattr(data, "__dlpack__"):
        values = np.from_dlpack(data)
        source = as_dtype(values.dtype)
    else:
        if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
            data = list(data)  # this also converts a range or a deque
        shape = nested_shape(data)
        values, source = host_numbers(data, shape, None if dtype is None else as_dtype(dtype))
        if dtype is not None and source.is_int and values.size:
            for extreme in (values.min(), values.max()):
                fit_number(int(extreme), as_dtype(dtype))
    wanted = source if dtype is None else as_dtype(dtype)
    if check is not None:
        check(wanted)
    storage = backend_of(where).converted(values.reshape(-1), wanted, where)
    return storage, Layout.contiguous(tuple(values.shape))


def plain_numbers(data: Any) -> tuple[list[Any], tuple[int, ...], type] | None:
    """Return the numbers of nested lists or tuples of one kind, their shape, and the class of the numbers.

    Ints next to floats count as floats.  The result is None for all other data, also for ragged lists.
    """
    if data.__class__ in KINDS:
        return [data], (), data.__class__
    if data.__class__ not in LISTS or not data:
        return None
    leaves, shape = data, (len(data),)
    while leaves[0].__class__ in LISTS:
        n = len(leaves[0])
        if not n or not LISTS.issuperset(map(type, leaves)) or {*map(len, leaves)} != {n}:
            return None
        leaves, shape = [*chain.from_iterable(leaves)], (*shape, n)
    kinds = {*map(type, leaves)}
    if len(kinds) == 1:
        kind = leaves[0].__class__
        return (leaves, shape, kind) if kind in KINDS else None
    return (leaves, shape, float) if kinds == {int, float} else None


def refuse_masked(name: str, data: Any) -> None:
    """Raise DTypeError for a masked array: a tensor has no mask, so the masked elements would count."""
    if isinstance(data, np.ma.MaskedArray):
        raise DTypeError(
            f"{name}: expected an array without a mask, got a masked array, whose mask would be lost; pass "
            "array.filled(value), and apply the mask with mg.where"
        )


def nested_shape(data: Any) -> tuple[int, ...]:
    """Return the shape of nested lists.  Raise ShapeError if two rows differ in length."""
    if not isinstance(data, (list, tuple)):
        refuse_masked("tensor", data)
        return data.shape if isinstance(data, np.ndarray) else ()
    shapes = [nested_shape(item) for item in data]
    for position, shape in enumerate(shapes):
        if shape != shapes[0]:
            raise ShapeError(
                "tensor: all items of a list must have the same shape, got a ragged list: item 0 has shape "
                f"{shapes[0]} and item {position} has shape {shape}; pad the items to one shape",
                lhs=shapes[0],
                rhs=shape,
            )
    return (len(data), *(shapes[0] if shapes else ()))


def host_numbers(data: Any, shape: tuple[int, ...], wanted: DType | None = None) -> tuple[Any, DType]:
    """Return nested numbers (or 0-d tensors) as an array, and their dtype; ints become int64, or uint64 if wanted."""
    leaves = [data]
    for _ in shape:
        leaves = [leaf for item in leaves for leaf in item]
    kinds: set[Any] = set()
    dtypes: set[DType] = set()  # those of tensors and of NumPy scalars, which keep them
    plain: set[Any] = set()
    for k, leaf in enumerate(leaves):
        if isinstance(leaf, (np.generic, np.ndarray)) or (isinstance(leaf, Tensor) and leaf.numel() == 1):
            dtypes.add(as_dtype(leaf.dtype))
            leaves[k] = (host_array(leaf) if isinstance(leaf, Tensor) else leaf).reshape(()).item()
        else:
            plain.add(type(leaf))
        kinds.add(type(leaves[k]))
    if not kinds <= KINDS:
        wrong = next(leaf for leaf in leaves if type(leaf) not in KINDS)
        raise DTypeError(
            f"tensor: data must contain only bool, int or float, got {describe(wrong)}; convert this value to a number"
        )
    kind = next((kind for kind in (complex, float, int) if kind in kinds), bool if leaves else float)
    if kind is int and wanted is not None and wanted.is_float and not all(-(2**63) <= leaf < 2**63 for leaf in leaves):
        kind = float
    dtype = uint64 if kind is int and wanted is uint64 else inferred(kind)
    if dtypes:
        dtype = reduce(promote, dtypes | set(map(inferred, plain)))
    try:
        wide = {float: np.float64, complex: np.complex128}.get(kind, dtype.numpy)
        numbers = np.array(leaves, wide)
    except OverflowError as error:
        widest = describe(min(leaves) if dtype is uint64 and min(leaves) < 0 else max(leaves, key=abs))
        raise DTypeError(f"tensor: {widest} does not fit {dtype}; pass numbers in the range of this dtype") from error
    return numbers.reshape(shape), dtype


def host_array(x: Tensor) -> Any:
    """Return the elements as a NumPy array in the logical dtype; for a host device, it shares their memory."""
    return backend_of(x.device).array(x.storage, x.layout)


def wide(array: Any) -> Any:
    """Return the numbers of an array in float64, or in complex128 if they are complex."""
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def host_element(x: Tensor) -> Any:
    """Return the only element of a tensor as a Python number; an array of one element would take longer to make."""
    buffer, dtype = x.storage.buffer, x.dtype
    if buffer.__class__ is np.ndarray and dtype.storage is dtype.numpy:  # host memory that NumPy reads as it is
        return buffer.item(x.layout.offset)
    return backend_of(x.device).element(x.storage, x.layout)
