"""A picture of the BackpropOp graph: the ops, their operands, and the values saved for the backward pass.

`graph(y)` converts the recorded ops to nodes and edges, without recursion.  Jupyter displays the result, and it can be
saved to a file.  The `graphviz` package creates DOT text.  The program `dot` renders it if it is installed; otherwise
the layered layout of this package draws the picture, so no program is required.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from minigrad.api.page import FORBIDDEN, save_page
from minigrad.autodiff.grads import GradStore
from minigrad.core.roles import Choice
from minigrad.diagnostics.flow import vertex_of
from minigrad.diagnostics.tape import expect_graph
from minigrad.errors import ArgumentError, quantity
from minigrad.runtime.graph import BackpropOp, Output
from minigrad.runtime.noting import scope_of
from minigrad.runtime.rebasing import current
from minigrad.runtime.tensor import Tensor, describe
from minigrad.viz import folding, labels, svg
from minigrad.viz.folding import Foldable
from minigrad.viz.known import Known, caller_names, gradients_after_backward
from minigrad.viz.labels import tinted
from minigrad.viz.picture import Picture, rendered
from minigrad.viz.terminal import LINES, Outline, shortened

COLOURS = {name: (style.fill, style.line) for name, style in svg.KINDS.items()}
FOLDED = 30  # number of nodes above which scopes are drawn folded


class Graph:
    """Store the nodes and edges of a recorded graph, and display them.

    nodes (list of Node): Nodes with an id, a label and a kind: "var", "constant", "op", "view" or "output".
    edges (list of Edge): Edges between ids, from operand to result.
    """

    def __init__(
        self, nodes: list[svg.Node], edges: list[svg.Edge], title: str, legend: Sequence[tuple[str, str]] = (),
        foldable: Foldable | None = None,
    ) -> None:  # fmt: skip
        self.nodes, self.edges, self.title, self.legend = nodes, edges, title, tuple(legend)
        self.foldable = foldable

    def dot(self) -> Any:
        """Return the graph as a `graphviz.Digraph`; the program `dot` is not required."""
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
        """Return the picture as SVG text.

        engine ({"dot", "builtin"}): Program that draws the picture; by default `dot` if it is installed, and "builtin"
        otherwise or with `dark`.
        dark: Whether the background is black; only for "builtin".

        Returns: The SVG document.
        """
        if choose("builtin" if dark and engine is None else engine) == "dot":
            return self._render("svg").decode()
        return svg.draw(self.nodes, self.edges, title=self.title, legend=self.legend, dark=dark)

    def html(self) -> str:
        """Return the picture as HTML, in which the boxes of scopes open and close by click and by key."""
        if self.foldable is None:
            return Picture(self.title, "", svg=self.svg("builtin")).html
        return self.foldable.html(self.title, self.legend)

    def save(self, path: str | Path, engine: str | None = None) -> Path:
        """Write the picture to a file.

        path: File that ends in .svg, .html, .dot, .png or .pdf.
        engine ({"dot", "builtin"}): Program that draws .svg, .png and .pdf files; by default `dot` if it is installed,
        otherwise "builtin". "builtin" requires the package resvg-py for .png and svglib for .pdf.

        Returns: Path of the file.

        Raises ArgumentError if the ending or the engine is unknown, or if `dot` or the package is not installed.
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
            raise ArgumentError(
                f"save: path must end in .svg, .html, .dot, .png or .pdf, got {target.name!r}; write 'graph.svg', for "
                "example",
                path=str(target),
            )
        return target

    def _render(self, ending: str) -> bytes:
        text = self.dot().source.encode("utf-8")
        done = subprocess.run(["dot", f"-T{ending}"], input=text, capture_output=True, check=False)
        if done.returncode:
            raise ArgumentError(
                f"save: the program dot could not draw the graph: {done.stderr.decode().strip()[:200]}; use "
                "engine='builtin' and save as .svg"
            )
        return done.stdout

    def text(self, most: int | None = None) -> str:
        """Return the result and its operands as indented lines; at most `most` lines, or all lines if it is None."""
        head = f"{self.title}: {quantity(len(self.nodes), 'node')}, {quantity(len(self.edges), 'edge')}"
        return "\n".join([head, *shortened(Outline(self.nodes, self.edges), most)])

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self.html(), "image/svg+xml": self.svg(), "text/plain": repr(self)}

    def __repr__(self) -> str:
        return self.text(LINES)


def dot_text(text: str) -> str:
    """Escape a text so that dot shows it unchanged: dot interprets backslashes, angle brackets and NUL."""
    import graphviz

    return str(graphviz.escape(FORBIDDEN.sub("\ufffd", text)))


def choose(engine: str | None) -> str:
    """Return "dot" or "builtin"; raise ArgumentError for an unknown engine, or for "dot" if it is not installed."""
    Choice(None, "dot", "builtin", advice="pass engine='builtin', for example").expect("save", engine=engine)
    installed = shutil.which("dot") is not None
    if engine == "dot" and not installed:
        raise ArgumentError(
            "save: engine='dot' requires the program dot, which is not on PATH; install Graphviz, or pass "
            "engine='builtin' and save as .svg"
        )
    return engine or ("dot" if installed else "builtin")


def graph(
    y: Tensor, grads: GradStore | None = None, names: Mapping[str, Tensor] | None = None, *, fold: bool | None = None,
    repeat: bool = True, colour: str | None = None,
) -> Graph:  # fmt: skip
    """Draw the graph that ends in y: one node per op, with its shape, its dtype and the values saved for backward.

    y: Result whose graph is drawn.
    grads: The result of `backward`, whose gradients are shown at the Vars.
    names: Names of Vars without a name, of results and of data. By default, the variables of the caller are used, and
    the dicts, lists and objects that they contain, for example model['weight'].
    fold: Whether each `viz.scope` is one box, and equal consecutive scopes are one box with a count. By default, this
    is done if there are scopes and more than 30 nodes.
    repeat: Whether a leaf that more than three ops read is drawn next to each of these ops.
    colour ({"gradient", "bytes"}): Quantity that the colors of the boxes show: the largest magnitude in the gradient,
    or the size of the saved values in bytes. A folded box has the strongest color of its nodes.

    Raises GradientError if `y` has no graph, or for "gradient" if the graph was freed.
    Raises ArgumentError if `colour` is unknown.

    Results of at most six elements are shown with their values.  After `backward()`, the gradients of y with respect to
    these results are shown as well; a second backward pass computes them.  A value that was changed in place is left
    out.
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
    """Return the box of a Var, of a constant, or of an op.

    For a constant, `item` is the op that reads it and the index of the operand.  `ends` is True for the op that
    computed the result.
    """
    if kind == "var":
        return svg.Node(key, labels.of_var(item, grads, known, gradients.get(item.id)), "var", describe(item))
    if kind == "constant":
        return svg.Node(key, labels.of_constant(item[0], item[1], known), "constant")
    shown = "output" if ends else "view" if item.op.kind == "view" else "op"
    return svg.Node(key, labels.of_op(item, known, gradients.get(item.id)), shown, labels.hint(item))


def collect(y: Tensor) -> tuple[dict[str, tuple[str, Any]], list[svg.Edge]]:
    """Return every vertex below y by name, and the edges; without recursion, so graphs can be deep."""
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
    """Return the id that a vertex has in the picture."""
    return f"op{item.id}" if isinstance(item, BackpropOp) else f"v{item.id}"
