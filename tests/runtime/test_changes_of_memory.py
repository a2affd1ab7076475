"""Every replacement of a tensor's memory or layout is counted, since plans rely on this count."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import minigrad as mg
from minigrad.runtime.changes import changes

ROOT = Path(mg.__file__).parent
# These assign the attributes of an object that they have just made, or of a tracer, which no plan refers to.
NEW = {"runtime/dispatch.py", "runtime/shifting.py", "autodiff/replacing.py"}


def assigned(path: Path) -> list[str]:
    """Return the places that assign `storage` or `layout` to another object than `self`."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        targets = node.targets if isinstance(node, ast.Assign) else []
        for target in targets:
            for part in target.elts if isinstance(target, ast.Tuple) else [target]:
                changes = isinstance(part, ast.Attribute) and part.attr in ("storage", "layout")
                if changes and not (isinstance(part.value, ast.Name) and part.value.id == "self"):
                    found.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    return found


def test_no_other_function_replaces_the_memory_of_a_tensor() -> None:
    found = [place for path in sorted(ROOT.rglob("*.py")) for place in assigned(path)]
    assert {place.split(":")[0] for place in found} == {"runtime/changes.py", *NEW}, found


@pytest.mark.parametrize(
    "change",
    [lambda x: x.unsqueeze_(0), lambda x: x.resize_(1), lambda x: x.resize_(9), lambda x: x.t_()],
    ids=["a view in place", "resize_", "resize_ to more memory", "t_"],
)
def test_each_change_is_counted(change: object) -> None:
    x = mg.ones(2, 3, device="reference")
    before = changes.memory
    change(x)  # type: ignore[operator]
    assert changes.memory == before + 1


def test_the_conversion_of_a_module_is_counted() -> None:
    net = mg.nn.Linear(2, 3, device="reference")
    before = changes.memory
    net.double()
    assert changes.memory == before + 2
