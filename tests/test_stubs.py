"""The stubs, which type checkers and editors read, have exactly the methods that are attached to Tensor."""

from __future__ import annotations

import ast

import minigrad as mg
from minigrad.cli import stubs


def test_every_attached_method_is_there_with_its_parameters() -> None:
    tree = ast.parse(stubs.files()[stubs.PATH])
    (attached,) = (node for node in tree.body if isinstance(node, ast.ClassDef))
    found = {node.name: node for node in attached.body if isinstance(node, ast.FunctionDef)}
    assert found.keys() == {name for name, _ in stubs.attached()}
    assert {"exp", "exp_", "softmax", "T", "__radd__", "where_cond", "numpy"} <= found.keys()
    assert "item" in found and "shape" not in found  # Tensor's own class body has `shape`
    said = ast.unparse(found["cumsum"])
    assert said.startswith("def cumsum(self, dim: builtins.int, ") and "-> Tensor" in said
    assert "builtins.int | Sequence[builtins.int] | None" in ast.unparse(found["sum"].args)
    assert ast.unparse(found["split"].returns) == "builtins.tuple[Tensor, ...]"  # type: ignore[arg-type]


def test_every_stub_is_what_would_be_written_now() -> None:
    for path, text in stubs.files().items():
        assert path.read_text(encoding="utf-8") == text, f"write {path.name} again: python -m minigrad.cli.stubs"


def test_the_stub_of_the_package_has_every_public_name() -> None:
    tree = ast.parse(stubs.module_text(mg, "minigrad"))
    named = {
        alias.asname or alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    named |= {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    named |= {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign)}  # type: ignore[union-attr]
    named |= {node.targets[0].id for node in tree.body if isinstance(node, ast.Assign)}  # type: ignore[attr-defined]
    assert set(mg.__all__) <= named and len(mg.__all__) > 250
