"""The op `put`, which writes one tensor into a part of another and returns a new tensor; it records in-place writes.

`runtime/rebasing.py` records nodes of this op.  These nodes launch no kernel, because the write has already happened.
The derivative rules of the op call it as a function.
"""

from __future__ import annotations

from typing import Any

from minigrad.backends.steps import Steps
from minigrad.core.op import Op, Spec
from minigrad.core.requests import Copy
from minigrad.core.shape import numel
from minigrad.declare.decorators import kernel
from minigrad.declare.rules import joint
from minigrad.ops.casting import cast, clone, same_dtype
from minigrad.ops.indexing.gathering import zeros_of
from minigrad.ops.shape.views import as_strided
from minigrad.runtime.rebasing import Ops
from minigrad.runtime.tensor import Tensor


def _first_shape(op: Op, whole: Spec, part: Spec, **params: Any) -> tuple[int, ...]:
    return whole.shape


def _dense(x: Tensor) -> Tensor:
    return x if x.is_contiguous() and x.offset == 0 else clone(x)


@kernel(
    dtype=same_dtype,
    shape=_first_shape,
    vjp=(
        lambda g, *, part_shape, **params: put(g, zeros_of(part_shape, g), **params),
        lambda g, **params: as_strided(_dense(g), **params),
    ),
    linear=joint("whole", "part"),
    namespace=(),
    batch=lambda whole, part, *, size, stride, storage_offset, batch: put(
        whole, part, size=(batch, *size), stride=(numel(whole.shape[1:]), *stride), storage_offset=storage_offset
    ),
)
def put(backend, out, whole, part, *, size, stride, storage_offset):
    """Return a contiguous copy of `whole` in which `part` replaces the elements that size, stride and offset specify.

    These elements must be distinct.
    Gradient: for `whole`, g with zeros at these elements; for `part`, these elements of g.
    """
    steps = Steps(backend, (out,), (whole, part))
    (result,), (first, second) = steps.outs, steps.operands
    steps.ask(Copy(), result, first)
    steps.ask(Copy(), result.seen(out.layout.as_strided(size, stride, storage_offset)), second)
    return steps.launch


Ops.put, Ops.look, Ops.clone, Ops.cast = put.op, as_strided.op, clone.op, cast.op  # type: ignore[attr-defined]
