"""A launch composed of launches: the buffers of the call, memory for intermediate values, and a sequence of steps.

A service (`base.py`) receives a `Steps` and adds requests or kernels on `Value`s to it.  A Value is a Spec and the
index of a buffer.  The launches that a backend returns for the requests are split into their steps, so the record is
one flat list of steps (`launch.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.backends.launch import Constant, Executable, Flag, Launch, Part, Scratch, Step, as_launch
from minigrad.core.device import CPU
from minigrad.core.dtype import DType, as_dtype, cast_array, complex128, float64, int64
from minigrad.core.layout import Layout, along
from minigrad.core.op import ScalarFn, Spec
from minigrad.core.reducer import Reducer
from minigrad.core.requests import Copy, Elementwise, Gather, Reduce, Request, Scatter
from minigrad.core.strides import Ints as Ints

Specs = tuple[Spec, ...]
# Temporary memory never leaves the backend, so the device of its storage has no meaning.
INSIDE = CPU


class Value(Spec):
    """A tensor of a launch: a Spec, and the index of its buffer.

    spec: the Spec of the call, which is the same object for an operand and a result that share their memory.
    """

    __slots__ = ("slot", "spec")

    def __init__(self, slot: int, spec: Spec) -> None:
        super().__init__(spec.layout, spec.dtype)
        self.slot, self.spec = slot, spec

    def seen(self, layout: Layout) -> Value:
        """Return the same memory through another layout."""
        return Value(self.slot, Spec(layout, self.dtype))

    def expand(self, shape: Ints) -> Value:
        """Return the value expanded to a shape; its elements are repeated."""
        return self if self.shape == shape else self.seen(self.layout.expand(shape))

    def at(self, dim: int, start: int, length: int = 1) -> Value:
        """Return some entries of a dim."""
        return self.seen(self.layout.narrow(dim, start, length))

    def select(self, dim: int, index: int) -> Value:
        """Return one entry of a dim, which is removed."""
        return self.seen(self.layout.select(dim, index))

    @property
    def transposed(self) -> Value:
        """The matrices in the last two dims, transposed."""
        ndim = len(self.shape)
        return self.seen(self.layout.transpose(ndim - 2, ndim - 1))


class Steps:
    """The record of a request.

    backend: the backend of the device, which prepares the requests of the steps.
    outs, operands: the values of the call.
    specs: the Specs of its operands, followed by those of its results.
    """

    def __init__(self, backend: Any, outs: Specs, operands: Specs) -> None:
        self.backend, self.specs = backend, (*operands, *outs)
        values = [Value(k, spec) for k, spec in enumerate(self.specs)]
        self.operands, self.outs = values[: len(operands)], values[len(operands) :]
        self.arguments = len(values)
        self.temporaries: list[Scratch | Constant] = []
        self.spare: list[Value] = []
        self.steps: list[Step] = []
        self.flags: list[Flag] = []
        self.parts: list[Part] = []
        self.always_fails = False

    # ---- values

    def add(self, memory: Scratch | Constant, shape: Ints, dtype: DType) -> Value:
        """Return a contiguous value in existing memory, or in memory of each call."""
        self.temporaries.append(memory)
        return Value(self.arguments + len(self.temporaries) - 1, Spec(Layout.contiguous(shape), dtype))

    def work(self, shape: Ints, dtype: DType) -> Value:
        """Return uninitialised memory for the duration of a call.

        A spare value is used again if it is large enough and has the dtype.
        """
        numel = Layout.contiguous(shape).numel
        for k, spare in enumerate(self.spare):
            if spare.layout.numel >= numel and spare.dtype is dtype:
                return self.spare.pop(k).seen(Layout.contiguous(shape))
        return self.add(Scratch(numel, dtype, self.backend.maker(numel, dtype, INSIDE)), shape, dtype)

    def release(self, first: int) -> None:
        """Release the memory of all temporaries from index `first` on to later steps; no later step reads them."""
        spare = {value.slot for value in self.spare}
        for k, memory in enumerate(self.temporaries[first:], self.arguments + first):
            if isinstance(memory, Scratch) and k not in spare:
                self.spare.append(Value(k, Spec(Layout.contiguous((memory.numel,)), memory.dtype)))

    def constant(self, numbers: Any, dtype: DType) -> Value:
        """Return a value with numbers that every call reads."""
        array = np.asarray(numbers)
        kept = self.backend.from_host(cast_array(array, dtype).reshape(-1), dtype, INSIDE)
        return self.add(Constant(kept), array.shape, dtype)

    def positions(self, n: int, ndim: int = 1, dim: int = 0) -> Value:
        """Return the numbers 0 to n - 1 along dim `dim` of `ndim` dims."""
        return self.constant(np.arange(n).reshape([n if d == dim else 1 for d in range(ndim)]), int64)

    def lower(self, request: Request) -> None:
        """Add the steps that compose the request of the call from simpler requests."""
        count = len(self.operands)
        self.then(self.backend.lower(request, self.specs[count:], *self.specs[:count]), *self.operands, *self.outs)

    # ---- steps

    def then(
        self, run: Executable | Callable[..., Any], *values: Value, numbers: Any = None,
        unless_same: tuple[Value, Value] | None = None,
    ) -> None:  # fmt: skip
        """Add a step that runs a kernel, or the steps of a launch, with the buffers of `values`.

        numbers: the scalar arguments, for a kernel that has scalar arguments.
        unless_same: two values; a call in which both have the same buffer skips the added steps.
        """
        slots = tuple([value.slot for value in values])
        same = unless_same and (unless_same[0].slot, unless_same[1].slot)
        if isinstance(run, Executable):
            self.steps.append(Step(run, slots, run.numbers if numbers is None else numbers, same))
            return
        launch = as_launch(run, len(slots), getattr(run, "__name__", "function"))
        steps, flags, parts = launch.on_slots(slots, self.arguments + len(self.temporaries), len(self.steps))
        self.steps += [step._replace(unless_same=same) for step in steps] if same else steps
        self.temporaries += launch.temporaries
        self.flags += flags
        self.parts += parts
        self.always_fails = self.always_fails or launch.always_fails

    def check(self, numbers: Value, low: int, high: int) -> None:
        """End the launch here with an index error unless some integers, known at this point, are in [low, high]."""
        self.flags.append(Flag(numbers.slot, len(self.steps), numbers.layout.numel, low, high, self.backend.to_host))

    def ask(
        self, request: Request, out: Value | Sequence[Value], *operands: Value,
        unless_same: tuple[Value, Value] | None = None,
    ) -> None:  # fmt: skip
        """Prepare a request for one result or several, and add its launch. unless_same: see `then`."""
        outs = (out,) if isinstance(out, Value) else tuple(out)
        launch = self.backend.prepare(request, tuple([y.spec for y in outs]), *[x.spec for x in operands])
        self.then(launch, *operands, *outs, unless_same=unless_same)

    def ask_summed(self, request: Request, out: Value, *operands: Value) -> None:
        """Prepare a request that adds up its last operand; float16 and bfloat16 are added in float32 and rounded once.

        A sum in half precision would stop at 2048 (float16) or 256 (bfloat16) ones.
        """
        kept = out.dtype.accumulate
        if not out.dtype.is_float or kept is out.dtype:
            self.ask(request, out, *operands)
            return
        *others, added = operands
        total = self.work(out.shape, kept)
        self.ask(request, total, *others, self.copied(added, kept))
        self.copy(out, total)

    def each(
        self, scalar: ScalarFn, out: Value | Sequence[Value], *operands: Value, compute: np.dtype[Any] | None = None
    ) -> None:
        """Apply a scalar function element by element to operands, which are expanded.

        It is computed in the dtype of the result, or of the first result.
        """
        outs = (out,) if isinstance(out, Value) else tuple(out)
        shape = outs[0].shape
        stretched = [x.expand(shape) for x in operands]
        self.ask(Elementwise(scalar, compute or outs[0].dtype.compute), outs, *stretched)

    def copy(self, out: Value, a: Value) -> None:
        """Copy the elements of `a`, expanded and cast."""
        self.ask(Copy(), out, a.expand(out.shape))

    def fill(self, out: Value, number: Any) -> None:
        """Set all elements to one number."""
        self.copy(out, self.constant(number, out.dtype))

    def index_select(self, out: Value, a: Value, index: Value, dim: int) -> None:
        """Compute out[i, j, k] = a[i, index[j], k] for dim 1."""
        self.ask(Gather(dim), out, a, index.seen(along(index.layout, out.shape, dim)))

    def index_add(self, out: Value, a: Value, index: Value, src: Value, dim: int) -> None:
        """Copy `a`, expanded, then add src[i, j, k] to out[i, index[j], k] for dim 1, in index order."""
        a = a.expand(out.shape)
        self.ask(Scatter(dim), out, a, index.seen(along(index.layout, src.shape, dim)), src)

    def reducer(self, reducer: Any, out: Value, a: Value, dims: Sequence[int]) -> None:
        """Reduce in the dtype of `out`, which has size 1 in `dims`."""
        self.ask(Reduce(reducer, out.dtype.compute, tuple(dims)), out, a)

    def dense(self, a: Value) -> Value:
        """Return `a` itself if its elements are row-major in one run, otherwise a copy."""
        return a if a.layout.is_contiguous else self.copied(a)

    def copied(self, a: Value, dtype: DType | None = None) -> Value:
        """Return a contiguous copy, by default in the same dtype."""
        result = self.work(a.shape, dtype or a.dtype)
        self.copy(result, a)
        return result

    @property
    def launch(self) -> Launch:
        """The record of all steps."""
        return Launch(self.arguments, self.steps, self.temporaries, self.flags, self.always_fails, self.parts)


def through_dense(steps: Steps, request: Request) -> None:
    """Add the steps of a request whose loops write one run.

    The loops write into temporary memory, which is then copied.
    """
    (out,) = steps.outs
    dense = steps.work(out.shape, out.dtype)
    steps.ask(request, dense, *steps.operands)
    steps.copy(out, dense)


def through_terms(steps: Steps, reducer: Reducer, compute: np.dtype[Any], dims: Ints) -> None:
    """Add the steps of a reduction of several operands by loops over one operand.

    The mapped terms are stored first.
    """
    assert reducer.map is not None
    terms = steps.work(steps.operands[0].shape, as_dtype(compute))
    steps.each(reducer.map, terms, *steps.operands, compute=compute)
    steps.ask(Reduce(reducer.unmapped(), compute, dims), steps.outs, terms)


def wide(dtype: DType) -> DType:
    """Return the dtype of sums of products: float64 or complex128, rounded once, or int64, whose low bits are exact."""
    return complex128 if dtype.is_complex else float64 if dtype.is_float else int64


def shortened(shape: Ints, dims: Sequence[int]) -> Ints:
    """Return a shape with size 1 in some dims."""
    return tuple(1 if d in dims else n for d, n in enumerate(shape))


def viewed(value: Value, shape: Ints) -> Value:
    """Return a contiguous value in another shape."""
    return value.seen(value.layout.view(shape))


def split(value: Value, dim: int, groups: int) -> Value:
    """Return a value with a dim of channels in two: the groups, and the channels of each."""
    shape, strides = value.layout.shape, value.layout.strides
    n, step = shape[dim] // groups, strides[dim]
    sizes, steps = (*shape[:dim], groups, n, *shape[dim + 1 :]), (*strides[:dim], n * step, step, *strides[dim + 1 :])
    return value.seen(Layout.make(sizes, steps, value.layout.offset))


def numbers_of(layout: Layout) -> NDArray[np.int64]:
    """Return the offsets of the elements of a layout, in its shape."""
    result = np.fromiter(layout.offsets(), np.int64, layout.numel)
    return result.reshape(layout.shape)
