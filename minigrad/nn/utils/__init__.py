"""Tools for gradients, parameters and sequences, under the names of `torch.nn.utils`."""

from minigrad.declare.advice import present
from minigrad.nn.utils import parametrizations, parametrize, prune, rnn, stateless
from minigrad.nn.utils.fusion import (
    convert_conv2d_weight_memory_format,
    convert_conv3d_weight_memory_format,
    fuse_conv_bn_eval,
    fuse_conv_bn_weights,
    fuse_linear_bn_eval,
    fuse_linear_bn_weights,
    skip_init,
)
from minigrad.nn.utils.gradients import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
    parameters_to_vector,
    vector_to_parameters,
)
from minigrad.nn.utils.parametrizations import old_spectral_norm as spectral_norm
from minigrad.nn.utils.parametrizations import old_weight_norm as weight_norm
from minigrad.nn.utils.parametrizations import remove_spectral_norm, remove_weight_norm

__all__ = [
    "clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_",
    "convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format", "fuse_conv_bn_eval",
    "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights", "get_total_norm",
    "parameters_to_vector", "parametrizations", "parametrize", "prune", "remove_spectral_norm", "remove_weight_norm",
    "rnn", "skip_init", "spectral_norm", "stateless", "vector_to_parameters", "weight_norm",
]  # fmt: skip
present(globals(), {name: globals()[name] for name in __all__})
