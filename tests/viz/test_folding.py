"""Scopes as boxes, repeated blocks, leaves at their uses, colours that say something."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import minigrad as mg
from minigrad.errors import ArgumentError, GradientError
from minigrad.runtime.noting import scope_of
from minigrad.viz.folding import boxes, groups
from minigrad.viz.svg import Edge, Node


def deep(layers: int) -> Any:
    """Layers of their own weights, each in a scope."""
    z = mg.Var(mg.ones(2, 4, dtype="float64"), name="x")
    for k in range(layers):
        w, b = mg.Var(mg.ones(4, 4, dtype="float64") * 0.1), mg.Var(mg.zeros(4, dtype="float64"))
        with mg.viz.scope(f"layer {k + 1}"):
            z = (z @ w + b).tanh()
    return z.sum()


def unrolled(steps: int) -> Any:
    """A recurrent net: one weight that each step reads."""
    w = mg.Var(mg.ones(4, 4, dtype="float64") * 0.1, name="w")
    h = mg.Var(mg.ones(2, 4, dtype="float64"), name="h")
    y = h
    for _ in range(steps):
        y = (y @ w).tanh()
    return y.sum()


def fold(nodes: Any, edges: Any, scopes: Any) -> Any:
    return boxes(nodes, edges, groups(nodes, edges, scopes))


def heads(picture: Any) -> list[str]:
    return [node.label.split("\n")[0] for node in picture.nodes]


def test_a_scope_is_one_box_and_equal_ones_in_a_row_are_one_with_a_count() -> None:
    picture = mg.viz.graph(deep(4), fold=True)
    boxes = {node.label.split("\n")[0]: node for node in picture.nodes}
    assert set(boxes) == {"sum", "layer 1", "layer 2 to layer 4"}, "the first has the Var x as well"
    row = boxes["layer 2 to layer 4"]
    assert (
        row.label.split("\n")[1:] == ["3 blocks", "9 ops, 6 Vars", "tanh x3, add x3, matmul x3"] and row.kind == "scope"
    )
    assert [(e.source, e.target) for e in picture.edges] == [(row.id, boxes["sum"].id), (boxes["layer 1"].id, row.id)]
    assert "layer 2 to layer 4" in picture.svg("builtin")


def test_small_graphs_stay_open_and_large_ones_fold_by_themselves() -> None:
    assert "tanh" in heads(mg.viz.graph(deep(2)))
    assert "layer 1" in heads(mg.viz.graph(deep(8)))
    assert "tanh" in heads(mg.viz.graph(deep(8), fold=False))


def test_scopes_nest_end_with_their_block_and_belong_to_a_thread() -> None:
    x = mg.Var([1.0])
    with mg.viz.scope("outer"):
        with mg.viz.scope("inner"):
            a = x * 2.0
        b = a * 2.0
        seen: list[Any] = []
        other = threading.Thread(target=lambda: seen.append(x * 3.0))
        other.start()
        other.join()
    c = b * 2.0
    assert [scope_of.get(y.op, ()) for y in (a, b, c, seen[0])] == [("outer", "inner"), ("outer",), (), ()]
    assert not mg.settings.noting


def test_a_scope_of_a_generator_that_outlives_the_block_around_it_ends_alone() -> None:
    def batches() -> Any:
        with mg.viz.scope("data"):
            yield mg.Var([1.0]) * 2.0

    with mg.viz.scope("step"):
        going = batches()
        a = next(going)
    going.close()
    with mg.viz.scope("later"):
        b = mg.Var([1.0]) * 2.0
    assert [scope_of.get(y.op) for y in (a, b)] == [("step", "data"), ("later",)]


def test_a_scope_that_a_path_leaves_and_enters_again_stays_open() -> None:
    nodes = [Node("a", "one"), Node("b", "two"), Node("c", "three")]
    edges = [Edge("a", "b"), Edge("b", "c")]
    kept, lines = fold(nodes, edges, {"a": ("s",), "c": ("s",)})
    assert kept == nodes and lines == edges


def test_scopes_may_be_called_as_boxes_are_and_by_nothing() -> None:
    nodes = [Node("a", "one"), Node("b", "two"), Node("c", "three")]
    edges = [Edge("a", "b"), Edge("b", "c")]
    kept, lines = fold(nodes, edges, {"a": ("b",), "c": ("b",)})
    assert kept == nodes and lines == edges, "a path leaves it and enters it again"
    row = [Node(id_, "exp") for id_ in "abc"]
    names = {"a": ("1",), "b": ("",), "c": ("2",)}
    kept, lines = fold(row, [Edge("a", "b"), Edge("b", "c")], names)
    assert [node.label.split("\n")[:2] for node in kept] == [["1 to 2", "3 blocks"]] and not lines


def test_a_box_has_the_strongest_colour_of_what_it_holds() -> None:
    x = mg.Var([1.0, 1.0], name="x")
    with mg.viz.scope("block"):
        y = ((x * 1e-3) * mg.tensor([1.0, 1.0])).sum()
    (box,) = mg.viz.graph(y, colour="gradient", fold=True).nodes
    assert box.tint == "#f08a7c"
    (held,) = mg.viz.graph(y, colour="bytes", fold=True).nodes
    assert held.tint == "#f08a7c"
    with mg.viz.scope("other"):
        z = x.sqrt().sum() * 0.0 + (x * 0.0).sqrt().sum()
    (odd,) = mg.viz.graph(z, colour="gradient", fold=True).nodes
    assert odd.tint == "#d8b4fe"
    (plain,) = mg.viz.graph(y, fold=True).nodes
    assert plain.tint == ""


class Twice(mg.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2.0, x * 3.0

    @staticmethod
    def backward(ctx: Any, g: Any, h: Any) -> Any:
        return g * 2.0


@pytest.mark.parametrize("odd", [0, 1])
def test_a_gradient_that_is_not_finite_shows_in_whichever_result_it_is(odd: int) -> None:
    results = Twice.apply(mg.Var([1.0]))
    y = (results[1 - odd] + (results[odd] * 0.0).sqrt() * 0.0).sum()
    tints = {node.label.split("\n")[0]: node.tint for node in mg.viz.graph(y, colour="gradient").nodes}
    assert tints["Twice"] == "#d8b4fe"


def test_a_leaf_of_many_uses_is_drawn_at_each() -> None:
    picture = mg.viz.graph(unrolled(5))
    assert sorted(heads(picture)).count("w") == 5 and heads(picture).count("h") == 1
    again = [node for node in picture.nodes if node.label == "w\nagain"]
    assert len(again) == 4 and len({edge.source for edge in picture.edges} & {node.id for node in again}) == 4
    assert heads(mg.viz.graph(unrolled(5), repeat=False)).count("w") == 1
    assert heads(mg.viz.graph(unrolled(3))).count("w") == 1


def test_a_chain_goes_straight_down() -> None:
    root = ElementTree.fromstring(mg.viz.graph(unrolled(20)).svg("builtin"))
    assert float(root.get("width", "")) < 700


def test_colours_of_gradients_and_bytes_and_their_legends() -> None:
    x = mg.Var([1.0, 1.0], name="x")
    small = x * 1e-3
    y = (small * mg.tensor([1.0, 1.0])).sum()
    picture = mg.viz.graph(y, colour="gradient")
    tint = {node.label.split("\n")[0] + node.id[:1]: node.tint for node in picture.nodes}
    assert tint["sumo"] == "#f08a7c" and tint["xv"] == "#fde6c4", "a thousandth is three steps paler"
    assert picture.legend[0] == ("#f08a7c", "|g| from 1e0") and picture.legend[-1][1] == "not finite"
    assert "|g| from 1e0" in picture.svg("builtin")
    held = mg.viz.graph((x.exp() * x).sum(), colour="bytes")
    assert {node.tint for node in held.nodes if node.label.startswith("sum")} == {"#e5e7eb"}
    with pytest.raises(ArgumentError, match="colour must be 'gradient', 'bytes' or None, got 'red'"):
        mg.viz.graph(y, colour="red")
    y.backward()
    with pytest.raises(GradientError, match=r"^viz\.graph: .*freed"):
        mg.viz.graph(y, colour="gradient")


def test_what_is_not_finite_has_a_colour_of_its_own() -> None:
    x = mg.Var([0.0], name="x")
    picture = mg.viz.graph(x.sqrt().sum(), colour="gradient")
    assert next(node.tint for node in picture.nodes if node.kind == "var") == "#d8b4fe"


def test_results_that_the_caller_holds_are_named_with_their_values_also_after_backward() -> None:
    x = mg.Var([2.0, 3.0], name="x")
    middle = x * x
    y = middle.sum()
    y.backward()
    labels = {
        node.label.split("\n")[0]: node.label.split("\n")[2] for node in mg.viz.graph(y).nodes if node.kind != "var"
    }
    assert labels["mul"] == "middle = [4, 9]" and labels["sum"] == "y = 13"


def test_on_black() -> None:
    picture = mg.viz.graph(unrolled(2))
    assert 'fill="#12171c"' in picture.svg(dark=True) and "#ffffff" not in picture.svg(dark=True)
    ElementTree.fromstring(picture.svg(dark=True))


def test_a_page_has_a_drawing_of_each_state_that_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def drawings(picture: Any) -> list[str]:
        return re.findall('data-open="([^"]*)"', picture.html())

    few = mg.viz.graph(apart(3), fold=True)
    assert drawings(few)[0] == "" and len(set(drawings(few))) == 8 == len(drawings(few))
    many = mg.viz.graph(apart(6), fold=True)
    assert drawings(many)[:2] == ["", "scope0 scope1 scope2 scope3 scope4 scope5"] and len(drawings(many)) == 8
    assert drawings(mg.viz.graph(apart(3), fold=False))[0] == "scope0 scope1 scope2"
    monkeypatch.setattr("minigrad.viz.folding.NODES", 20)
    assert drawings(many) == ["", "scope0"], "what is smaller has room where the whole has none"
    monkeypatch.setattr("minigrad.viz.folding.NODES", 10_000)
    assert len(drawings(mg.viz.graph(apart(40), fold=True))) == 24


def apart(layers: int) -> Any:
    """Layers that differ, so that none are in a row."""
    z: Any = mg.Var([1.0], name="x", device="reference")
    for k in range(layers):
        with mg.viz.scope(f"layer {k + 1}"):
            for _ in range(k + 1):
                z = -z
    return z.exp()


def test_a_notebook_gets_html_that_follows_its_theme_and_an_image(tmp_path: Path) -> None:
    folds, plain = mg.viz.graph(apart(2))._repr_mimebundle_(), mg.viz.graph(mg.Var([1.0]) * 2.0)
    assert set(folds) == {"text/html", "image/svg+xml", "text/plain"}
    assert set(plain._repr_mimebundle_()) == {"text/html", "image/svg+xml", "text/plain"}
    assert "var(--mg-paper)" in plain.html()
    assert "<svg" in plain.save(tmp_path / "g.html").read_text() and "<script" not in plain.html()
    page = folds["text/html"]
    assert not re.search(r"https?://(?!www\.w3\.org/)", page) and 'src="' not in page


def test_names_of_scopes_are_escaped() -> None:
    with mg.viz.scope("</script><b>'\""):
        y = mg.Var([1.0], name="x") * 2.0
    assert "<b>" not in mg.viz.graph(y.exp(), fold=True).html()
