"""The picture of a tensor over its memory."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

import minigrad as mg
from minigrad.errors import ArgumentError, GradientError


def positions(x: Any) -> list[list[int]]:
    """Return the positions of the elements in the text."""
    lines = str(mg.viz.layout(x)).splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("elements at"))
    found: list[list[int]] = []
    for line in lines[start:]:
        numbers = [int(word) for word in line[15:].split()]
        if line.startswith("and on"):
            found[-1] += numbers
        else:
            found.append(numbers)
    return found


A = mg.arange(6).reshape(2, 3)


@pytest.mark.parametrize(
    ("x", "wanted", "formula"),
    [
        (A, [[0, 1, 2], [3, 4, 5]], "3*i + j"),
        (A.T, [[0, 3], [1, 4], [2, 5]], "i + 3*j"),
        (A[:, ::2], [[0, 2], [3, 5]], "3*i + 2*j"),
        (A.flip(1), [[2, 1, 0], [5, 4, 3]], "2 + 3*i - j"),
        (A[0].expand(3, 3), [[0, 1, 2]] * 3, "is at j in"),
        (A[1, 2], [[5]], "its element is at 5 in"),
    ],
)
def test_the_text_has_the_position_of_each_element(x: Any, wanted: list[list[int]], formula: str) -> None:
    assert positions(x) == wanted
    assert formula in str(mg.viz.layout(x))


def test_positions_that_no_element_has_and_those_that_several_have() -> None:
    assert "used       x1   .  x1  x1   .  x1" in str(mg.viz.layout(A[:, ::2]))
    assert "used       x4  x4  x4   .   .   ." in str(mg.viz.layout(A[0].expand(4, 3)))


def test_the_text_shows_every_position_that_the_drawing_has_and_fits_into_a_terminal() -> None:
    for x in (mg.arange(60).reshape(3, 20)[:, ::2], mg.zeros(2, 3, 40), mg.arange(64).to(mg.float64) * 1e-7):
        lines = str(mg.viz.layout(x)).splitlines()
        shown = [int(word) for line in lines if line.startswith("position") for word in line.split()[1:]]
        assert shown == [*range(len(shown))] and len(shown) in (60, 64)
        assert max(map(len, lines)) <= 72 and not any(line.endswith(" ") for line in lines)


def test_the_drawing_has_each_position_and_element_and_a_large_one_is_cut() -> None:
    root = ET.fromstring(mg.viz.layout(A.T).svg)
    hints = [part.text for part in root.iter("{http://www.w3.org/2000/svg}title")]
    assert hints[1:] == [f"position {k}: {k}" for k in range(6)] + [f"position {k}" for k in (0, 3, 1, 4, 2, 5)]
    big = mg.viz.layout(mg.zeros(100, 100)[3:])
    assert "the first of 10000 positions and 9700 elements" in str(big) and len(big.svg) < 60_000
    assert "int64(0, 3)" in str(mg.viz.layout(mg.zeros(0, 3, dtype="int64")))


def test_every_colour_is_one_also_of_positions_far_behind_those_that_are_drawn() -> None:
    for x in (mg.arange(1000).reshape(10, 100).T, mg.arange(1000).flip(0), mg.arange(1000)[900:]):
        fills = re.findall(r'fill="([^"]*)"', mg.viz.layout(x).svg)
        assert all(re.fullmatch("#[0-9a-f]{6}", fill) for fill in fills), x.strides


def test_of_more_elements_than_can_be_counted_through_the_first_are_shown() -> None:
    assert positions(mg.arange((1 << 20) + 1)) == [[*range(64)]]
    assert positions(mg.zeros(3).expand(1 << 20, 1 << 20, 3)) == [[0, 1, 2]] * 21 + [[0]]
    assert "value" in str(mg.viz.layout(mg.arange(1 << 21).reshape(2, -1).T)) and "int64(0, 3)" in str(
        mg.viz.layout(mg.zeros(0, 3, dtype="int64").expand(4, 0, 3)[0])
    )


def test_it_saves_and_refuses_what_has_no_memory(tmp_path: Path) -> None:
    picture = mg.viz.layout(A)
    assert picture.save(tmp_path / "a.svg").read_text().startswith("<svg")
    assert picture.save(tmp_path / "a.html").read_text().startswith("<!doctype html>")
    with pytest.raises(ArgumentError, match=r"^save: path must end in .html, .svg, .png or .pdf, got 'a.gif'"):
        picture.save(tmp_path / "a.gif")
    with pytest.raises(GradientError, match="belongs to a transform and has no values"):
        mg.func.vmap(mg.viz.layout)(mg.zeros(2, 3))
    assert "<svg" in picture._repr_html_() and repr(picture) == str(picture)
