"""Families of functions over 1, 2 and 3 dims: one declaration, of which the number of dims is a parameter."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

OWN = ("name", "dims")


def family(declare: Callable[..., Any], **others: str) -> Callable[[FunctionType], Any]:
    """Declare the functions of a family, such as `conv1d`, `conv2d` and `conv3d`, from the definition of one of them.

    The definition has the parameters `name` and `dims` after a `*`: the name of the function that a user calls, and the
    number of dims in this name.  The public functions do not have them.

    declare: the decorator of each function, such as `composed()`.
    others: the first half of the docstrings of the other functions, by name; they refer to the definition for the rest.
    """

    def decorate(definition: FunctionType) -> Any:
        name = definition.__name__
        docs = {**{other: f"{text}; see `{name}`." for other, text in others.items()}, name: definition.__doc__}
        made = {each: declare(member(definition, each, docs[each])) for each in sorted(docs)}
        definition.__globals__.update(made)
        return made[name]

    return decorate


def member(definition: FunctionType, name: str, doc: str | None) -> FunctionType:
    """Return the function `name` of a family; it shares the code of the definition."""
    code, space = definition.__code__, definition.__globals__
    made = FunctionType(code, space, name, definition.__defaults__, definition.__closure__)
    made.__module__, made.__qualname__, made.__doc__ = definition.__module__, name, doc
    made.__kwdefaults__ = {"name": name, "dims": int(name[-2])}
    made.__annotations__ = {key: text for key, text in definition.__annotations__.items() if key not in OWN}
    signature = inspect.signature(definition)
    shown = [p for p in signature.parameters.values() if p.name not in OWN]
    made.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]
    return made
