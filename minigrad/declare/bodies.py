"""Write the source lines of the public functions: checks, conversion of parameters, and the choice of the call path.

`signature.write_function` makes the functions from these lines.  Names that begin with HIDDEN are values that the
decorators pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from minigrad.core.code import HIDDEN
from minigrad.core.op import Op
from minigrad.core.parameters import EITHER, EMPTY, KEYWORD, SEVERAL, Parameter, parameters_of
from minigrad.core.roles import AS_IT_COMES, Cast, Format, Front, FrontFlag, role_of
from minigrad.declare.signature import Signature, plain_test, type_of, write_function
from minigrad.runtime.dispatch import apply, run, steps_of
from minigrad.runtime.into import write_result
from minigrad.runtime.operands import NUMBERS, as_operands, weak_number
from minigrad.runtime.plans import NO_PARAMS, plan_for
from minigrad.runtime.tensor import PLAIN

NAMES: Mapping[str, str] = MappingProxyType({})
OF_INTS = ("Dim", "Dims", "Int", "Ints", "NewDim", "Order", "Shape", "Size")  # roles of ints and tuples of ints
CAST = role_of(Cast)
FORMAT = role_of(Format)
FRONT_FLAG: Any = role_of(FrontFlag)
# Roles of the parameters that the public function reads instead of the op.
FRONT_ROLES = (CAST, FORMAT, role_of(Front), FRONT_FLAG)
# Ops that compute in the dtype of `out`, as in PyTorch, if it is of a lower kind than the operand, or bool.
DTYPE_FROM_OUT = ("sum", "prod", "cumsum", "cumprod")


# ---- ops without parameters ------------------------------------------------------------------------------------------


def fast_path(
    op: Op, defaults: Callable[[], Mapping[str, Any]] = dict, front: str = "", otherwise: Any = None, sole: Any = None,
    by_number: Any = None,
) -> Callable[..., Any]:  # fmt: skip
    """Return the public function of an elementwise op, which contains the steps of a call for its number of operands.

    A single operand is called `input`.
    defaults: a function that returns the default values of operands, by name.
    front: parameters that follow the operands, such as "*, alpha=1".  If a call passes another value than the default
    for such a parameter, `otherwise` computes the result from the operands, these parameters and `out`.
    sole: a function that computes a call with only the first operand; the other operands then have the default None.
    by_number: a function of all operands and `out`, for calls with an operand that is not a plain tensor; of two
    operands, it must be the second.  It returns the result, or None if the op itself must run.
    """
    values = {"otherwise": otherwise, "sole": sole, "by_number": by_number}

    def parameters() -> tuple[Signature, bool]:
        signature = fast_signature(op, defaults(), front)
        return signature, "out" not in signature.operands

    def make() -> tuple[list[str], dict[str, Any]]:
        signature, out = parameters()
        names, more = signature.operands, signature.parameters[len(signature.operands) :]
        first = [f"if {' is '.join(names[1:])} is out is None:", f"    return {HIDDEN}sole({names[0]})"] if sole else []
        if more:
            changed = " or ".join([f"{p.name} is not {HIDDEN}default_{p.name}" for p in more])
            arguments = ", ".join([*names, *[p.name for p in more], "out" if out else "None"])
            first = [f"if {changed}:", f"    return {HIDDEN}otherwise({arguments})"]
        return fast_body(op, signature, first, out, values)

    return write_function(op.name, parameters, make)


def fast_signature(op: Op, defaults: Mapping[str, Any], front: str) -> Signature:
    """Return the signature of an elementwise op; the parameters are those of `fast_path`."""
    names = ("input",) if len(op.operands) == 1 else tuple(op.operands)
    # Annotations cannot say that at least one operand must be a tensor, and that the others may be numbers.
    bare = [x for x in names if x not in defaults]
    kinds = dict.fromkeys(names, "Tensor | float") | ({bare[0]: "Tensor"} if len(bare) == 1 else {})
    operands = [Parameter(x, EITHER, defaults.get(x, EMPTY), kinds[x]) for x in names]
    more = parameters_of(eval(f"lambda {front}: None")) if front else []
    more = [p._replace(annotation=type_of(p.default)) for p in more]
    return Signature((*operands, *more), names, numbers=frozenset(names))


def fast_body(
    op: Op, signature: Signature, first: Sequence[str] = (), out: bool = True, values: Mapping[str, Any] = NAMES
) -> tuple[list[str], dict[str, Any]]:
    """Return the lines of an op, and the values that they use; the lines `first` read its parameters, if it has any."""
    steps, used = steps_of(signature.operands, None if op.result is None else len(op.outputs))
    used |= {**FAST, "op": op, "plans": op.plans, **values}
    return [*first, *fast_lines(signature, out, values.get("by_number") is not None), *steps], used


FAST = {
    "plain": PLAIN, "numbers": NUMBERS, "no_params": NO_PARAMS, "apply": apply, "run": run, "plan_for": plan_for,
    "write_result": write_result, "weak": weak_number, "as_operands": as_operands,
}  # fmt: skip


def fast_lines(signature: Signature, out: bool, by_number: bool) -> list[str]:
    """Return the lines of a fast path that find the plan of a call.

    Operands that are not plain tensors take the general path.  Numbers next to tensors are an exception, because
    literals are common.
    """
    xs, target = ", ".join(signature.operands), ", out" if out else ""
    key = ", ".join([f"{x}.layout, {x}.dtype, {x}.device" for x in signature.operands])
    general = f"return {HIDDEN}apply({HIDDEN}op, ({xs},), {HIDDEN}no_params{target})"
    writes = [
        "if out is not None:",
        f"    return {HIDDEN}write_result({HIDDEN}op, {HIDDEN}plan, ({xs},), out, {HIDDEN}run)",
    ]
    return [
        *number_lines(signature, general, f"({xs}, {'out' if out else 'None'})" if by_number else ""),
        f"{HIDDEN}key = ({key})",
        f"{HIDDEN}plan = {HIDDEN}plans.get({HIDDEN}key)",
        f"if {HIDDEN}plan is None:",
        f"    {HIDDEN}plan = {HIDDEN}plan_for({HIDDEN}op, ({xs},), {HIDDEN}no_params, {HIDDEN}key)",
        *(writes if out else []),
    ]


def number_lines(signature: Signature, general: str, by_number: str) -> list[str]:
    """Return the lines that make tensors of numbers among the operands, or leave for the general path.

    With three or more operands, a call is fastest if the first operand is a tensor and all tensors have its dtype.
    general: the statement of the general path.  by_number: the arguments of the function for numbers, or "".
    """
    first, *others = signature.operands
    plain = {x: f"{x}.__class__ in {HIDDEN}plain" for x in signature.operands}
    number = {x: f"{x}.__class__ in {HIDDEN}numbers" for x in signature.operands}
    weak = f"{HIDDEN}weak({HIDDEN}op, {{x}}, {{like}}.dtype, {{like}})"
    if not signature.numbers or not others:
        return [f"if not ({' and '.join(plain.values())}):", f"    {general}"]
    answer = [
        f"    {HIDDEN}found = {HIDDEN}by_number{by_number}",
        f"    if {HIDDEN}found is not None:",
        f"        return {HIDDEN}found",
    ]
    if len(others) == 1:
        a, b = signature.operands
        return [
            f"if {b}.__class__ not in {HIDDEN}plain:",
            *(answer if by_number else []),
            f"    if {b}.__class__ not in {HIDDEN}numbers or {a}.__class__ not in {HIDDEN}plain:",
            f"        {general}",
            f"    {b} = {weak.format(x=b, like=a)}",
            f"elif {a}.__class__ not in {HIDDEN}plain:",
            f"    if {a}.__class__ not in {HIDDEN}numbers:",
            f"        {general}",
            f"    {a} = {weak.format(x=a, like=b)}",
        ]
    fits = " and ".join([f"({x}.dtype is {first}.dtype if {plain[x]} else {number[x]})" for x in others])
    xs = ", ".join(signature.operands)
    return [
        f"if not ({' and '.join(plain.values())}):",
        *(answer if by_number else []),
        f"    if {plain[first]} and {fits}:",
        *[f"        {x} = {x} if {plain[x]} else {weak.format(x=x, like=first)}" for x in others],
        f"    elif {' and '.join([f'({plain[x]} or {number[x]})' for x in signature.operands])}:",
        f"        {xs} = {HIDDEN}as_operands({HIDDEN}op, ({xs},))",
        "    else:",
        f"        {general}",
    ]


# ---- ops with parameters ---------------------------------------------------------------------------------------------


def planned_body(
    op: Op, out: bool, floats: bool = False, otherwise: Any = None, sole: Any = None, names: Mapping[str, str] = NAMES
) -> list[str]:
    """Return the lines of the function of a reduction, of a view, or of an op with a kernel.

    out: whether it takes `out=`.  floats, otherwise, sole: as for the decorator `kernel`.
    names: the variables of the op's parameters that have other names than these.
    """
    variables = {key: names.get(key, key) for key in op.params}
    signature, lines = op.signature, planned_lines(op, op.signature, variables, out)
    if sole is not None:
        x, *others = [p.name for p in signature.parameters]
        tests = [f"{key} is {HIDDEN}default_{key}" for key in others] + ["out is None"] * out
        lines = [
            f"if {' and '.join(tests)} and {x}.__class__ in {HIDDEN}plain:",
            f"    return {HIDDEN}sole({x})",
            *lines,
        ]
    given = [p.name for p in signature.parameters]
    casts = [key for key in given if signature.role(key) is CAST]
    operands = "".join(f"{x}, " for x in signature.operands)
    if signature.many and not any(p.kind is SEVERAL for p in signature.parameters):
        lines.append(f"{signature.many} = {HIDDEN}list({HIDDEN}op, {signature.many})")
    if signature.many:
        operands = f"*{signature.many}, "
    elif signature.operands:
        lines += [f"if not ({plain_test(signature)}):", f"    {operands}= {HIDDEN}check({HIDDEN}op, ({operands}))"]
    for key in [key for key in given if signature.role(key) is FRONT_FLAG]:
        lines.append(f"{HIDDEN}read_flag({key}, {HIDDEN}op.label, {key!r}, ({operands}))")
    if otherwise is not None:
        lines += [
            f"{HIDDEN}found = {HIDDEN}otherwise({', '.join([*given, *(['out'] if out else ())])})",
            f"if {HIDDEN}found is not None:",
            f"    return {HIDDEN}found",
        ]
    first, target = signature.operands[0] if signature.operands else "", ", out" if out else ""
    params = f"{{{', '.join(f'{key!r}: {name}' for key, name in variables.items())}}}"
    if floats:  # the other parameters are checked first, so that no tensor is made before an error
        tests = [f"not {first}.dtype.is_inexact", *[f"{key} is not None" for key in casts]]
        lines += [
            f"if {' or '.join(tests)}:",
            f"    {HIDDEN}canonical({HIDDEN}op, ({operands}), {params})",
            f"    {first} = {HIDDEN}float({HIDDEN}op, {first}{''.join(f', {key}' for key in casts)})",
        ]
    for key in [key for key in given if signature.role(key) is FORMAT]:
        made = f"{HIDDEN}call({HIDDEN}op, ({operands}), {params}{target})"
        lines += [f"if {key} is not None:", f"    return {HIDDEN}format({HIDDEN}op.label, {made}, {key})"]
    for key in () if floats else casts:
        cast = f"{HIDDEN}in_dtype({HIDDEN}op, {first}, {key}, {params}{target})"
        or_out = " or out is not None" * (out and op.label in DTYPE_FROM_OUT)
        lines += [f"if {key} is not None{or_out}:", f"    return {cast}"]
    return [*lines, f"return {HIDDEN}call({HIDDEN}op, ({operands}), {params}{target})"]


def planned_lines(op: Op, signature: Signature, params: Mapping[str, str], out: bool) -> list[str]:
    """Return the first lines of a function that runs an op: if the arguments are the key of a plan, run this plan.

    The arguments are then those of an earlier call, which has checked them.  All operands must be plain tensors, and
    optional operands must be all present or all absent.
    params: the variable of each parameter of the op.  out: whether the function has the parameter `out`.
    """
    if op.writes or not signature.operands or any(p.kind is SEVERAL for p in signature.parameters):
        return []
    # The plan does not depend on parameters without a role in the op, so these must have their defaults.
    fronts = [p.name for p in signature.parameters if p.name not in {*signature.operands, *params.values()}]
    tests = [f"{key} is {HIDDEN}default_{key}" for key in fronts] + (["out is None"] if out else [])
    if op.along and not signature.many:
        tests.append(f"{signature.operands[0]}.layout.shape")  # `call` handles a scalar
    values = "".join([f"{key_text(signature, key, 'keyed')}, " for key in params.values()])
    if signature.many:
        many = signature.many
        test = " and ".join([f"{many}.__class__ in {HIDDEN}lists", *tests])
        return [
            f"{HIDDEN}key = {HIDDEN}key_of({many}) if {test} else None",
            f"if {HIDDEN}key is not None:",
            *attempt(f"*{HIDDEN}key, {values}", f"{HIDDEN}op", f"tuple({many})", "any"),
        ]
    forms = [(f"{HIDDEN}op", signature.operands)]
    if signature.optional and len(signature.optional) < len(signature.operands):
        forms.append((f"{HIDDEN}bare()", tuple([x for x in signature.operands if x not in signature.optional])))
    lines = []
    for form, names in forms:
        absent = [x for x in signature.operands if x not in names]
        plain = [f"{x}.__class__ in {HIDDEN}plain" for x in names] + [f"{x} is None" for x in absent]
        key = "".join(f"{x}.layout, {x}.dtype, {x}.device, " for x in names)
        lines += [f"if {' and '.join(plain + tests)}:", *attempt(key + values, form, ", ".join(names), len(names))]
    return lines


def key_text(signature: Signature, name: str, function: str) -> str:
    """Return the expression for an argument as a part of a key; function: "keyed" or "steady".

    The part for a default value is computed once.  An int, a string, a dtype or None is its own part; for a parameter
    whose other values are tuples, only the test of an int is written, because it takes less time.
    """
    defaults, role = keyed_defaults(signature), signature.role(name)
    own = (
        f"{name}.__class__ is int" if role is not None and role.name in OF_INTS else f"{name}.__class__ in {HIDDEN}keys"
    )
    known = f"{HIDDEN}key_of_{name} if {name} is {HIDDEN}default_{name} else " * (name in defaults)
    known += f"(bool, {name}) if {name}.__class__ is bool else " * (defaults.get(name).__class__ is bool)
    return f"{known}{name} if {own} else {HIDDEN}{function}({name})"


def keyed_defaults(signature: Signature) -> dict[str, Any]:
    """Return the defaults that are not ints, by the name of the parameter."""
    params = [p for p in signature.parameters if p.name not in signature.operands]
    return {p.name: p.default for p in params if p.default is not EMPTY and p.default.__class__ is not int}


def attempt(key: str, form: str, operands: str, kind: int | str) -> list[str]:
    """Return lines that run the plan with a key if there is one.

    form: the op.  kind: the number of operands, or "any" for a tuple of operands.
    """
    plans, chosen = f"{HIDDEN}plans", []
    if form != f"{HIDDEN}op":
        plans, form, chosen = f"{HIDDEN}form.plans", f"{HIDDEN}form", [f"        {HIDDEN}form = {form}"]
    return [
        "    try:",
        *chosen,
        f"        {HIDDEN}plan = {plans}.get(({key}))",
        "    except TypeError:  # a list, for example, which cannot be part of a key",
        f"        {HIDDEN}plan = None",
        f"    if {HIDDEN}plan is not None:",
        f"        return {HIDDEN}run_{kind}({form}, {HIDDEN}plan, {operands})",
    ]


def repeated_lines(op: Op, out: bool) -> list[str]:
    """Return the lines of a composed op's function that make the calls of an earlier call of the same kind.

    The operands must be plain tensors; some may be None or numbers, if the declaration allows this.  Those that the
    definition writes, and `out`, must be None.  The names that the lines define are the entry of the kind, and the
    arguments of a call whose calls may be collected.
    """
    signature, many = op.signature, op.signature.many
    names = [x for x in op.operands if x != many]
    there = {x: f"{x}.__class__ in {HIDDEN}plain" for x in names}
    varied = [x for x in names if x in signature.optional or x in signature.numbers]
    plain = [there[x] for x in names if x not in varied]
    plain += [f"{HIDDEN}many is not None"] * bool(many)
    plain += [f"{x} is None" for x in (*op.writes, *["out"] * (out or "out" in op.params))]
    params = [p.name for p in signature.parameters if p.name not in op.operands]
    key = "".join(f"{x}.layout, {x}.dtype, {x}.device, " for x in names if x not in varied)
    key += f"*{HIDDEN}many, " if many else ""
    key += "".join([f"{key_text(signature, x, 'steady')}, " for x in params])
    tensor = "({0}.layout, {0}.dtype, {0}.device) if {1} else "
    key += "".join([f"{tensor.format(x, there[x])}{key_text(signature, x, 'steady')}, " for x in varied])
    named = ", ".join(f"{x!r}: {x}" for x in [*params, *varied])
    return [
        f"{HIDDEN}entry = None",
        *[f"{HIDDEN}many = {HIDDEN}key_of({many}) if {many}.__class__ in {HIDDEN}lists else None"] * bool(many),
        f"if {' and '.join([f'{HIDDEN}known.steady', *plain])} and not {HIDDEN}settings.noting:",
        *gathered_lines(names, many, {x: there[x] for x in varied}),
        "    try:",
        f"        {HIDDEN}entry = {HIDDEN}known[{key}{HIDDEN}enabled, {HIDDEN}records]",
        "    except TypeError:  # an array, for example, which cannot be part of a key",
        "        pass",
        "    else:",
        f"        if {HIDDEN}entry.function is None:",
        f"            {HIDDEN}named = {{{named}}}",
        f"            if {HIDDEN}entry.waits > 0:",
        f"                {HIDDEN}entry.begin({HIDDEN}op, {HIDDEN}operands, {HIDDEN}named)",
        "            else:",
        f"                {HIDDEN}known.fail()",
        f"        elif not ({HIDDEN}entry.draws and {HIDDEN}stack.transforms):",
        "            try:",
        f"                return {HIDDEN}entry.function(*{HIDDEN}operands)",
        f"            except {HIDDEN}error as {HIDDEN}wrong:",
        f"                {HIDDEN}blame({HIDDEN}op, {HIDDEN}wrong)",
        "                raise",
    ]


def gathered_lines(names: Sequence[str], many: str, tests: Mapping[str, str]) -> list[str]:
    """Return the lines that list the tensors of a call, and that find out whether the call is recorded.

    names: the operands.  many: the operand that is a sequence of tensors, or "".
    tests: the conditions under which operands are tensors, for those that may be None or numbers.
    A list comprehension would take as long as a small launch, so there is one expression per operand.
    """
    operands = f"{HIDDEN}operands"
    tracked = [f"({tests[x]} and {x}.storage.tracked)" if x in tests else f"{x}.storage.tracked" for x in names]
    tracked += [f"True in [x.storage.tracked for x in {many}]"] * bool(many)
    listed = [f"*{many}"] * bool(many)
    gathered = [f"{operands} = [{', '.join([*names, *listed])}]"]
    if tests:
        adding = {x: f"{operands}.append({x})" for x in names}
        gathered = [f"{operands} = []", *[f"if {tests[x]}: {adding[x]}" if x in tests else adding[x] for x in names]]
        gathered += [f"{operands} += {many}"] * bool(many)
    return [
        *[f"    {line}" for line in gathered],
        f"    {HIDDEN}enabled = {HIDDEN}mode.enabled",
        f"    {HIDDEN}records = {HIDDEN}enabled and ({' or '.join(tracked)})",
        f"    if {HIDDEN}records:",
        f"        {HIDDEN}records = tuple([x.requires_grad for x in {operands}])",
    ]


def composed_body(op: Op, out: bool, floats: bool, repeats: bool) -> list[str]:
    """Return the lines of a composed op's function; out, floats: as for the decorator `composed`.

    repeats: whether later calls repeat the calls of the definition.
    """
    signature, lines = op.signature, []
    operands = "".join(f"*{x}, " if x == signature.many else f"{x}, " for x in op.operands)
    # Callers pass the tensors as several arguments, or as one sequence.
    if any(p.kind is SEVERAL for p in signature.parameters):
        test = f"len({signature.many}) == 1 and {signature.many}[0].__class__ in (list, tuple)"
        lines.append(f"{signature.many} = {signature.many}[0] if {test} else {signature.many}")
    if repeats:
        lines += repeated_lines(op, out)
    if signature.many:
        lines.append(f"{signature.many} = {HIDDEN}list({HIDDEN}op, {signature.many})")
    if test := plain_test(signature):
        named = operands.replace("*", "")
        lines += [f"if not ({test}):", f"    {named}= {HIDDEN}check({HIDDEN}op, ({named}))"]
    for k, (key, _) in enumerate(signature.conditions):
        if key == signature.many:
            hold = f"{HIDDEN}hold_{k}({HIDDEN}x, {HIDDEN}op.label, 'each tensor', ())"
            lines += [f"for {HIDDEN}x in {key}:", f"    {hold}"]
        else:
            lines.append(f"{HIDDEN}hold_{k}({key}, {HIDDEN}op.label, {key!r}, ({operands}))")
    for key, role in op.roles.items():
        if role.read is not AS_IT_COMES:
            test = f"if {key}.__class__ is not bool: " * (role.name == "Flag")  # True and False are in canonical form
            lines.append(f"{test}{key} = {HIDDEN}read_{key}({key}, {HIDDEN}op.label, {key!r}, ({operands}))")
    casts = [p.name for p in signature.parameters if role_of(p.annotation) is CAST]
    if floats:
        x, dtype = op.operands[0], casts[0] if casts else "None"
        test = f"not {x}.dtype.is_inexact" + (f" or {dtype} is not None" if casts else "")
        lines += [f"if {test}:", f"    {x} = {HIDDEN}float({HIDDEN}op, {x}, {dtype})"]
    if out and op.operands:
        lines += ["if out is not None:", f"    {operands}= {HIDDEN}apart({HIDDEN}op, ({operands}), out)"]
    y = f"{HIDDEN}y"
    given = ", ".join(f"{p.name}={p.name}" if p.kind is KEYWORD else p.name for p in signature.parameters)
    lines += [
        "try:",
        f"    if {HIDDEN}settings.noting:",
        f"        with {HIDDEN}scope({HIDDEN}op.label):",
        f"            {y} = {HIDDEN}definition({given})",
        "    else:",
        f"        {y} = {HIDDEN}definition({given})",
        f"except {HIDDEN}error as {HIDDEN}wrong:",
        f"    {HIDDEN}blame({HIDDEN}op, {HIDDEN}wrong)",
        "    raise",
    ]
    if repeats:
        lines += [
            f"if {HIDDEN}entry is not None and {HIDDEN}entry.waits > 0:",
            f"    {HIDDEN}known.learn({HIDDEN}entry, {HIDDEN}by_operands, {HIDDEN}operands, {HIDDEN}named)",
        ]
    copied = f" if out is None else {HIDDEN}copy({HIDDEN}op.label, {y}, out, ({operands}))" if out else ""
    return [*lines, f"return {y}{copied}"]
