"""The tape of a graph: the saved bytes of each op, the time of both passes, and the peak.

`tape(y)` is the list of ops.  A slice of it is a block, which reports the memory that a checkpoint of the block would
free, and its time.  Saved bytes are those of whole storages, each counted once, at the op that saved it first.  Memory
of a Var is held anyway and is not counted.  The arguments of a checkpoint are held, and counted at its first op.  An op
of few elements also holds its operands for pictures (`runtime/graph.py`, FEW); these bytes are counted separately.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from html import escape
from typing import Any

from minigrad.api.page import Page, styled
from minigrad.autodiff.checks import end_of
from minigrad.autodiff.engine import reachable, walk
from minigrad.autodiff.holding import Holder
from minigrad.core.allocator import CpuAllocator
from minigrad.core.storage import Storage
from minigrad.diagnostics.flow import flow
from minigrad.diagnostics.ledger import Ledger, is_op
from minigrad.diagnostics.shown import aligned
from minigrad.errors import GradientError, quantity
from minigrad.runtime import journal
from minigrad.runtime.graph import BackpropOp
from minigrad.runtime.tensor import Tensor, describe, expect_tensors

HEAD = ("", "op", "saved", "forward", "backward", "line")
UNITS = ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB"))


def in_units(size: float) -> str:
    """Return a number of bytes as text with a readable unit."""
    return next((f"{size / unit:.3g} {name}" for unit, name in UNITS if size >= unit), f"{size:.0f} B")


def in_time(seconds: float | None) -> str:
    """Return a time as text with a readable unit, or a dash for None."""
    if seconds is None:
        return "-"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} us"


@dataclass(frozen=True)
class Row:
    """Describe one recorded op of a tape.

    `saved` is the number of bytes that the op saves for the backward pass.  `forward` is the duration of the call in
    seconds, if it ran under `mg.debug()`.  `backward` is the duration of the VJP rules in seconds, if the tape was
    timed.  `pictured` is the number of bytes that the op stores only for pictures.
    """

    node: BackpropOp
    saved: int
    forward: float | None
    backward: float | None
    pictured: int = 0

    @property
    def name(self) -> str:
        """The name of the op."""
        return self.node.name


class Tape(Page, Sequence[Row]):
    """List the recorded ops from which a tensor was computed, the oldest first.

    what: Description of the tensor.
    rows: One row per op.
    ledger: Memory of the graph.
    peak: Largest number of bytes that a backward pass uses in addition to the bytes in use before it; None if not
    timed.
    """

    def __init__(self, what: str, rows: Sequence[Row], ledger: Ledger, peak: int | None = None) -> None:
        self.what, self.rows, self.ledger, self.peak = what, tuple(rows), ledger, peak

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, at: Any) -> Any:
        """Return a row, or the block of rows for a slice."""
        if isinstance(at, slice):
            return Tape(f"{listed(range(len(self))[at])} of {self.what}", self.rows[at], self.ledger)
        return self.rows[at]

    @property
    def saved(self) -> int:
        """The number of bytes that are held for the backward pass."""
        return sum(row.saved for row in self.rows)

    @property
    def pictured(self) -> int:
        """The number of bytes held only for pictures, in addition to `saved`."""
        return sum(row.pictured for row in self.rows)

    @property
    def kept(self) -> int:
        """The bytes that a checkpoint of the block does not free: its inputs, and memory with other holders."""
        return max(0, self.saved + self.pictured - self.freed)

    @property
    def freed(self) -> int:
        """The number of bytes that checkpointing the block would free until the backward pass reaches the block."""
        return self.ledger.freed({row.node.id for row in self.rows})

    @property
    def recomputed(self) -> float | None:
        """The time in seconds that checkpointing the block would cost; None if the calls were not timed."""
        times = [row.forward for row in self.rows]
        return None if any(t is None for t in times) else sum(t for t in times if t is not None)

    def lines(self) -> Iterator[tuple[str, str, str, str, str, str]]:
        """Yield the rows of the table: index, op and shape, saved, forward, backward, the user's line."""
        for k, row in enumerate(self.rows):
            shape, source = str(row.node.shape), row.node.source or ""
            name = f"{row.name}{shape}"
            yield str(k), name, in_units(row.saved), in_time(row.forward), in_time(row.backward), source

    def summary(self) -> list[str]:
        """Return the totals as lines of text."""
        verb = "holds" if len(self) == 1 else "hold"
        pictures = f", and {in_units(self.pictured)} for pictures" if self.pictured else ""
        result = [
            f"{self.what}: {quantity(len(self), 'op')} {verb} {in_units(self.saved)} for the backward pass{pictures}"
        ]
        if self.peak is not None:
            result.append(f"a backward pass uses up to {in_units(self.peak)} in addition")
        best = self.best_half()
        if best is not None:
            start, stop, block = best
            cost = f" and repeat {in_time(block.recomputed)} of computation" if block.recomputed is not None else ""
            result.append(f"checkpointing ops {start} to {stop - 1} would free {in_units(block.freed)} of this{cost}")
        return result

    def best_half(self) -> tuple[int, int, Tape] | None:
        """Return the block of half of the ops that would free the most memory."""
        size = len(self) // 2
        if size < 2:
            return None
        blocks = [(k, k + size, self[k : k + size]) for k in range(0, len(self) - size + 1, max(1, size // 8))]
        best = max(blocks, key=lambda block: block[2].freed)
        return best if best[2].freed else None

    def __str__(self) -> str:
        return "\n".join([*aligned([HEAD, *self.lines()], len(HEAD)), *self.summary()])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        most = max((row.saved for row in self.rows), default=0) or 1
        rows = [
            f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}"
            f'<td><div class="mg-bar" style="width:{100 * row.saved / most:.0f}px"></div></td></tr>'
            for row, cells in zip(self.rows, self.lines(), strict=True)
        ]
        head = "".join(f"<th>{name}</th>" for name in (*HEAD, ""))
        summary = "".join(f"<p>{escape(line)}</p>" for line in self.summary())
        return styled(f'<div class="mg-wide"><table><tr>{head}</tr>{"".join(rows)}</table></div>{summary}')


def tape(y: Tensor, timed: bool = False) -> Tape:
    """Return the recorded ops from which y was computed, the oldest first, with the bytes that each op saved.

    timed: Whether to run two backward passes: one measures the time of each op's VJP rules, and one the peak of memory.
    The graph is kept, and the peak of `mg.memory_stats` is reset.

    Returns: The ops. A slice of the tape is a block of ops; its attribute `freed` is the number of bytes that
    `mg.checkpoint` of this block would free.

    Raises GradientError if `y` has no graph, or its graph was freed.

    The forward time is only measured for calls under `mg.debug()`.  No time contains the compilation of kernels.  Ops
    with at most six elements also store their operands, so that pictures of graphs can show values; the summary lists
    these bytes separately.
    """
    under(y, "tape")
    backward: dict[int, float] = {}
    peak = None
    if timed:
        allocator = y.storage.allocator
        with exact(allocator):
            before = counted(allocator)
            walk([y], [None], None, True, False, "tape")
            peak = None if before is None else allocator.stats().peak_bytes - before
        backward = {step.node.id: step.seconds for step in flow(y).steps}  # a second pass finds plans and kernels
    nodes, leaves = under(y, "tape")
    return Tape(describe(y), rows_of(y, "tape", backward), Ledger(y, nodes, leaves), peak)


def expect_graph(name: str, y: Any) -> None:
    """Raise GradientError, which names the called function, for a value without a graph."""
    expect_tensors(name, y)
    if not y.requires_grad:
        raise GradientError(
            f"{name}: {describe(y)} has no graph, because it was not computed from a Var or was computed under "
            "mg.no_grad(); compute it from a mg.Var"
        )


def under(y: Tensor, name: str) -> tuple[list[Any], list[Any]]:
    """Return the nodes and the leaves below y; raise GradientError, with the given name, if there is no graph."""
    expect_graph(name, y)
    nodes, leaves = reachable([end_of(y)])
    if any(node.saved is None for node in nodes):
        raise GradientError(
            f"{name}: the graph was freed by an earlier backward(); call that backward with retain_graph=True"
        )
    return nodes, leaves


def rows_of(y: Tensor, name: str, backward: Mapping[int, float]) -> list[Row]:
    """Return the ops below y, the oldest first; `backward` maps ids to seconds.  Raises the same errors as `under`."""
    nodes, leaves = under(y, name)
    owned = {id(leaf.storage) for leaf in leaves}
    held = {node.id: saved_by(node) for node in nodes}
    seen, pictured = set(owned), owned.union(*(map(id, storages) for storages in held.values()))
    rows = []
    for node in reversed(nodes):
        saved, read = taken(held[node.id], seen), taken(pictures_of(node), pictured)
        rows.append(Row(node, saved, journal.seconds.get(node), backward.get(node.id), read))
    return rows


def saved_by(node: BackpropOp) -> list[Storage]:
    """Return the storages that a node holds for the backward pass."""
    return [x.storage for y in node.saved or () for x in (y.keeps() if isinstance(y, Holder) else [y])]


def pictures_of(node: BackpropOp) -> list[Storage]:
    """Return the storages of other ops' results that a node holds for pictures."""
    pairs = zip(node.parents, node.read or (), strict=False)
    return [storage for edge, storage in pairs if storage is not None and is_op(edge)]


def taken(storages: Iterable[Storage], seen: set[int]) -> int:
    """Return the bytes of the storages not in `seen`, and add them to `seen`."""
    new = {id(storage): storage for storage in storages if id(storage) not in seen}
    seen.update(new)
    return sum(map(size_of, new.values()))


def listed(indices: range) -> str:
    """Return the indices of ops as text."""
    if not indices:
        return "no ops"
    if len(indices) == 1:
        return f"op {indices[0]}"
    return f"ops {indices[0]} to {indices[-1]}" + (f" in steps of {indices.step}" if indices.step != 1 else "")


def size_of(storage: Storage) -> int:
    """Return the number of bytes of a storage."""
    return int(storage.buffer.nbytes)


def exact(allocator: Any) -> AbstractContextManager[None]:
    """Return a block in which the peak of an allocator is exact, if the allocator has one."""
    return allocator.exact() if isinstance(allocator, CpuAllocator) else nullcontext()


def counted(allocator: Any) -> int | None:
    """Reset the peak and return the bytes in use, or None for memory without counters."""
    if not isinstance(allocator, CpuAllocator):
        return None
    allocator.reset_peak()
    return int(allocator.stats().allocated_bytes)
