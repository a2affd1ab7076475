"""CSV files as tensors."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad.core.dtype import as_dtype
from minigrad.data.datasets import TensorDataset
from minigrad.data.files import content
from minigrad.errors import ArgumentError, FileError
from minigrad.ops.creation import from_numpy


class CSV(TensorDataset):
    """Read the rows of a CSV file: numbers are the features, and one column of numbers or class names is the target.

    target: Name or index of the column of the target. Without a target, a sample contains only features.
    delimiter: Character between two cells.
    header: Whether the first row contains the names of the columns. By default, it does if a cell of the first row is
    not a number and the cell below is a number.
    dtype (dtype): Dtype of the features, and of a numeric target that contains other values than integers.

    Raises FileError if the file is missing, or a cell is missing or not a number; the message names the line and the
    column.
    Raises ArgumentError if there is no column `target`.

    The attribute `columns` contains the names of the features.  For class names, the target is the index of the name in
    the sorted list `classes`, as int64.  For integers, the target is int64 as well, and `classes` is empty.
    """

    def __init__(
        self, path: Any, target: str | int | None = None, delimiter: str = ",", header: bool | None = None,
        dtype: Any = "float32",
    ) -> None:  # fmt: skip
        name = os.fspath(path)
        lines = table(name, content(path), delimiter)
        if header is None:
            header = len(lines) > 1 and any(not is_number(a) and is_number(b) for a, b in zip(lines[0][1], lines[1][1]))
        width = len(lines[0][1])
        names = [each.strip() for each in lines[0][1]] if header else [str(k) for k in range(width)]
        lines = lines[1:] if header else lines
        for number, cells in lines:
            if len(cells) != width:
                raise FileError(
                    f"CSV: {name}, line {number}: the line must have {width} cells, got {len(cells)}; correct this line"
                )
        chosen = None if target is None else column(names, target)
        kept = [k for k in range(width) if k != chosen]
        self.columns, self.classes = [names[k] for k in kept], list[str]()
        float_dtype = as_dtype(dtype).numpy
        features = np.array([[number_of(name, line, names[k], cells[k]) for k in kept] for line, cells in lines])
        parts = [features.reshape(len(lines), len(kept)).astype(float_dtype)]
        if chosen is not None:
            parts.append(self.targets_of(name, names[chosen], [(line, cells[chosen].strip()) for line, cells in lines],
                                         float_dtype))  # fmt: skip
        super().__init__(*map(from_numpy, parts))

    def targets_of(self, name: str, title: str, cells: Sequence[tuple[int, str]], dtype: Any) -> Any:
        """Return the target's column as an array; class names are stored in `classes`."""
        if not all(is_number(cell) for _, cell in cells):
            self.classes = sorted({cell for _, cell in cells})
            if "" in self.classes:
                line = next(line for line, cell in cells if not cell)
                raise FileError(
                    f"CSV: {name}, line {line}: the line must have a value in the column {title!r}, got an empty cell; "
                    "fill the cell or remove the line"
                )
            numbers = {label: k for k, label in enumerate(self.classes)}
            return np.array([numbers[cell] for _, cell in cells], np.int64)
        if all(cell.lstrip("+-").isdecimal() for _, cell in cells):
            return np.array([int(cell) for _, cell in cells], np.int64)
        return np.array([float(cell) for _, cell in cells]).astype(dtype)


def table(name: str, data: bytes, delimiter: str) -> list[tuple[int, list[str]]]:
    """Return the rows that are not empty, with their line numbers."""
    try:
        reader = csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), delimiter=delimiter, strict=True)
        lines = [(reader.line_num, cells) for cells in reader if cells]
    except (csv.Error, UnicodeDecodeError) as error:
        raise FileError(f"CSV: the file {name} is damaged ({error}); write the file again") from None
    if not lines:
        raise FileError(f"CSV: the file {name} must have at least one row of values, got none; check the file")
    return lines


def is_number(cell: str) -> bool:
    """Return whether the text of a cell is a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def number_of(name: str, line: int, title: str, cell: str) -> float:
    """Return the number in a cell; raise FileError if the cell is not a number."""
    try:
        return float(cell)
    except ValueError:
        raise FileError(
            f"CSV: {name}, line {line}: the column {title!r} must contain numbers, got {cell!r}; correct this cell"
        ) from None


def column(names: list[str], target: str | int) -> int:
    """Return the index of the target's column; raise ArgumentError if there is none."""
    if isinstance(target, str) and target in names:
        return names.index(target)
    if isinstance(target, int) and not isinstance(target, bool) and -len(names) <= target < len(names):
        return target % len(names)
    raise ArgumentError(
        f"CSV: target must be one of {', '.join(names)} or an index less than {len(names)}, got {target!r}; pass "
        "target=-1 for the last column"
    )
