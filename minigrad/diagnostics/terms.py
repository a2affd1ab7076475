"""Formulas as data: `formula.py` makes them of rules, `bodies.py` of bodies, and `viz/mathematics.py` writes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, eq=False)
class Term:
    """A name, a number, or an op on terms.  Terms are compared by identity: a value computed once is one term.

    name: of the op or of the leaf.  result: its name among several results, otherwise "".
    """

    name: str
    args: tuple[Term, ...] = ()
    params: dict[str, Any] = field(default_factory=dict)
    result: str = ""


def number(value: Any) -> str:
    """Return a number as people write it."""
    return str(value) if isinstance(value, bool | int) else f"{value:.6g}"
