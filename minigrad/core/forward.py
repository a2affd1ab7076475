"""Declarations for forward mode: the records of `linear=` and `jvp=`.

`declare/claims.py` reads and checks them, `autodiff/forward.py` uses them and derives the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Jvp:
    """A declared rule of forward mode: the function, and the source of each of its positional arguments.

    wants: pairs (kind, index): ("tangent", k) and ("value", k) of operand k, ("result", k) of result k.
    facts: the parameters and static facts that it reads by keyword.  foreign: it was not written in this package.
    tangents: the operands whose tangents it takes.
    """

    __slots__ = ("facts", "fn", "foreign", "tangents", "wants")

    def __init__(self, fn: Callable[..., Any], wants: tuple[tuple[str, int], ...], facts: tuple[str, ...]) -> None:
        self.fn, self.wants, self.facts = fn, wants, facts
        self.foreign = not str(getattr(fn, "__module__", "")).startswith("minigrad.")
        self.tangents = tuple(k for kind, k in wants if kind == "tangent")


class Linear:
    """In which operands an op is linear: groups of names, in each of them together while the others are held.

    `joint("x", "src")` is one group; `each("a", "b")` is one for each operand, a product.  `each(("c", "a"), ("c",
    "b"))` is c + a @ b, which is linear in c and a while b is held, and in c and b while a is.
    """

    __slots__ = ("groups",)

    def __init__(self, groups: tuple[tuple[str, ...], ...]) -> None:
        self.groups = groups

    def __repr__(self) -> str:
        return f"Linear{self.groups}"


def joint(*operands: str) -> Linear:
    """Linear in these operands together: `linear=joint("x", "src")`."""
    return Linear((operands,))


def each(*groups: str | tuple[str, ...]) -> Linear:
    """Linear in each of these operands, or groups of them, while the others are held: `linear=each("a", "b")`."""
    return Linear(tuple((group,) if isinstance(group, str) else tuple(group) for group in groups))
