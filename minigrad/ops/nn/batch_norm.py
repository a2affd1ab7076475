"""The op `batch_norm`: it normalizes each channel, and updates the running statistics in training.

In training, the forward pass and the backward pass are one launch each (`channels.py`).  Inside a transform, the op is
composed of the mean and the variance.  It writes into operands, which its declaration lists in `writes`.
"""

from __future__ import annotations

from math import prod

from minigrad.core.conditions import Floating, Ndim, expect_shape
from minigrad.core.op import Op
from minigrad.core.roles import Flag, Number, Scalar
from minigrad.declare.decorators import composed
from minigrad.errors import ArgumentError, DeviceError, DTypeError, ShapeError
from minigrad.ops.creation import ones, zeros
from minigrad.ops.nn.channels import moved, normalized_channels, scaled_from
from minigrad.ops.pointwise.explog import rsqrt
from minigrad.ops.reduction.sums import mean, wide
from minigrad.ops.reduction.variance import variance
from minigrad.ops.shape.views import expand, reshape
from minigrad.runtime.dispatch import number
from minigrad.runtime.into import write_operands
from minigrad.runtime.operands import are_plain
from minigrad.runtime.tensor import Tensor, describe


@composed(writes=("running_mean", "running_var"))
def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None,
               bias: Tensor | None = None, training: Flag = False, momentum: Scalar = 0.1,
               eps: Scalar = 1e-05) -> Tensor:  # fmt: skip
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
            f"got {' '.join(got) or 'neither'}; pass both", op="batch_norm",
        )  # fmt: skip
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
                f".to({str(x.device)!r})", op="batch_norm",
            )  # fmt: skip
        if p.layout.shape != channels:
            expect_shape("batch_norm", channels, "one element per channel of", x, **{name: p})
        if len(dtypes) > 1 or p.dtype.name not in {x.dtype.name, *narrow}:
            raise DTypeError(
                f"batch_norm: {name} must have the dtype of input {describe(x)}, or float32 if input is float16 or "
                f"bfloat16, got {describe(p)}; convert {name} with .to(dtype)", op="batch_norm",
            )  # fmt: skip
    if training and prod(n for d, n in enumerate(x.shape) if d != 1) == 1:
        raise ShapeError(
            f"batch_norm: input must have more than 1 value per channel in training, got {describe(x)}; use a larger "
            "batch, or training=False", op="batch_norm",
        )  # fmt: skip


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
