"""Adds the notebooks to a wheel, as `minigrad/learning/notebooks`; a checkout and an editable install have them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Notebooks(BuildHookInterface):  # type: ignore[type-arg]
    """The hook that hatchling calls before it builds a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add each chapter and each solution."""
        if version != "standard":
            return
        folder = Path(self.root) / "notebooks"
        for path in sorted([*folder.glob("*.ipynb"), *folder.glob("solutions/*.ipynb")]):
            inside = path.relative_to(folder).as_posix()
            build_data["force_include"][str(path)] = f"minigrad/learning/notebooks/{inside}"
