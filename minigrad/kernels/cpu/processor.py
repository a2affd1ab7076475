"""The processor that kernels are compiled for: its features, its level, the tile that fits its registers.

It is the host, unless NUMBA_CPU_NAME and NUMBA_CPU_FEATURES name another, as Numba reads them.
"""

from __future__ import annotations

import os
from functools import cache

import numpy as np

# The features that each level adds to the one below (x86-64 psABI, section 3.1.1), by LLVM's names, highest first.
BASE = "cx16 sahf popcnt sse3 sse4.1 sse4.2 ssse3"
AVX2 = f"{BASE} avx avx2 bmi bmi2 f16c fma lzcnt movbe"
LEVELS = {
    "x86-64-v4": frozenset(f"{AVX2} avx512f avx512bw avx512cd avx512dq avx512vl".split()),
    "x86-64-v3": frozenset(AVX2.split()),
    "x86-64-v2": frozenset(BASE.split()),
}


@cache
def features() -> frozenset[str]:
    """The features, by LLVM's names."""
    listed = os.environ.get("NUMBA_CPU_FEATURES", "").strip()
    if listed or os.environ.get("NUMBA_CPU_NAME", "").strip().lower() == "generic":
        return frozenset(name[1:] for name in listed.split(",") if name.startswith("+"))
    from llvmlite import binding

    return frozenset(name for name, there in binding.get_host_cpu_features().items() if there)


@cache
def level() -> str:
    """The highest level whose features are all there; "" for none."""
    return next((name for name, wanted in LEVELS.items() if wanted <= features()), "")


@cache
def tuning() -> str:
    """Return LLVM's name of the tuning that kernels are compiled with: vectors of 512 bits, or "" for none.

    LLVM prefers 256 bits on Intel's processors, because the clock of the first ones with AVX-512 fell with wider
    vectors.  Those have no avx512vbmi2, and keep LLVM's choice; later ones are faster with 512 (decision 066).
    """
    return "-prefer-256-bit" if {"avx512f", "avx512vbmi2"} <= features() else ""


def tile_shape(dtype: str, known: frozenset[str] | None = None) -> tuple[int, int, int]:
    """Return (lanes of a vector, rows, vectors per row) of a dtype's register tile; known: features, by default of this
    CPU.

    16 of 32 registers accumulate with AVX-512 and NEON, which hides four cycles of latency on two units and divides
    the sizes that people use; 12 of 16 with AVX2, 8 of 16 with SSE.  The rest hold the row of B and an element of A.
    """
    size = np.dtype(dtype).itemsize
    known = features() if known is None else known
    if "avx512f" in known:
        return 64 // size, 8, 2
    if "avx2" in known:
        return 32 // size, 6, 2
    return 16 // size, 8 if "neon" in known else 4, 2
