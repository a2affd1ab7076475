"""Boxes do not overlap, arrows point down, few of them cross, and a big graph is no problem."""

import random
from itertools import pairwise

import pytest
from steps import steps

from minigrad.errors import ArgumentError
from minigrad.viz.layered import arrange

BOX = (80.0, 30.0)


def boxed(count, edges, size=BOX):
    return arrange(range(count), edges, dict.fromkeys(range(count), size))


def perceptron(layers):
    """A network's graph: per layer w, matmul, b, add, relu; a loss of four ops at the end; x first."""
    nodes, edges, last = ["x"], [], "x"
    for i in range(layers):
        w, product, b, total, out = (f"{name}{i}" for name in ("w", "matmul", "b", "add", "relu"))
        nodes += [w, product, b, total, out]
        edges += [(last, product), (w, product), (product, total), (b, total), (total, out)]
        last = out
    nodes += ["log_softmax", "labels", "gather", "neg", "mean"]
    edges += [
        (last, "log_softmax"),
        ("log_softmax", "gather"),
        ("labels", "gather"),
        ("gather", "neg"),
        ("neg", "mean"),
    ]
    return nodes, edges


def random_graph(count, seed, reach=8):
    draw = random.Random(seed)
    sizes = {k: (draw.uniform(20, 160), draw.uniform(20, 60)) for k in range(count)}
    edges = [(draw.randrange(max(0, k - reach), k), k) for k in range(1, count) for _ in range(draw.choice([1, 2, 2]))]
    return list(range(count)), edges, sizes


def overlaps(drawing, sizes):
    """Pairs of boxes that share a point, by brute force."""
    boxes = [
        (x - sizes[n][0] / 2, x + sizes[n][0] / 2, y - sizes[n][1] / 2, y + sizes[n][1] / 2, n)
        for n, (x, y) in drawing.centres.items()
    ]
    return [
        (a[4], b[4])
        for i, a in enumerate(boxes)
        for b in boxes[:i]
        if a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]
    ]


@pytest.mark.parametrize("seed", range(5))
def test_no_two_boxes_overlap(seed):
    nodes, edges, sizes = random_graph(120, seed)
    assert overlaps(arrange(nodes, edges, sizes), sizes) == []


@pytest.mark.parametrize("seed", range(5))
def test_every_arrow_points_down_at_every_step(seed):
    nodes, edges, sizes = random_graph(120, seed)
    drawing = arrange(nodes, edges, sizes)
    for (a, b), route in zip(edges, drawing.routes, strict=True):
        assert drawing.ranks[a] < drawing.ranks[b]
        assert all(upper[1] < lower[1] for upper, lower in pairwise(route))


def test_an_arrow_starts_on_the_lower_side_of_its_source_and_ends_on_the_upper_side_of_its_target():
    nodes, edges, sizes = random_graph(80, seed=1)
    drawing = arrange(nodes, edges, sizes)
    for (a, b), route in zip(edges, drawing.routes, strict=True):
        for node, (x, y), side in ((a, route[0], 1), (b, route[-1], -1)):
            cx, cy = drawing.centres[node]
            assert y == pytest.approx(cy + side * sizes[node][1] / 2)
            assert abs(x - cx) <= sizes[node][0] / 2


@pytest.mark.parametrize("seed", range(5))
def test_an_arrow_passes_beside_the_boxes_and_not_through_them(seed):
    nodes, edges, sizes = random_graph(120, seed)
    drawing = arrange(nodes, edges, sizes)
    for edge, route in zip(edges, drawing.routes, strict=True):
        for (ax, ay), (bx, by) in pairwise(route):
            for node, (cx, cy) in drawing.centres.items():
                beside = max(ax, bx) <= cx - sizes[node][0] / 2 or min(ax, bx) >= cx + sizes[node][0] / 2
                above_or_below = by <= cy - sizes[node][1] / 2 + 1e-9 or ay >= cy + sizes[node][1] / 2 - 1e-9
                assert node in edge or beside or above_or_below


def test_everything_lies_between_zero_and_the_width_and_the_height():
    nodes, edges, sizes = random_graph(100, seed=3)
    drawing = arrange(nodes, edges, sizes)
    sides = [(x - sizes[n][0] / 2, x + sizes[n][0] / 2) for n, (x, _) in drawing.centres.items()]
    assert min(left for left, _ in sides) >= -1e-9 and max(right for _, right in sides) <= drawing.width + 1e-9
    for n, (_, y) in drawing.centres.items():
        assert y - sizes[n][1] / 2 >= -1e-9 and y + sizes[n][1] / 2 <= drawing.height + 1e-9


def test_a_network_of_31_nodes_is_drawn_without_a_crossing():
    nodes, edges = perceptron(layers=5)
    assert len(nodes) == 31
    drawing = arrange(nodes, edges, dict.fromkeys(nodes, BOX))
    assert drawing.crossings == 0


def test_two_edges_that_cross_in_the_order_given_are_untangled():
    drawing = arrange("abcd", [("a", "d"), ("b", "c")], dict.fromkeys("abcd", BOX))
    assert drawing.crossings == 0
    a, b, c, d = (drawing.centres[n][0] for n in "abcd")
    assert (a < b) == (d < c)


def test_a_complete_bipartite_graph_has_the_crossings_that_it_must_have():
    # Every pair of upper nodes crosses once for every pair of lower nodes: 3 * 3 for three against three.
    assert boxed(6, [(a, b) for a in range(3) for b in range(3, 6)]).crossings == 9


def test_a_chain_is_a_straight_line():
    drawing = boxed(20, [(k, k + 1) for k in range(19)])
    assert {x for x, _ in drawing.centres.values()} == {40.0}
    assert {x for route in drawing.routes for x, _ in route} == {40.0}


def test_a_leaf_stands_right_above_its_first_consumer():
    # w and its transpose are needed only at the end of a chain of ten: they stay near it and do not float at the top.
    chain = [(k, k + 1) for k in range(10)]
    drawing = boxed(13, [*chain, (11, 12), (12, 10)])
    assert drawing.ranks[12] == 9 and drawing.ranks[11] == 8


def test_two_edges_between_the_same_boxes_are_drawn_apart():
    drawing = boxed(2, [(0, 1), (0, 1)])
    (first, *_), (second, *_) = drawing.routes
    assert abs(first[0] - second[0]) == 12.0
    assert abs(drawing.routes[0][-1][0] - drawing.routes[1][-1][0]) == 12.0


def test_the_same_graph_gives_the_same_picture():
    assert arrange(*random_graph(150, seed=4)) == arrange(*random_graph(150, seed=4))


def test_nothing_to_draw_has_no_extent():
    drawing = arrange([], [], {})
    assert (drawing.width, drawing.height, drawing.centres, drawing.routes) == (0.0, 0.0, {}, [])


def test_nodes_without_edges_stand_side_by_side():
    drawing = boxed(3, [])
    assert [drawing.centres[k] for k in range(3)] == [(40.0, 15.0), (146.0, 15.0), (252.0, 15.0)]


BIG = 10_000


SHAPES = {
    "a chain": lambda n: [(k, k + 1) for k in range(n - 1)],
    "wide": lambda n: [(0, k) for k in range(1, n - 1)] + [(k, n - 1) for k in range(1, n - 1)],
    "a skip from each": lambda n: [(k, k + 1) for k in range(n - 1)] + [(k, n - 1) for k in range(n - 2)],
    "random": lambda n: random_graph(n, seed=0, reach=50)[1],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_work_for_a_node_does_not_grow(shape):
    small, large = (steps(lambda n=n: boxed(n, SHAPES[shape](n))) / n for n in (500, 2500))
    assert large < 1.5 * small, "900 to 2800 a node, and from some thousand nodes on less"


@pytest.mark.parametrize("shape", SHAPES)
def test_ten_thousand_nodes_are_drawn_without_recursion(shape):
    edges = SHAPES[shape](BIG)
    drawing = boxed(BIG, edges)
    assert len(drawing.centres) == BIG
    assert all(drawing.ranks[a] < drawing.ranks[b] for a, b in edges)


@pytest.mark.parametrize(
    ("nodes", "edges", "words"),
    [
        ("ab", [("a", "b"), ("b", "a")], "cycle"),
        ("a", [("a", "a")], "the edges into 'a' have a cycle"),
        ("a", [("a", "b")], "must connect two nodes, .* 'b'"),
        ("aa", [], "got 'a' twice"),
    ],
)
def test_a_graph_that_cannot_be_drawn_is_refused_by_name(nodes, edges, words):
    with pytest.raises(ArgumentError, match=words):
        arrange(nodes, edges, {"a": BOX, "b": BOX})


def test_a_node_without_a_size_is_refused_by_name():
    with pytest.raises(ArgumentError, match="sizes must have an entry for each node, got none for 'b'"):
        arrange("ab", [], {"a": BOX})
