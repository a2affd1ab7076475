"""The packages that minigrad imports, compared with what pyproject.toml states of them."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
TYPED = {"numpy", "ml_dtypes"}  # dependencies that bring their own types


def imported() -> dict[str, str]:
    """Each package that is neither of Python nor of minigrad, and a file that imports it."""
    found: dict[str, str] = {}
    for path in sorted((ROOT / "minigrad").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            else:
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                root = name.partition(".")[0]
                if root not in sys.stdlib_module_names and root != "minigrad":
                    found.setdefault(root, str(path.relative_to(ROOT)))
    return found


def test_the_linters_pass_without_the_optional_packages() -> None:
    overrides = PROJECT["tool"]["mypy"]["overrides"]
    ignored = {name.partition(".")[0] for entry in overrides if entry.get("ignore_missing_imports")
               for name in entry["module"]}  # fmt: skip
    dependencies = {re.match(r"[\w-]+", line)[0] for line in PROJECT["project"]["dependencies"]}
    assert dependencies >= TYPED
    unknown = {name: path for name, path in imported().items() if name not in ignored | TYPED}
    assert not unknown, f"add to ignore_missing_imports in pyproject.toml: {unknown}"
