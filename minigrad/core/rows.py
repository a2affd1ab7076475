"""What is computed along one row: a few totals of it, then each element from its row's totals.

softmax, layer_norm and their derivatives have this form; the gradients of parameters are sums down the columns.  A
`RowFn` holds the scalar functions as an elementwise op holds one, and each takes what its arguments name.
`kernels/cpu/rows.py` is the loop nest around them, `backends/reference/rows.py` defines it, and `declare/rows.py`
declares the ops.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from minigrad.core.op import ScalarFn


@dataclass(frozen=True, slots=True)
class Total:
    """One number of a row.

    join: "sum" or "max" of `term`, which sees the row's elements by the operands' names, and the totals before it.
    finish: what becomes of it; sees the joined terms, the length of the row and the op's parameter, as far as it has
    arguments for them, in this order.  None: it stays.
    """

    name: str
    join: str
    term: ScalarFn
    finish: ScalarFn | None = None


@dataclass(frozen=True, slots=True)
class RowFn:
    """result: one element of the output, from the row's elements, by the operands' names, and all totals by theirs.
    None: no rows are made.

    reuse: the same from `kept`, which is the last total's term of that element, and all totals; for terms that are dear
    to compute, so that a kernel may keep them.
    terms: what is summed down the columns, at most two, from what `result` sees; each sum is a line of its own.
    """

    name: str
    operands: tuple[str, ...]
    totals: tuple[Total, ...]
    result: ScalarFn | None
    reuse: ScalarFn | None = None
    terms: tuple[ScalarFn, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """What functions of an element may ask for, in the order in which loops hand it out."""
        return (*self.operands, *[total.name for total in self.totals])

    def only(self, name: str, result: bool, terms: bool) -> RowFn:
        """The same under another name with the result or with the terms alone, or both: what they need, and no more."""
        made = replace(self, result=self.result if result else None, terms=self.terms if terms else ())
        asked = {a for scalar in (made.result, *made.terms) if scalar is not None for a in scalar.args}
        for total in reversed(self.totals):
            if total.name in asked:
                asked.update(total.term.args)
        return replace(
            made, name=name, operands=tuple(x for x in self.operands if x in asked),
            totals=tuple(total for total in self.totals if total.name in asked),
        )  # fmt: skip
