"""Run the notebooks for the site, several at a time; each result is cached until its notebook changes.

Sphinx would run them one after the other while it reads, and would not print its progress.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

TIMEOUT = 300  # seconds for a cell
MOST = 4  # notebooks at a time; each runs in a process of its own, and uses threads


def executed(books: Mapping[str, str], store: Path, folder: Path) -> dict[str, str]:
    """Return the notebooks with their outputs, by name.

    books: their texts by name.  store: the folder of results from earlier builds.  folder: where the cells run.
    Raises what a cell raises.
    """
    store.mkdir(parents=True, exist_ok=True)
    kept = {
        name: store / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.ipynb" for name, text in books.items()
    }
    missing = [name for name, path in kept.items() if not path.exists()][::-1]  # the last ones train, and take longest
    for old in set(store.glob("*.ipynb")) - set(kept.values()):
        old.unlink()
    with ThreadPoolExecutor(max(1, min(MOST, os.cpu_count() or 1))) as pool:
        running = {pool.submit(run, books[name], kept[name], folder): name for name in missing}
        try:
            for count, done in enumerate(as_completed(running), 1):
                print(f"site: notebook {count} of {len(missing)}: {running[done]}, {done.result():.0f} s", flush=True)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return {name: path.read_text(encoding="utf-8") for name, path in kept.items()}


def run(text: str, target: Path, folder: Path) -> float:
    """Run a notebook in a kernel of its own and write it with its outputs; returns the seconds that it took."""
    import nbclient
    import nbformat

    began = time.perf_counter()
    book = nbformat.reads(text, as_version=4)
    where = {"metadata": {"path": str(folder)}}
    quiet = ["--IPKernelApp.log_level=40"]  # errors; a kernel warns that it can be reached from this machine
    nbclient.NotebookClient(
        book, timeout=TIMEOUT, kernel_name="python3", resources=where, extra_arguments=quiet
    ).execute()
    part = target.with_suffix(".part")  # an interrupted build leaves no half of a file
    part.write_text(nbformat.writes(book), encoding="utf-8")
    part.replace(target)
    return time.perf_counter() - began
