"""Parts of a record that are made at their first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self


class Later:
    """A record some of whose slots may be left empty.

    later: by the name of an empty slot, what fills it at its first use.
    """

    __slots__ = ("later",)

    def __init__(self) -> None:
        self.later: dict[str, Callable[[Self], None]] = {}

    def leave(self, parts: tuple[str, ...], make: Callable[[Self], None]) -> None:
        """Empty some slots, which `make` fills."""
        for name in parts:
            if name not in self.later:
                delattr(self, name)
            self.later[name] = make

    if not TYPE_CHECKING:  # a type checker would take every name for one that is there

        def __getattr__(self, name: str) -> Any:
            """Fill an empty slot; two threads may do so, with equal values."""
            if name == "later" or name not in self.later:
                raise AttributeError(f"{type(self).__name__} has no {name!r}")
            self.later[name](self)
            return object.__getattribute__(self, name)
