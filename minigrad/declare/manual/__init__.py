"""Docstrings with NumPy sections, which are built when `help` reads them, so that importing them costs nothing.

`documentation.py` builds the sections from the signature, the declaration, the written docstring, which `written.py`
parses, and the descriptions in `manual.toml`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, SupportsIndex


class Docstring(str):
    """Store the docstring of a public function; `help`, IPython and `inspect.getdoc` show it with all of its sections.

    The string itself is the short text of the declaration, which `doctest` reads.  All tools that show a docstring pass
    it to `inspect.cleandoc`, which first calls `expandtabs`.  This class overrides `expandtabs` to return the full
    text, because the full text is then computed only when it is shown, and not at import.
    """

    __slots__ = ("function",)
    function: Callable[..., Any]

    def __new__(cls, text: str, function: Callable[..., Any]) -> Docstring:
        """Return `text` as the docstring of `function`."""
        self = super().__new__(cls, text)
        self.function = function
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Reduce to the plain text for pickle and copy, because pickle may not be able to find the function."""
        return str, (str(self),)

    def expandtabs(self, tabsize: SupportsIndex = 8) -> str:
        """Return the docstring with its sections, without tabs."""
        from minigrad.declare.manual.documentation import documentation

        return documentation(self.function, str(self)).expandtabs(tabsize)


documented: set[type] = set()  # the classes whose methods have been documented


def document(function: Callable[..., Any]) -> None:
    """Make `help` show the docstring of a public function or class with sections."""
    if function.__doc__:
        function.__doc__ = Docstring(str(function.__doc__), function)


def document_all(names: Mapping[str, Any]) -> None:
    """Apply `document` to the functions and classes of this package in a namespace, and to their longer methods."""
    for name, value in names.items():
        ours = isinstance(value, (FunctionType, type)) and str(value.__module__).startswith("minigrad.")
        if ours and name[0] != "_" and value.__doc__.__class__ is str:
            document(value)
            for kind in value.__mro__ if isinstance(value, type) else ():
                if kind not in documented and kind.__module__.startswith("minigrad."):
                    documented.add(kind)
                    for method in [getattr(each, "__func__", each) for each in vars(kind).values()]:
                        if method.__class__ is FunctionType and "\n" in (method.__doc__ or ""):
                            document(method)
