"""A picture that a notebook displays, that prints as text, and that can be saved to a file.

SVG and HTML need no other package.  `resvg-py` draws PNG files, and `svglib` with ReportLab draws PDF files.
"""

from __future__ import annotations

import io
import logging
import re
import secrets
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from minigrad.api.page import darkened, save_page, styled
from minigrad.errors import ArgumentError


class Picture:
    """Store a picture as text, as HTML for a notebook, and as SVG if the whole picture is one SVG.

    Parameters
    ----------
    html : str, default ""
        Body of the HTML fragment; if it is empty, the SVG.
    svg : str, default ""
        The whole picture as one SVG, or "".
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

        Parameters
        ----------
        path : str or Path
            File that ends in .html; a picture that is one SVG can also be saved as .svg, .png or .pdf.
        dark : bool, default False
            Whether a .svg, .png or .pdf file has a dark background. An .html page follows the browser's color scheme.

        Returns
        -------
        Path
            Path of the file.

        Raises
        ------
        ArgumentError
            If the ending is unknown, or if the package for .png (resvg-py) or .pdf (svglib) is not installed.
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
    """Return an SVG document as the bytes of a PNG or PDF file.

    `ending` is ".png" or ".pdf".  Raises ArgumentError if the package for this format is not installed.
    """
    return as_png(svg) if ending == ".png" else as_pdf(svg)


def as_png(svg: str) -> bytes:
    """Return a PNG that is twice as large as the SVG."""
    return bytes(package("resvg_py", ".png").svg_to_bytes(svg_string=svg, zoom=ZOOM))


def as_pdf(svg: str) -> bytes:
    """Return a PDF with one page, whose text can be searched."""
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
