"""Row functions from one kind of declaration: totals, elements, their gradient, the definition.

`@rows` makes the ops of softmax, layer_norm and similar functions, `@picks` those of a loss.  They decorate the
definition, in other ops; a call runs a `RowFn` in one kernel, and its backward pass another.  A backward pass without a
graph uses the backward kernels: ops without derivatives.  Where the graph is recorded, the engine runs a backward pass
through the definition; an op that saves its result instead of its operands declares its gradient in tensor code.  So
all orders of derivatives exist, and none above the first is written by hand.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from minigrad.backends.launch import as_launch
from minigrad.backends.limits import ClassLimits
from minigrad.core.op import Op, Spec
from minigrad.core.requests import MapRows, Pick, PickBack, SumColumns
from minigrad.core.roles import role_of
from minigrad.core.rows import RowFn
from minigrad.declare.bodies import FRONT_ROLES
from minigrad.declare.claims import BatchRule
from minigrad.declare.decorators import kernel
from minigrad.declare.record import Function, Vjp
from minigrad.declare.rules import floating, joint, same_shape
from minigrad.declare.signature import EITHER, KEYWORD, annotations_of, read_signature, where_of
from minigrad.errors import DeclarationError, ShapeError

NOTHING: Mapping[str, BatchRule] = {}
Names = tuple[str, ...]
Body = Callable[..., Any]
Declare = Callable[..., Function]


def rows(
    fn: RowFn, *, backward: RowFn, vjp: Vjp | None = None, batches: Mapping[str, BatchRule] = NOTHING, name: str = "",
    **claims: Any,
) -> Declare:  # fmt: skip
    """Declare an op along rows; the body is its definition as tensor code, where floats come in the compute dtype.

    The first operand has the rows, along the parameter `dim`, or the last dim if there is none; the others are lines
    that all rows share.  The totals' finishing functions take any other parameter.
    fn: totals and the function of an element, over the operands by name.
    backward: the same for the gradient of the rows, over `g` and operands, with a term for each line: the gradient of
    the line is the sum of that term over all rows.
    name: of the op in the schema, where the function has another.
    claims: `linear=`, `jvp=`, `batch=` and where users find it, as for `kernel`.
    batches: how the backward ops take a batch, by the last part of their label, where it differs from the op's way.
    vjp: the gradient in tensor code, for one over `g` and the result `y`; then no operand is saved, and higher orders
    go through it instead of the definition.
    The backward ops are `label_backward` and, with lines, `label_sums` and `label_gradients`, which makes both.
    """

    def declare(function: FunctionType) -> Function:
        names = operands_of(function)
        check_names(function, fn, names)
        check_names(function, backward, ("g", "y") if vjp else ("g", *names))
        lines, label = names[1:], name or function.__name__
        if len(backward.terms) != len(lines):
            raise DeclarationError(
                f"{where_of(function)}: {function.__name__} has {len(lines)} lines ({', '.join(lines)}), and its "
                f"gradient {len(backward.terms)} terms; pass one for each", op=function.__name__,
            )  # fmt: skip
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
    """Declare as `rows` does, for minus the element of each row (last dim) that a second operand names.

    Parameters are `ignore`, the target of rows that do not count, and `reduction`: see the requests `Pick`, `PickBack`.
    backward: its value at each element, less 1 at the named element, times g, is the gradient.
    dtype: as for `kernel`, also of the backward op.  jvp, batch: as for `kernel`; back_vjp, back_jvp and
    back_batch: the same of the backward op.  With back_vjp, higher orders go through that instead of the definition.
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
    """Return the operands of a definition."""
    return read_signature(function).operands


def params_of(function: FunctionType) -> dict[str, inspect.Parameter]:
    """Return the parameters of a definition that its op has, too."""
    signature = read_signature(function)
    return {
        p.name: p
        for p in signature.parameters
        if p.name not in signature.operands and role_of(p.annotation) not in FRONT_ROLES
    }


def check_names(function: FunctionType, fn: RowFn, operands: Names) -> None:
    """Raise DeclarationError unless the scalar functions read existing names: operands, and totals before them."""
    asks = [(fn.operands, operands)]
    asks += [(total.term.args, fn.names[: len(fn.operands) + k]) for k, total in enumerate(fn.totals)]
    made = [scalar for scalar in (fn.result, fn.reuse, *fn.terms) if scalar is not None]
    asks += [(scalar.args, (*fn.names, "kept") if scalar is fn.reuse else fn.names) for scalar in made]
    for names, known in asks:
        wrong = [name for name in names if name not in known]
        if wrong:
            raise DeclarationError(
                f"{where_of(function)}: a function of {fn.name} reads {wrong[0]!r}; expected one of {', '.join(known)}",
                op=function.__name__,
            )


def check_params(function: FunctionType, fn: RowFn, known: Names) -> None:
    """Raise DeclarationError for unknown parameters, except one, which the totals' finishing functions take."""
    more = [name for name in params_of(function) if name not in known]
    if len(more) > 1:
        raise DeclarationError(
            f"{where_of(function)}: {function.__name__} has the parameters {', '.join(more)}; the totals of {fn.name} "
            f"take one in addition to {', '.join(known)}", op=function.__name__,
        )  # fmt: skip


def posed(function: FunctionType, body: Body, names: Names, name: str = "", results: int = 1) -> FunctionType:
    """Return `body`, which takes any arguments, with the name, operands and parameters that `kernel` reads.

    name: of a backward op; the op itself has the parameters of its definition, in their order.
    """
    outs = ("out",) if results == 1 else tuple(f"out_{k}" for k in range(results))
    pose(body, function, ("backend", *outs, *names))
    signature = read_signature(function)
    if not name and signature.parameters:
        head = [inspect.Parameter(each, EITHER) for each in ("backend", *outs)]
        body.__signature__ = inspect.Signature([*head, *signature.parameters])  # type: ignore[attr-defined]
    body.__name__ = name or function.__name__
    body.__doc__ = f"The backward op of {function.__name__}: see `declare/rows.py`." if name else function.__doc__
    hints = annotations_of(function)
    body.__annotations__ = {key: each for key, each in hints.items() if not name or key not in signature.operands}
    return body  # type: ignore[return-value]


def pose(body: Body, function: FunctionType, names: Names, more: Names = ()) -> None:
    """Set the signature of a body: positional names, then the parameters of `function` by keyword and some more."""
    parameters = [inspect.Parameter(name, EITHER) for name in names]
    parameters += [p.replace(kind=KEYWORD) for p in params_of(function).values()]
    parameters += [inspect.Parameter(name, KEYWORD) for name in more]
    body.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    body.__module__ = function.__module__


# ---- the ops --------------------------------------------------------------------------------------------------------


def with_definition(function: FunctionType, public: Function, backward: Function | None = None) -> Function:
    """Return the op with its definition; backward: the kernel of its only rule, where no graph is recorded."""
    op: Op = at(function, public).op  # type: ignore[attr-defined]
    op.composed = function
    public.__wrapped__ = function  # type: ignore[attr-defined]
    if backward is not None:
        rule: Any = op.rules[0]
        rule.fused = backward
    return public


def at(function: FunctionType, public: Function) -> Function:
    """Return the op, with the position of its declaration."""
    public.op.where = where_of(function)  # type: ignore[attr-defined]
    return public


def launcher(fn: RowFn, lines: Names) -> Body:
    """Return the body of an op over the operands of `fn`; sums down the columns are separate results."""

    def prepare(backend: Any, *specs: Spec, **params: Any) -> Any:
        count = len(specs) - len(fn.operands)
        by_name = dict(zip(fn.operands, specs[count:]))
        shape = next(spec.shape for name, spec in by_name.items() if name not in lines)
        spread = [Spec(s.layout.expand(shape), s.dtype) if name in lines else s for name, s in by_name.items()]
        dim = params.pop("dim", len(shape) - 1)
        value = next(iter(params.values()), 0.0)
        request = SumColumns(fn, value) if fn.terms else MapRows(fn, dim, value)
        return backend.prepare(request, specs[:count], *spread)

    return prepare


def picking(request: Callable[..., Any], fn: RowFn, label: str) -> Body:
    """Return the body of an op that requests `Pick` or `PickBack`; the last operands are the rows and the classes."""

    def body(backend: Any, out: Spec, *specs: Spec, ignore: int, reduction: str) -> Any:
        launch = as_launch(backend.prepare(request(fn, ignore, reduction), out, *specs), len(specs) + 1, label)
        *_, rows, target = specs
        return launch.within(ClassLimits(backend, label, len(specs) - 1, target, rows.shape[-1], ignore))

    return body


def along(function: FunctionType, backward: RowFn, lines: Names, outputs: Names, batch: BatchRule) -> Function:
    """Return one of the backward ops; it takes a batch as its op does."""
    count = len(outputs)
    dtype = floating if count == 1 else lambda op, specs, **params: (floating(op, specs),) * count
    kinds = (False,) * (backward.result is not None) + (True,) * len(backward.terms)
    declare = kernel(
        dtype=dtype, shape=shape_rule(lines, kinds), outputs=outputs if count > 1 else ("y",), linear=joint("g"),
        batch=batch, namespace=(), out=False,
    )  # fmt: skip
    return at(function, declare(posed(function, launcher(backward, lines), backward.operands, backward.name, count)))


def chosen(names: Names, back: Function, sums: Function | None, both: Function | None) -> Body:
    """Return a rule for the gradients of all requested operands, which reads the rows once."""
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
    """Return the rules of a declaration, from one that returns all gradients; every operand is saved, since the
    definition needs them all.  smooth: the operands that have a gradient."""

    def single_rule(k: int) -> Body:
        asked = tuple(k == j for j in range(len(names)))
        return ruling(lambda *values, **params: joint(*values, asked=asked, **params)[k])

    def ruling(rule: Body, *more: str) -> Body:
        pose(rule, function, ("g", *names), more)
        rule.__module__ = __name__
        return rule

    single = tuple(single_rule(k) if name in smooth else None for k, name in enumerate(names))
    return {"vjp": single, "joint": ruling(joint, "asked")}


# ---- shapes ---------------------------------------------------------------------------------------------------------


def shape_rule(lines: Names, kinds: tuple[bool, ...]) -> Body:
    """Return a rule for the shape of each result: that of the rows, or for a true kind that of a line."""

    def shape(op: Op, *specs: Spec, **params: Any) -> Any:
        by_name = dict(zip(op.operands, specs))
        rows = [spec for name, spec in by_name.items() if name not in lines]
        whole = same_shape(op, *rows)
        for spec in (spec for name, spec in by_name.items() if name in lines):
            if spec.shape != whole[-1:]:
                raise ShapeError(
                    f"{op.label}: {spec!r} must have the length of the last dim of {rows[0]!r}", op=op.label
                )
        shapes = tuple(whole[-1:] if line else whole for line in kinds)
        return shapes if len(shapes) > 1 else shapes[0]

    return shape


def pick_shape(op: Op, x: Spec, target: Spec, *, ignore: int, reduction: str) -> tuple[int, ...]:
    """Return the shape of one number per row, or of one for all."""
    if not x.shape or target.shape != x.shape[:-1]:
        raise ShapeError(f"{op.label}: {target!r} must have a class for each row of {x!r}", op=op.label)
    return target.shape if reduction == "none" else ()


def pick_back_shape(op: Op, g: Spec, x: Spec, target: Spec, *, ignore: int, reduction: str) -> tuple[int, ...]:
    """Return the shape of x."""
    if g.shape != pick_shape(op, x, target, ignore=ignore, reduction=reduction):
        raise ShapeError(f"{op.label}: {g!r} must have the shape of the loss of {x!r}", op=op.label)
    return x.shape
