"""May this memory be written?  The checks before every in-place form, `out=` and item assignment.

A write may neither lose a gradient, nor change what other results share, nor read what it has just written.  What a
recorded op saved is guarded by versions instead: see `autodiff/engine.py`.
"""

from __future__ import annotations

import numpy as np

from minigrad.core.layout import Layout
from minigrad.core.storage import ConstantStorage
from minigrad.errors import GradientError, StorageError
from minigrad.runtime.graph import mode
from minigrad.runtime.tensor import Tensor, describe


def check_writable(name: str, out: Tensor, operands: tuple[Tensor, ...] = ()) -> None:
    """Raise unless writing `out` can neither lose a gradient nor read what it has just written."""
    if mode.enabled:
        check_untracked(name, out, operands)
    if isinstance(out.storage, ConstantStorage):
        raise StorageError(
            f"{name}: {describe(out)} is a number of the program that other results share; clone() it first", op=name
        )
    if not out.layout.is_contiguous and out.layout.may_overlap_itself():
        raise StorageError(
            f"{name}: cannot write into {describe(out)} with strides {out.strides}: its elements share memory; "
            f"clone() it first",
            op=name,
        )
    for x in operands:
        if x.storage is out.storage and x.layout is not out.layout and overlap(x.layout, out.layout):
            raise StorageError(
                f"{name}: out {describe(out)} overlaps an operand {describe(x)} in memory; clone() the operand", op=name
            )


def check_untracked(name: str, out: Tensor, operands: tuple[Tensor, ...]) -> None:
    """Raise if recording is on and a gradient would have to pass a write."""
    if out.op is not None or out.is_variable:
        what = "a Var" if out.is_variable else "a tensor that gradients flow through"
        raise GradientError(f"{name}: cannot write into {what}, {describe(out)}; do it under mg.no_grad()", op=name)
    for x in operands:
        if x.op is not None or x.is_variable:
            raise GradientError(
                f"{name}: writing a tracked operand into {describe(out)} would lose its gradient; "
                f"use the functional form, or mg.no_grad()",
                op=name,
            )


def overlap(a: Layout, b: Layout) -> bool:
    """Whether two layouts of one storage share an element.  Exact for small cases, else by their spans."""
    if not a.numel or not b.numel or a.span()[0] >= b.span()[1] or b.span()[0] >= a.span()[1]:
        return False
    base = np.empty(max(a.span()[1], b.span()[1]), np.uint8)
    views = [np.lib.stride_tricks.as_strided(base[x.offset :], x.shape, x.strides) for x in (a, b)]
    try:
        return bool(np.shares_memory(views[0], views[1], max_work=100_000))  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True
