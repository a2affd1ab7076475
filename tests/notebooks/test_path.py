"""Notebooks run from top to bottom, and their two files have the same cells."""

import contextlib
import io
import re
from pathlib import Path

import jupytext
import pytest
from cases import over
from IPython.core.interactiveshell import InteractiveShell
from matplotlib import pyplot
from traitlets.config import Config

import minigrad as mg
from minigrad.backends.cuda.compile import missing
from minigrad.learning.grading import Verdict, exercises_of
from tests.notebooks.answers import printed_by

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
CHAPTERS = sorted(NOTEBOOKS.glob("[0-9A]*.py"))
SOLUTIONS = sorted((NOTEBOOKS / "solutions").glob("[0-9A]*.py"))
SOURCES = [*CHAPTERS, *SOLUTIONS]
TOLD_APART = {"00_tour", "12_cuda"}  # tests below run these, and look at what they print
sources = over("source", SOURCES, ids=lambda path: path.stem)


@pytest.fixture(autouse=True)
def quiet(monkeypatch, tmp_path):
    """Pictures are drawn, and each is closed where it would be shown; what is written goes to a folder of the test."""
    pyplot.switch_backend("agg")
    monkeypatch.setattr(pyplot, "show", lambda: pyplot.close("all"))
    monkeypatch.chdir(tmp_path)
    yield
    pyplot.close("all")


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


@pytest.mark.parametrize("source", [p for p in CHAPTERS if p.stem not in TOLD_APART], ids=lambda path: path.stem)
def test_a_chapter_runs_and_its_untouched_exercises_are_not_right(source, schema, tmp_path):
    text, values = run(source, tmp_path)
    verdicts = [value for value in values if isinstance(value, Verdict)]
    assert len(verdicts) >= 3 and not any(verdicts), verdicts
    assert [line for line in printed_by(source.stem.partition("_")[0]) if line not in text] == []


@pytest.mark.parametrize("source", SOLUTIONS, ids=lambda path: path.stem)
def test_solutions_are_right(source, schema, simulator, tmp_path):
    _, values = run(source, tmp_path)
    verdicts = [value for value in values if isinstance(value, Verdict)]
    assert all(verdicts), verdicts
    assert len(verdicts) == len(exercises_of(source.stem.partition("_")[0]))


@over("source", CHAPTERS, ids=lambda path: path.stem)
def test_links_lead_to_files_that_are_there(source):
    text = "\n".join(cells(source, "markdown"))
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", text):
        assert (NOTEBOOKS / target).exists(), f"{source.name}: {target}"
    if source.stem != "00_tour":
        assert "](../minigrad/" in text, "a link to the source lines that it explains"


def test_the_tour_runs_and_shows_what_it_promises(schema, tmp_path):
    text, values = run(NOTEBOOKS / "00_tour.py", tmp_path)
    assert "dy/dx at 3 is 11.0" in text
    assert "dy/dx = [11.0, 7.0, 13.0] = 2x + 5" in text
    assert "6x = [6.0, 12.0]" in text
    assert "z[i] = input * other" in text
    assert "gradcheck: the gradient of 'x' is worst at" in text and "it is 0.5 (1/2) times what it should be" in text
    assert "clone() the tensor before the change" in text
    assert float(text.rsplit("loss", 1)[1].split(", ")[1].split("%")[0]) >= 95
    pictures = [value for value in values if isinstance(value, mg.viz.Graph)]
    assert len(pictures) == 2 and all("<svg" in p._repr_mimebundle_()["image/svg+xml"] for p in pictures)


def test_kernels_are_written_and_their_mistakes_found_without_a_gpu(simulator, tmp_path):
    text, values = run(NOTEBOOKS / "12_cuda.py", tmp_path)
    verdicts = [value for value in values if isinstance(value, Verdict)]
    assert len(verdicts) == 4 and not any(verdicts)
    assert "[0.0, 1.0, 4.0, 9.0, 16.0, 25.0, 36.0, 49.0, 64.0, 81.0]" in text
    assert "has 10 elements, and 10 is not among them (thread 2 of block 2)" in text
    assert text.count("[1.0, 3.0, 5.0, 7.0, 9.0, 11.0, 13.0, 15.0, 17.0, 19.0]") == 3
    assert "sum of 0 to 59: 1770.0 expected: 1770.0" in text
    assert "race: sum_with_a_race_f32_f32_1: a shared array is " in text and "since the last barrier" in text
    assert "barrier: barrier_for_some_f32_f32_1: 6 threads have ended, and 10 wait at line" in text
    assert "equal to the CPU's product: True" in text and "gradient on cuda:0 is [7.0, 9.0, 11.0]" in text
    if missing():
        assert "matmul is not compiled: " in text
    else:
        found = dict(re.findall(r"^(\S+) +(\d+) times$", text, re.MULTILINE))
        assert int(found["bar.sync"]) >= 2 and all(int(count) for count in found.values())


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
