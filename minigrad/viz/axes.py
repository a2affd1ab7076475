"""Line charts: the ticks of the axes, and the same chart as an SVG and as text for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from minigrad.api.page import LIGHT
from minigrad.viz.picture import ACCENT, COOL, box, drawing, element, label, segment
from minigrad.viz.terminal import Canvas, fitted

Point = tuple[float, float]
Range = tuple[float, float]

WIDTH, HEIGHT = 560, 300
LEFT, RIGHT, TOP, BOTTOM = 62, 18, 34, 34
COLOURS = (COOL, ACCENT, *(LIGHT[f"{kind}-line"] for kind in ("output", "view", "warning", "scope")))
DASHES = ("", "7 3", "2 3", "9 3 2 3")  # the lines can be distinguished without color, too
MARK = 3  # number of positions on each line at which its letter is written in a terminal
COLUMNS, ROWS = 60, 16  # size of the plot in a terminal, in characters
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Line:
    """A named line that consists of one or more pieces.  In a logarithmic chart, heights are logarithms to base 10."""

    name: str
    pieces: Sequence[Sequence[Point]]


@dataclass(frozen=True)
class Chart:
    """Lines over the ranges `x` and `y`.

    With `log`, the heights are logarithms.  `across` is the label of the x axis, or "" for none.  `notes` are
    additional lines of text.
    """

    title: str
    lines: Sequence[Line]
    x: Range
    y: Range
    log: bool = False
    across: str = ""
    notes: Sequence[str] = ()

    def seen(self, line: Line) -> Iterator[list[Point]]:
        """Yield the pieces of a line that are inside the chart, with coordinates as fractions of both ranges."""
        (left, right), (low, high) = self.x, self.y
        for piece in line.pieces:
            yield from inside([((a - left) / (right - left), (b - low) / (high - low)) for a, b in piece])


def inside(piece: Sequence[Point]) -> Iterator[list[Point]]:
    """Yield the parts of a piece with heights from 0 to 1; a part that leaves this range ends on its border."""
    part: list[Point] = []
    for k, (a, b) in enumerate(piece):
        within = 0 <= b <= 1
        if k and within != (0 <= piece[k - 1][1] <= 1):
            before = piece[k - 1]
            border = 1.0 if max(b, before[1]) > 1 else 0.0
            share = (border - before[1]) / (b - before[1])
            part.append((before[0] + share * (a - before[0]), border))
        if within:
            part.append((a, b))
        elif part:
            yield part
            part = []
    if part:
        yield part


def widened(low: float, high: float) -> Range:
    """Return a range with a margin, also if the range is empty."""
    air = 0.06 * (high - low) or 0.5 * (abs(low) or 1.0)
    return low - air, high + air


def ticks(low: float, high: float, log: bool = False, count: int = 5) -> list[tuple[float, str]]:
    """Return about `count` round values from low to high, with their texts.

    With `log`, low, high and the returned values are logarithms to base 10.
    """
    if log and math.floor(high) - math.ceil(low) >= 1:
        apart = max(1, round((high - low) / count))
        return [(float(k), f"1e{k}") for k in range(math.ceil(low), math.floor(high) + 1) if k % apart == 0]
    if log:
        values = ticks(10**low, 10**high, count=count)
        return [(math.log10(float(text)), text) for value, text in values if value > 0]
    size = 10.0 ** math.floor(math.log10((high - low) / count))
    step = next(size * k for k in (1, 2, 5, 10) if size * k * count >= (high - low) * 0.999)
    return [
        (k * step, number(k * step)) for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    ]


def number(value: float) -> str:
    """Return the value of a tick as a short text."""
    mantissa, _, power = f"{value:.6g}".partition("e")
    return f"{mantissa}e{int(power)}" if power else mantissa


# ---- as SVG ---------------------------------------------------------------------------------------------------------


def as_svg(chart: Chart) -> str:
    """Draw axes with ticks, a line for zero, the lines of the chart with dots for single points, and a legend."""
    across, up = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    floor = HEIGHT - BOTTOM
    parts = [box(LEFT, TOP, across, up, "none")]
    for value, text in ticks(*chart.x, count=8):
        x = LEFT + (value - chart.x[0]) / (chart.x[1] - chart.x[0]) * across
        parts += [grid(x, TOP, x, floor, value == 0), label(x, floor + 15, text, 10)]
    for value, text in ticks(*chart.y, chart.log):
        y = floor - (value - chart.y[0]) / (chart.y[1] - chart.y[0]) * up
        parts += [
            grid(LEFT, y, LEFT + across, y, value == 0 and not chart.log),
            label(LEFT - 6, y + 4, text, 10, "end"),
        ]
    if chart.across:
        parts.append(label(LEFT + across / 2, HEIGHT - 5, chart.across, 11))
    for k, line in enumerate(chart.lines):
        for part in chart.seen(line):
            parts.append(stroke([(LEFT + a * across, floor - b * up) for a, b in part], *look(k)))
    height, left = HEIGHT + 16 * len(chart.notes), float(LEFT)
    for k, line in enumerate(chart.lines):
        parts.append(stroke([(left, 17), (left + 24, 17)], *look(k)))
        parts.append(label(left + 30, 21, line.name, 12, "start"))
        left += 30 + 7.4 * len(line.name) + 20
    parts += [label(LEFT, HEIGHT + 16 * k + 8, note, 11, "start") for k, note in enumerate(chart.notes)]
    return drawing(max(WIDTH, left), height, chart.title, parts)


def look(k: int) -> tuple[str, str]:
    """Return the color and the dash pattern of the k-th line."""
    return COLOURS[k % len(COLOURS)], DASHES[k % len(DASHES)]


def grid(x: float, y: float, x2: float, y2: float, zero: bool) -> str:
    """Draw a grid line, which is stronger at zero."""
    return segment(x, y, x2, y2, stroke_opacity="0.9" if zero else "0.22")


def stroke(points: Sequence[Point], colour: str, dashes: str) -> str:
    """Draw a line through the points, or a dot for a single point."""
    if len(points) == 1:
        return element("circle", cx=points[0][0], cy=points[0][1], r="2.4", fill=colour)
    text = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
    return element("polyline", points=text, stroke=colour, stroke_width="2", fill="none", stroke_dasharray=dashes)


# ---- as text --------------------------------------------------------------------------------------------------------


def as_text(chart: Chart) -> str:
    """Draw the lines with braille dots, and label both axes; several lines are marked with letters."""
    canvas = Canvas(COLUMNS, ROWS)
    for line in chart.lines:
        for part in chart.seen(line):
            for before, after in pairwise(part if len(part) > 1 else part * 2):
                canvas.line(before, after)
    if len(chart.lines) > 1:
        for k, line in enumerate(chart.lines):
            mark(canvas, [p for part in chart.seen(line) for p in part], k, len(chart.lines))
    low, high = chart.y
    heights = {canvas.cell((0, (v - low) / (high - low)))[1]: text for v, text in ticks(low, high, chart.log, 5)}
    width = max(map(len, heights.values()), default=0)
    rows = [f"{heights.get(k, ''):>{width}} {'┤' if k in heights else '│'}{row}" for k, row in enumerate(canvas.rows())]
    names = [f"{LETTERS[k % 26]} {line.name}" for k, line in enumerate(chart.lines)]
    legend = [] if len(chart.lines) == 1 else fitted(names)
    return "\n".join(
        row.rstrip() for row in [chart.title, *legend, *rows, *below(chart, canvas, width + 2), *chart.notes]
    )


def mark(canvas: Canvas, points: Sequence[Point], k: int, count: int) -> None:
    """Write the letter of line k, of `count` lines, at some positions on the line."""
    for turn in range(MARK):
        wanted = (turn + (k + 1) / (count + 1)) / MARK
        near = min(points, key=lambda p: abs(p[0] - wanted), default=None)
        if near is not None:
            canvas.write(near, LETTERS[k % 26])


def below(chart: Chart, canvas: Canvas, left: int) -> list[str]:
    """Return the lower axis with its tick labels, as lines of text."""
    low, high = chart.x
    axis, numbers = ["─"] * COLUMNS, [" "] * (left + COLUMNS + 8)
    for value, text in ticks(low, high, count=6):
        at = canvas.cell(((value - low) / (high - low), 0))[0]
        axis[at] = "┬"
        start = left + at - len(text) // 2
        if all(letter == " " for letter in numbers[max(0, start - 1) : start + len(text) + 1]):
            numbers[start : start + len(text)] = text
    name = [chart.across.center(COLUMNS + 2 * left)] if chart.across else []
    return [" " * (left - 1) + "└" + "".join(axis), "".join(numbers), *name]
