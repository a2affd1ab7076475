"""Formulas as data: `formula.py` creates them from rules, `bodies.py` from bodies; `viz/mathematics.py` prints them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, eq=False)
class Term:
    """A name, a number, or an op applied to terms.

    Terms are compared by identity, because a value that is computed once is one term.  `name` is the op or the leaf,
    and `result` is the name of one of several results, otherwise "".
    """

    name: str
    args: tuple[Term, ...] = ()
    params: dict[str, Any] = field(default_factory=dict)
    result: str = ""


def number(value: Any) -> str:
    """Return a number as text, floats with six significant digits."""
    return str(value) if isinstance(value, bool | int) else f"{value:.6g}"
