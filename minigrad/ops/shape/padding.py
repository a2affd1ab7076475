"""Padding: surround a tensor with elements of a constant value, or with mirrored, repeated or periodic copies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from math import prod
from typing import Any

import numpy as np

from minigrad.backends.lowering.functions import SUM, TOTAL
from minigrad.core.conditions import Filled, Ndim
from minigrad.core.layout import Layout
from minigrad.core.roles import Factor, Ints
from minigrad.declare.decorators import composed, kernel
from minigrad.declare.names import FUNCTIONAL
from minigrad.declare.rules import joint
from minigrad.errors import ArgumentError, ShapeError
from minigrad.ops.casting import clone, same_dtype
from minigrad.ops.creation import tensor
from minigrad.ops.indexing.gathering import index_select
from minigrad.ops.shape.put import put
from minigrad.ops.shape.views import expand, narrow
from minigrad.runtime.dispatch import number
from minigrad.runtime.tensor import Tensor, describe

MODES = ("reflect", "replicate", "circular")
COLUMNS = 4  # a strip of at most this many columns is copied column by column, which is faster than rows of 4 elements
Pairs = tuple[tuple[int, int], ...]  # for each dim: the number of elements before and after


@composed(out=False, method=False, channels_last=True)
def constant_pad_nd(input: Tensor, pad: Ints, value: Factor = 0) -> Tensor:
    """Return the tensor, surrounded by elements of one value.

    pad: the number of elements to add before and after the last dim, pad[0] and pad[1], then those for the dim before
    it, and so on. Negative counts remove elements.
    Gradient: the part of g at the position of the tensor.
    """
    return with_constant("constant_pad_nd", input, pad, value)


def with_constant(name: str, x: Tensor, pad: Sequence[int], value: complex) -> Tensor:
    """Pad a tensor with elements of one value, or remove elements, for the op `name`."""
    frame = framed(x.shape, tuple(pad))
    if frame is None:
        d = next(d for d, pair in pairs_of(name, x, pad) if x.shape[d] + min(pair[0], 0) + min(pair[1], 0) < 0)
        raise ShapeError(
            f"{name}: negative counts must not remove more elements than dim {d} of {describe(x)} has, got {pad}; pass "
            "smaller counts"
        )
    kept, shape, position = frame
    for d, start, n in kept:
        x = narrow(x, d, start, n)
    if shape == x.shape:
        return clone(x)
    return put(expand(number(value, x.dtype, x.device), shape=shape), x, **position)


@lru_cache(1024)
def framed(shape: tuple[int, ...], pad: tuple[int, ...]) -> Any:
    """Return how to pad a tensor of a shape, or None if the counts do not fit.

    The result has three parts: the dims from which elements are removed, each with the range that stays; the shape of
    the padded tensor; and the position of the tensor in it, as parameters of `put`.
    """
    if len(pad) % 2 or len(pad) > 2 * len(shape):
        return None
    frame, counts, kept = list(shape), [], []
    for d, (before, behind) in pairs_from(len(shape), pad):
        n = shape[d] + min(before, 0) + min(behind, 0)
        if n < 0:
            return None
        if n < shape[d]:
            kept.append((d, max(-before, 0), n))
        frame[d] = n + max(before, 0) + max(behind, 0)
        counts.append((d, max(before, 0), n))
    part = Layout.contiguous(tuple(frame))
    for d, before, n in counts:
        part = part.narrow(d, before, n)
    return kept, tuple(frame), {"size": part.shape, "stride": part.strides, "storage_offset": part.offset}


@composed(namespace=FUNCTIONAL, out=False, channels_last=True)
def pad(input: Tensor, pad: Ints, mode: str = "constant", value: float | None = None) -> Tensor:
    """Return the tensor, surrounded by additional elements.

    pad: the number of elements to add before and after the last dim, pad[0] and pad[1], then those for the dim before
    it, and so on. Negative counts remove elements.
    mode: "constant" pads with `value`, "reflect" mirrors the tensor at its first and last element, "replicate" repeats
    these elements, and "circular" continues with the elements of the other end. The last three modes pad only the dims
    after one leading dim (channels) or two (batch and channels).
    Gradient: each element of g is added to the element of the input that was copied to its position.
    """
    if mode == "constant":
        return with_constant("pad", input, pad, 0 if value is None else value)
    counts = None if value else counts_around(input.layout.shape, pad, mode)
    if counts is not None:
        return surrounded(input, counts=counts, mode=mode)
    if mode not in MODES or value:
        wrong = (
            f"value must be None or 0 for mode={mode!r}, got {value}; pass mode='constant'"
            if mode in MODES
            else f"mode must be one of {('constant', *MODES)}, got {mode!r}; pass mode='constant', for example"
        )
        raise ArgumentError(f"pad: {wrong}")
    k = len(pad) // 2
    Ndim(k + 1, k + 2).expect("pad", **{f"input with mode={mode!r} and {k} pairs of counts": input})
    Filled(input.ndim - 1, "inner dim").expect("pad", input=input)
    for d, pair in pairs_of("pad", input, pad):
        expect_fit(input, d, pair, mode)
        if min(pair) < 0:
            input = index_select(input, d, tensor(around(input.shape[d], pair, mode), device=input.device))
    pairs = [(0, 0)] * (input.ndim - len(pad) // 2)
    pairs += [pair if min(pair) >= 0 else (0, 0) for _, pair in reversed(pairs_from(input.ndim, pad))]
    return surrounded(input, counts=tuple(chain.from_iterable(pairs)), mode=mode)


@lru_cache(1024)
def counts_around(shape: tuple[int, ...], pad: tuple[int, ...], mode: str) -> tuple[int, ...] | None:
    """Return the `counts` of `surrounded` for the arguments of `pad`; None unless they are valid and not negative."""
    pairs = pairs_from(len(shape), pad)
    lead = len(shape) - len(pairs)
    if mode not in MODES or len(pad) % 2 or lead not in (1, 2):
        return None
    if any(
        min(pair) < 0 or max(pair) > limit_of(shape[d], pair, mode) or not shape[d] for d, pair in pairs
    ) or not prod(shape[1:]):
        return None
    return (0,) * 2 * lead + tuple(chain.from_iterable([pair for _, pair in reversed(pairs)]))


@kernel(
    dtype=same_dtype,
    shape=lambda op, input, *, counts, mode: tuple(
        [before + n + behind for n, before, behind in zip(input.shape, counts[::2], counts[1::2])]
    ),
    linear=joint("input"), namespace=(), label="pad",
    vjp=(lambda g, *, counts, mode: taken_back(g, counts=counts, mode=mode),),
    batch=lambda input, *, counts, mode, batch: surrounded(input, counts=(0, 0, *counts), mode=mode), complex=True,
)  # fmt: skip
def surrounded(steps, out, input: Tensor, *, counts, mode):
    """Return a copy of the input, surrounded by copies of its elements by one of the modes of `pad`.

    counts: the numbers of elements to add before and after the first dim, then those for the second dim, and so on.
    Gradient: each element of g is added to the element of the input that was copied to its position.
    """
    pairs = in_pairs(counts)
    # views[k] is the part of the result without the padding of the last k dims; the last view is the centre.
    last, views = len(pairs) - 1, [out]
    for d in reversed(range(len(pairs))):
        views.append(views[-1].at(d, pairs[d][0], input.shape[d]))
    steps.copy(views[-1], input)
    # Strips are copied from the result, which already contains the strips of the dims before: this fills the corners.
    for d in range(len(pairs)):
        for start, strip in strips(views[last - d + 1].layout, d, pairs[d], mode, d == last):
            steps.copy(views[last - d].at(d, start, strip.shape[d]), views[0].seen(strip))


@kernel(
    dtype=same_dtype,
    shape=lambda op, g, *, counts, mode: tuple(
        [n - before - behind for n, before, behind in zip(g.shape, counts[::2], counts[1::2])]
    ),
    linear=joint("g"), namespace=(), label="pad_backward",
    vjp=(lambda g0, *, counts, mode: surrounded(g0, counts=counts, mode=mode),),
    batch=lambda g, *, counts, mode, batch: taken_back(g, counts=(0, 0, *counts), mode=mode), complex=True,
)  # fmt: skip
def taken_back(steps, out, g: Tensor, *, counts, mode):
    """Return the centre of g, with each added element added where it came from: the adjoint of `surrounded`."""
    kept = out.dtype.accumulate  # half precision is rounded once
    centre = steps.work(g.shape, kept if out.dtype.is_float else out.dtype)
    steps.copy(centre, g)
    for d, pair in enumerate(in_pairs(counts)):
        whole, centre = centre, centre.at(d, pair[0], out.shape[d])
        for start, strip in strips(centre.layout, d, pair, mode, d == len(counts) // 2 - 1):
            added, target = whole.at(d, start, strip.shape[d]), centre.seen(strip)
            if mode == "replicate" and strip.shape[d] > 1:
                target, total = target.at(d, 0), steps.work(target.at(d, 0).shape, target.dtype)
                steps.reducer(SUM, total, added, (d,))
                added = total
            steps.each(TOTAL, target, target, added)
    steps.copy(out, centre)


def strips(centre: Layout, d: int, counts: tuple[int, int], mode: str, innermost: bool) -> Iterator[tuple[int, Layout]]:
    """Yield the elements to add along a dim: their start in the result, and the layout from which they are copied.

    innermost: whether the dim is the last one. A strip of few columns is then divided into its columns.
    """
    (before, behind), n = counts, centre.shape[d]
    first, last = {"reflect": (1, n - 1 - behind), "circular": (n - before, 0), "replicate": (0, n - 1)}[mode]
    for start, count, at in ((0, before, first), (before + n, behind, last)):
        strip = centre.narrow(d, at, 1 if mode == "replicate" else count) if count else centre
        if mode == "replicate" and count:
            strip = strip.expand(tuple([count if k == d else size for k, size in enumerate(centre.shape)]))
        wide = 1 if innermost and count <= COLUMNS and mode != "replicate" else max(count, 1)
        for k in range(0, count, wide):
            part = strip.narrow(d, k if mode != "reflect" else count - k - wide, wide)
            yield start + k, part.flip(d) if mode == "reflect" else part


def in_pairs(counts: tuple[int, ...]) -> Pairs:
    """Return counts before and after each dim as pairs."""
    return tuple(zip(counts[::2], counts[1::2]))


def pairs_of(name: str, x: Tensor, pad: Sequence[int]) -> list[tuple[int, tuple[int, int]]]:
    """Return the padded dims, each with its counts before and after.

    Raises ArgumentError if `pad` has an odd length, or too many counts.
    """
    if len(pad) % 2 or len(pad) > 2 * x.ndim:
        raise ArgumentError(
            f"{name}: pad must have two counts per dim, beginning with the last dim, and at most {2 * x.ndim} counts "
            f"for {describe(x)}, got {tuple(pad)}; pass (before, after) for the last dim"
        )
    return pairs_from(x.ndim, pad)


def pairs_from(ndim: int, pad: Sequence[int]) -> list[tuple[int, tuple[int, int]]]:
    """Return the padded dims, the last one first, each with its counts before and after."""
    return [(ndim - 1 - k, (pad[2 * k], pad[2 * k + 1])) for k in range(len(pad) // 2)]


def expect_fit(x: Tensor, d: int, counts: tuple[int, int], mode: str) -> None:
    """Raise ShapeError unless a dim has enough elements for the padding, and keeps at least one of them."""
    n, (before, behind) = x.shape[d], counts
    kept = max(0, n + min(before, 0) + min(behind, 0)) if mode == "circular" else n
    if mode == "circular" and n + before + behind == 0 and max(before, behind) <= n > 0:
        return
    limit = limit_of(n, counts, mode)
    if max(before, behind) > limit or n + before + behind < 1 or not kept:
        raise ShapeError(
            f"pad: with mode={mode!r}, the counts for dim {d} of {describe(x)} must be at most {limit} and leave at "
            f"least one element, got {counts}; pass smaller counts"
        )


def limit_of(n: int, counts: tuple[int, int], mode: str) -> int:
    """Return how many elements can be added before or after a dim of n elements."""
    if mode == "circular":
        return max(0, n + min(counts[0], 0) + min(counts[1], 0))
    return n - 1 if mode == "reflect" else max(counts)


@lru_cache(1024)
def around(n: int, counts: tuple[int, int], mode: str) -> Any:
    """Return, for each position along a padded dim, the position from which its element is copied.

    With "reflect" and "replicate", this may also be an element that negative padding removes.
    """
    before, behind = counts
    if mode == "circular":
        kept = np.arange(n)[max(-before, 0) : max(n + min(behind, 0), 0)]  # negative padding removes elements first
        empty = n + before + behind == 0
        return kept[:0] if empty else np.pad(kept, (max(before, 0), max(behind, 0)), mode="wrap")
    position = np.arange(-before, n + behind)
    return np.clip(position, 0, n - 1) if mode == "replicate" else n - 1 - abs(n - 1 - abs(position))
