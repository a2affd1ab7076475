"""The decorators that declare an op: @elementwise, @reduction, @view, @kernel, @composed, and @scalar for helpers.

Each checks the declaration at import, puts one `Op` into the schema and returns the public function; `record.py` reads
the declaration.  Functions, methods, in-place forms, op tests and gradient checks are all driven from the schema.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import FunctionType
from typing import Any, TypeVar

from minigrad.config import settings
from minigrad.core.op import Linear, Op
from minigrad.core.requests import reducing as of_reducer
from minigrad.core.roles import Cast, Dims, Flag, role_of
from minigrad.declare import rules
from minigrad.declare.bodies import FRONT_ROLES, composed_body, kernel_body, reduction_body, several_body, view_body
from minigrad.declare.claims import BatchRule, claim
from minigrad.declare.derived import leave_rules
from minigrad.declare.forms import (
    apart,
    as_float,
    blame,
    by_name,
    call,
    call_in_dtype,
    call_present,
    call_view,
    collected,
    expect_operands,
    in_format,
    several,
    tensor_list,
    whole,
    writing,
)
from minigrad.declare.names import enter
from minigrad.declare.partials import average, declared
from minigrad.declare.record import DERIVED, Function, Vjp, check_rule, check_writes, new_op, publish, read_joint
from minigrad.declare.signature import (
    EMPTY,
    Signature,
    fast_signature,
    read_signature,
    shown,
    where_of,
    write_function,
)
from minigrad.errors import DeclarationError, MinigradError
from minigrad.kernels.scalar import parse, parse_later
from minigrad.runtime.dispatch import apply, fast_path, run_one, run_view
from minigrad.runtime.fast_paths import parameter_names
from minigrad.runtime.into import copy_result
from minigrad.runtime.noting import scope
from minigrad.runtime.operands import NUMBERS, canonical
from minigrad.runtime.plans import plan_for
from minigrad.runtime.promises import loop_dtypes, within
from minigrad.runtime.tensor import PLAIN, Tensor

F = TypeVar("F", bound=Callable[..., Any])
Namespace = str | tuple[str, ...] | None
# Classes of the most common `dim`; bool is not among them, because as a key it equals an int.
PLAIN_DIMS = (type(None), int)


def scalar(function: Callable[..., Any]) -> Any:
    """Declare a helper that other scalar functions may call; it is expanded in place."""
    ours = str(function.__module__).startswith("minigrad.")
    return parse_later(function) if ours else parse(function)  # type: ignore[arg-type]


def elementwise(*, dtype: Callable[..., Any], vjp: Vjp | str | None = None, linear: Linear | bool = False,
                jvp: Callable[..., Any] | None = None, batch: BatchRule = None,
                outputs: tuple[str, ...] = ("y",), zeros: bool = False, namespace: Namespace = None,
                method: bool = True, name: str = "", front: str = "",
                otherwise: Callable[..., Any] | None = None, sole: Callable[..., Any] | None = None,
                by_number: Callable[..., Any] | None = None,
                fuse: bool | None = None, label: str = "") -> Callable[..., Function]:  # fmt: skip
    """Declare an elementwise op over any number of operands; the body is its scalar function.

    dtype: a rule of `declare/rules.py` -> (compute dtype, result dtype).  vjp: one derivative rule per operand, or None
    where the result carries no gradient; "derived", for one or for all, derives it from the body, for every order.
    Then a choice passes the gradient to the branch that was taken: at a kink, to the one that `==` takes.
    outputs: names of several results, for a body that returns a tuple, `return mantissa, exponent`.  Then the result
    dtype is a tuple, or one dtype for all; calls return a named tuple, `out=` takes a tuple, and rules name the
    gradients as those of a `kernel` do: `lambda g0, g1, x: ...`.  zeros: as for `kernel`.
    linear, jvp, batch: facts that transforms cannot derive, the same for every kind of op.  linear: the operands in
    which the op is linear, `mg.rules.joint("a", "b")` or `mg.rules.each("a", "b")`, True for the only one.  jvp: a rule
    of forward mode, such as `lambda dx, y: dx * y`.  batch: how it takes a batch in front: see `declare/claims.py`.
    namespace, method: where users find it, and whether Tensor has it as a method, which also has an in-place form.
    front: parameters after the operands, such as "*, alpha=1".  For other values of these the call goes to `otherwise`,
    a function of the operands, these parameters and `out`, in terms of other calls.
    sole: the function that answers a call with only the first operand.  by_number: a function of both operands and
    `out`, called if the second operand is not a tensor.  It may refuse the call, since a dtype rule receives no values,
    or return its result; None for the op itself.
    fuse: compile each derivative rule of several ops into one kernel.  It promises that a rule is a straight line of
    elementwise ops on its arguments: no branch, no side effect, no value from outside that changes later, because the
    rule is called once, with symbols.  The default is True in this package and False elsewhere.
    label: the name of the op in messages and pictures, where users call it by another function.
    An operand may have a number as its default.
    """

    def declare(function: FunctionType) -> Function:
        check_rule(function, dtype)
        parameters = inspect.signature(function).parameters.values()
        if not parameters:
            raise DeclarationError(
                f"{where_of(function)}: {function.__name__} has no operand; make it a number, or read at least one"
            )
        entries: Any = (vjp,) * len(parameters) if vjp == DERIVED else (vjp,) if callable(vjp) else vjp
        operands = tuple([p.name for p in parameters])
        op = new_op(function, "elementwise", operands, {}, entries, outputs, zeros, name, label)
        op.dtype_rule = dtype
        ours = str(function.__module__).startswith("minigrad.")
        leave_body(op, function, later=ours)
        if entries is not None and DERIVED in entries:
            leave_rules(op, entries, later=ours)
        op.fuse = op.result is None and (ours if fuse is None else fuse)
        claim(op, linear, jvp, batch)
        defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
        defaults |= dict.fromkeys(operands[1:]) if sole is not None else {}
        in_place = method and op.result is None
        quick = fast_function(op, defaults, front, otherwise, sole, by_number)
        return publish(op, function, quick, namespace, method, in_place)

    return declare


def leave_body(op: Op, function: FunctionType, later: bool) -> None:
    """Let the body of an elementwise op be parsed: at its first use, or now, at the declaration."""

    def read(op: Op) -> None:
        op.scalar = parse(function, defaults=True, results=len(op.outputs))

    if later:
        op.leave(("scalar",), read)
    else:
        read(op)


def fast_function(op: Op, defaults: Mapping[str, Any], *front: Any) -> Function:
    """Return the function that calls an elementwise op, with the types of its parameters."""
    function = fast_path(op, defaults, *front)
    given = inspect.signature(function)
    function.__signature__ = fast_signature(given, defaults, parameter_names(op))  # type: ignore[attr-defined]
    return function


def reduction(*, dtype: Callable[..., Any], identity: str | tuple[str, ...], order: str | None = None,
              combine: Callable[..., Any] | None = None, map: Callable[..., Any] | None = None,
              finish: Callable[..., Any] | None = None, mean: bool = False, vjp: Vjp | None = None,
              linear: Linear | bool = False, jvp: Callable[..., Any] | None = None, batch: BatchRule = None,
              outputs: tuple[str, ...] = ("y",), zeros: bool = False, namespace: Namespace = None,
              method: bool = True, name: str = "", label: str = "") -> Callable[..., Function]:  # fmt: skip
    """Declare a reduction over any set of dims: map, combine, finish; the body is its scalar function (acc, x).

    identity: the first accumulator, "zero", "one", "lowest" or "highest"; a tuple for several accumulators, which the
    body then takes in front of x and returns as a tuple.  One of these declares how partial results are combined:
    order="sum": the body joins them as it joins an element, in any order, and floats may be re-associated;
    combine=f: the scalar function f of two partial results joins them, in any order; of several accumulators it takes
    all of one and then all of the other;
    order="extreme": the body returns the larger (from "lowest") or the smaller, and nan where there is one;
    order="sequential": there are no partial results, one element comes after the other, row-major.
    With "sum" and "extreme" the body joins each of several accumulators with that of the other partial result.
    map: the scalar function that makes x of an element, or of one of each operand; the operands have its names then.
    finish: the scalar function of the last accumulators, or of these and the number of elements; mean=True divides.
    outputs: names of several results, which are those of `finish`, or the accumulators if there is none.  Then the
    result dtype, calls, `out=`, rules and zeros are as for `elementwise` with several results.
    name, label: as for `kernel`.
    Rules may read `dims` (sorted tuple) and `keepdim`.  The public function is
    f(input, dim=None, keepdim=False, *, dtype=None, out=None); it has `dtype` where the accumulator is wider than the
    operand.
    """

    def declare(function: FunctionType) -> Function:
        check_rule(function, dtype)
        last = average if mean else finish
        reducer = declared(function, identity, order=order, combine=combine, map=map, finish=last,
                           linear=linear is not False, results=len(outputs))  # fmt: skip
        operands = ("x",) if reducer.map is None else reducer.map.args
        if taken := {"dim", "keepdim", "out"}.intersection(operands):
            raise DeclarationError(
                f"{where_of(function)}: {function.__name__} has an operand and a parameter {min(taken)!r}; rename the "
                f"operand", op=function.__name__,
            )  # fmt: skip
        params = {"dims": None, "keepdim": False}
        op = new_op(function, "reduction", operands, params, vjp, outputs, zeros, name, label)
        op.roles = {"dims": role_of(Dims), "keepdim": role_of(Flag)}
        op.scalar, op.reducer = reducer.unmapped().scalar, reducer
        claim(op, linear, jvp, batch)
        op.shape_rule = rules.reduced_shape

        def dtypes(op: Op, specs: Any, *, dims: tuple[int, ...], keepdim: bool) -> Any:
            _, stored = loop_dtypes(op, dtype(op, specs))
            return stored[0] if op.result is None else stored

        def prepare(backend: Any, *specs: Any, dims: tuple[int, ...], keepdim: bool) -> Any:
            outs, operands = specs[: reducer.results], specs[reducer.results :]
            kept = [rules.with_kept_dims(out, operands[0].shape, dims) for out in outs]
            return backend.prepare(of_reducer(reducer, dtype(op, operands)[0], dims), tuple(kept), *operands)

        op.dtype_rule, op.prepare = dtypes, prepare
        public = reduction_function(op, function.__name__, dtype in (rules.widen, rules.mean_dtype))
        return publish(op, function, public, namespace, method)

    return declare


def reducing(input: Tensor, dim: Dims = None, keepdim: Flag = False, *, dtype: Cast = None) -> None:
    """Declare the public signature of reductions."""


REDUCING = read_signature(reducing)  # type: ignore[arg-type]


def reduction_function(op: Op, name: str, wide: bool) -> Function:
    """Return the function that calls a reduction; wide: the accumulator is wider than the operand: it takes `dtype`."""
    operand, *parameters, _ = REDUCING.parameters
    if len(op.operands) > 1 or op.result is not None:
        given = [operand.replace(name=each) for each in op.operands] if len(op.operands) > 1 else [operand]
        op.signature = Signature((*given, *parameters), tuple([each.name for each in given]))
        body = several_body(op)
    else:
        op.signature = REDUCING if wide else replace(REDUCING, parameters=(operand, *parameters))
        body = reduction_body(wide)
    names = {"op": op, "plain": PLAIN, "plain_dims": PLAIN_DIMS, "plans": op.plans, "plan_for": plan_for,
             "run": run_one, "check": expect_operands, "call": apply, "in_dtype": call_in_dtype, "whole": whole,
             "numbers": NUMBERS}  # fmt: skip
    found: Function = write_function(name, op.signature, body, names, out=True)
    return found


def view(
    *, vjp: Vjp, jvp: Callable[..., Any] | None = None, batch: BatchRule = None, beyond: bool = False, name: str = "",
    namespace: Namespace = None, method: bool = True,
) -> Callable[..., Function]:  # fmt: skip
    """Declare a view: the body is arithmetic on a Layout, its other arguments are the parameters.

    beyond: it may see elements of the storage that its operand does not; then its callers check that they exist.
    name, namespace, method: as for `kernel`.

    A view is linear, so its jvp is the view of the tangent; a jvp rule is for a view that reads its operand's layout.
    """

    def declare(function: FunctionType) -> Function:
        signature = read_signature(function)
        # The parameter has no annotation: the body receives the layout of the operand.
        if signature.operands == ("layout",):
            first = signature.parameters[0].replace(name="x", annotation="Tensor")
            signature = Signature((first, *signature.parameters[1:]), ("x",))
        if len(signature.parameters) > len({p.name for p in signature.parameters}):
            raise DeclarationError(
                f"{where_of(function)}: {function.__name__} has an operand and a parameter 'x'; rename the parameter",
                op=function.__name__,
            )
        op = new_op(function, "view", signature.operands, signature.params, vjp, name=name)
        op.signature = signature
        op.prepare = function if beyond else within(op, function)
        claim(op, True, jvp, batch)
        names = {"op": op, "plain": PLAIN, "plans": op.plans, "run": run_view, "view": call_view, "several": several,
                 "whole": whole}  # fmt: skip
        public = write_function(function.__name__, signature, view_body(op), names, out=False)
        return publish(op, function, public, namespace, method)

    return declare


def kernel(*, dtype: Callable[..., Any], shape: Callable[..., Any], vjp: Vjp | None = None,
           linear: Linear | bool = False, jvp: Callable[..., Any] | None = None, batch: BatchRule = None,
           joint: Callable[..., Any] | None = None, outputs: tuple[str, ...] = ("y",), zeros: bool = False,
           name: str = "", label: str = "", namespace: Namespace = None, method: bool = False, in_place: bool = False,
           out: bool = True, floats: bool = False, writes: tuple[str, ...] = (),
           otherwise: Callable[..., Any] | None = None) -> Callable[..., Function]:  # fmt: skip
    """Declare an op with a kernel family of its own.

    The body receives the backend, a Spec for each result, and then the public arguments, with Specs for the operands;
    it returns the backend's launch.  Operands are the parameters annotated as tensors.
    dtype(op, specs, **params) returns the result's dtype, shape(op, *specs, **params) its shape.  joint is a rule that
    returns a tuple of all gradients; a backward pass uses it where every operand requires one.  If it names the fact
    `asked`, a flag for each operand, it is always used, and returns None for operands that are not asked.  Then values
    that none of the operands' own rules would save are None, too.
    outputs: names of several results.  Then dtype and shape return a tuple, the body receives an `out` for each, calls
    return a named tuple, and a rule takes the gradients that it names: `lambda g0, g1, x: ...`.  A result that nothing
    used has gradient None, with zeros=True zeros.
    name: of the op in the schema, where the function has another.  label: as for `elementwise`.
    namespace, method, in_place, out: where users find it, whether Tensor has it as a method, and as `name_`, and
    whether it takes `out=`.
    floats: integers are converted to the default float dtype first.
    writes: the operands into whose memory the launch writes, by name; each call checks and counts these writes.
    otherwise: a function of the public arguments that serves the calls which the kernel cannot, in terms of others, and
    returns None for the rest.
    """

    def declare(function: FunctionType) -> Function:
        signature = read_signature(function, 1 + len(outputs))
        if len(inspect.signature(function).parameters) < 1 + len(outputs):
            raise DeclarationError(
                f"{where_of(function)}: the kernel {function.__name__} takes "
                f"({', '.join(inspect.signature(function).parameters)}); it receives the backend, the Spec of each "
                f"result and the operands'", op=function.__name__,
            )  # fmt: skip
        if signature.many and len(signature.operands) > 1:
            raise DeclarationError(
                f"{where_of(function)}: {function.__name__} has the operand {signature.many!r}, any number of tensors, "
                f"and others too ({', '.join(signature.operands)}); only a composed op may", op=function.__name__,
            )  # fmt: skip
        params = {key: value for key, value in signature.params.items() if signature.role(key) not in FRONT_ROLES}
        op = new_op(function, "kernel", signature.operands, params, vjp, outputs, zeros, name, label)
        op.signature = signature
        op.variadic = bool(signature.many)
        op.writes = check_writes(op, writes)
        if joint is not None:
            op.joint = read_joint(op, joint)
        op.dtype_rule, op.shape_rule = dtype, shape
        op.prepare = by_name(function, signature, 1 + len(outputs))
        claim(op, linear, jvp, batch)
        op.along = not signature.many and any(role.name == "Dim" for role in op.roles.values())
        takes_out = out and "out" not in (*op.params, *op.operands)
        if has_fast_path(op, floats, takes_out, otherwise):
            quick: Any = fast_path(op)
            quick.__signature__ = shown(signature, out=True)
            return publish(op, function, quick, namespace, method, in_place)
        public = write_function(
            function.__name__, signature, kernel_body(op, takes_out, floats, otherwise),
            {"op": op, "plain": PLAIN, "numbers": NUMBERS, "call": call_present if signature.optional else call,
             "check": expect_operands, "in_dtype": call_in_dtype, "float": as_float, "canonical": canonical,
             "list": tensor_list, "several": several, "otherwise": otherwise, "format": in_format},
            takes_out,
        )  # fmt: skip
        return publish(op, function, public, namespace, method, in_place)

    return declare


def has_fast_path(op: Op, floats: bool, out: bool, otherwise: Any) -> bool:
    """Return whether calls of an op with a kernel need no more than those of an elementwise op."""
    signature = op.signature
    simple = len(signature.parameters) == len(op.operands) <= 3 and not signature.optional and not signature.many
    plain = op.result is None and not op.writes
    return simple and plain and out and not floats and otherwise is None


def composed(
    *, namespace: Namespace = None, method: bool = True, in_place: bool = False, out: bool = True, floats: bool = False,
    of: Callable[..., Any] | None = None, writes: tuple[str, ...] = (),
) -> Callable[..., Function]:  # fmt: skip
    """Declare an op that is made of others: the body is its definition, in tensor code.

    Its parameters are read by their roles before the definition is called, so it receives dims that exist and plain
    numbers.  Its parts are recorded, so every transform works on it; pictures draw these parts as one op.
    namespace, method, in_place, out, floats: as for `kernel`.
    of: the op with a kernel that serves the calls; then it, and not this function, is in the schema.
    writes: the operands that the definition may write, by name; it does so with `write_operands`, after all checks.
    """

    def declare(function: FunctionType) -> Function:
        signature = read_signature(function)
        passes = "out" in (*signature.params, *signature.operands)  # whether the definition itself writes into `out`
        op = new_op(function, "composed", signature.operands, signature.params, None, listed=of is None)
        op.signature, op.composed = signature, collected(function, signature)
        op.writes = check_writes(op, writes)
        names = {"op": op, "plain": PLAIN, "numbers": NUMBERS, "check": expect_operands, "list": tensor_list,
                 "several": several, "definition": op.composed, "settings": settings, "scope": scope,
                 "copy": copy_result, "float": as_float, "apart": apart,
                 "error": MinigradError, "blame": blame}  # fmt: skip
        names |= {f"read_{key}": role.read for key, role in op.roles.items()}
        body = composed_body(op, out and not passes, floats)
        public = write_function(
            function.__name__, signature, body, names, out and not passes, function.__annotations__.get("return", EMPTY)
        )
        public = publish(op, function, public, namespace, method, in_place, listed=of is None)
        if of is not None:
            public.op = of.op  # type: ignore[attr-defined]
        return public

    return declare


def public(
    *, namespace: Namespace = None, method: bool = False, in_place: bool = False, out: bool = False
) -> Callable[[F], F]:
    """Enter a plain function, which makes tensors or reads its own arguments, into the public names.

    out: it gets `out=`, into which its result is copied.
    """

    def declare(function: Any) -> Any:
        found: Any = writing(function) if out else function
        enter(found, namespace, method, in_place)
        return found

    return declare
