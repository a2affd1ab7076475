"""Pooling on CUDA: the scalar arguments of the loops of `kernels/cuda/pool.py`, and a kernel for each use of a window.

All shapes are made 3-d by leading dims of size 1.  The gradient of max pooling takes two kernels.  The first kernel
finds the position of the largest element of each window.  The second kernel computes, for each element of the image,
the sum of the incoming gradients of all windows in which this element is the largest.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from minigrad.backends.base import serves
from minigrad.backends.cuda.family import CudaBackend, line
from minigrad.backends.cuda.loops import COUNT_32, magic_of
from minigrad.backends.cuda.runtime import Program
from minigrad.backends.launch import Loop
from minigrad.backends.steps import Steps
from minigrad.core import requests
from minigrad.core.dtype import DType, int64
from minigrad.core.op import Spec
from minigrad.kernels.cuda import elementwise, pool
from minigrad.kernels.cuda.target import CUDA
from minigrad.kernels.macros import expression_macro, neutral_text
from minigrad.kernels.specialize import load_text, write_kernel

Ints = tuple[int, ...]
Template = Callable[..., Any]


WINDOW = ("window", "stride", "padding")  # the fields that both requests have


@serves(CudaBackend, requests.MaxPool)
def largest(steps: Steps, request: requests.MaxPool) -> Loop:
    out, x, part = steps.outs[0], steps.operands[-1], request.part
    windows = {name: getattr(request, name) for name in (*WINDOW, "dilation")}
    dilated = max(windows["dilation"]) > 1
    if part == "values":
        return pooling(steps, pool.largest, (x.dtype,), out, x, None, numbers_of(out, x, x, **windows))
    if part == "positions":
        return pooling(steps, pool.largest_at, (x.dtype,), out, x, steps.outs[1], numbers_of(out, x, x, **windows))
    if part == "pick":
        h = steps.operands[0]
        return pooling(steps, pool.picked, (h.dtype, x.dtype), out, x, h, numbers_of(out, x, x, **windows))
    g = steps.operands[0]
    where = steps.work(g.shape, int64)
    if g.layout.numel:
        numbers = numbers_of(where, x, x, **windows)
        steps.then(pooling(steps, pool.located, (x.dtype,), where, x, None, numbers), x, where)
    launch = pooling(steps, pool.back, (g.dtype, int64), out, g, None, numbers_of(out, out, g, **windows), dilated)
    steps.then(launch, g, where, out)
    return steps.launch


@serves(CudaBackend, requests.AvgPool)
def average(steps: Steps, request: requests.AvgPool) -> Loop:
    (out,), (a,) = steps.outs, steps.operands
    pad_counts, divisor = request.pad_counts, request.divisor
    windows = {name: getattr(request, name) for name in WINDOW}
    back = request.part == "back"
    windows["dilation"] = (1,) * len(request.window)
    numbers = numbers_of(out, out if back else a, a if back else out, **windows)
    numbers |= {"divisor": divisor or 0, "given": int(divisor is not None), "clip": int(not pad_counts)}
    return pooling(steps, pool.back if back else pool.mean, (a.dtype,), out, a, None, numbers)


def pooling(
    steps: Steps, template: Template, operands: tuple[DType, ...], out: Spec, x: Spec, second: Spec | None,
    numbers: dict[str, Any], dilated: bool = False,
) -> Loop:  # fmt: skip
    """Return the launch of one of the loops.

    `x_steps` are the strides of x, `y_steps` those of `second`.
    """
    for name, spec in (("to", out), ("x", x), ("y", second or x)):
        numbers |= {name: spec.layout.offset, f"{name}_steps": five(spec.layout.strides, 0)}
    count = out.layout.numel
    # The divided values are positions of elements, and along a dim an index plus the padding and a stride.
    long = max(count, *(prod(numbers[name]) for name in ("image", "spots"))) >= COUNT_32 // 2
    kernel = steps.backend.kernel(write_pooling, template, operands, out.dtype, dilated, long)
    return steps.backend.bind(kernel, *line(steps.backend.blocks(count)), pool.POOL.pack(count=count, **numbers))


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


def write_pooling(template: Template, operands: tuple[DType, ...], out: DType, dilated: bool, long: bool) -> Program:
    """Write one of the loops; it computes in the register dtype of the array that it searches or adds."""
    name, back = template.__name__, template is pool.back
    mean = template is pool.mean or (back and len(operands) == 1)
    image = operands[0] if back or mean else operands[-1]
    helpers: list[Template] = [] if long else [elementwise.divide]
    helpers += [pool.apart, *([pool.length, pool.counted] if mean else [] if back else [pool.search])]
    label = f"{name}{'_mean' if mean and back else ''}{'_dilated' if dilated else ''}{'_long' if long else ''}"
    arrays = (*operands, out, *((int64,) if template is pool.largest_at else ()))
    text = write_kernel(
        f"pooling: {', '.join(map(str, operands))} -> {out}; {label}.",
        template,
        operands=operands,
        out=out,
        compute=image.compute,
        macros={
            "LOAD_X": expression_macro(load_text(image, image.compute, CUDA)[0]),
            "QUOTIENT": expression_macro("{0} // {1}" if long else "np.int64(divide(np.uint32({0}), {2}, {3}))"),
        },
        constants={
            "LOWEST": neutral_text("lowest", image.compute), "SPREAD": str(int(dilated)),
            "LARGEST": str(int(back and not mean)), "MEAN": str(int(mean)),
        },
        helpers=helpers,
        fields=pool.POOL,
        results="out, positions" if template is pool.largest_at else "out",
        arrays=arrays,
        target=CUDA,
    )  # fmt: skip
    return Program("_".join(["pool", *(d.short for d in (*operands, out)), label]), text)
