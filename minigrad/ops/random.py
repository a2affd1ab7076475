"""Random tensors, computed with Philox: equal seeds produce equal numbers with any number of threads, on every device.

`manual_seed` restarts the default generator.  `generators.py` has the generators and the draws.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import inf
from typing import Annotated, Any

from ml_dtypes import finfo

from minigrad.core.conditions import Floating
from minigrad.core.dtype import DType, as_dtype, bool_, default_float, float64, int64
from minigrad.core.roles import Flag, Number, Size
from minigrad.core.shape import as_int, as_shape, broadcast_shapes
from minigrad.declare.decorators import composed, public
from minigrad.declare.forms import in_format
from minigrad.errors import ArgumentError, DTypeError, ShapeError
from minigrad.ops.casting import cast
from minigrad.ops.creation import expect_fit, expect_float, expect_numbers, format_like
from minigrad.ops.generators import Draw, Generator, Shuffle, default_generator, expect_generator
from minigrad.ops.indexing.sorting import insertions, topk
from minigrad.ops.pointwise.blends import clamp
from minigrad.ops.reduction.scan import cumsum
from minigrad.ops.reduction.sums import amin, aminmax, count_nonzero, sum
from minigrad.ops.shape.parts import view_as_complex
from minigrad.ops.shape.views import reshape
from minigrad.runtime.tensor import Tensor, describe, expect_tensors
from minigrad.runtime.tracers import readable

# ---- uniform, normal and integer numbers; permutations ---------------------------------------------------------------


@public()
def manual_seed(seed: int) -> Generator:
    """Restart the default generator: equal seeds produce equal numbers, with any number of threads."""
    return default_generator.manual_seed(seed)


def of_parts(
    draw: Any, shape: tuple[int, ...], dtype: DType, device: Any, generator: Any, scale: float = 1.0
) -> Tensor:  # fmt: skip
    """Return complex numbers, whose parts are random numbers times a scale."""
    parts = draw(*shape, 2, generator=generator, dtype=dtype.to_real(), device=device)
    return view_as_complex(parts if scale == 1.0 else parts * scale)


def _floating(name: str, dtype: Any, generator: Any, complexes: bool = False) -> Any:
    if generator is not None:
        expect_generator(name, generator)
    kind = default_float() if dtype is None else as_dtype(dtype)
    if not (kind.is_float or (complexes and kind.is_complex)):
        raise DTypeError(f"{name}: dtype must be a floating dtype, got {kind}; use randint for random integers")
    return kind


def _expect_fit(name: str, kind: DType, **numbers: float) -> None:
    """Raise ArgumentError for a number outside the range of the dtype, with which samples would be infinite or nan."""
    for word, value in numbers.items():
        # The kernel computes the difference in the compute dtype.
        most = float(finfo(kind.compute if word == "high - low" else kind.numpy).max)
        if not abs(value) <= most:
            raise ArgumentError(
                f"{name}: {word} must be in the range of {kind}, got {value}; pass dtype=mg.float64, for example"
            )


@public(out=True)
def rand(
    *size: int | Sequence[int], generator: Generator | None = None, dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return samples from the uniform distribution on [0, 1); for a complex dtype, of both parts."""
    kind = _floating("rand", dtype, generator, True)
    if kind.is_complex:
        return of_parts(rand, as_shape(size, "rand"), kind, device, generator)
    return Draw("uniform", as_shape(size, "rand"), kind, device, 0.0, 1.0, generator).later()


@public(out=True)
def randn(
    *size: int | Sequence[int], generator: Generator | None = None, dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return samples from the normal distribution with mean 0 and standard deviation 1.

    For a complex dtype, each part has the variance 1/2, so that the magnitudes have the mean square 1.
    """
    kind = _floating("randn", dtype, generator, True)
    if kind.is_complex:
        return of_parts(randn, as_shape(size, "randn"), kind, device, generator, math.sqrt(0.5))
    return Draw("normal", as_shape(size, "randn"), kind, device, 0.0, 1.0, generator).later()


@public(makes=True)
def uniform(
    shape: int | Sequence[int], low: float, high: float, *, generator: Generator | None = None,
    dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return samples from the uniform distribution on [low, high); for a complex dtype, of both parts.

    Raises ArgumentError unless low and high are finite and low <= high, and if they exceed the range of the dtype.
    """
    expect_numbers("uniform", low=low, high=high)
    if not -math.inf < low <= high < math.inf:
        raise ArgumentError(
            f"uniform: low and high must be finite, with low <= high, got {low} and {high}; pass low=0.0, high=1.0, "
            "for example"
        )
    kind = _floating("uniform", dtype, generator, True)
    if kind.is_complex:
        pairs = (*as_shape((shape,), "uniform"), 2)
        parts = uniform(pairs, low, high, generator=generator, dtype=kind.to_real(), device=device)
        return view_as_complex(parts)
    _expect_fit("uniform", kind, low=low, high=high, **{"high - low": high - low})
    return Draw("uniform", as_shape((shape,), "uniform"), kind, device, low, high, generator).later()


@public(out=True)
def normal(
    mean: float | Tensor, std: float | Tensor = 1.0, size: int | Sequence[int] | None = None, *,
    generator: Generator | None = None, dtype: Any = None, device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return samples from normal distributions.

    mean: a number, or without `size` a tensor with the mean of each element.
    std: the standard deviation, a number, or without `size` a tensor with one value for each element.
    Not differentiable.  Raises ArgumentError for two numbers without `size`, for a tensor with `size`, and for a
    negative standard deviation.
    """
    tensors = [x for x in (mean, std) if isinstance(x, Tensor)]
    if tensors and size is None:
        if requires_grad:
            raise ArgumentError(
                "normal: requires_grad is allowed only with size, but mean or std is a tensor; call requires_grad_() "
                "on the result"
            )
        return _normal_of_each(mean, std, tensors, generator).to(dtype=dtype, device=device)
    if tensors or size is None:
        raise ArgumentError(
            "normal: mean and std must be numbers with a size, or at least one of them a tensor without a size; "
            "write mg.normal(0.0, 1.0, (2, 3)), for example"
        )
    expect_numbers("normal", mean=mean, std=std)
    if not (math.isfinite(mean) and 0.0 <= std < math.inf):
        raise ArgumentError(
            f"normal: mean must be finite, and std finite and not negative, got mean={mean} and std={std}; pass "
            "mean=0.0, std=1.0, for example"
        )
    kind = _floating("normal", dtype, generator, True)
    if kind.is_complex:
        return randn(size, dtype=kind, device=device, generator=generator) * std + mean
    _expect_fit("normal", kind, mean=mean, std=std)
    return Draw("normal", as_shape((size,), "normal"), kind, device, mean, std, generator).later()


def _normal_of_each(mean: Any, std: Any, tensors: list[Tensor], generator: Generator | None) -> Tensor:
    shape = broadcast_shapes("normal", *[x.shape for x in tensors])
    mean, std = (x.detach() if isinstance(x, Tensor) else x for x in (mean, std))
    first = tensors[0]
    if (readable(std) and (std < 0).any().item()) if isinstance(std, Tensor) else std < 0:
        raise ArgumentError("normal: std must not be negative, got a negative element; pass std.abs()")
    drawn = randn(shape, dtype=first.dtype, device=first.device, generator=generator)
    return (mean + std * drawn).to(first.dtype)


@public(out=True)
def randint(
    low: int = 0, high: int | None = None, size: int | Sequence[int] = (), *, generator: Generator | None = None,
    dtype: Any = None, device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return uniformly distributed integers in [low, high); `randint(high, size=...)` starts at 0.

    Raises ArgumentError for an empty range, DTypeError if the dtype cannot represent all integers of the range.
    """
    if isinstance(high, (tuple, list)):
        high, size = None, high
    if high is None:
        low, high = 0, low
    _floating("randint", None, generator)
    low, high = as_int(low, "low", "randint"), as_int(high, "high", "randint")
    kind = int64 if dtype is None else as_dtype(dtype)
    if high <= low:
        raise ArgumentError(
            f"randint: low must be less than high, got low={low} and high={high}; pass low=0, high=10, for example"
        )
    expect_float("randint", kind, requires_grad)
    drawn = kind if kind.is_int else int64
    if low < drawn.lowest or high - 1 > drawn.highest or (kind is bool_ and (low < 0 or high > 2)):
        raise DTypeError(
            f"randint: dtype must represent all integers from {low} to {high - 1}, got {kind}; pass dtype=mg.int64, "
            "for example"
        )
    recipe = Draw("integer", as_shape((size,), "randint"), drawn, device, low, high, generator)
    return recipe.later() if kind is drawn else cast(recipe.make(), dtype=kind)


@public()
def randint_like(
    input: Tensor, low: int, high: int | None = None, *, generator: Generator | None = None, dtype: Any = None,
    device: Any = None, requires_grad: bool = False, **kwargs: Any,
) -> Tensor:  # fmt: skip
    """Return uniformly distributed integers in [low, high), with the shape, dtype and device of the input.

    `randint_like(input, high)` starts at 0.
    """
    expect_tensors("randint_like", input)
    expect_float("randint_like", dtype or input.dtype, requires_grad)
    return randint(
        low, high, input.shape, generator=generator, dtype=dtype or input.dtype,
        device=input.device if device is None else device, requires_grad=requires_grad, **kwargs,
    )  # fmt: skip


@public(like=True)
def rand_like(
    input: Tensor, *, generator: Generator | None = None, dtype: Any = None, device: Any = None,
    requires_grad: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """Return uniform samples in [0, 1), with the shape, dtype and device of the input."""
    return _drawn_like("rand_like", rand, "uniform", 1.0, input, dtype, device, generator, memory_format)


@public(like=True)
def randn_like(
    input: Tensor, *, generator: Generator | None = None, dtype: Any = None, device: Any = None,
    requires_grad: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """Return standard normal samples, with the shape, dtype and device of the input."""
    scale = math.sqrt(0.5)  # the parts of a complex number have half its variance each
    return _drawn_like("randn_like", randn, "normal", scale, input, dtype, device, generator, memory_format)


def _drawn_like(
    name: str, draw: Any, kind: str, scale: float, input: Tensor, dtype: Any, device: Any, generator: Any,
    memory_format: Any,
) -> Tensor:  # fmt: skip
    """Return random numbers with the shape and the memory format of the input, or their recipe.

    draw: the function whose `kind` of numbers is drawn.  scale: the factor of the parts of complex numbers.
    """
    expect_tensors(name, input)
    drawn, where = _floating(name, dtype or input.dtype, generator, True), input.device if device is None else device
    wanted = format_like(name, input, memory_format)
    if drawn.is_complex:
        return in_format(name, of_parts(draw, input.shape, drawn, where, generator, scale), wanted)
    recipe = Draw(kind, input.shape, drawn, where, 0.0, 1.0, generator)
    return recipe.later() if wanted is None else in_format(name, recipe.make(), wanted)


@public(out=True)
def randperm(
    n: int, *, generator: Generator | None = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Return a random permutation of the integers from 0 to n - 1, in int64 by default.

    It consists of the positions that sort random keys.
    """
    (n,) = as_shape(n, "randperm")
    kind = int64 if dtype is None else as_dtype(dtype)
    _floating("randperm", None, generator)
    expect_float("randperm", kind, requires_grad)
    expect_fit("randperm", max(n - 1, 0), kind)
    recipe = Shuffle(n, device, generator)
    return recipe.later() if kind is int64 else cast(recipe.make(), dtype=kind)


# ---- samples from probabilities that a tensor contains ---------------------------------------------------------------


@composed()
def bernoulli(
    input: Tensor, p: Annotated[Any, Number(0, 1, noun="probability", example=0.5, optional=True)] = None, *,
    generator: Any = None,
) -> Tensor:  # fmt: skip
    """Return 1 with the probability that each element contains, otherwise 0, in the dtype of the input.

    p: the probability for all elements; then the elements of the input are not read.
    Not differentiable.  Raises DTypeError for probabilities that are not floats, ArgumentError for p outside [0, 1].
    """
    chances = input.detach() if p is None else p
    if p is None:
        Floating.expect("bernoulli", input=input)
    return cast(rand(input.shape, dtype=float64, device=input.device, generator=generator) < chances, dtype=input.dtype)


@composed()
def multinomial(input: Tensor, num_samples: Size, replacement: Flag = False, *, generator: Any = None) -> Tensor:
    """Draw int64 positions from each row of weights, with probabilities proportional to the weights.

    The weights of a row do not need to add up to 1.
    replacement: whether a position can be drawn more than once in a row.
    Shapes: the input is (n,) or (m, n), and the result is (num_samples,) or (m, num_samples).
    Not differentiable.  Raises ShapeError for an input that does not have rows of floats, or if num_samples is not
    positive or, without replacement, greater than n; raises ArgumentError if weights are negative, not finite or all 0,
    and without replacement if a row has fewer than num_samples weights above 0.
    The weights are not checked while `mg.jit` records or a transform runs.
    Source: without replacement, Efraimidis and Spirakis, Weighted random sampling with a reservoir, 2006.
    """
    n = input.shape[-1] if input.ndim in (1, 2) and input.dtype.is_float else 0
    if not 0 < num_samples <= (num_samples if replacement and n else n):
        raise ShapeError(
            "multinomial: input must be a vector or matrix of floats, and num_samples positive and at most the "
            f"length of a row without replacement, got {describe(input)} and num_samples={num_samples}; convert input "
            "with .float(), or pass replacement=True"
        )
    weights = cast(input.detach(), dtype=float64) if input.ndim == 2 else cast(input.detach(), dtype=float64)[None]
    totals, checked = sum(weights, -1), readable(input)
    ends = (
        [x.item() for part in (weights, totals) for x in aminmax(part)] if input.numel() and checked else [0, 1, 1, 1]
    )
    lowest, _, least_total, largest_total = ends
    if not (lowest >= 0 and least_total > 0 and largest_total < inf):
        raise ArgumentError(
            "multinomial: the weights in each row of input must be finite, not negative, and not all 0, got other "
            f"weights in {describe(input)}; compute weights with softmax, for example"
        )
    if replacement:
        steps = cumsum(weights, -1)
        drawn = rand(weights.shape[0], num_samples, dtype=float64, device=input.device, generator=generator)
        result = insertions(steps, drawn * steps[:, -1:], after=True)
    else:
        if input.numel() and checked and amin(count_nonzero(weights, -1)).item() < num_samples:
            raise ArgumentError(
                f"multinomial: with replacement=False, each row of input must have at least {num_samples} weights "
                f"above 0, got fewer in {describe(input)}; pass replacement=True or a smaller num_samples"
            )
        chance = clamp(rand(weights.shape, dtype=float64, device=input.device, generator=generator), 2.0**-60)
        # A weight is divided by a logarithm, not the reverse, because log / 1e-308 is -inf, as for a weight of 0.
        result = topk(weights / chance.log(), num_samples, -1, largest=False).indices
    return reshape(result, (*input.shape[:-1], num_samples))
