"""Convolution on CUDA: each part is a product whose right operand is an image read through windows.

The loops are the tiles of `kernels/cuda/tile.py`.  A gradient of the image is a product for each phase of the stride:
elements that are one stride apart have the same taps.  A gradient of the weight sums over the batch and all positions;
this sum is cut into pieces if there are few weights.  All shapes are made 3-d by leading dims of size 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import gcd, prod
from typing import Any

from minigrad.backends.base import serves
from minigrad.backends.cuda.family import CudaBackend, CudaSteps
from minigrad.backends.cuda.loops import COUNT_32, magic_of
from minigrad.backends.cuda.matmul import add_product, by_tensor_cores, tiled
from minigrad.backends.cuda.tiles import Way, registers, tile_for
from minigrad.backends.shared import points_of
from minigrad.backends.steps import Ints, Value, split
from minigrad.core import requests


@dataclass(frozen=True)
class Seen:
    """One dim of a convolution.  An output reads the image at the position output * stride + low + tap * gap."""

    outputs: int
    taps: int
    image: int
    stride: int
    low: int
    gap: int


@serves(CudaBackend, requests.Convolve)
def convolve(steps: CudaSteps, request: requests.Convolve) -> None:
    (z,), (first, second, *bias), part, groups = steps.outs, steps.operands, request.part, request.groups
    stride, padding, dilation = request.stride, request.padding, request.dilation
    if part == "input":
        spread(steps, z, first, split(second, 0, groups), (stride, padding, dilation))
        return
    y, x, w = (z, first, second) if part == "output" else (first, second, z)
    sizes, low = [value.shape[2:] for value in (y, w, x)], [-p for p in padding]
    seen = deepened([Seen(*d) for d in zip(*sizes, stride, low, dilation, strict=True)])
    if part == "output":
        correlate(steps, z, x, split(w, 0, groups), bias[0], seen)
    else:
        weigh(steps, split(z, 0, groups), y, x, seen)


def correlate(steps: CudaSteps, z: Value, x: Value, w: Value, bias: Value | None, seen: list[Seen]) -> None:
    """Add the steps that compute outputs z; the weight has dims (group, M, C, taps)."""
    groups, m, c = w.shape[:3]
    if bias is not None and by_points(steps, z, x, w, bias, seen):
        return
    xs, zs, ws = positions(x), positions(z), positions(w, 3)
    numbers, long = windows_of(
        x, seen, (z.shape[0], *[s.outputs for s in seen]), (c, *[s.taps for s in seen]), rows=m, sizes=(groups,),
        a=w.layout.offset, side_0=ws[1], a_k=ws[-4:], a_steps=(ws[0],), b_steps=(c * xs[1],),
        col_move=[s.stride for s in seen], k_move=[s.gap for s in seen],
        b_k=(xs[1], *[s.gap * step for s, step in zip(seen, xs[2:], strict=True)]),
        b_col=(xs[0], *[s.stride * step for s, step in zip(seen, xs[2:], strict=True)]),
    )  # fmt: skip
    step = bias.layout.strides[0] if bias is not None else 0
    result = {
        "to": z.layout.offset, "om": zs[1], "to_col": (zs[0], *zs[2:]), "to_steps": (m * zs[1],),
        "c": bias.layout.offset if bias is not None else 0, "cm": step, "c_steps": (m * step,),
    }  # fmt: skip
    windowed(steps, (z, w, x), bias, numbers, result, long)


def spread(steps: CudaSteps, z: Value, y: Value, w: Value, numbers: tuple[Ints, Ints, Ints]) -> None:
    """Add the steps that compute the image's gradient z from the outputs' gradient y."""
    dims = list(zip(w.shape[3:], *numbers, strict=True))
    # The image and the output exchange their roles, so the two dims of channels of the weight are transposed.
    turned = w.seen(w.layout.transpose(1, 2))
    phases = [
        [phase_of(start, *dim) for start, dim in zip(starts, dims, strict=True)]
        for starts in product(*(range(min(s, n)) for s, n in zip(numbers[0], z.shape[2:], strict=True)))
    ]
    if y.layout.numel == 0 or not all(taps for phase in phases for *_, taps in phase):
        steps.fill(z, 0)
    for phase in phases:
        if y.layout.numel == 0 or not all(taps for *_, taps in phase):
            continue
        layout, weight, seen = z.layout, turned.layout, []
        for d, (start, first, apart, low, gap, taps) in enumerate(phase):
            layout = layout.slice(2 + d, start, None, numbers[0][d])
            weight = weight.slice(3 + d, first, None, apart)
            seen.append(Seen(layout.shape[2 + d], taps, y.shape[2 + d], 1, low, gap))
        correlate(steps, z.seen(layout), y, turned.seen(weight), None, deepened(seen))


def weigh(steps: CudaSteps, z: Value, y: Value, x: Value, seen: list[Seen]) -> None:
    """Add the steps that compute the weight's gradient z, with dims (group, M, C, taps): the sum over outputs y."""
    groups, m, c = z.shape[:3]
    xs, ys, zs = positions(x), positions(y), positions(z, 3)
    numbers, long = windows_of(
        x, seen, (c, *[s.taps for s in seen]), (y.shape[0], *[s.outputs for s in seen]), rows=m, sizes=(groups,),
        a=y.layout.offset, side_0=ys[1], a_k=(ys[0], *ys[2:]), a_steps=(m * ys[1],), b_steps=(c * xs[1],),
        col_move=[s.gap for s in seen], k_move=[s.stride for s in seen],
        b_k=(xs[0], *[s.stride * step for s, step in zip(seen, xs[2:], strict=True)]),
        b_col=(xs[1], *[s.gap * step for s, step in zip(seen, xs[2:], strict=True)]),
    )  # fmt: skip
    result = {"to": z.layout.offset, "om": zs[1], "to_col": zs[-4:], "to_steps": (zs[0],), "c": 0, "cm": 0,
              "c_steps": (0,)}  # fmt: skip
    windowed(steps, (z, y, x), None, numbers, result, long)


def windowed(
    steps: CudaSteps, values: tuple[Value, Value, Value], bias: Value | None, numbers: dict[str, Any],
    result: dict[str, Any], long: bool,
) -> None:  # fmt: skip
    """Add the steps of a product whose right operand is read through windows."""
    out, a, b = values
    mma = by_tensor_cores(steps, a.dtype, b.dtype, out.dtype)
    matrices = numbers["sizes"][0]
    rows, cols, length, size = numbers["rows"], numbers["cols"], numbers["length"], registers(out.dtype).itemsize
    tile = tile_for(rows, cols, matrices, length, size, mma, windows=True)
    way = Way(tile, (True, False), windows=True, long=long)
    result |= {"cn": 0, "on": 0}
    tiled(steps, way, values, (bias, 1, 1), numbers, result)


def by_points(steps: CudaSteps, z: Value, x: Value, w: Value, bias: Value, seen: list[Seen]) -> bool:
    """Compute a convolution of single points as a matrix product, or return False.

    It is False if an output reads more than one point, or if the points are not evenly spaced in memory.
    """
    sees_more = any(s.taps > 1 or s.stride > 1 or s.low or s.outputs != s.image for s in seen)
    values = None if sees_more else points_of(z, x, w, bias)
    if values is None:
        return False
    result, left, right, added = values
    add_product(steps, result, left, right, (added, 1, 1))
    return True


def windows_of(x: Value, seen: list[Seen], cols: Ints, inner: Ints, **more: Any) -> tuple[dict[str, Any], bool]:
    """Return the scalar arguments of a product over windows of x, and whether positions need 64 bits.

    The arguments describe how a column and an inner index are composed, and how they are split.
    """
    first = x.layout.offset + sum(s.low * step for s, step in zip(seen, positions(x)[2:], strict=True))
    numbers: dict[str, Any] = {
        "cols": prod(cols), "length": prod(inner), "inner_0": 0, "inner_1": 0, "side_1": 0, "b": first,
        "low": [s.low for s in seen], "image": [s.image for s in seen], **more,
    }  # fmt: skip
    for name, sizes in (("col", cols), ("k", inner)):
        magic, shift = zip(*(magic_of(max(1, n)) for n in sizes), strict=True)
        numbers |= {f"{name}_sizes": tuple(max(1, n) for n in sizes), f"{name}_magic": magic, f"{name}_shift": shift}
    return numbers, max(numbers["cols"], numbers["length"]) >= COUNT_32 // 2


def deepened(seen: list[Seen]) -> list[Seen]:
    """Return three dims; missing dims in front have size 1."""
    return [Seen(1, 1, 1, 1, 0, 1)] * (3 - len(seen)) + seen


def positions(value: Value, front: int = 2) -> Ints:
    """Return the strides of a tensor as if it had three spatial dims, after `front` other dims."""
    strides = value.layout.strides
    return (*strides[:front], *(0,) * (front + 3 - len(strides)), *strides[front:])


def phase_of(start: int, taps: int, stride: int, padding: int, dilation: int) -> tuple[int, int, int, int, int, int]:
    """Return by which taps the elements start, start + stride, ... of an image contribute to outputs.

    The result is a tuple: start; the first tap and the distance to the next tap; the position of the output for the
    first tap, and the distance to the output for the next tap; and the number of taps.
    """
    apart = stride // gcd(stride, dilation)
    for first in range(min(apart, taps)):
        position = start + padding - first * dilation
        if position % stride == 0:
            return start, first, apart, position // stride, -(apart * dilation // stride), -(-(taps - first) // apart)
    return start, 0, 1, 0, 1, 0
