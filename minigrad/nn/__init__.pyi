"""The names of minigrad.nn.  Written by `python -m minigrad.cli.stubs`."""

import builtins
from collections.abc import Iterator, Sequence
from typing import Any

from minigrad.autodiff.grads import GradStore
from minigrad.core.dtype import DType
from minigrad.runtime.tensor import Tensor
from minigrad.nn.modules.adaptive import AdaptiveLogSoftmaxWithLoss as AdaptiveLogSoftmaxWithLoss
from minigrad.nn.modules.batchnorm import BatchNorm1d as BatchNorm1d
from minigrad.nn.modules.batchnorm import BatchNorm2d as BatchNorm2d
from minigrad.nn.modules.batchnorm import BatchNorm3d as BatchNorm3d
from minigrad.nn.modules.linear import Bilinear as Bilinear
from minigrad.nn.parameter import Buffer as Buffer
from minigrad.nn.modules.rearranging import CircularPad1d as CircularPad1d
from minigrad.nn.modules.rearranging import CircularPad2d as CircularPad2d
from minigrad.nn.modules.rearranging import CircularPad3d as CircularPad3d
from minigrad.nn.modules.rearranging import ConstantPad1d as ConstantPad1d
from minigrad.nn.modules.rearranging import ConstantPad2d as ConstantPad2d
from minigrad.nn.modules.rearranging import ConstantPad3d as ConstantPad3d
from minigrad.nn.modules.conv import Conv1d as Conv1d
from minigrad.nn.modules.conv import Conv2d as Conv2d
from minigrad.nn.modules.conv import Conv3d as Conv3d
from minigrad.nn.modules.conv import ConvTranspose1d as ConvTranspose1d
from minigrad.nn.modules.conv import ConvTranspose2d as ConvTranspose2d
from minigrad.nn.modules.conv import ConvTranspose3d as ConvTranspose3d
from minigrad.nn.modules.data_parallel import DataParallel as DataParallel
from minigrad.nn.modules.embedding import Embedding as Embedding
from minigrad.nn.modules.embedding import EmbeddingBag as EmbeddingBag
from minigrad.nn.modules.rearranging import Flatten as Flatten
from minigrad.nn.modules.recurrent import GRU as GRU
from minigrad.nn.modules.cells import GRUCell as GRUCell
from minigrad.nn.modules.normalization import GroupNorm as GroupNorm
from minigrad.nn.modules.containers import Identity as Identity
from minigrad.nn.modules.batchnorm import InstanceNorm1d as InstanceNorm1d
from minigrad.nn.modules.batchnorm import InstanceNorm2d as InstanceNorm2d
from minigrad.nn.modules.batchnorm import InstanceNorm3d as InstanceNorm3d
from minigrad.nn.modules.recurrent import LSTM as LSTM
from minigrad.nn.modules.cells import LSTMCell as LSTMCell
from minigrad.nn.modules.normalization import LayerNorm as LayerNorm
from minigrad.nn.modules.linear import Linear as Linear
from minigrad.nn.modules.loss import LinearCrossEntropyLoss as LinearCrossEntropyLoss
from minigrad.nn.modules.module import Module as Module
from minigrad.nn.modules.containers import ModuleDict as ModuleDict
from minigrad.nn.modules.containers import ModuleList as ModuleList
from minigrad.nn.modules.attention import MultiheadAttention as MultiheadAttention
from minigrad.nn.modules.activation import PReLU as PReLU
from minigrad.nn.parameter import Parameter as Parameter
from minigrad.nn.modules.parameter_containers import ParameterDict as ParameterDict
from minigrad.nn.modules.parameter_containers import ParameterList as ParameterList
from minigrad.nn.modules.normalization import RMSNorm as RMSNorm
from minigrad.nn.modules.recurrent import RNN as RNN
from minigrad.nn.modules.recurrent import RNNBase as RNNBase
from minigrad.nn.modules.cells import RNNCell as RNNCell
from minigrad.nn.modules.cells import RNNCellBase as RNNCellBase
from minigrad.nn.modules.rearranging import ReflectionPad1d as ReflectionPad1d
from minigrad.nn.modules.rearranging import ReflectionPad2d as ReflectionPad2d
from minigrad.nn.modules.rearranging import ReflectionPad3d as ReflectionPad3d
from minigrad.nn.modules.rearranging import ReplicationPad1d as ReplicationPad1d
from minigrad.nn.modules.rearranging import ReplicationPad2d as ReplicationPad2d
from minigrad.nn.modules.rearranging import ReplicationPad3d as ReplicationPad3d
from minigrad.nn.modules.containers import Sequential as Sequential
from minigrad.nn.modules.activation import Softmax2d as Softmax2d
from minigrad.dist.sync_batchnorm import SyncBatchNorm as SyncBatchNorm
from minigrad.nn.modules.transformer import Transformer as Transformer
from minigrad.nn.modules.transformer import TransformerDecoder as TransformerDecoder
from minigrad.nn.modules.transformer import TransformerDecoderLayer as TransformerDecoderLayer
from minigrad.nn.modules.transformer import TransformerEncoder as TransformerEncoder
from minigrad.nn.modules.transformer import TransformerEncoderLayer as TransformerEncoderLayer
from minigrad.nn.modules.rearranging import Unflatten as Unflatten
from minigrad.nn.parameter import UninitializedBuffer as UninitializedBuffer
from minigrad.nn.parameter import UninitializedParameter as UninitializedParameter
from minigrad.nn.modules.rearranging import ZeroPad1d as ZeroPad1d
from minigrad.nn.modules.rearranging import ZeroPad2d as ZeroPad2d
from minigrad.nn.modules.rearranging import ZeroPad3d as ZeroPad3d
from minigrad.nn import attention as attention
from minigrad.nn import functional as functional
from minigrad.nn import grad as grad
from minigrad.nn import init as init
from minigrad.nn import modules as modules
from minigrad.nn import parallel as parallel
from minigrad.nn import parameter as parameter
from minigrad.nn import utils as utils
__version__: str


class AdaptiveAvgPool1d(Module):
    """Return the mean of each of `output_size` windows along the last dim."""
    output_size: Any
    def __init__(self, output_size: Any) -> None: ...

class AdaptiveAvgPool2d(Module):
    """Return the mean of each window of images, where `output_size` specifies the number of windows per dim."""
    output_size: Any
    def __init__(self, output_size: Any) -> None: ...

class AdaptiveAvgPool3d(Module):
    """Return the mean of each of `output_size` windows of volumes; None leaves a dim as it is."""
    output_size: Any
    def __init__(self, output_size: Any) -> None: ...

class AdaptiveMaxPool1d(Module):
    """Return the largest element of each of `output_size` windows along the last dim."""
    output_size: Any
    return_indices: builtins.bool
    def __init__(self, output_size: Any, return_indices: builtins.bool = ...) -> None: ...

class AdaptiveMaxPool2d(Module):
    """Return the largest element of each of `output_size` windows of images; None leaves a dim as it is."""
    output_size: Any
    return_indices: builtins.bool
    def __init__(self, output_size: Any, return_indices: builtins.bool = ...) -> None: ...

class AdaptiveMaxPool3d(Module):
    """Return the largest element of each of `output_size` windows of volumes; None leaves a dim as it is."""
    output_size: Any
    return_indices: builtins.bool
    def __init__(self, output_size: Any, return_indices: builtins.bool = ...) -> None: ...

class AlphaDropout(Module):
    """Apply dropout that preserves mean 0 and variance 1; used with SELU."""
    p: builtins.float
    inplace: builtins.bool
    def __init__(self, p: builtins.float = ..., inplace: builtins.bool = ...) -> None: ...

class AvgPool1d(Module):
    """Return the mean of each window along the last dim."""
    kernel_size: builtins.int | Sequence[builtins.int]
    stride: builtins.int | Sequence[builtins.int] | None
    padding: builtins.int | Sequence[builtins.int]
    ceil_mode: builtins.bool
    count_include_pad: builtins.bool
    def __init__(self, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = ..., padding: builtins.int | Sequence[builtins.int] = ..., ceil_mode: builtins.bool = ..., count_include_pad: builtins.bool = ...) -> None: ...

class AvgPool2d(Module):
    """Return the mean of each window of images; `divisor_override` is the divisor of the sum, if it is given."""
    kernel_size: builtins.int | Sequence[builtins.int]
    stride: builtins.int | Sequence[builtins.int] | None
    padding: builtins.int | Sequence[builtins.int]
    ceil_mode: builtins.bool
    count_include_pad: builtins.bool
    divisor_override: builtins.int | None
    def __init__(self, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = ..., padding: builtins.int | Sequence[builtins.int] = ..., ceil_mode: builtins.bool = ..., count_include_pad: builtins.bool = ..., divisor_override: builtins.int | None = ...) -> None: ...

class AvgPool3d(Module):
    """Return the mean of each window of volumes; `divisor_override` is the divisor of the sum, if it is given."""
    kernel_size: builtins.int | Sequence[builtins.int]
    stride: builtins.int | Sequence[builtins.int] | None
    padding: builtins.int | Sequence[builtins.int]
    ceil_mode: builtins.bool
    count_include_pad: builtins.bool
    divisor_override: builtins.int | None
    def __init__(self, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = ..., padding: builtins.int | Sequence[builtins.int] = ..., ceil_mode: builtins.bool = ..., count_include_pad: builtins.bool = ..., divisor_override: builtins.int | None = ...) -> None: ...

class BCELoss(Module):
    """Return the cross entropy of probabilities and targets, both from 0 to 1; `weight` is a factor per element."""
    weight: Tensor | None
    size_average: builtins.bool | None
    reduce: builtins.bool | None
    reduction: builtins.str
    def __init__(self, weight: Tensor | None = ..., size_average: builtins.bool | None = ..., reduce: builtins.bool | None = ..., reduction: builtins.str = ...) -> None: ...

class BCEWithLogitsLoss(Module):
    """Return BCELoss of sigmoid(input), without overflow; `pos_weight` is the factor of positive targets per class."""
    weight: Tensor | None
    size_average: builtins.bool | None
    reduce: builtins.bool | None
    reduction: builtins.str
    pos_weight: Tensor | None
    def __init__(self, weight: Tensor | None = ..., size_average: builtins.bool | None = ..., reduce: builtins.bool | None = ..., reduction: builtins.str = ..., pos_weight: Tensor | None = ...) -> None: ...

class CELU(Module):
    """Return max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0)."""
    alpha: builtins.float
    inplace: builtins.bool
    def __init__(self, alpha: builtins.float = ..., inplace: builtins.bool = ...) -> None: ...

class CTCLoss(Module):
    """Return the CTC loss: minus the logarithm of the total probability of all alignments with the target labels."""
    blank: builtins.int
    reduction: builtins.str
    zero_infinity: builtins.bool
    def __init__(self, blank: builtins.int = ..., reduction: builtins.str = ..., zero_infinity: builtins.bool = ...) -> None: ...

class ChannelShuffle(Module):
    """Interleave the channels: channel k of group g becomes channel g of group k."""
    groups: builtins.int
    def __init__(self, groups: builtins.int) -> None: ...

class CosineEmbeddingLoss(Module):
    """Return 1 - cos(input1, input2) where the target is 1, and max(0, cos - margin) where the target is -1."""
    margin: builtins.float
    size_average: builtins.bool | None
    reduce: builtins.bool | None
    reduction: builtins.str
    def __init__(self, margin: builtins.float = ..., size_average: builtins.bool | None = ..., reduce: builtins.bool | None = ..., reduction: builtins.str = ...) -> None: ...

class CosineSimilarity(Module):
    """Return the cosine of the angle between vectors along `dim`; `eps` is the lower bound of their norms."""
    dim: builtins.int
    eps: builtins.float
    def __init__(self, dim: builtins.int = ..., eps: builtins.float = ...) -> None: ...

class CrossEntropyLoss(Module):
    """Return the cross entropy of logits (N, C, ...) and targets: classes (N, ...) or probabilities (N, C, ...)."""
    weight: Tensor | None
    size_average: builtins.bool | None
    ignore_index: builtins.int
    reduce: builtins.bool | None
    reduction: builtins.str
    label_smoothing: builtins.float
    def __init__(self, weight: Tensor | None = ..., size_average: builtins.bool | None = ..., ignore_index: builtins.int = ..., reduce: builtins.bool | None = ..., reduction: builtins.str = ..., label_smoothing: builtins.float = ...) -> None: ...

class Dropout(Module):
    """Set each element to 0 with probability p, and divide the other elements by 1 - p."""
    p: builtins.float
    inplace: builtins.bool
    def __init__(self, p: builtins.float = ..., inplace: builtins.bool = ...) -> None: ...

class Dropout1d(Module):
    """Apply `Dropout` to whole channels of (N, C, L) or (C, L)."""
    p: builtins.float
    inplace: builtins.bool
    def __init__(self, p: builtins.float = ..., inplace: builtins.bool = ...) -> None: ...

class Dropout2d(Module):
    """Apply `Dropout` to whole channels of (N, C, H, W)."""
    p: builtins.float
    inplace: builtins.bool
    def __init__(self, p: builtins.float = ..., inplace: builtins.bool = ...) -> None: ...

class Dropout3d(Module):
    """Apply `Dropout` to whole channels of (N, C, D, H, W) or (C, D, H, W)."""
    p: builtins.float
    inplace: builtins.bool
    def __init__(self, p: builtins.float = ..., inplace: builtins.bool = ...) -> None: ...

class ELU(Module):
    """Return x for positive elements, and alpha * (exp(x) - 1) for all others."""
    alpha: builtins.float
    inplace: builtins.bool
    def __init__(self, alpha: builtins.float = ..., inplace: builtins.bool = ...) -> None: ...

class FeatureAlphaDropout(Module):
    """Apply `AlphaDropout` to whole channels."""
    p: builtins.float
    inplace: builtins.bool
    def __init__(self, p: builtins.float = ..., inplace: builtins.bool = ...) -> None: ...

class Fold(Module):
    """Sum the windows of `Unfold` into images of size `output_size`."""
    output_size: Any
    kernel_size: Any
    dilation: Any
    padding: Any
    stride: Any
    def __init__(self, output_size: Any, kernel_size: Any, dilation: Any = ..., padding: Any = ..., stride: Any = ...) -> None: ...

class FractionalMaxPool2d(Module):
    """Return the largest element of each of `output_size` windows of images, at random positions."""
    kernel_size: Any
    output_size: Any
    output_ratio: Any
    return_indices: builtins.bool
    _random_samples: Tensor | None
    def __init__(self, kernel_size: Any, output_size: Any = ..., output_ratio: Any = ..., return_indices: builtins.bool = ..., _random_samples: Tensor | None = ...) -> None: ...

class FractionalMaxPool3d(Module):
    """Return the largest element of each of `output_size` windows of volumes; see `FractionalMaxPool2d`."""
    kernel_size: Any
    output_size: Any
    output_ratio: Any
    return_indices: builtins.bool
    _random_samples: Tensor | None
    def __init__(self, kernel_size: Any, output_size: Any = ..., output_ratio: Any = ..., return_indices: builtins.bool = ..., _random_samples: Tensor | None = ...) -> None: ...

class GELU(Module):
    """Return x times the standard normal distribution function at x; `approximate="tanh"` selects a faster formula."""
    approximate: builtins.str
    def __init__(self, approximate: builtins.str = ...) -> None: ...

class GLU(Module):
    """Return the first half along `dim` times the sigmoid of the second half."""
    dim: builtins.int
    def __init__(self, dim: builtins.int = ...) -> None: ...

class GaussianNLLLoss(Module):
    """Return the negative log likelihood of targets under normal distributions."""
    full: builtins.bool
    eps: builtins.float
    reduction: builtins.str
    def __init__(self, *, full: builtins.bool = ..., eps: builtins.float = ..., reduction: builtins.str = ...) -> None: ...

class Hardshrink(Module):
    """Replace elements in [-lambd, lambd] by 0."""
    lambd: builtins.float
    def __init__(self, lambd: builtins.float = ...) -> None: ...

class Hardsigmoid(Module):
    """Return x / 6 + 1/2, limited to [0, 1]."""
    inplace: builtins.bool
    def __init__(self, inplace: builtins.bool = ...) -> None: ...

class Hardswish(Module):
    """Return x * min(max(x + 3, 0), 6) / 6."""
    inplace: builtins.bool
    def __init__(self, inplace: builtins.bool = ...) -> None: ...

class Hardtanh(Module):
    """Limit elements to [min_val, max_val]; `min_value` and `max_value` are the older names of the bounds."""
    min_val: builtins.float
    max_val: builtins.float
    inplace: builtins.bool
    min_value: builtins.float | None
    max_value: builtins.float | None
    def __init__(self, min_val: builtins.float = ..., max_val: builtins.float = ..., inplace: builtins.bool = ..., min_value: builtins.float | None = ..., max_value: builtins.float | None = ...) -> None: ...

class HingeEmbeddingLoss(Module):
    """Return the input where the target is 1, and max(0, margin - input) where the target is -1."""
    margin: builtins.float
    size_average: builtins.bool | None
    reduce: builtins.bool | None
    reduction: builtins.str
    def __init__(self, margin: builtins.float = ..., size_average: builtins.bool | None = ..., reduce: builtins.bool | None = ..., reduction: builtins.str = ...) -> None: ...

class HuberLoss(Module):
    """Return d**2 / 2 where |d| < delta, and delta * (|d| - delta / 2) otherwise, with d = input - target."""
    reduction: builtins.str
    delta: builtins.float
    def __init__(self, reduction: builtins.str = ..., delta: builtins.float = ...) -> None: ...

class KLDivLoss(Module):
    """Return the Kullback-Leibler divergence: the mean or sum of target * (log(target) - input)."""
    size_average: builtins.bool | None
    reduce: builtins.bool | None
    reduction: builtins.str
    log_target: builtins.bool
    def __init__(self, size_average: builtins.bool | None = ..., reduce: builtins.bool | None = ..., reduction: builtins.str = ..., log_target: builtins.bool = ...) -> None: ...

class L1Loss(Module):
    """Return the mean of |input - target|."""
    size_average: builtins.bool | None
    reduce: builtins.bool | None
    reduction: builtins.str
    def __init__(self, size_average: builtins.bool | None = ..., reduce: builtins.bool | None = ..., reduction: builtins.str = ...) -> None: ...

class LPPool1d(Module):
    """Return the p-norm of each window along the last dim; p is `norm_type`."""
    norm_type: builtins.float
    kernel_size: builtins.int | Sequence[builtins.int]
    stride: builtins.int | Sequence[builtins.int] | None
    ceil_mode: builtins.bool
    def __init__(self, norm_type: builtins.float, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = ..., ceil_mode: builtins.bool = ...) -> None: ...

class LPPool2d(Module):
    """Return the p-norm of each window of images; p is `norm_type`."""
    norm_type: builtins.float
    kernel_size: builtins.int | Sequence[builtins.int]
    stride: builtins.int | Sequence[builtins.int] | None
    ceil_mode: builtins.bool
    def __init__(self, norm_type: builtins.float, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = ..., ceil_mode: builtins.bool = ...) -> None: ...

class LPPool3d(Module):
    """Return the p-norm of each window of volumes; p is `norm_type`."""
    norm_type: builtins.float
    kernel_size: builtins.int | Sequence[builtins.int]
    stride: builtins.int | Sequence[builtins.int] | None
    ceil_mode: builtins.bool
    def __init__(self, norm_type: builtins.float, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = ..., ceil_mode: builtins.bool = ...) -> None: ...

class LazyBatchNorm1d(Module):
    """`BatchNorm1d` whose `num_features` is read from the first input."""
    eps: builtins.float
    momentum: builtins.float | None
    affine: builtins.bool
    track_running_stats: builtins.bool
    device: Any
    dtype: Any
    bias: builtins.bool
    def __init__(self, eps: builtins.float = ..., momentum: builtins.float | None = ..., affine: builtins.bool = ..., track_running_stats: builtins.bool = ..., device: Any = ..., dtype: Any = ..., *, bias: builtins.bool = ...) -> None: ...

class LazyBatchNorm2d(Module):
    """`BatchNorm2d` whose `num_features` is read from the first input."""
    eps: builtins.float
    momentum: builtins.float | None
    affine: builtins.bool
    track_running_stats: builtins.bool
    device: Any
    dtype: Any
    bias: builtins.bool
    def __init__(self, eps: builtins.float = ..., momentum: builtins.float | None = ..., affine: builtins.bool = ..., track_running_stats: builtins.bool = ..., device: Any = ..., dtype: Any = ..., *, bias: builtins.bool = ...) -> None: ...

class LazyBatchNorm3d(Module):
    """`BatchNorm3d` whose `num_features` is read from the first input."""
    eps: builtins.float
    momentum: builtins.float | None
    affine: builtins.bool
    track_running_stats: builtins.bool
    device: Any
    dtype: Any
    bias: builtins.bool
    def __init__(self, eps: builtins.float = ..., momentum: builtins.float | None = ..., affine: builtins.bool = ..., track_running_stats: builtins.bool = ..., device: Any = ..., dtype: Any = ..., *, bias: builtins.bool = ...) -> None: ...

class LazyConv1d(Module):
    """`Conv1d` whose `in_channels` is read from the first input."""
    out_channels: builtins.int
    kernel_size: Any
    stride: Any
    padding: Any
    dilation: Any
    groups: builtins.int
    bias: builtins.bool
    padding_mode: builtins.str
    device: Any
    dtype: Any
    def __init__(self, out_channels: builtins.int, kernel_size: Any, stride: Any = ..., padding: Any = ..., dilation: Any = ..., groups: builtins.int = ..., bias: builtins.bool = ..., padding_mode: builtins.str = ..., device: Any = ..., dtype: Any = ...) -> None: ...

class LazyConv2d(Module):
    """`Conv2d` whose `in_channels` is read from the first input."""
    out_channels: builtins.int
    kernel_size: Any
    stride: Any
    padding: Any
    dilation: Any
    groups: builtins.int
    bias: builtins.bool
    padding_mode: builtins.str
    device: Any
    dtype: Any
    def __init__(self, out_channels: builtins.int, kernel_size: Any, stride: Any = ..., padding: Any = ..., dilation: Any = ..., groups: builtins.int = ..., bias: builtins.bool = ..., padding_mode: builtins.str = ..., device: Any = ..., dtype: Any = ...) -> None: ...

class LazyConv3d(Module):
    """`Conv3d` whose `in_channels` is read from the first input."""
    out_channels: builtins.int
    kernel_size: Any
    stride: Any
    padding: Any
    dilation: Any
    groups: builtins.int
    bias: builtins.bool
    padding_mode: builtins.str
    device: Any
    dtype: Any
    def __init__(self, out_channels: builtins.int, kernel_size: Any, stride: Any = ..., padding: Any = ..., dilation: Any = ..., groups: builtins.int = ..., bias: builtins.bool = ..., padding_mode: builtins.str = ..., device: Any = ..., dtype: Any = ...) -> None: ...

class LazyConvTranspose1d(Module):
    """`ConvTranspose1d` whose `in_channels` is read from the first input."""
    out_channels: builtins.int
    kernel_size: Any
    stride: Any
    padding: Any
    output_padding: Any
    groups: builtins.int
    bias: builtins.bool
    dilation: Any
    padding_mode: builtins.str
    device: Any
    dtype: Any
    def __init__(self, out_channels: builtins.int, kernel_size: Any, stride: Any = ..., padding: Any = ..., output_padding: Any = ..., groups: builtins.int = ..., bias: builtins.bool = ..., dilation: Any = ..., padding_mode: builtins.str = ..., device: Any = ..., dtype: Any = ...) -> None: ...

class LazyConvTranspose2d(Module):
    """`ConvTranspose2d` whose `in_channels` is read from the first input."""
    out_channels: builtins.int
    kernel_size: Any
    stride: Any
    padding: Any
    output_padding: Any
    groups: builtins.int
    bias: builtins.bool
    dilation: Any
    padding_mode: builtins.str
    device: Any
    dtype: Any
    def __init__(self, out_channels: builtins.int, kernel_size: Any, stride: Any = ..., padding: Any = ..., output_padding: Any = ..., groups: builtins.int = ..., bias: builtins.bool = ..., dilation: Any = ..., padding_mode: builtins.str = ..., device: Any = ..., dtype: Any = ...) -> None: ...

class LazyConvTranspose3d(Module):
    """`ConvTranspose3d` whose `in_channels` is read from the first input."""
    out_channels: builtins.int
    kernel_size: Any
    stride: Any
    padding: Any
    output_padding: Any
    groups: builtins.int
    bias: builtins.bool
    dilation: Any
    padding_mode: builtins.str
    device: Any
    dtype: Any
    def __init__(self, out_channels: builtins.int, kernel_size: Any, stride: Any = ..., padding: Any = ..., output_padding: Any = ..., groups: builtins.int = ..., bias: builtins.bool = ..., dilation: Any = ..., padding_mode: builtins.str = ..., device: Any = ..., dtype: Any = ...) -> None: ...

class LazyInstanceNorm1d(Module):
    """`InstanceNorm1d` with parameters and running statistics, whose `num_features` is read from the first input."""
    eps: builtins.float
    momentum: builtins.float
    affine: builtins.bool
    track_running_stats: builtins.bool
    device: Any
    dtype: Any
    bias: builtins.bool
    def __init__(self, eps: builtins.float = ..., momentum: builtins.float = ..., affine: builtins.bool = ..., track_running_stats: builtins.bool = ..., device: Any = ..., dtype: Any = ..., *, bias: builtins.bool = ...) -> None: ...

class LazyInstanceNorm2d(Module):
    """`InstanceNorm2d` with parameters and running statistics, whose `num_features` is read from the first input."""
    eps: builtins.float
    momentum: builtins.float
    affine: builtins.bool
    track_running_stats: builtins.bool
    device: Any
    dtype: Any
    bias: builtins.bool
    def __init__(self, eps: builtins.float = ..., momentum: builtins.float = ..., affine: builtins.bool = ..., track_running_stats: builtins.bool = ..., device: Any = ..., dtype: Any = ..., *, bias: builtins.bool = ...) -> None: ...

class LazyInstanceNorm3d(Module):
    """`InstanceNorm3d` with parameters and running statistics, whose `num_features` is read from the first input."""
    eps: builtins.float
    momentum: builtins.float
    affine: builtins.bool
    track_running_stats: builtins.bool
    device: Any
    dtype: Any
    bias: builtins.bool
    def __init__(self, eps: builtins.float = ..., momentum: builtins.float = ..., affine: builtins.bool = ..., track_running_stats: builtins.bool = ..., device: Any = ..., dtype: Any = ..., *, bias: builtins.bool = ...) -> None: ...

class LazyLinear(Module):
    """Create a `Linear` whose `in_features` is the length of the last dim of the first input."""
    out_features: builtins.int
    bias: builtins.bool
    device: Any
    dtype: Any
    def __init__(self, out_features: builtins.int, bias: builtins.bool = ..., device: Any = ..., dtype: Any = ...) -> None: ...

class LeakyReLU(Module):
    """Return x for positive elements, and negative_slope * x for all other elements."""
    negative_slope: builtins.float
    inplace: builtins.bool
    def __init__(self, negative_slope: builtins.float = ..., inplace: builtins.bool = ...) -> None: ...

class LocalResponseNorm(Module):
    """Divide by (k + alpha * mean of the squares of `size` neighboring channels) ** beta."""
    size: builtins.int
    alpha: builtins.float
    beta: builtins.float
    k: builtins.float
    def __init__(self, size: builtins.int, alpha: builtins.float = ..., beta: builtins.float = ..., k: builtins.float = ...) -> None: ...

class LogSigmoid(Module):
    """Return log(1 / (1 + exp(-x)))."""
    def __init__(self) -> None: ...

class LogSoftmax(Module):
    """Return the logarithm of the softmax along `dim`."""
    dim: builtins.int | None
    def __init__(self, dim: builtins.int | None = ...) -> None: ...

class MSELoss(Module):
    """Return the mean of (input - target)**2."""
    size_average: builtins.bool | None
    reduce: builtins.bool | None
    reduction: builtins.str
    def __init__(self, size_average: builtins.bool | None = ..., reduce: builtins.bool | None = ..., reduction: builtins.str = ...) -> None: ...

class MarginRankingLoss(Module):
    """Return max(0, -target * (input1 - input2) + margin) for (input1, input2, target)."""
    margin: builtins.float
    size_average: builtins.bool | None
    reduce: builtins.bool | None
    reduction: builtins.str
    def __init__(self, margin: builtins.float = ..., size_average: builtins.bool | None = ..., reduce: builtins.bool | None = ..., reduction: builtins.str = ...) -> None: ...

class MaxPool1d(Module):
    """Return the largest element of each window along the last dim."""
    kernel_size: builtins.int | Sequence[builtins.int]
    stride: builtins.int | Sequence[builtins.int] | None
    padding: builtins.int | Sequence[builtins.int]
    dilation: builtins.int | Sequence[builtins.int]
    return_indices: builtins.bool
    ceil_mode: builtins.bool
    def __init__(self, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = ..., padding: builtins.int | Sequence[builtins.int] = ..., dilation: builtins.int | Sequence[builtins.int] = ..., return_indices: builtins.bool = ..., ceil_mode: builtins.bool = ...) -> None: ...

class MaxPool2d(Module):
    """Return the largest element of each window of images; the arguments are the same as for `MaxPool1d`."""
    kernel_size: builtins.int | Sequence[builtins.int]
    stride: builtins.int | Sequence[builtins.int] | None
    padding: builtins.int | Sequence[builtins.int]
    dilation: builtins.int | Sequence[builtins.int]
    return_indices: builtins.bool
    ceil_mode: builtins.bool
    def __init__(self, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = ..., padding: builtins.int | Sequence[builtins.int] = ..., dilation: builtins.int | Sequence[builtins.int] = ..., return_indices: builtins.bool = ..., ceil_mode: builtins.bool = ...) -> None: ...

class MaxPool3d(Module):
    """Return the largest element of each window of volumes; the arguments are the same as for `MaxPool1d`."""
    kernel_size: builtins.int | Sequence[builtins.int]
    stride: builtins.int | Sequence[builtins.int] | None
    padding: builtins.int | Sequence[builtins.int]
    dilation: builtins.int | Sequence[builtins.int]
    return_indices: builtins.bool
    ceil_mode: builtins.bool
    def __init__(self, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = ..., padding: builtins.int | Sequence[builtins.int] = ..., dilation: builtins.int | Sequence[builtins.int] = ..., return_indices: builtins.bool = ..., ceil_mode: builtins.bool = ...) -> None: ...

class MaxUnpool1d(Module):
    """Return zeros with the results of `MaxPool1d` at their indices; the module is called with (input, indices)."""
    kernel_size: builtins.int | Sequence[builtins.int]
    stride: builtins.int | Sequence[builtins.int] | None
    padding: builtins.int | Sequence[builtins.int]
    def __init__(self, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = ..., padding: builtins.int | Sequence[builtins.int] = ...) -> None: ...

class MaxUnpool2d(Module):
    """Return zeros with the results of `MaxPool2d` at their indices; the module is called with (input, indices)."""
    kernel_size: builtins.int | Sequence[builtins.int]
    stride: builtins.int | Sequence[builtins.int] | None
    padding: builtins.int | Sequence[builtins.int]
    def __init__(self, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = ..., padding: builtins.int | Sequence[builtins.int] = ...) -> None: ...

class MaxUnpool3d(Module):
    """Return zeros with the results of `MaxPool3d` at their indices; the module is called with (input, indices)."""
    kernel_size: builtins.int | Sequence[builtins.int]
    stride: builtins.int | Sequence[builtins.int] | None
    padding: builtins.int | Sequence[builtins.int]
    def __init__(self, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = ..., padding: builtins.int | Sequence[builtins.int] = ...) -> None: ...

class Mish(Module):
    """Return x * tanh(softplus(x))."""
    inplace: builtins.bool
    def __init__(self, inplace: builtins.bool = ...) -> None: ...

class MultiLabelMarginLoss(Module):
    """Return the hinge loss between each target class and every other class; a target of -1 ends the list."""
    size_average: builtins.bool | None
    reduce: builtins.bool | None
    reduction: builtins.str
    def __init__(self, size_average: builtins.bool | None = ..., reduce: builtins.bool | None = ..., reduction: builtins.str = ...) -> None: ...

class MultiLabelSoftMarginLoss(Module):
    """Return the mean over the classes of the binary cross entropy of sigmoid(input)."""
    weight: Tensor | None
    size_average: builtins.bool | None
    reduce: builtins.bool | None
    reduction: builtins.str
    def __init__(self, weight: Tensor | None = ..., size_average: builtins.bool | None = ..., reduce: builtins.bool | None = ..., reduction: builtins.str = ...) -> None: ...

class MultiMarginLoss(Module):
    """Return the hinge loss, to the power of p, between the target class and every other class."""
    p: builtins.int
    margin: builtins.float
    weight: Tensor | None
    size_average: builtins.bool | None
    reduce: builtins.bool | None
    reduction: builtins.str
    def __init__(self, p: builtins.int = ..., margin: builtins.float = ..., weight: Tensor | None = ..., size_average: builtins.bool | None = ..., reduce: builtins.bool | None = ..., reduction: builtins.str = ...) -> None: ...

class NLLLoss(Module):
    """Return the mean of -input[target]: log probabilities (N, C, ...) and target classes (N, ...)."""
    weight: Tensor | None
    size_average: builtins.bool | None
    ignore_index: builtins.int
    reduce: builtins.bool | None
    reduction: builtins.str
    def __init__(self, weight: Tensor | None = ..., size_average: builtins.bool | None = ..., ignore_index: builtins.int = ..., reduce: builtins.bool | None = ..., reduction: builtins.str = ...) -> None: ...

class NLLLoss2d(Module):
    """Return the negative log likelihood of images; this is an old name of `NLLLoss`."""
    weight: Tensor | None
    size_average: builtins.bool | None
    ignore_index: builtins.int
    reduce: builtins.bool | None
    reduction: builtins.str
    def __init__(self, weight: Tensor | None = ..., size_average: builtins.bool | None = ..., ignore_index: builtins.int = ..., reduce: builtins.bool | None = ..., reduction: builtins.str = ...) -> None: ...

class PairwiseDistance(Module):
    """Return the p-norm of x1 - x2 + eps along the last dim."""
    p: builtins.float
    eps: builtins.float
    keepdim: builtins.bool
    def __init__(self, p: builtins.float = ..., eps: builtins.float = ..., keepdim: builtins.bool = ...) -> None: ...

class PixelShuffle(Module):
    """Move channels to pixels: (N, C * r * r, H, W) becomes (N, C, H * r, W * r)."""
    upscale_factor: builtins.int
    def __init__(self, upscale_factor: builtins.int) -> None: ...

class PixelUnshuffle(Module):
    """Move pixels to channels; this is the inverse of `PixelShuffle`."""
    downscale_factor: builtins.int
    def __init__(self, downscale_factor: builtins.int) -> None: ...

class PoissonNLLLoss(Module):
    """Return the negative log likelihood of counts under a Poisson distribution."""
    log_input: builtins.bool
    full: builtins.bool
    size_average: builtins.bool | None
    eps: builtins.float
    reduce: builtins.bool | None
    reduction: builtins.str
    def __init__(self, log_input: builtins.bool = ..., full: builtins.bool = ..., size_average: builtins.bool | None = ..., eps: builtins.float = ..., reduce: builtins.bool | None = ..., reduction: builtins.str = ...) -> None: ...

class RReLU(Module):
    """Multiply negative elements by a slope, which is random in training mode."""
    lower: builtins.float
    upper: builtins.float
    inplace: builtins.bool
    def __init__(self, lower: builtins.float = ..., upper: builtins.float = ..., inplace: builtins.bool = ...) -> None: ...

class ReLU(Module):
    """Return max(x, 0)."""
    inplace: builtins.bool
    def __init__(self, inplace: builtins.bool = ...) -> None: ...

class ReLU6(Module):
    """Return min(max(x, 0), 6)."""
    inplace: builtins.bool
    def __init__(self, inplace: builtins.bool = ...) -> None: ...

class SELU(Module):
    """Return a scaled ELU that keeps mean 0 and variance 1 in deep networks."""
    inplace: builtins.bool
    def __init__(self, inplace: builtins.bool = ...) -> None: ...

class SiLU(Module):
    """Return x * sigmoid(x), also called swish."""
    inplace: builtins.bool
    def __init__(self, inplace: builtins.bool = ...) -> None: ...

class Sigmoid(Module):
    """Return 1 / (1 + exp(-x))."""
    def __init__(self) -> None: ...

class SmoothL1Loss(Module):
    """Return d**2 / (2 * beta) where |d| < beta, and |d| - beta / 2 otherwise, with d = input - target."""
    size_average: builtins.bool | None
    reduce: builtins.bool | None
    reduction: builtins.str
    beta: builtins.float
    def __init__(self, size_average: builtins.bool | None = ..., reduce: builtins.bool | None = ..., reduction: builtins.str = ..., beta: builtins.float = ...) -> None: ...

class SoftMarginLoss(Module):
    """Return log(1 + exp(-target * input)) for targets of 1 and -1."""
    size_average: builtins.bool | None
    reduce: builtins.bool | None
    reduction: builtins.str
    def __init__(self, size_average: builtins.bool | None = ..., reduce: builtins.bool | None = ..., reduction: builtins.str = ...) -> None: ...

class Softmax(Module):
    """Return exp(x) divided by its sum along `dim`."""
    dim: builtins.int | None
    def __init__(self, dim: builtins.int | None = ...) -> None: ...

class Softmin(Module):
    """Return the softmax of -x along `dim`."""
    dim: builtins.int | None
    def __init__(self, dim: builtins.int | None = ...) -> None: ...

class Softplus(Module):
    """Return log(1 + exp(beta * x)) / beta, or x itself where beta * x is greater than the threshold."""
    beta: builtins.float
    threshold: builtins.float
    def __init__(self, beta: builtins.float = ..., threshold: builtins.float = ...) -> None: ...

class Softshrink(Module):
    """Move elements by lambd towards 0; elements in [-lambd, lambd] become 0."""
    lambd: builtins.float
    def __init__(self, lambd: builtins.float = ...) -> None: ...

class Softsign(Module):
    """Return x / (1 + |x|)."""
    def __init__(self) -> None: ...

class Tanh(Module):
    """Return the hyperbolic tangent."""
    def __init__(self) -> None: ...

class Tanhshrink(Module):
    """Return x - tanh(x)."""
    def __init__(self) -> None: ...

class Threshold(Module):
    """Keep elements above a threshold, and replace all other elements by `value`."""
    threshold: builtins.float
    value: builtins.float
    inplace: builtins.bool
    def __init__(self, threshold: builtins.float, value: builtins.float, inplace: builtins.bool = ...) -> None: ...

class TripletMarginLoss(Module):
    """Return max(0, d(anchor, positive) - d(anchor, negative) + margin) with the p-norm as the distance."""
    margin: builtins.float
    p: builtins.float
    eps: builtins.float
    swap: builtins.bool
    size_average: builtins.bool | None
    reduce: builtins.bool | None
    reduction: builtins.str
    def __init__(self, margin: builtins.float = ..., p: builtins.float = ..., eps: builtins.float = ..., swap: builtins.bool = ..., size_average: builtins.bool | None = ..., reduce: builtins.bool | None = ..., reduction: builtins.str = ...) -> None: ...

class TripletMarginWithDistanceLoss(Module):
    """Return TripletMarginLoss with another distance, a function of two tensors."""
    distance_function: Any
    margin: builtins.float
    swap: builtins.bool
    reduction: builtins.str
    def __init__(self, *, distance_function: Any = ..., margin: builtins.float = ..., swap: builtins.bool = ..., reduction: builtins.str = ...) -> None: ...

class Unfold(Module):
    """Return the windows of images as columns: (N, C * window, number of windows)."""
    kernel_size: Any
    dilation: Any
    padding: Any
    stride: Any
    def __init__(self, kernel_size: Any, dilation: Any = ..., padding: Any = ..., stride: Any = ...) -> None: ...

class Upsample(Module):
    """Resize the dims after the channels to a given size or by a factor."""
    size: builtins.int | Sequence[builtins.int] | None
    scale_factor: builtins.float | Sequence[builtins.float] | None
    mode: builtins.str
    align_corners: builtins.bool | None
    recompute_scale_factor: builtins.bool | None
    def __init__(self, size: builtins.int | Sequence[builtins.int] | None = ..., scale_factor: builtins.float | Sequence[builtins.float] | None = ..., mode: builtins.str = ..., align_corners: builtins.bool | None = ..., recompute_scale_factor: builtins.bool | None = ...) -> None: ...

class UpsamplingBilinear2d(Module):
    """Resize images (N, C, H, W) by bilinear interpolation with align_corners=True."""
    size: builtins.int | Sequence[builtins.int] | None
    scale_factor: builtins.float | Sequence[builtins.float] | None
    def __init__(self, size: builtins.int | Sequence[builtins.int] | None = ..., scale_factor: builtins.float | Sequence[builtins.float] | None = ...) -> None: ...

class UpsamplingNearest2d(Module):
    """Resize images (N, C, H, W) by repeating pixels."""
    size: builtins.int | Sequence[builtins.int] | None
    scale_factor: builtins.float | Sequence[builtins.float] | None
    def __init__(self, size: builtins.int | Sequence[builtins.int] | None = ..., scale_factor: builtins.float | Sequence[builtins.float] | None = ...) -> None: ...

def summary(model: Any, *args: Any, **kwargs: Any) -> Any:
    """Run a model once and tabulate its layers."""
