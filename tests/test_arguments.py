"""The functions that PyTorch has too accept each of its arguments, and return its values, dtypes and shapes."""

from __future__ import annotations

import pytest

import minigrad as mg
from tests.arguments.__main__ import stored
from tests.arguments.calls import Call, array_of, calls, differs, outcome

pytestmark = pytest.mark.usefixtures("reference")


def test_every_documented_argument_has_the_meaning_that_it_has_in_pytorch() -> None:
    known = stored()
    each = [call for call in calls() if call.key in known]
    assert len(each) > 2000 and len({call.function for call in each}) > 430
    found = {call.key: differs(outcome(mg, call, {"device": "reference"}), known[call.key]) for call in each}
    assert {key: text for key, text in found.items() if text} == {}


def test_a_difference_is_found() -> None:
    call = Call("torch.sum", (("input", "~f 3 4"), ("dim", 1)), ("dim",), 1)
    (row,) = outcome(mg, call, {"device": "reference"})
    assert row[:2] == ["float32", [3]] and not differs([row], [row])
    assert differs([row], [[*row[:2], row[2] + 0.1, row[3]]]) and differs([row], [["float64", *row[1:]]])
    assert differs("TypeError: no dim", [row]) == "TypeError: no dim" and not differs([row], None)
    assert array_of("~o4", "index").tolist() == array_of("~o4", "index").tolist()
