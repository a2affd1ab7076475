"""The page of benchmarks, from the results of `python -m tests.benchmarks --json docs/benchmarks/NAME.json`.

There is a file for each kind of processor.  Slower rows come first, and no row is left out.
"""

from __future__ import annotations

import json
import math
from html import escape
from pathlib import Path
from typing import Any

from minigrad.api.page import darkened
from minigrad.viz.picture import ACCENT, COOL, LINE, box, drawing, label
from site_pages.pieces import drawn
from tests.benchmarks.report import duration, geometric_mean

WIDTH, LEFT, BAR = 640, 150, 22
INTRODUCTION = """Each row computes the same result with minigrad, PyTorch's eager mode and NumPy, with the same
number of threads. It is timed only after the results were compared. The ratio is PyTorch's time divided by minigrad's:
above 1, minigrad is faster. Slower rows come first. Measure your machine with `python -m tests.benchmarks`."""
TYPICAL = (
    "elementwise/mul 1e6, backward",
    "functions/sigmoid float32, backward",
    "reductions/sum, last dim",
    "rows/log_softmax (4096, 1024), backward",
    "matmul/512 f32",
    "convolution/conv2d (32,64,56,56) 3x3 to 64, backward",
    "sorting/sort 1e6",
    "transforms/jacrev, 200 to 200",
    "training/step of 784-512-512-10, batch 64",
    "networks/step of a CNN, 64 digits of 8x8",
    "networks/step of a LSTM language model, 32 of 64 characters",
    "networks/step of a GPT, 32 of 64 characters",
    "programs/step of a GRU with attention, 16x12 words",
)  # one of each kind, slower ones included
MARKS = (0.5, 1, 2, 4, 8)  # of the axis: ratios


def page(folder: Path) -> str:
    """Return the page: one section for each file of a folder."""
    parts = ["# Benchmarks", "", INTRODUCTION, ""]
    for path in sorted(folder.glob("*.json")):
        parts += section(json.loads(path.read_text(encoding="utf-8")))
    return "\n".join(parts)


def comparison(folder: Path) -> list[str]:
    """Return the table of the README: typical rows by kind of processor, then the means of the rows that all have."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"), reverse=True)]
    lines = [
        f"| PyTorch's time / minigrad's time | {' | '.join(kind['processor'] for kind in found)} |",
        f"|---|{'--:|' * len(found)}",
    ]
    ratios = [{row["row"]: row["ratio"] for row in kind["rows"]} for kind in found]
    lines += [f"| {name} | {' | '.join(f'{kind[name]:.2f}' for kind in ratios)} |" for name in TYPICAL]
    common = [name for name, ratio in ratios[0].items() if ratio and all(kind.get(name) for kind in ratios)]
    every = [[kind[name] for name in common] for kind in ratios]
    slower = [sum(ratio < 1 for ratio in kind) for kind in every]
    lines.append(
        f"| geometric mean of {len(every[0])} rows | {' | '.join(f'{geometric_mean(k):.2f}' for k in every)} |"
    )
    return [*lines, f"| rows where minigrad is slower | {' | '.join(map(str, slower))} |"]


def section(found: dict[str, Any]) -> list[str]:
    """Return the section of one machine: the means as a picture, the slower rows, and all rows."""
    rows = found["rows"]
    picture = bars(means(rows))
    parts = [f"## {found['processor']}", "", f"{found['machine']}.", "", drawn(picture, darkened(picture)), ""]
    slower = sorted((r for r in rows if r["ratio"] and r["ratio"] < 1), key=lambda r: r["ratio"])
    parts += [f"### Slower than PyTorch: {len(slower)} of {len(rows)} rows", "", *table(slower), ""]
    return [*parts, "### All rows", "", *table(rows), ""]


def means(rows: list[dict[str, Any]]) -> dict[str, list[float]]:
    """Return the ratios of each group, and of all rows as the last group."""
    groups: dict[str, list[float]] = {}
    for row in rows:
        if row["ratio"]:
            groups.setdefault(row["row"].partition("/")[0], []).append(row["ratio"])
    return {**groups, "all rows": [ratio for ratios in groups.values() for ratio in ratios]}


def bars(groups: dict[str, list[float]]) -> str:
    """Draw a bar for the geometric mean of each group, on a logarithmic scale."""
    low, high = math.log2(MARKS[0]), math.log2(MARKS[-1])

    def place(ratio: float) -> float:
        return LEFT + (min(max(math.log2(ratio), low), high) - low) / (high - low) * (WIDTH - LEFT - 60)

    bottom = 30 + BAR * len(groups)
    parts = []
    for mark in MARKS:
        x, width = f"{place(mark):.1f}", 2 if mark == 1 else 0.5
        parts.append(f'<polyline points="{x},24 {x},{bottom}" stroke="{LINE}" stroke-width="{width}"/>')
        parts.append(label(place(mark), 16, f"{mark:g}×", 10))
    for k, (name, ratios) in enumerate(groups.items()):
        mean, y = geometric_mean(ratios), 28 + BAR * k
        left, right = sorted((place(1), place(mean)))
        colour = COOL if mean >= 1 else ACCENT
        parts.append(label(LEFT - 10, y + 14, f"{name} ({len(ratios)})", 11, "end"))
        parts.append(box(left, y + 3, right - left, BAR - 6, colour, f"{name}: {mean:.2f}", colour))
        parts.append(label(right + 5, y + 14, f"{mean:.2f}", 11, "start"))
    return drawing(WIDTH, bottom + 12, "PyTorch's time divided by minigrad's, geometric means of groups", parts)


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Return the table of rows with the times of each library."""
    lines = ["| row | minigrad | PyTorch | NumPy | ratio | goal |", "|---|--:|--:|--:|--:|--:|"]
    for row in rows:
        times = [
            duration(row["times"][n]["median"]) if n in row["times"] else "" for n in ("minigrad", "torch", "numpy")
        ]
        ratio, goal = (f"{value:.2f}" if value else "" for value in (row["ratio"], row["goal"]))
        name = escape(row["row"]).replace("|", "\\|")
        lines.append(f"| {name} | {' | '.join(times)} | {ratio} | {goal} |")
    return lines
