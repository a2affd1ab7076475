"""Drawing of a graph as an SVG picture, which any browser shows.

`draw` gets the coordinates of boxes and arrows from `viz.layered`, and returns one SVG document as text, which consists
of elements from `viz.shapes`. No other program is required.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from minigrad.api.page import LIGHT, darkened
from minigrad.core.roles import Choice
from minigrad.viz.layered import Arrangement, Point, arrange
from minigrad.viz.picture import INK, MONO, SANS, box, drawing, element, escaped, label, number

__all__ = ["KINDS", "Edge", "Node", "Style", "draw"]


@dataclass(frozen=True)
class Style:
    """The appearance of the boxes of one kind; `pill` and `dashed` distinguish kinds without color."""

    fill: str
    line: str
    pill: bool = False
    dashed: bool = False


KINDS: Final = {
    "op": Style(LIGHT["op"], LIGHT["op-line"]),
    "var": Style(LIGHT["var"], LIGHT["var-line"], pill=True),
    "constant": Style(LIGHT["constant"], "#8a8a8a", pill=True, dashed=True),
    "output": Style(LIGHT["output"], LIGHT["output-line"]),
    "view": Style(LIGHT["view"], LIGHT["view-line"]),
    "scope": Style(LIGHT["scope"], LIGHT["scope-line"]),
    "warning": Style(LIGHT["warning"], LIGHT["warning-line"]),
}
"""The kinds of boxes: leaves are pills, what is computed is a box."""

HEAD_SIZE: Final = 13.0
TEXT_SIZE: Final = 11.0
LINE_HEIGHT: Final = 16.0
WIDENED: Final = 6  # largest number of arrows for which a box is widened; with more, it could be wider than a screen
PADDING: Final = 10.0
MARGIN: Final = 14.0
ARROW: Final = LIGHT["arrow"]
ARROW_LENGTH: Final = 7.0
# Background colors for quantities, on which text is readable: from small to large; ODD is for values that are not
# finite, and NONE for no value.
STEPS: Final = tuple(LIGHT[f"step-{k}"] for k in range(5))
ODD, NONE = LIGHT["odd"], LIGHT["none"]
ON_TINT: Final = "#17202a"  # color of text on light backgrounds, which remain light in a dark theme


Cells = Sequence[Sequence[tuple[str, str]]]


@dataclass(frozen=True)
class Node:
    """Describe one box of a picture.

    The first line of `label` is the name of the box, and further lines are details.  `hint` is the tooltip, and `tint`
    is a color that replaces the color of the kind.  `cells` is a table below the label: rows of equal length with
    entries (text, color), where the color "" means no color.
    """

    id: str
    label: str
    kind: str = "op"
    hint: str = ""
    tint: str = ""
    cells: Cells = ()


@dataclass(frozen=True)
class Edge:
    """One arrow from the box `source` down to the box `target`, which are ids."""

    source: str
    target: str
    label: str = ""


def draw(
    nodes: Sequence[Node], edges: Sequence[Edge] = (), *, title: str = "graph", description: str = "",
    legend: Sequence[tuple[str, str]] = (), dark: bool = False,
) -> str:  # fmt: skip
    """Return the graph as one SVG document; screen readers read `title` and `description`.

    `legend` contains pairs of a color and its meaning, which are drawn below the graph.  With `dark`, the background is
    black.
    Boxes are `<g id="node-ID" class="node KIND">`, and arrows `<g id="edge-NUMBER" class="edge">`, numbered in order.
    Raises ArgumentError if a kind is not one of `KINDS`, and the errors of `layered.arrange`.

    >>> text = draw([Node("x", "x", "var"), Node("y", "exp")], [Edge("x", "y")], title="y = exp(x)")
    >>> text.startswith("<svg") and "exp(x)" in text
    True
    """
    for node in nodes:
        Choice(*KINDS, advice="change its kind").expect("draw", **{f"the kind of the node {node.id!r}": node.kind})
    sizes = {node.id: _size(node) for node in nodes}
    gaps = _gaps(edges)
    for id_, gap in gaps.items():  # a box must be so wide that every arrow into it meets it
        sizes[id_] = max(sizes[id_][0], gap * (sum(edge.target == id_ for edge in edges) - 1) + 24), sizes[id_][1]
    plan = arrange([node.id for node in nodes], [(edge.source, edge.target) for edge in edges], sizes, gaps)
    left, right = _label_widths(edges, plan)
    legend_width = sum(24 + _advance(text, TEXT_SIZE) for _, text in legend)
    right = max(right, legend_width - plan.width - left)
    width = plan.width + left + right + 2 * MARGIN
    height = plan.height + 2 * MARGIN + (26 if legend else 0)
    parts = [_arrow(i, edge, route) for i, (edge, route) in enumerate(zip(edges, plan.routes))]
    parts += [_box(node, plan.centres[node.id], sizes[node.id]) for node in nodes]
    # Labels are drawn last, so that no arrow crosses a label.
    parts += [_edge_label(edge, route, plan) for edge, route in zip(edges, plan.routes) if edge.label]
    parts += _legend(legend, -left, plan.height + 10)
    corner = (-left - MARGIN, -MARGIN)
    summary = f"A graph of {len(nodes)} nodes and {len(edges)} edges; arrows point from operands down to results."
    text = drawing(width, height, title, parts, description or summary, corner) + "\n"
    return darkened(text) if dark else text


def _legend(legend: Sequence[tuple[str, str]], x: float, y: float) -> list[str]:
    parts = []
    for colour, text in legend:
        parts += [box(x, y, 12, 12, colour, line=ARROW, rx=3), label(x + 17, y + 10, text, TEXT_SIZE, "start")]
        x += 24 + _advance(text, TEXT_SIZE)
    return parts


def _box(node: Node, centre: Point, size: tuple[float, float]) -> str:
    style = KINDS[node.kind]
    (cx, cy), (width, height) = centre, size
    lines = node.label.split("\n")
    baseline = cy - height / 2 + PADDING - 3
    texts = []
    for i, line in enumerate(lines):
        baseline += LINE_HEIGHT
        font: dict[str, float | str] = {"font_family": MONO, "font_size": TEXT_SIZE, "fill_opacity": "0.8"}
        if i == 0:
            font = {"font_family": SANS, "font_size": HEAD_SIZE, "font_weight": "bold"}
        texts.append(element("text", escaped(line), x=cx, y=baseline - 3, **font))
    frame = box(
        cx - width / 2, cy - height / 2, width, height, node.tint or style.fill, line=style.line,
        rx=min(height / 2, 18.0) if style.pill else 5.0, stroke_width="1.3",
        stroke_dasharray="4 3" if style.dashed else "",
    )  # fmt: skip
    title = element("title", escaped(node.hint or " ".join(lines)))
    body = "".join([title, frame, *texts, *_table(node.cells, cx, baseline + 3)])
    id_ = f"node-{escaped(node.id)}"
    return element("g", body, id=id_, class_=f"node {node.kind}", text_anchor="middle", fill=INK)


def _arrow(k: int, edge: Edge, route: list[Point]) -> str:
    """Draw an arrow whose ends are vertical, so that its head is always a triangle that points down."""
    (x, tip) = route[-1]
    path = [*route[:-1], (x, tip - ARROW_LENGTH + 1)]
    curve = f"M{number(path[0][0])},{number(path[0][1])}"
    for (ax, ay), (bx, by) in pairwise(path):
        if ax == bx:
            curve += f"V{number(by)}"
        else:
            middle = number((ay + by) / 2)
            curve += f"C{number(ax)},{middle} {number(bx)},{middle} {number(bx)},{number(by)}"
    head = f"M{number(x)},{number(tip)}l-3.5,-{ARROW_LENGTH:g}h7z"
    hint = f"{edge.source} to {edge.target}" + (f": {edge.label}" if edge.label else "")
    shaft = element("path", d=curve, fill="none", stroke=ARROW, stroke_width="1.3")
    body = element("title", escaped(hint)) + shaft + element("path", d=head, fill=ARROW)
    return element("g", body, id=f"edge-{k}", class_="edge")


def _edge_label(edge: Edge, route: list[Point], plan: Arrangement) -> str:
    """Draw a label next to the arrow's head: on the left side in the left half of the box, otherwise on the right."""
    (x, y), leftwards = route[-1], _is_left(edge, route, plan)
    anchor, shift = ("end", -6) if leftwards else ("start", 6)
    at = (x + shift, y - 4, edge.label, TEXT_SIZE - 1, anchor)
    # The white outline is a separate text, because some programs paint fill and outline in the wrong order.
    around = label(
        *at, font_family=MONO, fill=LIGHT["paper"], stroke=LIGHT["paper"], stroke_width="3", aria_hidden="true"
    )
    return around + label(*at, font_family=MONO, class_="edge-label")


def _gaps(edges: Iterable[Edge]) -> dict[str, float]:
    """Return the distance between arrows for each node at which three to six arrows with labels meet.

    If two arrows meet, their labels are on either side.  If more arrows meet, each label needs space before the next
    arrow.
    """
    labels: dict[str, list[str]] = {}
    for edge in edges:
        labels.setdefault(edge.target, []).append(edge.label)
    return {
        target: 14 + max(_advance(text, TEXT_SIZE - 1) for text in texts)
        for target, texts in labels.items()
        if 2 < len(texts) <= WIDENED and any(texts)
    }


def _label_widths(edges: Iterable[Edge], plan: Arrangement) -> tuple[float, float]:
    """Return how far labels extend to the left and to the right of the boxes."""
    left = right = 0.0
    for edge, route in zip(edges, plan.routes):
        if edge.label:
            reach = 6 + _advance(edge.label, TEXT_SIZE - 1)
            if _is_left(edge, route, plan):
                left = max(left, reach - route[-1][0])
            else:
                right = max(right, route[-1][0] + reach - plan.width)
    return left, right


def _is_left(edge: Edge, route: list[Point], plan: Arrangement) -> bool:
    return route[-1][0] < plan.centres[edge.target][0] - 1e-9


def _size(node: Node) -> tuple[float, float]:
    head, *details = node.label.split("\n")
    width = max([_advance(head, HEAD_SIZE), *(_advance(line, TEXT_SIZE) for line in details)])
    width = max(width, sum(_columns(node.cells)))
    return max(36.0, width + 2 * PADDING), LINE_HEIGHT * (1 + len(details) + len(node.cells)) + 2 * PADDING - 6


def _columns(cells: Cells) -> list[float]:
    """Return the widths of the columns of a table."""
    return [max(_advance(text, TEXT_SIZE) for text, _ in column) + 8 for column in zip(*cells)]


def _table(cells: Cells, x: float, y: float) -> list[str]:
    """Return the table of a box, which is centered at x and starts at y."""
    widths = _columns(cells)
    parts = []
    for i, row in enumerate(cells):
        left, top = x - sum(widths) / 2, y + LINE_HEIGHT * i
        for width, (text, colour) in zip(widths, row):
            if colour:
                parts.append(box(left + 1, top, width - 2, LINE_HEIGHT - 2, colour, line="", rx=2))
            middle = {"x": left + width / 2, "y": top + LINE_HEIGHT - 5}
            parts.append(element("text", escaped(text), **middle, font_family=MONO, font_size=TEXT_SIZE))
            left += width
    return parts


def _advance(text: str, size: float) -> float:
    """Return the width of a text: 0.6 of the size per letter (exact for monospace fonts), 1 per East Asian letter."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return size * (0.6 * len(text) + 0.4 * wide) + 0.5
