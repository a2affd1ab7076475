"""The processor for which kernels are compiled: its features, its level, and the tile that fits its registers.

It is the host, unless NUMBA_CPU_NAME and NUMBA_CPU_FEATURES specify another processor, as for Numba.
"""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache

import numpy as np

# The features of each level (x86-64 psABI, section 3.1.1) by LLVM's names, with those of the levels below it; the
# highest level first.
BASE = "cx16 sahf popcnt sse3 sse4.1 sse4.2 ssse3"
AVX2 = f"{BASE} avx avx2 bmi bmi2 f16c fma lzcnt movbe"
LEVELS = {
    "x86-64-v4": frozenset(f"{AVX2} avx512f avx512bw avx512cd avx512dq avx512vl".split()),
    "x86-64-v3": frozenset(AVX2.split()),
    "x86-64-v2": frozenset(BASE.split()),
}
TILES = frozenset({"amx-tile", "amx-bf16", "avx512f", "avx512bw", "avx512bf16"})
PRCTL, REQUEST, TILE_DATA = 158, 0x1023, 18  # the numbers of Linux for arch_prctl, ARCH_REQ_XCOMP_PERM and the tiles

# The order of eight complex numbers in two vectors of their parts, by the size of a part: shuffles within 128 bits, of
# which a processor executes more than of those between them, bring it about.
PARTED = {4: (0, 1, 4, 5, 2, 3, 6, 7), 8: (0, 4, 1, 5, 2, 6, 3, 7)}


@cache
def features() -> frozenset[str]:
    """Return the features of the processor, by LLVM's names."""
    listed = os.environ.get("NUMBA_CPU_FEATURES", "").strip()
    if listed or os.environ.get("NUMBA_CPU_NAME", "").strip().lower() == "generic":
        return frozenset(name[1:] for name in listed.split(",") if name.startswith("+"))
    from llvmlite import binding

    return frozenset(name for name, there in binding.get_host_cpu_features().items() if there)


@cache
def is_zen() -> bool:
    """Return whether the processor is one of AMD's with the Zen architecture, by LLVM's name."""
    from llvmlite import binding

    name = os.environ.get("NUMBA_CPU_NAME", "").strip() or binding.get_host_cpu_name()
    return name.startswith("znver")


@cache
def multiplies_pairs() -> bool:
    """Return whether the processor multiplies pairs of bfloat16, and adds both products to a float32."""
    return {"avx512f", "avx512bf16"} <= features()


@cache
def has_tiles() -> bool:
    """Return whether this process may use the tiles of AMX; the first call requests the permission of the system.

    Linux reserves 8 KB for the tiles of each thread, and ends a process that uses them without this permission.
    """
    if sys.platform != "linux" or not features() >= TILES:
        return False
    refused: int = ctypes.CDLL(None).syscall(PRCTL, REQUEST, TILE_DATA)
    return refused == 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=has_tiles.cache_clear)


@cache
def level() -> str:
    """Return the highest level whose features the processor has, or ""."""
    return next((name for name, wanted in LEVELS.items() if wanted <= features()), "")


@cache
def tuning() -> str:
    """Return the tuning of kernels in addition to the features, by LLVM's names: "", or the use of 512-bit vectors.

    LLVM prefers 256 bits on Intel's processors, because the clock of the first ones with AVX-512 fell with wider
    vectors.  Those do not have avx512vbmi2, and use LLVM's choice.  Later processors are faster with 512 bits (decision
    066).
    """
    return "-prefer-256-bit" if {"avx512f", "avx512vbmi2"} <= features() else ""


def has_wide_tile() -> bool:
    """Return whether `wide_tile` differs from `tile_shape`."""
    return "avx512f" in features() and not is_zen()


def wide_tile(dtype: str) -> tuple[int, int, int]:
    """Return the shape of the tile for products whose operands do not fit the second-level cache, as `tile_shape` does.

    On Intel's processors with AVX-512, 24 registers accumulate: a tile of three vectors per row reads 11 values per 24
    multiply-adds, one of two vectors 10 per 16.
    """
    lanes, rows, vectors = tile_shape(dtype)
    return lanes, rows, 3 if has_wide_tile() else vectors


def tile_shape(dtype: str, known: frozenset[str] | None = None) -> tuple[int, int, int]:
    """Return the shape of a dtype's register tile: lanes of a vector, rows, vectors per row.

    known: the features of the processor, by default those of this one.

    With AVX-512 and NEON, 16 of 32 registers accumulate.  This hides four cycles of latency on two units, and divides
    common matrix sizes.  With AVX2, 12 of 16 registers accumulate, with SSE 8 of 16.  The other registers contain the
    row of B and an element of A.
    """
    size = np.dtype(dtype).itemsize
    known = features() if known is None else known
    if "avx512f" in known:
        return 64 // size, 8, 2
    if "avx2" in known:
        return 32 // size, 6, 2
    return 16 // size, 8 if "neon" in known else 4, 2
