"""Elementwise loops before rows and reductions: those that join their launch have the bits of eager mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.core.requests import Chained
from minigrad.jitting import chaining
from minigrad.nn import functional as F

RNG = np.random.default_rng(2)
X = RNG.standard_normal((3, 8)).astype(np.float32)


@pytest.fixture(autouse=True)
def every_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chains of any size."""
    monkeypatch.setattr(chaining, "LEAST", 1)
    monkeypatch.setattr(chaining, "LARGE", 1)


def tensor(values: Any = X, device: str = "reference", dtype: str = "float32") -> mg.Tensor:
    return mg.tensor(values, dtype=dtype, device=device)


def launches(function: Callable[..., Any], *args: Any) -> list[str]:
    """Compare the results of three calls with eager mode; return the requests of the program."""
    wanted = [mg.func.trees.flatten(function(*args))[0] for _ in range(3)]
    step = mg.jit(function)
    for eager in wanted:
        for a, b in zip(eager, mg.func.trees.flatten(step(*args))[0], strict=True):
            assert a.detach().numpy().tobytes() == b.detach().numpy().tobytes()
    return [type(item.launch.parts[0].request).__name__ for item in step.last.tape.items]


@pytest.mark.parametrize(
    "function",
    [
        lambda x, m: mg.softmax(x * 0.125 + m, -1),
        lambda x, m: mg.log_softmax(x * 0.125 + m, 0),
        lambda x, m: (x - m).abs().mean(),
        lambda x, m: (x - m).amax(1),
        lambda x, m: (x * m + 1.0).sum(0),
        lambda x, m: (x * m).norm(),
        lambda x, m: F.layer_norm(x - m, (8,)),
        lambda x, m: mg.softmax(x * m[0] + m[:, :1], -1),
    ],
)
def test_a_loop_in_front_of_rows_or_a_reduction_is_a_part_of_their_launch(function: Callable[..., Any]) -> None:
    assert launches(function, tensor(), tensor(X[::-1])) == ["Chained"]


def test_a_value_that_somebody_else_reads_is_stored() -> None:
    def read_again(x: mg.Tensor) -> Any:
        y = x * 2.0
        return y.sum(), y @ y.T

    def returned(x: mg.Tensor) -> Any:
        y = x * 2.0
        return y, y.sum(1)

    def summed_twice(x: mg.Tensor) -> Any:
        y = x * 2.0
        return y.sum(), y.amax()

    for function in (read_again, returned, summed_twice):
        assert "Chained" not in launches(function, tensor())


def test_rows_of_two_computed_operands_compute_both() -> None:
    x, g = mg.Var(X, device="reference"), tensor(X[::-1])

    def step(x: Any, g: Any) -> Any:
        y = mg.softmax(x * 3.0, -1)
        return mg.grad((y * g).sum(), x)[0]

    assert launches(step, x, g).count("Chained") >= 1


def test_rounded_values_and_those_of_another_shape_are_stored() -> None:
    assert launches(lambda x: (x * 1.1).sum(), tensor(dtype="bfloat16")) == ["Elementwise", "Reduce"]
    assert launches(lambda x: (x * 1.1).sum(), tensor(dtype="int64")) != []
    small = launches(lambda x, b: mg.softmax(x + b * 2.0, -1), tensor(), tensor(X[0]))
    assert small == ["Elementwise", "Chained"]  # `b * 2.0` has another shape, and a loop of its own
    assert launches(lambda x: (x * 2.0).T.sum(0), tensor()) == ["Elementwise", "Reduce"]


def test_a_loop_behind_a_product_is_a_part_of_its_launch() -> None:
    x, w, b = tensor(), tensor(RNG.standard_normal((5, 8))), tensor(RNG.standard_normal(5))
    assert launches(lambda x, w, b: F.relu(F.linear(x, w, b)), x, w, b) == ["Followed"]
    assert launches(lambda x, w, b: (b - x @ w.T) * 0.5, x, w, b) == ["Followed"]
    assert launches(lambda x, w, b: mg.softmax((x @ w.T) * 0.5 + b, -1), x, w, b) == ["Product", "Chained"]
    stored = launches(lambda x, w, b: ((y := x @ w.T).relu(), y), x, w, b)
    assert stored == ["Product", "Elementwise"]
    long = tensor(RNG.standard_normal((2, chaining.DEEP + 1)))
    assert launches(lambda x: (x @ x.T).relu(), long) == ["Product", "Elementwise"]


@pytest.mark.parametrize("function", [mg.addmm, lambda c, x, w: mg.addmm(c, x, w, alpha=2.0, beta=0.5), mg.addbmm])
def test_a_request_may_have_its_operands_in_another_order_than_the_call(function: Callable[..., Any]) -> None:
    c, x, w = (tensor(RNG.standard_normal(shape)) for shape in ((3, 5), (3, 4), (4, 5)))
    if function is mg.addbmm:
        x, w = x[None], w[None]
    assert launches(lambda c, x, w: function(c, x, w).relu() * 2.0, c, x, w)[-1] == "Followed"


def test_the_loops_of_a_product_store_the_function_of_its_result() -> None:
    step = mg.jit(lambda x, w: (x @ w.T - 1.0).relu())
    w = RNG.standard_normal((5, 8)).astype(np.float32)
    for _ in range(3):
        wanted = step(tensor(), tensor(w))
    text = step.source()
    assert "total = np.float32(total)" in text and "np.empty" not in text
    space: dict[str, Any] = {}
    exec(text, space)
    result = np.empty_like(wanted.numpy())
    space["run"](X, w, result)
    assert np.allclose(result, wanted.numpy(), rtol=1e-6)


def test_small_values_are_not_worth_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chaining, "LEAST", X.nbytes + 1)
    assert launches(lambda x: (x * 2.0).sum(), tensor()) == ["Elementwise", "Reduce"]
    monkeypatch.setattr(chaining, "LEAST", X.nbytes)
    assert launches(lambda x: (x * 2.0).sum(), tensor()) == ["Chained"]


def before_a_reduction(state: mg.Tensor, x: mg.Tensor) -> mg.Tensor:
    y = state * x
    mg.cumsum(x, 0)
    state[1] = x[0]
    return y.sum()


def before_a_loop(state: mg.Tensor, x: mg.Tensor) -> mg.Tensor:
    y = state @ x.T
    state[1] = x[0] * 3.0
    return y.relu()


@pytest.mark.parametrize("function", [before_a_reduction, before_a_loop])
def test_an_operand_that_is_written_is_read_before(function: Callable[..., Any]) -> None:
    state = tensor()

    def run(step: Callable[..., Any]) -> list[Any]:
        state.copy_(tensor())
        return [step(tensor() * k).tolist() for k in (1.0, 2.0, 3.0, 4.0)]

    assert run(mg.jit(lambda x: function(state, x))) == run(lambda x: function(state, x))


def test_a_gradient_flows_through_a_chain() -> None:
    x = mg.Var(X, device="reference")

    def step(x: Any) -> Any:
        loss = mg.log_softmax(x * 0.5, -1).mean()
        return loss.detach(), mg.grad(loss, x)[0]

    assert launches(step, x)[0] == "Chained"


def test_results_of_one_loop_are_stored() -> None:
    assert launches(lambda x: ((x * 2.0).sum(), (x + 1.0).amax()), tensor()) == ["Elementwise", "Reduce", "Reduce"]


@pytest.mark.parametrize("n", [513, 3 * 32768 + 5])
def test_a_long_sum_on_the_cpu_has_the_bits_of_eager_mode(n: int) -> None:
    x, y = (tensor(RNG.standard_normal(n), "cpu") for _ in range(2))
    assert launches(lambda x, y: (x * y).sum(), x, y) == ["Chained"]


def test_sums_of_rows_and_rows_on_the_cpu_have_the_bits_of_eager_mode() -> None:
    x, y = (tensor(RNG.standard_normal((40, 300)), "cpu") for _ in range(2))
    assert launches(lambda x, y: (x * y).sum(1), x, y) == ["Chained"]
    assert launches(lambda x, y: mg.softmax(x * y, 1), x, y) == ["Chained"]


def test_a_program_with_chains_is_printed_as_loops_that_compute_them() -> None:
    step = mg.jit(lambda x, mask: mg.softmax(x * 0.125 + mask, -1))
    for _ in range(3):
        wanted = step(tensor(), tensor(X[::-1]))
    text = step.source()
    assert "np.exp(x[i, j] * 0.125 + mask[i, j] - peak)" in text and "np.empty" not in text
    space: dict[str, Any] = {}
    exec(text, space)
    result = np.empty_like(X)
    space["run"](X, X[::-1].copy(), result)
    assert np.allclose(result, wanted.numpy(), rtol=1e-6)
    assert "mul, add, softmax" in mg.viz.program(step).nodes[2].label
    assert isinstance(step.last.tape.items[0].launch.requests[0], Chained)
