"""Datasets that worker processes import: tests of the loader give them to `num_workers`."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.data import Dataset, IterableDataset, get_worker_info

WORD = np.dtype(mg.bfloat16.numpy)


class Drawn(Dataset[Any]):
    """Samples with every kind of structure, with random numbers of three generators."""

    def __init__(self, n: int = 50) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, i: int) -> Any:
        drawn = mg.rand(1, device="reference").item()
        return {
            "x": np.full((2, 3), i, np.float32) + np.float32(np.random.rand()), "drawn": (random.random(), drawn),
            "half": mg.from_numpy(np.full(3, i, np.float32).astype(WORD)), "index": i, "name": f"sample {i}",
        }  # fmt: skip


class Stream(IterableDataset[Any]):
    """The integers below n; each worker yields its share."""

    def __init__(self, n: int = 23) -> None:
        self.n = n

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        for i in range(first, self.n, step):
            yield i, random.random()


class Faulty(Dataset[Any]):
    """Samples of which one raises an error, kills its process, exits, or sleeps."""

    def __init__(self, fault: str) -> None:
        self.fault = fault

    def __len__(self) -> int:
        return 40

    def __getitem__(self, i: int) -> Any:
        if i == 20 and get_worker_info() is not None:
            if self.fault == "raises":
                raise KeyError(f"sample {i} is broken")
            if self.fault == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.fault == "exits":
                os._exit(3)
            time.sleep(60)
        return i


class Broken(Exception):
    """An error that pickle cannot restore."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


class Unportable(Faulty):
    """A dataset that raises such an error."""

    def __getitem__(self, i: int) -> Any:
        raise Broken(1, 2)


class Growing(Dataset[Any]):
    """Samples whose size grows with the index, and that contain the process in which they were made."""

    def __len__(self) -> int:
        return 24

    def __getitem__(self, i: int) -> Any:
        return mg.from_numpy(np.full(1 + 4000 * i, i, np.float32)), os.getpid()


def started(number: int) -> None:
    """Store the worker's id, as a `worker_init_fn`."""
    os.environ["TEST_WORKER_NUMBER"] = str(number)


class Initialized(Faulty):
    """Samples that contain the ids that `started` has stored."""

    def __getitem__(self, i: int) -> Any:
        info = get_worker_info()
        assert info is not None and info.dataset is not None and info.seed >= 0
        return int(os.environ["TEST_WORKER_NUMBER"]), info.id, info.num_workers


class Mapped(Dataset[Any]):
    """A large array: the file that it maps, and whether other processes see a write to it."""

    def __init__(self) -> None:
        self.large, self.small = np.arange(1 << 20), np.arange(3)
        self.tensor = mg.from_numpy(np.ones(1 << 12, np.float32).astype(WORD))

    def __len__(self) -> int:
        return 4

    def __getitem__(self, i: int) -> Any:
        first = int(self.large[0])
        self.large[0] += 1
        with open("/proc/self/maps") as file:
            shared = sum("memfd:minigrad" in line and "w-p" in line for line in file)
        return (
            first,
            int(self.large[1:].sum()),
            int(self.small.sum()),
            float(self.tensor.numpy().astype(np.float32).sum()),
            shared,
        )
