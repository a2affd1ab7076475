"""Read the public signature of an op from its declaration, and make the Python function that users call.

Operands are the parameters that are annotated as tensors, at any position: `Tensor`, `Tensor | None`,
`Sequence[Tensor]`, and `Tensor | float` where a number is accepted.  All other parameters are static, and their
annotations are roles.  The function is generated as text.  So a call processes only the parameters that the op has, and
an editor shows PyTorch's signature.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from types import CodeType, FunctionType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from minigrad.core.code import HIDDEN, at_first_call, defined
from minigrad.core.conditions import Condition
from minigrad.core.layout import Layout
from minigrad.core.parameters import EMPTY, KEYWORD, NAMED, SEVERAL, Parameter, deferred_signature, parameters_of
from minigrad.core.roles import Front, Role, role_of
from minigrad.errors import DeclarationError
from minigrad.runtime.recording import definition_of
from minigrad.runtime.tensor import Tensor

FRONT = role_of(Front)
OUT = Parameter("out", KEYWORD, None, "Tensor | None")
# Parameter -> NumPy's name of it, or the name in another form of PyTorch's function.
NUMPY = {"dim": "axis", "keepdim": "keepdims", "sections": "indices"}
_TEXT = re.compile(
    r"(?:Layout|(?:mg\.)?Tensor)(?P<number>\s*\|\s*(?:float|Any))?(?P<none>\s*\|\s*None)?$"
    r"|Sequence\[(?:mg\.)?Tensor\]$"
)


@dataclass(frozen=True)
class Signature:
    """Store the parameters of a declaration.

    parameters: all parameters, in the public order.
    operands: the names of the parameters that are tensors.
    optional: the names of the operands that may be None.
    numbers: the names of the operands that may be numbers.
    many: the name of the operand that is a sequence of tensors, or "".
    conditions: the conditions on operands, by the name of the operand.
    """

    parameters: tuple[Parameter, ...]
    operands: tuple[str, ...]
    optional: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()
    many: str = ""
    conditions: tuple[tuple[str, Condition], ...] = ()

    @property
    def params(self) -> dict[str, Any]:
        """Return the static parameters with their defaults."""
        return {p.name: p.default for p in self.parameters if p.name not in self.operands}

    @cached_property
    def roles(self) -> dict[str, Role | None]:
        """Return the roles of the parameters, by name."""
        return {p.name: role_of(p.annotation) for p in self.parameters}

    def role(self, name: str) -> Role | None:
        """Return the role of a parameter, or None."""
        return self.roles.get(name)


def read_signature(function: FunctionType, skip: int = 0) -> Signature:
    """Read the parameters of a declaration, without the first `skip` parameters: the backend and the Specs of results.

    If no parameter is annotated as a tensor, the parameters before the `*` are the operands.
    """
    annotations = annotations_of(function)
    parameters, operands, optional, numbers, many = [], [], set(), set(), ""
    conditions: list[tuple[str, Condition]] = []
    declared = parameters_of(function)[skip:]
    accepted = [kinds_of(annotations.get(p.name)) for p in declared]
    marked = any(accepted)
    for p, kinds in zip(declared, accepted, strict=True):
        if p.kind is NAMED:
            raise DeclarationError(
                f"{where_of(function)}: {function.__name__} has the parameter **{p.name}; name its parameters instead"
            )
        annotation = annotations.get(p.name, EMPTY)
        marks = getattr(annotation, "__metadata__", ())
        if any(isinstance(mark, Condition) for mark in marks):
            conditions += [(p.name, mark) for mark in marks]
            annotation = annotation.__origin__
        if not marked and p.kind is not KEYWORD:
            kinds = frozenset({"one", "number"})
        if p.name == "out" and "none" in kinds:  # `out` receives the result and is not an operand
            kinds = frozenset()
        if p.kind is SEVERAL:
            kinds = frozenset({"many"})
        if kinds:
            operands.append(p.name)
            many = p.name if "many" in kinds else many
            optional |= {p.name} if "none" in kinds else set()
            numbers |= {p.name} if "number" in kinds else set()
        parameters.append(p._replace(annotation=annotation))
    names, none, plain_numbers = tuple(operands), frozenset(optional), frozenset(numbers)
    return Signature(tuple(parameters), names, none, plain_numbers, many, tuple(conditions))


def annotations_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of a declaration, evaluated if this is possible, otherwise as text."""
    space = getattr(function, "__globals__", {})
    ours = str(space.get("__name__")).startswith("minigrad.")
    try:
        if not ours:
            return inspect.get_annotations(function, eval_str=True)
        return {name: evaluated(text, space) for name, text in function.__annotations__.items()}
    except NameError:  # raised for an annotation that only a type checker can resolve
        return inspect.get_annotations(function)


_evaluated: dict[tuple[str, str], Any] = {}


def evaluated(text: Any, space: dict[str, Any]) -> Any:
    """Return the value of an annotation in a module of this package; it is cached, because annotations repeat often."""
    if not isinstance(text, str):
        return text
    key = space["__name__"], text
    if key not in _evaluated:
        _evaluated[key] = space[text] if text in space else eval(compiled(text), space)
    return _evaluated[key]


@cache
def compiled(text: str) -> CodeType:
    """Return the code of an annotation, which several modules share."""
    return compile(text, "<annotation>", "eval")


def kinds_of(annotation: Any) -> frozenset[str]:
    """Return the kinds of values that an operand accepts, or an empty set for a static parameter.

    The kinds are "one" for a tensor, "many" for a sequence of tensors, "number", and "none" for None.
    """
    if isinstance(annotation, str):
        match = _TEXT.match(annotation.strip())
        if match is None:
            return frozenset()
        kinds = {"many" if "[" in annotation else "one", match["number"] and "number", match["none"] and "none"}
        return frozenset(kinds - {None})
    if annotation is Tensor or annotation is Layout:
        return frozenset({"one"})
    if get_origin(annotation) is Annotated:
        return kinds_of(get_args(annotation)[0])
    parts = get_args(annotation)
    if Tensor not in parts:
        return frozenset()
    if get_origin(annotation) not in (UnionType, Union):
        return frozenset({"many"} if get_origin(annotation) is Sequence else ())
    others = set(parts) - {Tensor, type(None)}
    return frozenset({"one", *(["none"] if type(None) in parts else ()), *(["number"] if others else ())})


def where_of(function: FunctionType) -> str:
    """Return the file and the line of a declaration."""
    return definition_of(function)


# ---- the function that users call -----------------------------------------------------------------------------------


def write_function(
    name: str, parameters: Callable[[], tuple[Signature, bool]],
    make: Callable[[], tuple[Sequence[str], dict[str, Any]]], returned: Any = EMPTY,
) -> Any:  # fmt: skip
    """Return the public function of a declaration; its body is written at its first call.

    parameters: returns the signature, and whether the function takes `out=` in addition.
    make: returns the lines of the body, and the values that the lines use, by name without the prefix HIDDEN.
    returned: the annotation of the result, if its op does not determine it.
    """
    names: dict[str, Any] = {"__name__": __name__}

    def write() -> Any:
        signature, out = parameters()
        return written(name, signature, *make(), names, out)

    function = at_first_call(name, names, write)

    def parts() -> tuple[list[inspect.Parameter], Any]:
        several = "Tensor" if function.op.result is None else "Any"  # `publish` has set the op
        return shown(*parameters()), several if returned is EMPTY else returned

    function.__signature__ = deferred_signature(parts)
    return function


def written(
    name: str, signature: Signature, body: Sequence[str], used: dict[str, Any], names: dict[str, Any], out: bool
) -> Any:
    """Generate and execute the source of the function for `write_function`; `names` are its globals.

    A parameter that may be passed as several arguments is read first, from these arguments or by its name.
    """
    names |= {f"{HIDDEN}{key}": value for key, value in used.items()} | {f"{HIDDEN}missing": EMPTY}
    spelled: list[str] = []
    lines: list[str] = []
    absent: list[str] = []
    star = False
    other_names = numpys_names(signature)
    for p in [*signature.parameters, *([OUT] if out else ())]:
        role = role_of(p.annotation)
        if role is not None and role.several:
            spelled += [f"*{HIDDEN}{p.name}", f"{p.name}={HIDDEN}missing"]
            lines.append(
                f"{p.name} = {HIDDEN}several({HIDDEN}op, {p.name!r}, {HIDDEN}{p.name}, {p.name}, {HIDDEN}missing)"
            )
            star = True
            continue
        if p.kind is KEYWORD and not star:
            spelled.append(f"*{HIDDEN}more" if "older" in used else "*")
        star = star or p.kind in (KEYWORD, SEVERAL)
        if p.default is EMPTY and not star and (absent or p.name in other_names):
            spelled.append(f"{p.name}={HIDDEN}missing")  # Python requires a default after a parameter that has one
            absent.append(p.name)
        elif p.default is EMPTY or p.kind is SEVERAL:
            spelled.append(f"*{p.name}" if p.kind is SEVERAL else p.name)
        else:
            names[f"{HIDDEN}default_{p.name}"] = p.default
            spelled.append(f"{p.name}={HIDDEN}default_{p.name}")
    if other_names:
        names[f"{HIDDEN}renamed"] = renamed
        spelled += [*(() if star else ("*",)), *[f"{other}={HIDDEN}missing" for other in other_names.values()]]
    for key, other in other_names.items():
        needed = signature.params[key] is EMPTY
        lines.append(
            f"if {other} is not {HIDDEN}missing{f' or {key} is {HIDDEN}missing' * needed}:\n"
            f"        {key} = {HIDDEN}renamed({name!r}, {key!r}, {key}, {other!r}, {other}, "
            f"{f'{HIDDEN}missing' if needed else f'{HIDDEN}default_{key}'})"
        )
    for key in absent:
        if key not in other_names:
            lines.append(f"if {key} is {HIDDEN}missing:\n        {HIDDEN}renamed({name!r}, {key!r}, *[{key}] * 4)")
    text = f"def {name}({', '.join(spelled)}):\n" + "".join(f"    {line}\n" for line in (*lines, *body))
    title = f"{name}({', '.join(p.name for p in signature.parameters)})"
    return defined(name, text, names, title, readable=True)


def numpys_names(signature: Signature) -> dict[str, str]:
    """Return the parameters that can also be passed by NumPy's name, as in PyTorch, such as `axis` for `dim`."""
    taken = {p.name: p.kind for p in signature.parameters}
    able = {name for name, kind in taken.items() if kind is not SEVERAL}
    return {key: other for key, other in NUMPY.items() if key in able - {*signature.operands} and other not in taken}


def renamed(function: str, key: str, value: Any, other: str, argument: Any, default: Any) -> Any:
    """Return the value of a parameter with two names.  Raises TypeError if it is passed twice or is missing."""
    if argument is EMPTY:
        raise TypeError(f"{function}() missing 1 required positional argument: {key!r}; pass {key}=...")
    if value is not default:
        raise TypeError(f"{function}() got both {key} and {other}, two names of one parameter; pass only {key}")
    return argument


def shown(signature: Signature, out: bool) -> list[inspect.Parameter]:
    """Return the parameters as an editor shows them, with Python types instead of roles."""
    parameters = []
    for p in signature.parameters:
        role = role_of(p.annotation)
        kind = SEVERAL if role is not None and role.several else p.kind
        annotation = type_of(p.default) if role is FRONT else plain(p.annotation)
        if p.default is None and isinstance(annotation, str) and "None" not in annotation and annotation != "Any":
            annotation += " | None"
        parameters.append(Parameter(p.name, kind, p.default, annotation))
    result = [*parameters, *([OUT] if out else ())]
    return [p.full() for p in result]


def type_of(default: Any) -> str:
    """Return the type of a parameter without a role, from its default; an int default means that floats are allowed."""
    return "Any" if default is None else "float" if type(default) is int else type(default).__name__


def plain(annotation: Any) -> Any:
    """Return an annotation without its role, as a Python type or its text."""
    role = role_of(annotation)
    if role is not None:
        return role.type
    if annotation is EMPTY or isinstance(annotation, str):
        return annotation
    if annotation is Layout:
        return "Tensor"
    if get_origin(annotation) in (Union, UnionType):  # a part may have a role: `Choice | None`
        return " | ".join("None" if part is type(None) else str(plain(part)) for part in get_args(annotation))
    return annotation.__name__ if isinstance(annotation, type) else shorter(annotation)


def shorter(annotation: Any) -> str:
    """Return the text of a union or a sequence without the names of modules."""
    return re.sub(r"[\w.]+\.(?=\w)", "", str(annotation))


def plain_test(signature: Signature) -> str:
    """Return the source of a condition that is true if calls can use every operand without a conversion."""
    tests = []
    for name in signature.operands:
        if name == signature.many:
            continue
        test = f"{name}.__class__ in {HIDDEN}plain"
        if name in signature.numbers:
            test = f"({test} or {name}.__class__ in {HIDDEN}numbers)"
        if name in signature.optional:
            test = f"({name} is None or {test})"
        tests.append(test)
    return " and ".join(tests)
