"""The instructor's page: it plans every exercise, its code runs, and the commands that it names are as it says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

from cases import over

from minigrad.learning.grading import MODULES, exercises_of
from notebooks.teaching import mark
from notebooks.teaching.bugs import BUGS

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "notebooks/teaching/README.md").read_text(encoding="utf-8")


@over("chapter", MODULES)
def test_the_plan_has_every_exercise(chapter: str) -> None:
    if not chapter.isdigit():
        assert chapter in TEXT
        return
    missing = [name for name in exercises_of(chapter) if name not in TEXT]
    assert not missing
    plan = TEXT.partition("## The plan")[2]  # above it, an exercise of a teacher's own
    assert set(re.findall(rf"\b{chapter}\.\d\b", plan)) == set(exercises_of(chapter))


def test_each_planted_bug_has_its_session_and_its_tool() -> None:
    plan, _, hunt = TEXT.partition("## The bug hunt")
    assert set(re.findall(r"\bb\d\d\b", plan)) | set(re.findall(r"\bb\d\d\b", hunt)) == set(BUGS)
    for name, each in BUGS.items():
        session = plan[plan.index(f"**{each.chapter} ") :].split("\n**")[0]
        assert name in session, f"{name} belongs to chapter {each.chapter}"
        assert re.search(rf"^\|[^|]*\b{name}\b", hunt, re.MULTILINE)


def test_its_code_runs() -> None:
    space: dict[str, object] = {}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        for code in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL):
            exec(code, space)
    assert "b03: where paths meet, the last gradient wins" in printed.getvalue()
    assert "01.5: right. A central difference" in printed.getvalue(), "the exercise of the page accepts a right answer"
    assert "01.5: not yet. slope_at(x**3, 0.5) is 2, but 0.75 was expected" in printed.getvalue()


def test_its_commands_take_what_it_gives_them() -> None:
    options = set(re.findall(r"(?<=`)--[a-z-]+", TEXT)) | set(re.findall(r"teaching\.mark [^\n`]*?(--[a-z-]+)", TEXT))
    assert {"--csv", "--seconds", "--cell-seconds", "--memory"} <= options
    given = mark.read_arguments(["folder", *(f"{option}=1" for option in sorted(options))])
    assert given.seconds == given.memory == 1.0
    for path in re.findall(r"`((?:notebooks|docs|tests)/[\w./-]+)`", TEXT):
        assert (ROOT / path).exists(), path
    defaults = mark.Limits()
    for option, value in (
        ("seconds", defaults.seconds),
        ("cell-seconds", defaults.cell_seconds),
        ("memory", defaults.memory),
    ):
        assert f"`--{option}` ({value:g})" in TEXT
