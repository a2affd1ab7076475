"""Tensor: a storage seen through a layout, with the op that made it.

This file contains no mathematics: `api/methods.py` attaches the ops, so it needs none of the layers above it.  Views
share their storage, and writes through a view change the base.  A backward pass reads `op` (the BackpropOp, None for
constants) and `is_variable` (a class attribute: True for `Var`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from minigrad.core.device import Device
from minigrad.core.dtype import DType, name_number
from minigrad.core.formats import CHANNELS_LAST
from minigrad.core.layout import Layout
from minigrad.core.storage import Storage
from minigrad.errors import DTypeError, shortened
from minigrad.runtime.graph import BackpropOp, ids

if TYPE_CHECKING:
    from minigrad.runtime.attached import Attached
else:
    Attached = object


# Function that returns layout, storage and base of a tensor from lengths or data; `api/constructors.py` sets it.
old_constructor: list[Any] = []
# The methods of observers for the event `detached`; `observers.py`, which imports this module, sets them.
detached: list[Any] = []


class Tensor(Attached):
    """An n-dimensional array of one dtype on one device.

    storage, layout: where the elements are; dtype, device: those of the storage.
    op: the BackpropOp that recorded how the tensor was made, or None.
    id: unique in the process, increasing.
    base: for a view, the tensor that owns its memory and is not a view itself; otherwise None.  See `rebasing.py`.
    """

    # A Var uses `_grad` and `name`.  They are slots of this class, so that a tensor can become a Var and back.
    # `__dict__` is for attributes that a user sets, as in `x.tag = 1`; a new tensor takes 8 ns longer (Python 3.11).
    __slots__ = ("__dict__", "__weakref__", "_grad", "base", "device", "dtype", "id", "layout", "name", "op", "storage")
    is_variable = False

    def __init__(self, storage: Any = None, layout: Any = None, op: Any = None, *lengths: Any) -> None:
        """Create a tensor of a storage and a layout.  Users pass lengths or data as in PyTorch: `mg.Tensor(2, 3)`."""
        self.base: Any = None
        if layout is None:
            layout, storage, self.base = old_constructor[0](() if storage is None else (storage,))
        try:
            self.dtype: DType = storage.dtype
        except AttributeError:
            arguments = [x for x in (storage, layout, op, *lengths) if x is not None]
            layout, storage, self.base = old_constructor[0](arguments)
            op, self.dtype = None, storage.dtype
        self.id = next(ids)
        self.storage: Storage = storage
        self.layout: Layout = layout
        self.device: Device = storage.device
        self.op: BackpropOp | None = op
        if op is not None and not storage.tracked:
            storage.tracked = True

    # ---- properties ----

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the dims; `()` for a scalar."""
        return self.layout.shape

    @property
    def strides(self) -> tuple[int, ...]:
        """Strides of the dims, in elements; 0 where broadcast, negative where flipped."""
        return self.layout.strides

    @property
    def ndim(self) -> int:
        """Number of dims."""
        return len(self.layout.shape)

    @property
    def offset(self) -> int:
        """Position of the first element in the storage."""
        return self.layout.offset

    @property
    def requires_grad(self) -> bool:
        """Return whether the tensor is tracked: it is a Var, or was computed from a Var while recording was on."""
        if self.op is not None or self.is_variable:
            return True
        return self.base is not None and self.base.op is not None  # the base was written after this view was made

    @property
    def is_leaf(self) -> bool:
        """Return whether the tensor is a leaf: no recorded op computed it."""
        return self.is_variable or not self.requires_grad

    def numel(self) -> int:
        """Return the number of elements."""
        return self.layout.numel

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Return whether the elements are in row-major order without gaps, or in the order of a memory format."""
        rank = CHANNELS_LAST.get(memory_format)
        if rank is None:
            return self.layout.is_contiguous
        return self.layout.ndim == rank and self.layout.permute((0, *range(2, rank), 1)).is_contiguous

    def data_ptr(self) -> int:
        """Return the address of the first element; 0 if there is none."""
        first = self.storage.data_ptr() + self.layout.offset * self.dtype.itemsize
        return first if self.layout.numel else 0

    def detach(self) -> Tensor:
        """Return a tensor with the same storage, without history."""
        y = Tensor(self.storage, self.layout)
        for tell in detached:
            tell(self, y)
        return y

    def __hash__(self) -> int:
        return id(self)


# The classes that the fast paths accept: none while an observer watches calls, and never those of transforms' values.
PLAIN: set[type] = {Tensor}


def describe(x: Any) -> str:
    """Describe an operand for messages: `float32(2, 3)`, or the Python value."""
    if isinstance(x, (Tensor, np.ndarray)):
        return f"{'' if isinstance(x, Tensor) else 'ndarray '}{x.dtype}{x.shape}"
    if isinstance(x, int):
        return f"{type(x).__name__} {name_number(x)}"
    return shortened(x)


def expect_tensors(name: str, *values: Any) -> None:
    """Raise DTypeError unless all values are tensors; for functions that read `ndim` before they call an op."""
    for x in values:
        if not isinstance(x, Tensor):
            own = " or write mg.func.grad(function)" if name == "grad" else ""
            advice = f"call it and pass its result{own}" if callable(x) else "wrap data in mg.tensor(...)"
            raise DTypeError(f"{name}: expected a tensor, got {describe(x)}; {advice}")
