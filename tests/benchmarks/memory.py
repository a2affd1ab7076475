"""The peak memory of a training step, compared with PyTorch if it is installed.

Each figure is that of a process of its own: its greatest resident memory during steps with a large batch, less the
memory after steps with a batch of two.  So the libraries themselves, their machine code, the parameters, the states of
the optimizer and the batch do not count.  Linux only.
"""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.report import machine

STEPS = 3


def images(m: Any, n: int) -> tuple[Any, Any]:
    """Two convolutions with batch norm and pools, and 28 by 28 images."""
    nn = m.nn
    net = nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.2), nn.Linear(64 * 49, 10),
    )  # fmt: skip
    return net, m.from_numpy(np.ones((n, 1, 28, 28), np.float32))


def perceptron(m: Any, n: int) -> tuple[Any, Any]:
    """Three wide layers."""
    nn = m.nn
    net = nn.Sequential(nn.Linear(784, 1024), nn.GELU(), nn.Linear(1024, 1024), nn.GELU(), nn.Linear(1024, 10))
    return net, m.from_numpy(np.ones((n, 784), np.float32))


def transformer(m: Any, n: int) -> tuple[Any, Any]:
    """Two blocks of attention over 128 places."""
    nn = m.nn
    layer = nn.TransformerEncoderLayer(128, 4, 512, 0.1, "gelu", batch_first=True, norm_first=True)
    net = nn.Sequential(nn.Embedding(96, 128), nn.TransformerEncoder(layer, 2), nn.Linear(128, 10))
    return net, m.from_numpy(np.ones((n, 128), np.int64))


def recurrent(m: Any, n: int) -> tuple[Any, Any]:
    """An LSTM over 32 steps."""
    nn = m.nn

    class Last(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.lstm, self.scores = nn.LSTM(64, 128, batch_first=True), nn.Linear(128, 10)

        def forward(self, x: Any) -> Any:
            return self.scores(self.lstm(x)[0])

    return Last(), m.from_numpy(np.ones((n, 32, 64), np.float32))


NETWORKS: dict[str, tuple[Callable[[Any, int], tuple[Any, Any]], int]] = {
    "CNN": (images, 1024),
    "MLP": (perceptron, 8192),
    "transformer": (transformer, 128),
    "LSTM": (recurrent, 512),
}


def main(library: str, network: str) -> None:
    """Take steps with a small batch, then with a large one; print by how many MB the second ones exceed the first."""
    m = importlib.import_module(library)
    build, n = NETWORKS[network]
    net, x = build(m, n)
    optimizer = m.optim.AdamW(net.parameters())

    def steps(x: Any) -> None:
        for _ in range(STEPS):
            optimizer.zero_grad()
            y = net(x).reshape(-1, 10)
            m.nn.functional.cross_entropy(y, m.zeros(len(y), dtype=m.int64)).backward()
            optimizer.step()

    steps(x[:2])
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the greatest memory is counted anew
    steps(x)
    print(resident("VmHWM") - before)


def resident(field: str) -> float:
    """MB of resident memory of this process: now (VmRSS), or at most (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))


def growth(library: str, network: str) -> float:
    """Return what a process of its own prints, once the kernels are compiled."""
    command = [sys.executable, "-m", "tests.benchmarks.memory", library, network]
    texts = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(2)]
    return float(texts[-1])


def report() -> None:
    """Print a line for each network."""
    libraries = [name for name in ("minigrad", "torch") if importlib.util.find_spec(name)]
    print(machine(), "MB that a step of training takes beside its batch:", sep="\n")
    print(f"{'':24}" + "".join(f"{name:>10}" for name in libraries))
    for name, (_, n) in NETWORKS.items():
        print(f"{f'{name}, batch {n}':24}" + "".join(f"{growth(each, name):10.0f}" for each in libraries), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
