"""Datasets that worker processes import: tests of the loader give them to `num_workers`."""

from __future__ import annotations

import os
import random
import signal
import socket
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

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


class Numbered(Dataset[Any]):
    """Samples with their index in an int and in each element of a large array, whose memory is used again each time."""

    def __init__(self, n: int = 320) -> None:
        self.n, self.buffer = n, np.empty((128, 64), np.float32)

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, i: int) -> Any:
        self.buffer.fill(i)
        return i, {"x": mg.from_numpy(self.buffer[::-1].copy()), "half": np.full((64, 64), i % 2).astype(WORD)}


batches: list[Any] = []


def remembered(samples: Any) -> Any:
    """Return a batch and the one before it, which a function for `collate_fn` has kept and changes."""
    batches.append(mg.data.default_collate([x for _, x in samples])["x"])
    batches[-2 % len(batches)].numpy()[...] += 1.0
    return batches[-1], batches[-2 % len(batches)]


def doubled(samples: Any) -> Any:
    """Return three tensors in the memory of one batch, the last one with a part of it."""
    x = mg.data.default_collate([x for _, x in samples])["x"]
    return x, x.detach(), mg.from_numpy(x.numpy()[1:3])


class Copied(Dataset[Any]):
    """Rows of `width` integers, which are all the index."""

    def __init__(self, width: int) -> None:
        self.width = width

    def __len__(self) -> int:
        return 1 << 30

    def __getitem__(self, i: int) -> Any:
        return np.full(self.width, i)


class Pair(NamedTuple):
    """A sample with names."""

    image: Any
    label: int


class Varied(Dataset[Any]):
    """Samples with every kind of structure, whose arrays make batches too large for the pipe."""

    def __init__(self, n: int = 50) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, i: int) -> Any:
        image = np.full((8, 64, 32), i, np.float32) + np.float32(random.random())
        return {
            "pair": Pair(mg.from_numpy(image), i), "turned": image.T[:3], "half": image[0].astype(WORD), "name": f"{i}",
            "few": [np.float16(i), float(i), i % 2 == 0, (b"x", np.arange(i, i + 3))], "none": np.zeros((0, 2)),
            "ragged": np.arange(5000 + i) if i % 3 else None,
        }  # fmt: skip


def lengths(samples: Any) -> Any:
    """Return the samples of `Varied` as a batch with a list of the arrays that differ in length."""
    ragged = [sample.pop("ragged") for sample in samples]
    return mg.data.default_collate(samples), [x for x in ragged if x is not None], sum(x is None for x in ragged)


class Wide(Stream):
    """A stream of large arrays, which are all the integer of a stream."""

    def __iter__(self) -> Iterator[Any]:
        for i, drawn in super().__iter__():
            yield np.full((64, 128), i, np.float32), drawn


class Large(Faulty):
    """The samples of `Faulty` as large arrays."""

    def __getitem__(self, i: int) -> Any:
        return np.full((64, 128), super().__getitem__(i), np.float32)


def recalled(samples: Any) -> Any:
    """Return a batch of two arrays, of which every third is longer, and one of the arrays that were stored before."""
    x = mg.data.default_collate(samples)
    batches.append(x)
    number = len(batches)
    longer = mg.data.default_collate([np.full(200_000 if number % 3 == 0 else 10_000, number, np.int32)])
    return x, longer, batches[number // 2]


def hurried(number: int) -> None:
    """Set a default timeout in a worker, as a `worker_init_fn`."""
    socket.setdefaulttimeout(20.0)


def refused(number: int) -> None:
    """Raise an error in a worker that starts, as a `worker_init_fn`."""
    raise LookupError(f"no file for worker {number}")
