"""Ownership of gradients: for any rule, the engine returns each gradient in memory that no other object refers to.

A rule may return its own argument: its g, which another operand or the caller's `gradient=` shares, or a saved value.
It may also return a tensor that it stores elsewhere.  The result does not reveal this, but the reference count does: if
only the gradient refers to its memory, it is handed out without a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from sys import getrefcount
from typing import Any

from minigrad.core.layout import Layout
from minigrad.core.storage import ConstantStorage, Storage
from minigrad.errors import GradientError
from minigrad.ops.casting import clone
from minigrad.runtime.recording import set_grad_enabled
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.tracers import Tracer

Pairs = list[tuple[Any, Tensor]]  # pairs of a target and its gradient


class NeverOwned(set[int]):
    """The empty set of sums that the engine may add to in place, since values of a transform are not written."""

    def __contains__(self, key: object) -> bool:
        return False


def never_owned(cotangents: Sequence[Any], name: str) -> NeverOwned | None:
    """Return NeverOwned if an incoming gradient is a value of a transform, as under `vmap(lambda v: grad(y, x, v))`.

    Raises GradientError unless the pass returns its gradients.
    """
    for g in cotangents:
        if g.__class__ is not Tensor and isinstance(g, Tracer):
            if name != "grad":
                raise GradientError(
                    f"{name}: the incoming gradient must not be a value of a transform, which cannot be stored in "
                    f".grad, got {describe(g)}; use autograd.grad"
                )
            return NeverOwned()
    return None


# The references that these expressions themselves add depend on the Python version, so they are measured once here.
SOLE_PAIR = [(None, Tensor(Storage.of(0.0), Layout.contiguous(())))]
SOLE_HOLDERS, SOLE_STORAGE_HOLDERS = getrefcount(SOLE_PAIR[-1][1]), getrefcount(SOLE_PAIR[-1][1].storage)


def held_elsewhere(pairs: Pairs) -> bool:
    """Return whether another object refers to the last gradient or to its memory."""
    if getrefcount(pairs[-1][1]) != SOLE_HOLDERS:
        return True
    if pairs[-1][1].base is not None and (pairs[-1][1].op is None or pairs[-1][1].layout.is_contiguous):
        pairs[-1][1].base = None  # the gradient may be a view of this base, which nothing else may use
    # A call plan may keep the storage for a later result, but hands it out only if nothing else refers to it.
    return getrefcount(pairs[-1][1].storage) - (pairs[-1][1].storage.keeper is not None) != SOLE_STORAGE_HOLDERS


class _Owner:
    """An object that refers to a tensor as a Var refers to its gradient."""

    __slots__ = ("grad",)

    def __init__(self, grad: Tensor) -> None:
        self.grad = grad


def kept(owner: Any, name: str) -> tuple[int, int]:
    """Return the number of references to a gradient that is an attribute, and to its storage, without a call plan's."""
    storage = getattr(owner, name).storage
    return getrefcount(getattr(owner, name)), getrefcount(storage) - (storage.keeper is not None)


KEPT = kept(_Owner(Tensor(Storage.of(0.0), Layout.contiguous(()))), "grad")


def is_sole_holder(owner: Any, name: str) -> bool:
    """Return whether only an attribute refers to a gradient, and its memory may be written."""
    if kept(owner, name) != KEPT:
        return False
    g = getattr(owner, name)
    storage = g.storage
    own = g.op is None and storage.allocator is not None and storage.__class__ is Storage
    return own and (g.layout.is_contiguous or not g.layout.may_overlap_itself())  # channels-last remains channels-last


def entry(table: Any, key: int) -> tuple[int, int]:
    """Return the number of references to a gradient in a table, and to its storage, without a call plan's."""
    storage = table[key].storage
    return getrefcount(table[key]), getrefcount(storage) - (storage.keeper is not None)


ENTRY = entry({0: Tensor(Storage.of(0.0), Layout.contiguous(()))}, 0)


def sole(table: Any, key: int, more: int = 0) -> bool:
    """Return whether only the table, and `more` variables, refer to a gradient, and its memory may be written."""
    g = table[key]
    if g.__class__ is not Tensor or g.storage.allocator is None or not g.layout.is_contiguous:
        return False
    storage = g.storage.__class__
    del g
    return storage is Storage and entry(table, key) == (ENTRY[0] + more, ENTRY[1])


def handed_out(pairs: Pairs, dense: bool, create: bool) -> Pairs:
    """Return the same pairs, with each gradient in memory to which no other object refers; `pairs` is emptied.

    dense: whether the gradients must be contiguous as well.  If False, a gradient may be a view, if no other object
    refers to the memory and no two elements of the view share memory.
    create: whether copies are recorded in the graph.
    """
    pairs.reverse()
    result: Pairs = []
    while pairs:
        borrowed = held_elsewhere(pairs)
        target, g = pairs.pop()  # if two targets have the same gradient, the second pair has the last reference to it
        storage = g.storage
        # Without an allocator the memory belongs to another owner, such as a NumPy array.
        if borrowed or storage.allocator is None or storage.__class__ is ConstantStorage or not tidy(g.layout, dense):
            g = copied(g, create)
        result.append((target, g))
    return result


def apart(gradients: list[Tensor | None], create: bool) -> list[Tensor | None]:
    """Return the same gradients; the second occurrence of a gradient is a copy."""
    result: list[Tensor | None] = []
    seen: set[int] = set()
    for g in gradients:
        result.append(copied(g, create) if g is not None and id(g) in seen else g)
        seen.add(id(g))
    return result


def copied(g: Tensor, create: bool) -> Tensor:
    """Return a contiguous copy; it is recorded if `create` is True."""
    # Nothing is recorded for an untracked tensor, so recording need not be switched off, which takes time.
    if g.__class__ is Tensor and not g.storage.tracked:
        return clone(g)
    with set_grad_enabled(create):
        return clone(g)


def tidy(layout: Layout, dense: bool) -> bool:
    """Return whether a gradient may have this layout."""
    return layout.is_contiguous or not (dense or layout.may_overlap_itself())
