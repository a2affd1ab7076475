"""Writes the generated pages under `docs/_generated`; what has not changed is not touched, so a build can be quick."""

from __future__ import annotations

import inspect
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import minigrad as mg
from site_pages import benchmarks, ops

HEADER = "(written by docs/site_pages; change the declaration instead)\n"


def write(root: Path) -> None:
    """All generated pages, and copies of the notebooks and of the instructor's pack beside them."""
    target = root / "docs" / "_generated"
    pages = {f"ops/{name}.md": text for name, text in ops.pages().items()}
    pages["ops.md"] = ops.index()
    pages["functions.md"] = functions()
    pages["layers.md"] = layers()
    pages["teaching.md"] = (root / "notebooks/teaching/README.md").read_text(encoding="utf-8")
    pages["benchmarks.md"] = benchmarks.page(root / "docs" / "benchmarks")
    for name, text in pages.items():
        put(target / name, text)
    for old in (target / "ops").glob("*.md"):
        if f"ops/{old.name}" not in pages:
            old.unlink()
    copies = target / "notebooks"
    copies.mkdir(parents=True, exist_ok=True)
    for notebook in sorted((root / "notebooks").glob("[0-9A]*.ipynb")):
        put(copies / notebook.name, notebook.read_text(encoding="utf-8"))
    for old in copies.glob("*.ipynb"):
        if not (root / "notebooks" / old.name).exists():
            old.unlink()
    shutil.rmtree(copies / "__pycache__", ignore_errors=True)


def put(path: Path, text: str) -> None:
    """Write a file unless it says that already."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def functions() -> str:
    """Every public name with its signature and what it says of itself."""
    parts = ["# All functions", "", "What `import minigrad as mg` gives, by name.", ""]
    return "\n".join([*parts, *entries(mg, "mg")])


def layers() -> str:
    """Return the page of modules, initial values and tools: every public name with its signature and docstring."""
    parts = ["# All layers", "", "Modules and losses, initial values, and tools for parameters and sequences.", ""]
    utils = mg.nn.utils
    named = {"mg.nn": mg.nn, "mg.nn.init": mg.nn.init, "mg.nn.utils": utils,
             "mg.nn.utils.parametrizations": utils.parametrizations, "mg.nn.utils.rnn": utils.rnn}  # fmt: skip
    return "\n".join([*parts, *[line for prefix, module in named.items() for line in entries(module, prefix)]])


def entries(module: ModuleType, prefix: str) -> Iterator[str]:
    """Yield the lines of each public function and class of a module."""
    for name in sorted(module.__all__, key=str.lower):
        found = getattr(module, name)
        if inspect.ismodule(found) or not callable(found):
            continue
        text = inspect.getdoc(found) or ""
        yield from (f"## {prefix}.{name}", "", "```python", f"{name}{signature(found)}", "```", "")
        yield from ("```text", text, "```", "")


def signature(found: object) -> str:
    """The signature of a function or class, "(...)" where there is none."""
    try:
        return str(inspect.signature(found))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return "(...)"
