"""Names that an exercise excludes: an answer that uses one is not right, whatever it returns."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from cases import over

import minigrad as mg
from minigrad import nn
from minigrad.learning.grading import MODULES, exercise, exercises_of, verdict_on
from minigrad.nn import functional as F
from minigrad.nn.functional import cross_entropy as renamed

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"


def helper(scores: Any, truth: Any) -> Any:
    return renamed(scores, truth)


def cross_entropy(scores: Any, truth: Any) -> Any:
    return F.cross_entropy(scores, truth)


def in_a_helper(scores: Any, truth: Any) -> Any:
    return helper(scores, truth)


def in_a_function_inside(scores: Any, truth: Any) -> Any:
    def inner() -> Any:
        return nn.CrossEntropyLoss()(scores, truth)

    return inner()


def imported_inside(scores: Any, truth: Any) -> Any:
    from minigrad.nn.functional import nll_loss

    return nll_loss(scores.log_softmax(1), truth)


def over_a_closure(used: Any) -> Any:
    def answer(scores: Any, truth: Any) -> Any:
        return used(scores, truth)

    return answer


in_a_closure, in_a_helpers_closure = over_a_closure(renamed), over_a_closure(over_a_closure(renamed))


@over("answer", [cross_entropy, in_a_helper, in_a_function_inside, imported_inside, in_a_closure, in_a_helpers_closure])
def test_an_answer_with_an_excluded_function_is_not_right(answer: Any) -> None:
    verdict = verdict_on("13.1", exercise("13.1"), answer)
    assert not verdict and "which the exercise excludes" in str(verdict)


class Inherits(nn.RMSNorm):
    pass


class Uses(nn.Module):
    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(size, eps=eps)
        self.weight = self.norm.weight

    def forward(self, x: Any) -> Any:
        return self.norm(x)


def test_a_class_that_inherits_or_uses_an_excluded_layer_is_not_right() -> None:
    for answer in (Inherits, Uses):
        assert "it uses rmsnorm" in str(verdict_on("13.4", exercise("13.4"), answer)).lower()


def test_an_own_name_that_equals_an_excluded_one_is_allowed() -> None:
    def norm(x: Any) -> Any:
        return (x * x).sum(1, keepdim=True).sqrt()

    def unit_rows(x: Any) -> Any:
        return x / mg.where(norm(x) == 0, 1.0, norm(x))

    assert "excludes" not in str(verdict_on("A2.3", exercise("A2.3"), unit_rows))


def test_every_rule_that_a_notebook_states_is_checked_and_kept_by_its_reference() -> None:
    for chapter in MODULES:
        (path,) = NOTEBOOKS.glob(f"{chapter}_*.py")
        text = re.sub(r"\n# ?", " ", path.read_text(encoding="utf-8"))
        for name, task in exercises_of(chapter).items():
            asked = text.partition(f"**{name}** ")[2].partition("**")[0]
            rule = re.search(r"[Dd]o not (?:call|use) ((?:`[\w.]+`(?: or )?)+)", asked)
            stated = {name.rpartition(".")[2] for name in re.findall(r"`([\w.]+)`", rule[1])} if rule else set()
            assert stated <= set(task.excluded) and bool(stated) == bool(task.excluded), (name, stated, task.excluded)
            assert not stated or verdict_on(name, task, task.reference), name
