"""What is computed along one row: a few totals of it, then each element from its row's totals.

softmax, layer_norm and their derivatives have this form; the gradients of parameters are sums down the columns.  A
`RowFn` holds the scalar functions as an elementwise op holds one; `kernels/cpu/rows.py` is the loop nest around them,
`backends/reference/rows.py` says what it means, and `ops/softmax.py` and `ops/norms.py` declare the ops.
"""

from __future__ import annotations

from dataclasses import dataclass

from minigrad.core.op import ScalarFn


@dataclass(frozen=True, slots=True)
class Total:
    """One number of a row.

    join: "sum" or "max" of `term`, which sees the row's elements, one an operand, and the totals before it.
    finish: what becomes of it; sees the joined terms, the length of the row and the op's parameter, as far as it has
    arguments for them.  None: it stays.
    """

    join: str
    term: ScalarFn
    finish: ScalarFn | None = None


@dataclass(frozen=True, slots=True)
class RowFn:
    """result: one element of the output, from the row's elements, one an operand, and all totals.  None: no rows are
    made.

    reuse: the same from the last total's term of that element, and all totals; for terms that are dear to compute, so
    that a kernel may keep them.
    terms: what is summed down the columns, at most two, from what `result` sees; each sum is one more line of the
    output, behind its rows.
    """

    name: str
    operands: int
    totals: tuple[Total, ...]
    result: ScalarFn | None
    reuse: ScalarFn | None = None
    terms: tuple[ScalarFn, ...] = ()
