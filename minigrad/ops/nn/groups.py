"""Normalization of groups of channels in one kernel, with the gradients of all operands: the ops of group_norm.

The body of `normalized_groups` requests the kernel.  `by_rows` is its definition in tensor code, for derivatives of
higher order and for tangents.  Source: Wu and He, arXiv 1803.08494.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from minigrad.backends.launch import Launch
from minigrad.core.op import Spec
from minigrad.core.requests import GroupGradients, NormalizeGroups
from minigrad.core.roles import Scalar, Size
from minigrad.declare.decorators import kernel
from minigrad.declare.rules import floating, joint
from minigrad.ops.batch_rules import Flags, stretched
from minigrad.ops.nn.normalization import layer_norm
from minigrad.ops.shape.views import reshape
from minigrad.runtime.tensor import Tensor


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


def _parted(x: Tensor, size: int) -> Tensor:
    """Undo `_merged`: return the images or the vectors of each sample of a batch, with the batch as the first dim."""
    at = min(1, x.ndim - 1)
    parts = reshape(x, (*x.shape[:at], size, x.shape[at] // size, *x.shape[at + 1 :]))
    return parts.transpose(0, at)


def _gradients(
    asked: tuple[bool, ...], g: Tensor, x: Tensor, weight: Tensor, groups: int, eps: float
) -> tuple[Tensor | None, ...]:
    """Return the requested gradients of x, weight and bias, and None for the others."""
    result = group_gradients(x, g, weight, groups=groups, eps=eps)
    return tuple([part if wanted else None for part, wanted in zip(result, asked, strict=True)])


def _rule(k: int) -> Any:
    """Return the VJP rule of operand k; it saves all operands, because the definition needs them."""
    asked = tuple([j == k for j in range(3)])
    return lambda g, x, weight, bias, *, groups, eps: _gradients(asked, g, x, weight, groups, eps)[k]


@kernel(
    dtype=floating, shape=lambda op, x, *lines, groups, eps: x.shape, vjp=(_rule(0), _rule(1), _rule(2)),
    joint=lambda g, x, weight, bias, *, asked, groups, eps: _gradients(asked, g, x, weight, groups, eps),
    batch=lambda x, weight, bias, *, groups, eps, batch, flags: _parted(
        normalized_groups(*_merged((x, weight, bias), batch, flags), groups=groups * batch, eps=eps), batch
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
    batch=lambda x, g, weight, *, groups, eps, batch, flags: tuple([_parted(part, batch) for part in group_gradients(
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
