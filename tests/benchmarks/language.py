"""The transformer of `examples/char_transformer.py`, trained by minigrad and by PyTorch with one seed.

Both run the classes of the example, with other imports; PyTorch starts from the same parameters and sees the same
batches.  The libraries take turns, step by step, so another process slows both.  A step is everything of a batch: the
loss, the gradients, clipping, AdamW and the schedule.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import minigrad as mg
from tests.benchmarks.libraries import installed
from tests.benchmarks.report import machine

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
EXAMPLE = "char_transformer"
STEPS, BATCH, SEED = 2500, 32, 0  # those of the example


def program(library: str, example: str = EXAMPLE) -> dict[str, Any]:
    """Return the names of an example, which imports a library; the data are minigrad's."""
    text = (EXAMPLES / f"{example}.py").read_text(encoding="utf-8")
    if library == "torch":
        text = text.replace("import minigrad as mg\n", "import torch as mg\n")
        text = text.replace("from minigrad import nn\n", "from torch import nn\n")
        text = text.replace("from minigrad.nn.", "from torch.nn.")
    module = ModuleType(f"{example}_with_{library}")
    sys.modules[module.__name__] = module  # torch.compile imports the modules of the classes that it compiles
    exec(compile(text, f"{example}.py with {library}", "exec"), vars(module))
    return vars(module)


class Run:
    """A training of one library.  losses: of each batch, in nats.  times: the seconds of each step."""

    def __init__(self, lib: Any, characters: int, state: dict[str, Any] | None, steps: int) -> None:
        self.lib, names = lib, program(lib.__name__)
        self.functional, self.model = names["F"], names["Writer"](characters)
        if state is not None:
            self.model.load_state_dict({name: lib.tensor(array) for name, array in state.items()})
        self.optimizer = lib.optim.AdamW(self.model.parameters(), lr=2e-3)
        schedules = lib.optim.lr_scheduler
        self.schedule = schedules.OneCycleLR(self.optimizer, max_lr=3e-3, total_steps=steps, pct_start=0.1)
        self.losses: list[float] = []
        self.times: list[float] = []

    def step(self, x: Any, y: Any) -> None:
        """Train with a batch of two arrays."""
        start = time.perf_counter()
        self.optimizer.zero_grad()
        scores = self.model(self.lib.from_numpy(x)).flatten(0, 1)
        loss = self.functional.cross_entropy(scores, self.lib.from_numpy(y).flatten())
        loss.backward()
        self.lib.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.schedule.step()
        self.losses.append(loss.item())
        self.times.append(time.perf_counter() - start)

    def bits(self, batches: Sequence[tuple[Any, Any]]) -> float:
        """Return the bits per character on held-out batches."""
        total = count = 0.0
        with self.lib.no_grad():
            for x, y in batches:
                scores = self.model(self.lib.from_numpy(x)).flatten(0, 1)
                target = self.lib.from_numpy(y).flatten()
                total += self.functional.cross_entropy(scores, target, reduction="sum").item()
                count += y.size
        return total / count / math.log(2)


def arrays(loader: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the batches of a loader as arrays."""
    for x, y in loader:
        yield x.numpy(), y.numpy()


def trained(steps: int) -> tuple[list[Run], list[tuple[Any, Any]]]:
    """Train with each library that is installed, in turns; return the runs and the held-out batches."""
    names = program("minigrad")
    text = names["topics"]()
    cut, vocabulary = len(text) * 9 // 10, "".join(sorted(set(text)))
    windows, held_out = (names["Characters"](part, names["LENGTH"], vocabulary) for part in (text[:cut], text[cut:]))
    mg.manual_seed(SEED)
    runs = [Run(mg, len(vocabulary), None, steps)]
    state = {name: np.array(value.numpy()) for name, value in runs[0].model.state_dict().items()}
    runs += [Run(library.module, len(vocabulary), state, steps) for library in installed() if library.name == "torch"]
    sampler = names["RandomSampler"](windows, replacement=True, num_samples=steps * BATCH)
    for k, (x, y) in enumerate(arrays(names["DataLoader"](windows, batch_size=BATCH, sampler=sampler))):
        for run in runs if k % 2 else runs[::-1]:
            run.step(x, y)
    apart = names["Subset"](held_out, range(0, len(held_out), names["LENGTH"]))
    return runs, list(arrays(names["DataLoader"](apart, batch_size=64)))


def report() -> None:
    """Print the figure on held-out text and the time of a step, for each library."""
    runs, held_out = trained(STEPS)
    print(machine(), f"{EXAMPLE}.py, {STEPS} steps with seed {SEED}, in turns:", sep="\n")
    for run in runs:
        low, median = np.min(run.times) * 1e3, np.median(run.times) * 1e3
        print(f"{run.lib.__name__:<9} {run.bits(held_out):.3f} bits per character on held-out text, "
              f"{low:.1f} ms per step at least, median {median:.1f} ms")  # fmt: skip
    if len(runs) > 1:
        apart = [abs(a - b) for a, b in zip(runs[0].losses, runs[1].losses)]
        print(f"losses differ by {max(apart[:10]):.0e} in the first ten steps, by {max(apart):.0e} in all")
