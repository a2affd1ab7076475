"""The subpackages from top to bottom: `layers.svg` of the page on architecture.

The question of each subpackage is from the README's table, and their order from `tests/test_layers.py`.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from minigrad.viz.picture import ACCENT, COOL, LINE, MONO, PALE, box, drawing, label
from tests.test_layers import FLOORS

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "minigrad"
WIDTH, LEFT, RIGHT, ROW, ROOF = 860, 70, 790, 62, 74
MIDDLE = (LEFT + RIGHT) / 2
LETTERS = 100  # of a question that fit on a line
NAMES = 118  # letters of small names that do
QUIET = "#4a5560"


def draw() -> str:
    """Return the picture: on top the names that users import, at the bottom the modules that all others import."""
    layers = [{name: parts.split() for name, parts in level.items() if name != "minigrad"} for level in FLOORS][::-1]
    layers = [level for level in layers if level]
    parts = [roof()]
    top = ROOF
    for k, level in enumerate(layers[1:]):
        parts += layer(level, top + k * ROW)
    bottom = top + (len(layers) - 1) * ROW
    parts += directions(top, bottom)
    title = "the layers of minigrad: each imports from those below it"
    return drawing(WIDTH, bottom + 24, title, parts)


def roof() -> str:
    """Return the entrance: the import and the command."""
    points = f"{LEFT - 20},{ROOF} {MIDDLE:.0f},8 {RIGHT + 20},{ROOF}"
    return (
        f'<polygon points="{points}" fill="{PALE}" stroke="{LINE}"/>'
        + label(MIDDLE, ROOF - 28, "import minigrad as mg", 13, font_family=MONO, font_weight="bold")
        + label(MIDDLE, ROOF - 10, "python -m minigrad", 11, font_family=MONO)
    )


def layer(level: dict[str, list[str]], y: float) -> list[str]:
    """Return one level: its subpackages side by side, each with its question and its folders or files."""
    width = (RIGHT - LEFT) / len(level)
    parts = [box(LEFT, y, RIGHT - LEFT, ROW, PALE)]
    for k, (name, folders) in enumerate(level.items()):
        x, several = LEFT + k * width, folders != [name]
        parts += [f'<polyline points="{x:.1f},{y} {x:.1f},{y + ROW}" stroke="{LINE}"/>'] if k else []
        parts.append(label(x + width / 2, y + 18, name, 12, font_family=MONO, font_weight="bold"))
        lines = textwrap.wrap(question(folders), LETTERS // len(level))[: 2 - (several or len(level) == 1)]
        parts += [label(x + width / 2, y + 35 + 14 * i, line, 11) for i, line in enumerate(lines)]
        files = folders if several else inside(name) if len(level) == 1 else []
        rows = textwrap.wrap(" ".join(files), NAMES // len(level))
        shown = rows[0] + (" ..." if len(rows) > 1 else "") if rows else ""
        parts.append(label(x + width / 2, y + 53, shown, 9, font_family=MONO, fill=QUIET))
    return parts


def directions(top: float, bottom: float) -> list[str]:
    """Return the arrows at the sides: imports and calls go down, results go up."""
    return [
        *arrow(LEFT - 34, top + 10, bottom - 8),
        label(LEFT - 34, bottom + 14, "imports", 11, fill=ACCENT),
        *arrow(RIGHT + 28, top + 10, bottom - 8, COOL),
        *arrow(RIGHT + 44, bottom - 8, top + 10, COOL),
        label(RIGHT + 36, bottom + 14, "a call", 11, fill=COOL),
    ]


def arrow(x: float, start: float, end: float, colour: str = ACCENT) -> list[str]:
    """Return a vertical arrow, with its head at the end."""
    back = -10 if end > start else 10
    return [
        f'<polyline points="{x},{start} {x},{end + back}" stroke="{colour}" stroke-width="2"/>',
        f'<polygon points="{x - 5},{end + back} {x + 5},{end + back} {x},{end}" fill="{colour}"/>',
    ]


def inside(name: str) -> list[str]:
    """Return the files and folders of a package, without private ones."""
    found = (p.stem for p in sorted((PACKAGE / name).iterdir()) if p.suffix == ".py" or (p / "__init__.py").exists())
    return [stem for stem in found if not stem.startswith("_")]


def question(names: list[str]) -> str:
    """Return the question of these packages in the README's table."""
    table = re.findall(r"^\| (`[^|]+`) \| (.+) \|$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    for row, asked in table:
        if any(re.search(rf"`{name}(\.py|/)`", row) for name in names):
            return re.split(r"(?<=\?) ", asked.replace("`", ""))[0]
    raise ValueError(f"the README's table has no row for {', '.join(names)}")
