"""Elements of all pictures: text, boxes and lines as SVG, and the SVG document that contains them.

A drawing has no style sheet, script or marker, because their names would be visible to the surrounding notebook page.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Final

from minigrad.api.page import FORBIDDEN, LIGHT

INK, PALE, ACCENT, COOL = LIGHT["ink"], LIGHT["pale"], LIGHT["now"], LIGHT["op-line"]
LINE: Final = "#8a949e"  # has the same contrast on white and on black
# Font names come before the generic name, because one SVG renderer draws no text if it finds none of the fonts.  There
# are no quotation marks, which another renderer treats as part of a name.  A renderer may use only the first name.
SANS: Final = "Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif"
MONO: Final = "Menlo, Consolas, Liberation Mono, DejaVu Sans Mono, monospace"


def escaped(text: str) -> str:
    """Return a text escaped for SVG, for use between tags or in quotation marks."""
    return escape(FORBIDDEN.sub("\ufffd", text), quote=True)


def number(value: float) -> str:
    """Return a number with at most one decimal, which is finer than a screen."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def element(kind: str, body: str = "", **attributes: float | str) -> str:
    """Return an SVG element; underscores in attribute names become hyphens, and attributes equal to "" are left out."""
    parts = [
        f' {name.strip("_").replace("_", "-")}="{value if isinstance(value, str) else number(value)}"'
        for name, value in attributes.items()
        if value != ""
    ]
    return f"<{kind}{''.join(parts)}>{body}</{kind}>" if body else f"<{kind}{''.join(parts)}/>"


def label(x: float, y: float, text: str, size: float = 11, anchor: str = "middle", **more: str) -> str:
    """Return a text element; `more` contains further attributes, such as font_weight, or replaces default ones."""
    usual = {"text_anchor": anchor, "fill": INK, "font_family": SANS, "font_size": f"{size:g}"}
    return element("text", escaped(text), x=x, y=y, **(usual | more))


def box(
    x: float, y: float, width: float, height: float, fill: str, hint: str = "", line: str = LINE, **more: float | str
) -> str:
    """Return a rectangle, with a tooltip if `hint` is given."""
    title = element("title", escaped(hint)) if hint else ""
    return element("rect", title, x=x, y=y, width=width, height=height, fill=fill, stroke=line, **more)


def segment(x: float, y: float, x2: float, y2: float, colour: str = LINE, **more: str) -> str:
    """Return a straight line."""
    return element("line", x1=x, y1=y, x2=x2, y2=y2, stroke=colour, **more)


def drawing(
    width: float, height: float, title: str, parts: Iterable[str], description: str = "",
    corner: tuple[float, float] = (0, 0),
) -> str:  # fmt: skip
    """Return one SVG document on white, with a title for screen readers; `corner` is the upper left corner."""
    name, (x, y) = escaped(title), corner
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="{number(x)} {number(y)} {number(width)} {number(height)}" role="img" aria-label="{name}">',
        element("title", name),
        *([element("desc", escaped(description))] if description else []),
        box(x, y, width, height, LIGHT["paper"], line="", rx=8),
        *parts,
        "</svg>",
    ])  # fmt: skip
