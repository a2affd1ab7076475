"""The memory that each recorded op holds, and the memory that a checkpoint of some ops would free.

A checkpoint drops the values that its ops saved and holds its input tensors.  So it frees the memory that only its ops
hold.  Other memory is not freed: the inputs, values that an op outside saved, memory of a Var, data, and results to
which the program refers.  A view holds the memory of its base.  An op of few elements holds its operands for pictures;
inside a checkpoint it does not.  The keys of pieces of memory are numbers, so that a ledger keeps no memory alive.
`tape.py` shows the sums.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from sys import getrefcount
from types import SimpleNamespace
from typing import Any

from minigrad.autodiff.holding import Holder
from minigrad.core.storage import Storage
from minigrad.diagnostics.flow import vertex_of
from minigrad.runtime.graph import BackpropOp, Output
from minigrad.runtime.tensor import Tensor

LINE = 64  # sizes of memory are rounded up to a multiple of this number of bytes
Key = Any  # key of a piece of memory: the id of a storage, or the node of a result whose storage no longer exists


class Ledger:
    """Store which pieces of memory (storages) the graph of a result keeps.

    `sizes` maps a storage to its size in bytes.  `holds` contains for each op the storages that the op saves.  `reads`
    contains for each op the storages of its operands, each with the op that made it.  `fixed` contains the storages
    that no checkpoint frees.  `made` contains the storages of results.
    """

    def __init__(self, y: Tensor, nodes: Sequence[BackpropOp], leaves: Iterable[Tensor]) -> None:
        self.sizes: dict[Key, int] = {}
        self.holds: dict[int, set[Key]] = {}
        self.reads: dict[int, set[tuple[int, Key]]] = {}
        self.fixed: set[Key] = {id(x.storage) for x in (y, *leaves)}
        self.made: dict[tuple[int, int], Key] = {}
        self.nodes = {key: node for node in nodes for key in node.ids or (node.id,)}
        self.note_data([x for node in nodes for x in self.note_saved(node)])
        for node in nodes:
            self.reads[node.id] = {(vertex_of(edge).id, self.piece(edge)) for edge in node.parents if is_op(edge)}
        for x in held_by_others(self.nodes):
            self.fixed |= {self.piece(x.op), id(x.storage)}

    def note_saved(self, node: BackpropOp) -> list[Tensor]:
        """Record the values that a node saved, and the results with the same memory; return its saved constants."""
        constants: list[Tensor] = []
        held = self.holds[node.id] = set()
        for edge, shown in zip(node.parents, node.read or (), strict=False):
            if is_op(edge) and shown is not None:
                self.made[origin(edge)] = self.add(shown)
                held.add(id(shown))
        for code, x in zip(node.op.saves[node.mask], node.saved or (), strict=False):
            edge = node.parents[code] if 0 <= code < len(node.parents) else None
            storage = x.memory() if isinstance(x, Holder) else x.storage
            if storage is not None:
                if code < 0:
                    self.made[node.id, -1 - code] = id(storage)
                elif is_op(edge):
                    self.made[origin(edge)] = id(storage)
            if isinstance(x, Holder):
                for operand, made_by in x.given():
                    held.add(self.add(operand.storage))
                    if made_by in self.nodes:
                        maker = self.nodes[made_by]
                        self.made[origin(maker if maker.ids is None else Output(maker, maker.ids.index(made_by)))] = id(
                            operand.storage
                        )
            else:
                held.add(self.add(x.storage))
                if code >= 0 and edge is None:
                    constants.append(x)

        return constants

    def note_data(self, constants: list[Tensor]) -> None:
        """Mark the memory of constants that have another holder as fixed: it is data, not an intermediate mask."""
        times = Counter(map(id, constants))
        for k in range(len(constants)):
            elsewhere = getrefcount(constants[k]) - REFERENCES[0] > 2 * (times[id(constants[k])] - 1)
            storage = constants[k].storage
            if elsewhere or getrefcount(storage) - (storage.keeper is not None) > REFERENCES[1]:
                self.fixed.add(id(constants[k].storage))

    def add(self, storage: Storage) -> Key:
        """Record the size of a storage, and return its piece."""
        self.sizes[id(storage)] = int(storage.buffer.nbytes)
        return id(storage)

    def piece(self, edge: Any) -> Key:
        """Return the piece of memory of the tensor that an edge carries."""
        maker = origin(edge)
        if maker not in self.made:
            self.made[maker] = maker
            node = self.nodes.get(maker[0])
            if node is None:  # without a node, the memory is that of a view of a Var
                self.fixed.add(maker)
                self.sizes[maker] = 0
            else:
                spec = node.plan.outs[maker[1]] if node.ids is not None else node.plan
                size = spec.layout.numel * spec.dtype.itemsize
                self.sizes[maker] = -(-size // LINE) * LINE
        return self.made[maker]

    def freed(self, ids: set[int]) -> int:
        """Return the bytes that a checkpoint of some ops would free until the backward pass reaches the checkpoint."""
        inside: set[Key] = set().union(*[self.holds[key] for key in ids])
        outside: set[Key] = set().union(*[held for key, held in self.holds.items() if key not in ids])
        coming = {piece for key in ids for made_by, piece in self.reads[key] if made_by not in ids}
        stays = outside | self.fixed
        gone = sum(self.sizes[piece] for piece in inside - coming - stays)
        return max(0, gone - sum(self.sizes[piece] for piece in coming - inside - stays))


def held_by_others(nodes: Mapping[int, BackpropOp]) -> list[Tensor]:
    """Return the results of nodes to which an object outside the graph refers, such as a variable."""
    tensors: list[Any] = [
        x for x in gc.get_objects() if issubclass(type(x), Tensor) and not issubclass(type(x), Holder)
    ]
    inside = Counter(id(x) for node in {id(node): node for node in nodes.values()}.values() for x in node.saved or ())
    inside.update(id(x.base) for x in tensors)  # each view refers to its base
    results = [x for x in tensors if x.op is not None and vertex_of(x.op).id in nodes]
    del tensors
    probe = [object()]  # an object to which only this list refers, to measure the references that counting adds
    return [
        results[k] for k in range(len(results))
        if getrefcount(results[k]) - getrefcount(probe[0]) > inside[id(results[k])]
    ]  # fmt: skip


def is_op(edge: Any) -> bool:
    """Return whether an edge comes from a recorded op."""
    return isinstance(vertex_of(edge), BackpropOp)


def origin(edge: Any) -> tuple[int, int]:
    """Return the op that made the memory of an edge and the index of its result; for a view of a Var, the Var's id."""
    node = vertex_of(edge)
    while node.op.kind == "view":
        edge = node.parents[0]
        node = vertex_of(edge)
        if not isinstance(node, BackpropOp):
            return node.id, 0
    return node.id, edge.index if edge.__class__ is Output else 0


def references() -> tuple[int, int]:
    """Return the reference counts that `note_data` sees for a constant that only one node holds, and its storage."""
    constants: list[Any] = [SimpleNamespace(storage=object())]
    node = SimpleNamespace(saved=(constants[0],))
    storage = constants[0].storage
    counts = getrefcount(constants[0]), getrefcount(storage)
    del node  # the node must stay alive until here
    return counts


REFERENCES = references()
