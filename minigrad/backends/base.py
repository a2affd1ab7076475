"""The backend interface: what a device must be able to prepare.

Every method but the host copies is a *preparer*.  It receives the output's and the operands' `Spec` (layout and
dtype, no data) with the static parameters, chooses or compiles a kernel once, and returns a `Launch`: a callable that
takes the operands' storage buffers and the output's buffer last, and runs.  `dispatch` keeps the launch with the call
plan, so the next call with the same layouts is one look-up.  Shapes, dtypes and devices have been checked before;
a backend never promotes, broadcasts or allocates results.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.core.device import Device
from minigrad.core.dtype import DType
from minigrad.core.fold import Fold
from minigrad.core.op import ScalarFn, Spec
from minigrad.core.rows import RowFn
from minigrad.core.storage import Storage
from minigrad.kernels.scalar import parse

Launch = Callable[..., None]
IndexLaunch = Callable[..., Any]  # its result is true if an index was out of range
Ints = tuple[int, ...]


def identity(x):  # type: ignore[no-untyped-def]
    """The scalar function of a copy."""
    return x


def nonzero(x):  # type: ignore[no-untyped-def]
    """The scalar function of a cast to bool."""
    return x != 0


IDENTITY, NONZERO = parse(identity), parse(nonzero)


class Backend(ABC):
    """One device's loops.  Subclasses are final; `tests/backends` holds each to `reference`."""

    # ---- memory ----

    @abstractmethod
    def allocate(self, numel: int, dtype: DType, device: Device) -> Storage:
        """Uninitialised storage for at least `numel` elements."""

    def maker(self, numel: int, dtype: DType, device: Device) -> Callable[[], Storage]:
        """A function that allocates such a storage at each call: what a call plan keeps."""
        return lambda: self.allocate(numel, dtype, device)

    @abstractmethod
    def from_host(self, values: NDArray[Any], dtype: DType, device: Device) -> Storage:
        """Storage with a copy of a flat array that already has the dtype's storage type."""

    @abstractmethod
    def to_host(self, storage: Storage) -> NDArray[Any]:
        """The storage's buffer as a NumPy array in the dtype's storage type; shared where memory is the host's."""

    def synchronize(self) -> None:
        """Wait until every launch has finished."""

    # ---- loops ----

    @abstractmethod
    def elementwise(self, scalar: ScalarFn, compute: np.dtype[Any], out: Spec, operands: Sequence[Spec]) -> Launch:
        """out[i] = scalar(operands[i]...) in `compute`; up to six operands, expanded to out's shape.

        An operand whose Spec is `out`, the same object, is the output's memory: it is read before it is written.
        """

    def copy(self, out: Spec, a: Spec) -> Launch:
        """out = a, cast: float to int saturates with nan to 0, int to int wraps, anything to bool is `!= 0`."""
        if out.dtype.kind == "bool" and a.dtype.kind != "bool":
            return self.elementwise(NONZERO, a.dtype.compute, out, [a])
        if not a.dtype.is_int or not out.dtype.is_float:
            compute = out.dtype.compute if a.dtype.kind == "bool" else a.dtype.compute
        else:  # float32 on the way to a half would round twice
            compute = out.dtype.compute if out.dtype.itemsize > 2 else np.dtype(np.float64)
        return self.elementwise(IDENTITY, compute, out, [a])

    def join(self, out: Spec, parts: Sequence[Spec], dim: int) -> Launch:
        """out = the parts one after another along dim, cast; the launch takes their buffers and out's."""
        launches, start = [], 0
        for part in parts:
            length = part.shape[dim]
            place = Spec(out.layout.narrow(dim, start, length), out.dtype)
            launches.append(self.copy(place, part) if place.layout.numel else None)
            start += length

        def launch(*buffers: Any) -> None:
            for copy, buffer in zip(launches, buffers, strict=False):
                if copy is not None:
                    copy(buffer, buffers[-1])

        return launch

    @abstractmethod
    def reduce(self, fold: Fold, compute: np.dtype[Any], out: Spec, a: Spec, dims: tuple[int, ...]) -> Launch:
        """Fold a over dims in `compute`; `out` has the shape of `a` with length 1 at each dim of `dims`.

        Only what `fold` declares may be assumed: an order, and how partial results combine.
        """

    @abstractmethod
    def argreduce(self, better: ScalarFn, out: Spec, a: Spec, dim: int) -> Launch:
        """Index along `dim` of the first element for which better(best, x) never holds later.

        `out` is int64 and has length 1 at `dim`.  `better` is the "comes later in an order" of some total order, so
        the winners of pieces may be found first and compared in the order of their index.
        """

    def extreme(self, better: ScalarFn, values: Spec, places: Spec, a: Spec, dim: int) -> Launch:
        """`argreduce` into `places`, and the element of `a` at each into `values`."""
        return self.read_at(self.argreduce(better, places, a, dim), values, places, a, dim)

    def sort(self, values: Spec, places: Spec, a: Spec, dim: int, descending: bool) -> Launch:
        """`argsort` into `places`, and the element of `a` at each into `values`."""
        return self.read_at(self.argsort(places, a, dim, descending), values, places, a, dim)

    def running_extreme(self, better: ScalarFn, values: Spec, places: Spec, a: Spec, dim: int) -> Launch:
        """`argscan` into `places`, and the element of `a` at each into `values`."""
        return self.read_at(self.argscan(better, places, a, dim), values, places, a, dim)

    def read_at(self, find: Launch, values: Spec, places: Spec, a: Spec, dim: int) -> Launch:
        """A launch over (a, values, places) that finds places and reads `a` there."""
        read = self.gather(values, a, places, dim)

        def launch(x: Any, result: Any, where: Any) -> None:
            find(x, where)
            read(x, where, result)

        return launch

    @abstractmethod
    def matmul(self, out: Spec, a: Spec, b: Spec) -> Launch:
        """out[..., m, n] = a[..., m, k] @ b[..., k, n]; batch dims have been expanded (stride 0) to out's."""

    @abstractmethod
    def addmm(self, out: Spec, a: Spec, b: Spec, c: Spec, alpha: float, beta: float) -> Launch:
        """out = alpha * (a @ b) + beta * c; c has been expanded to out's shape.

        out's buffer may be that of c, with the same layout: so a product is added to a sum.  beta 0: c is not read.
        """

    @abstractmethod
    def gather(self, out: Spec, a: Spec, index: Spec, dim: int) -> IndexLaunch:
        """out[i, j, k] = a[i, index[i, j, k], k] for dim 1; negative indices count from the end.

        This launch and the next three return True if an index was out of range.  Then the result means nothing, but
        nothing outside of the operands was read or written, even if another thread writes to the index meanwhile.
        """

    @abstractmethod
    def scatter_add(self, out: Spec, a: Spec, index: Spec, src: Spec, dim: int) -> IndexLaunch:
        """out = a, then out[i, index[i, j, k], k] += src[i, j, k] for dim 1, in index order."""

    @abstractmethod
    def index_select(self, out: Spec, a: Spec, index: Spec, dim: int) -> IndexLaunch:
        """out[i, j, k] = a[i, index[j], k] for dim 1."""

    @abstractmethod
    def index_add(self, out: Spec, a: Spec, index: Spec, src: Spec, dim: int) -> IndexLaunch:
        """out = a, then out[i, index[j], k] += src[i, j, k] for dim 1, in index order."""

    @abstractmethod
    def view_add(self, out: Spec, g: Spec, view: Spec) -> Launch:
        """out (contiguous) = 0, then add g into it through the layout `view`, overlaps summed.

        The offset of `view` counts from the beginning of out's buffer.
        """

    @abstractmethod
    def index_bounds(self, index: Spec) -> Callable[[Any], tuple[int, int]]:
        """Prepare a look at an index tensor: the launch takes its buffer and returns (lowest, highest)."""

    # ---- rows ----

    @abstractmethod
    def map_rows(self, fn: RowFn, out: Spec, operands: Sequence[Spec], dim: int, value: float) -> Launch:
        """Each element of `out` from the elements of its row along `dim`, in the compute dtype of `out`.

        Operands have out's shape (strides of 0 where they repeat); `value` is the parameter of the finishing functions.
        """

    @abstractmethod
    def sum_columns(self, fn: RowFn, out: Spec, operands: Sequence[Spec], value: float) -> Launch:
        """Dense lines: fn's rows along the last dim, if it makes any; then a line for each of its terms, whose elements
        are sums over all rows.  The sum of no rows is 0."""

    @abstractmethod
    def pick(self, fn: RowFn, out: Spec, x: Spec, target: Spec, ignore: int, reduction: str) -> Launch:
        """Minus fn's result at the element of each row (last dim) that `target` names, 0 where it is `ignore`.

        reduction: "none", or all rows as one number, their "sum", or their "mean" over the rows that count.
        """

    @abstractmethod
    def pick_backward(
        self, fn: RowFn, out: Spec, dy: Spec, x: Spec, target: Spec, ignore: int, reduction: str
    ) -> Launch:
        """dy * (fn's result - 1 at the element that `target` names) in each row; for a mean, over the rows that count.

        dy is that of `pick`: one number a row, or one for all.  Rows whose target is `ignore` get 0.
        """

    # ---- scans ----

    @abstractmethod
    def scan(self, fold: Fold, compute: np.dtype[Any], out: Spec, operands: Sequence[Spec], dim: int) -> Launch:
        """out[i] = scalar(out[i - 1], operands[i]...) along `dim` in `compute`, from the identity on.

        With one operand, where `fold` says how partial results combine, long rows may be folded in blocks first.
        """

    @abstractmethod
    def argscan(self, better: ScalarFn, out: Spec, a: Spec, dim: int) -> Launch:
        """Where the best element so far is along `dim`: an element x takes the place of `best` if better(best, x)."""

    # ---- convolution ----
    # Dims are (N, channels, 1 to 3 spatial ones); the weight's are (output channels, image channels / groups, taps).
    # y * x * w meet where position of x = position of y * stride - padding + tap * dilation; beyond x are zeros.

    @abstractmethod
    def conv(
        self, out: Spec, x: Spec, w: Spec, bias: Spec, stride: Ints, padding: Ints, dilation: Ints, groups: int
    ) -> Launch:
        """out = bias, one element a channel, plus the sum of x * w over channels of the group and taps."""

    @abstractmethod
    def conv_input(
        self, out: Spec, y: Spec, w: Spec, stride: Ints, padding: Ints, dilation: Ints, groups: int
    ) -> Launch:
        """out, an image, = the sum of y * w over output channels of the group and taps."""

    @abstractmethod
    def conv_weight(
        self, out: Spec, y: Spec, x: Spec, stride: Ints, padding: Ints, dilation: Ints, groups: int
    ) -> Launch:
        """out, a weight, = the sum of y * x over the batch and all positions."""

    # ---- masks ----

    @abstractmethod
    def nonzero(self, mask: Spec) -> tuple[Callable[[Any], tuple[int, Any]], Callable[[Any, Any, Any], None]]:
        """Prepare a search of a bool tensor: (count, write).

        count(mask_buffer) returns how many elements hold and what `write` wants to know; write(mask_buffer, that,
        out_buffer) stores their row-major positions, int64.
        """

    # ---- sorting ----

    @abstractmethod
    def argsort(self, out: Spec, a: Spec, dim: int, descending: bool) -> Launch:
        """Positions along `dim` of the elements of `a` in their order: stable, nan the greatest, -0.0 equal to 0.0.

        Where `out` is shorter along `dim`, the first of them.
        """

    # ---- pooling ----
    # Dims are (N, channels, 1 to 3 spatial ones); windows begin at position of out * stride - padding, and what of them
    # lies outside of the image is left out.

    @abstractmethod
    def max_pool(self, out: Spec, x: Spec, window: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Launch:
        """out = the largest element of each window, nan if there is one; the lowest number where there is none."""

    @abstractmethod
    def max_pool_indices(self, out: Spec, x: Spec, window: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Launch:
        """out (int64) = row-major position in the plane of the first largest element of each window."""

    @abstractmethod
    def max_pool_pick(
        self, out: Spec, h: Spec, x: Spec, window: Ints, stride: Ints, padding: Ints, dilation: Ints
    ) -> Launch:
        """out = the element of h at the position of the first largest element of x in each window."""

    @abstractmethod
    def max_pool_back(
        self, out: Spec, g: Spec, x: Spec, window: Ints, stride: Ints, padding: Ints, dilation: Ints
    ) -> Launch:
        """out = 0, then each element of g is added at the position of the first largest element of x in its window."""

    @abstractmethod
    def avg_pool(
        self, out: Spec, x: Spec, window: Ints, stride: Ints, padding: Ints, pad_counts: bool, divisor: int | None
    ) -> Launch:
        """out = the sum of each window over `divisor`, or over its size, with its padding if `pad_counts`."""

    @abstractmethod
    def avg_pool_back(
        self, out: Spec, g: Spec, window: Ints, stride: Ints, padding: Ints, pad_counts: bool, divisor: int | None
    ) -> Launch:
        """out = 0, then each element of g, divided as in `avg_pool`, is added all over its window."""

    # ---- filling ----

    @abstractmethod
    def fill(self, out: Spec) -> Launch:
        """launch(out_buffer, value): every element becomes the Python number `value`."""

    @abstractmethod
    def arange(self, out: Spec) -> Launch:
        """launch(out_buffer, start, step): out[i] = start + i * step, 1-d."""

    @abstractmethod
    def random(self, kind: str, out: Spec) -> Launch:
        """launch(out_buffer, key, counter, low, high): Philox4x32-10 numbers.

        kind: "uniform" in [low, high), "normal" with mean `low` and deviation `high`, or "integer" in [low, high).
        Element i (row-major) uses block counter + i // 4 (i // 2 for 64-bit values), whatever runs it.
        """
