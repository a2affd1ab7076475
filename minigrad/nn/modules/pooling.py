"""Pooling: the maximum, mean or norm of each window, and the inverse of max pooling."""

from __future__ import annotations

from typing import Any

from minigrad.nn import functional as F
from minigrad.nn.modules.derived import FromFunction, repeated
from minigrad.ops.nn.adaptive import sizes_of
from minigrad.runtime.tensor import Tensor


class _Pool(FromFunction):
    """Pooling with windows of `kernel_size`, which is also the default stride."""

    def _prepared(self, fields: dict[str, Any]) -> dict[str, Any]:
        if fields["stride"] is None:
            fields["stride"] = fields["kernel_size"]
        return fields


class _MaxPool(_Pool, fields="kernel_size stride padding dilation return_indices ceil_mode", hidden="return_indices"):
    """The fields of `MaxPool1d`."""


class MaxPool1d(_MaxPool, of=F.max_pool1d):
    """Return the largest element of each window along the last dim."""


class MaxPool2d(_MaxPool, of=F.max_pool2d):
    """Return the largest element of each window of images; the arguments are the same as for `MaxPool1d`.

    >>> mg.nn.MaxPool2d(2)(mg.arange(16.0).reshape(1, 1, 4, 4)).tolist()
    [[[[5.0, 7.0], [13.0, 15.0]]]]
    """


class MaxPool3d(_MaxPool, of=F.max_pool3d):
    """Return the largest element of each window of volumes; the arguments are the same as for `MaxPool1d`."""


class _MaxUnpool(_Pool, fields="kernel_size stride padding"):
    """The inverse of max pooling, with its windows: one number per dim."""

    _dims = 1

    def _prepared(self, fields: dict[str, Any]) -> dict[str, Any]:
        return {name: repeated(value, self._dims) for name, value in super()._prepared(fields).items()}

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        return self._function(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool1d(_MaxUnpool, of=F.max_unpool1d):
    """Return zeros with the results of `MaxPool1d` at their indices; the module is called with (input, indices)."""


class MaxUnpool2d(_MaxUnpool, of=F.max_unpool2d):
    """Return zeros with the results of `MaxPool2d` at their indices; the module is called with (input, indices)."""

    _dims = 2


class MaxUnpool3d(_MaxUnpool, of=F.max_unpool3d):
    """Return zeros with the results of `MaxPool3d` at their indices; the module is called with (input, indices)."""

    _dims = 3


class AvgPool1d(
    _Pool, of=F.avg_pool1d, fields="kernel_size stride padding ceil_mode count_include_pad",
    hidden="ceil_mode count_include_pad",
):  # fmt: skip
    """Return the mean of each window along the last dim."""

    def _prepared(self, fields: dict[str, Any]) -> dict[str, Any]:
        fields = super()._prepared(fields)
        windows = {name: repeated(fields[name], 1) for name in ("kernel_size", "stride", "padding")}
        return {**fields, **windows}


class _AvgPool(
    _Pool, fields="kernel_size stride padding ceil_mode count_include_pad divisor_override",
    hidden="ceil_mode count_include_pad divisor_override",
):  # fmt: skip
    """The fields of `AvgPool2d`."""


class AvgPool2d(_AvgPool, of=F.avg_pool2d):
    """Return the mean of each window of images; `divisor_override` is the divisor of the sum, if it is given."""


class AvgPool3d(_AvgPool, of=F.avg_pool3d):
    """Return the mean of each window of volumes; `divisor_override` is the divisor of the sum, if it is given."""


class _LPPool(FromFunction, fields="norm_type kernel_size stride ceil_mode"):
    """The fields of `LPPool1d`."""


class LPPool1d(_LPPool, of=F.lp_pool1d):
    """Return the p-norm of each window along the last dim; p is `norm_type`."""


class LPPool2d(_LPPool, of=F.lp_pool2d):
    """Return the p-norm of each window of images; p is `norm_type`."""


class LPPool3d(_LPPool, of=F.lp_pool3d):
    """Return the p-norm of each window of volumes; p is `norm_type`."""


class _FractionalMaxPool(FromFunction, fields="kernel_size output_size output_ratio return_indices _random_samples"):
    """Max pooling with windows at random positions in `_dims` dims."""

    _dims = 2

    def _prepared(self, fields: dict[str, Any]) -> dict[str, Any]:
        sizes_of(type(self).__name__, self._dims, (1,) * self._dims, fields["output_size"], fields["output_ratio"])
        for name in ("kernel_size", "output_size", "output_ratio"):
            if name == "kernel_size" or fields[name] is not None:
                fields[name] = repeated(fields[name], self._dims)
        return fields

    def extra_repr(self) -> str:
        return ""


class FractionalMaxPool2d(_FractionalMaxPool, of=F.fractional_max_pool2d):
    """Return the largest element of each of `output_size` windows of images, at random positions.

    kernel_size: Size of a window.
    output_size: Size of the result.
    output_ratio: Size of the result as a fraction of the size of the images, instead of `output_size`.
    return_indices: Whether to return the index of each maximum as well, for `MaxUnpool2d`.
    _random_samples: Uniform random numbers of shape (N, C, 2), stored as a buffer. If None, each call draws new random
    numbers.

    Source: Graham, Fractional max-pooling, 2014.

    >>> mg.nn.FractionalMaxPool2d(2, output_ratio=0.7)(mg.randn(1, 3, 10, 10)).shape
    (1, 3, 7, 7)
    """


class FractionalMaxPool3d(_FractionalMaxPool, of=F.fractional_max_pool3d):
    """Return the largest element of each of `output_size` windows of volumes; see `FractionalMaxPool2d`."""

    _dims = 3


class _AdaptiveMaxPool(FromFunction, fields="output_size return_indices", hidden="return_indices"):
    """The fields of `AdaptiveMaxPool1d`."""


class AdaptiveMaxPool1d(_AdaptiveMaxPool, of=F.adaptive_max_pool1d):
    """Return the largest element of each of `output_size` windows along the last dim."""


class AdaptiveMaxPool2d(_AdaptiveMaxPool, of=F.adaptive_max_pool2d):
    """Return the largest element of each of `output_size` windows of images; None leaves a dim as it is."""


class AdaptiveMaxPool3d(_AdaptiveMaxPool, of=F.adaptive_max_pool3d):
    """Return the largest element of each of `output_size` windows of volumes; None leaves a dim as it is."""


class AdaptiveAvgPool1d(FromFunction, of=F.adaptive_avg_pool1d, fields="output_size"):
    """Return the mean of each of `output_size` windows along the last dim."""


class AdaptiveAvgPool2d(FromFunction, of=F.adaptive_avg_pool2d, fields="output_size"):
    """Return the mean of each window of images, where `output_size` specifies the number of windows per dim.

    `output_size` is one value for both dims, or one value per dim. With None, a dim keeps its size.

    >>> mg.nn.AdaptiveAvgPool2d(1)(mg.ones(2, 3, 5, 7)).shape
    (2, 3, 1, 1)
    """


class AdaptiveAvgPool3d(FromFunction, of=F.adaptive_avg_pool3d, fields="output_size"):
    """Return the mean of each of `output_size` windows of volumes; None leaves a dim as it is."""
