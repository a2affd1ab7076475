"""Groups of channels: sums over the group, and functions of an element, its channel and its group."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from minigrad.backends.base import Backend, serves
from minigrad.backends.lowering.functions import DIFFERENCE, PRODUCT, QUOTIENT, SUM
from minigrad.backends.steps import Steps, Value, shortened, viewed
from minigrad.core.dtype import as_dtype
from minigrad.core.op import ScalarFn
from minigrad.core.requests import GroupGradients, NormalizeGroups
from minigrad.kernels.scalar import formula

INVERSE_ROOT = formula("inverse_root(total, n, eps)", "1 / math.sqrt(total / n + eps)")
NORMALIZED = formula("normalized(deviation, scale, weight, bias)", "deviation * (scale * weight) + bias")
# plain: the sum of weight * g over the group.  along: the sum of weight * g times the normalised element.
GRADIENT = formula(
    "gradient(g, deviation, scale, weight, plain, along, n)",
    "scale * (weight * g - plain / n - deviation * scale * (along / n))",
)


class Grouped:
    """The values of a launch with the dims (images, groups, channels of a group, elements of a channel)."""

    def __init__(self, steps: Steps, x: Value, groups: int, eps: float) -> None:
        images, channels, *sizes = x.shape
        self.steps, self.shape = steps, (images, groups, channels // groups, prod(sizes))
        self.dtype = as_dtype(x.dtype.compute)
        self.n = steps.constant(self.shape[2] * self.shape[3], self.dtype)
        x = self.image(x)
        middle = self.sum(x, (2, 3))
        steps.each(QUOTIENT, middle, middle, self.n)
        self.deviation = self.map(DIFFERENCE, x, middle)
        self.scale = self.sum(self.map(PRODUCT, self.deviation, self.deviation), (2, 3))
        steps.each(INVERSE_ROOT, self.scale, self.scale, self.n, steps.constant(eps, self.dtype))

    def image(self, x: Value) -> Value:
        """Return a value of the shape of x with these dims."""
        return viewed(self.steps.dense(x), self.shape)

    def line(self, p: Value) -> Value:
        """Return a value per channel with these dims."""
        return viewed(self.steps.dense(p), (1, *self.shape[1:3], 1))

    def map(self, scalar: ScalarFn, *values: Value) -> Value:
        """Apply a function to each element."""
        out = self.steps.work(self.shape, self.dtype)
        self.steps.each(scalar, out, *values)
        return out

    def sum(self, x: Value, dims: Sequence[int]) -> Value:
        """Return sums over some of the four dims."""
        out = self.steps.work(shortened(x.shape, dims), self.dtype)
        self.steps.reducer(SUM, out, x, dims)
        return out


@serves(Backend, NormalizeGroups)
def normalize_groups(steps: Steps, request: NormalizeGroups) -> None:
    """Compute the mean and the deviation of each group, then the result."""
    (out,), (x, weight, bias) = steps.outs, steps.operands
    groups = Grouped(steps, x, request.groups, request.eps)
    lines = groups.line(weight), groups.line(bias)
    steps.each(NORMALIZED, viewed(out, groups.shape), groups.deviation, groups.scale, *lines)


@serves(Backend, GroupGradients)
def group_gradients(steps: Steps, request: GroupGradients) -> None:
    """Compute the sums of each channel of each image, and from them all gradients."""
    (dx, dweight, dbias), (x, g, weight) = steps.outs, steps.operands
    if not dx.layout.numel:
        for line in (dweight, dbias):
            steps.fill(line, 0)
        return
    groups = Grouped(steps, x, request.groups, request.eps)
    g, w = groups.image(g), groups.line(weight)
    of_bias, of_weight = groups.sum(g, (3,)), groups.sum(groups.map(PRODUCT, g, groups.deviation), (3,))
    steps.each(PRODUCT, of_weight, of_weight, groups.scale)
    weighted = [steps.work(of_bias.shape, groups.dtype) for _ in range(2)]
    totals = []
    for line, out, product in zip((of_bias, of_weight), (dbias, dweight), weighted, strict=True):
        steps.reducer(SUM, viewed(out, (1, *groups.shape[1:3], 1)), line, (0,))
        steps.each(PRODUCT, product, line, w)
        totals.append(groups.sum(product, (2,)))
    steps.each(GRADIENT, viewed(dx, groups.shape), g, groups.deviation, groups.scale, w, *totals, groups.n)
