"""Base class of records whose parts are made at their first use."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self


class Later:
    """A record in which some slots may be empty until their first use.

    later: for the name of each empty slot, the function that fills it at its first use.
    """

    __slots__ = ("later",)

    def __init__(self) -> None:
        self.later: dict[str, Callable[[Self], None]] = {}

    def leave(self, parts: tuple[str, ...], make: Callable[[Self], None]) -> None:
        """Empty some slots; `make` fills them later."""
        for name in parts:
            with suppress(AttributeError):  # the slot may be empty already
                delattr(self, name)
            self.later[name] = make

    def has(self, name: str) -> bool:
        """Return whether a slot is not empty."""
        try:
            object.__getattribute__(self, name)
        except AttributeError:
            return False
        return True

    if not TYPE_CHECKING:  # without this guard, a type checker would accept every attribute name

        def __getattr__(self, name: str) -> Any:
            """Fill an empty slot and return its value.

            Two threads may do so at the same time; they store equal values.
            """
            if name == "later" or name not in self.later:
                raise AttributeError(f"{type(self).__name__} has no {name!r}")
            make = self.later[name]
            make(self)  # it may leave a part to another function
            return object.__getattribute__(self, name) if self.later[name] is make else getattr(self, name)
