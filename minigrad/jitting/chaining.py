"""Chains: elementwise loops next to a launch on rows, a reduction or a matrix product become a part of this launch.

`fusion.py` has joined elementwise launches to loops.  If a loop computes one temporary that a launch on rows or a
reduction reads once, that launch receives the loop as a function of its operand (`Chained`), so the temporary is never
stored.  If a loop is the only reader of a matrix product, the product receives the loop as a function of its result
(`Followed`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minigrad.backends.launch import Part
from minigrad.backends.registry import backend_of
from minigrad.core.dtype import DType
from minigrad.core.op import Spec
from minigrad.core.requests import Chained, Elementwise, Followed, MapRows, Product, Reduce, Request
from minigrad.jitting.composing import ARRAYS
from minigrad.jitting.program import Item, Memory, sole_part, written_by
from minigrad.kernels.store import NotCompiled, Text

LEAST = 1 << 14  # minimum size in bytes of a temporary for which a joined kernel is compiled
LARGE = 1 << 20  # size in bytes from which the result of a product leaves the first caches before a loop reads it
DEEP = 256  # maximum size of the inner dim for which a product does not take far longer than the loop after it


def reads_loops(request: Request) -> bool:
    """Return whether a launch on rows or a reduction can receive a loop as a function of its operand."""
    if isinstance(request, MapRows):
        return not request.fn.terms
    return isinstance(request, Reduce) and request.reducer.accumulators == request.reducer.results == 1


def slots_of(item: Item, part: Part) -> list[int]:
    """Return the slots of a program in the order of a request.

    The launch may have another order: `addmm` takes the added matrix first.
    """
    return [item.slots[slot] for slot in part.slots]


class Chaining:
    """Replace loops and the launches that read their results by single launches, in one segment of a program.

    lasting: a function that returns whether a slot is read after the segment.
    missing: a list that receives the texts of kernels that are not compiled, if compilation is off.
    """

    def __init__(
        self, items: Sequence[Item], memory: Mapping[int, Memory], lasting: Callable[[int], bool], missing: list[Text]
    ) -> None:
        self.items: list[Item | None] = [*items]
        self.memory, self.lasting, self.missing = memory, lasting, missing
        self.users: dict[int, list[int]] = {}
        for k, item in enumerate(items):
            for slot in item.slots:
                self.users.setdefault(slot, []).append(k)
        for k in range(len(items)):
            self.chain(k)
        for k in range(len(items)):
            self.follow(k)

    @property
    def result(self) -> list[Item]:
        """The launches that remain."""
        return [item for item in self.items if item is not None]

    def chain(self, k: int) -> None:
        """Join a launch with the loops that compute its operands, if there are any."""
        item = self.items[k]
        part = None if item is None else sole_part(item)
        if item is None or part is None or not reads_loops(part.request):
            return
        count = len(part.slots) - part.results
        slots = slots_of(item, part)
        if not set(slots[:count]).isdisjoint(slots[count:]):
            return
        makers: dict[int, int] = {}
        arrays = len(slots)
        for operand in range(count):
            maker = self.maker(k, slots[operand], part.specs[operand], set(slots[count:]))
            same = all(self.dtype(other) is part.specs[operand].dtype for other in makers.values())
            more = 0 if maker is None else len(self.items[maker].slots) - 2  # type: ignore[union-attr]
            if maker is not None and same and arrays + more <= ARRAYS:
                makers[operand], arrays = maker, arrays + more
        if makers:
            self.join(k, item, part, makers)

    def dtype(self, k: int) -> DType:
        """Return the dtype of the result of a loop."""
        return self.items[k].launch.parts[0].specs[-1].dtype  # type: ignore[union-attr]

    def maker(self, k: int, slot: int, spec: Spec, results: set[int]) -> int | None:
        """Return the loop that computes an operand, if it has no other reader and is worth a kernel."""
        position = self.source(k, slot, spec, Elementwise, results)
        if position is None or spec.layout.numel * spec.dtype.itemsize < LEAST:
            return None
        maker = self.items[position]
        assert maker is not None
        part = maker.launch.parts[0]
        return position if part.request.compute == spec.dtype.storage and len(part.slots) > 1 else None

    def source(self, k: int, slot: int, spec: Spec, kind: type[Request], results: set[int]) -> int | None:
        """Return the index of the launch that computes an operand of launch k, or None if it cannot join launch k.

        kind: the class of the request that the launch must have.  results: the slots that launch k writes.
        No other launch may read the operand, and its storage dtype must be the compute dtype.  No launch from there to
        launch k may write memory that the returned launch reads, because this launch then runs later.
        """
        users = self.users[slot]
        if len(users) != 2 or users[1] != k or self.lasting(slot):
            return None
        maker = self.items[users[0]]
        part = None if maker is None else sole_part(maker)
        if maker is None or part is None or not isinstance(part.request, kind) or part.results > 1:
            return None
        *reads, written = slots_of(maker, part)
        out, dtype = part.specs[-1], spec.dtype
        if written != slot or out.layout is not spec.layout or not out.layout.is_contiguous:
            return None
        if out.dtype is not dtype or dtype.storage != dtype.compute:
            return None
        between = [written_by(other) for other in self.items[users[0] + 1 : k] if other is not None]
        if not all(changed.isdisjoint(reads) for changed in (results, *between)):
            return None
        return users[0]

    def follow(self, k: int) -> None:
        """Join a loop with a matrix product that only this loop reads, if there is one."""
        item = self.items[k]
        part = None if item is None else sole_part(item)
        if item is None or part is None or not isinstance(part.request, Elementwise):
            return
        *operands, out = part.specs
        slots = slots_of(item, part)
        if part.results > 1 or out.layout.numel * out.dtype.itemsize < LARGE or slots[-1] in slots[:-1]:
            return
        for position, spec in enumerate(operands):
            product = self.source(k, slots[position], spec, Product, {slots[-1]})
            if product is None or part.request.compute != out.dtype.storage or out.dtype is not spec.dtype:
                continue
            maker = self.items[product]
            assert maker is not None
            inner = maker.launch.parts[0]
            if out.layout is spec.layout and inner.specs[0].shape[-1] <= DEEP:
                request = Followed(inner.request, part.request.scalar, position)
                others = [pair for j, pair in enumerate(zip(slots, operands)) if j != position]
                both = [*zip(slots_of(maker, inner)[:-1], inner.specs[:-1]), *others]
                self.replace(k, request, [product], both, [(slots[-1], out)])
                return

    def join(self, k: int, item: Item, part: Part, makers: dict[int, int]) -> None:
        """Replace a launch and the loops before it by one launch."""
        count = len(part.slots) - part.results
        scalars: list[Any] = []
        reads: list[tuple[int, ...]] = []
        specs: list[Any] = []
        slots: list[int] = []
        for operand in range(count):
            maker = self.items[makers[operand]] if operand in makers else None
            inner = None if maker is None else maker.launch.parts[0]
            scalars.append(None if inner is None else inner.request.scalar)
            sources = slots_of(item, part)[operand : operand + 1]
            if maker is not None and inner is not None:
                sources = slots_of(maker, inner)[:-1]
            reads.append(tuple(range(len(slots), len(slots) + len(sources))))
            slots += sources
            specs += [part.specs[operand]] if inner is None else inner.specs[:-1]
        dtype = self.dtype(next(iter(makers.values())))
        request = Chained(part.request, tuple(scalars), tuple(reads), dtype)
        outs = [(item.slots[slot], spec) for slot, spec in zip(part.written, part.specs[count:], strict=True)]
        self.replace(k, request, sorted(makers.values()), [*zip(slots, specs)], outs)

    def replace(
        self, k: int, request: Request, makers: Sequence[int], operands: Sequence[tuple[int, Spec]],
        outs: Sequence[tuple[int, Spec]],
    ) -> None:  # fmt: skip
        """Replace a launch and its makers by the launch of a request on some slots."""
        item = self.items[k]
        assert item is not None
        device = self.memory[outs[0][0]].device
        try:
            launch = backend_of(device).prepare(request, tuple([x for _, x in outs]), *[x for _, x in operands])
        except NotCompiled as missing:
            self.missing.append(missing.text)
            return
        parts = [self.items[position] for position in makers]
        fused = [each for maker in parts if maker is not None for each in (maker.fused or (maker,))]
        slots = tuple([slot for slot, _ in (*operands, *outs)])
        self.items[k] = Item(launch, slots, item.line, (*fused, *(item.fused or (item,))))
        for position in makers:
            self.items[position] = None
