"""`python -m minigrad pack --cpu x86-64-v3 x86-64-v4`: the common kernels' object code, for a wheel to carry.

For each level the kernels are compiled in processes of their own, into a cache of their own, as for a processor of only
that level; they run there, so this machine must have all features of the level.  The kernels are those of `warmup`.
`python -m build` puts packs into the wheel.
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
    """Write a pack for each level; returns the exit status."""
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
    """Compile the common kernels for a level and pack them, in a process for which the processor is of that level."""
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
    """Pack all kernels of a cache; 1 if there are none."""
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
