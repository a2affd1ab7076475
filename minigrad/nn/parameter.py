"""Parameters: the tensors of a module that training changes.

A parameter is a `Var`.  `requires_grad_(False)` turns the same object into a plain tensor, so a subclass would be lost.
`Parameter` therefore creates and recognizes parameters, and is not the class of any object.
"""

from __future__ import annotations

import weakref
from typing import Any

from minigrad.core.storage import ConstantStorage
from minigrad.errors import DTypeError
from minigrad.ops.creation import tensor
from minigrad.runtime.changes import rebind
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.var import Var


def is_parameter(x: object) -> bool:
    """Return whether x is a Var, or was a Var before it was frozen: only these have the attribute `_grad`."""
    return isinstance(x, Tensor) and (x.is_variable or hasattr(x, "_grad"))


class ParameterKind(type):
    """Metaclass: `Parameter(...)` returns a Var, and `isinstance(x, Parameter)` recognizes parameters."""

    def __call__(cls, data: Any = None, requires_grad: bool = True) -> Var:
        """Return a leaf that shares the memory of a tensor, or has a copy of other data."""
        if data is None:
            data = []
        made: Any = data.detach() if isinstance(data, Tensor) else Var(data)
        if isinstance(made.storage, ConstantStorage):
            made = made.clone()
        if requires_grad and not made.dtype.is_float:
            raise DTypeError(
                f"Parameter: data must have a floating dtype, because gradients need one, got {describe(made)}; "
                "convert it with .float(), or pass requires_grad=False"
            )
        made.requires_grad_(requires_grad)
        if not requires_grad:
            made._grad = made.name = None  # frozen from the start, so any dtype is allowed
        parameter: Var = made
        return parameter

    def __instancecheck__(cls, instance: object) -> bool:
        return is_parameter(instance)


class Parameter(Var, metaclass=ParameterKind):
    """Create a tensor that becomes a parameter of a module when it is assigned to an attribute of the module.

    Parameters
    ----------
    data : Tensor or array_like, optional
        Values of the parameter. The memory of a tensor is shared; other data is copied. By default, the parameter has
        no elements.
    requires_grad : bool, default True
        Whether the parameter requires a gradient. With False, it may have any dtype, and `Module.parameters()` contains
        it as well.

    Returns
    -------
    Var
        The leaf. `isinstance(x, Parameter)` is True for every Var, and for every tensor that was a Var.

    Raises
    ------
    DTypeError
        If gradients are required and the dtype is not a floating dtype.

    Examples
    --------
    >>> import minigrad as mg
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
        result: Tensor = made
        return result

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and instance.id in buffers


class Buffer(Tensor, metaclass=BufferKind):
    """Create a tensor that becomes a buffer of a module when it is assigned to an attribute of the module.

    Parameters
    ----------
    data : Tensor or array_like, optional
        Values of the buffer. The memory of a tensor is shared; other data is copied. By default, the buffer has no
        elements.
    persistent : bool, default True
        Whether `state_dict` contains the buffer.

    Returns
    -------
    Tensor
        The tensor. `isinstance(x, Buffer)` is True for this object.

    Examples
    --------
    >>> import minigrad as mg
    >>> net = mg.nn.Module()
    >>> net.count = mg.nn.Buffer(mg.zeros(()))
    >>> list(net.state_dict())
    ['count']
    """

    __slots__ = ()


def adopt(x: Any, source: Tensor) -> None:
    """Make a tensor use the memory, dtype and device of another tensor, while the object stays the same.

    References to the tensor, such as those of optimizers and other modules, remain valid.  The version of the storage
    rises.  If a graph saved the old values, its `backward` therefore raises an error.
    """
    if source.storage is x.storage and source.layout is x.layout:
        return
    source.storage.version = max(source.storage.version, x.storage.version + 1)
    rebind(x, source.storage, source.layout)
    x.base = None
    x.storage.tracked = x.storage.tracked or x.is_variable
