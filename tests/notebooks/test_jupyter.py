"""Each notebook in a real Jupyter kernel, as `make notebooks` opens it: no cell may end in an error.

It needs nbclient and ipykernel, which come with the group `notebooks`; `make test-jupyter` runs it.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
PAGES = sorted([*NOTEBOOKS.glob("[0-9A]*.ipynb"), *NOTEBOOKS.glob("solutions/*.ipynb")])
MISSING = [name for name in ("nbclient", "ipykernel") if not importlib.util.find_spec(name)]
pytestmark = [
    pytest.mark.jupyter,
    pytest.mark.timeout(900),  # of a page; a cell has its own limit below
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}; see `make test-jupyter`"),
]


def executed(page: Path) -> Any:
    """The notebook after its cells have run in a kernel of its own; the file stays as it is."""
    import nbclient
    import nbformat

    book = nbformat.read(page, as_version=4)
    nbclient.NotebookClient(
        book, timeout=300, allow_errors=False, kernel_name="python3", resources={"metadata": {"path": str(NOTEBOOKS)}}
    ).execute()
    return book


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(NOTEBOOKS).with_suffix("")))
def test_every_cell_runs_in_a_kernel(page, monkeypatch, tmp_path):
    monkeypatch.delenv("MPLBACKEND", raising=False)  # pictures go into the page
    monkeypatch.setenv("PYTHONPATH", str(NOTEBOOKS.parent))  # as `python -m minigrad tutorial` does
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))  # no history of the reader's
    code = [cell for cell in executed(page).cells if cell.cell_type == "code"]
    assert code and all(cell.execution_count for cell in code)
    outputs = [output for cell in code for output in cell.outputs]
    assert outputs and [output.evalue for output in outputs if output.output_type == "error"] == []
