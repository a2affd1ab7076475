"""Embeddings: the rows of a table at given indices, the sums of such rows in bags, and their gradients; one_hot."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from minigrad.backends.launch import remapped
from minigrad.backends.limits import ClassLimits, out_of_range
from minigrad.core.conditions import Floating, Integral, Like
from minigrad.core.dtype import float32, int64
from minigrad.core.layout import along
from minigrad.core.op import Op, Spec
from minigrad.core.requests import Gather, Unpick
from minigrad.core.roles import Choice, Flag, Int
from minigrad.core.shape import as_int
from minigrad.declare.decorators import composed, kernel
from minigrad.declare.rules import index_dtype
from minigrad.errors import ArgumentError, DTypeError, IndexOutOfRange, ShapeError
from minigrad.ops.batch_rules import Flags, cut, merged, stretched, to_front
from minigrad.ops.casting import cast, same_dtype
from minigrad.ops.creation import arange, expect_numbers, full, ones, tensor, zeros
from minigrad.ops.indexing.assignment import set_item
from minigrad.ops.indexing.checks import Refusal, checked
from minigrad.ops.indexing.gathering import gather, index_add, index_select, watched, zeros_of
from minigrad.ops.indexing.reducing import index_reduce
from minigrad.ops.indexing.sorting import ends_of, searchsorted
from minigrad.ops.nn.classes import NO_CLASS
from minigrad.ops.pointwise.compare import where
from minigrad.ops.reduction.norms import norm
from minigrad.ops.reduction.sums import mean, sum, wide
from minigrad.ops.shape.joining import stack
from minigrad.ops.shape.views import expand, narrow, reshape, select, unsqueeze
from minigrad.runtime.data import host_array
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.tracers import derives


def _shape(op: Op, x: Spec, index: Spec, share: Spec) -> tuple[int, ...]:
    return (index.shape[0], x.shape[1])


@kernel(
    dtype=same_dtype,
    shape=_shape,
    vjp=(
        lambda g, index, share, *, in_shape: index_add(zeros_of(in_shape, g), 0, index, g * unsqueeze(share, dim=1)),
        None,
        None,
    ),
    # The op is linear in x but is not declared as linear.  Its gradient is scaled by `share`, and forward mode must
    # agree with the backward pass.
    jvp=lambda dx, index, share: index_select(dx, 0, index) * unsqueeze(share, dim=1),
    batch=lambda x, index, share, *, batch, flags: _batch(x, index, share, batch, flags),
    name="embedding",
    namespace=(),
)
def scaled_embedding(backend, out, x, index, share):
    """Return the rows of x at the positions in an index vector, with a scaled gradient.

    Gradient: each row of g times its element of `share`, added at the position of the row.
    """
    launch = backend.prepare(Gather(0), out, x, Spec(along(index.layout, out.shape, 0), index.dtype))
    return watched(scaled_embedding, backend, remapped(launch, (0, 1, 3), 4), x, index, 0)


def _batch(x: Tensor, index: Tensor, share: Tensor, size: int, flags: Flags) -> Tensor:
    """Return `scaled_embedding` for a batch.

    If all samples share the table, one call takes all indices.  If each sample has a table and they share the index,
    the tables are joined to one with wider rows.  Otherwise each sample is one call.
    """
    if not flags[0]:
        rows, shares = stretched(index, flags[1], size), stretched(share, flags[2], size)
        return cut(scaled_embedding(x, reshape(rows, -1), reshape(shares, -1)), 0, rows.shape)
    if not flags[1] and not flags[2]:
        return to_front(cut(scaled_embedding(merged(x, (1, 0, 2), 1, 2), index, share), 1, (size, x.shape[2])), 1)
    operands = [stretched(*each, size) for each in zip((x, index, share), flags)]
    parts = [scaled_embedding(*[select(each, dim=0, index=k) for each in operands]) for k in range(size)]
    return stack(parts) if parts else zeros(0, index.shape[-1], x.shape[2], dtype=x.dtype, device=x.device)


def _refuse_swapped(input: Tensor, weight: Tensor) -> None:
    """Raise DTypeError if the indices and the table seem to be swapped; called only for operands that are wrong."""
    if input.dtype.is_float and weight.dtype.is_int:
        raise DTypeError(
            f"embedding: are input and weight swapped? got input {describe(input)} and weight {describe(weight)}; pass "
            "the indices first"
        )


@composed(of=scaled_embedding)
def embedding(
    input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Tensor:  # fmt: skip
    """Return the row of `weight` for each index in `input`; the result has an additional last dim for the rows.

    A negative index counts from the last row.
    padding_idx: the index of a row that receives no gradient.
    max_norm: the largest norm of a row. If a row that is read has a larger norm, it is first scaled down to this norm
    in `weight`, in place; the write is not recorded.
    norm_type: the order of the norm.
    scale_grad_by_freq: whether the gradient of a row is divided by the number of times that the call reads the row.
    sparse: has no effect, because gradients are always dense; their values are the same.
    Gradient: g, added to each row that was read.
    Raises IndexOutOfRange for a row that does not exist.
    """
    if weight.ndim != 2:
        _refuse_swapped(input, weight)
        raise ShapeError(
            f"embedding: weight must have 2 dims (num_embeddings, embedding_dim), got {describe(weight)}; reshape it"
        )
    if not input.dtype.is_int:
        _refuse_swapped(input, weight)
        raise DTypeError(f"embedding: input must have an integer dtype, got {describe(input)}; convert it with .long()")
    padding = None if padding_idx is None else _padding(weight, padding_idx)
    rows = input if input.ndim == 1 else input.reshape(-1)
    if max_norm is not None:
        _shrink(weight, rows, max_norm, norm_type)
    try:
        if scale_grad_by_freq and derives(weight):
            y = scaled_embedding(weight, rows, _shares(weight, rows))
        else:
            y = index_select(weight, 0, rows)
    except IndexOutOfRange as error:  # the message should describe this op and not the op that read the table
        raise out_of_range("embedding", error.index, Spec(weight.layout, weight.dtype), 0) from None
    if padding is not None and derives(y):
        y = _without_gradient(y, rows, weight.shape[0], padding)
    return y if input.ndim == 1 else y.reshape(*input.shape, weight.shape[1])


@composed()
def one_hot(tensor: Annotated[Tensor, Integral], num_classes: Int = -1) -> Tensor:
    """Return int64 vectors with 1 at the position of each class, and 0 elsewhere.

    tensor: integer classes, of any shape; the result has one dim more.
    num_classes: the length of a vector; -1 selects the largest class plus 1.
    Raises DTypeError if `tensor` is not an integer tensor, ArgumentError if `num_classes` is neither positive nor -1,
    or is -1 for an empty tensor, and IndexOutOfRange for a class outside 0 to num_classes - 1.  Not differentiable.
    """
    if num_classes < 1 and (num_classes != -1 or not tensor.numel()):
        raise ArgumentError(
            f"one_hot: num_classes must be positive, or -1 for a tensor with elements, got {num_classes} for "
            f"{describe(tensor)}; pass the number of classes"
        )
    if num_classes == -1:
        low, high = ends_of(tensor)
        num_classes = high + 1 if low >= 0 else 1  # the op refuses a negative class
    return marked_classes(tensor, classes=num_classes)


@kernel(
    dtype=index_dtype, shape=lambda op, target, *, classes: (*target.shape, classes), namespace=(), label="one_hot",
    batch="front",
)  # fmt: skip
def marked_classes(steps, out, target: Tensor, *, classes: Int):
    """Return vectors with 1 at the position of each class.  The launch raises IndexOutOfRange for another class."""
    minus = steps.constant(-1, int64)
    steps.ask(Unpick(NO_CLASS, "none"), out, minus.seen(minus.layout.expand(target.shape)), target)
    return steps.launch.within(ClassLimits(steps.backend, "one_hot", 0, target, classes, None))


def _padding(weight: Tensor, padding_idx: int) -> int:
    """Return padding_idx, counted from the first row.  Raises IndexOutOfRange for a row that does not exist."""
    n, padding = weight.shape[0], as_int(padding_idx, "padding_idx", "embedding")
    if not -n <= padding < n:
        raise IndexOutOfRange(
            f"embedding: padding_idx must be from {-n} to {n - 1} for the weight {describe(weight)}, got {padding}; "
            "pass the index of a row"
        )
    return padding % n


def _without_gradient(y: Tensor, rows: Tensor, n: int, padding: int) -> Tensor:
    """Return y, without a gradient where the padding row of a table of n rows was read."""
    positions = cast(rows, dtype=int64)  # a narrow dtype may not be able to represent the row index
    padded = (positions == padding) | (positions == padding - n)
    return where(unsqueeze(padded, dim=1), y.detach(), y)


def _shares(weight: Tensor, rows: Tensor) -> Tensor:
    """Return, for each index, 1 divided by the number of times that its row is read."""
    # The dtypes float16 and bfloat16 cannot represent large counts.
    dtype = float32 if weight.dtype.itemsize == 2 else weight.dtype
    once = ones(rows.shape, dtype=int64, device=rows.device)
    times = index_add(zeros(weight.shape[0], dtype=int64, device=rows.device), 0, rows, once)
    return 1.0 / cast(index_select(times, 0, rows), dtype=dtype)


def _shrink(weight: Tensor, rows: Tensor, max_norm: Any, norm_type: Any) -> None:
    """Scale the rows that are read down to max_norm, in place.  All checks run before the first write."""
    expect_numbers("embedding", max_norm=max_norm, norm_type=norm_type)
    Floating.expect("embedding", **{"weight with max_norm": weight})
    n = weight.shape[0]
    named = np.unique(host_array(rows).astype(np.int64))
    wrong = named[(named < -n) | (named >= n)]
    if wrong.size:
        raise out_of_range("embedding", int(wrong[0]), Spec(weight.layout, weight.dtype), 0)
    named = np.unique(named % n)
    with no_grad():
        read = wide(index_select(weight.detach(), 0, tensor(named, device=weight.device)))
        norms = norm(read, float(norm_type), 1)
        large = norms > max_norm
        mask = np.zeros(n, np.bool_)
        mask[named[host_array(large)]] = True
        if mask.any():
            # 1e-7 is added to the norm, as in PyTorch, so that the new norm is not larger than max_norm.
            scaled = read * unsqueeze(max_norm / (norms + 1e-7), dim=1)
            set_item(weight, tensor(mask, device=weight.device), scaled[large])


# ---- bags: the sum, the mean or the maximum of the rows that each bag of indices selects -----------------------------


MODES = ("sum", "mean", "max")


@composed()
def embedding_bag(
    input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None, norm_type: float = 2,
    scale_grad_by_freq: bool = False, mode: Annotated[str, Choice("mean", "sum", "max")] = "mean", sparse: bool = False,
    per_sample_weights: Tensor | None = None, include_last_offset: Flag = False, padding_idx: int | None = None,
) -> Tensor:  # fmt: skip
    """Return one row per bag: the sum, the mean or the maximum of the rows of `weight` that the bag selects.

    input: Row indices: integers (B, n) with one bag per row, or a vector (L,) in which bag k begins at offsets[k].
    weight: Matrix (num_embeddings, size) whose rows are selected.
    offsets: Start of each bag in a vector `input`: ascending integers (B,) that begin with 0. With
    `include_last_offset`, there are B + 1 integers, and the last integer is the end of the last bag.
    mode: "sum", "mean" or "max". The result of an empty bag is 0.
    per_sample_weights: Factor of each row, in the shape of `input`; only with mode "sum".
    padding_idx: Row that does not count in any bag.
    max_norm, norm_type, scale_grad_by_freq and sparse: As for `embedding`.

    Gradient: For each row of a bag, g for "sum", and g divided by the size of the bag for "mean"; for "max", g at the
    first row that attains the maximum. For per_sample_weights, it is the inner product of g and the row.
    """
    flat, bag, count = expect_bags(input, offsets, include_last_offset)
    if per_sample_weights is not None:
        Choice("sum", advice="pass mode='sum', for example").expect(
            "embedding_bag", **{"mode with per_sample_weights": mode}
        )
    if scale_grad_by_freq:
        Choice("sum", "mean", advice="pass scale_grad_by_freq=False").expect(
            "embedding_bag", **{"mode with scale_grad_by_freq": mode}
        )
    if not count:
        return zeros_of((0, weight.shape[1]), weight)
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
    flat = where(bag < bags, flat, 0) if bags < count and flat.shape[0] else flat
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
            f"{describe(input)} and {shown}; pass the start of each bag as offsets"
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
