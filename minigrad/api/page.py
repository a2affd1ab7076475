"""The style sheet of all pages and HTML fragments, and the colors of all pictures.

`COLOURS` is the only list of colors: each name has one color for a light theme and one for a dark theme.  An SVG
contains the light colors, so that every program can draw it.  In HTML, the style sheet replaces them by CSS variables,
which follow the theme of the notebook or the browser.
"""

from __future__ import annotations

import re
from functools import cache
from html import escape
from pathlib import Path
from typing import Final

from minigrad.errors import ArgumentError

COLOURS: Final = {
    "paper": ("#ffffff", "#12171c"), "ink": ("#1f2933", "#e4e9ee"), "arrow": ("#5b6770", "#9aa5b1"),
    "op": ("#eef3fb", "#1d2b40"), "op-line": ("#4a6fa5", "#7fa6dc"), "var": ("#fdf0cf", "#423410"),
    "var-line": ("#b07d12", "#d9a93a"), "constant": ("#f3f3f3", "#2a2f34"), "output": ("#e2f3e4", "#17351f"),
    "output-line": ("#3c8048", "#6bbd79"), "view": ("#f1ecf9", "#2e2342"), "view-line": ("#7a5ba8", "#b196dd"),
    "scope": ("#e8edf2", "#27313b"), "scope-line": ("#52606d", "#9aa8b5"), "warning": ("#fde7e4", "#43201b"),
    "warning-line": ("#b5402f", "#ea7a68"), "step-0": ("#fffaf2", "#33291c"), "step-1": ("#fde6c4", "#4d3516"),
    "step-2": ("#fcca96", "#6b3f14"), "step-3": ("#f9a783", "#8a3f1e"), "step-4": ("#f08a7c", "#a8322a"),
    "odd": ("#d8b4fe", "#5b2a86"), "none": ("#e5e7eb", "#3a4149"), "pale": ("#f4f6f8", "#20272e"),
    "saved": ("#c9d8ee", "#274064"), "passing": ("#f6d9ae", "#5a3f12"), "border": ("#c4ccd4", "#46525e"),
    "now": ("#d97706", "#f59e0b"), "warm": ("#ee7f67", "#a83428"), "cold": ("#6fa3e6", "#2d5ca3"),
}  # fmt: skip
"""For each name the colour of the light theme and that of the dark theme."""

LIGHT: Final = {name: light for name, (light, _) in COLOURS.items()}
DARK: Final = dict(COLOURS.values())
"""The dark colour for each light one."""


def darkened(text: str) -> str:
    """Replace the light colors of an SVG by the dark ones; texts do not change, as they contain no quotation marks."""
    return re.sub(f'"({"|".join(DARK)})"', lambda colour: f'"{DARK[colour[1]]}"', text)


@cache
def resource(name: str) -> str:
    """Return the text of a file in this folder."""
    return (Path(__file__).parent / name).read_text(encoding="utf-8").strip()


def sheet(body: str) -> str:
    """Return the style sheet, with the colors that the body or the sheet itself uses.

    A browser that does not support `light-dark()` shows the light theme.
    """
    rules = resource("page.css")
    used = {name: pair for name, pair in COLOURS.items() if f"var(--mg-{name})" in rules + body}
    drawn = {name: light for name, light in LIGHT.items() if f'"{light}"' in body}
    used |= {name: COLOURS[name] for name in drawn}
    light = "".join(f"--mg-{name}:{one};" for name, (one, _) in used.items())
    both = "".join(f"--mg-{name}:light-dark({one},{other});" for name, (one, other) in used.items())
    exchanged = "".join(
        f'.mg [fill="{colour}"]{{fill:var(--mg-{name})}}.mg [stroke="{colour}"]{{stroke:var(--mg-{name})}}'
        for name, colour in drawn.items()
    )
    themes = f".mg{{{light}}}@supports(color:light-dark(#000,#fff)){{.mg{{{both}}}}}"
    return f"<style>{themes}{exchanged}\n{rules}</style>"


# Characters that neither XML nor UTF-8 permits, escaped or not.
FORBIDDEN: Final = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Page:
    """Define `save` for a result that a notebook shows as HTML; its title is the first line of its text."""

    def _repr_html_(self) -> str:
        raise NotImplementedError

    def save(self, path: str | Path) -> Path:
        """Write the result to a page that works offline.

        path: File that ends in .html.

        Returns: Path of the file.

        Raises ArgumentError if the file does not end in .html.
        """
        return save_page(path, str(self).partition("\n")[0], self._repr_html_())


def save_page(path: str | Path, title: str, body: str, endings: str = ".html") -> Path:
    """Write HTML as a separate page; raise ArgumentError, which names `endings`, if the file does not end in .html."""
    target = Path(path)
    if target.suffix.lower() != ".html":
        raise ArgumentError(
            f"save: path must end in {endings}, got {target.name!r}; change the ending", path=str(target)
        )
    page = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width,initial-scale=1"></head>'
        f'<body class="mg mg-page">{body}</body></html>\n'
    )
    # A name may contain one half of a surrogate pair, which cannot be encoded.
    target.write_text(FORBIDDEN.sub("\ufffd", page), encoding="utf-8")
    return target


def styled(body: str, kind: str = "", attributes: str = "") -> str:
    """Return an HTML fragment with its style sheet, which needs no other file.

    `kind` is a class that the style sheet defines; `attributes` belong to the outermost element.
    """
    name = f"mg {kind}".rstrip()
    return f'<div class="{name}"{" " if attributes else ""}{attributes}>{sheet(body)}{body}</div>'
