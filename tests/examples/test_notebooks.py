"""The tour runs from top to bottom, and its two files hold the same cells."""

import contextlib
import io
from pathlib import Path

import jupytext
import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import minigrad as mg

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
SOURCES = sorted(NOTEBOOKS.glob("*.py"))
sources = pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)


@pytest.fixture
def schema():
    """Ops that a notebook declares go when it ends."""
    before = dict(mg.schema)
    yield mg.schema
    mg.schema.clear()
    mg.schema.update(before)


def cells(path, kind):
    return [cell.source for cell in jupytext.read(path).cells if cell.cell_type == kind]


def run(path, folder):
    """Run the code cells in one shell; gives what they printed and the value of each cell."""
    shell = InteractiveShell(ipython_dir=str(folder), config=Config(HistoryManager={"enabled": False}))
    values, printed = [], io.StringIO()
    for number, source in enumerate(cells(path, "code"), 1):
        with contextlib.redirect_stdout(printed):
            done = shell.run_cell(source, store_history=False)
        error = done.error_before_exec or done.error_in_exec
        assert error is None, f"cell {number} of {path.name}: {error!r}\n{source}"
        values.append(done.result)
    return printed.getvalue(), values


def test_the_tour_runs_and_shows_what_it_promises(schema, tmp_path):
    text, values = run(NOTEBOOKS / "00_tour.py", tmp_path)
    assert "dy/dx at 3 is 11.0" in text
    assert "dy/dx = [11.0, 7.0, 13.0] = 2x + 5" in text
    assert "6x = [6.0, 12.0]" in text
    assert "z[i] = a * b" in text
    assert "gradcheck: the gradient of 'x' is worst at" in text and "ratio: 2.0" in text
    assert "clone() it before the change" in text
    assert float(text.rsplit("loss", 1)[1].split(", ")[1].split("%")[0]) >= 95
    pictures = [value for value in values if isinstance(value, mg.viz.Graph)]
    assert len(pictures) == 2 and all("<svg" in p._repr_mimebundle_()["image/svg+xml"] for p in pictures)


@sources
def test_a_notebook_is_paired_with_its_source(source):
    notebook = source.with_suffix(".ipynb")
    for kind in ("code", "markdown"):
        assert cells(source, kind) == cells(notebook, kind), f"run: jupytext --sync notebooks/{source.name}"


@sources
def test_a_notebook_is_stored_without_outputs(source):
    for cell in jupytext.read(source.with_suffix(".ipynb")).cells:
        assert not cell.get("outputs") and cell.get("execution_count") is None


def test_the_tour_is_short():
    assert 15 <= len(cells(NOTEBOOKS / "00_tour.py", "code")) <= 25
