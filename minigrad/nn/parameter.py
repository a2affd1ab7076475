"""Parameters: the tensors of a module that training changes.

A parameter is a `Var`.  `requires_grad_(False)` turns the same object into a plain tensor, so a class of its own would
be lost there; `Parameter` is therefore a way to make and to recognize one, not a class that objects have.
"""

from __future__ import annotations

import weakref
from typing import Any

from minigrad.core.storage import ConstantStorage
from minigrad.ops.creation import tensor
from minigrad.runtime.tensor import Tensor
from minigrad.runtime.var import Var


def is_parameter(x: object) -> bool:
    """Return whether x is a Var, or was one before it was frozen: only Vars have ever had a gradient of their own."""
    return isinstance(x, Tensor) and (x.is_variable or hasattr(x, "_grad"))


class ParameterKind(type):
    """Makes `Parameter(...)` return a Var, and `isinstance(x, Parameter)` recognize one."""

    def __call__(cls, data: Any = None, requires_grad: bool = True) -> Var:
        """Return a leaf on the memory of a tensor, or with a copy of other data."""
        if data is None:
            data = []
        made: Any = data.detach() if isinstance(data, Tensor) else Var(data)
        if isinstance(made.storage, ConstantStorage):
            made = made.clone()
        made.requires_grad_(requires_grad)
        if not requires_grad:
            made._grad = made.name = None  # frozen from the start, so any dtype is allowed
        parameter: Var = made
        return parameter

    def __instancecheck__(cls, instance: object) -> bool:
        return is_parameter(instance)


class Parameter(Var, metaclass=ParameterKind):
    """A tensor that a module lists among its parameters when it is assigned to an attribute.

    Parameters
    ----------
    data : Tensor or array_like, optional
        Values. The memory of a tensor is shared; other data are copied. Empty by default.
    requires_grad : bool, default True
        Whether gradients flow to it. A frozen parameter is in `Module.parameters()`, too, and may have any dtype.

    Returns
    -------
    Var
        The leaf. `isinstance(x, Parameter)` holds for every Var and for every Var that was frozen.

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


buffers: dict[int, bool] = {}  # by the id of each living tensor that `Buffer` made: whether it is persistent


class BufferKind(type):
    """Makes `Buffer(...)` return a tensor, and `isinstance(x, Buffer)` recognize it."""

    def __call__(cls, data: Any = None, *, persistent: bool = True) -> Tensor:
        """Return a tensor on the memory of another one, or with a copy of other data."""
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
    """A tensor that becomes a buffer of a module when it is assigned to an attribute, as by `register_buffer`.

    Parameters
    ----------
    data : Tensor or array_like, optional
        Values. The memory of a tensor is shared; other data are copied. Empty by default.
    persistent : bool, default True
        Whether `state_dict` contains it.

    Returns
    -------
    Tensor
        The tensor. `isinstance(x, Buffer)` holds for this object.

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
    """Let a tensor show the memory of another, with its dtype and device, while the object stays the same.

    Optimizers and other modules keep their references.  The count of writes rises, so that a graph which saved the old
    values reports the change in `backward`.
    """
    if source.storage is x.storage and source.layout is x.layout:
        return
    source.storage.version = max(source.storage.version, x.storage.version + 1)
    x.storage, x.layout, x.dtype, x.device = source.storage, source.layout, source.dtype, source.device
    x.base = None
    x.storage.tracked = x.storage.tracked or x.is_variable
