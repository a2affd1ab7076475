"""Mark the notebooks of a class: `python -m notebooks.teaching.mark FOLDER [--csv marks.csv]`.

FOLDER holds a notebook for each student, or a folder for each; `.ipynb` or `.py`, any number, any chapters.  Every one
runs in a process of its own, with limits of time and memory, without a network (`one.py`, `guard.py`), so a notebook
that crashes or never ends costs its own marks and nothing else.

Exit status: 0 where every notebook was marked, 1 where one could not be read or did not run to its end, 2 where there
was nothing to mark or no place for the marks, 130 where it was interrupted.
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
from minigrad.learning.grading import MODULES, exercises_of
from notebooks.teaching.marks import RANK, Mark, Notebook, summary, table, write_csv
from notebooks.teaching.reading import Cell, Unreadable, cells_of, parses

ROOT = Path(__file__).resolve().parents[2]
LINES = 10_000  # messages of one notebook that are listened to
RUNNING: set[int] = set()  # processes of notebooks, each with a session of its own
INTERRUPTED = threading.Event()  # by Ctrl-C: what starts now is stopped at once


@dataclass(frozen=True)
class Limits:
    """What a notebook may use: seconds in all, seconds a cell, memory in GiB."""

    seconds: float = 300.0
    cell_seconds: float = 120.0
    memory: float = 8.0


# ---- what was handed in ---------------------------------------------------------------------------------------------


def notebooks_in(place: Path) -> list[Notebook]:
    """The notebooks in a folder and below it, with whose they are; a file is a folder of one."""
    root = place if place.is_dir() else place.parent
    paths = sorted(place.rglob("*")) if place.is_dir() else [place]
    chosen = [
        path for path in paths
        if path.suffix in (".ipynb", ".py") and path.is_file()
        and not any(part.startswith((".", "__")) for part in path.relative_to(root).parts)
        and not (path.suffix == ".py" and path.with_suffix(".ipynb").is_file())  # its twin, which Jupyter writes
    ]  # fmt: skip
    return sorted((Notebook(student_of(path, root), path) for path in chosen), key=lambda n: (n.student, n.path))


def student_of(path: Path, root: Path) -> str:
    """Whose a file is: by its folder below the root, or by its name without that of the chapter."""
    parts = path.relative_to(root).parts
    if len(parts) > 1:
        return parts[0]
    name = path.stem
    for stem in (handed_out.stem for handed_out in all_handed_out()):
        name = name.replace(stem, "")
    return name.strip(" _-.") or root.resolve().name


def all_handed_out() -> list[Path]:
    """The notebooks as students get them."""
    return sorted(path for chapter in MODULES for path in (ROOT / "notebooks").glob(f"{chapter}_*.py"))


@cache
def given_cells(chapter: str) -> frozenset[str]:
    """The cells of a chapter as they are handed out, in a form that spaces and comments do not change."""
    return frozenset(
        shape_of(cell.source)
        for path in all_handed_out() if path.stem.startswith(f"{chapter}_") for cell in cells_of(path)
    )  # fmt: skip


def shape_of(source: str) -> str:
    """Code without its spaces and comments; the text itself where it is no Python, or nested too deeply to tell."""
    with suppress(RecursionError):
        return ast.dump(ast.parse(source)) if parses(source) else source.strip()
    return source.strip()


def chapters_of(path: Path, cells: Sequence[Cell]) -> list[str]:
    """Which chapters a notebook answers, by its checks and by its name."""
    text = "\n".join(cell.source for cell in cells)
    checked = [name[:2] for name in re.findall(r"""["'](\w\w\.\d)["']""", text) if name in exercises_of(name[:2])]
    named = [name for name in re.findall(r"(?<![A-Za-z0-9])(\w\w)_", path.stem) if exercises_of(name)]
    return sorted({*checked, *named})


def borrowed(cells: Sequence[Cell], chapters: Sequence[str]) -> Iterator[str]:
    """Where a notebook reaches for the graders' references, which no handed-out one does."""
    given = frozenset().union(*map(given_cells, chapters))
    for cell in cells:
        if shape_of(cell.source) not in given and re.search(
            r"minigrad\.learning\.exercises(?!\.patients)|\.reference\b", cell.source
        ):
            yield f"cell {cell.number} reaches into minigrad.learning.exercises, where the references are: read it"


# ---- running one ----------------------------------------------------------------------------------------------------


def mark(notebook: Notebook, limits: Limits) -> Notebook:
    """Run one notebook, and fill in what it is worth."""
    try:
        cells = cells_of(notebook.path)
    except Unreadable as error:
        notebook.remarks.append(f"not marked: the file {error}")
        return notebook
    chapters = chapters_of(notebook.path, cells)
    if not chapters:
        notebook.remarks.append("not marked: it checks no exercise, and its name begins with no chapter's")
        return notebook
    notebook.remarks += borrowed(cells, chapters)
    began = time.monotonic()
    messages, status = messages_of(cells, chapters, limits)
    notebook.seconds = time.monotonic() - began
    notebook.ended = any(message["kind"] == "end" for message in messages)
    last = max((message["cell"] for message in messages if "cell" in message), default=0)
    stop = "" if notebook.ended else ending(status, last, limits)
    notebook.remarks += [f"cell {m['cell']} {m['words']}" for m in messages if m["kind"] == "error"][:5]
    notebook.remarks += [stop] if stop else []
    given = frozenset().union(*map(given_cells, chapters))
    untouched = {cell.number for cell in cells if shape_of(cell.source) in given}
    notebook.marks = [best(name, messages, untouched, stop) for chapter in chapters for name in exercises_of(chapter)]
    return notebook


def ending(status: int | None, cell: int, limits: Limits) -> str:
    """How a process ended that did not come to its end."""
    where = f"in cell {cell}" if cell else "before its first cell"
    if status is None:
        return f"stopped {where}: the notebook took more than {limits.seconds:g} seconds"
    if status < 0:
        with suppress(ValueError):
            return f"the process died {where}, by {signal.Signals(-status).name}"
    return f"the process ended {where}, with status {status}"


def best(name: str, messages: list[dict[str, Any]], untouched: set[int], stop: str) -> Mark:
    """What an exercise came to, of all that was said about it."""
    found = []
    errors = {m["cell"]: m["words"] for m in messages if m["kind"] == "error"}
    for m in messages:
        if m["kind"] == "verdict" and m["exercise"] == name:
            result = "not tried" if m["result"] == "wrong" and m["cell"] in untouched else m["result"]
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
    """What the process of a notebook said, and its exit status; None where it was stopped."""
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
    """End the process of a notebook, and what it may have started."""
    with suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)


def caches() -> list[str]:
    """Folders that are written by running anything at all: kernels, and matplotlib's list of fonts."""
    home = Path.home()
    fonts = [home / ".cache/matplotlib", home / ".config/matplotlib", home / ".matplotlib"]
    named = [os.environ["MPLCONFIGDIR"]] if "MPLCONFIGDIR" in os.environ else []
    return [str(folder) for folder in (settings.cache_dir, *fonts, *named)]


def surroundings(folder: str) -> dict[str, str]:
    """The environment of a notebook: its own temporary folder, pictures that nobody sees, no helper processes."""
    kept = {
        name: value for name, value in os.environ.items() if not name.lower().endswith(("_proxy", "_token", "_key"))
    }
    return {
        "MINIGRAD_CUDA": "simulator", **kept, "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg", "TMPDIR": folder,
        "MINIGRAD_CACHE_DIR": str(settings.cache_dir), "MINIGRAD_COMPILE_AHEAD": "0", "PYTHONSAFEPATH": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip


def listen(reading: int, token: str, messages: list[dict[str, Any]]) -> None:
    """Collect what a process says; a line without the word was written by the notebook itself."""
    with os.fdopen(reading, encoding="utf-8", errors="replace") as stream, suppress(OSError, ValueError):
        for line in stream:
            with suppress(ValueError):
                message = json.loads(line)
                if isinstance(message, dict) and message.pop("token", None) == token and len(messages) < LINES:
                    messages.append(message)


def read_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m notebooks.teaching.mark", description="mark notebooks of a class")
    parser.add_argument("folder", type=Path, help="notebooks: one a student, or a folder a student; or one file")
    parser.add_argument("--csv", type=Path, help="write all marks to this file")
    parser.add_argument("--seconds", type=float, default=Limits.seconds, help="for a notebook (default %(default)g)")
    parser.add_argument("--cell-seconds", type=float, default=Limits.cell_seconds, help="for a cell (%(default)g)")
    parser.add_argument("--memory", type=float, default=Limits.memory, help="GiB for a notebook (default %(default)g)")
    parser.add_argument("--jobs", type=int, default=1, help="notebooks at a time (default 1)")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Mark what the command line names; gives the exit status."""
    given = read_arguments(argv)
    if not given.folder.exists():
        print(f"mark: there is no {given.folder}", file=sys.stderr)
        return 2
    notebooks = notebooks_in(given.folder)
    if not notebooks:
        print(f"mark: there is no .ipynb and no .py in {given.folder}", file=sys.stderr)
        return 2
    if given.csv and not given.csv.absolute().parent.is_dir():
        print(f"mark: there is no folder {given.csv.parent} to write {given.csv.name} to", file=sys.stderr)
        return 2
    limits = Limits(given.seconds, given.cell_seconds, given.memory)
    with ThreadPoolExecutor(max(1, given.jobs)) as pool:
        try:
            for n in pool.map(lambda n: mark(n, limits), notebooks):
                right = sum(m.result == "right" for m in n.marks)
                print(f"{n.path}: {right} of {len(n.marks)} right, {n.seconds:.1f} s", file=sys.stderr, flush=True)
        except KeyboardInterrupt:  # which does not reach processes of other sessions
            INTERRUPTED.set()
            pool.shutdown(wait=False, cancel_futures=True)
            for process in list(RUNNING):  # one that is added from now on sees that it was
                stop(process)
            print("mark: interrupted, and nothing is written", file=sys.stderr)
            return 130
    print("\n".join([*table(notebooks), *summary(notebooks)]))
    if given.csv:
        write_csv(given.csv, notebooks)
        print(f"\nwritten to {given.csv}")
    return 0 if all(n.ended for n in notebooks) else 1


if __name__ == "__main__":
    sys.exit(main())
