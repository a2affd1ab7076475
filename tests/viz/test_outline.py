"""A graph as lines of text."""

from __future__ import annotations

import time
from typing import Any

import minigrad as mg
from minigrad.viz.svg import Edge, Node
from minigrad.viz.terminal import Outline, fitted, shortened


def test_the_result_comes_first_and_what_it_was_made_of_below_it() -> None:
    x = mg.Var([3.0, 1.0, 4.0], name="x")
    y = x * x + x * 5.0
    assert str(mg.viz.graph(y)).splitlines() == [
        "graph of float32(3,): 5 nodes, 6 edges",
        "add  float32(3,)  y = [24, 6, 36]",
        "├─ input: mul  float32(3,)  [9, 1, 16]  saves input float32(3,), other …",
        "│  ├─ input: (1) x  float32(3,)  [3, 1, 4]",
        "│  └─ other: (1) x, above",
        "└─ other: mul  float32(3,)  [15, 5, 20]  saves other float32()",
        "   ├─ input: (1) x, above",
        "   └─ other: 5",
    ]


def test_every_node_is_told_once_also_of_a_deep_graph_and_a_wide_one() -> None:
    nodes = [Node("x", "x", "var"), *[Node(f"n{k}", f"op{k}\nfloat32()\n{'w' * 60}") for k in range(50)]]
    deep = [Edge("x", "n0"), *[Edge(f"n{k}", f"n{k + 1}", "a") for k in range(49)]]
    deep += [Edge("x", f"n{k}", "b") for k in range(1, 50)]
    lines = list(Outline(nodes, deep))
    assert sum("float32()" in line for line in lines) == 50 and max(map(len, lines)) <= 72
    assert (
        sum(", below" in line for line in lines) == sum(not line.startswith(("├", "│", "└", " ")) for line in lines) - 1
    )
    below = [line.partition(", below")[0].split(": ")[-1] for line in lines if ", below" in line]
    assert all(any(line.startswith(name) for line in lines) for name in below), "each goes on where it says"
    wide = [Edge(f"n{k}", "x") for k in range(50)]
    assert len(list(Outline(nodes, wide))) == 51


def test_what_meets_again_below_is_told_there_once() -> None:
    nodes = [Node(name, name) for name in "abcd"]
    lines = list(Outline(nodes, [Edge("a", "b"), Edge("a", "c"), Edge("b", "d"), Edge("c", "d")]))
    assert lines == ["d", "├─ b", "│  └─ (1) a", "└─ c", "   └─ (1) a, above"]


def test_of_a_large_graph_some_lines_are_printed_and_the_rest_counted() -> None:
    y: Any = mg.Var([1.0], name="x", device="reference")
    for _ in range(5000):
        y = -y
    picture = mg.viz.graph(y)
    start = time.perf_counter()
    lines = repr(picture).splitlines()
    assert time.perf_counter() - start < 60, "it takes a moment, and minutes if every line asked for all nodes"
    assert len(lines) == 62 and lines[0] == "graph of float32(1,): 5001 nodes, 5000 edges"
    whole = picture.text().splitlines()
    assert (
        lines[-1] == f"... {len(whole) - 61} more lines; .text() has all"
        and sum("neg  " in line for line in whole) == 5000
    )


def test_folded_scopes_are_single_lines() -> None:
    z: Any = mg.Var(mg.ones(2), name="z")
    for k in range(3):
        with mg.viz.scope(f"layer {k + 1}"):
            z = (z * 2.0).tanh()
    text = str(mg.viz.graph(z.sum(), fold=True))
    assert "└─ layer 2 to layer 3  2 blocks  4 ops" in text and len(text.splitlines()) == 4


def test_helpers_of_lines() -> None:
    assert fitted(["aaa", "bbb", "ccc"], width=9) == ["aaa   bbb", "ccc"]
    assert shortened(iter("abc"), None) == ["a", "b", "c"] == shortened("abc", 3)
    assert shortened("abcd", 2) == ["a", "b", "... 2 more lines; .text() has all"]
