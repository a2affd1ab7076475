"""Implement `copy`, `deepcopy` and `pickle` for tensors and Vars; the last two copy the memory.

Tensors that share memory also share memory after `deepcopy` and `pickle`.  A pickle is written in one pass.  So if
another tensor uses the same storage, the whole storage is written, as in PyTorch; otherwise only the elements of the
tensor are written.  A graph cannot be copied.  For the result of a recorded op, `copy` shares the history, `pickle`
writes a leaf that requires a gradient, and `deepcopy` raises GradientError, all as in PyTorch.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from minigrad.autodiff.replacing import HELD, STORED, held, stored
from minigrad.backends.registry import backend_of
from minigrad.core.device import as_device
from minigrad.core.dtype import DType, as_dtype, cast_array
from minigrad.core.layout import Layout
from minigrad.core.storage import Storage
from minigrad.errors import GradientError
from minigrad.runtime.data import host_array
from minigrad.runtime.graph import BackpropOp
from minigrad.runtime.rebasing import current
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.var import Var


def shallow(x: Tensor) -> Tensor:
    """Return another tensor on the same storage, with the same history.

    The copy of a Var is another leaf without a `.grad`, as in PyTorch.
    """
    twin = twin_on(x, x.storage, x.op)
    if isinstance(x, Var):
        twin._grad = None
    else:  # both share the memory, so a write into one is visible in the other
        twin.base = x if x.base is None else x.base
    vars(twin).update(vars(x))
    return twin


def deep(x: Tensor, memo: dict[int, Any]) -> Tensor:
    """Return a tensor on a copy of the storage; all copied tensors of this storage share the copy.

    Raises GradientError for the result of a recorded op.
    """
    if not x.is_leaf:
        raise GradientError(
            f"deepcopy: {describe(x)} is the result of {current(x).name}, and the graph of a result cannot be copied; "
            "copy x.detach() instead"
        )
    whole = x.storage.memory
    storage = memo.get(id(whole))
    if storage is None:
        backend = backend_of(x.device)
        storage = backend.from_host(backend.to_host(whole)[: whole.numel], whole.dtype, x.device)
        memo[id(whole)] = storage
    twin = twin_on(x, storage.seen_as(x.dtype), None)
    if isinstance(x, Var):
        twin._grad = copy.deepcopy(x._grad, memo)
    vars(twin).update(copy.deepcopy(vars(x), memo))
    return twin


def reduced(x: Tensor) -> tuple[Any, ...]:
    """Return the function and the arguments with which pickle restores a tensor, and the attributes that a user set.

    The arguments contain the elements of the tensor, or its whole storage if another tensor uses the same storage.  The
    result of a recorded op becomes a Var: its graph is not written.
    """
    attributes = vars(x) or None
    if not x.is_leaf:
        return Var, (np.array(host_array(x)), None, str(x.device)), attributes
    name = x.name if isinstance(x, Var) else None
    if not is_sole(x):
        return on_storage, (type(x), x.storage, x.shape, x.strides, x.offset, name), attributes
    array = np.array(host_array(x))
    if isinstance(x, Var):
        return Var, (array, None, str(x.device), name), attributes
    return from_pickle, (array, str(x.device), hasattr(x, "_grad")), attributes


def is_sole(x: Tensor) -> bool:
    """Return whether no other tensor that a program can reach uses the storage of x.

    The base of x does not count if only x refers to it.
    """
    if x.storage.memory is not x.storage:  # the memory belongs to a tensor of another dtype
        return False
    others = stored(x) - STORED
    return others == 0 or (others == 1 and isinstance(x.base, Tensor) and held(x, "base") == HELD)


def on_storage(
    kind: type[Tensor], storage: Storage, shape: tuple[int, ...], strides: tuple[int, ...], offset: int,
    name: str | None,
) -> Tensor:  # fmt: skip
    """Restore a tensor of a pickle on a storage that other tensors may share."""
    twin: Any = kind.__new__(kind)
    Tensor.__init__(twin, storage, Layout.make(shape, strides, offset))
    if issubclass(kind, Var):
        twin._grad, twin.name = None, name
        storage.tracked = True
    return twin


def reduced_storage(storage: Storage) -> tuple[Any, ...]:
    """Reduce a storage for pickle, which writes it once for all tensors that use it."""
    if storage.memory is not storage:
        return Storage.seen_as, (storage.memory, storage.dtype)
    values = np.array(backend_of(storage.device).to_host(storage))
    return storage_from_pickle, (values, storage.dtype, str(storage.device))


def storage_from_pickle(values: np.ndarray[Any, Any], dtype: DType, device: str) -> Storage:
    """Restore a storage of a pickle on its device."""
    where = as_device(device)
    return backend_of(where).from_host(values, dtype, where)


def twin_on(x: Tensor, storage: Storage, op: BackpropOp | None) -> Any:
    """Return a new object with the class, the layout and, if there is one, the name of x."""
    twin: Any = type(x).__new__(type(x))
    Tensor.__init__(twin, storage, x.layout, op)
    if isinstance(x, Var):
        twin.name = x.name
        storage.tracked = True
    elif hasattr(x, "_grad"):  # a frozen Var: a module lists it among its parameters
        twin._grad = None
        twin.name = getattr(x, "name", None)
    return twin


def from_pickle(array: np.ndarray[Any, Any], device: str, frozen: bool = False) -> Any:
    """Restore a tensor of a pickle from its elements; frozen: whether it was a Var before."""
    dtype, where = as_dtype(array.dtype), as_device(device)
    flat = cast_array(array, dtype).reshape(-1)
    x: Any = Tensor(backend_of(where).from_host(flat, dtype, where), Layout.contiguous(tuple(array.shape)))
    if frozen:
        x._grad = x.name = None
    return x


setattr(Storage, "__reduce__", reduced_storage)  # noqa: B010  as methods of tensors are attached
COPIES = {"__copy__": shallow, "__deepcopy__": deep, "__reduce__": reduced}
