"""Sequences of different lengths: padded to one tensor, or packed without padding.

A packed sequence contains the elements of all sequences ordered by time: the first elements of all sequences, then the
second elements of all sequences that have one, and so on.  The sequences are sorted by length, the longest first, so
the sequences that have not ended are always the first rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from minigrad.core.dtype import DType, float16, float32, float64, int8, int16, int32, int64, uint8
from minigrad.core.roles import Choice
from minigrad.errors import ArgumentError, ShapeError
from minigrad.ops.creation import from_numpy, full
from minigrad.ops.shape.joining import cat
from minigrad.runtime.tensor import Tensor, describe

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence",
    "pad_sequence", "unpack_sequence", "unpad_sequence",
]  # fmt: skip


class PackedFields(NamedTuple):
    """The fields of a packed sequence."""

    data: Any
    batch_sizes: Any
    sorted_indices: Any
    unsorted_indices: Any


class PackedSequence(PackedFields):
    """Store sequences of different lengths without padding.

    data (Tensor): Elements of all sequences, ordered by time.
    batch_sizes (Tensor): Number of sequences that have an element at each time: int64, on the CPU.
    sorted_indices and unsorted_indices (Tensor): Permutation that sorts the sequences by length, and its inverse; None
    if the sequences were already sorted.
    """

    __slots__ = ()

    def __new__(
        cls, data: Any, batch_sizes: Any = None, sorted_indices: Any = None, unsorted_indices: Any = None
    ) -> PackedSequence:
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Return the sequences in another dtype or on another device; see `Tensor.to`."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        indices = [None if x is None else x.to(device=data.device) for x in (self[2], self[3])]
        return type(self)(data, self.batch_sizes, *indices)

    def cpu(self) -> PackedSequence:
        """Return the sequences on the CPU."""
        return self.to(device="cpu")

    def cuda(self, device: int | str | None = None) -> PackedSequence:
        """Return the sequences on a GPU, by default the first."""
        name = "cuda" if device is None else f"cuda:{device}" if isinstance(device, int) else device
        return self.to(device=name)

    def pin_memory(self) -> PackedSequence:
        """Return the sequences themselves; see `Tensor.pin_memory`."""
        return self

    @property
    def is_cuda(self) -> bool:
        """Return whether the elements are on a GPU."""
        return str(self.data.device).startswith("cuda")

    def is_pinned(self) -> bool:
        """Return whether the memory of the elements is pinned."""
        return bool(self.data.is_pinned())


def conversion(name: str, dtype: DType) -> Any:
    """Return a method that converts the elements of a packed sequence to a dtype."""

    def convert(self: PackedSequence) -> PackedSequence:
        return self.to(dtype)

    convert.__name__, convert.__doc__ = name, f"Return the sequences in {dtype}."
    return convert


NUMBERS = {
    "double": float64, "float": float32, "half": float16, "long": int64, "int": int32, "short": int16, "char": int8,
    "byte": uint8,
}  # fmt: skip
for _name, _dtype in NUMBERS.items():
    setattr(PackedSequence, _name, conversion(_name, _dtype))


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """Return the inverse of a permutation.

    permutation: Indices from 0 to n - 1, each once.

    Returns: New int64 tensor on the same device; None for None.
    """
    if permutation is None:
        return None
    return index(np.argsort(np.asarray(permutation.tolist(), np.int64)), permutation)


def index(values: Any, like: Tensor) -> Tensor:
    """Return indices as an int64 tensor on the device of `like`."""
    return from_numpy(np.ascontiguousarray(values, np.int64)).to(device=like.device)


def take(x: Any, rows: Any) -> Any:
    """Return the rows of a tensor with the given indices."""
    return x.index_select(0, index(rows, x))


# ---- padding --------------------------------------------------------------------------------------------------------


def pad_sequence(
    sequences: Iterable[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Pad sequences of different lengths to one tensor.

    padding_side ({"right", "left"}): Side at which the elements are added.

    Returns: New tensor; gradients flow to the sequences.

    Raises ShapeError if the sequences differ in more than their lengths.

    >>> mg.nn.utils.rnn.pad_sequence([mg.tensor([1, 2]), mg.tensor([3])], batch_first=True).tolist()
    [[1, 2], [3, 0]]
    """
    each: list[Any] = list(sequences)
    Choice("right", "left").expect("pad_sequence", padding_side=padding_side)
    if not each or any(x.ndim == 0 or x.shape[1:] != each[0].shape[1:] for x in each):
        shapes = ", ".join(map(describe, each[:4])) or "no sequences"
        raise ShapeError(
            f"pad_sequence: sequences must have equal shapes except in dim 0, got {shapes}; reshape them to equal "
            "sizes after dim 0"
        )
    lengths = [len(x) for x in each]
    starts = np.cumsum([0, *lengths])[:-1]
    longest, total = max(lengths), sum(lengths)
    table = np.full((len(each), longest), total, np.int64)
    for k, (start, length) in enumerate(zip(starts, lengths, strict=True)):
        columns = slice(0, length) if padding_side == "right" else slice(longest - length, longest)
        table[k, columns] = np.arange(start, start + length)
    return by_table(cat(each), table if batch_first else table.T, padding_value)


def by_table(rows: Any, table: Any, padding_value: float) -> Tensor:
    """Return rows by a table of indices, in which the index `len(rows)` stands for the padding."""
    padding = full((1, *rows.shape[1:]), padding_value, dtype=rows.dtype, device=rows.device)
    return take(cat([rows, padding]), table.reshape(-1)).reshape(*table.shape, *rows.shape[1:])


def unpad_sequence(padded_sequences: Any, lengths: Any, batch_first: bool = False) -> list[Tensor]:
    """Return the sequences of a padded tensor as a list.

    padded_sequences: Shape (time, batch, ...), or (batch, time, ...) with `batch_first`.
    lengths (Tensor or list of int): Length of each sequence.

    Returns: Views of `padded_sequences`, one per sequence, of shape (length, ...).
    """
    x = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [x[k, :length] for k, length in enumerate(as_lengths(lengths))]


def as_lengths(lengths: Any) -> list[int]:
    """Return lengths as a list of ints."""
    values = lengths.tolist() if isinstance(lengths, Tensor) else list(lengths)
    return [int(n) for n in values]


# ---- packing --------------------------------------------------------------------------------------------------------


def pack_padded_sequence(
    input: Any, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Return the sequences of a padded tensor without their padding.

    input: Shape (time, batch, ...), or (batch, time, ...) with `batch_first`.
    lengths (Tensor or list of int): Length of each sequence, at least 1.

    Returns: The sequences; gradients flow to `input`.

    Raises ArgumentError if a length is out of range, or the sequences are not sorted although `enforce_sorted` is True.
    """
    x = input.transpose(0, 1) if batch_first else input
    sizes = np.asarray(as_lengths(lengths), np.int64)
    time, batch = x.shape[:2]
    if sizes.shape != (batch,) or sizes.size == 0 or sizes.min() < 1 or sizes.max() > time:
        raise ArgumentError(
            f"pack_padded_sequence: lengths must contain {batch} lengths from 1 to {time}, got {sizes.tolist()}; pass "
            "one length per sequence"
        )
    order = None
    if not enforce_sorted:
        order = np.argsort(-sizes, kind="stable")
        sizes = sizes[order]
    elif (np.diff(sizes) > 0).any():
        raise ArgumentError(
            "pack_padded_sequence: enforce_sorted=True requires lengths in descending order; pass enforce_sorted=False"
        )
    columns = np.arange(batch) if order is None else order
    counts = (sizes[None, :] > np.arange(sizes.max())[:, None]).sum(1)
    rows = np.concatenate([t * batch + columns[:count] for t, count in enumerate(counts)])
    data = take(x.reshape(time * batch, *x.shape[2:]), rows)
    return PackedSequence(data, from_numpy(counts.astype(np.int64)), None if order is None else index(order, x))


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """Return packed sequences as a padded tensor, and the lengths of the sequences.

    sequence: The sequences.
    total_length: Number of time steps of the result, at least the length of the longest sequence.

    Returns:
        output : Tensor
            The padded sequences in the order that they had before they were packed.
        lengths : Tensor
            Lengths of the sequences: int64, on the CPU.

    Raises ArgumentError if `total_length` is too small.
    """
    counts = np.asarray(as_lengths(sequence.batch_sizes), np.int64)
    time = len(counts) if total_length is None else total_length
    if time < len(counts):
        raise ArgumentError(
            f"pad_packed_sequence: total_length must be at least {len(counts)}, got {total_length}; pass None for the "
            "length of the longest sequence"
        )
    batch, total = int(counts[0]), int(counts.sum())
    table = np.full((time, batch), total, np.int64)
    starts = np.cumsum(counts) - counts
    for t, count in enumerate(counts):
        table[t, :count] = starts[t] + np.arange(count)
    lengths = (table < total).sum(0)
    if sequence.unsorted_indices is not None:
        order = np.asarray(sequence.unsorted_indices.tolist(), np.int64)
        table, lengths = table[:, order], lengths[order]
    output = by_table(sequence.data, table.T if batch_first else table, padding_value)
    return output, from_numpy(lengths.astype(np.int64))


def pack_sequence(sequences: Iterable[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Return sequences of different lengths as a packed sequence.

    Returns: The sequences; gradients flow to the tensors.

    Raises ShapeError if the sequences differ in more than their lengths.
    Raises ArgumentError if the sequences are not sorted although `enforce_sorted` is True.
    """
    each = list(sequences)
    return pack_padded_sequence(pad_sequence(each), [len(x) for x in each], enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Return the sequences of a packed sequence as a list.

    packed_sequences: The sequences.

    Returns: One tensor of shape (length, ...) per sequence, in the order that they had before they were packed.
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
