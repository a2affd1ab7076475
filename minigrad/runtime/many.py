"""One launch over a table of tensors that are written in place: the plan of a `Many`, its checks and its call.

`rows_of` groups tensors that one launch can process: they are on one device and have the same dtypes, column by column,
and no two of them write the same memory.  A `ManyPlan` can be used for tensors with the same layouts as those that it
was made for.  It writes, counts the writes, and records nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from struct import Struct
from typing import Any

import numpy as np

from minigrad.backends.host import HostMemory
from minigrad.backends.launch import as_launch
from minigrad.backends.registry import backend_of
from minigrad.core.dtype import DType, float64
from minigrad.core.layout import Layout
from minigrad.core.op import ScalarFn, Spec
from minigrad.core.plans import epoch
from minigrad.core.requests import Many
from minigrad.core.storage import Storage
from minigrad.errors import DeviceError, DTypeError, ShapeError, StorageError
from minigrad.runtime.observers import observed
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.writing import check_writable, share_elements

Row = tuple[Tensor, ...]


class ManyPlan:
    """Plan a launch that applies a scalar function to each row of tensors and overwrites the first tensors of a row.

    written: the number of tensors per row that are overwritten.
    constants: the array of the arguments of the scalar function that are not tensors.
    write: the function that stores these arguments in `constants`.
    """

    __slots__ = ("backend", "call", "constants", "device", "epoch", "hosted", "kernel", "label", "launch", "numbers",
                 "storage", "write", "written")  # fmt: skip

    def __init__(self, label: str, scalar: ScalarFn, rows: Sequence[Row]) -> None:
        first = rows[0]
        self.label, self.written, self.device = label, scalar.results, first[0].device
        self.backend = backend_of(self.device)
        self.epoch = epoch[0]
        with no_grad():
            for row in rows:
                check_row(label, row, scalar.results)
        specs = [[Spec(row[k].layout, row[k].dtype) for row in rows] for k in range(len(first))]
        outs = list(chain(*specs[: scalar.results]))
        count = len(scalar.args) - len(first)
        self.constants = np.zeros(count, np.float64)
        self.storage: Storage = self.backend.constant(self.constants, float64, self.device)
        numbers = Spec(Layout.contiguous((count,)), float64)
        request = Many(scalar, compute_of([x.dtype for x in first]), len(rows))
        made = self.backend.preparer.prepare(request, tuple(outs), *chain(*specs[scalar.results :]), numbers)
        self.launch = as_launch(made, len(rows) * len(first) + 1, label)
        self.kernel, self.numbers = self.backend.fast(self.launch)
        self.hosted = isinstance(self.backend, HostMemory)
        if self.hosted:
            self.constants = self.backend.to_host(self.storage)[:count]
        self.write: Callable[..., None] = Struct(f"{count}d").pack_into

    @property
    def current(self) -> bool:
        """Return whether no settings that the plan depends on have changed since the plan was made."""
        return self.epoch == epoch[0]

    def run(
        self, constants: Sequence[float], read: Sequence[Storage], written: Sequence[Storage], memory: Sequence[Any]
    ) -> None:
        """Launch on the storages of the columns that are read and that are written, column by column.

        memory: the buffers of the columns that are written.
        """
        if observed.writing:
            for storage in written:
                observed.write(self.label, storage)
        self.write(self.constants, 0, *constants)
        if not self.hosted:
            self.storage = self.backend.constant(self.constants, float64, self.device)
        buffers = [*[x.buffer for x in read], self.storage.buffer, *memory]
        if observed.launching:
            for tell in observed.launching:
                tell(self, self.launch, tuple(buffers))
        if self.kernel is None:
            self.backend.function(self.launch)(*buffers)
        else:
            self.kernel(*buffers, self.numbers)
        for storage in written:
            storage.version += 1


def check_row(label: str, row: Row, written: int) -> None:
    """Raise an error unless the tensors of a row have one shape and device, and the first `written` may be written."""
    for k, x in enumerate(row):
        if x.layout.shape != row[0].layout.shape:
            raise ShapeError(
                f"{label}: tensors of a row must have equal shapes, got {', '.join(map(describe, row))}; reshape them"
            )
        if x.dtype.is_complex is not row[0].dtype.is_complex:
            raise DTypeError(
                f"{label}: the tensors of a row must be all real or all complex, got {', '.join(map(describe, row))}; "
                "pass mg.view_as_real of the complex tensors"
            )
        if x.device is not row[0].device:
            raise DeviceError(
                f"{label}: all tensors of a row must be on one device, got {describe(row[0])} on {row[0].device} and "
                f"{describe(x)} on {x.device}; move one with .to({str(row[0].device)!r})"
            )
        if k < written:
            check_writable(label, x)
            for other in row[:k]:
                if share_elements(other, x):
                    raise StorageError(
                        f"{label}: the tensors that are written must not share memory, got {describe(other)} and "
                        f"{describe(x)}, which do; pass separate tensors"
                    )


def compute_of(dtypes: Iterable[DType]) -> np.dtype[Any]:
    """Return the dtype for computing the elements of a row: float32 for 16-bit floats, otherwise the widest dtype."""
    return max([dtype.compute for dtype in dtypes], key=lambda compute: (compute.kind in "fc", compute.itemsize))


def apart(row: Row, written: int) -> Row:
    """Return a row in which tensors that are only read do not overlap written memory in another layout.

    Such tensors are copied.
    """
    result = list(row)
    for k in range(written, len(row)):
        x = row[k]
        for y in row[:written]:
            if (x.storage is not y.storage or x.layout != y.layout) and share_elements(x, y):
                copied = backend_of(x.device).allocate(x.layout.numel, x.dtype, x.device)
                result[k] = Tensor(copied, Layout.contiguous(x.shape))
                with no_grad():
                    result[k].copy_(x)
                break
    return tuple(result)


def rows_of(rows: Sequence[Row], written: int) -> list[list[int]]:
    """Group the indices of rows that one launch can process.

    The rows of a group have the same dtypes and device, and no row writes memory that another row of the group uses.
    If a row uses memory that an earlier row writes, or writes memory that it uses, the row is in a later group.
    """
    groups: dict[Any, list[int]] = {}
    if all_apart(rows, written):
        for k, row in enumerate(rows):
            groups.setdefault((row[0].device, *[x.dtype for x in row]), []).append(k)
        return list(groups.values())
    ordered: list[tuple[Any, list[int]]] = []
    for k, row in enumerate(rows):
        key = (row[0].device, *[x.dtype for x in row])
        last = [j for j, (_, group) in enumerate(ordered) if any(collide(row, rows[i], written) for i in group)]
        start = last[-1] + 1 if last else 0
        for other, group in ordered[start:]:
            if other == key:
                group.append(k)
                break
        else:
            ordered.append((key, [k]))
    return [group for _, group in ordered]


def all_apart(rows: Sequence[Row], written: int) -> bool:
    """Return whether each written storage belongs to only one tensor of the rows."""
    memories = [x.storage.memory for row in rows for x in row[:written]]
    changed = set(memories)
    others = [x.storage.memory for row in rows for x in row[written:]]
    return len(changed) == len(memories) and changed.isdisjoint(others)


def collide(a: Row, b: Row, written: int) -> bool:
    """Return whether one row writes memory that the other row uses."""
    return any((j < written or k < written) and share_elements(x, y) for j, x in enumerate(a) for k, y in enumerate(b))
