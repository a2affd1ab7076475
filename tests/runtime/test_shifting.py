"""Plans of views that differ only in their offsets: later ones are copies, equal to what the rules of the op make."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import over

import minigrad as mg
from minigrad.core.plans import forget
from minigrad.errors import IndexOutOfRange
from minigrad.runtime.planning import CallPlan, make_plan
from minigrad.runtime.shifting import FIRST, Family, numbers_of

X = np.random.default_rng(0).normal(size=(12, 4, 6)).astype("f")


def parts(plan: CallPlan) -> Any:
    """All that a copy changes: the layouts of the operands and results, the numbers and the record of the launch."""
    launch = plan.launch
    layouts = [spec.layout for spec in (*plan.specs, *plan.outs)]
    if launch is None:
        return layouts, plan.params
    return layouts, [x.numbers.tolist() for x in launch.steps], [[s.layout for s in x.specs] for x in launch.parts]


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> list[CallPlan]:
    """The plans that are copies, each of which is compared with the plan that the rules of its op make."""
    made: list[CallPlan] = []
    forget()  # the plans of other tests
    plan_of_family = Family.plan

    def plan(family: Family, op: Any, operands: Any, params: Any, start: int) -> CallPlan | None:
        copy = plan_of_family(family, op, operands, params, start)
        if copy is not None:
            other = make_plan(op, operands, copy.params)
            assert parts(copy) == parts(other)
            (mine, numbers), (theirs, others) = numbers_of(copy), numbers_of(other)  # type: ignore[misc]
            assert mine == theirs and numbers.tolist() == others.tolist()
            made.append(copy)
        return copy

    monkeypatch.setattr(Family, "plan", plan)
    return made


@over(
    "function",
    [
        lambda x, t: x[t] * 2.0,
        lambda x, t: x[t] + x[11 - t],
        lambda x, t: x[-1 - t] @ x[0].swapaxes(0, 1),
        lambda x, t: x[t].swapaxes(0, 1) @ x[11 - t],
        lambda x, t: x[t].sum(0),
        lambda x, t: x[t, 1:3, ::2],
        lambda x, t: mg.select(x, 0, -1 - t) if isinstance(x, mg.Tensor) else x[-1 - t],
        lambda x, t: mg.select(x, 0, t) * 2.0 if isinstance(x, mg.Tensor) else x[t] * 2.0,
    ],
)
def test_the_plans_of_rows_are_copies_and_right(function: Any, copies: list[CallPlan]) -> None:
    x = mg.tensor(X)
    copies.clear()  # those of the other functions
    for t in range(12):
        np.testing.assert_allclose(function(x, t).numpy(), function(X, t), rtol=1e-5, atol=1e-6)
    assert len(copies) >= 11 - FIRST  # the offset of the first row is 0


def test_an_index_out_of_range_is_refused_after_many_rows(copies: list[CallPlan]) -> None:
    x = mg.tensor(X)
    rows = [x[t] for t in range(-12, 12)]
    assert len(copies) >= 24 - FIRST and rows[0].tolist() == X[0].tolist() and rows[13].tolist() == X[1].tolist()
    for wrong in (12, -13):
        with pytest.raises(IndexOutOfRange):
            x[wrong]


def test_a_launch_that_reads_a_constant_is_not_copied(copies: list[CallPlan]) -> None:
    x = mg.tensor(np.arange(12).reshape(6, 2) % 2)
    for t in range(6):
        assert mg.eye(2)[x[t]].sum().item() == 2.0
    assert all(plan.launch is None or plan.launch.limits is None for plan in copies)


def test_gradients_of_rows_are_those_of_numpy(copies: list[CallPlan]) -> None:
    w, x = mg.Var(np.ones((6, 3), "f")), mg.Var(X)
    sum(((x[t] @ w).sum() for t in range(12)), mg.tensor(0.0)).backward()
    np.testing.assert_allclose(w.grad.numpy(), np.repeat(X.sum((0, 1))[:, None], 3, 1), rtol=1e-4)
    assert x.grad.numpy().tolist() == np.full_like(X, 3.0).tolist()
    assert copies
