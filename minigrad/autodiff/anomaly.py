"""Anomaly detection: find the first gradient that is not finite, and name its derivative rule and the user's line.

While anomaly detection is on, a record stores the line of its call.  Each node of a backward pass is replaced by an
`Inspected` node, which checks the gradients that its rules return.  The mode applies to the whole process, as in
PyTorch, and is slow.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any

import numpy as np

from minigrad.autodiff.barriers import beneath
from minigrad.autodiff.checks import describe_node
from minigrad.autodiff.hooks import Around, Pairs, operands_of
from minigrad.autodiff.watching import operand_name, position
from minigrad.config import Block, OfProcess
from minigrad.errors import GradientError
from minigrad.runtime.data import host_array
from minigrad.runtime.graph import BackpropOp
from minigrad.runtime.noting import anomaly
from minigrad.runtime.observers import Observer, attach, detach
from minigrad.runtime.recording import F, decorated, user_line
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.tracers import Tracer


class Inspected(Around):
    """A node whose gradients are checked."""

    __slots__ = ()

    def pull(self, gradients: Sequence[Tensor | None], wanted: set[int] | None, create: bool) -> Pairs:
        """Run the node's `pull`.  Raise GradientError if a gradient is not finite."""
        pairs: Pairs = self.node.pull(gradients, wanted, create)
        for k, (_, partial) in zip(operands_of(self.node, pairs), pairs, strict=True):
            if wrong := how_many(partial):
                raise GradientError(self.sentence(k, partial, wrong, gradients), op=self.node.op.label)
        return pairs

    def sentence(self, k: int, partial: Tensor, wrong: int, gradients: Sequence[Tensor | None]) -> str:
        """Return the error message for the gradient of operand k and the rule that computed it."""
        node = self.node
        op = node.op
        made = op.cls.backward if op.kind == "function" else (op.joint or op.rules[0 if op.variadic else k]).fn
        where = "" if node.source else ", which was recorded outside of detect_anomaly, so its line is not known"
        came = sum([how_many(g) for g in gradients if g is not None])
        whose = "the gradient that came to it was not finite already" if came else "the gradient that came was finite"
        return (
            f"detect_anomaly: {wrong} of {beneath(partial).numel()} elements of the gradient of "
            f"{operand_name(op, k)!r} in {describe_node(node)}{where}, {describe(partial)}, are nan or infinite; its "
            f"rule is at {op.where if op.derived else position(op, made)}, and {whose}"
        )


def how_many(g: Tensor) -> int:
    """Return the number of elements that are nan or infinite."""
    x = beneath(g)
    return 0 if isinstance(x, Tracer) else int(np.count_nonzero(~np.isfinite(host_array(x))))


class Lines(Observer):
    """Observer that stores the user's line in each node."""

    def recorded(self, node: BackpropOp, operands: Sequence[Tensor]) -> str | None:
        return user_line()


class Inspecting(Observer):
    """Observer that replaces each node of a backward pass by an inspected one."""

    def pulling(self, node: Any) -> Inspected:
        return Inspected(node)


_lines, _inspecting = Lines(), Inspecting()


chosen = OfProcess((False, True))  # whether gradients are checked, and whether they are checked for nan


def follow() -> None:
    """Apply the setting of the newest block that has not ended."""
    with chosen.changing:
        before, now = (anomaly.on, anomaly.check_nan), chosen.value
        anomaly.on, anomaly.check_nan = now
        for observer, was, wanted in ((_lines, before[0], now[0]), (_inspecting, all(before), all(now))):
            if wanted != was:
                (attach if wanted else detach)(observer)


class set_detect_anomaly:
    """Switch the check of every gradient on or off; in a `with` block, until the block ends."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.before = chosen.value
        chosen.assign((bool(mode), bool(check_nan)))
        follow()

    def __enter__(self) -> None:
        """Do nothing: the constructor has already switched the check."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        chosen.assign(self.before)
        follow()


class detect_anomaly:
    """Open a `with` block, or decorate a function, in which a gradient that is not finite raises GradientError.

    The message names the op, the line that called it, the operand and the rule.  Put both the computation and its
    gradient into the block.

    >>> x = mg.Var([0.0, 4.0])
    >>> try:
    ...     with mg.detect_anomaly():
    ...         x.sqrt().sum().backward()
    ... except mg.GradientError as error:
    ...     print(str(error)[:66])
    detect_anomaly: 1 of 2 elements of the gradient of 'x' in sqrt(2,)
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        self.begun: list[Block] = []

    def __enter__(self) -> None:
        self.begun.append(chosen.begin((True, self.check_nan)))
        follow()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        chosen.end(self.begun.pop())
        follow()

    def __call__(self, function: F) -> F:
        return decorated(function, lambda: detect_anomaly(self.check_nan))


def is_anomaly_enabled() -> bool:
    """Return whether gradients are checked."""
    return anomaly.on
