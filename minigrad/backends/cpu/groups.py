"""Groups of channels on the CPU: rows of dense memory, divided between threads in chunks."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, headed, kind_of
from minigrad.backends.cpu.loops import CHUNK
from minigrad.backends.cpu.texts import bits
from minigrad.backends.launch import NO_STEPS, Launch
from minigrad.backends.steps import Steps, Value
from minigrad.core import requests
from minigrad.core.dtype import DType, as_dtype
from minigrad.core.plan import pieces
from minigrad.kernels.cpu import groups
from minigrad.kernels.specialize import write_kernel
from minigrad.kernels.store import load

COST = 8  # approximate cost of an element, in additions


@serves(CpuBackend, requests.NormalizeGroups)
def normalize(steps: Steps, request: requests.NormalizeGroups) -> Launch:
    (out,), (x, weight, bias), groups, eps = steps.outs, steps.operands, request.groups, request.eps
    if not out.layout.numel:
        return NO_STEPS
    x = steps.dense(x)
    kernel, tasks, numbers = _rows(steps, write_normalized, x, weight, groups, eps, (bias.dtype, out.dtype), {
        "to": out.layout.offset, "bias": bias.layout.offset, "bias_step": bias.layout.strides[0]})  # fmt: skip
    steps.then(kernel, x, weight, bias, *steps.outs, numbers=headed(tasks, numbers))
    return steps.launch


@serves(CpuBackend, requests.GroupGradients)
def group_gradients(steps: Steps, request: requests.GroupGradients) -> Launch:
    (dx, dweight, dbias), (x, g, weight) = steps.outs, steps.operands
    groups, eps = request.groups, request.eps
    if not dx.layout.numel:
        for line in steps.outs[1:]:
            steps.fill(line, 0)
        return steps.launch
    x, g = steps.dense(x), steps.dense(g)
    work = steps.work((2 * x.shape[0] * x.shape[1],), as_dtype(dx.dtype.compute))
    kernel, tasks, numbers = _rows(steps, write_gradients, x, weight, groups, eps, (g.dtype, dx.dtype), {
        "to": dx.layout.offset, "g": g.layout.offset, "to_weight": dweight.layout.offset,
        "to_bias": dbias.layout.offset})  # fmt: skip
    steps.then(kernel, x, g, weight, work, *steps.outs, numbers=headed(tasks, numbers, end=tasks > 1))
    return steps.launch


def _rows(
    steps: Steps, writer: Callable[..., Any], x: Value, weight: Value, parts: int, eps: float, more: tuple[DType, ...],
    values: dict[str, int],
) -> tuple[Any, int, list[int]]:  # fmt: skip
    """Return the kernel for dense rows, the number of tasks, and the arguments."""
    images, channels, *sizes = x.shape
    size = prod(sizes)
    chunk, chunks = pieces(images * parts, CHUNK // (channels // parts * size))
    kernel = steps.backend.kernel(writer, x.dtype, weight.dtype, *more, kind=kind_of(x.layout.numel, chunks, COST))
    numbers = groups.GROUPS.pack(**{
        "rows": images * parts, "chunk": chunk, "chunks": chunks, "groups": parts,
        "channels": channels // parts, "size": size, "eps": bits(eps), "x": x.layout.offset,
        "weight": weight.layout.offset, "weight_step": weight.layout.strides[0], "g": 0, "bias": 0, "bias_step": 0,
        "to_weight": 0, "to_bias": 0, **values})  # fmt: skip
    return kernel, chunks, numbers


def write_normalized(x: DType, weight: DType, bias: DType, out: DType) -> Any:
    """Write the kernel of the normalised rows."""
    operands = (x, weight, bias)
    return write(groups.normalized, (groups.mean, groups.squares), operands, out, (*operands, out), "out")


def write_gradients(x: DType, weight: DType, g: DType, out: DType) -> Any:
    """Write the kernel of the gradients of all three operands."""
    operands, results = (x, g, weight), (out, out, out)
    arrays = (*operands, as_dtype(out.compute), *results)
    return write(groups.gradients, (groups.mean, groups.products), operands, out, arrays, "dx, dweight, dbias")


def write(
    template: Callable[..., Any], helpers: tuple[Callable[..., Any], ...], operands: tuple[DType, ...], out: DType,
    arrays: tuple[DType, ...], results: str,
) -> Any:  # fmt: skip
    """Write, compile and import one of the loops."""
    text = write_kernel(
        f"groups: {', '.join(map(str, operands))} -> {out}, {template.__name__}.", template, operands=operands, out=out,
        arrays=arrays, helpers=helpers, fastmath=("reassoc",), fields=groups.GROUPS, results=results,
    )  # fmt: skip
    return load(f"parts{template.__name__}_{'_'.join(d.short for d in (*operands, out))}", text)
