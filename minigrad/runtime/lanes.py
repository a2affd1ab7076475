"""The functions that every call of an op passes, written for a number of operands from one template each.

A loop over one or two operands costs as much as the rest of a small call, so the lines that treat an operand are
pasted once for each, as a kernel's are.  `dispatch.py` has the names that the pasted lines use, and says what they do.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable
from functools import cache
from types import CodeType
from typing import Any

# Lines with {x} stand once for each operand; {xs}, {keys}, {buffers} and {tracks} join what there is of all operands.
CALL = """\
def call({xs}, *, out=None):
    {read}
    key = ({keys})
    plan = plans.get(key)
    if plan is None:
        plan = plan_for(op, ({xs},), NO_PARAMS, key)
    if out is not None:
        return run_into(op, plan, ({xs},), out)
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
NAMES = ("a", "b", "c")
WORDS = set(re.findall(r"\w+", CALL + READ + READ_TWO))
_records: dict[int, Callable[..., Any]] = {}


def parameter_names(op: Any) -> tuple[str, ...]:
    """What the operands are called in the public signature: `input`, as PyTorch says, or as the op was declared."""
    if len(op.operands) == 1:
        return ("input",)
    return NAMES[: len(op.operands)] if WORDS.intersection(op.operands) else tuple(op.operands)


def write(template: str, names: tuple[str, ...]) -> str:
    """The source of a template for operands of these names."""
    count, xs = len(names), ", ".join(names)
    plain = " and ".join(f"{x}.__class__ in PLAIN" for x in names)
    read = READ_TWO.format(*names) if count == 2 else READ.format(xs=xs, plain=plain)
    joined = {
        "xs": xs,
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
    for line in [*template.splitlines(), ""]:
        if "{x}" in line or "{bit}" in line:
            block.append(line)
            continue
        for k, x in enumerate(names if block else ()):
            lines += [each.format(x=x, bit=1 << k) for each in block]
        block = []
        lines.append(line.format(**joined))
    return "\n".join(lines)


@cache
def compiled(template: str, operands: tuple[str, ...]) -> tuple[str, CodeType]:
    """The name of the function that a template makes for some operands, and the code that defines it."""
    text = write(template, operands)
    kind = text[4 : text.index("(")]
    path = f"<minigrad {kind}({', '.join(operands)})>"
    linecache.cache[path] = (len(text), None, text.splitlines(True), path)  # for tracebacks and debuggers
    return kind, compile(text, path, "exec")


def build(template: str, operands: tuple[str, ...], names: dict[str, Any]) -> Callable[..., Any]:
    """The function that a template makes for some operands, in a module's names."""
    kind, code = compiled(template, operands)
    exec(code, names)
    function: Callable[..., Any] = names[kind]
    return function


def lane(op: Any, names: dict[str, Any]) -> Callable[..., Any]:
    """The public function of an elementwise op over one to three operands; `names` are those of `dispatch.py`."""
    count = len(op.operands)
    if count not in _records:
        _records[count] = build(RECORD, NAMES[:count], dict(names))
    return build(CALL, parameter_names(op), {**names, "op": op, "plans": op.plans, "record": _records[count]})
