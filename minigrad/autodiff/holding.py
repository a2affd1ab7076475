"""Saved values in another form: holders, which return the value when a derivative rule reads it.

A saver (`runtime/noting.py`) replaces the saved values of a node by holders.  `saved_tensors_hooks` packs each value
with a user's function; a checkpoint drops it and computes it again.  The node's `pull` reads the holders and connects
their values to the graph, so every order of derivative works.  The version of a holder is checked like that of a value.
"""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from sys import getrefcount
from typing import Any

from minigrad.autodiff.pulling import edge_of, saved_in_graph
from minigrad.autodiff.repeating import pull
from minigrad.core.recycling import release
from minigrad.core.storage import ConstantStorage
from minigrad.errors import ArgumentError, GradientError
from minigrad.ops.creation import zeros
from minigrad.ops.shape.views import expand
from minigrad.runtime.graph import BackpropOp, ids
from minigrad.runtime.noting import begin_saving, end_saving, savers, savers_restored, saving
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.var import unlike


class Holder(Tensor, ABC):
    """Replace a saved value in the graph.  version: the version of the value's memory when it was saved.

    The holder refers to the storage of the value without keeping it alive.  While the storage exists, a write into it
    is detected; after the storage is freed, no write is possible.
    """

    __slots__ = ("memory", "version")

    def __init__(self, x: Tensor) -> None:
        self.id = next(ids)
        self.layout, self.dtype, self.device = x.layout, x.dtype, x.device
        self.op = self.base = None
        release(x.storage)
        self.memory, self.version = weakref.ref(x.storage), x.storage.version

    @property
    def storage(self) -> Any:  # type: ignore[override]
        result = self.memory()
        return self if result is None else result

    @abstractmethod
    def value(self) -> Tensor:
        """Return the value, without history."""

    def keeps(self) -> list[Tensor]:
        """Return the tensors whose memory is kept instead of the value's."""
        return []

    def given(self) -> list[tuple[Tensor, int | None]]:
        """Return these tensors, each with the id of the graph edge that it came from, or None."""
        return [(x, None) for x in self.keeps()]


class Marker(Holder):
    """Store the version of a written result, of which no rule reads the value; the result may be written again."""

    __slots__ = ()

    @property
    def storage(self) -> Any:  # type: ignore[override]
        return self

    def value(self) -> Tensor:
        """Return zeros."""
        return expand(zeros((), dtype=self.dtype, device=self.device), shape=self.layout.shape)


class HeldNode(BackpropOp):
    """A node whose saved values are holders."""

    __slots__ = ()

    def pull(self, gradients: Any, wanted: set[int] | None, create: bool) -> list[tuple[Any, Any]]:
        """Run `pull` with the values of the holders."""
        if wanted is not None and not any(p is not None and p.id in wanted for p in self.parents):
            return []
        return pull(self, gradients, wanted, create, saved_values(self, create))


def saved_values(node: BackpropOp, create: bool) -> Sequence[Tensor]:
    """Return the saved values of a node, with values for holders; with `create`, they are parts of the graph."""
    if not any(isinstance(x, Holder) for x in node.saved or ()):
        return saved_in_graph(node) if create else node.saved or ()
    values = values_of(node)
    return in_graph(node, values) if create else values


def values_of(node: BackpropOp) -> list[Tensor]:
    """Return the saved values of a node, without history; an empty list if they have been freed."""
    with no_grad():
        return [x.value() if isinstance(x, Holder) else x for x in node.saved or ()]


def in_graph(node: BackpropOp, values: Sequence[Tensor]) -> list[Tensor]:
    """Connect the saved values of a node to the graph: operands to its parents, results to the node itself."""
    codes = node.op.saves[node.mask]
    return [joined(x, node.parents[k] if 0 <= k < len(node.parents) else edge_of(node, -1 - k) if k < 0 else None)
            for k, x in zip(codes, values, strict=True)]  # fmt: skip


def joined(x: Tensor, parent: Any) -> Tensor:
    """Return a value with the edge of the graph to `parent`."""
    if parent is None:
        return x
    if not isinstance(parent, Tensor):
        return Tensor(x.storage, x.layout, parent)
    if parent.storage is x.storage and parent.layout is x.layout:
        return parent
    return Tensor(x.storage, x.layout, expand(parent, shape=parent.shape).op)


def hold(node: BackpropOp, make: Callable[[Tensor], Tensor]) -> None:
    """Replace the saved values of a node by holders."""
    if node.saved:
        node.saved = tuple([x if x.__class__ is Marker else make(x) for x in node.saved])
        if node.__class__ is BackpropOp:  # other nodes have a `pull` that reads holders
            node.__class__ = HeldNode


# ---- saved values that a user's functions pack ----------------------------------------------------------------------


class Packed(Holder):
    """A value in the form that `pack` returned.

    shown: the memory of the value, if the packed value is a view of it.
    """

    __slots__ = ("name", "packed", "shown", "unpack")

    def __init__(self, x: Tensor, name: str, hooks: PackHooks) -> None:
        super().__init__(x)
        self.name, self.unpack = name, hooks.unpack
        storage = x.storage
        before = getrefcount(storage.buffer)
        with no_grad():
            self.packed = hooks.pack(x.detach())
        # A NumPy array on the same memory shows a write, but does not keep the count of writes alive.
        self.shown = storage if getrefcount(storage.buffer) != before else None
        if x.storage.version != self.version:
            raise GradientError(
                f"saved_tensors_hooks: pack must not write into its argument, but it wrote into {describe(x)}, which "
                f"{name} saves; return a new value from pack"
            )

    def keeps(self) -> list[Tensor]:
        """Return the packed value if it is a tensor; the size of other objects is unknown."""
        return [self.packed] if isinstance(self.packed, Tensor) else []

    def value(self) -> Tensor:
        """Return the result of `unpack`.

        Raises GradientError, ShapeError, DTypeError or DeviceError if it does not match the value that was packed.
        """
        with savers_restored():
            result = self.unpack(self.packed)
        wrong = unlike(result, self)
        if wrong is not None:
            error, got = wrong
            raise error(
                f"saved_tensors_hooks: unpack must return {describe(self)} on {self.device}, the tensor that pack "
                f"received from {self.name}, got {got}; return a tensor of this shape, dtype and device"
            )
        return result.detach()


class PackHooks:
    """A saver that stores each value with two functions."""

    def __init__(self, pack: Callable[[Tensor], Any], unpack: Callable[[Any], Tensor]) -> None:
        self.pack, self.unpack = pack, unpack

    def keep(self, node: BackpropOp, operands: Sequence[Tensor]) -> None:
        """Pack the saved values of a node."""
        with saving(None):
            # A number such as 2.0 in `x * 2.0` is not a tensor of the user.
            hold(node, lambda x: x if x.storage.__class__ is ConstantStorage else Packed(x, node.name, self))

    def keep_value(self, x: Tensor, name: str) -> Holder:
        """Pack one value that a checkpoint needs."""
        with saving(None):
            return Packed(x, name, self)


class saved_tensors_hooks:
    """Store each value that is saved in a block as `pack_hook(value)`; `unpack_hook` restores it at each use.

    Parameters
    ----------
    pack_hook : callable
        Function that receives a tensor and returns any value, which the graph stores instead of the tensor.  The
        function must not write the tensor.
    unpack_hook : callable
        Function that receives the stored value and returns a tensor with the shape, dtype and device of the saved
        tensor.

    Raises
    ------
    ArgumentError
        If a hook cannot be called.
    GradientError
        If `pack_hook` writes the tensor, or at the start of the block inside `disable_saved_tensors_hooks`.
    GradientError, ShapeError, DTypeError, DeviceError
        When the gradient is computed, if `unpack_hook` returns another kind of value.

    Notes
    -----
    If blocks are nested, only the innermost one applies.  The version of the value is checked as without hooks, so an
    in-place write is still detected.
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        if not callable(pack_hook) or not callable(unpack_hook):
            raise ArgumentError(
                "saved_tensors_hooks: expected two functions, pack(tensor) and unpack(packed), got another object; "
                "pass lambda x: x for a hook that changes nothing"
            )
        self.hooks = PackHooks(pack_hook, unpack_hook)

    def __enter__(self) -> Any:
        reason = refusal.get()
        if reason is not None:
            raise GradientError(reason)
        begin_saving(self.hooks)

    def __exit__(self, *error: Any) -> None:
        end_saving(self.hooks)


refusal: ContextVar[str | None] = ContextVar("refusal", default=None)  # the error of `saved_tensors_hooks`, or None


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Open a block in which `saved_tensors_hooks` raises GradientError with a message.

    Parameters
    ----------
    error_message : str
        The message of the error.

    Returns
    -------
    context manager
        The block.

    Raises
    ------
    GradientError
        With the same message, if the block begins inside `saved_tensors_hooks`.
    """
    if any(isinstance(saver, PackHooks) for saver in savers.stack):
        raise GradientError(error_message)
    token = refusal.set(error_message)
    try:
        yield
    finally:
        refusal.reset(token)
