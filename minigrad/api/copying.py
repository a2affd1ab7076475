"""copy, deepcopy and pickle of tensors and Vars: other objects, the last two with separate memory.

Tensors that share memory share it after deepcopy and pickle as well.  A pickle is written in one pass, so a tensor
whose memory another tensor shows is written with the whole of it, as in PyTorch; any other with its own elements alone.
A graph cannot be copied: what a recorded op made is shared by `copy` with its history, and refused by the others.
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
    """Another tensor on the same storage, with the same history; a Var becomes another leaf with the same `.grad`."""
    twin = twin_on(x, x.storage, x.op)
    if isinstance(x, Var):
        twin._grad = x._grad
    else:  # both share the memory, so a write into one is visible in the other
        twin.base = x if x.base is None else x.base
    return twin


def deep(x: Tensor, memo: dict[int, Any]) -> Tensor:
    """Return a tensor on a copy of the storage, one for all that share it.  Raises GradientError within a graph."""
    refuse_history(x, "deepcopy")
    storage = memo.get(id(x.storage))
    if storage is None:
        backend = backend_of(x.device)
        storage = backend.from_host(backend.to_host(x.storage)[: x.storage.numel], x.dtype, x.device)
        memo[id(x.storage)] = storage
    twin = twin_on(x, storage, None)
    if isinstance(x, Var):
        twin._grad = copy.deepcopy(x._grad, memo)
    return twin


def reduced(x: Tensor) -> tuple[Any, ...]:
    """Return how pickle makes it again: from its elements, or from its storage if another tensor shows that.

    Raises GradientError within a graph.
    """
    refuse_history(x, "pickle")
    if not is_sole(x):
        return on_storage, (type(x), x.storage, x.shape, x.strides, x.offset, x.name if isinstance(x, Var) else None)
    array = np.array(host_array(x))
    if isinstance(x, Var):
        return Var, (array, None, str(x.device), x.name)
    return from_pickle, (array, str(x.device), hasattr(x, "_grad"))


def is_sole(x: Tensor) -> bool:
    """Return whether no other tensor that a program can reach shows the memory of x; its base may be held by x only."""
    others = stored(x) - STORED
    return others == 0 or (others == 1 and isinstance(x.base, Tensor) and held(x, "base") == HELD)


def on_storage(
    kind: type[Tensor], storage: Storage, shape: tuple[int, ...], strides: tuple[int, ...], offset: int,
    name: str | None,
) -> Tensor:  # fmt: skip
    """Return the tensor of a pickle whose memory others share."""
    twin: Any = kind.__new__(kind)
    Tensor.__init__(twin, storage, Layout.make(shape, strides, offset))
    if issubclass(kind, Var):
        twin._grad, twin.name = None, name
        storage.tracked = True
    return twin


def reduced_storage(storage: Storage) -> tuple[Any, ...]:
    """For pickle: the whole memory, which is written once for all tensors that show it."""
    values = np.array(backend_of(storage.device).to_host(storage))
    return storage_from_pickle, (values, storage.dtype, str(storage.device))


def storage_from_pickle(values: np.ndarray[Any, Any], dtype: DType, device: str) -> Storage:
    """Return the memory of a pickle."""
    where = as_device(device)
    return backend_of(where).from_host(values, dtype, where)


def twin_on(x: Tensor, storage: Storage, op: BackpropOp | None) -> Any:
    """Another object of the class of x, and of its name if it has one."""
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
    """Return the tensor of a pickle; frozen: it was a Var before."""
    dtype, where = as_dtype(array.dtype), as_device(device)
    flat = cast_array(array, dtype).reshape(-1)
    x: Any = Tensor(backend_of(where).from_host(flat, dtype, where), Layout.contiguous(tuple(array.shape)))
    if frozen:
        x._grad = x.name = None
    return x


def refuse_history(x: Tensor, name: str) -> None:
    """Raise GradientError for the result of a recorded op."""
    if not x.is_leaf:
        raise GradientError(
            f"{name}: {describe(x)} is the result of {current(x).name}, and graphs stay; detach() it first", op=name
        )


setattr(Storage, "__reduce__", reduced_storage)  # noqa: B010  as methods of tensors are attached
COPIES = {"__copy__": shallow, "__deepcopy__": deep, "__reduce__": reduced}
