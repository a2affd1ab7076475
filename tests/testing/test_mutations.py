"""Break rules on purpose, and require the checks to notice: a part of `python -m tests.mutation`.

Every derivative rule here in the plainest ways, negated, a term or factor or sign dropped, operands or branches
swapped; of everything else each tenth mutant.
"""

from __future__ import annotations

import warnings

import pytest

from tests.mutation import reverse
from tests.mutation.mutant import Mutant, noticed
from tests.mutation.running import everything
from tests.mutation.survivors import REASONS, reason

PLAIN = ("negated", "dropped", "flipped", "swapped")
ALL = list(everything())
LEFT = [m for m in ALL if reason(m) is None]
OFTEN = {id(m) for m in LEFT if m.kind in ("vjp", "definition") and any(way in m.what for way in PLAIN)}
CHOSEN = [m for m in LEFT if id(m) in OFTEN] + [m for m in LEFT if m.kind != "forward" and id(m) not in OFTEN][::10]


@pytest.mark.parametrize("mutant", CHOSEN, ids=lambda m: f"{m.kind}-{m.name}")
def test_what_is_broken_is_noticed(mutant: Mutant) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert noticed(mutant), f"nothing notices: {mutant.kind}, {mutant.name}"


def test_every_rule_is_broken_at_least_once() -> None:
    assert not reverse.unbroken(ALL)


def test_every_reason_is_that_of_a_mutant() -> None:
    for each in REASONS:
        assert any(each.fits(m) for m in ALL), f"there is no such mutant any more: {each}"
