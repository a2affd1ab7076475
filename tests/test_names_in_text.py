"""Every `mg.name` that a reader meets exists: in pages, notebooks, docstrings, comments of examples and messages.

A sentence may mention a name that minigrad does not have only if the sentence says so, with one of the words of ABSENT.
Another project has the name minigrad on the package index, so no advice installs it by that name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from cases import over

import minigrad as mg
from minigrad.declare.advice import INSTEAD

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "minigrad"
NAME = re.compile(r"(?<![\w.])mg(?:\.[A-Za-z_]\w*)+")
ABSENT = re.compile(r"\b(?:is missing|not there|does not exist)\b")
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *(page for folder in ("docs", "notebooks") for page in sorted((ROOT / folder).rglob("*.md"))),
]
PROGRAMS = sorted(path for folder in ("notebooks", "examples") for path in (ROOT / folder).rglob("*.py"))


def resolves(name: str) -> bool:
    """Return whether each part of a dotted name is an attribute of the part before it."""
    value: object = mg
    for part in name.split(".")[1:]:
        if not hasattr(value, part):
            return False
        value = getattr(value, part)
    return True


def unresolved(text: str) -> Iterator[str]:
    """Yield the names of a text that do not resolve, and whose sentence or row of a table does not say so."""
    for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z`*(])|\n\s*#?\s*\n|\|\n", text):
        if not ABSENT.search(sentence):
            yield from (name for name in NAME.findall(sentence) if not resolves(name))


def strings(path: Path) -> Iterator[str]:
    """Yield the docstrings and messages of a module; its code is run by other tests."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@over("path", [*PAGES, *PROGRAMS], ids=lambda path: str(path.relative_to(ROOT)))
def test_the_names_of_a_page_exist(path: Path) -> None:
    assert sorted(unresolved(path.read_text(encoding="utf-8"))) == []


def test_the_names_of_docstrings_and_messages_exist() -> None:
    wrong = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for text in strings(path)
        for name in unresolved(text)
    }
    assert sorted(wrong) == []


def test_the_advice_for_an_absent_name_exists_and_the_name_does_not() -> None:
    assert [name for name in INSTEAD if hasattr(mg, name)] == []
    assert [advice for advice in INSTEAD.values() if list(unresolved(advice))] == []


def test_nobody_is_told_to_install_the_other_project_of_this_name() -> None:
    advice = re.compile(r"pip3? (?:install|download)\b[^`\n]*[ '\"]minigrad\b(?!/)")
    others = (path for folder in ("tests", "docs") for path in (ROOT / folder).rglob("*.py") if path != Path(__file__))
    files = [ROOT / name for name in ("Makefile", "pyproject.toml", "hatch_build.py")]
    paths = [*PAGES, *PROGRAMS, *sorted(PACKAGE.rglob("*.py")), *sorted(others), *files]
    assert [str(path.relative_to(ROOT)) for path in paths if advice.search(path.read_text(encoding="utf-8"))] == []
    assert advice.search("run `pip install minigrad[cuda]`") and not advice.search("`pip install .` of minigrad")


def test_a_wrong_name_is_found() -> None:
    assert isinstance(mg.nn, ModuleType)
    text = (
        "Call `mg.set_default_float_type`, or\nmg.nn.Lineer(2, 3). The name `mg.concatenation` is missing. "
        "See `mg.nn.Linear`."
    )
    assert list(unresolved(text)) == ["mg.set_default_float_type", "mg.nn.Lineer"]
