"""The texts of the CPU's kernels for every op, and the snapshot of their keys.

    python -m tests.kernel_texts    # writes tests/kernels/texts.txt again, after a change of kernels on purpose

A key is the hash of a kernel's code.  A change that should not affect kernels, such as a moved file or a shorter
template, leaves the snapshot as it is; then no user compiles anything again, and nothing becomes slower.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
SNAPSHOT = HERE / "kernels" / "texts.txt"
VERSION = f"Python {sys.version_info.major}.{sys.version_info.minor}"  # the texts are written by its `ast.unparse`

# Every op once as plain Python, forward and back: its texts are written, and nothing is compiled.
EVERY_OP = """
import warnings

import numpy as np
import op_support
from op_table import ROWS

import minigrad as mg

warnings.simplefilter("ignore")
for row in ROWS:
    dtype = "float32" if "float32" in row.dtypes else row.dtypes[-1]
    operands = op_support.operands(row, op_support.arrays(row), dtype, "cpu")
    row.fn(*operands)
    if row.smooth and mg.as_dtype(dtype).is_float:
        leaves = [mg.Var(x) if x.dtype.is_float else x for x in operands]
        y = row.fn(*leaves)
        (y if isinstance(y, mg.Tensor) else y[0]).backward()
x = mg.rand(30, 40)
for dtype in ("float16", "float32", "int32"):
    for dims in (None, 0, 1):
        for fold in (mg.sum, mg.prod, mg.amax, mg.any):
            fold(x.to(dtype), dims)
"""


def writer(folder: Path, seed: int = 1) -> subprocess.Popen[bytes]:
    """Start a process that writes the texts of every op into a kernel cache, for one processor on all machines."""
    environment = os.environ | {
        "NUMBA_DISABLE_JIT": "1", "PYTHONHASHSEED": str(seed), "MINIGRAD_CACHE_DIR": str(folder),
        "MINIGRAD_COMPILE_AHEAD": "0", "PYTHONPATH": os.pathsep.join([str(HERE.parent), str(HERE)]),
        "NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": "+avx,+avx2,+f16c,+fma",
    }  # fmt: skip
    return subprocess.Popen([sys.executable, "-c", EVERY_OP], env=environment, cwd=folder)


def names(folder: Path) -> list[str]:
    """Return the names of the kernels in a cache, each with its key."""
    return sorted(path.stem for path in (folder / "kernels").glob("*.py"))


def recorded() -> list[str]:
    """Return the lines of the snapshot: the version of Python, then the names of the kernels."""
    return SNAPSHOT.read_text(encoding="utf-8").splitlines()


def main() -> int:
    """Write the snapshot."""
    with tempfile.TemporaryDirectory() as folder:
        if writer(Path(folder)).wait() != 0:
            return 1
        found = names(Path(folder))
    SNAPSHOT.write_text("\n".join([VERSION, *found]) + "\n", encoding="utf-8")
    print(f"{len(found)} kernels")
    return 0


if __name__ == "__main__":
    sys.exit(main())
