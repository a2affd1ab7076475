"""The animations of chapters 01, 02, 06 and 07: a nudge that becomes smaller, and three backward passes."""

from __future__ import annotations

from collections.abc import Callable

import minigrad as mg
from docs.pictures.stepper import PANEL, animated, shown, style
from minigrad.viz.picture import ACCENT, INK, PALE, box, drawing, element, label

WIDTH, HEIGHT = 330.0, 250.0
NUDGES = (1.0, 0.5, 0.25, 0.1, 0.01, 1e-8, 1e-12, 1e-16)


def f(x: float) -> float:
    """Return the function of chapter 01, which has the slope 10 at 2."""
    return x**3 - 2 * x


def position(x: float, y: float) -> str:
    """Return a point of the plane as coordinates of the picture."""
    return f"{30 + 185 * (x - 1.5):.1f},{HEIGHT - 40 - 8.5 * (y - f(1.5)):.1f}"


def line(points: list[tuple[float, float]], colour: str, width: str) -> str:
    """Return a line through points of the plane."""
    path = "M" + "L".join(position(*point) for point in points)
    return element("path", d=path, fill="none", stroke=colour, stroke_width=width)


def dot(x: float, y: float) -> str:
    """Return a dot at a point of the plane."""
    cx, cy = position(x, y).split(",")
    return element("circle", cx=cx, cy=cy, r="4", fill=ACCENT)


def nudging() -> str:
    """Return the animation of chapter 01: the line through two points becomes the tangent, until rounding wins."""
    curve = [(1.5 + k / 40, f(1.5 + k / 40)) for k in range(61)]
    x, y = position(2.0, f(2.0)).split(",")
    parts = [style(len(NUDGES)), box(WIDTH, 14, PANEL - 14, HEIGHT - 28, PALE, rx=6), line(curve, INK, "1.5")]
    parts += [label(float(x) - 8, float(y) - 8, "x = 2", 12, "end", fill=INK)]
    for k, h in enumerate(NUDGES):
        slope = (f(2 + h) - f(2)) / h
        ends = [(2 + dx, f(2.0) + slope * dx) for dx in (-0.4, 1.0)]
        marks = line(ends, ACCENT, "2") + dot(2.0, f(2.0)) + dot(2 + h, f(2 + h))
        lines = [
            "(f(x + h) - f(x)) / h",
            f"  = {slope:.8g}",
            "",
            f"the slope is 10, so the error is {abs(slope - 10):.3g}",
        ]
        if 2 + h == 2:
            lines += ["", "x + h is rounded to x:", "f does not change at all"]
        elif h < 1e-8:
            lines += ["", "f(x + h) and f(x) agree in most digits:", "the difference consists of rounding"]
        head = f"{'end: ' if k == len(NUDGES) - 1 else ''}h = {h:g}"
        parts.append(shown(k - len(NUDGES), marks, head, lines, WIDTH, 0.0))
    return (
        drawing(WIDTH + PANEL, HEIGHT, "difference quotients of x**3 - 2*x at 2, with smaller and smaller h", parts)
        + "\n"
    )


def scalar_autograd() -> str:
    """Return the animation of chapter 02: a value that is used twice receives two gradients, which are added."""
    x = mg.Var(2.0, dtype=mg.float64, name="x")
    u = x * x
    return animated(mg.viz.step(u * (u + x)), "the backward pass of u * (u + x) with u = x * x, at x = 2")


def vjps() -> str:
    """Return the animation of chapter 06: each rule turns an incoming gradient into those of its operands."""
    a = mg.Var([[1.0, 2.0]], dtype=mg.float64, name="a")
    b = mg.Var([[0.5, -1.0], [0.25, 0.5]], dtype=mg.float64, name="b")
    return animated(mg.viz.step((a @ b).tanh().sum()), "the VJP rules of (a @ b).tanh().sum(), one after the other")


def engine() -> str:
    """Return the animation of chapter 07: nodes from the newest to the oldest, and the memory that they free."""
    x, w = mg.Var([0.5, 1.0, 2.0], name="x"), mg.Var([2.0, -1.0, 1.0], name="w")
    h = (x * w).tanh()
    return animated(
        mg.viz.step((h * h + h).sum()), "the backward pass of (h * h + h).sum() with h = (x * w).tanh()", True
    )


CHAPTERS: dict[str, Callable[[], str]] = {
    "01_nudging": nudging, "02_scalar_autograd": scalar_autograd, "06_vjps": vjps, "07_the_engine": engine,
}  # fmt: skip
