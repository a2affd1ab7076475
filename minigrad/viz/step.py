"""The backward pass step by step, as one self-contained HTML fragment.

`step(y)` shows the graph next to the step at each node.  The page contains every frame as text, so it can be read
without scripts; the script (`step.js`) shows one frame at a time and highlights its node in the picture.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

from minigrad.api.page import save_page
from minigrad.diagnostics.shown import image_html
from minigrad.diagnostics.tape import expect_graph
from minigrad.errors import quantity
from minigrad.runtime.tensor import Tensor, describe
from minigrad.viz import svg
from minigrad.viz.film import Frame, Share, Walk, frames_of, texts_of
from minigrad.viz.graph import Graph, graph
from minigrad.viz.known import caller_names
from minigrad.viz.picture import alive, fitting
from minigrad.viz.terminal import LINES, shortened

# Frames have the gradients of `autodiff/convention.py`, in which the formulas hold; the leaves have those of users.
COMPLEX = (
    "Complex gradients in rules are factors u of dL = Re(u·dx); the gradients of Vars are their conjugates, as .grad"
)


class Steps:
    """Show a backward pass step by step: Jupyter displays an interactive trace, and `print` shows text.

    Attributes:
        frames (list of Frame): The step at each node, in order.
        graph (Graph): The picture of the graph.
        leaves (dict): The gradients of the leaves, by the id of the vertex.
    """

    def __init__(self, picture: Graph, walk: Walk, what: str) -> None:
        self.graph, self.walk, self.what = picture, walk, what
        self.frames, self.leaves = walk.frames, walk.leaves
        self.names = {node.id: node.label.split("\n")[0] for node in picture.nodes}

    def __len__(self) -> int:
        return len(self.frames)

    def text(self, most: int | None = None) -> str:
        """Return the steps in order, and the gradients of the Vars; at most `most` lines, or all if it is None."""
        lines = []
        for k, frame in enumerate(self.frames, 1):
            lines.append(f"{k}. {frame.title}: y = {frame.forward[0]}")
            lines += [f"     {name} = {value['text']}" for name, value in frame.arrived]
            lines += [f"     {share_line(share)}" for share in frame.shares]
        lines += [f"gradient of {self.names[node]}: {value['text']}" for node, value in self.leaves.items()]
        head = [f"backward from {self.what}, {quantity(len(self), 'step')}"] + [COMPLEX] * self.walk.conjugated
        return "\n".join([*head, *shortened(lines, most)])

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return self.text(LINES)

    def _repr_html_(self) -> str:
        return self.html()

    def html(self) -> str:
        """Return the trace as an HTML fragment that loads no other resources."""
        items = [self.first(), *[self.item(frame) for frame in self.frames], self.last()]
        kernels = "".join(
            f'<template data-file="{escape(file)}"><pre>{escape(text)}</pre></template>'
            for file, text in texts_of(self.frames).items()
        )
        return alive(
            "step",
            'tabindex="0" role="region" aria-label="the backward pass step by step"',
            f'{controls(len(items))}<div class="mg-stage"><div class="mg-picture">{fitting(self.picture())}</div>'
            f'<ol class="mg-frames" start="0">{"".join(items)}</ol></div>{kernels}',
        )

    def save(self, path: str | Path) -> Path:
        """Write the trace as a separate page; raise ArgumentError if the path does not end in .html."""
        return save_page(path, f"backward from {self.what}", self.html())

    def picture(self) -> str:
        """Return the graph as SVG, with the known values and gradients as tooltips."""
        gradients = {frame.node: value for frame in self.frames for _, value in frame.arrived} | self.leaves
        nodes = []
        for node in self.graph.nodes:
            hints = [node.hint] if node.hint else []
            hints += [f"value {self.walk.values[node.id]['text']}"] if node.id in self.walk.values else []
            hints += [f"gradient {gradients[node.id]['text']}"] if node.id in gradients else []
            nodes.append(replace(node, hint="\n".join(hints)))
        return svg.draw(nodes, self.graph.edges, title=f"graph of {self.what}")

    def first(self) -> str:
        """Return the frame before the first node."""
        return (
            f'<li data-node="" data-edges=""><h4>start</h4><p>The backward pass starts at the result, '
            f"{escape(self.what)}. Its gradient with respect to itself is 1 for each element.</p>"
            f"{f'<p>{COMPLEX}</p>' if self.walk.conjugated else ''}"
            "<p>Press play or the right arrow for the next step, or click a box of the graph.</p></li>"
        )

    def last(self) -> str:
        """Return the frame after the last node: the gradients of the leaves."""
        rows = "".join(
            f"<tr><th>{escape(self.names[node])}</th><td>{value_html(value)}</td></tr>"
            for node, value in self.leaves.items()
        )
        return f'<li data-node="" data-edges=""><h4>end</h4><p>The gradients of the Vars:</p><table>{rows}</table></li>'

    def item(self, frame: Frame) -> str:
        """Return one frame as an HTML list item."""
        to = {share.to for share in frame.shares}  # constants receive no gradient
        into = [k for k, edge in enumerate(self.graph.edges) if edge.target == frame.node and edge.source in to]
        edges = " ".join(map(str, into))
        bound = ", ".join(f"{escape(name)} is {escape(what)}" for name, what in frame.operands)
        parts = [
            f"<h4>{escape(frame.title)}</h4><p>The op computed {frame.forward[1]}, where {bound}.</p>",
            table("incoming gradient", frame.arrived),
            table("saved values", frame.saved),
            "".join(share_html(share) for share in frame.shares),
            f"<p>backward() frees {escape(frame.freed)}.</p>" if frame.freed else "",
            f"<p>Your line: <code>{escape(frame.source)}</code></p>" if frame.source else "",
            f"<p>Declared at <code>{escape(frame.declared)}</code></p>",
        ]
        parts += [
            f'<details data-file="{escape(file)}"><summary>kernel {escape(Path(file).name)}</summary></details>'
            for file in frame.kernels
        ]
        return f'<li data-node="{frame.node}" data-edges="{edges}">{"".join(parts)}</li>'


def step(y: Tensor, names: Mapping[str, Tensor] | None = None) -> Steps:
    """Trace the backward pass from y, node by node: incoming gradients, rule as a formula, outgoing gradients, sums.

    y: Result at which the backward pass starts, with ones as the incoming gradient.
    names: Names for Vars without a name; by default the variables of the caller.

    Returns: The trace. The graph is kept, no `.grad` changes, and hooks are not called.

    Raises GradientError if `y` has no graph, or the graph was freed.
    """
    expect_graph("viz.step", y)
    labels = names if names is not None else caller_names()
    picture = graph(y, names=labels, fold=False, repeat=False)
    walk = frames_of(y, {node.id: node.label.split("\n")[0] for node in picture.nodes})
    return Steps(picture, walk, describe(y))


def controls(count: int) -> str:
    """Return the HTML of the buttons and of the current position."""
    buttons = (("first", "|\u25c0", "first (Home)"), ("back", "\u25c0", "back (left arrow)"),
               ("play", "play", "play or pause (space)"), ("next", "\u25b6", "next (right arrow)"),
               ("last", "\u25b6|", "last (End)"))  # fmt: skip
    made = "".join(
        f'<button type="button" data-do="{name}" title="{title}" aria-label="{title}">{sign}</button>'
        for name, sign, title in buttons
    )
    slider = f'<input type="range" min="0" max="{count - 1}" value="0" aria-label="step">'
    return f'<div class="mg-controls" hidden>{made}{slider}<output aria-live="polite"></output></div>'


def share_line(share: Share) -> str:
    """Return a share as a line of text."""
    line = f"{share.operand} ({share.name}) receives {share.text} = {share.value['text']}"
    return line + (f"; path {share.number} of {share.of}, sum: {share.total['text']}" if share.of > 1 else "")


def share_html(share: Share) -> str:
    """Return a share as an HTML block."""
    many = (
        f"<p>Path {share.number} of {share.of} to {escape(share.name)}; the sum of the paths so far is "
        f"{value_html(share.total)}.</p>"
        if share.of > 1
        else ""
    )
    return (
        f'<div class="mg-share"><p><b>{escape(share.operand)}</b> ({escape(share.name)}) receives {share.markup}</p>'
        f"<p>{value_html(share.value)}</p>{many}</div>"
    )


def table(title: str, rows: tuple[tuple[str, dict[str, Any]], ...]) -> str:
    """Return named values as an HTML table, or "" if there are none."""
    if not rows:
        return ""
    body = "".join(f"<tr><th>{escape(name)}</th><td>{value_html(value)}</td></tr>" for name, value in rows)
    return f"<table><caption>{title}</caption>{body}</table>"


def value_html(value: Mapping[str, Any]) -> str:
    """Return a value as HTML: its elements, or an image and its range."""
    text = f'<span class="mg-value">{escape(value["text"])}</span> <small>{escape(value["kind"])}</small>'
    return f"{image_html(value)} {text}".lstrip()
