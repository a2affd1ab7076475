"""Writes the generated pages under `docs/_generated`; what has not changed is not touched, so a build can be quick."""

from __future__ import annotations

import inspect
import shutil
from pathlib import Path

import minigrad as mg
from site_pages import benchmarks, ops

HEADER = "(written by docs/site_pages; change the declaration instead)\n"


def write(root: Path) -> None:
    """All generated pages, and copies of the notebooks and of the instructor's pack beside them."""
    target = root / "docs" / "_generated"
    pages = {f"ops/{name}.md": text for name, text in ops.pages().items()}
    pages["ops.md"] = ops.index()
    pages["functions.md"] = functions()
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
    for name in sorted(mg.__all__, key=str.lower):
        found = getattr(mg, name)
        if inspect.ismodule(found) or not callable(found):
            continue
        text = inspect.getdoc(found) or ""
        parts += [f"## mg.{name}", "", "```python", f"{name}{signature(found)}", "```", "", "```text", text, "```", ""]
    return "\n".join(parts)


def signature(found: object) -> str:
    """The signature of a function or class, "(...)" where there is none."""
    try:
        return str(inspect.signature(found))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return "(...)"
