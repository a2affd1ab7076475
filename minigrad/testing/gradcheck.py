"""Is this derivative right?  Central differences in float64 against `mg.grad`, with random cotangents.

A cotangent of ones would miss an error that sums to zero, so it is drawn.  Every element of every input is compared;
on failure the worst one is named with both values, and whether the function has a kink there; a function or a
gradient that differs from one call to the next is called that.  `gradgradcheck` does the same for the gradient itself.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.autodiff.engine import grad
from minigrad.core.dtype import float64
from minigrad.errors import DTypeError, GradientError
from minigrad.ops.creation import tensor
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor, describe, host_array
from minigrad.runtime.var import Var

Function = Callable[..., Any]
CALLS = 4  # at one point, before a function is called deterministic: two draws may agree by chance


class GradcheckError(GradientError, AssertionError):
    """A derivative that differs from the difference quotient.

    argument, index: where it is worst; analytic, numeric: the two values there.
    """


def gradcheck(
    function: Function,
    inputs: Tensor | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-6,
    rtol: float = 1e-5,
    seed: int = 0,
    names: Sequence[str] | None = None,
) -> bool:
    """Compare the gradients of `function` at `inputs` with central differences.

    function: takes the inputs, returns a tensor or a tuple of tensors.
    inputs: float64 Vars are checked; other tensors and plain values are passed on as they are.
    eps: the step; atol, rtol: |analytic - numeric| <= atol + rtol * |numeric| must hold for every element.
    names: of the arguments, for messages; read from the signature when omitted.
    Returns True; raises GradcheckError with the worst element, or where two calls at the same point differ, DTypeError
    for a Var that is not float64.
    """
    given = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    labels = list(names) if names is not None else argument_names(function, len(given))
    checked = [k for k, x in enumerate(given) if isinstance(x, Var)]
    if not checked:
        raise GradientError("gradcheck: no input is a Var, so there is no gradient to check")
    for k in checked:
        if given[k].dtype is not float64:
            raise DTypeError(f"gradcheck: {labels[k]!r} is {describe(given[k])}; differences need mg.float64")
    rng = np.random.default_rng(seed)
    outputs = [y for y in as_tuple(function(*given)) if y.dtype.is_float]
    cotangents = [np.asarray(rng.standard_normal(y.shape)) for y in outputs]
    analytic = gradients_of(outputs, cotangents, [given[k] for k in checked])
    for at, k in enumerate(checked):
        quotient = Quotients(function, given, k, cotangents, eps)
        compare(labels[k], analytic[at], quotient, atol, rtol)
    return True


def gradgradcheck(
    function: Function,
    inputs: Tensor | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-4,
    seed: int = 0,
    names: Sequence[str] | None = None,
) -> bool:
    """Compare the second derivatives of `function`: `gradcheck` of the map (inputs, cotangent) -> gradients.

    The gradients themselves must be the same where their graph is recorded, as for this, and where it is not.
    """
    given = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    labels = list(names) if names is not None else argument_names(function, len(given))
    rng = np.random.default_rng(seed + 1)
    checked = [k for k, x in enumerate(given) if isinstance(x, Var)]
    with no_grad():
        shapes = [(y.shape, y.device) for y in as_tuple(function(*given)) if y.dtype.is_float]
    cotangents = [Var(rng.standard_normal(shape), float64, device) for shape, device in shapes]

    def gradients(*arguments: Any, create: bool = True) -> tuple[Tensor, ...]:
        xs, vs = arguments[: len(given)], arguments[len(given) :]
        ys = [y for y in as_tuple(function(*xs)) if y.dtype.is_float]
        pairs = [(y, v) for y, v in zip(ys, vs, strict=True) if y.requires_grad]
        wanted = [xs[k] for k in checked]
        found = grad([y for y, _ in pairs], wanted, [v for _, v in pairs], create_graph=create, allow_unused=True)
        return tuple(g for g in found if g is not None)

    expect_same(gradients, [*given, *cotangents], atol, rtol)
    everything = labels + [f"cotangent {k}" for k in range(len(cotangents))]
    return gradcheck(gradients, [*given, *cotangents], eps=eps, atol=atol, rtol=rtol, seed=seed + 2, names=everything)


def gradients_of(outputs: list[Tensor], cotangents: list[NDArray[Any]], wanted: list[Tensor]) -> list[NDArray[Any]]:
    """The gradients of <cotangents, outputs>; zeros where there is none."""
    seeds = [tensor(v, dtype=y.dtype, device=y.device) for v, y in zip(cotangents, outputs, strict=True)]
    tracked = [(y, s) for y, s in zip(outputs, seeds, strict=True) if y.requires_grad]
    if not tracked:
        raise GradientError("gradcheck: no output of the function requires a gradient")
    found = grad([y for y, _ in tracked], wanted, [s for _, s in tracked], allow_unused=True)
    return [np.zeros(x.shape) if g is None else host_array(g) for x, g in zip(wanted, found, strict=True)]


class Quotients:
    """Difference quotients of <cotangents, function> in one argument, element by element."""

    def __init__(
        self, function: Function, given: list[Any], position: int, cotangents: list[NDArray[Any]], eps: float
    ) -> None:
        self.function, self.given, self.position, self.cotangents, self.eps = function, given, position, cotangents, eps
        self.base = np.array(host_array(given[position]))

    def value(self, x: NDArray[Any]) -> float:
        """<cotangents, function(..., x, ...)>.  The function sees a Var, as it did for the analytic gradient."""
        arguments = list(self.given)
        arguments[self.position] = Var(x, device=self.given[self.position].device)
        outputs = [y for y in as_tuple(self.function(*arguments)) if y.dtype.is_float]
        pairs = zip(outputs, self.cotangents, strict=True)
        return float(sum(np.vdot(v, host_array(y)) for y, v in pairs))

    def shifted(self, index: tuple[int, ...], step: float) -> float:
        """`value` with one element moved by `step`."""
        x = self.base.copy()
        x[index] += step
        return self.value(x)

    def central(self) -> NDArray[np.float64]:
        """The central quotient at every element."""
        result = np.zeros(self.base.shape)
        for index in np.ndindex(self.base.shape):
            result[index] = (self.shifted(index, self.eps) - self.shifted(index, -self.eps)) / (2 * self.eps)
        return result

    def has_kink(self, index: tuple[int, ...]) -> bool:
        """Whether the quotients from the left and from the right disagree much more than smoothness allows."""
        here = self.value(self.base)
        right = (self.shifted(index, self.eps) - here) / self.eps
        left = (here - self.shifted(index, -self.eps)) / self.eps
        return abs(right - left) > 1e-3 * max(1.0, abs(right), abs(left))

    def noise(self) -> float:
        """By how much the central quotient differs from call to call when nothing is moved."""
        values = [self.value(self.base) for _ in range(CALLS)]
        return 0.0 if np.isnan(values).any() else (max(values) - min(values)) / (2 * self.eps)

    def gradient(self) -> NDArray[Any]:
        """The analytic gradient once more."""
        outputs = [y for y in as_tuple(self.function(*self.given)) if y.dtype.is_float]
        return gradients_of(outputs, self.cotangents, [self.given[self.position]])[0]


def compare(label: str, analytic: NDArray[Any], quotients: Quotients, atol: float, rtol: float) -> None:
    """Raise GradcheckError for the worst element unless all are close."""
    numeric = quotients.central()
    excess = np.asarray(np.abs(analytic - numeric) - (atol + rtol * np.abs(numeric)))
    excess[np.isnan(analytic) != np.isnan(numeric)] = np.inf
    excess[np.isnan(analytic) & np.isnan(numeric)] = -1.0
    if excess.size == 0 or not np.any(excess > 0):
        return
    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(excess)), excess.shape))
    expect_one_answer(label, index, analytic, quotients, atol + rtol * abs(float(numeric[index])))
    wrong = int(np.count_nonzero(excess > 0))
    kink = "; the function has a kink there, so move the point" if quotients.has_kink(index) else ""
    raise GradcheckError(
        f"gradcheck: the gradient of {label!r} is worst at {index}: analytic {analytic[index]:.10g}, "
        f"numeric {numeric[index]:.10g} ({wrong} of {excess.size} elements differ){kink}",
        argument=label,
        index=index,
        analytic=float(analytic[index]),
        numeric=float(numeric[index]),
    )


def expect_same(gradients: Callable[..., tuple[Tensor, ...]], given: list[Any], atol: float, rtol: float) -> None:
    """Raise GradcheckError unless the gradients are the same with their graph and without."""
    for k, pair in enumerate(zip(gradients(*given), gradients(*given, create=False), strict=True)):
        recorded, plain = map(host_array, pair)
        apart = np.argwhere(~np.isclose(recorded, plain, rtol=rtol, atol=atol, equal_nan=True))
        # A function that gives other values at each call is named as such by the comparison that follows.
        if len(apart) and np.array_equal(recorded, host_array(gradients(*given)[k]), equal_nan=True):
            index = tuple(apart[0].tolist())
            raise GradcheckError(
                f"gradgradcheck: gradient {k} is {recorded[index]:.10g} at {index} where its graph is recorded, and "
                f"{plain[index]:.10g} where it is not"
            )


def expect_one_answer(
    label: str, index: tuple[int, ...], analytic: NDArray[Any], quotients: Quotients, tolerance: float
) -> None:
    """Raise GradcheckError if the function, or its gradient at `index`, differs from one call to the next by more than
    the tolerance: then the comparison says nothing."""
    noise = quotients.noise()
    what = "function"
    if not noise > tolerance:
        what = f"gradient of {label!r} at {index}"
        noise = max(abs(float(quotients.gradient()[index] - analytic[index])) for _ in range(CALLS))
    if noise > tolerance:
        raise GradcheckError(
            f"gradcheck: the {what} is not deterministic: calls at the same point differ, which moves the comparison "
            f"by up to {noise:.3g}; draw its random numbers outside, or seed them inside",
            argument=label,
            index=index,
        )


def as_tuple(result: Any) -> tuple[Tensor, ...]:
    """One tensor or several, as a tuple."""
    return (result,) if isinstance(result, Tensor) else tuple(result)


def argument_names(function: Function, count: int) -> list[str]:
    """The names of an op's operands, or of the positional arguments as far as the signature tells them."""
    op = getattr(function, "op", None)
    if op is not None and len(op.operands) == count:
        return list(op.operands)
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return (names + [f"argument {k}" for k in range(len(names), count)])[:count]
