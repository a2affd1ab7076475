"""Observers: the only mechanism to watch calls, for debug mode, savers of values, inference mode and recorders.

An `Observer` overrides the events that it needs, and `attach` adds it to the list.  A call does not read the list.
Instead, `CallPlan.instrument` stores functions in each plan that report allocations and launches while an observer
needs them, and the fast path accepts no tensor while an observer watches calls.  Observers are attached for the whole
process; an observer for one thread checks the current thread itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from minigrad.backends.launch import Launch
from minigrad.config import in_forked_children, settings
from minigrad.core.op import Op
from minigrad.core.storage import Storage
from minigrad.kernels.store import running_time
from minigrad.runtime.graph import BackpropOp
from minigrad.runtime.tensor import PLAIN, Tensor, detached
from minigrad.runtime.var import Var

EVENTS = ("calling", "allocated", "launching", "called", "recorded", "writing", "pulling", "detached")


class Observer:
    """Base class of observers.  Each method is an event; a method that is not overridden costs nothing.

    events: the methods that a class overrides.
    views: whether the observer of calls needs those of views, which run no kernel.
    """

    events: tuple[str, ...] = ()
    views = True

    def __init_subclass__(cls) -> None:
        cls.events = tuple([event for event in EVENTS if getattr(cls, event) is not getattr(Observer, event)])

    def calling(self, op: Op, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        """Observe that a call begins.  Return its operands, or other operands that replace them."""
        return operands

    def allocated(self, storage: Storage) -> None:
        """Observe that a plan has allocated memory for a result."""

    def launching(self, plan: Any, launch: Launch, buffers: tuple[Any, ...]) -> None:
        """Observe that a launch of a plan is about to run on the buffers of operands and results."""

    def called(self, op: Any, operands: tuple[Tensor, ...], result: Any, seconds: float) -> None:
        """Observe that a call has returned a result."""

    def recorded(self, node: BackpropOp, operands: Sequence[Tensor]) -> str | None:
        """Observe that a call has been recorded.  Return the user's line if the node should keep it."""

    def writing(self, name: str, storage: Storage) -> None:
        """Observe that an op is about to write into existing memory."""

    def pulling(self, node: Any) -> Any:
        """Observe that a backward pass visits a node next.  Return the node, or an object that replaces it."""
        return node

    def detached(self, x: Tensor, y: Tensor) -> None:
        """Observe that y was made from x by `detach`."""


class Observed:
    """For each event, the methods that receive it; () if there are none.

    idle: whether there are none for all events.
    """

    calling: tuple[Callable[..., Any], ...]
    allocated: tuple[Callable[..., Any], ...]
    launching: tuple[Callable[..., Any], ...]
    called: tuple[Callable[..., Any], ...]
    recorded: tuple[Callable[..., Any], ...]
    writing: tuple[Callable[..., Any], ...]
    pulling: tuple[Callable[..., Any], ...]
    detached: tuple[Callable[..., Any], ...]
    idle: bool
    __slots__ = (*EVENTS, "idle")  # slots are fast, and calls read some of these attributes

    def __init__(self) -> None:
        self.idle = True
        for event in EVENTS:
            setattr(self, event, ())

    def begin(self, op: Any, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the operands of a call after the observers of calls.

        Each of these observers may replace operands.
        """
        for change in self.calling:
            operands = change(op, operands)
        return operands

    def call(self, op: Any, operands: tuple[Tensor, ...], result: Any, began: float) -> None:
        """Report a call that began at the time `began`."""
        seconds = running_time() - began
        for tell in self.called:
            tell(op, operands, result, seconds)

    def write(self, name: str, storage: Storage) -> None:
        """Report a write that is about to happen."""
        for tell in self.writing:
            tell(name, storage)

    def follow(self, plan: Any) -> None:
        """Store reporting functions in a plan, or the plain functions if no observer needs reports."""
        plan.into = {key: wrap(self.runner(plan, launch)) for key, (launch, wrap) in tuple(plan.writes.items())}
        if plan.launch is not None:
            plan.makes = tuple([self.maker(make) for make in plan.allocators])
            plan.make = plan.makes[0]
            plan.run = self.runner(plan, plan.launch)
            plan.kernel = None if self.launching else plan.backend.fast(plan.launch)[0]

    def maker(self, make: Callable[[], Storage]) -> Callable[[], Storage]:
        """Return a function that allocates and reports this, or `make` itself if no observer needs the report."""
        tells = self.allocated
        if not tells:
            return make

        def made() -> Storage:
            storage = make()
            for tell in tells:
                tell(storage)
            return storage

        return made

    def runner(self, plan: Any, launch: Launch) -> Callable[..., Any]:
        """Return a function that reports a launch and runs it, or the plain one if no observer needs the report."""
        tells, function = self.launching, plan.backend.function(launch)
        if not tells:
            return function

        def run(*buffers: Any) -> Any:
            for tell in tells:
                tell(plan, launch, buffers)
            return function(*buffers)

        return run


observed = Observed()
DIRECT: set[type] = {Tensor, Var}  # the classes whose views the fast paths make: PLAIN, also while mg.jit records
# Functions to call when observers of allocations or launches are attached or detached.
instrument: list[Callable[[], None]] = []
_attached: dict[Observer, int] = {}
_changing = threading.RLock()


def attach(observer: Observer) -> None:
    """Attach an observer to all later calls.

    If it is attached several times, it is still called once per event.
    """
    with _changing:
        _attached[observer] = _attached.get(observer, 0) + 1
        if _attached[observer] == 1:
            refresh()


def detach(observer: Observer) -> None:
    """Undo one `attach`; without an earlier `attach` nothing happens."""
    with _changing:
        count = _attached.get(observer, 0)
        if count > 1:
            _attached[observer] = count - 1
        elif count:
            del _attached[observer]
            refresh()


def refresh() -> None:
    """Update the methods of each event, and then the plans, the fast path and the flag for records."""
    before, plain = (observed.allocated, observed.launching), not (observed.called or observed.calling)
    for event in EVENTS:
        methods = [getattr(each, event) for each in _attached if event in each.events]
        setattr(observed, event, tuple(methods))
    observed.idle = not any(getattr(observed, event) for event in EVENTS)
    settings.watchers = len(observed.recorded)
    detached[:] = observed.detached
    watched = observed.called or observed.calling
    if plain and watched:
        PLAIN.clear()
    elif not plain and not watched:
        PLAIN.update((Tensor, Var))
    DIRECT.clear()
    if not any(each.views for each in _attached if not {"called", "calling"}.isdisjoint(each.events)):
        DIRECT.update((Tensor, Var))
    if before != (observed.allocated, observed.launching):
        for change in instrument:
            change()


@in_forked_children
def _after_fork_in_child() -> None:
    global _changing
    _changing = threading.RLock()  # in a forked child, the old lock may be held by a thread that does not exist
