"""The highest speed of this machine: multiply-adds in registers, on one thread and on all threads."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

import minigrad as mg
from minigrad.kernels.cpu.processor import tile_shape

CHAINS = 12  # vectors that are added onto: more than latency times units, fewer than registers
TURNS = 4_000_000


@cache
def loop(dtype: str) -> Callable[[int], float]:
    """A compiled function of n: n turns of CHAINS vector multiply-adds that do not wait for each other."""
    lanes = tile_shape(dtype)[0]
    kind = ir.VectorType(ir.FloatType() if dtype == "float32" else ir.DoubleType(), lanes)

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def turns(typingctx: Any, n: Any) -> Any:
        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            name = f"llvm.fma.v{lanes}f{32 if dtype == 'float32' else 64}"
            fma = cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind] * 3), name)
            scale = ir.Constant(kind, [0.5] * lanes)
            # No chain starts with 1, which 0.5 x + 0.5 does not change, so that LLVM would remove the chain.
            chains = [
                cgutils.alloca_once_value(builder, ir.Constant(kind, [float(k + 2)] * lanes)) for k in range(CHAINS)
            ]
            with cgutils.for_range(builder, args[0]):
                for chain in chains:
                    builder.store(builder.call(fma, [builder.load(chain), scale, scale]), chain)
            total = builder.load(chains[0])
            for chain in chains[1:]:
                total = builder.fadd(total, builder.load(chain))
            first = builder.extract_element(total, ir.Constant(ir.IntType(32), 0))
            return builder.fpext(first, ir.DoubleType()) if dtype == "float32" else first

        return types.float64(types.int64), codegen

    compiled: Callable[[int], float] = njit("float64(int64)", nogil=True)(lambda n: turns(n))
    return compiled


@cache
def multiply_adds(dtype: str, threads: int) -> float:
    """Floating point operations a second, two for a multiply-add; the best of five."""
    run, each = loop(dtype), 2 * CHAINS * tile_shape(dtype)[0] * TURNS
    best = 0.0
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(5):
            start = time.perf_counter()
            list(pool.map(run, [TURNS] * threads))
            best = max(best, threads * each / (time.perf_counter() - start))
    return best


def text() -> str:
    """The limits, in a line."""
    rates = [f"{multiply_adds('float32', n) / 1e9:.0f} on {n}" for n in sorted({1, mg.get_num_threads()})]
    return f"multiply-adds in registers, GFLOP/s of float32 by threads: {', '.join(rates)}"


def share(title: str, rate: float) -> str:
    """A rate of arithmetic as a share of the limit on all threads, for the dtype that a row's title names."""
    dtype = "float64" if "f64" in title else "float32"
    return f"{rate / multiply_adds(dtype, mg.get_num_threads()):.0%} of the multiply-adds"
