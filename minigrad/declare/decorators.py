"""The decorators that declare an op: @elementwise, @reduction, @view, @kernel, and @scalar for helpers.

Each checks the declaration at import, puts one `Op` into the schema and returns the public function; `record.py` reads
what it says.  Functions, methods, in-place forms, op tests and gradient checks are all driven from the schema.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from minigrad.core.op import Linear, Op
from minigrad.core.requests import Reduce
from minigrad.core.roles import Dims, Flag, role_of
from minigrad.declare import rules
from minigrad.declare.claims import BatchRule, claim
from minigrad.declare.partials import declared
from minigrad.declare.record import (
    Function,
    Vjp,
    all_params,
    check_rule,
    keyword_params,
    new_op,
    publish,
    read_joint,
    where_of,
)
from minigrad.errors import DeclarationError
from minigrad.kernels.scalar import parse
from minigrad.runtime.dispatch import apply, lane, run_one, run_view
from minigrad.runtime.operands import canonical, keyed
from minigrad.runtime.plans import plan_for
from minigrad.runtime.promises import within
from minigrad.runtime.tensor import PLAIN, Tensor, expect_tensors

PLAIN_DIMS = (type(None), int)  # what a fold is asked for mostly; not bool, which is equal to an int as a key


def scalar(function: Callable[..., Any]) -> Any:
    """A helper that other scalar functions may call; it is expanded in place."""
    return parse(function)


def elementwise(*, dtype: Callable[..., Any], vjp: Vjp | None = None, linear: Linear | bool = False,
                jvp: Callable[..., Any] | None = None, batch: BatchRule = None) -> Callable[..., Function]:  # fmt: skip
    """Declare an elementwise op over one to three operands; the body is its scalar function.

    dtype: a rule of `declare/rules.py` -> (compute dtype, result dtype).  vjp: one derivative rule an operand, or None
    where the result carries no gradient.
    linear, jvp, batch: what transforms cannot derive, the same for every kind of op.  linear: in which operands the op
    is linear, `mg.rules.joint("a", "b")` or `mg.rules.each("a", "b")`, True for the only one.  jvp: a rule of forward
    mode, such as `lambda dx, y: dx * y`.  batch: how it takes a batch in front: see `declare/claims.py`.
    """

    def declare(function: FunctionType) -> Function:
        check_rule(function, dtype)
        body = parse(function)
        if not 1 <= len(body.args) <= 3:
            raise DeclarationError(f"{body.where}: {body.name} has {len(body.args)} operands; 1 to 3 are possible")
        op = new_op(function, "elementwise", body.args, {}, vjp)
        op.scalar, op.dtype_rule = body, dtype
        claim(op, linear, jvp, batch)
        return publish(op, function, public_function(op))

    return declare


def public_function(op: Op) -> Function:
    """The function that calls an elementwise op."""
    if len(op.operands) <= 3:
        return lane(op)

    def public(*operands: Any) -> Tensor:
        result: Tensor = apply(op, operands)
        return result

    return public


def reduction(*, dtype: Callable[..., Any], identity: str, order: str | None = None,
              combine: Callable[..., Any] | None = None, mean: bool = False, vjp: Vjp | None = None,
              linear: Linear | bool = False, jvp: Callable[..., Any] | None = None,
              batch: BatchRule = None) -> Callable[..., Function]:  # fmt: skip
    """Declare a fold over any set of dims; the body is its scalar function (acc, x).

    identity: the first accumulator, "zero", "one", "lowest" or "highest".  How partial results become one is said once:
    order="sum": the body joins them as it joins an element, in any order, and floats may be re-associated;
    combine=f: the scalar function f of two partial results joins them, in any order;
    order="extreme": the body keeps the larger (from "lowest") or the smaller, and nan where there is one;
    order="sequential": there are none, one element comes after the other, row-major.
    mean: divide the fold by the number of elements.  Rules may ask for `dims` (sorted tuple) and `keepdim`.  The public
    function is f(x, dim=None, keepdim=False).
    """

    def declare(function: FunctionType) -> Function:
        check_rule(function, dtype)
        body = parse(function)
        fold = declared(body, identity, order=order, combine=combine, mean=mean, linear=linear is not False)
        op = new_op(function, "reduction", ("x",), {"dims": None, "keepdim": False}, vjp)
        op.roles = {"dims": role_of(Dims), "keepdim": role_of(Flag)}
        op.scalar, op.fold = body, fold
        claim(op, linear, jvp, batch)
        op.dtype_rule = lambda op, specs, *, dims, keepdim: dtype(op, specs)[1]
        op.shape_rule = rules.reduced_shape

        def prepare(backend: Any, out: Any, a: Any, *, dims: tuple[int, ...], keepdim: bool) -> Any:
            kept = rules.with_kept_dims(out, a.shape, dims)
            return backend.prepare(Reduce(fold, dtype(op, (a,))[0], dims), kept, a)

        op.prepare = prepare

        plans = op.plans

        def public(input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
            if input.__class__ in PLAIN and dim.__class__ in PLAIN_DIMS and keepdim.__class__ is bool:
                key = (input.layout, input.dtype, input.device, dim, keepdim)
                plan = plans.get(key) or plan_for(op, (input,), {"dims": dim, "keepdim": keepdim}, key)
                y: Tensor = run_one(op, plan, input)
            else:
                expect_tensors(op.label, input)
                y = apply(op, (input,), {"dims": dim, "keepdim": keepdim})
            return y

        return publish(op, function, public)

    return declare


def view(
    *, vjp: Vjp, jvp: Callable[..., Any] | None = None, batch: BatchRule = None, beyond: bool = False
) -> Callable[..., Function]:
    """Declare a view: the body is arithmetic on a Layout, keyword arguments are its parameters.

    beyond: it may see elements of the storage that its operand does not; then its callers check that they are there.

    A view is linear, so its jvp is the view of the tangent; a jvp rule is for one that asks how its operand lies.
    """

    def declare(function: FunctionType) -> Function:
        params = keyword_params(function)
        op = new_op(function, "view", ("x",), params, vjp)
        op.prepare = function if beyond else within(op, function)
        claim(op, True, jvp, batch)

        plans = op.plans

        def public(x: Tensor, **given: Any) -> Tensor:
            if x.__class__ not in PLAIN:
                expect_tensors(op.label, x)
                found: Tensor = apply(op, (x,), all_params(op, given))
                return found
            # Under the arguments as they were written; names too, for they may come in any order.
            for v in given.values():
                if v.__class__ is tuple:
                    for each in v:
                        if each.__class__ is not int:
                            return view_of(op, x, given)
                elif v.__class__ is not int and v is not None:
                    return view_of(op, x, given)
            key = (x.layout, x.dtype, x.device, *given.items())
            plan = plans.get(key)
            if plan is None:
                plan = plan_for(op, (x,), all_params(op, given), key)
            return run_view(op, plan, x)

        return publish(op, function, public)

    return declare


def view_of(op: Op, x: Tensor, given: dict[str, Any]) -> Tensor:
    """A view of a plain tensor whose parameters are not all ints and tuples of them."""
    try:
        key = (x.layout, x.dtype, x.device, *given, *[keyed(v) for v in given.values()])
        plan = op.plans.get(key)
    except TypeError:  # an argument that cannot be part of a key
        result: Tensor = apply(op, (x,), all_params(op, given))
        return result
    if plan is None:
        plan = plan_for(op, (x,), all_params(op, given), key)
    return run_view(op, plan, x)


def handed_on(op: Op, x: Tensor, params: dict[str, Any]) -> Tensor:
    """A call with parameters that a rule has of a recorded op: ints and tuples of them, where equal ones are the same.

    So they are looked up as they are, which `apply` may not do.
    """
    if x.__class__ not in PLAIN:
        result: Tensor = apply(op, (x,), params)
        return result
    key = (x.layout, x.dtype, x.device, *params.values())
    return run_one(op, op.plans.get(key) or plan_for(op, (x,), params, key), x)


def kernel(*, dtype: Callable[..., Any], shape: Callable[..., Any], vjp: Vjp | None = None,
           linear: Linear | bool = False, jvp: Callable[..., Any] | None = None, batch: BatchRule = None,
           joint: Callable[..., Any] | None = None, check: Callable[..., Any] | None = None,
           outputs: tuple[str, ...] = ("y",), zeros: bool = False) -> Callable[..., Function]:  # fmt: skip
    """Declare an op with a kernel family of its own.

    The body is given (backend, out, operands..., *, params) as Specs and returns the backend's launch.
    dtype(op, specs, **params) gives the result's dtype, shape(op, *specs, **params) its shape.  check(op, backend,
    specs, params) prepares a look at the values (index ranges) that runs before anything is allocated.  joint is a rule
    that gives a tuple of all gradients; a backward pass takes it where every operand wants one.  If it names the fact
    `asked`, a flag for each operand, it is taken always, and gives None for what is not asked for; what none of the
    operands' own rules would save then is None, too.
    outputs: names of several results; then dtype and shape give a tuple, the body is given an `out` for each, calls
    return a named tuple, and a rule takes the gradients that it names: `lambda g0, g1, x: ...`.  A result that nothing
    used has gradient None, with zeros=True zeros.
    """

    def declare(function: FunctionType) -> Function:
        given = inspect.signature(function).parameters.values()
        names = [p.name for p in given if p.kind is not inspect.Parameter.KEYWORD_ONLY]
        if len(names) < 1 + len(outputs):
            raise DeclarationError(
                f"{where_of(function)}: the kernel {function.__name__} takes ({', '.join(names)}); it is given the "
                f"backend, the Spec of each result and the operands'",
                op=function.__name__,
            )
        operands = tuple(names[1 + len(outputs) :])
        op = new_op(function, "kernel", operands, keyword_params(function), vjp, outputs, zeros)
        op.variadic = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in given)
        if joint is not None:
            op.joint = read_joint(op, joint)
        op.dtype_rule, op.shape_rule, op.prepare, op.check = dtype, shape, function, check
        claim(op, linear, jvp, batch)
        along = any(role.name == "Dim" for role in op.roles.values())

        def public(*operands: Any, **given: Any) -> Any:
            if len(operands) != len(op.operands) and not op.variadic:
                raise TypeError(f"{op.label}() takes {len(op.operands)} tensors, but {len(operands)} were given")
            params = all_params(op, given)
            if along and operands and isinstance(operands[0], Tensor) and not operands[0].layout.shape:
                return along_a_scalar(op, operands, params)
            return apply(op, operands, params)

        return publish(op, function, public)

    return declare


def along_a_scalar(op: Op, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """An op along a dim of a tensor without dims, which is a row of one there; so are the results."""
    params = canonical(op, operands, params)
    rows = tuple([x.reshape(1) if isinstance(x, Tensor) and not x.layout.shape else x for x in operands])
    found = apply(op, rows, params)
    if op.result is None:
        return found.reshape(()) if found.shape == (1,) else found
    return op.result(*[y.reshape(()) if y.shape == (1,) else y for y in found])
