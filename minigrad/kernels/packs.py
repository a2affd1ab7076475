"""Packs: object code of the common kernels that comes with the package, for a process without a warm compiler.

A pack is a zip file for one level of processors (`python -m minigrad pack` writes it, `processor.py` has the levels).
It serves processors with this highest level and the same sizes of tiles; a kernel for a higher level would not run.
Each entry is checked as a file of the kernel cache is.
"""

from __future__ import annotations

import io
import zipfile
from functools import cache
from pathlib import Path

from minigrad.kernels import objects
from minigrad.kernels.cpu.processor import LEVELS, level, tile_shape

FOLDER = Path(__file__).parent.parent / "packs"


LARGEST = 1 << 24  # largest size of an entry in bytes, far more than a kernel needs


def fits(name: str) -> str:
    """Return the origin of object code in a level's pack, as text."""
    return f"{objects.made_by()}; {name}"


def path_of(name: str) -> Path:
    """Return the path of the pack of a level, if there is one."""
    return FOLDER / f"{name}.zip"


@cache
def opened() -> zipfile.ZipFile | None:
    """Return the pack for this processor, read completely, or None.

    None if there is no valid pack, if settings change how Numba compiles, or if the processor's tiles differ from those
    of its level.
    """
    name = level()
    if not name or objects.settings() or tile_shape("float32") != tile_shape("float32", LEVELS[name]):
        return None
    try:
        return zipfile.ZipFile(io.BytesIO(path_of(name).read_bytes()))
    except (OSError, zipfile.BadZipFile):
        return None


def find(file: str, text: str) -> objects.ObjectCode | None:
    """The object code of a kernel's text; None where there is none that fits and is whole."""
    pack = opened()
    if pack is None:
        return None
    try:
        if pack.getinfo(file).file_size > LARGEST:
            return None
        content = pack.read(file)
    except Exception:  # a damaged zip file raises errors of six types; all of them mean that the entry is missing
        return None
    return objects.unpacked(content, text, fits(level()))


def write(name: str, kernels: dict[str, tuple[str, objects.ObjectCode]]) -> Path:
    """The pack of a level, of kernels: for the name of each file, its text and its object code.  Raises OSError where
    that cannot be written."""
    content, path = io.BytesIO(), path_of(name)
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as pack:
        for file, (text, code) in sorted(kernels.items()):
            # The time of an entry is left out, so that the same kernels make the same bytes.
            pack.writestr(zipfile.ZipInfo(file), objects.packed(code, text, fits(name)), zipfile.ZIP_DEFLATED)
    path.parent.mkdir(parents=True, exist_ok=True)
    objects.write(path, content.getvalue())
    path.chmod(0o644)  # all users of the installed package must be able to read it
    return path
