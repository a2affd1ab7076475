"""A picture that shows itself in a notebook, prints as text, and saves to a file."""

from __future__ import annotations

import re
import secrets
from pathlib import Path

from minigrad.diagnostics.page import darkened, styled
from minigrad.errors import ArgumentError
from minigrad.viz.export import ENDINGS, rendered
from minigrad.viz.shapes import FORBIDDEN, escaped


class Picture:
    """A picture as HTML for a notebook and as text.

    html: the body of a fragment; if omitted, the SVG.  svg: the whole picture as one SVG, or "".
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
        """Return the SVG on black, "" where there is none."""
        return darkened(self.svg)

    def save(self, path: str | Path, dark: bool = False) -> Path:
        """Write the picture to a file.

        Parameters
        ----------
        path : str or Path
            File that ends in .html; if the picture is one SVG, also in .svg, .png or .pdf.
        dark : bool, default False
            Whether a .svg, .png or .pdf file has a dark ground. A page follows the scheme of the browser.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        ArgumentError
            If the ending is another one, or if the package for .png (resvg-py) or .pdf (svglib) is not installed.
        """
        target = Path(path)
        ending = target.suffix.lower()
        if not self.svg or ending not in (".svg", *ENDINGS):
            return save_page(target, self.title, self.html, ".html, .svg, .png or .pdf" if self.svg else ".html")
        drawing = self.on_black if dark else self.svg
        target.write_bytes(drawing.encode("utf-8") if ending == ".svg" else rendered(drawing, ending))
        return target


def scrolling(svg: str) -> str:
    """Put an SVG into an element that scrolls on a narrow page."""
    return f'<div class="mg-drawing">{fitting(svg)}</div>'


def fitting(svg: str) -> str:
    """Write the width of an SVG document as a variable of the stylesheet, which shrinks it on a narrow page."""
    width = re.search(r' width="(\d+)"', svg)
    return svg.replace("<svg ", f'<svg style="--w:{width[1]}px" ', 1) if width else svg


def save_page(path: str | Path, title: str, body: str, endings: str = ".html") -> Path:
    """Write HTML as a separate page.  Raises ArgumentError for an ending other than .html; endings: to name."""
    target = Path(path)
    if target.suffix.lower() != ".html":
        raise ArgumentError(f"save: {target.name!r} does not end in {endings}", path=str(target))
    page = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escaped(title)}</title>'
        f'<meta name="viewport" content="width=device-width,initial-scale=1"></head>'
        f'<body class="mg mg-page">{body}</body></html>\n'
    )
    # A name may contain half of a surrogate pair, which cannot be encoded.
    target.write_text(FORBIDDEN.sub("\ufffd", page), encoding="utf-8")
    return target


def alive(kind: str, attributes: str, body: str) -> str:
    """Return a fragment of HTML with the style sheet and the script of its kind, which loads nothing.

    Each fragment has a unique id, so a page may contain several.
    """
    name = f"mg-{kind}-{secrets.token_hex(4)}"
    script = (Path(__file__).parent / f"{kind}.js").read_text(encoding="utf-8").strip()
    return styled(f"{body}<script>({script})({name!r});</script>", f"mg-{kind}", f'id="{name}" {attributes}')
