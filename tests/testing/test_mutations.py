"""Break rules on purpose, and require the checks to notice: a part of `python -m tests.mutation`.

Each derivative rule, and each function that it calls, is broken in two plain ways: negated, a term or factor or sign
dropped, operands or branches swapped.  Each way of breaking each kind of thing is tried at least once, and one in
fifteen of the remaining mutants.  A function that the rules of several operands call is broken for one of them.
The command also tries loops that do not end, and the ways of forward mode.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Sequence
from zlib import crc32

import complex_ops
import pytest
from cases import over

from tests.mutation import reverse
from tests.mutation.mutant import Mutant, noticed, outcome
from tests.mutation.running import everything
from tests.mutation.survivors import OPEN, read, reason, unknown

PLAIN = ("negated", "dropped", "flipped", "swapped")
TWICE, STEP = 2, 15
# Without these statements loops do not end, and each would cost the limit of 20 seconds.
ENDLESS = ("left out in `step *= 2`", "left out in `k += 1`", "left out in `node = node.parents[0]`")
ALL = everything()
KILLED = [m for m in ALL if reason(m) is None]
FIRST = {(m.of, m.helper): m for m in reversed(KILLED)}  # of those that break one helper alike
# The tests of the ways of forward mode run every row, which takes too long here.
SHORT = [m for m in KILLED if m.kind != "forward" and not any(statement in m.what for statement in ENDLESS)]
LEFT = [
    m for m in SHORT
    if (not m.helper or FIRST[m.of, m.helper] is m) and not complex_ops.is_complex_only(m.of, m.what)
]  # fmt: skip


def plain(mutant: Mutant) -> bool:
    """Whether a rule or definition is broken in a plain way."""
    return mutant.kind in ("vjp", "definition") and any(way in mutant.what for way in PLAIN)


def broken_part(mutant: Mutant) -> tuple[str, ...]:
    """The rule of an operand, or a function that it calls."""
    operand, *rest = mutant.what.split(": ")
    return (mutant.kind, mutant.of, operand, rest[0] if mutant.helper else "")


def way(mutant: Mutant) -> tuple[str, str]:
    """The kind of thing that is broken, and how, without the code and names that differ from one rule to the next."""
    what = mutant.what.partition(" in `")[0].rpartition(": ")[2]
    return mutant.kind, re.sub(r"^\S+ (read|saved|passed|left out|negated)\b.*", r"\1", what)


def chosen(some: Sequence[Mutant]) -> list[Mutant]:
    """Few mutants, the same ones for the same list: see the top of this file."""
    found: dict[str, Mutant] = {}
    ways: Counter[tuple[str, ...]] = Counter()
    for mutant in filter(plain, some):
        ways[broken_part(mutant)] += 1
        if ways[broken_part(mutant)] <= TWICE:
            found[mutant.name] = mutant
    known = set(map(way, found.values()))
    rest = [m for m in some if m.name not in found]
    for mutant in rest:  # by name, so that one more mutant does not change which others are tried
        if crc32(mutant.name.encode()) % STEP == 0 or way(mutant) not in known:
            found[mutant.name] = mutant
            known.add(way(mutant))
    return list(found.values())


CHOSEN = chosen(LEFT)


@over("mutant", CHOSEN, ids=lambda m: m.name, items=24)
def test_what_is_broken_is_noticed(mutant: Mutant) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert noticed(mutant), f"nothing notices: {mutant.name}"


def test_every_rule_is_broken_at_least_once() -> None:
    assert not reverse.unbroken(ALL)


def test_the_chosen_mutants_break_each_rule_in_two_plain_ways_and_everything_in_every_way() -> None:
    here, all_of_them = (Counter(broken_part(m) for m in filter(plain, some)) for some in (CHOSEN, LEFT))
    assert len(here) > 400 and all(here[part] >= min(count, TWICE) for part, count in all_of_them.items())
    assert set(map(way, CHOSEN)) == set(map(way, LEFT))


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
