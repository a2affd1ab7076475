"""The time to write and read 100 MB of tensors, compared with the library of the format if it is installed."""

from __future__ import annotations

import importlib.util
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import minigrad as mg
from tests.benchmarks.report import machine

TURNS = 15


def report() -> None:
    """Print the least of many times of each, taken in turns."""
    arrays = {f"w{k}": np.random.default_rng(k).standard_normal((1000, 1000)).astype(np.float32) for k in range(25)}
    tensors = {name: mg.from_numpy(array) for name, array in arrays.items()}
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = Path(folder) / "ours.safetensors", Path(folder) / "theirs.safetensors"
        rows: dict[str, Callable[[], Any]] = {
            "mg.save, on disk": lambda: mg.save(tensors, ours),
            "mg.save, without fsync": lambda: without_fsync(lambda: mg.save(tensors, ours)),
            "mg.load": lambda: mg.load(ours),
            "mg.Checkpoint.save, on disk, with a checksum": lambda: checkpoint(folder, tensors).save(),
            "mg.Checkpoint.load": lambda: checkpoint(folder, tensors).load(),
        }
        if importlib.util.find_spec("safetensors"):
            from safetensors.numpy import load_file, save_file

            rows["safetensors.numpy.save_file, without fsync"] = lambda: save_file(arrays, theirs)
            rows["safetensors.numpy.save_file, on disk"] = lambda: (save_file(arrays, theirs), synced(theirs))
            rows["safetensors.numpy.load_file"] = lambda: load_file(theirs)
        least = dict.fromkeys(rows, float("inf"))
        for _ in range(TURNS):
            for name, function in rows.items():
                start = time.perf_counter()
                function()
                least[name] = min(least[name], time.perf_counter() - start)
    print(machine(), "100 MB of float32 in 25 tensors, the least of many:", sep="\n")
    for name, seconds in least.items():
        print(f"{name:<46} {seconds * 1e3:7.1f} ms")


class State:
    """A model that is its tensors."""

    def __init__(self, tensors: Any) -> None:
        self.tensors = tensors

    def state_dict(self) -> Any:
        return self.tensors

    def load_state_dict(self, state: Any) -> None:
        self.tensors = state


def checkpoint(folder: str, tensors: Any) -> mg.Checkpoint:
    return mg.Checkpoint(State(tensors), folder=folder, keep=1)


def without_fsync(function: Callable[[], Any]) -> None:
    """Call a function while nothing is forced to the disk."""
    before, os.fsync = os.fsync, lambda number: None
    try:
        function()
    finally:
        os.fsync = before


def synced(path: Path) -> None:
    """Force a file to the disk."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
