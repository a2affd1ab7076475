"""Embeddings: the rows of a table at given indices, and the gradient of the table; one_hot."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from minigrad.backends.launch import remapped
from minigrad.backends.limits import ClassLimits, out_of_range
from minigrad.backends.steps import Steps
from minigrad.core.conditions import Floating, Integral
from minigrad.core.dtype import float32, int64
from minigrad.core.op import Op, Spec
from minigrad.core.requests import Select, Unpick
from minigrad.core.roles import Int
from minigrad.core.shape import as_int
from minigrad.declare.decorators import composed, kernel
from minigrad.declare.rules import index_dtype
from minigrad.errors import ArgumentError, DTypeError, IndexOutOfRange, ShapeError
from minigrad.ops.batch_rules import Flags, cut, merged, stretched, to_front
from minigrad.ops.casting import cast, same_dtype
from minigrad.ops.creation import expect_numbers, ones, tensor, zeros
from minigrad.ops.indexing.assignment import set_item
from minigrad.ops.indexing.gathering import index_add, index_select, watched, zeros_of
from minigrad.ops.indexing.searching import ends_of
from minigrad.ops.nn.classes import NO_CLASS
from minigrad.ops.pointwise.compare import where
from minigrad.ops.reduction.norms import norm
from minigrad.ops.reduction.sums import wide
from minigrad.ops.shape.joining import stack
from minigrad.ops.shape.views import reshape, select, unsqueeze
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
    launch = backend.prepare(Select(0), out, x, index)
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
            "the indices first",
            op="embedding",
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
    sparse: must be False, because gradients are dense.
    Gradient: g, added to each row that was read.
    Raises IndexOutOfRange for a row that does not exist, ArgumentError for sparse=True.
    """
    if weight.ndim != 2:
        _refuse_swapped(input, weight)
        raise ShapeError(
            f"embedding: weight must have 2 dims (num_embeddings, embedding_dim), got {describe(weight)}; reshape it",
            op="embedding",
        )
    if not input.dtype.is_int:
        _refuse_swapped(input, weight)
        raise DTypeError(
            f"embedding: input must have an integer dtype, got {describe(input)}; convert it with .long()",
            op="embedding",
        )
    if sparse:
        raise ArgumentError(
            f"embedding: sparse must be False, because the gradient of the weight {describe(weight)} is always dense, "
            "got True; omit sparse",
            op="embedding",
        )
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
            f"{describe(tensor)}; pass the number of classes",
            op="one_hot",
        )
    if num_classes == -1:
        low, high = ends_of(tensor)
        num_classes = high + 1 if low >= 0 else 1  # the op refuses a negative class
    result: Tensor = marked_classes(tensor, classes=num_classes)
    return result


@kernel(
    dtype=index_dtype, shape=lambda op, target, *, classes: (*target.shape, classes), namespace=(), label="one_hot",
    batch=lambda target, *, classes: marked_classes(target, classes=classes),
)  # fmt: skip
def marked_classes(backend, out, target: Tensor, *, classes: Int):
    """Return vectors with 1 at the position of each class.  The launch raises IndexOutOfRange for another class."""
    steps = Steps(backend, (out,), (target,))
    (result,), (indices,) = steps.outs, steps.operands
    minus = steps.constant(-1, int64)
    steps.ask(Unpick(NO_CLASS, "none"), result, minus.seen(minus.layout.expand(indices.shape)), indices)
    return steps.launch.within(ClassLimits(backend, "one_hot", 0, target, classes, None))


def _padding(weight: Tensor, padding_idx: int) -> int:
    """Return padding_idx, counted from the first row.  Raises IndexOutOfRange for a row that does not exist."""
    n, padding = weight.shape[0], as_int(padding_idx, "padding_idx", "embedding")
    if not -n <= padding < n:
        raise IndexOutOfRange(
            f"embedding: padding_idx must be from {-n} to {n - 1} for the weight {describe(weight)}, got {padding}; "
            "pass the index of a row",
            op="embedding",
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
