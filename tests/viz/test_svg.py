"""The picture is one valid, self-contained SVG document in which every node and edge can be found."""

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from minigrad.errors import ArgumentError
from minigrad.viz.svg import KINDS, Edge, Node, draw

SVG = "{http://www.w3.org/2000/svg}"
NODES = [Node("x", "x\nfloat64(3,)", "var"), Node("y", "mul\nfloat64(3,)", "output", hint="mul saves a, b")]
EDGES = [Edge("x", "y", "a"), Edge("x", "y", "b")]


def parsed(*args, **kwargs):
    return ElementTree.fromstring(draw(*args, **kwargs))


def of_class(root, name):
    return [element for element in root.iter() if name in element.get("class", "").split()]


def test_every_node_is_a_group_with_its_id_its_kind_and_its_lines():
    x, y = of_class(parsed(NODES, EDGES), "node")
    assert (x.get("id"), x.get("class")) == ("node-x", "node var")
    assert (y.get("id"), y.get("class")) == ("node-y", "node output")
    assert [text.text for text in x.iter(f"{SVG}text")] == ["x", "float64(3,)"]
    assert y.find(f"{SVG}title").text == "mul saves a, b"


def test_every_edge_is_a_line_with_a_head_and_a_label():
    root = parsed(NODES, EDGES)
    edges = of_class(root, "edge")
    assert [edge.get("id") for edge in edges] == ["edge-0", "edge-1"]
    assert all(len(edge.findall(f"{SVG}path")) == 2 for edge in edges)
    assert [label.text for label in of_class(root, "edge-label")] == ["a", "b"]


def test_the_head_of_an_arrow_touches_the_upper_side_of_its_box():
    root = parsed(NODES, EDGES)
    top = float(of_class(root, "node")[1].find(f"{SVG}rect").get("y"))
    for edge in of_class(root, "edge"):
        tip = re.match(r"M[-0-9.]+,([-0-9.]+)l", edge.findall(f"{SVG}path")[1].get("d"))
        assert float(tip[1]) == pytest.approx(top, abs=0.1)


def test_labels_of_two_arrows_stand_on_either_side():
    left, right = of_class(parsed(NODES, EDGES), "edge-label")
    assert (left.get("text-anchor"), right.get("text-anchor")) == ("end", "start")


def test_labels_of_three_arrows_do_not_touch():
    names = ["input", "weight", "bias"]
    root = parsed([Node(k, k) for k in [*names, "linear"]], [Edge(k, "linear", k) for k in names])
    spans = []
    for text in of_class(root, "edge-label"):
        x, length = float(text.get("x")), len(text.text) * 0.6 * 10
        spans.append((x - length, x) if text.get("text-anchor") == "end" else (x, x + length))
    spans.sort()
    assert all(before[1] < after[0] for before, after in pairwise(spans))
    box = of_class(root, "node")[3].find(f"{SVG}rect")
    left = float(box.get("x"))
    tips = [
        float(re.match(r"M([-0-9.]+)", edge.findall(f"{SVG}path")[1].get("d"))[1]) for edge in of_class(root, "edge")
    ]
    assert all(left < tip < left + float(box.get("width")) for tip in tips)


def test_a_screen_reader_is_told_what_the_picture_is():
    root = parsed(NODES, EDGES, title="y = x * x")
    assert root.get("role") == "img" and root.get("aria-label") == "y = x * x"
    assert root.find(f"{SVG}title").text == "y = x * x"
    assert root.find(f"{SVG}desc").text.startswith("A graph of 2 nodes and 2 edges")
    assert parsed(NODES, EDGES, description="a square").find(f"{SVG}desc").text == "a square"


def test_text_that_looks_like_markup_stays_text():
    nasty = "<script>\"&'</script>"
    root = parsed([Node(nasty, nasty + "\x00\x1b", hint=nasty)], title=nasty, description=nasty)
    (node,) = of_class(root, "node")
    assert node.get("id") == f"node-{nasty}"
    assert node.find(f"{SVG}text").text == nasty + "\ufffd\ufffd"
    assert root.find(f"{SVG}title").text == nasty
    assert not list(root.iter(f"{SVG}script"))


def test_a_box_is_as_wide_as_its_longest_line_needs():
    short, long, wide = (
        float(of_class(parsed([Node("n", label)]), "node")[0].find(f"{SVG}rect").get("width"))
        for label in ("exp", "exp\n" + "m" * 40, "勾" * 30)
    )
    assert short < 60 and long >= 40 * 0.6 * 11 and wide >= 30 * 13


def test_a_long_label_at_an_edge_stays_inside_of_the_picture():
    root = parsed([Node("a", "a"), Node("b", "b")], [Edge("a", "b", "l" * 60), Edge("a", "b", "r" * 60)])
    left, _, width, _ = (float(value) for value in root.get("viewBox").split())
    first, second = of_class(root, "edge-label")
    assert float(first.get("x")) - 60 * 6 >= left
    assert float(second.get("x")) + 60 * 6 <= left + width


def test_every_kind_has_a_look_of_its_own():
    fills = set()
    for kind in KINDS:
        (node,) = of_class(parsed([Node("n", "n", kind)]), "node")
        fills.add(node.find(f"{SVG}rect").get("fill"))
    assert len(fills) == len(KINDS)


def test_an_unknown_kind_is_refused_by_name():
    with pytest.raises(ArgumentError, match=r"the kind of the node 'n' must be 'op', 'var'.*, got 'cloud'"):
        draw([Node("n", "n", "cloud")])


def test_nothing_in_the_picture_can_leak_into_the_page_around_it():
    text = draw(NODES, EDGES)
    assert not re.search(r"<style|<script|<marker|url\(|xlink|https?://(?!www\.w3\.org/2000/svg)", text)


def test_an_empty_graph_is_a_picture_too():
    root = parsed([])
    assert of_class(root, "node") == [] and float(root.get("width")) > 0


def test_the_same_graph_gives_the_same_text():
    assert draw(NODES, EDGES) == draw(NODES, EDGES)


def test_ten_thousand_nodes_make_one_document():
    nodes = [Node(str(k), f"exp\n{k}") for k in range(10_000)]
    root = parsed(nodes, [Edge(str(k), str(k + 1)) for k in range(9_999)])
    assert len(of_class(root, "node")) == 10_000 and len(of_class(root, "edge")) == 9_999
