"""Convolutions over 1, 2 and 3 dims, and transposed convolutions."""

from __future__ import annotations

import math
from itertools import chain
from typing import Any

from minigrad.core.roles import Choice
from minigrad.errors import ArgumentError
from minigrad.nn import functional as F
from minigrad.nn.init import _calculate_fan_in_and_fan_out, kaiming_uniform_, uniform_
from minigrad.nn.modules.derived import repeated
from minigrad.nn.modules.module import Module
from minigrad.nn.parameter import Parameter
from minigrad.ops.creation import empty
from minigrad.runtime.tensor import Tensor

MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """The parameters of a convolution.

    The weight has the shape (out, in / groups, *window), or (in, out / groups, *window) for a transposed convolution.
    Weight and bias are initialized uniformly in [-b, b] with b = sqrt(groups / (channels * window)).  `channels` is the
    number of input channels, or of output channels for a transposed convolution.
    """

    _dims: int
    _convolve: Any
    _shown = "in_channels out_channels / kernel_size stride"
    transposed = False
    bias: Any

    def __init_subclass__(cls, dims: int = 0, of: Any = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if dims:
            cls._dims, cls._convolve, cls._sizes = dims, staticmethod(of), ((0, "in_channels", -1 - dims),)
            zeros, ones = (0,) * dims, (1,) * dims
            cls._shown_unless = {"padding": zeros, "dilation": ones, "output_padding": zeros, "groups": 1, "bias": True,
                                 "padding_mode": "zeros"}  # fmt: skip

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
        output_padding: Any, groups: int, bias: bool, padding_mode: str, device: Any, dtype: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        self._check(in_channels, out_channels, groups, padding, stride, padding_mode)
        n = self._dims
        self.in_channels, self.out_channels, self.groups, self.padding_mode = (
            in_channels, out_channels, groups, padding_mode)  # fmt: skip
        self.kernel_size, self.stride, self.dilation = [repeated(x, n) for x in (kernel_size, stride, dilation)]
        self.padding = padding if isinstance(padding, str) else repeated(padding, n)
        self.output_padding = repeated(output_padding, n)
        channels = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        shape = (channels[0], channels[1] // groups, *self.kernel_size)
        self.weight = Parameter(empty(shape, device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(empty(out_channels, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def _check(
        self, in_channels: int, out_channels: int, groups: int, padding: Any, stride: Any, padding_mode: str
    ) -> None:
        name = type(self).__name__
        if groups < 1 or in_channels % groups or out_channels % groups:
            raise ArgumentError(
                f"{name}: in_channels and out_channels must be multiples of groups, got {in_channels}, {out_channels} "
                f"and {groups}; pass groups=1, for example"
            )
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ArgumentError(
                    f"{name}: padding must be an int, a tuple of ints, 'same' or 'valid', got {padding!r}; pass "
                    "padding=0, for example"
                )
            if padding == "same" and any(s != 1 for s in repeated(stride, self._dims)):
                raise ArgumentError(
                    f"{name}: padding='same' requires stride=1, got {stride}; pass stride=1 or an int for padding"
                )
        Choice(*MODES).expect(name, padding_mode=padding_mode)

    def reset_parameters(self) -> None:
        """Draw the initial values of weight and bias."""
        kaiming_uniform_(self.weight, a=math.sqrt(5))
        fan_in, _ = _calculate_fan_in_and_fan_out(self.weight)
        if self.bias is not None and fan_in:
            uniform_(self.bias, -1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in))

    @property
    def _reversed_padding_repeated_twice(self) -> list[int]:
        """The padding in the order of `mg.nn.functional.pad`: two sides per dim, from the last dim to the first."""
        sides: list[tuple[int, int]]
        if self.padding == "valid":
            sides = [(0, 0)] * self._dims
        elif self.padding == "same":
            reach = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
            sides = [(total // 2, total - total // 2) for total in reach]
        else:
            sides = [(int(p), int(p)) for p in self.padding]
        return list(chain(*reversed(sides)))


class _Conv(_ConvNd):
    """The common part of the convolutions."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, 0, groups, bias,
                         padding_mode, device, dtype)  # fmt: skip

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """Convolve with the given weight; subclasses can call it with a changed weight."""
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, self.padding_mode)
            padding = 0
        return self._convolve(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv, dims=1, of=F.conv1d):
    """Convolve sequences (N, C, L) or (C, L): return a weighted sum of the window at each position.

    kernel_size, stride and dilation: Length of the window, step between windows, and step within a window.
    padding (int, tuple, "valid" or "same"): Number of elements added at both ends. "valid" adds none; "same" keeps the
    length.
    padding_mode ({"zeros", "reflect", "replicate", "circular"}): Values of the elements that are added.
    """


class Conv2d(_Conv, dims=2, of=F.conv2d):
    """Convolve images (N, C, H, W) or (C, H, W): return a weighted sum of the window at each position.

    The arguments are the same as for `Conv1d`. `kernel_size`, `stride`, `padding` and `dilation` are one int for both
    dims, or one int per dim.

    >>> layer = mg.nn.Conv2d(3, 8, 3, padding=1)
    >>> layer
    Conv2d(3, 8, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))
    >>> layer(mg.zeros(1, 3, 5, 5)).shape
    (1, 8, 5, 5)
    """


class Conv3d(_Conv, dims=3, of=F.conv3d):
    """Slide a window over volumes (N, C, D, H, W) or (C, D, H, W); the arguments are the same as for `Conv1d`."""


class _ConvTransposeNd(_ConvNd):
    """The common part of the transposed convolutions: the gradient of a convolution with respect to its input."""

    transposed = True

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        output_padding: Any = 0, groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros",
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        Choice("zeros").expect(type(self).__name__, padding_mode=padding_mode)
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, output_padding, groups,
                         bias, padding_mode, device, dtype)  # fmt: skip

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        extra = self.output_padding if output_size is None else self._output_padding(input, output_size)
        return self._convolve(input, self.weight, self.bias, self.stride, self.padding, extra, self.groups,
                                        self.dilation)  # fmt: skip

    def _output_padding(self, input: Tensor, output_size: Any) -> tuple[int, ...]:
        """Return the output padding for which the result has the size `output_size`."""
        n = self._dims
        wanted = tuple(output_size)[-n:]
        parts = zip(input.shape[-n:], self.stride, self.padding, self.dilation, self.kernel_size, strict=True)
        least = [(size - 1) * s - 2 * p + d * (k - 1) + 1 for size, s, p, d, k in parts]
        if len(wanted) < n or any(not low <= size < low + s for low, size, s in zip(least, wanted, self.stride)):
            most = [low + s - 1 for low, s in zip(least, self.stride, strict=True)]
            raise ArgumentError(
                f"{type(self).__name__}: output_size must be from {least} to {most}, got {tuple(output_size)}; pass an "
                "output_size in this range"
            )
        return tuple([size - low for size, low in zip(wanted, least, strict=True)])


class ConvTranspose1d(_ConvTransposeNd, dims=1, of=F.conv_transpose1d):
    """Compute the transposed convolution of sequences (N, C, L) or (C, L).

    The layer adds each input element, times the weight, to a window of the output. It is the transpose of the linear
    map that `Conv1d` computes without a bias.

    kernel_size, stride and dilation: Arguments of the convolution whose transpose is computed.
    padding: Number of elements that are removed at both ends.
    output_padding: Number of elements by which the output is longer at the end. If the stride is larger than 1,
    `Conv1d` maps inputs of several lengths to the same output length, and this number selects one of these input
    lengths.
    padding_mode: Only "zeros" is possible.
    """


class ConvTranspose2d(_ConvTransposeNd, dims=2, of=F.conv_transpose2d):
    """Compute the transposed convolution of images (N, C, H, W) or (C, H, W).

    The layer adds each pixel, times the weight, to a window of the output. The arguments are the same as for
    `ConvTranspose1d`.

    >>> mg.nn.ConvTranspose2d(8, 3, 4, stride=2, padding=1)(mg.zeros(1, 8, 5, 5)).shape
    (1, 3, 10, 10)
    """


class ConvTranspose3d(_ConvTransposeNd, dims=3, of=F.conv_transpose3d):
    """Spread each element of volumes over a window; the arguments are the same as for `ConvTranspose1d`."""
