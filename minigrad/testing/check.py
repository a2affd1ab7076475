"""One gradient check: an analytic gradient is compared with difference quotients, argument by argument.

`gradcheck.py` contains the public functions; `quotients.py` measures, and `report.py` guesses the cause of an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.autodiff.engine import grad
from minigrad.core.dtype import DType, float32, float64
from minigrad.ops.creation import tensor
from minigrad.runtime.data import host_array
from minigrad.runtime.tensor import Tensor
from minigrad.runtime.var import Var
from minigrad.testing.modes import (
    Case,
    batch_of_cotangents,
    batch_of_tangents,
    blame_forward,
    dot,
    pushed,
    tolerance,
    transposed,
)
from minigrad.testing.quotients import CALLS, CHOSEN, Quotients, outputs_of, write
from minigrad.testing.report import Argument, Element, GradcheckError, suspect, worst

EVERY = 64  # largest number of elements of an argument for which every element is compared
DIRECTIONS = 3  # number of random directions for a larger argument
REDRAWS = 4  # number of points that are tried on each side of a kink


def coarser(dtype: DType, outputs: Sequence[Tensor]) -> DType:
    """Return float64 if the argument and all results are float64, otherwise float32."""
    return float64 if all(kind is float64 for kind in (dtype, *[y.dtype for y in outputs])) else float32


@dataclass(frozen=True)
class Wrong:
    """An element that differs, with its argument and the quotients that measured it."""

    element: Element
    argument: Argument
    quotients: Quotients


class Check(Case):
    """A running gradient check."""

    def run(self, every: bool | None, modes: Sequence[str] | None = None) -> None:
        """Check the modes and every argument; raise GradcheckError for an error."""
        analytic = self.analytic()
        asked = ("forward",) if modes is None else modes
        agree = "forward" not in asked or transposed(self, analytic, modes is not None)
        if "batched" in asked:
            batch_of_cotangents(self)
            if modes is not None and "forward" in modes:
                batch_of_tangents(self)
        wrong: list[Wrong] = []
        for at, k in enumerate(self.checked):
            x, bounds = self.arguments[k], self.bounds[k]
            argument = Argument(self.labels[k], x.shape, str(x.dtype), bounds.eps)
            self.report.arguments.append(argument)
            whole = x.numel() <= EVERY if every is None else every
            if whole or not self.projections_agree(k, analytic[at], argument):
                wrong += self.elements(k, at, analytic[at], argument)
            if argument.kinks:  # `elements` has moved the point away from a kink, so compute the gradient there
                analytic = self.analytic()
        if wrong:
            self.fail(wrong)
        if not agree:
            self.expect_determined(analytic)
            raise blame_forward(self)

    def check_forward(self) -> None:
        """Compare forward mode with difference quotients along random directions, without a backward pass."""
        for k in self.checked:
            quotients, bounds = self.quotients(k), self.bounds[k]
            argument = Argument(self.labels[k], self.arguments[k].shape, str(self.arguments[k].dtype), bounds.eps)
            self.report.arguments.append(argument)
            for _ in range(DIRECTIONS):
                shapes = [self.arguments[j].shape for j in self.checked]
                directions = [self.rng.standard_normal(s) * (j == k) for j, s in zip(self.checked, shapes)]
                numeric, said = (
                    quotients.along(directions[self.checked.index(k)]),
                    dot(self.cotangents, pushed(self, directions)),
                )
                error = abs(said - numeric)
                argument.largest = max(argument.largest, error)
                if not error <= bounds.atol + bounds.rtol * abs(numeric) + quotients.rounding:
                    raise GradcheckError(
                        f"{self.report.name}: the tangent of {argument.label!r} is wrong: forward mode {said:.10g}, "
                        f"numeric {numeric:.10g}",
                        report=self.report,
                    )

    def analytic(self, factor: float = 1.0) -> list[NDArray[np.float64]]:
        """Return the gradients at the point, computed by a backward pass from the cotangents times a factor."""
        outputs = outputs_of(self.function(*self.arguments), self.report.name)
        cotangents = [factor * v for v in self.cotangents]
        return gradients_of(outputs, cotangents, [self.arguments[k] for k in self.checked], self.report.name)

    def quotients(self, k: int) -> Quotients:
        """Return the difference quotients of argument k."""
        coarse = self.bounds[k].eps >= CHOSEN[float32][0]
        return Quotients(self.function, self.arguments, k, self.cotangents, self.bounds[k].eps, coarse, self.in_memory)

    def projections_agree(self, k: int, analytic: NDArray[np.float64], argument: Argument) -> bool:
        """Return whether the derivatives along random directions agree with the gradient."""
        quotients, bounds = self.quotients(k), self.bounds[k]
        for _ in range(DIRECTIONS):
            direction = self.rng.standard_normal(analytic.shape)
            numeric, said = quotients.along(direction), float(np.vdot(analytic, direction))
            size = max(abs(numeric), float(np.linalg.norm(analytic)))
            error = abs(said - numeric)
            argument.largest, argument.rounding = max(argument.largest, error), quotients.rounding
            if not error <= bounds.atol + bounds.rtol * size + argument.rounding:
                return False
        return True

    def elements(self, k: int, at: int, analytic: NDArray[np.float64], argument: Argument) -> list[Wrong]:
        """Return the elements that differ away from kinks; at a kink, the elements that differ on either side.

        Raises GradcheckError if there is a kink at every point that was tried.
        """
        kinks, wrong = self.compared(k, analytic, argument)
        if wrong or not kinks:
            return wrong
        middle = self.arguments[k]
        for side in (-1.0, 1.0):
            self.arguments[k] = middle
            wrong = self.beside(k, at, kinks, side, argument)
            if wrong:
                break
        return wrong

    def beside(self, k: int, at: int, kinks: list[Wrong], side: float, argument: Argument) -> list[Wrong]:
        """Return the elements that still differ after the point was moved to one side of its kinks, where it stays."""
        for _ in range(REDRAWS):
            analytic = self.moved_off(k, at, [each.element.index for each in kinks], side)
            kinks, wrong = self.compared(k, analytic, argument)
            if wrong or not kinks:
                return wrong
        self.report.ranked = [each.element for each in kinks]
        raise self.error(kinks, "; the function has a kink at each of the points tried")

    def compared(self, k: int, analytic: NDArray[np.float64], argument: Argument) -> tuple[list[Wrong], list[Wrong]]:
        """Return the elements that differ at this point: first those at kinks, then all others."""
        quotients = self.quotients(k)
        numeric = quotients.central()
        differ = [Wrong(e, argument, quotients) for e in self.differing(k, analytic, numeric, quotients)]
        argument.compared, argument.analytic, argument.numeric = analytic.size, analytic, numeric
        argument.rounding = max(argument.rounding, quotients.rounding)
        kinks = {each.element.index: each for each in differ if quotients.has_kink(each.element.index)}
        away = np.array(np.abs(analytic - numeric))
        for index in kinks:
            away[index] = 0.0
        argument.largest = max(argument.largest, float(np.nanmax(away, initial=0.0)))
        argument.kinks += [index for index in kinks if index not in argument.kinks]
        return list(kinks.values()), [each for each in differ if each.element.index not in kinks]

    def differing(
        self, k: int, analytic: NDArray[np.float64], numeric: NDArray[np.float64], quotients: Quotients
    ) -> list[Element]:
        """Return the elements that differ by more than the bounds, the worst first.

        Raises GradcheckError if the function or its gradient differs between calls.
        """
        bounds = self.bounds[k]
        tolerance = bounds.atol + bounds.rtol * np.abs(numeric) + quotients.rounding
        excess = np.asarray(np.abs(analytic - numeric) - tolerance)
        excess[np.isnan(analytic) != np.isnan(numeric)] = np.inf
        excess[np.isnan(analytic) & np.isnan(numeric)] = -1.0
        positions = sorted(map(tuple, np.argwhere(excess > 0).tolist()), key=lambda index: -float(excess[index]))
        if positions:
            first = positions[0]
            self.expect_one_answer(k, first, analytic, float(np.asarray(tolerance)[first]))
        label = self.labels[k]
        return [Element(label, i, float(analytic[i]), float(numeric[i]), float(excess[i])) for i in positions]

    def moved_off(self, k: int, at: int, kinks: Sequence[tuple[int, ...]], side: float) -> NDArray[np.float64]:
        """Move the point away from its kinks, to one side, and return the gradient there."""
        old = self.arguments[k]
        x = np.array(host_array(old), dtype=np.float64)
        for index in kinks:
            x[index] += side * self.rng.uniform(0.05, 0.2) * max(1.0, abs(float(x[index])))
        if self.in_memory:
            write(old, x)
        else:
            self.arguments[k] = Var(x, old.dtype, old.device)
        return self.analytic()[at]

    def fail(self, wrong: list[Wrong]) -> None:
        """Raise GradcheckError for elements that differ, with a full report."""
        wrong.sort(key=lambda each: -each.element.excess)
        report, first, argument = self.report, wrong[0].element, wrong[0].argument
        k = self.labels.index(argument.label)
        bounds = self.bounds[k]
        report.ranked = [each.element for each in wrong]
        report.curve = wrong[0].quotients.curve(first.index, first.analytic)
        good = [h for h, error in report.curve if error <= bounds.atol + bounds.rtol * abs(first.numeric)]
        neighbours = [a for a, b in pairwise(good) if a < 20 * b]
        report.verdict = (
            f"bad step: they agree at steps around {neighbours[0]:.0e}, so pass eps={neighbours[0]:.0e}"
            if neighbours
            else "wrong rule: no step makes them agree"
        )
        assert argument.analytic is not None and argument.numeric is not None
        others = {self.labels[j]: self.quotients(j).central() for j in self.checked
                  if j != k and self.arguments[j].shape == self.arguments[k].shape}  # fmt: skip
        doubled = self.analytic(2.0)[self.checked.index(k)]
        report.suspect = suspect(argument.analytic, argument.numeric, others, doubled)
        raise self.error(wrong, "".join(f"; {words}" for words in (report.suspect, report.verdict) if words))

    def error(self, wrong: list[Wrong], more: str) -> GradcheckError:
        """Return the error for elements that differ, the worst first."""
        first, argument = wrong[0].element, wrong[0].argument
        number = sum(each.argument is argument for each in wrong)
        others = [
            repr(a.label) for a in self.report.arguments if a is not argument and any(w.argument is a for w in wrong)
        ]
        return GradcheckError(
            f"{self.report.name}: the gradient of {first.argument!r} is worst at {first.index}: analytic "
            f"{first.analytic:.10g}, numeric {first.numeric:.10g} ({number} of {argument.compared} elements differ"
            f"{', and some of ' + ', '.join(others) if others else ''}){more}",
            report=self.report,
            **worst([each.element for each in wrong]),
        )

    def expect_determined(self, analytic: list[NDArray[np.float64]]) -> None:
        """Raise GradcheckError if a second call returns a slightly other gradient."""
        for at, k in enumerate(self.checked):
            if analytic[at].size:
                index = np.unravel_index(int(np.argmax(np.abs(analytic[at]))), analytic[at].shape)
                least = tolerance(self, float(np.abs(analytic[at]).max()))
                self.expect_one_answer(k, tuple(map(int, index)), analytic[at], least)

    def expect_one_answer(
        self, k: int, index: tuple[int, ...], analytic: NDArray[np.float64], tolerance: float
    ) -> None:
        """Raise GradcheckError if the function, or its gradient at `index`, is not deterministic.

        The comparison is meaningless if two calls at the same point differ by more than the tolerance.
        """
        label, what = self.labels[k], "function"
        noise = self.quotients(k).noise()
        if not noise > tolerance:
            what = f"gradient of {label!r} at {index}"
            at = self.checked.index(k)
            noise = max(abs(float(self.analytic()[at][index] - analytic[index])) for _ in range(CALLS))
        if noise > tolerance:
            raise GradcheckError(
                f"{self.report.name}: the {what} is not deterministic, because calls at one point differ, which "
                f"changes the comparison by up to {noise:.3g}; draw random numbers outside the function, or seed the "
                "generator inside",
                argument=label,
                index=index,
                report=self.report,
            )


def gradients_of(
    outputs: list[Tensor], cotangents: list[NDArray[Any]], wanted: list[Tensor], name: str
) -> list[NDArray[np.float64]]:
    """Return the gradients of <cotangents, outputs>, with zeros for None."""
    seeds = [tensor(v, dtype=y.dtype, device=y.device) for v, y in zip(cotangents, outputs, strict=True)]
    tracked = [(y, s) for y, s in zip(outputs, seeds, strict=True) if y.requires_grad]
    if not tracked:
        raise GradcheckError(
            f"{name}: an output of the function must require a gradient, got none; pass Vars and compute the output "
            "from them"
        )
    grads = grad([y for y, _ in tracked], wanted, [s for _, s in tracked], allow_unused=True)
    return [
        np.zeros(x.shape) if g is None else host_array(g).astype(np.float64) for x, g in zip(wanted, grads, strict=True)
    ]
