"""A graph whose scopes open and close where it is shown: the drawings of several states, of which one is seen.

The position of each box is computed here and not on the page, so there is a drawing for each state: all closed, all
open, each scope open alone; and where scopes are few, every other.  Without scripts the first drawing is seen; the
others are in templates, which a page does not show.
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
FEW = 4  # largest number of scopes for drawing every state


class Foldable:
    """The nodes and edges of a graph that is not folded, and the groups that can be folded.

    opened: ids of the groups that are open at first.  repeat: whether leaves are drawn where they are used.
    """

    def __init__(
        self, nodes: Sequence[Node], edges: Sequence[Edge], groups: Sequence[Group], opened: Collection[str],
        repeat: bool,
    ) -> None:  # fmt: skip
        self.nodes, self.edges, self.groups, self.repeat = nodes, edges, groups, repeat
        self.opened = frozenset(opened)

    def view(self, opened: Collection[str]) -> tuple[list[Node], list[Edge]]:
        """Return nodes and edges with these groups open and the others as boxes."""
        closed = [group for group in self.groups if group.id not in opened]
        nodes, edges = folding.boxes(self.nodes, self.edges, closed)
        return folding.repeat(nodes, edges) if self.repeat else (nodes, edges)

    def states(self) -> Iterator[frozenset[str]]:
        """Iterate over sets of open groups, the most useful ones first."""
        ids = [group.id for group in self.groups]
        sizes = [0, len(ids), *range(1, len(ids) if len(ids) <= FEW else 2)]
        yield self.opened
        for size in sizes:
            for state in combinations(ids, size):
                if frozenset(state) != self.opened:
                    yield frozenset(state)

    def html(self, title: str, legend: Sequence[tuple[str, str]]) -> str:
        """Return the page's part, with as many states as the limits allow."""
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
