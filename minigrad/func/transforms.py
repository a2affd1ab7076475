"""Derivatives of functions: grad, value_and_grad, vjp, jvp, hvp, linearize.

Each takes a function of tensors, or of nested tuples, lists and dicts of tensors, and returns one of its derivatives.
All of them nest with each other and with `vmap`, and no `.grad` changes.  Each value belongs to one `Transform`, or to
a run of reverse mode on plain tensors: see docs/decisions/025-transforms.md.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from minigrad.autodiff.following import Followed, Following
from minigrad.autodiff.forward import Dual, DualTransform, checked
from minigrad.autodiff.tangents import StoredCall
from minigrad.autodiff.watching import versions
from minigrad.errors import ArgumentError, GradientError
from minigrad.func.inputs import (
    Argnums,
    Function,
    Inputs,
    alike,
    called,
    check_like,
    outputs_of,
    shown,
    tangents_for,
    with_aux,
)
from minigrad.func.reverse import PlainRun, TransformRun, run_of
from minigrad.func.trees import Tree, flatten, leaves_as, unflatten
from minigrad.runtime.program import Call
from minigrad.runtime.rebasing import INPUT
from minigrad.runtime.recording import recording_on
from minigrad.runtime.tensor import Tensor

Run = PlainRun | TransformRun


# ---- reverse mode ---------------------------------------------------------------------------------------------------


def value_and_gradient(
    name: str, func: Function, argnums: Argnums, has_aux: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, Any, Any]:
    """Return (value, gradient, aux) of a scalar-valued function."""
    inputs = Inputs(name, args, argnums)
    run = run_of(inputs.floats, name)
    with run:
        y, aux = func(*inputs.replaced(run.placeholders), **kwargs), None
    if has_aux:
        y, aux = with_aux(name, func, y)
    if not isinstance(y, Tensor) or y.shape != () or not y.dtype.is_inexact:
        raise GradientError(
            f"{name}: {called(func)} must return a scalar float of shape (), got {shown(y)}; sum() it, or use "
            f"vjp or jacrev for several elements{'' if has_aux else ', or has_aux=True for more values'}"
        )
    gradients = run.pull([y], [None], False) if run.reached(y) else [None] * len(inputs.floats)
    gradient = inputs.nested([alike(x) if g is None else g for x, g in zip(inputs.floats, gradients)])
    return run.release(y), gradient, run.release(aux)


def grad(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """Return a function that computes the gradient of the scalar-valued function `func`.

    func: Function of tensors, or of nested tuples, lists and dicts of them. It must return a floating scalar.
    argnums: Positional arguments to differentiate with respect to.
    has_aux: Whether func returns (scalar, aux); then the new function returns (gradient, aux).

    Returns: Function with the arguments of `func`. Its result is nested like the argument, or for several argnums it is
    a tuple with one entry per argument. If the scalar does not depend on an input, the gradient is zeros.

    Raises GradientError in a call of the new function, if `func` does not return a floating scalar.

    >>> mg.func.grad(lambda x: (x * x).sum())(mg.tensor([1.0, 2.0])).tolist()
    [2.0, 4.0]
    """

    @functools.wraps(func)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        _, result, aux = value_and_gradient("grad", func, argnums, has_aux, args, kwargs)
        return (result, aux) if has_aux else result

    return gradient


def value_and_grad(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """Return a function like `grad` that returns (value, gradient); with has_aux, ((value, aux), gradient)."""

    @functools.wraps(func)
    def both(*args: Any, **kwargs: Any) -> Any:
        value, gradient, aux = value_and_gradient("value_and_grad", func, argnums, has_aux, args, kwargs)
        return ((value, aux) if has_aux else value), gradient

    return both


def grad_and_value(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """Return a function like `grad` that returns (gradient, value); with has_aux, (gradient, (value, aux))."""

    @functools.wraps(func)
    def both(*args: Any, **kwargs: Any) -> Any:
        value, gradient, aux = value_and_gradient("grad_and_value", func, argnums, has_aux, args, kwargs)
        return gradient, ((value, aux) if has_aux else value)

    return both


class Pullback:
    """The second result of `vjp`: it maps cotangents of the output to a tuple of cotangents of the primals.

    It can be called any number of times, under any transform.
    """

    def __init__(self, run: Run, inputs: Inputs, outputs: list[Any], tree: Tree) -> None:
        self.run, self.inputs, self.outputs, self.tree = run, inputs, outputs, tree

    def __call__(self, cotangents: Any) -> tuple[Any, ...]:
        leaves = leaves_as(self.tree, cotangents)
        if leaves is None:
            raise ArgumentError(
                f"vjp: cotangents must be nested as the output, {self.tree}, got {flatten(cotangents)[1]}; return the "
                "cotangents in the structure of the output"
            )
        for k, (y, g) in enumerate(zip(self.outputs, leaves)):
            if isinstance(y, Tensor):
                if isinstance(g, Tensor) and y.dtype.is_inexact and not g.dtype.is_inexact:
                    g = leaves[k] = g.to(y.dtype)
                check_like("vjp", "cotangent", g, "output", y)
        return self.inputs.nested(self.pull(leaves))

    def pull(self, cotangents: Sequence[Any]) -> list[Tensor]:
        """Return the cotangents of the tensors among the primals, from one cotangent per leaf of the output."""
        pairs = [(y, g) for y, g in zip(self.outputs, cotangents) if self.run.reached(y)]
        floats = self.inputs.floats
        gradients: Sequence[Tensor | None] = [None] * len(floats)
        if pairs:
            gradients = self.run.pull([y for y, _ in pairs], [g for _, g in pairs])
        return [alike(x) if g is None else g for x, g in zip(floats, gradients)]


def recorded(
    name: str, func: Function, args: tuple[Any, ...], argnums: Argnums, has_aux: bool
) -> tuple[Any, Any, Pullback]:
    """Return the output and the aux of a function, and its pullback."""
    inputs = Inputs(name, args, argnums)
    run = run_of(inputs.floats, name)
    with run:
        y, aux = func(*inputs.replaced(run.placeholders)), None
    if has_aux:
        y, aux = with_aux(name, func, y)
    outputs, tree = outputs_of(name, func, y)
    return run.release(y), run.release(aux), Pullback(run, inputs, outputs, tree)


def vjp(func: Function, *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Return (output, vjp_fn) of func at the primals; with has_aux, (output, vjp_fn, aux).

    The argument of vjp_fn contains the cotangents (the incoming gradients) of the output, nested like the output.
    vjp_fn returns a tuple with the cotangents of the primals, each nested like its primal.
    """
    if not primals:
        raise ArgumentError(f"vjp: expected primals for {called(func)}; pass its arguments")
    y, aux, pullback = recorded("vjp", func, primals, tuple(range(len(primals))), has_aux)
    return (y, pullback, aux) if has_aux else (y, pullback)


# ---- forward mode ---------------------------------------------------------------------------------------------------


def jvp(
    func: Function, primals: tuple[Any, ...], tangents: tuple[Any, ...], *, strict: bool = False, has_aux: bool = False
) -> tuple[Any, ...]:
    """Return (output, tangent of the output) of func at the primals along the tangents; with has_aux, also aux.

    func: Function of tensors, or of nested tuples, lists and dicts of them.
    primals and tangents (tuple): One entry per argument of `func`; both tuples are nested in the same way.
    strict: Whether to raise GradientError if an output does not depend on the primals, instead of returning a tangent
    of zeros.

    Returns (tuple): (output, tangent), or (output, tangent, aux).

    Raises GradientError if an output does not depend on the primals and `strict` is True.
    """
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)) or not primals:
        raise ArgumentError(
            f"jvp: primals and tangents must be tuples with an entry for each argument of {called(func)}; write (x,) "
            "for one argument"
        )
    inputs = Inputs("jvp", tuple(primals), tuple(range(len(primals))))
    directions = tangents_for("jvp", inputs, tuple(tangents))
    with DualTransform() as transform:
        duals = [Dual(x, t, transform) for x, t in zip(inputs.floats, directions)]
        for x in duals:
            x.base = INPUT
        y, aux = func(*inputs.replaced(duals)), None
        if has_aux:
            y, aux = with_aux("jvp", func, y)
    value, tangent = split("jvp", transform, func, y, strict)
    if not has_aux:
        return value, tangent
    leaves, tree = flatten(aux)
    return value, tangent, unflatten(tree, [transform.parts(x)[0] for x in leaves])


def split(name: str, transform: DualTransform, func: Function, y: Any, strict: bool) -> tuple[Any, Any]:
    """Return the values of a result that contains dual numbers, and their tangents in the same nesting."""
    leaves, tree = outputs_of(name, func, y)
    parts = [transform.parts(x) for x in leaves]
    if strict and any(t is None for _, t in parts):
        raise GradientError(
            f"{name}: with strict=True, each output of {called(func)} must depend on the primals, got an output that "
            "does not; pass strict=False for zeros"
        )
    tangents = [alike(x) if t is None else t for x, t in parts]
    return unflatten(tree, [x for x, _ in parts]), unflatten(tree, tangents)


# ---- second order ---------------------------------------------------------------------------------------------------


def hvp(func: Function, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
    """Compute the product of the Hessian of the scalar-valued `func` with the tangents, without computing the Hessian.

    func: Function that returns a floating scalar.
    primals and tangents (tuple): One entry per argument of `func`; both tuples are nested in the same way.

    Returns: The product, nested like the argument, or for several arguments a tuple with one entry per argument.
    """
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)) or not primals:
        raise ArgumentError(
            f"hvp: primals and tangents must be tuples with an entry for each argument of {called(func)}; write (x,) "
            "for one argument"
        )
    positions = tuple(range(len(primals)))
    inputs = Inputs("hvp", tuple(primals), positions)
    directions = tangents_for("hvp", inputs, tuple(tangents))

    def gradient_of(*args: Any) -> Any:
        _, gradient, _ = value_and_gradient("hvp", func, positions, False, args, {})
        return [g for g in flatten(gradient)[0] if g is not None]

    with recording_on():
        run = run_of(inputs.floats, "hvp")
        with run:
            gradients = gradient_of(*inputs.replaced(run.placeholders))
    pairs = [(g, t) for g, t in zip(gradients, directions) if run.reached(g)]
    products: Sequence[Tensor | None] = [None] * len(directions)
    if pairs:
        products = run.pull([g for g, _ in pairs], [t for _, t in pairs], False)
    product = inputs.nested([alike(x) if h is None else h for x, h in zip(inputs.floats, products)])
    return product[0] if len(primals) == 1 else product


class Linearizing(Following):
    """Record the calls of a function, and for each call the versions of its operands and results."""

    def __init__(self) -> None:
        super().__init__()
        self.versions: list[list[int | None]] = []

    def record(self, call: Call) -> None:
        super().record(call)
        self.versions.append(versions([self.program.values[slot] for slot in (*call.reads, *call.writes)]))


class Linearized:
    """The linear map of a function at a point: a call with tangents returns the tangent of the output."""

    def __init__(self, func: Function, inputs: Inputs) -> None:
        self.inputs = inputs
        with Linearizing() as recorder:
            y = func(*inputs.replaced([Followed(recorder, x) for x in inputs.floats]))
        leaves, self.tree = outputs_of("linearize", func, y)
        self.ends = [x.slot if recorder.owns(x) else None for x in leaves]
        self.values = [x.value if recorder.owns(x) else x for x in leaves]
        self.output = unflatten(self.tree, self.values)
        self.program, self.versions = recorder.program, recorder.versions

    def __call__(self, *tangents: Any) -> Any:
        values = self.program.values
        known: list[Tensor | None] = [None] * self.program.count
        directions = tangents_for("linearize", self.inputs, tangents)
        known[: len(directions)] = directions
        for (op, _, params, reads, writes), then in zip(self.program.calls, self.versions):
            moved = tuple([known[slot] for slot in reads])
            if op is not None and any(t is not None for t in moved):
                primals, results = tuple([values[slot] for slot in reads]), tuple([values[slot] for slot in writes])
                moved = checked(StoredCall(op, params, primals, moved, results, then, "linearize"))
                for slot, t in zip(writes, moved):
                    known[slot] = t
        ends = [None if at is None else known[at] for at in self.ends]
        return unflatten(self.tree, [alike(y) if t is None else t for y, t in zip(self.values, ends)])


def linearize(func: Function, *primals: Any) -> tuple[Any, Function]:
    """Return (output, jvp_fn) of func at the primals; jvp_fn(*tangents) returns the tangent of the output.

    func runs once.  The calls of ops in this run are stored with all operands and results, and each call of jvp_fn
    computes the tangents of the stored calls in order.  jvp_fn raises StorageError if it reads a value that was
    overwritten in place after the run.
    """
    if not primals:
        raise ArgumentError(f"linearize: expected primals for {called(func)}; pass its arguments")
    made = Linearized(func, Inputs("linearize", primals, tuple(range(len(primals)))))
    return made.output, made
