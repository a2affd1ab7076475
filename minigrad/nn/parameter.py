"""Parameters: the tensors of a module that training changes.

A parameter is a `Var`.  `requires_grad_(False)` turns the same object into a plain tensor, so a subclass would be lost.
`Parameter` therefore creates and recognizes parameters, and is not the class of any object.  The tensors of a lazy
module have other classes until their shapes are known; then the same objects become ordinary parameters and buffers.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from minigrad.core.device import as_device, default_device
from minigrad.core.dtype import as_dtype, default_float
from minigrad.core.roles import read_flag
from minigrad.core.storage import ConstantStorage
from minigrad.errors import DTypeError, StateError
from minigrad.ops.creation import empty, tensor
from minigrad.runtime.changes import changes, move, rebind
from minigrad.runtime.tensor import Tensor, describe, ids
from minigrad.runtime.var import Var


def is_parameter(x: object) -> bool:
    """Return whether x is a Var, or was a Var before it was frozen: only these have the attribute `_grad`."""
    return isinstance(x, Tensor) and (x.is_variable or hasattr(x, "_grad"))


class ParameterKind(type):
    """Metaclass: `Parameter(...)` returns a Var, and `isinstance(x, Parameter)` recognizes parameters."""

    def __call__(cls, data: Any = None, requires_grad: bool = True) -> Var:
        """Return a leaf that shares the memory of a tensor, or has a copy of other data."""
        read_flag(requires_grad, "Parameter", "requires_grad")
        if data is None:
            data = []
        made: Any = data.detach() if isinstance(data, Tensor) else Var(data)
        if isinstance(made.storage, ConstantStorage):
            made = made.clone()
        if requires_grad and not made.dtype.is_inexact:
            raise DTypeError(
                f"Parameter: data must have a floating dtype, because gradients need one, got {describe(made)}; "
                "convert it with .float(), or pass requires_grad=False"
            )
        made.requires_grad_(requires_grad)
        if not requires_grad:
            made._grad = made.name = None  # frozen from the start, so any dtype is allowed
        return made

    def __instancecheck__(cls, instance: object) -> bool:
        return is_parameter(instance)


class Parameter(Var, metaclass=ParameterKind):
    """Create a tensor that becomes a parameter of a module when it is assigned to an attribute of the module.

    The tensor is a leaf of the class Var. `isinstance(x, Parameter)` is True for every Var, and for every tensor that
    was a Var.

    data (Tensor or array_like): Values of the parameter. The memory of a tensor is shared; other data is copied. By
    default, the parameter has no elements.
    requires_grad: Whether the parameter requires a gradient. With False, it may have any dtype, and
    `Module.parameters()` contains it as well.

    Raises DTypeError if gradients are required and the dtype is not a floating dtype.

    >>> p = mg.nn.Parameter(mg.zeros(2))
    >>> type(p).__name__, isinstance(p.requires_grad_(False), mg.nn.Parameter)
    ('Var', True)
    """

    __slots__ = ()


buffers: dict[int, bool] = {}  # maps the id of each living tensor that `Buffer` made to whether it is persistent


class BufferKind(type):
    """Metaclass: `Buffer(...)` returns a tensor that `isinstance` recognizes."""

    def __call__(cls, data: Any = None, *, persistent: bool = True) -> Tensor:
        """Return a tensor that shares a tensor's memory, or has a copy of other data."""
        made: Any = data.detach() if isinstance(data, Tensor) else tensor([] if data is None else data)
        if isinstance(data, Tensor) and data.requires_grad:
            made.requires_grad_()
        buffers[made.id] = persistent
        weakref.finalize(made, buffers.pop, made.id, None)
        return made

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and instance.id in buffers


class Buffer(Tensor, metaclass=BufferKind):
    """Create a tensor that becomes a buffer of a module when it is assigned to an attribute of the module.

    `isinstance(x, Buffer)` is True for this tensor.

    data (Tensor or array_like): Values of the buffer. The memory of a tensor is shared; other data is copied. By
    default, the buffer has no elements.
    persistent: Whether `state_dict` contains the buffer.

    >>> net = mg.nn.Module()
    >>> net.count = mg.nn.Buffer(mg.zeros(()))
    >>> list(net.state_dict())
    ['count']
    """

    __slots__ = ()


def adopt(x: Any, source: Tensor) -> None:
    """Make a tensor use the memory, dtype and device of another tensor, while the object stays the same.

    References to the tensor, such as those of optimizers and other modules, remain valid.  If a graph saved the old
    values, its `backward` raises an error.
    """
    if source.storage is x.storage and source.layout is x.layout:
        return
    move(x, source.storage, source.layout)


class Uninitialized(Tensor):
    """A tensor whose shape is not known yet; it has a dtype and a device, but no memory.

    Every op on it raises StateError.
    """

    __slots__ = ()
    trained: bool

    def __init__(self, device: Any = None, dtype: Any = None) -> None:
        self.id = next(ids)
        self.op = self.base = None
        self.dtype = default_float() if dtype is None else as_dtype(dtype)
        self.device = default_device() if device is None else as_device(device)

    def __getattr__(self, name: str) -> Any:
        """Raise an error: Python calls this method only for an attribute that does not exist."""
        kind = type(self).__name__
        if name in ("layout", "storage"):
            raise StateError(
                f"{kind}: the shape of an uninitialized tensor is not known; call the lazy module once with an input, "
                "or call materialize(shape)"
            )
        raise AttributeError(f"{kind!r} object has no attribute {name!r}", name=name, obj=self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(dtype={self.dtype}, device={str(self.device)!r})"

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        make, arguments = self.__reduce__()
        return make(*arguments)

    def detach(self) -> Any:
        """Return the object itself, which has no history."""
        return self

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become an ordinary parameter or buffer of a shape, with undefined values.

        shape: Lengths of the dims.
        device and dtype: By default, those that the object has.
        """
        self.become(empty(shape, device=device or self.device, dtype=dtype or self.dtype))

    def become(self, values: Tensor) -> None:
        """Become an ordinary parameter or buffer with the memory of another tensor."""
        rebind(self, values.storage, values.layout)
        changes.count += 1

    def convert(self, fn: Callable[[Tensor], Tensor]) -> None:
        """Follow a conversion of the module to another dtype or device."""
        like = fn(empty((0,), device=self.device, dtype=self.dtype))
        self.dtype, self.device = like.dtype, like.device


def is_lazy(param: object) -> bool:
    """Return whether a tensor is a parameter or a buffer whose shape is not known yet."""
    return isinstance(param, Uninitialized)


class UninitializedParameter(Uninitialized, Var):
    """Create a parameter of a lazy module whose shape is set later, by `materialize`.

    An optimizer may be created before: the object stays the same.

    requires_grad: Whether the parameter will require a gradient.
    device and dtype: Device and dtype of the future memory; by default the default device and the default float dtype.

    Raises StateError at every op before `materialize`.

    >>> p = mg.nn.UninitializedParameter()
    >>> optimizer = mg.optim.SGD([p], lr=0.1)
    >>> p.materialize((2, 3))
    >>> type(p).__name__, p.shape
    ('Var', (2, 3))
    """

    __slots__ = ()

    def __init__(self, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(device, dtype)
        self._grad = self.name = None
        self.trained = read_flag(requires_grad, "UninitializedParameter", "requires_grad")

    @property
    def is_variable(self) -> bool:  # type: ignore[override]
        """Whether the parameter will require a gradient."""
        return self.trained

    def requires_grad_(self, requires_grad: bool = True) -> UninitializedParameter:
        """Set whether the parameter will require a gradient, and return it."""
        self.trained = read_flag(requires_grad, "requires_grad_", "requires_grad")
        return self

    def become(self, values: Tensor) -> None:
        """Become a parameter with the memory of another tensor."""
        super().become(values)
        self.__class__ = Var if vars(self).pop("trained") else Tensor  # type: ignore[assignment]
        self.storage.tracked = self.storage.tracked or self.is_variable

    def __reduce__(self) -> tuple[Any, ...]:
        return UninitializedParameter, (self.trained, str(self.device), self.dtype)


class UninitializedBuffer(Uninitialized):
    """Create a buffer of a lazy module whose shape is set later, by `materialize`.

    device and dtype: Device and dtype of the future memory; by default the default device and the default float dtype.
    """

    __slots__ = ()

    def __init__(self, device: Any = None, dtype: Any = None, persistent: bool = True) -> None:
        super().__init__(device, dtype)
        buffers[self.id] = persistent
        weakref.finalize(self, buffers.pop, self.id, None)

    def become(self, values: Tensor) -> None:
        """Become a tensor with the memory of another tensor."""
        super().become(values)
        self.__class__ = Tensor  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return UninitializedBuffer, (str(self.device), self.dtype, buffers[self.id])
