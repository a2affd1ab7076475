"""Writes into values of transforms: the result of the functional op replaces the inner value.

A value of a transform has no memory.  A write into such a value is computed by the functional call, and its result
replaces the inner value; derivatives and batches follow from that call.  A write into a view replaces a part of the
value that it shows, and the view is made again.  This equals a write as long as no other object shows the memory or has
saved it for a rule, which the reference counts reveal.  A write into a value that is shared raises an error; the remedy
is to write into a clone() of it.
"""

from __future__ import annotations

from sys import getrefcount
from typing import Any

from minigrad.core.layout import Layout
from minigrad.core.storage import Storage
from minigrad.errors import GradientError
from minigrad.ops.shape.put import put
from minigrad.runtime.dispatch import apply
from minigrad.runtime.graph import ids
from minigrad.runtime.rebasing import INPUT
from minigrad.runtime.recording import mode
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.tracers import Tracer, Transform, ViewOf


class ReplacingTransform(Transform):
    """A transform whose values may be written."""

    inside: str = "value"
    writable = True
    private = (
        False  # whether no graph contains its values, as in the forward of a Function, so a write may be unrecorded
    )

    def begin_write(self, name: str, x: Any) -> None:
        """Raise GradientError unless x may be written: no other object may show it."""
        why = refused(self, x)
        if why:
            raise GradientError(f"{name}: {describe(x)} {why}")

    def end_write(self, name: str, x: Any, y: Tensor) -> None:
        """Replace x by y. Raise GradientError if the transform of y is inside the transform of x."""
        if isinstance(y, Tracer) and y.transform.depth > self.depth:
            raise GradientError(
                f"{name}: {describe(x)} belongs to an outer transform, and the value that was written into it belongs "
                "to an inner transform; return the value from the inner function instead"
            )
        if x.base.__class__ is ViewOf:
            source, op, params = x.base
            part = x.base.layout()
            whole = put(source, y, size=part.shape, stride=part.strides, storage_offset=part.offset)
            self.end_write(name, source, whole)
            y = apply(op, (source,), params)
        self.replace(x, y)
        self.changed(x)

    def changed(self, x: Any) -> None:
        """Give x the layout of its new inner value, and a new id, by which nodes that saved x detect the write."""
        x.layout, x.id = self.layout_of(x), next(ids)

    def replace(self, x: Any, y: Tensor) -> None:
        """Set the inner value of x to y's inner value, or to y if y is a constant here."""
        raise NotImplementedError

    def layout_of(self, x: Any) -> Layout:
        """Return the layout of x."""
        return getattr(x, self.inside).layout


def refused(transform: ReplacingTransform, x: Any) -> str:
    """Return the reason why a value may not be written, or ""."""
    if not transform.alive:
        return "belongs to a transform that has ended; return this tensor from the transformed function"
    if x.base is INPUT:
        return INPUT.why
    if not mode.enabled and not transform.private:
        return "belongs to a transform, which cannot detect a write under mg.no_grad(); compute a new tensor"
    if not only_seen_here(x):
        return "belongs to a transform, and another tensor or a saved value shares its memory; write into x.clone()"
    return ""


def only_seen_here(x: Any) -> bool:
    """Return whether no other object refers to the inner values of x, at any depth.

    If x is a view, the values that it shows are not counted, but none may show an element twice.  A view in place ends
    the writes through earlier views.
    """
    shown = [x]
    while shown[-1].base.__class__ is ViewOf:
        source = shown[-1].base.source
        # A source with a later id was shown in another layout in place, so this is not a view of it any more.
        if shown[-1].layout.may_overlap_itself() or source.id > shown[-1].id:
            return False
        shown.append(source)
    while isinstance(shown[0], Tracer):
        name = shown[0].transform.inside
        views = len(shown) - 1  # inside, these refer to their base
        if name is None or held(shown[0], name) != HELD or any(held(each, name) > HELD + views for each in shown):
            return False
        shown = [getattr(each, name) for each in shown]
    if stored(shown[0]) != STORED + len(shown) - 1:
        return False
    storage = shown[0].storage
    return all(each.storage is storage for each in shown) and storage.memory is storage  # not a part of complex numbers


def held(owner: Any, name: str) -> int:
    """Return the number of references to the value of an attribute."""
    return getrefcount(getattr(owner, name))


def stored(x: Tensor) -> int:
    """Return the number of references to the storage of a tensor, without that of a call plan."""
    return getrefcount(x.storage) - (x.storage.keeper is not None)


class _Owner:
    __slots__ = ("value",)

    def __init__(self, value: Tensor) -> None:
        self.value = value


HELD = held(_Owner(Tensor(Storage.of(0.0), Layout.contiguous(()))), "value")
STORED = stored(Tensor(Storage.of(0.0), Layout.contiguous(())))


def alike(x: Any) -> Any:
    """Return a new object with the value of x.

    A write into one of the two objects is refused, or does not affect the other.
    """
    return assumed(x.__class__.__new__(x.__class__), x) if isinstance(x, Tracer) else x


def assumed(x: Any, y: Any) -> Any:
    """Give x the value of y, another value of the same transform, and return x."""
    for kind in y.__class__.__mro__:
        for name in getattr(kind, "__slots__", ()):
            if name not in ("__dict__", "__weakref__", "storage") and hasattr(y, name):
                setattr(x, name, getattr(y, name))
    return x
