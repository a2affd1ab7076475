"""Sampling by grids on the CPU: dense operands, and tasks of lines or of positions."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, headed, kind_of
from minigrad.backends.cpu.loops import UNITS
from minigrad.backends.launch import NO_STEPS, Launch
from minigrad.backends.steps import Steps
from minigrad.core import requests
from minigrad.core.dtype import DType
from minigrad.core.op import ScalarFn
from minigrad.core.plan import pieces
from minigrad.kernels.cpu import sampling
from minigrad.kernels.fields import Fields
from minigrad.kernels.pasting import Part, scalar_macro
from minigrad.kernels.specialize import write_kernel
from minigrad.kernels.store import load

BLOCK = 256  # number of positions per block, whose taps fit the first-level cache
LINES = 8  # number of channels that are computed together
TAPS = 4


@serves(CpuBackend, requests.SampleGrid)
def sample_grid(steps: Steps, request: requests.SampleGrid) -> Launch:
    (out,), (a, grid) = steps.outs, steps.operands
    locate, near, beyond, corners, back = request.locate, request.near, request.beyond, request.corners, request.back
    if not out.layout.numel:
        return NO_STEPS
    source, points = (steps.dense(x) for x in steps.operands)
    (images, lines, height, width), count = (out if back else a).shape, prod(grid.shape[1:3])
    part, parts = pieces(lines, max(2 * LINES, images * lines // UNITS // LINES * LINES))
    numbers = sampling.SAMPLE.pack(
        lines=lines, part=part, parts=parts, height=height, width=width, count=count, near=near, beyond=beyond,
        corners=corners, back=back, source=source.layout.offset, grid=points.layout.offset, to=out.layout.offset,
    )  # fmt: skip
    work = max(out.layout.numel, a.layout.numel) * TAPS
    kernel = steps.backend.kernel(write_sample, locate, out.dtype, kind=kind_of(work, images * parts))
    steps.then(kernel, source, points, *steps.outs, numbers=headed(images * parts, numbers))
    return steps.launch


@serves(CpuBackend, requests.GridGradients)
def grid_gradients(steps: Steps, request: requests.GridGradients) -> Launch:
    (out,), (_, a, grid) = steps.outs, steps.operands
    locate, derivative, beyond, corners = request.locate, request.derivative, request.beyond, request.corners
    if not out.layout.numel:
        return NO_STEPS
    head, source, points = (steps.dense(x) for x in steps.operands)
    (images, lines, height, width), count = a.shape, prod(grid.shape[1:3])
    blocks = -(-count // BLOCK)
    numbers = sampling.GRADIENTS.pack(
        lines=lines, blocks=blocks, height=height, width=width, count=count, beyond=beyond, corners=corners,
        g=head.layout.offset, source=source.layout.offset, grid=points.layout.offset, to=out.layout.offset,
    )  # fmt: skip
    work = images * lines * count * TAPS
    kernel = steps.backend.kernel(write_gradients, locate, derivative, out.dtype, kind=kind_of(work, images * blocks))
    steps.then(kernel, head, points, source, *steps.outs, numbers=headed(images * blocks, numbers))
    return steps.launch


def write_sample(locate: ScalarFn, dtype: DType) -> Any:
    """Write, compile and import the loop of both directions."""
    lines = (sampling.gather_lines, sampling.gather_line, sampling.scatter_lines, sampling.scatter_line)
    return write(sampling.sample, 2, sampling.SAMPLE, dtype, {"LOCATE": locate}, lines)


def write_gradients(locate: ScalarFn, derivative: ScalarFn, dtype: DType) -> Any:
    """Write, compile and import the loop of the gradient of a grid."""
    scalars = {"LOCATE": locate, "DERIVATIVE": derivative}
    return write(
        sampling.positions, 3, sampling.GRADIENTS, dtype, scalars, (sampling.add_lines, sampling.write_derivatives)
    )


def write(
    template: Callable[..., Any], operands: int, fields: Fields, dtype: DType, scalars: dict[str, ScalarFn],
    helpers: tuple[Callable[..., Any], ...] = (),
) -> Any:  # fmt: skip
    """Write, compile and import one of the loops.

    helpers: the functions that it calls, in addition to the functions of all loops.
    """
    name, parts = template.__name__, {"WORKSPACES": [Part(sampling.workspaces)], "LEAVE": [Part(sampling.leave_all)]}
    text = write_kernel(
        f"grid_sample, {name}: {dtype}.", template, operands=(dtype,) * operands, out=dtype, fields=fields,
        arrays=(dtype,) * (operands + 1), helpers=(sampling.locate_all, sampling.make_taps, *helpers),
        macros={**parts, **{key: scalar_macro(fn, dtype.compute) for key, fn in scalars.items()}},
        constants={"BLOCK": str(BLOCK), "LINES": str(LINES), "TAPS": str(TAPS)},
    )  # fmt: skip
    return load(f"grid_{name}_{dtype.short}", text)
