"""What kernels cost to compile: CPU seconds by family, in units of a plain loop compiled in the same process.

    python -m tests.benchmarks --only compile

Each family runs in a process of its own, from an empty kernel cache: the yardstick first, which is `z[i] = -x[i]` over
two float32 arrays, then what `warmup` compiles of it.  The units make machines comparable that differ in speed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

QUIET = subprocess.DEVNULL
YARDSTICKS = 3  # of which the best counts: the first compile of a process makes Numba's tables
HEADER = f"{'family':<28} {'kernels':>7} {'CPU s':>7} {'units':>7} {'a kernel':>9} {'most':>6}  the slowest"


def report() -> None:
    """Print a line a family, and the demo."""
    from minigrad.cli.warmup import WORK

    print(HEADER)
    total = 0.0
    for name in WORK:
        found = in_process("family", name)
        unit, kernels = found["unit"], found["kernels"]
        spent = sum(kernels.values())
        slowest = max(kernels, key=lambda key: kernels[key])
        total += spent / unit
        print(
            f"{name:<28} {len(kernels):>7} {spent:>7.2f} {spent / unit:>7.1f} {spent / unit / len(kernels):>9.2f} "
            f"{kernels[slowest] / unit:>6.1f}  {slowest}",
            flush=True,
        )
    found = in_process("demo")
    spent = found["cold"] - found["warm"]
    print(f"{'all of them':<28} {'':>7} {'':>7} {total:>7.1f}")
    print(f"{'the demo, cold minus warm':<28} {'':>7} {spent:>7.2f} {spent / found['unit']:>7.1f}")


def in_process(*asked: str) -> dict[str, Any]:
    """What this module finds in a fresh process with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "MINIGRAD_CACHE_DIR": folder, "OMP_WAIT_POLICY": "passive"}
        command = [sys.executable, "-m", __name__, *asked]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def yardstick() -> float:
    """CPU seconds to compile a plain loop."""
    from numba import njit

    best = float("inf")
    for _ in range(YARDSTICKS):

        def loop(x: Any, z: Any) -> None:
            for i in range(len(x)):
                z[i] = -x[i]

        start = time.process_time()
        njit("void(float32[::1], float32[::1])")(loop)
        best = min(best, time.process_time() - start)
    return best


def family(name: str) -> dict[str, Any]:
    """The yardstick, and the CPU seconds of every kernel that a piece of `warmup` compiles, small and large."""
    import minigrad as mg
    from minigrad.cli.warmup import SIZES, WORK
    from minigrad.kernels import store

    unit, kernels, fresh = yardstick(), {}, store.fresh

    def timed(place: str, kernel: str, text: str, kept: Any) -> Any:
        start = time.process_time()
        try:
            return fresh(place, kernel, text, kept)
        finally:
            kernels[kernel] = kernels.get(kernel, 0.0) + time.process_time() - start

    store.fresh = timed
    for shape in SIZES:
        WORK[name](mg.float32, shape)
    return {"unit": unit, "kernels": kernels}


def demo() -> dict[str, Any]:
    """CPU seconds of `python -m minigrad demo` with an empty cache, and again."""
    spent = []
    for _ in range(2):
        before = os.times()
        subprocess.run([sys.executable, "-m", "minigrad", "demo"], stdout=QUIET, stderr=QUIET, check=True)
        after = os.times()
        spent.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return {"unit": yardstick(), "cold": spent[0], "warm": spent[1]}


if __name__ == "__main__":
    print(json.dumps(family(sys.argv[2]) if sys.argv[1] == "family" else demo()))
