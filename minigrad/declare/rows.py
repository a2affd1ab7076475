"""Declare row functions such as softmax: the totals of a row, its elements, their gradient, and the definition.

`@rows` makes the ops of softmax, layer_norm and similar functions, and `@picks` makes those of a loss such as
cross-entropy.  They decorate the definition, which is composed of other ops.  A call runs a `RowFn` in one kernel, and
its backward pass runs another `RowFn`.  The backward kernels are ops without derivatives, for a backward pass that does
not record a graph.  If it records a graph, the engine runs a backward pass through the definition.  An op that saves
its result instead of its operands declares its gradient in tensor code.  So derivatives of all orders exist, and only
those of the first order are written by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from minigrad.backends.launch import as_launch
from minigrad.backends.limits import ClassLimits
from minigrad.core.op import Op, Spec
from minigrad.core.parameters import KEYWORD, Parameter
from minigrad.core.requests import MapRows, Pick, PickBack
from minigrad.core.roles import role_of
from minigrad.core.rows import RowFn
from minigrad.declare.bodies import FRONT_ROLES
from minigrad.declare.claims import BatchRule, single_rules
from minigrad.declare.decorators import kernel
from minigrad.declare.record import Function, Vjp
from minigrad.declare.rules import floating, joint, same_shape
from minigrad.declare.signature import annotations_of, read_signature, where_of
from minigrad.errors import DeclarationError, ShapeError

NOTHING: Mapping[str, BatchRule] = {}
Names = tuple[str, ...]
Body = Callable[..., Any]
Declare = Callable[..., Function]


def rows(
    fn: RowFn, *, backward: RowFn, vjp: Vjp | None = None, batches: Mapping[str, BatchRule] = NOTHING, name: str = "",
    **claims: Any,
) -> Declare:  # fmt: skip
    """Declare an op along rows; the body is its definition as tensor code, which receives floats in the compute dtype.

    The first operand contains the rows, along the parameter `dim`, or along the last dim if the op has no such
    parameter.  The other operands are lines: vectors that all rows share.  If the op has a further parameter, the
    `finish` functions of the totals receive its value.

    fn: the totals and the function of an element; their arguments are the operands, by name.
    backward: the totals and functions that compute the gradient of the rows, with the arguments `g` and the operands.
    They include one term for each line; the gradient of the line is the sum of this term over all rows.
    vjp: the gradient in tensor code, for a `backward` whose arguments are `g` and the result `y`; then no operand is
    saved, and higher orders are computed from this rule instead of the definition.
    batches: the batching rules of the backward ops that differ from the batching rule of the op, by the last part of
    their labels, such as "backward".
    name: the name of the op in the schema, if it differs from the name of the function.
    claims: `linear=`, `jvp=`, `batch=`, `namespace=` and `method=`, as for `kernel`.

    The backward ops are `label_backward` and, with lines, `label_sums` for the gradients of the lines, and
    `label_gradients` for all gradients.
    """

    def declare(function: FunctionType) -> Function:
        names = operands_of(function)
        check_names(function, fn, names)
        check_names(function, backward, ("g", "y") if vjp else ("g", *names))
        lines, label = names[1:], name or function.__name__
        if len(backward.terms) != len(lines):
            raise DeclarationError(
                f"{where_of(function)}: {function.__name__} must have one gradient term for each of its {len(lines)} "
                f"lines ({', '.join(lines)}), got {len(backward.terms)} terms; pass one term per line",
                op=function.__name__,
            )
        check_params(function, fn, ("dim",))

        def backward_op(part: str, result: bool, terms: bool, outputs: Names) -> Function:
            batch = batches.get(part, claims.get("batch"))
            return along(function, backward.only(f"{label}_{part}", result, terms), lines, outputs, batch)

        back = backward_op("backward", True, False, ("dx",))
        more = {"name": label, "dtype": floating, "shape": shape_rule(lines, (False,)), "vjp": vjp, **claims}
        if not vjp:
            made = tuple(f"d{name}" for name in names)
            sums = backward_op("sums", False, True, made[1:]) if lines else None
            both = backward_op("gradients", True, True, made) if lines else None
            more |= first_order(function, names, chosen(names, back, sums, both), names)
        public = kernel(**more)(posed(function, launcher(fn, lines), names))
        return with_definition(function, public, back if vjp else None)

    return declare


def picks(
    fn: RowFn,
    *,
    backward: RowFn,
    dtype: Body,
    jvp: Body | None = None,
    batch: BatchRule = None,
    back_vjp: Vjp | None = None,
    back_jvp: Body | None = None,
    back_batch: BatchRule = None,
    name: str = "",
    namespace: Any = None,
) -> Declare:
    """Declare an op along rows whose result is minus the element of each row that a second operand selects.

    A row is along the last dim.  The op has the parameters `ignore`, the target of rows that do not count, and
    `reduction`: see the requests `Pick` and `PickBack`.

    backward: the gradient is its value at each element, minus 1 at the selected element, times g.
    dtype: as for `kernel`; the backward op has the same dtype rule.
    fn, name: as for `rows`.
    jvp, batch: as for `kernel`.  back_vjp, back_jvp, back_batch: the rules of the backward op.  With `back_vjp`, higher
    orders are computed from this rule instead of the definition.
    """

    def declare(function: FunctionType) -> Function:
        names = operands_of(function)
        for each in (fn, backward):
            check_names(function, each, names[:1])
        check_params(function, fn, ("ignore", "reduction"))
        label = name or function.__name__
        body = posed(function, picking(PickBack, backward, label), ("g", *names), f"{label}_backward")
        declare = kernel(
            dtype=dtype, shape=pick_back_shape, linear=joint("g"), vjp=back_vjp, jvp=back_jvp,
            batch=back_batch, namespace=(), out=False,
        )  # fmt: skip
        back = at(function, declare(body))
        more = first_order(function, names, chosen(names, back, None, None), names[:1])
        body = posed(function, picking(Pick, fn, label), names)
        public = with_definition(
            function,
            kernel(dtype=dtype, shape=pick_shape, jvp=jvp, batch=batch, name=name, namespace=namespace, **more)(body),
        )
        public.op.joint.smooth = back_vjp is not None  # type: ignore[attr-defined]
        return public

    return declare


# ---- reading a definition -------------------------------------------------------------------------------------------


def operands_of(function: FunctionType) -> Names:
    """Return the names of the operands of a definition."""
    return read_signature(function).operands


def params_of(function: FunctionType) -> dict[str, Parameter]:
    """Return the parameters of a definition that are also parameters of its op, by name."""
    signature = read_signature(function)
    return {
        p.name: p
        for p in signature.parameters
        if p.name not in signature.operands and role_of(p.annotation) not in FRONT_ROLES
    }


def check_names(function: FunctionType, fn: RowFn, operands: Names) -> None:
    """Raise DeclarationError if a scalar function of `fn` has an argument that does not exist.

    The arguments may be operands, and totals that are computed before the function is called.
    """
    asks = [(fn.operands, operands)]
    asks += [(total.term.args, fn.names[: len(fn.operands) + k]) for k, total in enumerate(fn.totals)]
    made = [scalar for scalar in (fn.result, fn.reuse, *fn.terms) if scalar is not None]
    asks += [(scalar.args, (*fn.names, "kept") if scalar is fn.reuse else fn.names) for scalar in made]
    for names, known in asks:
        wrong = [name for name in names if name not in known]
        if wrong:
            raise DeclarationError(
                f"{where_of(function)}: a function of {fn.name} reads {wrong[0]!r}, but it can read only "
                f"{', '.join(known)}; rename the parameter",
                op=function.__name__,
            )


def check_params(function: FunctionType, fn: RowFn, known: Names) -> None:
    """Raise DeclarationError for more than one unknown parameter; the totals' finishing functions take a single one."""
    more = [name for name in params_of(function) if name not in known]
    if len(more) > 1:
        raise DeclarationError(
            f"{where_of(function)}: the totals of {fn.name} can have one parameter in addition to {', '.join(known)}, "
            f"got {', '.join(more)} in {function.__name__}; remove a parameter", op=function.__name__,
        )  # fmt: skip


def posed(function: FunctionType, body: Body, names: Names, name: str = "", results: int = 1) -> FunctionType:
    """Set the name, the signature and the annotations that `kernel` reads on `body`, and return it.

    name: the name of a backward op; "" for the op itself, which has the parameters of its definition, in their order.
    """
    outs = ("out",) if results == 1 else tuple(f"out_{k}" for k in range(results))
    pose(body, function, ("backend", *outs, *names))
    signature = read_signature(function)
    if not name and signature.parameters:
        body.declared_parameters = [*map(Parameter, ("backend", *outs)), *signature.parameters]  # type: ignore[attr-defined]
    body.__name__ = name or function.__name__
    body.__doc__ = f"The backward op of {function.__name__}: see `declare/rows.py`." if name else function.__doc__
    hints = annotations_of(function)
    body.__annotations__ = {key: each for key, each in hints.items() if not name or key not in signature.operands}
    return body  # type: ignore[return-value]


def pose(body: Body, function: FunctionType, names: Names, more: Names = ()) -> None:
    """Set the signature of a body: positional `names`, and as keywords the parameters of `function` and `more`."""
    named = [p._replace(kind=KEYWORD) for p in params_of(function).values()]
    added = [Parameter(name, KEYWORD) for name in more]
    body.declared_parameters = [*map(Parameter, names), *named, *added]  # type: ignore[attr-defined]
    body.__module__ = function.__module__


# ---- the ops --------------------------------------------------------------------------------------------------------


def with_definition(function: FunctionType, public: Function, backward: Function | None = None) -> Function:
    """Set the definition of an op, and return its public function.

    backward: the kernel of the only rule, for a backward pass that does not record a graph.
    """
    op: Op = at(function, public).op  # type: ignore[attr-defined]
    op.composed = function
    public.__wrapped__ = function  # type: ignore[attr-defined]
    if backward is not None:
        rule: Any = op.rules[0]
        rule.fused = backward
    return public


def at(function: FunctionType, public: Function) -> Function:
    """Set the source position of an op to that of its declaration, and return its public function."""
    public.op.where = where_of(function)  # type: ignore[attr-defined]
    return public


def launcher(fn: RowFn, lines: Names) -> Body:
    """Return the body of an op over the operands of `fn`; each sum over all rows is a separate result."""

    def prepare(backend: Any, *specs: Spec, **params: Any) -> Any:
        count = len(specs) - len(fn.operands)
        by_name = dict(zip(fn.operands, specs[count:]))
        shape = next(spec.shape for name, spec in by_name.items() if name not in lines)
        spread = [Spec(s.layout.expand(shape), s.dtype) if name in lines else s for name, s in by_name.items()]
        dim = params.pop("dim", len(shape) - 1)
        value = next(iter(params.values()), 0.0)
        return backend.prepare(MapRows(fn, dim, value), specs[:count], *spread)

    return prepare


def picking(request: Callable[..., Any], fn: RowFn, label: str) -> Body:
    """Return the body of an op that requests `Pick` or `PickBack`; the last operands are the rows and the classes."""

    def body(backend: Any, out: Spec, *specs: Spec, ignore: int, reduction: str) -> Any:
        launch = as_launch(backend.prepare(request(fn, ignore, reduction), out, *specs), len(specs) + 1, label)
        *_, rows, target = specs
        return launch.within(ClassLimits(backend, label, len(specs) - 1, target, rows.shape[-1], ignore))

    return body


def along(function: FunctionType, backward: RowFn, lines: Names, outputs: Names, batch: BatchRule) -> Function:
    """Declare one of the backward ops, with the batching rule `batch`, and return its public function."""
    count = len(outputs)
    dtype = floating if count == 1 else lambda op, specs, **params: (floating(op, specs),) * count
    kinds = (False,) * (backward.result is not None) + (True,) * len(backward.terms)
    declare = kernel(
        dtype=dtype, shape=shape_rule(lines, kinds), outputs=outputs if count > 1 else ("y",), linear=joint("g"),
        batch=batch, namespace=(), out=False,
    )  # fmt: skip
    return at(function, declare(posed(function, launcher(backward, lines), backward.operands, backward.name, count)))


def chosen(names: Names, back: Function, sums: Function | None, both: Function | None) -> Body:
    """Return a rule that computes the gradients of all requested operands in one pass over the rows."""
    nothing = (None,) * (len(names) - 1)
    if sums is None:
        return lambda *values, asked, **params: (back(*values, **params), *nothing)
    arguments = ("g", *names)
    ops: Any = (back, sums, both)
    takes = {public: [arguments.index(x) for x in public.op.operands] for public in ops}

    def gradients(*values: Any, asked: tuple[bool, ...], **params: Any) -> tuple[Any, ...]:
        public: Any = back if True not in asked[1:] else both if asked[0] else sums
        result = public(*[values[k] for k in takes[public]], **params)
        if public is back:
            return (result, *nothing)
        return result if public is both else (None, *result) if isinstance(result, tuple) else (None, result)

    return gradients


def first_order(function: FunctionType, names: Names, joint: Body, smooth: Names) -> dict[str, Any]:
    """Return the arguments `vjp` and `joint` of a declaration, made from a rule that returns all gradients.

    Every operand is saved, because the definition needs all of them.  smooth: the operands that have a gradient.
    """
    pose(joint, function, ("g", *names), ("asked",))
    joint.__module__ = __name__
    rules = single_rules(joint, len(names))
    return {"vjp": tuple(rule if name in smooth else None for name, rule in zip(names, rules)), "joint": joint}


# ---- shapes ---------------------------------------------------------------------------------------------------------


def shape_rule(lines: Names, kinds: tuple[bool, ...]) -> Body:
    """Return a rule for the shapes of the results; `kinds` has True for a result with the shape of a line.

    Every other result has the shape of the rows.
    """

    def shape(op: Op, *specs: Spec, **params: Any) -> Any:
        by_name = dict(zip(op.operands, specs))
        rows = [spec for name, spec in by_name.items() if name not in lines]
        whole = same_shape(op, *rows)
        for spec in (spec for name, spec in by_name.items() if name in lines):
            if spec.shape != whole[-1:]:
                raise ShapeError(
                    f"{op.label}: {spec!r} must have one element per column of {rows[0]!r}, the length of its last "
                    "dim; pass a vector of this length"
                )
        shapes = tuple(whole[-1:] if line else whole for line in kinds)
        return shapes if len(shapes) > 1 else shapes[0]

    return shape


def pick_shape(op: Op, x: Spec, target: Spec, *, ignore: int, reduction: str) -> tuple[int, ...]:
    """Return the shape of the loss: one number per row, or a single number for all rows."""
    if not x.shape or target.shape != x.shape[:-1]:
        raise ShapeError(
            f"{op.label}: target must have one class per row of {x!r}, got {target!r}; reshape target to the shape of "
            "input without its last dim"
        )
    return target.shape if reduction == "none" else ()


def pick_back_shape(op: Op, g: Spec, x: Spec, target: Spec, *, ignore: int, reduction: str) -> tuple[int, ...]:
    """Return the shape of x.  Raises ShapeError unless `g` has the shape of the loss."""
    if g.shape != pick_shape(op, x, target, ignore=ignore, reduction=reduction):
        raise ShapeError(f"{op.label}: {g!r} must have the shape of the loss of {x!r}; pass a gradient of this shape")
    return x.shape
