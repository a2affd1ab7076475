"""Batches from lists of samples, with PyTorch's treatment of nested structures."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from minigrad.data.datasets import IterableDataset, draws, fetched, gatherer, index_array
from minigrad.data.memory import Arena, empty
from minigrad.errors import ArgumentError, MinigradError
from minigrad.ops.creation import from_numpy, tensor
from minigrad.ops.shape.joining import stack
from minigrad.runtime.data import host_array
from minigrad.runtime.tensor import Tensor, describe


def default_collate(batch: Sequence[Any]) -> Any:
    """Combine samples into a batch of the same structure, in which tensors have a new first dim.

    batch: Samples with the same structure: tensors, arrays, numbers, strings, and mappings and sequences of these.

    Returns: Tensors and arrays are stacked. Floats become a float64 tensor, ints an int64 tensor, and bools a bool
    tensor. Strings and bytes remain a list or tuple.  Mappings and named tuples keep their class; a tuple becomes a
    list, as in PyTorch.

    Raises ArgumentError if there are no samples, or if the samples have different structures or unsupported types. For
    other types, write your own `collate_fn`.

    >>> mg.data.default_collate([{"x": 1, "name": "a"}, {"x": 2, "name": "b"}])
    {'x': tensor([1, 2]), 'name': ['a', 'b']}
    """
    if not isinstance(batch, (Sequence, Tensor, np.ndarray)) or not len(batch):
        raise ArgumentError(
            f"default_collate: expected a list of at least one sample, got {describe(batch)}; a batch_sampler must "
            f"yield lists that are not empty"
        )
    first = batch[0]
    kind = type(first)
    if isinstance(first, Tensor):
        return stacked(batch)
    if isinstance(first, np.ndarray) and first.dtype.kind not in "USO":
        return from_numpy(joined([np.asarray(each) for each in batch]))
    if isinstance(first, np.generic) and not isinstance(first, (str, bytes)):
        return from_numpy(np.asarray(batch))
    if isinstance(first, (bool, int, float)):
        return tensor(list(batch), dtype="float64" if isinstance(first, float) else None)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return mapping(first, {key: default_collate([each[key] for each in batch]) for key in first})
    if isinstance(first, Sequence):
        lengths = {len(each) for each in batch}
        if len(lengths) > 1:
            raise ArgumentError(
                f"default_collate: expected samples of the same length, got lengths {sorted(lengths)}; pass a "
                f"collate_fn that pads them"
            )
        parts = [default_collate(part) for part in zip(*batch)]
        return kind(*parts) if hasattr(first, "_fields") else parts if kind is tuple else sequence(first, parts)
    raise ArgumentError(
        f"default_collate: expected tensors, arrays, numbers, strings, mappings or sequences, got {describe(first)}; "
        f"pass a collate_fn"
    )


def stacked(batch: Sequence[Any]) -> Tensor:
    """Stack tensors; NumPy stacks CPU tensors, so that a worker needs no kernels."""
    if all(x.device.kind == "cpu" and x.dtype is batch[0].dtype for x in batch):
        return from_numpy(joined([host_array(x.detach()) for x in batch]))
    try:
        result: Tensor = stack([x.detach() for x in batch])
    except MinigradError as error:
        raise ArgumentError(f"default_collate: {error}; pass a collate_fn that pads the samples") from None
    return result


def joined(arrays: list[Any]) -> Any:
    """Stack arrays; raise ArgumentError if their shapes differ."""
    shapes = {array.shape for array in arrays}
    if len(shapes) > 1:
        raise ArgumentError(
            f"default_collate: expected samples of the same shape, got {', '.join(map(str, sorted(shapes)[:4]))}; "
            f"pass a collate_fn that pads them"
        )
    (shape,) = shapes
    out = empty((len(arrays), *shape), arrays)
    # np.stack first makes a view of each array, which takes longer than copying small arrays.
    if not shape:
        return np.stack(arrays, out=out)
    if out is None:
        return np.concatenate(arrays).reshape(len(arrays), *shape)
    np.concatenate(arrays, out=out.reshape(-1, *shape[1:]))
    return out


def default_convert(data: Any) -> Any:
    """Convert NumPy arrays and scalars in a sample to tensors; other values stay unchanged.

    data: A sample.

    Returns: The sample with tensors, which share memory with the arrays.

    >>> import numpy as np
    >>> mg.data.default_convert((np.ones(2), "a", 3))
    [tensor([1., 1.], dtype=float64), 'a', 3]
    """
    if isinstance(data, (np.ndarray, np.generic)) and data.dtype.kind not in "USO":
        return from_numpy(data) if isinstance(data, np.ndarray) else tensor(data)
    if isinstance(data, Mapping):
        return mapping(data, {key: default_convert(each) for key, each in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(default_convert(each) for each in data))
    if isinstance(data, tuple):
        return [default_convert(each) for each in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return sequence(data, [default_convert(each) for each in data])
    return data


def mapping(like: Mapping[Any, Any], parts: dict[Any, Any]) -> Any:
    """Return a mapping of the class and with the attributes of `like` if this is possible, otherwise a dict."""
    if type(like) is dict:
        return parts
    try:
        if isinstance(like, MutableMapping):
            clone = copy.copy(like)
            clone.update(parts)
            return clone
        return type(like)(parts)  # type: ignore[call-arg]
    except TypeError:
        return parts


def sequence(like: Sequence[Any], parts: list[Any]) -> Any:
    """Return a sequence of the class of `like` if this is possible, otherwise a list."""
    if type(like) is list or isinstance(like, range):
        return parts
    try:
        if isinstance(like, MutableSequence):
            clone = copy.copy(like)
            for k, part in enumerate(parts):
                clone[k] = part
            return clone
        return type(like)(parts)  # type: ignore[call-arg]
    except TypeError:
        return parts


# ---- one batch -------------------------------------------------------------------------------------------------------


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
        return fetched(self.dataset, indices) if self.batched else self.dataset[indices]

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
