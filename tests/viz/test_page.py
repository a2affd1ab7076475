"""The style sheet specifies every colour that it uses, for a light and for a dark theme."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import minigrad as mg
from minigrad.api.page import COLOURS, DARK, LIGHT, darkened, resource, sheet, styled
from minigrad.errors import ArgumentError

pytestmark = pytest.mark.usefixtures("reference")


def test_every_colour_of_the_sheet_has_a_name_and_two_values() -> None:
    names = set(re.findall(r"var\(--mg-([\w-]+)\)", resource("page.css")))
    assert names and names <= COLOURS.keys()
    assert "#" not in resource("page.css"), "all colours are in COLOURS"
    assert len(set(LIGHT.values())) == len(COLOURS) == len(DARK), "each light colour has one name"
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for pair in COLOURS.values() for colour in pair)


def test_the_sheet_exchanges_the_colours_that_the_drawing_has_and_no_others() -> None:
    text = sheet('<svg><rect fill="#eef3fb" stroke="#4a6fa5"/></svg>')
    assert '.mg [fill="#eef3fb"]{fill:var(--mg-op)}' in text and '[stroke="#4a6fa5"]{stroke:var(--mg-op-line)}' in text
    assert "--mg-op:#eef3fb;" in text and "--mg-op:light-dark(#eef3fb,#1d2b40);" in text
    assert "--mg-var:" not in text and "--mg-ink:" in text


def test_a_colour_in_a_text_is_no_colour() -> None:
    assert darkened('<text fill="#ffffff">#ffffff</text>') == '<text fill="#12171c">#ffffff</text>'


def test_a_fragment_is_one_element_that_loads_nothing() -> None:
    text = styled("<p>1</p>", "mg-step", 'tabindex="0"')
    assert text.startswith('<div class="mg mg-step" tabindex="0"><style>') and text.endswith("</style><p>1</p></div>")
    assert not re.search(r"https?:|url\(|@import", text)


def test_pictures_use_no_other_colours() -> None:
    y = (mg.Var([[1.0, 2.0]], name="x") @ mg.Var([[1.0], [3.0]])).tanh().sum()
    neutral = {"#8a949e", "#8a8a8a", "#17202a"}  # readable on both
    for picture in (mg.viz.graph(y).svg("builtin"), mg.viz.memory(y).svg, mg.viz.curves(mg.tanh, orders=5).svg):
        assert set(re.findall('"(#[0-9a-f]{6})"', picture)) <= DARK.keys() | neutral


def test_what_a_notebook_shows_can_be_saved_as_a_page(tmp_path: Path) -> None:
    x = mg.Var([1.0, 2.0], dtype="float64", name="<x>")
    y = (x * x).sum()
    layer = mg.nn.Linear(2, 1, device="reference")
    for shown in (
        mg.tape(y),
        x.explain_grad(y),
        mg.testing.gradcheck(lambda x: x * x, x),
        mg.nn.summary(layer, mg.ones(1, 2, device="reference")),
    ):
        path = shown.save(tmp_path / "a.html")
        text = path.read_text(encoding="utf-8")
        assert text.startswith("<!doctype html>") and shown._repr_html_() in text
        assert "<x>" not in text
        with pytest.raises(ArgumentError, match=r"path must end in \.html, got 'a\.svg'"):
            shown.save(tmp_path / "a.svg")
