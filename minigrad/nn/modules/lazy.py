"""Lazy layers: they read the size of their input at the first call, and then become ordinary layers."""

from __future__ import annotations

import inspect
from typing import Any

from minigrad.errors import DeclarationError, ShapeError
from minigrad.nn.modules.batchnorm import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
)
from minigrad.nn.modules.conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from minigrad.nn.modules.linear import Linear
from minigrad.nn.modules.module import Module
from minigrad.nn.modules.states import as_tensor
from minigrad.runtime.tensor import Tensor, describe

__all__ = [
    "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyConv1d", "LazyConv2d", "LazyConv3d",
    "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d",
    "LazyInstanceNorm3d", "LazyLinear",
]  # fmt: skip


class LaterSignature:
    """The signature of the ordinary layer without its first parameter, and with the defaults of the lazy layer."""

    def __get__(self, module: Any, cls: Any) -> inspect.Signature:
        if module is not None:
            return inspect.signature(cls._layer.forward)
        parameters = list(inspect.signature(cls._layer).parameters.values())[1:]
        return inspect.Signature([p.replace(default=cls._defaults.get(p.name, p.default)) for p in parameters])


class Lazy(Module):
    """Create the parameters of a layer in the first call, when the size of the input is given.

    A subclass has two class arguments: `layer` is the class that the module has after the first call, and `dim` is the
    dim of the input whose length the constructor of this class requires.  A negative `dim` is valid with and without a
    batch.  The parameters are created on the device and in the dtype of the input, unless `device` or `dtype` is
    passed.  An optimizer must be created after the first call.
    """

    __signature__: Any = LaterSignature()
    _layer: Any
    _dim: int
    _defaults: dict[str, Any] = {}

    def __init_subclass__(cls, layer: Any = None, dim: int = 1, **defaults: Any) -> None:
        super().__init_subclass__()
        if layer is not None:
            cls._layer, cls._dim, cls._defaults = layer, dim, defaults

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        try:
            values = inspect.signature(type(self)).bind(*args, **kwargs)
        except TypeError as error:
            raise DeclarationError(f"{type(self).__name__}: {error}") from None
        values.apply_defaults()
        self._arguments = values.arguments

    def has_uninitialized_params(self) -> bool:
        """Return True, because the first call creates parameters and changes the class."""
        return True

    def initialize_parameters(self, input: Tensor) -> None:
        """Become the ordinary layer whose input size is that of `input`."""
        if not -input.ndim <= self._dim < input.ndim:
            raise ShapeError(
                f"{type(self).__name__}: input must have a dim {self._dim}, got {describe(input)}; add dims with "
                "unsqueeze"
            )
        self._become(input.shape[self._dim], input)

    def _become(self, size: int, like: Tensor) -> None:
        arguments, layer = dict(self._arguments), self._layer
        arguments["device"] = arguments["device"] or like.device
        if arguments["dtype"] is None and like.dtype.is_float:
            arguments["dtype"] = like.dtype
        del self._arguments
        self.__class__ = layer
        layer.__init__(self, size, **arguments)

    def forward(self, input: Tensor, *args: Any, **kwargs: Any) -> Any:
        self.initialize_parameters(input)
        return self.forward(input, *args, **kwargs)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        """Become the ordinary layer whose size follows from the tensors of a state."""
        for name in ("weight", "running_mean"):
            value = as_tensor(state_dict.get(prefix + name))
            if value is not None:
                self._become(self._size_of(value.shape), value)
                self._load_from_state_dict(state_dict, prefix, *rest)
                return
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def _size_of(self, shape: tuple[int, ...]) -> int:
        """Return the input size that the shape of a weight or of a running mean implies."""
        if len(shape) == 1 or getattr(self._layer, "transposed", False):
            return shape[0]
        groups: int = self._arguments.get("groups", 1)
        return shape[1] * groups

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self._arguments.items() if value is not None)


class LazyLinear(Lazy, layer=Linear, dim=-1):
    """Create a `Linear` whose `in_features` is the length of the last dim of the first input.

    Examples
    --------
    >>> import minigrad as mg
    >>> layer = mg.nn.LazyLinear(3)
    >>> layer(mg.zeros(2, 7)).shape, layer
    ((2, 3), Linear(in_features=7, out_features=3, bias=True))
    """


class LazyConv1d(Lazy, layer=Conv1d, dim=-2):
    """`Conv1d` whose `in_channels` is read from the first input."""


class LazyConv2d(Lazy, layer=Conv2d, dim=-3):
    """`Conv2d` whose `in_channels` is read from the first input."""


class LazyConv3d(Lazy, layer=Conv3d, dim=-4):
    """`Conv3d` whose `in_channels` is read from the first input."""


class LazyConvTranspose1d(Lazy, layer=ConvTranspose1d, dim=-2):
    """`ConvTranspose1d` whose `in_channels` is read from the first input."""


class LazyConvTranspose2d(Lazy, layer=ConvTranspose2d, dim=-3):
    """`ConvTranspose2d` whose `in_channels` is read from the first input."""


class LazyConvTranspose3d(Lazy, layer=ConvTranspose3d, dim=-4):
    """`ConvTranspose3d` whose `in_channels` is read from the first input."""


class LazyBatchNorm1d(Lazy, layer=BatchNorm1d):
    """`BatchNorm1d` whose `num_features` is read from the first input."""


class LazyBatchNorm2d(Lazy, layer=BatchNorm2d):
    """`BatchNorm2d` whose `num_features` is read from the first input."""


class LazyBatchNorm3d(Lazy, layer=BatchNorm3d):
    """`BatchNorm3d` whose `num_features` is read from the first input."""


class LazyInstanceNorm1d(Lazy, layer=InstanceNorm1d, dim=-2, affine=True, track_running_stats=True):
    """`InstanceNorm1d` with parameters and running statistics, whose `num_features` is read from the first input."""


class LazyInstanceNorm2d(Lazy, layer=InstanceNorm2d, dim=-3, affine=True, track_running_stats=True):
    """`InstanceNorm2d` with parameters and running statistics, whose `num_features` is read from the first input."""


class LazyInstanceNorm3d(Lazy, layer=InstanceNorm3d, dim=-4, affine=True, track_running_stats=True):
    """`InstanceNorm3d` with parameters and running statistics, whose `num_features` is read from the first input."""
