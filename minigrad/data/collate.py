"""Batches from lists of samples, with PyTorch's rules for structures."""

from __future__ import annotations

import copy
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from minigrad.errors import ArgumentError, MinigradError
from minigrad.ops.creation import from_numpy, tensor
from minigrad.ops.shape.joining import stack
from minigrad.runtime.data import host_array
from minigrad.runtime.tensor import Tensor, describe


def default_collate(batch: Sequence[Any]) -> Any:
    """Make a batch of samples: tensors with a new first dim, in the structure that the samples have.

    Parameters
    ----------
    batch : sequence
        Samples of one structure: tensors, arrays, numbers, strings, and mappings and sequences of these.

    Returns
    -------
    Any
        Tensors and arrays are stacked; floats become a float64 tensor, ints and bools one of int64 and bool; texts
        and bytes stay a list or tuple.  A mapping stays a mapping, a named tuple one; a tuple becomes a list, as in
        PyTorch.

    Raises
    ------
    ArgumentError
        For no samples, for samples that do not go together, or of another kind; write a `collate_fn` for them.

    Examples
    --------
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
    """Stack tensors; those of the CPU by NumPy, so that a worker needs no kernels."""
    if all(x.device.kind == "cpu" and x.dtype is batch[0].dtype for x in batch):
        return from_numpy(joined([host_array(x.detach()) for x in batch]))
    try:
        result: Tensor = stack([x.detach() for x in batch])
    except MinigradError as error:
        raise ArgumentError(f"default_collate: {error}; pass a collate_fn that pads the samples") from None
    return result


def joined(arrays: list[Any]) -> Any:
    """Stack arrays.  Raises ArgumentError for more than one shape."""
    shapes = {array.shape for array in arrays}
    if len(shapes) > 1:
        raise ArgumentError(
            f"default_collate: expected samples of the same shape, got {', '.join(map(str, sorted(shapes)[:4]))}; "
            f"pass a collate_fn that pads them"
        )
    (shape,) = shapes
    # np.stack makes a view of each array first, which takes longer than a small copy.
    return np.concatenate(arrays).reshape(len(arrays), *shape) if shape else np.stack(arrays)


def default_convert(data: Any) -> Any:
    """Convert NumPy arrays and scalars in a sample to tensors; other values stay unchanged.

    Parameters
    ----------
    data : Any
        A sample.

    Returns
    -------
    Any
        The sample with tensors, which share the memory of arrays.

    Examples
    --------
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
    """Return a mapping of the class of another where that can be made, with its other attributes; otherwise a dict."""
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
    """Return a sequence of the class of another where that can be made; otherwise a list."""
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
