"""The command `python -m minigrad pack --cpu x86-64-v3 x86-64-v4`: write object code of common kernels for a wheel.

For each level of x86-64, the kernels of `warmup` are compiled in separate processes, into a temporary cache, as for a
processor of exactly this level.  The kernels also run there, so this machine must have all features of the level.
`python -m build` includes the packs in the wheel.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from minigrad.kernels import objects, packs
from minigrad.kernels.cpu.processor import LEVELS, features

# LLVM's default tuning for the highest level avoids the widest registers.
WIDE = {"x86-64-v4": ",-prefer-256-bit"}


def run(levels: list[str], dtypes: list[str], jobs: int | None) -> int:
    """Write a pack for each level; return the exit status."""
    for level in levels:
        missing = LEVELS[level] - features()
        if missing:
            print(
                f"pack: this processor has no {', '.join(sorted(missing))}, so it cannot run what is compiled for "
                f"{level}; write that pack on one that can", file=sys.stderr,
            )  # fmt: skip
            return 2
        if status := fill(level, dtypes, jobs):
            return status
        path = packs.path_of(level)
        print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")
    return 0


def fill(level: str, dtypes: list[str], jobs: int | None) -> int:
    """Compile the common kernels for a level and pack them, in processes that target this level.

    Returns the exit status of the first process that fails, otherwise 0.
    """
    features = ",".join(f"+{name}" for name in sorted(LEVELS[level])) + WIDE.get(level, "")
    with tempfile.TemporaryDirectory() as folder:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
        environment |= {"NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": features, "MINIGRAD_CACHE_DIR": folder}
        more = [word for dtype in dtypes for word in ("--dtype", dtype)] + (["--jobs", str(jobs)] if jobs else [])
        for command in (["minigrad", "warmup", *more], ["minigrad.cli.pack", level]):
            done = subprocess.run([sys.executable, "-m", *command], env=environment)
            if done.returncode:
                return done.returncode
    return 0


def gather(level: str, folder: Path) -> int:
    """Pack all kernels of a cache; return 1 if none was written, otherwise 0."""
    packed = {}
    for source in sorted(folder.glob("[!.]*.py")):
        text = source.read_text(encoding="utf-8")
        kept = objects.read(objects.path_for(source), text)
        if kept is not None:
            packed[source.name] = text, kept
    try:
        if packed:
            packs.write(level, packed)
    except OSError as error:
        print(f"pack: {packs.path_of(level)} cannot be written: {error.strerror}", file=sys.stderr)
        return 1
    print(f"{len(packed)} kernels for {level}")
    return 0 if packed else 1


if __name__ == "__main__":
    from minigrad.kernels.store import cache_folder

    sys.exit(gather(sys.argv[1], cache_folder()))
