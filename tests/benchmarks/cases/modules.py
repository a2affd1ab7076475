"""Modules: the cost of a call besides its arithmetic, an attribute, a step of a small network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import minigrad as mg
from tests.benchmarks.case import Table, normal

TABLE = Table("modules")
CALLS = 100  # of what is too short to be timed alone


def call(m: Any, x: Any) -> Callable[[], Any]:
    """Calls of a module that returns its input."""
    module = m.nn.Identity()

    def run() -> Any:
        for _ in range(CALLS):
            y = module(x)
        return y

    return run


def attribute(m: Any, x: Any) -> Callable[[], Any]:
    """Reads of a parameter."""

    class Net(m.nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.weight = m.nn.Parameter(x)

    net = Net()

    def run() -> Any:
        for _ in range(CALLS):
            w = net.weight
        return w.detach()

    return run


def linear(m: Any, x: Any) -> Callable[[], Any]:
    """A call of a linear layer that is recorded."""
    layer = filled(m, m.nn.Linear(8, 8))
    return lambda: layer(x).detach()


def step(m: Any, x: Any) -> Callable[[], Any]:
    """The forward and the backward pass of a network with three layers."""
    nn = m.nn
    net = filled(m, nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10)))

    def run() -> Any:
        net.zero_grad()
        net(x).sum().backward()
        return [p.grad for p in net.parameters()]

    return run


def filled(m: Any, module: Any) -> Any:
    """The module with parameters that both libraries have."""
    state = dict(module.state_dict())
    for k, (name, p) in enumerate(module.named_parameters()):
        values = np.random.default_rng(k).standard_normal(tuple(p.shape)).astype(np.float32) * 0.1
        state[name] = mg.from_numpy(values) if m is mg else m.from_numpy(values)
    module.load_state_dict(state)
    return module


TABLE.add(f"{CALLS} calls of Identity", normal((1, 8)), build=call, goal=2.0)
TABLE.add(f"{CALLS} reads of a parameter", normal((1, 8)), build=attribute, goal=5.0)
TABLE.add("Linear(8, 8) of one row", normal((1, 8)), build=linear, goal=1.0)
TABLE.add("step of 64-128-64-10, batch 32", normal((32, 64)), build=step, goal=1.0, rtol=1e-4)
