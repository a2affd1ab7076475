"""Rules over many tensors: a scalar function that one launch applies to all tensors of a list, in place.

    @many
    def scaled(g, *, factor):
        return g * factor

    scaled.run([gradients], factor=0.5)

Positional arguments are tensors; as many of the first as the function returns are written.  Keyword arguments are
numbers that all elements share: what is computed from them alone is computed once, in float64.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from minigrad.core.later import Later
from minigrad.core.op import ScalarFn
from minigrad.errors import ArgumentError, quantity
from minigrad.kernels.hoisting import hoisted
from minigrad.kernels.scalar import parse, strip_docstring
from minigrad.runtime.many import ManyPlan, apart, rows_of
from minigrad.runtime.tensor import Tensor, expect_tensors

PLANS = 64  # largest number of plans of a rule; then the older half is removed


class Rule(Later):
    """A scalar function over rows of tensors, and the plans of its calls.

    tensors: the names of the arguments that are tensors.  numbers: those of the keyword arguments.
    written: how many of the tensors are results.
    scalar: what the kernel computes, of elements and constants.  constants: computes these of the numbers.
    """

    __slots__ = ("constants", "name", "node", "numbers", "plans", "scalar", "tensors", "where", "written")

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.name: str = function.__name__
        self.plans: dict[Any, list[tuple[list[int], ManyPlan]]] = {}
        code = function.__code__
        self.tensors = code.co_varnames[: code.co_argcount]
        self.numbers = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        self.scalar: ScalarFn
        self.later = dict.fromkeys(
            ("constants", "node", "scalar", "where", "written"), lambda rule: rule.read(function)
        )

    def read(self, function: Callable[..., Any]) -> None:
        """Parse the function and split it."""
        whole = parse(function, results=None, keywords=True)
        self.node, self.where, self.written = whole.node, whole.where, whole.results
        self.scalar, self.constants = hoisted(whole, len(self.tensors))

    def __repr__(self) -> str:
        return f"<rule {self.name}({', '.join(self.tensors)}; {', '.join(self.numbers)})>"

    def formula(self) -> str:
        """Return the statements of the rule, one line each, and the new value of each tensor that it writes."""
        *body, last = strip_docstring(self.node.body)
        assert isinstance(last, ast.Return) and last.value is not None
        values = last.value.elts if isinstance(last.value, ast.Tuple) else [last.value]
        lines = [ast.unparse(statement) for statement in body]
        pairs = zip(self.tensors, map(ast.unparse, values))
        return "\n".join([*lines, *[f"{name} = {text}" for name, text in pairs if name != text]])

    def run(self, columns: Sequence[Sequence[Tensor]], **numbers: float) -> None:
        """Apply the rule to each row of a table, which is given by its columns, and write the results.

        Nothing is recorded.  There is one launch for all tensors of the same dtypes and device.

        Parameters
        ----------
        columns : sequence of sequences of Tensor
            For each tensor argument of the rule one tensor per row.
        **numbers : float
            The keyword arguments of the rule.

        Raises
        ------
        ArgumentError
            If there are not as many columns as tensor arguments, or columns differ in length.
        ShapeError, DeviceError, StorageError
            If the tensors of a row do not go together, or one that is written must not be.
        """
        if len(columns) != len(self.tensors) or len(set(map(len, columns))) > 1:
            raise ArgumentError(
                f"{self.name}: expected {quantity(len(self.tensors), 'column')} of equal length "
                f"({', '.join(self.tensors)}), got columns of {[len(column) for column in columns]} tensors",
                op=self.name,
            )
        rows = list(zip(*columns))
        if rows:
            self.launch(rows, self.constants(**numbers))

    def launch(self, rows: list[tuple[Tensor, ...]], constants: tuple[float, ...]) -> None:
        """Apply the rule to rows, with constants that have been computed."""
        for group, plan in self.planned(rows):
            chosen = [apart(rows[k], self.written) for k in group]
            columns = [[x.storage for x in column] for column in zip(*chosen)]
            written = list(chain(*columns[: self.written]))
            plan.run(constants, list(chain(*columns[self.written :])), written, [x.buffer for x in written])

    def planned(self, rows: list[tuple[Tensor, ...]]) -> list[tuple[list[int], ManyPlan]]:
        """Return the groups of rows that share a launch, each with its plan."""
        for row in rows:
            expect_tensors(self.name, *row)
        parts = [part for row in rows for x in row for part in (x.layout, x.dtype, x.device)]
        positions: dict[Any, int] = {}  # a plan is valid for one pattern of shared memory
        key = (*parts, *[positions.setdefault(x.storage, len(positions)) for row in rows for x in row])
        result = self.plans.get(key)
        if result is None or not all(plan.current for _, plan in result):
            if len(self.plans) >= PLANS:
                for old in list(self.plans)[: PLANS // 2]:
                    del self.plans[old]
            groups = rows_of(rows, self.written)
            result = self.plans[key] = [(group, self.plan([rows[k] for k in group])) for group in groups]
        return result

    def plan(self, rows: Sequence[tuple[Tensor, ...]]) -> ManyPlan:
        """Return a plan for rows that one launch can serve."""
        return ManyPlan(self.name, self.scalar, [apart(row, self.written) for row in rows])


def many(function: Callable[..., Any]) -> Rule:
    """Declare a rule over many tensors; the body is a scalar function.

    Positional arguments are tensors, of which the first are written with the value, or the tuple of values, that is
    returned; keyword arguments are numbers.  A choice between two expressions may test a number, as in
    `-g if maximize else g`.

    Returns
    -------
    Rule
        Its `run` applies the function; `formula` shows it.
    """
    return Rule(function)
