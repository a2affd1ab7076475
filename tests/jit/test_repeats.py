"""Long programs: the loops of a function are found in its launches, and each is stored, compiled and printed once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from jit.test_source import checked

import minigrad as mg
from minigrad.jitting.fusion import COST
from minigrad.jitting.placing import MANY, arena_of
from minigrad.jitting.program import Item
from minigrad.jitting.repeats import LEAST, periods_of, runs_of

pytestmark = pytest.mark.usefixtures("reference")

N = 40  # rounds of three launches, so that they are a repeat


def chain(x: Any) -> Any:
    h = x
    for _ in range(N):
        h = (h * 0.99 + x).tanh()
    return h


def changing_number(x: Any) -> Any:
    h = x
    for k in range(N):
        h = (h * 0.9**k + x).tanh()
    return h


def two_states(x: Any) -> Any:
    a, b = x, x * 0.5
    for _ in range(N):
        a, b = b, (a * 0.3 + b * 0.6).sin()
    return a + b


def products(x: Any) -> Any:
    h = mg.zeros(2, 3)
    for t in range(N):
        h = (x[t] + h @ x[0, :, :].T @ x[1]).tanh()
    return h


def backwards(x: Any) -> Any:
    h, rows = mg.zeros(2, 3), []
    for t in reversed(range(N)):
        h = (x[t] * 0.5 + h).tanh()
        rows.append(h)
    return mg.stack(rows)


def elements_in_place(x: Any) -> Any:
    y = mg.zeros(N + 1)
    for t in range(N):
        y[t + 1] = (y[t] * 0.5 + x[1, 1, 2]).tanh()
    return y


def mirrored(x: Any) -> Any:
    y = mg.zeros(N)
    for t in range(N):
        y[t] = y[N - 1 - t] + x[t, 0, 0] * 0.5  # in the second half, other elements are read that were written before
    return y


def gradient(x: Any) -> Any:
    h = v = x.detach().requires_grad_()
    for _ in range(N):
        h = (h * 0.99 + v).tanh()
    return mg.grad(h.sum(), [v])[0]


def alternating(x: Any) -> Any:
    a, b, total = x * 0.5, x * 0.25, x
    for _ in range(N):
        total = (total * 0.5 + a).sin()
        a, b = b, a
    return total


def from_a_number(x: Any) -> Any:
    total = 0.5
    for t in range(N):
        total = (mg.as_tensor(total, dtype=x.dtype) * x[t, 0, 0] + 0.25).sin()
    return total


def moved_by_squares(x: Any) -> Any:
    h = x[0]
    for t in range(N):
        h = (h * 0.5 + x[t * t % 5]).tanh()
    return h


def from_the_first_row(x: Any) -> Any:
    h = x[0]
    for t in range(1, N):
        h = (h * 0.5 + x[t]).tanh()
    return h


def scanned(x: Any) -> Any:
    h, rows = x[0], []
    for t in range(1, N):
        h = (h @ x[t].T @ x[0] * 0.1).cumsum(1)
        rows.append(h)
    return mg.stack(rows)


LOOPS: dict[Callable[..., Any], tuple[int, ...]] = {
    chain: (3,), changing_number: (3,), two_states: (3,), products: (N, 2, 3), backwards: (N, 2, 3),
    elements_in_place: (N, 2, 3), mirrored: (N, 2, 3), gradient: (3,), from_a_number: (N, 2, 3),
    alternating: (3,), moved_by_squares: (5, 2), from_the_first_row: (N, 2, 3), scanned: (N, 2, 3),
}  # fmt: skip


def test_a_loop_has_the_bits_of_eager_mode_and_is_printed_as_a_loop() -> None:
    for function, shape in LOOPS.items():
        x = mg.tensor(np.random.default_rng(0).uniform(-1, 1, shape), dtype=mg.float64)
        for fuse in (True, False):
            step = mg.jit(function, fuse=fuse)
            results = [step(x) for _ in range(3)]
            wanted = function(x).numpy()
            assert all(np.array_equal(y.numpy(), wanted) for y in results), (function, fuse)
            assert step.last.tape.repeats, (function, fuse)
        text = checked(function, x, rtol=1e-12)
        if function is not moved_by_squares:
            assert "for t in range(" in text and len(text.splitlines()) < 90, (function, text)


def test_launches_in_rounds_are_called_with_the_arrays_of_their_round() -> None:
    def halves(x: Any) -> Any:
        h = x[0].half()
        for t in range(1, N):
            h = (h * 0.5 + x[t].half()).tanh()
        return h.float()

    def convolved(x: Any) -> Any:
        h, w = x[0], x[:2, :2, :1]
        for t in range(1, N):
            h = mg.nn.functional.conv1d(h[None], w)[0] * 0.9**t + x[t]
        return h

    for function in (halves, convolved):
        text = checked(function, mg.tensor(np.random.default_rng(0).uniform(-1, 1, (N, 2, 3)).astype("f")), calls=True)
        assert "for t in range(" in text and "* t, " in text


def test_numbers_of_a_call_and_draws_in_rounds() -> None:
    def noisy(x: Any, rate: float) -> Any:
        for k in range(N):
            x = x * (rate**k) + mg.rand(3, dtype=mg.float64) * 0.5
        return x

    step, x = mg.jit(noisy), mg.tensor([0.5, -1.0, 2.0], dtype=mg.float64)
    for rate in (0.9, 0.9, 0.8, 0.7):
        mg.manual_seed(3)
        result = step(x, rate).numpy()
        mg.manual_seed(3)
        assert np.array_equal(result, noisy(x, rate).numpy())
    assert step.last.tape.repeats
    checked(noisy, x, 0.75, calls=True)


def test_a_repeat_is_stored_once() -> None:
    step = mg.jit(chain)
    for _ in range(2):
        step(mg.ones(3))
    (repeat,) = step.last.tape.repeats
    launches = {id(item.launch) for item in step.last.tape.items}
    assert (repeat.period, repeat.rounds, len(launches)) == (1, N, 1)
    assert f"1 launch in {N} rounds" in step.report()
    labels = [node.label for node in step.graph().nodes]
    assert sum(f"in {N} rounds" in label for label in labels) == 1 and len(labels) == 3


def test_the_outer_program_differentiates_a_loop() -> None:
    x = mg.Var(np.linspace(-1, 1, 3))
    step = mg.jit(chain)
    gradients = []
    for _ in range(4):
        (g,) = mg.grad(step(x).sum(), [x])
        gradients.append(g.numpy())
    (backward,) = [each for each in step.last.backward.values() if each.pull]
    assert backward.tape.repeats and all(np.array_equal(g, gradients[0]) for g in gradients)


def test_a_loop_that_does_not_repeat_its_slots_is_not_a_repeat() -> None:
    def alternating(x: Any) -> Any:
        a = b = x
        for k in range(2 * N):
            c = a * 0.5 + b
            a, b = (c, b) if k * k % 3 else (a, c)
        return a + b

    step, x = mg.jit(alternating), mg.ones(3)
    assert all(np.array_equal(step(x).numpy(), alternating(x).numpy()) for _ in range(3))


def test_the_size_of_a_fused_function_is_bounded() -> None:
    names = np.random.default_rng(0).choice(["sin", "cos", "tanh", "sigmoid", "erf", "atan"], 90).tolist()

    def without_a_period(x: Any) -> Any:
        for name in names:
            x = getattr(x, name)() * 1.5
        return x

    step, x = mg.jit(without_a_period), mg.ones(3)
    assert all(np.array_equal(step(x).numpy(), without_a_period(x).numpy()) for _ in range(3))
    items = [item for item in step.last.tape.items if isinstance(item, Item)]
    costs = [item.launch.parts[0].request.scalar.cost for item in items]
    assert len(items) > 1 and max(costs) <= COST + 1
    assert "cost more than" in step.report() or all(item.fused for item in items)


def test_an_index_out_of_range_in_a_round_is_reported() -> None:
    def gathered(table: Any, index: Any) -> Any:
        h = table[0]
        for t in range(40):
            h = (h + table.index_select(0, index[t : t + 1])[0]).tanh()
        return h

    table, index = mg.ones(4, 2), mg.tensor([*range(4)] * 10)
    for device in ("reference", "cpu"):
        step, wrong = mg.jit(gathered, fuse=False), index.clone()
        wrong[33] = 9
        arguments = [x.to(device) for x in (table, index, wrong)]
        for _ in range(3):
            step(*arguments[:2])
        with pytest.raises(IndexError, match="9"):
            step(arguments[0], arguments[2])


def test_periods_and_runs_of_launches() -> None:
    body = [0, 1, 0, 2, 1]
    tokens = np.array([7, 8, *body * 30, 9, *[3] * 100])
    assert {5, 1} <= set(periods_of(tokens))
    assert next(runs_of(tokens, 5)) == (2, 150, 5) and (153, 100, 1) in [*runs_of(tokens, 1)]
    assert not [*runs_of(np.array([0, 1] * (LEAST // 2 - 1)), 2)], "too few launches"


def test_temporaries_of_long_programs_do_not_overlap() -> None:
    random = np.random.default_rng(0)
    sizes = random.integers(1, 9, 3 * MANY) * 64
    uses = [[k, max(0, k - int(random.integers(0, 5)))] for k in range(len(sizes))]
    offsets, total = arena_of(uses, dict(enumerate(sizes.tolist())))
    last = {slot: k for k, slots in enumerate(uses) for slot in slots}
    active: list[tuple[int, int, int]] = []
    for k in range(len(sizes)):
        active = [each for each in active if each[2] >= k]
        begin, end = offsets[k], offsets[k] + int(sizes[k])
        assert all(end <= low or high <= begin for low, high, _ in active) and end <= total
        active.append((begin, end, last[k]))
    assert total < 20 * 8 * 64


def test_a_long_recording_shows_its_progress(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    def long(x: Any) -> Any:
        for _ in range(1500):
            x = x * 0.5
        return x

    for patience, lines in ((0.0, 1), (1e9, 0)):
        monkeypatch.setattr("minigrad.jitting.program.PATIENCE", patience)
        step, x = mg.jit(long, fuse=False), mg.ones(1)
        step(x)
        assert not capsys.readouterr().err
        step(x)
        text = capsys.readouterr().err
        assert text.count("has recorded 1,024 launches") == text.count("\n") == lines


@pytest.mark.usefixtures("reference")
def test_views_of_one_buffer_at_several_offsets_are_those_of_each_round() -> None:
    cell = mg.nn.GRUCell(4, 4)

    def gradient(x: mg.Tensor) -> mg.Tensor:
        return mg.func.grad(lambda x: recurrent(x).sum())(x)

    def gated(x: mg.Tensor, c: int) -> mg.Tensor:
        h = mg.zeros(2, 2)
        for t in range(40):
            h = mg.nn.functional.glu(x[t], 1) + h * x[c, :, :2]
        return h

    def recurrent(x: mg.Tensor) -> mg.Tensor:
        h = mg.zeros(2, 4)
        for t in range(40):
            h = cell(x[t], h) * 0.9 + x[t]
        return h

    functions = [lambda x, c=c: gated(x, c) for c in (17, 20, 23)]
    for f in (*functions, recurrent, gradient):
        jitted = mg.jit(f)
        for _ in range(3):
            x = mg.rand(45, 2, 4)
            assert jitted(x).equal(f(x))


def test_the_rest_of_a_run_is_no_repeat_after_others_took_its_rounds() -> None:
    # A host call, the step of an optimizer, was read as a launch.
    w, b, x = mg.Var(mg.randn(4, 4)), mg.Var(mg.randn(4)), mg.randn(3, 4)
    optimizer = mg.optim.Adam([w, b], lr=0.01)

    def step(x: mg.Tensor) -> mg.Tensor:
        zeros = x - x
        first, second = zeros, zeros * b
        mean = second
        for _ in range(33):
            first = (zeros @ w + first) * 0.5
        for _ in range(20):
            difference = zeros - mean.mean(1, keepdim=True)
            second = (difference * 0 + (first * 0.9).sigmoid() + second) * 0.5
        loss = (second * second).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    jitted = mg.jit(step)
    assert all(jitted(x).isfinite() for _ in range(3))
