"""Export of a picture to PNG or PDF, drawn from its SVG by Python packages that need no other program.

`resvg-py` draws PNG files, and `svglib` with ReportLab draws PDF files.  Both belong to the extra `pictures` of
pyproject.toml, and only this module imports them.
"""

from __future__ import annotations

import io
import logging
import sys
from importlib import import_module
from typing import Any, Final

from minigrad.errors import ArgumentError

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
