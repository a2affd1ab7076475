"""Declarations for forward mode: the records of `linear=` and `jvp=`.

`declare/claims.py` reads and checks them.  `autodiff/forward.py` applies them and derives the rules that are not
declared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Jvp:
    """Store a declared JVP rule of forward mode: the function, and the source of each of its positional arguments.

    wants: a pair (kind, index) per argument: ("tangent", k) and ("value", k) are the tangent and the value of operand
    k, and ("result", k) is result k.
    facts: the names of the parameters and static facts that the function receives by keyword.
    foreign: whether the function was defined outside this package.
    tangents: the indices of the operands whose tangents the function receives.
    """

    __slots__ = ("facts", "fn", "foreign", "tangents", "wants")

    def __init__(self, fn: Callable[..., Any], wants: tuple[tuple[str, int], ...], facts: tuple[str, ...]) -> None:
        self.fn, self.wants, self.facts = fn, wants, facts
        self.foreign = not str(getattr(fn, "__module__", "")).startswith("minigrad.")
        self.tangents = tuple(k for kind, k in wants if kind == "tangent")


class Linear:
    """Declare in which operands an op is linear, as groups of operand names.

    The op is linear in the operands of a group if the operands outside the group are constant.  `joint("x", "src")` is
    one group.  `each("a", "b")` has one group per operand, as for a product.  `each(("c", "a"), ("c", "b"))` describes
    c + a @ b: it is linear in c and a together while b is constant, and in c and b together while a is constant.
    """

    __slots__ = ("groups",)

    def __init__(self, groups: tuple[tuple[str, ...], ...]) -> None:
        self.groups = groups

    def __repr__(self) -> str:
        return f"Linear{self.groups}"


def joint(*operands: str) -> Linear:
    """Return the record "linear in these operands together"."""
    return Linear((operands,))


def each(*groups: str | tuple[str, ...]) -> Linear:
    """Return a record: linear in each of these operands or groups of operands while the others are held.

    An example is `linear=each("a", "b")`.
    """
    return Linear(tuple((group,) if isinstance(group, str) else tuple(group) for group in groups))
