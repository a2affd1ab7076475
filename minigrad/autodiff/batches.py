"""Batching as a transform: a value is a whole batch, and `batching.py` runs each call on all samples."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple
from weakref import ref

from minigrad.autodiff.batching import Batch, batch_kind, batched
from minigrad.autodiff.replacing import ReplacingTransform, stored
from minigrad.core.layout import Layout
from minigrad.core.op import Op
from minigrad.errors import GradientError
from minigrad.ops.batch_rules import promoted, ranked
from minigrad.ops.casting import clone
from minigrad.ops.indexing.assignment import copy_into
from minigrad.ops.shape.views import expand, permute
from minigrad.runtime.dispatch import run_view
from minigrad.runtime.graph import ids
from minigrad.runtime.operands import keyed
from minigrad.runtime.plans import plan_for
from minigrad.runtime.rebasing import INPUT
from minigrad.runtime.tensor import PLAIN, Tensor
from minigrad.runtime.tracers import Tracer, ViewOf, derives

VIEWS = 64  # after as many views of an input, those that have ended are forgotten
BATCH = object()  # marks the key of a plan whose parameters describe one sample of the batch


@lru_cache(maxsize=4096)
def behind(layout: Layout) -> Layout:
    """Return the layout of one sample of a batch, whose first dim is the batch dim."""
    return layout.select(0, 0) if layout.shape[0] else Layout.contiguous(layout.shape[1:])


def moved(x: Tensor, source: int, destination: int) -> Tensor:
    """Return a view of x in which one dim is moved to another position."""
    if source == destination:
        return x
    order = list(range(x.ndim))
    order.insert(destination, order.pop(source))
    return permute(x, dims=tuple(order))


class Received(NamedTuple):
    """An input of a function: the caller's tensor, its batch dim, and its memory with the number of references.

    views: weak references to the views of the input.
    """

    source: Tensor
    dim: int
    plain: Tensor
    references: int
    views: list[Callable[[], Any]]

    def living(self) -> list[Any]:
        """Return the views that exist, and forget the others."""
        existing = [view for each in self.views if (view := each()) is not None]
        self.views[:] = map(ref, existing)
        return existing


class Batched(Tracer):
    """One sample of a batch, as the function sees it.

    value: the whole batch outside the transform, with the batch dim first.
    """

    __slots__ = ("value",)

    transform: BatchTransform

    def __init__(self, value: Tensor, transform: BatchTransform) -> None:
        # Each attribute is set separately, because a call makes many of these objects.
        self.id = next(ids)
        self.transform, self.value = transform, value
        self.layout, self.dtype, self.device = behind(value.layout), value.dtype, value.device
        self.op = self.base = None


def plain_of(x: Any) -> Any:
    """Return the tensor with the memory of a value, or a value that has none."""
    while isinstance(x, Tracer) and x.transform.inside is not None:
        x = getattr(x, x.transform.inside)
    return x


class BatchTransform(ReplacingTransform):
    """The transform of `vmap`.

    size: the size of the batch.
    randomness: the behaviour of random functions, "error", "same" or "different".
    inputs: the inputs of the function that may be written, by id.
    """

    differentiates = False

    def __init__(self, size: int, randomness: str = "error") -> None:
        super().__init__()
        self.size, self.randomness = size, randomness
        self.inputs: dict[int, Received] = {}

    def begin_write(self, name: str, x: Any) -> None:
        entry, shown = self.entry_of(x)
        repeated = any(each.layout.may_overlap_itself() for each in shown)
        if entry is None or repeated or stored(entry.plain) > entry.references + len(entry.living()):
            super().begin_write(name, x)

    def end_write(self, name: str, x: Any, y: Tensor) -> None:
        entry, _ = self.entry_of(x)
        received = self.inputs.pop(x.id, None)
        before = x.value
        super().end_write(name, x, y)
        if received is not None:  # the caller's tensor changes at once: the function may read it by another name
            try:
                copy_into(received.source, moved(x.value, 0, received.dim), name, received.source)
                before = moved(received.source, received.dim, 0)
            finally:  # also if the caller's tensor must not be written
                x.value = before
                self.changed(x)
                self.inputs[x.id] = received
        if entry is not None:  # the views show the same memory; nodes that saved one detect the write
            for view in entry.living():
                view.id = next(ids)

    def entry_of(self, x: Any) -> tuple[Received | None, list[Any]]:
        """Return the entry of the input that x is or shows, or None, and x with the values that it shows.

        A view in place ends the writes through earlier views.
        """
        shown = [x]
        while shown[-1].base.__class__ is ViewOf and shown[-1].base.source.id < shown[-1].id:
            shown.append(shown[-1].base.source)
        return self.inputs.get(shown[-1].id), shown

    def shows(self, x: Any, y: Tensor) -> bool:
        memory = plain_of(y)
        if not isinstance(memory, Tracer) and memory.storage is not plain_of(x).storage:
            return False  # the strides of the batch allow no view, so y is a copy
        while x.base.__class__ is ViewOf:
            x = x.base.source
        entry = self.inputs.get(x.id)
        if entry is None:
            return x.base is None
        entry.views.append(ref(y))
        if len(entry.views) % VIEWS == 0:
            entry.living()
        return True

    def received(self, x: Any, source: Any, dim: int) -> None:
        """Note that x is an input of the function, for the caller's tensor `source` with the batch along `dim`.

        Until another value than a view of x shares its memory, it may be written.  The caller's tensor may itself be an
        input of an outer batch that may be written.
        """
        x.base, plain = INPUT, source
        while isinstance(plain, Batched) and plain.id in plain.transform.inputs:
            plain = plain.transform.inputs[plain.id].source
        if type(plain) in PLAIN:
            self.inputs[x.id] = Received(source, dim, plain, stored(plain), [])

    def constant(self, x: Tensor) -> Tensor:
        return Batched(clone(expand(x, shape=(self.size, *x.shape))), self)

    def replace(self, x: Any, y: Tensor) -> None:
        whole = self.whole(y)
        x.value = expand(y, shape=(self.size, *y.shape)) if whole is None else whole

    def layout_of(self, x: Any) -> Layout:
        return behind(x.value.layout)

    def call(self, op: Op, operands: tuple[Tensor, ...], params: dict[str, Any]) -> Any:
        # The most common ops take the fast paths; `batching.py` handles all other ops.
        if op.kind == "elementwise" and op.batch is None:
            return self.elementwise(op, operands)
        if op.kind == "view":
            # A view has one operand, and this operand belongs to the transform.
            whole: Any = operands[0].value  # type: ignore[attr-defined]
            plain = whole.__class__ in PLAIN
            if plain:
                key = (whole.layout, whole.dtype, whole.device, BATCH, *[keyed(v) for v in params.values()])
                plan = op.plans.get(key)
                if plan is None and batch_kind(op) == "view":
                    # The key of the plan contains the parameters of one sample; the plan uses those of the batch.
                    shifted = Batch(op, params, (whole,), (True,), self.size).shifted()
                    plan = plan_for(op, (whole,), shifted, key)
                if plan is not None:
                    return Batched(run_view(op, plan, whole), self)
        inner: list[Tensor] = []
        flags: list[bool] = []
        for x in operands:
            mine = x.__class__ is Batched and x.transform is self
            inner.append(x.value if mine else x)  # type: ignore[attr-defined]
            flags.append(mine)
        result = batched(op, params, inner, flags)
        if op.result is None:
            return Batched(result, self)
        return op.result(*[Batched(y, self) for y in result])

    def elementwise(self, op: Op, operands: tuple[Tensor, ...]) -> Any:
        """Run an elementwise op; an operand of lower rank gets dims of size 1 after its batch dim."""
        inner: list[Any] = []
        rank, alike, mixed, dtype = operands[0].layout.ndim, True, False, operands[0].dtype
        for x in operands:
            mixed = mixed or x.dtype is not dtype
            inner.append(x.value if x.__class__ is Batched and x.transform is self else x)
            if x.layout.ndim != rank:
                rank, alike = max(rank, x.layout.ndim), False
        if mixed:
            inner = promoted([x.layout.ndim for x in operands], inner)
        if not alike:
            inner = [ranked(y, y is not x, rank, self.size) for x, y in zip(operands, inner)]
        result: Any = op.public(*inner)  # type: ignore[misc]
        return Batched(result, self) if op.result is None else op.result(*[Batched(y, self) for y in result])

    def whole(self, y: Any) -> Tensor | None:
        """Return the whole batch of a result, batch dim first; None if the result is the same for all samples."""
        return y.value if isinstance(y, Batched) and y.transform is self else None

    def detached(self, x: Any) -> Tensor:
        return Batched(x.value.detach(), self)

    def derives(self, x: Any, recorded: bool) -> bool:
        return derives(x.value, recorded)

    def drawn_shape(self, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        if self.randomness == "error":
            raise GradientError(
                f"{name}: random numbers under vmap require a choice between different and equal numbers for the "
                "samples, got randomness='error'; pass randomness='different' to vmap, or 'same'"
            )
        return (self.size, *shape) if self.randomness == "different" else shape

    def drawn(self, x: Tensor) -> Tensor:
        return Batched(x, self) if self.randomness == "different" else x
