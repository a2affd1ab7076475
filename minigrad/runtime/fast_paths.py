"""The functions that every call of an op passes, written for a number of operands from one template each.

A loop over one or two operands costs as much as the rest of a small call, so the lines that treat an operand are
pasted once for each, as a kernel's are.  `dispatch.py` has the names that the pasted lines use, and says what they do.
"""

from __future__ import annotations

import builtins
import inspect
import linecache
import re
from collections.abc import Callable, Mapping
from functools import cache
from types import CodeType
from typing import Any

# Lines with {x} stand once for each operand; {xs}, {keys}, {buffers} and {tracks} join what there is of all operands.
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
    storage = plan.make()
    kernel = plan.kernel
    if kernel is None:
        plan.run({buffers}, storage.buffer)
    else:
        kernel({buffers}, storage.buffer, plan.numbers)
    node = None
    if ({tracks}) and mode.enabled:
        node = record(op, plan, {xs}, storage)
    # Field by field: a call of __init__ costs as much as all of them.
    y = new_tensor(Tensor)
    y.id = next(ids)
    y.storage = storage
    y.layout = plan.layout
    y.dtype = plan.dtype
    y.device = plan.device
    y.op = node
    y.base = None
    return y
"""

RECORD = """\
def record(op, plan, {xs}, storage):
    if not plan.tracks:
        return None
    mask = 0
    parent_{x} = {x}.op
    if parent_{x} is None:
        if {x}.is_variable:
            parent_{x} = {x}
        elif {x}.storage.tracked:
            parent_{x} = current({x})
    elif {x}.storage.version:
        parent_{x} = current({x})
    if parent_{x} is not None:
        mask |= {bit}
    if not mask:
        return None
    which = op.saves[mask]
    node = new_node(BackpropOp)
    if not which:
        node.saved = node.versions = ()
    elif len(which) == 1 and which[0] >= 0:
        found = {first}
        node.saved = (found,)
        node.versions = (found.storage.version,)
    elif which == {all}:
        node.saved = ({xs},)
        node.versions = ({versions},)
    else:
        operands = ({xs},)
        node.saved = saved = tuple([operands[k] if k >= 0 else result(storage, plan, None) for k in which])
        node.versions = tuple([each.storage.version for each in saved])
    node.id = next(ids)
    node.ids = node.hooks = None
    node.op = op
    node.plan = plan
    node.params = plan.params
    node.parents = ({parents},)
    node.mask = mask
    node.source = noted(node, ({xs},)) if settings.noting else None
    storage.tracked = True
    return node
"""

# What is no plain tensor takes the long road, but a number beside one: literals are common.
READ = """\
if not ({plain}):
        return apply(op, ({xs},), NO_PARAMS, out)"""
READ_TWO = """\
if {1}.__class__ not in PLAIN:
        if {1}.__class__ not in NUMBERS or {0}.__class__ not in PLAIN:
            return apply(op, ({0}, {1}), NO_PARAMS, out)
        {1} = weak_number(op, {1}, {0}.dtype, {0})
    elif {0}.__class__ not in PLAIN:
        if {0}.__class__ not in NUMBERS:
            return apply(op, ({0}, {1}), NO_PARAMS, out)
        {0} = weak_number(op, {0}, {1}.dtype, {1})"""
NOTHING: Mapping[str, Any] = {}
HIDDEN = "_mg_"  # of names that hold defaults
OUT = """\
    if out is not None:
        return write_result(op, plan, ({xs},), out, run)
"""
# A name of a template's own: not an attribute, and not one that stands for operands.
OWN = re.compile(r"(?<![\w.{])[A-Za-z_]\w*(?![\w}])")
_records: dict[int, Callable[..., Any]] = {}


def parameter_names(op: Any) -> tuple[str, ...]:
    """The operands' names in the public signature: those of the declaration, but `input` of one, as PyTorch has it."""
    return ("input",) if len(op.operands) == 1 else tuple(op.operands)


def others(names: tuple[str, ...]) -> dict[str, str]:
    """New names for those of the templates that operands have, each unlike every name there is."""
    own = {*OWN.findall(CALL + RECORD + READ + READ_TWO), *names}
    found = {}
    for name in names:
        other = f"{name}_"
        while other in own:
            other += "_"
        own.add(other)
        found[name] = other
    return found


def apart(template: str, names: tuple[str, ...]) -> str:
    """A template whose own names differ from the operands'; an operand called `out` takes the place of `out=`."""
    if "out" in names:
        template = template.replace(OUT, "").replace("NO_PARAMS, out)", "NO_PARAMS)")
    new = others(names)
    lines = [
        line if line.lstrip().startswith("#") else OWN.sub(lambda match: new.get(match[0], match[0]), line)
        for line in template.splitlines()
    ]
    return "\n".join(lines)


def write(template: str, names: tuple[str, ...], parameters: str = "", front: str = "", numbers: bool = True) -> str:
    """The source of a template for operands of these names.

    parameters: of the function, as they are spelled, if these are not the operands and `out`.  front: its first lines.
    numbers: an operand may be a Python number.
    """
    count, xs = len(names), ", ".join(names)
    known = others(names).get("PLAIN", "PLAIN")
    plain = " and ".join(f"{x}.__class__ in {known}" for x in names)
    read = apart(READ_TWO if count == 2 and numbers else READ, names).format(*names, xs=xs, plain=plain)
    joined = {
        "xs": xs,
        "parameters": parameters or (xs if "out" in names else f"{xs}, *, out=None"),
        "front": front,
        "read": read,
        "keys": ", ".join(f"{x}.layout, {x}.dtype, {x}.device" for x in names),
        "buffers": ", ".join(f"{x}.storage.buffer" for x in names),
        "tracks": " or ".join(f"{x}.storage.tracked" for x in names),
        "parents": ", ".join(f"parent_{x}" for x in names),
        "versions": ", ".join(f"{x}.storage.version" for x in names),
        "all": tuple(range(count)),
        "first": {1: names[0], 2: f"{names[-1]} if which[0] else {names[0]}"}.get(count, f"({xs})[which[0]]"),
    }
    lines: list[str] = []
    block: list[str] = []
    for line in [*apart(template, names).splitlines(), ""]:
        if "{x}" in line or "{bit}" in line:
            block.append(line)
            continue
        for k, x in enumerate(names if block else ()):
            lines += [each.format(x=x, bit=1 << k) for each in block]
        block = []
        lines.append(line.format(**joined))
    return "\n".join(lines)


@cache
def compiled(
    template: str, operands: tuple[str, ...], parameters: str, front: str, numbers: bool
) -> tuple[str, CodeType]:
    """The name of the function that a template makes for some operands, and the code that defines it."""
    text = write(template, operands, parameters, front, numbers)
    kind = text[4 : text.index("(")]
    path = f"<minigrad {kind}({', '.join(operands)})>"
    linecache.cache[path] = (len(text), None, text.splitlines(True), path)  # for tracebacks and debuggers
    return kind, compile(text, path, "exec")


def build(
    template: str, operands: tuple[str, ...], names: dict[str, Any], parameters: str = "", front: str = "",
    numbers: bool = True,
) -> Callable[..., Any]:  # fmt: skip
    """The function that a template makes for some operands, in a module's names."""
    kind, code = compiled(template, operands, parameters, front, numbers)
    there = vars(builtins) | names
    names |= {other: there[name] for name, other in others(operands).items() if name in there}
    exec(code, names)
    function: Callable[..., Any] = names[kind]
    return function


def fast_path(
    op: Any, names: dict[str, Any], defaults: Mapping[str, Any] = NOTHING, front: str = "", otherwise: Any = None
) -> Callable[..., Any]:
    """The public function of an elementwise op; `names` are those of `dispatch.py`.

    defaults: of operands, by name.  front: parameters that follow the operands, such as "*, alpha=1"; a call that gives
    one another value is answered by `otherwise`, which takes the operands, these parameters and `out`.
    """
    count = len(op.operands)
    if count not in _records:
        _records[count] = build(RECORD, tuple(f"x{k}" for k in range(count)), dict(names))
    names = {**names, "op": op, "plans": op.plans, "record": _records[count]}
    if not defaults and not front:
        return build(CALL, parameter_names(op), names, numbers=op.kind == "elementwise")
    operands = parameter_names(op)
    parameters, lines, more = with_front(operands, defaults, front)
    more[f"{HIDDEN}otherwise"] = otherwise
    return build(CALL, operands, names | more, parameters, lines)


def with_front(operands: tuple[str, ...], defaults: Mapping[str, Any], front: str) -> tuple[str, str, dict[str, Any]]:
    """The parameters of a call with defaults and further parameters, its first lines, and the values of both."""
    values = {f"{HIDDEN}{name}": value for name, value in defaults.items()}
    spelled = [f"{x}={HIDDEN}{x}" if x in defaults else x for x in operands]
    found = list(inspect.signature(eval(f"lambda {front}: None")).parameters.values())
    values |= {f"{HIDDEN}{p.name}": p.default for p in found}
    shared = [f"{p.name}={HIDDEN}{p.name}" for p in found]
    by_keyword = any(p.kind is p.KEYWORD_ONLY for p in found)
    parameters = [*spelled, *(("*", *shared) if by_keyword else (*shared, "*")), "out=None"]
    if not found:
        return ", ".join(parameters), "", values
    changed = " or ".join(f"{p.name} is not {HIDDEN}{p.name}" for p in found)
    given = ", ".join([*operands, *[p.name for p in found], "out"])
    return ", ".join(parameters), f"if {changed}:\n        return {HIDDEN}otherwise({given})", values
