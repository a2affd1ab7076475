"""The op `batch_norm`: it normalizes each channel, and updates the running statistics in training.

In training, the forward pass and the backward pass are one launch each.  The statistics are stored in the dtype of
accumulators.  The forward pass reads x three times, and the backward pass reads x and g twice each.  Inside a
transform, the op is composed of the mean and the variance.  It writes into operands, which its declaration lists in
`writes`.  Source of the formulas: Ioffe and Szegedy, arXiv 1502.03167.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from math import prod
from typing import Annotated, Any

import numpy as np

from minigrad.backends.lowering.functions import SUM
from minigrad.backends.steps import Steps, Value
from minigrad.core.conditions import Floating, Ndim, expect_shape
from minigrad.core.dtype import DType, as_dtype
from minigrad.core.op import Op, Spec
from minigrad.core.reducer import Reducer
from minigrad.core.requests import Reduce
from minigrad.core.roles import Flag, Number, Scalar
from minigrad.declare.decorators import composed, elementwise, kernel
from minigrad.declare.partials import declared
from minigrad.declare.rules import floating, promote
from minigrad.errors import ArgumentError, DeviceError, DTypeError, ShapeError
from minigrad.kernels.scalar import formula, scalar_of
from minigrad.ops.batch_rules import stretched
from minigrad.ops.creation import ones, zeros
from minigrad.ops.pointwise.arithmetic import add
from minigrad.ops.pointwise.explog import rsqrt
from minigrad.ops.reduction.sums import mean, sum, wide
from minigrad.ops.reduction.variance import MEAN, TOTAL, VARIANCE, squares_of, variance
from minigrad.ops.shape.views import expand, reshape
from minigrad.runtime.dispatch import number
from minigrad.runtime.into import write_operands
from minigrad.runtime.operands import are_plain
from minigrad.runtime.recording import is_grad_enabled
from minigrad.runtime.tensor import Tensor, describe

# ---- normalization of channels over all other dims, with the gradients of all operands -------------------------------


Ints = tuple[int, ...]


SCALE = formula("_scale(variance, eps)", "1 / math.sqrt(variance + eps)")
NORMALIZED = formula("_normalized(x, center, scale, weight, bias)", "(x - center) * (scale * weight) + bias")
GRADIENT = formula("_gradient(g, x, center, of_g, of_x, constant)", "of_g * g + of_x * (x - center) + constant")
# The sum of the incoming gradients times the deviations from the mean.
PRODUCT = declared(TOTAL, "zero", order="sum", map=formula("product_with_deviation(g, x, center)", "g * (x - center)"))


def _factors(sum_g, sum_product, variance, weight, n, eps):
    scale = 1 / math.sqrt(variance + eps)
    of_g = scale * weight
    return sum_product * scale, sum_g, of_g, -of_g * scale * scale * sum_product / n, -of_g * sum_g / n


FACTORS = scalar_of(_factors, results=5)  # the gradients of weight and bias, and three factors for the gradient of x


def _kept(op: Op, specs: Sequence[Spec]) -> tuple[np.dtype[Any], DType]:
    """Compute in the promoted dtype, and return the dtype of the first operand."""
    return floating(op, specs).compute, specs[0].dtype


@elementwise(dtype=promote, vjp="derived", namespace=())
def scaled_from(x, center, factor, bias=0.0):
    """Return (x - center)*factor + bias.

    Gradient: g*factor for x, -g*factor for center, g*(x - center) for factor, and g for bias.
    """
    return (x - center) * factor + bias


@elementwise(dtype=_kept, vjp="derived", namespace=())
def moved(old, batch, momentum):
    """Return old*(1 - momentum) + batch*momentum, in the dtype of old.

    Gradient: g*(1 - momentum) for old, g*momentum for batch, and g*(batch - old) for momentum.
    """
    return old * (1 - momentum) + batch * momentum


# ---- the ops --------------------------------------------------------------------------------------------------------


def others(ndim: int) -> Ints:
    """Return all dims except dim 1, that of the channels."""
    return tuple([d for d in range(ndim) if d != 1])


class Channels:
    """Helper for the steps of a launch with values of shape (channels,), which are expanded to the shape of x."""

    def __init__(self, steps: Steps, x: Value) -> None:
        self.steps, self.shape = steps, x.shape
        self.dims, self.count = others(len(x.shape)), x.shape[1]

    def beside(self, value: Value) -> Value:
        """Return a value with the dims of x, in which all dims except the channels have length 1."""
        for d in self.dims:
            value = value.seen(value.layout.unsqueeze(d))
        return value

    def stretched(self, value: Value) -> Value:
        """Return a value expanded to the shape of x."""
        layout = self.beside(value).layout
        return value.seen(layout.expand(self.shape))

    def work(self, dtype: np.dtype[Any]) -> Value:
        """Return temporary memory for one number per channel."""
        return self.steps.work((self.count,), as_dtype(dtype))

    def reduce(self, reducer: Reducer, compute: np.dtype[Any], out: Value, *operands: Value) -> None:
        """Add a step that reduces each channel of the operands to one number of `out`."""
        self.steps.ask(Reduce(reducer, compute, self.dims), self.beside(out), *operands)


def _dtypes(op: Op, specs: tuple[Spec, ...], **params: Any) -> tuple[DType, DType, DType]:
    dtype = floating(op, specs)
    sums = as_dtype(dtype.accumulator)
    return dtype, sums, sums


def _in_code(g0: Tensor | None, g1: Tensor | None, g2: Tensor | None, *values: Tensor) -> bool:
    """Return whether tensor code must compute the gradients.

    It must if they may be differentiated again, or if the mean or the variance has a gradient.
    """
    derived = is_grad_enabled() or not are_plain(g0, *values)
    return derived or g0 is None or g1 is not None or g2 is not None


def _of_x(g0, g1, g2, x, weight, center, spread, *, eps):
    """Return the gradient of x, without those of the other operands."""
    if _in_code(g0, g1, g2, x, weight, center, spread):
        return gradient_of_x(g0, g1, g2, x, weight, eps)
    return channel_gradients(g0, x, weight, center, spread, eps=eps)[0]


def _gradients(g0, g1, g2, x, weight, center, spread, *, asked, eps):
    """Return the requested gradients of x, weight and bias, and None for the others."""
    if _in_code(g0, g1, g2, x, weight, center, spread):
        there = [asked[0], asked[1] and g0 is not None, asked[2] and g0 is not None]
        makers = (
            lambda: gradient_of_x(g0, g1, g2, x, weight, eps),
            lambda: gradient_of_weight(g0, x, eps),
            lambda: sum(g0, others(x.ndim)),
        )
        return tuple([make() if wanted else None for make, wanted in zip(makers, there, strict=True)])
    result = channel_gradients(g0, x, weight, center, spread, eps=eps)
    return tuple([part if wanted else None for part, wanted in zip(result, asked, strict=True)])


def _units(x: Tensor, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """Return the deviations from the mean of each channel, 1/sqrt(variance + eps), and the product of both."""
    dims = others(x.ndim)
    deviation = x - mean(x, dims, keepdim=True)
    scale = rsqrt(mean(deviation * deviation, dims, keepdim=True) + eps)
    return deviation, scale, deviation * scale


def gradient_of_x(
    g: Tensor | None, g1: Tensor | None, g2: Tensor | None, x: Tensor, weight: Tensor, eps: float
) -> Tensor:
    """Return the gradient of x in differentiable tensor code; g1, g2: the gradients of the mean and the variance."""
    dims, parts = others(x.ndim), []
    n, beside = prod(x.shape[d] for d in dims), (-1, *[1 for _ in x.shape[2:]])
    deviation, scale, unit = _units(x, eps)
    if g is not None:
        centred = g - mean(g, dims, keepdim=True) - unit * mean(g * unit, dims, keepdim=True)
        parts.append(centred * (scale * reshape(weight, beside)))
    if g1 is not None:
        parts.append(expand((reshape(g1, beside) / n).to(x.dtype), shape=x.shape))
    if g2 is not None:
        parts.append((reshape(g2, beside) * (2.0 / n)).to(x.dtype) * deviation)
    return reduce(add, parts)


def gradient_of_weight(g: Tensor, x: Tensor, eps: float) -> Tensor:
    """Return the gradient of the weight in differentiable tensor code."""
    return sum(g * _units(x, eps)[2], others(x.ndim))


def _batch(x, weight, bias, *, eps, batch, flags):
    """Return `normalized_channels` of a batch, in which each channel of each sample is a separate channel."""
    x, weight, bias = (stretched(v, flag, batch) for v, flag in zip((x, weight, bias), flags, strict=True))
    moved_in = x.transpose(0, 1)
    n, _, channels, *sizes = moved_in.shape
    flat = reshape(moved_in, (n, batch * channels, *sizes))
    y, center, spread = normalized_channels(flat, reshape(weight, (-1,)), reshape(bias, (-1,)), eps=eps)
    shape = (batch, channels)
    return reshape(y, moved_in.shape).transpose(0, 1), reshape(center, shape), reshape(spread, shape)


@kernel(
    dtype=_dtypes, shape=lambda op, x, *others, eps: (x.shape, (x.shape[1],), (x.shape[1],)),
    outputs=("y", "center", "spread"),
    vjp=(
        _of_x,
        lambda g0, x, *, eps: gradient_of_weight(g0, x, eps),
        lambda g0, *, x_shape: sum(g0, others(len(x_shape))),
    ),
    joint=_gradients, batch=_batch,
    namespace=(), out=False, label="batch_norm",
)  # fmt: skip
def normalized_channels(steps, y, center, spread, x: Tensor, weight: Tensor, bias: Tensor, *, eps: Scalar):
    """Return (x - mean)/sqrt(variance + eps)*weight + bias for each channel, and the means and the variances.

    Gradient: let s = 1/sqrt(variance + eps) and u = (x - mean)*s. For x, it is weight*s*(g - mean(g) - u*mean(g*u));
    for weight, sum(g*u); for bias, sum(g).
    """
    a, w, b = steps.operands
    compute, channels = np.dtype(x.dtype.accumulator), Channels(steps, a)
    scale = channels.work(compute)
    channels.reduce(MEAN, compute, center, a)
    channels.reduce(squares_of(0.0, VARIANCE), compute, spread, a, channels.stretched(center))
    steps.each(SCALE, scale, spread, steps.constant(eps, center.dtype))
    steps.each(NORMALIZED, y, a, *[channels.stretched(v) for v in (center, scale, w, b)])


@kernel(
    dtype=lambda op, specs, **params: (floating(op, specs[:3]),) * 3,
    shape=lambda op, g, x, weight, *others, eps: (x.shape, weight.shape, weight.shape),
    outputs=("gradient_of_x", "gradient_of_weight", "gradient_of_bias"),
    namespace=(), out=False, label="the gradient of batch_norm",
)  # fmt: skip
def channel_gradients(
    steps, dx, dweight, dbias, g: Tensor, x: Tensor, weight: Tensor, center: Tensor, spread: Tensor, *, eps: Scalar
):
    """Return the gradients of `normalized_channels`, computed from its means and variances."""
    head, a, w, middle, variance = steps.operands
    compute, channels = np.dtype(x.dtype.accumulator), Channels(steps, a)
    n = prod(x.shape[d] for d in channels.dims)
    sum_g, sum_product, *factors = [channels.work(compute) for _ in range(5)]
    channels.reduce(SUM, compute, sum_g, head)
    channels.reduce(PRODUCT, compute, sum_product, head, a, channels.stretched(middle))
    numbers = [steps.constant(number, center.dtype) for number in (n, eps)]
    steps.each(FACTORS, [dweight, dbias, *factors], sum_g, sum_product, variance, w, *numbers, compute=compute)
    steps.each(GRADIENT, dx, head, a, *[channels.stretched(v) for v in (middle, *factors)])


# ---- the public op ---------------------------------------------------------------------------------------------------


@composed(writes=("running_mean", "running_var"), channels_last=True)
def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None,
               bias: Tensor | None = None, training: Flag = False, momentum: Scalar = 0.1,
               eps: Annotated[float, Number(0)] = 1e-05) -> Tensor:  # fmt: skip
    """Return (input - mean)/sqrt(variance + eps)*weight + bias for each channel, which is dim 1.

    In training, the mean and the variance are computed from the batch of n values per channel.  If there are running
    statistics, they are then updated in place: running = (1 - momentum) * running + momentum * batch, where the
    variance of the batch is multiplied by n / (n - 1).  Outside training, the mean and the variance are the running
    statistics.
    running_mean, running_var: vectors with one element per channel, or both None in training.
    weight: the factor of each channel; None stands for 1.
    bias: the number that is added to each channel; None stands for 0.
    training: whether to use the statistics of the batch.
    Gradient: let s = 1/sqrt(variance + eps) and u = (input - mean)*s. For input, it is weight*s*(g - mean(g) -
    u*mean(g*u)) in training, and weight*s*g otherwise; for weight, sum(g*u); for bias, sum(g).
    Raises ShapeError in training with one value per channel, ArgumentError outside training without running statistics
    or if only one of them is passed.
    """
    check_channels(input, running_mean, running_var, weight, bias, training, eps)
    x = wide(input)
    if not training and running_mean is not None and running_var is not None:
        return scaled_channels(x, running_mean, running_var, weight, bias, eps).to(input.dtype)
    n = x.numel() // max(x.shape[1], 1)
    in_one = n > 1 and are_plain(x, weight, bias)
    if in_one:
        y, center, spread = normalized_channels(x, channel_line(weight, 1.0, x), channel_line(bias, 0.0, x), eps=eps)
    else:
        center, sample = batch_statistics(x)
        y = scaled_channels(x, center, sample * ((n - 1) / n) if n else sample, weight, bias, eps)
    if running_mean is not None and running_var is not None and n:
        sample = spread.detach() * (n / (n - 1)) if in_one else sample
        operands = {"input": input, "weight": weight, "bias": bias}
        beside = {name: p for name, p in operands.items() if p is not None}
        batch = {"running_mean": center.detach(), "running_var": sample.detach()}
        op: Op = batch_norm.op  # type: ignore[attr-defined]
        move_statistics(op, {"running_mean": running_mean, "running_var": running_var}, batch, momentum, beside)
    return y.to(input.dtype)


def channel_line(p: Tensor | None, default: float, x: Tensor) -> Tensor:
    """Return a parameter with float16 and bfloat16 as float32; for None, return a view that repeats the default."""
    return expand(number(default, x.dtype, x.device), shape=(x.shape[1],)) if p is None else wide(p)


BATCH = Ndim(least=2, layout="(batch, channels, ...)", advice="add the batch dim with unsqueeze(0)")


def check_channels(
    x: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None, bias: Tensor | None,
    training: bool, eps: float,
) -> None:  # fmt: skip
    """Raise an error unless the operands of batch_norm fit: shapes, dtypes, devices and required statistics."""
    channels = x.layout.shape[1:2]
    if not (channels and x.dtype.is_float):  # each call runs these checks, and a condition takes 1 us
        Floating.expect("batch_norm", input=x)
        BATCH.expect("batch_norm", input=x)
    if (running_mean is None) != (running_var is None) or (running_mean is None and not training):
        got = [name for name, p in (("running_mean", running_mean), ("running_var", running_var)) if p is not None]
        raise ArgumentError(
            "batch_norm: running_mean and running_var must be passed together, and are required without training, "
            f"got {' '.join(got) or 'neither'}; pass both"
        )
    if training and not eps > 0:
        Number(above=0, advice="pass eps=1e-5, or training=False").expect("batch_norm", **{"eps in training": eps})
    named = {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}
    there = {name: p for name, p in named.items() if p is not None}
    dtypes = {p.dtype.name for p in there.values()}
    narrow = {"float32"} if x.dtype.itemsize == 2 else set()
    for name, p in there.items():
        if p.device is not x.device:
            raise DeviceError(
                f"batch_norm: {name} must be on the device {x.device} of input, got {p.device}; move {name} with "
                f".to({str(x.device)!r})"
            )
        if p.layout.shape != channels:
            expect_shape("batch_norm", channels, "one element per channel of", x, **{name: p})
        if len(dtypes) > 1 or p.dtype.name not in {x.dtype.name, *narrow}:
            raise DTypeError(
                f"batch_norm: {name} must have the dtype of input {describe(x)}, or float32 if input is float16 or "
                f"bfloat16, got {describe(p)}; convert {name} with .to(dtype)"
            )
    if training and prod(n for d, n in enumerate(x.shape) if d != 1) == 1:
        raise ShapeError(
            f"batch_norm: input must have more than 1 value per channel in training, got {describe(x)}; use a larger "
            "batch, or training=False"
        )


def batch_statistics(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean and the variance, with correction 1, of each channel; float16 and bfloat16 become float32.

    Without elements, they are 0 and 1, so that the gradients of weight and bias are 0 and not nan.
    """
    dims = tuple([d for d in range(x.ndim) if d != 1])
    x = wide(x)
    if not x.numel():
        return zeros(x.shape[1], dtype=x.dtype, device=x.device), ones(x.shape[1], dtype=x.dtype, device=x.device)
    return mean(x, dims), variance(x, dims=dims, keepdim=False, correction=1)


def scaled_channels(
    x: Tensor, center: Tensor, spread: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    """Return (x - center) / sqrt(spread + eps) * weight + bias for each channel."""
    shape = (-1, *(1,) * (x.ndim - 2)) if x.shape[1] else (0, *(1,) * (x.ndim - 2))
    scale = rsqrt(wide(spread) + eps)
    factor = reshape(scale if weight is None else scale * wide(weight), shape)
    return scaled_from(x, reshape(wide(center), shape), factor, 0.0 if bias is None else reshape(wide(bias), shape))


def move_statistics(
    op: Op, running: dict[str, Tensor], batch: dict[str, Tensor], momentum: float, others: dict[str, Tensor]
) -> None:
    """Move the running statistics, which are operands of `op`, towards those of a batch by `momentum`, in place.

    others: the operands with which the running statistics must not share memory.
    """
    values = {name: moved(old.detach(), batch[name], momentum) for name, old in running.items()}
    write_operands(op, running | others, values)
