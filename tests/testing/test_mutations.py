"""Break rules on purpose, and require the checks to notice: a part of `python -m tests.mutation`.

Every derivative rule here in the plainest ways, negated, a term or factor or sign dropped, operands or branches
swapped; of everything else each tenth mutant.  A function that the rules of several operands call is broken for one.
"""

from __future__ import annotations

import warnings

import pytest

from tests.mutation import reverse
from tests.mutation.mutant import Mutant, noticed, outcome
from tests.mutation.running import everything
from tests.mutation.survivors import OPEN, read, reason, unknown

PLAIN = ("negated", "dropped", "flipped", "swapped")
ALL = everything()
KILLED = [m for m in ALL if reason(m) is None]
FIRST = {(m.of, m.helper): m for m in reversed(KILLED)}  # of those that break one helper alike
LEFT = [m for m in KILLED if not m.helper or FIRST[m.of, m.helper] is m]
OFTEN = {id(m) for m in LEFT if m.kind in ("vjp", "definition") and any(way in m.what for way in PLAIN)}
CHOSEN = [m for m in LEFT if id(m) in OFTEN] + [m for m in LEFT if m.kind != "forward" and id(m) not in OFTEN][::10]


@pytest.mark.parametrize("mutant", CHOSEN, ids=lambda m: m.name)
def test_what_is_broken_is_noticed(mutant: Mutant) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert noticed(mutant), f"nothing notices: {mutant.name}"


def test_every_rule_is_broken_at_least_once() -> None:
    assert not reverse.unbroken(ALL)


def test_a_reason_is_for_the_mutants_that_it_names_and_no_others() -> None:
    text = f"The same.\n    vjp, exp: x: negated\n{OPEN}nobody\n    vjp, log: x: negated"
    listed = dict(read(text))
    assert [(name, why.equivalent) for name, why in listed.items()] == [
        ("vjp, exp: x: negated", True), ("vjp, log: x: negated", False),
    ]  # fmt: skip
    for wrong, message in ((f"{text}\n    vjp, exp: x: negated", "twice"), ("  vjp, exp: x: negated", "without")):
        with pytest.raises(ValueError, match=message):
            dict(read(wrong))
    names = {m.name for m in ALL}
    assert len(names) == len(ALL) and not unknown(names)
    some = next(m for m in ALL if reason(m) is not None)
    assert unknown(names - {some.name}) == [some.name]


def test_what_ran_before_does_not_hide_what_is_broken() -> None:
    mutant = next(m for m in ALL if m.name == "vjp, attention: query negated in the joint rule")
    mutant.check()
    assert noticed(mutant) == "numbers"


def test_a_check_that_does_not_end_is_noticed() -> None:
    def check() -> None:
        while True:
            pass

    assert outcome(check, 0.05) == "killed"
