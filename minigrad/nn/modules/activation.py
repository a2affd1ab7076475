"""Activation functions as modules: functions of each element, or of the elements along a dim."""

from __future__ import annotations

from typing import Any

from minigrad.core.conditions import Ndim
from minigrad.errors import ArgumentError
from minigrad.nn import functional as F
from minigrad.nn.init import constant_
from minigrad.nn.modules.derived import FromFunction
from minigrad.nn.modules.module import Module
from minigrad.nn.parameter import Parameter
from minigrad.ops.creation import empty
from minigrad.runtime.tensor import Tensor


class _Activation(FromFunction):
    """An activation function; `repr` shows `inplace` only if it is True."""

    def extra_repr(self) -> str:
        d = self.__dict__
        names = [name for name in self._fields if name != "inplace" or d[name]]
        return ", ".join(f"{name}={d[name]!r}" for name in names)


class Threshold(_Activation, of=F.threshold, fields="threshold value inplace"):
    """Keep elements above a threshold, and replace all other elements by `value`.

    threshold: Elements that are greater than this value are kept.
    value: Value that replaces each other element.
    inplace: Whether the result is written into the input.

    >>> mg.nn.Threshold(0.5, 9.0)(mg.tensor([0.2, 0.7])).tolist() == [9.0, mg.tensor(0.7).item()]
    True
    """


class ReLU(_Activation, of=F.relu, fields="inplace"):
    """Return max(x, 0)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, self.inplace)


class RReLU(_Activation, of=F.rrelu, fields="lower upper inplace"):
    """Multiply negative elements by a slope, which is random in training mode.

    In training mode, each negative element has its own slope, drawn uniformly between `lower` and `upper`.  In
    evaluation mode, the slope is (lower + upper) / 2.

    Source: Xu, Wang, Chen and Li, Empirical evaluation of rectified activations in convolutional network, 2015.
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class Hardtanh(_Activation, of=F.hardtanh, fields="min_val max_val inplace"):
    """Limit elements to [min_val, max_val]; `min_value` and `max_value` are the older names of the bounds."""

    def __init__(
        self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False, min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:  # fmt: skip
        low, high = min_val if min_value is None else min_value, max_val if max_value is None else max_value
        if not low < high:
            raise ArgumentError(f"Hardtanh: min_val must be less than max_val, got {low} and {high}; pass an interval")
        super().__init__(low, high, inplace)


class ReLU6(_Activation, of=F.relu6, fields="inplace"):
    """Return min(max(x, 0), 6)."""


class Sigmoid(_Activation, of=F.sigmoid):
    """Return 1 / (1 + exp(-x))."""


class Hardsigmoid(_Activation, of=F.hardsigmoid, fields="inplace"):
    """Return x / 6 + 1/2, limited to [0, 1]."""


class Tanh(_Activation, of=F.tanh):
    """Return the hyperbolic tangent."""


class SiLU(_Activation, of=F.silu, fields="inplace"):
    """Return x * sigmoid(x), also called swish."""


class Mish(_Activation, of=F.mish, fields="inplace"):
    """Return x * tanh(softplus(x))."""


class Hardswish(_Activation, of=F.hardswish, fields="inplace"):
    """Return x * min(max(x + 3, 0), 6) / 6."""


class ELU(_Activation, of=F.elu, fields="alpha inplace"):
    """Return x for positive elements, and alpha * (exp(x) - 1) for all others."""


class CELU(_Activation, of=F.celu, fields="alpha inplace"):
    """Return max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0)."""


class SELU(_Activation, of=F.selu, fields="inplace"):
    """Return a scaled ELU that keeps mean 0 and variance 1 in deep networks.

    Source: Klambauer, Unterthiner, Mayr and Hochreiter, Self-normalizing neural networks, 2017.
    """


class GLU(_Activation, of=F.glu, fields="dim"):
    """Return the first half along `dim` times the sigmoid of the second half."""


class GELU(_Activation, of=F.gelu, fields="approximate"):
    """Return x times the standard normal distribution function at x; `approximate="tanh"` selects a faster formula."""


class Hardshrink(_Activation, of=F.hardshrink, fields="lambd"):
    """Replace elements in [-lambd, lambd] by 0."""


class LeakyReLU(_Activation, of=F.leaky_relu, fields="negative_slope inplace"):
    """Return x for positive elements, and negative_slope * x for all other elements."""


class LogSigmoid(_Activation, of=F.logsigmoid):
    """Return log(1 / (1 + exp(-x)))."""


class Softplus(_Activation, of=F.softplus, fields="beta threshold"):
    """Return log(1 + exp(beta * x)) / beta, or x itself where beta * x is greater than the threshold."""


class Softshrink(_Activation, of=F.softshrink, fields="lambd"):
    """Move elements by lambd towards 0; elements in [-lambd, lambd] become 0."""


class PReLU(Module):
    """Return x for positive elements, and weight * x for all other elements; the weight is a parameter.

    num_parameters: Number of weights: 1, or the number of channels (the length of dim 1).
    init: Initial value of the weights.
    device and dtype: Device and dtype of the parameter.
    """

    _shown = "num_parameters"

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to its initial value."""
        constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)


class Softsign(_Activation, of=F.softsign):
    """Return x / (1 + |x|)."""


class Tanhshrink(_Activation, of=F.tanhshrink):
    """Return x - tanh(x)."""


class Softmin(_Activation, of=F.softmin, fields="dim"):
    """Return the softmax of -x along `dim`."""


class Softmax(_Activation, of=F.softmax, fields="dim"):
    """Return exp(x) divided by its sum along `dim`."""


class Softmax2d(Module):
    """Return the softmax over the channels of images (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        Ndim(3, 4, layout="(C, H, W) or (N, C, H, W)").expect("Softmax2d", input=input)
        return F.softmax(input, -3)


class LogSoftmax(_Activation, of=F.log_softmax, fields="dim"):
    """Return the logarithm of the softmax along `dim`."""
