"""The ops of neural networks under PyTorch's names and arguments: `mg.nn.functional.relu(x)`.

Nothing is computed here.  Each name is an op of `minigrad/ops`, so it exists once, has one derivative rule and is
tested with the others; this module is where one who knows `torch.nn.functional` looks for it.  The functions below
read the arguments that exist there only: `inplace`, and a `dim` that is left out.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from minigrad.face.absent import absent
from minigrad.ops import activation
from minigrad.ops import softmax as normalized
from minigrad.ops.activation import log_sigmoid as logsigmoid
from minigrad.ops.activation import sigmoid
from minigrad.ops.composed import elu, gelu, leaky_relu, softplus
from minigrad.ops.convolution import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from minigrad.ops.embedding import embedding
from minigrad.ops.linalg import linear
from minigrad.ops.losses import cross_entropy, nll_loss
from minigrad.ops.norms import layer_norm, rms_norm
from minigrad.ops.pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
)
from minigrad.ops.trigonometry import tanh
from minigrad.runtime.tensor import Tensor, describe, expect_tensors

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d",
    "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cross_entropy", "elu",
    "embedding", "gelu", "layer_norm", "leaky_relu", "linear", "log_softmax", "logsigmoid", "max_pool1d",
    "max_pool2d", "max_pool3d", "nll_loss", "relu", "relu6", "rms_norm", "sigmoid", "silu", "softmax", "softmin",
    "softplus", "tanh",
]  # fmt: skip

if not TYPE_CHECKING:  # a type checker would take every name for one that is there

    def __getattr__(name: str) -> NoReturn:
        """Fail, and say what to write instead of a name that torch.nn.functional has."""
        raise absent(__name__, name)


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """`mg.relu`; inplace: in input's own memory, which is returned."""
    return activation.relu(input, out=input if inplace else None)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """`mg.relu6`; inplace: in input's own memory, which is returned."""
    return activation.relu6(input, out=input if inplace else None)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """`mg.silu`; inplace: in input's own memory, which is returned."""
    return activation.silu(input, out=input if inplace else None)


def softmax(input: Tensor, dim: int | None = None, *, dtype: Any = None) -> Tensor:
    """`mg.softmax`.  Without a dim, 0 is taken for 0, 1 and 3 dims and 1 for others, with a warning, as in PyTorch."""
    return _along(normalized.softmax, input, dim, dtype)


def log_softmax(input: Tensor, dim: int | None = None, *, dtype: Any = None) -> Tensor:
    """`mg.log_softmax`; for a dim that is left out, see `softmax`."""
    return _along(normalized.log_softmax, input, dim, dtype)


def softmin(input: Tensor, dim: int | None = None, *, dtype: Any = None) -> Tensor:
    """softmax(-input); for a dim that is left out, see `softmax`."""
    return _along(normalized.softmin, input, dim, dtype)


def _along(function: Callable[..., Tensor], input: Tensor, dim: int | None, dtype: Any) -> Tensor:
    """A function of rows along a dim, or along the one that PyTorch takes when none is given."""
    expect_tensors(function.__name__, input)
    if dim is None:
        dim = 0 if input.ndim in (0, 1, 3) else 1
        warnings.warn(
            f"{function.__name__}: no dim was given for {describe(input)}, and dim={dim} is taken; write it, for it "
            f"says which elements belong to one sum",
            stacklevel=3,
        )
    return function(input, dim, dtype)
