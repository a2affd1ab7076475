"""A picture of the BackpropOp graph: the ops, their operands, and the values saved for the backward pass.

`graph(y)` turns the recorded ops into nodes and edges, iteratively.  The result shows itself in Jupyter and saves to a
file.  The `graphviz` package builds DOT text; the program `dot` renders it where it is installed, otherwise this
package's layered layout, so a picture never fails for lack of a program.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from minigrad.autodiff.grads import GradStore
from minigrad.diagnostics.flow import vertex_of
from minigrad.errors import ArgumentError, GradientError, quantity
from minigrad.runtime.graph import BackpropOp, Output
from minigrad.runtime.noting import scope_of
from minigrad.runtime.rebasing import current
from minigrad.runtime.tensor import Tensor, describe, expect_tensors
from minigrad.viz import folding, labels, svg
from minigrad.viz.export import rendered
from minigrad.viz.foldable import Foldable
from minigrad.viz.known import Known, caller_names
from minigrad.viz.outline import Outline
from minigrad.viz.picture import Picture, save_page
from minigrad.viz.replay import gradients_after_backward
from minigrad.viz.shapes import FORBIDDEN
from minigrad.viz.terminal import LINES, shortened
from minigrad.viz.tints import tinted

COLOURS = {name: (style.fill, style.line) for name, style in svg.KINDS.items()}
FOLDED = 30  # number of nodes from which scopes are drawn folded


class Graph:
    """Nodes and edges of a recorded graph, and methods to show them.

    nodes: id, label, kind ("var", "constant", "op", "view", "output") of each; edges: between ids, from operand to
    result.
    """

    def __init__(
        self, nodes: list[svg.Node], edges: list[svg.Edge], title: str, legend: Sequence[tuple[str, str]] = (),
        foldable: Foldable | None = None,
    ) -> None:  # fmt: skip
        self.nodes, self.edges, self.title, self.legend = nodes, edges, title, tuple(legend)
        self.foldable = foldable

    def dot(self) -> Any:
        """Return the graph as a `graphviz.Digraph`; building it needs no `dot` program."""
        import graphviz

        look = {"fontname": "Helvetica", "fontsize": "11", "style": "filled"}
        digraph = graphviz.Digraph(dot_text(self.title), node_attr=look)
        for node in self.nodes:
            fill, line = COLOURS[node.kind]
            shape = "ellipse" if node.kind in ("var", "constant") else "box"
            digraph.node(
                node.id, dot_text(node.label), id=f"node-{node.id}", shape=shape, fillcolor=node.tint or fill,
                color=line, tooltip=dot_text(node.hint or node.label),
            )  # fmt: skip
        for k, edge in enumerate(self.edges):
            digraph.edge(edge.source, edge.target, label=dot_text(edge.label) if edge.label else None, id=f"edge-{k}")
        for k, (colour, meaning) in enumerate(self.legend):
            digraph.node(f"legend{k}", dot_text(meaning), shape="box", fillcolor=colour, color=svg.ARROW)
        return digraph

    def svg(self, engine: str | None = None, dark: bool = False) -> str:
        """Return the picture as SVG text.  engine: "dot", "builtin", or None for dot if installed.  dark: on black,
        which only the builtin one draws."""
        if choose("builtin" if dark and engine is None else engine) == "dot":
            return self._render("svg").decode()
        return svg.draw(self.nodes, self.edges, title=self.title, legend=self.legend, dark=dark)

    def html(self) -> str:
        """Return the picture as a fragment of HTML, in which the boxes of scopes open and close by click and by key."""
        if self.foldable is None:
            return Picture(self.title, "", svg=self.svg("builtin")).html
        return self.foldable.html(self.title, self.legend)

    def save(self, path: str | Path, engine: str | None = None) -> Path:
        """Write the picture to a file.

        Parameters
        ----------
        path : str or Path
            File that ends in .svg, .html, .dot, .png or .pdf.
        engine : {"dot", "builtin"}, optional
            Program that draws .svg, .png and .pdf; if omitted, `dot` where it is installed. The builtin one needs
            the package resvg-py for .png and svglib for .pdf.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        ArgumentError
            If the ending or the engine is another one, or if `dot` or the package is not installed.
        """
        target = Path(path)
        ending = target.suffix.lower().lstrip(".")
        if ending == "svg":
            target.write_text(self.svg(engine), encoding="utf-8")
        elif ending == "html":
            save_page(target, self.title, self.html())
        elif ending in ("dot", "gv"):
            target.write_text(self.dot().source, encoding="utf-8")
        elif ending in ("png", "pdf"):
            dot = choose(engine) == "dot"
            target.write_bytes(self._render(ending) if dot else rendered(self.svg("builtin"), f".{ending}"))
        else:
            raise ArgumentError(f"save: {target.name!r} ends in none of .svg .html .dot .png .pdf", path=str(target))
        return target

    def _render(self, ending: str) -> bytes:
        text = self.dot().source.encode("utf-8")
        done = subprocess.run(["dot", f"-T{ending}"], input=text, capture_output=True, check=False)
        if done.returncode:
            raise ArgumentError(f"dot failed: {done.stderr.decode().strip()[:200]}")
        return done.stdout

    def text(self, most: int | None = None) -> str:
        """Return the result and its operands as indented lines; most: the number of lines, None for all."""
        head = f"{self.title}: {quantity(len(self.nodes), 'node')}, {quantity(len(self.edges), 'edge')}"
        return "\n".join([head, *shortened(Outline(self.nodes, self.edges), most)])

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self.html(), "image/svg+xml": self.svg(), "text/plain": repr(self)}

    def __repr__(self) -> str:
        return self.text(LINES)


def dot_text(text: str) -> str:
    """Escape a text so that dot shows it letter by letter: dot interprets backslashes, angle brackets and NUL."""
    import graphviz

    return str(graphviz.escape(FORBIDDEN.sub("\ufffd", text)))


def choose(engine: str | None) -> str:
    """Return "dot" or "builtin".  Raises ArgumentError for an unknown engine, or for "dot" if not installed."""
    if engine not in (None, "dot", "builtin"):
        raise ArgumentError(f"engine: {engine!r} is neither 'dot' nor 'builtin'")
    installed = shutil.which("dot") is not None
    if engine == "dot" and not installed:
        raise ArgumentError("engine: the program dot is not on PATH; install Graphviz, or use .svg with 'builtin'")
    return engine or ("dot" if installed else "builtin")


def graph(
    y: Tensor, grads: GradStore | None = None, names: Mapping[str, Tensor] | None = None, *, fold: bool | None = None,
    repeat: bool = True, colour: str | None = None,
) -> Graph:  # fmt: skip
    """Draw the graph that ends in y: a node for each op with its shape, dtype and the values saved for backward.

    grads: the result of backward; its gradients are written at the Vars.
    names: names for Vars without a name, for results and for data.  By default, the caller's variables are
    used, and the dicts, lists and objects that they contain, for example model['weight'].
    Each result of up to six elements is shown with its value and, after `backward()`, with the gradient of y with
    respect to it, for which the backward pass is run again.  A value that was changed in place is left out.
    fold: each `viz.scope` is one box, equal ones in a row are one with a count; left out, where there are scopes and
    more than 30 nodes.  repeat: leaves that more than three ops read are drawn at each of them.
    colour: "gradient" tints by the largest element of a gradient, "bytes" by the saved memory, with a legend; a folded
    box has the strongest colour in it.
    Raises GradientError for a tensor without a graph, or for "gradient" after it was freed; ArgumentError for another
    colour.
    """
    expect_graph("viz.graph", y)
    known = Known(names if names is not None else caller_names())
    order, edges = collect(y)
    root = vertex_of(current(y))
    known.results.setdefault(root.id, ("", y))
    ops = [item for kind, item in order.values() if kind == "op"]
    known.add_saved(ops)
    tints, legend = tinted(colour, y, order)
    gradients = gradients_after_backward(y, ops, [item for kind, item in order.values() if kind == "var"], known)
    nodes = [replace(box_of(key, kind, item, item is root, grads, known, gradients), tint=tints.get(key, ""))
             for key, (kind, item) in order.items()]  # fmt: skip
    scopes = {key: scope_of.get(item, ()) for key, (kind, item) in order.items() if kind == "op"}
    groups = folding.groups(nodes, edges, scopes) if any(scopes.values()) else []
    closed = len(nodes) > FOLDED if fold is None else fold
    whole = Foldable(nodes, edges, groups, [] if closed else [group.id for group in groups], repeat)
    nodes, edges = whole.view(whole.opened)
    return Graph(nodes, edges, f"graph of {describe(y)}", legend, whole if groups else None)


def box_of(
    key: str, kind: str, item: Any, ends: bool, grads: GradStore | None, known: Known, gradients: Mapping[int, Tensor]
) -> svg.Node:
    """Return the box of a Var, of a constant (item: the op that reads it, and which operand it is), or of an op.

    ends: whether it is the op that computed the result.
    """
    if kind == "var":
        return svg.Node(key, labels.of_var(item, grads, known, gradients.get(item.id)), "var", describe(item))
    if kind == "constant":
        return svg.Node(key, labels.of_constant(item[0], item[1], known), "constant")
    shown = "output" if ends else "view" if item.op.kind == "view" else "op"
    return svg.Node(key, labels.of_op(item, known, gradients.get(item.id)), shown, labels.hint(item))


def expect_graph(name: str, y: Any) -> None:
    """Raise GradientError, under the name of the called function, for a value without a graph."""
    expect_tensors(name, y)
    if not y.requires_grad:
        raise GradientError(
            f"{name}: {describe(y)} has no graph: it was computed from no Var, or under mg.no_grad(); "
            f"compute it from a mg.Var"
        )


def collect(y: Tensor) -> tuple[dict[str, tuple[str, Any]], list[svg.Edge]]:
    """Return every vertex under y by name, and the edges; iterative, so that depth does not matter."""
    seen: dict[str, tuple[str, Any]] = {}
    edges: list[svg.Edge] = []
    stack: list[Any] = [vertex_of(current(y))]
    while stack:
        item = stack.pop()
        key = name_of(item)
        if key in seen:
            continue
        seen[key] = ("op" if isinstance(item, BackpropOp) else "var", item)
        if not isinstance(item, BackpropOp):
            continue
        for k, parent in enumerate(item.parents):
            operand = item.op.operands[0] if item.op.variadic else item.op.operands[k]
            label = operand if len(item.parents) > 1 and not item.op.variadic else ""
            if parent is None:
                source = f"c{item.id}_{k}"
                seen[source] = ("constant", (item, k))
            else:
                if isinstance(parent, Output):
                    label = f"{parent.op.outputs[parent.index]} {label}".rstrip()
                source = name_of(vertex_of(parent))
                stack.append(vertex_of(parent))
            edges.append(svg.Edge(source, key, label))
    return seen, edges


def name_of(item: Any) -> str:
    """Return the id of a vertex in the picture."""
    return f"op{item.id}" if isinstance(item, BackpropOp) else f"v{item.id}"
