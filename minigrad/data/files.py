"""Files of data sets: where they are searched, how they are opened, and the errors for missing and damaged ones."""

from __future__ import annotations

import gzip
import os
from collections.abc import Sequence
from typing import Any

from minigrad.errors import FileError


class MissingFile(FileError, FileNotFoundError):
    """Raised if a file of a data set is missing; the message names its folder."""


def located(name: str, root: Any, folders: Sequence[str], files: Sequence[str], where: str) -> str:
    """Return the path of the first of several files that exists in one of the folders below `root`.

    where: the end of the error message, which states where users can get the file.
    Raises MissingFile if none of the files exists.
    """
    for folder in folders:
        for file in files:
            path = os.path.join(os.fspath(root), folder, file)
            if os.path.isfile(path):
                return path
    folder = os.path.abspath(os.path.join(os.fspath(root), folders[-1]))
    raise MissingFile(f"{name}: there is no {' or '.join(files)} in {folder}; put the file there ({where})")


def opened(path: Any) -> Any:
    """Open a file for reading bytes, through gzip if its name ends in .gz; raise MissingFile if it does not exist."""
    try:
        return gzip.open(path, "rb") if os.fspath(path).endswith(".gz") else open(path, "rb")
    except FileNotFoundError:
        raise MissingFile(
            f"there is no file {os.path.abspath(os.fspath(path))}; put the file there or correct the path"
        ) from None


def content(path: Any) -> bytes:
    """Return the bytes of a file; raise FileError if it is damaged."""
    with opened(path) as file:
        try:
            data: bytes = file.read()
        except (EOFError, OSError, ValueError) as error:
            raise FileError(f"{os.fspath(path)} is damaged ({error}); download the file again") from None
    return data
