"""How does a graph become a picture that any browser shows?

`draw` takes boxes and arrows, asks `viz.layered` for coordinates and returns one SVG document as text. It has no style
sheet, no script and no marker, whose names would leak into the notebook page around it, and needs no program to be
installed.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Final

from minigrad.errors import ArgumentError
from minigrad.viz.layered import Arrangement, Point, arrange

__all__ = ["KINDS", "Edge", "Node", "Style", "draw"]


@dataclass(frozen=True)
class Style:
    """How the boxes of one kind look. `pill` and `dashed` tell kinds apart without colour."""

    fill: str
    line: str
    pill: bool = False
    dashed: bool = False


KINDS: Final = {
    "op": Style("#eef3fb", "#4a6fa5"),
    "var": Style("#fdf0cf", "#b07d12", pill=True),
    "constant": Style("#f3f3f3", "#8a8a8a", pill=True, dashed=True),
    "output": Style("#e2f3e4", "#3c8048"),
    "view": Style("#f1ecf9", "#7a5ba8"),
    "scope": Style("#e8edf2", "#52606d"),
    "warning": Style("#fde7e4", "#b5402f"),
}
"""The kinds of boxes: leaves are pills, what is computed is a box."""

HEAD_SIZE: Final = 13.0
TEXT_SIZE: Final = 11.0
LINE_HEIGHT: Final = 16.0
PADDING: Final = 10.0
MARGIN: Final = 14.0
INK: Final = "#1f2933"
ARROW: Final = "#5b6770"
ARROW_LENGTH: Final = 7.0
# Names of fonts before the general name, since one program that draws SVG writes nothing where it knows none of them;
# no quotation marks, which another takes for part of a name.  Who looks for the first name alone takes what it has.
SANS: Final = "Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif"
MONO: Final = "Menlo, Consolas, Liberation Mono, DejaVu Sans Mono, monospace"

# Tints that say how much, all of which can be written on: from little to much, what is not finite, and none.
STEPS: Final = ("#fffaf2", "#fde6c4", "#fcca96", "#f9a783", "#f08a7c")
ODD: Final = "#d8b4fe"
NONE: Final = "#e5e7eb"

# What a colour is on black.
DARK: Final = {
    "#ffffff": "#12171c", INK: "#e4e9ee", ARROW: "#9aa5b1", "#eef3fb": "#1d2b40", "#fdf0cf": "#423410",
    "#f3f3f3": "#2a2f34", "#e2f3e4": "#17351f", "#f1ecf9": "#2e2342", "#e8edf2": "#27313b", "#fde7e4": "#43201b",
    **dict(zip(STEPS, ("#33291c", "#4d3516", "#6b3f14", "#8a3f1e", "#a8322a"))), ODD: "#5b2a86", NONE: "#3a4149",
    "#4a6fa5": "#7fa6dc", "#7a5ba8": "#b196dd", "#3c8048": "#6bbd79", "#b5402f": "#ea7a68", "#52606d": "#9aa8b5",
    "#b07d12": "#d9a93a", "#f4f6f8": "#20272e", "#c9d8ee": "#274064", "#f6d9ae": "#5a3f12",
}  # fmt: skip
ON_TINT: Final = "#17202a"  # what is written on a light colour, which is light on black too


Cells = Sequence[Sequence[tuple[str, str]]]


@dataclass(frozen=True)
class Node:
    """One box. The first line of `label` is its name, further lines are details; `hint` is shown under the pointer, and
    `tint` is a colour in place of that of the kind.  `cells` is a table below the label: rows of equally many (text,
    colour), with "" for no colour."""

    id: str
    label: str
    kind: str = "op"
    hint: str = ""
    tint: str = ""
    cells: Cells = ()


@dataclass(frozen=True)
class Edge:
    """One arrow from the box `source` down to the box `target`; both are ids."""

    source: str
    target: str
    label: str = ""


def draw(
    nodes: Sequence[Node], edges: Sequence[Edge] = (), *, title: str = "graph", description: str = "",
    legend: Sequence[tuple[str, str]] = (), dark: bool = False,
) -> str:  # fmt: skip
    """The graph as one SVG document; a screen reader speaks `title` and `description`.

    legend: (colour, what it says), drawn below.  dark: on black.

    Boxes are `<g id="node-ID" class="node KIND">`, arrows `<g id="edge-NUMBER" class="edge">`, numbered as given.

    Raises: ArgumentError if a kind is not one of `KINDS`, and what `layered.arrange` raises.
    Example:
        >>> text = draw([Node("x", "x", "var"), Node("y", "exp")], [Edge("x", "y")], title="y = exp(x)")
        >>> text.startswith("<svg") and "exp(x)" in text
        True
    """
    for node in nodes:
        if node.kind not in KINDS:
            raise ArgumentError(
                f"draw: the node {node.id!r} is of kind {node.kind!r}, which is none of {', '.join(KINDS)}"
            )
    sizes = {node.id: _size(node) for node in nodes}
    drawing = arrange([node.id for node in nodes], [(edge.source, edge.target) for edge in edges], sizes)
    left, right = _label_room(edges, drawing)
    legend_width = sum(24 + _advance(text, TEXT_SIZE) for _, text in legend)
    right = max(right, legend_width - drawing.width - left)
    width = drawing.width + left + right + 2 * MARGIN
    height = drawing.height + 2 * MARGIN + (26 if legend else 0)
    corner = f"{_number(-left - MARGIN)} {_number(-MARGIN)} {_number(width)} {_number(height)}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" viewBox="{corner}" '
        f'role="img" aria-label="{escaped(title)}">',
        f"<title>{escaped(title)}</title>",
        f"<desc>{escaped(description or _summary(nodes, edges))}</desc>",
        f'<rect class="background" x="{_number(-left - MARGIN)}" y="{_number(-MARGIN)}" width="{_number(width)}" '
        f'height="{_number(height)}" rx="8" fill="#ffffff"/>',
    ]
    parts += [_arrow(i, edge, route) for i, (edge, route) in enumerate(zip(edges, drawing.routes))]
    parts += [_box(node, drawing.centres[node.id], sizes[node.id]) for node in nodes]
    # Labels lie on top of everything: an arrow that passes must not strike one through.
    parts += [_edge_label(edge, route, drawing) for edge, route in zip(edges, drawing.routes) if edge.label]
    parts += _legend(legend, -left, drawing.height + 10)
    text = "\n".join([*parts, "</svg>", ""])
    return darkened(text) if dark else text


def darkened(text: str) -> str:
    """An SVG of ours on black: its colours are exchanged, and no text, in which there are no quotation marks."""
    return re.sub(f'"({"|".join(DARK)})"', lambda found: f'"{DARK[found[1]]}"', text)


def _legend(legend: Sequence[tuple[str, str]], x: float, y: float) -> list[str]:
    parts = []
    for colour, text in legend:
        parts.append(
            f'<rect x="{_number(x)}" y="{_number(y)}" width="12" height="12" rx="3" fill="{colour}" stroke="{ARROW}"/>'
            f'<text x="{_number(x + 17)}" y="{_number(y + 10)}" font-family="{SANS}" font-size="{TEXT_SIZE:g}" '
            f'fill="{INK}">{escaped(text)}</text>'
        )
        x += 24 + _advance(text, TEXT_SIZE)
    return parts


def _summary(nodes: Sequence[Node], edges: Sequence[Edge]) -> str:
    return f"A graph of {len(nodes)} nodes and {len(edges)} edges; arrows point from operands down to results."


def _box(node: Node, centre: Point, size: tuple[float, float]) -> str:
    style = KINDS[node.kind]
    (cx, cy), (width, height) = centre, size
    radius = min(height / 2, 18.0) if style.pill else 5.0
    dashes = ' stroke-dasharray="4 3"' if style.dashed else ""
    lines = node.label.split("\n")
    baseline = cy - height / 2 + PADDING - 3
    texts = []
    for i, line in enumerate(lines):
        baseline += LINE_HEIGHT
        font = f'font-family="{SANS}" font-size="{HEAD_SIZE:g}" font-weight="bold"'
        if i:
            font = f'font-family="{MONO}" font-size="{TEXT_SIZE:g}" fill-opacity="0.8"'
        texts.append(f'<text x="{_number(cx)}" y="{_number(baseline - 3)}" {font}>{escaped(line)}</text>')
    return (
        f'<g id="node-{escaped(node.id)}" class="node {node.kind}" text-anchor="middle" fill="{INK}">'
        f"<title>{escaped(node.hint or ' '.join(lines))}</title>"
        f'<rect x="{_number(cx - width / 2)}" y="{_number(cy - height / 2)}" width="{_number(width)}" '
        f'height="{_number(height)}" rx="{_number(radius)}" fill="{node.tint or style.fill}" stroke="{style.line}" '
        f'stroke-width="1.3"{dashes}/>{"".join(texts)}{_table(node.cells, cx, baseline + 3)}</g>'
    )


def _arrow(number: int, edge: Edge, route: list[Point]) -> str:
    """A curve whose ends are vertical, so that a triangle that points down is always the right head."""
    (x, tip) = route[-1]
    path = [*route[:-1], (x, tip - ARROW_LENGTH + 1)]
    curve = f"M{_number(path[0][0])},{_number(path[0][1])}"
    for (ax, ay), (bx, by) in pairwise(path):
        if ax == bx:
            curve += f"V{_number(by)}"
        else:
            middle = _number((ay + by) / 2)
            curve += f"C{_number(ax)},{middle} {_number(bx)},{middle} {_number(bx)},{_number(by)}"
    head = f"M{_number(x)},{_number(tip)}l-3.5,-{ARROW_LENGTH:g}h7z"
    hint = f"{edge.source} to {edge.target}" + (f": {edge.label}" if edge.label else "")
    return (
        f'<g id="edge-{number}" class="edge"><title>{escaped(hint)}</title>'
        f'<path d="{curve}" fill="none" stroke="{ARROW}" stroke-width="1.3"/><path d="{head}" fill="{ARROW}"/></g>'
    )


def _edge_label(edge: Edge, route: list[Point], drawing: Arrangement) -> str:
    """Beside the head of the arrow: left of it if the arrow ends in the left half of its box, else right."""
    (x, y), leftwards = route[-1], _is_left(edge, route, drawing)
    anchor, shift = ("end", -6) if leftwards else ("start", 6)
    position = f'x="{_number(x + shift)}" y="{_number(y - 4)}" text-anchor="{anchor}"'
    font = f'font-family="{MONO}" font-size="{TEXT_SIZE - 1:g}"'
    text = escaped(edge.label)
    # The white around it is a text of its own: not every program knows in which order fill and line are painted.
    return (
        f'<text {position} {font} fill="#ffffff" stroke="#ffffff" stroke-width="3" aria-hidden="true">{text}'
        f'</text><text class="edge-label" {position} {font} fill="{INK}">{text}</text>'
    )


def _label_room(edges: Iterable[Edge], drawing: Arrangement) -> tuple[float, float]:
    """How far labels stand out to the left and to the right of the boxes."""
    left = right = 0.0
    for edge, route in zip(edges, drawing.routes):
        if edge.label:
            reach = 6 + _advance(edge.label, TEXT_SIZE - 1)
            if _is_left(edge, route, drawing):
                left = max(left, reach - route[-1][0])
            else:
                right = max(right, route[-1][0] + reach - drawing.width)
    return left, right


def _is_left(edge: Edge, route: list[Point], drawing: Arrangement) -> bool:
    return route[-1][0] < drawing.centres[edge.target][0] - 1e-9


def _size(node: Node) -> tuple[float, float]:
    head, *details = node.label.split("\n")
    width = max([_advance(head, HEAD_SIZE), *(_advance(line, TEXT_SIZE) for line in details)])
    width = max(width, sum(_columns(node.cells)))
    return max(36.0, width + 2 * PADDING), LINE_HEIGHT * (1 + len(details) + len(node.cells)) + 2 * PADDING - 6


def _columns(cells: Cells) -> list[float]:
    """The widths of the columns of a table."""
    return [max(_advance(text, TEXT_SIZE) for text, _ in column) + 8 for column in zip(*cells)]


def _table(cells: Cells, x: float, y: float) -> str:
    """The table of a box, centred around x and below y."""
    widths = _columns(cells)
    parts = []
    for i, row in enumerate(cells):
        left, top = x - sum(widths) / 2, y + LINE_HEIGHT * i
        for width, (text, colour) in zip(widths, row):
            if colour:
                parts.append(
                    f'<rect x="{_number(left + 1)}" y="{_number(top)}" width="{_number(width - 2)}" '
                    f'height="{_number(LINE_HEIGHT - 2)}" rx="2" fill="{colour}"/>'
                )
            parts.append(
                f'<text x="{_number(left + width / 2)}" y="{_number(top + LINE_HEIGHT - 5)}" font-family="{MONO}" '
                f'font-size="{TEXT_SIZE:g}">{escaped(text)}</text>'
            )
            left += width
    return "".join(parts)


def _advance(text: str, size: float) -> float:
    """The width of a text: 0.6 of the size for a letter (exact for a typewriter face), 1 for an East Asian one."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return size * (0.6 * len(text) + 0.4 * wide) + 0.5


def _number(value: float) -> str:
    """One decimal at most: finer than a screen, and short."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


# Characters that no XML document may hold, escaped or not.
FORBIDDEN: Final = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def escaped(text: str) -> str:
    """A text as it stands in SVG, between tags or in quotation marks."""
    return escape(FORBIDDEN.sub("\ufffd", text), quote=True)
