"""Collected calls: the same results as the function, and no repetition of a function that depends on more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.core.code import write_now
from minigrad.errors import warn
from minigrad.runtime.compositions import Composition
from minigrad.runtime.observers import Observer, attach, detach

X = mg.tensor([[1.0, -2.0, 3.0], [4.0, 0.5, -6.0]])
Y = mg.tensor([[0.5, 1.0, -1.0], [2.0, 2.0, 2.0]])


def known_of(function: Any) -> Any:
    """The compositions of a public function."""
    write_now(function)
    return function.__globals__["_mg_known"]


def learnt(function: Any, *operands: Any, **named: Any) -> Composition:
    found = Composition()
    for _ in range(2):
        found.learn(function, operands, named)
    return found


def test_calls_are_collected_at_the_second_call_of_a_kind() -> None:
    found = Composition()
    found.learn(mg.exp, (X,), {})
    assert found.function is None
    found.learn(mg.exp, (X,), {})
    assert found.function(X).tolist() == mg.exp(X).tolist()


def test_a_composition_returns_the_results_of_its_function() -> None:
    def function(x: Any, y: Any, *, factor: float) -> Any:
        rows = (x * factor).reshape(3, 2).mT
        return rows, None, mg.aminmax(rows + y), x, mg.max(y, 0)[1]

    with mg.no_grad():
        found = learnt(function, X, Y, factor=3.0)
    for x, y in ((X, Y), (-Y, X * 2.0)):
        rows, nothing, bounds, first, best = found.function(x, y)
        expected = function(x, y, factor=3.0)
        assert nothing is None and first is x
        assert rows.layout is expected[0].layout and rows.base is not None
        assert type(bounds) is type(expected[2])
        for result, right in ((rows, expected[0]), (best, expected[4]), *zip(bounds, expected[2])):
            assert result.dtype is right.dtype and result.tolist() == right.tolist()


def test_tensors_that_the_function_makes_are_part_of_a_composition() -> None:
    compute = learnt(lambda x: x + mg.arange(3) * 2.0, X).function
    assert compute(X).tolist() == compute(X).tolist() == (X + mg.tensor([0.0, 2.0, 4.0])).tolist()


def test_a_recorded_composition_carries_the_gradient() -> None:
    v = mg.Var(X)
    found = learnt(lambda x, y: (x * y).sum(1).exp(), v, Y)
    found.function(v, Y).sum().backward()
    np.testing.assert_allclose(v.grad.numpy(), (Y * (X * Y).sum(1, True).exp()).numpy(), rtol=1e-6)
    assert learnt(lambda x: x.exp().detach(), v).function(v).op is None


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * x.sum().item(),
        lambda x: x + Y,
        lambda x: (x * mg.zeros(5000, 1, 1)).sum(0),
        lambda x: x + mg.randn(3),
        lambda x: mg.exp(x, out=mg.empty(2, 3)),
        lambda x: (warn("beware"), x * 2.0)[1],
        lambda x: without_record(x),
        lambda x: 3.0,
    ],
)
def test_a_function_that_depends_on_more_than_layouts_is_not_repeated(function: Any) -> None:
    before = mg.get_rng_state()
    found = learnt(function, X)
    assert found.function is None
    assert mg.get_rng_state().tolist() == before.tolist()


def test_a_function_may_ask_which_operands_require_a_gradient() -> None:
    def function(x: Any, y: Any) -> Any:
        return x * 2.0 if x.requires_grad else y * 3.0

    v = mg.Var(X)
    assert learnt(function, v, X).function(v, X).tolist() == (X * 2.0).tolist()
    assert learnt(function, X, v).function(X, v).tolist() == (X * 3.0).tolist()
    assert learnt(lambda x: x if (x * 2.0).requires_grad else -x, v).function is None


def test_an_op_that_cannot_be_repeated_is_not_tried_forever() -> None:
    known = known_of(mg.nonzero)
    for _ in range(60):
        mg.nonzero(X)
    assert not known.steady


def test_a_repeated_op_draws_the_numbers_that_its_definition_would_draw() -> None:
    def four() -> list[Any]:
        mg.manual_seed(3)
        return [mg.nn.functional.dropout(X, 0.5).tolist() for _ in range(4)]

    entries = known_of(mg.nn.functional.dropout)
    entries.clear()
    repeated = four()
    assert [entry.draws for entry in entries.values() if entry.function is not None] == [True]
    with mg.debug():  # debug mode uses the general path
        assert four() == repeated
    assert repeated[2] != repeated[3]


def test_a_composition_may_return_a_view_of_random_numbers() -> None:
    found = Composition()
    for _ in range(2):
        found.learn(lambda x: (mg.rand(2, 3).reshape(6), x.detach().mT), (X,), {}, draws=True)
    mg.manual_seed(3)
    numbers, turned = found.function(X)
    mg.manual_seed(3)
    assert numbers.tolist() == mg.rand(6).tolist() and turned.tolist() == X.mT.tolist()


def test_a_function_that_draws_a_permutation_is_not_repeated() -> None:
    found = Composition()
    for _ in range(2):
        found.learn(lambda x: x + mg.randperm(3), (X,), {}, draws=True)
    assert found.function is None


def test_an_op_that_draws_is_not_repeated_among_transforms() -> None:
    ones = mg.ones(64)
    for _ in range(3):
        mg.nn.functional.dropout(ones, 0.5)
    drop = mg.func.vmap(lambda x: x + mg.nn.functional.dropout(ones, 0.5), randomness="different")
    first, second = drop(mg.zeros(2, 64)).tolist()
    assert first != second


@pytest.mark.parametrize("present", [("weight",), ("bias",), ("weight", "bias"), ()])
def test_repeated_calls_pass_each_optional_operand_in_its_place(present: tuple[str, ...]) -> None:
    x, lines = mg.tensor([[1.0, 2.0], [3.0, 6.0], [5.0, 7.0]]), {"weight": [2.0, 3.0], "bias": [10.0, 20.0]}
    operands = {name: mg.tensor(lines[name]) for name in present}
    known = known_of(mg.nn.functional.batch_norm)
    known.clear()
    first, *others = (mg.nn.functional.batch_norm(x, None, None, **operands, training=True).tolist() for _ in range(4))
    assert all(other == first for other in others)
    assert [entry.function is not None for entry in known.values()] == [True]


def test_an_op_that_may_write_is_repeated_in_calls_that_write_nothing() -> None:
    def normalized(*running: Any) -> Any:
        return mg.nn.functional.batch_norm(X, *running, training=True, momentum=0.5)

    calls = (
        (mg.norm, lambda: mg.norm(X, 1, 1)),
        (mg.tensordot, lambda: mg.tensordot(X, Y, [[1], [1]])),
        (mg.nn.functional.batch_norm, lambda: normalized(None, None)),
    )
    for op, call in calls:
        known = known_of(op)
        known.clear()
        results = [call().tolist() for _ in range(3)]
        assert [entry.function is not None for entry in known.values()] == [True]
        assert results[0] == results[1] == results[2]
    center, spread, out = mg.zeros(3), mg.ones(3), mg.zeros(2)
    for _ in range(60):
        y = normalized(center, spread)
        assert mg.norm(X, 1, 1, out=out) is out and out.tolist() == [6.0, 10.5]
        out.zero_()
    assert y.tolist() == results[0] and center.tolist() == pytest.approx([2.5, -0.75, -1.5])
    assert known.steady  # a call that writes does not count as one that cannot be repeated


def without_record(x: Any) -> Any:
    with mg.no_grad():
        return x * 2.0


def test_rules_give_the_same_gradient_in_each_backward_pass() -> None:
    # amax: ties share the gradient, so the rule has comparisons and sums of values.
    for data in ([3.0, 1.0, 3.0], [1.0, 2.0, 0.0], [5.0, 5.0, 5.0], [0.0, 0.0, 7.0]):
        v = mg.Var(mg.tensor(data))
        (v * 2.0).amax().backward()
        share = np.equal(data, max(data))
        assert v.grad.tolist() == (2.0 * share / share.sum()).astype(np.float32).tolist()


def test_the_rule_of_an_op_over_many_tensors_runs_once_for_the_gradients_that_are_wanted() -> None:
    parts = [mg.Var([1.0]), mg.tensor([2.0, 3.0]), mg.Var([4.0]), mg.Var([5.0, 6.0])]
    head = mg.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    right = {0: [1.0], 2: [4.0], 3: [5.0, 6.0]}
    for wanted in ([0, 2, 3], [3], [0, 3], [2]) * 3:
        y = mg.cat(parts)
        found = mg.grad(y, [parts[k] for k in wanted], head)
        assert [g.tolist() for g in found] == [right[k] for k in wanted]
        kinds = [each for each in y.op.plan.facts.values() if isinstance(each, Composition)]
    assert len(kinds) == 4 and None not in [each.function for each in kinds]


def test_the_rule_of_a_kernel_is_collected_also_if_it_reads_no_facts() -> None:
    v = mg.Var([[2.0, 1.0], [1.0, 3.0]])
    for _ in range(3):
        y = mg.linalg.det(v)
        assert np.allclose(y.backward()[v].numpy(), [[3.0, -1.0], [-1.0, 2.0]])
    (found,) = [each for each in y.op.plan.facts.values() if isinstance(each, Composition)]
    assert found.function is not None


def test_an_observer_sees_the_calls_of_rules_that_were_collected_before() -> None:
    class Count(Observer):
        launches = 0

        def launching(self, plan: Any, launch: Any, buffers: Any) -> None:
            self.launches += 1

    v, watch = mg.Var(X), Count()
    counts = []
    for _ in range(3):
        v.amax().backward()
    for _ in range(4):
        attach(watch)
        try:
            v.amax().backward()
        finally:
            detach(watch)
        counts.append(watch.launches)
        watch.launches = 0
    assert counts[0] > 4 and len(set(counts)) == 1


@pytest.mark.parametrize("join", [mg.cat, mg.stack, mg.hstack, mg.vstack, mg.block_diag])
def test_joins_of_one_kind_and_of_several_kinds_are_repeated_apart(join: Callable[..., Any]) -> None:
    a, b = np.ones((2, 3), np.float32), np.full((2, 3), 2.0)
    cases: list[Any] = [
        [mg.tensor(a), mg.tensor(a)],
        [mg.tensor(a), mg.tensor(b)],
        [mg.tensor(b), mg.tensor(a)],
        (mg.tensor(a), mg.Var(a), mg.tensor(a)),
        [mg.tensor(a), mg.tensor(a).mT.contiguous().mT],
    ]
    for _ in range(4):
        for tensors in cases:
            y = join(*tensors) if join is mg.block_diag else join(tensors)
            parts = [x.numpy() if x.dtype is mg.float64 else x.detach().numpy() for x in tensors]
            assert y.dtype is (mg.float64 if any(x.dtype is mg.float64 for x in tensors) else mg.float32)
            assert y.requires_grad is isinstance(tensors, tuple)
            assert y.detach().numpy().sum() == sum(x.sum() for x in parts)
    if join is not mg.block_diag:
        with pytest.raises(mg.ArgumentError, match="expected a list of at least one tensor"):
            join([])
        with pytest.raises(mg.ArgumentError, match="expected a list of at least one tensor"):
            join([1.0, 2.0])
