"""Checks before a write: every in-place form, `out=` and item assignment.

A write may not change memory that other results share, nor a leaf that a graph has used.  Versions protect the values
that a recorded op saved: see `autodiff/checks.py`.  `rebasing.py` records a write that is allowed.  The layouts of
writes into parts of a tracked storage are kept, so that values beside these parts stay valid.
"""

from __future__ import annotations

from threading import Lock
from weakref import WeakKeyDictionary

import numpy as np

from minigrad.core.layout import Layout
from minigrad.core.storage import ConstantStorage, Storage
from minigrad.errors import GradientError, StorageError
from minigrad.runtime.rebasing import Sealed, check_dense, current, owner_of, root_of
from minigrad.runtime.recording import mode
from minigrad.runtime.tensor import PLAIN, Tensor, describe
from minigrad.runtime.tracers import Tracer


class Parts:
    """The parts of a storage that its latest writes changed.

    start: the version of the storage before the first of these writes.  layouts: the elements that each write changed.
    spans: the first elements and the ends of the layouts that have been compared with saved values.
    """

    __slots__ = ("layouts", "spans", "start")

    def __init__(self, start: int) -> None:
        self.start, self.layouts = start, list[Layout]()
        self.spans = np.empty((0, 2), np.int64)

    def touch(self, layout: Layout, version: int) -> bool:
        """Return whether a write since a version changed an element of a layout."""
        since = version - self.start
        with lock:
            known, layouts = self.spans, self.layouts[:]
            if len(known) < len(layouts):
                new = np.array([each.span() for each in layouts[len(known) :]])
                self.spans = known = np.concatenate([known, new])
        first, end = layout.span()
        near = (known[since:, 0] < end) & (known[since:, 1] > first)
        return any(overlap(layout, layouts[since + k]) for k in near.nonzero()[0])


# A storage with a weak reference is not reused for other values.
parts: WeakKeyDictionary[Storage, Parts] = WeakKeyDictionary()
lock = Lock()
MANY = 1 << 14  # the maximum number of layouts of a storage


def count_part(storage: Storage, layout: Layout) -> None:
    """Count a write into the elements of a layout, and keep the layout."""
    known = parts.get(storage)
    # A write that kept no layout came between, or the writes are more than a graph is likely to look back.
    if known is None or known.start + len(known.layouts) != storage.version or len(known.layouts) == MANY:
        known = parts[storage] = Parts(storage.version)
    known.layouts.append(layout)
    storage.version += 1


def is_stale(x: Tensor, version: int) -> bool:
    """Return whether a write since a version of its storage may have changed an element of x."""
    if x.storage.version == version:
        return False
    known = parts.get(x.storage)
    if known is None or not known.start <= version or known.start + len(known.layouts) != x.storage.version:
        return True
    return known.touch(x.layout, version)


def check_writable(name: str, out: Tensor, operands: tuple[Tensor, ...] = (), whole: bool = True) -> None:
    """Raise an error unless `out` is memory that a write may change at this point.

    whole: False if the write changes only a view of `out`, so that elements of `out` may share memory.
    """
    if not operands and out.__class__ in PLAIN and out.storage.__class__ is Storage and out.layout.is_contiguous:
        if out.storage.tracked and mode.enabled:
            check_recordable(name, out, operands)
        return
    tracked: int = False
    for x in (out, *operands):
        if x.__class__ not in PLAIN and isinstance(x, Tracer):
            raise GradientError(
                f"{name}: {describe(x)} belongs to a transform and cannot be written in place; compute a new "
                f"tensor, for example with mg.where or mg.stack"
            )
        tracked = tracked or x.storage.tracked
    if tracked and mode.enabled:
        check_recordable(name, out, operands)
    # Reading the version raises an error for a result of inference_mode that must not be written here.
    out.storage.version  # noqa: B018
    if isinstance(out.storage, ConstantStorage):
        raise StorageError(
            f"{name}: cannot write into {describe(out)}, a constant whose memory other results share; write into "
            "x.clone()"
        )
    if whole and not out.layout.is_contiguous and out.layout.may_overlap_itself():
        raise StorageError(
            f"{name}: cannot write into {describe(out)} with strides {out.strides}, whose elements share memory; "
            "write into x.clone()"
        )


def check_recordable(name: str, out: Tensor, operands: tuple[Tensor, ...]) -> None:
    """Raise GradientError if recording is on and a gradient would have to pass a write that cannot be recorded."""
    base = owner_of(out)
    if out.is_variable:
        raise GradientError(f"{name}: cannot write into a Var, {describe(out)}; write under mg.no_grad()")
    if base.__class__ is Sealed:
        raise GradientError(f"{name}: {describe(out)} {base.why}")
    if base.is_variable or (out.op is not None and root_of(out.op) is None):
        raise GradientError(f"{name}: cannot write into a view of a Var, {describe(out)}; write under mg.no_grad()")
    check_dense(name, base)
    if not out.dtype.is_inexact:
        for x in operands:
            if x.dtype.is_inexact and current(x) is not None:
                raise GradientError(
                    f"{name}: writing {describe(x)}, through which gradients flow, into {describe(out)} would lose "
                    "these gradients; write x.detach()"
                )


def share_elements(x: Tensor, y: Tensor) -> bool:
    """Return whether two tensors share an element; two dtypes over one memory count as sharing all of it."""
    if x.storage is y.storage:
        return overlap(x.layout, y.layout)
    return x.storage.memory is y.storage.memory


def overlap(a: Layout, b: Layout) -> bool:
    """Return whether two layouts of one storage share an element.

    The test is exact for small cases, otherwise it uses spans.
    """
    if not a.numel or not b.numel or a.span()[0] >= b.span()[1] or b.span()[0] >= a.span()[1]:
        return False
    base = np.empty(max(a.span()[1], b.span()[1]), np.uint8)
    views = [np.lib.stride_tricks.as_strided(base[x.offset :], x.shape, x.strides) for x in (a, b)]
    try:
        return bool(np.shares_memory(views[0], views[1], max_work=100_000))  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True
