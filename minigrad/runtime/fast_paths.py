"""The public functions of elementwise ops: the steps of `dispatch.apply`, written out for a number of operands.

`CALL` looks up the plan, and ends with the lines of `dispatch.run_single`, which `unrolling.py` writes out.
`unrolling.py` also writes out `dispatch.record` for each number of operands.  The names in these lines are those of
`dispatch.py`.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from functools import cache
from types import CodeType
from typing import Any

from minigrad.core.code import at_first_call, code_object, defined
from minigrad.runtime.unrolling import unrolled

# The function of an op. {run} stands for the lines of `dispatch.run_single`, {xs} and {keys} stand for all operands and
# their keys.
CALL = """\
def call({parameters}):
    {front}
    {read}
    key = ({keys})
    plan = plans.get(key)
    if plan is None:
        plan = plan_for(op, ({xs},), NO_PARAMS, key)
    if out is not None:
        return write_result(op, plan, ({xs},), out, run)
{run}
"""

# Operands that are not plain tensors take the general path.  Numbers next to tensors are an exception, because literals
# are common.  With three or more operands, a call is fastest if the first operand is a tensor and all tensors have its
# dtype.
READ = """\
if not ({plain}):
        return apply(op, ({xs},), NO_PARAMS, out)"""
READ_TWO = """\
if {1}.__class__ not in PLAIN:
        {by_number}if {1}.__class__ not in NUMBERS or {0}.__class__ not in PLAIN:
            return apply(op, ({0}, {1}), NO_PARAMS, out)
        {1} = weak_number(op, {1}, {0}.dtype, {0})
    elif {0}.__class__ not in PLAIN:
        if {0}.__class__ not in NUMBERS:
            return apply(op, ({0}, {1}), NO_PARAMS, out)
        {0} = weak_number(op, {0}, {1}.dtype, {1})"""
READ_MORE = """\
if not ({plain}):
        if {0}.__class__ in PLAIN and {fitting}:
            {numbers}
        elif {known}:
            {xs} = as_operands(op, ({xs},))
        else:
            return apply(op, ({xs},), NO_PARAMS, out)"""
KNOWN = "({x}.__class__ in PLAIN or {x}.__class__ in NUMBERS)"
FITS = "({x}.dtype is {first}.dtype if {x}.__class__ in PLAIN else {x}.__class__ in NUMBERS)"
AS_TENSOR = "{x} = {x} if {x}.__class__ in PLAIN else weak_number(op, {x}, {first}.dtype, {first})"
NOTHING: Mapping[str, Any] = {}
HIDDEN = "_mg_"  # the prefix of internal names in the generated functions
BY_NUMBER = f"""\
{HIDDEN}found = {HIDDEN}by_number({{xs}}, {{out}})
        if {HIDDEN}found is not None:
            return {HIDDEN}found
        """
OUT = """\
    if out is not None:
        return write_result(op, plan, ({xs},), out, run)
"""
SEVERAL = ("makes", "storages")  # the tuples with one part per result in `dispatch.run_several`
# A name that the template defines: not an attribute, and not a name that stands for operands.
OWN = re.compile(r"(?<![\w.{])[A-Za-z_]\w*(?![\w}])")
_written: dict[tuple[str, int, int | None], Callable[..., Any]] = {}


def parameter_names(op: Any) -> tuple[str, ...]:
    """Return the operands' names in the public signature: the declared names, but `input` for a single operand."""
    return ("input",) if len(op.operands) == 1 else tuple(op.operands)


def groups_of(operands: tuple[str, ...], results: int | None) -> dict[str, tuple[str, ...]]:
    """Return the names that replace each tuple in the functions of `dispatch.py`.

    results: the number of results of an op with several results, otherwise None.
    """
    if results is None:
        return {"operands": operands, "storages": ("storage",)}
    return {"operands": operands, **{group: tuple(f"{group}_{k}" for k in range(results)) for group in SEVERAL}}


def written_out(
    function: Callable[..., Any], count: int, names: dict[str, Any], results: int | None
) -> Callable[..., Any]:
    """Return a function of `dispatch.py` with `count` operands as separate arguments, for one or several results."""
    key = function.__name__, count, results
    if key not in _written:
        groups = groups_of(tuple(f"x{k}" for k in range(count)), results)
        text = ast.unparse(unrolled(function, groups, ("record",)))
        own = dict(names)
        if function is not names["record"]:
            own["record"] = written_out(names["record"], count, names, results)
        _written[key] = defined(key[0], text, own, f"{key[0]} of {count}", readable=True)
    return _written[key]


def written_later(function: Callable[..., Any], count: int, names: dict[str, Any], results: int | None = None) -> Any:
    """Return a function that `written_out` makes at its first call, because it would add milliseconds to the import."""
    own: dict[str, Any] = {}

    def write() -> Callable[..., Any]:
        made = written_out(function, count, names, results)
        own.update(vars(builtins) | names, record=made.__globals__["record"])
        return made

    return at_first_call(f"{function.__name__}_{count}", own, write)


@cache
def call_template(run: Callable[..., Any], count: int, results: int | None = None) -> str:
    """Return CALL with its last lines for `count` operands.

    The operands are named {0}, {1}, ... in the template.
    """
    names = tuple(f"operand_{k}" for k in range(count))
    text = ast.unparse(unrolled(run, groups_of(names, results), ("record",)).body)  # type: ignore[arg-type]
    lines = textwrap.indent(re.sub(r"\boperand_(\d+)\b", r"{\1}", text), "    ")
    return CALL.replace("{run}", lines)


@cache
def own_names(template: str) -> frozenset[str]:
    """Return the names that a template and the lines that read operands define themselves."""
    return frozenset(OWN.findall("\n".join([template, READ, READ_TWO, READ_MORE, KNOWN, FITS, AS_TENSOR])))


def others(template: str, names: tuple[str, ...]) -> dict[str, str]:
    """Return new names for those names of a template that are also names of operands; each new name is unique."""
    own = {*own_names(template), *names}
    renamed = {}
    for name in names:
        other = f"{name}_"
        while other in own:
            other += "_"
        own.add(other)
        renamed[name] = other
    return renamed


def apart(template: str, names: tuple[str, ...], new: Mapping[str, str]) -> str:
    """Return a template whose own names differ from those of the operands.

    An operand called `out` replaces the parameter `out=`.
    """
    if "out" in names:
        template = template.replace(OUT, "").replace("NO_PARAMS, out)", "NO_PARAMS)")
    return OWN.sub(lambda match: new.get(match[0], match[0]), template)


def write(template: str, names: tuple[str, ...], parameters: str, front: str, numbers: bool, by_number: bool) -> str:
    """Return the source of a template for operands of these names.

    parameters: the parameters of the function, as source text.
    front: the first lines of the function body.
    numbers: whether an operand may be a Python number.
    by_number: whether the op has a separate function for a call whose second operand is a number.
    """
    xs, new = ", ".join(names), others(template, names)
    plain = " and ".join(f"{x}.__class__ in {new.get('PLAIN', 'PLAIN')}" for x in names)
    answer = BY_NUMBER.format(xs=xs, out="None" if "out" in names else "out") if by_number else ""
    known, fits, as_tensor = (apart(each, names, new) for each in (KNOWN, FITS, AS_TENSOR))
    known = " and ".join([known.format(x=x) for x in names])
    fitting = " and ".join([fits.format(x=x, first=names[0]) for x in names[1:]])
    lines = "\n            ".join([as_tensor.format(x=x, first=names[0]) for x in names[1:]])
    text = READ if not numbers or len(names) == 1 else READ_TWO if len(names) == 2 else READ_MORE
    read = apart(text, names, new).format(
        *names, xs=xs, plain=plain, by_number=answer, known=known, fitting=fitting, numbers=lines
    )
    return apart(template, names, new).format(
        *names, xs=xs, front=front, read=read, keys=", ".join(f"{x}.layout, {x}.dtype, {x}.device" for x in names),
        parameters=parameters,
    )  # fmt: skip


@cache
def compiled(template: str, operands: tuple[str, ...], *form: Any) -> CodeType:
    """Return the code that defines the function of a template for some operands."""
    return code_object(write(template, operands, *form), f"call({', '.join(operands)})", readable=True)


def build(template: str, operands: tuple[str, ...], names: dict[str, Any], *form: Any) -> Callable[..., Any]:
    """Return the function of a template for some operands, with the names of a module.  `form` is passed to `write`."""
    there = vars(builtins) | names
    new = others(template, operands)
    names |= {other: there[name] for name, other in new.items() if name in there}
    exec(compiled(template, operands, *form), names)
    function: Callable[..., Any] = names[new.get("call", "call")]
    return function


def fast_path(
    op: Any, names: dict[str, Any], defaults: Mapping[str, Any] = NOTHING, front: str = "", otherwise: Any = None,
    sole: Any = None, by_number: Any = None,
) -> Callable[..., Any]:  # fmt: skip
    """Return the public function of an elementwise op, generated with a fast path for plain tensors.

    names: the functions of `dispatch.py` that the generated code calls, by name.
    defaults: the default values of operands, by name.
    front: parameters that follow the operands, such as "*, alpha=1".  If a call passes another value than the default
    for such a parameter, `otherwise` computes the result from the operands, these parameters and `out`.
    sole: a function that computes a call with only the first operand; the other operands then have the default None.
    by_number: a function of both operands and `out`, for calls whose second operand is not a plain tensor.  It returns
    the result, or None if the op itself must run.
    """
    operands = parameter_names(op)
    parameters, lines, more = with_front(operands, defaults, front)
    if sole is not None:
        lines = f"if {' is '.join(operands[1:])} is out is None:\n        return {HIDDEN}sole({operands[0]})"
    more |= {f"{HIDDEN}otherwise": otherwise, f"{HIDDEN}sole": sole, f"{HIDDEN}by_number": by_number}
    own = {**names, **more, "op": op, "plans": op.plans}
    numbers = op.kind == "elementwise"

    def write() -> Callable[..., Any]:
        count, results = len(operands), None if op.result is None else len(op.outputs)
        template = call_template(names["run_single" if results is None else "run_several"], count, results)
        own["record"] = written_out(names["record"], count, names, results)
        return build(template, operands, own, parameters, lines, numbers, by_number is not None)

    function = at_first_call("call", own, write)
    function.__signature__ = inspect.signature(eval(f"lambda {parameters}: None", more))
    return function


def with_front(operands: tuple[str, ...], defaults: Mapping[str, Any], front: str) -> tuple[str, str, dict[str, Any]]:
    """Return the parameters of a call as source text, its first lines, and the default values by name."""
    values = {f"{HIDDEN}{name}": value for name, value in defaults.items()}
    spelled = [f"{x}={HIDDEN}{x}" if x in defaults else x for x in operands]
    extra = list(inspect.signature(eval(f"lambda {front}: None")).parameters.values()) if front else []
    values |= {f"{HIDDEN}{p.name}": p.default for p in extra}
    extra_spelled = [f"{p.name}={HIDDEN}{p.name}" for p in extra]
    by_keyword = any(p.kind is p.KEYWORD_ONLY for p in extra)
    own = ["out=None"] if "out" not in operands else []
    star = ["*"] if own or by_keyword else []
    parameters = [*spelled, *(star + extra_spelled if by_keyword else extra_spelled + star), *own]
    if not extra:
        return ", ".join(parameters), "", values
    changed = " or ".join(f"{p.name} is not {HIDDEN}{p.name}" for p in extra)
    arguments = ", ".join([*operands, *[p.name for p in extra], "out" if own else "None"])
    return ", ".join(parameters), f"if {changed}:\n        return {HIDDEN}otherwise({arguments})", values
