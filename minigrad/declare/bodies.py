"""Write the source lines of the public functions: checks, conversion of parameters, and the choice of the call path.

`signature.write_function` makes the functions from these lines.  Names that begin with HIDDEN are values that the
decorators pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from minigrad.core.op import Op
from minigrad.core.roles import AS_IT_COMES, Cast, Format, Front, role_of
from minigrad.declare.signature import HIDDEN, KEYWORD, Signature, plain_test

CAST = role_of(Cast)
FORMAT = role_of(Format)
FRONT_ROLES = (CAST, FORMAT, role_of(Front))  # roles of the parameters that the public function reads instead of the op
PARAMS = "{'dims': dim, 'keepdim': keepdim}"


def reduction_body(casts: bool) -> list[str]:
    """Return the lines of a reduction's function.

    The arguments of a call with plain values are themselves the key of its plan.  casts: whether it takes `dtype`.
    """
    wide = [
        "if dtype is not None:",
        f"    return {HIDDEN}in_dtype({HIDDEN}op, input, dtype, {PARAMS}, out)",
    ]
    return [
        f"if input.__class__ not in {HIDDEN}plain:",
        f"    input, = {HIDDEN}check({HIDDEN}op, (input,))",
        f"elif (dim.__class__ in {HIDDEN}plain_dims or dim.__class__ is tuple and {HIDDEN}whole(dim)) "
        f"and keepdim.__class__ is bool and out is None{' and dtype is None' if casts else ''}:",
        f"    {HIDDEN}key = (input.layout, input.dtype, input.device, dim, keepdim)",
        f"    {HIDDEN}plan = {HIDDEN}plans.get({HIDDEN}key) or {HIDDEN}plan_for({HIDDEN}op, (input,), {PARAMS}, "
        f"{HIDDEN}key)",
        f"    return {HIDDEN}run({HIDDEN}op, {HIDDEN}plan, input)",
        *(wide if casts else ()),
        f"return {HIDDEN}call({HIDDEN}op, (input,), {PARAMS}, out)",
    ]


def several_body(op: Op) -> list[str]:
    """Return the lines of the function of a reduction with several operands or several results."""
    operands = f"({', '.join(op.signature.operands)},)"
    return [
        *planned_lines(op, op.signature, {"dims": "dim", "keepdim": "keepdim"}, True),
        f"if not ({plain_test(op.signature)}):",
        f"    {operands} = {HIDDEN}check({HIDDEN}op, {operands})",
        f"return {HIDDEN}call({HIDDEN}op, {operands}, {PARAMS}, out)",
    ]


def view_body(op: Op) -> list[str]:
    """Return the lines of a view's function.

    If all parameters are None, ints or tuples of ints, the arguments are the key of the plan.
    """
    (x,), params = op.operands, list(op.params)
    plain = " and ".join([f"{x}.__class__ in {HIDDEN}plain", *[f"{HIDDEN}whole({name})" for name in params]])
    return [
        f"if {plain}:",
        f"    {HIDDEN}plan = {HIDDEN}plans.get(({', '.join([f'{x}.layout, {x}.dtype, {x}.device', *params])}))",
        f"    if {HIDDEN}plan is not None:",
        f"        return {HIDDEN}run({HIDDEN}op, {HIDDEN}plan, {x})",
        f"return {HIDDEN}view({HIDDEN}op, {x}, {dict_text(params)})",
    ]


def kernel_body(op: Op, out: bool, floats: bool, otherwise: Any, sole: Any = None) -> list[str]:
    """Return the lines of the function of an op with a kernel.

    out: whether it takes `out=`.  floats, otherwise, sole: as for the decorator `kernel`.
    """
    signature, lines = op.signature, planned_lines(op, op.signature, {key: key for key in op.params}, out)
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
    operands = "".join(f"{x}, " for x in op.operands)
    if signature.many and not any(p.kind is p.VAR_POSITIONAL for p in signature.parameters):
        lines.append(f"{signature.many} = {HIDDEN}list({HIDDEN}op, {signature.many})")
    if signature.many:
        operands = f"*{signature.many}, "
    elif op.operands:
        lines += [f"if not ({plain_test(signature)}):", f"    {operands}= {HIDDEN}check({HIDDEN}op, ({operands}))"]
    if otherwise is not None:
        lines += [
            f"{HIDDEN}found = {HIDDEN}otherwise({', '.join([*given, *(['out'] if out else ())])})",
            f"if {HIDDEN}found is not None:",
            f"    return {HIDDEN}found",
        ]
    first = op.operands[0] if op.operands else ""
    if floats:  # the other parameters are checked first, so that no tensor is made before an error
        tests = [f"not {first}.dtype.is_float", *[f"{key} is not None" for key in casts]]
        lines += [
            f"if {' or '.join(tests)}:",
            f"    {HIDDEN}canonical({HIDDEN}op, ({operands}), {dict_text(list(op.params))})",
            f"    {first} = {HIDDEN}float({HIDDEN}op, {first}{''.join(f', {key}' for key in casts)})",
        ]
    params, target = dict_text(list(op.params)), ", out" if out else ""
    for key in [key for key in given if signature.role(key) is FORMAT]:
        made = f"{HIDDEN}call({HIDDEN}op, ({operands}), {params}{target})"
        lines += [f"if {key} is not None:", f"    return {HIDDEN}format({HIDDEN}op.label, {made}, {key})"]
    for key in () if floats else casts:
        cast = f"{HIDDEN}in_dtype({HIDDEN}op, {first}, {key}, {params}{target})"
        lines += [f"if {key} is not None:", f"    return {cast}"]
    return [*lines, f"return {HIDDEN}call({HIDDEN}op, ({operands}), {params}{target})"]


def planned_lines(op: Op, signature: Signature, params: Mapping[str, str], out: bool) -> list[str]:
    """Return the first lines of a function that runs an op: if the arguments are the key of a plan, run this plan.

    The arguments are then those of an earlier call, which has checked them.  All operands must be plain tensors, and
    optional operands must be all present or all absent.
    params: the variable of each parameter of the op.  out: whether the function has the parameter `out`.
    """
    if op.writes or not signature.operands or any(p.kind is p.VAR_POSITIONAL for p in signature.parameters):
        return []
    # The plan does not depend on parameters without a role in the op, so these must have their defaults.
    fronts = [p.name for p in signature.parameters if p.name not in {*signature.operands, *params.values()}]
    tests = [f"{key} is {HIDDEN}default_{key}" for key in fronts] + (["out is None"] if out else [])
    if op.along and not signature.many:
        tests.append(f"{signature.operands[0]}.layout.shape")  # `call` handles a scalar
    values = "".join(f"{key} if {key}.__class__ in {HIDDEN}keys else {HIDDEN}keyed({key}), " for key in params.values())
    if signature.many:
        many = signature.many
        plain = [f"{many}.__class__ in {HIDDEN}lists and {HIDDEN}plain.issuperset(map(type, {many}))"]
        return [
            f"if {' and '.join(plain + tests)}:",
            *attempt(f"*{HIDDEN}key_of({many}), {values}", f"{HIDDEN}op", f"tuple({many})", "any"),
        ]
    forms = [(f"{HIDDEN}op", signature.operands)]
    if signature.optional and len(signature.optional) < len(signature.operands):
        forms.append((f"{HIDDEN}bare()", tuple([x for x in signature.operands if x not in signature.optional])))
    lines = []
    for form, names in forms:
        absent = [x for x in signature.operands if x not in names]
        plain = [f"{x}.__class__ in {HIDDEN}plain" for x in names] + [f"{x} is None" for x in absent]
        key = "".join(f"{x}.layout, {x}.dtype, {x}.device, " for x in names)
        kind = {1: "one", 2: "two", 3: "three"}.get(len(names), "any") if op.result is None else "several"
        operands = ", ".join(names) if kind in ("one", "two", "three") else f"({', '.join(names)},)"
        lines += [f"if {' and '.join(plain + tests)}:", *attempt(key + values, form, operands, kind)]
    return lines


def attempt(key: str, form: str, operands: str, kind: str) -> list[str]:
    """Return lines that run the plan with a key if there is one. form: the op; kind: the end of the function's name."""
    return [
        "    try:",
        f"        {HIDDEN}form = {form}",
        f"        {HIDDEN}plan = {HIDDEN}form.plans.get(({key}))",
        "    except TypeError:  # a list, for example, which cannot be part of a key",
        f"        {HIDDEN}plan = None",
        f"    if {HIDDEN}plan is not None:",
        f"        return {HIDDEN}run_{kind}({HIDDEN}form, {HIDDEN}plan, {operands})",
    ]


def repeated_lines(op: Op, out: bool) -> list[str]:
    """Return the lines of a composed op's function that make the calls of an earlier call of the same kind.

    The operands must be plain tensors; some may be None or numbers, if the declaration allows this.  Those that the
    definition writes, and `out`, must be None.  The names that the lines define are the entry of the kind, and the
    arguments of a call whose calls may be collected.
    """
    signature, many = op.signature, op.signature.many
    names = [x for x in op.operands if x != many]
    varied = [x for x in names if x in signature.optional or x in signature.numbers]
    plain = [f"{x}.__class__ in {HIDDEN}plain" for x in names if x not in varied]
    plain += [f"{HIDDEN}plain.issuperset(map(type, {many}))"] * bool(many)
    plain += [f"{x} is None" for x in (*op.writes, *["out"] * (out or "out" in op.params))]
    key = "".join(f"{x}.layout, {x}.dtype, {x}.device, " for x in names if x not in varied)
    key += f"*{HIDDEN}key_of({many}), " if many else ""
    params = [p.name for p in signature.parameters if p.name not in op.operands]
    value = f"{{0}} if {{0}}.__class__ in {HIDDEN}keys else {HIDDEN}steady({{0}}), "
    tensor = f"({{0}}.layout, {{0}}.dtype, {{0}}.device) if {{0}}.__class__ in {HIDDEN}plain else "
    key += "".join([value.format(x) for x in params] + [(tensor + value).format(x) for x in varied])
    tensors = f"({', '.join(names + [f'*{many}'] * bool(many))},)"
    if varied:
        tensors = f"[x for x in {tensors} if x.__class__ in {HIDDEN}plain]"
    named = ", ".join(f"{x!r}: {x}" for x in [*params, *varied])
    return [
        f"{HIDDEN}entry = None",
        f"if {' and '.join([f'{HIDDEN}known.steady', *plain])} and not {HIDDEN}settings.noting:",
        f"    {HIDDEN}operands = {tensors}",
        f"    {HIDDEN}records = {HIDDEN}mode.enabled and True in [x.storage.tracked for x in {HIDDEN}operands]",
        "    try:",
        f"        {HIDDEN}entry = {HIDDEN}known[{key}{HIDDEN}mode.enabled, "
        f"{HIDDEN}records and tuple([x.requires_grad for x in {HIDDEN}operands])]",
        "    except TypeError:  # an array, for example, which cannot be part of a key",
        "        pass",
        "    else:",
        f"        if {HIDDEN}entry.function is not None:",
        "            try:",
        f"                return {HIDDEN}entry.function(*{HIDDEN}operands)",
        f"            except {HIDDEN}error as {HIDDEN}wrong:",
        f"                {HIDDEN}blame({HIDDEN}op, {HIDDEN}wrong)",
        "                raise",
        f"        if {HIDDEN}entry.waits > 0:",
        f"            {HIDDEN}named = {{{named}}}",
        f"            {HIDDEN}entry.begin({HIDDEN}op, {HIDDEN}operands, {HIDDEN}named)",
        "        else:",
        f"            {HIDDEN}known.fail()",
    ]


def composed_body(op: Op, out: bool, floats: bool, repeats: bool) -> list[str]:
    """Return the lines of a composed op's function; out, floats: as for the decorator `composed`.

    repeats: whether later calls repeat the calls of the definition.
    """
    signature, lines = op.signature, []
    operands = "".join(f"*{x}, " if x == signature.many else f"{x}, " for x in op.operands)
    # Callers pass the tensors as several arguments, or as one sequence.
    if any(p.kind is p.VAR_POSITIONAL for p in signature.parameters):
        test = f"len({signature.many}) == 1 and {signature.many}[0].__class__ in (list, tuple)"
        lines.append(f"{signature.many} = {signature.many}[0] if {test} else {signature.many}")
    if signature.many:
        lines.append(f"{signature.many} = {HIDDEN}list({HIDDEN}op, {signature.many})")
    if repeats:
        lines += repeated_lines(op, out)
    if test := plain_test(signature):
        named = operands.replace("*", "")
        lines += [f"if not ({test}):", f"    {named}= {HIDDEN}check({HIDDEN}op, ({named}))"]
    for key, role in op.roles.items():
        if role.read is not AS_IT_COMES:
            lines.append(f"{key} = {HIDDEN}read_{key}({key}, {HIDDEN}op.label, {key!r}, ({operands}))")
    casts = [p.name for p in signature.parameters if role_of(p.annotation) is CAST]
    if floats:
        x, dtype = op.operands[0], casts[0] if casts else "None"
        test = f"not {x}.dtype.is_float" + (f" or {dtype} is not None" if casts else "")
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
    return [
        *lines,
        f"return {y} if out is None else {HIDDEN}copy({HIDDEN}op.label, {y}, out)" if out else f"return {y}",
    ]


def dict_text(names: Sequence[str]) -> str:
    """Return the source text of a dict that maps the names of variables to their values."""
    return f"{{{', '.join(f'{name!r}: {name}' for name in names)}}}"
