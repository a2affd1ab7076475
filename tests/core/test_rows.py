"""Loops over a row: which totals one loop computes, what it reads, and which terms it stores for the result."""

from dataclasses import replace

from minigrad.ops.nn.normalization import LAYER_NORM, LAYER_NORM_BACKWARD, RMS_NORM_BACKWARD
from minigrad.ops.nn.softmax import LOG_SOFTMAX, SOFTMAX


def loops(fn, together=1, keeps=False):
    return [(loop.kind, loop.totals, loop.operands) for loop in fn.passes(together, keeps)]


def test_totals_are_found_in_order_then_the_result_then_sums_down_the_columns():
    assert loops(LAYER_NORM_BACKWARD) == [
        ("sum", (0,), (1,)), ("sum", (1,), (0, 2)), ("sum", (2,), (1,)), ("sum", (3,), (0, 1, 2)),
        ("result", (), (0, 1, 2)), ("columns", (), (0, 1)),
    ]  # fmt: skip


def test_one_loop_finds_sums_of_which_none_asks_for_another():
    assert [loop.totals for loop in LAYER_NORM_BACKWARD.passes(2)] == [(0, 1), (2, 3), (), ()]
    assert [loop.totals for loop in RMS_NORM_BACKWARD.passes(2)] == [(0, 1), (), ()]
    assert [loop.totals for loop in LAYER_NORM.passes(2)] == [(0,), (1,), ()], "the variance asks for the mean"
    assert [loop.totals for loop in SOFTMAX.passes(2)] == [(0,), (1,), ()], "a maximum is no sum"


def test_the_last_terms_stay_where_the_result_can_be_made_of_them():
    for fn, keeps in ((SOFTMAX, True), (LOG_SOFTMAX, False), (replace(SOFTMAX, result=None), False)):
        assert [loop.keeps for loop in fn.passes(keeps=True) if loop.totals] == [False, keeps]
        assert not any(loop.keeps for loop in fn.passes())
    *_, result = SOFTMAX.passes(keeps=True)
    assert result.scalars == (SOFTMAX.reuse,) and result.operands == ()
