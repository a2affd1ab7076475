"""Docstrings that grow to NumPy sections when they are read, and cost nothing before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, SupportsIndex


class Docstring(str):
    """The docstring of a public function, which `help`, IPython and `inspect.getdoc` show with all of its sections.

    Its text stays the short one of the declaration, which `doctest` reads.  All readers that show a docstring pass it
    to `inspect.cleandoc`, and that calls `expandtabs` first: the only hook that needs no work at import.
    """

    __slots__ = ("function",)
    function: Callable[..., Any]

    def __new__(cls, text: str, function: Callable[..., Any]) -> Docstring:
        """Return the docstring `text` of a function."""
        self = super().__new__(cls, text)
        self.function = function
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the plain text for a pickle or a copy: a function may be none that pickle can find."""
        return str, (str(self),)

    def expandtabs(self, tabsize: SupportsIndex = 8) -> str:
        """Return the docstring with its sections, without tabs."""
        from minigrad.declare.documentation import documentation

        return documentation(self.function, str(self)).expandtabs(tabsize)


def document(function: Callable[..., Any]) -> None:
    """Let a public function or class show its docstring with sections."""
    if function.__doc__:
        function.__doc__ = Docstring(str(function.__doc__), function)


def document_all(names: Mapping[str, Any]) -> None:
    """Let the functions and classes of this package in a namespace show their docstrings with sections."""
    for name, value in names.items():
        ours = isinstance(value, (FunctionType, type)) and str(value.__module__).startswith("minigrad.")
        if ours and name[0] != "_" and value.__doc__.__class__ is str:
            document(value)
