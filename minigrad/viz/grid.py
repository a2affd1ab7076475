"""The rank of each box of a graph, and its position within the rank.

These are the first two of the four steps of `viz.layered`: ranks by longest path, and an order with few crossings. An
edge that crosses ranks is cut into pieces by bends, which are ordered in the same way as boxes.
"""

from bisect import bisect_right, insort
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Final

from minigrad.errors import ArgumentError

__all__ = ["Grid", "effort", "make_grid", "order", "rank"]

BEND_WIDTH: Final = 8.0
"""The room that a long edge takes where it passes a rank."""

BEND_LIMIT: Final = 20_000
"""The longest edges get no bends beyond this many in all: a skip edge from every node to the end has n * n / 2."""

WORK: Final = 150_000
"""About how many edge pieces the order, and the x, may look at before the picture of a big graph is good enough."""

SWEEPS: Final = 24


@dataclass
class Grid:
    """Nodes and bends, numbered from 0, nodes first; every piece of an edge connects two neighboring ranks."""

    real: int
    widths: list[float]
    rows: list[list[int]]
    above: list[list[int]]
    below: list[list[int]]
    chains: list[list[int]] = field(default_factory=list)

    def pieces(self) -> int:
        """Return the number of edge pieces."""
        return sum(map(len, self.below))


def rank(nodes: Sequence[Hashable], arcs: list[tuple[int, int]]) -> list[int]:
    """Return the rank of each node, the longest path to it; a node with one consumer then moves down next to it."""
    targets: list[list[int]] = [[] for _ in nodes]
    waiting = [0] * len(nodes)
    for a, b in arcs:
        targets[a].append(b)
        waiting[b] += 1
    ready = [k for k, count in enumerate(waiting) if not count]
    ranks = [0] * len(nodes)
    private = [True] * len(nodes)  # whether moving a node and its ancestors down makes no edge longer
    for a in ready:  # the list grows during the loop
        single = len(set(targets[a])) == 1
        for b in targets[a]:
            private[b] = private[b] and private[a] and single
            ranks[b] = max(ranks[b], ranks[a] + 1)
            waiting[b] -= 1
            if not waiting[b]:
                ready.append(b)
    if len(ready) < len(nodes):
        stuck = next(k for k, count in enumerate(waiting) if count)
        raise ArgumentError(
            f"arrange: edges must not have a cycle, but the edges into {nodes[stuck]!r} have a cycle; remove one of "
            "these edges"
        )
    for a in reversed(ready):
        if private[a] and targets[a]:
            ranks[a] = min(ranks[b] for b in targets[a]) - 1
    return ranks


def make_grid(ranks: list[int], arcs: list[tuple[int, int]], widths: list[float]) -> Grid:
    """Cut each long edge at the ranks that it crosses, until BEND_LIMIT bends are used; shorter edges come first."""
    real = len(ranks)
    grid = Grid(real, list(widths), [[] for _ in range(max(ranks) + 1)], [[] for _ in ranks], [[] for _ in ranks])
    visited = _visiting_order(real, arcs)
    start = list(visited)  # a bend starts next to its source
    for k in range(real):
        grid.rows[ranks[k]].append(k)
    grid.chains = [[a, b] for a, b in arcs]
    left = BEND_LIMIT
    for i in sorted(range(len(arcs)), key=lambda i: ranks[arcs[i][1]] - ranks[arcs[i][0]]):
        a, b = arcs[i]
        left -= ranks[b] - ranks[a] - 1
        if left < 0:
            break
        bends = range(len(grid.widths), len(grid.widths) + ranks[b] - ranks[a] - 1)
        for rank, bend in enumerate(bends, ranks[a] + 1):
            grid.rows[rank].append(bend)
            grid.widths.append(BEND_WIDTH)
            grid.above.append([])
            grid.below.append([])
            start.append(visited[a])
        grid.chains[i] = [a, *bends, b]
        for upper, lower in pairwise(grid.chains[i]):
            grid.below[upper].append(lower)
            grid.above[lower].append(upper)
    for row in grid.rows:
        row.sort(key=start.__getitem__)
    return grid


def _visiting_order(real: int, arcs: list[tuple[int, int]]) -> list[int]:
    """Return an index for each node, depth first along edges in both directions, so connected nodes are neighbors."""
    near: list[list[int]] = [[] for _ in range(real)]
    for a, b in arcs:
        near[a].append(b)
        near[b].append(a)
    visited = [-1] * real
    count = 0
    for root in range(real):
        stack = [root]
        while stack:
            k = stack.pop()
            if visited[k] < 0:
                visited[k] = count
                count += 1
                stack.extend(m for m in reversed(near[k]) if visited[m] < 0)
    return visited


def order(grid: Grid) -> int:
    """Sort each rank by the medians of its neighbors, down and up; keep the best order and return its crossings."""
    position = [0] * len(grid.widths)
    _number_rows(grid.rows, position)
    fewest = _crossings(grid, position)
    best = [list(row) for row in grid.rows]
    for sweep in range(effort(grid, SWEEPS)):
        if not fewest:
            break
        downwards = sweep % 2 == 0
        neighbours = grid.above if downwards else grid.below
        for row in grid.rows if downwards else reversed(grid.rows):
            keys = {k: median([position[m] for m in neighbours[k]] or [position[k]]) for k in row}
            row.sort(key=keys.__getitem__)
            _number_rows([row], position)
        crossings = _crossings(grid, position)
        if crossings < fewest:
            fewest, best = crossings, [list(row) for row in grid.rows]
    grid.rows = best
    return fewest


def effort(grid: Grid, most: int) -> int:
    """Return how often all rows may be traversed for a graph of this size; small graphs allow `most` times."""
    return max(2, min(most, WORK // (1 + grid.pieces())))


def _number_rows(rows: Iterable[list[int]], position: list[int]) -> None:
    for row in rows:
        for slot, k in enumerate(row):
            position[k] = slot


def _crossings(grid: Grid, position: list[int]) -> int:
    """Return the number of pairs of edge pieces that cross: inversions between the orders of their two ends."""
    total = 0
    for upper in grid.rows[:-1]:
        seen: list[int] = []  # the lower ends of the edges so far, in order
        for slot in (slot for k in upper for slot in sorted([position[m] for m in grid.below[k]])):
            total += len(seen) - bisect_right(seen, slot)
            insort(seen, slot)
    return total
