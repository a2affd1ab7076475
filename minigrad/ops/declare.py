"""The decorators that declare an op: @elementwise, @reduction, @view, @kernel, and @scalar for helpers.

Each checks the declaration at import, puts one `Op` into the schema and returns the public function.  The parameter
names of a derivative rule say what is saved: `g` the incoming gradient (`g0`, `g1` ... those of several results), `y`
the output (or a result by its name), an operand's name its value; keyword-only names are parameters and static facts
(`in_shape`, `a_dtype`, `y_shape` ...).  Functions, methods, in-place forms, op tests and gradient checks are all
driven from the schema.
"""

from __future__ import annotations

import inspect
import re
from collections import namedtuple
from collections.abc import Callable
from types import FunctionType
from typing import Any

from minigrad.core.op import Linear, Op, Rule
from minigrad.core.requests import Reduce
from minigrad.core.roles import Dims, Flag, role_of
from minigrad.errors import DeclarationError
from minigrad.kernels.scalar import parse
from minigrad.ops import rules
from minigrad.ops.claims import BatchRule, claim, is_fact
from minigrad.ops.folds import declared
from minigrad.runtime.dispatch import apply, lane, run_one, run_view
from minigrad.runtime.operands import canonical, keyed
from minigrad.runtime.plans import plan_for
from minigrad.runtime.tensor import PLAIN, Tensor, expect_tensors

schema: dict[str, Op] = {}
PLAIN_DIMS = (type(None), int)  # what a fold is asked for mostly; not bool, which is equal to an int as a key
GRADIENT = re.compile(r"g(\d*)$")
# A function that calls an op behind another signature has the op's name, and the declaration a longer one: `gather`
# calls `gather_along`, which declares the op gather.
INNER = re.compile(r"_(along|with|between|nd|exact)$|^as_(?=view$)")
Vjp = tuple[Callable[..., Any] | None, ...]
Function = Callable[..., Tensor]


# ---- building the record --------------------------------------------------------------------------------------------


def new_op(
    function: FunctionType, kind: str, operands: tuple[str, ...], params: dict[str, Any], vjp: Vjp | None,
    outputs: tuple[str, ...] = ("y",), zeros: bool = False,
) -> Op:  # fmt: skip
    """An Op for `function`, checked; `publish` enters it into the schema."""
    code = function.__code__
    where = f"{code.co_filename}:{code.co_firstlineno}"
    name = function.__name__.strip("_")
    ours = (function.__module__ or "").startswith("minigrad.")
    if ours:
        name = INNER.sub("", name)
    if not function.__doc__:
        raise DeclarationError(f"{where}: the op {name} has no docstring", op=name)
    if ours and name in schema:
        raise DeclarationError(f"{where}: the op {name} is declared already, at {schema[name].where}", op=name)
    op = Op(name, kind, operands, params, where)
    op.doc = function.__doc__
    op.roles = roles_of(function, params)
    op.target = next((p for p, role in op.roles.items() if role.name == "Target"), None)
    if outputs != ("y",):
        op.outputs, op.zeros = check_outputs(op, outputs), zeros
        results: Callable[..., Any] = namedtuple(name, outputs)  # type: ignore[misc]
        op.result = results
    if vjp is not None:
        if len(vjp) != len(operands):
            raise DeclarationError(
                f"{where}: {name} has {len(operands)} operands ({', '.join(operands)}) and {len(vjp)} derivative "
                f"rules; give one rule or None for each",
                op=name,
            )
        op.rules = tuple(None if fn is None else read_rule(op, fn) for fn in vjp)
    op.saves = tuple(saves_for(op, mask) for mask in range(1 << len(operands)))
    op.picks = tuple(picks_for(op, mask) for mask in range(1 << len(operands)))
    op.complete = None not in op.rules
    return op


def read_rule(op: Op, fn: Callable[..., Any], joint: bool = False) -> Rule:
    """Read a rule's parameter names; raises DeclarationError for a name that means nothing."""
    saves, facts, asked = [], [], False
    names = list(inspect.signature(fn).parameters.values())
    gradients = read_gradients(op, [p.name for p in names])
    for parameter in names[len(gradients) :]:
        name = parameter.name
        if name == "asked" and joint and parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            asked = True
        elif parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            if not is_fact(op, name):
                raise DeclarationError(
                    f"{op.where}: {name!r} in a rule of {op.name} is neither a parameter nor a static fact", op=op.name
                )
            facts.append(name)
        elif name in op.outputs and name in op.operands:
            raise DeclarationError(
                f"{op.where}: {name!r} in a rule of {op.name} could be the output or its operand; rename the operand",
                op=op.name,
            )
        elif name in op.outputs or name in op.operands:
            saves.append(name)
        else:
            made = "`y`" if op.outputs == ("y",) else f"a result ({', '.join(op.outputs)})"
            raise DeclarationError(
                f"{op.where}: {name!r} in a rule of {op.name} is neither `g`, {made} nor an operand", op=op.name
            )
    return Rule(fn, tuple(saves), tuple(facts), gradients, asked)


def read_gradients(op: Op, names: list[str]) -> tuple[int, ...]:
    """Which results' gradients a rule takes first: `g` that of the first, `g0`, `g1` ... those of several."""
    found: list[int] = []
    for name in names:
        match = GRADIENT.match(name)
        if match is None or (found and name in op.operands):
            break
        found.append(int(match[1] or 0))
    if not found:
        raise DeclarationError(f"{op.where}: a derivative rule of {op.name} must take `g` first", op=op.name)
    if max(found) >= len(op.outputs) or len(set(found)) < len(found):
        raise DeclarationError(
            f"{op.where}: a rule of {op.name} takes the gradients {', '.join(names[: len(found)])}, and the op has "
            f"{len(op.outputs)} result{'s' if len(op.outputs) > 1 else ''}", op=op.name,
        )  # fmt: skip
    return tuple(found)


def check_outputs(op: Op, outputs: tuple[str, ...]) -> tuple[str, ...]:
    """The names of several results.  Raises DeclarationError where rules could not tell them from other names."""
    taken = {"g", *op.operands, *op.params}
    wrong = [name for name in outputs if not name.isidentifier() or name in taken or GRADIENT.match(name)]
    if wrong or len(set(outputs)) < len(outputs) or len(outputs) < 2:
        raise DeclarationError(
            f"{op.where}: {op.name} names its results {outputs!r}; give two or more names, each its own and none that "
            f"of an operand or a parameter", op=op.name,
        )  # fmt: skip
    return outputs


def roles_of(function: FunctionType, params: dict[str, Any]) -> dict[str, Any]:
    """What the annotations of a declaration say of its parameters."""
    try:
        found = inspect.get_annotations(function, eval_str=True)
    except NameError:  # an annotation that only a type checker knows
        found = inspect.get_annotations(function)
    roles = {name: role_of(found.get(name)) for name in params}
    return {name: role for name, role in roles.items() if role is not None}


def read_joint(op: Op, fn: Callable[..., Any]) -> Rule:
    """The rule for all operands at once; it may want what the single rules save, and no more."""
    rule = read_rule(op, fn, joint=True)
    missing = set(rule.saves).difference(*(single.saves for single in op.rules if single is not None))
    wrong = (
        f"wants {', '.join(sorted(missing))}, which no rule of an operand saves" if missing
        else "stands in for rules of all operands, and one has none" if not (op.complete or rule.asked)
        else "needs operands that are counted" if op.variadic else ""
    )  # fmt: skip
    if wrong:
        raise DeclarationError(f"{op.where}: the joint rule of {op.name} {wrong}", op=op.name)
    return rule


def check_rule(function: FunctionType, dtype: Callable[..., Any]) -> None:
    """Raise DeclarationError unless `dtype` is a rule: mg.promote, which joins two dtypes, is not mg.rules.promote."""
    if not callable(dtype) or next(iter(inspect.signature(dtype).parameters), "") != "op":
        code = function.__code__
        raise DeclarationError(
            f"{code.co_filename}:{code.co_firstlineno}: dtype={getattr(dtype, '__name__', dtype)!r} of "
            f"{function.__name__} is no rule; give a function of (op, specs) such as mg.rules.promote",
            op=function.__name__,
        )


def saves_for(op: Op, mask: int) -> tuple[int, ...]:
    """Which values a call keeps when the operands in `mask` track: operand numbers, -1 for the first result."""
    names = {name for k, rule in enumerate(op.rules) if rule and mask >> k & 1 for name in rule.saves}
    places = (*range(-1, -1 - len(op.outputs), -1), *range(len(op.operands)))
    return tuple(k for k in places if op.value_name(k) in names)


def picks_for(op: Op, mask: int) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """The rules that run when the operands in `mask` track, each with the places of what it wants among the saves."""
    names = [op.value_name(k) for k in op.saves[mask]]
    rules = [(k, rule) for k, rule in enumerate(op.rules) if rule is not None and mask >> k & 1]
    return tuple((k, tuple(map(names.index, rule.saves))) for k, rule in rules)


def publish(op: Op, function: FunctionType, public: Function) -> Function:
    """Give the public function its name, docstring, signature and record, and enter the op, which is whole now, into
    the schema; its source is the declaration."""
    public.__name__ = public.__qualname__ = function.__name__
    public.__doc__ = function.__doc__
    public.__module__ = function.__module__ or "__main__"  # code that was executed in a bare dict has none
    public.__signature__ = signature_of(op, public)  # type: ignore[attr-defined]
    public.__wrapped__ = function  # type: ignore[attr-defined]
    public.op = op  # type: ignore[attr-defined]
    op.public = public
    # A user may declare another `mul`, to learn from it: it is listed beside ours, under its module's name.
    ours = public.__module__.startswith("minigrad.")
    taken = not ours and op.name in schema and schema[op.name].public.__module__.startswith("minigrad.")
    schema[f"{public.__module__}.{op.name}" if taken else op.name] = op
    return public


def signature_of(op: Op, public: Function) -> inspect.Signature:
    """What an editor shows: the operands, then the parameters by keyword."""
    given = inspect.signature(public)
    if op.kind not in ("view", "kernel"):
        return given
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter(x, inspect.Parameter.POSITIONAL_ONLY, annotation=Tensor) for x in op.operands]
    if op.variadic:
        parameters = [inspect.Parameter(op.operands[0], inspect.Parameter.VAR_POSITIONAL, annotation=Tensor)]
    for name, default in op.params.items():
        role = op.roles.get(name)
        parameters.append(
            inspect.Parameter(name, keyword, default=default, annotation=role.name if role else inspect.Parameter.empty)
        )
    return inspect.Signature(parameters, return_annotation=given.return_annotation)


def all_params(op: Op, given: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a call in the order of the declaration, defaults filled in.  Raises TypeError for others."""
    found = {**op.params, **given}
    if len(found) > len(op.params):
        wrong = ", ".join(sorted(given.keys() - op.params.keys()))
        raise TypeError(f"{op.label}() has no parameter {wrong}; it takes {', '.join(op.params) or 'none'}")
    for value in found.values():
        if value is inspect.Parameter.empty:
            missing = [name for name, each in found.items() if each is inspect.Parameter.empty]
            raise TypeError(f"{op.label}() needs {', '.join(missing)}")
    return found


# ---- the decorators -------------------------------------------------------------------------------------------------


def scalar(function: Callable[..., Any]) -> Any:
    """A helper that other scalar functions may call; it is expanded in place."""
    return parse(function)


def elementwise(*, dtype: Callable[..., Any], vjp: Vjp | None = None, linear: Linear | bool = False,
                jvp: Callable[..., Any] | None = None, batch: BatchRule = None) -> Callable[..., Function]:  # fmt: skip
    """Declare an elementwise op over one to three operands; the body is its scalar function.

    dtype: a rule of `ops/rules.py` -> (compute dtype, result dtype).  vjp: one derivative rule an operand, or None
    where the result carries no gradient.
    linear, jvp, batch: what transforms cannot derive, the same for every kind of op.  linear: in which operands the op
    is linear, `mg.rules.joint("a", "b")` or `mg.rules.each("a", "b")`, True for the only one.  jvp: a rule of forward
    mode, such as `lambda dx, y: dx * y`.  batch: how it takes a batch in front: see `ops/claims.py`.
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
        fold = declared(body, identity, order=order, combine=combine, mean=mean)
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

        def public(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
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


def view(*, vjp: Vjp, jvp: Callable[..., Any] | None = None, batch: BatchRule = None) -> Callable[..., Function]:
    """Declare a view: the body is arithmetic on a Layout, keyword arguments are its parameters.

    A view is linear, so its jvp is the view of the tangent; a jvp rule is for one that asks how its operand lies.
    """

    def declare(function: FunctionType) -> Function:
        params = keyword_params(function)
        op = new_op(function, "view", ("x",), params, vjp)
        op.prepare = function
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
                elif v.__class__ is not int:
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


def where_of(function: FunctionType) -> str:
    """File and line of a declaration."""
    return f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"


def keyword_params(function: FunctionType) -> dict[str, Any]:
    """The keyword-only parameters with their defaults (`Parameter.empty` where there is none)."""
    return {
        p.name: p.default
        for p in inspect.signature(function).parameters.values()
        if p.kind is inspect.Parameter.KEYWORD_ONLY
    }
