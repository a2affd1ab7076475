"""The house: a floor for each stretch of the road that a call goes down, `house.svg` of the page on architecture.

What a floor asks is the README's table, and which floor stands on which is `tests/test_layers.py`.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from minigrad.viz.shapes import ACCENT, COOL, LINE, MONO, PALE, box, drawing, label
from tests.test_layers import LAYERS

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "minigrad"
WIDTH, LEFT, RIGHT, FLOOR, ROOF = 860, 70, 790, 62, 74
MIDDLE = (LEFT + RIGHT) / 2
LETTERS = 100  # of a question that fit on a line
NAMES = 118  # letters of small names that do
QUIET = "#4a5560"


def draw() -> str:
    """The picture: the roof is what people import, the ground is what everything stands on."""
    floors = [names for names in LAYERS if rooms(names)][::-1]
    parts = [roof()]
    top = ROOF
    for k, names in enumerate(floors[1:]):
        parts += floor(names, top + k * FLOOR)
    bottom = top + (len(floors) - 1) * FLOOR
    parts += stairs(top, bottom)
    title = "the house of minigrad: each floor imports from those below it"
    return drawing(WIDTH, bottom + 24, title, parts)


def roof() -> str:
    """What a user meets first."""
    points = f"{LEFT - 20},{ROOF} {MIDDLE:.0f},8 {RIGHT + 20},{ROOF}"
    return (
        f'<polygon points="{points}" fill="{PALE}" stroke="{LINE}"/>'
        + label(MIDDLE, ROOF - 28, "import minigrad as mg", 13, font_family=MONO, font_weight="bold")
        + label(MIDDLE, ROOF - 10, "python -m minigrad", 11, font_family=MONO)
    )


def floor(names: tuple[str, ...], y: float) -> list[str]:
    """A layer: its rooms side by side, what they are asked, and the files of one that has a floor to itself."""
    there = rooms(names)
    width = (RIGHT - LEFT) / len(there)
    parts = [box(LEFT, y, RIGHT - LEFT, FLOOR, PALE)]
    for k, name in enumerate(there):
        x = LEFT + k * width
        parts += [f'<polyline points="{x:.1f},{y} {x:.1f},{y + 27}" stroke="{LINE}"/>'] if k else []
        parts.append(label(x + width / 2, y + 18, name, 12, font_family=MONO, font_weight="bold"))
    lines = textwrap.wrap(question(there), LETTERS)
    parts += [label(MIDDLE, y + 37 + 15 * k, line, 11) for k, line in enumerate(lines)]
    if len(there) == 1:
        files = textwrap.wrap(" ".join(inside(there[0])), NAMES)
        shown = files[0] + (" ..." if len(files) > 1 else "")
        parts.append(label(MIDDLE, y + 53, shown, 9, font_family=MONO, fill=QUIET))
    return parts


def stairs(top: float, bottom: float) -> list[str]:
    """Imports go down; a call goes down as well, and its result comes back up."""
    return [
        *arrow(LEFT - 34, top + 10, bottom - 8),
        label(LEFT - 34, bottom + 14, "imports", 11, fill=ACCENT),
        *arrow(RIGHT + 28, top + 10, bottom - 8, COOL),
        *arrow(RIGHT + 44, bottom - 8, top + 10, COOL),
        label(RIGHT + 36, bottom + 14, "a call", 11, fill=COOL),
    ]


def arrow(x: float, start: float, end: float, colour: str = ACCENT) -> list[str]:
    """A vertical one, with its head at the end."""
    back = -10 if end > start else 10
    return [
        f'<polyline points="{x},{start} {x},{end + back}" stroke="{colour}" stroke-width="2"/>',
        f'<polygon points="{x - 5},{end + back} {x + 5},{end + back} {x},{end}" fill="{colour}"/>',
    ]


def inside(name: str) -> list[str]:
    """Files and folders of a package, without those that are its own."""
    found = (p.stem for p in sorted((PACKAGE / name).iterdir()) if p.suffix == ".py" or (p / "__init__.py").exists())
    return [stem for stem in found if not stem.startswith("_")]


def rooms(names: tuple[str, ...]) -> list[str]:
    """Those of a layer that there are."""
    return [name for name in names if (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").exists()]


def question(names: list[str]) -> str:
    """What the README's table asks of the layer that these are in."""
    table = re.findall(r"^\| (`[^|]+`) \| (.+) \|$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    for row, asked in table:
        if any(re.search(rf"`{name}(\.py|/)`", row) for name in names):
            return re.split(r"(?<=\?) ", asked.replace("`", ""))[0]
    raise ValueError(f"the README's table has no row for {', '.join(names)}")
