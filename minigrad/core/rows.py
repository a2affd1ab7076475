"""Computations along one row: a few totals of the row, then each element from its row's totals.

softmax, layer_norm and their derivatives have this form; the gradients of parameters are sums down the columns.  A
`RowFn` stores scalar functions, as an elementwise op stores one.  Each function receives the values that its argument
names refer to.  `RowFn.passes` returns the program of a row, a list of loops, which the templates of each processor
implement.  `backends/lowering/rows.py` defines the results, and `declare/rows.py` declares the ops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from minigrad.core.op import ScalarFn


@dataclass(frozen=True, slots=True)
class Total:
    """Define one value per row that is computed from all elements of the row, such as a sum.

    join: "sum" or "max" of `term`.  The arguments of `term` are the row's elements, by the operands' names, and the
        totals before this one.
    finish: the function that computes the total.  Its arguments are the first one, two or three of: the joined terms,
        the length of the row, and the parameter of the op.  None: the joined terms are the total.
    """

    name: str
    join: str
    term: ScalarFn
    finish: ScalarFn | None = None


@dataclass(frozen=True, slots=True)
class Pass:
    """Describe one loop over a row, which evaluates scalar functions of each element.

    kind: how the values are used. "sum" and "max" join the values to totals, "result" stores them, and "columns" adds
        them to sums over all rows, one sum per column.
    operands: the indices of the operands that the functions read.
    totals: the indices of the totals that the loop computes.
    keeps: whether the values of the last function are stored for the loop that computes the result.
    """

    kind: str
    scalars: tuple[ScalarFn, ...]
    operands: tuple[int, ...]
    totals: tuple[int, ...] = ()
    keeps: bool = False


@dataclass(frozen=True, slots=True)
class RowFn:
    """Store the scalar functions of a computation along rows.

    result: the function that computes one element of the output.  Its arguments are the elements of the operands and
        all totals, by name.  None: no output is computed.
    reuse: a function that computes the same element from all totals and `kept`, the value of the last total's term for
        this element.  It is declared if this term is expensive, so that a kernel can store the values of the term.
    terms: at most two functions with the arguments of `result`.  Each is summed over all rows; the sums are a vector
        with one element per column.
    """

    name: str
    operands: tuple[str, ...]
    totals: tuple[Total, ...]
    result: ScalarFn | None
    reuse: ScalarFn | None = None
    terms: tuple[ScalarFn, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names that the functions of an element may read, in the order in which loops pass the values."""
        return (*self.operands, *[total.name for total in self.totals])

    def passes(self, together: int = 1, keeps: bool = False) -> list[Pass]:
        """Return the loops over a row in order: for the totals, for the result, and for the sums over all rows.

        together: the maximum number of sums that one loop computes; no term of such a sum reads another sum of the same
            loop.
        keeps: whether the result is computed from stored terms, if `reuse` exists.
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
        """Return a copy under another name with the result, the terms, or both, and with the totals that they need."""
        made = replace(self, result=self.result if result else None, terms=self.terms if terms else ())
        asked = {a for scalar in (made.result, *made.terms) if scalar is not None for a in scalar.args}
        for total in reversed(self.totals):
            if total.name in asked:
                asked.update(total.term.args)
        return replace(
            made, name=name, operands=tuple(x for x in self.operands if x in asked),
            totals=tuple(total for total in self.totals if total.name in asked),
        )  # fmt: skip
