"""Answers to the exercises of the notebooks: some right, some wrong in a way of their own.

Each chapter has a module `answers_NN` beside this one with `RIGHT` and `WRONG`: lists of answers by exercise; and where
its text names numbers, `PRINTED`: what its cells must print for the text to be true.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CHAPTERS = sorted(path.stem.removeprefix("answers_") for path in HERE.glob("answers_*.py"))


def answers(kind: str) -> list[tuple[str, int, Any]]:
    """(exercise, number, answer) of all "RIGHT" or "WRONG" ones."""
    found = []
    for chapter in CHAPTERS:
        module = importlib.import_module(f"tests.notebooks.answers_{chapter}")
        for name, given in getattr(module, kind).items():
            found += [(name, k, answer) for k, answer in enumerate(given)]
    return found


def printed_by(chapter: str) -> list[str]:
    """What the cells of a chapter must print, since its text speaks of it."""
    found: list[str] = getattr(importlib.import_module(f"tests.notebooks.answers_{chapter}"), "PRINTED", [])
    return found
