"""Mutants that no check notices, with the reason.

`survivors.txt` has the reasons; below each stand, indented, the mutants that it is for, one a line, as a run names
them.  A line is for that mutant alone: where no mutant is called so any more, and where one that is listed is noticed,
a run says so and fails.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.mutation.mutant import Mutant

FILE = Path(__file__).with_name("survivors.txt")
OPEN = "Not equivalent: "


@dataclass(frozen=True)
class Reason:
    """Why mutants are let pass.  equivalent: nothing that could be tested differs, but for time."""

    why: str
    equivalent: bool


def read(text: str) -> Iterator[tuple[str, Reason]]:
    """Each mutant that is listed, with its reason.  Raises ValueError for one that is listed twice, or before any."""
    listed: set[str] = set()
    reason = None
    for line in filter(str.strip, text.splitlines()):
        name = line.strip()
        if line == name:
            reason = Reason(name, not name.startswith(OPEN))
        elif reason is None or name in listed:
            raise ValueError(f"{FILE.name}: {'listed twice' if name in listed else 'without a reason'}: {name}")
        else:
            listed.add(name)
            yield name, reason


REASONS = dict(read(FILE.read_text(encoding="utf-8")))


def reason(mutant: Mutant) -> Reason | None:
    """Why a mutant is let pass, or None."""
    return REASONS.get(mutant.name)


def unknown(names: Collection[str]) -> list[str]:
    """The mutants that are listed and are none of these."""
    return [name for name in REASONS if name not in names]
