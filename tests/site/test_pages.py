"""The generated pages of the site: what they say is so, and nothing is left out.

The site itself is built by `make docs`, which takes warnings for errors.
"""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import minigrad as mg
from minigrad.ops.record import schema

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def site() -> Iterator[Any]:
    """The programs beside the pages, as `docs/conf.py` finds them."""
    sys.path.insert(0, str(DOCS))
    yield importlib.import_module("site_pages.generate"), importlib.import_module("site_pages.ops")
    sys.path.remove(str(DOCS))


def test_a_page_has_formula_gradient_curve_example_and_loop(site: Any) -> None:
    _, ops = site
    text = "\n".join(ops.page("tanh", ops.rows()["tanh"]))
    for head in ("# tanh", "## Formula", "## Gradient", "## Curve", "## Dtypes", "## Example", "## The loop"):
        assert f"{head}\n" in text
    assert "x gets ȳ · (1 − y · y)" in text and "`minigrad/ops/trigonometry.py:" in text
    assert "for i in range(count):" in text and text.count("<polyline") == 3


def test_an_op_without_derivative_or_curve_has_a_page_too(site: Any) -> None:
    _, ops = site
    rows = ops.rows()
    for name in ("argmax", "matmul", "reshape" if "reshape" in rows else "view"):
        text = "\n".join(ops.page(name, rows[name]))
        assert text.startswith(f"# {name}\n") and "## Curve" not in text
    assert "## Gradient" not in "\n".join(ops.page("argmax", rows["argmax"]))


def test_the_index_names_every_op_that_has_a_row(site: Any) -> None:
    _, ops = site
    index = ops.index()
    assert set(ops.rows()) <= set(schema) and len(ops.rows()) >= 150
    assert all(f"ops/{name}\n" in index for name in ops.rows())


def test_all_public_functions_are_listed_with_their_signatures(site: Any) -> None:
    generate, _ = site
    text = generate.functions()
    assert "## mg.sum\n" in text and "keepdim" in text and "## mg.Var\n" in text
    assert text.count("\n## mg.") > 200 and set(mg.__all__) > {"sum", "Var"}


def test_what_has_not_changed_is_not_written_again(site: Any, tmp_path: Path) -> None:
    generate, _ = site
    path = tmp_path / "deep" / "page.md"
    generate.put(path, "one")
    first = path.stat().st_mtime_ns
    generate.put(path, "one")
    assert path.stat().st_mtime_ns == first
    generate.put(path, "two")
    assert path.read_text() == "two"


def test_every_page_of_docs_stands_in_the_contents() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    for page in DOCS.glob("*.md"):
        assert page.name == "index.md" or f"\n{page.stem}\n" in index, page.name


def test_the_picture_of_the_readme_is_what_is_drawn_now(tmp_path: Path) -> None:
    folders = [str(DOCS / "pictures"), str(tmp_path)]
    program = (
        f"import sys; sys.path.insert(0, {folders[0]!r}); import draw, pathlib; draw.main(pathlib.Path({folders[1]!r}))"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
    drawn, kept = ((folder / "graph.svg").read_text(encoding="utf-8") for folder in (tmp_path, DOCS / "pictures"))
    assert boxes(drawn) == boxes(kept), "run: python docs/pictures/draw.py"


def boxes(svg: str) -> list[str]:
    """What is written in a picture."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)
