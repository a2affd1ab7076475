"""The loops that `docs/cuda.md` shows are those of the kernel files, and what it names is there."""

import ast
import re
from pathlib import Path

import pytest

import minigrad as mg

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "cuda.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"```py\n# (\S+): (\w+)\n(.*?)\n```", PAGE, re.DOTALL)


@pytest.mark.parametrize(("path", "name", "text"), SHOWN, ids=[f"{p.split('/')[2]}-{n}" for p, n, _ in SHOWN])
def test_a_loop_on_the_page_is_that_of_its_file(path, name, text):
    source = (ROOT / path).read_text(encoding="utf-8")
    (found,) = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name == name]
    wanted = ast.get_source_segment(source, found).replace("  # type: ignore[no-untyped-def]", "")
    assert text == wanted, f"{path} has changed: copy {name} to docs/cuda.md"


def test_each_loop_is_shown_for_both_processors():
    targets = {(name, path.split("/")[2]) for path, name, _ in SHOWN}
    assert targets == {(name, target) for name in ("dense", "nest") for target in ("cpu", "cuda")}


def test_what_the_page_names_is_there():
    for name in re.findall(r"mg\.cuda\.(\w+)", PAGE):
        assert name in mg.cuda.__all__, name
    for path in re.findall(r"`((?:notebooks|examples)/[\w.]+)`", PAGE):
        assert (ROOT / path).exists(), path
