"""A log of a training: its file, and what a terminal, a file and a notebook show."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import pytest

import minigrad as mg
from minigrad.viz import log as logs


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_each_row_is_in_the_file_at_once(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    log = mg.viz.Log(file, show=False)
    log(loss=mg.Var(0.5) * 2, accuracy=1)
    log(step=10, loss=math.nan)
    log(loss=3.0)
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [{k: v for k, v in row.items() if k != "seconds"} for row in rows] == [
        {"step": 1, "loss": 1.0, "accuracy": 1.0}, {"step": 10, "loss": "nan"}, {"step": 11, "loss": 3.0},
    ]  # fmt: skip
    log.close()
    log.close()
    assert log.values["accuracy"] == ([1], [1.0]) and log.values["loss"][0] == [1, 10, 11]


def test_a_csv_file_has_the_columns_of_the_first_row(tmp_path: Path) -> None:
    file = tmp_path / "run.csv"
    with mg.viz.Log(file, show=False) as log:
        log(loss=1.0, accuracy=0.5)
        log(loss=0.5)
        with pytest.raises(
            mg.ArgumentError, match=r"has rate, which are not columns of .*step, seconds, loss, accuracy.*pass"
        ):
            log(rate=0.1)
    with file.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [(row["step"], row["loss"], row["accuracy"]) for row in rows] == [("1", "1.0", "0.5"), ("2", "0.5", "")]


def test_a_file_of_another_kind_is_refused() -> None:
    with pytest.raises(mg.ArgumentError, match=r"path must end in .jsonl or .csv, got 'run.txt'"):
        mg.viz.Log("run.txt")


def test_a_terminal_draws_each_chart_over_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "SECONDS", 0.0)
    out = Screen()
    with mg.viz.Log(total=4, out=out) as log:
        for k in range(4):
            log(loss=1.0 / (k + 1))
    first, *others = out.getvalue().split("\x1b[J")
    height = first.count("\n")
    assert len(others) == 4 and all(part.rpartition("\x1b")[2] == f"[{height}A" for part in (first, *others[:-1]))
    assert "step 4/4, loss 0.25" in others[-1] and "│" in others[-1]


def test_a_pipe_gets_ten_lines_and_the_chart() -> None:
    out = io.StringIO()
    with mg.viz.Log(total=200, out=out) as log:
        for k in range(200):
            log(loss=1.0 / (k + 1))
    lines = out.getvalue().splitlines()
    assert [line.partition("/")[0] for line in lines if line.startswith("step")] == [
        f"step {k}" for k in (*range(20, 201, 20), 200)
    ]
    assert "\x1b" not in out.getvalue() and any("│" in line for line in lines)


def test_a_notebook_replaces_its_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    display = pytest.importorskip("IPython.display")
    monkeypatch.setattr(logs, "SECONDS", 0.0)
    pages: list[str] = []

    class Handle:
        def update(self, page: Any) -> None:
            pages.append(page.data)

    def shown(page: Any, display_id: bool) -> Handle:
        pages.append(page.data)
        return Handle()

    monkeypatch.setattr(display, "display", shown)
    log = mg.viz.Log(show=False)
    log.screen = logs.Notebook()
    for k in range(3):
        log(loss=float(k))
    log.close()
    assert len(pages) == 4 and all("<svg" in page for page in pages) and "step 3, loss 2" in pages[-1]
