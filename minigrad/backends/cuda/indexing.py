"""Gathers and additions by index on CUDA: from specs to kernels and a launch that says whether an index was wrong.

The loops are in `kernels/cuda/indexing.py`.  Sums of halves are kept in their compute dtype until all is added.
"""

from __future__ import annotations

from math import prod
from typing import Any

from minigrad.backends.base import Launch, serves
from minigrad.backends.cuda.family import Family, line
from minigrad.backends.cuda.runtime import Program
from minigrad.backends.steps import Steps, Value
from minigrad.core import requests
from minigrad.core.dtype import DType, as_dtype, int32, int64
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.kernels.cuda import indexing
from minigrad.kernels.cuda.target import CUDA
from minigrad.kernels.specialize import write_kernel

Ints = tuple[int, ...]


class Indexing(Family):
    """The preparers of gathers and additions by index."""

    @serves(requests.Gather)
    def gather(self, out: Spec, a: Spec, index: Spec, *, dim: int) -> Launch:
        steps = Steps(self, (out,), (a, index))
        rank, count = len(out.shape), out.layout.numel
        if count:
            kernel = self.kernel(write_gather, a.dtype, index.dtype, rank)
            numbers = indexing.gather_fields(rank).pack(
                count=count, size=a.shape[dim], step=a.layout.strides[dim], offset=a.layout.offset,
                index_offset=index.layout.offset, to=out.layout.offset, sizes=out.shape,
                steps=without(a.layout.strides, dim, 0), index_steps=index.layout.strides, to_steps=out.layout.strides,
            )  # fmt: skip
            flag = self.flag(steps)
            steps.then(self.bind(kernel, *line(self.blocks(count)), numbers), *steps.operands, flag, *steps.outs)
            steps.then(self.raised, flag)
        return steps.launch

    @serves(requests.ScatterAdd)
    def scatter_add(self, out: Spec, a: Spec, index: Spec, src: Spec, *, dim: int) -> Launch:
        steps = Steps(self, (out,), (a, index, src))
        compute = as_dtype(out.dtype.compute)
        total = steps.outs[0] if compute is out.dtype else steps.work(out.shape, compute)
        steps.copy(total, steps.operands[0])
        if index.layout.numel:
            flag = self.flag(steps)
            launch = self.additions(total.layout, index, src, compute, dim)
            steps.then(launch, steps.operands[1], steps.operands[2], flag, total)
            steps.then(self.raised, flag)
        if total is not steps.outs[0]:
            steps.copy(steps.outs[0], total)
        return steps.launch

    @serves(requests.SelectPut)
    def select_put(self, out: Spec, index: Spec, src: Spec, *, dim: int) -> Launch:
        steps = Steps(self, (out,), (index, src))
        count, size, rank = src.layout.numel, out.shape[dim], len(out.shape)
        if count:
            last, flag = steps.work((size,), int64), self.flag(steps)
            steps.fill(last, -1)
            place, by = index.layout.offset, index.layout.strides[0]
            length = index.shape[0]
            numbers = indexing.LAST.pack(count=length, size=size, index_offset=place, index_step=by)
            kernel = self.kernel(write_last_at, index.dtype)
            steps.then(self.bind(kernel, *line(self.blocks(length)), numbers), steps.operands[0], flag, last)
            numbers = indexing.put_fields(rank).pack(
                count=count, size=size, to_step=out.layout.strides[dim], index_offset=place, index_step=by,
                offset=src.layout.offset, to=out.layout.offset, sizes=src.shape,
                along=tuple(int(d == dim) for d in range(rank)), steps=src.layout.strides,
                to_steps=without(out.layout.strides, dim, 0),
            )  # fmt: skip
            kernel = self.kernel(write_select_put, index.dtype, src.dtype, rank)
            put = self.bind(kernel, *line(self.blocks(count)), numbers)
            steps.then(put, steps.operands[0], last, steps.operands[1], steps.outs[0])
            steps.then(self.raised, flag)
        return steps.launch

    def additions(self, total: Layout, index: Spec, src: Spec, compute: DType, dim: int) -> Launch:
        """The launch that adds to what is there."""
        sizes = tuple(n for d, n in enumerate(index.shape) if d != dim)
        lists = [tuple(s for d, s in enumerate(x.strides) if d != dim) for x in (index.layout, src.layout, total)]
        numbers = indexing.scatter_fields(len(sizes)).pack(
            count=prod(sizes), length=index.shape[dim], size=total.shape[dim], index_step=index.layout.strides[dim],
            step=src.layout.strides[dim], to_step=total.strides[dim], index_offset=index.layout.offset,
            offset=src.layout.offset, to=total.offset, sizes=sizes, index_steps=lists[0], steps=lists[1],
            to_steps=lists[2],
        )  # fmt: skip
        kernel = self.kernel(write_scatter_add, index.dtype, src.dtype, compute, len(sizes))
        return self.bind(kernel, *line(self.blocks(prod(sizes))), numbers)

    def flag(self, steps: Steps) -> Value:
        """A number that a kernel adds to where an index is out of range."""
        flag = steps.work((1,), int32)
        steps.fill(flag, 0)
        return flag

    def raised(self, flag: Any) -> bool:
        """Whether a kernel has met an index out of range; waits for it."""
        return bool(self.runtime.copy_to_host(flag)[0])


def without(strides: Ints, dim: int, instead: int) -> Ints:
    """Strides with another one at a dim."""
    return (*strides[:dim], instead, *strides[dim + 1 :])


def write_gather(a: DType, index: DType, rank: int) -> Program:
    """Write one gather, which moves elements as they are."""
    text = write_kernel(
        f"gather: {a} by {index}; {rank} dims.",
        indexing.gather,
        operands=(a, index),
        out=a,
        compute=a.compute,
        arrays=(a, index, int32, a),
        fields=indexing.gather_fields(rank),
        target=CUDA,
    )
    return Program(f"gather_{a.short}_{index.short}_{rank}", text)


def write_scatter_add(index: DType, src: DType, out: DType, rank: int) -> Program:
    """Write one addition by index."""
    text = write_kernel(
        f"scatter_add: {src} by {index} to {out}; {rank} dims.",
        indexing.scatter_add,
        operands=(index, src),
        out=out,
        compute=out.compute,
        arrays=(index, src, int32, out),
        fields=indexing.scatter_fields(rank),
        target=CUDA,
    )
    return Program(f"scatter_add_{index.short}_{src.short}_{out.short}_{rank}", text)


def write_last_at(index: DType) -> Program:
    """Write the search for the last of equal indices."""
    text = write_kernel(
        f"last_at: of equal ones in {index}.",
        indexing.last_at,
        operands=(index,),
        out=int64,
        compute=int64.compute,
        arrays=(index, int32, int64),
        fields=indexing.LAST,
        target=CUDA,
    )
    return Program(f"last_at_{index.short}", text)


def write_select_put(index: DType, src: DType, rank: int) -> Program:
    """Write one writing by index, which moves elements as they are."""
    text = write_kernel(
        f"select_put: {src} by {index}; {rank} dims.",
        indexing.select_put,
        operands=(index, int64, src),
        out=src,
        compute=src.compute,
        arrays=(index, int64, src, src),
        fields=indexing.put_fields(rank),
        target=CUDA,
    )
    return Program(f"select_put_{index.short}_{src.short}_{rank}", text)
