"""Packs: object code of the common kernels that comes with the package, for whoever has no compiler warm.

A pack is a zip file for one level of processors (`python -m minigrad pack` writes it, `processor.py` has the levels).
It serves processors of just that level: a kernel for more would not run, and one for less has other tiles than the
launches of this processor count on.  Each entry is checked as a file of the kernel cache is.
"""

from __future__ import annotations

import io
import zipfile
from functools import cache
from pathlib import Path

from minigrad.kernels import objects
from minigrad.kernels.cpu.processor import level

FOLDER = Path(__file__).parent.parent / "packs"


def fits(level: str) -> str:
    """What object code of a pack is made for and by, in words."""
    return f"{objects.made_by()}; {level}"


def path_of(level: str) -> Path:
    """Where the pack of a level is, if there is one."""
    return FOLDER / f"{level}.zip"


@cache
def opened() -> zipfile.ZipFile | None:
    """The pack of this processor's level, read whole; None without one, or for one that is no pack, and where Numba is
    told to compile in another way."""
    if objects.settings():
        return None
    try:
        return zipfile.ZipFile(io.BytesIO(path_of(level()).read_bytes()))
    except (OSError, zipfile.BadZipFile):
        return None


def find(file: str, text: str) -> objects.ObjectCode | None:
    """The object code of a kernel's text; None where there is none that fits and is whole."""
    pack = opened()
    if pack is None:
        return None
    try:
        content = pack.read(file)
    except (KeyError, zipfile.BadZipFile):
        return None
    return objects.unpacked(content, text, fits(level()))


def write(path: Path, level: str, kernels: dict[str, tuple[str, objects.ObjectCode]]) -> None:
    """A pack of kernels: for the name of each file, its text and its object code.  Raises OSError where it cannot."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as pack:
        for file, (text, found) in sorted(kernels.items()):
            # The same kernels make the same bytes: an entry's time would not.
            pack.writestr(zipfile.ZipInfo(file), objects.packed(found, text, fits(level)), zipfile.ZIP_DEFLATED)
    path.parent.mkdir(parents=True, exist_ok=True)
    objects.write(path, content.getvalue())
