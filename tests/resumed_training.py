"""A training that can be killed at any moment: `python tests/resumed_training.py FOLDER EPOCHS` prints its last bits.

A model, an optimizer and a scheduler of its own, a shuffling loader whose samples draw random numbers, and noise from a
generator and from the default ones of minigrad, Python and NumPy.  With a third argument, the seconds to wait after
each step, a test can kill it in the middle.
"""

from __future__ import annotations

import hashlib
import random
import sys
import time
from typing import Any

import numpy as np

import minigrad as mg


class Model:
    """A line with a Var of weights on the device that compiles nothing."""

    def __init__(self) -> None:
        self.weight = mg.Var(mg.tensor([0.1, -0.2, 0.3], dtype="float64", device="reference"))

    def state_dict(self) -> dict[str, Any]:
        return {"weight": self.weight.detach()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.weight.set(state["weight"].to("reference"))


class Momentum:
    """Gradient descent with momentum, and a count of its steps."""

    def __init__(self, model: Model) -> None:
        self.model, self.rate, self.count = model, 0.05, 0
        self.velocity = np.zeros(3)

    def step(self, gradient: Any) -> None:
        self.velocity = 0.9 * self.velocity + gradient
        self.model.weight.set(self.model.weight.detach() - mg.tensor(self.rate * self.velocity, device="reference"))
        self.count += 1

    def state_dict(self) -> dict[str, Any]:
        return {"state": {0: {"velocity": self.velocity, "count": self.count}},
                "param_groups": [{"rate": self.rate, "betas": (0.9, None)}]}  # fmt: skip

    def load_state_dict(self, state: dict[str, Any]) -> None:
        assert state["param_groups"][0]["betas"] == (0.9, None)
        self.rate, self.count = state["param_groups"][0]["rate"], state["state"][0]["count"]
        self.velocity = state["state"][0]["velocity"].to("cpu").numpy().copy()


class Decay:
    """A rate that falls with each epoch."""

    def __init__(self, optimizer: Momentum) -> None:
        self.optimizer, self.last_epoch = optimizer, 0

    def step(self) -> None:
        self.last_epoch += 1
        self.optimizer.rate *= 0.9

    def state_dict(self) -> dict[str, Any]:
        return {"last_epoch": self.last_epoch}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.last_epoch = state["last_epoch"]


class Noisy(mg.data.Dataset[Any]):
    """Points of a plane with noise."""

    def __len__(self) -> int:
        return 22

    def __getitem__(self, i: int) -> Any:
        return np.array([i / 22, random.random(), np.random.rand()]), float(i % 3)


def train(folder: str, epochs: int, pause: float) -> str:
    mg.manual_seed(1), random.seed(2), np.random.seed(3)
    model, generator = Model(), mg.Generator(7)
    optimizer = Momentum(model)
    scheduler = Decay(optimizer)
    loader = mg.data.DataLoader(Noisy(), 4, shuffle=True)
    checkpoint = mg.Checkpoint(model, optimizer, scheduler, loader, generator, folder=folder)
    start = checkpoint.load("reference") or {"epoch": 0, "loss": 0.0}
    total = start["loss"]
    for epoch in range(start["epoch"], epochs):
        for x, y in loader:
            noise = mg.rand(3, generator=generator, dtype="float64", device="reference") * random.random()
            noise = noise * float(np.random.randn()) + mg.rand(3, dtype="float64", device="reference")
            error = (x.to("reference") * (model.weight + noise)).sum(1) - y.to("reference")
            loss = (error * error).mean()
            grads = loss.backward()
            total += loss.item()
            optimizer.step(grads[model.weight].numpy())
            if optimizer.count % 3 == 0:
                checkpoint.save(epoch=epoch, loss=total)
            time.sleep(pause)
        scheduler.step()
        checkpoint.save(epoch=epoch + 1, loss=total)
    bits = model.weight.detach().numpy().tobytes() + np.array([total, optimizer.rate, random.random()]).tobytes()
    return hashlib.sha256(bits).hexdigest()[:16]


if __name__ == "__main__":
    print(train(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]) if len(sys.argv) > 3 else 0.0), flush=True)
