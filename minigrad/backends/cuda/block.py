"""One block of threads in the simulator: their order, barriers, and the communication of lanes in a warp.

Warps run one after the other, each up to the next barrier of the block, and the lanes of a warp do the same: forward,
in reverse, or in a random order with a seed.  So a thread runs far ahead of the threads that it should have waited for.
A collective operation runs when all lanes in its mask have arrived.  The simulator reports a barrier that not all
threads of the block reach, or that they reach at two positions.
"""

from __future__ import annotations

import ast
import random
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from minigrad.backends.cuda.watched import REMEDIES, Access, Cells, Notice
from minigrad.backends.cuda.words import SHARED_LIMIT, Point, Words, cells_of, results
from minigrad.errors import KernelError


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
        """Run all threads from barrier to barrier. kernel: a generator, see `interruptible`."""
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


# ---- kernels that can be suspended: a text is changed into generators ------------------------------------------------
#
# A function that waits suspends itself by `yield`, with the name of the operation; the block sends the values of the
# other threads.  Such a function becomes a generator, and so does its caller, by `yield from`.  All of them run in one
# system thread, and a switch costs as much as a call.

INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def interruptible(kernel: str, text: str, waiting: Collection[str]) -> tuple[ast.Module, bool]:
    """Return the text that suspends at calls of functions in `waiting`, and whether its function `kernel` does.

    Raises KernelError for a function in `waiting` that is not called by its name in a function: this wait would be
    missed.
    """
    tree = ast.parse(text)
    if not any(name in text for name in waiting):
        return tree, False
    nodes = list(ast.walk(tree))
    calls = {
        f: [node for node in own(f) if isinstance(node, ast.Call)] for f in nodes if isinstance(f, ast.FunctionDef)
    }
    left: set[str] = set()
    before = -1
    while len(left) > before:
        before = len(left)
        left |= {f.name for f, made in calls.items() if any(waits(call, waiting, left) for call in made)}
    called = {id(call.func) for made in calls.values() for call in made}
    for node in nodes:
        if name_of(node) in {*waiting, *left} and id(node) not in called:
            raise KernelError(
                f"{kernel}: {name_of(node)} at line {getattr(node, 'lineno', 0)} waits for other threads, and the "
                "simulator can run it only as a call by name in a function; call it directly"
            )
    return Leaving(waiting, left).visit(tree), "kernel" in left


def name_of(node: ast.AST) -> str | None:
    """Return the name that a node reads, or None."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) else None


def own(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Yield the nodes of a function's body, except those of inner functions."""
    rest: list[ast.AST] = list(function.body)
    while rest:
        node = rest.pop()
        if not isinstance(node, INNER):
            yield node
            rest += ast.iter_child_nodes(node)


def waits(call: ast.Call, waiting: Collection[str], left: Collection[str]) -> bool:
    """Return whether a call is of an operation or of a function that waits."""
    return name_of(call.func) in waiting or (isinstance(call.func, ast.Name) and call.func.id in left)


class Leaving(ast.NodeTransformer):
    """Transformer that writes `yield` for an operation that waits, and `yield from` for a function that does."""

    def __init__(self, waiting: Collection[str], left: Collection[str]) -> None:
        self.waiting, self.left = waiting, left

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        if not waits(node, self.waiting, self.left):
            return node
        kind = ast.Yield if name_of(node.func) in self.waiting else ast.YieldFrom
        return ast.copy_location(kind(node), node)
