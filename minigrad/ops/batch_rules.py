"""Helpers for the batching rules of ops, which move the batch dim to a position that the op can handle.

A rule with the parameter `flags` receives the operands unchanged.  The flag of an operand is True if the first dim of
the operand is the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minigrad.core.dtype import bool_, promote_all
from minigrad.core.op import Op
from minigrad.ops.casting import cast
from minigrad.ops.shape.views import as_view, expand, permute, reshape
from minigrad.runtime.dispatch import run_view
from minigrad.runtime.tensor import PLAIN, Tensor

AS_VIEW: Op = as_view.op  # type: ignore[attr-defined]
Flags = Sequence[bool]


def stretched(x: Tensor, flag: bool, size: int) -> Tensor:
    """Return x with the batch as its first dim; without the flag, this is a view that repeats x."""
    return x if flag else expand(x, shape=(size, *x.shape))


def ranked(x: Tensor, flag: bool, rank: int, size: int) -> Tensor:
    """Reshape x so that it broadcasts with a batch of tensors of `rank` dims; the dims of x itself come last."""
    if not flag or len(x.layout.shape) > rank:
        return x
    shape = (size, *(1,) * (rank + 1 - x.ndim), *x.shape[1:])
    if x.__class__ in PLAIN:  # the same as `reshape`, without its checks of the arguments
        plan = AS_VIEW.plans.get((x.layout, x.dtype, x.device, shape))
        if plan is not None:
            return run_view(AS_VIEW, plan, x)
    return reshape(x, shape)


def promoted(ranks: Sequence[int], xs: Sequence[Tensor]) -> list[Tensor]:
    """Return the operands of a batched op, cast so that dtypes are promoted as for a single sample.

    In a promotion, an operand without dims has lower priority, but a batch of such operands has a dim and would have
    full priority.  ranks: the number of dims of one sample of each operand.  An operand of bool is not cast.
    """
    wanted = promote_all([(x.dtype, rank) for x, rank in zip(xs, ranks)])
    if promote_all([(x.dtype, x.layout.ndim) for x in xs]) is wanted:
        return list(xs)
    return [x if x.dtype is wanted or x.dtype is bool_ else cast(x, dtype=wanted) for x in xs]


def batch_merged(fn: Callable[..., Any], xs: Sequence[Tensor]) -> Any:
    """Apply an op on tensors (N, ...) to tensors (B, N, ...), by merging the batch and N into one dim."""
    size, n = xs[0].shape[:2]
    result = fn(*[reshape(x, (size * n, *x.shape[2:])) for x in xs])
    parts = result if isinstance(result, tuple) else (result,)
    whole = [reshape(y, (size, n, *y.shape[1:])) for y in parts]
    return type(result)(*whole) if isinstance(result, tuple) else whole[0]


def merged(x: Tensor, order: Sequence[int], first: int, count: int) -> Tensor:
    """Permute the dims of x to `order`, and then merge `count` dims, beginning with `first`, into one."""
    if list(order) != list(range(x.ndim)):
        x = permute(x, dims=tuple(order))
    size = 1
    for n in x.shape[first : first + count]:
        size *= n
    return reshape(x, (*x.shape[:first], size, *x.shape[first + count :]))


def cut(x: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """Return a tensor with one dim split into several dims of the given sizes."""
    return reshape(x, (*x.shape[:dim], *sizes, *x.shape[dim + 1 :]))


def to_front(x: Tensor, dim: int) -> Tensor:
    """Return a view of a tensor with one dim moved to the front."""
    return permute(x, dims=(dim, *[d for d in range(x.ndim) if d != dim]))


# ---- products -------------------------------------------------------------------------------------------------------

# Smallest number of columns for one product per sample; with fewer, a single product of copied samples is faster.
NARROW = 16


def batched_product(multiply: Callable[..., Any], a: Tensor, b: Tensor, flags: Flags, size: int) -> Tensor:
    """Return a @ b for each sample; if all samples share an operand, by one product of larger matrices if possible."""
    many_a, many_b = flags
    rows, columns = a.ndim - many_a, b.ndim - many_b  # the number of dims of one sample, without the batch dim
    y: Tensor
    if many_a and not many_b and columns <= 2:
        y = multiply(reshape(a, (-1, a.shape[-1])) if a.numel() else a, b)
        return reshape(y, (*a.shape[:-1], *b.shape[1:])) if a.numel() else y
    if many_b and not many_a and rows == 2 and columns == 1:
        y = multiply(b, a.mT)
        return y
    if many_b and not many_a and rows == columns == 2 and b.shape[2] < NARROW and b.numel():
        joined = merged(b, (1, 0, 2), 1, 2)
        return to_front(cut(multiply(a, joined), 1, (size, b.shape[2])), 1)
    a = reshape(a, (*a.shape[:-1], 1, a.shape[-1])) if rows == 1 else a
    b = reshape(b, (*b.shape, 1)) if columns == 1 else b
    rank = max(a.ndim - many_a, b.ndim - many_b)
    y = multiply(ranked(a, many_a, rank, size), ranked(b, many_b, rank, size))
    kept = [*y.shape[:-2], *([] if rows == 1 else [y.shape[-2]]), *([] if columns == 1 else [y.shape[-1]])]
    return reshape(y, tuple(kept)) if rows == 1 or columns == 1 else y


# ---- convolutions ---------------------------------------------------------------------------------------------------

# A convolution and its gradients contract y[N, O] x[N, C] w[O, C] over one of N, O and C.  For each of these three: its
# dim in each operand that has it, and whether groups divide this dim.
POSITIONS = {
    "N": {"x": (0, False), "y": (0, False)},
    "O": {"y": (1, True), "w": (0, True)},
    "C": {"x": (1, True), "w": (1, False)},
}
OWN = {"x": 1, "y": 1, "w": 0}  # the dim whose groups the batch multiplies, if both operands have the batch


def into(x: Tensor, dim: int, groups: int) -> Tensor:
    """Move the batch dim of x into each group of another dim: (B, ..., C, ...) to (..., groups * B * C/groups, ...)."""
    parts = cut(x, dim + 1, (groups, x.shape[dim + 1] // groups))
    return merged(parts, (*range(1, dim + 2), 0, *range(dim + 2, parts.ndim)), dim, 3)


def out_of(y: Tensor, dim: int, groups: int, size: int) -> Tensor:
    """Undo `into`: move the batch from within the groups of a dim to the front."""
    parts = to_front(cut(y, dim, (groups, size, y.shape[dim] // (groups * size))), dim + 1)
    return merged(parts, range(parts.ndim), dim + 1, 2)


def batched_conv(
    conv: Callable[..., Any], names: str, xs: Sequence[Tensor], flags: Flags, many: int, groups: int, **params: Any
) -> Tensor:
    """Return the results of a convolution for a batch of `many` samples, from one convolution.

    names: three letters for the two operands and the result, such as "xwy": x is the images, w the weight, and y the
    output.  If only one operand has a batch dim, this dim is merged into the dim that the operand shares with the
    result in POSITIONS: the images, the output channels or the input channels.  Channels are merged within each group.
    If both operands have a batch dim, the number of groups is multiplied by `many`.  The result of an empty batch has
    the shape of a sample, which is a sum over no samples.
    """
    if not many:
        y = conv(*[x.sum(0) if flag else x for x, flag in zip(xs, flags)], groups=groups, **params)
        return expand(y, shape=(0, *y.shape))
    if flags[0] and flags[1]:
        operands = [into(x, OWN[name], 1) for x, name in zip(xs, names)]
        return out_of(conv(*operands, groups=groups * many, **params), OWN[names[2]], 1, many)
    k = 0 if flags[0] else 1
    dims = next(where for where in POSITIONS.values() if names[k] in where and names[2] in where)
    dim, parted = dims[names[k]]
    operands = list(xs)
    operands[k] = into(xs[k], dim, groups if parted else 1)
    y = conv(*operands, groups=groups, **params)
    dim, parted = dims[names[2]]
    return out_of(y, dim, groups if parted else 1, many)
