"""Fill a tensor with random numbers in place: `x.normal_()` and similar methods.

The gradient with respect to the replaced elements is 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from minigrad.core.dtype import DType, bool_, finfo, float32, float64
from minigrad.errors import ArgumentError, DTypeError
from minigrad.ops import casting, random, sampling
from minigrad.ops.indexing import assignment
from minigrad.ops.pointwise import rounding
from minigrad.ops.pointwise.clamping import clamp
from minigrad.runtime.tensor import Tensor, describe


def write(name: str, x: Tensor, values: Tensor) -> Tensor:
    """Replace the elements of x by the values, and return x."""
    assignment.copy_into(x, casting.cast(values, dtype=x.dtype), name, x)
    return x


def wide(name: str, x: Tensor) -> DType:
    """Return the dtype in which numbers for x are drawn: the dtype of x, or float32 for float16 and bfloat16."""
    if not x.dtype.is_float:
        raise DTypeError(
            f"{name}: expected a tensor with a floating dtype, got {describe(x)}; convert it with .to(mg.float32)",
            op=name,
        )
    return x.dtype if x.dtype.itemsize > 2 else float32


def share(x: Tensor, dtype: DType, generator: Any) -> Tensor:
    """Return one uniform number per element of x, between 0 and 1; both ends are excluded."""
    return clamp(random.rand(x.shape, dtype=dtype, device=x.device, generator=generator), 2.0**-25)


def expect(name: str, fits: bool, text: str, value: float) -> None:
    """Raise ArgumentError with `text` and `value` if a parameter of a distribution does not fit."""
    if not fits:
        raise ArgumentError(f"{name}: {text}, got {value}; pass a value in this range", op=name)


def normal_(x: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill x with samples of a normal distribution, in place."""
    return write("normal_", x, random.normal(mean, std, x.shape, dtype=x.dtype, device=x.device, generator=generator))


def uniform_(x: Tensor, low: float = 0.0, to: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill x with uniform numbers in [low, to), in place.

    PyTorch's name for `low` is `from`, which is a Python keyword.
    """
    drawn = random.uniform(x.shape, low, to, dtype=x.dtype, device=x.device, generator=generator)
    return write("uniform_", x, drawn)


def bernoulli_(x: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Fill x in place with 1 with probability p, and with 0 otherwise.

    p: the probability for all elements, or a tensor of probabilities that broadcasts to the shape of x.
    """
    if isinstance(p, Tensor):
        return write("bernoulli_", x, sampling.bernoulli(p.expand(x.shape), generator=generator))
    return write("bernoulli_", x, sampling.bernoulli(x, p, generator=generator))


def random_(x: Tensor, low: int | None = None, to: Any = ..., *, generator: Any = None) -> Tensor:
    """Fill x with random integers in [low, to), in place.

    `x.random_(to)` draws from [0, to).  `x.random_(low, None)` draws from `low` to a largest integer n.  For a float
    dtype, n is the end of the range in which all integers are exact, 2**24 for float32.  For an integer dtype, n is the
    largest value of the dtype, but at most 2**63 - 2.  For bool, n is 1.  `x.random_()` draws from 0 to n.
    Raises ArgumentError for integers that the dtype cannot store.
    """
    low, to = (0, low) if to is ... else (low or 0, to)
    digits = {2: 2**8 if "bfloat" in x.dtype.name else 2**11, 4: 2**24, 8: 2**53}
    most = 2 if x.dtype is bool_ else digits[x.dtype.itemsize] + 1 if x.dtype.is_float else x.dtype.highest + 1
    end = min(int(most), 2**63 - 1) if to is None else to
    drawn = random.randint(low, end, x.shape, device=x.device, generator=generator)
    least, largest = x.dtype.lowest, x.dtype.highest
    if x.dtype.is_float:
        least, largest = finfo(x.dtype).min, finfo(x.dtype).max
    for value in (low, end - 1):
        expect(
            "random_",
            least <= value <= largest,
            f"low and to - 1 must be from {least} to {largest} for {x.dtype}",
            value,
        )
    return write("random_", x, drawn)


def exponential_(x: Tensor, lambd: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill x with samples of an exponential distribution, in place: -log(1 - u)/lambd for uniform u.

    lambd: the rate of the distribution, which must be positive.
    """
    expect("exponential_", lambd > 0, "lambd must be positive", lambd)
    return write("exponential_", x, (-share(x, wide("exponential_", x), generator)).log1p() / -lambd)


def cauchy_(x: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill x with samples of a Cauchy distribution, in place: median + sigma*tan(pi*(u - 0.5)) for uniform u."""
    expect("cauchy_", sigma > 0, "sigma must be positive", sigma)
    turn = share(x, wide("cauchy_", x), generator)
    return write("cauchy_", x, ((turn - 0.5) * math.pi).tan() * sigma + median)


def geometric_(x: Tensor, p: float, *, generator: Any = None) -> Tensor:
    """Fill x with samples of a geometric distribution, in place.

    A sample is the number of independent trials up to the first success; each trial succeeds with probability p.
    """
    expect("geometric_", 0.0 < p < 1.0, "p must be between 0 and 1, both excluded", p)
    return write("geometric_", x, rounding.ceil(share(x, float64, generator).log() / math.log1p(-p)))


def log_normal_(x: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Any = None) -> Tensor:
    """Fill x with samples of a log-normal distribution, in place.

    The logarithm of a sample has a normal distribution with the given mean and standard deviation.
    """
    expect("log_normal_", std > 0, "std must be positive", std)
    drawn = random.randn(x.shape, dtype=wide("log_normal_", x), device=x.device, generator=generator)
    return write("log_normal_", x, (drawn * std + mean).exp())


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    normal_, uniform_, bernoulli_, random_, exponential_, cauchy_, geometric_, log_normal_,
)  # fmt: skip
