"""The stepper at work, `stepper.svg` of the README: the frames of a real backward pass, one after the other.

The animation is a style sheet, so it runs in an image, where scripts do not.  Its colours follow the reader's scheme.
A reader who asks for less motion, and a program that runs no style sheets, see the last frame.
"""

from __future__ import annotations

import re
import textwrap

import minigrad as mg
from minigrad.api.page import DARK
from minigrad.viz import svg
from minigrad.viz.picture import ACCENT, MONO, PALE, SANS, box, drawing, label
from minigrad.viz.step import Steps

SECONDS = 3.0  # for which a frame is shown
PANEL, LETTERS, LEADING = 372, 48, 18  # width of the text, letters and height of a line


def draw() -> str:
    """Return the picture of README's ten lines: the graph, and beside it what happens at each node."""
    x = mg.Var([3.0, 1.0, 4.0], name="x")
    title = "mg.viz.step(y): the backward pass of x * x + x * 5 + 4, step by step"
    return animated(mg.viz.step(x * x + x * 5.0 + 4.0), title)


def animated(steps: Steps, title: str, freed: bool = False) -> str:
    """Return a backward pass as an animation.  freed: whether a frame says what backward() frees."""
    graph = steps.picture()
    left, top, width, height = map(float, re.findall(r'viewBox="(\S+) (\S+) (\S+) (\S+)"', graph)[0])
    inside = re.sub(r"<title>[^<]*</title>|<desc>[^<]*</desc>", "", graph[graph.index("<g ") : graph.index("</svg>")])
    panel = left + width
    parts = [style(len(steps) + 1), inside, box(panel, top + 14, PANEL - 14, height - 28, PALE, rx=6)]
    for k, frame in enumerate(steps.frames):
        to = {share.to for share in frame.shares}
        edges = [i for i, e in enumerate(steps.graph.edges) if e.target == frame.node and e.source in to]
        lines = [f"ȳ = {frame.arrived[0][1]['text']} arrives"]
        for share in frame.shares:
            lines += ["", f"{share.name} gets {share.text}", f"  = {share.value['text']}"]
            lines += [f"  {share.number} of {share.of} paths: {share.total['text']}"] if share.of > 1 else []
        lines += ["", f"backward() frees {frame.freed}"] if freed and frame.freed else []
        marks = marked(inside, frame.node, edges)
        head = f"step {k + 1}: {frame.title}, y = {frame.forward[0]}"
        parts.append(shown(k - len(steps) - 1, marks, head, lines, panel, top))
    ends = [(node, f"gradient of {steps.names[node]}: {value['text']}") for node, value in steps.leaves.items()]
    marks = "".join(marked(inside, node, []) for node, _ in ends)
    parts.append(shown(-1, marks, "end", [line for _, line in ends], panel, top))
    return drawing(width + PANEL, height, title, parts, corner=(left, top)) + "\n"


def style(count: int) -> str:
    """Return the style sheet: one frame at a time, and the dark colours."""
    rules = [
        f".frame{{animation:frame {count * SECONDS:g}s step-end infinite}}",
        f"@keyframes frame{{0%{{opacity:1}}{100 / count:.2f}%{{opacity:0}}}}",
        "@media (prefers-reduced-motion:reduce){.frame{animation:none}}",
    ]
    dark = "".join(
        f'[fill="{light}"]{{fill:{other}}}[stroke="{light}"]{{stroke:{other}}}' for light, other in DARK.items()
    )
    return f"<style>{''.join(rules)}@media (prefers-color-scheme:dark){{{dark}}}</style>"


def marked(inside: str, node: str, edges: list[int]) -> str:
    """Return a frame around the box of a node, and its arrows in the same colour."""
    _, _, rest = inside.partition(f'<g id="node-{node}"')
    x, y, width, height = map(float, re.findall(r'<rect x="(\S+)" y="(\S+)" width="(\S+)" height="(\S+)"', rest)[0])
    arrows = [re.findall(rf'<g id="edge-{edge}"[^>]*>(.*?)</g>', inside)[0] for edge in edges]
    around = box(x - 3, y - 3, width + 6, height + 6, "none", line=ACCENT, rx=9, stroke_width="3")
    return around + "".join(arrows).replace(svg.ARROW, ACCENT).replace('stroke-width="1.3"', 'stroke-width="3"')


def shown(turn: int, marks: str, head: str, lines: list[str], panel: float, top: float) -> str:
    """Return one frame: its marks in the graph, and its lines in the panel.

    turn: when it comes, counted back from the end: a negative delay, since a frame that still waits to begin would
    be shown as if there were no animation, which lays the last frame over the others.
    """
    texts = [label(panel + 14, top + 42, head, 14, "start", font_family=SANS, font_weight="bold")]
    wrapped = [part for line in lines for part in textwrap.wrap(line, LETTERS, subsequent_indent="    ") or [""]]
    for i, line in enumerate(wrapped):
        at = (panel + 14 + 7.2 * (len(line) - len(line.lstrip())), top + 72 + LEADING * i)
        texts += [label(*at, line.strip(), 12, "start", font_family=MONO)] if line.strip() else []
    last = "" if head.startswith("end") else ' opacity="0"'
    return f'<g class="frame"{last} style="animation-delay:{turn * SECONDS:g}s">{marks}{"".join(texts)}</g>'
