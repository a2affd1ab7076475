"""The matrix product on CUDA: the choice of kernels for a product, and their scalar arguments.

The tiles are in `kernels/cuda/tile.py`, and `tiles.py` chooses among them.  Operands are read in place: any strides
work without a copy, and other dtypes are converted on the way to shared memory.  Two float16 or two bfloat16 operands
are multiplied on the tensor cores.  If there are few tiles, the inner dim is divided, and a second kernel adds the
pieces in their order.

A product of small matrices has its own loop, and so has a product with a vector, which takes as long as reading the
matrix.  If each row is one run of memory, a warp reads the row with neighbouring lanes.  If each column is one run of
memory, 32 neighbouring threads read one row each, and eight threads share a row.  `LANE` of `LANES`, `GROUP` of
`GROUPS` and `JOINED` are as in `kernels/cuda/reduction.py`.  `FACTOR` converts a number to a factor.
"""

# mypy: disable-error-code="name-defined, no-untyped-def"
from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cuda.blas import TYPES, gemms_of
from minigrad.backends.cuda.family import CudaBackend, CudaSteps
from minigrad.backends.cuda.tiles import Problem, Way, pieces_of, product_words, registers, tile_for
from minigrad.backends.steps import Ints, Value
from minigrad.config import settings
from minigrad.core import requests
from minigrad.core.dtype import DType, as_dtype
from minigrad.core.layout import Layout
from minigrad.kernels.cuda.reduction import joined_words, wire
from minigrad.kernels.cuda.target import bits, factor_text
from minigrad.kernels.cuda.tile import FOUR, THREE, tiles
from minigrad.kernels.fields import Fields, loop
from minigrad.kernels.macros import expression_macro, stored
from minigrad.kernels.pasting import Late, Macro

# PyTorch's switches, which have no effect: this module hides those of `switches.cuda.matmul`.
allow_tf32 = allow_fp16_reduced_precision_reduction = allow_bf16_reduced_precision_reduction = False
WARPS = 8  # rows of a matrix that one block multiplies by a vector
SMALL = 64  # maximum number of results, and of elements of the inner dim, for one thread per result
ACROSS, DOWN = 32, 8  # threads of a block if columns are contiguous in memory
# Scalar arguments of a product without windows: all lists are empty.
UNSEEN: dict[str, Ints] = dict.fromkeys([*FOUR.split(), *THREE.split()], ())
Added = tuple[Value | None, float, float]  # (the added matrix, alpha, beta)


LISTS = "sizes[rank] a_steps[rank] b_steps[rank] c_steps[rank] to_steps[rank]"


@loop(Fields("tasks across pieces deep rows length alpha beta a am ak b bk c cm to om piece", LISTS))
def vector(in_K, out, N):
    """out = alpha * in_0 @ in_1 + beta * in_2; a group of threads computes one row."""
    alpha = FACTOR(N.alpha)
    if ADDED:
        beta = FACTOR(N.beta)
    task = np.int64(cuda.blockIdx.x)
    while task < N.tasks:
        row = task % N.across * GROUPS + GROUP
        rest = task // N.across
        part = rest % N.pieces
        batch = rest // N.pieces
        a, b, c = N.a, N.b, N.c
        to = N.to + part * N.piece
        walk(batch, N.sizes, a=N.a_steps, b=N.b_steps, c=N.c_steps, to=N.to_steps)
        acc = T(0)
        if row < N.rows:
            k = part * N.deep + LANE
            stop = min(N.length, (part + 1) * N.deep)
            a += row * N.am
            while k < stop:
                acc = T(acc + T(LOAD_0(in_0[a + k * N.ak]) * LOAD_1(in_1[b + k * N.bk])))
                k += LANES
        joined = JOINED(acc)
        if LANE == 0 and row < N.rows:
            value = T(alpha * joined[0])
            if ADDED:
                value = T(value + T(beta * LOAD_2(in_2[c + row * N.cm])))
            out[to + row * N.om] = STORE(value)
        task += np.int64(cuda.gridDim.x)


@loop(Fields("count length alpha beta a ak b bk c to", LISTS))
def small(in_K, out, N):
    """out = alpha * in_0 @ in_1 + beta * in_2 for any number of small matrices; a thread computes one element."""
    alpha = FACTOR(N.alpha)
    if ADDED:
        beta = FACTOR(N.beta)
    i = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while i < N.count:
        position = i
        a, b, c, to = N.a, N.b, N.c, N.to
        walk(position, N.sizes, a=N.a_steps, b=N.b_steps, c=N.c_steps, to=N.to_steps)
        acc = T(0)
        for k in range(N.length):
            acc = T(acc + T(LOAD_0(in_0[a + k * N.ak]) * LOAD_1(in_1[b + k * N.bk])))
        value = T(alpha * acc)
        if ADDED:
            value = T(value + T(beta * LOAD_2(in_2[c])))
        out[to] = STORE(value)
        i += np.int64(cuda.gridDim.x) * cuda.blockDim.x


@loop(Fields("count pieces alpha beta c to", "sizes[rank] c_steps[rank] to_steps[rank]"))
def add_up(in_K, out, N):
    """out = alpha * the sum of the pieces in their order + beta * in_1; a thread computes one element."""
    alpha = FACTOR(N.alpha)
    if ADDED:
        beta = FACTOR(N.beta)
    i = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while i < N.count:
        acc = in_0[i]
        for part in range(1, N.pieces):
            acc = T(acc + in_0[i + part * N.count])
        position = i
        c, to = N.c, N.to
        walk(position, N.sizes, c=N.c_steps, to=N.to_steps)
        value = T(alpha * acc)
        if ADDED:
            value = T(value + T(beta * LOAD_1(in_1[c])))
        out[to] = STORE(value)
        i += np.int64(cuda.gridDim.x) * cuda.blockDim.x


@serves(CudaBackend, requests.Product)
def multiply(steps: CudaSteps, request: requests.Product) -> None:
    (out,), (a, b, *added) = steps.outs, steps.operands
    add_product(steps, out, a, b, (added[0] if added else None, request.alpha, request.beta))


def add_product(steps: CudaSteps, out: Value, a: Value, b: Value, added: Added) -> None:
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
    chosen = tile_for(problem.m, problem.n, problem.batches, problem.k, registers(out.dtype).itemsize, mma)
    way = Way(chosen, problem.along, problem.copied() if mma else (False, False))
    numbers = {
        "rows": problem.m, "cols": problem.n, "length": problem.k, "a": problem.a, "side_0": problem.am,
        "inner_0": problem.ak, "b": problem.b, "inner_1": problem.bk, "side_1": problem.bn, "sizes": problem.sizes,
        "a_steps": problem.steps[0], "b_steps": problem.steps[1], **UNSEEN,
    }  # fmt: skip
    result = {
        "c": problem.c, "cm": problem.cm, "cn": problem.cn, "c_steps": problem.steps[2], "to": problem.out,
        "om": problem.om, "on": problem.on, "to_steps": problem.steps[3],
    }  # fmt: skip
    tiled(steps, way, (out, a, b), added, numbers, result)


def tiled(
    steps: CudaSteps, way: Way, values: tuple[Value, Value, Value], added: Added, numbers: dict[str, Any],
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
    compute, across_grid = registers(out.dtype), min(arguments["tasks"], (1 << 31) - 1)
    common: dict[str, Any] = {
        "form": f"product_{{}}_{way.label}",
        "compute": compute,
        "grid": ((across_grid, -(-arguments["tasks"] // across_grid), 1), (way.tile.threads, 1, 1)),
    }
    if pieces == 1:
        operands = (a, b, *((c,) if c else ()))
        factors: dict[str, Any] = {"alpha": bits(alpha, compute), "beta": bits(beta, compute)}
        words = Late(product_words, (way, tuple([x.dtype for x in operands]), compute))
        steps.run(tiles, *operands, out, words=words, **common, **arguments, **result, **factors)
        return
    sums = steps.work((pieces, batches, m, n), as_dtype(compute))
    flat = Layout.contiguous((*numbers["sizes"], m, n))
    plain = {
        "c": 0, "cm": 0, "cn": 0, "c_steps": (0,) * len(numbers["sizes"]), "to": 0, "om": n, "on": 1,
        "to_steps": flat.strides[:-2], "alpha": bits(1, compute), "beta": 0,
    }  # fmt: skip
    if way.windows:
        plain["to_col"] = Layout.contiguous(numbers["col_sizes"]).strides
    else:
        plain["to_col"] = ()
    words = Late(product_words, (way, (a.dtype, b.dtype), compute))
    arguments |= plain | {"piece": batches * m * n}
    steps.run(tiles, a, b, sums, words=words, **common, **arguments)
    add_pieces(steps, pieces, sums, out, added, Outcome.of(numbers, result))


def add_pieces(steps: CudaSteps, pieces: int, sums: Value, out: Value, added: Added, outcome: Outcome) -> None:
    """Add the step that sums the pieces of a product."""
    c, alpha, beta = added
    dims = outcome.sizes
    compute = registers(out.dtype)
    steps.run(
        add_up, sums, *((c,) if c else ()), out, words={"FACTOR": factor_text(compute), "ADDED": c is not None},
        form="product_join_{}", compute=compute, elements=prod(dims), count=prod(dims), pieces=pieces,
        alpha=bits(alpha, compute), beta=bits(beta, compute), c=outcome.c, to=outcome.to, sizes=dims,
        c_steps=outcome.c_steps, to_steps=outcome.to_steps,
    )  # fmt: skip


def by_tensor_cores(steps: CudaSteps, a: DType, b: DType, out: DType) -> bool:
    """Return whether tensor cores multiply two operands; they support float16 and bfloat16 since capability 8.0."""
    halves = a is b and a.name in ("float16", "bfloat16") and registers(out) == np.float32
    return halves and steps.backend.runtime.properties.capability >= (8, 0)


def by_library(steps: CudaSteps, p: Problem, values: tuple[Value, Value, Value], added: Added) -> bool:
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


def by_elements(steps: CudaSteps, p: Problem, values: tuple[Value, Value, Value], added: Added) -> None:
    """Add the steps for small matrices, for which most of a tile would be empty."""
    out, a, b = values
    c, alpha, beta = added
    compute, count = registers(out.dtype), p.batches * p.m * p.n
    steps.run(
        small, a, b, *((c,) if c else ()), out, words={"FACTOR": factor_text(compute), "ADDED": c is not None},
        form="product_small_{}", compute=compute, elements=count, count=count, length=p.k, alpha=bits(alpha, compute),
        beta=bits(beta, compute), a=p.a, ak=p.ak, b=p.b, bk=p.bk, c=p.c, to=p.out, sizes=(*p.sizes, p.m, p.n),
        a_steps=(*p.steps[0], p.am, 0), b_steps=(*p.steps[1], 0, p.bn), c_steps=(*p.steps[2], p.cm, p.cn),
        to_steps=(*p.steps[3], p.om, p.on),
    )  # fmt: skip


def by_vector(steps: CudaSteps, p: Problem, values: tuple[Value, Value, Value], added: Added) -> None:
    """Add the steps for one row or one column."""
    out, a, b = values
    turned = p.m == 1 and p.n > 1
    matrix, column = (b, a) if turned else (a, b)
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
    sums = out if last else steps.work((pieces, p.batches, size), as_dtype(compute))
    flat = Layout.contiguous((*p.sizes, size)).strides
    outcome = Outcome((*p.sizes, size), p.out, (*p.steps[3], om), p.c, (*p.steps[2], cm))
    joined = (c,) if c and last else ()
    steps.run(
        vector, matrix, column, *joined, sums, words=Late(vector_words, (compute, lies_along, bool(joined))),
        form=f"vector_{{}}_{'along' if lies_along else 'across'}", compute=compute,
        grid=((min(blocks * pieces, (1 << 31) - 1), 1, 1), (32, WARPS, 1) if lies_along else (ACROSS, DOWN, 1)),
        tasks=blocks * pieces, across=-(-size // each), pieces=pieces, deep=deep, rows=size, length=p.k,
        alpha=bits(alpha if last else 1, compute), beta=bits(beta, compute), a=start, am=step, ak=along,
        b=x, bk=x_step, c=p.c, cm=cm, to=p.out if last else 0, om=om if last else 1, piece=p.batches * size,
        sizes=p.sizes, a_steps=steps_0, b_steps=steps_1, c_steps=p.steps[2],
        to_steps=p.steps[3] if last else flat[:-1],
    )  # fmt: skip
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


def vector_words(compute: np.dtype[Any], along: bool, added: bool) -> dict[str, Any]:
    """Return the words of `vector`. along: rows are contiguous."""
    combine = Macro(stored(expression_macro("{0} + {1}")))
    return wire(compute) | joined_words(along) | {"FACTOR": factor_text(compute), "ADDED": added, "COMBINE": combine}
