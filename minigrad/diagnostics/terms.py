"""Formulas as data: `formula.py` creates them from rules, `bodies.py` from bodies; `viz/mathematics.py` prints them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, eq=False)
class Term:
    """Represent a part of a formula: a name, a number, or an op applied to other terms.

    Terms are compared by identity, because each computed value is one term.  `name` is the name of the op or of the
    leaf.  For an op with several results, `result` is the name of the result; otherwise it is "".
    """

    name: str
    args: tuple[Term, ...] = ()
    params: dict[str, Any] = field(default_factory=dict)
    result: str = ""


def number(value: Any) -> str:
    """Return a number as text, floats with six significant digits."""
    return str(value) if isinstance(value, bool | int) else f"{value:.6g}"
