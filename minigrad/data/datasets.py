"""Datasets with `ds[i]`, or streams, and their concatenations, subsets and splits, with PyTorch's names and arguments.

A dataset can also define `__getbatch__(indices)`, which returns a whole batch for an int64 array of indices.  Datasets
of arrays define it: one launch per tensor gathers a batch, and no samples are created or collated.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from minigrad.data import memory
from minigrad.data.streams import drawn_key, permutation
from minigrad.errors import ArgumentError, DTypeError, IndexOutOfRange, ShapeError, absent_method
from minigrad.ops.creation import from_numpy
from minigrad.ops.generators import Generator, expect_generator
from minigrad.ops.indexing.gathering import index_select
from minigrad.runtime.data import host_array
from minigrad.runtime.tensor import Tensor, describe

T_co = TypeVar("T_co", covariant=True)
Indices = NDArray[np.int64]
Gather = Callable[[Indices], Any]


class Dataset(Generic[T_co]):
    """The base class of datasets with `ds[i]` and, for most samplers, `len(ds)`."""

    stores_tensors = True  # `mg.jit` looks for tensors among the attributes

    def __getitem__(self, index: Any) -> T_co:
        """Return the sample with an index."""
        raise absent_method(self, "a map-style dataset", "__getitem__(self, index)")

    def __add__(self, other: Dataset[Any]) -> ConcatDataset:
        """Return the concatenation of both datasets."""
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co]):
    """Define the base class of datasets that are streams: `iter(ds)` yields the samples.

    Each worker of a loader iterates over its own copy of the dataset.  So that the workers do not return the same
    samples, `__iter__` must select the samples of the worker, which `get_worker_info()` describes.
    """

    def __iter__(self) -> Iterator[T_co]:
        """Return an iterator over the samples."""
        raise absent_method(self, "an IterableDataset", "__iter__(self)")

    def __add__(self, other: Dataset[Any]) -> Any:
        """Return the concatenation of both streams."""
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Define a dataset whose sample i is the tuple of the elements i of several tensors along dim 0.

    tensors (Tensor or numpy.ndarray): Tensors or arrays of equal length; their memory is shared, not copied.

    Raises ShapeError if a tensor has no dims, or a length that differs from that of the first tensor.

    >>> ds = mg.data.TensorDataset(mg.tensor([[1.0], [2.0]]), mg.tensor([0, 1]))
    >>> ds[1], len(ds)
    ((tensor([2.]), tensor(1)), 2)
    """

    draws = False

    def __init__(self, *tensors: Any) -> None:
        self.tensors = tuple(from_numpy(x) if isinstance(x, np.ndarray) else x for x in tensors)
        if not tensors:
            raise ArgumentError("TensorDataset: expected one tensor or more, got none; pass at least one tensor")
        for x in self.tensors:
            if not isinstance(x, Tensor):
                raise ArgumentError(
                    f"TensorDataset: expected tensors or arrays, got {describe(x)}; convert a list with mg.tensor(...)"
                )
            if not x.shape or x.shape[0] != self.tensors[0].shape[0]:
                shapes = ", ".join(str(x.shape) for x in self.tensors)
                raise ShapeError(
                    f"TensorDataset: expected tensors of the same length in their first dim, got {shapes}; slice them "
                    "to one length"
                )

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(x[index] for x in self.tensors)

    def __len__(self) -> int:
        return int(self.tensors[0].shape[0])

    def __getbatch__(self, indices: Indices) -> list[Tensor]:
        """Return the samples with the given indices, as one batch for each of `tensors`."""
        return [rows(x, indices) for x in self.tensors]


def rows(x: Any, indices: Indices) -> Tensor:
    """Return rows of a tensor or array, in one launch, or in a worker with NumPy, so that it does not need kernels."""
    if isinstance(x, np.ndarray):
        return from_numpy(memory.rows(x, indices))
    x = x.detach()
    if x.device.kind == "cpu" and get_worker_info() is not None:
        return from_numpy(memory.rows(host_array(x), indices))
    where = from_numpy(indices)
    return index_select(x, 0, where if x.device.kind == "cpu" else where.to(x.device))


def index_array(indices: Any) -> Indices:
    """Return indices as int64; raise DTypeError for non-integers, because converting them would round them."""
    array = np.asarray(indices)
    if array.size and array.dtype.kind not in "biu":
        raise DTypeError(
            f"DataLoader: the indices of samples must be integers, got {describe(indices)}; let the sampler yield ints"
        )
    return array.astype(np.int64, copy=False)


def defined(dataset: Any, name: str) -> Any:
    """Return the method `name` of a dataset, or None.

    The result is None for a class that redefines only `__getitem__`, because the method of its base class would return
    other samples.
    """
    for kind in type(dataset).__mro__:
        if name in vars(kind):
            return getattr(dataset, name, None)
        if "__getitem__" in vars(kind):
            return None
    return None


def fetched(dataset: Any, indices: Sequence[int]) -> Any:
    """Return several samples, with the dataset's own `__getitems__` if it has one."""
    method = defined(dataset, "__getitems__")
    return method(indices) if method else [dataset[k] for k in indices]


def gatherer(dataset: Any) -> Gather | None:
    """Return the function that gathers whole batches of a dataset, or None."""
    if isinstance(dataset, (np.ndarray, Tensor)):
        return lambda indices: rows(dataset, indices)
    return defined(dataset, "__getbatch__")


def draws(dataset: Any) -> bool:
    """Return whether the code of a dataset may draw random numbers."""
    return not isinstance(dataset, (np.ndarray, Tensor)) and getattr(dataset, "draws", True)


class Subset(Dataset[Any]):
    """The samples of a dataset with the given indices or, for a dict, keys."""

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices
        array = np.asarray(indices)
        keys = array.ndim != 1 or (array.size and array.dtype.kind not in "biu")
        self._positions = None if keys else array.astype(np.int64, copy=False)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[k] for k in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: Sequence[int]) -> Any:
        """Return several samples."""
        if self._positions is None:
            chosen = [self.indices[k] for k in indices]
        else:
            chosen = self._positions[index_array(indices)].tolist()
        return fetched(self.dataset, chosen)

    @property
    def __getbatch__(self) -> Gather:
        """The dataset's function for whole batches; AttributeError if it has none."""
        gather, positions = gatherer(self.dataset), self._positions
        if gather is None or positions is None:
            raise AttributeError(f"{type(self.dataset).__name__} has no __getbatch__")
        return lambda indices: gather(positions[indices])

    @property
    def draws(self) -> bool:
        """Return whether the dataset may draw random numbers."""
        return draws(self.dataset)

    def __len__(self) -> int:
        return len(self.indices)


class ConcatDataset(Dataset[Any]):
    """The concatenation of several datasets."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ArgumentError("ConcatDataset: expected one dataset or more, got none; pass a list of datasets")
        if any(isinstance(each, IterableDataset) for each in self.datasets):
            raise ArgumentError(
                "ConcatDataset: expected datasets with len() and integer indices, got an IterableDataset; use "
                "ChainDataset"
            )
        self.cumulative_sizes = list(itertools.accumulate(len(each) for each in self.datasets))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        if not -len(self) <= index < len(self):
            raise IndexOutOfRange(
                f"ConcatDataset: index must be from {-len(self)} to {len(self) - 1}, got {index}; check len() first"
            )
        index += len(self) if index < 0 else 0
        which = bisect.bisect_right(self.cumulative_sizes, index)
        return self.datasets[which][index - (self.cumulative_sizes[which - 1] if which else 0)]


class ChainDataset(IterableDataset[Any]):
    """The concatenation of several iterable datasets."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for each in self.datasets:
            if not isinstance(each, IterableDataset):
                raise ArgumentError(
                    f"ChainDataset: expected IterableDatasets, got {describe(each)}; use ConcatDataset for datasets "
                    "with indices"
                )
            yield from each

    def __len__(self) -> int:
        return sum(len(each) for each in self.datasets)


class StackDataset(Dataset[Any]):
    """Several datasets in parallel: a sample is a tuple of their samples, or a dict for keyword arguments."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if bool(args) == bool(kwargs):
            raise ArgumentError(
                "StackDataset: expected at least one dataset, either all as positional or all as keyword arguments, "
                "got none or both kinds; write StackDataset(a, b), for example"
            )
        self.datasets: Any = kwargs or args
        lengths = {len(each) for each in self._parts()}
        if len(lengths) > 1:
            raise ArgumentError(
                f"StackDataset: expected datasets of the same length, got lengths {sorted(lengths)}; shorten them with "
                "mg.data.Subset"
            )

    def _parts(self) -> list[Any]:
        return list(self.datasets.values() if isinstance(self.datasets, Mapping) else self.datasets)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, Mapping):
            return {name: each[index] for name, each in self.datasets.items()}
        return tuple(each[index] for each in self.datasets)

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        """Return several samples; each dataset is read once."""
        columns = [fetched(each, indices) for each in self._parts()]
        n, counts = len(indices), [len(each) for each in columns]
        if set(counts) - {n}:
            raise ArgumentError(f"StackDataset: expected {n} samples of __getitems__, got {counts}; return them all")
        rows, named = zip(*columns, strict=True), isinstance(self.datasets, Mapping)
        return [dict(zip(self.datasets, row, strict=True)) if named else row for row in rows]

    def __len__(self) -> int:
        return len(self._parts()[0])


def random_split(dataset: Any, lengths: Sequence[float], generator: Generator | None = None) -> list[Subset]:
    """Split a dataset at random into disjoint subsets.

    dataset: Dataset with a length.
    lengths (sequence of int or float): Lengths whose sum is the length of the dataset, or fractions whose sum is 1.  A
    fraction is multiplied by the length of the dataset and rounded down; the remaining samples are added to the
    subsets, one each in turn.
    generator: Generator of the permutation; by default the generator of `mg.manual_seed`.

    Returns: One subset for each length.

    Raises ArgumentError if a fraction is not in [0, 1], or the lengths do not sum to the length of the dataset.

    >>> parts = mg.data.random_split(range(10), [0.75, 0.25], generator=mg.Generator(0))
    >>> [len(part) for part in parts]
    [8, 2]
    """
    expect_generator("random_split", generator)
    n = len(dataset)
    sizes: list[int] = []
    if math.isclose(sum(lengths), 1):
        for k, fraction in enumerate(lengths):
            if not 0 <= fraction <= 1:
                raise ArgumentError(
                    f"random_split: a fraction in lengths must be between 0 and 1, got {fraction} at index {k}; pass "
                    "lengths=[0.8, 0.2], for example"
                )
            sizes.append(math.floor(n * fraction))
        for k in range(n - sum(sizes)):
            sizes[k % len(sizes)] += 1
    else:
        sizes = [int(length) for length in lengths]
        if sizes != list(lengths):
            raise ArgumentError(
                f"random_split: lengths must be integers, or fractions that sum to 1, got {list(lengths)}; pass "
                "lengths=[0.8, 0.2], for example"
            )
    if sum(sizes) != n or min(sizes, default=0) < 0:
        raise ArgumentError(
            f"random_split: expected lengths that sum to {n}, got {list(lengths)}; change one of the lengths"
        )
    order = permutation(drawn_key(generator), n).tolist()
    ends = list(itertools.accumulate(sizes))
    return [Subset(dataset, order[end - size : end]) for size, end in zip(sizes, ends)]


# ---- the worker process in which a dataset is read -------------------------------------------------------------------


@dataclass(frozen=True)
class WorkerInfo:
    """Describe a worker process of a DataLoader.

    id: Index of the worker, counted from 0.
    num_workers: Number of workers.
    seed: Seed for this worker and this epoch.
    dataset: The worker's copy of the dataset.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any


_current: list[WorkerInfo] = []


def get_worker_info() -> WorkerInfo | None:
    """Return information about the worker process in which this code runs.

    Returns: The description of the worker, or None in the process that created the loader.

    >>> mg.data.get_worker_info() is None
    True
    """
    return _current[-1] if _current else None


def set_worker_info(info: WorkerInfo) -> None:
    """Store the information about the worker that this process runs."""
    _current[:] = [info]
