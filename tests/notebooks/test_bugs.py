"""Planted bugs: the tool that is named finds each, the fix is right, and no program tells what is wrong with it."""

from __future__ import annotations

import pytest

from minigrad.learning.grading import MODULES
from notebooks.teaching import bugs
from notebooks.teaching.bugs import BUGS, bug, hunt

names = pytest.mark.parametrize("name", BUGS)


@names
def test_the_tool_finds_what_is_planted_and_not_what_is_fixed(name: str) -> None:
    planted = bug(name)
    assert planted.text.count(planted.wrong) == 1 and planted.fixed != planted.text
    assert planted.clue in planted.report()
    fixed = planted.report(planted.fixed)
    assert planted.clue not in fixed or name == "b03", fixed  # the stepper shows the right sum of b03


@names
def test_the_proof_holds_of_the_fixed_program_alone(name: str) -> None:
    planted = bug(name)
    assert planted.check(planted.fixed)
    assert str(planted.check(planted.fixed)).startswith(f"{name}: right. ")
    verdict = planted.check(planted.text)
    assert not verdict and str(verdict).startswith(f"{name}: not yet")


@names
def test_a_program_shows_its_symptom_and_not_its_cause(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    planted = bug(name)
    planted.show()
    told = capsys.readouterr().out
    assert told.startswith('"""') and planted.title not in told and planted.cause not in told
    assert vars(planted.program())["mg"]
    planted.answer()
    told = capsys.readouterr().out
    assert f"{name}: {planted.title} (after chapter {planted.chapter})" in told and f">>> {planted.tool}\n" in told
    assert "\n--- planted\n+++ fixed\n" in told and planted.clue in told


def test_each_file_is_a_bug_and_each_bug_belongs_to_a_chapter() -> None:
    assert sorted(BUGS) == sorted(path.stem for path in bugs.HERE.glob("*.py"))
    assert len(BUGS) >= 12 and {each.chapter for each in BUGS.values()} <= set(MODULES)
    assert hunt() == list(BUGS) and set(hunt("05", "12")) == {"b07", "b08"}
    with pytest.raises(KeyError, match=r"no bug 'b99'; there are b01, "):
        bug("b99")
