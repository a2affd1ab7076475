"""Difference quotients of a function, and what can be known about their own error.

<cotangents, function> is one number whose gradient is what a backward pass gives; here it is moved in one element, or
along a direction, by a step h.  The central quotient is wrong by about h^2 / 6 times the third derivative, and by the
rounding of the function over h: a step is a choice between the two, and `curve` shows both ends of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.errors import ArgumentError
from minigrad.runtime.tensor import Tensor, describe, host_array
from minigrad.runtime.var import Var

Function = Callable[..., Any]
CALLS = 4  # at one point, before a function is called deterministic: two draws may agree by chance
STEPS = tuple(10.0**-k for k in range(1, 11))  # of a curve
BEND = 1e-3  # relative difference of the slopes on both sides from which a point is a kink, at the smallest steps


def outputs_of(result: Any, name: str = "gradcheck") -> list[Tensor]:
    """The floats among the tensors that a function gave.  Raises ArgumentError for a result that is no tensor."""
    found = [result] if isinstance(result, Tensor) else list(result) if isinstance(result, (tuple, list)) else None
    if found is None or not all(isinstance(y, Tensor) for y in found):
        raise ArgumentError(
            f"{name}: the function gave {describe(result)}; expected a tensor, or a tuple or list of tensors"
        )
    return [y for y in found if y.dtype.is_float]


class Quotients:
    """Difference quotients of <cotangents, function> in one argument.

    eps: the step.  given: the arguments; position: the one that is moved.  coarse: values are float32.
    """

    def __init__(
        self, function: Function, given: Sequence[Any], position: int, cotangents: Sequence[NDArray[Any]], eps: float,
        coarse: bool = False,
    ) -> None:  # fmt: skip
        self.function, self.given, self.position = function, list(given), position
        self.cotangents, self.eps = list(cotangents), eps
        self.ulp = 2.0**-23 if coarse else 2.0**-52
        self.dtype = given[position].dtype
        self.base = np.array(host_array(given[position]), dtype=np.float64)

    def value(self, x: NDArray[Any]) -> float:
        """<cotangents, function(..., x, ...)>.  The function sees a Var, as it did for the analytic gradient."""
        arguments = list(self.given)
        arguments[self.position] = Var(x, self.dtype, self.given[self.position].device)
        return self.inner(self.function(*arguments))

    def inner(self, result: Any) -> float:
        """<cotangents, result>, summed in float64."""
        outputs = [host_array(y).astype(np.float64) for y in outputs_of(result)]
        return float(sum(np.vdot(v, y) for v, y in zip(self.cotangents, outputs, strict=True)))

    def shifted(self, index: tuple[int, ...], step: float) -> float:
        """`value` with one element moved by `step`."""
        x = self.base.copy()
        x[index] += step
        return self.value(x)

    def at(self, index: tuple[int, ...], step: float | None = None) -> float:
        """The central quotient of one element."""
        h = self.step(index, self.eps if step is None else step)
        up, down = self.moved(index, h)
        return (self.shifted(index, h) - self.shifted(index, -h)) / (up - down)

    def step(self, index: tuple[int, ...], h: float) -> float:
        """A step in proportion to the element, where that is larger than one."""
        x = abs(float(self.base[index]))
        return h * x if 1.0 < x < float("inf") else h

    def moved(self, index: tuple[int, ...], h: float) -> tuple[float, float]:
        """Where one element is after a step up and a step down, in its dtype: the steps that were really made."""
        kind = np.float32 if self.dtype.itemsize < 8 else np.float64
        x = self.base[index]
        return float(kind(x + h)), float(kind(x - h))

    def central(self) -> NDArray[np.float64]:
        """The central quotient at every element."""
        result = np.zeros(self.base.shape)
        for index in np.ndindex(self.base.shape):
            result[index] = self.at(index)
        return result

    def along(self, direction: NDArray[np.float64]) -> float:
        """The central quotient along a direction."""
        up, down = self.base + self.eps * direction, self.base - self.eps * direction
        return (self.value(up) - self.value(down)) / (2 * self.eps)

    def slopes(self, index: tuple[int, ...], h: float) -> tuple[float, float]:
        """The quotients from the left and from the right."""
        here, (up, down) = self.value(self.base), self.moved(index, h)
        x = float(self.base[index])
        return (here - self.shifted(index, -h)) / (x - down), (self.shifted(index, h) - here) / (up - x)

    def has_kink(self, index: tuple[int, ...]) -> bool:
        """Whether the slopes on both sides disagree much more than rounding allows, and go on doing so at a smaller
        step: on a smooth function they come together as the step shrinks."""
        gaps = []
        first = self.step(index, self.eps)
        for h in (first, first / 8):
            left, right = self.slopes(index, h)
            gaps.append(abs(right - left))
            if not gaps[-1] > BEND * max(1.0, abs(right), abs(left)) + 10 * self.rounding() * self.eps / h:
                return False
        return gaps[1] > gaps[0] / 2

    def rounding(self) -> float:
        """By how much a quotient may be wrong because the function's own values are rounded: some ulps of them."""
        size = abs(self.value(self.base)) + sum(float(np.abs(v).sum()) for v in self.cotangents)
        return self.ulp * size / self.eps if np.isfinite(size) else 0.0

    def noise(self) -> float:
        """By how much the central quotient differs from call to call when nothing is moved."""
        values = [self.value(self.base) for _ in range(CALLS)]
        return 0.0 if np.isnan(values).any() else (max(values) - min(values)) / (2 * self.eps)

    def curve(self, index: tuple[int, ...], analytic: float) -> list[tuple[float, float]]:
        """(step, |analytic - quotient|) of one element, from large steps to the smallest that the dtype can make."""
        steps = [h for h in STEPS if len({*self.moved(index, self.step(index, h)), float(self.base[index])}) == 3]
        return [(h, abs(analytic - self.at(index, h))) for h in steps]
