"""Figures for slides: one at least for each chapter, 16:9, inside of the slide, and large enough to be read."""

from __future__ import annotations

import struct
from pathlib import Path
from xml.etree import ElementTree

import pytest
from cases import over

from minigrad.learning.grading import MODULES
from notebooks.teaching import figures

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    from matplotlib import pyplot

    pyplot.switch_backend("agg")
    return {path.stem: path for path in figures.write(tmp_path_factory.mktemp("figures"))}


def texts(parent: ElementTree.Element, scale: float = 1.0) -> list[tuple[float, float, int]]:
    """(left end, size, letters) of each text of a slide as it is shown; 0 for the end of one inside of a picture."""
    found = []
    for part in parent:
        if part.tag == f"{SVG}svg":
            _, _, width, height = map(float, part.attrib["viewBox"].split())
            found += texts(part, min(float(part.attrib["width"]) / width, float(part.attrib["height"]) / height))
        elif part.tag == f"{SVG}text":
            left = float(part.attrib["x"]) if scale == 1.0 else 0.0
            found.append((left, scale * float(part.attrib["font-size"]), len(part.text or "")))
        else:
            found += texts(part, scale)
    return found


def test_each_chapter_has_a_figure(drawn: dict[str, Path]) -> None:
    assert {"00", *(chapter for chapter in MODULES if chapter.isdigit())} <= {name[:2] for name in drawn}
    assert drawn.keys() == figures.FIGURES.keys()


@over("name", figures.FIGURES)
def test_a_figure_is_a_slide_that_can_be_read(name: str, drawn: dict[str, Path]) -> None:
    data = drawn[name].read_bytes()
    if drawn[name].suffix == ".png":
        assert struct.unpack(">II", data[16:24]) == (1600, 900)
        return
    root = ElementTree.fromstring(data)
    assert (root.attrib["width"], root.attrib["height"]) == ("1600", "900")
    found = texts(root)
    assert len(found) > 3 and min(size for _, size, _ in found) >= 16  # of 900 in height: 2 % of the wall
    assert all(left + 0.6 * size * count < 1600 for left, size, count in found)


def test_single_figures_are_drawn_and_unknown_ones_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert figures.main([str(tmp_path / "new"), "02_paths_meet"]) == 0
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["02_paths_meet.svg"]
    with pytest.raises(SystemExit):
        figures.main([str(tmp_path), "99_none"])
    assert "there is no figure '99_none'; there are 00_graph, " in capsys.readouterr().err
