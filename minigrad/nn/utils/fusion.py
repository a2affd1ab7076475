"""Fusion for evaluation: a convolution or linear layer and the batch normalization after it become one layer."""

from __future__ import annotations

import copy
from typing import Any

from minigrad.errors import ArgumentError
from minigrad.nn.modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from minigrad.nn.parameter import Parameter, adopt
from minigrad.ops.creation import zeros_like
from minigrad.ops.generators import default_generator
from minigrad.ops.pointwise.explog import rsqrt
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor

__all__ = [
    "convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format", "fuse_conv_bn_eval",
    "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights", "skip_init",
]  # fmt: skip


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """Return one convolution that replaces a convolution and the batch normalization after it.

    conv and bn: Layers in evaluation mode; they are not changed.
    transpose: Whether the output channels are dim 1 of the weight, as in a transposed convolution.

    Returns (Module): A copy of `conv` with new parameters.

    Raises ArgumentError if a layer is in training mode, or `bn` has no running statistics.

    >>> conv, bn = mg.nn.Conv2d(3, 4, 1).eval(), mg.nn.BatchNorm2d(4).eval()
    >>> x = mg.ones(1, 3, 2, 2)
    >>> bool(mg.allclose(mg.nn.utils.fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)), atol=1e-6))
    True
    """
    expect_evaluation("fuse_conv_bn_eval", conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        conv.weight, conv.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """Return one linear layer that replaces a linear layer and the batch normalization after it."""
    expect_evaluation("fuse_linear_bn_eval", linear, bn)
    if bn.num_features not in (1, linear.out_features):
        raise ArgumentError(
            f"fuse_linear_bn_eval: bn must have {linear.out_features} features, the out_features of linear, or 1 "
            f"feature, got {bn.num_features}; pass the batch normalization that follows this layer"
        )
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        linear.weight, linear.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_conv_bn_weights(
    conv_w: Tensor, conv_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor | None,
    bn_b: Tensor | None, transpose: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """Return the weight and bias of the layer that `fuse_conv_bn_eval` creates."""
    with no_grad():
        scale = rsqrt(bn_rv + bn_eps) if bn_w is None else rsqrt(bn_rv + bn_eps) * bn_w
        bias = ((zeros_like(bn_rm) if conv_b is None else conv_b) - bn_rm) * scale
        bias = bias if bn_b is None else bias + bn_b
        shape = (1,) * transpose + (-1,) + (1,) * (conv_w.ndim - 1 - transpose)
        weight = (conv_w * scale.reshape(shape)).to(conv_w.dtype)
        bias = bias.to((conv_w if conv_b is None else conv_b).dtype)
    trained = conv_b is not None and conv_b.requires_grad
    return Parameter(weight, conv_w.requires_grad), Parameter(bias, trained)


def fuse_linear_bn_weights(
    linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Any, Any]:  # fmt: skip
    """Return the weight and bias of the layer that `fuse_linear_bn_eval` creates."""
    return fuse_conv_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)


def expect_evaluation(name: str, layer: Any, bn: Any) -> None:
    """Raise ArgumentError unless both layers are in evaluation mode and `bn` has running statistics."""
    if layer.training or bn.training:
        raise ArgumentError(
            f"{name}: both layers must be in evaluation mode, got a layer in training mode; call eval() on both first"
        )
    if bn.running_mean is None or bn.running_var is None:
        raise ArgumentError(
            f"{name}: the batch normalization must have running statistics, got None; create it with "
            "track_running_stats=True"
        )


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """Create a module without changing the state of the default generator.

    Use this function for a module whose parameters you will overwrite.

    module_cls (type): Class of the module.
    args and kwargs: Arguments of the constructor.

    Returns (Module): The module. It is initialized as usual, so this function saves no time.
    """
    state = default_generator.get_state()
    try:
        return module_cls(*args, **kwargs)
    finally:
        default_generator.set_state(state)


def convert_conv2d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Convert the weights of all 2-d convolutions of a module to a memory format, in place."""
    return weights_in_format(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Convert the weights of all 3-d convolutions of a module to a memory format, in place."""
    return weights_in_format(module, (Conv3d, ConvTranspose3d), memory_format)


def weights_in_format(module: Any, kinds: tuple[Any, ...], memory_format: Any) -> Any:
    """Convert the weights of some kinds of convolutions to a memory format, in place."""
    for layer in module.modules():
        if isinstance(layer, kinds):
            adopt(layer.weight, layer.weight.detach().contiguous(memory_format=memory_format))
    return module
