"""Pooling on CUDA: a thread computes one element of the result or, for a gradient, of the image.

All shapes are made 3-d by leading dims of size 1.  A window is searched in row-major order, so that the first of
several equal elements wins.  The gradient of max pooling takes two kernels.  The first kernel finds the position of the
largest element of each window.  The second kernel computes, for each element of the image, the sum of the incoming
gradients of all windows in which this element is the largest; it adds them in their order, so that sums are the same
in every run.

Free names: `LOAD_0`, `LOAD_1`, `STORE`, `T`; `LOAD_X` for the operand that has the windows; `IDENTITY`, the maximum of
no elements; QUOTIENT, a division.  SPREAD: the elements of a window are not adjacent (dilation).
"""

# mypy: disable-error-code="name-defined, no-untyped-def"
from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cuda.family import CudaBackend, CudaSteps
from minigrad.backends.cuda.loops import COUNT_32, divide, magic_of
from minigrad.backends.steps import Ints, Value
from minigrad.core import requests
from minigrad.core.dtype import DType, int64
from minigrad.core.op import Spec
from minigrad.kernels.cuda.target import CUDA
from minigrad.kernels.fields import Fields, loop
from minigrad.kernels.macros import neutral_text
from minigrad.kernels.pasting import Late
from minigrad.kernels.specialize import load_text

WINDOW = ("window", "stride", "padding")  # the fields that both requests have

# Sizes are those of the result (batch, channels, three dims).  to_steps, x_steps, y_steps: the strides of the result,
# of the image that is searched or the gradient, and of a second operand.  spots: how many windows there are along each
# dim. image: its sizes.  If `given` is set, `divisor` is the divisor of each sum; otherwise `clip` states whether
# padding is excluded from the count.
POOL = Fields(
    "count x y to divisor given clip",
    "sizes[5] magic[5] shift[5] to_steps[5] x_steps[5] y_steps[5] spots[3] image[3] window[3] stride[3] pad[3] "
    "dilation[3] over[3] over_shift[3]",
)


def apart(i, N):
    """Return the five indices of an element of the result."""
    c = QUOTIENT(i, N.sizes[4], N.magic[4], N.shift[4])
    b = QUOTIENT(c, N.sizes[3], N.magic[3], N.shift[3])
    a = QUOTIENT(b, N.sizes[2], N.magic[2], N.shift[2])
    n = QUOTIENT(a, N.sizes[1], N.magic[1], N.shift[1])
    return n, a - n * N.sizes[1], b - a * N.sizes[2], c - b * N.sizes[3], i - c * N.sizes[4]


def search(x, at, a, b, c, N):
    """Return the largest element of a window, nan if there is one, and its first position in the plane.

    The position is -1 if the window has no element.
    """
    best = IDENTITY
    position = np.int64(-1)
    for i in range(N.window[0]):
        p = a * N.stride[0] - N.pad[0] + i * N.dilation[0]
        if p >= 0 and p < N.image[0]:
            for j in range(N.window[1]):
                q = b * N.stride[1] - N.pad[1] + j * N.dilation[1]
                if q >= 0 and q < N.image[1]:
                    for k in range(N.window[2]):
                        r = c * N.stride[2] - N.pad[2] + k * N.dilation[2]
                        if r >= 0 and r < N.image[2]:
                            v = LOAD_X(x[at + p * N.x_steps[2] + q * N.x_steps[3] + r * N.x_steps[4]])
                            if position < 0 or v > best or (v != v and best == best):
                                best = v
                                position = (p * N.image[1] + q) * N.image[2] + r
    return best, position


@loop(POOL, helpers=(apart, search))
def largest(in_0, out, N):
    """out = the largest element of each window."""
    e = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while e < N.count:
        n, m, a, b, c = apart(e, N)
        best = search(in_0, N.x + n * N.x_steps[0] + m * N.x_steps[1], a, b, c, N)[0]
        to = N.to + n * N.to_steps[0] + m * N.to_steps[1] + a * N.to_steps[2] + b * N.to_steps[3] + c * N.to_steps[4]
        out[to] = STORE(best)
        e += np.int64(cuda.gridDim.x) * cuda.blockDim.x


@loop(POOL, helpers=(apart, search), results=1)
def largest_at(in_0, out, positions, N):
    """out = the largest element of each window; positions (y_steps) = its position."""
    e = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while e < N.count:
        n, m, a, b, c = apart(e, N)
        best, position = search(in_0, N.x + n * N.x_steps[0] + m * N.x_steps[1], a, b, c, N)
        to = N.to + n * N.to_steps[0] + m * N.to_steps[1] + a * N.to_steps[2] + b * N.to_steps[3] + c * N.to_steps[4]
        out[to] = STORE(best)
        to = N.y + n * N.y_steps[0] + m * N.y_steps[1] + a * N.y_steps[2] + b * N.y_steps[3] + c * N.y_steps[4]
        positions[to] = max(position, np.int64(0))
        e += np.int64(cuda.gridDim.x) * cuda.blockDim.x


@loop(POOL, helpers=(apart, search))
def located(in_0, out, N):
    """out, dense = the position in the plane of the largest element of each window; -1 for a window of padding."""
    e = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while e < N.count:
        n, m, a, b, c = apart(e, N)
        position = search(in_0, N.x + n * N.x_steps[0] + m * N.x_steps[1], a, b, c, N)[1]
        out[e] = position
        e += np.int64(cuda.gridDim.x) * cuda.blockDim.x


@loop(POOL, helpers=(apart, search))
def picked(in_0, in_1, out, N):
    """out = the element of in_0 (y_steps) where in_1 has the largest of the window; 0 for a window of padding."""
    e = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while e < N.count:
        n, m, a, b, c = apart(e, N)
        position = search(in_1, N.x + n * N.x_steps[0] + m * N.x_steps[1], a, b, c, N)[1]
        value = T(0)
        if position >= 0:
            row = position // N.image[2]
            at = N.y + n * N.y_steps[0] + m * N.y_steps[1]
            at += row // N.image[1] * N.y_steps[2] + row % N.image[1] * N.y_steps[3]
            value = LOAD_0(in_0[at + position % N.image[2] * N.y_steps[4]])
        to = N.to + n * N.to_steps[0] + m * N.to_steps[1] + a * N.to_steps[2] + b * N.to_steps[3] + c * N.to_steps[4]
        out[to] = STORE(value)
        e += np.int64(cuda.gridDim.x) * cuda.blockDim.x


def length(start, window, size, pad, clip):
    """Return how many positions of a window along one dim count."""
    end = min(start + window, size + pad)
    if clip != 0:
        return min(end, size) - max(start, np.int64(0))
    return end - start


def counted(a, b, c, N):
    """Return the divisor of the sum of a window."""
    if N.given != 0:
        return N.divisor
    deep = length(a * N.stride[0] - N.pad[0], N.window[0], N.image[0], N.pad[0], N.clip)
    high = length(b * N.stride[1] - N.pad[1], N.window[1], N.image[1], N.pad[1], N.clip)
    return deep * high * length(c * N.stride[2] - N.pad[2], N.window[2], N.image[2], N.pad[2], N.clip)


@loop(POOL, helpers=(apart, length, counted))
def mean(in_0, out, N):
    """out = the sum of each window, divided by its count."""
    e = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while e < N.count:
        n, m, a, b, c = apart(e, N)
        at = N.x + n * N.x_steps[0] + m * N.x_steps[1]
        acc = T(0)
        for i in range(N.window[0]):
            p = a * N.stride[0] - N.pad[0] + i
            if p >= 0 and p < N.image[0]:
                for j in range(N.window[1]):
                    q = b * N.stride[1] - N.pad[1] + j
                    if q >= 0 and q < N.image[1]:
                        for k in range(N.window[2]):
                            r = c * N.stride[2] - N.pad[2] + k
                            if r >= 0 and r < N.image[2]:
                                acc = T(acc + LOAD_0(in_0[at + p * N.x_steps[2] + q * N.x_steps[3] + r * N.x_steps[4]]))
        to = N.to + n * N.to_steps[0] + m * N.to_steps[1] + a * N.to_steps[2] + b * N.to_steps[3] + c * N.to_steps[4]
        out[to] = STORE(T(acc / T(counted(a, b, c, N))))
        e += np.int64(cuda.gridDim.x) * cuda.blockDim.x


@loop(POOL)
def back(in_K, out, N):
    """out = the sum of in_0 over the windows whose largest element is here; in_1, dense, has the positions of these.

    With MEAN, there is no in_1, and the sum is over all windows that contain the element, each divided by its count.
    """
    e = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while e < N.count:
        n, m, a, b, c = apart(e, N)
        position = (a * N.image[1] + b) * N.image[2] + c
        at = N.x + n * N.x_steps[0] + m * N.x_steps[1]
        first = (n * N.sizes[1] + m) * N.spots[0]
        # The windows that contain an element: from the first that reaches it to the last that begins at or before it.
        i0 = a + N.pad[0]
        j0 = b + N.pad[1]
        k0 = c + N.pad[2]
        i1 = i0 - (N.window[0] - 1) * N.dilation[0] + N.stride[0] - 1
        j1 = j0 - (N.window[1] - 1) * N.dilation[1] + N.stride[1] - 1
        k1 = k0 - (N.window[2] - 1) * N.dilation[2] + N.stride[2] - 1
        i = QUOTIENT(max(i1, np.int64(0)), N.stride[0], N.over[0], N.over_shift[0])
        j_first = QUOTIENT(max(j1, np.int64(0)), N.stride[1], N.over[1], N.over_shift[1])
        k_first = QUOTIENT(max(k1, np.int64(0)), N.stride[2], N.over[2], N.over_shift[2])
        acc = T(0)
        while i < N.spots[0] and i * N.stride[0] <= i0:
            j = j_first
            while j < N.spots[1] and j * N.stride[1] <= j0:
                k = k_first
                while k < N.spots[2] and k * N.stride[2] <= k0:
                    here = True
                    if SPREAD:
                        here = (i0 - i * N.stride[0]) % N.dilation[0] == 0
                        here = here and (j0 - j * N.stride[1]) % N.dilation[1] == 0
                        here = here and (k0 - k * N.stride[2]) % N.dilation[2] == 0
                    if MEAN:
                        share = T(counted(i, j, k, N))
                    else:
                        here = here and in_1[((first + i) * N.spots[1] + j) * N.spots[2] + k] == position
                    if here:
                        value = LOAD_0(in_0[at + i * N.x_steps[2] + j * N.x_steps[3] + k * N.x_steps[4]])
                        if MEAN:
                            value = T(value / share)
                        acc = T(acc + value)
                    k += 1
                j += 1
            i += 1
        to = N.to + n * N.to_steps[0] + m * N.to_steps[1] + a * N.to_steps[2] + b * N.to_steps[3] + c * N.to_steps[4]
        out[to] = STORE(acc)
        e += np.int64(cuda.gridDim.x) * cuda.blockDim.x


@serves(CudaBackend, requests.MaxPool)
def max_pool(steps: CudaSteps, request: requests.MaxPool) -> None:
    out, x, part = steps.outs[0], steps.operands[-1], request.part
    windows = {name: getattr(request, name) for name in (*WINDOW, "dilation")}
    if part != "back":
        h, second = (steps.operands[0],) if part == "pick" else (), steps.outs[1] if part == "positions" else None
        template = {"values": largest, "positions": largest_at, "pick": picked}[part]
        pooling(steps, template, (*h, x), out, x, h[0] if h else second, numbers_of(out, x, x, **windows))
        return
    g = steps.operands[0]
    where = steps.work(g.shape, int64)
    if g.layout.numel:
        pooling(steps, located, (x,), where, x, None, numbers_of(where, x, x, **windows))
    pooling(steps, back, (g, where), out, g, None, numbers_of(out, out, g, **windows), max(request.dilation) > 1)


@serves(CudaBackend, requests.AvgPool)
def avg_pool(steps: CudaSteps, request: requests.AvgPool) -> None:
    (out,), (a,) = steps.outs, steps.operands
    pad_counts, divisor = request.pad_counts, request.divisor
    windows = {name: getattr(request, name) for name in WINDOW}
    adds = request.part == "back"
    windows["dilation"] = (1,) * len(request.window)
    numbers = numbers_of(out, out if adds else a, a if adds else out, **windows)
    numbers |= {"divisor": divisor or 0, "given": int(divisor is not None), "clip": int(not pad_counts)}
    pooling(steps, back if adds else mean, (a,), out, a, None, numbers)


def pooling(
    steps: CudaSteps, template: Any, operands: tuple[Value, ...], out: Value, x: Value, second: Value | None,
    numbers: dict[str, Any], dilated: bool = False,
) -> None:  # fmt: skip
    """Add the step of one of the loops, which computes in the register dtype of the array that it searches or adds.

    `x_steps` are the strides of x, `y_steps` those of `second`.
    """
    for name, spec in (("to", out), ("x", x), ("y", second or x)):
        numbers |= {name: spec.layout.offset, f"{name}_steps": five(spec.layout.strides, 0)}
    count = out.layout.numel
    # The divided values are positions of elements, and along a dim an index plus the padding and a stride.
    long = max(count, *(prod(numbers[name]) for name in ("image", "spots"))) >= COUNT_32 // 2
    adds, average = template is back, len(operands) == 1 and template in (mean, back)
    image = (operands[0] if adds else operands[-1]).dtype
    label = f"{'_mean' * (average and adds)}{'_dilated' * dilated}{'_long' * long}"
    steps.run(
        template, *operands, out, *((second,) if template is largest_at else ()), compute=image.compute, elements=count,
        words=Late(pool_words, (image, adds, average, dilated, long)), form=f"pool_{{}}_{template.__name__}{label}",
        count=count, **numbers,
    )  # fmt: skip


def pool_words(image: DType, adds: bool, average: bool, dilated: bool, long: bool) -> dict[str, Any]:
    """Return the words of a loop."""
    return {
        **({} if long else {"divide": divide}), **({"apart": apart} if adds else {}),
        **({"length": length, "counted": counted} if adds and average else {}),
        "LOAD_X": load_text(image, image.compute, CUDA)[0].replace("{}", "{0}"), "MEAN": average,
        "QUOTIENT": "{0} // {1}" if long else "np.int64(divide(np.uint32({0}), {2}, {3}))",
        "IDENTITY": neutral_text("lowest", image.compute), "SPREAD": dilated,
    }  # fmt: skip


def numbers_of(
    out: Spec, image: Spec, like: Spec, window: Ints, stride: Ints, padding: Ints, dilation: Ints
) -> dict[str, Any]:
    """Return the sizes that the loops read. image: the array of the windows; like: has one element per window."""
    sizes = five(out.shape, 1)
    magic, shift = zip(*map(magic_of, sizes), strict=True)
    numbers: dict[str, Any] = {"sizes": sizes, "magic": magic, "shift": shift, "divisor": 0, "given": 0, "clip": 0}
    of = {"spots": like.shape[2:], "image": image.shape[2:], "window": window, "stride": stride, "dilation": dilation}
    numbers |= {name: (*(1,) * (3 - len(values)), *values) for name, values in of.items()}
    numbers["pad"] = (*(0,) * (3 - len(padding)), *padding)
    over, over_shift = zip(*map(magic_of, numbers["stride"]), strict=True)
    return numbers | {"over": over, "over_shift": over_shift}


def five(values: Ints, missing: int) -> Ints:
    """Return batch, channels and three dims; missing dims come before the others."""
    return (*values[:2], *(missing,) * (5 - len(values)), *values[2:])
