"""Modules that are derived from a function: some of its parameters are fields, and forward calls the function.

A class names its fields, or inherits the names.  Their defaults and types are those of the function; the signature, the
attributes, the call and the `repr` are derived from the fields.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from minigrad.core.parameters import EITHER, KEYWORD, Parameter, parameters_of
from minigrad.errors import DeclarationError
from minigrad.nn.modules.members import BUFFERS
from minigrad.nn.modules.module import Module

TENSORS = ("weight", "pos_weight", "_random_samples")  # these fields are buffers, so `module.to` moves them


def undefined(*args: Any, **kwargs: Any) -> Any:
    """Raise NotImplementedError; this is the function of a base class that only names fields."""
    raise NotImplementedError("forward: a subclass must define forward; add a method forward to the class")


def field_of(p: Parameter, kind: Any) -> inspect.Parameter:
    """Return the field for a parameter of a function, which may also take None as a flag, or a tensor as a number."""
    text = "bool" if p.default is False else str(p.annotation).replace("Tensor | float", "float")
    default = float(p.default) if text == "float" and p.default.__class__ is int else p.default
    return inspect.Parameter(p.name, kind, default=default, annotation=text)


class Fields:
    """The fields of a class by name, read at the first use from its function, which may be declared only then."""

    def __get__(self, module: Any, cls: Any) -> dict[str, inspect.Parameter]:
        known = {p.name: p for p in parameters_of(cls._function)}
        # The names of the parameters are interned, unlike parts of a text, so a call finds them faster.
        cls._fields = {p.name: field_of(p, cls._kind) for p in [known[name] for name in cls._names.split()]}
        return cls._fields


class FromFunction(Module):
    """Call a function of `mg.nn.functional` with the fields of the module as keyword arguments.

    A subclass has no parameters.  Its class arguments are `of`, the function; `fields`, the names of the parameters of
    the function that are arguments of the module; `hidden`, the names of the fields that `repr` omits; and
    `keyword_only`, which is True if fields can only be passed by name.
    """

    _function: Any = staticmethod(undefined)
    _names: str = ""
    _fields: Any = Fields()
    _kind: Any = EITHER
    _hidden: str = ""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def __init_subclass__(
        cls, of: Callable[..., Any] | None = None, fields: str = "", hidden: str = "", keyword_only: bool = False,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init_subclass__(**kwargs)
        cls._names, cls._hidden = fields or cls._names, hidden or cls._hidden
        if of is not None:
            cls._function, cls._fields, cls._kind = staticmethod(of), Fields(), KEYWORD if keyword_only else EITHER

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        try:
            values = inspect.Signature([*self._fields.values()]).bind(*args, **kwargs)
        except TypeError as error:
            raise DeclarationError(f"{type(self).__name__}: {error}") from None
        values.apply_defaults()
        for name, value in self._prepared(values.arguments).items():
            if name in TENSORS:
                self._enter(BUFFERS, name, value)
            else:
                setattr(self, name, value)

    @classmethod
    def _constructor(cls) -> inspect.Signature:
        """Return a signature with the fields in order, or that of an `__init__` that a subclass defines."""
        own = cls.__init__ is not FromFunction.__init__
        return super()._constructor() if own else inspect.Signature([*cls._fields.values()])

    def _prepared(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Return the fields to store; a subclass may check and normalize them."""
        return fields

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        d = self.__dict__
        return self._function(*args, **kwargs, **{name: d[name] for name in self._fields})

    def extra_repr(self) -> str:
        d = self.__dict__
        return ", ".join(f"{name}={d[name]!r}" for name in self._fields if name not in self._hidden.split())


def repeated(value: Any, count: int) -> tuple[Any, ...]:
    """Return a sequence as a tuple, or a tuple that contains a number `count` times."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * count
