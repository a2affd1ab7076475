"""The pictures use only SVG that every common program can draw.

Tried with Chromium, librsvg, Inkscape, ImageMagick, resvg, CairoSVG, svglib with ReportLab, and QtSvg.  What those
disagree on is not used: style sheets and `style`, names of colours, markers, `paint-order`, `dominant-baseline`,
clipping, `url(...)`, transforms, `tspan`, weights of fonts by number.
"""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

from cases import over

import minigrad as mg

SVG = "{http://www.w3.org/2000/svg}"
ELEMENTS = {"svg", "title", "desc", "g", "rect", "path", "line", "polyline", "circle", "text"}
PLACES = {"x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "rx", "width", "height", "stroke-width", "font-size",
          "fill-opacity", "stroke-opacity"}  # fmt: skip
TALK = {"id", "class", "role", "aria-label", "aria-hidden"}
FORMS = {
    "fill": r"none|#[0-9a-f]{6}", "stroke": r"none|#[0-9a-f]{6}", "text-anchor": "start|middle|end",
    "font-weight": "bold|normal", "font-family": r"[A-Za-z -]+(, [A-Za-z -]+)+", "stroke-dasharray": r"\d+( \d+)+",
    "viewBox": r"-?[\d.]+( -?[\d.]+){3}", "points": r"-?[\d.]+,-?[\d.]+( -?[\d.]+,-?[\d.]+)*",
    "d": r"([MCVlhz][-\d., ]*)+",
}  # fmt: skip


def pictures() -> dict[str, str]:
    """A picture of each kind, light and dark."""
    x, w = mg.Var([[1.0, 2.0]], name="b<1>&θ"), mg.Var([[1.0], [3.0]])
    c = mg.tensor([3.0])
    with mg.viz.scope("layer"):
        y = (x @ w * c).tanh()
    loss = (y * y[:1]).sum()
    graph, tinted = mg.viz.graph(loss), mg.viz.graph(loss, colour="gradient")
    folded = mg.viz.graph(loss, fold=True)
    found = {
        "curves": mg.viz.curves({"tanh": mg.tanh, "relu": mg.relu}),
        "training": mg.viz.curves([1.0, float("nan"), 2.0]),
        "layout": mg.viz.layout(mg.arange(6).reshape(2, 3).T[1:]), "memory": mg.viz.memory(loss),
        "precision": mg.viz.precision(lambda x: x * x, [1.1, 2.3]),
        "heat": mg.viz.tensor(mg.tensor([[-4.0, -2.0, 0.0], [2.0, 3.0, 4.0], [float("nan"), float("inf"), 0.1]])),
    }  # fmt: skip
    light = {"graph": graph.svg("builtin"), "tinted": tinted.svg("builtin"), "folded": folded.svg("builtin")}
    dark = {f"{name} dark": picture.svg(dark=True) for name, picture in (("graph", graph), ("tinted", tinted))}
    light |= {name: picture.svg for name, picture in found.items()}
    return {**light, **dark, **{f"{name} dark": picture.on_black for name, picture in found.items()}}


PICTURES = pictures()


@over("name", PICTURES)
def test_only_what_every_program_draws_is_used(name: str) -> None:
    for part in ElementTree.fromstring(PICTURES[name]).iter():
        assert part.tag.removeprefix(SVG) in ELEMENTS and part.tag.startswith(SVG)
        for key, value in part.attrib.items():
            if key in PLACES:
                assert re.fullmatch(r"-?[\d.]+", value), (part.tag, key, value)
            elif key not in TALK:
                assert key in FORMS and re.fullmatch(FORMS[key], value), (part.tag, key, value)


@over("name", PICTURES)
def test_every_text_says_its_font_its_size_and_its_colour(name: str) -> None:
    root = ElementTree.fromstring(PICTURES[name])
    inherits = {text: group for group in root.iter(f"{SVG}g") for text in group.iter(f"{SVG}text")}
    for text in root.iter(f"{SVG}text"):
        known: dict[str, Any] = {**(inherits[text].attrib if text in inherits else {}), **text.attrib}
        assert {"font-family", "font-size", "fill", "x", "y"} <= known.keys(), text.text
        assert known["font-family"].endswith((", sans-serif", ", monospace"))
        assert not list(text) or [part.tag for part in text] == [f"{SVG}title"]


def contrast(one: str, other: str) -> float:
    """Of two colours, from 1 to 21.  Source: WCAG 2.2, "contrast ratio" and "relative luminance"."""

    def luminance(colour: str) -> float:
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        red, green, blue = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def blended(colour: str, ground: str, opacity: float) -> str:
    """A colour of some opacity on a ground."""
    parts = [(int(colour[k : k + 2], 16), int(ground[k : k + 2], 16)) for k in (1, 3, 5)]
    return "#" + "".join(f"{round(opacity * above + (1 - opacity) * below):02x}" for above, below in parts)


@over("name", PICTURES)
def test_what_is_written_can_be_read_on_what_is_behind_it(name: str) -> None:
    root = ElementTree.fromstring(PICTURES[name])
    boxes = [(part, *(float(part.get(key, "0")) for key in ("x", "y", "width", "height")))
             for part in root.iter(f"{SVG}rect") if part.get("fill") != "none"]  # fmt: skip
    anchors = {text: group.get("text-anchor") for group in root.iter(f"{SVG}g") for text in group.iter(f"{SVG}text")}
    inks = {text: group.get("fill") for group in root.iter(f"{SVG}g") for text in group.iter(f"{SVG}text")}
    for text in root.iter(f"{SVG}text"):
        x, y = float(text.get("x", "")), float(text.get("y", "")) - 4
        if text.get("aria-hidden") or not text.text:
            continue
        x += {"start": 2, "end": -2}.get(text.get("text-anchor", anchors.get(text) or "start"), 0)
        behind = [part for part, a, b, width, height in boxes if a <= x <= a + width and b <= y <= b + height][-1]
        ink = text.get("fill") or inks[text] or ""
        fill = blended(behind.get("fill", ""), boxes[0][0].get("fill", ""), float(behind.get("fill-opacity", "1")))
        # Numbers of places are small and grey, as they are beside the point.
        assert contrast(ink, fill) >= (2.5 if text.get("font-size") == "9" else 3.0), (text.text, ink)
