"""Write the generated pages under `docs/_generated`; unchanged pages are not touched, so that a build is quick."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import minigrad as mg
from site_pages import benchmarks, ops
from site_pages.executed import executed
from site_pages.pieces import signature, typeset

HEADER = "(written by docs/site_pages; change the declaration instead)\n"


def write(root: Path) -> None:
    """Write all generated pages, and copies of the notebooks and of the instructor's pack next to them."""
    target = root / "docs" / "_generated"
    pages = {f"ops/{name}.md": text for name, text in pages_of_ops(root).items()}
    pages["ops.md"] = ops.index()
    pages["functions.md"] = functions()
    pages["layers.md"] = layers()
    pages["teaching.md"] = (root / "notebooks/teaching/README.md").read_text(encoding="utf-8")
    pages["benchmarks.md"] = benchmarks.page(root / "docs" / "benchmarks")
    pages["decisions.md"] = decisions(root / "docs" / "decisions")
    for name, text in pages.items():
        put(target / name, text)
    for old in (target / "ops").glob("*.md"):
        if f"ops/{old.name}" not in pages:
            old.unlink()
    copies = target / "notebooks"
    copies.mkdir(parents=True, exist_ok=True)
    books = sorted((root / "notebooks").glob("[0-9A]*.ipynb"))
    texts = {book.stem: book.read_text(encoding="utf-8") for book in books}
    for name, text in executed(texts, root / "docs" / "_build" / "notebooks", copies).items():
        put(copies / f"{name}.ipynb", text.replace("](../docs/pictures/", "](../../pictures/"))
    for old in copies.glob("*.ipynb"):
        if not (root / "notebooks" / old.name).exists():
            old.unlink()
    shutil.rmtree(copies / "__pycache__", ignore_errors=True)


def pages_of_ops(root: Path) -> dict[str, str]:
    """Return the pages of the ops: those of the last build, unless a file changed from which they are made."""
    sources = [
        path for folder in ("minigrad", "docs/site_pages", "tests/op_rows") for path in (root / folder).rglob("*.py")
    ]
    sources += [root / "tests/op_table.py", root / "tests/op_support.py", root / "minigrad/declare/manual/manual.toml"]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(sources))).hexdigest()
    kept = root / "docs" / "_build" / "ops.json"
    found = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    if found.get("digest") != digest:
        found = {"digest": digest, "pages": ops.pages()}
        put(kept, json.dumps(found))
    result: dict[str, str] = found["pages"]
    return result


def decisions(folder: Path) -> str:
    """Return the page that lists the decisions by number, with their titles."""
    parts = [
        "# Decisions",
        "",
        "Each decision states its context, the choice and the consequences. The numbers are in the order of time. No "
        "decision has a number from 060 to 062.",
        "",
    ]
    for path in sorted(folder.glob("*.md")):
        title = re.sub(r"^# *", "", path.read_text(encoding="utf-8").partition("\n")[0])
        parts.append(f"* [{title}](../decisions/{path.name})")
    return "\n".join([*parts, ""])


def put(path: Path, text: str) -> None:
    """Write a file unless it has this text already."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def functions() -> str:
    """Return the page of all functions: every public name with its signature and docstring."""
    parts = [
        "# All functions",
        "",
        "This page lists the public names of `import minigrad as mg`, in alphabetical order.",
        "",
    ]
    return "\n".join([*parts, *entries(mg, "mg")])


def layers() -> str:
    """Return the page of modules, initial values and tools: every public name with its signature and docstring."""
    parts = [
        "# All layers",
        "",
        "This page lists modules and losses, initial values, and tools for parameters and sequences.",
        "",
    ]
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
        yield from typeset(text)
