"""Convolution on the CPU: where the taps of a kernel lie in a block of the image, and the numbers that the loops read.

The loops are in `kernels/cpu/conv.py`, on the register tile of `kernels/cpu/tile.py`.  A gradient of the image is a
convolution for each phase of the stride: the outputs that are one stride apart see the same taps.  Everything is made
3-d by dims of size 1 in front.  Halves are cast as for a matrix product.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.backends.base import Ints, Launch, serves
from minigrad.backends.cpu.family import nothing
from minigrad.backends.cpu.matmul import WORK, Matmul, dense_like, memory_of, tile_hash
from minigrad.backends.steps import Steps
from minigrad.config import settings
from minigrad.core import requests
from minigrad.core.device import CPU
from minigrad.core.dtype import DType, as_dtype
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.kernels.cpu import conv
from minigrad.kernels.specialize import array_type, write_kernel
from minigrad.kernels.store import load

BLOCK = 3 << 17  # bytes of an image that a task copies: what stays in the second cache next to the weights
TASKS = 16  # blocks that the work is cut into, by the shape
SLABS = 1 << 22  # elements that the partial sums of a weight's gradient may take
tile_sizes: dict[str, tuple[int, int]] = {}

Taps = list[tuple[int, int]]  # (position relative to output * stride, index in the kernel), along one dim


class Field:
    """One dim: outputs, stride, image size, taps; and how a block of outputs sees the image."""

    def __init__(self, outputs: int, stride: int, image: int, taps: Taps) -> None:
        self.outputs, self.stride, self.image, self.taps = outputs, stride, image, taps
        self.block = outputs
        self.low = min(e for e, _ in taps)
        self.phases = sorted({(e - self.low) % stride for e, _ in taps})
        self.reach = max((e - self.low) // stride for e, _ in taps)

    @property
    def slots(self) -> int:
        return self.block + self.reach

    @property
    def blocks(self) -> int:
        return -(-self.outputs // self.block)

    def places(self) -> list[tuple[int, int]]:
        """(phase, slot) of each tap in a block's copy of the image."""
        return [(self.phases.index((e - self.low) % self.stride), (e - self.low) // self.stride) for e, _ in self.taps]


class Conv(Matmul):
    """The preparers of convolution."""

    @serves(requests.Convolve)
    def convolve(self, out: Spec, *operands: Spec, part: str, **numbers: Any) -> Launch:
        return PARTS[part](self, out, *operands, **numbers)

    def conv(
        self, out: Spec, x: Spec, w: Spec, bias: Spec, stride: Ints, padding: Ints, dilation: Ints, groups: int
    ) -> Launch:
        if out.layout.numel == 0:
            return nothing

        def prepare(z: Spec, a: Spec, b: Spec, c: Spec) -> Launch:
            taps = forward_taps(w.shape[2:], padding, dilation)
            return self._correlate(
                z.layout, a.layout, grouped(b.layout, groups), c.layout, taps, stride, groups, z.dtype
            )

        return self._cast(out, (x, w, bias), prepare)

    def conv_input(
        self, out: Spec, y: Spec, w: Spec, stride: Ints, padding: Ints, dilation: Ints, groups: int
    ) -> Launch:
        if out.layout.numel == 0:
            return nothing

        def prepare(z: Spec, a: Spec, b: Spec) -> Launch:
            launches, covered = [], True
            # What the image's channels are to the weight is here what the output's are.
            turned = grouped(b.layout, groups).transpose(1, 2)
            for phase in product(*(range(min(s, n)) for s, n in zip(stride, z.shape[2:], strict=True))):
                taps = [phase_taps(*d) for d in zip(phase, w.shape[2:], stride, padding, dilation, strict=True)]
                if not all(taps):
                    covered = False
                    continue
                layout = z.layout
                for d, first in enumerate(phase):
                    layout = layout.slice(2 + d, first, None, stride[d])
                ones = (1,) * len(stride)
                launches.append(self._correlate(layout, a.layout, turned, None, taps, ones, groups, z.dtype))
            start, end = z.layout.offset, z.layout.offset + z.layout.numel

            def launch(left: NDArray[Any], right: NDArray[Any], buffer: NDArray[Any]) -> None:
                if not covered:
                    buffer[start:end].fill(0)
                for run in launches:
                    run(left, right, right, buffer)

            return launch

        if y.layout.numel == 0:
            return zeros(out)
        return self._cast(out, (y, w), prepare)

    def conv_weight(
        self, out: Spec, y: Spec, x: Spec, stride: Ints, padding: Ints, dilation: Ints, groups: int
    ) -> Launch:
        if out.layout.numel == 0:
            return nothing
        if y.layout.numel == 0:
            return zeros(out)

        def prepare(z: Spec, a: Spec, b: Spec) -> Launch:
            taps = forward_taps(z.shape[2:], padding, dilation)
            return self._correlate_weight(grouped(z.layout, groups), a.layout, b.layout, taps, stride, groups, z.dtype)

        return self._cast(out, (y, x), prepare)

    # ---- dtypes ----

    def _cast(self, out: Spec, operands: Sequence[Spec], prepare: Callable[..., Launch]) -> Launch:
        """The launch that `prepare` makes for specs of one dtype that registers have, with casts around it."""
        dtype = as_dtype(out.dtype.compute)
        if all(x.dtype is dtype for x in (out, *operands)):
            return prepare(out, *operands)
        result = out if out.dtype is dtype else Spec(Layout.contiguous(out.shape), dtype)
        dense = [x if x.dtype is dtype else Spec(dense_like(x.layout), dtype) for x in operands]
        casts = [None if d is x else self.prepare(requests.Copy(), d, x) for d, x in zip(dense, operands, strict=True)]
        launch = prepare(result, *dense)
        back = None if result is out else self.prepare(requests.Copy(), out, result)

        def run(*buffers: NDArray[Any]) -> None:
            stores, given = [], []
            for spec, cast, buffer in zip(dense, casts, buffers[:-1], strict=True):
                if cast is not None:
                    stores.append(self.allocate(memory_of(spec.layout), dtype, CPU))
                    cast(buffer, stores[-1].buffer)
                    buffer = stores[-1].buffer
                given.append(buffer)
            if back is None:
                launch(*given, buffers[-1])
            else:
                store = self.allocate(result.layout.numel, dtype, CPU)
                launch(*given, store.buffer)
                back(store.buffer, buffers[-1])

        return run

    # ---- numbers ----

    def _correlate(
        self, out: Layout, x: Layout, w: Layout, bias: Layout | None, taps: list[Taps], stride: Ints, groups: int,
        dtype: DType,
    ) -> Launch:  # fmt: skip
        """A launch(x, w, bias, out); the weight has dims (group, M, C, taps)."""
        by_point = self._product_of_points(out, x, w, bias, taps, stride, dtype)
        if by_point is not None:
            return by_point
        m, c = w.shape[1:3]
        fields = [Field(1, 1, 1, [(0, 0)])] * (3 - len(stride))
        fields += [Field(*d) for d in zip(out.shape[2:], stride, x.shape[2:], taps, strict=True)]
        work = out.numel * c * len(list(product(*taps))) * dtype.itemsize
        parallel = work >= WORK * settings.parallel_threshold
        kernel = self.kernel(write_correlate, dtype, parallel=parallel)
        mr, nr = tile_sizes[dtype.name]
        tall = -(-m // mr)
        units = out.shape[0] * groups
        cut(fields, units, c * dtype.itemsize, 4 * nr)
        tasks = units * fields[0].blocks * fields[1].blocks * fields[2].blocks
        panels = tall if tasks >= TASKS or not parallel else max(1, -(-tall * tasks // TASKS))
        added = [0, 0, 0, 0] if bias is None else [bias.offset, m * bias.strides[0], bias.strides[0], 1]
        k = c * len(list(product(*taps)))
        by_row = ends_with_rows(fields, k * mr, nr)
        table = numbers_of(fields, out.shape[0], groups, (m, c), x, out, w, [*added, panels], by_row)
        room = groups * tall * mr * (k + added[3])

        def launch(a: NDArray[Any], b: NDArray[Any], more: NDArray[Any], buffer: NDArray[Any]) -> None:
            store = self.allocate(room, dtype, CPU)
            kernel(a, b, more, buffer, store.buffer, table)

        return launch

    def _product_of_points(
        self, out: Layout, x: Layout, w: Layout, bias: Layout | None, taps: list[Taps], stride: Ints, dtype: DType
    ) -> Launch | None:
        """A convolution that sees one point at a time is a matrix product: its launch, or None where it sees more, or
        the points do not lie in a row."""
        sees_more = max(stride) > 1 or any(t != [(0, 0)] for t in taps) or out.shape[2:] != x.shape[2:]
        if sees_more or w.shape[0] > 1 or not out.is_contiguous:
            return None
        n, points, (m, c) = out.shape[0], math.prod(out.shape[2:]), w.shape[1:3]
        matrix, results = x.reshape((n, c, points)), Layout.contiguous((n, m, points), out.offset)
        if matrix is None:
            return None
        weight = Layout.make((n, m, c), (0, *w.strides[1:3]), w.offset)
        added = None if bias is None else Spec(Layout.make((n, m, points), (0, bias.strides[0], 0), bias.offset), dtype)
        given = (Spec(matrix, dtype), Spec(weight, dtype), *([added] if added else []))
        steps = Steps(self, (Spec(results, dtype),), given)
        image, filters, *more = steps.operands
        self.product(steps, steps.outs[0], filters, image, more[0] if more else None)
        launch = steps.launch
        return launch if added else lambda a, b, c, buffer: launch(a, b, buffer)

    def _correlate_weight(
        self, out: Layout, y: Layout, x: Layout, taps: list[Taps], stride: Ints, groups: int, dtype: DType
    ) -> Launch:
        """A launch(y, x, out); out, the weight's gradient, has dims (group, M, C, taps)."""
        m, c = out.shape[1:3]
        fields = [Field(1, 1, 1, [(0, 0)])] * (3 - len(stride))
        fields += [Field(*d) for d in zip(y.shape[2:], stride, x.shape[2:], taps, strict=True)]
        k = c * len(list(product(*taps)))
        parallel = y.numel * k * dtype.itemsize >= WORK * settings.parallel_threshold
        kernel = self.kernel(write_correlate_weight, dtype, parallel=parallel)
        _, nr = tile_sizes[dtype.name]
        pitch = -(-m // nr) * nr
        cut(fields, x.shape[0], (c + pitch) * dtype.itemsize, 4 * nr)
        parts = x.shape[0] * fields[0].blocks * fields[1].blocks * fields[2].blocks
        chunks = min(parts, -(-TASKS // groups), max(2, SLABS // (groups * k * pitch)))
        chunks = -(-parts // -(-parts // chunks))
        table = numbers_of(fields, x.shape[0], groups, (m, c), x, y, out, [0, 0, 0, 0, chunks])
        room = groups * chunks * k * pitch

        def launch(a: NDArray[Any], b: NDArray[Any], buffer: NDArray[Any]) -> None:
            store = self.allocate(room, dtype, CPU)
            kernel(b, a, buffer, store.buffer, table)

        return launch


def forward_taps(kernel: Ints, padding: Ints, dilation: Ints) -> list[Taps]:
    """Along each dim, where the taps read relative to output * stride."""
    return [[(t * d - p, t) for t in range(k)] for k, p, d in zip(kernel, padding, dilation, strict=True)]


def phase_taps(phase: int, kernel: int, stride: int, padding: int, dilation: int) -> Taps:
    """The taps by which elements phase, phase + stride, ... of an image come into outputs, and into which of them."""
    meets = [(phase + padding - t * dilation, t) for t in range(kernel)]
    return [(e // stride, t) for e, t in meets if e % stride == 0]


def grouped(w: Layout, groups: int) -> Layout:
    """A weight (groups * M, C, taps...) as (groups, M, C, taps...)."""
    m = w.shape[0] // groups
    return Layout.make((groups, m, *w.shape[1:]), (m * w.strides[0], *w.strides), w.offset)


def zeros(out: Spec) -> Launch:
    """The launch of a sum over nothing."""
    start, end = out.layout.offset, out.layout.offset + out.layout.numel
    return lambda *buffers: buffers[-1][start:end].fill(0)


def cut(fields: list[Field], units: int, weight: int, least: int) -> None:
    """Cut the first dims into blocks until a block's image fits the cache, and all cores have some.

    units: what is independent anyway.  weight: bytes of an image per position.  least: outputs worth a block.
    """

    def too_much() -> bool:
        phases = [f.slots * len(f.phases) for f in fields]
        return phases[0] * phases[1] * phases[2] * weight > BLOCK

    def too_few() -> bool:
        blocks = units * fields[0].blocks * fields[1].blocks * fields[2].blocks
        outputs = fields[0].block * fields[1].block * fields[2].block
        return blocks < TASKS and outputs >= 2 * least

    for field in fields:
        pieces = 1
        while field.block > 1 and (too_much() or too_few()):
            pieces += 1
            field.block = -(-field.outputs // pieces)
        if not too_much():
            break


def ends_with_rows(fields: list[Field], tile: int, nr: int) -> bool:
    """Whether tiles that end with each row of outputs cost less than tiles that go on into the next row.

    tile: multiply-adds of one column.  A tile takes about two cycles for each, and 40 more; one that crosses from row
    to row has to be taken apart, which costs about 300.
    """
    first, middle, last = fields
    whole = 2 * tile
    rows = first.block * middle.block * -(-last.block // nr) * (whole + 40)
    flat = ((first.block - 1) * middle.slots + middle.block - 1) * last.slots + last.block
    crossing = min(1.0, nr / last.slots)
    return rows < -(-flat // nr) * (whole + 40 + crossing * 300)


def numbers_of(
    fields: list[Field], n: int, groups: int, channels: tuple[int, int], x: Layout, y: Layout, w: Layout,
    more: list[int], by_row: bool = False,
) -> NDArray[np.int64]:  # fmt: skip
    """What the templates read; their docstring lists it.  `more` is from 44 on, `by_row` 52."""
    m, c = channels
    extra = (0,) * (3 - (len(x.shape) - 2))
    taps = list(product(*(f.taps for f in fields)))
    head = [n, groups, m, c, len(taps)]
    for name in ("outputs", "block", "stride", "low", "slots"):
        head += [getattr(f, name) for f in fields]
    head += [len(f.phases) for f in fields]
    head += [f.image for f in fields]
    head += [x.offset, x.strides[0], c * x.strides[1], x.strides[1], *extra, *x.strides[2:]]
    head += [y.offset, y.strides[0], m * y.strides[1], y.strides[1], *extra, *y.strides[2:]]
    head += [w.offset, *w.strides[:3], *more]
    phases = [p for f in fields for p in f.phases]
    steps = (*extra, *w.strides[3:])
    in_weight = [sum(s * t for s, (_, t) in zip(steps, tap, strict=True)) for tap in taps]
    starts = [53, 53 + len(phases), 53 + len(phases) + len(taps)]
    return np.array([*head, *starts, by_row, *phases, *in_weight, *offsets(fields, c, more[3])], np.int64)


def offsets(fields: list[Field], channels: int, bias: int) -> list[int]:
    """Where, in a block's copy of the image, the run of each channel and tap begins; behind it, the ones of a bias."""
    phases, slots = [len(f.phases) for f in fields], [f.slots for f in fields]
    one = slots[0] * slots[1] * slots[2]
    whole = one * phases[0] * phases[1] * phases[2]
    near = [
        ((p0 * phases[1] + p1) * phases[2] + p2) * one + (s0 * slots[1] + s1) * slots[2] + s2
        for (p0, s0), (p1, s1), (p2, s2) in product(*(f.places() for f in fields))
    ]
    return [*(c * whole + place for c in range(channels) for place in near), *[channels * whole] * bias]


# ---- kernels --------------------------------------------------------------------------------------------------------


def write_correlate(dtype: DType, parallel: bool) -> Launch:
    """Write, compile and import the loops that make outputs."""
    return write(conv.correlate, (conv.gather,), "depth", 5, dtype, parallel)


def write_correlate_weight(dtype: DType, parallel: bool) -> Launch:
    """Write, compile and import the loops that sum over outputs."""
    return write(conv.correlate_weight, (conv.gather, conv.turn), "rows", 4, dtype, parallel)


def write(
    template: Callable[..., Any], helpers: tuple[Callable[..., Any], ...], by: str, arrays: int, dtype: DType,
    parallel: bool,
) -> Launch:  # fmt: skip
    """A kernel of `arrays` buffers of one dtype and the numbers, with the tile whose table is `by` rows or depth."""
    name, label = template.__name__, "par" if parallel else "ser"
    text = write_kernel(
        f"convolution: {dtype}, {name}, {'parallel' if parallel else 'serial'}.",
        template,
        operands=(dtype,),
        out=dtype,
        compute=dtype.compute,
        parallel=parallel,
        signature=f"void({', '.join([array_type(dtype)] * arrays)}, int64[::1])",
        imports=(
            f"\nfrom minigrad.kernels.cpu.tile import register_tile, tile_shape, transpose_block\n\n"
            f"# tile.py {tile_hash()}\n"
            f'LANES, MR, VECTORS = tile_shape("{dtype}")\n'
            f"NR = VECTORS * LANES\n"
            f"SIDE = min(LANES, 8)\n"
            f'by_{by} = register_tile("{dtype}", LANES, MR, VECTORS, "{by}")\n'
            f'transpose = transpose_block("{dtype}", LANES)\n'
        ),
        helpers=helpers,
    )
    module = load(f"conv_{name}_{dtype.short}_{label}", text)
    tile_sizes[dtype.name] = module.MR, module.NR
    launch: Launch = module.kernel
    return launch


PARTS: dict[str, Callable[..., Launch]] = {"output": Conv.conv, "input": Conv.conv_input, "weight": Conv.conv_weight}
