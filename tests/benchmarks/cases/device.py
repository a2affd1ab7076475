"""Rows for a GPU: what moves memory, with 256 MB an operand, products, steps of training, and what a launch costs.

A goal is a share: of the measured copy for a row with nbytes, of the speed of PyTorch's cuBLAS for one with flops; for
one that the host times it is the seconds that it may take.  nbytes: what has to be moved, each element once.  Rows are
made by size, for the simulator runs a kernel in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np

from tests.benchmarks.case import Arrays, Case, Table
from tests.benchmarks.cases.programs import steps
from tests.benchmarks.cases.rows import pulled_back
from tests.benchmarks.cases.training import network, training_step

CONTIGUOUS, STRIDED, LAUNCH = 0.85, 0.7, 8e-6
OWN, BY_CUBLAS = {"f32": 0.6, "f16": 0.4, "bf16": 0.4}, 0.95
DTYPES = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
ROUNDED = {"f32": 1e-4, "f16": 2e-3, "bf16": 1e-2}


@dataclass(frozen=True)
class Sizes:
    """How large the operands are.

    flat: elements of a vector.  square: rows and cols of a matrix.  block: a tensor of three dims.
    rows: matrices for what goes row by row.  products: rows, cols and inner dim of matrices.
    image: images, channels, height and width.  layers, batch: of the network.  words: texts, their length, features,
    heads.
    """

    flat: int
    square: int
    block: tuple[int, int, int]
    rows: tuple[tuple[int, int], ...]
    products: tuple[int, ...]
    image: tuple[int, int, int, int]
    layers: tuple[int, ...]
    batch: int
    words: tuple[int, int, int, int]


LARGE = Sizes(
    1 << 26, 8192, (256, 512, 512), ((1 << 16, 1024), (2048, 1 << 15)), (4096, 8192), (32, 64, 56, 56),
    (1024, 4096, 4096, 1000), 4096, (16, 1024, 1024, 16),
)  # fmt: skip
TINY = Sizes(37, 6, (3, 4, 5), ((5, 6), (2, 40)), (9,), (1, 2, 4, 4), (6, 5, 4), 3, (2, 3, 4, 2))


def numbers(*shapes: tuple[int, ...], dtype: Any = np.float32) -> Arrays:
    """Operands of normally distributed numbers, made in float32."""
    return lambda rng: [rng.standard_normal(shape, np.float32).astype(dtype, copy=False) for shape in shapes]


def rows(sizes: Sizes) -> list[Case]:
    """All of them; the first is the copy that others are measured by."""
    return [
        case
        for make in (
            dense,
            strided,
            casts,
            copies,
            reducers,
            along_rows,
            scans,
            indexing,
            products,
            images,
            calls,
            training,
        )
        for case in make(sizes).cases
    ]


def dense(sizes: Sizes) -> Table:
    """One run of elements, the copy first."""
    table, n = Table("contiguous"), sizes.flat
    table.add(
        "copy", numbers((n,), (n,)), lambda m, x, out: out.copy_(x), nbytes=8 * n,
        numpy=lambda x, out: (np.copyto(out, x), out)[1],
    )  # fmt: skip
    more = {"goal": CONTIGUOUS, "numpy": lambda a, b: a + b}
    for name, dtype in DTYPES.items():
        many = 4 * n // np.dtype(dtype).itemsize
        pair = numbers((many,), (many,), dtype=dtype)
        table.add(f"add {name}", pair, lambda m, a, b: a + b, nbytes=12 * n, rtol=ROUNDED[name], **more)
    exp = lambda m, x: m.exp(x)
    table.add("exp f32", numbers((n,)), exp, numpy=np.exp, nbytes=8 * n, goal=CONTIGUOUS)
    table.add(
        "where f32", lambda rng: [*numbers((n,), (n,))(rng), rng.random(n, np.float32) < 0.5],
        lambda m, a, b, c: m.where(c, a, b), numpy=lambda a, b, c: np.where(c, a, b), nbytes=13 * n, goal=CONTIGUOUS,
    )  # fmt: skip
    return table


def strided(sizes: Sizes) -> Table:
    """Elements with gaps between them, in another order, and one for many."""
    table, n = Table("strided"), sizes.square
    for name, fn, moved, shapes in (
        ("every second row", lambda a, b: a[::2] + b[::2], 6 * n * n, ((n, n), (n, n))),
        ("all columns but one", lambda a, b: a[:, 1:] + b[:, 1:], 12 * n * (n - 1), ((n, n), (n, n))),
        ("every second column, lines read whole", lambda a, b: a[:, ::2] + b[:, ::2], 10 * n * n, ((n, n), (n, n))),
        ("a + b.T", lambda a, b: a + b.T, 12 * n * n, ((n, n), (n, n))),
        ("matrix + row", lambda a, b: a + b, 8 * n * n, ((n, n), (n,))),
        ("matrix + column", lambda a, b: a + b, 8 * n * n, ((n, n), (n, 1))),
    ):
        both = lambda m, a, b, fn=fn: fn(a, b)
        table.add(f"add, {name} ({n}, {n})", numbers(*shapes), both, numpy=fn, nbytes=moved, goal=STRIDED)
    return table


def casts(sizes: Sizes) -> Table:
    """From one dtype to another."""
    table, n = Table("casts"), sizes.flat
    for source, target in (("f32", "bf16"), ("bf16", "f32"), ("f32", "f16"), ("f16", "f32")):
        wanted = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}[target]
        table.add(
            f"{source} to {target}", numbers((n,), dtype=DTYPES[source]), lambda m, x, w=wanted: x.to(getattr(m, w)),
            numpy=None if target == "bf16" else lambda x, w=wanted: x.astype(w), nbytes=6 * n, goal=CONTIGUOUS,
        )  # fmt: skip
    return table


def copies(sizes: Sizes) -> Table:
    """Copies in another order."""
    table, n = Table("transposes"), sizes.square
    for name in ("f32", "f16"):
        size = np.dtype(DTYPES[name]).itemsize
        data = numbers((n, n), dtype=DTYPES[name])
        flip = lambda m, x: x.t().contiguous()
        table.add(f"({n}, {n}) {name}", data, flip, numpy=lambda x: x.T.copy(), nbytes=2 * size * n * n, goal=STRIDED)
    for dims in ((0, 2, 1), (2, 1, 0), (1, 0, 2)):
        table.add(
            f"{sizes.block} to {dims}", numbers(sizes.block), lambda m, x, d=dims: x.permute(*d).contiguous(),
            numpy=lambda x, d=dims: x.transpose(d).copy(), nbytes=8 * int(np.prod(sizes.block)), goal=STRIDED,
        )  # fmt: skip
    return table


def reducers(sizes: Sizes) -> Table:
    """Sums and extremes over all elements, the first dim, the middle one, the last."""
    table, nbytes = Table("reductions"), 4 * int(np.prod(sizes.block))
    for name, (where, dim) in product(
        ("sum", "amax"), (("all", None), ("first dim", 0), ("middle dim", 1), ("last dim", 2))
    ):
        given = {} if dim is None else {"dim": dim}
        reducer = lambda m, x, name=name, given=given: getattr(m, name)(x, **given)
        oracle = np.sum if name == "sum" else np.max
        theirs = lambda x, f=oracle, d=dim: f(x, axis=d)
        table.add(f"{name}, {where}", numbers(sizes.block), reducer, numpy=theirs, nbytes=nbytes, rtol=1e-4)
    return table


def along_rows(sizes: Sizes) -> Table:
    """Softmax and its relatives: read and written once; with backward, the result and its gradient are read again."""
    table = Table("rows")
    for n, cols in sizes.rows:
        norm = lambda m, x, w, b, c=cols: m.nn.functional.layer_norm(x, (c,), w, b)
        for name, fn, more in (
            ("softmax", lambda m, x: m.softmax(x, dim=1), ()),
            ("log_softmax", lambda m, x: m.log_softmax(x, dim=1), ()),
            ("layer_norm", norm, ((cols,), (cols,))),
        ):
            title, data = f"{name} ({n}, {cols})", ((n, cols), *more)
            table.add(title, numbers(*data), fn, nbytes=8 * n * cols, goal=CONTIGUOUS, rtol=1e-4)
            table.add(
                f"{title}, backward", numbers(*data, (n, cols)), tracks=1 + len(more), nbytes=20 * n * cols,
                goal=CONTIGUOUS, rtol=1e-3, build=lambda m, *xs, fn=fn: pulled_back(m, fn, *xs),
            )  # fmt: skip
    return table


def scans(sizes: Sizes) -> Table:
    """Running sums."""
    table = Table("scans")
    for shape, dim in ((sizes.rows[0], 1), (sizes.rows[0], 0), ((sizes.flat,), 0)):
        table.add(
            f"cumsum {shape} along dim {dim}", numbers(shape), lambda m, x, d=dim: m.cumsum(x, d),
            numpy=lambda x, d=dim: np.cumsum(x, d), nbytes=8 * int(np.prod(shape)), rtol=1e-3,
        )  # fmt: skip
    return table


def indexing(sizes: Sizes) -> Table:
    """Elements and rows by index, and rows added into others."""
    table, (n, cols) = Table("indexing"), sizes.rows[0]
    x = numbers((n, cols))
    table.add(
        f"gather ({n}, {cols}) along dim 1", lambda rng: [*x(rng), rng.integers(0, cols, (n, cols))],
        lambda m, x, i: m.gather(x, 1, i), numpy=lambda x, i: np.take_along_axis(x, i, 1), nbytes=16 * n * cols,
    )  # fmt: skip
    table.add(
        f"index_select {n} of ({n}, {cols})", lambda rng: [*x(rng), rng.integers(0, n, n)],
        lambda m, x, i: m.index_select(x, 0, i), numpy=lambda x, i: x[i], nbytes=8 * n * cols,
    )  # fmt: skip
    table.add(
        f"index_add {n} rows into ({n}, {cols})", lambda rng: [*x(rng), *x(rng), rng.integers(0, n, n)],
        lambda m, x, s, i: m.index_add(x, 0, i, s), nbytes=12 * n * cols, rtol=1e-4,
    )  # fmt: skip
    return table


def products(sizes: Sizes) -> Table:
    """Products of matrices by this package's kernels, and by cuBLAS."""
    table = Table("matmul")
    for n, name, cublas in product(sizes.products, DTYPES, (False, True)):
        if name == "f32" and n > min(sizes.products):
            continue
        table.add(
            f"{n} {name}, {'cuBLAS' if cublas else 'own kernels'}", numbers((n, n), (n, n), dtype=DTYPES[name]),
            lambda m, a, b: a @ b, numpy=np.matmul, flops=2 * n**3, rtol=ROUNDED[name], cublas=cublas,
            goal=BY_CUBLAS if cublas else OWN[name],
        )  # fmt: skip
    return table


def images(sizes: Sizes) -> Table:
    """Convolution with windows of 3 x 3."""
    table, (n, channels, high, wide) = Table("convolution"), sizes.image
    name, flops = f"conv2d {sizes.image} 3x3 to {channels}", 2 * n * high * wide * channels**2 * 9
    data = numbers(sizes.image, (channels, channels, 3, 3), (channels,))
    conv = lambda m, x, w, b: m.nn.functional.conv2d(x, w, b, padding=1)
    table.add(name, data, conv, flops=flops, rtol=1e-4)
    table.add(f"{name}, backward", data, conv, tracks=3, flops=3 * flops, rtol=1e-3)
    return table


def calls(sizes: Sizes) -> Table:
    """What a call costs the host, whatever the device does."""
    table, pair = Table("launch"), numbers((16,), (16,))
    table.add("x + y of 16", pair, lambda m, a, b: a + b, numpy=np.add, host=True, goal=LAUNCH)
    table.add("x * 2 of 16", numbers((16,)), lambda m, x: x * 2.0, numpy=lambda x: x * np.float32(2), host=True)
    table.add("sum of 16", numbers((16,)), lambda m, x: m.sum(x), numpy=np.sum, host=True)
    table.add("x + y of 16, backward", pair, lambda m, a, b: a + b, tracks=2, host=True)
    return table


def attention_loss(m: Any, parameters: Sequence[Any], data: Sequence[Any], heads: int) -> Any:
    """Attention with several heads, its projections and a norm, and how far the result is from what was wanted."""
    (gain, shift, inner, outer), (x, wanted) = parameters, data
    n, length, size = x.shape
    h = m.nn.functional.layer_norm(x, (size,), gain, shift) @ inner
    q, k, v = (
        h[..., i * size : (i + 1) * size].reshape(n, length, heads, size // heads).transpose(1, 2) for i in range(3)
    )
    weights = m.softmax(q @ k.transpose(2, 3) / (size // heads) ** 0.5, 3)
    y = x + (weights @ v).transpose(1, 2).reshape(n, length, size) @ outer
    return ((y - wanted) ** 2).mean()


def training(sizes: Sizes) -> Table:
    """Forward, loss, backward and update; with the most memory that a step takes."""
    table, (n, length, size, heads) = Table("training"), sizes.words

    def texts(rng: np.random.Generator) -> list[Any]:
        inner, outer, x, wanted = numbers((size, 3 * size), (size, size), *[(n, length, size)] * 2)(rng)
        return [np.ones(size, np.float32), np.zeros(size, np.float32), inner / size**0.5, outer / size**0.5, x, wanted]

    def attended(m: Any, *tensors: Any) -> Callable[[], Any]:
        return steps(lambda m, parameters, data: attention_loss(m, parameters, data, heads), 4)(m, *tensors)

    layers = "-".join(map(str, sizes.layers))
    count = 2 * (len(sizes.layers) - 1)
    table.add(
        f"step of {layers}, batch {sizes.batch}", network(*sizes.layers, batch=sizes.batch), tracks=count,
        build=training_step, rtol=1e-2, peak=True,
    )  # fmt: skip  # cuBLAS's order of additions turns ReLUs near 0: PyTorch's biases are as far from the CPU's, 6e-3
    table.add(
        f"step of attention, {n} texts of {length}, {heads} heads of {size // heads}", texts, tracks=4, build=attended,
        rtol=1e-3, peak=True,
    )  # fmt: skip
    return table
