"""The marks of a class, as a table, a summary and a file for a spreadsheet."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from minigrad.errors import quantity
from minigrad.learning.grading import exercise

RANK = ("right", "refused", "wrong", "not tried")  # of several checks of one exercise, the first of these counts
SHOWN = 90  # characters of a reason in the table; the file of --csv contains the full text


@dataclass(frozen=True)
class Mark:
    """The mark of one exercise of one student.  result: one of RANK.  reason: one sentence."""

    exercise: str
    result: str
    reason: str
    seconds: float = 0.0


@dataclass
class Notebook:
    """One submitted file and its marks.

    remarks: sentences for the teacher to check.  ended: whether the file was read and ran to its end.
    """

    student: str
    path: Path
    marks: list[Mark] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    seconds: float = 0.0
    ended: bool = False


def table(notebooks: Sequence[Notebook]) -> Iterator[str]:
    """Yield one line per exercise of each student, then the remarks."""
    rows = [(n.student, m.exercise, m.result, f"{m.seconds:.1f}", short(m.reason)) for n in notebooks for m in n.marks]
    head = ("student", "exercise", "result", "seconds", "reason")
    widths = [max(len(row[k]) for row in [head, *rows]) for k in range(4)]
    for row in [head, *rows]:
        yield "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths)), row[4]]).rstrip()
    remarks = [f"  {n.path}: {remark}" for n in notebooks for remark in n.remarks]
    if remarks:
        yield from ("", "to check by hand:", *remarks)


def short(text: str) -> str:
    """Return a reason, cut to the width of the table."""
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


def summary(notebooks: Sequence[Notebook]) -> Iterator[str]:
    """Yield the results of the class per exercise, then the hardest exercise."""
    of: dict[str, dict[str, str]] = {}
    for n in notebooks:
        for m in n.marks:
            known = of.setdefault(m.exercise, {})
            known[n.student] = min(known.get(n.student, m.result), m.result, key=RANK.index)
    if not of:
        return
    yield ""
    students = len({n.student for n in notebooks if n.marks})
    yield f"{quantity(students, 'student')}, {quantity(len(of), 'exercise')}:"
    counts = {name: Counter(results.values()) for name, results in sorted(of.items())}
    for name, count in counts.items():
        results = ", ".join(f"{count[result]} {result}" for result in RANK if count[result])
        yield f"  {name}  {results}  ({exercise(name).title})"
    tried = {name: count["wrong"] for name, count in counts.items() if count["wrong"]}
    if tried:
        worst = max(tried, key=lambda name: (tried[name], name))
        students = sum(counts[worst].values())
        yield f"hardest: {worst}, tried without a right answer by {tried[worst]} of {students} students"


def write_csv(path: Path, notebooks: Sequence[Notebook]) -> None:
    """Write one row per mark, and one row per notebook without marks."""
    with path.open("w", newline="", encoding="utf-8-sig") as stream:  # the byte order mark declares the encoding
        writer = csv.writer(stream)
        writer.writerow(("student", "file", "exercise", "result", "reason", "seconds"))
        for n in notebooks:
            for m in n.marks or [Mark("", "not marked", "; ".join(n.remarks))]:
                row = (n.student, str(n.path), m.exercise, m.result, m.reason, f"{m.seconds:.2f}")
                writer.writerow([plain(cell) for cell in row])


def plain(text: str) -> str:
    """Return a text that a spreadsheet does not read as a formula."""
    return "'" + text if text.startswith(("=", "+", "-", "@", "\t")) else text
