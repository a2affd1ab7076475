"""One gradient check at work: an analytic gradient held against difference quotients, argument by argument.

`gradcheck.py` says what is checked; `quotients.py` measures, `patterns.py` guesses what is wrong.
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
from minigrad.errors import GradientError
from minigrad.ops.creation import tensor
from minigrad.runtime.tensor import Tensor, host_array
from minigrad.runtime.var import Var
from minigrad.testing.modes import batch_of_cotangents, transpose_identity
from minigrad.testing.patterns import suspect
from minigrad.testing.quotients import CALLS, Function, Quotients, as_tuple
from minigrad.testing.report import Argument, Element, GradcheckError, Report, worst

# (step, atol, rtol) by dtype.  The step that makes a central quotient best is about the cube root of the rounding
# (Press et al., Numerical Recipes, section 5.7): 6e-6 and 5e-3 for values around one.
CHOSEN = {float64: (1e-6, 1e-6, 1e-5), float32: (5e-3, 2e-3, 5e-3)}
EVERY = 64  # elements of an argument up to which each is compared
DIRECTIONS = 3  # along which a larger one is
REDRAWS = 4  # points that are tried in place of a kink


@dataclass(frozen=True)
class Bounds:
    """What counts as the same: |analytic - numeric| <= atol + rtol * |numeric|, and the rounding of the function."""

    eps: float
    atol: float
    rtol: float

    @staticmethod
    def of(dtype: DType, eps: float | None, atol: float | None, rtol: float | None) -> Bounds:
        """Those that were asked for, else those of a dtype."""
        chosen = CHOSEN[dtype]
        return Bounds(*[given if given is not None else usual for given, usual in zip((eps, atol, rtol), chosen)])


def coarser(dtype: DType, outputs: Sequence[Tensor]) -> DType:
    """float32 if the argument or a result is no finer."""
    return float64 if all(kind is float64 for kind in (dtype, *[y.dtype for y in outputs])) else float32


@dataclass
class Check:
    """One comparison at work: what goes in, and what has been found."""

    function: Function
    given: list[Any]
    labels: list[str]
    checked: list[int]
    cotangents: list[NDArray[Any]]
    bounds: dict[int, Bounds]
    rng: np.random.Generator
    report: Report

    def run(self, every: bool | None, modes: Sequence[str] = ("reverse",)) -> None:
        """Compare every argument.  Raises GradcheckError with the report."""
        analytic = self.analytic()
        if "forward" in modes:
            transpose_identity(self, analytic)
        if "batched" in modes:
            batch_of_cotangents(self)
        for at, k in enumerate(self.checked):
            x, bounds = self.given[k], self.bounds[k]
            found = Argument(self.labels[k], x.shape, str(x.dtype), bounds.eps)
            self.report.arguments.append(found)
            whole = x.numel() <= EVERY if every is None else every
            if not whole and self.projections_agree(k, analytic[at], found):
                continue
            self.elements(k, at, analytic[at], found)

    def analytic(self) -> list[NDArray[np.float64]]:
        """The gradients at the point, by a backward pass."""
        outputs = [y for y in as_tuple(self.function(*self.given)) if y.dtype.is_float]
        return gradients_of(outputs, self.cotangents, [self.given[k] for k in self.checked], self.report.name)

    def quotients(self, k: int) -> Quotients:
        """The difference quotients of argument k."""
        coarse = self.bounds[k].eps >= CHOSEN[float32][0]
        return Quotients(self.function, self.given, k, self.cotangents, self.bounds[k].eps, coarse)

    def projections_agree(self, k: int, analytic: NDArray[np.float64], found: Argument) -> bool:
        """Whether the slopes along random directions are what the gradient says."""
        quotients, bounds = self.quotients(k), self.bounds[k]
        for _ in range(DIRECTIONS):
            direction = self.rng.standard_normal(analytic.shape)
            numeric, said = quotients.along(direction), float(np.vdot(analytic, direction))
            size = max(abs(numeric), float(np.linalg.norm(analytic)))
            error = abs(said - numeric)
            found.largest = max(found.largest, error)
            if not error <= bounds.atol + bounds.rtol * size + quotients.rounding():
                return False
        return True

    def elements(self, k: int, at: int, analytic: NDArray[np.float64], found: Argument) -> None:
        """Compare element by element, off the kinks.  Raises GradcheckError for what differs."""
        for _ in range(REDRAWS + 1):
            quotients = self.quotients(k)
            numeric = quotients.central()
            differ = self.differing(k, analytic, numeric, quotients)
            found.compared, found.analytic, found.numeric = analytic.size, analytic, numeric
            away = np.abs(analytic - numeric)
            found.largest = max(found.largest, float(np.nanmax(away, initial=0.0)))
            if not differ:
                return
            kinks = [e.index for e in differ if quotients.has_kink(e.index)]
            wrong = [e for e in differ if e.index not in kinks]
            if wrong:
                self.fail(k, at, wrong, quotients)
            found.kinks += [index for index in kinks if index not in found.kinks]
            analytic = self.moved_off(k, at, kinks)
        self.report.ranked = differ
        raise self.error(differ, "; the function has a kink at each of the points that were tried")

    def differing(
        self, k: int, analytic: NDArray[np.float64], numeric: NDArray[np.float64], quotients: Quotients
    ) -> list[Element]:
        """The elements that are further apart than the bounds, the worst first.

        Raises GradcheckError if the function or its gradient differs from call to call.
        """
        bounds = self.bounds[k]
        tolerance = bounds.atol + bounds.rtol * np.abs(numeric) + quotients.rounding()
        excess = np.asarray(np.abs(analytic - numeric) - tolerance)
        excess[np.isnan(analytic) != np.isnan(numeric)] = np.inf
        excess[np.isnan(analytic) & np.isnan(numeric)] = -1.0
        places = sorted(map(tuple, np.argwhere(excess > 0).tolist()), key=lambda index: -float(excess[index]))
        if places:
            first = places[0]
            self.expect_one_answer(k, first, analytic, quotients, float(np.asarray(tolerance)[first]))
        label = self.labels[k]
        return [Element(label, i, float(analytic[i]), float(numeric[i]), float(excess[i])) for i in places]

    def moved_off(self, k: int, at: int, kinks: Sequence[tuple[int, ...]]) -> NDArray[np.float64]:
        """Move the point off its kinks, and give the gradient there."""
        old = self.given[k]
        x = np.array(host_array(old), dtype=np.float64)
        for index in kinks:
            x[index] += self.rng.choice([-1.0, 1.0]) * self.rng.uniform(0.05, 0.2) * max(1.0, abs(float(x[index])))
        self.given[k] = Var(x, old.dtype, old.device)
        return self.analytic()[at]

    def fail(self, k: int, at: int, wrong: list[Element], quotients: Quotients) -> None:
        """Raise for elements that differ, with all that can be said of them."""
        report, bounds, first = self.report, self.bounds[k], wrong[0]
        report.ranked, report.curve = wrong, quotients.curve(first.index, first.analytic)
        good = [h for h, error in report.curve if error <= bounds.atol + bounds.rtol * abs(first.numeric)]
        neighbours = [a for a, b in pairwise(good) if a < 20 * b]
        if neighbours:
            report.verdict = (
                f"bad step: they agree at steps around {neighbours[0]:.0e}, so pass eps={neighbours[0]:.0e}"
            )
        else:
            report.verdict = "wrong rule: no step makes them agree"
        argument = report.arguments[-1]
        if argument.analytic is not None and argument.numeric is not None:
            others = {self.labels[j]: self.quotients(j).central() for j in self.checked
                      if j != k and self.given[j].shape == self.given[k].shape}  # fmt: skip
            report.suspect = suspect(argument.label, argument.analytic, argument.numeric, others)
        raise self.error(wrong, "".join(f"; {words}" for words in (report.suspect, report.verdict) if words))

    def error(self, wrong: list[Element], more: str) -> GradcheckError:
        """The error for elements of one argument that differ, the worst first."""
        first, size = wrong[0], self.report.arguments[-1].compared
        return GradcheckError(
            f"{self.report.name}: the gradient of {first.argument!r} is worst at {first.index}: analytic "
            f"{first.analytic:.10g}, numeric {first.numeric:.10g} ({len(wrong)} of {size} elements differ){more}",
            report=self.report,
            **worst(wrong),
        )

    def expect_one_answer(
        self, k: int, index: tuple[int, ...], analytic: NDArray[np.float64], quotients: Quotients, tolerance: float
    ) -> None:
        """Raise GradcheckError if the function, or its gradient at `index`, differs from one call to the next by more
        than the tolerance: then the comparison says nothing."""
        label, what = self.labels[k], "function"
        noise = quotients.noise()
        if not noise > tolerance:
            what = f"gradient of {label!r} at {index}"
            at = self.checked.index(k)
            noise = max(abs(float(self.analytic()[at][index] - analytic[index])) for _ in range(CALLS))
        if noise > tolerance:
            raise GradcheckError(
                f"{self.report.name}: the {what} is not deterministic: calls at the same point differ, which moves the "
                f"comparison by up to {noise:.3g}; draw its random numbers outside, or seed them inside",
                argument=label,
                index=index,
                report=self.report,
            )


def gradients_of(
    outputs: list[Tensor], cotangents: list[NDArray[Any]], wanted: list[Tensor], name: str
) -> list[NDArray[np.float64]]:
    """The gradients of <cotangents, outputs>; zeros where there is none."""
    seeds = [tensor(v, dtype=y.dtype, device=y.device) for v, y in zip(cotangents, outputs, strict=True)]
    tracked = [(y, s) for y, s in zip(outputs, seeds, strict=True) if y.requires_grad]
    if not tracked:
        raise GradientError(f"{name}: no output of the function requires a gradient")
    found = grad([y for y, _ in tracked], wanted, [s for _, s in tracked], allow_unused=True)
    return [
        np.zeros(x.shape) if g is None else host_array(g).astype(np.float64) for x, g in zip(wanted, found, strict=True)
    ]
