"""Identifiers use the terms of the field: the words of this project's own are counted, and may only become fewer."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest
from cases import over

import minigrad

ROOT = Path(minigrad.__file__).parent
# word: (identifiers of the package that have it, what to write instead)
PRIVATE = {
    "fold": (0, "reduction"),
    "lane": (0, "fast path; lane is for SIMD and warps"),
    "road": (0, "dispatch path"),
    "door": (0, "the public function, or dispatch"),
    "room": (0, "workspace, capacity or shape"),
    "place": (0, "position, index, offset or location"),
    "slope": (1, "derivative or gradient"),
    "wrapped": (0, "tracer"),
    "level": (1, "transform"),
    "brief": (0, "serial"),
    "alone": (2, "serial, or sole"),
    "shared": (0, "parallel, or shared by"),
    "told": (1, "the thing that it names"),
    "film": (0, "frames, or trace"),
    "face": (0, "api"),
    "insight": (0, "diagnostics"),
    "seat": (0, "placeholder"),
    "found": (7, "the thing that it is: result, entry, plan, ..."),
    "given": (5, "arguments, values, ..."),
}
# Where a word has its usual meaning, by the beginning of a path: folds of data, scopes and columns, lanes of a
# register, memory that a block, processes or libraries share, PyTorch's `negative_slope`.
USUAL = {
    "fold": ("data/", "nn/modules/rearranging.py", "ops/nn/columns.py", "viz/"),
    "lane": ("kernels/", "backends/"),
    "place": ("kernels/vecmath/",),
    "level": ("autograd/forward_ad.py", "cli/", "kernels/cpu/processor.py"),  # the first: names of PyTorch
    "shared": ("api/interop/", "backends/cuda/", "core/storage.py", "kernels/cuda/"),
    "slope": ("nn/modules/activation.py", "ops/nn/activation.py"),
}


def parts(name: str) -> list[str]:
    """Return the words of an identifier, a plural as one of them; "in place" is a term, `__wrapped__` is Python's."""
    if name.startswith("__") and name.endswith("__"):
        return []
    return [part.lower().removesuffix("s") for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name.replace("in_place", ""))]


def identifiers(path: Path) -> set[str]:
    """The names that a module gives: of its functions, classes, parameters, variables and attributes."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                names.add(name)
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                names.add(name)
    return names


def counts() -> Counter[str]:
    """How many identifiers have each of the words; each module counts a name once."""
    result: Counter[str] = Counter()
    for path in ROOT.rglob("*.py"):
        usual = path.relative_to(ROOT).as_posix()
        if usual.startswith("learning/"):  # graders and exercises have the words of the notebooks
            continue
        for name in identifiers(path):
            for word in {*parts(name)} & PRIVATE.keys():
                result[word] += not usual.startswith(USUAL.get(word, ("-",)))
    return result


@pytest.fixture(scope="module")
def found() -> Counter[str]:
    return counts()


@over("word", PRIVATE)
def test_a_private_word_does_not_spread(word: str, found: Counter[str]) -> None:
    allowed, instead = PRIVATE[word]
    assert found[word] <= allowed, f"a new identifier has the word {word!r}; write {instead}"
    assert found[word] == allowed, f"fewer identifiers have the word {word!r}: write {found[word]} here"


def test_the_words_of_an_identifier() -> None:
    assert parts("FoldPlan") == ["fold", "plan"] and parts("of_lanes_2") == ["of", "lane"] and parts("T") == ["t"]
    assert parts("in_place_form") == ["form"] and parts("__wrapped__") == []
