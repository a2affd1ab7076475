"""Normalizations of groups of channels and of neighbours: group_norm, instance_norm, normalize, local_response_norm.

The body of `normalized_groups` requests the kernel.  `by_rows` is its definition in tensor code, for derivatives of
higher order and for tangents.  Source: Wu and He, arXiv 1803.08494.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Annotated, Any

from minigrad.backends.launch import Launch
from minigrad.core.conditions import Floating, Ndim, expect_multiple, expect_shape
from minigrad.core.dtype import finfo
from minigrad.core.op import Spec
from minigrad.core.requests import GroupGradients, NormalizeGroups
from minigrad.core.roles import Flag, Number, Scalar, Size
from minigrad.declare.claims import single_rules
from minigrad.declare.decorators import composed, kernel
from minigrad.declare.forms import apart
from minigrad.declare.rules import floating, joint
from minigrad.errors import ArgumentError, ShapeError
from minigrad.ops.batch_rules import Flags, stretched
from minigrad.ops.nn.batch_norm import BATCH, batch_norm, channel_line, move_statistics
from minigrad.ops.nn.normalization import LONG, layer_norm, long_rows
from minigrad.ops.nn.pooling import avg_pool2d
from minigrad.ops.pointwise.blends import clamp
from minigrad.ops.reduction.norms import length, norm
from minigrad.ops.reduction.sums import mean, wide
from minigrad.ops.reduction.variance import variance
from minigrad.ops.shape.views import reshape
from minigrad.runtime.into import copy_result
from minigrad.runtime.tensor import Tensor, describe

# ---- the op of group_norm, with the gradients of all operands in one kernel ------------------------------------------


def by_rows(x: Tensor, weight: Tensor, bias: Tensor, *, groups: int, eps: float) -> Tensor:
    """Return the groups normalized as rows of `layer_norm`, times the weight of each channel, plus its bias."""
    n, channels, *sizes = x.shape
    width, beside = channels // groups * prod(sizes), (channels, *[1 for _ in sizes])
    y = reshape(layer_norm(reshape(x, (n, groups, width)), width, eps=eps), x.shape)
    return y * reshape(weight, beside) + reshape(bias, beside)


def _merged(values: Sequence[Tensor], size: int, flags: Flags) -> list[Tensor]:
    """Return the operands of a batch as those of one call, in which each sample has separate channels and groups."""
    values = [stretched(x, flag, size) for x, flag in zip(values, flags, strict=True)]
    return [_behind(x.transpose(0, 1) if x.ndim > 2 else x) for x in values]


def _behind(x: Tensor) -> Tensor:
    """Return images (N, size, channels, ...) or vectors (size, channels) with size and channels merged."""
    at = min(1, x.ndim - 2)
    return reshape(x, (*x.shape[:at], x.shape[at] * x.shape[at + 1], *x.shape[at + 2 :]))


def _parted(x: Tensor, size: int, channels: int) -> Tensor:
    """Undo `_merged`: return the images or the vectors of each sample of a batch, with the batch as the first dim."""
    at = min(1, x.ndim - 1)
    parts = reshape(x, (*x.shape[:at], size, channels, *x.shape[at + 1 :]))
    return parts.transpose(0, at)


def _gradients(g, x, weight, bias, *, asked, groups, eps):
    """Return the requested gradients of x, weight and bias, and None for the others.

    All operands are saved, because the definition needs them.
    """
    result = group_gradients(x, g, weight, groups=groups, eps=eps)
    return tuple([part if wanted else None for part, wanted in zip(result, asked, strict=True)])


@kernel(
    dtype=floating, shape=lambda op, x, *lines, groups, eps: x.shape, vjp=single_rules(_gradients, 3), joint=_gradients,
    batch=lambda x, weight, bias, *, groups, eps, batch, flags: _parted(
        normalized_groups(*_merged((x, weight, bias), batch, flags), groups=groups * batch, eps=eps), batch,
        weight.shape[-1],
    ),
    namespace=(), out=False, label="group_norm",
)  # fmt: skip
def normalized_groups(
    backend: Any, out: Spec, x: Tensor, weight: Tensor, bias: Tensor, *, groups: Size, eps: Scalar
) -> Launch:
    """Return (x - mean)/sqrt(variance + eps)*weight + bias, with the statistics of each group of channels.

    Gradient: let s = 1/sqrt(variance + eps) and u = (x - mean)*s. For x, it is s*(weight*g - mean(weight*g) -
    u*mean(weight*g*u)); for weight, sum(g*u); for bias, sum(g).
    """
    return backend.prepare(NormalizeGroups(groups, eps), out, x, weight, bias)


@kernel(
    dtype=lambda op, specs, **params: (floating(op, specs),) * 3,
    shape=lambda op, x, g, weight, *, groups, eps: (x.shape, weight.shape, weight.shape),
    outputs=("gradient_of_x", "gradient_of_weight", "gradient_of_bias"), linear=joint("g"),
    batch=lambda x, g, weight, *, groups, eps, batch, flags: tuple([
        _parted(part, batch, weight.shape[-1]) for part in group_gradients(
            *_merged((x, g, weight), batch, flags), groups=groups * batch, eps=eps)]),
    namespace=(), out=False, label="the gradient of group_norm",
)  # fmt: skip
def group_gradients(
    backend: Any, dx: Spec, dweight: Spec, dbias: Spec, x: Tensor, g: Tensor, weight: Tensor, *, groups: Size,
    eps: Scalar,
) -> Launch:  # fmt: skip
    """Return the gradients of `normalized_groups` for x, weight and bias, computed in one launch."""
    return backend.prepare(GroupGradients(groups, eps), (dx, dweight, dbias), x, g, weight)


normalized_groups.op.composed = by_rows  # type: ignore[attr-defined]


# ---- public functions ------------------------------------------------------------------------------------------------


@composed()
def normalize(input: Tensor, p: Scalar = 2.0, dim: Any = 1, eps: Scalar = 1e-12, out: Tensor | None = None) -> Tensor:
    """Return the input divided by its norm of order p along `dim`, or by eps where the norm is less.

    float16 and bfloat16 are computed in float32. Where the norm is less than eps, they are divided by at least the
    smallest normal number of their dtype, so that the gradient of zeros is finite.
    """
    if out is None and input.dtype.is_float and input.dtype.itemsize == 2:
        x = wide(input)
        size = norm(x, p, dim, keepdim=True)
        least = max(eps, finfo(input.dtype).tiny)
        return (x / (size < eps).where_cond(least, size)).to(input.dtype)
    if out is None:
        usual = p == 2 and dim.__class__ is int and input.dtype.is_float
        size = length(input, (dim,), True).to(input.dtype) if usual else norm(input, p, dim, keepdim=True)
        return input / clamp(size, eps)
    (x,) = apart(normalize.op, (input,), out)  # type: ignore[attr-defined]
    return copy_result("normalize", normalize(x, p, dim, eps), out)


@composed(channels_last=True)
def group_norm(
    input: Tensor, num_groups: Size, weight: Tensor | None = None, bias: Tensor | None = None, eps: Scalar = 1e-05
) -> Tensor:
    """Return (input - mean)/sqrt(variance + eps)*weight + bias, with the statistics of each group of channels.

    The channels are dim 1.  The mean and the variance of a group are computed for each sample.  float16 and bfloat16
    are computed in float32.
    num_groups: the number of groups, into which consecutive channels are divided.
    weight: the factor of each channel; None stands for 1.
    bias: the number that is added to each channel; None stands for 0.
    Gradient: let s = 1/sqrt(variance + eps) and u = (input - mean)*s. For input, it is s*(weight*g - mean(weight*g) -
    u*mean(weight*g*u)); for weight, sum(g*u); for bias, sum(g).
    Raises ArgumentError if the number of channels is not a multiple of num_groups, ShapeError if there is only one
    element per group in total.
    """
    expect_channels("group_norm", input, weight=weight, bias=bias)
    n, channels, *sizes = input.shape
    expect_multiple("group_norm", "the number of channels", channels, input, "pass num_groups=1", ArgumentError,
                    num_groups=num_groups)  # fmt: skip
    size = channels // num_groups * prod(sizes)
    if n * size == 1:
        raise ShapeError(
            f"group_norm: input must have more than 1 value per group, got {describe(input)}; pass a smaller "
            "num_groups or larger images"
        )
    x = wide(input)
    lines = channel_line(weight, 1.0, x), channel_line(bias, 0.0, x)
    if size >= LONG:
        unit = reshape(long_rows(reshape(x, (n, num_groups, size)), eps), input.shape)
        factor, added = [reshape(line, (channels, *[1] * len(sizes))) for line in lines]
        return (unit * factor + added).to(input.dtype)
    return normalized_groups(x, *lines, groups=num_groups, eps=eps).to(input.dtype)


@composed(writes=("running_mean", "running_var"), channels_last=True)
def instance_norm(
    input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Tensor | None = None,
    bias: Tensor | None = None, use_input_stats: Flag = True, momentum: Scalar = 0.1, eps: Scalar = 1e-05,
) -> Tensor:  # fmt: skip
    """Return (input - mean)/sqrt(variance + eps)*weight + bias, with the statistics of each channel of each sample.

    If running statistics are passed, they are updated in place: running = (1 - momentum) * running + momentum * new,
    where `new` is the mean of the statistics over all samples.
    use_input_stats: whether to use the statistics of the input; if False, the running statistics are used and not
    changed.
    Gradient: that of `group_norm` with one channel per group.
    Raises ShapeError for one value per channel, or if only one of the two running statistics is passed.
    """
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    running = {"running_mean": running_mean, "running_var": running_var}
    there = {name: x for name, x in running.items() if x is not None}
    expect_channels("instance_norm", input, weight=weight, bias=bias, **there)
    if prod(input.shape[2:]) == 1 or len(there) == 1:
        raise ShapeError(
            "instance_norm: input must have more than 1 value per channel, and running_mean and running_var must be "
            f"passed together, got {describe(input)} and {' '.join(there) or 'neither'}; use larger images, or pass "
            "both"
        )
    y = group_norm(input, input.shape[1], weight, bias, eps) if input.shape[1] else input
    if there and input.numel():
        x, dims = wide(input.detach()), tuple(range(2, input.ndim))
        spread = variance(x, dims=dims, keepdim=False, correction=1)
        batch = {"running_mean": mean(mean(x, dims), 0), "running_var": mean(spread, 0)}
        move_statistics(instance_norm.op, there, batch, momentum, {"input": input})  # type: ignore[attr-defined]
    return y


@composed()
def local_response_norm(
    input: Annotated[Tensor, Ndim(least=3)], size: Annotated[int, Number(1, whole=True, example=5, error=ShapeError)],
    alpha: Scalar = 0.0001, beta: Scalar = 0.75, k: Scalar = 1.0,
) -> Tensor:  # fmt: skip
    """Return input / (k + alpha * mean)**beta, with the mean of the squares of `size` neighbouring channels.

    Channels outside the tensor count as 0.
    """
    if not input.numel():
        return input
    n, channels, *sizes = input.shape
    planes = reshape(input * input, (n, 1, channels, prod(sizes)))
    squares = avg_pool2d(planes, (size, 1), 1, (size // 2, 0)).narrow(2, 0, channels).reshape(input.shape)
    return input / (squares * alpha + k) ** beta


def expect_channels(name: str, x: Tensor, **params: Tensor | None) -> None:
    """Raise an error unless x has channels, each parameter has one element per channel, and all are floats."""
    Floating.expect(name, input=x, **params)
    BATCH.expect(name, input=x)
    expect_shape(name, (x.shape[1],), "one element per channel of", x, **params)
