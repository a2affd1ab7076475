"""Normalization of each example on its own: over its last dims, groups of channels, or neighboring channels."""

from __future__ import annotations

from typing import Any

from minigrad.errors import ArgumentError
from minigrad.nn import functional as F
from minigrad.nn.init import ones_, zeros_
from minigrad.nn.modules.derived import FromFunction
from minigrad.nn.modules.module import Module
from minigrad.nn.parameter import Parameter
from minigrad.ops.creation import empty
from minigrad.runtime.tensor import Tensor


class LocalResponseNorm(FromFunction, of=F.local_response_norm, fields="size alpha beta k"):
    """Divide by (k + alpha * mean of the squares of `size` neighboring channels) ** beta."""

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class _Scaled(Module):
    """The common part of LayerNorm, RMSNorm and GroupNorm: an optional weight and, except in RMSNorm, a bias."""

    weight: Any
    bias: Any

    def _register(self, shape: tuple[int, ...], device: Any, dtype: Any, **present: bool) -> None:
        for name, flag in present.items():
            parameter = Parameter(empty(shape, device=device, dtype=dtype)) if flag else None
            self.register_parameter(name, parameter)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to 1, and the bias, if there is one, to 0."""
        if self.weight is not None:
            ones_(self.weight)
        if getattr(self, "bias", None) is not None:
            zeros_(self.bias)


def as_shape(value: Any) -> tuple[int, ...]:
    """Return an int or a sequence of ints as a shape."""
    return (int(value),) if hasattr(value, "__index__") else tuple(value)


class LayerNorm(_Scaled):
    """Normalize over the last dims: (x - mean) / sqrt(variance + eps) * weight + bias.

    elementwise_affine: Whether there are a weight and a bias of the shape `normalized_shape`.
    bias: Whether there is a bias; only used if `elementwise_affine` is True.

    Source: Ba, Kiros and Hinton, Layer normalization, 2016.

    >>> mg.nn.LayerNorm(2)(mg.tensor([[1.0, 3.0]])).round(decimals=3).tolist()
    [[-1.0, 1.0]]
    """

    _sizes = ((0, "normalized_shape", -1),)
    _shown = "normalized_shape / eps elementwise_affine bias"

    def __init__(
        self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape, self.eps = as_shape(normalized_shape), eps
        self.elementwise_affine = elementwise_affine
        affine = elementwise_affine
        self._register(self.normalized_shape, device, dtype, weight=affine, bias=affine and bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(_Scaled):
    """Normalize over the last dims: x / sqrt(mean of squares + eps) * weight.

    eps: Value added to the mean of squares; by default the machine epsilon of the dtype.
    elementwise_affine: Whether there is a weight of the shape `normalized_shape`.
    device and dtype: Device and dtype of the weight.

    Source: Zhang and Sennrich, Root mean square layer normalization, 2019.
    """

    _sizes = ((0, "normalized_shape", -1),)
    _shown = "normalized_shape / eps elementwise_affine"

    def __init__(
        self, normalized_shape: Any, eps: float | None = None, elementwise_affine: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape, self.eps = as_shape(normalized_shape), eps
        self.elementwise_affine = elementwise_affine
        self._register(self.normalized_shape, device, dtype, weight=elementwise_affine)

    def forward(self, input: Tensor) -> Tensor:
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)


class GroupNorm(_Scaled):
    """Normalize each group of channels of each example: subtract the mean, and divide by the standard deviation.

    The mean and variance of a group are computed over its channels and all dims after the channels.

    num_groups: Number of groups; it must divide the number of channels.
    num_channels: Number of channels, the length of dim 1.

    Source: Wu and He, Group normalization, 2018.
    """

    _sizes = ((0, "num_channels", 1),)
    _shown = "num_groups num_channels / eps affine bias"

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, device: Any = None,
        dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        if num_channels % num_groups:
            raise ArgumentError(
                f"GroupNorm: num_channels must be a multiple of num_groups, got {num_channels} and {num_groups}; pass "
                "num_groups=1, for example"
            )
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self._register((num_channels,), device, dtype, weight=affine, bias=affine and bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)
