"""Read the code cells of a submitted notebook: `.ipynb` or `.py`, in any encoding.

IPython magics are removed, since Python runs the cells.
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
LARGEST = 50_000_000  # bytes of a file; a notebook without outputs is much smaller


class Unreadable(Exception):
    """Raised for a file that is not a notebook; the message is one sentence."""


@dataclass(frozen=True)
class Cell:
    """A code cell of a notebook.  number: its index among the code cells, from 1."""

    number: int
    source: str


def cells_of(path: Path) -> list[Cell]:
    """Return the code cells of a notebook.  Raises Unreadable."""
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
    """Decode a file: by its byte order mark, otherwise as UTF-8, and if this fails as cp1252."""
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
        return data.decode("cp1252", errors="replace")  # older editors on Windows


def from_json(text: str) -> list[str]:
    """Return the code cells of an .ipynb file."""
    try:
        book = json.loads(text)
    except (ValueError, RecursionError) as error:
        where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise Unreadable(f"is damaged: it is not valid JSON{where}; perhaps it was not saved completely") from None
    cells = book.get("cells") if isinstance(book, dict) else None
    if not isinstance(cells, list):
        raise Unreadable("has no cells; a notebook of Jupyter 4 or later is expected")
    return [source_of(cell) for cell in cells if isinstance(cell, dict) and cell.get("cell_type") == "code"]


def source_of(cell: dict[str, Any]) -> str:
    """Return the text of a cell, which is stored as a string or as a list of lines."""
    source = cell.get("source", "")
    return "".join(map(str, source)) if isinstance(source, list) else str(source)


def from_percent(text: str) -> list[str]:
    """Return the code cells of a .py file with `# %%` between cells; without any, the file is one cell."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    heads = list(MARK.finditer(text))
    if not heads:
        return [text]
    ends = [*[head.start() for head in heads[1:]], len(text)]
    cells = [(head.group(1), text[head.end() : end]) for head, end in zip(heads, ends)]
    before = text[: heads[0].start()]
    first = [] if parses(before) and not ast.parse(before).body else [before]  # a header of comments is not a cell
    return [*first, *[code for kind, code in cells if "[markdown]" not in kind and "[raw]" not in kind]]


def without_magics(source: str) -> str:
    """Replace IPython lines such as `%matplotlib inline` or `!ls` with `pass`."""
    source = source.replace("\r\n", "\n").replace("\x00", "")
    first, _, rest = source.lstrip().partition("\n")
    if first.startswith("%%"):
        return without_magics(rest) if first.split()[0] in TIMED else ""
    if parses(source):
        return source
    return re.sub(r"^([ \t]*)[%!?].*$|^([ \t]*)[\w.]+\?{1,2}$", r"\1\2pass", source, flags=re.MULTILINE)


def parses(source: str) -> bool:
    """Return whether Python can parse the text."""
    try:
        ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
