"""Adds the notebooks to a wheel, as `minigrad/learning/notebooks`, with the pages and examples that they link to.

A checkout and an editable install have them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Notebooks(BuildHookInterface):  # type: ignore[type-arg]
    """The hook that hatchling calls before it builds a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add each chapter and each solution, and the linked files that are not in the package."""
        if version != "standard":
            return
        folder = Path(self.root) / "notebooks"
        for path in sorted([*folder.glob("*.ipynb"), *folder.glob("solutions/*.ipynb")]):
            inside = path.relative_to(folder).as_posix()
            build_data["force_include"][str(path)] = f"minigrad/learning/notebooks/{inside}"
            for linked in re.findall(r"\]\(\.\./((?:docs|examples)/[^)#]+)", path.read_text(encoding="utf-8")):
                build_data["force_include"][f"{self.root}/{linked}"] = f"minigrad/learning/notebooks/sources/{linked}"
