"""The ops of neural networks under PyTorch's names: `mg.nn.functional.relu(x)`.

Nothing is computed here.  Each name is an op of `minigrad/ops`, so it exists once, has one derivative rule and is
tested with the others; this module is where one who knows `torch.nn.functional` looks for it.
"""

from __future__ import annotations

from minigrad.ops.activation import log_sigmoid as logsigmoid
from minigrad.ops.activation import relu, sigmoid, silu
from minigrad.ops.composed import elu, gelu, leaky_relu, relu6, softplus
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
from minigrad.ops.softmax import log_softmax, softmax, softmin
from minigrad.ops.trigonometry import tanh

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d",
    "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cross_entropy", "elu",
    "embedding", "gelu", "layer_norm", "leaky_relu", "linear", "log_softmax", "logsigmoid", "max_pool1d",
    "max_pool2d", "max_pool3d", "nll_loss", "relu", "relu6", "rms_norm", "sigmoid", "silu", "softmax", "softmin",
    "softplus", "tanh",
]  # fmt: skip
