"""Sorted elements and their positions: the code that all backends with sort kernels share."""

from __future__ import annotations

from abc import abstractmethod

from minigrad.backends.base import Backend, Launch, serves
from minigrad.backends.steps import Steps, Value
from minigrad.core import requests
from minigrad.core.op import Spec


class Ordering(Backend):
    """The methods that prepare sorts; a family of kernels adds `order`."""

    @abstractmethod
    def order(self, steps: Steps, out: Value, values: Value | None, dim: int, descending: bool) -> None:
        """Add the steps that write the positions that sort the operand, and the sorted values if they are requested."""

    @serves(requests.Sort)
    def argsort(self, out: Spec, a: Spec, *, dim: int, descending: bool) -> Launch:
        steps = Steps(self, (out,), (a,))
        if out.layout.numel:
            self.order(steps, steps.outs[0], None, dim, descending)
        return steps.launch

    @serves(requests.Ordered)
    def sort(self, values: Spec, positions: Spec, a: Spec, *, dim: int, descending: bool) -> Launch:
        if values.layout is not positions.layout:
            return self.lower(requests.Ordered(dim, descending), (values, positions), (a,))
        steps = Steps(self, (values, positions), (a,))
        if positions.layout.numel:
            self.order(steps, steps.outs[1], steps.outs[0], dim, descending)
        return steps.launch
