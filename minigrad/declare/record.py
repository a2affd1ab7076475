"""Turn a declaration into its `Op` record: read and check its names, enter it, and complete the public function.

The parameter names of a derivative rule specify its arguments.  `g` is the incoming gradient; `g0`, `g1` ... are the
incoming gradients of several results.  `y` is the output, and an op with several results uses their names instead.  The
name of an operand is its value.  Keyword-only names are parameters of the op and static facts (`in_shape`, `a_dtype`,
`y_shape` ...), and `**params` receives all parameters.  The decorators are in `decorators.py`.  The claims of a
declaration for transforms are in `claims.py`.
"""

from __future__ import annotations

import re
from collections import namedtuple
from collections.abc import Callable, Sequence
from functools import cache
from keyword import iskeyword
from types import FunctionType
from typing import Any

from minigrad.core.code import HIDDEN
from minigrad.core.op import Op, Rule
from minigrad.core.parameters import KEYWORD, NAMED, parameters_of
from minigrad.core.roles import role_of
from minigrad.declare.claims import is_fact, known_facts
from minigrad.declare.manual import Docstring
from minigrad.declare.names import enter
from minigrad.declare.signature import annotations_of, where_of
from minigrad.errors import DeclarationError, quantity

schema: dict[str, Op] = {}
unlisted: dict[str, Op] = {}  # composed ops that the schema does not list, by their file and line
FEW = 5  # largest number of operands for which all subsets are tabulated at once
DERIVED = "derived"  # the value of `vjp=` for a rule that is derived from the body
GRADIENT = re.compile(r"g(\d*)$")
# The parts of an op that the parameters of its declaration determine.
READ = (
    "along", "batch", "complete", "composed", "derived", "dtype_rule", "joint", "jvp", "linear", "operands", "outputs",
    "params", "picks", "prepare", "reducer", "result", "roles", "rules", "saves", "scalar", "shape_rule", "signature",
    "target", "variadic", "zeros",
)  # fmt: skip
UNREAD = [name for name in Op.__slots__ if name not in READ]
Vjp = tuple[Callable[..., Any] | None, ...]
Function = Callable[..., Any]


def new_op(
    function: FunctionType, kind: str, operands: tuple[str, ...], params: dict[str, Any], vjp: Vjp | None,
    outputs: tuple[str, ...] = ("y",), zeros: bool = False, name: str = "", label: str = "", listed: bool = True,
) -> Op:  # fmt: skip
    """Return a checked Op for `function`; `publish` enters it into the schema.

    name: the name of the op in the schema, if it differs from the name of the function.
    label: the name of the function that users call, if it differs from the name of the op.
    listed: whether the op will be in the schema.
    """
    op = named_op(function, kind, name, label, listed)
    complete(op, function, operands, params, vjp, outputs, zeros)
    return op


def is_ours(function: FunctionType) -> bool:
    """Return whether a declaration is in this package: then its parts are read at their first use, not at import."""
    return (function.__module__ or "").startswith("minigrad.")


def read_later(op: Op, read: Callable[[Op], None], ours: bool) -> None:
    """Let `read` set what the parameters of a declaration determine: now, or for `ours` when a part is first used."""

    def fill(op: Op) -> None:
        made = Op(op.name, op.kind, (), {}, op.where)  # another thread finds only complete parts
        for name in UNREAD:
            setattr(made, name, getattr(op, name))
        read(made)
        for part in READ:
            if op.has(part) or op.later[part] is not fill:  # it was set, or left to another function, afterwards
                continue
            if made.has(part):
                setattr(op, part, getattr(made, part))
            else:
                op.later[part] = made.later[part]

    if ours:
        op.leave(READ, fill)
    else:
        read(op)


def named_op(function: FunctionType, kind: str, name: str = "", label: str = "", listed: bool = True) -> Op:
    """Return an Op without operands; the parameters are those of `new_op`."""
    where = where_of(function)
    name = name or function.__name__.strip("_")
    ours = is_ours(function)
    if ours and not function.__doc__:
        raise DeclarationError(
            f"{where}: the op {name} has no docstring; state the function and its gradient in a docstring", op=name
        )
    if ours and listed and name in schema:
        raise DeclarationError(
            f"{where}: the op {name} has been declared already at {schema[name].where}; choose another name", op=name
        )
    op = Op(name, kind, (), {}, where)
    op.doc, op.label = function.__doc__ or "", label or name
    return op


def complete(
    op: Op, function: FunctionType, operands: tuple[str, ...], params: dict[str, Any], vjp: Vjp | None = None,
    outputs: tuple[str, ...] = ("y",), zeros: bool = False,
) -> None:  # fmt: skip
    """Check and set the parts of an op that depend on the parameters of its declaration."""
    where, name = op.where, op.name
    for each in (*operands, *params):
        if each.startswith(HIDDEN):
            raise DeclarationError(
                f"{where}: {each} is a reserved name and cannot be a parameter of {name}; rename the parameter", op=name
            )
    both = [param for param in params if param in operands]
    if both:
        raise DeclarationError(
            f"{where}: {both[0]!r} is both an operand and a parameter of {name}; rename the parameter", op=name
        )
    op.operands, op.params = operands, params
    op.doc = op.doc or f"{name}({', '.join(operands)}), declared without a docstring."
    op.roles = roles_of(function, params)
    op.target = next((p for p, role in op.roles.items() if role.name == "Target"), None)
    if outputs != ("y",):
        op.outputs, op.zeros = check_outputs(op, outputs), zeros
        op.result = results_of(name, outputs)
    rules = [None] * len(operands) if vjp is None else check_vjp(op, vjp)
    enter_rules(op, tuple([None if fn in (None, DERIVED) else read_rule(op, fn) for fn in rules]))


def check_vjp(op: Op, vjp: Any) -> Sequence[Any]:
    """Return the rules of a declaration.  Raises DeclarationError unless each operand has a rule or None."""
    entries = [vjp] if isinstance(vjp, str) or callable(vjp) else list(vjp)
    able = op.kind == "elementwise"
    if any(fn is not None and not callable(fn) and not (able and fn == DERIVED) for fn in entries):
        other = f", or {DERIVED!r}" if able else ""
        raise DeclarationError(
            f"{op.where}: vjp={vjp!r} of {op.name} must contain functions and None{other}", op=op.name
        )
    if len(entries) != len(op.operands):
        raise DeclarationError(
            f"{op.where}: vjp of {op.name} must have one derivative rule or None for each of the "
            f"{quantity(len(op.operands), 'operand')} ({', '.join(op.operands)}), got "
            f"{quantity(len(entries), 'derivative rule')}; pass one per operand",
            op=op.name,
        )
    return entries


Reads = tuple[tuple[int, ...] | None, ...]  # for each operand, the indices of the values that its rule reads


class ByMask(dict[int, Any]):
    """The values to save, or the rules to run, for each bit mask of tracked operands; computed at the first use."""

    def __init__(self, reads: Reads, make: Callable[[Reads, int], Any]) -> None:
        super().__init__()
        self.reads, self.make = reads, make

    def __missing__(self, mask: int) -> Any:
        self[mask] = result = self.make(self.reads, mask)
        return result


def enter_rules(op: Op, rules: tuple[Rule | None, ...]) -> None:
    """Set the rules of an op, and the tables of the values that a call saves for them."""
    op.rules, op.complete = rules, None not in rules
    reads = reads_of(op)
    op.saves, op.picks = tables(reads) if len(rules) <= FEW else (ByMask(reads, saves_for), ByMask(reads, picks_for))


def reads_of(op: Op) -> Reads:
    """Return the values that the rules of an op read."""
    if not any(op.rules):
        return (None,) * len(op.rules)
    index = {name: -1 - k for k, name in enumerate(op.outputs)} | {name: k for k, name in enumerate(op.operands)}
    return tuple([None if rule is None else tuple([index[name] for name in rule.saves]) for rule in op.rules])


@cache
def tables(reads: Reads) -> tuple[Any, Any]:
    """Return the values to save and the rules to run for all masks of few operands.

    A tuple is read faster than `ByMask`.  Most ops share their tables with others.
    """
    masks = range(1 << len(reads))
    return tuple([saves_for(reads, mask) for mask in masks]), tuple([picks_for(reads, mask) for mask in masks])


@cache
def results_of(name: str, outputs: tuple[str, ...]) -> Any:
    """Return the named tuple class for several results.

    The class is not an attribute of any module, so a pickle of an instance stores the names of the fields.
    """
    make: Any = namedtuple  # a type checker requires literal names
    cls = make(name, outputs)

    def reduce(self: Any) -> Any:
        return results_again, (name, outputs, tuple(self))

    cls.__reduce__ = reduce
    return cls


def results_again(name: str, outputs: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    """Restore a named tuple of results from a pickle."""
    return results_of(name, outputs)(*values)


def read_rule(op: Op, fn: Callable[..., Any], joint: bool = False) -> Rule:
    """Read the parameter names of a derivative rule.  Raises DeclarationError for a name without a meaning.

    joint: whether the rule returns the gradients of all operands; then it may have the fact `asked`.
    """
    saves, facts, asked = [], [], False
    names = parameters_of(fn)
    gradients = read_gradients(op, [p.name for p in names])
    for parameter in names[len(gradients) :]:
        name = parameter.name
        if name == "asked" and joint and parameter.kind is KEYWORD:
            if name in op.params:
                raise DeclarationError(
                    f"{op.where}: 'asked' in the joint rule of {op.name} could be the operands that require a gradient "
                    f"or its parameter; rename the parameter",
                    op=op.name,
                )
            asked = True
        elif parameter.kind is NAMED:
            facts += [each for each in op.params if each not in facts]
        elif parameter.kind is KEYWORD:
            if not is_fact(op, name):
                raise DeclarationError(
                    f"{op.where}: {name!r} in a derivative rule of {op.name} is neither a parameter nor a static "
                    f"fact; {known_facts(op)}",
                    op=op.name,
                )
            facts.append(name)
        elif name in op.outputs and name in op.operands:
            raise DeclarationError(
                f"{op.where}: {name!r} in a derivative rule of {op.name} could be the output or its operand; rename "
                "the operand",
                op=op.name,
            )
        elif name in op.outputs or name in op.operands:
            saves.append(name)
        else:
            made = "`y`" if op.outputs == ("y",) else f"a result ({', '.join(op.outputs)})"
            raise DeclarationError(
                f"{op.where}: a derivative rule of {op.name} has the parameter {name!r}, which is neither `g`, {made} "
                "nor an operand; name the parameters of the rule after these",
                op=op.name,
            )
    return Rule(fn, tuple(saves), tuple(facts), gradients, asked)


def read_gradients(op: Op, names: list[str]) -> tuple[int, ...]:
    """Return the indices of the results whose gradients are the first parameters of a rule.

    `g` and `g0` are the gradient of the first result, `g1` that of the second, and so on.
    """
    indices: list[int] = []
    for name in names:
        match = GRADIENT.match(name)
        if match is None or (indices and name in op.operands):
            break
        indices.append(int(match[1] or 0))
    if not indices:
        raise DeclarationError(
            f"{op.where}: the first parameter of a derivative rule of {op.name} must be `g`; write `lambda g, ...: "
            "...`",
            op=op.name,
        )
    if max(indices) >= len(op.outputs) or len(set(indices)) < len(indices):
        raise DeclarationError(
            f"{op.where}: a derivative rule of {op.name} must have one parameter per result, "
            f"{quantity(len(op.outputs), 'result')}, got {', '.join(names[: len(indices)])}; add or remove parameters",
            op=op.name,
        )
    return tuple(indices)


def check_outputs(op: Op, outputs: tuple[str, ...]) -> tuple[str, ...]:
    """Check the names of several results, and return them.

    Raises DeclarationError for fewer than two names, for a repeated name, and for a name that is invalid or that a rule
    could confuse with a gradient, an operand or a parameter.
    """
    taken = {"g", *op.operands, *op.params}
    right = isinstance(outputs, tuple) and all(isinstance(name, str) for name in outputs)
    wrong = not right or [name for name in outputs if not is_result(name) or name in taken]
    if wrong or len(set(outputs)) < len(outputs) or len(outputs) < 2:
        raise DeclarationError(
            f"{op.where}: outputs of {op.name} must be a tuple of at least two different names, none of them an "
            f"operand or a parameter, got {outputs!r}; pass outputs=('low', 'high'), for example", op=op.name,
        )  # fmt: skip
    return outputs


def is_result(name: str) -> bool:
    """Return whether a result may have this name: a named tuple can have such a field, and it means no gradient."""
    return name.isidentifier() and not iskeyword(name) and name[0] != "_" and not GRADIENT.match(name)


def check_writes(op: Op, writes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the operands that a call writes.

    Raises DeclarationError unless `writes` is a tuple of names of operands.
    """
    wrong = [name for name in (writes if isinstance(writes, tuple) else (writes,)) if name not in op.operands]
    if wrong or not isinstance(writes, tuple):
        raise DeclarationError(
            f"{op.where}: writes of {op.name} must be a tuple of names of its operands ({', '.join(op.operands)}), "
            f"got {writes!r}; write a tuple of strings", op=op.name,
        )  # fmt: skip
    return writes


def roles_of(function: FunctionType, params: dict[str, Any]) -> dict[str, Any]:
    """Return the roles of a declaration's parameters, by name; parameters without a role are left out."""
    annotations = annotations_of(function) if params else {}
    roles = {name: role_of(annotations.get(name)) for name in params}
    return {name: role for name, role in roles.items() if role is not None}


def read_joint(op: Op, fn: Callable[..., Any]) -> Rule:
    """Check the joint VJP rule, which computes the gradients of all operands, and return it as a Rule.

    Raises DeclarationError if the joint rule reads a value that no rule of a single operand saves, if an operand has no
    rule and the joint rule does not read `asked`, or if the op is variadic.
    """
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
    """Raise DeclarationError unless `dtype` is a dtype rule, a function of (op, specs).

    `mg.promote`, which promotes two dtypes, is easily confused with the rule `mg.rules.promote`.
    """
    if not callable(dtype) or [p.name for p in parameters_of(dtype)[:1]] != ["op"]:
        raise DeclarationError(
            f"{where_of(function)}: dtype of {function.__name__} must be a dtype rule, a function of (op, specs) such "
            f"as mg.rules.promote, got {getattr(dtype, '__name__', dtype)!r}; pass dtype=mg.rules.promote, for "
            "example",
            op=function.__name__,
        )


def saves_for(reads: Reads, mask: int) -> tuple[int, ...]:
    """Return the values to save if the operands in `mask` are tracked: -1, -2 ... for results, then operands."""
    saved = {value for k, values in enumerate(reads) if values and mask >> k & 1 for value in values}
    return tuple(sorted(saved, key=lambda value: (value >= 0, abs(value))))


def picks_for(reads: Reads, mask: int, saved: Any = None) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Return, for each tracked operand in `mask` with a rule, its index and the indices of its values in the saves.

    saved: the values that are saved, if these are others than the rules read.
    """
    saved = saves_for(reads, mask) if saved is None else saved
    tracked = [(k, values) for k, values in enumerate(reads) if values is not None and mask >> k & 1]
    return tuple((k, tuple(map(saved.index, values))) for k, values in tracked)


def publish(
    op: Op, function: FunctionType, public: Function, namespace: str | tuple[str, ...] | None = None,
    method: bool | None = None, in_place: bool = False, listed: bool = True,
) -> Function:  # fmt: skip
    """Complete the public function of an op, and add the op to the schema and the namespaces.

    The public function gets the name, the docstring and the module of the declaration.  Tools that show the source of
    the public function show the declaration.
    """
    public.__name__ = public.__qualname__ = function.__name__
    public.__doc__ = Docstring(str(function.__doc__), public)
    # A function of code that was executed in a bare dict has no module.
    public.__module__ = function.__module__ or "__main__"
    public.__wrapped__ = function  # type: ignore[attr-defined]
    public.op = op  # type: ignore[attr-defined]
    public.writes = op.writes  # type: ignore[attr-defined]
    op.public = public
    ours = is_ours(function)
    if ours:
        enter(public, namespace, method, in_place)
    if not listed:
        unlisted[op.where] = op
        return public
    # A user may declare another `mul` as an exercise: it is listed in addition, under the name of its module.
    taken = not ours and op.name in schema and is_ours(schema[op.name].public)  # type: ignore[arg-type]
    schema[f"{public.__module__}.{op.name}" if taken else op.name] = op
    return public


def lookalikes(name: str) -> list[str]:
    """Return at most three names of ops with a similar spelling, the most similar first."""
    import difflib

    return difflib.get_close_matches(name, [op.label for op in schema.values()], n=3, cutoff=0.5)
