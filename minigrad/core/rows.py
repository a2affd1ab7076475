"""Computations along one row: a few totals of the row, then each element from its row's totals.

softmax, layer_norm and their derivatives have this form; the gradients of parameters are sums down the columns.  A
`RowFn` holds the scalar functions as an elementwise op holds one; each takes the values that its arguments name.
`RowFn.passes` is the program of a row, a list of loops, which the templates of each processor lower.
`backends/reference/rows.py` defines the results, and `declare/rows.py` declares the ops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from minigrad.core.op import ScalarFn


@dataclass(frozen=True, slots=True)
class Total:
    """One number of a row.

    join: "sum" or "max" of `term`, which takes the row's elements by the operands' names, and the totals before it.
    finish: computes the total from the joined terms, the length of the row and the op's parameter, in this order, if
    it has arguments for them.  None: the joined terms are the total.
    """

    name: str
    join: str
    term: ScalarFn
    finish: ScalarFn | None = None


@dataclass(frozen=True, slots=True)
class Pass:
    """One loop over a row: it evaluates scalar functions of each element.

    kind: the use of the values.  "sum" and "max" join them to totals, "result" stores them, "columns" adds them up down
    the columns.
    operands: the indices of the operands that the functions name.
    totals: the indices of the totals that the loop computes.
    keeps: the values of the last function stay for the result.
    """

    kind: str
    scalars: tuple[ScalarFn, ...]
    operands: tuple[int, ...]
    totals: tuple[int, ...] = ()
    keeps: bool = False


@dataclass(frozen=True, slots=True)
class RowFn:
    """result: one element of the output, from the row's elements, by the operands' names, and all totals by theirs.
    None: no rows are made.

    reuse: the same from `kept`, which is the last total's term of that element, and all totals; for expensive terms,
    so that a kernel may store them.
    terms: the functions that are summed down the columns, at most two, of the arguments of `result`; each sum is a line
    of its own.
    """

    name: str
    operands: tuple[str, ...]
    totals: tuple[Total, ...]
    result: ScalarFn | None
    reuse: ScalarFn | None = None
    terms: tuple[ScalarFn, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names that functions of an element may read, in the order in which loops pass them."""
        return (*self.operands, *[total.name for total in self.totals])

    def passes(self, together: int = 1, keeps: bool = False) -> list[Pass]:
        """Return the loops over a row in order: for the totals, for the result, for the sums down the columns.

        together: the largest number of sums that one loop computes; no term of them names another of them.
        keeps: whether the result is made of stored terms, if `reuse` is there.
        """
        again = self.reuse if keeps and self.result is not None else None
        groups: list[list[int]] = []
        for position, total in enumerate(self.totals):
            before = [self.totals[k] for k in groups[-1]] if groups else []
            apart = all(x.join == total.join == "sum" and x.name not in total.term.args for x in before)
            if apart and 0 < len(before) < together:
                groups[-1].append(position)
            else:
                groups.append([position])
        loops = [self._pass(self.totals[g[0]].join, [self.totals[k].term for k in g], g) for g in groups]
        if again is not None:
            loops[-1] = replace(loops[-1], keeps=True)
        if self.result is not None:
            loops.append(self._pass("result", [again or self.result]))
        return loops + ([self._pass("columns", self.terms)] if self.terms else [])

    def _pass(self, kind: str, scalars: Sequence[ScalarFn], totals: Sequence[int] = ()) -> Pass:
        asked = {name for scalar in scalars for name in scalar.args}
        operands = tuple(k for k, name in enumerate(self.operands) if name in asked)
        return Pass(kind, tuple(scalars), operands, tuple(totals))

    def only(self, name: str, result: bool, terms: bool) -> RowFn:
        """Return the same under another name with the result, the terms, or both, and the totals for them."""
        made = replace(self, result=self.result if result else None, terms=self.terms if terms else ())
        asked = {a for scalar in (made.result, *made.terms) if scalar is not None for a in scalar.args}
        for total in reversed(self.totals):
            if total.name in asked:
                asked.update(total.term.args)
        return replace(
            made, name=name, operands=tuple(x for x in self.operands if x in asked),
            totals=tuple(total for total in self.totals if total.name in asked),
        )  # fmt: skip
