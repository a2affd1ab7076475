"""The coordinates of the boxes of a graph, such that all arrows point down and few of them cross.

`arrange` maps nodes, edges and box sizes to coordinates; `viz.svg` draws them. The method is Sugiyama's, in four steps:
a rank for every node and an order within each rank (both in `viz.grid`), then an x coordinate for every node and a
route for every edge. There is no recursion and no randomness: graphs may have ten thousand nodes, and the same graph
always has the same picture.

Source: K. Sugiyama, S. Tagawa, M. Toda, "Methods for Visual Understanding of Hierarchical System Structures", IEEE
Transactions on Systems, Man, and Cybernetics 11(2), 1981. The median rule and the weights that straighten edges are
those of E. Gansner, E. Koutsofios, S. North, K.-P. Vo, "A Technique for Drawing Directed Graphs", IEEE Transactions on
Software Engineering 19(3), 1993.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeVar

from minigrad.errors import ArgumentError
from minigrad.viz.grid import Grid, effort, make_grid, order, rank

__all__ = ["Arrangement", "Point", "arrange"]

Point = tuple[float, float]
N = TypeVar("N", bound=Hashable)

COLUMN_GAP: Final = 26.0
ROW_GAP: Final = 34.0
PORT_GAP: Final = 12.0
"""The distance of two arrows that meet at one box; `x * x` has two, and both are to be seen."""

PASSES: Final = 96
KINK: Final = 4.0
"""A bend to the side of less than this looks like a mistake, so the edge goes on straight."""

ASIDE: Final = 0.1
"""How much less pulls what leads to a box by fewer steps than another: a long chain goes straight down."""

LEVERAGE: Final = (1.0, 4.0, 16.0)
"""How hard an edge piece pulls towards the vertical, by the number of its ends that are bends."""


@dataclass(frozen=True)
class Arrangement:
    """Store the coordinates of a drawing; x grows to the right and y downwards, from 0 to `width` and `height`.

    `centres` contains the center of each box. `routes` contains for each edge, in the order of the edges, the points of
    a line from the lower side of the source box to the upper side of the target box. Each segment of the line is
    vertical, or crosses the gap between two ranks, which are the rows of boxes.
    """

    centres: dict[Hashable, Point]
    routes: list[list[Point]]
    ranks: dict[Hashable, int]
    crossings: int
    width: float
    height: float


def arrange(
    nodes: Sequence[N], edges: Sequence[tuple[N, N]], sizes: Mapping[N, tuple[float, float]],
    gaps: Mapping[N, float] | None = None,
) -> Arrangement:  # fmt: skip
    """Return coordinates for boxes, and for the edges `(source, target)` between the boxes.

    `sizes` contains the `(width, height)` of each node. `gaps` contains, for nodes where it is necessary, the distance
    between the arrows that meet at the node, for example if the arrows have labels. Several edges between the same two
    nodes are drawn side by side. In a very large graph, edges that cross many ranks are straight lines without bends.
    Raises ArgumentError if the edges have a cycle or name an unknown node, or if a node occurs twice or has no size.

    >>> sizes = {"x": (40.0, 20.0), "y": (40.0, 20.0)}
    >>> drawing = arrange(["x", "y"], [("x", "y")], sizes)
    >>> drawing.centres["x"], drawing.centres["y"]
    ((20.0, 10.0), (20.0, 64.0))
    """
    number = _numbers(nodes, edges, sizes)
    if not nodes:
        return Arrangement({}, [], {}, 0, 0.0, 0.0)
    arcs = [(number[a], number[b]) for a, b in edges]
    ranks = rank(nodes, arcs)
    grid = make_grid(ranks, arcs, [float(sizes[n][0]) for n in nodes])
    crossings = order(grid)
    x = _position(grid)
    tops, bottoms = _stack(grid, x, [float(sizes[n][1]) for n in nodes])
    row_of = {k: r for r, row in enumerate(grid.rows) for k in row}
    boxes = [(x[k], (tops[row_of[k]] + bottoms[row_of[k]]) / 2, *sizes[node]) for k, node in enumerate(nodes)]
    wide = {number[node]: gap for node, gap in (gaps or {}).items()}
    routes = _routes(grid, boxes, x, wide, [(tops[row_of[k]], bottoms[row_of[k]]) for k in range(len(x))])
    left = min([cx - w / 2 for cx, _, w, _ in boxes] + [px for route in routes for px, _ in route])
    right = max([cx + w / 2 for cx, _, w, _ in boxes] + [px for route in routes for px, _ in route])
    return Arrangement(
        centres={node: (box[0] - left, box[1]) for node, box in zip(nodes, boxes)},
        routes=[[(px - left, py) for px, py in route] for route in routes],
        ranks=dict(zip(nodes, ranks)),
        crossings=crossings,
        width=right - left,
        height=bottoms[-1],
    )


def _numbers(nodes: Sequence[N], edges: Iterable[tuple[N, N]], sizes: Mapping[N, tuple[float, float]]) -> dict[N, int]:
    number: dict[N, int] = {}
    for node in nodes:
        if node in number:
            raise ArgumentError(f"arrange: node names must be unique, got {node!r} twice; rename one of the nodes")
        if node not in sizes:
            raise ArgumentError(f"arrange: sizes must have an entry for each node, got none for {node!r}; add one")
        number[node] = len(number)
    for edge in edges:
        for end in edge:
            if end not in number:
                raise ArgumentError(
                    f"arrange: each edge must connect two nodes, got {edge!r} with {end!r}; add this node or remove "
                    "the edge"
                )
    return number


def _position(grid: Grid) -> list[float]:
    """Return an x for every node and bend: near its neighbors, in the order of its rank, without overlaps."""
    x = [0.0] * len(grid.widths)
    offsets = []
    for row in grid.rows:
        steps = [0.0]
        for a, b in pairwise(row):
            steps.append(steps[-1] + (grid.widths[a] + grid.widths[b]) / 2 + COLUMN_GAP)
        offsets.append(steps)
        for k, step in zip(row, steps):
            x[k] = step - steps[-1] / 2
    passes = effort(grid, PASSES)
    (above, up), (below, down) = _pulls(grid, grid.rows, grid.above), _pulls(grid, grid.rows[::-1], grid.below)
    longest = [max((up[k] + down[k] for k in row), default=0) for row in grid.rows]
    firm = {k: 1.0 if up[k] + down[k] == most else ASIDE for row, most in zip(grid.rows, longest) for k in row}
    for turn in range(passes):
        # First each rank follows the previous rank, so that positions change quickly; the last passes balance both
        # sides.
        both = 2 * turn >= passes
        rows = list(zip(grid.rows, offsets))
        for row, steps in rows if turn % 2 == 0 else reversed(rows):
            wanted, weights = [], []
            for k, step in zip(row, steps):
                centre, weight = _pull(k, above[k] + below[k] if both else (above, below)[turn % 2][k], x)
                wanted.append(centre - step)
                weights.append(weight * firm[k])
            for k, step, value in zip(row, steps, _isotonic(wanted, weights)):
                x[k] = value + step
    return x


def _pulls(
    grid: Grid, rows: list[list[int]], neighbours: list[list[int]]
) -> tuple[list[list[tuple[int, float]]], list[int]]:
    """Return for each node and bend its weighted neighbors on one side, and the longest path from that side.

    `rows` contains the ranks in the order from that side.
    """
    steps = [0] * len(grid.widths)
    pulls: list[list[tuple[int, float]]] = [[] for _ in grid.widths]
    for row in rows:
        for k in row:
            most = max((steps[m] for m in neighbours[k]), default=-1)
            steps[k] = most + 1
            for m in neighbours[k]:
                share = LEVERAGE[(k >= grid.real) + (m >= grid.real)]
                pulls[k].append((m, share if steps[m] == most else share * ASIDE))
    return pulls, steps


def _pull(k: int, neighbours: list[tuple[int, float]], x: list[float]) -> tuple[float, float]:
    """Return the weighted mean of the neighbors' positions and its weight; without neighbors, the current position."""
    total = weight = 0.0
    for m, share in neighbours:
        total += share * x[m]
        weight += share
    return (total / weight, weight) if weight else (x[k], 1e-3)


def _isotonic(wanted: list[float], weights: list[float]) -> list[float]:
    """Return the non-decreasing values closest to `wanted` in weighted least squares, by pooling adjacent violators.

    Source: M. Ayer et al., "An Empirical Distribution Function for Sampling with Incomplete Information", 1955.

    >>> _isotonic([1.0, 4.0, 2.0, 5.0], [1.0, 1.0, 1.0, 1.0])
    [1.0, 3.0, 3.0, 5.0]
    """
    pools: list[tuple[float, float, int]] = []  # each pool is (mean, weight, length)
    for value, weight in zip(wanted, weights):
        mean, length = value, 1
        while pools and pools[-1][0] > mean:
            other, heft, more = pools.pop()
            mean = (mean * weight + other * heft) / (weight + heft)
            weight, length = weight + heft, length + more
        pools.append((mean, weight, length))
    return [mean for mean, _, length in pools for _ in range(length)]


def _stack(grid: Grid, x: list[float], heights: list[float]) -> tuple[list[float], list[float]]:
    """Return the top and the bottom of each rank. The gap below a rank is higher if an edge runs far to the side."""
    tops, bottoms, y = [], [], 0.0
    for row in grid.rows:
        tops.append(y)
        bottoms.append(y + max((heights[k] for k in row if k < grid.real), default=0.0))
        reach = max((abs(x[k] - x[m]) for k in row for m in grid.below[k]), default=0.0)
        y = bottoms[-1] + min(max(ROW_GAP, reach / 6), 4 * ROW_GAP)
    return tops, bottoms


def _routes(
    grid: Grid,
    boxes: list[tuple[float, float, float, float]],
    x: list[float],
    wide: dict[int, float],
    spans: list[tuple[float, float]],
) -> list[list[Point]]:
    """Return the route of each edge: from its source through the gap below it, straight past ranks, to its target."""
    leaving = _ports(grid, x, boxes, {}, end=0)
    arriving = _ports(grid, x, boxes, wide, end=-1)
    routes = []
    for i, chain in enumerate(grid.chains):
        (_, ya, _, ha), (_, yb, _, hb) = boxes[chain[0]], boxes[chain[-1]]
        at = [leaving[i], *(x[k] for k in chain[1:-1]), arriving[i]]
        for piece, (before, here) in enumerate(pairwise(list(at)), 1):
            at[piece] = at[piece - 1] if abs(at[piece - 1] - here) < KINK and abs(before - here) < KINK else here
        route = [(at[0], ya + ha / 2), (at[0], spans[chain[0]][1])]
        for k, px in zip(chain[1:-1], at[1:-1]):
            route += [(px, y) for y in spans[k]]
        route += [(at[-1], spans[chain[-1]][0]), (at[-1], yb - hb / 2)]
        # A box that is as high as its rank, or a rank without height, would produce a point twice, up to rounding.
        routes.append([route[0], *(here for before, here in pairwise(route) if here[1] - before[1] > 1e-6)])
    return routes


def _ports(
    grid: Grid, x: list[float], boxes: list[tuple[float, float, float, float]], wide: dict[int, float], *, end: int
) -> list[float]:
    """Return the x at which each edge touches the box at one end; edges are ordered by their other ends."""
    meeting: dict[int, list[int]] = {}
    for i, chain in enumerate(grid.chains):
        meeting.setdefault(chain[end], []).append(i)
    port = [0.0] * len(grid.chains)
    for k, members in meeting.items():
        members.sort(key=lambda i: (x[grid.chains[i][-2 if end else 1]], i))
        gap = wide.get(k, min(PORT_GAP, 0.7 * boxes[k][2] / len(members)))
        for position, i in enumerate(members):
            port[i] = boxes[k][0] + gap * (position - (len(members) - 1) / 2)
    return port
