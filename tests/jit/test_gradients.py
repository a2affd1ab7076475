"""Recorded functions whose results have a graph: two programs and one node, with the bits of eager mode."""

from __future__ import annotations

import copy
import gc
import itertools
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn
from minigrad.nn import functional as F
from tests.programs import generator

RNG = np.random.default_rng(0)


pytestmark = pytest.mark.usefixtures("reference")


def normal(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def gradients(function: Callable[..., Any], x: Any, w: mg.Var, *more: Any) -> list[bytes]:
    """The result of a function of 2x and its gradients for x and w."""
    w.grad, leaf = None, mg.Var(x)
    y = function(leaf * 2.0, *more)
    (y * y).sum().backward()
    assert w.grad is not None and leaf.grad is not None
    return [z.detach().numpy().tobytes() for z in (y, w.grad, leaf.grad)]


def test_gradients_flow_to_arguments_and_to_tensors_that_are_found() -> None:
    w = mg.Var(normal(4, 4))

    def f(x, scale):
        return (mg.tanh(x @ w) * scale + x[:, :1]).sum(0)

    jitted = mg.jit(f)
    for k in range(6):
        x = normal(3, 4)
        assert gradients(f, x, w, 0.5 + k) == gradients(jitted, x, w, 0.5 + k)
    assert sum(map(len, jitted.programs.values())) <= 2


def test_arithmetic_on_floats_runs_in_the_program_of_a_result_with_a_graph() -> None:
    w, runs = mg.Var([1.0, 2.0]), itertools.count()

    def f(x, rate):
        next(runs)
        return (x * w * (rate * 2 + 1)).sum()

    jitted = mg.jit(f)
    for k in range(6):
        w.grad = None
        jitted(mg.ones(2), 0.5 + k).backward()
        assert w.grad.tolist() == [2.0 + 2 * k] * 2
    assert next(runs) == 2, "one eager run and one recording"


def test_a_module_trains_as_without_jit() -> None:
    mg.manual_seed(0)
    plain = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 3))
    other = copy.deepcopy(plain)
    jitted = mg.jit(other)
    optimizers = [mg.optim.SGD(model.parameters(), lr=0.1) for model in (plain, other)]
    for k in range(5):
        x, t, losses = mg.tensor(normal(8, 4)), mg.tensor(RNG.integers(0, 3, 8)), []
        for call, optimizer in zip((plain, jitted), optimizers):
            mg.manual_seed(k)
            optimizer.zero_grad()
            loss = F.cross_entropy(call(x), t)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert losses[0] == losses[1]
    for a, b in zip(plain.state_dict().values(), other.state_dict().values(), strict=True):
        assert a.numpy().tobytes() == b.numpy().tobytes()


def test_gradcheck_passes_unchanged_in_both_orders() -> None:
    w = mg.Var(normal(3, 3), dtype="float64")
    f, x = mg.jit(lambda x: (mg.sin(x) * w * x).sum(0)), mg.Var(normal(3, 3), dtype="float64")
    for _ in range(3):
        f(x)
    assert mg.testing.gradcheck(f, x) and mg.testing.gradgradcheck(f, x)


def test_several_results_some_without_a_graph() -> None:
    w = mg.Var(normal(3))

    def f(x):
        y = x * w
        return {"graph": y.sum(), "plain": (y.detach(), 3, x > 0), "unused": mg.exp(y)}

    jitted, x = mg.jit(f), mg.Var(normal(3))
    for _ in range(4):
        found = []
        for function in (f, jitted):
            w.grad = x.grad = None
            result = function(x)
            result["graph"].backward()
            plain, three, mask = result["plain"]
            assert three == 3 and not plain.requires_grad and not mask.requires_grad and result["unused"].requires_grad
            tensors = result["graph"], plain, mask, result["unused"], w.grad, x.grad
            found.append([z.detach().tolist() for z in tensors])
        assert found[0] == found[1]


def ready(f: Callable[..., Any], *args: Any) -> Any:
    """The function with a program for some arguments."""
    jitted = mg.jit(f)
    for _ in range(2):
        jitted(*args)
    return jitted


def test_reports_name_both_programs() -> None:
    w = mg.Var([1.0, 2.0])
    f = ready(lambda x: (x * w * w).cumsum(0).sum(), mg.tensor([0.0, 0.0]))
    assert f.report().splitlines()[0].endswith("; no backward pass yet") and f.memory().count("(float32(2,))") == 1
    f(mg.tensor([1.0, 1.0])).backward()
    assert "; backward: " in f.report() and "(float32(2,)), backward: " in f.memory()


def test_calls_may_come_before_their_backward_passes() -> None:
    w = mg.Var([1.0, 2.0])
    f = ready(lambda x: (x * w * w).sum(), mg.tensor([0.0, 0.0]))
    losses = [f(mg.tensor([float(k), 1.0])) for k in range(3)]
    for loss, wanted in zip(reversed(losses), ([4.0, 4.0], [2.0, 4.0], [0.0, 4.0])):
        w.grad = None
        loss.backward()
        assert w.grad.tolist() == wanted
    with pytest.raises(mg.GradientError):
        losses[0].backward()


def test_a_value_that_was_changed_since_is_noticed() -> None:
    w = mg.Var([1.0, 2.0])
    f = ready(lambda x: (x * w * w).sum(), mg.tensor([0.0, 0.0]))
    loss = f(mg.tensor([1.0, 1.0]))
    with mg.no_grad():
        w.mul_(2.0)
    with pytest.raises(mg.StorageError, match="version"):
        loss.backward()


def test_without_a_graph_the_program_has_no_backward_pass() -> None:
    w = mg.Var([1.0, 2.0])
    f = ready(lambda x: (x * w).sum(), mg.tensor([1.0, 1.0]))
    with mg.no_grad():
        for _ in range(3):
            assert not f(mg.tensor([1.0, 1.0])).requires_grad
    assert f(mg.tensor([1.0, 1.0])).requires_grad


def test_a_second_derivative_of_random_numbers_is_refused() -> None:
    x = mg.Var(normal(4))
    f = ready(lambda x: (F.dropout(x, 0.5) ** 2).sum(), x)
    g = mg.grad(f(x), x)
    assert g.shape == (4,)
    with pytest.raises(mg.GradientError, match="draws random numbers"):
        mg.grad(f(x), x, create_graph=True)


def test_dropout_masks_are_those_of_the_forward_pass() -> None:
    x = mg.Var(np.ones(64, np.float32))
    f = ready(lambda x: F.dropout(x, 0.5), x)
    first, second = f(x), f(x)
    assert mg.grad(first.sum(), x).tolist() == first.tolist() and mg.grad(second.sum(), x).tolist() == second.tolist()
    assert first.tolist() != second.tolist()


@pytest.mark.parametrize("product", [False, True])
def test_a_view_of_an_existing_tensor_is_a_view_with_its_graph(product: bool) -> None:
    w = mg.Var(normal(2, 3), device="reference")

    def f(x):
        parts = x[1:].T, w.T[:, 0]
        return (*parts, parts[0], (x * 2.0).sum()) if product else (*parts, parts[0])

    jitted = mg.jit(f)
    for k in range(4):
        x = mg.Var(normal(3, 2) + k, device="reference")
        for argument in (x, x * 1.0):
            row, column, again, *total = jitted(argument)
            assert row.storage is argument.storage and column.storage is w.storage and row is again
            assert row.tolist() == argument[1:].T.tolist() and column.tolist() == w[0].tolist()
            wanted = [3.0 + 2.0 * product] * 2
            y = (row * 3.0).sum() + (column * column).sum() + (total[0] if product else 0.0)
            gx, gw = mg.grad(y, [x, w])
            assert gx.tolist() == [[2.0 * product] * 2, wanted, wanted]
            assert gw.tolist() == [[2.0 * each for each in w[0].tolist()], [0.0] * 3]


@pytest.mark.parametrize("returned", [False, True])
def test_a_tracked_value_may_not_be_written_into_an_argument(returned: bool) -> None:
    w = mg.Var(normal(2, 3), device="reference")

    def f(x):
        y = x.view(-1)
        y[:2] = w.sum()
        return y if returned else None

    jitted, x = mg.jit(f), mg.zeros(2, 3, device="reference")
    jitted(x.clone())
    with pytest.raises(mg.RecordingError, match=r"writes into an argument .* graph.*x\.clone\(\)"):
        jitted(x)
    with mg.no_grad():
        for _ in range(3):
            jitted(x)
    assert x.flatten()[:2].tolist() == [w.sum().item()] * 2 and not x.requires_grad


@pytest.mark.parametrize("seed", range(8))
def test_random_programs_have_the_gradients_of_eager_mode(seed: int) -> None:
    made = generator.program(seed, writes=False)
    leaves = [mg.Var(a) for a in made.leaves]

    def f(*leaves):
        return made.run(mg, leaves)

    def found(function):
        inputs = [x * 1.0 for x in leaves]
        y = function(*inputs)
        return [z.tolist() if z is not None else None for z in (y, *mg.grad(y, leaves, allow_unused=True))]

    jitted, wanted = mg.jit(f), found(f)
    for _ in range(3):
        assert found(jitted) == wanted


@pytest.mark.parametrize("first", [True, False])
def test_a_detached_result_has_no_graph(first: bool) -> None:
    w = mg.Var([1.0, 2.0])

    def f(x):
        y = (x * w).sum()
        return (y.detach(), y) if first else (y, y.detach())

    jitted = mg.jit(f)
    for _ in range(4):
        w.grad = None
        plain, y = jitted(mg.tensor([1.0, 3.0]))[:: 1 if first else -1]
        assert not plain.requires_grad
        y.backward()
        assert w.grad.tolist() == [1.0, 3.0]


def test_one_result_twice_is_one_tensor() -> None:
    w = mg.Var([1.0, 2.0])

    def f(x):
        y = x * w
        return y, {"again": y}

    jitted = mg.jit(f)
    for _ in range(3):
        y, more = jitted(mg.tensor([1.0, 3.0]))
        assert more["again"] is y


def test_a_result_that_was_changed_in_place_is_noticed() -> None:
    w = mg.Var([1.0, 2.0])
    f = mg.jit(lambda x: (x * w).exp())
    for _ in range(3):
        y = f(mg.tensor([1.0, 1.0]))
    y.mul_(3.0)
    with pytest.raises(mg.errors.StorageError, match="changed in place"):
        y.sum().backward()


def test_a_hook_of_a_parameter_runs_once() -> None:
    w = mg.Var([1.0, 2.0])
    w.register_hook(lambda g: g * 2.0)
    f = mg.jit(lambda x: (x * w).sum())
    for _ in range(4):
        w.grad = None
        f(mg.tensor([1.0, 3.0])).backward()
        assert w.grad.tolist() == [2.0, 6.0]


def test_a_backward_pass_inside_cannot_go_on_outside() -> None:
    w = mg.Var([1.0, 2.0])

    def step(h):
        loss = (h * h).sum()
        loss.backward()
        return loss.detach()

    f = mg.jit(step)
    f(w * 2.0)
    with pytest.raises(mg.RecordingError, match="graph of an argument"):
        f(w * 2.0)


def test_a_gradient_inside_cannot_pass_through_the_graph_of_an_argument() -> None:
    w = mg.Var([1.0, 2.0])
    f = mg.jit(lambda h: mg.grad((h * w).sum(), w))
    f(w * 2.0)
    with pytest.raises(mg.RecordingError, match="graph of an argument"):
        f(w * 2.0)
    inner = mg.jit(lambda h: mg.grad((h * h).sum(), h))
    assert [inner(w * 2.0).tolist() for _ in range(3)] == [[4.0, 8.0]] * 3


@pytest.mark.parametrize("passed", [True, False])
def test_gradients_flow_through_a_tensor_outside_that_has_a_graph(passed: bool) -> None:
    v, w = mg.Var([3.0, 4.0]), mg.Var([1.0, 2.0])
    h = w * w
    f = mg.jit(lambda x: (x * h * v).sum())
    for k in range(4):
        v.grad = w.grad = None
        f(h if passed else mg.tensor([1.0, k])).backward(retain_graph=True)
        wanted = [12.0, 128.0] if passed else [6.0, 16.0 * k]
        assert w.grad.tolist() == wanted


def test_memory_of_a_call_goes_with_its_results() -> None:
    w = mg.Var([1.0, 2.0])
    f = mg.jit(lambda x: (x * w).exp() * w)
    for _ in range(3):
        f(mg.tensor([1.0, 1.0]))
    gc.collect()
    gc.disable()
    try:
        x = mg.tensor([1.0, 1.0])
        held = weakref.ref(x)
        y = f(x)
        del x, y
        assert held() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("outside", [True, False])
def test_a_write_into_a_tensor_with_a_graph_is_refused(outside: bool) -> None:
    h = mg.Var([1.0, 2.0]) * 2.0

    def write(x):
        with suppress(mg.GradientError):
            (h if outside else x).mul_(3.0)
        return (h * x).sum()

    f = mg.jit(write)
    f(h)
    with pytest.raises(mg.RecordingError, match="writes into"):
        f(h)


def test_an_argument_with_a_graph_is_written_where_it_is_copied() -> None:
    w = mg.Var([1.0, 2.0])

    def step(h):
        mine = h.clone()
        mine.mul_(3.0)
        return h, (mine * h).sum()

    f = mg.jit(step)
    for _ in range(4):
        w.grad = None
        h = w * 2.0
        same, loss = f(h)
        loss.backward()
        assert same is h and w.grad.tolist() == [24.0, 48.0]


def test_a_result_that_is_not_used_sends_nothing_back() -> None:
    w = mg.Var([0.0, 4.0])

    def f(x):
        y = x * w
        return y.sum(), w.sqrt(), (y * y).sum()

    jitted, x = ready(f, mg.ones(2)), mg.ones(2)
    for used in ((0,), (2,), (0, 2), (0, 1, 2)):
        found = []
        for function in (f, jitted):
            w.grad = None
            results = function(x)
            sum([results[k].sum() for k in used]).backward()
            found.append(w.grad.tolist())
        assert found[0] == found[1]
    assert found[0][0] == float("inf")
