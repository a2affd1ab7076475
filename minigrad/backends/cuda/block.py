"""One block of threads in the simulator: their order, barriers, and the communication of lanes in a warp.

Warps run one after the other, each up to the next barrier of the block, and the lanes of a warp do the same: forward,
in reverse, or in a random order with a seed.  So a thread runs far ahead of the threads that it should have waited for.
A collective operation runs when all lanes in its mask have arrived.  The simulator reports a barrier that not all
threads of the block reach, or that they reach at two positions.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from minigrad.backends.cuda.matrices import results
from minigrad.backends.cuda.watched import REMEDIES, Access, Cells, Notice
from minigrad.backends.cuda.words import SHARED_LIMIT, Point, Words, cells_of


class Lane:
    """One thread: its index, the (operation, lanes) that it waits for, its value for the operation, its line."""

    __slots__ = ("access", "dead", "index", "line", "number", "result", "strand", "value", "waits")

    def __init__(self, index: Point, access: Access) -> None:
        self.number = access.thread
        self.index, self.access = index, access
        self.strand: Any = None
        self.waits: tuple[str, Any] | None = None
        self.value: Any = None
        self.result: Any = None
        self.line = 0
        self.dead = False


@cache
def positions(size: Point) -> tuple[Point, ...]:
    """Return the positions of the threads of a block of a size, by number."""
    return tuple(Point(x, y, z) for z in range(size.z) for y in range(size.y) for x in range(size.x))


class Order:
    """The order in which blocks, warps and lanes run: "forward", "reverse", or "random" with a seed."""

    def __init__(self, kind: str = "forward", seed: int = 0) -> None:
        self.kind, self.random = kind, random.Random(seed)

    def of(self, things: Sequence[Any]) -> list[Any]:
        result = list(things)
        if self.kind == "reverse":
            result.reverse()
        elif self.kind == "random":
            self.random.shuffle(result)
        return result


class Block:
    """A block that runs a kernel."""

    def __init__(self, words: Words, number: int, where: Point, size: Point, order: Order) -> None:
        self.words, self.number, self.order = words, number, order
        words.block, words.cuda.blockIdx = self, where
        launch = words.launch
        self.lanes = [Lane(at, Access(launch, number, 0, k // 32, 0, k)) for k, at in enumerate(positions(size))]
        self.shared: dict[Any, Cells] = {}
        self.copies: dict[int, list[list[Any]]] = {}  # the asynchronous copies of each thread, in groups
        self.current = self.lanes[0]

    def shared_array(self, site: Any, shape: Any, dtype: np.dtype[Any]) -> Cells:
        """Return the array that all threads share at a position of the text."""
        result = self.shared.get(site)
        if result is None:
            result = self.shared[site] = cells_of(self.words, "a shared array", shape, dtype)
            total = sum(cells.region.bytes.size for cells in self.shared.values())
            if total > SHARED_LIMIT:
                raise self.notice(
                    "bounds", f"a block must use at most {SHARED_LIMIT} bytes of shared memory, got {total}"
                )
        return result

    def enter(self, lane: Lane) -> None:
        """Make a thread the current one."""
        self.current = lane
        self.words.access, self.words.cuda.threadIdx = lane.access, lane.index

    # ---- kernels whose threads do not wait for each other

    def run_through(self, kernel: Callable[..., None], args: Sequence[Any]) -> None:
        """Run each thread from its beginning to its end."""
        for lane in self.order.of(self.lanes):
            self.enter(lane)
            kernel(*args)

    # ---- kernels whose threads wait for each other

    def run(self, kernel: Callable[..., Any], args: Sequence[Any]) -> None:
        """Run all threads from barrier to barrier. kernel: a generator, see `strands.py`."""
        for lane in self.lanes:
            lane.strand = kernel(*args)
        warps = [self.lanes[k : k + 32] for k in range(0, len(self.lanes), 32)]
        try:
            while not all(lane.dead for lane in self.lanes):
                for warp in self.order.of(warps):
                    self.run_warp(warp)
                self.pass_barrier()
        finally:
            for lane in self.lanes:
                lane.strand.close()

    def run_warp(self, warp: list[Lane]) -> None:
        """Run the lanes of a warp until each has ended or waits for the block."""
        ready = [lane for lane in warp if not lane.dead]
        while ready:
            for lane in self.order.of(ready):
                lane.waits = None
                self.enter(lane)
                try:
                    lane.strand.send(lane.result)
                except StopIteration:
                    lane.dead = True
            ready = []
            groups: dict[Any, list[Lane]] = {}
            for lane in warp:
                if not lane.dead and lane.waits is not None and lane.waits[0] != "block":
                    groups.setdefault(lane.waits, []).append(lane)
            for (what, mask), group in groups.items():
                named = {k for k in range(len(warp)) if int(mask) >> k & 1}
                if named <= {lane.number % 32 for lane in group}:
                    self.together(what, group)
                    ready += group

    def meet(self, what: tuple[str, Any], value: Any, depth: int = 2) -> None:
        """Record the operation that the current thread waits for, before the thread is suspended.

        When it is resumed, it receives the result of the operation. depth: number of calls up to the kernel.
        """
        lane = self.current
        lane.waits, lane.value = what, value
        lane.line = sys._getframe(depth).f_lineno

    def together(self, what: str, group: list[Lane]) -> None:
        """Set the result of a collective operation for each lane of a group, once all have arrived."""
        values = {lane.number % 32: lane.value for lane in group}
        if what == "shuffle":
            for lane in group:
                own, source = lane.value
                lane.result = values[source][0] if source in values else own
            return
        if what.startswith(("ldmatrix", "mma")):
            each = results(what, values)
            for lane in group:
                lane.result = each[lane.number % 32]
            return
        answer: Any = None
        if what == "ballot":
            answer = sum(1 << k for k, value in values.items() if value)
        elif what in ("all", "any"):
            answer = {"all": all, "any": any}[what](values.values())
        for lane in group:
            lane.result = answer
            if what == "sync":
                lane.access = lane.access._replace(syncs=lane.access.syncs + 1)

    def pass_barrier(self) -> None:
        """Let the threads continue if all of them have reached the same barrier."""
        waiting = [lane for lane in self.lanes if not lane.dead]
        if not waiting:
            return
        for lane in waiting:
            if lane.waits is None or lane.waits[0] != "block":
                what = lane.waits[0] if lane.waits else "nothing"
                raise self.notice("divergence", f"thread {lane.number} waits at line {lane.line} for lanes of its warp "
                                  f"that never arrive ({what})")  # fmt: skip
        lines = sorted({lane.line for lane in waiting})
        if len(waiting) < len(self.lanes):
            gone = len(self.lanes) - len(waiting)
            raise self.notice("divergence", f"{gone} threads have ended, and {len(waiting)} wait at line {lines[0]}")
        if len(lines) > 1:
            raise self.notice("divergence", f"threads wait at different barriers, at the lines {lines}")
        values = [lane.value for lane in waiting]
        what = waiting[0].waits[1]  # type: ignore[index]
        reductions = {"count": lambda: sum(map(bool, values)), "and": lambda: all(values), "or": lambda: any(values)}
        result: Any = reductions[what]() if what in reductions else None
        for lane in waiting:
            lane.result = result
            lane.access = lane.access._replace(barriers=lane.access.barriers + 1)

    def notice(self, kind: str, what: str) -> Notice:
        advice = f"; {REMEDIES[kind]}" if kind == "divergence" else "; use a smaller shared array"
        return Notice(f"{self.words.kernel}: {what} (block {self.number}){advice}", kind=kind)
