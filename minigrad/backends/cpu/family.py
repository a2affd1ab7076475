"""The CPU backend without its kernel families: a cache of compiled kernels, and their scalar arguments.

A family is a module with functions that serve requests.  They call `CpuSteps.run`, which compiles a template and adds a
step that calls it on one thread or on all threads; the latter is guarded against problems with threads and forks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from minigrad.backends.host import HostMemory
from minigrad.backends.launch import Executable, Step
from minigrad.backends.parallel import guarded
from minigrad.backends.steps import Steps, Value
from minigrad.config import settings
from minigrad.core.dtype import DType, bfloat16
from minigrad.core.op import Spec
from minigrad.kernels.calling import Call, function
from minigrad.kernels.cpu.processor import has_tiles
from minigrad.kernels.fields import Loop
from minigrad.kernels.pasting import Late
from minigrad.kernels.specialize import NOTHING, write_loop
from minigrad.kernels.store import Kernel, forks_wait, load, watchers

GIL_LIMIT = 1 << 15  # number of additions; a call with fewer additions keeps the GIL


class NativeKernel(Executable):
    """Store a compiled CPU kernel, and the function that calls it.

    address: the address of its machine code, `kernel(first, last, table)`; 0 if kernels run as Python.
    kind: "brief", "alone" or "shared", see `kernels.calling.function`.
    """

    __slots__ = ("address", "call", "kind")
    takes_numbers = True

    def __init__(self, kernel: Kernel, kind: str, call: Call) -> None:
        super().__init__(kernel.name, kernel.path, kernel.flags)
        self.address, self.kind, self.call = kernel.address, kind, call

    def bound(self, numbers: Any) -> Call:
        return self.call


class CpuBackend(HostMemory):
    """Compiled loops over host memory, on the threads of the host.

    compiled: kernels by the arguments of `write_loop`.
    kernels: the calls of kernels, by these arguments and the kind of call.
    """

    def __init__(self) -> None:
        self.kernels: dict[Any, NativeKernel] = {}
        self.compiled: dict[Any, Any] = {}

    @property
    def fast_products(self) -> frozenset[DType]:  # type: ignore[override]
        return frozenset({bfloat16}) if has_tiles() else frozenset()

    def kernel(self, template: Callable[..., Any], dtypes: Any, words: Any, *more: Any, kind: str) -> NativeKernel:
        """Return the kernel of a template; each process loads it once, from the disk cache if possible.

        words: the items of the words, or a `Late`.  more: further arguments of `write_loop`.
        kind: "brief", "alone" or "shared", see `kernels.calling.function`.
        """
        key = (template, dtypes, words, *more)
        result = self.kernels.get((key, kind))
        if result is None:
            kernel = self.compiled.get(key)
            if kernel is None:
                with forks_wait():
                    meanings = words if isinstance(words, Late) else dict(words)
                    kernel = self.compiled[key] = load(*write_loop(template, dtypes, meanings, *more))
            call = function(kernel, kind)
            if kernel.python is not None:
                call = with_parts(call, dtypes)
            if kind == "shared":
                call = guarded(call, lambda: self.kernel(*key, kind="alone").call)
            result = self.kernels[key, kind] = NativeKernel(kernel, kind, call)
        for seen in watchers:
            seen.append(result.path)
        return result


def with_parts(call: Call, dtypes: Sequence[Any]) -> Call:
    """Return a call of a Python kernel that receives complex arrays as real ones, where it has a real dtype."""
    real = [getattr(dtype, "is_float", False) for dtype in dtypes]

    def parts(*arrays: Any) -> bool:
        converted = [x.view(x.real.dtype) if floats and x.dtype.kind == "c" else x for x, floats in zip(arrays, real)]
        return call(*converted, *arrays[len(converted) :])

    return parts


class CpuSteps(Steps):
    """The record of a request on the CPU, with a method that runs templates."""

    backend: CpuBackend

    def run(
        self, template: Callable[..., Any], *values: Value, words: Mapping[str, Any] | Late = NOTHING, form: str = "",
        compute: np.dtype[Any] | None = None, dtypes: tuple[Any, ...] | None = None, tasks: int = 1,
        divided: tuple[int, int] | None = None, numel: int | None = None, cost: int = 1, end: bool = False,
        each: Sequence[Any] = (), **numbers: Any,
    ) -> None:  # fmt: skip
        """Add a step that writes, compiles and runs a template of a kernel on some values, its arguments.

        The dtypes of the values determine its conversions and its name.  A number of the template that has the name of
        one of its arguments is the offset of that value.

        numbers: the other numbers by name.  each: the groups of numbers, of each result and operand.
        tasks: the count of the tasks.  divided: instead the number `chunk` and the count, from `pieces`;
        the count is the number `chunks`, too, if the template has it.
        numel, cost: the number of elements, by default that of the first result, and the work per element, in
        additions; they decide whether threads share the tasks.
        end: whether the kernel runs again after all tasks.
        words, form, compute: as for `write_loop`.
        dtypes: instead of those of the values, if one kernel serves several.
        """
        loop: Loop = template.loop  # type: ignore[attr-defined]
        if divided is not None:
            numbers["chunk"], tasks = divided
            if "chunks" in loop.fields.positions:
                numbers["chunks"] = tasks
        for begin, k in loop.begins:
            if begin not in numbers:
                numbers[begin] = values[k].layout.offset
        numel = self.outs[0].layout.numel if numel is None else numel
        dtypes = tuple([x.dtype for x in values]) if dtypes is None else dtypes
        meanings = words if isinstance(words, Late) else () if words is NOTHING else tuple(words.items())
        kind = kind_of(numel, tasks, cost)
        kernel = self.backend.kernel(template, dtypes, meanings, form, compute, kind=kind)
        table = np.array([tasks, end, *loop.fields.packed(each, numbers)], np.int64)
        self.steps.append(Step(kernel, tuple([x.slot for x in values]), table))


CpuBackend.record = CpuSteps


def kind_of(elements: int, tasks: int, cost: int = 1) -> str:
    """Return how to call a kernel: on all threads, on one thread, or on one thread without releasing the GIL.

    The GIL is not released if this would take longer than the work of the kernel.
    tasks: the number of tasks that threads can share.  A kernel with one task is called on all threads only if
    `settings.parallel_threshold` is 0.
    cost: the work per element, in additions.
    """
    if elements * cost >= settings.parallel_threshold and (tasks > 1 or not settings.parallel_threshold):
        return "shared"
    return "brief" if elements * cost < GIL_LIMIT else "alone"


COLUMNS = 64  # columns of one matrix up to which it is factored as a whole
PITCH = 16  # elements between the rows of a matrix: rows whose distance is a power of 2 would share few sets of a cache


def run_matrices(steps: CpuSteps, template: Callable[..., Any], outs: Sequence[Spec], **options: Any) -> None:
    """Add the step of a loop over a batch of matrices; a task is one of them, or one of its `parts`.

    outs: the results that have numbers; those that are not matrices have an offset only.
    """
    batch = steps.operands[0].shape[:-2]
    each = []
    for layout in [x.layout for x in (*outs, *steps.operands)]:
        *strides, row, col = layout.strides if layout.ndim == len(batch) + 2 else (*batch, 0, 0)
        each.append((layout.offset, row, col, tuple(strides)))
    tasks = prod(batch) * options.get("parts", 1)
    steps.run(template, *steps.operands, *steps.outs, tasks=tasks, each=each, sizes=batch, **options)
