"""Notebooks as students hand them in, read into cells of code: `.ipynb` or `.py`, however they were saved.

Magics of IPython are taken out, since cells are run by Python alone.
"""

from __future__ import annotations

import ast
import codecs
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MARK = re.compile(r"^# ?%%(.*)$", re.MULTILINE)
TIMED = ("%%time", "%%timeit", "%%capture", "%%prun")  # magics whose cell is ordinary code
LARGEST = 50_000_000  # bytes of a file: more is no notebook that anybody wrote


class Unreadable(Exception):
    """Why a file cannot be read as a notebook, in one sentence."""


@dataclass(frozen=True)
class Cell:
    """Code of a notebook.  number: the how manieth cell of code it is, from 1."""

    number: int
    source: str


def cells_of(path: Path) -> list[Cell]:
    """The cells of code of a notebook.  Raises Unreadable."""
    try:
        size = path.stat().st_size
        data = path.read_bytes() if size <= LARGEST else b""
    except OSError as error:
        raise Unreadable(f"cannot be opened: {error.strerror}") from None
    if size > LARGEST:
        raise Unreadable(f"has {size / 1e6:.0f} MB; clear its outputs, save it, and hand it in again")
    text = decoded(data)
    sources = from_json(text) if path.suffix == ".ipynb" else from_percent(text)
    return [Cell(k, without_magics(source)) for k, source in enumerate(sources, 1)]


def decoded(data: bytes) -> str:
    """The text of a file, in the encoding that its first bytes or its letters tell."""
    for mark, name in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if data.startswith(mark):
            return data.decode(name, errors="replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")  # of an editor on Windows


def from_json(text: str) -> list[str]:
    """The code of an .ipynb."""
    try:
        book = json.loads(text)
    except (ValueError, RecursionError) as error:
        where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise Unreadable(f"is damaged: it is no JSON{where}; it was perhaps not saved to its end") from None
    cells = book.get("cells") if isinstance(book, dict) else None
    if not isinstance(cells, list):
        raise Unreadable("has no cells; a notebook of Jupyter 4 or later is expected")
    return [source_of(cell) for cell in cells if isinstance(cell, dict) and cell.get("cell_type") == "code"]


def source_of(cell: dict[str, Any]) -> str:
    """The text of a cell, which is one string or a list of lines."""
    source = cell.get("source", "")
    return "".join(map(str, source)) if isinstance(source, list) else str(source)


def from_percent(text: str) -> list[str]:
    """The code of a .py with `# %%` between cells; all of it where there is none."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    heads = list(MARK.finditer(text))
    if not heads:
        return [text]
    ends = [*[head.start() for head in heads[1:]], len(text)]
    cells = [(head.group(1), text[head.end() : end]) for head, end in zip(heads, ends)]
    before = text[: heads[0].start()]
    first = [] if parses(before) and not ast.parse(before).body else [before]  # a header of comments is no cell
    return [*first, *[code for kind, code in cells if "[markdown]" not in kind and "[raw]" not in kind]]


def without_magics(source: str) -> str:
    """Code that Python reads: a line such as `%matplotlib inline` or `!ls` does nothing."""
    source = source.replace("\r\n", "\n").replace("\x00", "")
    first, _, rest = source.lstrip().partition("\n")
    if first.startswith("%%"):
        return without_magics(rest) if first.split()[0] in TIMED else ""
    if parses(source):
        return source
    return re.sub(r"^([ \t]*)[%!?].*$|^([ \t]*)[\w.]+\?{1,2}$", r"\1\2pass", source, flags=re.MULTILINE)


def parses(source: str) -> bool:
    """Whether it is Python."""
    try:
        ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
