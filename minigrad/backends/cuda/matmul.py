"""The matrix product on CUDA: the choice of kernels for a product, and their scalar arguments.

The tiles are in `kernels/cuda/tile.py` and written by `tiles.py`, the rest in `kernels/cuda/matmul.py`; decisions by
shape are in `product.py`.  Operands are read in place: any strides work without a copy, and other dtypes are converted
on the way to shared memory.  Two float16 or two bfloat16 operands are multiplied on the tensor cores.  A single row or
column has separate kernels, and so have small matrices.  If there are few tiles, the inner dim is divided, and a second
kernel adds the pieces in their order.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cuda.blas import TYPES, gemms_of
from minigrad.backends.cuda.family import CudaBackend, line
from minigrad.backends.cuda.product import Problem, pieces_of, tile_for
from minigrad.backends.cuda.runtime import Program
from minigrad.backends.cuda.texts import group_words, wire
from minigrad.backends.cuda.tiles import Way, bits, factor_text, registers, write_tiles
from minigrad.backends.launch import Launch
from minigrad.backends.shared import Ints
from minigrad.backends.steps import Steps, Value
from minigrad.config import settings
from minigrad.core import requests
from minigrad.core.dtype import DType, as_dtype
from minigrad.core.layout import Layout
from minigrad.kernels.cuda import matmul, reduction, tile
from minigrad.kernels.cuda.target import CUDA
from minigrad.kernels.macros import expression_macro, stored
from minigrad.kernels.specialize import write_kernel

WARPS = 8  # rows of a matrix that one block multiplies by a vector
SMALL = 64  # maximum number of results, and of elements of the inner dim, for one thread per result
ACROSS, DOWN = 32, 8  # threads of a block if columns are contiguous in memory
# Scalar arguments of a product without windows: all lists are empty.
UNSEEN: dict[str, Ints] = dict.fromkeys([*tile.FOUR.split(), *tile.THREE.split()], ())
Added = tuple[Value | None, float, float]  # (the added matrix, alpha, beta)


@serves(CudaBackend, requests.Product)
def multiply(steps: Steps, request: requests.Product) -> Launch:
    (out,), (a, b, *added) = steps.outs, steps.operands
    add_product(steps, out, a, b, (added[0] if added else None, request.alpha, request.beta))
    return steps.launch


def add_product(steps: Steps, out: Value, a: Value, b: Value, added: Added) -> None:
    """Add the steps that compute alpha * a @ b + beta * c, for any dtypes."""
    c = added[0]
    problem = Problem(out.layout, a.layout, b.layout, c.layout if c else None)
    if by_library(steps, problem, (out, a, b), added):
        return
    if problem.m * problem.n <= SMALL and problem.k <= SMALL:
        by_elements(steps, problem, (out, a, b), added)
        return
    if problem.m == 1 or problem.n == 1:
        by_vector(steps, problem, (out, a, b), added)
        return
    mma = by_tensor_cores(steps, a.dtype, b.dtype, out.dtype)
    chosen = tile_for(
        problem.m, problem.n, problem.batches, problem.k, registers(out.dtype).itemsize, mma
    )  # fmt: skip
    way = Way(chosen, problem.along, problem.copied() if mma else (False, False))
    numbers = {
        "rows": problem.m, "cols": problem.n, "length": problem.k, "a": problem.a, "am": problem.am,
        "ak": problem.ak, "b": problem.b, "bk": problem.bk, "bn": problem.bn, "sizes": problem.sizes,
        "a_steps": problem.steps[0], "b_steps": problem.steps[1], **UNSEEN,
    }  # fmt: skip
    result = {
        "c": problem.c, "cm": problem.cm, "cn": problem.cn, "c_steps": problem.steps[2], "to": problem.out,
        "om": problem.om, "on": problem.on, "to_steps": problem.steps[3],
    }  # fmt: skip
    tiled(steps, way, (out, a, b), added, numbers, result)


def tiled(
    steps: Steps, way: Way, values: tuple[Value, Value, Value], added: Added, numbers: dict[str, Any],
    result: dict[str, Any],
) -> None:  # fmt: skip
    """Add the steps for one product by tiles. result: the scalar arguments of out and of the added matrix."""
    out, a, b = values
    c, alpha, beta = added
    m, n, batches = numbers["rows"], numbers["cols"], prod(numbers["sizes"])
    down, across = -(-m // way.tile.high), -(-n // way.tile.broad)
    pieces, deep = pieces_of(down * across * batches, numbers["length"], way.tile.depth)
    arguments = {**numbers, "down": down, "across": across, "pieces": pieces, "deep": deep, "piece": 0}
    arguments["tasks"] = down * across * batches * pieces
    rank, compute = len(numbers["sizes"]), registers(out.dtype)
    across_grid = min(arguments["tasks"], (1 << 31) - 1)
    grid, block = (across_grid, -(-arguments["tasks"] // across_grid), 1), (way.tile.threads, 1, 1)
    fields = tile.tile_fields(rank, way.windows)
    if pieces == 1:
        dtypes = (a.dtype, b.dtype, *((c.dtype,) if c else ()))
        kernel = steps.backend.kernel(write_tiles, way, dtypes, out.dtype, rank)
        factors = {"alpha": bits(alpha, compute), "beta": bits(beta, compute)}
        launch = steps.backend.bind(kernel, grid, block, fields.pack(**arguments, **result, **factors))
        steps.then(launch, a, b, *((c,) if c else ()), out)
        return
    sums = steps.work((pieces, batches, m, n), as_dtype(compute))
    flat = Layout.contiguous((*numbers["sizes"], m, n))
    plain = {
        "c": 0, "cm": 0, "cn": 0, "c_steps": (0,) * rank, "to": 0, "om": n, "on": 1, "to_steps": flat.strides[:-2],
        "alpha": bits(1, compute), "beta": 0,
    }  # fmt: skip
    if way.windows:
        plain["to_col"] = Layout.contiguous(numbers["col_sizes"]).strides
    kernel = steps.backend.kernel(write_tiles, way, (a.dtype, b.dtype), sums.dtype, rank)
    arguments |= plain | {"piece": batches * m * n}
    steps.then(steps.backend.bind(kernel, grid, block, fields.pack(**arguments)), a, b, sums)
    add_pieces(steps, pieces, sums, out, added, Outcome.of(numbers, result))


def add_pieces(steps: Steps, pieces: int, sums: Value, out: Value, added: Added, outcome: Outcome) -> None:
    """Add the step that sums the pieces of a product."""
    c, alpha, beta = added
    dims = outcome.sizes
    kernel = steps.backend.kernel(write_join, sums.dtype, *((c.dtype,) if c else (None,)), out.dtype, len(dims))
    compute = registers(out.dtype)
    numbers = matmul.join_fields(len(dims)).pack(
        count=prod(dims), pieces=pieces, alpha=bits(alpha, compute), beta=bits(beta, compute), c=outcome.c,
        to=outcome.to, sizes=dims, c_steps=outcome.c_steps, to_steps=outcome.to_steps,
    )  # fmt: skip
    launch = steps.backend.bind(kernel, *line(steps.backend.blocks(prod(dims))), numbers)
    steps.then(launch, sums, *((c,) if c else ()), out)


def by_tensor_cores(steps: Steps, a: DType, b: DType, out: DType) -> bool:
    """Return whether tensor cores multiply two operands; they support float16 and bfloat16 since capability 8.0."""
    halves = a is b and a.name in ("float16", "bfloat16") and registers(out) == np.float32
    return halves and steps.backend.runtime.properties.capability >= (8, 0)


def by_library(steps: Steps, p: Problem, values: tuple[Value, Value, Value], added: Added) -> bool:
    """Compute a product with cuBLAS.

    Return False if it is not available, not allowed, or cannot compute the product.
    """
    out, a, b = values
    c, alpha, beta = added
    same = out.dtype is a.dtype is b.dtype and out.dtype.name in TYPES
    gemms = gemms_of(p) if same and settings.cublas and steps.backend.runtime.blas is not None else []
    if not gemms:
        return False
    if c is not None:
        steps.copy(out, c)
    for gemm in gemms:
        steps.then(steps.backend.runtime.blas.product(gemm, out.dtype, alpha, beta if c is not None else 0), a, b, out)
    return True


def by_elements(steps: Steps, p: Problem, values: tuple[Value, Value, Value], added: Added) -> None:
    """Add the steps for small matrices, for which most of a tile would be empty."""
    out, a, b = values
    c, alpha, beta = added
    rank, compute, count = len(p.sizes) + 2, registers(out.dtype), p.batches * p.m * p.n
    numbers = matmul.small_fields(rank).pack(
        count=count, length=p.k, alpha=bits(alpha, compute), beta=bits(beta, compute), a=p.a, ak=p.ak, b=p.b,
        bk=p.bk, c=p.c, to=p.out, sizes=(*p.sizes, p.m, p.n), a_steps=(*p.steps[0], p.am, 0),
        b_steps=(*p.steps[1], 0, p.bn), c_steps=(*p.steps[2], p.cm, p.cn), to_steps=(*p.steps[3], p.om, p.on),
    )  # fmt: skip
    operands = (a, b, *((c,) if c else ()))
    kernel = steps.backend.kernel(write_small, tuple(x.dtype for x in operands), out.dtype, rank)
    steps.then(steps.backend.bind(kernel, *line(steps.backend.blocks(count)), numbers), *operands, out)


def by_vector(steps: Steps, p: Problem, values: tuple[Value, Value, Value], added: Added) -> None:
    """Add the steps for one row or one column."""
    out, a, b = values
    turned = p.m == 1 and p.n > 1
    matrix, vector = (b, a) if turned else (a, b)
    size, om, cm = (p.n, p.on, p.cn) if turned else (p.m, p.om, p.cm)
    start, step, along, x, x_step = (p.b, p.bn, p.bk, p.a, p.ak) if turned else (p.a, p.am, p.ak, p.b, p.bk)
    steps_0, steps_1 = (p.steps[1], p.steps[0]) if turned else (p.steps[0], p.steps[1])
    lies_along = size == 1 or abs(along) <= abs(step)
    each = WARPS if lies_along else ACROSS
    blocks = -(-size // each) * p.batches
    pieces, deep = pieces_of(blocks, p.k // 4, 1)
    deep = 4 * deep if pieces > 1 else p.k
    pieces = max(1, -(-p.k // max(1, deep)))
    c, alpha, beta = added
    last = pieces == 1
    compute = registers(out.dtype)
    rank = len(p.sizes)
    sums = out if last else steps.work((pieces, p.batches, size), as_dtype(compute))
    flat = Layout.contiguous((*p.sizes, size)).strides
    outcome = Outcome((*p.sizes, size), p.out, (*p.steps[3], om), p.c, (*p.steps[2], cm))
    numbers = matmul.vector_fields(rank).pack(
        tasks=blocks * pieces, across=-(-size // each), pieces=pieces, deep=deep, rows=size, length=p.k,
        alpha=bits(alpha if last else 1, compute), beta=bits(beta, compute), a=start, am=step, ak=along,
        b=x, bk=x_step, c=p.c, cm=cm, to=p.out if last else 0, om=om if last else 1, piece=p.batches * size,
        sizes=p.sizes, a_steps=steps_0, b_steps=steps_1, c_steps=p.steps[2],
        to_steps=p.steps[3] if last else flat[:-1],
    )  # fmt: skip
    joined = (c,) if c and last else ()
    dtypes = tuple(x.dtype for x in (matrix, vector, *joined))
    kernel = steps.backend.kernel(write_vector, lies_along, dtypes, sums.dtype, rank)
    grid = (min(blocks * pieces, (1 << 31) - 1), 1, 1)
    block = (32, WARPS, 1) if lies_along else (ACROSS, DOWN, 1)
    steps.then(steps.backend.bind(kernel, grid, block, numbers), matrix, vector, *joined, sums)
    if not last:
        add_pieces(steps, pieces, sums, out, added, outcome)


@dataclass(frozen=True)
class Outcome:
    """Sizes, offsets and strides of a result in the order of its pieces, and of the matrix that is added to it."""

    sizes: Ints
    to: int
    to_steps: Ints
    c: int
    c_steps: Ints

    @staticmethod
    def of(numbers: dict[str, Any], result: dict[str, Any]) -> Outcome:
        """Return the Outcome for the scalar arguments of a product by tiles, `numbers`, and of its result."""
        if result.get("to_col"):
            cols, steps = numbers["col_sizes"], result["to_col"]
        else:
            cols, steps = (numbers["cols"],), (result["on"],)
        sizes = (*numbers["sizes"], numbers["rows"], *cols)
        return Outcome(
            sizes, result["to"], (*result["to_steps"], result["om"], *steps),
            result["c"], (*result["c_steps"], result["cm"], *[result["cn"]] * len(cols)),
        )  # fmt: skip


# ---- kernels --------------------------------------------------------------------------------------------------------


def write_join(sums: DType, c: DType | None, out: DType, rank: int) -> Program:
    """Write the addition of pieces."""
    compute = registers(out)
    text = write_kernel(
        f"product: pieces of {sums}{f', {c}' if c else ''} -> {out}; {rank} dims.",
        matmul.join,
        operands=(sums, c) if c else (sums,),
        out=out,
        compute=compute,
        macros={"FACTOR": expression_macro(factor_text(compute))},
        constants={"ADDED": str(int(c is not None))},
        fields=matmul.join_fields(rank),
        target=CUDA,
    )
    return Program(f"product_join_{sums.short}_{c.short if c else ''}_{out.short}_{rank}", text)


def write_small(dtypes: tuple[DType, ...], out: DType, rank: int) -> Program:
    """Write one product of small matrices."""
    compute = registers(out)
    text = write_kernel(
        f"product: {', '.join(map(str, dtypes))} -> {out}; small, {rank} dims.",
        matmul.small,
        operands=dtypes,
        out=out,
        compute=compute,
        macros={"FACTOR": expression_macro(factor_text(compute))},
        constants={"ADDED": str(int(len(dtypes) == 3))},
        fields=matmul.small_fields(rank),
        target=CUDA,
    )
    return Program("_".join(["product_small", *(d.short for d in dtypes), out.short, str(rank)]), text)


def write_vector(along: bool, dtypes: tuple[DType, ...], out: DType, rank: int) -> Program:
    """Write one product of a matrix and a vector. along: rows are contiguous."""
    compute, way = registers(out), "along" if along else "across"
    join = reduction.by_lanes if along else reduction.by_rows
    macros, constants = wire(compute)
    text = write_kernel(
        f"product with a vector: {', '.join(map(str, dtypes))} -> {out}; {way}, {rank} dims.",
        matmul.vector,
        operands=dtypes,
        out=out,
        compute=compute,
        macros={
            **macros,
            "FACTOR": expression_macro(factor_text(compute)),
            "COMBINE": stored(expression_macro("{0} + {1}")),
        },
        constants=constants
        | group_words(along)
        | {"ADDED": str(int(len(dtypes) == 3)), "JOINED": join.__name__, "TOLD": "0"},
        helpers=[join],
        fields=matmul.vector_fields(rank),
        target=CUDA,
    )
    return Program("_".join(["vector", way, *(d.short for d in dtypes), out.short, str(rank)]), text)
