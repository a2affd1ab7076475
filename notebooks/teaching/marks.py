"""The marks of a class, as a table, a summary and a file for a spreadsheet."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from minigrad.errors import quantity
from minigrad.learning.grading import exercise

# Of several checks of one exercise, the first of these counts.  An answer that "follows" is wrong only because it calls
# an earlier answer that is wrong.
RANK = ("right", "refused", "follows", "wrong", "not tried")
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
    unmarked = {n.student for n in notebooks if not n.ended} - {n.student for n in notebooks if n.marks}
    if unmarked:
        yield f"not marked, and not counted below: {', '.join(sorted(unmarked))}"
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


def write_common(path: Path, notebooks: Sequence[Notebook]) -> None:
    """Write a page with the reasons of wrong answers, by exercise, those of most students first.

    Reasons that differ only in numbers count as one, and the first is shown.
    """
    lines = ["# Common wrong answers", ""]
    reasons: dict[str, dict[str, list[tuple[str, str]]]] = {}
    for n in notebooks:
        for m in n.marks:
            if m.result in ("wrong", "follows"):
                key = re.sub(r"[-+]?\d[\d.e+-]*", "#", m.reason)
                reasons.setdefault(m.exercise, {}).setdefault(key, []).append((n.student, m.reason))
    for name, found in sorted(reasons.items()):
        lines += [f"## {name}", "", exercise(name).title, "", "| students | reason | who |", "|---|---|---|"]
        for cases in sorted(found.values(), key=len, reverse=True):
            who = ", ".join(sorted({student for student, _ in cases}))
            student, reason = cases[0]
            reason += f" ({student}; other numbers for the others)" if len({text for _, text in cases}) > 1 else ""
            lines.append(f"| {len({student for student, _ in cases})} | {cell_text(reason)} | {cell_text(who)} |")
        lines.append("")
    path.write_text("\n".join(lines if reasons else [*lines, "There are none.", ""]), encoding="utf-8")


def write_feedback(folder: Path, notebooks: Sequence[Notebook]) -> None:
    """Write a page for each student: the result of each exercise with its reason, and the first hint if it is wrong."""
    folder.mkdir(exist_ok=True)
    taken: set[str] = set()  # in lower case, because a file system may not distinguish capitals
    for student in sorted({n.student for n in notebooks}):
        theirs = [n for n in notebooks if n.student == student]
        best: dict[str, Mark] = {}
        for m in [m for n in theirs for m in n.marks]:
            best[m.exercise] = min(best.get(m.exercise, m), m, key=lambda m: RANK.index(m.result))
        marks = [best[name] for name in sorted(best)]
        right = sum(m.result == "right" for m in marks)
        lines = [f"# {student}", "", f"{right} of {len(marks)} exercises are right.", ""]
        lines += [f"`{n.path.name}`: {remark}" for n in theirs if not n.marks for remark in n.remarks]
        for m in marks:
            lines.append(f"- **{m.exercise}** {m.result}{f': {cell_text(m.reason)}' if m.reason else ''}")
            if m.result == "wrong":
                lines.append(f"  Hint: {exercise(m.exercise).hints[0]}")
        plain_name = name = re.sub(r"[^\w .-]", "_", student).strip(" .") or "student"
        while name.lower() in taken:
            name = f"{plain_name}_{len(taken) + 1}"
        taken.add(name.lower())
        (folder / f"{name}.md").write_text("\n".join([*lines, ""]), encoding="utf-8")


def cell_text(text: str) -> str:
    """Return a text for one cell of a Markdown table."""
    return " ".join(text.replace("|", r"\|").split())


def plain(text: str) -> str:
    """Return a text that a spreadsheet does not read as a formula."""
    return "'" + text if text.startswith(("=", "+", "-", "@", "\t")) else text
