"""The names of minigrad.nn.functional.  Written by `python -m minigrad.cli.stubs`."""

import builtins
from collections.abc import Iterator, Sequence
from typing import Any

from minigrad.autodiff.grads import GradStore
from minigrad.core.dtype import DType
from minigrad.runtime.tensor import Tensor
__version__: str


def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Return the mean of each of `output_size` windows along the last dim; see `adaptive_avg_pool2d`."""

def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Return the mean of each window of images, with windows such that the result has a given size."""

def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Return the mean of each of `output_size` windows of the last three dims; see `adaptive_avg_pool2d`."""

def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: builtins.bool | None = ...) -> Any:
    """Return the largest element of each of `output_size` windows along the last dim; see `adaptive_max_pool2d`."""

def adaptive_max_pool1d_with_indices(input: Tensor, output_size: Any, return_indices: builtins.bool | None = ...) -> Any:
    """Return the values and the indices of `adaptive_max_pool1d` with return_indices=True."""

def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: builtins.bool | None = ...) -> Any:
    """Return the largest element of each window of images, with windows such that the result has a given size."""

def adaptive_max_pool2d_with_indices(input: Tensor, output_size: Any, return_indices: builtins.bool | None = ...) -> Any:
    """Return the values and the indices of `adaptive_max_pool2d` with return_indices=True."""

def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: builtins.bool | None = ...) -> Any:
    """Return the largest element of each of `output_size` windows of the last three dims; see `adaptive_max_pool2d`."""

def adaptive_max_pool3d_with_indices(input: Tensor, output_size: Any, return_indices: builtins.bool | None = ...) -> Any:
    """Return the values and the indices of `adaptive_max_pool3d` with return_indices=True."""

def affine_grid(theta: Tensor, size: builtins.int | Sequence[builtins.int], align_corners: builtins.bool | None = ...) -> Tensor:
    """Return a grid (N, H, W, 2) or (N, D, H, W, 3) for `grid_sample`: the positions of all pixels after an affine map."""

def alpha_dropout(input: Tensor, p: builtins.float = ..., training: builtins.bool = ..., inplace: builtins.bool | None = ...) -> Tensor:
    """Apply dropout that preserves mean 0 and variance 1."""

def avg_pool1d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = ..., padding: builtins.int | Sequence[builtins.int] = ..., ceil_mode: builtins.bool = ..., count_include_pad: builtins.bool = ...) -> Tensor:
    """Return the mean of each window along the last dim; see `avg_pool2d`."""

def avg_pool2d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = ..., padding: builtins.int | Sequence[builtins.int] = ..., ceil_mode: builtins.bool = ..., count_include_pad: builtins.bool = ..., divisor_override: builtins.int | None = ...) -> Tensor:
    """Return the mean of each window of images (N, C, H, W), or of one image (C, H, W)."""

def avg_pool3d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = ..., padding: builtins.int | Sequence[builtins.int] = ..., ceil_mode: builtins.bool = ..., count_include_pad: builtins.bool = ..., divisor_override: builtins.int | None = ...) -> Tensor:
    """Return the mean of each window of the last three dims; see `avg_pool2d`."""

def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = ..., bias: Tensor | None = ..., training: builtins.bool = ..., momentum: builtins.float = ..., eps: builtins.float = ...) -> Tensor:
    """Return (input - mean)/sqrt(variance + eps)*weight + bias for each channel, which is dim 1."""

def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = ...) -> Tensor:
    """Return bias[o] plus the sum of input1[i] * weight[o, i, j] * input2[j] over i and j, for each output o."""

def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = ..., size_average: builtins.bool | None = ..., reduce: builtins.bool | None = ..., reduction: builtins.str = ...) -> Tensor:
    """Return -target*log(input) - (1 - target)*log(1 - input), where each logarithm is at least -100."""

def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = ..., size_average: builtins.bool | None = ..., reduce: builtins.bool | None = ..., reduction: builtins.str = ..., pos_weight: Tensor | None = ...) -> Tensor:
    """Return `binary_cross_entropy` of sigmoid(input), without overflow."""

def celu(input: Tensor, alpha: Tensor | builtins.float = ..., inplace: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return input where it is positive, otherwise alpha * (exp(input/alpha) - 1)."""

def celu_(input: Tensor, alpha: Tensor | builtins.float = ...) -> Tensor:
    """Apply `celu` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def channel_shuffle(input: Tensor, groups: builtins.int) -> Tensor:
    """Return images (N, C, ...) with permuted channels: the first channel of each group, then the second, and so on."""

def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: builtins.int | Sequence[builtins.int] = ..., padding: builtins.int | Sequence[builtins.int] | builtins.str = ..., dilation: builtins.int | Sequence[builtins.int] = ..., groups: builtins.int = ...) -> Tensor:
    """Return the convolution along one dim of signals (N, C, W) with a weight (out, C / groups, kW); see `conv2d`."""

def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: builtins.int | Sequence[builtins.int] = ..., padding: builtins.int | Sequence[builtins.int] | builtins.str = ..., dilation: builtins.int | Sequence[builtins.int] = ..., groups: builtins.int = ...) -> Tensor:
    """Return the convolution of images (N, C, H, W), or of one (C, H, W), with a weight (out, C / groups, kH, kW)."""

def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: builtins.int | Sequence[builtins.int] = ..., padding: builtins.int | Sequence[builtins.int] | builtins.str = ..., dilation: builtins.int | Sequence[builtins.int] = ..., groups: builtins.int = ...) -> Tensor:
    """Convolve volumes (N, C, D, H, W) along three dims with a weight (out, C / groups, kD, kH, kW); see `conv2d`."""

def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: builtins.int | Sequence[builtins.int] = ..., padding: builtins.int | Sequence[builtins.int] = ..., output_padding: builtins.int | Sequence[builtins.int] = ..., groups: builtins.int = ..., dilation: builtins.int | Sequence[builtins.int] = ...) -> Tensor:
    """Return the transposed convolution along one dim; see `conv_transpose2d`."""

def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: builtins.int | Sequence[builtins.int] = ..., padding: builtins.int | Sequence[builtins.int] = ..., output_padding: builtins.int | Sequence[builtins.int] = ..., groups: builtins.int = ..., dilation: builtins.int | Sequence[builtins.int] = ...) -> Tensor:
    """Return the transposed convolution of images (N, C, H, W) with a weight (C, out / groups, kH, kW)."""

def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: builtins.int | Sequence[builtins.int] = ..., padding: builtins.int | Sequence[builtins.int] = ..., output_padding: builtins.int | Sequence[builtins.int] = ..., groups: builtins.int = ..., dilation: builtins.int | Sequence[builtins.int] = ...) -> Tensor:
    """Return the transposed convolution along three dims; see `conv_transpose2d`."""

def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: builtins.float = ..., size_average: builtins.bool | None = ..., reduce: builtins.bool | None = ..., reduction: builtins.str = ...) -> Tensor:
    """Return a loss for pairs of vectors: 1 - cosine for target 1, and max(0, cosine - margin) for target -1."""

def cosine_similarity(x1: Tensor, x2: Tensor, dim: builtins.int = ..., eps: builtins.float = ...) -> Tensor:
    """Return the cosine of the angle between vectors along `dim`; the operands broadcast."""

def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = ..., size_average: builtins.bool | None = ..., ignore_index: builtins.int = ..., reduce: builtins.bool | None = ..., reduction: builtins.str = ..., label_smoothing: builtins.float = ...) -> Tensor:
    """Return the cross entropy of softmax(input) and the target along the class dim."""

def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: builtins.int = ..., reduction: builtins.str = ..., zero_infinity: builtins.bool = ...) -> Tensor:
    """Return the CTC loss: minus the log-probability of each target sequence, over all its alignments with the input."""

def dropout(input: Tensor, p: builtins.float = ..., training: builtins.bool = ..., inplace: builtins.bool | None = ...) -> Tensor:
    """Set each element to 0 with probability p, and divide the other elements by 1 - p."""

def dropout1d(input: Tensor, p: builtins.float = ..., training: builtins.bool = ..., inplace: builtins.bool | None = ...) -> Tensor:
    """Apply `dropout` to whole channels of signals (N, C, L) or (C, L)."""

def dropout2d(input: Tensor, p: builtins.float = ..., training: builtins.bool = ..., inplace: builtins.bool | None = ...) -> Tensor:
    """Apply `dropout` to whole channels, dim 1, of images (N, C, H, W); with three dims, dim 0 is the batch."""

def dropout3d(input: Tensor, p: builtins.float = ..., training: builtins.bool = ..., inplace: builtins.bool | None = ...) -> Tensor:
    """Apply `dropout` to whole channels of volumes (N, C, D, H, W) or (C, D, H, W)."""

def elu(input: Tensor, alpha: Tensor | builtins.float = ..., inplace: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return input where it is positive, otherwise alpha * (exp(input) - 1)."""

def elu_(input: Tensor, alpha: Tensor | builtins.float = ...) -> Tensor:
    """Apply `elu` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def embedding(input: Tensor, weight: Tensor, padding_idx: builtins.int | None = ..., max_norm: builtins.float | None = ..., norm_type: builtins.float = ..., scale_grad_by_freq: builtins.bool = ..., sparse: builtins.bool = ...) -> Tensor:
    """Return the row of `weight` for each index in `input`; the result has an additional last dim for the rows."""

def embedding_bag(input: Tensor, weight: Tensor, offsets: Tensor | None = ..., max_norm: builtins.float | None = ..., norm_type: builtins.float = ..., scale_grad_by_freq: builtins.bool = ..., mode: builtins.str = ..., sparse: builtins.bool = ..., per_sample_weights: Tensor | None = ..., include_last_offset: builtins.bool = ..., padding_idx: builtins.int | None = ...) -> Tensor:
    """Return one row per bag: the sum, the mean or the maximum of the rows of `weight` that the bag selects."""

def feature_alpha_dropout(input: Tensor, p: builtins.float = ..., training: builtins.bool = ..., inplace: builtins.bool | None = ...) -> Tensor:
    """Apply `alpha_dropout` to whole channels, which are dim 1."""

def fold(input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = ..., padding: Any = ..., stride: Any = ...) -> Tensor:
    """Return images (N, C, H, W) to which columns (N, C*kernel, windows) are added."""

def fractional_max_pool2d(input: Tensor, kernel_size: Any, output_size: Any = ..., output_ratio: Any = ..., return_indices: builtins.bool = ..., _random_samples: Tensor | None = ...) -> Any:
    """Return the largest element of each of `output_size` windows of images, at random positions."""

def fractional_max_pool2d_with_indices(input: Tensor, kernel_size: Any, output_size: Any = ..., output_ratio: Any = ..., return_indices: builtins.bool = ..., _random_samples: Tensor | None = ...) -> Any:
    """Return the values and the indices of `fractional_max_pool2d` with return_indices=True."""

def fractional_max_pool3d(input: Tensor, kernel_size: Any, output_size: Any = ..., output_ratio: Any = ..., return_indices: builtins.bool = ..., _random_samples: Tensor | None = ...) -> Any:
    """Return the largest element of each of `output_size` random windows of volumes; see `fractional_max_pool2d`."""

def fractional_max_pool3d_with_indices(input: Tensor, kernel_size: Any, output_size: Any = ..., output_ratio: Any = ..., return_indices: builtins.bool = ..., _random_samples: Tensor | None = ...) -> Any:
    """Return the values and the indices of `fractional_max_pool3d` with return_indices=True."""

def gaussian_nll_loss(input: Tensor, target: Tensor, var: Tensor | builtins.float, full: builtins.bool | None = ..., eps: builtins.float = ..., reduction: builtins.str = ...) -> Tensor:
    """Return the negative log-likelihood of normally distributed targets: (log(var) + (input - target)**2 / var)/2."""

def gelu(input: Tensor, approximate: builtins.str = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return input * Phi(input), with the distribution function Phi of the standard normal distribution."""

def glu(input: Tensor, dim: builtins.int = ...) -> Tensor:
    """Return the first half of input along `dim` times the sigmoid of the second half."""

def grid_sample(input: Tensor, grid: Tensor, mode: builtins.str = ..., padding_mode: builtins.str = ..., align_corners: builtins.bool | None = ...) -> Tensor:
    """Return the values of images at the positions of a grid."""

def group_norm(input: Tensor, num_groups: builtins.int, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: builtins.float = ...) -> Tensor:
    """Return (input - mean)/sqrt(variance + eps)*weight + bias, with the statistics of each group of channels."""

def gumbel_softmax(logits: Tensor, tau: builtins.float = ..., hard: builtins.bool | None = ..., eps: builtins.float = ..., dim: builtins.int = ...) -> Tensor:
    """Return a differentiable sample of classes: softmax((logits + noise)/tau), with Gumbel noise."""

def hardshrink(input: Tensor, lambd: Tensor | builtins.float = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return input where |input| > lambd, otherwise 0; nan stays nan."""

def hardsigmoid(input: Tensor, inplace: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return relu6(x + 3) / 6.  Gradient: g/6 where -3 < x < 3, and 0 elsewhere, also at -3 and 3."""

def hardswish(input: Tensor, inplace: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return input * relu6(input + 3) / 6."""

def hardtanh(input: Tensor, min_val: Tensor | builtins.float = ..., max_val: Tensor | builtins.float = ..., inplace: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return min(max(input, min_val), max_val); nan stays nan."""

def hardtanh_(input: Tensor, min_val: Tensor | builtins.float = ..., max_val: Tensor | builtins.float = ...) -> Tensor:
    """Apply `hardtanh` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def hinge_embedding_loss(input: Tensor, target: Tensor, margin: builtins.float = ..., size_average: builtins.bool | None = ..., reduce: builtins.bool | None = ..., reduction: builtins.str = ...) -> Tensor:
    """Return input where the target is 1, and max(0, margin - input) where the target is -1."""

def huber_loss(input: Tensor, target: Tensor, reduction: builtins.str = ..., delta: builtins.float = ..., weight: Tensor | None = ...) -> Tensor:
    """Return error**2/2 where |error| <= delta, otherwise delta * (|error| - delta/2), with error = input - target."""

def instance_norm(input: Tensor, running_mean: Tensor | None = ..., running_var: Tensor | None = ..., weight: Tensor | None = ..., bias: Tensor | None = ..., use_input_stats: builtins.bool = ..., momentum: builtins.float = ..., eps: builtins.float = ...) -> Tensor:
    """Return (input - mean)/sqrt(variance + eps)*weight + bias, with the statistics of each channel of each sample."""

def interpolate(input: Tensor, size: builtins.int | Sequence[builtins.int] | None = ..., scale_factor: builtins.float | Sequence[builtins.float] | None = ..., mode: builtins.str = ..., align_corners: builtins.bool | None = ..., recompute_scale_factor: builtins.bool | None = ..., antialias: builtins.bool | None = ...) -> Tensor:
    """Return images with one to three spatial dims (N, C, ...) at another size."""

def kl_div(input: Tensor, target: Tensor, size_average: builtins.bool | None = ..., reduce: builtins.bool | None = ..., reduction: builtins.str = ..., log_target: builtins.bool = ...) -> Tensor:
    """Return target*(log(target) - input), the terms of the Kullback-Leibler divergence."""

def l1_loss(input: Tensor, target: Tensor, size_average: builtins.bool | None = ..., reduce: builtins.bool | None = ..., reduction: builtins.str = ..., weight: Tensor | None = ...) -> Tensor:
    """Return the absolute error |input - target|, which is real also for complex operands."""

def layer_norm(input: Tensor, normalized_shape: Sequence[builtins.int] | builtins.int, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: builtins.float = ...) -> Tensor:
    """Return (input - mean)/sqrt(variance + eps)*weight + bias, with the statistics over the last dims."""

def leaky_relu(input: Tensor, negative_slope: Tensor | builtins.float = ..., inplace: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return input where it is positive, otherwise negative_slope * input."""

def leaky_relu_(input: Tensor, negative_slope: Tensor | builtins.float = ...) -> Tensor:
    """Apply `leaky_relu` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def linear(input: Tensor, weight: Tensor, bias: Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return input @ weight.T + bias, computed in one kernel."""

def linear_cross_entropy(input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = ..., weight: Tensor | None = ..., reduction: builtins.str = ..., ignore_index: builtins.int | None = ..., label_smoothing: builtins.float = ..., options: Any = ...) -> Tensor:
    """Return the cross entropy of the target and the logits of a linear layer; see `linear` and `cross_entropy`."""

def local_response_norm(input: Tensor, size: builtins.int, alpha: builtins.float = ..., beta: builtins.float = ..., k: builtins.float = ...) -> Tensor:
    """Return input / (k + alpha * mean)**beta, with the mean of the squares of `size` neighbouring channels."""

def log_softmax(input: Tensor, dim: builtins.int | None = ..., _stacklevel: builtins.int = ..., dtype: Any = ...) -> Tensor:
    """Return `mg.log_softmax`; if `dim` is None, the default of `softmax` is used."""

def logsigmoid(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return log(sigmoid(x)), without overflow.  Gradient: g*sigmoid(-x)."""

def lp_pool1d(input: Tensor, norm_type: builtins.float, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = ..., ceil_mode: builtins.bool = ...) -> Tensor:
    """Return the norm of order `norm_type` of each window along the last dim; see `lp_pool2d`."""

def lp_pool2d(input: Tensor, norm_type: builtins.float, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = ..., ceil_mode: builtins.bool = ...) -> Tensor:
    """Return (sum of x**p)**(1/p) of each window of images, with p = norm_type."""

def lp_pool3d(input: Tensor, norm_type: builtins.float, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = ..., ceil_mode: builtins.bool = ...) -> Tensor:
    """Return the norm of order `norm_type` of each window of the last three dims; see `lp_pool2d`."""

def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: builtins.float = ..., size_average: builtins.bool | None = ..., reduce: builtins.bool | None = ..., reduction: builtins.str = ...) -> Tensor:
    """Return max(0, margin - target*(input1 - input2))."""

def max_pool1d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = ..., padding: builtins.int | Sequence[builtins.int] = ..., dilation: builtins.int | Sequence[builtins.int] = ..., ceil_mode: builtins.bool = ..., return_indices: builtins.bool | None = ...) -> Any:
    """Return the largest element of each window along the last dim; see `max_pool2d`."""

def max_pool1d_with_indices(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = ..., padding: builtins.int | Sequence[builtins.int] = ..., dilation: builtins.int | Sequence[builtins.int] = ..., ceil_mode: builtins.bool = ..., return_indices: builtins.bool | None = ...) -> Any:
    """Return the values and the indices of `max_pool1d` with return_indices=True."""

def max_pool2d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = ..., padding: builtins.int | Sequence[builtins.int] = ..., dilation: builtins.int | Sequence[builtins.int] = ..., ceil_mode: builtins.bool = ..., return_indices: builtins.bool | None = ...) -> Any:
    """Return the largest element of each window of images (N, C, H, W), or of one image (C, H, W)."""

def max_pool2d_with_indices(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = ..., padding: builtins.int | Sequence[builtins.int] = ..., dilation: builtins.int | Sequence[builtins.int] = ..., ceil_mode: builtins.bool = ..., return_indices: builtins.bool | None = ...) -> Any:
    """Return the values and the indices of `max_pool2d` with return_indices=True."""

def max_pool3d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = ..., padding: builtins.int | Sequence[builtins.int] = ..., dilation: builtins.int | Sequence[builtins.int] = ..., ceil_mode: builtins.bool = ..., return_indices: builtins.bool | None = ...) -> Any:
    """Return the largest element of each window of the last three dims; see `max_pool2d`."""

def max_pool3d_with_indices(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = ..., padding: builtins.int | Sequence[builtins.int] = ..., dilation: builtins.int | Sequence[builtins.int] = ..., ceil_mode: builtins.bool = ..., return_indices: builtins.bool | None = ...) -> Any:
    """Return the values and the indices of `max_pool3d` with return_indices=True."""

def max_unpool1d(input: Tensor, indices: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = ..., padding: builtins.int | Sequence[builtins.int] = ..., output_size: Any = ...) -> Tensor:
    """Return zeros with the elements of input at the indices that `max_pool1d` returned; see `max_unpool2d`."""

def max_unpool2d(input: Tensor, indices: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = ..., padding: builtins.int | Sequence[builtins.int] = ..., output_size: Any = ...) -> Tensor:
    """Return images of zeros with the elements of input at the indices that `max_pool2d` returned."""

def max_unpool3d(input: Tensor, indices: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = ..., padding: builtins.int | Sequence[builtins.int] = ..., output_size: Any = ...) -> Tensor:
    """Return zeros with the elements of input at the indices that `max_pool3d` returned; see `max_unpool2d`."""

def mish(input: Tensor, inplace: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return x * tanh(softplus(x)); for x >= 20, softplus(x) is computed as x, since tanh is 1 there in every dtype."""

def mse_loss(input: Tensor, target: Tensor, size_average: builtins.bool | None = ..., reduce: builtins.bool | None = ..., reduction: builtins.str = ..., weight: Tensor | None = ...) -> Tensor:
    """Return the squared error (input - target)**2."""

def multi_head_attention_forward(query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: builtins.int, num_heads: builtins.int, in_proj_weight: Tensor | None, in_proj_bias: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: builtins.bool, dropout_p: builtins.float, out_proj_weight: Tensor, out_proj_bias: Tensor | None, training: builtins.bool = ..., key_padding_mask: Tensor | None = ..., need_weights: builtins.bool = ..., attn_mask: Tensor | None = ..., use_separate_proj_weight: builtins.bool = ..., q_proj_weight: Tensor | None = ..., k_proj_weight: Tensor | None = ..., v_proj_weight: Tensor | None = ..., static_k: Tensor | None = ..., static_v: Tensor | None = ..., average_attn_weights: builtins.bool = ..., is_causal: builtins.bool = ...) -> builtins.tuple[Tensor, Tensor | None]:
    """Return (output, attention weights) of multi-head attention with the given projections."""

def multi_margin_loss(input: Tensor, target: Tensor, p: builtins.int = ..., margin: builtins.float = ..., weight: Tensor | None = ..., size_average: builtins.bool | None = ..., reduce: builtins.bool | None = ..., reduction: builtins.str = ...) -> Tensor:
    """Return the sum of max(0, margin - input[target] + input[c])**p over all other classes c, divided by C."""

def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: builtins.bool | None = ..., reduce: builtins.bool | None = ..., reduction: builtins.str = ...) -> Tensor:
    """Return the sum of max(0, 1 - input[label] + input[c]) over all labels and all other classes c, divided by C."""

def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None = ..., size_average: builtins.bool | None = ..., reduce: builtins.bool | None = ..., reduction: builtins.str = ...) -> Tensor:
    """Return the mean over classes of -target*log(sigmoid(input)) - (1 - target)*log(sigmoid(-input))."""

def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = ..., size_average: builtins.bool | None = ..., ignore_index: builtins.int = ..., reduce: builtins.bool | None = ..., reduction: builtins.str = ...) -> Tensor:
    """Return minus the log-probability in `input` at the class in `target`, for each row."""

def normalize(input: Tensor, p: builtins.float = ..., dim: Any = ..., eps: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
    """Return the input divided by its norm of order p along `dim`, or by eps where the norm is less."""

def one_hot(tensor: Tensor, num_classes: builtins.int = ...) -> Tensor:
    """Return int64 vectors with 1 at the position of each class, and 0 elsewhere."""

def pad(input: Tensor, pad: builtins.int | Sequence[builtins.int], mode: builtins.str = ..., value: builtins.float | None = ...) -> Tensor:
    """Return the tensor, surrounded by additional elements."""

def pairwise_distance(x1: Tensor, x2: Tensor, p: builtins.float = ..., eps: builtins.float = ..., keepdim: builtins.bool = ...) -> Tensor:
    """Return the norm of order p of x1 - x2 + eps along the last dim; the operands broadcast."""

def pdist(input: Tensor, p: builtins.float = ...) -> Tensor:
    """Return the distances of order p between all pairs of rows of a matrix (n, m), as a vector of n*(n - 1)/2."""

def pixel_shuffle(input: Tensor, upscale_factor: builtins.int) -> Tensor:
    """Return images (..., C*r*r, H, W) as (..., C, H*r, W*r): each r*r channels become a square of r*r pixels."""

def pixel_unshuffle(input: Tensor, downscale_factor: builtins.int) -> Tensor:
    """Return images (..., C, H*r, W*r) as (..., C*r*r, H, W): each square of r*r pixels becomes r*r channels."""

def poisson_nll_loss(input: Tensor, target: Tensor, log_input: builtins.bool = ..., full: builtins.bool = ..., size_average: builtins.bool | None = ..., eps: builtins.float = ..., reduce: builtins.bool | None = ..., reduction: builtins.str = ...) -> Tensor:
    """Return the negative log-likelihood of counts with a Poisson distribution: exp(input) - target*input."""

def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Return input where it is positive, otherwise weight * input."""

def relu(input: Tensor, inplace: builtins.bool = ...) -> Tensor:
    """Return `mg.relu` of the input; with `inplace`, overwrite and return the input."""

def relu6(input: Tensor, inplace: builtins.bool = ...) -> Tensor:
    """Return `mg.relu6(input)`; with `inplace`, overwrite and return the input."""

def relu_(input: Tensor) -> Tensor:
    """Apply `relu` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def rms_norm(input: Tensor, normalized_shape: Sequence[builtins.int] | builtins.int, weight: Tensor | None = ..., eps: builtins.float | None = ...) -> Tensor:
    """Return input/sqrt(mean square + eps)*weight, with the mean square over the dims of `normalized_shape`."""

def rrelu(input: Tensor, lower: builtins.float = ..., upper: builtins.float = ..., training: builtins.bool = ..., inplace: builtins.bool | None = ...) -> Tensor:
    """Return input where it is positive, otherwise input times a factor."""

def rrelu_(input: Tensor, lower: builtins.float = ..., upper: builtins.float = ..., training: builtins.bool = ...) -> Tensor:
    """Compute `rrelu` in place, and return the input."""

def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = ..., dropout_p: builtins.float = ..., is_causal: builtins.bool = ..., scale: builtins.float | None = ..., enable_gqa: builtins.bool = ...) -> Tensor:
    """Return softmax(query @ key.mT * scale + attn_mask) @ value."""

def selu(input: Tensor, inplace: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return 1.0507 * x where x > 0, otherwise 1.7581 * (exp(x) - 1)."""

def selu_(input: Tensor) -> Tensor:
    """Apply `selu` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def sigmoid(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return 1/(1 + exp(-x)), without overflow.  Gradient: g*y*(1 - y) with the result y."""

def silu(input: Tensor, inplace: builtins.bool = ...) -> Tensor:
    """Return `mg.silu(input)`; with `inplace`, overwrite and return the input."""

def smooth_l1_loss(input: Tensor, target: Tensor, size_average: builtins.bool | None = ..., reduce: builtins.bool | None = ..., reduction: builtins.str = ..., beta: builtins.float = ...) -> Tensor:
    """Return error**2 / (2*beta) where |error| < beta, otherwise |error| - beta/2, with error = input - target."""

def soft_margin_loss(input: Tensor, target: Tensor, size_average: builtins.bool | None = ..., reduce: builtins.bool | None = ..., reduction: builtins.str = ...) -> Tensor:
    """Return log(1 + exp(-target*input)) without overflow; the targets are 1 and -1."""

def softmax(input: Tensor, dim: builtins.int | None = ..., _stacklevel: builtins.int = ..., dtype: Any = ...) -> Tensor:
    """Return `mg.softmax`; without a `dim`, warn and use 0 for 0, 1 or 3 dims and 1 otherwise, as PyTorch does."""

def softmin(input: Tensor, dim: builtins.int | None = ..., _stacklevel: builtins.int = ..., dtype: Any = ...) -> Tensor:
    """Return softmax(-input); if `dim` is None, the default of `softmax` is used."""

def softplus(input: Tensor, beta: Tensor | builtins.float = ..., threshold: Tensor | builtins.float = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return log(1 + exp(beta*input))/beta, without overflow; the input itself where beta*input > threshold."""

def softshrink(input: Tensor, lambd: Tensor | builtins.float = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return input - lambd where input > lambd, input + lambd where input < -lambd, otherwise 0; nan produces nan."""

def softsign(input: Tensor) -> Tensor:
    """Return x / (1 + |x|), whose magnitude is less than 1.  Gradient: g / (1 + |x|)**2 for real numbers."""

def tanh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the hyperbolic tangent of x.  Gradient: g*(1 - tanh(x)**2)."""

def tanhshrink(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return x - tanh(x).  Gradient: g*tanh(x)**2."""

def threshold(input: Tensor | builtins.float, threshold: Tensor | builtins.float, value: Tensor | builtins.float, inplace: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return input where it is greater than the threshold, otherwise value; nan stays nan."""

def threshold_(input: Tensor | builtins.float, threshold: Tensor | builtins.float, value: Tensor | builtins.float) -> Tensor:
    """Apply `threshold` in place, and record it.  Raises GradientError for a Var outside no_grad."""

def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: builtins.float = ..., p: builtins.float = ..., eps: builtins.float = ..., swap: builtins.bool = ..., size_average: builtins.bool | None = ..., reduce: builtins.bool | None = ..., reduction: builtins.str = ...) -> Tensor:
    """Return max(0, d(anchor, positive) - d(anchor, negative) + margin), with `pairwise_distance` as d."""

def triplet_margin_with_distance_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function: Any = ..., margin: builtins.float = ..., swap: builtins.bool = ..., reduction: builtins.str = ...) -> Tensor:
    """Return `triplet_margin_loss` with any distance function; the default is `pairwise_distance`."""

def unfold(input: Tensor, kernel_size: Any, dilation: Any = ..., padding: Any = ..., stride: Any = ...) -> Tensor:
    """Return the windows of images (N, C, H, W), or of one image (C, H, W), as columns (N, C*kernel, windows)."""

def upsample(input: Tensor, size: Any = ..., scale_factor: Any = ..., mode: builtins.str = ..., align_corners: builtins.bool | None = ...) -> Tensor:
    """Call `interpolate`; `upsample` is its former name in PyTorch."""

def upsample_bilinear(input: Tensor, size: Any = ..., scale_factor: Any = ...) -> Tensor:
    """Call `interpolate` with mode="bilinear" and align_corners=True."""

def upsample_nearest(input: Tensor, size: Any = ..., scale_factor: Any = ...) -> Tensor:
    """Call `interpolate` with mode="nearest"."""
