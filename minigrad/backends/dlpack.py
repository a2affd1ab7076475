"""Exchange of memory between libraries by DLPack: making and reading capsules, for any kind of device.

A capsule stores the address of a C structure, which describes the elements, and a function that its last user calls.
NumPy makes capsules of host memory; this module is for memory that NumPy cannot access.  The layout of the structures
is https://dmlc.github.io/dlpack/latest/c_api.html.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from typing import Any

from minigrad.core.dtype import ALL, DType
from minigrad.core.layout import Layout
from minigrad.errors import DTypeError, StorageError

KINDS = {"int": 0, "uint": 1, "float": 2, "bfloat": 4, "complex": 5, "bool": 6}
PLAIN, VERSIONED = b"dltensor", b"dltensor_versioned"
READ_ONLY = 1  # the bit of `flags` that marks read-only memory


class DLTensor(ctypes.Structure):
    """The description of the elements: address, device, dtype, shape and strides."""

    _fields_ = [
        ("data", c_void_p), ("kind", c_int32), ("index", c_int32), ("ndim", c_int32), ("code", c_uint8),
        ("bits", c_uint8), ("lanes", c_uint16), ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]  # fmt: skip


DELETER = ctypes.CFUNCTYPE(None, c_void_p)


class Managed(ctypes.Structure):
    """A DLTensor that is freed by its user."""

    _fields_ = [("tensor", DLTensor), ("context", c_void_p), ("deleter", DELETER)]


class Versioned(ctypes.Structure):
    """The structure that replaces Managed since version 1 of DLPack, with flags."""

    _fields_ = [
        ("major", c_uint32), ("minor", c_uint32), ("context", c_void_p), ("deleter", DELETER), ("flags", c_uint64),
        ("tensor", DLTensor),
    ]  # fmt: skip


def function_of_python(name: str, result: Any, *arguments: Any) -> Any:
    """Return a function of Python's C interface.

    Capsules are passed by address, because no reference may be taken to a capsule that is being freed.
    """
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


DESTRUCTOR = ctypes.CFUNCTYPE(None, c_void_p)
new_capsule = function_of_python("PyCapsule_New", ctypes.py_object, c_void_p, c_char_p, DESTRUCTOR)
is_capsule = function_of_python("PyCapsule_IsValid", ctypes.c_int, c_void_p, c_char_p)
inside = function_of_python("PyCapsule_GetPointer", c_void_p, c_void_p, c_char_p)
rename = function_of_python("PyCapsule_SetName", ctypes.c_int, c_void_p, c_char_p)

alive: dict[int, tuple[Any, ...]] = {}  # maps the address of a structure to the exported array, which must stay alive


@DELETER
def free(address: int, alive: dict[int, tuple[Any, ...]] = alive) -> None:
    """Release the memory of a capsule; its last user calls this."""
    alive.pop(address, None)


@DESTRUCTOR
def drop(capsule: int) -> None:
    """Free the memory of a capsule that is deleted, if no library has taken it."""
    for name in (PLAIN, VERSIONED):
        if is_capsule(capsule, name):
            free(inside(capsule, name))


def capsule_of(
    owner: Any, address: int, layout: Layout, dtype: DType, device: tuple[int, int], *, versioned: bool, readonly: bool
) -> Any:
    """Return a capsule of elements in a layout over the memory at an address, which `owner` keeps alive."""
    rank = len(layout.shape)
    shape, strides = (c_int64 * rank)(*layout.shape), (c_int64 * rank)(*layout.strides)
    managed: Any = Versioned() if versioned else Managed()
    tensor = managed.tensor
    tensor.data, tensor.byte_offset = address, layout.offset * dtype.itemsize
    tensor.kind, tensor.index = device
    tensor.ndim, tensor.shape, tensor.strides = rank, shape, strides
    tensor.code, tensor.bits, tensor.lanes = KINDS[dtype.name.rstrip("0123456789")], 8 * dtype.itemsize, 1
    managed.deleter = free
    if versioned:
        managed.major, managed.minor, managed.flags = 1, 0, READ_ONLY if readonly else 0
    position = ctypes.addressof(managed)
    alive[position] = (owner, managed, shape, strides)
    return new_capsule(position, VERSIONED if versioned else PLAIN, drop)


class Foreign:
    """Elements of another library, kept alive while this object exists.

    address: the address of the first element.
    layout: in elements, relative to that address.
    """

    def __init__(self, capsule: Any) -> None:
        self.managed: Any = None
        name = next((name for name in (PLAIN, VERSIONED) if is_capsule(id(capsule), name)), None)
        if name is None:
            raise StorageError(
                "from_dlpack: the capsule has been used before; request a new capsule with __dlpack__()",
                op="from_dlpack",
            )
        kind: Any = Versioned if name is VERSIONED else Managed
        managed = kind.from_address(inside(id(capsule), name))
        tensor = managed.tensor
        self.dtype = dtype_of(tensor.code, tensor.bits, tensor.lanes)
        shape = tuple(tensor.shape[: tensor.ndim])
        strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else Layout.contiguous(shape).strides
        self.layout = Layout.make(shape, strides, 0)
        self.address = (tensor.data or 0) + tensor.byte_offset
        self.readonly = name is VERSIONED and bool(managed.flags & READ_ONLY)
        self.managed = managed  # from this line on, this process has to free the structure
        rename(id(capsule), USED[name])

    def __del__(self) -> None:
        if self.managed is not None and self.managed.deleter:
            self.managed.deleter(ctypes.addressof(self.managed))


USED = {PLAIN: b"used_dltensor", VERSIONED: b"used_dltensor_versioned"}


def dtype_of(code: int, bits: int, lanes: int) -> DType:
    """Return the dtype of a DLPack code.

    Raise DTypeError for a code that minigrad does not support.
    """
    for dtype in ALL:
        if (KINDS.get(dtype.name.rstrip("0123456789")), 8 * dtype.itemsize, 1) == (code, bits, lanes):
            return dtype
    raise DTypeError(
        f"from_dlpack: minigrad has no dtype for the DLPack type code {code} with {bits} bits and {lanes} lanes; "
        "convert the array to float32, for example",
        op="from_dlpack",
    )
