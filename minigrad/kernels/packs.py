"""Packs: object code of common kernels, included in the package, so that a new process compiles fewer kernels.

A pack is a zip file for one level of processors.  `python -m minigrad pack` writes it, and `processor.py` defines the
levels.  It is used if this is the highest level of the processor, and if the sizes of the tiles agree; a kernel of a
higher level would not run.  Each entry is checked in the same way as a file of the kernel cache.
"""

from __future__ import annotations

import io
import zipfile
from functools import cache
from pathlib import Path

from minigrad.kernels import objects
from minigrad.kernels.cpu.processor import LEVELS, level, tile_shape

FOLDER = Path(__file__).parent.parent / "packs"


LARGEST = 1 << 24  # bytes; no kernel is nearly this large, so a larger entry is not read


def fits(name: str) -> str:
    """Return the origin of the object code in the pack of a level, as text."""
    return f"{objects.made_by()}; {name}"


def path_of(name: str) -> Path:
    """Return the path of the pack of a level; the file need not exist."""
    return FOLDER / f"{name}.zip"


@cache
def opened() -> zipfile.ZipFile | None:
    """Return the pack for this processor, read completely, or None.

    It is None if there is no valid pack, if Numba's settings change the compilation, or if the processor's tiles differ
    from the tiles of its level.
    """
    name = level()
    if not name or objects.settings() or tile_shape("float32") != tile_shape("float32", LEVELS[name]):
        return None
    try:
        return zipfile.ZipFile(io.BytesIO(path_of(name).read_bytes()))
    except (OSError, zipfile.BadZipFile):
        return None


def find(file: str, text: str) -> objects.ObjectCode | None:
    """Return the object code of a kernel's text from the pack; None if no valid entry fits."""
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
    """Write the pack of a level, and return its path.  Raises OSError if that is not possible.

    kernels: for each file name, the text of the kernel and its object code.
    """
    content, path = io.BytesIO(), path_of(name)
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as pack:
        for file, (text, code) in sorted(kernels.items()):
            # An entry has a fixed time, so that the same kernels produce the same bytes.
            pack.writestr(zipfile.ZipInfo(file), objects.packed(code, text, fits(name)), zipfile.ZIP_DEFLATED)
    path.parent.mkdir(parents=True, exist_ok=True)
    objects.write(path, content.getvalue())
    path.chmod(0o644)  # all users of the installed package must be able to read it
    return path
