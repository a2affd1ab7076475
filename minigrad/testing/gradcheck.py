"""Gradient checks: gradients from `mg.grad` are compared with difference quotients, for random cotangents.

The cotangents are random, because with ones an error that sums to zero would be missed.  First, forward mode is
compared with reverse mode by the transpose identity <u, Jv> = <J'u, v>.  Then gradients are compared with quotients: a
small argument element by element, a large one along random directions, and element by element if a direction differs.
Elements that differ are ranked.  The report shows the error at other steps, which distinguishes a wrong rule from a bad
step, and a guess of the cause.  If the gradient at a kink differs, the report lists the kink, and the gradients are
compared a small distance to either side.  `gradgradcheck` does the same for the gradient itself.  `check.py` compares
the gradients, `modes.py` compares the modes, and `report.py` makes the report.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec

import numpy as np

from minigrad.autodiff.checks import listed_tensors
from minigrad.autodiff.engine import grad
from minigrad.core.dtype import float64
from minigrad.errors import ArgumentError, DTypeError, GradientError
from minigrad.func import vjp
from minigrad.ops.creation import ones_like
from minigrad.ops.indexing.gathering import zeros_of
from minigrad.runtime.data import host_array
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.tracers import Tracer
from minigrad.runtime.var import Var
from minigrad.testing.check import Check, coarser
from minigrad.testing.quotients import CALLS, CHOSEN, Bounds, Function, holding, outputs_of, over_pairs
from minigrad.testing.report import GradcheckError, Report

P = ParamSpec("P")
LISTED = 4  # largest number of arguments that a message describes


# Options of PyTorch's checks that have no counterpart: these properties are always checked, or do not exist here.
NO_EFFECT = (
    "nondet_tol", "check_undefined_grad", "check_grad_dtypes", "check_batched_forward_grad",
    "check_fwd_over_rev", "check_rev_over_rev", "masked", "gen_non_contig_grad_outputs",
)  # fmt: skip


def with_one_tuple(check: Callable[P, Report]) -> Callable[..., Any]:
    """Return a check that takes PyTorch's options too, and raises ArgumentError for inputs that are separate arguments.

    raise_exception: with False, the result is False if a gradient differs.  check_forward_ad and check_batched_grad add
    to `modes`; fast_mode is `every=False`.
    """

    @functools.wraps(check)
    def checked(*args: Any, raise_exception: bool = True, **options: Any) -> Any:
        options = {name: value for name, value in options.items() if name not in NO_EFFECT}
        added = [mode for option, mode in (("check_forward_ad", "forward"), ("check_batched_grad", "batched"))
                 if options.pop(option, False)]  # fmt: skip
        if added:
            options["modes"] = ("reverse", *added)
        if not options.pop("check_backward_ad", True):
            if "modes" not in options:
                raise ArgumentError(
                    f"{check.__name__}: expected at least one mode to check, got check_forward_ad=False and "
                    "check_backward_ad=False; pass check_forward_ad=True"
                )
            options["backward"] = False
        if options.pop("fast_mode", False):
            options["every"] = False
        if len(args) == 3 and check.__name__ == "gradgradcheck":  # PyTorch's argument `grad_outputs`
            *args, options["grad_outputs"] = args  # type: ignore[assignment]
        if len(args) > 2:
            raise ArgumentError(
                f"{check.__name__}: the inputs must be one tensor or one tuple, got {len(args) - 1} positional "
                f"arguments after the function; pass a tuple, {check.__name__}(f, (x, y)), and options by name, for "
                "example eps=1e-5"
            )
        try:
            return check(*args, **options)
        except GradcheckError:
            if raise_exception:
                raise
            return False

    return checked


@with_one_tuple
def gradcheck(
    function: Function, inputs: Tensor | Sequence[Any], *, eps: float | None = None, atol: float | None = None,
    rtol: float | None = None, seed: int = 0, names: Sequence[str] | None = None, every: bool | None = None,
    modes: Sequence[str] | None = None, name: str = "gradcheck", backward: bool = True,
) -> Report:  # fmt: skip
    """Compare the gradients of `function` at `inputs` with central differences.

    inputs: Arguments.  Vars are checked and must be float64, float32 or complex; other tensors and values are passed
    unchanged.  A complex Var or result counts as pairs of real numbers, with a last dim of 2.
    eps: Step h of the central differences: 1e-6 by default for float64, 5e-3 for float32.
    atol: Absolute tolerance: 1e-6 by default for float64, 2e-3 for float32.
    rtol: Relative tolerance: 1e-5 by default for float64, 5e-3 for float32.
    every: Whether to compare each element.  By default, each element is compared for arguments with up to 64 elements,
    and larger arguments are compared along random directions.
    modes: Modes to check.  "reverse" is always checked.  "forward" compares forward mode with reverse mode: <u, Jv>
    must equal <J'u, v> for random u and v, which costs about three calls.  "batched" compares a batch of cotangents
    under vmap with the single cotangents, and together with "forward" also a batch of tangents.  By default, forward
    mode is checked if the function supports it; otherwise the report states why it was not checked.
    name: Name of the check in messages.
    backward: Whether to check reverse mode.  With False, forward mode alone is compared with difference quotients along
    random directions, so the function needs no backward pass.

    Raises GradcheckError if a gradient differs, or if two calls at the same point differ. The attribute `report` of the
    error contains the result of the comparison.
    Raises DTypeError if a Var has another dtype.
    Raises GradientError if no input is a Var, or if a mode in `modes` is not supported.
    Raises ArgumentError if `modes` contains an unknown name.

    Gradient: A kink is a point where the derivative from the left differs from the derivative from the right. If the
    gradient at a kink differs from the central difference, the gradients a small distance to the left and to the right
    are compared instead, and `report.kinks` lists the kink. At 0, the gradient of `abs` equals the central difference,
    so this kink is not listed.

    For each element, |analytic - numeric| <= atol + rtol * |numeric| + r must hold, where r is the rounding error of
    the function divided by the step.

    If one Var is passed at several positions, each position is checked as an argument of its own. If the function also
    reads a checked Var by another way, for example from a module, both reads are moved together, as in PyTorch: the
    check changes the memory of the Var for a moment, and does not check forward mode.
    """
    args = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    labels = list(names) if names is not None else argument_names(function, len(args))
    function, args = over_pairs(function, args)
    checked = variables(args, name)
    for k in checked:
        if args[k].dtype not in CHOSEN:
            raise DTypeError(
                f"{name}: inputs must have the dtype mg.float64, or float32, for finite differences, got "
                f"{describe(args[k])} as {labels[k]!r}; convert it with .double()"
            )
    modes = (modes,) if isinstance(modes, str) else modes
    unknown = set(modes or ()) - {"reverse", "forward", "batched"}
    if unknown:
        raise ArgumentError(
            f"{name}: modes must be 'reverse', 'forward' or 'batched', got {sorted(unknown)}; pass modes=('reverse',), "
            "for example"
        )
    rng = np.random.default_rng(seed)
    args, outputs, in_memory = separated(function, args, checked, name, backward)
    cotangents = [np.asarray(rng.standard_normal(y.shape)) for y in outputs]
    bounds = {k: Bounds.of(coarser(args[k].dtype, outputs), eps, atol, rtol) for k in checked}
    check = Check(function, args, labels, checked, cotangents, bounds, rng, Report(name), in_memory)
    with contextlib.ExitStack() as stack:
        for k in checked if in_memory else ():
            stack.enter_context(holding(args[k], host_array(args[k])))
        if not backward:
            check.check_forward()
            return check.report
        check.run(every, ("reverse",) if in_memory else modes)
    return check.report


@with_one_tuple
def gradgradcheck(
    function: Function, inputs: Tensor | Sequence[Any], *, eps: float | None = None, atol: float | None = None,
    rtol: float | None = None, seed: int = 0, names: Sequence[str] | None = None, every: bool | None = None,
    modes: Sequence[str] | None = None, grad_outputs: Tensor | Sequence[Tensor] | None = None,
) -> Report:  # fmt: skip
    """Compare the second derivatives of `function`: `gradcheck` of the map (inputs, cotangent) -> gradients.

    inputs: Arguments, as in `gradcheck`.
    modes: Modes, as in `gradcheck`; "forward" is forward mode over reverse mode.
    grad_outputs: One incoming gradient per output; by default they are random.

    Raises GradcheckError if a second derivative differs, or if a gradient is not the same with and without a recorded
    graph.
    Raises GradientError if no input is a Var.
    """
    args = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    labels = list(names) if names is not None else argument_names(function, len(args))
    rng = np.random.default_rng(seed + 1)
    function, args = over_pairs(function, args)
    checked = variables(args, "gradgradcheck")
    usual = [CHOSEN.get(args[k].dtype, CHOSEN[float64]) for k in checked]
    atol = max(10 * chosen[1] for chosen in usual) if atol is None and usual else atol
    rtol = max(10 * chosen[2] for chosen in usual) if rtol is None and usual else rtol
    args, outputs, _ = separated(function, args, checked, "gradgradcheck")
    chosen: list[Any] = [None] * len(outputs) if grad_outputs is None else outputs_of(listed_tensors(grad_outputs))
    cotangents = [
        Var(rng.standard_normal(y.shape) if v is None else v.detach(), y.dtype, y.device)
        for y, v in zip(outputs, chosen, strict=True)
    ]

    def gradients(*arguments: Any, create: bool = True) -> tuple[Tensor, ...]:
        xs, vs = arguments[: len(args)], arguments[len(args) :]
        if any(isinstance(x, Tracer) for x in arguments):
            return pulled_back(function, xs, vs, checked)
        pairs = [(y, v) for y, v in zip(outputs_of(function(*xs), "gradgradcheck"), vs, strict=True) if y.requires_grad]
        wanted = [xs[k] for k in checked]
        results = grad([y for y, _ in pairs], wanted, [v for _, v in pairs], create_graph=create, allow_unused=True)
        return tuple(zeros_of(x.shape, x) if g is None else g for x, g in zip(wanted, results))

    expect_same(gradients, [*args, *cotangents], atol or 0.0, rtol or 0.0)
    everything = labels + [f"cotangent {k}" for k in range(len(cotangents))]
    return gradcheck(
        gradients, [*args, *cotangents], eps=eps, atol=atol, rtol=rtol, seed=seed + 2, names=everything, every=every,
        modes=modes, name="gradgradcheck",
    )  # fmt: skip


def variables(args: Sequence[Any], name: str) -> list[int]:
    """Return the indices of the arguments that require a gradient; raise GradientError if there are none."""
    positions = [k for k, x in enumerate(args) if isinstance(x, Var) or (isinstance(x, Tensor) and x.requires_grad)]
    if not positions:
        got = ", ".join([*map(describe, args[:LISTED]), *(["..."] if len(args) > LISTED else [])])
        raise GradientError(
            f"{name}: expected at least one Var among the inputs, got {got or 'no inputs'}; pass "
            "mg.Var(data, dtype=mg.float64)"
        )
    return positions


def separated(
    function: Function, args: Sequence[Any], checked: Sequence[int], name: str, backward: bool = True
) -> tuple[list[Any], list[Tensor], bool]:
    """Return the arguments, the outputs of the function for them, and whether they are those of the caller.

    Each position has a Var of its own.  If the function also reads a caller's Var by another way, for example from a
    module, the arguments are those of the caller.  The check then changes their memory, so that both reads move.
    """
    own = [Var.placeholder(x.detach()) if k in checked else x for k, x in enumerate(args)]
    outputs = outputs_of(function(*own), name)
    if not backward:
        return own, outputs, False
    tracked = [y for y in outputs if y.requires_grad]
    seeds = [ones_like(y) for y in tracked]
    gradients = grad(tracked, [args[k] for k in checked], seeds, allow_unused=True) if tracked else ()
    if not tracked or any(g is not None for g in gradients):
        return list(args), outputs_of(function(*args), name), True
    return own, outputs, False


def pulled_back(
    function: Function, xs: Sequence[Any], cotangents: Sequence[Tensor], checked: Sequence[int]
) -> tuple[Tensor, ...]:
    """Return the gradients of the checked arguments, computed by `vjp`, which works under every transform."""

    def of_checked(*chosen: Tensor) -> tuple[Tensor, ...]:
        arguments = list(xs)
        for k, x in zip(checked, chosen, strict=True):
            arguments[k] = x
        return tuple(outputs_of(function(*arguments), "gradgradcheck"))

    _, pull = vjp(of_checked, *[xs[k] for k in checked])
    return tuple(pull(tuple(cotangents)))


def expect_same(gradients: Callable[..., tuple[Tensor, ...]], args: list[Any], atol: float, rtol: float) -> None:
    """Raise GradcheckError unless the gradients are the same with and without a recorded graph."""
    for k, pair in enumerate(zip(gradients(*args), gradients(*args, create=False), strict=True)):
        recorded, plain = map(host_array, pair)
        apart = np.argwhere(~np.isclose(recorded, plain, rtol=rtol, atol=atol, equal_nan=True))
        # The comparison that follows reports a function whose values differ at each call.
        if len(apart) and all(
            np.array_equal(recorded, host_array(gradients(*args)[k]), equal_nan=True) for _ in range(CALLS)
        ):
            index = tuple(apart[0].tolist())
            raise GradcheckError(
                f"gradgradcheck: gradient {k} at {index} must not depend on create_graph, got {recorded[index]:.10g} "
                f"with create_graph=True and {plain[index]:.10g} without; compute both by the same ops in the "
                "derivative rule"
            )


def argument_names(function: Function, count: int) -> list[str]:
    """Return the names of an op's operands, or names from the signature, completed by numbers ("argument 2")."""
    op = getattr(function, "op", None)
    if op is not None and len(op.operands) == count:
        return list(op.operands)
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return (names + [f"argument {k}" for k in range(len(names), count)])[:count]
