"""Tensor: a storage seen through a layout, with the op that made it.

It holds no maths: `methods.py` attaches the ops, so this file needs none of the layers above it.  Views share their
storage and write through.  What a graph walk needs is `op` (the BackpropOp, None for constants) and `is_variable`
(a class attribute: True for `Var`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from minigrad.backends.registry import backend_of
from minigrad.core.device import Device, as_device, default_device
from minigrad.core.dtype import DType, as_dtype, cast_array, fit_number, name_number, to_logical
from minigrad.core.layout import Layout
from minigrad.core.storage import Storage
from minigrad.errors import DTypeError, GradientError, ShapeError
from minigrad.runtime.graph import BackpropOp, ids


class Tensor:
    """An n-dimensional array of one dtype on one device.

    storage, layout: where the elements are; dtype, device: the storage's own.
    op: the BackpropOp that recorded how it was made, or None.
    id: unique in the process, rising.
    """

    __slots__ = ("__weakref__", "device", "dtype", "id", "layout", "op", "storage")
    is_variable = False
    # NumPy must hand `array * tensor` over to __rmul__ instead of looping over the tensor.
    __array_ufunc__ = None

    def __init__(self, storage: Storage, layout: Layout | None = None, op: BackpropOp | None = None) -> None:
        if layout is None:
            raise DTypeError("Tensor: a tensor is a storage and a layout; mg.tensor(data) makes one from data")
        self.id = next(ids)
        self.storage = storage
        self.layout: Layout = layout
        self.dtype: DType = storage.dtype
        self.device: Device = storage.device
        self.op = op

    # ---- what it is ----

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the dims; `()` for a scalar."""
        return self.layout.shape

    @property
    def strides(self) -> tuple[int, ...]:
        """Steps of the dims, in elements; 0 where broadcast, negative where flipped."""
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
        """Whether gradients flow through it: a Var, or made from one while recording."""
        return self.op is not None or self.is_variable

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded op made it."""
        return self.op is None

    @property
    def grad_fn(self) -> BackpropOp | None:
        """PyTorch's name for `op`."""
        return self.op

    def numel(self) -> int:
        """Number of elements."""
        return self.layout.numel

    def is_contiguous(self) -> bool:
        """Whether its elements lie row-major without gaps."""
        return self.layout.is_contiguous

    def data_ptr(self) -> int:
        """Address of the first element."""
        return self.storage.data_ptr() + self.layout.offset * self.dtype.itemsize

    def detach(self) -> Tensor:
        """The same values in the same storage, without history."""
        return Tensor(self.storage, self.layout)

    def __copy__(self) -> Tensor:
        """Another tensor on the same storage, with the same history; a Var becomes another leaf."""
        twin = type(self).__new__(type(self))
        Tensor.__init__(twin, self.storage, self.layout, self.op)
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        """A tensor on a copy of the storage, one copy for all that share it.  Raises GradientError within a graph."""
        self._refuse_history("deepcopy")
        storage = memo.get(id(self.storage))
        if storage is None:
            backend = backend_of(self.device)
            storage = backend.from_host(backend.to_host(self.storage), self.dtype, self.device)
            memo[id(self.storage)] = storage
        twin = type(self).__new__(type(self))
        Tensor.__init__(twin, storage, self.layout)
        return twin

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle: the elements as a NumPy array, and the device.  Raises GradientError within a graph."""
        self._refuse_history("pickle")
        return _from_pickle, (np.array(host_array(self)), str(self.device))

    def _refuse_history(self, name: str) -> None:
        if self.op is not None:
            raise GradientError(
                f"{name}: {describe(self)} is the result of {self.op.name}, and graphs stay; detach() it first",
                op=name,
            )

    def __len__(self) -> int:
        """The length of the first dim.  Raises TypeError for a scalar, as Python does for what has none."""
        if not self.layout.shape:
            raise TypeError("len(): a tensor of shape () has no length")
        return self.layout.shape[0]

    def __hash__(self) -> int:
        return id(self)

    if TYPE_CHECKING:  # attached by methods.py

        def __getattr__(self, name: str) -> Any: ...
        def __eq__(self, other: Any) -> Any: ...
        def __ne__(self, other: Any) -> Any: ...
        def __lt__(self, other: Any) -> Tensor: ...
        def __gt__(self, other: Any) -> Tensor: ...
        def __le__(self, other: Any) -> Tensor: ...
        def __ge__(self, other: Any) -> Tensor: ...
        def __and__(self, other: Any) -> Tensor: ...
        def __or__(self, other: Any) -> Tensor: ...
        def __add__(self, other: Any) -> Tensor: ...
        def __radd__(self, other: Any) -> Tensor: ...
        def __sub__(self, other: Any) -> Tensor: ...
        def __rsub__(self, other: Any) -> Tensor: ...
        def __mul__(self, other: Any) -> Tensor: ...
        def __rmul__(self, other: Any) -> Tensor: ...
        def __truediv__(self, other: Any) -> Tensor: ...
        def __rtruediv__(self, other: Any) -> Tensor: ...
        def __matmul__(self, other: Any) -> Tensor: ...
        def __pow__(self, other: Any) -> Tensor: ...
        def __neg__(self) -> Tensor: ...
        def __getitem__(self, index: Any) -> Tensor: ...


# What the fast lanes take as it is: a value that carries a transform, of another class, goes the long road.
PLAIN: set[type] = {Tensor}


def _from_pickle(array: np.ndarray[Any, Any], device: str) -> Tensor:
    return Tensor(*store(array, None, device))


def describe(x: Any) -> str:
    """An operand as messages name it: `float32(2, 3)`, or the Python value."""
    if isinstance(x, Tensor):
        return f"{x.dtype}{x.shape}"
    if isinstance(x, np.ndarray):
        return f"ndarray {x.dtype}{x.shape}"
    if isinstance(x, int):
        return f"{type(x).__name__} {name_number(x)}"
    return f"{type(x).__name__} {' '.join(repr(x).split()):.40}"


def expect_tensors(name: str, *values: Any) -> None:
    """Raise DTypeError unless all values are tensors: for functions that ask for `ndim` before they call an op."""
    for x in values:
        if not isinstance(x, Tensor):
            raise DTypeError(f"{name}: expected a tensor, got {describe(x)}; wrap data in mg.tensor(...)", op=name)


def store(data: Any, dtype: Any = None, device: Any = None) -> tuple[Storage, Layout]:
    """Copy a number, a nested list or tuple, an array or a tensor into fresh storage.

    DTypes: Python floats become the default float, ints int64, bools bool; arrays keep theirs.
    Raises ShapeError for a ragged list (both lengths are named), DTypeError for what is no number, or for Python ints
    that an integer dtype does not hold (arrays and tensors are cast, and wrap).
    """
    where = default_device() if device is None else as_device(device)
    if isinstance(data, Tensor):
        values = host_array(data)
        source = data.dtype
        where = data.device if device is None else where
    elif isinstance(data, (np.ndarray, np.generic)):
        values, source = np.asarray(data), as_dtype(data.dtype)
    else:
        shape = nested_shape(data)
        values, source = host_numbers(data, shape)
        if dtype is not None and source.is_int and values.size:
            for extreme in (values.min(), values.max()):
                fit_number(int(extreme), as_dtype(dtype))
    wanted = source if dtype is None else as_dtype(dtype)
    flat = cast_array(values, wanted).reshape(-1)
    return backend_of(where).from_host(flat, wanted, where), Layout.contiguous(tuple(values.shape))


def host_array(x: Tensor) -> Any:
    """The elements as a NumPy array in the logical dtype that shares memory where it can (host devices do)."""
    buffer = to_logical(backend_of(x.device).to_host(x.storage), x.dtype)
    size, layout = buffer.itemsize, x.layout
    view = buffer[layout.offset : layout.offset + 1] if layout.numel else buffer[:0]
    return np.lib.stride_tricks.as_strided(view, layout.shape, tuple(s * size for s in layout.strides))


def nested_shape(data: Any) -> tuple[int, ...]:
    """The shape of nested lists.  Raises ShapeError where two rows differ in length."""
    if not isinstance(data, (list, tuple)):
        return ()
    shapes = [nested_shape(item) for item in data]
    for position, shape in enumerate(shapes):
        if shape != shapes[0]:
            raise ShapeError(
                f"tensor: a ragged list has no shape: item 0 has shape {shapes[0]}, item {position} has {shape}; "
                f"all items must agree",
                lhs=shapes[0],
                rhs=shape,
            )
    return (len(data), *(shapes[0] if shapes else ()))


def host_numbers(data: Any, shape: tuple[int, ...]) -> tuple[Any, DType]:
    """Nested Python numbers (or 0-d tensors) as an array, and the dtype that they ask for."""
    leaves = [data]
    for _ in shape:
        leaves = [leaf for item in leaves for leaf in item]
    kinds: set[Any] = set()
    for k, leaf in enumerate(leaves):
        if isinstance(leaf, Tensor) and leaf.numel() == 1:
            leaves[k] = host_array(leaf).reshape(()).item()
        elif isinstance(leaf, np.generic):
            leaves[k] = leaf.item()
        kinds.add(type(leaves[k]))
    if not kinds <= {bool, int, float}:
        wrong = next(leaf for leaf in leaves if type(leaf) not in (bool, int, float))
        raise DTypeError(f"tensor: {describe(wrong)} is no number; give bool, int or float")
    kind = float if float in kinds or not leaves else int if int in kinds else bool
    dtype = as_dtype(kind)
    try:
        array = np.array(leaves, np.float64 if kind is float else np.int64 if kind is int else np.bool_)
    except OverflowError as error:
        widest = describe(max(leaves, key=abs))
        raise DTypeError(f"tensor: {widest} does not fit {dtype}; give numbers that do") from error
    return array.reshape(shape), dtype
