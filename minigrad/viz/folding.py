"""Folding of large graphs: a scope becomes one box, equal consecutive scopes become one box with a count, and leaves
are drawn next to the ops that use them.

`boxes` and `repeat` map the nodes and edges of a picture to new ones; remaining nodes keep their ids.
A page can have one drawing for each state of the scopes; opening or closing a scope shows another drawing.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import combinations, islice

from minigrad.viz import folding, svg
from minigrad.viz.labels import STRENGTH
from minigrad.viz.picture import alive, fitting
from minigrad.viz.svg import Edge, Node

USES = 3  # a leaf with more uses is drawn next to each use
LEAVES = ("var", "constant")
SCOPE = "scope "  # prefix of the name of a group: it contains a space, so it differs from the id of every node


def repeat(nodes: Sequence[Node], edges: Sequence[Edge]) -> tuple[list[Node], list[Edge]]:
    """Draw a leaf that more than USES ops read next to each of them, so that no edge crosses the whole picture."""
    uses = Counter(source for source, _ in {(edge.source, edge.target) for edge in edges})
    many = {node.id: node for node in nodes if node.kind in LEAVES and uses[node.id] > USES}
    if not many:
        return list(nodes), list(edges)
    copies: dict[tuple[str, str], Node] = {}
    counts: Counter[str] = Counter()
    moved = []
    for edge in edges:
        leaf = many.get(edge.source)
        if leaf is not None:
            key = (edge.source, edge.target)
            if key not in copies:
                first = leaf.label.split("\n")[0]
                count = counts[leaf.id]
                counts[leaf.id] += 1
                label = leaf.label if not count else f"{first}\nagain"
                copies[key] = replace(leaf, id=leaf.id if not count else f"{leaf.id}.{count}", label=label)
            edge = replace(edge, source=copies[key].id)
        moved.append(edge)
    return [node for node in nodes if node.id not in many] + list(copies.values()), moved


@dataclass(frozen=True)
class Group:
    """The nodes that one box replaces.

    `id` is the id of the box.  `chain` contains the names of its scopes, several for consecutive blocks.  `inside`
    contains the ids of its nodes.
    """

    id: str
    chain: tuple[str, ...]
    inside: tuple[str, ...]

    @property
    def title(self) -> str:
        """Return the text on the box."""
        ends = self.chain if len(self.chain) < 2 else (self.chain[0], self.chain[-1])
        return " to ".join(end.removeprefix(SCOPE) for end in ends)


def groups(nodes: Sequence[Node], edges: Sequence[Edge], scopes: Mapping[str, tuple[str, ...]]) -> list[Group]:
    """Return the groups that can be folded: each outermost scope, with the leaves that only this scope reads.

    Equal consecutive scopes form one group.  `nodes` begins with the result of the graph, and the returned list ends
    with the group of this result.  `scopes` maps the id of an op to the names of its scopes, the outermost first.  A
    scope is not folded if the graph with its box would have a cycle.
    """
    group_of: dict[str, str] = {}
    members: dict[str, list[str]] = defaultdict(list)
    for node in nodes:
        if scopes.get(node.id):
            members[f"{SCOPE}{scopes[node.id][0]}"].append(node.id)
    every = {id_: name for name, inside in members.items() for id_ in inside}
    if acyclic(nodes, edges, every):
        group_of = every
    else:
        for name, inside in members.items():
            tried = {**group_of, **dict.fromkeys(inside, name)}
            if acyclic(nodes, edges, tried):
                group_of = tried
    readers = defaultdict(set)
    for edge in edges:
        readers[edge.source].add(group_of.get(edge.target, edge.target))
    for node in nodes:
        (only, *others) = readers[node.id] or {""}
        if node.kind in LEAVES and not others and only in members and only in group_of.values():
            group_of[node.id] = only
    chains = in_a_row(edges, group_of, {node.id: node for node in nodes})
    inside_of: dict[str, list[str]] = defaultdict(list)
    for id_, name in group_of.items():
        inside_of[chains.get(name, name)].append(id_)
    blocks: dict[str, list[str]] = defaultdict(list)
    for name, head in chains.items():
        blocks[head].append(name)
    return [
        Group(f"scope{k}", tuple(blocks.get(head, [head])), tuple(inside))
        for k, (head, inside) in enumerate(reversed(inside_of.items()))
    ]


def boxes(nodes: Sequence[Node], edges: Sequence[Edge], folded: Sequence[Group]) -> tuple[list[Node], list[Edge]]:
    """Return nodes and edges in which a box replaces each of the given groups."""
    group_of = {id_: group for group in folded for id_ in group.inside}
    known = {node.id: node for node in nodes}
    drawn: dict[str, Node] = {}
    for node in nodes:
        group = group_of.get(node.id)
        if group is None:
            drawn[node.id] = node
        elif group.id not in drawn:
            drawn[group.id] = box_of(group, [known[id_] for id_ in group.inside])
    moved: dict[tuple[str, str], Edge] = {}
    for edge in edges:
        source, target = (group_of[end].id if end in group_of else end for end in (edge.source, edge.target))
        if source != target:
            label = edge.label if target == edge.target else ""
            moved.setdefault(
                (source, target) if not label else (source, f"{target} {label}"), Edge(source, target, label)
            )
    return list(drawn.values()), list(moved.values())


def box_of(group: Group, inside: Sequence[Node]) -> Node:
    """Return the box of a group: it states the counts of ops and Vars, and has the strongest tint of its nodes."""
    ops = Counter(node.label.split("\n")[0] for node in inside if node.kind not in LEAVES)
    variables = sum(node.kind == "var" for node in inside)
    lines = [group.title, *([f"{len(group.chain)} blocks"] if len(group.chain) > 1 else [])]
    lines.append(f"{sum(ops.values())} ops" + (f", {variables} Vars" if variables else ""))
    summary = ", ".join(f"{op} x{count}" if count > 1 else op for op, count in ops.most_common(4))
    kind = "output" if any(node.kind == "output" for node in inside) else "scope"
    tint = max((node.tint for node in inside), key=STRENGTH.index, default="")
    hint = ", ".join(f"{op} x{count}" for op, count in ops.items())
    return Node(group.id, "\n".join([*lines, summary]), kind, hint, tint)


def in_a_row(edges: Sequence[Edge], group_of: Mapping[str, str], nodes: Mapping[str, Node]) -> dict[str, str]:
    """Return, for the name of each group, the name of the first group in its row.

    A row is a sequence of groups whose names differ only in a number.  The results of each group in the row are read
    only by the next group.
    """
    looks: dict[str, list[str]] = defaultdict(list)
    for id_, name in group_of.items():
        looks[name].append(nodes[id_].label.split("\n")[0] if nodes[id_].kind not in LEAVES else nodes[id_].kind)
    after: dict[str, set[str]] = defaultdict(set)
    for edge in edges:
        a, b = (group_of.get(end, end) for end in (edge.source, edge.target))
        if a != b:
            after[a].add(b)
    follows: dict[str, str] = {}
    for name in looks:
        (following, *others) = after[name] or {""}
        alike = stem(following) == stem(name) and sorted(looks.get(following, ())) == sorted(looks[name])
        if not others and following in looks and alike:
            follows[name] = following
    first: dict[str, str] = {}
    for head in looks:
        if head not in follows.values():
            here: str | None = head
            while here is not None:
                first[here], here = head, follows.get(here)
    return first


def stem(name: str) -> str:
    """Return a name without its digits."""
    return "".join(letter for letter in name if not letter.isdigit()).strip(" .-_")


def acyclic(nodes: Sequence[Node], edges: Sequence[Edge], group_of: Mapping[str, str]) -> bool:
    """Return whether no path leaves a group and returns to it."""
    after: dict[str, set[str]] = defaultdict(set)
    waiting: Counter[str] = Counter()
    for edge in edges:
        a, b = (group_of.get(end, end) for end in (edge.source, edge.target))
        if a != b and b not in after[a]:
            after[a].add(b)
            waiting[b] += 1
    names = {group_of.get(node.id, node.id) for node in nodes}
    ready = [name for name in names if not waiting[name]]
    for name in ready:  # the list grows during the loop
        for other in after[name]:
            waiting[other] -= 1
            if not waiting[other]:
                ready.append(other)
    return len(ready) == len(names)


# ---- graphs whose scopes can be opened and closed on a page ----------------------------------------------------------

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
