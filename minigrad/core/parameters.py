"""The parameters of Python functions, read without the cost of `inspect`: an import reads 1,400 functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, NamedTuple

EMPTY = inspect.Parameter.empty
FIRST, EITHER, KEYWORD = (
    inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY,
)  # fmt: skip
SEVERAL, NAMED = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD


class Parameter(NamedTuple):
    """One parameter, with the fields of `inspect.Parameter`; to make one takes a tenth of the time."""

    name: str
    kind: Any = EITHER
    default: Any = EMPTY
    annotation: Any = EMPTY

    def full(self) -> inspect.Parameter:
        """Return the parameter for a signature that users see."""
        return inspect.Parameter(self.name, self.kind, default=self.default, annotation=self.annotation)


def parameters_of(function: Callable[..., Any]) -> list[Parameter]:
    """Return the parameters of a function in their order, with the annotations as they are written.

    A generated function with other parameters than its code has them as its attribute `declared_parameters`.
    """
    own = getattr(function, "__dict__", {}).get("declared_parameters")
    if own is not None:
        return list(own)
    if function.__class__ is not FunctionType or function.__dict__:  # it can have `__signature__` or `__wrapped__`
        return [
            Parameter(p.name, p.kind, p.default, p.annotation) for p in inspect.signature(function).parameters.values()
        ]
    code, notes, defaults = function.__code__, function.__annotations__, function.__defaults__ or ()
    names, count, last = code.co_varnames, code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    values = dict(zip(names[count - len(defaults) : count], defaults, strict=True)) | (function.__kwdefaults__ or {})
    kinds = [FIRST] * code.co_posonlyargcount + [EITHER] * (count - code.co_posonlyargcount)
    rows: list[tuple[str, Any]] = [*zip(names, kinds, strict=False)]
    if code.co_flags & inspect.CO_VARARGS:
        rows.append((names[last], SEVERAL))
    rows += [(name, KEYWORD) for name in names[count:last]]
    if code.co_flags & inspect.CO_VARKEYWORDS:
        rows.append((names[last + bool(code.co_flags & inspect.CO_VARARGS)], NAMED))
    return [Parameter(name, kind, values.get(name, EMPTY), notes.get(name, EMPTY)) for name, kind in rows]


class DeferredSignature(inspect.Signature):
    """A signature that is computed when it is first read, for example by `help` or by an editor.

    make: the function that returns the parameters and the annotation of the result.
    """

    make: Callable[[], tuple[Iterable[inspect.Parameter], Any]]

    def __getattr__(self, name: str) -> Any:
        if name not in inspect.Signature.__slots__:  # the slots are empty until one of them is read
            raise AttributeError(name)
        parameters, returned = self.make()
        inspect.Signature.__init__(self, [*parameters], return_annotation=returned)
        return getattr(self, name)


def deferred_signature(make: Callable[[], tuple[Iterable[inspect.Parameter], Any]]) -> DeferredSignature:
    """Return the signature of the parameters and the result that `make` returns at its first use."""
    signature = DeferredSignature.__new__(DeferredSignature)
    signature.make = make
    return signature
