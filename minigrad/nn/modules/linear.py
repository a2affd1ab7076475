"""Linear and bilinear layers."""

from __future__ import annotations

import math
from typing import Any

from minigrad.nn import functional as F
from minigrad.nn.init import kaiming_uniform_, uniform_
from minigrad.nn.modules.module import Module
from minigrad.nn.parameter import Parameter
from minigrad.ops.creation import empty
from minigrad.runtime.tensor import Tensor


class Linear(Module):
    """Return x @ weight.T + bias.

    in_features and out_features: Lengths of the last dim of the input and of the output.

    >>> layer = mg.nn.Linear(3, 2)
    >>> layer
    Linear(in_features=3, out_features=2, bias=True)
    >>> layer(mg.zeros(5, 3)).shape
    (5, 2)

    Attributes:
        weight (Parameter): Shape (out_features, in_features). The initial values of weight and bias are uniform in [-b,
            b] with b = 1 / sqrt(in_features).
        bias (Parameter or None): Shape (out_features,).
    """

    _sizes = ((0, "in_features", -1),)
    _shown = "in_features out_features bias"

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(empty(out_features, in_features, device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(empty(out_features, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    bias: Any

    def reset_parameters(self) -> None:
        """Draw the initial values of weight and bias."""
        kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features else 0
            uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)


class Bilinear(Module):
    """Return x1 @ weight[k] @ x2 + bias[k] for each output k.

    in1_features, in2_features and out_features: Lengths of the last dims of the two inputs and of the output.
    device and dtype: Device and dtype of the parameters. Their initial values are uniform in [-b, b] with b = 1 /
    sqrt(in1_features).
    """

    bias: Any
    _sizes = ((0, "in1_features", -1), (1, "in2_features", -1))
    _shown = "in1_features in2_features out_features bias"

    def __init__(
        self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = Parameter(empty(out_features, in1_features, in2_features, device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(empty(out_features, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the initial values of weight and bias."""
        bound = 1 / math.sqrt(self.in1_features)
        for p in self.parameters():
            uniform_(p, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)
