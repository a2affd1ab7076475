"""`get_worker_info()`: the worker process of a loader in which the code of a dataset runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class WorkerInfo:
    """Describe a worker process of a DataLoader.

    Parameters
    ----------
    id : int
        Index of the worker, counted from 0.
    num_workers : int
        Number of workers.
    seed : int
        Seed for this worker and this epoch.
    dataset : Dataset
        The worker's copy of the dataset.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any


_current: list[WorkerInfo] = []


def get_worker_info() -> WorkerInfo | None:
    """Return information about the worker process in which this code runs.

    Returns
    -------
    WorkerInfo or None
        The description of the worker, or None in the process that created the loader.

    Examples
    --------
    >>> mg.data.get_worker_info() is None
    True
    """
    return _current[-1] if _current else None


def set_worker_info(info: WorkerInfo) -> None:
    """Store the information about the worker that this process runs."""
    _current[:] = [info]
