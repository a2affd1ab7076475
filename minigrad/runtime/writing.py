"""Checks before a write: every in-place form, `out=` and item assignment.

A write may not change memory that other results share, nor a leaf that a graph has used.  Versions protect the values
that a recorded op saved: see `autodiff/checks.py`.  `rebasing.py` records a write that is allowed.
"""

from __future__ import annotations

import numpy as np

from minigrad.core.layout import Layout
from minigrad.core.storage import ConstantStorage, Storage
from minigrad.errors import GradientError, StorageError
from minigrad.runtime.rebasing import Sealed, check_dense, current, root_of
from minigrad.runtime.recording import mode
from minigrad.runtime.tensor import PLAIN, Tensor, describe
from minigrad.runtime.tracers import Tracer


def check_writable(name: str, out: Tensor, operands: tuple[Tensor, ...] = ()) -> None:
    """Raise an error unless `out` is memory that a write may change at this point."""
    if not operands and out.__class__ in PLAIN and out.storage.__class__ is Storage and out.layout.is_contiguous:
        if out.storage.tracked and mode.enabled:
            check_recordable(name, out, operands)
        return
    tracked: int = False
    for x in (out, *operands):
        if x.__class__ not in PLAIN and isinstance(x, Tracer):
            raise GradientError(
                f"{name}: {describe(x)} belongs to a transform and cannot be written in place; compute a new "
                f"tensor, for example with mg.where or mg.stack",
                op=name,
            )
        tracked = tracked or x.storage.tracked
    if tracked and mode.enabled:
        check_recordable(name, out, operands)
    # Reading the version raises an error for a result of inference_mode that must not be written here.
    out.storage.version  # noqa: B018
    if isinstance(out.storage, ConstantStorage):
        raise StorageError(
            f"{name}: cannot write into {describe(out)}, a constant whose memory other results share; write into "
            "x.clone()",
            op=name,
        )
    if not out.layout.is_contiguous and out.layout.may_overlap_itself():
        raise StorageError(
            f"{name}: cannot write into {describe(out)} with strides {out.strides}, whose elements share memory; "
            "write into x.clone()",
            op=name,
        )


def check_recordable(name: str, out: Tensor, operands: tuple[Tensor, ...]) -> None:
    """Raise GradientError if recording is on and a gradient would have to pass a write that cannot be recorded."""
    base = out if out.base is None else out.base
    if out.is_variable:
        raise GradientError(f"{name}: cannot write into a Var, {describe(out)}; write under mg.no_grad()", op=name)
    if base.__class__ is Sealed:
        raise GradientError(f"{name}: {describe(out)} {base.why}", op=name)
    if base.is_variable or (out.op is not None and root_of(out.op) is None):
        raise GradientError(
            f"{name}: cannot write into a view of a Var, {describe(out)}; write under mg.no_grad()", op=name
        )
    check_dense(name, base)
    if not out.dtype.is_float:
        for x in operands:
            if x.dtype.is_float and current(x) is not None:
                raise GradientError(
                    f"{name}: writing {describe(x)}, through which gradients flow, into {describe(out)} would lose "
                    "these gradients; write x.detach()",
                    op=name,
                )


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
