"""Formulas for readers: a term of `diagnostics/formula.py` as a line of text, or as MathML, which browsers draw.

A value that is used twice gets a letter, which is defined after the formula.  Casts are left out.  Ops that only change
a shape are shown by name, because a formula for single elements would not show them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape
from typing import Any
from unicodedata import normalize

from minigrad.diagnostics.formula import BAR, Term

# The precedence of an op: a term is parenthesized if its position requires a higher precedence.
COMPARE, SUM, PRODUCT, SIGN, POWER, WHOLE = range(6)
INFIX = {
    "add": ("+", SUM), "sub": ("\u2212", SUM), "mul": ("\u00b7", PRODUCT), "matmul": ("@", PRODUCT),
    "eq": ("=", COMPARE), "ne": ("\u2260", COMPARE), "lt": ("<", COMPARE), "le": ("\u2264", COMPARE),
    "gt": (">", COMPARE), "ge": ("\u2265", COMPARE), "bitwise_and": ("and", COMPARE), "bitwise_or": ("or", COMPARE),
}  # fmt: skip
NAMES = {"sigmoid": "\u03c3", "log": "ln", "stretch": "spread", "expand": "spread", "view": "reshape", "ndtr": "\u03a6",
         "unsqueeze": "reshape", "squeeze": "reshape", "conj_physical": "conj"}  # fmt: skip
SAID = ("dims", "dim", "keepdim", "reverse", "to")  # names of the parameters that a formula shows
LETTERS = "stuvwpqr"
# Parentheses have the size of the text, because larger ones make a line of calls hard to read.
OPEN, CLOSE = '<mo stretchy="false">(</mo>', '<mo stretchy="false">)</mo>'
LONG = 9  # a repeated term with at least this number of characters gets a letter


def plain(term: Term) -> str:
    """Return the formula as one line of text."""
    return normalize("NFC", said(term, _Text()))


def mathml(term: Term, left: str = "") -> str:
    """Return the formula as a MathML element; `left` is the name of its value."""
    inner = said(term, _Markup())
    head = f"{_Markup().leaf(left)}<mo>=</mo>" if left else ""
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML" display="inline"><mrow>{head}{inner}</mrow></math>'


def said(term: Term, hand: Any) -> str:
    """Return a term and the definitions of its letters."""
    names = Letters(without_casts(term))
    text: list[str] = [hand.write(names.root, COMPARE, names.of)]
    for letter, part in names.parts:
        text.append(hand.leaf(letter) + hand.equals + hand.write(part, SUM, {**names.of, id(part): ""}))
    return str(hand.joined(text))


class Letters:
    """The terms that get a letter: `of` maps ids of terms to letters; `parts` lists (letter, term), outer first."""

    def __init__(self, root: Term) -> None:
        self.root = root
        uses: Counter[int] = Counter()
        order: list[Term] = []
        stack = [root]
        while stack:
            term = stack.pop()
            uses[id(term)] += 1
            if uses[id(term)] == 1:
                order.append(term)
                stack.extend(reversed(term.args))
        twice = [t for t in order if uses[id(t)] > 1 and t.args and len(_Text().write(t, COMPARE, {})) >= LONG]
        self.parts = list(zip(LETTERS, twice, strict=False))
        self.of = {id(term): letter for letter, term in self.parts}


def without_casts(term: Term) -> Term:
    """Return the term without conversions of dtype or device, and without copies."""
    made: dict[int, Term] = {}
    stack = [(term, False)]
    while stack:
        here, ready = stack.pop()
        if id(here) in made:
            continue
        if not ready:
            stack.append((here, True))
            stack.extend((arg, False) for arg in here.args)
        elif here.name in ("cast", "transfer", "clone"):
            made[id(here)] = made[id(here.args[0])]
        else:
            args = tuple(made[id(arg)] for arg in here.args)
            made[id(here)] = here if args == here.args else Term(here.name, args, here.params, here.result)
    return made[id(term)]


def turned(term: Term) -> bool:
    """Return whether a term transposes a matrix, or the last two dims."""
    if term.name == "permute":
        return tuple(term.params["dims"]) == (1, 0)
    return term.name == "transpose" and sorted(term.params.values()) == [-2, -1]


def ordered(term: Term) -> Sequence[Term]:
    """Return both operands in the usual order: numbers before names in products."""
    a, b = term.args
    numeric = not b.args and b.name.lstrip("-")[:1].isdigit()
    return (b, a) if term.name == "mul" and numeric and (a.args or not a.name[:1].isdigit()) else (a, b)


def name_of(term: Term) -> str:
    """Return the name of an op; the gradient of a view has the view's name with a transpose sign."""
    if term.name == "put_back":
        return f"{term.params['view'].name}\u1d40"
    return NAMES.get(term.name, term.name)


def params_text(term: Term) -> str:
    """Return the parameters that a formula shows, as in a call."""
    shown = [f"{key}={value}" for key, value in term.params.items() if key in SAID and value is not False]
    return ", ".join(shown)


Forms = dict[str, tuple[str, tuple[int, ...]]]


class _Text:
    """Writes formulas as text."""

    equals = " = "
    # For an op, the text with a place for each operand, the precedence of the text, and those that the places require.
    forms: Forms = {
        "neg": ("\u2212{}", (SIGN, SIGN)), "div": ("{} / {}", (PRODUCT, PRODUCT, SIGN)),
        "pow": ("{}^{}", (POWER, WHOLE, WHOLE)), "square": ("{}\u00b2", (POWER, WHOLE)),
        "reciprocal": ("1 / {}", (PRODUCT, SIGN)), "inverse_square": ("1 / {}\u00b2", (PRODUCT, WHOLE)),
        "turned": ("{}\u1d40", (POWER, WHOLE)), "where": ("({1} if {0} else {2})", (WHOLE, COMPARE, COMPARE, COMPARE)),
    }  # fmt: skip

    def leaf(self, name: str) -> str:
        return name

    def joined(self, parts: Sequence[str]) -> str:
        return ", where ".join([parts[0], ", ".join(parts[1:])]) if len(parts) > 1 else parts[0]

    def write(self, term: Term, held: int, names: dict[int, str]) -> str:
        """Return a term for a position that requires at least the precedence `held`."""
        if names.get(id(term)):
            return self.leaf(names[id(term)])
        if not term.args:
            return self.inside(self.leaf(term.name), SIGN if term.name.startswith("-") else WHOLE, held)
        form = self.forms.get("turned" if turned(term) else term.name)
        if form is not None:
            text, (tight, *parts) = form
            text = text.format(*[self.write(arg, part, names) for arg, part in zip(term.args, parts, strict=True)])
        elif term.name in INFIX and len(term.args) == 2:
            text, tight = self.infix(term, names)
        else:
            text, tight = self.call(term, names), WHOLE
        return self.inside(text, tight, held)

    def inside(self, text: str, tight: int, held: int) -> str:
        return f"({text})" if tight < held else text

    def infix(self, term: Term, names: dict[int, str]) -> tuple[str, int]:
        sign, tight = INFIX[term.name]
        a, b = ordered(term)
        right = tight + (term.name in ("sub", "matmul") or tight == COMPARE)
        return f"{self.write(a, tight, names)}{self.between(sign)}{self.write(b, right, names)}", tight

    def between(self, sign: str) -> str:
        return f" {sign} "

    def call(self, term: Term, names: dict[int, str]) -> str:
        args = [self.write(arg, COMPARE, names) for arg in term.args]
        more = params_text(term)
        result = f".{term.result}" if term.result else ""
        return f"{name_of(term)}({', '.join([*args, *([more] if more else [])])}){result}"


class _Markup(_Text):
    """Writes formulas as MathML."""

    equals = "<mo>=</mo>"
    forms: Forms = {
        "neg": ("<mo>\u2212</mo>{}", (SIGN, SIGN)),
        "div": ("<mfrac>{}{}</mfrac>", (WHOLE, COMPARE, COMPARE)),
        "pow": ("<msup>{}{}</msup>", (POWER, WHOLE, COMPARE)),
        "square": ("<msup>{}<mn>2</mn></msup>", (POWER, WHOLE)),
        "reciprocal": ("<mfrac><mn>1</mn>{}</mfrac>", (WHOLE, COMPARE)),
        "inverse_square": ("<mfrac><mn>1</mn><msup>{}<mn>2</mn></msup></mfrac>", (WHOLE, WHOLE)),
        "exp": ("<msup><mi>e</mi>{}</msup>", (POWER, COMPARE)),
        "sqrt": ("<msqrt>{}</msqrt>", (WHOLE, COMPARE)),
        "abs": ("<mo>|</mo>{}<mo>|</mo>", (WHOLE, COMPARE)),
        "turned": ("<msup>{}<mi>T</mi></msup>", (POWER, WHOLE)),
        "where": (
            '<mo>{{</mo><mtable columnalign="left"><mtr><mtd>{1}</mtd><mtd><mtext>if </mtext>{0}</mtd></mtr>'
            "<mtr><mtd>{2}</mtd><mtd><mtext>else</mtext></mtd></mtr></mtable>", (WHOLE, COMPARE, COMPARE, COMPARE),
        ),
    }  # fmt: skip

    def leaf(self, name: str) -> str:
        kind = "mn" if name.lstrip("-")[:1].isdigit() else "mi"
        if name.endswith(BAR):
            return f"<mover><mi>{escape(name[:-1])}</mi><mo>\u00af</mo></mover>"
        return f"<{kind}>{escape(name)}</{kind}>"

    def joined(self, parts: Sequence[str]) -> str:
        return f"{parts[0]}<mtext>\u2002where\u2002</mtext>{'<mo>,</mo>'.join(parts[1:])}" if parts[1:] else parts[0]

    def inside(self, text: str, tight: int, held: int) -> str:
        return f"<mrow>{OPEN}{text}{CLOSE}</mrow>" if tight < held else f"<mrow>{text}</mrow>"

    def between(self, sign: str) -> str:
        return f"<mtext> {sign} </mtext>" if sign.isalpha() else f"<mo>{escape(sign)}</mo>"

    def call(self, term: Term, names: dict[int, str]) -> str:
        args = [self.write(arg, COMPARE, names) for arg in term.args]
        more = params_text(term)
        args += [f"<mtext>{escape(more)}</mtext>"] if more else []
        result = f"<mtext>.{escape(term.result)}</mtext>" if term.result else ""
        return f"<mi>{escape(name_of(term))}</mi>{OPEN}{'<mo>,</mo>'.join(args)}{CLOSE}{result}"
