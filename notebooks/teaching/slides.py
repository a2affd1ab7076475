"""Slides that are SVG: 1600 x 900, with a title, and a picture, a picture next to text, or code."""

from __future__ import annotations

import re
from collections.abc import Sequence

from minigrad.viz.picture import ACCENT, MONO, drawing, label
from minigrad.viz.svg import KINDS

WIDTH, HEIGHT, EDGE, HEAD = 1600, 900, 70, 150  # pixels: the slide, its margin, the height of its title
MARKED = KINDS["var"].fill


def slide(title: str, parts: Sequence[str]) -> str:
    """Return an SVG of 1600 x 900 pixels on white, with a title."""
    size = min(50.0, (WIDTH - 2 * EDGE) / (0.64 * len(title)))
    return drawing(WIDTH, HEIGHT, title, [words(EDGE, 100, title, size, font_weight="bold"), *parts]) + "\n"


def words(x: float, y: float, text: str, size: float = 34, **more: str) -> str:
    """Return a line of text that keeps its spaces; more: attributes, as in `label`."""
    return label(x, y, text.replace(" ", "\N{NO-BREAK SPACE}"), size, "start", **more)


def scaled(svg: str, x: float, y: float, width: float, height: float) -> str:
    """Return a picture as a part of another one, scaled to fit."""
    found = re.search(r'viewBox="([^"]+)"', svg)
    assert found is not None
    start = svg.index(">", svg.index("<svg")) + 1
    inner = svg[start : svg.rindex("</svg>")]
    return (
        f'<svg x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}" viewBox="{found.group(1)}" '
        f'preserveAspectRatio="xMidYMid meet">{inner}</svg>'
    )


def whole(title: str, svg: str, below: str = "") -> str:
    """Return a slide with one picture, and a sentence below it."""
    height = HEIGHT - HEAD - EDGE - (60 if below else 0)
    parts = [scaled(svg, EDGE, HEAD, WIDTH - 2 * EDGE, height)]
    return slide(title, [*parts, words(EDGE, HEIGHT - 55, below, 36)] if below else parts)


def halves(title: str, svg: str, lines: Sequence[str]) -> str:
    """Return a slide with a picture on the left and lines of text on the right."""
    parts = [scaled(svg, EDGE, HEAD, 760, HEIGHT - HEAD - EDGE)]
    for k, line in enumerate(lines):
        y = 260 + 74 * k
        parts.append(words(870, y, line, font_family=MONO) if k else words(870, y, line, 40, font_weight="bold"))
    return slide(title, parts)


def listing(title: str, lines: Sequence[str], marked: Sequence[int] = (), below: Sequence[str] = ()) -> str:
    """Return a slide with code; marked: indices of highlighted lines."""
    step = min(46.0, (HEIGHT - HEAD - EDGE - 50 * len(below)) / max(1, len(lines)))
    parts = []
    for k, line in enumerate(lines):
        top = HEAD + 20 + k * step
        if k in marked:
            parts.append(
                f'<rect x="{EDGE - 14}" y="{top:.0f}" width="{WIDTH - 2 * EDGE + 28}" height="{step:.0f}" '
                f'fill="{MARKED}"/>'
            )
        parts.append(words(EDGE, top + 0.72 * step, line, 0.68 * step, font_family=MONO))
    parts += [words(EDGE, HEIGHT - 40 - 48 * k, line, 32, fill=ACCENT) for k, line in enumerate(reversed(below))]
    return slide(title, parts)
