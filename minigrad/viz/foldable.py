"""A graph on a page whose scopes can be opened and closed: one drawing per state, of which one is visible.

The positions of the boxes are computed here and not on the page, so each state has its own drawing: all scopes closed,
all open, each scope open alone; and if there are few scopes, every other combination.  Without scripts, the first
drawing is visible; the other drawings are in templates, which a page does not show.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from html import escape
from itertools import combinations, islice

from minigrad.viz import folding, svg
from minigrad.viz.folding import Group
from minigrad.viz.picture import alive, fitting
from minigrad.viz.svg import Edge, Node

NODES = 3000  # largest number of nodes of all drawings together
STATES = 24  # largest number of states that are drawn
FEW = 4  # up to this number of scopes, every combination is drawn


class Foldable:
    """Store the nodes and edges of an unfolded graph, and the groups of nodes that can be folded into one box.

    `opened` contains the ids of the groups that are initially not folded.  With `repeat`, each leaf is drawn next to
    every op that uses it.
    """

    def __init__(
        self, nodes: Sequence[Node], edges: Sequence[Edge], groups: Sequence[Group], opened: Collection[str],
        repeat: bool,
    ) -> None:  # fmt: skip
        self.nodes, self.edges, self.groups, self.repeat = nodes, edges, groups, repeat
        self.opened = frozenset(opened)

    def view(self, opened: Collection[str]) -> tuple[list[Node], list[Edge]]:
        """Return nodes and edges with the given groups open and all others as boxes."""
        closed = [group for group in self.groups if group.id not in opened]
        nodes, edges = folding.boxes(self.nodes, self.edges, closed)
        return folding.repeat(nodes, edges) if self.repeat else (nodes, edges)

    def states(self) -> Iterator[frozenset[str]]:
        """Yield sets of open groups, the most useful sets first."""
        ids = [group.id for group in self.groups]
        sizes = [0, len(ids), *range(1, len(ids) if len(ids) <= FEW else 2)]
        yield self.opened
        for size in sizes:
            for state in combinations(ids, size):
                if frozenset(state) != self.opened:
                    yield frozenset(state)

    def html(self, title: str, legend: Sequence[tuple[str, str]]) -> str:
        """Return the HTML of the graph, with as many states as the limits allow."""
        drawings: list[str] = []
        budget = NODES
        for state in islice(self.states(), STATES):
            nodes, edges = self.view(state)
            if drawings and len(nodes) > budget:
                continue
            budget -= len(nodes)
            picture = fitting(svg.draw(nodes, edges, title=title, legend=legend))
            name = " ".join(sorted(state))
            drawings.append(
                f'<template data-open="{name}">{picture}</template>'
                if drawings
                else f'<div class="mg-drawing" data-open="{name}">{picture}</div>'
            )
        entries = [{"id": group.id, "title": group.title, "inside": group.inside} for group in self.groups]
        return alive(
            "graph",
            f'role="group" aria-label="{escape(title)}" data-groups="{escape(json.dumps(entries))}"',
            f'<div class="mg-scopes" hidden></div>{"".join(drawings)}',
        )
