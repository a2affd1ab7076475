"""Lazy layers: they read the size of their input at the first call, and then become ordinary layers.

Their parameters exist from the beginning, as `UninitializedParameter`s, so an optimizer may be created before it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from itertools import chain
from typing import Any

from minigrad.declare.manual import document_all
from minigrad.errors import DeclarationError, ShapeError, StateError, absent_method
from minigrad.nn.modules import batchnorm, conv
from minigrad.nn.modules.linear import Linear
from minigrad.nn.modules.module import Module
from minigrad.nn.parameter import Uninitialized, UninitializedBuffer, UninitializedParameter
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor, describe, expect_tensors


class LazyModuleMixin(Module):
    """Make a module lazy: its first call creates the memory of its uninitialized parameters and buffers.

    A subclass registers `UninitializedParameter` and `UninitializedBuffer` objects, and defines
    `initialize_parameters(self, *args)`, which gets the arguments of the first call and calls `materialize` of each.
    An optimizer may be created before the first call.

    >>> class Scale(mg.nn.modules.lazy.LazyModuleMixin, mg.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = mg.nn.UninitializedParameter()
    ...     def initialize_parameters(self, x):
    ...         self.factor.materialize(x.shape[-1:])
    ...         mg.nn.init.ones_(self.factor)
    ...     def forward(self, x):
    ...         return x * self.factor
    >>> scale = Scale()
    >>> scale(mg.tensor([2.0, 3.0])).tolist(), scale.factor.shape
    ([2.0, 3.0], (2,))

    Attributes:
        cls_to_become (type or None): The class that the module has after the first call, or None if it keeps its class.
    """

    cls_to_become: Any = None

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Create the memory of the parameters from the arguments of the first call; a subclass defines this method."""
        raise absent_method(self, "a lazy module", "initialize_parameters(self, input)")

    def has_uninitialized_params(self) -> bool:
        """Return whether a parameter or a buffer of this module has no shape yet."""
        members = chain(self._parameters.values(), self._buffers.values())
        return any(isinstance(x, Uninitialized) for x in members)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._infer_parameters(args, kwargs)
        return super().__call__(*args, **kwargs) if isinstance(self, LazyModuleMixin) else self(*args, **kwargs)

    def _infer_parameters(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Initialize the parameters, and become the class `cls_to_become`."""
        if self.cls_to_become is None and not self.has_uninitialized_params():
            return
        with no_grad():
            self.initialize_parameters(*args, **kwargs)
        if self.has_uninitialized_params():
            raise StateError(
                f"{type(self).__name__}: initialize_parameters must call materialize of each parameter and buffer, but "
                "some have no shape after it; add these calls"
            )
        if self.cls_to_become is not None:
            self.__class__ = self.cls_to_become


class _Lazy(LazyModuleMixin):
    """Create the memory of a layer in the first call, when the size of the input is known.

    A subclass has the ordinary layer as its second base; this is the class that the module has after the first call.
    Its `_sizes` has the dim of the input whose length the constructor of this class requires.  A negative dim is valid
    with and without a batch.  The memory is on the device and in the dtype of the input, unless `device` or `dtype` is
    passed, or the module is converted before.
    """

    _defaults: dict[str, Any] = {}
    _arguments: dict[str, Any]

    def __init_subclass__(cls, **defaults: Any) -> None:
        super().__init_subclass__()
        if len(cls.__bases__) > 1:
            cls.cls_to_become, cls._defaults = cls.__bases__[1], defaults

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        try:
            values = inspect.signature(type(self)).bind(*args, **kwargs)
        except TypeError as error:
            raise DeclarationError(f"{type(self).__name__}: {error}") from None
        values.apply_defaults()
        self._arguments = dict(values.arguments)
        # The smallest valid size: the members are replaced below, so only their names and dtypes matter.
        self.cls_to_become.__init__(self, self._arguments.get("groups", 1), **self._arguments)
        setattr(self, self._sizes[0][1], 0)
        kind = {name: self._arguments[name] for name in ("device", "dtype")}
        for name, x in [*self._parameters.items(), *self._buffers.items()]:
            if x is not None and x.ndim:
                cls = UninitializedParameter if name in self._parameters else UninitializedBuffer
                self.__dict__[name] = cls(**kind)

    @classmethod
    def _constructor(cls) -> inspect.Signature:
        """Return that of the ordinary layer without its first parameter, with the defaults of the lazy layer."""
        parameters = list(inspect.signature(cls.cls_to_become).parameters.values())[1:]
        return inspect.Signature([p.replace(default=cls._defaults.get(p.name, p.default)) for p in parameters])

    def _convert(self, fn: Callable[[Tensor], Tensor], recurse: bool, done: dict[int, Any]) -> None:
        super()._convert(fn, recurse, done)
        like = next((x for x in chain(self._parameters.values(), self._buffers.values()) if x is not None), None)
        if like is not None:
            self._arguments |= {"device": like.device, "dtype": like.dtype}

    def reset_parameters(self) -> None:
        """Draw the initial values; before the first call, do nothing."""
        if "_arguments" not in self.__dict__:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Create the memory that an ordinary layer for this input has."""
        expect_tensors(type(self).__name__, input)
        (_, name, dim), arguments = self._sizes[0], self._arguments
        if not -input.ndim <= dim < input.ndim:
            raise ShapeError(
                f"{type(self).__name__}: input must have a dim {dim}, got {describe(input)}; add dims with unsqueeze"
            )
        size = input.shape[dim]
        dtype = arguments["dtype"] or (input.dtype if input.dtype.is_float else None)
        ordinary = self.cls_to_become(
            size, **arguments | {"device": arguments["device"] or input.device, "dtype": dtype}
        )
        for key, x in [*self._parameters.items(), *self._buffers.items()]:
            if isinstance(x, Uninitialized):
                x.become(ordinary.__dict__[key])
        setattr(self, name, size)
        del self._arguments


class LazyLinear(_Lazy, Linear):
    """Create a `Linear` whose `in_features` is the length of the last dim of the first input.

    >>> layer = mg.nn.LazyLinear(3)
    >>> layer(mg.zeros(2, 7)).shape, layer
    ((2, 3), Linear(in_features=7, out_features=3, bias=True))
    """


def lazy(file: Any, name: str, **defaults: Any) -> list[Any]:
    """Return the lazy classes of a layer for 1, 2 and 3 dims; `defaults` replace those of the layer."""
    more, made = " with parameters and running statistics," if defaults else "", []
    for kind in [getattr(file, f"{name}{dims}d") for dims in (1, 2, 3)]:
        text = f"`{kind.__name__}`{more} whose `{kind._sizes[0][1]}` is read from the first input."
        body = {"__doc__": text, "__module__": __name__}
        made.append(type(f"Lazy{kind.__name__}", (_Lazy, kind), body, **defaults))
    return made


LazyConv1d, LazyConv2d, LazyConv3d = lazy(conv, "Conv")
LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d = lazy(conv, "ConvTranspose")
LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d = lazy(batchnorm, "BatchNorm")
STATES = {"affine": True, "track_running_stats": True}
LazyInstanceNorm1d, LazyInstanceNorm2d, LazyInstanceNorm3d = lazy(batchnorm, "InstanceNorm", **STATES)
document_all(globals())
