"""Formulas as data: `formula.py` makes them of rules, `bodies.py` of bodies, and `viz/mathematics.py` writes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, eq=False)
class Term:
    """A name, a number, or an op on terms.  Terms are told apart by identity: what was computed once is one term.

    name: of the op or of the leaf.  result: which of several results it is, else "".
    """

    name: str
    args: tuple[Term, ...] = ()
    params: dict[str, Any] = field(default_factory=dict)
    result: str = ""


def number(value: Any) -> str:
    """A number as people write it."""
    return str(value) if isinstance(value, bool | int) else f"{value:.6g}"
