"""Matrix products by cuBLAS, if its library is installed and `settings.cublas` allows it.

All products are calls of `cublasGemmStridedBatchedEx`, by ctypes.  cuBLAS reads matrices column by column, so it reads
a row-major matrix as its transpose.  Therefore cuBLAS computes the transpose of the result, with the right operand
first.  The kernels of `matmul.py` compute products with layouts that cuBLAS does not support, such as a matrix with
gaps along both dims.
Source: https://docs.nvidia.com/cuda/cublas, cublasGemmStridedBatchedEx.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from minigrad.backends.cuda.tiles import Problem
from minigrad.backends.launch import Enqueued
from minigrad.core.dtype import DType
from minigrad.errors import DeviceError

TYPES = {"float32": 0, "float64": 1, "float16": 2, "bfloat16": 14}  # values of cudaDataType
SUMS_32, SUMS_64 = 68, 70  # values of cublasComputeType_t; SUMS_32 does not round float32 to TF32
# Two values of cublasOperation_t, and the code that lets cuBLAS choose the algorithm.
AS_IT_IS, TURNED, CHOSEN = 0, 1, -1
LARGEST = (1 << 31) - 1  # largest size that fits cuBLAS's 32-bit arguments
CALLS, WORK = 32, 1 << 27  # maximum number of calls for one product, and minimum number of multiply-adds per call


@dataclass(frozen=True)
class Side:
    """One operand for cuBLAS.

    turned: whether it is transposed.
    lead: the distance from column to column.
    step: the distance from matrix to matrix.
    offset: the offset of the first element.
    """

    turned: int
    lead: int
    step: int
    offset: int


@dataclass(frozen=True)
class Gemm:
    """A product as arguments of cuBLAS: rows, columns and inner dim of the transpose, with the right operand first."""

    rows: int
    cols: int
    inner: int
    first: Side
    second: Side
    result: Side
    batch: int


def gemms_of(p: Problem) -> list[Gemm]:
    """Return the calls of cuBLAS that compute a product, or [] if cuBLAS cannot compute it efficiently.

    A batch in cuBLAS has one dim.  For a product with two batch dims, such as texts and heads, there is one call per
    index of the shorter batch dim, if these calls are few and large.
    """
    if len(p.sizes) < 2:
        whole = gemm_of(p, p.batches, [steps[0] if steps else 0 for steps in p.steps], (0, 0, 0, 0))
        return [] if whole is None else [whole]
    calls, dim = min((n, d) for d, n in enumerate(p.sizes))
    batch = p.batches // calls if calls else 0
    if len(p.sizes) > 2 or calls > CALLS or p.m * p.n * p.k * batch < WORK:
        return []
    steps = [each[1 - dim] for each in p.steps]
    result = [gemm_of(p, batch, steps, [i * each[dim] for each in p.steps]) for i in range(calls)]
    return [] if None in result else [gemm for gemm in result if gemm is not None]


def gemm_of(p: Problem, batch: int, steps: Sequence[int], starts: Sequence[int]) -> Gemm | None:
    """Return a batch of matrices as one call, or None if cuBLAS cannot compute it.

    starts: the offset of the batch in each operand.
    """
    if min(p.m, p.n, p.k) < 2 or max(p.m, p.n, p.k, batch) > LARGEST:
        return None
    step_a, step_b, _, step_out = steps
    first = side(p.bn, p.bk, p.n, p.k, step_b, p.b + starts[1])
    second = side(p.ak, p.am, p.k, p.m, step_a, p.a + starts[0])
    result = side(p.on, p.om, p.n, p.m, step_out, p.out + starts[3])
    if first is None or second is None or result is None or result.turned or step_a < 0 or step_b < 0 or step_out < 0:
        return None
    return Gemm(p.n, p.m, p.k, first, second, result, batch)


def side(along: int, lead: int, rows: int, cols: int, step: int, offset: int) -> Side | None:
    """Return a matrix as an operand of cuBLAS, or None.

    along: the distance of neighbours in a column. lead: the distance of columns.
    """
    if along == 1 and rows <= lead <= LARGEST:
        return Side(AS_IT_IS, lead, step, offset)
    if lead == 1 and cols <= along <= LARGEST:
        return Side(TURNED, along, step, offset)
    return None


class Blas:
    """The library with a handle. product(gemm, dtype, alpha, beta) returns a launch on (a, b, out)."""

    def __init__(self, library: Any) -> None:
        self.library = library
        self.lock = threading.Lock()  # only one thread at a time may use a handle
        self.handle = ctypes.c_void_p()
        status = library.cublasCreate_v2(ctypes.byref(self.handle))
        if status:
            raise DeviceError(
                f"cuBLAS cannot be used: cublasCreate returned the status {status}; set mg.settings.cublas = False"
            )

    def product(self, gemm: Gemm, dtype: DType, alpha: float, beta: float) -> Enqueued:
        """Return a call of the library on buffers of the operands and of out.

        Before the call, out contains the matrix that is multiplied by beta.
        """
        kind, size = TYPES[dtype.name], dtype.itemsize
        sums, number = (SUMS_64, ctypes.c_double) if dtype.name == "float64" else (SUMS_32, ctypes.c_float)
        factors = (number(alpha), number(beta))
        run = self.library.cublasGemmStridedBatchedEx
        ints, first, second, result = ctypes.c_int, gemm.first, gemm.second, gemm.result

        def at(buffer: Any, matrix: Side) -> list[Any]:
            position = ctypes.c_void_p(buffer.address + matrix.offset * size)
            return [position, ints(kind), ints(matrix.lead), ctypes.c_longlong(matrix.step)]

        def launch(a: Any, b: Any, out: Any) -> None:
            arguments = [
                self.handle, ints(first.turned), ints(second.turned), ints(gemm.rows), ints(gemm.cols),
                ints(gemm.inner), ctypes.byref(factors[0]), *at(b, first), *at(a, second), ctypes.byref(factors[1]),
                *at(out, result), ints(gemm.batch), ints(sums), ints(CHOSEN),
            ]  # fmt: skip
            with self.lock:
                status = run(*arguments)
            if status:
                raise DeviceError(
                    f"a matrix product failed: cublasGemmStridedBatchedEx returned the status {status}; set "
                    "mg.settings.cublas = False"
                )

        return Enqueued("cublasGemmStridedBatchedEx", launch, False)
