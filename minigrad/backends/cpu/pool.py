"""Pooling on the CPU: the scalar arguments of the loops of `kernels/cpu/pool.py` and `maxima.py`.

All shapes are made 3-d by leading dims of size 1, as for convolution.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, CpuSteps
from minigrad.backends.steps import Ints, Value, split
from minigrad.core import requests
from minigrad.core.dtype import DType, as_dtype, int64
from minigrad.core.op import Spec
from minigrad.core.shape import window_counts
from minigrad.kernels.cpu import maxima, pool
from minigrad.kernels.macros import expression_macro, neutral_text
from minigrad.kernels.pasting import Late, Macro
from minigrad.kernels.specialize import load_text

# Defines how `pooled` combines two values, and how it computes a result from these values.
LARGEST = ("{1} if ({1} > {0}) | ({1} != {1}) else {0}", "{0}")
MEAN = ("{0} + {1}", "T({0} * T({1} * {2}))")
TEMPLATES: dict[str, Callable[..., Any]] = {
    "values": pool.pooled,
    "positions": maxima.max_pool_indices, "pick": maxima.max_pool_pick, "back": maxima.max_pool_back,
}  # fmt: skip
TASK = 4096  # approximate number of elements of the image per task
COST = 2  # cost of one element of the image, in additions
TOGETHER = 64  # planes with fewer outputs are joined until about this number of outputs is computed together
NARROW = 16  # about the number of columns of outputs that fill one vector
SMALL = 1024  # maximum number of outputs of a plane; they stay in the first-level cache
ONES = {"window", "stride", "dilation"}  # parameters that are 1 along a dim that is not pooled; there the padding is 0


WINDOW = ("window", "stride", "padding")  # the fields that both requests have


@serves(CpuBackend, requests.MaxPool)
def largest(steps: CpuSteps, request: requests.MaxPool) -> None:
    part, windows = request.part, {name: getattr(request, name) for name in (*WINDOW, "dilation")}
    # `before` has the positions of the maxima (the second result), or the values to read or to add.
    out, x, before = steps.outs[0], steps.operands[-1], [*steps.outs[1:], *steps.operands[:-1]]
    reads = part in ("pick", "back")
    outputs = before[0] if part == "back" else out
    if len(windows["window"]) < 3 and (reads or not before):
        groups = groups_of(outputs.shape)
        x, out, outputs, *before = (split(value, 1, groups) for value in (x, out, outputs, *before))
        windows = {name: (int(name in ONES), *sizes) for name, sizes in windows.items()}
    numbers = numbers_of(outputs, x, before[0] if reads else x, out, part == "values", **windows)
    tables = [] if part == "values" else [steps.constant(tables_of(outputs.shape, x.shape, **windows), int64)]
    run_windows(steps, TEMPLATES[part], x, outputs, windows["window"], numbers, tables)


@serves(CpuBackend, requests.AvgPool)
def average(steps: CpuSteps, request: requests.AvgPool) -> None:
    """Add the loop of means, whose loops read the reciprocals of the counts."""
    (out,), (a,) = steps.outs, steps.operands
    windows = {name: getattr(request, name) for name in WINDOW}
    back = request.part == "back"
    means, image = (a, out) if back else (out, a)
    if len(windows["window"]) < 3:
        means, image = (split(value, 1, groups_of(means.shape)) for value in (means, image))
        windows = {name: (int(name in ONES), *sizes) for name, sizes in windows.items()}
        a, out = (means, image) if back else (image, means)
    counts = reciprocals(means.shape, image.shape, **windows, pad_counts=request.pad_counts, divisor=request.divisor)
    ones = (1,) * len(windows["window"])
    numbers = numbers_of(means, image, a, out, not back, **windows, dilation=ones)
    shares = steps.constant(counts, as_dtype(a.dtype.compute))
    template = pool.avg_pool_back if back else pool.pooled
    run_windows(steps, template, image, means, windows["window"], numbers, [shares])


def run_windows(
    steps: CpuSteps, template: Callable[..., Any], image: Spec, outputs: Spec, window: Ints, numbers: dict[str, Any],
    tables: list[Value],
) -> None:  # fmt: skip
    """Add one of the loops, which read the image and each element of each window.

    It computes in the register dtype of the last operand.
    """
    name, last = template.__name__, steps.operands[-1].dtype
    mean = template is pool.pooled and len(tables) > 0
    if template is pool.pooled:
        name = "avg_pool" if mean else "max_pool"
    steps.run(
        template, *steps.operands, *steps.outs, *tables, words=Late(window_words, (name, last, mean)),
        compute=last.compute, cost=COST, numel=image.layout.numel + outputs.layout.numel * prod(window), **numbers,
    )  # fmt: skip


def window_words(name: str, image: DType, mean: bool) -> dict[str, Any]:
    """Return the words of the loops. mean: whether they compute means, whose counts are another operand."""
    (join, finish), lowest = MEAN if mean else LARGEST, neutral_text("lowest", image.compute)
    macros = {"LOAD_X": load_text(image, image.compute)[0], "COMBINE": join, "FINISH": finish}
    return {name: Macro(expression_macro(text)) for name, text in macros.items()} | {
        "IDENTITY": "T(0)" if mean else lowest, "MEAN": mean,
        "arrays": ("out", "counts") if mean else ("out",), "name": f"pool_{name}_{{all}}",
    }  # fmt: skip


def groups_of(outputs: Ints) -> int:
    """Return the number of groups of channels whose small planes are computed as one."""
    most = max(1, TOGETHER // prod(outputs[2:]))
    return outputs[1] // max(count for count in range(1, min(most, outputs[1]) + 1) if outputs[1] % count == 0)


def numbers_of(
    outputs: Spec, x: Spec, y: Spec, out: Spec, rows: bool, window: Ints, stride: Ints, padding: Ints, dilation: Ints
) -> dict[str, Any]:
    """Return the number of tasks, and the numbers.  A task is a plane or some rows of outputs."""
    ones, none = (1,) * (3 - len(window)), (0,) * (3 - len(window))
    values: dict[str, int] = {"channels": x.shape[1], "to": out.layout.offset}
    sizes = {
        "out": (*ones, *outputs.shape[2:]), "size": (*ones, *x.shape[2:]), "window": (*ones, *window),
        "stride": (*ones, *stride), "pad": (*none, *padding), "dilation": (*ones, *dilation),
    }  # fmt: skip
    for name, layout in (("x", x.layout), ("y", y.layout)):
        values |= {name: layout.offset, f"{name}_image": layout.strides[0], f"{name}_channel": layout.strides[1]}
        sizes[name] = (*none, *layout.strides[2:])
    values |= {f"{name}{d}": of[d] for name, of in sizes.items() for d in range(3)}
    wide = values["size2"] * max(1, values["stride1"])
    values["offsets"] = 2 * sum(sizes["window"]) + sum(sizes["out"])  # the index where the offsets begin in the tables
    values["rows"] = max(1, min(values["out1"], TASK // max(1, wide)))
    values["narrow"] = is_narrow(values)
    rows = rows and not values["narrow"]
    parts = values["out0"] * -(-values["out1"] // values["rows"]) if rows else 1
    return {"tasks": x.shape[0] * x.shape[1] * parts, **values}


def is_narrow(values: Mapping[str, int]) -> bool:
    """Return whether all outputs of a plane are computed together, since its rows are too short for separate loops.

    With padding this would read memory outside the image.
    """
    ends = [
        (values[f"out{d}"] - 1) * values[f"stride{d}"] + (values[f"window{d}"] - 1) * values[f"dilation{d}"]
        for d in range(3)
    ]
    inside = all(values[f"pad{d}"] == 0 and end < values[f"size{d}"] for d, end in enumerate(ends))
    return inside and values["out2"] <= NARROW and values["out0"] * values["out1"] * values["out2"] <= SMALL


def tables_of(
    outputs: Ints, image: Ints, window: Ints, stride: Ints, padding: Ints, dilation: Ints
) -> NDArray[np.int64]:
    """Return the tables that the docstring of `maxima.py` describes, for three dims."""
    missing = 3 - len(window)
    dims = [(1, 1, 1, 1, 0, 1)] * missing
    dims += zip(outputs[2:], image[2:], window, stride, padding, dilation, strict=True)
    ends, starts = [], []
    for count, size, taps, step, pad, spread in dims:
        # There is one position for each tap of each output.
        position = np.arange(count) * step - pad + np.arange(taps)[:, None] * spread
        inside = (position >= 0) & (position < size)
        first = inside.argmax(1)
        ends.append(np.stack([first, first + inside.sum(1)], 1).ravel())
        starts.append(np.where(inside.any(0), inside.argmax(0), -1))
    at = [np.arange(taps) * spread for _, _, taps, _, _, spread in dims]
    _, size1, size2 = (d[1] for d in dims)
    offsets = (at[0][:, None, None] * size1 + at[1][:, None]) * size2 + at[2]
    return np.concatenate([*ends, *starts, offsets.ravel()])


def reciprocals(
    outputs: Ints, image: Ints, window: Ints, stride: Ints, padding: Ints, pad_counts: bool, divisor: int | None
) -> NDArray[np.float64]:
    """Return, for each output along each of three dims, the reciprocal of the number of elements that count.

    The product of three such reciprocals is the reciprocal for a window.
    """
    parts = [np.ones(1)] * (3 - len(window))
    for d in range(len(window)):
        counts = window_counts(outputs[2 + d], image[2 + d], window[d], stride[d], padding[d], pad_counts)
        parts.append(1 / counts.astype(np.float64) if divisor is None else np.ones(len(counts)))
    if divisor is not None:
        parts[0] = parts[0] / divisor
    return np.concatenate(parts)
