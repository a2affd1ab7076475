"""Creation of one batch: the samples with given indices, or the next samples of a stream."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from minigrad.data.arena import Arena
from minigrad.data.collate import default_collate, default_convert
from minigrad.data.datasets import IterableDataset, defined, draws, gatherer, index_array


class Exhausted(Exception):
    """Raised when a stream has no more batches."""


class Fetcher:
    """An object that makes the batches of a dataset, in the process of the loader or in a worker.

    `batch_size` is None for single samples, and `collate` is None for the default function.
    """

    def __init__(self, dataset: Any, batched: bool, batch_size: int | None, drop_last: bool, collate: Any) -> None:
        self.arguments = dataset, batched, batch_size, drop_last, collate
        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        self.batched = batched
        self.stream = isinstance(dataset, IterableDataset)
        self.gather = gatherer(dataset) if batched and collate is None and not self.stream else None
        self.several = defined(dataset, "__getitems__") if batched else None
        self.draws = self.gather is None or draws(dataset)
        self.collate: Callable[[Any], Any] = collate or (default_collate if batched else default_convert)
        self.samples: Iterator[Any] | None = None

    def __reduce__(self) -> Any:
        return Fetcher, self.arguments  # a worker recreates the other attributes from these arguments

    def start(self) -> None:
        """Start an epoch at the beginning of a stream."""
        self.samples = None

    def fetch(self, indices: Any, arena: Arena | None = None) -> Any:
        """Return the batch with the given indices, or the next batch of a stream; raise Exhausted at its end.

        If there is an arena, the function that combines the samples makes its arrays there.
        """
        if self.gather is not None:
            combine, samples = self.gather, index_array(indices)
        else:
            combine, samples = self.collate, self.following() if self.stream else self.chosen(indices)
        if arena is None:
            return combine(samples)
        with arena:
            return combine(samples)

    def chosen(self, indices: Any) -> Any:
        """Return the samples with the given indices, or the sample with one index if there are no batches."""
        if isinstance(indices, np.ndarray):
            indices = indices.tolist()
        if not self.batched:
            return self.dataset[indices]
        if self.several is not None:
            return self.several(indices)
        return [self.dataset[index] for index in indices]

    def following(self) -> Any:
        """Return the next samples of a stream, or the next sample if there are no batches."""
        if self.samples is None:
            self.samples = iter(self.dataset)
        if self.batch_size is None:
            for sample in self.samples:
                return sample
            raise Exhausted
        batch = list(itertools.islice(self.samples, self.batch_size))
        if not batch or (self.drop_last and len(batch) < self.batch_size):
            raise Exhausted
        return batch
