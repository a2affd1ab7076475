"""Positions of minima and maxima, with or without their values: the code that backends with search kernels share."""

from __future__ import annotations

from abc import abstractmethod

from minigrad.backends.base import Backend, Launch, serves
from minigrad.backends.steps import Steps, Value
from minigrad.core import requests
from minigrad.core.op import ScalarFn, Spec


class Searching(Backend):
    """The methods that prepare searches; a family of kernels adds `search`."""

    @abstractmethod
    def search(self, steps: Steps, positions: Value, values: Value | None, better: ScalarFn, dim: int) -> None:
        """Add the steps that write the positions of the best elements along `dim`, and their values if requested."""

    @serves(requests.ArgReduce)
    def argreduce(self, out: Spec, a: Spec, *, better: ScalarFn, dim: int) -> Launch:
        steps = Steps(self, (out,), (a,))
        if out.layout.numel:
            self.search(steps, steps.outs[0], None, better, dim)
        return steps.launch

    @serves(requests.Extreme)
    def extreme(self, values: Spec, positions: Spec, a: Spec, *, better: ScalarFn, dim: int) -> Launch:
        if values.layout is not positions.layout:
            return self.lower(requests.Extreme(better, dim), (values, positions), (a,))
        steps = Steps(self, (values, positions), (a,))
        if values.layout.numel:
            self.search(steps, steps.outs[1], steps.outs[0], better, dim)
        return steps.launch
