"""Modules that are derived from a function: annotated fields are its arguments, and forward calls the function.

A class states each field once, with its default, or inherits all fields.  The signature, the attributes, the call and
the `repr` are derived from the fields.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, dataclass_transform

from minigrad.errors import DeclarationError
from minigrad.nn.modules.members import BUFFERS
from minigrad.nn.modules.module import Module

TENSORS = ("weight", "pos_weight", "_random_samples")  # these fields are buffers, so `module.to` moves them


def fields_of(cls: Any) -> inspect.Signature:
    """Return the signature that the fields of a class define; attributes of the class and its bases are defaults."""
    if "_own_signature" not in cls.__dict__:
        kind = inspect.Parameter.KEYWORD_ONLY if cls._keyword_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
        defaults = {name: value for base in reversed(cls.__mro__) for name, value in vars(base).items()}
        cls._own_signature = inspect.Signature([
            inspect.Parameter(name, kind, default=defaults.get(name, inspect.Parameter.empty), annotation=text)
            for name, text in cls._fields.items()
        ])  # fmt: skip
    signature: inspect.Signature = cls._own_signature
    return signature


def undefined(*args: Any, **kwargs: Any) -> Any:
    """Raise NotImplementedError; a base class that only declares fields uses this."""
    raise NotImplementedError("forward: a subclass must define forward; add a method forward to the class")


class FieldSignature:
    """The signature of a class: its fields in order, or the signature of an `__init__` that a subclass defines."""

    def __get__(self, module: Any, cls: Any) -> inspect.Signature:
        if module is not None:
            return inspect.signature(module._function)
        if cls.__init__ is FromFunction.__init__:
            return fields_of(cls)
        signature = inspect.signature(cls.__init__)
        return signature.replace(parameters=list(signature.parameters.values())[1:])


@dataclass_transform()
class FromFunction(Module):
    """Call a function of `mg.nn.functional` with the fields of the module as keyword arguments.

    A subclass defines the fields and has no parameters.  Its class arguments are `of`, the function; `hidden`, the
    names of the fields that `repr` omits; and `keyword_only`, which is True if fields can only be passed by name.
    """

    __signature__: Any = FieldSignature()
    _function: Any = None
    _fields: dict[str, Any] = {}
    _hidden: tuple[str, ...] = ()
    _keyword_only = False

    def __init_subclass__(
        cls, of: Callable[..., Any] | None = None, hidden: tuple[str, ...] | None = None, keyword_only: bool = False,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init_subclass__(**kwargs)
        if of is not None:
            cls._function = staticmethod(of)
            cls._fields = inspect.get_annotations(cls) or cls._fields
            cls._keyword_only = keyword_only
        if hidden is not None:
            cls._hidden = hidden

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        try:
            values = fields_of(type(self)).bind(*args, **kwargs)
        except TypeError as error:
            raise DeclarationError(f"{type(self).__name__}: {error}") from None
        values.apply_defaults()
        for name, value in self._prepared(values.arguments).items():
            if name in TENSORS:
                self._enter(BUFFERS, name, value)
            else:
                setattr(self, name, value)

    def _prepared(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Return the fields to store; a subclass may check and normalize them."""
        return fields

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        d = self.__dict__
        return self._function(*args, **kwargs, **{name: d[name] for name in self._fields})

    def extra_repr(self) -> str:
        d = self.__dict__
        return ", ".join(f"{name}={d[name]!r}" for name in self._fields if name not in self._hidden)


def repeated(value: Any, count: int) -> tuple[Any, ...]:
    """Return a sequence as a tuple, or a tuple that contains a number `count` times."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * count
