"""The kernels of the CUDA backend without a device: requests are prepared, and what would be compiled is collected."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
from strided import layout_of

from minigrad.backends.cuda import CudaBackend
from minigrad.backends.cuda.runtime import Properties, Runtime
from minigrad.config import override
from minigrad.core import requests
from minigrad.core.dtype import ALL, bf16, bool_, complex64, complex128, f16, f32, f64, i32, i64, u8
from minigrad.core.layout import Layout, along
from minigrad.core.op import Spec
from minigrad.declare import rules
from minigrad.declare.record import schema
from minigrad.errors import DTypeError
from minigrad.kernels import philox
from minigrad.ops.nn import normalization as norm_rows
from minigrad.ops.nn import softmax
from minigrad.ops.reduction import scan
from minigrad.ops.reduction.extremes import GREATER


class Collector(Runtime):
    """A device that runs nothing and keeps every program that it is given, by name."""

    def __init__(self):
        self.programs = {}

    properties = Properties("collector", (9, 0), 132, 1 << 37)

    def load(self, program):
        self.programs[program.name] = program
        program_with_path = type("Loaded", (), {"name": program.name, "path": program.file})
        return program_with_path()

    def launcher(self, kernel, grid, block, numbers):
        return lambda *addresses: None

    def allocate(self, size, dtype):
        return type("Nowhere", (), {"address": 0, "size": size, "itemsize": dtype.itemsize})()

    def copy_to_device(self, buffer, values, waits=True):
        pass

    def copy_to_host(self, buffer, start=0, end=None):
        return np.zeros(buffer.size)[start:end]

    def synchronize(self):
        pass

    take = adopt = memory = empty_cache = reset_peak = pinned = None  # no memory
    stream = use = new_stream = foreign_stream = timed = None  # and no order


def spec(dtype, shape=(64, 64), way="dense"):
    return Spec(layout_of(shape, way), dtype)


def lines(dtype, shape):
    """An index vector along dim 0, for all elements of a shape."""
    return Spec(along(Layout.contiguous(shape[:1]), shape, 0), dtype)


def ask_elementwise(backend, op, dtypes, shape=(64, 64), way="dense"):
    """Prepare an op on operands that all lie in one way."""
    operands = [spec(dtype, shape, way) for dtype in dtypes]
    compute, dtype = op.dtype_rule(op, operands)
    backend.prepare(requests.Elementwise(op.scalar, compute), spec(dtype, shape), *operands)


def elementwise(backend):
    """Every op in one dtype, some in every dtype, every layout and width."""
    ops = [op for op in schema.values() if op.kind == "elementwise" and "minigrad" in op.where and op.result is None]
    for op in ops:
        for dtype in (f32, i64, bool_):
            try:
                ask_elementwise(backend, op, [dtype] * len(op.operands))
                break
            except DTypeError:
                continue
    for dtype in ALL:
        for name in ("add", "where") if dtype.is_complex else ("add", "lt", "where"):
            op = schema[name]
            ask_elementwise(backend, op, [dtype] * len(op.operands) if name != "where" else [bool_, dtype, dtype])
    for dtype, name in itertools.product((f16, f64), ("exp", "pow", "remainder", "erf", "logaddexp")):
        ask_elementwise(backend, schema[name], [dtype] * len(schema[name].operands))
    for dtype, way in itertools.product((f16, f32, f64), ("dense", "transposed")):
        op, operand = schema["frexp"], spec(dtype, way=way)
        compute, dtypes = op.dtype_rule(op, [operand])
        backend.prepare(requests.Elementwise(op.scalar, compute), tuple(map(spec, dtypes)), operand)
    add = schema["add"]
    for way, shape in itertools.product(("transposed", "stepped", "flipped"), [(64, 64), (4, 8, 16), (2, 3, 4, 5, 6)]):
        ask_elementwise(backend, add, [f32, f32], shape, way)
    for cols in (64, 66, 67):  # as wide as a load, half, one element
        wider = Layout.contiguous((64, 2 * cols)).narrow(1, 0, cols)
        column = Layout.contiguous((64, 1)).expand((64, cols))
        backend.prepare(requests.Elementwise(add.scalar, f32.compute), spec(f32, (64, cols)), Spec(wider, f32),
                        Spec(column, f32))  # fmt: skip
    huge = Layout.contiguous((1 << 17, 1 << 16)).transpose(0, 1)
    backend.prepare(requests.Elementwise(add.scalar, f32.compute), Spec(Layout.contiguous(huge.shape), f32),
                    Spec(huge, f32), Spec(huge, f32))  # fmt: skip


def casts(backend):
    """Every conversion that takes a way of its own."""
    for source, target in itertools.product((bool_, u8, i32, i64, f16, bf16, f32, f64), repeat=2):
        if source is not target:
            backend.prepare(requests.Copy(), spec(target), spec(source))


def turns(backend):
    """Copies and casts by tiles: words of one element, two and four, batches, other strides than 1."""
    even = Layout.contiguous((64, 96)).transpose(0, 1)
    for source, target in [(d, d) for d in (bool_, u8, f16, f32, f64)] + [(f32, f16), (u8, f16), (i64, bool_)]:
        for layout in (even, layout_of((96, 64), "transposed")):
            backend.prepare(requests.Copy(), spec(target, (96, 64)), Spec(layout, source))
    turned = Layout.contiguous((3, 5, 65, 70)).permute((1, 0, 3, 2))
    for layout in (turned, turned.slice(2, None, None, 2)):
        backend.prepare(requests.Copy(), spec(f16, layout.shape), Spec(layout, f16))


def reducers(backend):
    """A fold of each kind, in dtypes that differ in a conversion, along and across memory, whole and in pieces."""
    for name, dtype in itertools.product(("sum", "mean", "amax", "any"), (f16, bf16, f32, i32, u8, bool_)):
        if name == "mean" and not dtype.is_float:
            continue
        op, a = schema[name], spec(dtype, (4, 8, 16))
        rule = {"amax": rules.promote, "any": rules.logical}.get(name, rules.widen)
        compute, result = rule(op, (a,))
        for dims in ((0,), (2,), (0, 2), (0, 1, 2)) if dtype is f32 else ((0,), (2,)):
            out = tuple(1 if d in dims else n for d, n in enumerate(a.shape))
            backend.prepare(requests.Reduce(op.reducer, compute, dims), spec(result, out), a)
    for name, dims in itertools.product(("aminmax", "mse_loss_mean"), ((0,), (2,), (0, 1, 2))):
        reducer, out = schema[name].reducer, tuple(1 if d in dims else n for d, n in enumerate((4, 8, 16)))
        operands = [spec(f32, (4, 8, 16))] * len(schema[name].operands)
        outs = (spec(f32, out),) * reducer.results
        backend.prepare(requests.Reduce(reducer, f32.compute, dims), outs, *operands)
    total, long = schema["sum"].reducer, spec(f32, (1 << 20, 3))
    for dims, out in (((0,), (1, 3)), ((0, 1), (1, 1)), ((1,), (1 << 20, 1))):
        backend.prepare(requests.Reduce(total, f64.compute, dims), spec(f32, out), long)
        ordered = replace(total, order="sequential", combine=None)
        backend.prepare(requests.Reduce(ordered, f64.compute, dims), spec(f32, out), long)


def searches(backend):
    """Positions of extremes, with and without what they are, whole and in pieces."""
    for dtype, shape, dim in itertools.product((bool_, f16, f32, i64), ((8, 64), (1 << 20, 2)), (0, 1)):
        out = tuple(1 if d == dim else n for d, n in enumerate(shape))
        backend.prepare(requests.Extreme(GREATER, dim), spec(i64, out), spec(dtype, shape))
        places = spec(i64, out)
        values = Spec(places.layout, dtype)
        backend.prepare(requests.Extreme(GREATER, dim), (values, places), spec(dtype, shape))


def indices(backend):
    """Gathers and additions by index: of elements and rows; by atomic steps, by lines and sorted."""
    for dtype, index in itertools.product((bool_, f16, f32, f64), (i32, i64)):
        backend.prepare(requests.Gather(1), spec(dtype, (4, 3)), spec(dtype, (4, 8)), spec(index, (4, 3)))
        backend.prepare(requests.Gather(0), spec(dtype, (9, 64)), spec(dtype, (4, 64)), lines(index, (9, 64)))
        for count in (3, 70_000):
            x, src = spec(dtype, (4, 8)), spec(dtype, (4, count))
            backend.prepare(requests.Scatter(1), x, x, spec(index, src.shape), src)
        backend.prepare(requests.SelectPut(1), spec(dtype, (4, 8)), spec(index, (3,)), spec(dtype, (4, 3)))
    table, rows = spec(f32, (70_000, 64)), spec(f32, (300, 64))
    backend.prepare(requests.Scatter(0), table, table, lines(i64, (300, 64)), rows)
    with override(deterministic=False):
        backend.prepare(requests.Scatter(0), table, table, lines(i64, (300, 64)), rows)
    huge = Spec(Layout.make((4, 3), (1 << 32, 1)), f32)
    backend.prepare(requests.Gather(1), spec(f32, (4, 3)), huge, spec(i64, (4, 3)))


def products(backend):
    """Tiles of each size, on the tensor cores too, in each way of reading; vectors; pieces."""
    for dtype, n in (
        (f32, 2048),
        (f32, 65),
        (f32, 20),
        (f32, 5),
        (f64, 130),
        (i32, 20),
        (bool_, 20),
        (f16, 67),
        (bf16, 2048),
    ):
        backend.prepare(requests.Product(), spec(dtype, (n, n)), spec(dtype, (n, n)), spec(dtype, (n, n), "transposed"))
    for turned in (False, True):
        a = even(f16, turned, 64)
        backend.prepare(requests.Product(2, 3), spec(f16), a, a, spec(f16))
    backend.prepare(requests.Product(), *[even(bf16, turned, 2048) for turned in (False, False, True)])
    for dtype, way in itertools.product((f32, f16), ("dense", "transposed")):
        a = spec(dtype, (5000, 5000), way)
        backend.prepare(requests.Product(), spec(dtype, (5000, 1)), a, spec(dtype, (5000, 1)))
    batch = [spec(f32, (3, 4, 4000, 20), "permuted"), spec(f32, (3, 4, 20, 4000)), spec(f32, (3, 4, 20, 20))]
    backend.prepare(requests.Product(1, 1), spec(f32, (3, 4, 20, 20)), batch[1], batch[0], batch[2])


def convolutions(backend):
    """The three parts; of many channels, of halves, and with more positions than 32 bits take apart one of them."""
    for dtype, shape, weight, parts in (
        (f32, (2, 3, 9, 9), (4, 3, 3, 3), ("output", "input", "weight")),
        (f32, (64, 64, 64, 64), (128, 64, 3, 3), ("input",)), (f16, (8, 64, 64, 64), (64, 64, 3, 3), ("weight",)),
        (f32, (1 << 12, 1, 1 << 9, 1 << 9), (2, 1, 3, 3), ("input",)),
    ):  # fmt: skip
        x, w, y = (spec(dtype, s) for s in (shape, weight, (shape[0], weight[0], *shape[2:])))
        for part, out, operands in (
            ("output", y, (x, w, spec(dtype, weight[:1]))), ("input", x, (y, w)), ("weight", w, (y, x)),
        ):  # fmt: skip
            if part in parts:
                backend.prepare(requests.Convolve(part, (1, 1), (1, 1), (1, 1), 1), out, *operands)


def pools(backend):
    """Every loop of pooling."""
    for dtype in (f16, f32):
        x, y, places = (spec(d, s) for d, s in ((dtype, (2, 3, 9, 9)), (dtype, (2, 3, 4, 4)), (i64, (2, 3, 4, 4))))
        far = ((2, 2), (2, 2), (0, 0), (2, 2))
        for part, outs, operands in (
            ("values", y, (x,)), ("positions", (y, places), (x,)), ("pick", y, (x, x)), ("back", x, (y, x)),
        ):  # fmt: skip
            backend.prepare(requests.MaxPool(part, *far), outs, *operands)
        for part, out, a in (("values", y, x), ("back", x, y)):
            backend.prepare(requests.AvgPool(part, *far[:3], True, None), out, a)


def even(dtype, turned, n):
    """A square matrix, dense or the transpose of a dense one, whose rows begin where asynchronous copies may."""
    layout = Layout.contiguous((n, n))
    return Spec(layout.transpose(0, 1) if turned else layout, dtype)


def fillings(backend):
    """Evenly spaced and random numbers."""
    for dtype in (i32, i64, f16, f32, f64):
        number = spec(f64 if dtype.is_float else i64, (1,))
        backend.prepare(requests.Arange(), spec(dtype, (64,)), number, number)
        for kind in ("uniform", "normal") if dtype.is_float else ("integer",):
            limits = spec(philox.limit_dtype(kind, dtype), (3,))
            backend.prepare(requests.Random(kind), spec(dtype), spec(i64, (2,)), limits)


def rows(backend):
    """Each row function in registers of some lanes, a warp and a block, read again, and across memory."""
    fns = [softmax.SOFTMAX, softmax.LOG_SOFTMAX, softmax.SOFTMAX_BACKWARD, softmax.LOG_SOFTMAX_BACKWARD,
           norm_rows.LAYER_NORM, norm_rows.RMS_NORM]  # fmt: skip
    for fn, dtype in [*itertools.product(fns, (f32,)), *itertools.product(fns[::4], (f16, f64))]:
        for n in (32, 512, 8192, 60_000) if dtype is f32 else (512,):
            x = spec(dtype, (64, n))
            backend.prepare(requests.MapRows(fn, 1, 1e-5), x, *[x] * len(fn.operands))
        if dtype is f32:
            backend.prepare(requests.MapRows(fn, 0, 1e-5), x, *[x] * len(fn.operands))
    for fn, n in itertools.product((norm_rows.LAYER_NORM_BACKWARD, norm_rows.RMS_NORM_BACKWARD), (33, 256, 4096)):
        whole, line = spec(f32, (64, n)), spec(f32, (n,))
        for made in (fn, fn.only("made", False, True)):
            outs = [*([whole] if made.result else []), *[line for _ in made.terms]]
            backend.prepare(requests.MapRows(made, 1), tuple(outs), *[whole] * len(made.operands))
    for n, dtype in ((10, f32), (1000, f16), (1000, f32), (50_304, f32)):
        x, target = spec(dtype, (64, n)), spec(i64, (64,))
        for way in ("none", "mean") if n == 1000 else ("mean",):
            loss = spec(dtype, (64,) if way == "none" else ())
            backend.prepare(requests.Pick(softmax.LOG_SOFTMAX, -1, way), loss, x, target)
            backend.prepare(requests.PickBack(softmax.SOFTMAX, -1, way), x, loss, x, target)


def scans(backend):
    """Scans of each kind: in tiles, in blocks, by a thread a row; running extremes."""
    wide = {f16: (f32, f16), f32: (f64, f32), i32: (i64, i64), bool_: (i64, i64)}
    for dtype, (compute, total) in wide.items():
        for shape, dim in (((64, 256), 1), ((2, 20_000), 1), ((7, 9), 1), ((16, 1024), 0)):
            x = spec(dtype, shape)
            backend.prepare(requests.Scan(scan.SUM, compute.compute, dim), spec(total, shape), x)
        backend.prepare(requests.RunningExtreme(scan.NOT_LESS, 1), (x, spec(i64, x.shape)), x)
    x = spec(f32, (7, 20_000))
    for reducer in (scan.PRODUCT, scan.LOG):
        backend.prepare(requests.Scan(reducer, f32.compute, 1), x, x)
    backend.prepare(requests.Scan(scan.LINE, f32.compute, 1), x, x, x)


def orders(backend):
    """Orders of rows: a tile, several, the first few; of keys that share a word with the position, and wider ones."""
    for dtype, n, wanted in [*((d, n, k) for d in (f32, i64) for n, k in ((64, 64), (5000, 5000), (5000, 10))),
                             (bool_, 64, 64), (bf16, 64, 64)]:  # fmt: skip
        x, places = spec(dtype, (3, n)), spec(i64, (3, wanted))
        if dtype is i64:
            backend.prepare(requests.Sort(1, True), (spec(dtype, (3, wanted)), places), x)
        else:
            backend.prepare(requests.Sort(1, False), places, x)


def masks(backend):
    """Counts and places of what holds, of one run and of strided masks."""
    for mask, parts in ((spec(bool_, (100,)), 1), (spec(bool_, (100, 1000), "stepped"), 12), (spec(bool_, ()), 1)):
        backend.prepare(requests.Tally(parts), spec(i64, (parts + 1,)), mask)
        backend.prepare(requests.Locate(), spec(i64, (7,)), mask, spec(i64, (parts + 1,)))


def joins(backend):
    """Joins of 2 to 32 operands, by words of each size."""
    for dtype, width, parts in ((f32, 4, 2), (f32, 1, 3), (u8, 1, 7), (f16, 1, 16), (f64, 1, 40)):
        backend.prepare(requests.Join(1), spec(dtype, (5, width * parts)), *[spec(dtype, (5, width))] * parts)


def complexes(backend):
    """What complex numbers add: functions of parts, shuffles and atomic additions of pairs, factors, transforms."""
    functions = "mul div exp log sqrt pow tanh sin acos asinh atan sigmoid log1p expm1 abs angle conj_physical isnan eq"
    for dtype, real in ((complex64, f32), (complex128, f64)):
        for name in functions.split():
            ask_elementwise(backend, schema[name], [dtype] * len(schema[name].operands))
        for source, target in (
            (dtype, bool_),
            (real, dtype),
            (i64, dtype),
            (complex64, complex128),
            (complex128, complex64),
        ):
            backend.prepare(requests.Copy(), spec(target), spec(source))
        backend.prepare(requests.Copy(), spec(dtype, (96, 64)), spec(dtype, (96, 64), "transposed"))
        for (name, shape), dims in itertools.product(
            (("sum", (4, 8, 16)), ("prod", (3, 70, 40))), ((0,), (2,), (0, 1, 2))
        ):
            out = tuple(1 if d in dims else n for d, n in enumerate(shape))
            backend.prepare(
                requests.Reduce(schema[name].reducer, dtype.compute, dims), spec(dtype, out), spec(dtype, shape)
            )
        for shape, dim in (((64, 256), 1), ((2, 20_000), 1), ((7, 9), 1), ((16, 1024), 0)):
            backend.prepare(requests.Scan(scan.SUM, dtype.compute, dim), spec(dtype, shape), spec(dtype, shape))
        table, rows, index = spec(dtype, (70_000, 64)), spec(dtype, (300, 64)), lines(i64, (300, 64))
        backend.prepare(requests.Gather(0), rows, table, index)
        for deterministic in (True, False):
            with override(deterministic=deterministic):
                backend.prepare(requests.Scatter(0), table, table, index, rows)
        for n in (64, 30, 11):
            backend.prepare(requests.Fourier(1, False, 1.0), spec(dtype, (4, n)), spec(dtype, (4, n)))


FAMILIES = {
    "complexes": complexes,
    "elementwise": elementwise,
    "casts": casts,
    "turns": turns,
    "folds": reducers,
    "indices": indices,
    "products": products,
    "convolutions": convolutions,
    "pools": pools,
    "fillings": fillings,
    "searches": searches,
    "rows": rows,
    "scans": scans,
    "orders": orders,
    "masks": masks,
    "joins": joins,
}


def collected(family):
    """The programs that a family is asked for, by name; and the names of their templates."""
    runtime = Collector()
    backend = CudaBackend(runtime)
    FAMILIES[family](backend)
    return runtime.programs, {args[0].__name__ for _, args in backend.kernels}


__all__ = ["FAMILIES", "Collector", "collected"]
