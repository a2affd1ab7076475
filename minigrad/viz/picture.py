"""A picture that a notebook displays, that prints as text, and that can be saved to a file.

SVG and HTML need no other package.  `resvg-py` draws PNG files, and `svglib` with ReportLab draws PDF files.  A drawing
has no style sheet, script or marker, because their names would be visible to the surrounding notebook page.
"""

from __future__ import annotations

import io
import logging
import re
import secrets
import sys
from collections.abc import Iterable
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from minigrad.api.page import FORBIDDEN, LIGHT, darkened, save_page, styled
from minigrad.errors import ArgumentError


class Picture:
    """Store a picture as text, as HTML for a notebook, and as SVG if the whole picture is one SVG.

    html: Body of the HTML fragment; if it is empty, the SVG.
    svg: The whole picture as one SVG, or "".
    """

    def __init__(self, title: str, text: str, html: str = "", svg: str = "") -> None:
        self.title, self.text, self.svg = title, text, svg
        self.html = styled(html or scrolling(svg))

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.html

    @property
    def on_black(self) -> str:
        """The SVG on a black background, or "" if there is no SVG."""
        return darkened(self.svg)

    def save(self, path: str | Path, dark: bool = False) -> Path:
        """Write the picture to a file.

        path: File that ends in .html; a picture that is one SVG can also be saved as .svg, .png or .pdf.
        dark: Whether a .svg, .png or .pdf file has a dark background. An .html page follows the browser's color scheme.

        Returns: Path of the file.

        Raises ArgumentError if the ending is unknown, or if the package for .png (resvg-py) or .pdf (svglib) is not
        installed.
        """
        target = Path(path)
        ending = target.suffix.lower()
        if not self.svg or ending not in (".svg", *ENDINGS):
            return save_page(target, self.title, self.html, ".html, .svg, .png or .pdf" if self.svg else ".html")
        drawing = self.on_black if dark else self.svg
        target.write_bytes(drawing.encode("utf-8") if ending == ".svg" else rendered(drawing, ending))
        return target


def scrolling(svg: str) -> str:
    """Return an SVG inside an element that scrolls on a narrow page."""
    return f'<div class="mg-drawing">{fitting(svg)}</div>'


def fitting(svg: str) -> str:
    """Return an SVG with its width as a variable of the style sheet, which shrinks the SVG on a narrow page."""
    width = re.search(r' width="(\d+)"', svg)
    return svg.replace("<svg ", f'<svg style="--w:{width[1]}px" ', 1) if width else svg


def alive(kind: str, attributes: str, body: str) -> str:
    """Return an HTML fragment with the style sheet and the script of its kind, which loads no other resources.

    Each fragment has a unique id, so a page may contain several fragments.
    """
    name = f"mg-{kind}-{secrets.token_hex(4)}"
    script = (Path(__file__).parent / f"{kind}.js").read_text(encoding="utf-8").strip()
    return styled(f"{body}<script>({script})({name!r});</script>", f"mg-{kind}", f'id="{name}" {attributes}')


# ---- PNG and PDF -----------------------------------------------------------------------------------------------------

PACKAGES: Final = {".png": "resvg-py", ".pdf": "svglib"}
ENDINGS: Final = tuple(PACKAGES)
ZOOM: Final = 2.0  # pixels of a PNG per unit of its SVG, so that letters are sharp on high-resolution screens


def rendered(svg: str, ending: str) -> bytes:
    """Return an SVG document as the bytes of a PNG file, or of a PDF file with one page, whose text can be searched.

    `ending` is ".png" or ".pdf".  Raises ArgumentError if the package for this format is not installed.
    """
    if ending == ".png":
        return bytes(package("resvg_py", ".png").svg_to_bytes(svg_string=svg, zoom=ZOOM))
    svglib = package("svglib.svglib", ".pdf")
    pdf = import_module("reportlab.graphics.renderPDF")
    log = logging.getLogger("svglib.svglib")
    before = log.level
    log.setLevel(logging.ERROR)  # svglib warns about each missing font of a list before the first available one
    try:
        drawing = svglib.svg2rlg(io.BytesIO(svg.encode("utf-8")))
        return bytes(pdf.drawToString(drawing))
    finally:
        log.setLevel(before)


def package(name: str, ending: str) -> Any:
    """Import an optional package; raise ArgumentError with the command that installs it."""
    try:
        return import_module(name)
    except ImportError:
        wanted = PACKAGES[ending]
        raise ArgumentError(
            f"save: a {ending} file needs the package {wanted}, which is not installed; run {sys.executable} -m pip "
            f"install {wanted}, or save as .svg"
        ) from None


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
