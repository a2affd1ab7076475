"""The mapping between the buffers of a `Many` and the tensors of its table.

A launch receives the columns that are only read, one column after another, then the constants, then the columns that
are written.  Each column contains all rows.  The arguments of the scalar function begin with the columns that are
written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from minigrad.core.requests import Many

T = TypeVar("T")


class Table(Generic[T]):
    """The arguments of a launch (buffers, Specs or Values) as a table.

    columns: the number of tensors per row.
    written: the number of these that are results.
    """

    def __init__(self, request: Many, arguments: Sequence[T]) -> None:
        self.arguments, self.rows, self.written = arguments, request.rows, request.scalar.results
        self.columns = (len(arguments) - 1) // request.rows

    @property
    def middle(self) -> int:
        """The position of the constants among the arguments."""
        return (self.columns - self.written) * self.rows

    @property
    def constants(self) -> T:
        """The float64 vector that follows the tensors of each row as arguments."""
        return self.arguments[self.middle]

    def first(self, column: int) -> int:
        """Return the position among the arguments at which the tensors of a column begin."""
        if column < self.written:
            return self.middle + 1 + column * self.rows
        return (column - self.written) * self.rows

    def row(self, row: int) -> list[T]:
        """Return the tensors of a row, in the order of the scalar function's arguments."""
        return [self.arguments[self.first(column) + row] for column in range(self.columns)]

    def picked(self, rows: Sequence[int]) -> tuple[list[T], list[T]]:
        """Return the results and the operands of some rows, in the order of a separate request."""
        starts = [self.first(column) for column in range(self.columns)]
        tensors = [[self.arguments[start + row] for row in rows] for start in starts]
        outs = [x for column in tensors[: self.written] for x in column]
        return outs, [*[x for column in tensors[self.written :] for x in column], self.constants]
