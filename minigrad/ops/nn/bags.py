"""The op `embedding_bag`: the sum, the mean or the maximum of the table rows that each bag of indices selects."""

from __future__ import annotations

from typing import Annotated

from minigrad.core.conditions import Integral, Like
from minigrad.core.dtype import int64
from minigrad.core.roles import Choice, Flag
from minigrad.declare.decorators import composed
from minigrad.errors import ArgumentError, ShapeError
from minigrad.ops.casting import cast
from minigrad.ops.creation import arange, full
from minigrad.ops.indexing.checks import Refusal, checked
from minigrad.ops.indexing.gathering import gather, index_add, index_select, zeros_of
from minigrad.ops.indexing.reducing import index_reduce
from minigrad.ops.indexing.searching import searchsorted
from minigrad.ops.nn.embedding import _padding, embedding
from minigrad.ops.pointwise.compare import where
from minigrad.ops.reduction.sums import mean, sum, wide
from minigrad.ops.shape.views import expand, narrow, reshape
from minigrad.runtime.tensor import Tensor, describe

MODES = ("sum", "mean", "max")


@composed()
def embedding_bag(
    input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None, norm_type: float = 2,
    scale_grad_by_freq: bool = False, mode: Annotated[str, Choice("mean", "sum", "max")] = "mean", sparse: bool = False,
    per_sample_weights: Tensor | None = None, include_last_offset: Flag = False, padding_idx: int | None = None,
) -> Tensor:  # fmt: skip
    """Return one row per bag: the sum, the mean or the maximum of the rows of `weight` that the bag selects.

    Parameters
    ----------
    input : Tensor
        Row indices: integers (B, n) with one bag per row, or a vector (L,) in which bag k begins at offsets[k].
    weight : Tensor
        Matrix (num_embeddings, size) whose rows are selected.
    offsets : Tensor, optional
        Start of each bag in a vector `input`: ascending integers (B,) that begin with 0. With `include_last_offset`,
        there are B + 1 integers, and the last integer is the end of the last bag.
    mode : str, default "mean"
        "sum", "mean" or "max". The result of an empty bag is 0.
    per_sample_weights : Tensor, optional
        Factor of each row, in the shape of `input`; only with mode "sum".
    padding_idx : int, optional
        Row that does not count in any bag.
    max_norm, norm_type, scale_grad_by_freq, sparse
        As for `embedding`.

    Gradient
    --------
    For each row of a bag, g for "sum", and g divided by the size of the bag for "mean"; for "max", g at the first row
    that attains the maximum. For per_sample_weights, it is the inner product of g and the row.
    """
    flat, bag, count = expect_bags(input, offsets, include_last_offset)
    if per_sample_weights is not None:
        Choice("sum", advice="pass mode='sum', for example").expect(
            "embedding_bag", **{"mode with per_sample_weights": mode}
        )
    Like("dtype", "weight").expect("embedding_bag", weight, per_sample_weights=per_sample_weights)
    Like("shape", advice="pass one weight per index").expect(
        "embedding_bag", input, per_sample_weights=per_sample_weights
    )
    # Each bag is one row of `input`, so all bags have the same length.
    if input.ndim == 2 and input.shape[1] and mode != "max" and padding_idx is None:
        whole = embedding(input, weight, None, max_norm, norm_type, scale_grad_by_freq, sparse)
        if per_sample_weights is not None:
            whole = whole * per_sample_weights.unsqueeze(2)
        return mean(whole, 1) if mode == "mean" else sum(whole, 1)
    bags = count - bool(include_last_offset and offsets is not None)
    flat = without_ends(flat, bag, bags, bags < count)
    rows = embedding(flat, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
    counts = expand(full((1,), 1, dtype=int64, device=weight.device), shape=flat.shape)
    if padding_idx is not None:
        skipped, n = flat.to(int64), weight.shape[0]
        counts = cast((skipped - _padding(weight, padding_idx)).remainder(n) != 0, dtype=int64)
    size = index_add(zeros_of((count,), counts), 0, bag, counts).unsqueeze(1)
    if mode == "max":
        return narrow(where(size > 0, first_largest(rows, bag, counts > 0, count), 0.0), 0, 0, bags)
    factor = cast(counts, dtype=weight.dtype)
    if per_sample_weights is not None:
        factor = factor * reshape(per_sample_weights, (input.numel(),))
    kept = wide(where((counts > 0).unsqueeze(1), rows * factor.unsqueeze(1), 0.0))
    total = index_add(zeros_of((count, weight.shape[1]), kept), 0, bag, kept)
    total = total / size.clamp(1) if mode == "mean" else total
    return narrow(total, 0, 0, bags).to(weight.dtype)


def first_largest(rows: Tensor, bag: Tensor, counts: Tensor, count: int) -> Tensor:
    """Return the maximum of the rows of each bag; it is read from the first row that attains it."""
    n, d = rows.shape
    if not n:  # computed by an op, so that the result has a gradient
        return index_add(zeros_of((count, d), rows), 0, bag, rows)
    seen = where(counts.unsqueeze(1), rows.detach(), float("-inf"))
    best = index_reduce(zeros_of((count, d), rows), 0, bag, seen, "amax", include_self=False)
    attains = (seen == index_select(best, 0, bag)) | (seen != seen)
    number = where(attains, arange(n, device=rows.device).unsqueeze(1), n - 1)
    last = full((count, d), n - 1, device=rows.device)
    return gather(rows, 0, index_reduce(last, 0, bag, number, "amin"))


def expect_bags(input: Tensor, offsets: Tensor | None, ends: bool) -> tuple[Tensor, Tensor, int]:
    """Return all indices as one vector, the bag of each index, and the number of bags.

    ends: whether the last offset is the end of the last bag.  Indices from this end on count as another bag.
    Raises ShapeError, DTypeError or ArgumentError for arguments that do not fit.
    """
    flat = reshape(input, (input.numel(),))
    if input.ndim == 2 and offsets is None:
        bags, n = input.shape
        return flat, reshape(expand(arange(bags, device=input.device).unsqueeze(1), shape=(bags, n)), (-1,)), bags
    if input.ndim != 1 or offsets is None or offsets.ndim != 1:
        shown = describe(offsets) if isinstance(offsets, Tensor) else offsets
        raise ShapeError(
            "embedding_bag: input must have the shape (B, n), or (L,) together with offsets (B,), got "
            f"{describe(input)} and {shown}; pass the start of each bag as offsets",
            op="embedding_bag",
        )
    Integral.expect("embedding_bag", offsets=offsets)
    length, count = input.shape[0], offsets.shape[0]
    refusal = Refusal(
        ArgumentError, "embedding_bag",
        f"embedding_bag: offsets must start with 0 and increase to at most {length}, got {{}}; pass the start of each "
        "bag in input",
    )  # fmt: skip
    if ends and not count:
        raise refusal.error([])
    starts = checked(offsets, low=0, high=length, ascending=True, refusal=refusal)
    return flat, searchsorted(starts, arange(length, device=input.device), right=True) - 1, count


def without_ends(flat: Tensor, bag: Tensor, bags: int, ends: bool) -> Tensor:
    """Return the indices of all bags; an index behind the last bag, which is in no bag, is replaced by 0."""
    return where(bag < bags, flat, 0) if ends and flat.shape[0] else flat
