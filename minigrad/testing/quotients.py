"""Difference quotients of a function, and estimates of their own error.

<cotangents, function> is a number, whose gradient a backward pass computes.  A quotient moves one element, or all along
a direction, by a step h.  The error of a central quotient is about h^2 / 6 times the third derivative, plus the
rounding of the function divided by h.  So a step is a compromise; `curve` shows the error at large and at small steps.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.core.dtype import DType, float32, float64
from minigrad.errors import ArgumentError
from minigrad.ops.creation import tensor
from minigrad.ops.shape.parts import view_as_complex, view_as_real
from minigrad.runtime.data import host_array
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.var import Var

Function = Callable[..., Any]
# Number of calls at one point before a function counts as deterministic: two random results may be equal by chance.
CALLS = 4
STEPS = tuple(10.0**-k for k in range(1, 11))  # the steps for which a curve shows the error
# (step, atol, rtol) by dtype.  The best step of a central difference is about the cube root of the rounding error
# (Press et al., Numerical Recipes, section 5.7): 6e-6 and 5e-3 for values around one.
CHOSEN = {float64: (1e-6, 1e-6, 1e-5), float32: (5e-3, 2e-3, 5e-3)}
BEND = 1e-3  # a point is a kink if the slopes on both sides differ relatively by more than this, at the smallest steps


@dataclass(frozen=True)
class Bounds:
    """The step, and the tolerances: |analytic - numeric| <= atol + rtol * |numeric| must hold, up to rounding."""

    eps: float
    atol: float
    rtol: float

    @staticmethod
    def of(dtype: DType, eps: float | None, atol: float | None, rtol: float | None) -> Bounds:
        """Return the given values, with those of a dtype in place of None."""
        chosen = CHOSEN[dtype]
        return Bounds(*[asked if asked is not None else usual for asked, usual in zip((eps, atol, rtol), chosen)])


def outputs_of(result: Any, name: str = "gradcheck") -> list[Tensor]:
    """Return the floating tensors of a result; raise ArgumentError if it has other types than tensors.

    Complex results are returned as pairs of real numbers.
    """
    outputs = [result] if isinstance(result, Tensor) else list(result) if isinstance(result, (tuple, list)) else None
    if outputs is None or not all(isinstance(y, Tensor) for y in outputs):
        raise ArgumentError(
            f"{name}: the function must return a tensor, or a tuple or list of tensors, got {describe(result)}; return "
            "the tensors only"
        )
    return [view_as_real(y) if y.dtype.is_complex else y for y in outputs if y.dtype.is_inexact]


def over_pairs(function: Function, args: Sequence[Any]) -> tuple[Function, list[Any]]:
    """Return a function of real numbers and its arguments: pairs of numbers replace each complex Var.

    A derivative with respect to a complex number consists of those with respect to both parts.
    """
    pairs = [isinstance(x, Tensor) and x.dtype.is_complex and x.requires_grad for x in args]
    if not any(pairs):
        return function, list(args)

    def of_pairs(*values: Any) -> Any:
        return function(*[view_as_complex(x) if pair else x for x, pair in zip(values, pairs, strict=True)])

    return of_pairs, [Var(view_as_real(x.detach())) if pair else x for x, pair in zip(args, pairs)]


@contextlib.contextmanager
def holding(x: Tensor, values: NDArray[Any]) -> Iterator[None]:
    """Write values into the memory of a tensor for a block, without recording it."""
    before = np.array(host_array(x))
    try:
        write(x, values)
        yield
    finally:
        write(x, before)


def write(x: Tensor, values: NDArray[Any]) -> None:
    """Write values into the memory of a tensor, without recording it."""
    with no_grad():
        x.detach().copy_(tensor(values, dtype=x.dtype, device=x.device))


class Quotients:
    """Compute difference quotients of <cotangents, function(args)> with respect to one argument.

    `args` contains all arguments, and `position` is the index of the argument that is changed.  `eps` is the step.
    `coarse` is True if the argument or a result is float32.  `in_memory` is True if the function also reads the
    argument by another way, so that values are written into its memory.
    """

    def __init__(
        self, function: Function, args: Sequence[Any], position: int, cotangents: Sequence[NDArray[Any]], eps: float,
        coarse: bool = False, in_memory: bool = False,
    ) -> None:  # fmt: skip
        self.function, self.args, self.position, self.in_memory = function, list(args), position, in_memory
        self.cotangents, self.eps = list(cotangents), eps
        self.kinds: list[str] | None = None  # the shapes and dtypes of the outputs, from the first call
        self.ulp = 2.0**-23 if coarse else 2.0**-52
        self.dtype = args[position].dtype
        self.base = np.array(host_array(args[position]), dtype=np.float64)

    def value(self, x: NDArray[Any]) -> float:
        """Return <cotangents, function(..., x, ...)>.  The function receives a Var, as for the analytic gradient."""
        args = list(self.args)
        if self.in_memory:
            with holding(args[self.position], x):
                return self.inner(self.function(*args))
        args[self.position] = Var(x, self.dtype, self.args[self.position].device)
        return self.inner(self.function(*args))

    def inner(self, result: Any) -> float:
        """Return <cotangents, result>, summed in float64."""
        outputs = outputs_of(result)
        kinds = [describe(y) for y in outputs]
        self.kinds = kinds if self.kinds is None else self.kinds
        if kinds != self.kinds:
            raise ArgumentError(
                "gradcheck: the function must return the same shapes and dtypes for all values of its inputs, got "
                f"{', '.join(self.kinds)} and {', '.join(kinds)}; choose inputs far from the change"
            )
        arrays = [host_array(y).astype(np.float64) for y in outputs]
        return float(sum(np.vdot(v, y) for v, y in zip(self.cotangents, arrays, strict=True)))

    def shifted(self, index: tuple[int, ...], step: float) -> float:
        """Return `value` with one element moved by `step`."""
        x = self.base.copy()
        x[index] += step
        return self.value(x)

    def at(self, index: tuple[int, ...], step: float | None = None) -> float:
        """Return the central difference quotient of one element."""
        h = self.step(index, self.eps if step is None else step)
        up, down = self.moved(index, h)
        return (self.shifted(index, h) - self.shifted(index, -h)) / (up - down)

    def step(self, index: tuple[int, ...], h: float) -> float:
        """Return h, multiplied by the element's magnitude if that is larger than one."""
        x = abs(float(self.base[index]))
        return h * x if 1.0 < x < float("inf") else h

    def moved(self, index: tuple[int, ...], h: float) -> tuple[float, float]:
        """Return an element after a step up and after a step down, rounded to its dtype, for the step really made."""
        kind = np.float32 if self.dtype.itemsize < 8 else np.float64
        x = self.base[index]
        return float(kind(x + h)), float(kind(x - h))

    def central(self) -> NDArray[np.float64]:
        """Return the central difference quotients of all elements."""
        result = np.zeros(self.base.shape)
        for index in np.ndindex(self.base.shape):
            result[index] = self.at(index)
        return result

    def along(self, direction: NDArray[np.float64]) -> float:
        """Return the central difference quotient along a direction."""
        up, down = self.base + self.eps * direction, self.base - self.eps * direction
        return (self.value(up) - self.value(down)) / (2 * self.eps)

    def slopes(self, index: tuple[int, ...], h: float) -> tuple[float, float]:
        """Return the one-sided quotients from the left and from the right."""
        here, (up, down) = self.value(self.base), self.moved(index, h)
        x = float(self.base[index])
        return (here - self.shifted(index, -h)) / (x - down), (self.shifted(index, h) - here) / (up - x)

    def has_kink(self, index: tuple[int, ...]) -> bool:
        """Return whether the slopes on both sides differ much more than rounding allows, also at a smaller step.

        The slopes of a smooth function approach each other as the step shrinks.
        """
        gaps = []
        first = self.step(index, self.eps)
        for h in (first, first / 8):
            left, right = self.slopes(index, h)
            gaps.append(abs(right - left))
            if not gaps[-1] > BEND * max(1.0, abs(right), abs(left)) + 10 * self.rounding * self.eps / h:
                return False
        return gaps[1] > gaps[0] / 2

    @cached_property
    def rounding(self) -> float:
        """An estimate of a quotient's error that comes from the rounding of the function's values."""
        size = abs(self.value(self.base)) + sum(float(np.abs(v).sum()) for v in self.cotangents)
        return self.ulp * size / self.eps if np.isfinite(size) else 0.0

    def noise(self) -> float:
        """Return the largest difference between quotients of repeated calls at the same point."""
        values = [self.value(self.base) for _ in range(CALLS)]
        return 0.0 if np.isnan(values).any() else (max(values) - min(values)) / (2 * self.eps)

    def curve(self, index: tuple[int, ...], analytic: float) -> list[tuple[float, float]]:
        """Return (step, |analytic - quotient|) of one element, from large steps to the smallest that the dtype has."""
        steps = [h for h in STEPS if len({*self.moved(index, self.step(index, h)), float(self.base[index])}) == 3]
        return [(h, abs(analytic - self.at(index, h))) for h in steps]
