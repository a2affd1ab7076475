"""Formulas of derivative rules: the printed formula is the computation."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import op_table
import pytest
from op_support import arrays
from selection import over_rows

import minigrad as mg
from minigrad.autodiff.holding import values_of
from minigrad.diagnostics.flow import flow
from minigrad.diagnostics.formula import Term, barred, forward_of, rules_of
from minigrad.errors import MinigradError
from minigrad.runtime.data import host_array
from minigrad.runtime.tensor import Tensor
from minigrad.viz.mathematics import mathml, plain


def walked(row: Any) -> list[Any]:
    """The steps back from a row of the op table, in float64; none where it has no derivative."""
    given = [
        mg.tensor(x, device="reference") if kind == "bool" else mg.Var(x, device="reference")
        for x, kind in zip(arrays(row), row.domains, strict=True)
    ]
    try:
        y = row.fn(*given)
        found: list[Any] = flow(y if isinstance(y, Tensor) else y[0]).steps
    except MinigradError:
        return []
    return found


def formulas(name: str) -> list[str]:
    return [plain(rule.term) for step in walked(op_table.BY_NAME[name])[:1] for rule in rules_of(step)]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("mul", ["ȳ · other", "ȳ · input"]),
        ("div", ["ȳ / other", "−(ȳ · y) / other"]),
        ("tanh", ["ȳ · (1 − y · y)"]),
        ("sqrt", ["ȳ / (2 · y)"]),
        ("relu", ["(0 if y ≤ 0 else ȳ)"]),
        ("gelu_tanh", ["ȳ · (0.5 · (s + 1) + 0.5 · x · (1 − s · s) · 0.797885 · (0.134145 · t + 1)), "
                       "where s = tanh(0.797885 · x · (0.044715 · t + 1)), t = minimum(x · x, 10000)"]),
        ("floor", ["0"]),
    ],
)  # fmt: skip
def test_a_rule_reads_as_people_write_it(name: str, wanted: list[str]) -> None:
    assert formulas(name) == wanted


def test_products_transposes_sums_and_views() -> None:
    a, b, c = mg.Var(np.ones((2, 3))), mg.Var(np.ones((3, 4))), mg.Var(np.ones(4))
    steps = flow((a @ b + c)[0].sum()).steps
    told = {step.node.name: [plain(rule.term) for rule in rules_of(step)] for step in steps}
    assert told == {
        "sum": ["spread(ȳ, dims=(0,))"],
        "index": ["indexᵀ(ȳ)"],
        "add": ["ȳ", "sum(ȳ, to=(4,))"],
        "matmul": ["ȳ @ otherᵀ", "inputᵀ @ ȳ"],
    }
    assert [plain(forward_of(step.node)) for step in steps] == [
        "sum(x, dims=(0,))",
        "index(input)",
        "input + other",
        "input @ other",
    ]


@over_rows(items=20)
def test_every_rule_of_every_op_has_a_formula_and_markup(row: Any) -> None:
    for step in walked(row):
        rules = rules_of(step)
        assert [rule.value for rule in rules] == [partial for _, partial in step.passed]
        for rule in rules:
            assert rule.term is not None and plain(rule.term)
            ET.fromstring(mathml(rule.term, barred("x")))
        assert plain(forward_of(step.node))
        ET.fromstring(mathml(forward_of(step.node), "y"))


def test_a_cube_is_a_power() -> None:
    y = mg.Var([2.0], device="reference") ** 3
    assert y.op is not None and plain(forward_of(y.op)) == "x^3"
    assert "x^3" in str(mg.viz.step(y.sum()))


SERIES = 300
ELEMENTWISE = [row for row in op_table.ROWS if row.elementwise]
WORDS = {"·": "*", "−": "-", "≥": ">=", "≤": "<=", "≠": "!=", " = ": " == ", "²": "**2", "^": "**", "ȳ": "g"}
WORDS["d mantissa"] = "g"  # of an op with several results
FUNCTIONS: dict[str, Any] = {
    name: getattr(math, name) for name in "exp exp2 log1p expm1 sqrt sin cos sinh cosh tanh pi inf".split()
} | {
    "ln": math.log, "σ": lambda x: 1 / (1 + math.exp(-x)), "Φ": lambda x: 0.5 * math.erfc(-x / math.sqrt(2)),
    "sign": lambda x: float(np.sign(x)), "minimum": min, "maximum": max, "hypot": math.hypot,
    "floor_divide": lambda a, b: a // b, "trunc": math.trunc, "relu": lambda x: max(x, 0.0),
    "logical_and": lambda a, b: a and b, "logical_or": lambda a, b: a or b,
} | {
    name: lambda *xs, op=mg.schema[name].public: float(op(*[mg.tensor(x, device="reference") for x in xs]).item())
    for name in "digamma trigamma i0 i0e i1 i1e zeta sinc_derivative".split()
}  # fmt: skip


@over_rows(ELEMENTWISE, items=20)
def test_a_printed_formula_computed_by_hand_gives_the_gradient(row: Any) -> None:
    """Python computes the text, element by element: a lost parenthesis would show."""
    for step in walked(row):
        node = step.node
        names = [node.op.value_name(k) for k in node.op.saves[node.mask]]
        shape = node.shape
        given = {n: np.broadcast_to(host_array(x), shape) for n, x in zip(names, values_of(node), strict=True)}
        given["g"] = host_array(step.arrived[0])
        for rule in rules_of(step):
            text, _, rest = plain(rule.term).partition(", where ")
            for word, code in WORDS.items():
                text, rest = text.replace(word, code), rest.replace(word, code)
            letters = [part.split(" == ", 1) for part in re.split(r", (?=\w+ == )", rest) if part]
            if rule.value.shape != shape or len(text) > SERIES:
                continue  # summed after it, or a series whose parts have more letters than there are
            for at in np.ndindex(shape):
                scope: dict[str, Any] = FUNCTIONS | {name: float(x[at]) for name, x in given.items()}
                for letter, meaning in reversed(letters):
                    scope[letter] = eval(meaning, {}, scope)
                wanted = float(host_array(rule.value)[at])
                assert eval(text, {}, scope) == pytest.approx(wanted, rel=1e-4, abs=1e-7), plain(rule.term)


def test_what_a_user_wrote_for_numpy_has_no_formula() -> None:
    class Twice(mg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return mg.tensor(g.numpy() * 2)

    steps = flow(Twice.apply(mg.Var([1.0])).sum()).steps
    assert [rule.term is None for step in steps for rule in rules_of(step)] == [False, True]


def test_a_term_that_is_used_once_gets_no_letter() -> None:
    x = Term("x")
    inner = Term("sigmoid", (Term("add", (x, x)),))
    assert plain(Term("mul", (inner, inner))) == "σ(x + x) · σ(x + x)"
    long = Term("sigmoid", (Term("add", (Term("alpha"), x)),))
    assert plain(Term("mul", (long, long))) == "s · s, where s = σ(alpha + x)"
    assert plain(Term("sub", (x, Term("sub", (x, x))))) == "x − (x − x)"
    assert plain(Term("neg", (Term("pow", (x, Term("-2"))),))) == "−x^(-2)"
