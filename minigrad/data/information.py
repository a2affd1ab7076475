"""Where code of a dataset runs: `get_worker_info()` in a worker process of a loader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class WorkerInfo:
    """Worker process of a DataLoader.

    id: its number, from 0.  num_workers: how many there are.  seed: a number of its own for this epoch.
    dataset: its copy of the dataset.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any


_current: list[WorkerInfo] = []


def get_worker_info() -> WorkerInfo | None:
    """Return the worker process that this code runs in.

    Returns
    -------
    WorkerInfo or None
        None in the process that has the loader.

    Examples
    --------
    >>> mg.data.get_worker_info() is None
    True
    """
    return _current[-1] if _current else None


def set_worker_info(info: WorkerInfo) -> None:
    """Enter the worker that this process is."""
    _current[:] = [info]
