"""Samplers: the order in which a loader uses the samples, with PyTorch's names and arguments.

The samplers of this module define `orders()`, which returns the indices as arrays, from which a loader cuts batches.
An epoch may have more indices than fit into memory, so an array has at most PART of them, or is one permutation.
Random samplers also define `state_dict` and `load_state_dict`: the state of the generator before the last order was
drawn.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from minigrad.core.roles import Number
from minigrad.data.streams import drawn_key, permutation, source, uniforms
from minigrad.errors import ArgumentError, absent_method
from minigrad.ops.generators import Generator, expect_generator

T_co = TypeVar("T_co", covariant=True)
Orders = Iterator[NDArray[Any]]
PART = 1 << 16
COUNT = Number(1, whole=True, example=1)


def expect_flag(name: str, what: str, value: Any) -> None:
    """Raise ArgumentError unless `value` is a bool."""
    if not isinstance(value, bool):
        raise ArgumentError(f"{name}: {what}: expected a bool, got {value!r}; pass {what}=True, for example")


class Sampler(Generic[T_co]):
    """The base class of samplers: `__iter__` yields indices, or lists of indices for `batch_sampler`."""

    def __iter__(self) -> Iterator[T_co]:
        """Return an iterator over the indices of an epoch."""
        raise absent_method(self, "a sampler", "__iter__(self)")


def parts_of(count: int) -> Iterator[tuple[int, int, int]]:
    """Return the number, the start and the end of each part of an epoch, one after the other."""
    return ((k, k * PART, min((k + 1) * PART, count)) for k in range(-(-count // PART)))


class ArraySampler(Sampler[int]):
    """A sampler whose epoch consists of arrays of indices."""

    def orders(self) -> Orders:
        """Return an iterator over the arrays of an epoch."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[int]:
        for order in self.orders():  # drawn at the first index, as in PyTorch
            yield from order.tolist()


class SequentialSampler(ArraySampler):
    """A sampler of the indices of a dataset in ascending order."""

    def __init__(self, data_source: Any) -> None:
        self.data_source = data_source

    def orders(self) -> Orders:
        """Return the indices 0, 1, ..., n - 1."""
        return (np.arange(start, end) for _, start, end in parts_of(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class DrawingSampler(ArraySampler):
    """A sampler that draws a key for each epoch from a generator."""

    generator: Generator | None = None
    _start: tuple[int, int] | None = None

    def key(self) -> tuple[int, int]:
        """Draw the key of an epoch, and store the generator's state before the draw."""
        stream = source(self.generator)
        self._start = stream.seed, stream.offset
        return drawn_key(self.generator)

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the sampler's own generator before the last epoch; {} for the default generator."""
        return {"start": list(self._start)} if self.generator is not None and self._start is not None else {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the sampler's own generator, so that the last epoch is repeated."""
        if self.generator is not None and "start" in state:
            self.generator.seed, self.generator.offset = state["start"]


class RandomSampler(DrawingSampler):
    """Sample random indices: a permutation, or independent draws with replacement.

    data_source: Dataset with a length.
    num_samples: Number of indices of an epoch; by default the length of the dataset.  If the number is larger and
    `replacement` is False, the epoch consists of several permutations.
    """

    def __init__(
        self, data_source: Any, replacement: bool = False, num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:  # fmt: skip
        expect_generator("RandomSampler", generator)
        expect_flag("RandomSampler", "replacement", replacement)
        if num_samples is not None:
            COUNT.expect("RandomSampler", num_samples=num_samples)
        self.data_source, self.replacement, self.generator = data_source, replacement, generator
        self._num_samples = num_samples

    @property
    def num_samples(self) -> int:
        """Return the number of indices of an epoch."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def orders(self) -> Orders:
        """Return the indices of the next epoch."""
        n, count, key = len(self.data_source), self.num_samples, self.key()
        if n == 0:
            if count:
                raise ArgumentError(
                    f"RandomSampler: expected a data_source with samples for num_samples={count}, got an empty "
                    "dataset; check len(dataset)"
                )
            return iter(())
        if self.replacement:
            return ((uniforms(key, end - start, k) * n).astype(np.int64) for k, start, end in parts_of(count))
        return (permutation(key, n, k)[: count - k * n] for k in range(-(-count // n)))

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(DrawingSampler):
    """A sampler of the given indices in random order."""

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        expect_generator("SubsetRandomSampler", generator)
        self.indices, self.generator = indices, generator

    def orders(self) -> Orders:
        """Return the indices in the order of the next epoch."""
        indices = np.asarray(self.indices)
        if indices.ndim != 1:  # the indices are keys that are tuples
            indices = np.fromiter(self.indices, object, len(self.indices))
        return iter([indices[permutation(self.key(), len(indices))]])

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(DrawingSampler):
    """Sample indices with probabilities that are proportional to weights.

    weights: One finite weight per sample. All weights are at least 0, and at least one is positive.
    num_samples: Number of indices of an epoch.
    replacement: Whether an index can be drawn more than once. If False, at most as many indices can be drawn as there
    are positive weights.

    Source: P. Efraimidis, P. Spirakis, "Weighted random sampling with a reservoir", Information Processing Letters 97,
    2006: without replacement, the indices with the smallest -log(u) / weight are drawn.
    """

    def __init__(
        self, weights: Sequence[float], num_samples: int, replacement: bool = True, generator: Generator | None = None
    ) -> None:
        expect_generator("WeightedRandomSampler", generator)
        COUNT.expect("WeightedRandomSampler", num_samples=num_samples)
        expect_flag("WeightedRandomSampler", "replacement", replacement)
        self.weights = np.asarray(weights, np.float64)
        if (
            self.weights.ndim != 1
            or not (np.isfinite(self.weights) & (self.weights >= 0)).all()
            or not self.weights.any()
        ):
            raise ArgumentError("WeightedRandomSampler: expected finite weights >= 0 in one dim, with one positive or more")  # fmt: skip # noqa: E501
        if not replacement and num_samples > np.count_nonzero(self.weights):
            raise ArgumentError(
                "WeightedRandomSampler: without replacement, num_samples must be at most "
                f"{np.count_nonzero(self.weights)}, the number of positive weights, got {num_samples}; pass "
                "replacement=True or a smaller num_samples"
            )
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def orders(self) -> Orders:
        """Return the indices of the next epoch."""
        key = self.key()
        if self.replacement:
            ends, highest = np.cumsum(self.weights), np.flatnonzero(self.weights)[-1]
            sums = (uniforms(key, end - start, k) * ends[-1] for k, start, end in parts_of(self.num_samples))
            # The product may be rounded up to the end of the last interval.
            return (np.minimum(np.searchsorted(ends, x, side="right"), highest) for x in sums)
        with np.errstate(divide="ignore"):
            keys = -np.log1p(-uniforms(key, len(self.weights))) / self.weights
        keys[self.weights == 0] = np.inf  # an element with the weight 0 comes last; its key may be nan, from 0 / 0
        return iter([np.argsort(keys, kind="stable")[: self.num_samples]])

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Combine the indices of another sampler to batches, which are lists of indices.

    sampler (Sampler or iterable of int): Source of the indices.
    drop_last: Whether to drop a last batch that has fewer indices.

    >>> list(mg.data.BatchSampler(mg.data.SequentialSampler(range(5)), 2, False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Any, batch_size: int, drop_last: bool) -> None:
        COUNT.expect("BatchSampler", batch_size=batch_size)
        expect_flag("BatchSampler", "drop_last", drop_last)
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def arrays(self) -> Iterator[Any]:
        """Return the batches, as arrays if the sampler has arrays, which avoids creating a list per batch."""
        if not isinstance(self.sampler, ArraySampler) or type(self) is not BatchSampler:
            return iter(self)
        return self.cut(self.sampler.orders())

    def cut(self, orders: Orders) -> Orders:
        """Cut arrays of indices into batches, which may begin in one array and end in the next."""
        rest, size = np.empty(0, np.int64), self.batch_size
        for order in orders:
            rest = np.concatenate([rest, order]) if len(rest) else order
            whole = len(rest) // size * size
            yield from (rest[start : start + size] for start in range(0, whole, size))
            rest = rest[whole:]
        if len(rest) and not self.drop_last:
            yield rest

    def __len__(self) -> int:
        n: int = len(self.sampler)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)


def indices_of(sampler: Iterable[Any], batch_sampler: Iterable[Any] | None) -> Iterator[Any]:
    """Return an iterator over the indices of an epoch: single indices if `batch_sampler` is None, otherwise batches."""
    if batch_sampler is None:
        return iter(sampler)
    return batch_sampler.arrays() if isinstance(batch_sampler, BatchSampler) else iter(batch_sampler)
