"""A mutant: what is broken and how, as a context in which it is, and the check that should notice."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import minigrad as mg
from minigrad.autodiff import forward
from minigrad.config import announce
from tests.mutation.trees import Make, code_of

Broken = Callable[[], AbstractContextManager[Any]]
LIMIT = 20.0  # seconds of a short check's own work, however busy the machine is


@dataclass(frozen=True)
class Mutant:
    """One rule, or one piece of machinery, that is wrong.

    kind: what sort of thing it is, as the table groups them.  of: the op or function that it belongs to.  what: the
    breakage, in words.  broken: makes the context in which it is there.  check: the part of the suite that should
    notice; it raises then.  helper: the breakage of a function that the rules of several operands may call, which is
    the same for each of them.
    """

    kind: str
    of: str
    what: str
    broken: Broken
    check: Callable[[], None]
    helper: str = ""

    @property
    def name(self) -> str:
        """What tells it from all others."""
        return f"{self.kind}, {self.of}: {self.what}"


@contextmanager
def fresh_kernels() -> Iterator[None]:
    """Fused rules are traced anew, and ops over some of an op's operands, which hold copies of its rules, are made
    anew; what is made meanwhile is forgotten."""
    ops = list(mg.schema.values())
    rules = [rule for op in ops for rule in (*op.rules, op.joint) if rule is not None]
    before = [rule.fused for rule in rules], [op.variants for op in ops]
    forget_claims()
    try:
        for rule in rules:
            rule.fused = None
        for op in ops:
            op.variants = {}
        yield
    finally:
        for rule, fused in zip(rules, before[0], strict=True):
            rule.fused = fused
        for op, variants in zip(ops, before[1], strict=True):
            op.variants = variants
        forget_claims()


def forget_claims() -> None:
    """What forward mode has found out about ops is asked again."""
    for value in vars(forward).values():
        if hasattr(value, "cache_clear"):
            value.cache_clear()


@contextmanager
def attribute(owner: Any, name: str, value: Any) -> Iterator[None]:
    """An attribute has another value."""
    before = getattr(owner, name)
    try:
        setattr(owner, name, value)
        with fresh_kernels():
            yield
    finally:
        setattr(owner, name, before)


@contextmanager
def rewritten(fn: Any, make: Make) -> Iterator[None]:
    """A function runs other code, wherever it has been imported."""
    before = fn.__code__
    try:
        fn.__code__ = code_of(make(), before.co_freevars)
        with fresh_kernels():
            yield
    finally:
        fn.__code__ = before


def noticed(mutant: Mutant, limit: float = LIMIT) -> str:
    """How the suite notices: wrong "numbers", an "error" of another kind, "killed" past the limit, "" if not at all.

    Plans are made anew: what is broken may matter to the first of some calls only, and must not serve later ones.
    """
    announce()
    try:
        with mutant.broken():
            return outcome(mutant.check, limit)
    finally:
        announce()


class Endless(BaseException):
    """A check that took far longer than it should: the loop of a mutant does not end."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """A block that raises Endless after so many seconds of processor time, which a test's own timeout does not use."""

    def end(*_: Any) -> None:
        raise Endless

    before = signal.signal(signal.SIGPROF, end)
    # It fires again every second, since an error that is raised inside of `__del__` is ignored.
    signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def outcome(check: Callable[[], None], limit: float) -> str:
    """What comes of a check within so many seconds of processor time."""
    try:
        with limited(limit):
            check()
    except Endless:
        return "killed"
    except AssertionError:
        return "numbers"
    except Exception:
        return "error"
    except BaseException as stopped:  # what `pytest.fail` raises
        if type(stopped).__name__ != "Failed":
            raise
        return "numbers"
    return ""
