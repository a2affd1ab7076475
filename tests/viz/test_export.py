"""PNG and PDF are drawn without Graphviz; without the packages the error contains the command that installs them."""

from __future__ import annotations

import importlib.util
import re
import struct
import sys
from pathlib import Path
from typing import Any

import pytest

import minigrad as mg
from minigrad.errors import ArgumentError
from minigrad.viz.picture import PACKAGES, ZOOM

MODULES = {".png": "resvg_py", ".pdf": "svglib"}


def drawing(ending: str) -> Any:
    there = importlib.util.find_spec(MODULES[ending]) is not None
    return pytest.param(
        ending, marks=pytest.mark.skipif(not there, reason=f"{PACKAGES[ending]} is not installed: extra `pictures`")
    )


def graph() -> Any:
    x = mg.Var([1.0, 2.0], name="b<1>&θ")
    return mg.viz.graph((x * x).sum())


@pytest.mark.parametrize("ending", [drawing(".png")])
def test_a_png_is_twice_as_large_as_the_svg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))  # where there is no dot
    picture = graph()
    png = picture.save(tmp_path / "g.png").read_bytes()
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", png[16:24])
    sizes = re.search(r'width="(\d+)" height="(\d+)"', picture.svg("builtin"))
    assert sizes is not None
    assert width == pytest.approx(ZOOM * int(sizes[1]), abs=2) and height == pytest.approx(ZOOM * int(sizes[2]), abs=2)


@pytest.mark.parametrize("ending", [drawing(".pdf")])
def test_a_pdf_has_one_page(tmp_path: Path, ending: str) -> None:
    data = graph().save(tmp_path / "g.pdf", engine="builtin").read_bytes()
    assert data.startswith(b"%PDF-") and len(re.findall(rb"/Type\s*/Page\b", data)) == 1


@pytest.mark.parametrize("ending", [drawing(".png"), drawing(".pdf")])
def test_every_picture_that_is_one_svg_can_be_exported(tmp_path: Path, ending: str) -> None:
    pictures = {"curves": mg.viz.curves(mg.tanh), "layout": mg.viz.layout(mg.ones(2, 3)),
                "precision": mg.viz.precision(lambda x: x * x, [1.1, 2.3])}  # fmt: skip
    for name, picture in pictures.items():
        light, dark = (picture.save(tmp_path / f"{name}{k}{ending}", dark=bool(k)).read_bytes() for k in (0, 1))
        assert light.startswith((b"\x89PNG", b"%PDF-")) and light != dark


@pytest.mark.parametrize("ending", PACKAGES)
def test_without_the_package_the_error_has_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    monkeypatch.setitem(sys.modules, "svglib.svglib", None)
    told = re.escape(
        f"a {ending} file needs the package {PACKAGES[ending]}, which is not installed; run {sys.executable}"
    )
    for picture in (graph(), mg.viz.layout(mg.ones(2))):
        with pytest.raises(ArgumentError, match=f"^save: {told} -m pip install {PACKAGES[ending]}, or save as .svg$"):
            picture.save(tmp_path / f"a{ending}")
        assert not (tmp_path / f"a{ending}").exists()
