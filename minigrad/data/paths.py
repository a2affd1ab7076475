"""Where files of data are looked for, and the error that names the file to put there."""

from __future__ import annotations

import gzip
import os
from collections.abc import Sequence
from typing import Any

from minigrad.errors import FileError


class MissingFile(FileError, FileNotFoundError):
    """A file of a data set is not there; the message names it and its folder."""


def located(name: str, root: Any, folders: Sequence[str], files: Sequence[str], where: str) -> str:
    """Return the path of the first of some files that is in one of some folders under a root.

    where: the sentence's end on where the file comes from.  Raises MissingFile.
    """
    for folder in folders:
        for file in files:
            path = os.path.join(os.fspath(root), folder, file)
            if os.path.isfile(path):
                return path
    folder = os.path.abspath(os.path.join(os.fspath(root), folders[-1]))
    raise MissingFile(f"{name}: there is no {' or '.join(files)} in {folder}; put it there ({where})")


def opened(path: Any) -> Any:
    """Open a file for reading bytes, through gzip if its name ends in .gz.  Raises MissingFile."""
    try:
        return gzip.open(path, "rb") if os.fspath(path).endswith(".gz") else open(path, "rb")
    except FileNotFoundError:
        raise MissingFile(f"there is no file {os.path.abspath(os.fspath(path))}; put it there") from None


def content(path: Any) -> bytes:
    """Return the bytes of a file.  Raises FileError for an archive that is damaged."""
    with opened(path) as file:
        try:
            data: bytes = file.read()
        except (EOFError, OSError, ValueError) as error:
            raise FileError(f"{os.fspath(path)} is damaged ({error})") from None
    return data
