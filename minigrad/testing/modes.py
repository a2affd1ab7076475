"""Comparison of the modes: forward mode is the transpose of reverse mode, and batches have the results of single calls.

For random u and v, <u, J v> and <J' u, v> are equal.  Their comparison needs no step and only the tolerance of
rounding. If they differ although every element of the gradient is right, forward mode is wrong, and its tangents are
ranked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.errors import GradientError
from minigrad.func import jvp, vjp, vmap
from minigrad.ops.creation import tensor
from minigrad.runtime.data import host_array
from minigrad.runtime.tensor import Tensor
from minigrad.testing.quotients import STEPS, Bounds, Function, outputs_of
from minigrad.testing.report import Element, GradcheckError, Report, suspect, worst

Array = NDArray[np.float64]
Arrays = list[Array]
BATCH = 3


@dataclass
class Case:
    """The inputs and the findings of a check."""

    function: Function
    arguments: list[Any]
    labels: list[str]
    checked: list[int]
    cotangents: list[NDArray[Any]]
    bounds: dict[int, Bounds]
    rng: np.random.Generator
    report: Report
    in_memory: bool = False  # whether the function also reads checked arguments by another way


def of_checked(check: Case) -> tuple[Callable[..., tuple[Tensor, ...]], tuple[Tensor, ...]]:
    """Return a function of only the checked arguments, and these arguments as constants."""

    def function(*xs: Tensor) -> tuple[Tensor, ...]:
        arguments = list(check.arguments)
        for k, x in zip(check.checked, xs, strict=True):
            arguments[k] = x
        return tuple(outputs_of(check.function(*arguments), check.report.name))

    return function, tuple([check.arguments[k].detach() for k in check.checked])


def like(values: Array, x: Tensor) -> Tensor:
    """Return an array as a tensor with the dtype and the device of x."""
    return tensor(values, dtype=x.dtype, device=x.device)


def dot(ours: Any, theirs: Any) -> float:
    """Return the inner product of two lists of arrays."""
    return float(sum(np.vdot(a, b) for a, b in zip(ours, theirs, strict=True)))


def arrays(xs: Any) -> Arrays:
    """Return tensors as NumPy arrays of float64."""
    return [host_array(x).astype(np.float64) for x in xs]


def tolerance(check: Case, size: float) -> float:
    """Return the tolerance for numbers of magnitude `size` that differ by rounding."""
    return (1e-9 if all(b.eps < 1e-3 for b in check.bounds.values()) else 1e-3) * (1.0 + size)


# ---- forward and reverse --------------------------------------------------------------------------------------------


def transposed(check: Case, analytic: Arrays, asked: bool) -> bool:
    """Return whether forward mode is the transpose of reverse mode, and add the result to the report.

    analytic: the gradients of reverse mode.
    asked: whether the caller requested forward mode.  If the function does not support forward mode, its error is
    raised if `asked` is True; otherwise the report contains the error.
    """
    directions: Arrays = [check.rng.standard_normal(check.arguments[k].shape) for k in check.checked]
    try:
        tangents = pushed(check, directions)
    except GradientError as error:
        if asked:
            raise
        check.report.notes.append(f"forward mode is not compared: {error}")
        return True
    except Exception as error:
        error.add_note(f"{check.report.name}: raised in forward mode, which modes=('reverse',) leaves out")
        raise
    forward, reverse = dot(check.cotangents, tangents), dot(analytic, directions)
    size = dot([np.abs(u) for u in check.cotangents], [np.abs(t) for t in tangents])
    same = bool(abs(forward - reverse) <= tolerance(check, size)) or forward == reverse
    same = same or bool(np.isnan(forward) and np.isnan(reverse))
    values = f"is {forward:.10g} in both modes" if same else f"is {forward:.10g} forward and {reverse:.10g} in reverse"
    check.report.checks.append((f"<u, Jv> {values}", same))
    return same


def pushed(check: Case, directions: Arrays) -> Arrays:
    """Return the tangents of the outputs; raise GradientError if the values change in forward mode."""
    function, primals = of_checked(check)
    values, tangents = jvp(function, primals, tuple([like(v, x) for v, x in zip(directions, primals)]))
    plain = outputs_of(check.function(*check.arguments), check.report.name)
    for ours, theirs in zip(arrays(values), arrays(plain), strict=True):
        if not np.allclose(ours, theirs, rtol=1e-3, atol=1e-3, equal_nan=True):
            raise GradientError(
                f"{check.report.name}: the function must return equal values with and without tangents, got different "
                "values; remove random numbers and global state from the function"
            )
    return arrays(tangents)


def blame_forward(check: Case) -> GradcheckError:
    """Return the error for modes that differ although every gradient is right: the tangents are wrong."""
    function, primals = of_checked(check)
    report, bounds = check.report, check.bounds[check.checked[0]]
    directions: Arrays = [check.rng.standard_normal(x.shape) for x in primals]
    tangents, values = pushed(check, directions), function(*primals)
    eps = min(b.eps for b in check.bounds.values())
    numeric = quotient(function, primals, directions, eps)
    ulp = 2.0**-23 if eps >= 1e-3 else 2.0**-52
    elements, apart = [], []
    for k, (y, t, n) in enumerate(zip(arrays(values), tangents, numeric, strict=True)):
        excess = np.abs(t - n) - bounds.atol - bounds.rtol * np.abs(n) - 4 * ulp * np.abs(y) / eps
        excess[np.isnan(t) != np.isnan(n)] = np.inf
        for i in map(tuple, np.argwhere(excess > 0).tolist()):
            elements.append(Element(f"tangent of output {k}", i, float(t[i]), float(n[i]), float(excess[i])))
            apart.append((k, i))
    if not elements:
        where = f", which has a kink at {report.kinks[0]}" if report.kinks else ""
        return GradcheckError(
            f"{report.name}: forward and reverse mode do not choose the same slope of the function{where}: "
            f"{report.checks[0][0]}",
            report=report,
        )
    order = sorted(range(len(elements)), key=lambda j: -elements[j].excess)
    report.ranked = [elements[j] for j in order]
    k, index = apart[order[0]]
    report.curve = [
        (h, abs(float(tangents[k][index] - quotient(function, primals, directions, h)[k][index]))) for h in STEPS
    ]
    report.suspect = suspect(tangents[k], numeric[k], {})
    first, size = report.ranked[0], sum(t.size for t in tangents)
    return GradcheckError(
        f"{report.name}: forward mode is wrong, and worst for the {first.argument} at {first.index}: analytic "
        f"{first.analytic:.10g}, numeric {first.numeric:.10g} ({len(elements)} of {size} elements differ)"
        f"{f'; {report.suspect}' if report.suspect else ''}",
        report=report,
        **worst(report.ranked),
    )


def quotient(
    function: Callable[..., tuple[Tensor, ...]], primals: tuple[Tensor, ...], directions: Arrays, eps: float
) -> Arrays:
    """Return the central difference quotients of all outputs along directions."""
    ends = []
    for sign in (1.0, -1.0):
        moved = [arrays([x])[0] + sign * eps * v for x, v in zip(primals, directions, strict=True)]
        ends.append(arrays(function(*[like(values, x) for values, x in zip(moved, primals)])))
    return [(up - down) / (2 * eps) for up, down in zip(*ends, strict=True)]


# ---- batches --------------------------------------------------------------------------------------------------------


def batch_of_cotangents(check: Case) -> None:
    """Raise GradcheckError unless a batch of cotangents has the results of the single cotangents."""
    function, primals = of_checked(check)
    outputs, pull = vjp(function, *primals)
    names = [f"the gradient of {check.labels[k]!r}" for k in check.checked]
    expect_each(check, pull, outputs, names, "cotangents")


def batch_of_tangents(check: Case) -> None:
    """Raise GradcheckError unless a batch of tangents has the results of the single tangents."""
    function, primals = of_checked(check)

    def push(vs: tuple[Tensor, ...]) -> Any:
        return jvp(function, primals, vs)[1]

    names = [f"the tangent of output {k}" for k in range(len(check.cotangents))]
    expect_each(check, push, primals, names, "tangents")


def expect_each(
    check: Case, linear: Callable[[Any], Any], likes: tuple[Tensor, ...], names: list[str], what: str
) -> None:
    """Raise GradcheckError unless a map of a batch, with shapes of `likes`, has the results of the single calls."""
    batch = [tuple([like(check.rng.standard_normal(x.shape), x) for x in likes]) for _ in range(BATCH)]
    stacked = tuple([like(np.stack(arrays(xs)), xs[0]) for xs in zip(*batch)])
    together = arrays(vmap(linear)(stacked))
    for k, each in enumerate(batch):
        for name, many, one in zip(names, together, arrays(linear(each)), strict=True):
            apart = float(np.abs(many[k] - one).max(initial=0.0))
            if not apart <= tolerance(check, float(np.abs(one).max(initial=0.0))):
                raise GradcheckError(
                    f"{check.report.name}: {name} must be equal in a batch of {what} and in single calls, but differs "
                    f"by {apart:.3g}; correct the batching rule",
                    report=check.report,
                )
    check.report.checks.append((f"a batch of {BATCH} {what} gives what each of them gives", True))
