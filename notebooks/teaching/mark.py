"""Mark the notebooks of a class: `python -m notebooks.teaching.mark FOLDER [--csv marks.csv]`.

FOLDER contains a notebook or a folder per student: any number of `.ipynb` or `.py` files, of any chapters.  Each
notebook runs in its own process, with limits of time and memory and without a network (`one.py`, `guard.py`).  A
notebook that crashes or never ends therefore does not affect other marks.

Exit status: 0 if every notebook was marked, 1 if one could not be read or did not end, 2 if there was nothing
to mark or the marks cannot be written, 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from minigrad.config import settings
from minigrad.learning.grading import MODULES, exercises_of, instead_of
from notebooks.teaching.marks import RANK, Mark, Notebook, summary, table, write_common, write_csv, write_feedback
from notebooks.teaching.reading import Cell, Unreadable, cells_of, parses

ROOT = Path(__file__).resolve().parents[2]
UNWRITTEN = "is not written yet; replace the `...`"  # the end of the message of `expect_returned` for a stub
# What a browser, Jupyter and Google Drive add to the name of a copy.
COPIED = re.compile(r"^Copy of |(?: ?\(\d+\)|-Copy\d+)$")
LINES = 10_000  # messages of one notebook; later ones are ignored
RUNNING: set[int] = set()  # processes of notebooks; each has its own session
INTERRUPTED = threading.Event()  # by Ctrl-C: a process that starts now is stopped at once


@dataclass(frozen=True)
class Limits:
    """The limits of a notebook: seconds in total, seconds per cell, memory in GiB."""

    seconds: float = 300.0
    cell_seconds: float = 120.0
    memory: float = 8.0


# ---- submissions ----------------------------------------------------------------------------------------------------


def notebooks_in(place: Path) -> list[Notebook]:
    """Return the notebooks in a folder and below it, with their students; the path may also be one file."""
    root = place if place.is_dir() else place.parent
    paths = sorted(place.rglob("*")) if place.is_dir() else [place]
    chosen = [
        path for path in paths
        if path.suffix in (".ipynb", ".py") and path.is_file()
        and not any(part.startswith((".", "__")) for part in path.relative_to(root).parts)
        and not (path.suffix == ".py" and path.with_suffix(".ipynb").is_file())  # the pair of a notebook
    ]  # fmt: skip
    return sorted((Notebook(student_of(path, root), path) for path in chosen), key=lambda n: (n.student, n.path))


def student_of(path: Path, root: Path) -> str:
    """Return the student of a file: the folder below the root, or the file name without the chapter."""
    parts = path.relative_to(root).parts
    if len(parts) > 1:
        return parts[0]
    name = COPIED.sub("", path.stem)
    for stem in (handed_out.stem for handed_out in all_handed_out()):
        name = name.replace(stem, "")
    return name.strip(" _-.") or root.resolve().name


def all_handed_out() -> list[Path]:
    """Return the notebooks that students receive."""
    return sorted(path for chapter in MODULES for path in (ROOT / "notebooks").glob(f"{chapter}_*.py"))


@cache
def given_cells(chapter: str) -> frozenset[str]:
    """Return the original cells of a chapter, in a form that does not depend on spaces and comments."""
    return frozenset(
        shape_of(cell.source)
        for path in all_handed_out() if path.stem.startswith(f"{chapter}_") for cell in cells_of(path)
    )  # fmt: skip


def shape_of(source: str) -> str:
    """Return code without spaces and comments; text that Python cannot parse stays unchanged."""
    with suppress(RecursionError):
        return ast.dump(ast.parse(source)) if parses(source) else source.strip()
    return source.strip()


def chapters_of(path: Path, cells: Sequence[Cell]) -> list[str]:
    """Return the chapters of a notebook, by its checks and by its name."""
    text = "\n".join(cell.source for cell in cells)
    checked = [name[:2] for name in re.findall(r"""["'](\w\w\.\d)["']""", text) if name in exercises_of(name[:2])]
    named = [name for name in re.findall(r"(?<![A-Za-z0-9])(\w\w)_", path.stem) if exercises_of(name)]
    return sorted({*checked, *named})


def borrowed(cells: Sequence[Cell], chapters: Sequence[str]) -> Iterator[str]:
    """Yield a remark for each cell that reads the graders' references."""
    given = frozenset().union(*map(given_cells, chapters))
    for cell in cells:
        if shape_of(cell.source) not in given and re.search(
            r"minigrad\.learning\.exercises(?!\.patients)|\.reference\b", cell.source
        ):
            yield f"cell {cell.number} uses minigrad.learning.exercises, which contains the references: read the cell"


# ---- running a notebook ---------------------------------------------------------------------------------------------


def mark(notebook: Notebook, limits: Limits) -> Notebook:
    """Run one notebook, and fill in its marks."""
    try:
        cells = cells_of(notebook.path)
    except Unreadable as error:
        notebook.remarks.append(f"not marked: the file {error}")
        return notebook
    chapters = chapters_of(notebook.path, cells)
    if not chapters:
        notebook.remarks.append("not marked: it checks no exercise, and its name contains no chapter")
        return notebook
    notebook.remarks += borrowed(cells, chapters)
    began = time.monotonic()
    messages, status = messages_of(cells, chapters, limits)
    notebook.seconds = time.monotonic() - began
    notebook.ended = any(message["kind"] == "end" for message in messages)
    last = max((message["cell"] for message in messages if "cell" in message), default=0)
    stop = "" if notebook.ended else ending(status, last, limits)
    notebook.remarks += [f"cell {m['cell']} {m['words']}" for m in messages if m["kind"] == "error"][:5]
    notebook.remarks += [f"cell {m['cell']}, in the answer: {m['words']}" for m in messages if forbidden(m)][:5]
    notebook.remarks += [stop] if stop else []
    given = frozenset().union(*map(given_cells, chapters))
    untouched = {cell.number for cell in cells if shape_of(cell.source) in given}
    notebook.marks = [best(name, messages, untouched, stop) for chapter in chapters for name in exercises_of(chapter)]
    return notebook


def forbidden(message: dict[str, Any]) -> bool:
    """Return whether an answer tried something that the guard forbids."""
    return message["kind"] == "verdict" and "It raised PermissionError: " in message["words"]


def ending(status: int | None, cell: int, limits: Limits) -> str:
    """Describe how a process ended early."""
    where = f"in cell {cell}" if cell else "before its first cell"
    if status is None:
        return f"stopped {where}: the notebook took more than {limits.seconds:g} seconds"
    if status < 0:
        with suppress(ValueError):
            return f"the process was killed {where}, by {signal.Signals(-status).name}"
    return f"the process ended {where}, with status {status}"


def best(name: str, messages: list[dict[str, Any]], untouched: set[int], stop: str) -> Mark:
    """Return the best mark of an exercise among all messages about it."""
    found = []
    errors = {m["cell"]: m["words"] for m in messages if m["kind"] == "error"}
    for m in messages:
        if m["kind"] == "verdict" and m["exercise"] == name:
            unwritten = m["cell"] in untouched or m["words"].endswith(UNWRITTEN)
            result = "not tried" if m["result"] == "wrong" and unwritten else m["result"]
            words = " ".join(m["words"].split()).removeprefix(f"{name}: ").removeprefix("not yet. ")
            words = {"not tried": "untouched", "right": ""}.get(result, words)
            found.append(Mark(name, result, words, m["seconds"]))
        elif m["kind"] == "done" and name in m["names"]:
            why = errors.get(m["cell"], "did not come to its check")
            tried = "not tried" if m["cell"] in untouched else "wrong"
            found.append(Mark(name, tried, f"cell {m['cell']} {' '.join(why.split())}"))
    if not found:
        return Mark(name, "not tried", stop or "its check was not run")
    return min(reversed(found), key=lambda each: RANK.index(each.result))


def messages_of(
    cells: Sequence[Cell], chapters: Sequence[str], limits: Limits
) -> tuple[list[dict[str, Any]], int | None]:
    """Return the messages of the process of a notebook, and its exit status; None if it was stopped."""
    token = secrets.token_hex(16)
    with tempfile.TemporaryDirectory(prefix="marking-", ignore_cleanup_errors=True) as folder:
        order = {
            "token": token, "marker": os.getpid(), "cells": [(cell.number, cell.source) for cell in cells],
            "chapters": list(chapters), "cell_seconds": limits.cell_seconds, "memory": limits.memory,
            "writable": caches(),
        }  # fmt: skip
        reading, writing = os.pipe()
        process = subprocess.Popen(
            [sys.executable, "-m", "notebooks.teaching.one", str(writing)], cwd=folder, env=surroundings(folder),
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=(writing,),
            start_new_session=True, text=True, encoding="utf-8", errors="surrogatepass",
        )  # fmt: skip
        RUNNING.add(process.pid)
        if INTERRUPTED.is_set():
            stop(process.pid)
        os.close(writing)
        messages: list[dict[str, Any]] = []
        listener = threading.Thread(target=listen, args=(reading, token, messages), daemon=True)
        listener.start()
        status: int | None = None
        try:
            with suppress(subprocess.TimeoutExpired):
                process.communicate(json.dumps(order) + "\n", timeout=limits.seconds)
                status = process.returncode
        finally:
            stop(process.pid)
            process.wait()
            RUNNING.discard(process.pid)
        listener.join(timeout=5.0)
    return list(messages), status


def stop(process: int) -> None:
    """End the process of a notebook, and its children."""
    with suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)


def caches() -> list[str]:
    """Return the folders that every notebook must write to: the kernel cache and the font cache of matplotlib."""
    home = Path.home()
    fonts = [home / ".cache/matplotlib", home / ".config/matplotlib", home / ".matplotlib"]
    named = [os.environ["MPLCONFIGDIR"]] if "MPLCONFIGDIR" in os.environ else []
    return [str(folder) for folder in (settings.cache_dir, *fonts, *named)]


def surroundings(folder: str) -> dict[str, str]:
    """Return the environment of a notebook: its own temporary folder, no display, no helper processes."""
    kept = {
        name: value for name, value in os.environ.items() if not name.lower().endswith(("_proxy", "_token", "_key"))
    }
    return {
        "MINIGRAD_CUDA": "simulator", **kept, "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg", "TMPDIR": folder,
        "MINIGRAD_CACHE_DIR": str(settings.cache_dir), "MINIGRAD_COMPILE_AHEAD": "0", "PYTHONSAFEPATH": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip


def listen(reading: int, token: str, messages: list[dict[str, Any]]) -> None:
    """Collect the messages of a process; a line without the token was written by the notebook itself."""
    with os.fdopen(reading, encoding="utf-8", errors="replace") as stream, suppress(OSError, ValueError):
        for line in stream:
            with suppress(ValueError):
                message = json.loads(line)
                if isinstance(message, dict) and message.pop("token", None) == token and len(messages) < LINES:
                    messages.append(message)


def read_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m notebooks.teaching.mark", description="mark the notebooks of a class"
    )
    parser.add_argument("folder", type=Path, help="a notebook or a folder per student; or one file")
    parser.add_argument("--only", action="append", metavar="01.2", help="report this exercise only (may be repeated)")
    parser.add_argument("--csv", type=Path, help="write all marks to this file, and pages beside it")
    parser.add_argument("--seconds", type=float, default=Limits.seconds, help="for a notebook (default %(default)g)")
    parser.add_argument("--cell-seconds", type=float, default=Limits.cell_seconds, help="for a cell (%(default)g)")
    parser.add_argument("--memory", type=float, default=Limits.memory, help="GiB for a notebook (default %(default)g)")
    parser.add_argument("--jobs", type=int, default=1, help="notebooks at a time (default 1)")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Mark the notebooks of the command line; return the exit status."""
    given = read_arguments(argv)
    if not given.folder.exists():
        print(f"mark: the folder {given.folder} does not exist", file=sys.stderr)
        return 2
    for name in given.only or ():
        if name not in exercises_of(name[:2]):
            print(f"mark: there is no exercise {name!r}; {instead_of(name)}", file=sys.stderr)
            return 2
    notebooks = notebooks_in(given.folder)
    if not notebooks:
        print(f"mark: {given.folder} contains no .ipynb and no .py file", file=sys.stderr)
        return 2
    if given.csv and not given.csv.absolute().parent.is_dir():
        print(f"mark: cannot write {given.csv.name}: the folder {given.csv.parent} does not exist", file=sys.stderr)
        return 2
    limits = Limits(given.seconds, given.cell_seconds, given.memory)
    with ThreadPoolExecutor(max(1, given.jobs)) as pool:
        try:
            for n in pool.map(lambda n: mark(n, limits), notebooks):
                n.marks = [m for m in n.marks if not given.only or m.exercise in given.only]
                right = sum(m.result == "right" for m in n.marks)
                result = f"{right} of {len(n.marks)} right" if n.marks or n.ended else "not marked"
                print(f"{n.path}: {result}, {n.seconds:.1f} s", file=sys.stderr, flush=True)
        except KeyboardInterrupt:  # Ctrl-C does not reach processes of other sessions
            INTERRUPTED.set()
            pool.shutdown(wait=False, cancel_futures=True)
            for process in list(RUNNING):  # a process that is added later sees INTERRUPTED
                stop(process)
            print("mark: interrupted; no marks were written", file=sys.stderr)
            return 130
    print("\n".join([*table(notebooks), *summary(notebooks)]))
    if given.csv:
        write_csv(given.csv, notebooks)
        common, feedback = given.csv.with_suffix(".common.md"), given.csv.with_suffix(".feedback")
        write_common(common, notebooks)
        write_feedback(feedback, notebooks)
        print(f"\nwritten to {given.csv}, {common} and {feedback}/")
    return 0 if all(n.ended for n in notebooks) else 1


if __name__ == "__main__":
    sys.exit(main())
