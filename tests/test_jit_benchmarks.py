"""The comparison of `mg.jit` with other compilers: each library computes the same, and the table shows each ratio.

The steps run on `reference`, at small sizes, so that no kernel is compiled.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from tests.benchmarks.jit import examples, report, steps
from tests.benchmarks.jit.rows import ROWS, Row
from tests.benchmarks.jit.steps import digits_data, eager, layers, normal, sequence
from tests.benchmarks.jit.workers import Absent, Worker, host
from tests.benchmarks.timing import Times

SMALL = {
    "simple_grad": normal((3,)),
    "fifty_with_gradient": normal((4,)),
    "ten_with_gradient": normal((4,)),
    "ten": normal((4,)),
    "perceptron": layers(3, 4, 2, batch=3),
    "perceptron_with_optimizer": layers(3, 4, 2, batch=3),
    "digits": digits_data(images=5, hidden=3, batch=4),
    "attention": normal(*[(1, 2, 3, 2)] * 3),
    "recurrent": sequence(5, 2, 3, 4),
    "looped": normal((6, 3)),
}
CALLS = 4


def results(step: Any) -> list[np.ndarray]:
    """Return the results of the first calls of a step."""
    return [host(x) for _ in range(CALLS) for x in step()]


def agree(ours: Sequence[np.ndarray], theirs: Sequence[np.ndarray]) -> None:
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.shape == other.shape
        np.testing.assert_allclose(mine, other, rtol=2e-5, atol=2e-5)


def test_every_row_has_a_small_form_or_is_an_example() -> None:
    assert {row.step for row in ROWS.values()} == {*SMALL, *examples.EXAMPLES}


@pytest.mark.usefixtures("reference")
@pytest.mark.parametrize("name", SMALL)
def test_a_program_returns_the_results_of_eager_mode(name: str) -> None:
    build = getattr(steps, name)
    ours, theirs = results(build(mg.jit, *SMALL[name])), results(build(eager, *SMALL[name]))
    assert all((mine == other).all() for mine, other in zip(ours, theirs, strict=True))
    assert "perceptron" not in name or ours[0] > ours[-1]


@pytest.mark.usefixtures("reference")
@pytest.mark.parametrize("name", SMALL)
def test_the_step_of_jax_returns_the_same_results(name: str) -> None:
    pytest.importorskip("jax", reason="JAX is not installed: nothing to compare with")
    from tests.benchmarks.jit import jax_steps

    agree(results(getattr(steps, name)(eager, *SMALL[name])), results(getattr(jax_steps, name)(*SMALL[name])))


@pytest.mark.parametrize("name", examples.EXAMPLES)
def test_the_training_step_of_an_example_is_the_same_in_jax(name: str) -> None:
    pytest.importorskip("jax", reason="JAX is not installed: nothing to compare with")
    from tests.benchmarks.jit import jax_examples

    ours = results(examples.step_of(name, "minigrad", eager, eager))
    np.testing.assert_allclose(results(jax_examples.step_of(name)), ours, rtol=1e-4)


@pytest.mark.torch
@pytest.mark.parametrize("name", examples.EXAMPLES)
def test_the_training_step_of_an_example_is_the_same_in_pytorch(name: str) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed: nothing to compare with")
    ours = results(examples.step_of(name, "minigrad", eager, eager))
    np.testing.assert_allclose(results(examples.step_of(name, "torch", eager, eager)), ours, rtol=1e-4)


def test_a_line_has_each_median_and_each_ratio_with_its_goal() -> None:
    row = Row("simple_grad", goals={"eager": 30.0, "jax": 4.0})
    times = {"eager": Times(40e-6, 0.02), "jit": Times(2e-6, 0.01), "jax": Times(10e-6, 0.1)}
    line = report.line("simple_grad", row, times)
    assert line.split("   ")[-1] == "eager 20 (30!), jax.jit 5 (4); spread 10%"
    firsts = report.first_calls(Row("recurrent", first=5), {"jit": [0.1, 0.2, 0.0], "jax": [0.8, 0.1, 0.1]})
    assert firsts.strip() == "first calls: mg.jit 100 ms and 200 ms, jax.jit 800 ms and 100 ms, jax.jit 8 (5)"
    assert "2 us         40 us         10 us             -" in line


def test_results_that_differ_are_an_error() -> None:
    class Ready:
        def __init__(self, value: float) -> None:
            self.results = [np.array([value, 2.0])]

    workers: Any = {"jit": Ready(1.0), "jax": Ready(1.0 + 5e-5)}
    report.check("simple_grad", ROWS["simple_grad"], workers)
    workers["jax"] = Ready(1.1)
    with pytest.raises(AssertionError, match=r"simple_grad: result 0 of jax\.jit is not that of mg\.jit"):
        report.check("simple_grad", ROWS["simple_grad"], workers)


def test_a_library_that_is_not_installed_is_left_out_with_a_sentence(monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(report.costs, "report", lambda: None)
    report.report(names=())
    text = capsys.readouterr().out
    assert "jax.jit is not compared, because jax is not installed: pip install jax" in text
    assert "torch.compile is not compared, because torch is not installed: pip install torch" in text


def test_a_process_that_cannot_run_a_step_says_why(tmp_path: Path) -> None:
    with pytest.raises(Absent, match=r"KeyError: 'no row of this name'"):
        Worker("eager", "no row of this name", 1, tmp_path)
