"""Build the docstring of a public function with NumPy sections, from facts that are declared once.

The signature specifies the parameters and their defaults, the role of a parameter describes it, and the kind of the op
determines the description of the result.  The written docstring adds the rest by a few conventions: its first sentence
is the summary; "name: text" describes a parameter, or "name (type): text" if the annotation says less.  "Returns: ...",
"Gradient: ...", "Source: ..." and "Raises XError for ..." become separate sections; lines after `>>>` are an example.
All other text goes into the Notes.  `manual.toml` describes the parameters and results that no docstring describes, and
has the examples of the shortest declarations.  `help` and the site call `documentation`; nothing is read or built when
the package is imported.
"""

from __future__ import annotations

import inspect
import re
import textwrap
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from minigrad.core.op import Op
from minigrad.core.roles import Role, role_of
from minigrad.declare.manual.written import Text, ended
from minigrad.declare.signature import plain, shorter


def inverted(table: Mapping[str, str]) -> dict[str, str]:
    """Return a table that maps each name to its description, from one that maps a description to its names."""
    return {name: text for text, names in table.items() for name in names.split()}


MANUAL = tomllib.loads(Path(__file__).with_name("manual.toml").read_text(encoding="utf-8"))
OPERANDS, RESULTS, EXAMPLES = inverted(MANUAL["operands"]), inverted(MANUAL["results"]), MANUAL["examples"]
TYPES = inverted(MANUAL["types"])
PARAMETERS = MANUAL["parameters"] | OPERANDS | inverted(MANUAL["functions"])
__test__ = {name: f">>> import minigrad as mg\n{text}" for name, text in EXAMPLES.items()}  # doctest runs the examples
WIDTH = 88  # columns of the text, without the indentation by `help`
ORDER = ("Parameters", "Attributes", "Returns", "Yields", "Raises", "Gradient", "Notes", "References", "Examples")

# How the dtype of the result of an elementwise op follows from those of its operands, by the name of the rule.
DTYPES = {
    "promote": "Its dtype is the promoted dtype of the operands.",
    "number": "Its dtype is the promoted dtype of the operands.",
    "to_float": "Its dtype is the promoted dtype if that is a float, otherwise the default float.",
    "compare": "Its dtype is bool.",
    "integer": "Its dtype is the promoted dtype of the operands.",
    "logical": "Its dtype is bool.",
    "select": "Its dtype is the promoted dtype of the last two operands.",
}
PLAIN_ROLES = ("Choice", "Flag", "Front", "Int", "Scalar", "Size")  # roles whose descriptions add nothing to the type
ORDINALS = ("first", "second", "third", "fourth", "fifth", "next")  # for operands without a description
REFUSED = {"number": "If every operand is bool.", "integer": "If an operand is a float."}


def documentation(function: Callable[..., Any], text: str | None = None) -> str:
    """Return the docstring of a public function with its sections.

    text: the written docstring; by default `function.__doc__`.
    """
    parameters = visible(function)
    written = Text(
        inspect.cleandoc(str(function.__doc__ or "") if text is None else text), [p.name for p in parameters]
    )
    attribute = getattr(function, "op", None)
    op = attribute if isinstance(attribute, Op) else None
    sections = {name: filled(lines) for name, lines in written.sections.items()}
    if parameters:
        sections["Parameters"] = "\n".join(parameter_entry(function, op, p, written) for p in parameters)
    if "Yields" not in sections and not isinstance(function, type):
        sections.setdefault("Returns", returned(function, op, written))
    if op is not None and op.kind == "elementwise" and (rule := rule_name(op)) in REFUSED:
        written.raised += [("DTypeError", REFUSED[rule])] * ("DTypeError" not in dict(written.raised))
    if function.__name__ in EXAMPLES and str(function.__module__).startswith(
        ("minigrad.ops.", "minigrad.nn.functional")
    ):
        sections.setdefault("Examples", EXAMPLES[function.__name__])
    if written.raised:
        sections["Raises"] = "\n".join(entry(name, reason) for name, reason in written.raised)
    if op is not None and op.kind in ("elementwise", "reduction", "kernel") and not any(op.rules) and op.joint is None:
        sections.setdefault("Gradient", "Not differentiable: the result does not require a gradient.")
    order = [*ORDER, *[name for name in sections if name not in ORDER]]
    shown = [f"{name}\n{'-' * len(name)}\n{sections[name]}" for name in order if sections.get(name)]
    return "\n\n".join([written.summary, *shown])


def visible(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters that users pass, without `self` or `cls`; [] if there is no signature."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []
    return parameters[1:] if parameters and parameters[0].name in ("self", "cls") else parameters


def parameter_entry(function: Callable[..., Any], op: Op | None, p: inspect.Parameter, written: Text) -> str:
    """Return the entry of one parameter: its name, type and default, and its description."""
    stars = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
    declared = getattr(op, "signature", None)
    annotations = {each.name: each.annotation for each in declared.parameters} if declared is not None else {}
    own = of_called(function, p) if p.annotation in (Any, "Any") else p.annotation
    role = find_role(annotations.get(p.name)) or find_role(own)
    kind, description = written.described.get(stars + p.name) or written.described.get(p.name) or inherited(function, p)
    shown = kind or (TYPES.get(p.name, "Any") if own in (Any, "Any") else type_text(own, role))
    if p.default is not p.empty and not re.search(r"\b(default|optional)\b", kind):
        default = p.default.__name__ if inspect.isfunction(p.default) else repr(p.default)
        shown = f"{shown.removesuffix(' | None')}, optional" if p.default is None else f"{shown}, default {default}"
    return entry(f"{stars}{p.name} : {shown}", description or described(function, op, p, role))


def inherited(function: Callable[..., Any], p: inspect.Parameter) -> tuple[str, str]:
    """Return the type and description of a parameter of a class from the docstring of a base class, or ("", "")."""
    bases = function.__mro__[1:] if isinstance(function, type) else ()
    ours = [base for base in bases if base.__doc__ and base.__module__.startswith("minigrad.")]
    texts = (Text(inspect.cleandoc(str(base.__doc__)), [p.name, *[own.name for own in visible(base)]]) for base in ours)
    return next((text.described[p.name] for text in texts if p.name in text.described), ("", ""))


def of_called(function: Callable[..., Any], p: inspect.Parameter) -> Any:
    """Return the annotation of a field of a module in the function that the module calls, or that of the field."""
    called = vars(function).get("_function") if isinstance(function, type) else None
    return inspect.signature(called.__func__).parameters.get(p.name, p).annotation if called else p.annotation


def find_role(annotation: Any) -> Role | None:
    """Return the role in an annotation or in a part of a union, or None."""
    own = role_of(annotation)
    return own or next((role for part in getattr(annotation, "__args__", ()) if (role := role_of(part))), None)


def type_text(annotation: Any, role: Role | None) -> str:
    """Return an annotation as text."""
    if annotation is inspect.Parameter.empty:
        return "Any"
    text = str(plain(annotation))
    if "Annotated[" in text:
        return f"{role.type} | None" if role is not None and "Optional" in text else role.type if role else "Any"
    return TYPES.get(text, text) if isinstance(annotation, str) else shorter(text)


def described(function: Callable[..., Any], op: Op | None, p: inspect.Parameter, role: Role | None) -> str:
    """Return the description of a parameter that the docstring does not describe, or ""."""
    name, several = p.name, "Sequence" in str(p.annotation) or p.kind is p.VAR_POSITIONAL
    ours = str(function.__module__).startswith("minigrad")  # in a user's op, the same name may have another meaning
    if ours and (text := of_function(function, name)):
        return text
    if role is not None and role.name not in PLAIN_ROLES:
        return ended(role.doc)
    if name == "out" and op is not None and op.result is not None:
        return "Tuple of tensors that receive the results and are returned."
    if ours and p.default is None and f"{name}=None" in PARAMETERS:
        return PARAMETERS[f"{name}=None"]
    if name in PARAMETERS and (ours or name == "out"):
        return PARAMETERS[name]
    if op is None and (writes := getattr(function, "writes", ())) and "Tensor" in str(p.annotation):
        return "Tensor that is changed and returned." if name in writes else "Tensor that broadcasts to its shape."
    if op is None:
        return "Second operand." if name == "other" else "Tensor." if "Tensor" in str(p.annotation) else ""
    if name == "keepdim":
        return "Whether reduced dims stay, with length 1."
    if not ("Tensor" in str(p.annotation) or name in op.operands):
        return "" if role is None or role.name == "Front" else ended(role.doc)
    if op.kind == "elementwise":
        return "Operand of any shape." if len(op.operands) == 1 else "Operand; the operands broadcast to one shape."
    if op.kind in ("reduction", "view"):
        return "Tensor to reduce." if op.kind == "reduction" else "Tensor whose memory the result shares."
    ordinal = ORDINALS[min(op.operands.index(name), len(ORDINALS) - 1)] if name in op.operands else "tensor"
    return "Tensors." if several else f"The {ordinal} operand{', or None' if p.default is None else ''}."


def of_function(function: Callable[..., Any], name: str) -> str:
    """Return the description of a parameter that belongs to one function, or to all classes, or ""."""
    own = function.__name__.rpartition(".")[2]  # `mg.dist` is a module that can be called
    bases = [*[base.__name__ for base in function.__mro__[1:]], "class"] if isinstance(function, type) else []
    owners = (own, own.rstrip("_"), *bases)  # `add_` is documented as `add`
    return next((PARAMETERS[key] for owner in owners if (key := f"{owner}.{name}") in PARAMETERS), "")


def rule_name(op: Op) -> str:
    """Return the name of the dtype rule of an op."""
    return str(getattr(op.dtype_rule, "__name__", ""))


def returned(function: Callable[..., Any], op: Op | None, written: Text) -> str:
    """Return the text of the Returns section, or "" for a function that returns None."""
    annotation = inspect.signature(function).return_annotation
    if annotation in (None, "None", type(None)):
        return ""
    kind, described_result = written.result
    result = kind or type_text(annotation, None)
    text = sentence_of(written.summary) or result_of(function) or "The result."
    if op is not None and op.result is not None and result == "Any":
        result = "tuple of Tensor"
        fields = " and ".join(f"`{field}`" for field in vars(op.result)["_fields"])
        text = f"Named tuple with the fields {fields}." if op.kind == "elementwise" else text
    elif op is not None and result == "Any":
        result = "Tensor or tuple of Tensor"
    elif op is not None and op.kind == "view":
        text = f"View that shares the memory of `{op.signature.operands[0]}`; nothing is copied."
    elif op is not None and op.kind == "elementwise":
        single = len(op.operands) == 1
        shape = "the shape of the operand" if single else "the shape to which the operands broadcast"
        text = f"Tensor with {shape}. {DTYPES.get(rule_name(op), '')}".strip()
    elif op is not None and op.kind == "reduction":
        text = "Tensor without the reduced dims; with `keepdim` they have length 1."
    return entry(result, described_result or text)


def result_of(function: Callable[..., Any]) -> str:
    """Return the description of a function's result from the manual, or "".

    A function whose name ends in "_" writes in place and returns the same tensor.
    """
    name = function.__name__
    text = RESULTS.get(f"{function.__module__.rpartition('.')[2]}.{name}") or RESULTS.get(name)
    return text or (RESULTS["_"] if name.endswith("_") else "")


def sentence_of(summary: str) -> str:
    """Return "The sine." for the summary "Return the sine."; "" if the summary does not begin with "Return"."""
    return ended(summary.removeprefix("Return ")) if summary.startswith("Return ") else ""


# ---- text -----------------------------------------------------------------------------------------------------------


def entry(head: str, text: str) -> str:
    """Return an entry of a section: its head, and the wrapped text in indented lines."""
    lines = textwrap.wrap(text, WIDTH - 4, break_long_words=False, break_on_hyphens=False)
    return "\n".join([head, *[f"    {line}" for line in lines]])


def filled(paragraphs: Sequence[str]) -> str:
    """Join paragraphs, and wrap each of them unless it is an example, a table or has several lines."""
    shown = []
    for text in paragraphs:
        fixed = ">>>" in text or any(line.startswith((" ", "* ", "|")) for line in text.splitlines()) or "---" in text
        wrap = textwrap.fill(" ".join(text.split()), WIDTH, break_long_words=False, break_on_hyphens=False)
        shown.append(text if fixed or "\n" in text else wrap)
    return "\n\n".join(shown)
