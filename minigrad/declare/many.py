"""Rules over many tensors: one kernel launch applies a scalar function to all tensors of a list, in place.

    @many
    def scaled(g, *, factor):
        return g * factor

    scaled.run([gradients], factor=0.5)

Positional arguments are tensors.  If the function returns n values, the first n tensors are written.  Keyword arguments
are numbers that all elements share; expressions of these numbers alone are computed once per call, in float64.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from itertools import chain
from types import FunctionType
from typing import Any, cast

from minigrad.core.later import Later
from minigrad.core.op import ScalarFn
from minigrad.core.plans import keep
from minigrad.declare.derived import leave_rules
from minigrad.declare.record import DERIVED, new_op
from minigrad.declare.rules import to_float
from minigrad.errors import ArgumentError, quantity
from minigrad.kernels.hoisting import hoisted
from minigrad.kernels.scalar import parse, strip_docstring
from minigrad.runtime.dispatch import apply
from minigrad.runtime.many import ManyPlan, apart, rows_of
from minigrad.runtime.operands import number
from minigrad.runtime.tensor import Tensor, expect_tensors

PLANS = 64  # largest number of plans of a rule; then the older half is removed


class Rule(Later):
    """Store a scalar function that is applied to rows of tensors, and the launch plans of its calls.

    tensors: the names of the positional arguments, which are tensors.
    numbers: the names of the keyword arguments, which are numbers.
    written: the number k such that the kernel writes the first k tensors of a row.
    scalar: the scalar function of the kernel, whose arguments are elements and constants.
    constants: the function that computes the constants from the numbers.
    op: the scalar function as an op with derived gradients, whose operands are the tensors and the constants.
    """

    __slots__ = ("constants", "name", "node", "numbers", "op", "plans", "scalar", "tensors", "where", "written")

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.name: str = function.__name__
        self.plans: dict[Any, list[tuple[list[int], ManyPlan]]] = {}
        code = function.__code__
        self.tensors = code.co_varnames[: code.co_argcount]
        self.numbers = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        self.scalar: ScalarFn
        self.later = dict.fromkeys(
            ("constants", "node", "op", "scalar", "where", "written"), lambda rule: rule.read(function)
        )

    def read(self, function: Callable[..., Any]) -> None:
        """Parse the function, and split it into the constants and the kernel's scalar function."""
        whole = parse(function, results=None, keywords=True)
        self.node, self.where, self.written = whole.node, whole.where, whole.results
        self.scalar, self.constants = hoisted(whole, len(self.tensors))
        derived: Any = (DERIVED,) * len(self.scalar.args)
        names = tuple([f"new_{name}" for name in self.tensors[: self.written]])
        outputs, source = names if self.written > 1 else ("y",), cast(FunctionType, function)
        self.op = new_op(source, "elementwise", self.scalar.args, {}, derived, outputs, zeros=True, listed=False)
        self.op.scalar, self.op.dtype_rule = self.scalar, to_float
        leave_rules(self.op, derived, later=True)

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
        """Apply the rule to each row of tensors, and write the results.

        The graph does not record this operation.  Rows of the same dtypes and device share one launch.

        Parameters
        ----------
        columns : sequence of sequences of Tensor
            One column for each tensor argument of the rule, with one tensor per row.
        **numbers : float
            The keyword arguments of the rule.

        Raises
        ------
        ArgumentError
            If the number of columns is not the number of tensor arguments, or if the columns differ in length.
        ShapeError, DeviceError, StorageError
            If the tensors of a row have shapes or devices that do not match, or if a tensor must not be written.
        """
        if len(columns) != len(self.tensors) or len(set(map(len, columns))) > 1:
            raise ArgumentError(
                f"{self.name}: expected {quantity(len(self.tensors), 'column')} of equal length "
                f"({', '.join(self.tensors)}), got columns of {[len(column) for column in columns]} tensors"
            )
        rows = list(zip(*columns))
        if rows:
            self.launch(rows, self.constants(**numbers))

    def recorded(self, tensors: Sequence[Tensor], **numbers: Any) -> tuple[Tensor, ...]:
        """Return the new values of a row of tensors, as the results of a recorded op; numbers may be 0-d tensors."""
        like = tensors[0]
        constants = [
            x if isinstance(x, Tensor) else number(x, like.dtype, like.device) for x in self.constants(**numbers)
        ]
        result = apply(self.op, (*tensors, *constants))
        return tuple(result) if self.written > 1 else (result,)

    def launch(self, rows: list[tuple[Tensor, ...]], constants: tuple[float, ...]) -> None:
        """Apply the rule to rows, with the constants that were computed from the numbers."""
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
        positions: dict[Any, int] = {}  # a plan is valid only for tensors that share storages in the same pattern
        key = (*parts, *[positions.setdefault(x.storage, len(positions)) for row in rows for x in row])
        result = self.plans.get(key)
        if result is None:
            groups = rows_of(rows, self.written)
            result = keep(self, key, [(group, self.plan([rows[k] for k in group])) for group in groups], PLANS)
        return result

    def plan(self, rows: Sequence[tuple[Tensor, ...]]) -> ManyPlan:
        """Return a plan for rows that share one launch."""
        return ManyPlan(self.name, self.scalar, [apart(row, self.written) for row in rows])


def many(function: Callable[..., Any]) -> Rule:
    """Declare an update of many tensors; the body is a scalar function, which is applied to each element.

    function: Its positional arguments are tensors, and its keyword arguments are numbers.  The returned value, or tuple
    of values, replaces the elements of the first tensors.  A conditional expression may test a number, as in `-g if
    maximize else g`.

    Returns: The rule.  Its method `run` applies the function, and its method `formula` returns the text of the
    function.
    """
    return Rule(function)
