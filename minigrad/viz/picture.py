"""A picture that shows itself in a notebook, prints as text, and saves to a file."""

from __future__ import annotations

import secrets
from functools import cache
from pathlib import Path

from minigrad.errors import ArgumentError
from minigrad.viz.shapes import FORBIDDEN, escaped
from minigrad.viz.svg import darkened


class Picture:
    """HTML for a notebook, and the same as text.  svg: the picture if it is one SVG, otherwise ""."""

    def __init__(self, title: str, text: str, html: str = "", svg: str = "") -> None:
        self.title, self.text, self.svg = title, text, svg
        self.html = html or scrolling(svg)

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
        """Write it as a page of its own, .html, or .svg where it is one.  dark: on black, for .svg.  Raises
        ArgumentError for another ending."""
        target = Path(path)
        if self.svg and target.suffix.lower() == ".svg":
            target.write_text(self.on_black if dark else self.svg, encoding="utf-8")
            return target
        return save_page(target, self.title, self.html, ".html or .svg" if self.svg else ".html")


def scrolling(svg: str) -> str:
    """Return a picture that scrolls where the page is narrow."""
    return f'<div style="max-width:100%;overflow-x:auto">{svg}</div>'


def save_page(path: str | Path, title: str, body: str, endings: str = ".html") -> Path:
    """Write HTML as a page of its own.  Raises ArgumentError for an ending other than .html; endings: to name."""
    target = Path(path)
    if target.suffix.lower() != ".html":
        raise ArgumentError(f"save: {target.name!r} does not end in {endings}", path=str(target))
    page = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escaped(title)}</title>'
        f'<meta name="viewport" content="width=device-width"></head><body>{body}</body></html>\n'
    )
    # A name may hold half of a surrogate pair, which has no encoding.
    target.write_text(FORBIDDEN.sub("\ufffd", page), encoding="utf-8")
    return target


@cache
def resource(name: str) -> str:
    """Return the text of a file next to this one."""
    return (Path(__file__).parent / name).read_text(encoding="utf-8").strip()


def alive(kind: str, attributes: str, body: str) -> str:
    """Return a fragment of HTML with the style sheet and the script of its kind, which loads nothing.

    Each has an id of its own, so that there may be several on a page.
    """
    name = f"mg-{kind}-{secrets.token_hex(4)}"
    return (
        f'<div class="mg-{kind}" id="{name}" {attributes}><style>{resource(f"{kind}.css")}</style>{body}'
        f"<script>({resource(f'{kind}.js')})({name!r});</script></div>"
    )
