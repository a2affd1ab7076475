"""Do the modes agree?  Forward mode is the transpose of reverse mode, and a batch of either is each of it.

For random u and v, <u, J v> and <J' u, v> are one number, which needs no step and no tolerance but that of rounding.
Where they differ, a difference quotient says which of the two is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from minigrad.func import jvp, vjp, vmap
from minigrad.ops.creation import tensor
from minigrad.runtime.tensor import Tensor, host_array
from minigrad.testing.quotients import as_tuple
from minigrad.testing.report import GradcheckError

if TYPE_CHECKING:
    from minigrad.testing.check import Check

Arrays = list[NDArray[np.float64]]
BATCH = 3


def of_checked(check: Check) -> tuple[Callable[..., tuple[Tensor, ...]], tuple[Tensor, ...]]:
    """The function of the arguments that are checked alone, and these arguments as constants."""

    def function(*xs: Tensor) -> tuple[Tensor, ...]:
        arguments = list(check.given)
        for k, x in zip(check.checked, xs, strict=True):
            arguments[k] = x
        return tuple([y for y in as_tuple(check.function(*arguments)) if y.dtype.is_float])

    return function, tuple([check.given[k].detach() for k in check.checked])


def like(values: NDArray[np.float64], x: Tensor) -> Tensor:
    """An array as a tensor of the dtype and on the device of x."""
    return tensor(values, dtype=x.dtype, device=x.device)


def dot(ours: Any, theirs: Any) -> float:
    """The sum of the products of two lists of arrays."""
    return float(sum(np.vdot(a, b) for a, b in zip(ours, theirs, strict=True)))


def arrays(xs: Any) -> Arrays:
    """Tensors as arrays of float64."""
    return [host_array(x).astype(np.float64) for x in xs]


def tolerance(check: Check, size: float) -> float:
    """By how much two numbers may differ that are equal but for rounding."""
    return (1e-9 if all(b.eps < 1e-3 for b in check.bounds.values()) else 1e-3) * (1.0 + size)


def transpose_identity(check: Check, analytic: Arrays) -> None:
    """Raise GradcheckError if forward mode is not the transpose of reverse mode and reverse mode is right."""
    function, primals = of_checked(check)
    directions: Arrays = [check.rng.standard_normal(x.shape) for x in primals]
    _, found = jvp(function, primals, tuple([like(v, x) for v, x in zip(directions, primals)]))
    tangents = arrays(found)
    forward, reverse = dot(check.cotangents, tangents), dot(analytic, directions)
    size = dot([np.abs(u) for u in check.cotangents], [np.abs(t) for t in tangents])
    same = bool(abs(forward - reverse) <= tolerance(check, size)) or bool(np.isnan(forward) and np.isnan(reverse))
    check.report.checks.append((f"<u, Jv> is {forward:.10g} forward and {reverse:.10g} in reverse", same))
    if same:
        return
    eps = min(bounds.eps for bounds in check.bounds.values())
    numeric = quotient(function, primals, directions, eps)
    wrong = [np.abs(t - n) for t, n in zip(tangents, numeric, strict=True)]
    bounds = check.bounds[check.checked[0]]
    scale = max(float(np.abs(n).max(initial=0.0)) for n in numeric)
    if max(float(w.max(initial=0.0)) for w in wrong) <= bounds.atol + bounds.rtol * max(1.0, scale):
        return  # forward mode is right, so an element of the gradient will be found that is not
    at = int(np.argmax([float(w.max(initial=0.0)) for w in wrong]))
    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(wrong[at])), wrong[at].shape))
    raise GradcheckError(
        f"{check.report.name}: forward mode is wrong: the tangent of output {at} at {index} is "
        f"{tangents[at][index]:.10g}, numeric {numeric[at][index]:.10g}; <u, Jv> is {forward:.8g} forward and "
        f"{reverse:.8g} in reverse",
        report=check.report,
    )


def quotient(
    function: Callable[..., tuple[Tensor, ...]], primals: tuple[Tensor, ...], directions: Arrays, eps: float
) -> Arrays:
    """The central quotients of all outputs along directions."""
    ends = []
    for sign in (1.0, -1.0):
        moved = [arrays([x])[0] + sign * eps * v for x, v in zip(primals, directions, strict=True)]
        ends.append(arrays(function(*[like(values, x) for values, x in zip(moved, primals)])))
    return [(up - down) / (2 * eps) for up, down in zip(*ends, strict=True)]


def batch_of_cotangents(check: Check) -> None:
    """Raise GradcheckError unless a batch of cotangents gives what each of them gives."""
    function, primals = of_checked(check)
    outputs, pull = vjp(function, *primals)
    heads = [tuple([like(check.rng.standard_normal(y.shape), y) for y in outputs]) for _ in range(BATCH)]
    stacked = tuple([like(np.stack(arrays(us)), us[0]) for us in zip(*heads)])
    together = arrays(vmap(pull)(stacked))
    for k, head in enumerate(heads):
        for label, many, one in zip((check.labels[j] for j in check.checked), together, arrays(pull(head))):
            apart = float(np.abs(many[k] - one).max(initial=0.0))
            if not apart <= tolerance(check, float(np.abs(one).max(initial=0.0))):
                raise GradcheckError(
                    f"{check.report.name}: the gradient of {label!r} differs by {apart:.3g} in a batch of cotangents",
                    argument=label,
                    report=check.report,
                )
    check.report.checks.append((f"a batch of {BATCH} cotangents gives what each of them gives", True))
