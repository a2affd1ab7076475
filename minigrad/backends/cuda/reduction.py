"""Folds on CUDA: from specs to a kernel and a launch.

The loop is in `kernels/cuda/reduction.py`: a thread an output, in the order of the elements.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from minigrad.backends.base import Launch, serves
from minigrad.backends.cuda.family import Family, line, nothing
from minigrad.backends.cuda.runtime import Program
from minigrad.core import requests
from minigrad.core.dtype import DType
from minigrad.core.fold import Fold, axes, kept_axes
from minigrad.core.op import Spec
from minigrad.kernels.cuda import reduction
from minigrad.kernels.cuda.target import CUDA
from minigrad.kernels.pasting import expression_macro, scalar_macro
from minigrad.kernels.specialize import neutral_text, write_kernel


class Reduction(Family):
    """The preparer of folds."""

    @serves(requests.Reduce)
    def reduce(self, out: Spec, a: Spec, *, fold: Fold, compute: np.dtype[Any], dims: tuple[int, ...]) -> Launch:
        if out.layout.numel == 0:
            return nothing
        kept = kept_axes(out.layout, a.layout, dims)
        folded = axes([a.layout], list(dims), flip=False, sort=False)
        count = prod(a.shape[d] for d in dims)
        kernel = self.kernel(write_fold, fold, compute, a.dtype, out.dtype, len(kept.dims), len(folded.dims))
        numbers = reduction.fold_fields(len(kept.dims), len(folded.dims)).pack(
            outputs=out.layout.numel, count=count, offset=a.layout.offset + kept.shifts[0],
            to=out.layout.offset + kept.shifts[2], sizes=kept.dims, steps=kept.strides[0], to_steps=kept.strides[2],
            fold_sizes=folded.dims, fold_steps=folded.strides[0],
        )  # fmt: skip
        return self.bind(kernel, *line(self.blocks(out.layout.numel)), numbers)


def write_fold(fold: Fold, compute: np.dtype[Any], a: DType, out: DType, kept: int, folded: int) -> Program:
    """Write one fold over so many dims."""
    scalar, label = fold.scalar, f"fold{kept}_{folded}{'_mean' if fold.mean else ''}"
    text = write_kernel(
        f"{scalar.name}: {a} -> {out} in {compute}; {label}.",
        reduction.fold,
        operands=(a,),
        out=out,
        compute=compute,
        macros={
            "F": scalar_macro(scalar, compute, CUDA),
            "FINISH": expression_macro("{} / T({})" if fold.mean else "{}"),
        },
        constants={"IDENTITY": neutral_text(fold.identity, compute)},
        fields=reduction.fold_fields(kept, folded),
        target=CUDA,
    )
    return Program(f"{scalar.name}_{a.short}_{out.short}_{label}", text)
